"""Measures: declarations, values worked out by hand, and naive twins equal to the bit, compiled and not."""

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from golden import ROWS, Row
from kernels import Runner, compiled, plain, query_of
from naive import ROUNDED, TWINS

from rankmeter.catalogue import MEASURES, SUITES
from rankmeter.catalogue.registry import K, Parameter, measure
from rankmeter.notation import Asked, parse_measure, parse_measures

SEED = Path(__file__).parent / "data" / "seed"
CASES = 2000
NAMES = sorted(name for name, declared in MEASURES.items() if not declared.of_subtopics)

Dense = tuple[list[float | None], list[float]]
ODD_GRADES = (-3.0, -1.0, 0.0, 0.25, 0.5, 1.0, 1.0, 1.5, 2.0, 2.75, 3.0)
PLAIN_GRADES = (0.0, 1.0)


@pytest.fixture(params=[plain, compiled], ids=["plain", "compiled"])
def kernel_runner(request: pytest.FixtureRequest) -> Runner:
    runner: Runner = request.param
    return runner


SCALES = {"max": (3.0, 4.0, 7.5), "max_rel": (3.0, 5.0), "min_rel": (0.0, 0.5, 1.0)}
"""Ends of scales that hold the grades."""

LONGER = {
    "gains": [((0.0, 0.5), (1.0, 3.0)), ((1.0, 7.0), (2.0, 5.0)), ((-1.0, 2.0), (1.0, -2.0), (3.0, 0.0))],
    "numbers": [(0.5,), (0.25, 0.5, 0.75), (1.0, 0.0)],
}


def random_query(chance: random.Random) -> Dense:
    grades = chance.choice([PLAIN_GRADES, ODD_GRADES])
    length = chance.choice([0, 1, 2, 3, 5, 8, 13, 40])
    ranked = [chance.choice(grades) if chance.random() < 0.5 else None for _ in range(length)]
    missed = [chance.choice(grades) for _ in range(chance.choice([0, 0, 1, 4, 20]))]
    return ranked, [*(grade for grade in ranked if grade is not None), *missed]


def random_value(parameter: Parameter, chance: random.Random) -> Any:
    if parameter.kind == "cutoff":
        return chance.choice([1, 2, 3, 5, 10, 100, *([] if parameter.required else [None])])
    if parameter.kind in ("level", "floor"):
        return chance.choice([None, 0.0, 0.5, 1.0, 2.0])
    if parameter.name in SCALES:
        return chance.choice(SCALES[parameter.name])
    if parameter.kind in ("number", "point"):
        fitting = [x for x in (0.1, 0.5, 0.9, 1.0, 2.0, 3.7) if parameter.allows(x)]
        return chance.choice([*fitting, parameter.default or fitting[0]])
    if parameter.kind in ("gains", "numbers"):
        return chance.choice([parameter.default, *LONGER[parameter.kind]])
    return chance.choice(parameter.choices or (False, True))


def random_asked(name: str, chance: random.Random) -> Asked:
    declared = MEASURES[name]
    return Asked(declared, tuple(random_value(parameter, chance) for parameter in declared.parameters))


