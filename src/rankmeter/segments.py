"""Segments: columns that divide the queries, from the queries table, the qrels or the run, in that order."""

import threading
from collections.abc import Sequence

import numpy as np
import polars as pl

from rankmeter.conflicts import per_query, two_values
from rankmeter.errors import DataError, UsageError
from rankmeter.ids import Array, list_heads
from rankmeter.qrels import QrelsIndex
from rankmeter.request import Request
from rankmeter.schema import PER_QUERY, QRELS, QRELS_LISTS, QUERIES, RUN_LISTS, RUN_TABLE, SUMMARY
from rankmeter.sources.source import Source

QUERY, INPUT = "\1query", "\1input"
"""Columns beside segments, which may have any name that a file can give."""

ROLES = {
    True: {column.name for table in (QRELS, QRELS_LISTS, RUN_TABLE) for column in table.columns},
    False: {column.name for table in (RUN_TABLE, RUN_LISTS) for column in table.columns} | {"tag"},
}
"""Whether an input holds judgements -> what its rows are made of, none of which is a segment."""


def check_segments(request: Request, before: Sequence[Source], runs: Sequence[Source]) -> None:
    """Refuse a segment that no input has, that is asked for twice, or whose name says something else already.

    Args:
        request: the segments and measures.
        before: the inputs that are asked first: the queries table, if there is one, and the qrels.
        runs: the runs, each of which must have what these lack.

    Raises:
        UsageError: naming the column.
    """
    taken = {column.name for table in (PER_QUERY, SUMMARY) for column in table.columns}
    taken |= {asked.name for asked in request.measures}
    for name in request.by:
        if request.by.count(name) > 1:
            raise UsageError(f"the segment {name} is asked for twice")
        if name in taken:
            raise UsageError(f'a segment cannot be called "{name}", which is a column of the output; rename it')
        if any(_has(source, name, judged=True) for source in before):
            continue
        for source in runs:
            if not _has(source, name, judged=False):
                raise UsageError(f'no input has a column "{name}" for --by; {source.label} has none of that name')


def _has(source: Source, name: str, *, judged: bool) -> bool:
    """Whether an input has a segment of that name.

    Raises:
        UsageError: the name is a role of its rows, and so not the same in all rows of a query.
        DataError: it has a type that a segment cannot have.
    """
    if name in source.columns and source.table is not QUERIES and name in ROLES[judged]:
        raise UsageError(
            f"the column {source.columns[name]} of {source.label} is the {name} of each row and no segment; "
            f'name another column, or give "{name}" per query in a queries table (--queries)'
        )
    if name in source.columns:
        _check_type(source, source.columns[name])
    return name in source.columns


def _check_type(source: Source, column: str) -> None:
    """Refuse values that have no name of their own in every output.

    Raises:
        DataError: naming the column and its type.
    """
    for part, _ in source.parts:
        kind = part.schema().get(column, pl.String())
        if kind.is_nested() or kind in (pl.Binary, pl.Duration):
            raise DataError(
                f"{part.label}: column {column} has type {kind}; a segment is text, a number, a date or a boolean, so "
                "convert the column",
                "wrong-type",
            )


class Segments:
    """The segment of each query, filled while runs are read where the run holds it."""

    def __init__(self, by: Sequence[str], index: QrelsIndex, queries: Source | None) -> None:
        """Take what the queries table and the qrels hold; the rest must come from the runs.

        Raises:
            DataError: a segment has two values for one query.
        """
        self._by = tuple(by)
        self._index = index
        self._lock = threading.Lock()
        self._parts: list[pl.DataFrame] = []
        self.known = {name: index.columns[name] for name in by if name in index.columns.columns}
        if queries is not None:
            self.known |= from_queries(queries, index, by)
        self.from_run = tuple(name for name in by if name not in self.known)

    def add(self, query: Array, heads: pl.DataFrame, label: str) -> None:
        """Keep the segments of judged lists."""
        if self.from_run:
            columns = [pl.Series(QUERY, query), *(heads[name] for name in self.from_run)]
            with self._lock:
                self._parts.append(pl.DataFrame(columns).filter(query >= 0).with_columns(pl.lit(label).alias(INPUT)))

    def frame(self) -> pl.DataFrame:
        """One row per query with its segments.

        Raises:
            DataError: a segment has two values for one query.
        """
        columns = dict(self.known)
        if self.from_run:
            taken = self._from_parts()
            columns |= {name: taken[name] for name in self.from_run}
        return pl.DataFrame([columns[name].alias(name) for name in self._by])

    def _from_parts(self) -> pl.DataFrame:
        """The segments that the runs held, one row per query, null for queries without results."""
        every = pl.concat(self._parts, how="vertical_relaxed").unique([QUERY, *self.from_run], keep="any")
        again = every.filter(pl.col(QUERY).is_duplicated()).sort(QUERY, *self.from_run)
        if again.height:
            number, text = again[QUERY][0], self._index.query_text()
            pair = again.filter(pl.col(QUERY) == number)
            name = next(name for name in self.from_run if pair[name][0] != pair[name][1])
            raise DataError(
                two_values(pair[INPUT][0], name, text[number], pair[name][0], pair[name][1]), "two-segments"
            )
        numbers = pl.DataFrame({QUERY: np.arange(len(self._index))})
        return numbers.join(every, on=QUERY, how="left", maintain_order="left")


def from_queries(source: Source, index: QrelsIndex, by: Sequence[str]) -> dict[str, pl.Series]:
    """The segments that a queries table holds, one value per judged query; null where it lacks the query."""
    frame = source.frame()
    names = [name for name in by if name in frame.columns]
    order = np.argsort(index.queries.numbers(frame["query_id"]), kind="stable")
    frame = frame.select("query_id", *names)[order]
    heads = list_heads(frame["query_id"])
    rows = per_query(frame, heads, source.label)
    numbers = index.queries.numbers(frame["query_id"][heads[:-1]])
    places = np.full(len(index), rows.height, np.int64)
    places[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
    return {name: rows[name].extend_constant(None, 1)[places] for name in names}
