"""Where values are kept: one column per measure and run, by the number of the query."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankmeter import matching
from rankmeter.catalogue.driver import Hits as KernelHits
from rankmeter.catalogue.driver import evaluate_measure
from rankmeter.notation import Asked
from rankmeter.qrels import QrelsIndex
from rankmeter.ranking import Hits

Array = np.ndarray[Any, Any]


class ScatteredRows(Exception):  # noqa: N818  # a signal, not an error
    """The rows of a query do not stand together."""


@dataclass(slots=True)
class RunValues:
    """The values of one run, by query number.

    Attributes:
        values: float64, one row per measure.
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
        self, index: Callable[[], QrelsIndex], measures: Sequence[Asked], level: float, *, keep_hits: bool
    ) -> None:
        """Nothing yet; `index` gives the judgements once they are there."""
        self.runs: dict[str, RunValues] = {}
        self._index = index
        self._measures = measures
        self._level = level
        self._keep_hits = keep_hits
        self._lock = threading.RLock()

    def claim(self, run: str, query: Array) -> None:
        """Take note that the lists of these queries (int64, -1: none) are about to come.

        Raises:
            ScatteredRows: a query was there before.
        """
        with self._lock:
            if matching.mark(self.run(run).seen, query):
                raise ScatteredRows

    def add(self, run: str, hits: Hits) -> None:
        """Compute the measures of judged lists and keep them."""
        values = self._values(hits)
        with self._lock:
            kept = self.run(run)
            kept.values[:, hits.query] = values
            kept.num_ret[hits.query] = hits.num_ret
            kept.tied[hits.query] = hits.tied
            if self._keep_hits:
                kept.hits.append(hits)

    def run(self, name: str) -> RunValues:
        """The values of a run, empty at first."""
        n = len(self._index())
        with self._lock:
            if name not in self.runs:
                self.runs[name] = RunValues(
                    np.zeros((len(self._measures), n)),
                    np.zeros(n, np.int64),
                    np.zeros(n, np.uint8),
                    np.zeros(n, np.uint8),
                )
            return self.runs[name]

    def complete(self) -> None:
        """Give judged queries without results their values: those of an empty list."""
        for kept in self.runs.values():
            missing = np.flatnonzero(kept.seen == 0)
            if len(missing):
                kept.values[:, missing] = self._values(no_hits(missing))

    def _values(self, hits: Hits) -> Array:
        """One row per measure, one column per list."""
        index = self._index()
        seen = KernelHits(
            hits.offsets,
            hits.rank,
            index.grade[hits.judgement],
            index.offsets[hits.query],
            index.offsets[hits.query + 1],
            index.ideal,
            hits.num_ret,
        )
        out = np.empty((len(self._measures), len(hits.query)))
        for row, asked in zip(out, self._measures, strict=True):
            row[:] = evaluate_measure(asked, seen, self._level)
        return out


def no_hits(query: Array) -> Hits:
    """The hits of empty lists."""
    n = len(query)
    nothing = np.zeros(0, np.int64)
    return Hits(query, np.zeros(n, np.int64), np.zeros(n + 1, np.int64), nothing, nothing, np.zeros(n, np.uint8))


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
        hits.tied[chosen],
    )
