"""The rules on input: what is refused, with the row; what is worth a warning, with a count."""

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter.errors import SHOWN, DataError, shortened
from rankmeter.schema import Column, Table
from rankmeter.sources.base import Batch
from rankmeter.sources.columns import folded

Array = np.ndarray[Any, Any]

EXAMPLES = 3
"""How many examples a warning carries."""

FEW_HASHES = 1 << 18
"""Hashes that may be kept more than once."""

LARGEST_EXACT = 2.0**53
"""Integers up to here are the same as float64."""

INEXACT = "would change as a float64; use smaller integers, or floats"
"""The rule on integers that have no equal among float64."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: a stable code, a sentence, how often, and up to three examples."""

    code: str
    message: str
    count: int
    examples: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The warning as it stands in the JSON output."""
        return {"code": self.code, "message": self.message, "count": self.count, "examples": list(self.examples)}


class Tally:
    """Counts occurrences over batches and threads, and keeps the smallest examples, so that order does not matter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._examples: dict[str, set[str]] = {}
        self._distinct: dict[str, list[Array]] = {}

    def add(self, code: str, count: int, examples: Iterable[str] = ()) -> None:
        """Count `count` more of `code`."""
        with self._lock:
            self._counts[code] = self._counts.get(code, 0) + count
            kept = self._examples.setdefault(code, set())
            kept.update(examples)
            self._examples[code] = set(sorted(kept)[:EXAMPLES])

    def distinct(self, code: str, hashes: Array, examples: Iterable[str]) -> None:
        """Count the distinct ones among all that are given under `code`."""
        self.add(code, 0, examples)
        with self._lock:
            known = self._distinct.setdefault(code, [])
            known.append(hashes)
            if sum(map(len, known[1:])) > max(len(known[0]), FEW_HASHES):  # so that they do not pile up
                known[:] = [np.unique(np.concatenate(known))]

    def merge(self, other: "Tally", *, distinct_only: bool = False) -> None:
        """Take in what another tally counted, or only those counts that do not mind hearing of the same thing twice."""
        for code, count in other._counts.items():
            if code in other._distinct or not distinct_only:
                self.add(code, count, other._examples[code])
        for code, hashes in other._distinct.items():
            self._distinct.setdefault(code, []).extend(hashes)

    def count(self, code: str) -> int:
        """How many of `code` there were."""
        if code in self._distinct:
            return len(np.unique(np.concatenate(self._distinct[code])))
        return self._counts.get(code, 0)

    def examples(self, code: str) -> tuple[str, ...]:
        """The smallest examples of `code`."""
        return tuple(sorted(self._examples.get(code, ())))


def check_lengths(frame: pl.DataFrame, batch: Batch) -> None:
    """Refuse rows whose list columns are not equally long.

    Raises:
        DataError: naming file, row, query and both lengths.
    """
    values = [name for name in ("scores", "ranks", "grades") if name in frame.columns]
    lengths = frame.select(pl.col("doc_ids", *values).list.len())
    for name in values:
        unequal = (lengths["doc_ids"] != lengths[name]).arg_true()
        if len(unequal):
            row = int(unequal[0])
            raise DataError(
                f"{batch.part.label} row {batch.row(row)} (query {shortened(frame['query_id'][row])}): doc_ids has "
                f"{lengths['doc_ids'][row]} items, {name} has {lengths[name][row]}; "
                "the lists of a row must be equally long"
            )


def check_key(series: pl.Series, value: str | None, batch: Batch) -> None:
    """Refuse a column that says something else than the key of the same name in the path of its file.

    Raises:
        DataError: naming file, row and both values.
    """
    other = series.cast(pl.String).ne_missing(pl.Series([value], dtype=pl.String))
    if other.any():
        position = int(other.arg_true()[0])
        raise DataError(
            f'{batch.part.label} row {batch.row(position)}, column {series.name}: "{shortened(series[position])}" '
            f"contradicts the path, which says {series.name}={shortened(value)}; rename the folder or the column"
        )


