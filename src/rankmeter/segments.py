"""Segments: columns that divide the queries, from the queries table, the qrels or the run, in that order."""

import threading
from collections.abc import Sequence

import numpy as np
import polars as pl

from rankmeter.errors import DataError, UsageError
from rankmeter.ids import Array, list_heads
from rankmeter.qrels import QrelsIndex, per_query, two_values
from rankmeter.request import Request
from rankmeter.schema import PER_QUERY, QRELS, QRELS_LISTS, RUN_LISTS, RUN_TABLE, SUMMARY
from rankmeter.sources.source import Source


def check_segments(request: Request, before: Sequence[Source], runs: Sequence[Source]) -> None:
    """Refuse a segment that no input has, that is asked for twice, or that is named like a column of the output.

    Args:
        request: the segments and measures.
        before: the inputs that are asked first: the queries table and the qrels.
        runs: the runs, each of which must have what these lack.

    Raises:
        UsageError: naming the column.
    """
    taken = {column.name for table in (PER_QUERY, SUMMARY) for column in table.columns}
    taken |= {column.name for table in (QRELS, RUN_TABLE, QRELS_LISTS, RUN_LISTS) for column in table.columns}
    taken |= {asked.name for asked in request.measures}
    for name in request.by:
        if request.by.count(name) > 1:
            raise UsageError(f"the segment {name} is asked for twice")
        if name in taken:
            raise UsageError(
                f'a segment cannot be called "{name}", which is a column of the output or of the inputs; rename it'
            )
        if any(name in source.columns for source in before):
            continue
        for source in runs:
            if name not in source.columns:
                raise UsageError(f'no input has a column "{name}" for --by; {source.label} has none of that name')


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
            judged = pl.Series("query", query) >= 0
            columns = [pl.Series("query", query), *(heads[name] for name in self.from_run)]
            with self._lock:
                self._parts.append(pl.DataFrame(columns).filter(judged).with_columns(input=pl.lit(label)))

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
        every = pl.concat(self._parts, how="vertical_relaxed").unique(["query", *self.from_run], keep="any")
        again = every.filter(pl.col("query").is_duplicated()).sort("query", *self.from_run)
        if again.height:
            number, text = again["query"][0], self._index.query_text()
            pair = again.filter(pl.col("query") == number)
            name = next(name for name in self.from_run if pair[name][0] != pair[name][1])
            raise DataError(two_values(pair["input"][0], name, text[number], pair[name][0], pair[name][1]))
        numbers = pl.DataFrame({"query": np.arange(len(self._index))})
        return numbers.join(every, on="query", how="left", maintain_order="left")


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
