"""The laws that measures declare: each holds in random cases, and a kernel that breaks it is caught."""

# ruff: noqa: ARG001  # laws have the same arguments, whether they need them or not

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from rankmeter.catalogue import MEASURES
from rankmeter.catalogue.registry import LAWS, Measure
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


def swap(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    for i in range(len(ranked) - 1):
        if worth(ranked[i + 1]) > worth(ranked[i]):
            better = [*ranked[:i], ranked[i + 1], ranked[i], *ranked[i + 2 :]]
            yield query, (better, missed), k


def replacement(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    for i, grade in enumerate(ranked):
        if grade is not None:
            yield query, ([*ranked[:i], grade + chance.choice([0.5, 1.0]), *ranked[i + 1 :]], missed), k


def tail(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    ranked, missed = query
    lost = [grade for grade in ranked[k:] if grade is not None]
    yield query, (ranked[:k], [*missed, *lost]), k


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
        yield ([1.0], []), (list(judged), []), len(judged)


def deep(query: Dense, k: int, chance: random.Random) -> Iterator[Pair]:
    yield query, query, len(query[0]) + len(query[1])


MADE: dict[str, Callable[[Dense, int, random.Random], Iterator[Pair]]] = {
    law.__name__: law for law in (swap, replacement, tail, padding, unretrieved, ideal, deep)
}


def value(measure: Measure, query: Dense, k: int | None) -> float:
    """The value of a list for the defaults of all parameters but the cut-off."""
    ranked, missed = query
    values = [k if p.kind == "cutoff" else p.default for p in measure.parameters]
    found = [(rank, grade) for rank, grade in enumerate(ranked, 1) if grade is not None]
    judged = sorted([*(grade for _, grade in found), *missed], reverse=True)
    parameters = Asked(measure, tuple(values)).kernel_parameters(1.0)
    return measure.kernel([rank for rank, _ in found], [grade for _, grade in found], judged, len(ranked), *parameters)


def holds(law: str, measure: Measure, pair: Pair) -> bool:
    before, after, k = pair
    if law == "ideal":
        return value(measure, after, k) == 1.0
    if law == "deep":
        required = any(p.required for p in measure.parameters)
        return required or value(measure, before, k) == value(measure, before, None)
    if law in ("swap", "replacement"):
        return value(measure, after, k) >= value(measure, before, k) - 1e-12
    return value(measure, after, k) == value(measure, before, k)


def cases(law: str) -> Iterator[Pair]:
    chance = random.Random(f"law {law}")
    for _ in range(CASES):
        query = some_query(chance)
        yield from MADE[law](query, chance.randrange(1, 14), chance)


DECLARED = [(name, law) for name, measure in MEASURES.items() for law in sorted(measure.laws)]


def broken(rank: Sequence[int], grade: Sequence[float], ideal: Sequence[float], num_ret: int, *_: float) -> float:
    """A kernel that keeps no law: it likes late, bad and unjudged documents."""
    return num_ret + len(ideal) - sum(g / r for g, r in zip(grade, rank, strict=True)) + (_[0] if _ else 0) / 7


def test_every_law_has_a_test() -> None:
    assert MADE.keys() == LAWS.keys() == {law for _, law in DECLARED}


@pytest.mark.parametrize(("name", "law"), DECLARED)
def test_laws_hold(name: str, law: str) -> None:
    found = [pair for pair in cases(law) if not holds(law, MEASURES[name], pair)]
    assert not found, found[0]


@pytest.mark.parametrize("law", LAWS)
def test_a_kernel_that_breaks_a_law_is_caught(law: str) -> None:
    wrong = replace(MEASURES["DCG"], kernel=broken)
    assert not all(holds(law, wrong, pair) for pair in cases(law))


@pytest.mark.parametrize(
    ("name", "law"),
    [("R", "ideal"), ("nDCG", "replacement"), ("Judged", "padding"), ("AP", "replacement")],
)
def test_laws_that_are_not_declared_do_not_hold(name: str, law: str) -> None:
    assert law not in MEASURES[name].laws
    shortened = ((pair[0], pair[1], 1 if law == "ideal" else pair[2]) for pair in cases(law))
    assert not all(holds(law, MEASURES[name], pair) for pair in shortened)
