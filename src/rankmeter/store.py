"""Where values are kept: one column per measure and run, by the number of the query."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankmeter.catalogue.driver import evaluate_measure, evaluate_subtopics
from rankmeter.catalogue.view import Found, View
from rankmeter.catalogue.view import Hits as KernelHits
from rankmeter.conventions import Rules
from rankmeter.judgements import ideals_of
from rankmeter.notation import Asked
from rankmeter.qrels import QrelsIndex
from rankmeter.ranking import Hits
from rankmeter.spill import zeros
from rankmeter.values import mark, put_rows

Array = np.ndarray[Any, Any]


class ScatteredRows(Exception):  # noqa: N818  # a signal, not an error
    """The rows of a query do not stand together."""


@dataclass(slots=True)
class RunValues:
    """The values of one run, by query number.

    Attributes:
        values: float64, one row per query, one column per measure.
        num_ret: int64, the length of each list.
        seen: uint8, whether the run has results for the query.
        tied: uint8, whether a hit shares its key with another document.
        hits: hits of the batches in the order they came, where they are kept.
    """

    values: Array
    num_ret: Array
    seen: Array
    tied: Array
    hits: list[Hits] = field(default_factory=list)


class Store:
    """The values of all runs of one input."""

    def __init__(
        self, index: Callable[[], QrelsIndex], measures: Sequence[Asked], rules: Rules, limit: int, *, keep_hits: bool
    ) -> None:
        """Nothing yet; `index` gives the judgements once they are there, `limit` is what values may take in memory."""
        self.runs: dict[str, RunValues] = {}
        self._index = index
        self._measures = measures
        self._rules = rules
        self._limit = limit
        self._keep_hits = keep_hits
        self._lock = threading.RLock()

    def claim(self, run: str, query: Array) -> None:
        """Take note that the lists of these queries (int64, -1: none) are about to come.

        Raises:
            ScatteredRows: a query was there before.
        """
        with self._lock:
            if mark(self.run(run).seen, query):
                raise ScatteredRows

    def add(self, run: str, hits: Hits) -> None:
        """Compute the measures of judged lists (those whose query is not -1) and keep them.

        Each query comes once, so that threads write to different places.
        """
        kept = self.run(run)
        self._measure(hits, kept)
        judged = hits.query >= 0
        query = hits.query[judged]
        kept.num_ret[query] = hits.num_ret[judged]
        kept.tied[query] = hits.tied[judged]
        if self._keep_hits:
            with self._lock:
                kept.hits.append(selected(hits, judged))

    def run(self, name: str) -> RunValues:
        """The values of a run, empty at first."""
        n = len(self._index())
        with self._lock:
            if name not in self.runs:
                self.runs[name] = RunValues(
                    zeros((n, len(self._measures)), self._limit),
                    np.zeros(n, np.int64),
                    np.zeros(n, np.uint8),
                    np.zeros(n, np.uint8),
                )
                self._limit -= 8 * n * len(self._measures)
            return self.runs[name]

    def complete(self) -> None:
        """Give judged queries without results their values: those of an empty list."""
        for kept in self.runs.values():
            missing = np.flatnonzero(kept.seen == 0)
            if len(missing):
                self._measure(no_hits(missing), kept)

    def _measure(self, hits: Hits, kept: RunValues) -> None:
        """Compute each measure of each list.

        What the drivers read and write stands in the order of the lists, and is gathered and put away once for all
        measures: the index and the values are larger than the caches.
        """
        index = self._index()
        ideal_offsets, ideal = ideals_of(index.starts, index.ends, index.ideal, hits.query)
        above, size = (hits.rank if column is None else column for column in (hits.above, hits.size))
        seen = KernelHits(hits.offsets, hits.rank, hits.grade, ideal_offsets, ideal, hits.num_ret, above, size)
        values = np.empty((len(self._measures), len(hits.query)))
        views = {View(): seen}
        for row, asked in zip(values, self._measures, strict=True):
            if asked.measure.of_subtopics:
                evaluate_subtopics(asked, self._labelled(hits), self._rules, row)
                continue
            view = View(**asked.view_parameters(self._rules))
            if view not in views:
                views[view] = view.of(seen)
            evaluate_measure(asked, views[view], self._rules, row)
        put_rows(kept.values.reshape(-1), hits.query, values)

    def _labelled(self, hits: Hits) -> Found:
        """The hits with the labels of the judged documents."""
        index = self._index()
        known = np.maximum(hits.query, 0)
        first, last = (np.where(hits.query >= 0, column[known], 0) for column in (index.starts, index.ends))
        return Found(hits.offsets, hits.rank, hits.judgement, hits.num_ret, first, last, *index.labels)


def no_hits(query: Array) -> Hits:
    """The hits of empty lists."""
    n = len(query)
    nothing = np.zeros(0, np.int64)
    offsets, grade = np.zeros(n + 1, np.int64), np.zeros(0)
    return Hits(query, np.zeros(n, np.int64), offsets, nothing, nothing, grade, np.zeros(n, np.uint8))


def selected(hits: Hits, chosen: Array) -> Hits:
    """The hits of some of the lists.

    Args:
        hits: hits of many lists.
        chosen: bool, which lists to keep.
    """
    if chosen.all():
        return hits
    counts = np.diff(hits.offsets)
    rows = np.repeat(chosen, counts)
    return Hits(
        hits.query[chosen],
        hits.num_ret[chosen],
        np.concatenate([[0], np.cumsum(counts[chosen])]),
        hits.judgement[rows],
        hits.rank[rows],
        hits.grade[rows],
        hits.tied[chosen],
        None if hits.above is None else hits.above[rows],
        None if hits.size is None else hits.size[rows],
    )
