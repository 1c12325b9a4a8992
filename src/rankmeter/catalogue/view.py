"""What a measure sees of the hits: all of them, or only judged documents; their grades, or what these are worth.

A view is made once for all measures that share it, so that kernels stay short and know nothing of how grades become
gains.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import compiled
from rankmeter.errors import UsageError
from rankmeter.judgements import sort_down

Array = np.ndarray[Any, Any]

BEYOND = 1024.0
"""2 to this is more than a float64 holds."""

LINEAR, BINARY = 0.0, 1.0
BASES = {"linear": LINEAR, "binary": BINARY, "exp": 2.0}
"""What a gain is made with: the grade itself, 1, or a base to the grade, less 1."""


class Hits(NamedTuple):
    """What kernels see, list after list.

    Attributes:
        offsets: int64, where each list's hits begin, and the end.
        rank: int64, ranks of the judged documents found, from 1, ascending within a list.
        grade: float64, their grades, or gains.
        ideal_offsets: int64, where the judged grades of each list's query begin, and the end.
        ideal: float64, all judged grades, or gains, sorted downwards within a query.
        num_ret: int64, length of each list.
        above: int64, where ties are expected values: how many documents stand before the tie of each hit.
        size: int64, likewise, how many are in it.
    """

    offsets: Array
    rank: Array
    grade: Array
    ideal_offsets: Array
    ideal: Array
    num_ret: Array
    above: Array
    size: Array


class Found(NamedTuple):
    """What kernels of subtopics see, list after list.

    Attributes:
        offsets: int64, where each list's hits begin, and the end.
        rank: int64, ranks of the judged documents found, from 1, ascending within a list.
        judgement: int64, their numbers.
        num_ret: int64, length of each list.
        first: int64, number of the first judged document of each list's query.
        last: int64, number behind that of the last.
        starts: int64, where the labels of each judged document begin, and the end.
        label: int64, the subtopic of each label, from 0 within a query.
        grade: float64, the grade for it.
    """

    offsets: Array
    rank: Array
    judgement: Array
    num_ret: Array
    first: Array
    last: Array
    starts: Array
    label: Array
    grade: Array


@dataclass(frozen=True, slots=True)
class View:
    """How hits are seen.

    Attributes:
        judged_only: documents that are not judged are left out, and the others ranked anew.
        gain: what grades are worth, `linear`, `exp`, or `binary` (1 each); None: they stay grades.
        gains: pairs of a grade and what it is worth instead.
        least: queries without a grade from here on have no gains; None: all have.
        floor: grades below have no gain, nor have those of 0 and below unless `gain` is `binary`.
        rising: whether it is refused that a higher grade has less gain, or any has less than a document not judged.
    """

    judged_only: bool = False
    gain: str | None = None
    gains: tuple[tuple[float, float], ...] = ()
    least: float | None = None
    floor: float = -np.inf
    rising: bool = False

    def of(self, hits: Hits) -> Hits:
        """The hits as seen."""
        if self.judged_only:
            counts = np.diff(hits.offsets)
            rank = np.arange(1, len(hits.rank) + 1) - np.repeat(hits.offsets[:-1], counts)
            hits = hits._replace(rank=rank, num_ret=counts)
        if self.gain is None:
            return hits
        seen = self._gains(hits)
        return seen if self.least is None else _blanked(seen, _reaching(hits, self.least))

    def _gains(self, hits: Hits) -> Hits:
        """The hits with gains in place of grades."""
        plain = self.gain == "linear" and not self.gains and self.floor == -np.inf
        if plain and not (hits.ideal < 0).any():
            return hits
        named = np.array(self.gains, np.float64).reshape(-1, 2)
        base = BASES[self.gain or ""]
        grade, ideal = (gains_of(grades, named, base, self.floor) for grades in (hits.grade, hits.ideal))
        if self.gains and self.rising:
            _check_rising(hits, ideal)
        return hits._replace(grade=grade, ideal=sort_down(hits.ideal_offsets, ideal) if self.gains else ideal)


def _check_rising(hits: Hits, gain: Array) -> None:
    """Refuse gains (float64, of the judged grades) that fall where the grades of a query rise, or are below 0.

    Raises:
        UsageError: naming the grades.
    """
    behind = np.append(gain, 0.0)[1:]
    behind[hits.ideal_offsets[1:][np.diff(hits.ideal_offsets) > 0] - 1] = 0.0  # what is not judged comes last
    for place in np.flatnonzero(behind > gain)[:1]:
        lower = f"grade {hits.ideal[place + 1]:g}" if gain[place] >= 0.0 else "a document that is not judged"
        raise UsageError(
            f"--ties best and worst go by the grades, and gains= makes grade {hits.ideal[place]:g} worth "
            f"{gain[place]:g}, less than {lower}: no bounds for such gains"
        )


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
def gains_of(grades: Any, named: Any, base: float, floor: float) -> Any:
    """What each grade is worth (float64): as named, else what `base` says of grades from `floor` on."""
    out = np.zeros(len(grades), np.float64)
    for i in range(len(grades)):
        grade = grades[i]
        if grade >= floor:
            if base == BINARY:
                out[i] = 1.0
            elif grade > 0.0:
                out[i] = grade if base == LINEAR else (base**grade - 1.0 if grade < BEYOND else np.inf)
        for n in range(len(named)):
            if named[n, 0] == grade:
                out[i] = named[n, 1]
    return out