def conform(
    frame: pl.DataFrame, table: Table, columns: Mapping[str, str], batch: Batch, *, nan: str = "error"
) -> pl.DataFrame:
    """A batch with the columns of its table, under the names and in the types that the rest works with.

    Ids become text or int64, numbers float64; nulls and values that are none of these are refused. Columns that are
    in `columns` and not in the table (segments) are passed on as they are.

    Args:
        frame: the rows as read.
        table: the table they should be.
        columns: role -> column of the frame.
        batch: where the rows come from, for messages.
        nan: whether NaN scores are an error, or `last`.

    Raises:
        DataError: naming file, row, column, value and rule.
    """
    rows = _Rows(frame, columns, batch, lambda position: position, nan=nan)
    known = {column.name: column for column in table.columns}
    typed = {
        role: rows.typed(frame[name], known[role]) if role in known else rows.segment(frame[name])
        for role, name in columns.items()
    }
    return pl.DataFrame([series.alias(role) for role, series in typed.items()])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows under examination.

    Attributes:
        frame: the rows.
        columns: role -> column of the frame.
        batch: where the rows come from.
        row_of: from a position in a column to a row of the frame.
        item_of: what messages add for an item of a list.
        nan: whether NaN scores are an error, or `last`.
    """

    frame: pl.DataFrame
    columns: Mapping[str, str]
    batch: Batch
    row_of: Callable[[int], int]
    item_of: Callable[[int], str] = lambda _: ""
    nan: str = "error"

    def typed(self, series: pl.Series, column: Column) -> pl.Series:
        """One column in the type that its role has."""
        if column.many:
            return self._lists(series, column)
        typed = self._ids(series) if "text" in column.types else self._numbers(series, column)
        if not column.nullable and typed.null_count():
            self.refuse(typed.is_null(), series, "is null; every row needs a value, so drop or mend these rows")
        return typed

    def segment(self, series: pl.Series) -> pl.Series:
        """One column that is no role: what is not a number there is missing, and what has no end is refused."""
        if not series.dtype.is_float():
            return series
        if (endless := series.is_infinite()).any():
            self.refuse(endless, series, "is infinite; a segment is a value that can be named, so mend these rows")
        return series.fill_nan(None)

    def _lists(self, series: pl.Series, column: Column) -> pl.Series:
        """A list column with its items in the type of the role; a null list is refused, a null item too."""
        if not isinstance(series.dtype, (pl.List, pl.Array)):
            raise DataError(f"{self._place(series)} must hold lists, not {series.dtype}")
        if series.null_count():
            self.refuse(series.is_null(), series, "is null; a query without results has an empty list")
        lists = series.arr.to_list() if isinstance(series.dtype, pl.Array) else series
        lengths = lists.list.len()
        items = lists.filter(lengths > 0).explode().alias(series.name)
        ends = lengths.cast(pl.Int64).cum_sum()

        def row_of(position: int) -> int:
            return int(ends.search_sorted(position, side="right"))

        def item_of(position: int) -> str:
            row = row_of(position)
            return f", item {position - ends[row] + lengths[row] + 1}"

        inner = replace(self, row_of=row_of, item_of=item_of)
        return _regrouped(inner.typed(items, replace(column, many=False)), ends)

    def _ids(self, series: pl.Series) -> pl.Series:
        """Ids as text or int64."""
        kind = series.dtype
        if kind in (pl.String, pl.Int64):
            return series
        if kind == pl.Null or isinstance(kind, (pl.Categorical, pl.Enum)):
            return series.cast(pl.String)
        if kind.is_integer() or (isinstance(kind, pl.Decimal) and not kind.scale):  # wider than 64 bits, in databases
            narrow = series.cast(pl.Int64, strict=False)
            return narrow if narrow.null_count() == series.null_count() else series.cast(pl.String)
        raise DataError(f"{self._place(series)} has type {kind}; ids are text or integers, so convert the column")

    def _numbers(self, series: pl.Series, column: Column) -> pl.Series:
        """Numbers as float64; NaN is refused."""
        kind = series.dtype
        if kind == pl.String and self.batch.part.is_text:
            typed = self._parsed(series, column)
        elif kind.is_numeric() or kind == pl.Null or (kind == pl.Boolean and "boolean" in column.types):
            typed = self._converted(series)
        else:
            raise DataError(f"{self._place(series)} has type {kind}; {column.name} is a number, so convert the column")
        # a sum is a number unless one of the values is none, and is the fastest look at all of them
        if not math.isfinite(typed.sum()):
            if (undefined := typed.is_nan()).any():
                if self.nan == "last" and column.name in ("score", "scores"):
                    self.batch.undefined.append(int(undefined.sum()))
                    return typed.fill_nan(-math.inf)
                rule = "is not a number (NaN) and has no place in an order; mend these rows"
                self.refuse(typed.is_nan(), series, rule)
            if (infinite := typed.is_infinite()).any():
                if column.finite:
                    self.refuse(infinite, series, "is infinite; a grade is a finite number, so mend these rows")
                self.batch.infinite.add(column.name)
        return typed

    def _converted(self, series: pl.Series) -> pl.Series:
        """Typed numbers as float64, none of them changed."""
        if series.dtype.is_decimal():
            return series.cast(pl.String).cast(pl.Float64)
        typed = series.cast(pl.Float64)
        if series.dtype.is_integer() and (typed.abs() >= LARGEST_EXACT).any():
            # what rounds to a float beyond the type comes back as null
            lost = typed.cast(series.dtype, strict=False).ne_missing(series)
            if lost.any():
                self.refuse(lost, series, INEXACT)
        return typed

    def _parsed(self, series: pl.Series, column: Column) -> pl.Series:
        """Numbers from text."""
        typed = series.cast(pl.Float64, strict=False)
        if typed.null_count() > series.null_count():
            typed = series.str.strip_chars().cast(pl.Float64, strict=False)
        wrong = typed.is_null() & series.is_not_null()
        if wrong.any():
            self.refuse(wrong, series, self._why_no_number(series, wrong, column))
        return typed

    def _why_no_number(self, series: pl.Series, wrong: pl.Series, column: Column) -> str:
        """What the first text that is no number most likely is."""
        position = wrong.arg_true()[0]
        value = str(series[position])
        if value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit():
            return "is not a number (decimal comma?); write numbers with a point"
        if folded(value) in map(folded, (column.name, *column.names, *column.last_names)):
            return "is not a number and looks like a header; remove that row, or name the file .csv or .tsv"
        if series.name == column.name == "rank":
            return "is not a number; ids with spaces cannot be used in TREC files, use a table or a tab-separated file"
        return "is not a number; mend these rows"

    def refuse(self, wrong: pl.Series, values: pl.Series, rule: str) -> None:
        """Raise the error for the positions where `wrong` holds.

        Raises:
            DataError: always; it shows the first rows and counts the rest.
        """
        positions = wrong.fill_null(value=False).arg_true().to_list()
        lines = [self._sentence(position, values, rule) for position in positions[:SHOWN]]
        more = len(positions) - len(lines)
        raise DataError("\n".join(lines) + (f"\n… and {more} more" if more else ""))

    def _sentence(self, position: int, values: pl.Series, rule: str) -> str:
        value = values[position]
        row = self.row_of(position)
        named = [
            f"{role.split('_')[0]} {shortened(self.frame[self.columns[role]][row])}"
            for role in ("query_id", "doc_id")
            if role in self.columns and self.columns[role] != values.name
        ]
        where, item = f" ({', '.join(named)})" if named else "", self.item_of(position)
        what = rule if value is None else f'"{shortened(value)}" {rule}'
        return f"{self.batch.part.label} row {self.batch.row(row)}, column {values.name}{item}: {what}{where}"

    def _place(self, series: pl.Series) -> str:
        return f"{self.batch.part.label}: column {series.name}"


def _regrouped(items: pl.Series, ends: pl.Series) -> pl.Series:
    """Items put back into lists that end at the given positions."""
    offsets = pl.concat([pl.Series([0], dtype=pl.Int64), ends.rename("")])
    lists = pa.LargeListArray.from_arrays(offsets.to_arrow(), items.to_arrow(compat_level=pl.CompatLevel.newest()))
    return pl.Series(items.name, pl.from_arrow(lists))
