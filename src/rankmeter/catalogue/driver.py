"""The compiled driver: applies the kernel of a measure to every query.

Each measure gets a driver of its own, compiled when it is first asked for, so that a new measure costs the others
nothing. The cache of compiled code is keyed by the content of this whole folder, see `rankmeter.compiler`.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankmeter.catalogue.registry import SHARED, Measure
from rankmeter.compiler import callable_compiled, compiled

if TYPE_CHECKING:
    from rankmeter.notation import Asked

Array = np.ndarray[Any, Any]


class Hits(NamedTuple):
    """What kernels see, query after query.

    Attributes:
        offsets: int64, where each query's hits begin, and the end.
        rank: int64, ranks of the judged documents found, from 1, ascending within a query.
        grade: float64, their grades.
        ideal_offsets: int64, where each query's judged grades begin.
        ideal_ends: int64, and where they end.
        ideal: float64, all judged grades, sorted downwards within a query.
        num_ret: int64, length of each list.
    """

    offsets: Array
    rank: Array
    grade: Array
    ideal_offsets: Array
    ideal_ends: Array
    ideal: Array
    num_ret: Array


def evaluate_measure(asked: "Asked", hits: Hits, level: float) -> Array:
    """The measure's value for every query (float64).

    Args:
        asked: the measure with its parameters.
        hits: the queries.
        level: grade from which a document is relevant, where the measure names none itself.
    """
    out = np.empty(len(hits.num_ret), np.float64)
    _driver(asked.measure)(hits, out, *asked.kernel_parameters(level))
    return out


@functools.cache
def _shared_helpers() -> None:
    """Make the helpers of kernels known to the compiler, once."""
    for helper in SHARED:
        callable_compiled(helper)


@functools.cache
def _driver(measure: Measure) -> Callable[..., None]:
    """A compiled loop over queries around one kernel."""
    _shared_helpers()
    kernel = callable_compiled(measure.kernel)

    def drive(hits: Any, out: Any, *parameters: Any) -> None:
        for q in range(len(out)):
            first, last = hits.offsets[q], hits.offsets[q + 1]
            ideal = hits.ideal[hits.ideal_offsets[q] : hits.ideal_ends[q]]
            out[q] = kernel(hits.rank[first:last], hits.grade[first:last], ideal, hits.num_ret[q], *parameters)

    drive.__name__ = drive.__qualname__ = f"drive_{measure.kernel.__name__}"
    return compiled(drive)
