"""The compiled driver: applies the kernel of a measure to every query.

Each measure gets a driver of its own, compiled when it is first asked for, so that a new measure costs the others
nothing. The cache of compiled code is keyed by the content of this whole folder, see `rankmeter.compiler`.
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankmeter.catalogue.registry import SHARED, TABULATED, Measure
from rankmeter.compiler import callable_compiled, compiled, substitute
from rankmeter.memory import borrowed

if TYPE_CHECKING:
    from rankmeter.notation import Asked

Array = np.ndarray[Any, Any]


class Hits(NamedTuple):
    """What kernels see, list after list.

    Attributes:
        offsets: int64, where each list's hits begin, and the end.
        rank: int64, ranks of the judged documents found, from 1, ascending within a list.
        grade: float64, their grades.
        ideal_offsets: int64, where the judged grades of each list's query begin, and the end.
        ideal: float64, all judged grades, sorted downwards within a query.
        num_ret: int64, length of each list.
    """

    offsets: Array
    rank: Array
    grade: Array
    ideal_offsets: Array
    ideal: Array
    num_ret: Array


def evaluate_measure(asked: "Asked", hits: Hits, level: float, out: Array) -> None:
    """Compute a measure for every list.

    Args:
        asked: the measure with its parameters.
        hits: the lists.
        level: grade from which a document is relevant, where the measure names none itself.
        out: float64, where the values go, one per list.
    """
    _driver(asked.measure)(hits, out, *asked.kernel_parameters(level))


@functools.cache
def _shared_helpers() -> None:
    """Make the helpers of kernels known to the compiler, once."""
    for function, size in TABULATED.items():
        _tabulate(function, size)
    for helper in SHARED:
        callable_compiled(helper)


def _tabulate(function: Callable[[int], float], size: int) -> None:
    """Let compiled code look the first values of a function up, and call it for the rest."""
    values = np.array([function(number) for number in range(size)])
    rest = callable_compiled(FunctionType(function.__code__, function.__globals__))
    substitute(function, lambda number: values[number] if number < size else rest(number))


@functools.cache
def _driver(measure: Measure) -> Callable[..., None]:
    """A compiled loop over queries around one kernel."""
    _shared_helpers()
    kernel = callable_compiled(measure.kernel)

    def drive(owned: Any, out: Any, *parameters: Any) -> None:
        hits = borrowed(owned)
        for n in range(len(out)):
            first, last = hits.offsets[n], hits.offsets[n + 1]
            ideal = hits.ideal[hits.ideal_offsets[n] : hits.ideal_offsets[n + 1]]
            out[n] = kernel(hits.rank[first:last], hits.grade[first:last], ideal, hits.num_ret[n], *parameters)

    drive.__name__ = drive.__qualname__ = f"drive_{measure.kernel.__name__}"
    return compiled(drive)
