"""The compiled driver: applies the kernel of a measure to every query.

Each measure gets a driver of its own, compiled when it is first asked for, so that a new measure costs the others
nothing. The cache of compiled code is keyed by the content of this whole folder, see `rankmeter.compiler`.
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from rankmeter.catalogue.diverse import Pool
from rankmeter.catalogue.registry import EXPECTED, SHARED, TABULATED, Measure
from rankmeter.catalogue.view import Found, Hits
from rankmeter.compiler import callable_compiled, compiled, substitute
from rankmeter.memory import borrowed

if TYPE_CHECKING:
    from rankmeter.conventions import Rules
    from rankmeter.notation import Asked

Array = np.ndarray[Any, Any]


def evaluate_measure(asked: "Asked", hits: Hits, rules: "Rules", out: Array) -> None:
    """Compute a measure for every list.

    Args:
        asked: the measure with its parameters.
        hits: the lists, as the measure sees them.
        rules: the rules in force.
        out: float64, where the values go, one per list.
    """
    given = asked.kernel_parameters(rules)
    numbers = (np.array(value) if isinstance(value, tuple) else value for value in given)
    driver = _expecting(asked.measure.name) if rules.ties == "expected" else _driver(asked.measure)
    driver(hits, out, *numbers)


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


@functools.cache
def _expecting(name: str) -> Callable[..., None]:
    """A compiled loop over queries around the kernel of an expected value."""
    _shared_helpers()
    kernel = callable_compiled(EXPECTED[name].kernel)

    def drive(owned: Any, out: Any, *parameters: Any) -> None:
        hits = borrowed(owned)
        for n in range(len(out)):
            first, last = hits.offsets[n], hits.offsets[n + 1]
            ideal = hits.ideal[hits.ideal_offsets[n] : hits.ideal_offsets[n + 1]]
            above, size, grade = hits.above[first:last], hits.size[first:last], hits.grade[first:last]
            out[n] = kernel(above, size, grade, ideal, hits.num_ret[n], *parameters)

    drive.__name__ = drive.__qualname__ = f"drive_expected_{name}"
    return compiled(drive)


def evaluate_subtopics(asked: "Asked", found: Found, rules: "Rules", out: Array) -> None:
    """Compute a measure of subtopics for every list.

    Args:
        asked: the measure with its parameters.
        found: the lists, and the labels of judged documents.
        rules: the rules in force.
        out: float64, where the values go, one per list.
    """
    _diverse_driver(asked.measure)(found, out, *asked.kernel_parameters(rules))


@functools.cache
def _diverse_driver(measure: Measure) -> Callable[..., None]:
    """A compiled loop over queries around one kernel of subtopics."""
    _shared_helpers()
    kernel = callable_compiled(measure.kernel)

    def drive(hits: Any, out: Any, *parameters: Any) -> None:
        for n in range(len(out)):
            first, last = hits.offsets[n], hits.offsets[n + 1]
            pool = Pool(hits.first[n], hits.last[n], hits.starts, hits.label, hits.grade)
            out[n] = kernel(hits.rank[first:last], hits.judgement[first:last], pool, hits.num_ret[n], *parameters)

    drive.__name__ = drive.__qualname__ = f"drive_{measure.kernel.__name__}"
    return compiled(drive)
