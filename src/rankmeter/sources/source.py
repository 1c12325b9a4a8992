"""Inputs of every kind, opened as sources that give batches of conforming rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.findings import STRICT, Findings
from rankmeter.checks.rows import Lenience, conform
from rankmeter.errors import DataError
from rankmeter.parallel import in_order
from rankmeter.schema import LABELLED, QRELS, QRELS_LISTS, QUERIES, RUN_LISTS, RUN_TABLE, SUBTOPIC_QRELS, Table
from rankmeter.sources.base import Batch, Part
from rankmeter.sources.columns import choose, folded
from rankmeter.sources.frames import part_of
from rankmeter.sources.held import refuse_polars
from rankmeter.sources.paths import File, find_files, format_of
from rankmeter.sources.tables import ParquetPart, open_arrow
from rankmeter.sources.text import open_text

Keys = tuple[tuple[str, str | None], ...]
READERS = 2
"""Threads that read an input which is taken in as a whole."""

PIECE = 1 << 20
"""Rows that are read at a time."""

LISTS = {QRELS.name: QRELS_LISTS, RUN_TABLE.name: RUN_LISTS}
"""The tables that have a form with list columns."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What an input should be and how it is read.

    Attributes:
        table: the table it should be.
        format: its format, or None to find out.
        chosen: role -> column, as the user said.
        header: whether CSV and TSV files begin with names.
        extra: other columns in use (segments, an order); those that the input lacks are left out.
        nan: whether NaN scores are an error, or `last`.
    """

    table: Table
    format: str | None = None
    chosen: Mapping[str, str] | None = None
    header: bool = True
    extra: tuple[str, ...] = ()
    nan: str = "error"


@dataclass(frozen=True, slots=True)
class Source:
    """An input: its parts, and which column plays which role.

    Attributes:
        label: the input as the user named it.
        table: the table that its rows are.
        parts: its files or frames, each with the hive keys of its path.
        columns: role (or name of a segment) -> column.
        nan: whether NaN scores are an error, or `last`.
        findings: who takes the rows of a batch that break a rule.
    """

    label: str
    table: Table
    parts: tuple[tuple[Part, Keys], ...]
    columns: Mapping[str, str]
    nan: str = "error"
    findings: Callable[[], Findings] = lambda: STRICT  # shared, as it keeps nothing

    @property
    def rows(self) -> int | None:
        """Number of rows, where all parts know theirs."""
        counts = [part.rows for part, _ in self.parts]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def first_tag(self) -> str | None:
        """The first tag of a TREC run."""
        return next((tag for part, _ in self.parts if (tag := part.first_tag()) is not None), None)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(part.size for part, _ in self.parts)

    @property
    def has_lists(self) -> bool:
        """Whether a row is a whole list."""
        return self.table in (QRELS_LISTS, RUN_LISTS)

    def batches(self, rows: int) -> Iterator[Batch]:
        """All rows in batches of about `rows`, in order, each conforming to the table when read."""
        for part, keys in self.parts:
            used = {key: value for key, value in keys if key in self.columns.values()}
            there = part.schema() if used else {}
            stored = list(dict.fromkeys(name for name in self.columns.values() if name not in used or name in there))
            for batch in part.batches(stored, rows):
                yield replace(batch, load=self._conforming(batch, used), findings=self.findings)

    def _conforming(self, batch: Batch, keys: Mapping[str, str | None]) -> Callable[[Findings], pl.DataFrame]:
        """How a batch is read; every row has the keys of its path."""

        def load(findings: Findings) -> pl.DataFrame:
            frame = batch.load(findings)
            both = {key: value for key, value in keys.items() if key in frame.columns}
            only = [pl.lit(value, pl.String).alias(key) for key, value in keys.items() if key not in both]
            frame = frame.with_columns(only) if only else frame
            return conform(frame, self.table, self.columns, batch, Lenience(findings, self.nan, both))

        return load

    def frame(self) -> pl.DataFrame:
        """All rows at once."""
        frames = list(in_order(READERS, self.batches(PIECE), lambda batch: batch.read()))
        return pl.concat(frames, how="vertical_relaxed") if frames else self.no_rows()

    def no_rows(self) -> pl.DataFrame:
        """A frame of no rows with the columns of this source."""
        part, keys = self.parts[0]
        schema = {**dict.fromkeys(dict(keys), pl.String()), **part.schema()}
        empty = pl.DataFrame(schema={name: schema[name] for name in self.columns.values()})
        nowhere = Batch(part, lambda _: empty, lambda position: position + 1)
        return conform(empty, self.table, self.columns, nowhere, Lenience())

    def rows_at(self, positions: Sequence[int]) -> tuple[str, list[str]]:
        """The file and the rows at positions among all rows, or among all items of lists; the source is read again."""
        found: list[tuple[str, str]] = []
        start = 0
        for batch in self.batches(PIECE):
            frame = batch.read()
            lengths = frame["doc_ids"].list.len().to_numpy() if self.has_lists else np.ones(frame.height, np.int64)
            ends = start + np.cumsum(lengths)
            stop = int(ends[-1]) if len(ends) else start
            found += [
                (batch.part.label, str(batch.row(int(np.searchsorted(ends, position, side="right")))))
                for position in positions
                if start <= position < stop
            ]
            start = stop
        return self._named(found)

    def _named(self, found: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
        """What messages call rows of files: the file, if it is one, else the source."""
        labels = {label for label, _ in found}
        if len(labels) == 1:
            return found[0][0], [row for _, row in found]
        return self.label, [f"{row} of {label}" for label, row in found]

    def describe(self) -> dict[str, Any]:
        """The source as it stands under `inputs` in the JSON output."""
        return {"path": self.label, "bytes": self.size, "rows": self.rows, "columns": dict(self.columns)}


def open_source(data: Any, spec: Spec, label: str) -> Source:
    """Open a path or an object.

    Args:
        data: a path (file, glob, folder), `-` for standard input, or a frame of any kind.
        spec: what it should be.
        label: what messages call an object that has no path.

    Raises:
        UsageError: a chosen column or format does not exist.
        DataError: a needed column is missing, or a file is damaged.
        StorageError: a path is absent or unreadable.
    """
    if isinstance(data, (str, Path)):
        label = str(data)
        parts = [(_open_file(file, kind, spec), file.keys) for file, kind in _files(label, spec)]
    else:
        value = "score" if spec.table is RUN_TABLE else "grade"
        parts = [(part_of(data, label, value, _wanted(spec)), ())]
    return _with_columns(label, spec, parts)


def _files(label: str, spec: Spec) -> list[tuple[File, str]]:
    """The files of an input and their format.

    Raises:
        DataError: there are several formats.
    """
    files = [File(Path("-"))] if label == "-" else find_files(label)
    kinds = [spec.format or ("trec" if label == "-" else format_of(file.path)) for file in files]
    other = next((n for n, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise DataError(
            f"{label}: files of several formats, {files[0].path} ({kinds[0]}) and {files[other].path} "
            f"({kinds[other]}); name those that are meant, with a glob like '*.parquet'",
            "several-formats",
        )
    return list(zip(files, kinds, strict=True))


def _open_file(file: File, kind: str, spec: Spec) -> Part:
    """One file in its format."""
    if kind == "parquet":
        return ParquetPart(file.path, str(file.path))
    if kind == "arrow":
        return open_arrow(file.path, str(file.path))
    if kind == "trec":
        if spec.table in (LABELLED, QUERIES):
            raise DataError(
                f"{file.path}: TREC text holds qrels or runs, not a {spec.table.title.lower()} table", "wrong-table"
            )
        kind = "trec-qrels" if spec.table in (QRELS, SUBTOPIC_QRELS) else "trec-run"
    return open_text(str(file.path), kind, header=spec.header)


def _wanted(spec: Spec) -> frozenset[str]:
    """Folded names of every column that the input could be asked for."""
    tables = [spec.table, LISTS.get(spec.table.name, spec.table)]
    names = {name for table in tables for column in table.columns for name in (column.name, *column.names)}
    names |= {name for table in tables for column in table.columns for name in column.last_names}
    return frozenset(folded(name) for name in (*names, *(spec.chosen or {}).values(), *spec.extra))


def _with_columns(label: str, spec: Spec, parts: list[tuple[Part, Keys]]) -> Source:
    """The source, its columns chosen by the first part and present in every other."""
    first, keys = parts[0]
    schema = {**dict.fromkeys(dict(keys), pl.String()), **first.schema()}
    table = LISTS[spec.table.name] if spec.table.name in LISTS and _has_lists(spec, schema) else spec.table
    columns = choose(table, list(schema), spec.chosen or {}, label)
    _check_grades(table, columns, schema, spec, label)
    columns |= {name: name for name in spec.extra if name in schema and name not in columns}
    if any(part.first_tag() is not None for part, _ in parts):
        columns["tag"] = "tag"
    for part, part_keys in parts:
        types = {**dict.fromkeys(dict(part_keys), pl.String()), **part.schema()}
        for name in columns.values():
            if name not in types:
                raise DataError(
                    f'{part.label} has no column "{name}", which {first.label} has; every part needs it',
                    "missing-column",
                )
            refuse_polars(types[name], part.label, name)
    return Source(label, table, tuple(parts), columns, spec.nan)


def _check_grades(
    table: Table, columns: Mapping[str, str], schema: Mapping[str, pl.DataType], spec: Spec, label: str
) -> None:
    """Refuse a run in place of qrels: a table with ranks whose grades would be its scores."""
    grade = columns.get("grade") or columns.get("grades") or ""
    ranks = {folded(name) for rank in RUN_TABLE.columns if rank.name == "rank" for name in (rank.name, *rank.names)}
    rank = next((name for name in schema if folded(name) in ranks), None)
    if table is not LABELLED and folded(grade) == "score" and rank is not None and not spec.chosen:
        raise DataError(
            f'{label} has the columns "{rank}" and "{grade}" and no grade, so it looks like a run in place of qrels; '
            f"give QRELS first, then RUN, or say --qrels-columns grade={grade}",
            "wrong-table",
        )


def _has_lists(spec: Spec, schema: Mapping[str, pl.DataType]) -> bool:
    """Whether the documents stand in a list column."""
    doc_ids = LISTS[spec.table.name].columns[1]
    chosen = spec.chosen or {}
    named = chosen.get(doc_ids.name) or chosen.get("doc_id")
    known = {folded(named)} if named else {folded(name) for name in (doc_ids.name, *doc_ids.names, *doc_ids.last_names)}
    return any(isinstance(kind, (pl.List, pl.Array)) for name, kind in schema.items() if folded(name) in known)
