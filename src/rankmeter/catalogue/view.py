"""What a measure sees of the hits: all of them, or only judged documents; their grades, or what these are worth.

A view is made once for all measures that share it, so that kernels stay short and know nothing of how grades become
gains.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import compiled
from rankmeter.judgements import sort_down

Array = np.ndarray[Any, Any]

BEYOND = 1024.0
"""2 to this is more than a float64 holds."""


class Hits(NamedTuple):
    """What kernels see, list after list.

    Attributes:
        offsets: int64, where each list's hits begin, and the end.
        rank: int64, ranks of the judged documents found, from 1, ascending within a list.
        grade: float64, their grades, or gains.
        ideal_offsets: int64, where the judged grades of each list's query begin, and the end.
        ideal: float64, all judged grades, or gains, sorted downwards within a query.
        num_ret: int64, length of each list.
    """

    offsets: Array
    rank: Array
    grade: Array
    ideal_offsets: Array
    ideal: Array
    num_ret: Array


@dataclass(frozen=True, slots=True)
class View:
    """How hits are seen.

    Attributes:
        judged_only: documents that are not judged are left out, and the others ranked anew.
        gain: what grades are worth, `linear` or `exp`; None: they stay grades.
        gains: pairs of a grade and what it is worth instead.
        least: queries without a grade from here on have no gains; None: all have.
        floor: grades below have no gain; None: all above 0 have.
    """

    judged_only: bool = False
    gain: str | None = None
    gains: tuple[tuple[float, float], ...] = ()
    least: float | None = None
    floor: float | None = None

    def of(self, hits: Hits) -> Hits:
        """The hits as seen."""
        if self.judged_only:
            counts = np.diff(hits.offsets)
            rank = np.arange(1, len(hits.rank) + 1) - np.repeat(hits.offsets[:-1], counts)
            hits = hits._replace(rank=rank, num_ret=counts)
        if self.gain is None:
            return hits
        if self.floor is not None:
            hits = hits._replace(
                grade=np.where(hits.grade >= self.floor, hits.grade, 0.0),
                ideal=np.where(hits.ideal >= self.floor, hits.ideal, 0.0),
            )
        seen = self._gains(hits)
        return seen if self.least is None else _blanked(seen, _reaching(hits, self.least))

    def _gains(self, hits: Hits) -> Hits:
        """The hits with gains in place of grades."""
        if not self.gains and self.gain == "linear" and not (hits.ideal < 0).any():
            return hits
        named = np.array(self.gains, np.float64).reshape(-1, 2)
        base = 2.0 if self.gain == "exp" else 0.0
        grade, ideal = gains_of(hits.grade, named, base), gains_of(hits.ideal, named, base)
        return hits._replace(grade=grade, ideal=sort_down(hits.ideal_offsets, ideal) if self.gains else ideal)


def _reaching(hits: Hits, least: float) -> Array:
    """Which queries have a grade from `least` on (bool)."""
    starts, judged = hits.ideal_offsets[:-1], np.diff(hits.ideal_offsets) > 0
    out = np.zeros(len(judged), bool)
    out[judged] = hits.ideal[starts[judged]] >= least
    return out


def _blanked(hits: Hits, kept: Array) -> Hits:
    """Hits in which only some queries have gains."""
    grade = np.where(np.repeat(kept, np.diff(hits.offsets)), hits.grade, 0.0)
    ideal = np.where(np.repeat(kept, np.diff(hits.ideal_offsets)), hits.ideal, 0.0)
    return hits._replace(grade=grade, ideal=ideal)


@compiled
def gains_of(grades: Any, named: Any, base: float) -> Any:
    """What each grade is worth (float64): as named, else base^grade - 1 or, for base 0, the grade; nothing below 0."""
    out = np.zeros(len(grades), np.float64)
    for i in range(len(grades)):
        grade = grades[i]
        if grade > 0.0 and base == 0.0:
            out[i] = grade
        elif grade > 0.0:
            out[i] = base**grade - 1.0 if grade < BEYOND else np.inf
        for n in range(len(named)):
            if named[n, 0] == grade:
                out[i] = named[n, 1]
    return out
