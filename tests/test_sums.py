"""Exact sums: the same number for any order and split, rounded once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankmeter.sums import exact_sums

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)


def total(values, group=None, n=1):
    group = np.zeros(len(values), np.int64) if group is None else np.asarray(group, np.int64)
    return exact_sums(np.asarray(values, np.float64).reshape(-1, 1), group, n)[0]


@given(st.lists(FLOATS, max_size=60))
def test_equals_the_sum_of_fractions(values):
    assert total(values) == [sum(map(Fraction, values), Fraction())]


@given(st.lists(FLOATS, max_size=40), st.randoms(use_true_random=False))
def test_order_and_split_do_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    cut = random.randint(0, len(values))
    assert total(values) == total(shuffled)
    assert total(values)[0] == total(shuffled[:cut])[0] + total(shuffled[cut:])[0]


@given(st.lists(st.tuples(FLOATS, st.integers(-1, 3)), max_size=60))
def test_each_group_has_its_own_sum(rows):
    got = total([value for value, _ in rows], [group for _, group in rows], 4)
    assert got == [sum((Fraction(value) for value, group in rows if group == g), Fraction()) for g in range(4)]


def test_each_measure_has_its_own_sums():
    values = np.random.default_rng(2).random((50, 3))
    group = np.arange(50) % 4 - 1
    columns = [total(column, group, 3) for column in values.T]
    assert exact_sums(values, group, 3) == columns


@pytest.mark.parametrize("values", [[1e308] * 9, [5e-324] * 9, [1e308, -1e308, 5e-324], [0.1] * 1000, [-0.0, 0.0]])
def test_extremes(values):
    assert total(values)[0] == sum(map(Fraction, values))


def test_a_million_thirds_are_as_good_as_fsum():
    values = np.random.default_rng(1).random(1_000_000) / 3
    assert float(total(values)[0]) == math.fsum(values)
