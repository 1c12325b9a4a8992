"""Integers as scores, ranks and grades: taken for what they are, or refused where float64 would change them."""

import random

import numpy as np
import polars as pl
import pytest

import rankmeter
from rankmeter.errors import DataError
from rankmeter.ids import byte_order

WIDE = [pl.Int64, pl.UInt64, *(getattr(pl, name) for name in ("Int128", "UInt128") if hasattr(pl, name))]
NARROW = [pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Int32, pl.UInt32]
EDGE = 2**53
FINE = [EDGE - 1, EDGE, EDGE + 2, 2**62, 2**63, 2**70, 2**127, 1 - EDGE, -EDGE, -(2**63), -(2**70)]
CHANGED = [EDGE + 1, EDGE + 3, 2**62 + 1, 2**63 - 1, 2**63 + 1, 2**64 - 1, 2**70 + 1, 2**127 - 1, 2**128 - 1]
CHANGED += [-EDGE - 1, 1 - 2**63, -(2**70) - 1]


def fits(number, kind):
    """Whether a type can hold a number."""
    try:
        return pl.Series([number], dtype=kind).to_list() == [number]
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        return False


def pairs(numbers, kinds=WIDE):
    return [(number, kind) for number in numbers for kind in kinds if fits(number, kind)]


def frames(column, number, kind, *, lists=False):
    """Judgements and a run of which one column of the type holds the number, the other rows small ones."""
    values = {"grade": pl.Series([1, 1]), "score": pl.Series([1.0, 2.0]), "rank": pl.Series([1, 2])}
    values[column] = pl.Series([number, 1], dtype=kind)
    ids = {"query_id": ["q", "q"], "doc_id": ["a", "b"]}
    qrels = pl.DataFrame(ids).with_columns(grade=values["grade"])
    run = pl.DataFrame(ids).with_columns(values["rank" if column == "rank" else "score"].alias("v"))
    run = run.rename({"v": "rank" if column == "rank" else "score"})
    if lists:
        qrels, run = (frame.group_by("query_id", maintain_order=True).agg(pl.all()) for frame in (qrels, run))
    return qrels, run


def test_there_are_cases_of_each_type():
    assert {kind for _, kind in pairs(CHANGED)} == {kind for _, kind in pairs(FINE)} == set(WIDE)


@pytest.mark.parametrize("lists", [False, True], ids=["rows", "lists"])
@pytest.mark.parametrize("column", ["score", "rank", "grade"])
@pytest.mark.parametrize(("number", "kind"), pairs(CHANGED), ids=str)
def test_an_integer_that_would_change_is_refused(number, kind, column, lists):
    qrels, run = frames(column, number, kind, lists=lists)
    with pytest.raises(DataError, match=rf'{column}.*"{number}" would change as a float64'):
        rankmeter.evaluate(qrels, run, "RR")


@pytest.mark.parametrize("column", ["score", "rank", "grade"])
@pytest.mark.parametrize(("number", "kind"), pairs(FINE), ids=str)
def test_an_integer_that_is_a_float64_is_taken(number, kind, column):
    qrels, run = frames(column, number, kind)
    assert rankmeter.evaluate(qrels, run, "SetR").summary["mean"].to_list() == [1.0]


@pytest.mark.parametrize("kind", NARROW, ids=str)
@pytest.mark.parametrize("column", ["score", "rank", "grade"])
def test_the_ends_of_narrow_integers_are_taken(column, kind):
    for end in (kind.min(), kind.max()):
        qrels, run = frames(column, pl.select(end).item(), kind)
        rankmeter.evaluate(qrels, run, "SetR")


@pytest.mark.parametrize("kind", WIDE, ids=str)
def test_neighbours_beyond_the_edge_do_not_tie(kind):
    qrels, run = frames("score", EDGE + 1, kind)
    with pytest.raises(DataError, match=r"score.*row 1|row 1.*score"):
        rankmeter.evaluate(qrels, run.with_columns(score=pl.Series([EDGE + 1, EDGE], dtype=kind)), "RR")


COMPANY = [[], [2], [1.5], [2**70], [None], [2**70, 0.5], [np.float64(0.5)]]


def dicts(values, column):
    """Judgements and a run as dicts of which one holds the values."""
    held = {f"d{number}": value for number, value in enumerate(values)}
    other = dict.fromkeys(held, 1)
    return ({"q0": {"d": 1}, "q": held}, {"q": other}) if column == "grade" else ({"q": other}, {"q": held})


@pytest.mark.parametrize("company", COMPANY, ids=str)
@pytest.mark.parametrize("column", ["score", "grade"])
@pytest.mark.parametrize("number", [*CHANGED, 2**130 + 1, 10**400, np.int64(EDGE + 1), np.uint64(2**64 - 1)], ids=str)
def test_an_integer_of_a_dict_that_would_change_is_refused(number, column, company):
    qrels, run = dicts([*company, number], column)
    with pytest.raises(DataError, match=rf"the {column} .* of query q and document d{len(company)} would change"):
        rankmeter.evaluate(qrels, run, "RR")


@pytest.mark.parametrize("company", [[], [2], [1.5]], ids=str)
@pytest.mark.parametrize("column", ["score", "grade"])
@pytest.mark.parametrize("number", [*FINE, np.int64(EDGE), np.uint64(2**63)], ids=str)
def test_an_integer_of_a_dict_that_is_a_float64_is_taken(number, column, company):
    qrels, run = dicts([*company, number], column)
    assert rankmeter.evaluate(qrels, run, "SetP(rel=-1e300)").summary["mean"].to_list() == [
        1.0 / (1 + (column == "grade"))
    ]


@pytest.mark.parametrize("values", [[True, 1.5], [1.5, False], [2, True], [True, False]], ids=str)
def test_booleans_are_grades_and_no_scores(values):
    rankmeter.evaluate(*dicts(values, "grade"), "RR")
    with pytest.raises(DataError, match="score"):
        rankmeter.evaluate(*dicts(values, "score"), "RR")


ALPHABETS = ["ab", "\0a", "aä€😀", "0123456789"]


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("longest", [1, 8, 12, 13, 20])
def test_ids_are_ordered_by_the_bytes_of_their_text(alphabet, longest):
    chance = random.Random(longest)
    names = ["".join(chance.choices(alphabet, k=chance.randint(0, longest))) for _ in range(3000)]
    sliced = pl.Series(["z" * longest, *names])[1:]
    assert sliced[byte_order(sliced)].to_list() == sorted(names, key=str.encode)


@pytest.mark.parametrize("digits", [1, 12, 19])
def test_integer_ids_are_ordered_by_the_bytes_of_their_text(digits):
    chance = random.Random(digits)
    numbers = [chance.randint(1 - 10**digits, 10**digits - 1) % 2**63 * chance.choice([1, -1]) for _ in range(3000)]
    ids = pl.Series(numbers, dtype=pl.Int64)
    assert ids[byte_order(ids)].to_list() == sorted(numbers, key=str)
