"""Exact sums of floats: the same to the last bit for any order, split or number of threads.

A sum is kept as one large integer, in limbs of 32 bits that overlap by the rest of their 64 (a small superaccumulator:
Neal, "Fast exact summation using small and large superaccumulators", 2015). Up to 2^31 values can be added.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from rankmeter.compiler import compiled

Array = np.ndarray[Any, Any]

LIMBS = 68
"""2,098 bits hold every finite float; three limbs a value, 32 bits each."""

LOW = (1 << 32) - 1


@compiled
def add(limbs: Any, group: Any, bits: Any) -> None:
    """Add floats, given by their bits (int64, one row a query, one column a measure).

    Those of a query go to the limbs of its group, `limbs[measure, group]`; the group -1 is left out.
    """
    for i in range(len(bits)):
        g = group[i]
        if g < 0:
            continue
        for m in range(bits.shape[1]):
            value = bits[i, m]
            exponent = (value >> 52) & 0x7FF
            mantissa = value & 0xFFFFFFFFFFFFF
            if exponent:
                mantissa |= 1 << 52
            else:
                exponent = 1
            k, shift = exponent >> 5, exponent & 31
            low = (mantissa << shift) & LOW
            middle = (mantissa >> (32 - shift)) & LOW if shift else mantissa >> 32
            high = mantissa >> (64 - shift) if shift > 11 else 0
            if value < 0:
                low, middle, high = -low, -middle, -high
            limbs[m, g, k] += low
            limbs[m, g, k + 1] += middle
            limbs[m, g, k + 2] += high


def exact_sums(values: Array, group: Array, n_groups: int) -> list[list[Fraction]]:
    """For each measure the exact sum of each group.

    Args:
        values: float64, finite, one row a query, one column a measure.
        group: int64, the group of each query, from 0, or -1 to leave it out.
        n_groups: how many groups there are.
    """
    limbs = np.zeros((values.shape[1], n_groups, LIMBS), np.int64)
    add(limbs, group, np.ascontiguousarray(values, np.float64).view(np.int64))
    return [[_total(row) for row in groups] for groups in limbs]


def _total(row: Array) -> Fraction:
    """The number that a row of limbs stands for."""
    used = np.flatnonzero(row)
    return Fraction(sum(int(row[k]) << (32 * int(k)) for k in used), 1 << 1075)
