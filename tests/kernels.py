"""Ways to run the kernel of a measure on queries by itself."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
from naive import List

from rankmeter.catalogue.driver import evaluate_measure
from rankmeter.catalogue.view import Hits, View
from rankmeter.conventions import Rules
from rankmeter.notation import Asked

Sparse = tuple[Sequence[int], Sequence[float], Sequence[float], int]
"""A query as kernels have it: ranks of the judged documents found, their grades, the ideal, the length of the list."""

Runner = Callable[[Asked, Sequence[Sparse], float], list[float]]


def query_of(ranked: List, judged: Iterable[float]) -> Sparse:
    """The sparse form of one dense list: ranks, grades, the ideal, the length."""
    found = [(rank, grade) for rank, grade in enumerate(ranked, start=1) if grade is not None]
    ideal = sorted(map(float, judged), reverse=True)
    return [rank for rank, _ in found], [float(grade) for _, grade in found], ideal, len(ranked)


def seen(asked: Asked, queries: Sequence[Sparse], level: float) -> Hits:
    """The queries as the measure sees them."""
    ranks, grades, ideals, lengths = zip(*queries, strict=True)
    found, known = np.cumsum([0, *map(len, ranks)]), np.cumsum([0, *map(len, ideals)])
    rank, grade = np.array([*chain(*ranks)], "i8"), np.array([*chain(*grades)], "f8")
    hits = Hits(found, rank, grade, known, np.array([*chain(*ideals)], "f8"), np.array(lengths, "i8"), rank, rank)
    return View(**asked.view_parameters(Rules(relevance_level=level))).of(hits)


def plain(asked: Asked, queries: Sequence[Sparse], level: float) -> list[float]:
    """The kernel as Python runs it."""
    hits = seen(asked, queries, level)
    rank, grade, ideal = hits.rank.tolist(), hits.grade.tolist(), hits.ideal.tolist()
    values = []
    for n, length in enumerate(hits.num_ret.tolist()):
        here, there = slice(*hits.offsets[n : n + 2]), slice(*hits.ideal_offsets[n : n + 2])
        parameters = asked.kernel_parameters(Rules(relevance_level=level))
        values.append(asked.measure.kernel(rank[here], grade[here], ideal[there], length, *parameters))
    return values


def compiled(asked: Asked, queries: Sequence[Sparse], level: float) -> list[float]:
    """The kernel as the driver runs it, all queries at once."""
    values = np.empty(len(queries))
    evaluate_measure(asked, seen(asked, queries, level), Rules(relevance_level=level), values)
    return list(values.tolist())
