"""The rules on rows: ids, numbers and lists are given the types that the rest works with, or are refused."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter.checks.findings import STRICT, Findings
from rankmeter.errors import DataError, Problem, shortened
from rankmeter.schema import Column, Table
from rankmeter.sources.base import Batch
from rankmeter.sources.columns import folded

Array = np.ndarray[Any, Any]

LARGEST_EXACT = 2.0**53
"""Integers up to here are the same as float64."""

NAN = {
    "score": "is not a number (NaN) and has no place in an order; mend these rows, or choose --nan last",
    "rank": "is not a number (NaN) and has no place in an order; mend these rows",
    "grade": "is not a number (NaN), and a grade is one; mend these rows",
}
"""The rule on NaN, by role."""

INEXACT = "would change as a float64; use smaller integers, or floats"
"""The rule on integers that have no equal among float64."""


def conform(
    frame: pl.DataFrame,
    table: Table,
    columns: Mapping[str, str],
    batch: Batch,
    reading: "Lenience",
) -> pl.DataFrame:
    """A batch with the columns of its table, under the names and in the types that the rest works with.

    Ids become text or int64, numbers float64; nulls and values that are none of these are refused. Columns that are
    in `columns` and not in the table (segments) are passed on as they are.

    Args:
        frame: the rows as read.
        table: the table they should be.
        columns: role -> column of the frame.
        batch: where the rows come from, for messages.
        reading: what becomes of rows that break a rule.

    Raises:
        RefusedRowsError: naming file, row, column, value and rule.
        DataError: a column has a type that is not read.
    """
    rows = _Rows(frame, columns, batch, reading)
    for key, value in reading.keys.items():
        rows.check_key(key, value)
    known = {column.name: column for column in table.columns}
    typed = {
        role: rows.typed(frame[name], known[role]) if role in known else rows.segment(frame[name])
        for role, name in columns.items()
    }
    rows.check_lengths([typed[column.name] for column in table.columns if column.many and column.name in typed])
    reading.findings.leave(rows.kept)
    conforming = pl.DataFrame([series.alias(role) for role, series in typed.items()])
    return conforming if rows.kept.all() else conforming.filter(pl.Series(rows.kept))


@dataclass(frozen=True, slots=True)
class Lenience:
    """What becomes of values that break a rule.

    Attributes:
        findings: who takes rows that break one.
        nan: whether NaN scores break one, or are the `last` of all.
        keys: what the path of the file says of columns that the file has too.
    """

    findings: Findings = STRICT
    nan: str = "error"
    keys: Mapping[str, str | None] = field(default_factory=dict)


class _Rows:
    """Rows under examination.

    Attributes:
        frame: the rows.
        columns: role -> column of the frame.
        batch: where the rows come from.
        reading: what becomes of values that break a rule.
        kept: which rows break none so far (bool).
    """

    def __init__(self, frame: pl.DataFrame, columns: Mapping[str, str], batch: Batch, reading: Lenience) -> None:
        self.frame = frame
        self.columns = columns
        self.batch = batch
        self.reading = reading
        self.kept = np.ones(frame.height, bool)

    def refuse(self, rule: str, rows: Array, describe: Callable[[int], Problem]) -> None:
        """Rows break a rule; `describe` says what is wrong with the first, second, … of them."""
        self.reading.findings.add(rule, range(len(rows)), describe)
        self.kept[rows] = False

    def problem(self, rule: str, row: int, column: str, value: object, sentence: str, item: str = "") -> Problem:
        """What is wrong in a row: the sentence says it of the value."""
        named = {
            role: shortened(self.frame[self.columns[role]][row])
            for role in ("query_id", "doc_id")
            if role in self.columns and self.columns[role] != column
        }
        where = ", ".join(f"{role.split('_')[0]} {text}" for role, text in named.items())
        shown = None if value is None else shortened(value)
        file, number = self.batch.part.label, int(self.batch.row(row))
        message = (
            f"{file} row {number}, column {column}{item}: {_said(shown, sentence)}{f' ({where})' if where else ''}"
        )
        return Problem(rule, message, file, number, column, shown, **named)

    def check_key(self, key: str, value: str | None) -> None:
        """Refuse rows that say something else than the key of the same name in the path of their file."""
        series = self.frame[key]
        other = series.cast(pl.String).ne_missing(pl.Series([value], dtype=pl.String)).arg_true().to_numpy()
        rule = f"contradicts the path, which says {key}={shortened(value)}; rename the folder or the column"

        def describe(number: int) -> Problem:
            row = int(other[number])
            return self.problem("path-contradiction", row, key, str(series[row]), rule)

        self.refuse("path-contradiction", other, describe)

    def typed(self, series: pl.Series, column: Column) -> pl.Series:
        """One column in the type that its role has."""
        values = _Values(self, series, column)
        return values.lists() if column.many else values.typed()

    def segment(self, series: pl.Series) -> pl.Series:
        """One column that is no role: what is not a number there is missing, and what has no end is refused."""
        if not series.dtype.is_float():
            return series
        _Values(self, series, Column(series.name, (), "")).refuse(
            "infinite-segment", series.is_infinite(), "is infinite; a segment is a value that can be named, so mend it"
        )
        return series.fill_nan(None)

    def check_lengths(self, lists: Sequence[pl.Series]) -> None:
        """Refuse rows whose lists are not equally long."""
        if not lists:
            return
        first, lengths = lists[0], [series.list.len().to_numpy() for series in lists]
        for series, length in zip(lists[1:], lengths[1:], strict=True):
            unequal = np.flatnonzero((length != lengths[0]) & self.kept)

            def describe(
                number: int, name: str = series.name, rows: Array = unequal, length: Array = length
            ) -> Problem:
                row = int(rows[number])
                query, file = shortened(self.frame[self.columns["query_id"]][row]), self.batch.part.label
                at = int(self.batch.row(row))
                message = (
                    f"{file} row {at} (query {query}): {first.name} has {lengths[0][row]} items, {name} has "
                    f"{length[row]}; the lists of a row must be equally long"
                )
                return Problem("unequal-lists", message, file, at, name, str(length[row]), query)

            self.refuse("unequal-lists", unequal, describe)


def _said(value: str | None, sentence: str) -> str:
    return sentence if value is None else f'"{value}" {sentence}'


class _Values:
    """The values of one column under examination, or the items of its lists.

    Attributes:
        rows: the rows they stand in.
        series: the values.
        column: the role they have.
        ends: where the items of each row end, for items of lists.
    """

    def __init__(self, rows: _Rows, series: pl.Series, column: Column, ends: Array | None = None) -> None:
        self.rows = rows
        self.series = series
        self.column = column
        self.ends = ends

    def refuse(self, rule: str, wrong: pl.Series, sentence: str) -> None:
        """The values where `wrong` holds break a rule."""
        if not wrong.any():
            return
        positions = wrong.fill_null(value=False).arg_true().to_numpy()
        rows = positions if self.ends is None else np.searchsorted(self.ends, positions, side="right")

        def describe(number: int) -> Problem:
            position, row = int(positions[number]), int(rows[number])
            item = ""
            if self.ends is not None:
                item = f", item {position - (int(self.ends[row - 1]) if row else 0) + 1}"
            return self.rows.problem(rule, row, self.series.name, self.series[position], sentence, item)

        self.rows.refuse(rule, rows, describe)

    def typed(self) -> pl.Series:
        """The values as ids or as numbers; nulls are refused."""
        typed = self._ids() if "text" in self.column.types else self._numbers()
        if not self.column.nullable and self.series.null_count():
            rule = "is null; every row needs a value, so drop or mend these rows"
            self.refuse("null-value", self.series.is_null(), rule)
        return typed

    def lists(self) -> pl.Series:
        """Lists with their items in the type of the role; a null list is refused, a null item too."""
        series = self.series.cast(pl.List(pl.Null)) if self.series.dtype == pl.Null else self.series
        if not isinstance(series.dtype, (pl.List, pl.Array)):
            raise DataError(f"{self._place} must hold lists, not {series.dtype}", "wrong-type")
        if series.null_count():
            self.refuse("null-value", series.is_null(), "is null; a query without results has an empty list")
        lists = series.arr.to_list() if isinstance(series.dtype, pl.Array) else series
        lengths = lists.list.len().fill_null(0)
        items = lists.filter(lengths > 0).explode().alias(series.name)
        ends = lengths.cast(pl.Int64).cum_sum().to_numpy()
        inner = _Values(self.rows, items, replace(self.column, many=False), ends)
        return _regrouped(inner.typed(), ends).alias(series.name)

    def _ids(self) -> pl.Series:
        """Ids as text or int64."""
        series, kind = self.series, self.series.dtype
        if kind in (pl.String, pl.Int64):
            return series
        if kind == pl.Null or isinstance(kind, (pl.Categorical, pl.Enum)):
            return series.cast(pl.String)
        if kind.is_integer() or (isinstance(kind, pl.Decimal) and not kind.scale):  # wider than 64 bits, in databases
            narrow = series.cast(pl.Int64, strict=False)
            return narrow if narrow.null_count() == series.null_count() else series.cast(pl.String)
        raise DataError(f"{self._place} has type {kind}; ids are text or integers, so convert the column", "wrong-type")

    def _numbers(self) -> pl.Series:
        """Numbers as float64; NaN is refused."""
        kind = self.series.dtype
        if kind == pl.String and self.rows.batch.part.is_text:
            typed = self._parsed()
        elif kind.is_numeric() or kind == pl.Null or (kind == pl.Boolean and "boolean" in self.column.types):
            typed = self._converted()
        else:
            raise DataError(
                f"{self._place} has type {kind}; {self.column.name} is a number, so convert the column", "wrong-type"
            )
        # a sum is a number unless one of the values is none, and is the fastest look at all of them
        if not math.isfinite(typed.sum()):
            if (undefined := typed.is_nan()).any():
                if self.rows.reading.nan == "last" and self.column.name in ("score", "scores"):
                    self.rows.batch.undefined.append(int(undefined.sum()))
                    return typed.fill_nan(-math.inf)
                self.refuse("nan-value", undefined, NAN.get(self.column.name.removesuffix("s"), NAN["rank"]))
            if (infinite := typed.is_infinite()).any():
                if self.column.finite:
                    rule = "is infinite; a grade is a finite number, so mend these rows"
                    self.refuse("infinite-grade", infinite, rule)
                self.rows.batch.infinite.add(self.column.name)
        return typed

    def _converted(self) -> pl.Series:
        """Typed numbers as float64, none of them changed."""
        series = self.series
        if series.dtype.is_decimal():
            return series.cast(pl.String).cast(pl.Float64)
        typed = series.cast(pl.Float64)
        if series.dtype.is_integer() and (typed.abs() >= LARGEST_EXACT).any():
            # what rounds to a float beyond the type comes back as null
            self.refuse("inexact-integer", typed.cast(series.dtype, strict=False).ne_missing(series), INEXACT)
        return typed

    def _parsed(self) -> pl.Series:
        """Numbers from text."""
        series = self.series
        typed = series.cast(pl.Float64, strict=False)
        if typed.null_count() > series.null_count():
            typed = series.str.strip_chars().cast(pl.Float64, strict=False)
        wrong = typed.is_null() & series.is_not_null()
        for why, those in self._by_reason(wrong).items():
            self.refuse("no-number", those, why)
        return typed

    def _by_reason(self, wrong: pl.Series) -> dict[str, pl.Series]:
        """Texts that are no numbers, by what they most likely are."""
        reasons: dict[str, list[int]] = {}
        for position in wrong.arg_true():
            reasons.setdefault(self._why_no_number(str(self.series[position])), []).append(position)
        marks = {}
        for why, positions in reasons.items():
            mark = np.zeros(len(wrong), bool)
            mark[positions] = True
            marks[why] = pl.Series(mark)
        return marks

    def _why_no_number(self, value: str) -> str:
        """What a text that is no number most likely is."""
        column = self.column
        if value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit():
            return "is not a number (decimal comma?); write numbers with a point"
        if folded(value) in map(folded, (column.name, *column.names, *column.last_names)):
            return "is not a number and looks like a header; remove that row, or name the file .csv or .tsv"
        if self.series.name == column.name == "rank":
            return "is not a number; ids with spaces cannot be used in TREC files, use a table or a tab-separated file"
        return "is not a number; mend these rows"

    @property
    def _place(self) -> str:
        return f"{self.rows.batch.part.label}: column {self.series.name}"


def _regrouped(items: pl.Series, ends: Array) -> pl.Series:
    """Items put back into lists that end at the given positions."""
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int64))
    lists = pa.LargeListArray.from_arrays(offsets, items.to_arrow(compat_level=pl.CompatLevel.newest()))
    return pl.Series(items.name, pl.from_arrow(lists))
