"""Means over all queries and over segments, from exact sums."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from rankmeter.ids import Array
from rankmeter.sums import exact_sums

LEAST = 0.00001
"""What a geometric mean takes for anything smaller, as trec_eval does."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Segments as numbers.

    Attributes:
        values: one row per group, with the values of its segments.
        number: int64, the group of each query.
    """

    values: pl.DataFrame
    number: Array


def group(by: pl.DataFrame, n_queries: int) -> Groups:
    """The groups of queries with equal segments, ordered by their values, null last."""
    if not by.columns:
        return Groups(by, np.zeros(n_queries, np.int64))
    values = by.unique().sort(by.columns, nulls_last=True)
    numbered = by.join(
        values.with_row_index("\1group"), on=by.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return Groups(values, numbered["\1group"].cast(pl.Int64).to_numpy())


@dataclass(frozen=True, slots=True)
class Cell:
    """A measure over the queries of one group: its exact sum over `n` queries, or that of its logarithms."""

    n: int
    total: Fraction
    geometric: bool = False

    @property
    def mean(self) -> float | None:
        """The mean, rounded once; None without queries."""
        if not self.n:
            return None
        mean = _rounded(self.total / self.n)
        return math.exp(mean) if self.geometric else mean

    @property
    def sum(self) -> float | None:
        """The sum, rounded once; None where values are multiplied."""
        return None if self.geometric else _rounded(self.total)


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:  # a sum of finite floats can be beyond them
        return float("inf") if exact > 0 else float("-inf")


def cells(values: Array, counted: Array, groups: Groups, geometric: Sequence[bool]) -> list[list[Cell]]:
    """For each measure: the cell of all queries, then one for each group.

    Args:
        values: float64, one row a query, one column a measure.
        counted: bool, which queries count.
        groups: the segments; without any there is only the cell of all queries.
        geometric: which measures have a geometric mean.
    """
    if any(geometric):
        values = np.where(geometric, np.log(np.maximum(values, LEAST)), values)
    number = np.where(counted, groups.number, -1)
    size = groups.values.height if groups.values.columns else 0
    counts = [int(counted.sum()), *np.bincount(number[counted], minlength=size)[:size].tolist()]
    everything = exact_sums(values, np.where(counted, 0, -1), 1)
    grouped = exact_sums(values, number, size) if size else [[] for _ in everything]
    return [
        [Cell(n, total, multiplied) for n, total in zip(counts, totals + parts, strict=True)]
        for totals, parts, multiplied in zip(everything, grouped, geometric, strict=True)
    ]