def random_questions(name: str) -> Iterator[tuple[Asked, list[Dense], float]]:
    """The measure with many parameters, each with many random queries and a relevance level."""
    chance = random.Random(f"measures {name}")
    for _ in range(20):
        yield random_asked(name, chance), [random_query(chance) for _ in range(CASES // 20)], chance.choice([0, 1, 2])


def twin_values(asked: Asked, queries: Sequence[Dense], level: float) -> list[float]:
    binary = any(p.name == "gain" and value == "binary" for p, value in asked.pairs)
    levels = {"level": float(level), "floor": float(level) if binary else -math.inf}
    values = [levels.get(p.kind, value) if value is None else value for p, value in asked.pairs]
    return [TWINS[asked.measure.name](*query, *values) for query in queries]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.text} {row.ranked} {row.missed}")
def test_values_worked_out_by_hand(row: Row, kernel_runner: Runner) -> None:
    judged = [*(grade for grade in row.ranked if grade is not None), *row.missed]
    (value,) = kernel_runner(parse_measure(row.text), [query_of(row.ranked, judged)], 1)
    assert value == pytest.approx(float(row.value), rel=1e-14, abs=0)


@pytest.mark.parametrize("name", NAMES)
def test_naive_twin_agrees_to_the_bit(name: str, kernel_runner: Runner) -> None:
    for asked, dense, level in random_questions(name):
        values = kernel_runner(asked, [query_of(*query) for query in dense], level)
        expected = twin_values(asked, dense, level)
        near = 1e-12 if name in ROUNDED else 0
        items = zip(dense, values, expected, strict=True)
        wrong = [item for item in items if not math.isclose(item[1], item[2], rel_tol=near, abs_tol=near)]
        assert not wrong, (asked.name, level, wrong[0])


@pytest.mark.parametrize("name", NAMES)
def test_values_stay_in_bounds(name: str, kernel_runner: Runner) -> None:
    low, high = MEASURES[name].bounds
    for asked, dense, level in random_questions(name):
        values = kernel_runner(asked, [query_of(*query) for query in dense], level)
        if not any(p.kind == "gains" and value for p, value in asked.pairs):  # which may be below 0
            assert all(math.isfinite(value) and low <= value <= high for value in values), asked.name


@pytest.mark.parametrize("name", NAMES)
def test_declaration_is_complete(name: str) -> None:
    declared = MEASURES[name]
    assert declared.name == name
    for attribute in ("title", "formula", "source", "empty", "missing", "laws"):
        assert getattr(declared, attribute), attribute
    assert {field.name for field in fields(declared)} >= {"trec", "trec_cut", "without_k", "needs_all_relevant"}
    assert declared.aggregate in ("mean", "sum", "geometric")
    assert declared.bounds[0] < declared.bounds[1] or name == "NumQ"
    assert all(p.help and p.values() for p in declared.parameters)
    assert [i for i, p in enumerate(declared.parameters) if p.behind_at] in ([], [0])
    assert declared.without_k is None or declared.without_k in MEASURES
    assert declared.without_k is None or declared.parameters[0].required


@pytest.mark.parametrize("name", NAMES)
def test_measure_has_a_twin_and_five_rows(name: str) -> None:
    assert name in TWINS
    assert Counter(parse_measure(row.text).measure.name for row in ROWS)[name] >= 5


def test_twins_and_rows_are_of_measures_that_exist() -> None:
    assert TWINS.keys() == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_query_has_the_stated_value(name: str, kernel_runner: Runner) -> None:
    asked = random_asked(name, random.Random(3))
    (value,) = kernel_runner(asked, [([], [], [2.0, 0.0, -1.0], 0)], 1)
    stated = MEASURES[name].missing
    assert value == float(stated) if stated[0].isdigit() else stated.startswith("as defined")


def test_f1_keeps_the_order_of_arithmetic(kernel_runner: Runner) -> None:
    (value,) = kernel_runner(parse_measure("F1@5"), [query_of([1, None, None, None, None], [1])], 1)
    assert value == 2 * 0.2 * 1.0 / (0.2 + 1.0) == 0.33333333333333337


def test_a_taken_name_or_alias_is_refused() -> None:
    for name, aliases in (("p", ()), ("New", ("mrr",)), ("hitrate", ())):
        with pytest.raises(ValueError, match="share the names"):
            measure(name, title="t", source="s", parameters=(K,), aliases=aliases)(lambda: 0.0)
    with pytest.raises(ValueError, match="unknown laws"):
        measure("New", title="t", source="s", laws="swap gravity")(lambda: 0.0)
    assert "New" not in MEASURES


def test_suite_rag_is_the_window_of_a_prompt() -> None:
    assert set(SUITES) >= {"rag"}
    assert [asked.name for asked in parse_measures("rag@3")] == [
        *("P@3", "R@3", "F1@3", "Success@3", "RR@3", "AP@3", "nDCG@3")
    ]


def test_seed_examples(kernel_runner: Runner) -> None:
    qrels: dict[str, dict[str, float]] = {}
    run: dict[str, list[str]] = {}
    for line in (SEED / "qrels.trec").read_text().splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = float(grade)
    for line in (SEED / "run.trec").read_text().splitlines():
        query, _, document, *_ = line.split()
        run.setdefault(query, []).append(document)
    expected = json.loads((SEED / "expected.json").read_text())["per_query"]
    for query, values in expected.items():
        ranked = [qrels[query].get(document) for document in run[query]]
        for text, value in values.items():
            asked = parse_measure(text)
            assert kernel_runner(asked, [query_of(ranked, qrels[query].values())], 1) == [value], (query, text)
