"""The index of judgements: queries in byte order of their ids, each with its judged documents and ideal grades."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks import Notice, check_lengths
from rankmeter.errors import SHOWN, DataError, shortened
from rankmeter.ids import ALL, IdColumn, Share, byte_order, list_heads
from rankmeter.judgements import count_reaching, earlier_same, group_rows, sort_down
from rankmeter.parallel import SMALL_ROWS, beside, in_order
from rankmeter.sources.base import Batch
from rankmeter.sources.source import Source

Array = np.ndarray[Any, Any]


READERS = 2
"""Threads that read the judgements, while others begin with the run."""

BATCH_ROWS = 1 << 20
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class QrelsIndex:
    """All judgements, in memory; those of one query stand together.

    Attributes:
        queries: the judged queries, distinct, in byte order of their text.
        starts: int64, where each query's judgements begin.
        ends: int64, where they end.
        documents: the judged document of each judgement.
        grade: float64, its grade.
        ideal: float64, the grades of each query sorted downwards.
        n_judged: int64, judgements per query.
        n_relevant: int64, relevant documents per query.
        columns: the other columns of the qrels, one row per query.
    """

    queries: IdColumn
    starts: Array
    ends: Array
    documents: IdColumn
    grade: Array
    ideal: Array
    n_judged: Array
    n_relevant: Array
    columns: pl.DataFrame

    def __len__(self) -> int:
        return len(self.queries.series)

    def query_text(self) -> pl.Series:
        """The queries as text."""
        return self.queries.series.cast(pl.String).alias("query_id")


@dataclass(frozen=True, slots=True)
class _Judgements:
    """The judgements of queries whose rows stand together.

    Attributes:
        frame: their rows.
        heads: int64, where those of each query begin, and the end.
        documents: the judged documents.
        repeat_of: int64, the first judgement of the same query and document, or -1.
        ideal: float64, the grades of each query sorted downwards.
        relevant: int64, relevant documents per query.
    """

    frame: pl.DataFrame
    heads: Array
    documents: IdColumn
    repeat_of: Array
    ideal: Array
    relevant: Array

    @classmethod
    def of(cls, frame: pl.DataFrame, heads: Array, level: float) -> "_Judgements":
        """What is made of the rows, given the grade from which a document is relevant."""
        documents, grade = IdColumn(frame["doc_id"]), frame["grade"].to_numpy()
        return cls(
            frame,
            heads,
            documents,
            earlier_same(heads, *documents.hashed()),
            sort_down(heads, grade),
            count_reaching(heads, grade, level),
        )


def build_index(
    source: Source, level: float, *, from_log: bool = False, share: Share = ALL
) -> tuple[QrelsIndex, list[Notice]]:
    """Read judgements and index them.

    Args:
        source: the qrels, or a labelled log.
        level: grade from which a document is relevant.
        share: whose judgements are taken.
        from_log: the source is a log: rows without a grade are no judgements, and repeats are no surprise.

    Raises:
        DataError: the judgements break a rule, or there are none.
    """
    frame, rows = _rows(source, share, from_log=from_log)
    heads = list_heads(frame["query_id"])
    with beside(lambda: _Judgements.of(frame, heads, level), small=frame.height <= SMALL_ROWS) as begun:
        queries, place, numbers = _queries(frame["query_id"][heads[:-1]])
        found = begun.result()
    if len(numbers) > len(queries.series):  # the rows of some query do not stand together
        order, heads = group_rows(numbers, heads, len(queries.series))
        rows = order if rows is None else rows[order]
        place = np.arange(len(queries.series))
        found = _Judgements.of(frame[order].rechunk(), heads, level)
    keep, notices = _without_repeats(found, _Places(found.frame, source, rows), quiet=from_log)
    if keep is not None:
        heads = np.concatenate([[0], np.cumsum(keep)])[heads]
        found = _Judgements.of(found.frame.filter(pl.Series(keep)).rechunk(), heads, level)
    starts, ends, grade = heads[place], heads[place + 1], found.frame["grade"].to_numpy()
    columns, relevant = _columns(found, place, source.label), found.relevant[place]
    index = QrelsIndex(queries, starts, ends, found.documents, grade, found.ideal, ends - starts, relevant, columns)
    return index, notices


def _queries(named: pl.Series) -> tuple[IdColumn, Array, Array]:
    """Distinct queries in byte order of their text, where each stands among the named ones, and the numbers of these.

    The place of a query that is named more than once means nothing.
    """
    place = byte_order(named)
    ordered = named[place]
    first = list_heads(ordered)
    numbers = np.empty(len(named), np.int64)
    numbers[place] = np.repeat(np.arange(len(first) - 1), np.diff(first))
    queries = IdColumn(ordered if len(first) > len(named) else ordered[first[:-1]])
    queries.table(integers=named.dtype.is_integer())  # which every batch asks for
    return queries, place, numbers


def _rows(source: Source, share: Share, *, from_log: bool) -> tuple[pl.DataFrame, Array | None]:
    """The judgements of a share, and which rows of the source they are (None: all)."""

    def read(batch: Batch) -> tuple[pl.DataFrame, Array]:
        frame = batch.read()
        if source.has_lists:
            frame = _flat(frame, batch)
        kept = share.holds(frame["query_id"])
        if from_log:
            kept &= frame["grade"].is_not_null().to_numpy()
        return frame if kept.all() else frame.filter(pl.Series(kept)), kept

    pieces = list(in_order(READERS, source.batches(BATCH_ROWS), read))
    kept = np.concatenate([np.zeros(0, bool), *(kept for _, kept in pieces)])
    frames = [frame for frame, _ in pieces] or [source.no_rows()]
    del pieces
    columns = pl.concat(frames, how="vertical_relaxed").get_columns()
    del frames
    frame = rechunked(columns)
    if frame.height == 0 and share.of == 1:
        raise DataError(f"{source.label} holds no judgements (0 rows); nothing can be measured without them")
    return frame, None if kept.all() else np.flatnonzero(kept)


def rechunked(columns: list[pl.Series]) -> pl.DataFrame:
    """A frame of these columns, each in one piece; the list is emptied, so that few are ever there twice."""

    def taken() -> Iterator[pl.Series]:
        while columns:
            yield columns.pop(0)

    return pl.DataFrame(list(in_order(READERS, taken(), lambda column: column.rechunk())))


def _columns(found: _Judgements, place: Array, label: str) -> pl.DataFrame:
    """The other columns of the qrels, one row per query."""
    known = ("query_id", "doc_id", "grade", "score", "rank", "run")
    extra = [name for name in found.frame.columns if name not in known]
    return per_query(found.frame.select("query_id", *extra), found.heads, label)[place] if extra else pl.DataFrame()


def _flat(frame: pl.DataFrame, batch: Batch) -> pl.DataFrame:
    """List columns as one row per judgement."""
    check_lengths(frame, batch)
    held = frame.filter(pl.col("doc_ids").list.len() > 0)
    return held.explode("doc_ids", "grades").rename({"doc_ids": "doc_id", "grades": "grade"})


def _without_repeats(found: _Judgements, place: "_Places", *, quiet: bool) -> tuple[Array | None, list[Notice]]:
    """Which judgements to keep (None: all); exact repeats count once.

    Raises:
        DataError: two grades for one query and document.
    """
    first = found.repeat_of
    repeated = np.flatnonzero(first >= 0)
    if not len(repeated):
        return None, []
    grade = found.frame["grade"].to_numpy()
    conflicts = repeated[grade[repeated] != grade[first[repeated]]]
    if len(conflicts):
        pairs = [(int(first[j]), int(j)) for j in conflicts[:SHOWN]]
        rule = "the grades differ; keep one judgement for each query and document"
        more = f"\n… and {len(conflicts) - len(pairs)} more" if len(conflicts) > len(pairs) else ""
        raise DataError("\n".join(place.sentence(a, b, rule) for a, b in pairs) + more)
    keep = np.ones(len(first), bool)
    keep[repeated] = False
    if quiet:
        return keep, []
    examples = tuple(place.sentence(int(first[j]), int(j), "the same grade") for j in repeated[:3])
    return keep, [repeats(len(repeated), examples)]


def repeats(count: int, examples: tuple[str, ...]) -> Notice:
    """The warning of judgements that stand there more than once."""
    message = f"{count} repeated judgement{'s' * (count != 1)} counted once: {examples[0]}"
    return Notice("repeated-judgements", message, count, examples)


class _Places:
    """Where judgements come from, for messages: `rows` has the row of each in the source (None: they are all rows)."""

    def __init__(self, frame: pl.DataFrame, source: Source, rows: Array | None) -> None:
        self._frame = frame
        self._source = source
        self._rows = rows

    def sentence(self, first: int, second: int, rule: str) -> str:
        """Two judgements of one query and document."""
        query_id, doc_id = self._frame["query_id"][first], self._frame["doc_id"][first]
        rows = sorted(int(self._rows[j]) if self._rows is not None else j for j in (first, second))
        grades = [self._frame["grade"][j] for j in (first, second)]
        label, numbers = self._source.rows_at(rows)
        return (
            f"{label} rows {' and '.join(numbers)}: query {shortened(query_id)} and document {shortened(doc_id)} "
            f"are judged twice (grades {grades[0]:g} and {grades[1]:g}), {rule}"
        )


def per_query(frame: pl.DataFrame, offsets: Array, label: str) -> pl.DataFrame:
    """The columns of grouped rows as one row per query.

    Raises:
        DataError: a column has two values in one query.
    """
    heads = frame[offsets[:-1]]
    for name in frame.columns[1:]:
        series = frame[name]
        changed = series.ne_missing(series.shift(1)).to_numpy().copy()
        changed[offsets[:-1]] = False
        if changed.any():
            row = int(np.flatnonzero(changed)[0])
            raise DataError(two_values(label, name, frame["query_id"][row], series[row - 1], series[row]))
    return heads.drop("query_id")


def two_values(label: str, column: str, query_id: object, one: object, other: object) -> str:
    """The sentence for a segment that is not constant in a query."""
    return (
        f"{label}: column {column} has two values for query {shortened(query_id)}: "
        f'"{shortened(one)}" and "{shortened(other)}"; a segment needs one value per query'
    )
