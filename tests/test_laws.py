"""The laws that measures declare: they hold in random cases, no others do, and a wrong kernel is caught."""

# ruff: noqa: ARG001  # laws have the same arguments, whether they need them or not

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rankmeter.catalogue import MEASURES
from rankmeter.catalogue.registry import LAWS, Kernel, Measure
from rankmeter.conventions import Rules
from rankmeter.notation import Asked

Dense = tuple[list[float | None], list[float]]
"""A list (the grade of each document, None where it is not judged), and the judged grades that it lacks."""

Pair = tuple[Dense, Dense, int | None]
"""A list, what a law makes of it, and the cut-off."""

CASES = 1500
GRADES = (None, None, None, -1.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0)


def some_query(chance: random.Random) -> Dense:
    ranked = chance.choices(GRADES, k=chance.choice([1, 2, 3, 5, 12]))
    missed = [grade for grade in chance.choices(GRADES, k=chance.choice([0, 1, 4])) if grade is not None]
    return ranked, missed


def worth(grade: float | None) -> float:
    return max(grade or 0.0, 0.0)


def cut(query: Dense, depth: int) -> Dense:
    ranked, missed = query
    return ranked[:depth], [*missed, *(grade for grade in ranked[depth:] if grade is not None)]


def swap(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    for i in range(len(ranked) - 1):
        if worth(ranked[i + 1]) >= worth(ranked[i]):
            better = [*ranked[:i], ranked[i + 1], ranked[i], *ranked[i + 2 :]]
            yield query, (better, missed), k
            yield cut(query, i + 1), cut((better, missed), i + 1), k


def replacement(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    for i, grade in enumerate(ranked):
        if grade is not None:
            yield query, ([*ranked[:i], grade + chance.choice([0.5, 1.0]), *ranked[i + 1 :]], missed), k


def tail(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    yield query, cut(query, k), k


def padding(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    yield query, ([*ranked, *[None] * chance.randrange(1, 5)], missed), k


def unretrieved(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    yield query, (ranked, [*missed, *chance.choices([0.0, -1.0], k=3)]), k


def ideal(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    judged = sorted([*(grade for grade in ranked if grade is not None), *missed], reverse=True)
    if judged and judged[0] >= 1:
        yield query, (list(judged), []), k


def deep(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    yield query, query, len(query[0]) + len(query[1])


MADE: dict[str, Callable[[Dense, int, random.Random], Iterator[Pair]]] = {
    law.__name__: law for law in (swap, replacement, tail, padding, unretrieved, ideal, deep)
}


NEEDED = {"recall": 0.5, "x": 1.0, "max_rel": 4.0}
"""Values of parameters that have no default."""


def value(measure: Measure, query: Dense, k: int | None, **given: Any) -> float:
    """The value of a list for the defaults of all parameters but the cut-off and those that are given."""
    ranked, missed = query
    others = NEEDED | given
    values = [k if p.kind == "cutoff" else others.get(p.name, p.default) for p in measure.parameters]
    asked = Asked(measure, tuple(values))
    found = [(rank, grade) for rank, grade in enumerate(ranked, 1) if grade is not None]
    judged = sorted([*(grade for _, grade in found), *missed], reverse=True)
    grades = [grade for _, grade in found]
    if any(
        p.view and p.name == "gain" for p in measure.parameters
    ):  # of which none is below 0, and which are the grades otherwise
        grades, judged = [max(grade, 0.0) for grade in grades], [max(grade, 0.0) for grade in judged]
    return measure.kernel([rank for rank, _ in found], grades, judged, len(ranked), *asked.kernel_parameters(Rules()))


def holds(law: str, measure: Measure, pair: Pair, **given: Any) -> bool:
    before, after, k = pair
    if law == "ideal":
        return value(measure, after, k, **given) == 1.0
    if law == "deep":
        return value(measure, before, k, **given) == value(measure, before, None, **given)
    if law in ("swap", "replacement"):
        return value(measure, after, k, **given) >= value(measure, before, k, **given) - 1e-12
    return value(measure, after, k, **given) == value(measure, before, k, **given)


WALKERS = {"NERR10", "NERR11", "INST", "INSQ"}
"""Measures that go through 1,000 ranks, and have fewer cases."""


def cases(law: str, name: str = "") -> Iterator[Pair]:
    chance = random.Random(f"law {law}")
    for _ in range(CASES // 20 if name in WALKERS else CASES):
        query = some_query(chance)
        yield from MADE[law](query, chance.randrange(1, 14), chance)


def applies(law: str, measure: Measure) -> bool:
    """Whether a law says anything about a measure: two are about cut-offs, one about doing without."""
    cutoffs = [p for p in measure.parameters if p.kind == "cutoff"]
    return {"tail": bool(cutoffs), "deep": any(not p.required for p in cutoffs)}.get(law, True)


DECLARED = {name: measure for name, measure in MEASURES.items() if not measure.of_subtopics}
PAIRS = [(name, law) for name, measure in DECLARED.items() for law in LAWS if applies(law, measure)]
UNTOUCHED = {"NumQ": {"ideal"}}
"""Laws that hold by chance: one query is one query."""


def test_every_law_has_cases_and_measures() -> None:
    assert MADE.keys() == LAWS.keys() == {law for measure in MEASURES.values() for law in measure.laws}
    for measure in MEASURES.values():
        assert all(applies(law, measure) for law in measure.laws), measure.name
    for law in LAWS:
        assert sum(1 for _ in cases(law)) >= 1000


@pytest.mark.parametrize(("name", "law"), [(name, law) for name, law in PAIRS if law in MEASURES[name].laws])
def test_a_declared_law_holds(name: str, law: str) -> None:
    found = [pair for pair in cases(law, name) if not holds(law, MEASURES[name], pair)]
    assert not found, found[0]


@pytest.mark.parametrize(("name", "law"), [(name, law) for name, law in PAIRS if law not in MEASURES[name].laws])
def test_a_law_that_is_not_declared_does_not_hold(name: str, law: str) -> None:
    broken = any(not holds(law, MEASURES[name], pair) for pair in cases(law, name))
    assert broken != (law in UNTOUCHED.get(name, ()))


OTHERWISE = [
    (name, law, p.name, chosen)
    for name, measure in DECLARED.items()
    for law in ("swap", "padding")
    if law in measure.laws
    for p in measure.parameters
    for chosen in (p.choices or (True, False) if p.kind in ("choice", "flag") and not p.view else ())
]
"""What bounds of ties rest on, with each value of each parameter that kernels have to choose from."""


@pytest.mark.parametrize(("name", "law", "parameter", "chosen"), OTHERWISE)
def test_a_law_holds_unless_a_parameter_is_said_to_break_it(name: str, law: str, parameter: str, chosen: Any) -> None:
    measure = MEASURES[name]
    broken = any(not holds(law, measure, pair, **{parameter: chosen}) for pair in cases(law, name))
    assert broken == (measure.unless.get(law) == (parameter, chosen))


def test_what_breaks_laws_are_values_of_parameters() -> None:
    assert {(name, law, *broken) for name, measure in MEASURES.items() for law, broken in measure.unless.items()} <= {
        *OTHERWISE
    }


def last_relevant(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    found = [r for r, g in zip(rank, grade, strict=True) if g >= 1 and r <= k]
    return 1 / found[-1] if found else 0.0


def exactly_one(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    return sum(r <= k and g == 1 for r, g in zip(rank, grade, strict=True)) / 10


def without_cutoff(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    return sum(g >= 1 for g in grade) / 10


def by_length(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    return without_cutoff(rank, grade, ideal, num_ret, k) / num_ret


def by_judged(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    return without_cutoff(rank, grade, ideal, num_ret, k) / max(1, len(ideal))


def worst_first(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    gained = sum(max(g, 0) / math.log2(r + 1) for r, g in zip(rank, grade, strict=True) if r <= k)
    best = sum(max(g, 0) / math.log2(r + 1) for r, g in enumerate(sorted(ideal)[:k], 1))
    return gained / best if best else 0.0


def by_cutoff(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, k: int) -> float:
    return without_cutoff(rank, grade, ideal, num_ret, k) / k


WRONG: dict[str, Kernel] = {
    "swap": last_relevant,
    "replacement": exactly_one,
    "tail": without_cutoff,
    "padding": by_length,
    "unretrieved": by_judged,
    "ideal": worst_first,
    "deep": by_cutoff,
}
"""Mistakes that one could make in a kernel, and the law that each breaks."""


@pytest.mark.parametrize("law", LAWS)
def test_a_kernel_that_breaks_a_law_is_caught(law: str) -> None:
    wrong = replace(MEASURES["RR"], kernel=lambda *query: WRONG[law](*query[:5]))  # without the relevance level
    assert not all(holds(law, wrong, pair) for pair in cases(law))
