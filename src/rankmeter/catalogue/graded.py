"""Measures of gain: the higher a document's grade and rank, the more it adds."""

import math

from rankmeter.catalogue.binary import ratio
from rankmeter.catalogue.registry import Grades, K, Parameter, Ranks, measure, shared, tabulated

JARVELIN = "Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002; log2(rank + 1)"

GAIN = Parameter(
    "gain",
    "choice",
    "linear",
    "what a grade is worth: the grade itself, or 2^grade - 1; nothing below 0",
    choices=("linear", "exp"),
)


BEYOND = 1024.0
"""2 to this is more than a float64 holds."""


@shared
def worth(grade: float, gain: int) -> float:
    """The gain of a grade: itself, or 2^grade - 1."""
    if grade <= 0.0:
        return 0.0
    if gain == 0:
        return grade
    return 2.0**grade - 1.0 if grade < BEYOND else math.inf


@tabulated(1024)
def discount(rank: int) -> float:
    """log2(rank + 1), which divides a gain."""
    return math.log2(rank + 1.0)


@shared
def gained(rank: Ranks, grade: Grades, k: int, gain: int) -> float:
    """Sum of gain / log2(rank + 1) over the documents among the first k."""
    total = 0.0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] > 0.0:
            total += worth(grade[i], gain) / discount(rank[i])
    return total


@shared
def best_gain(ideal: Grades, k: int, gain: int) -> float:
    """The same sum over the ideal list."""
    total = 0.0
    for i in range(min(len(ideal), k)):
        if ideal[i] > 0.0:
            total += worth(ideal[i], gain) / discount(i + 1)
    return total


@measure(
    "nDCG",
    title="discounted cumulated gain, as a share of what the ideal list has",
    source=JARVELIN,
    parameters=(K, GAIN),
    trec="ndcg",
    trec_cut="ndcg_cut",
    empty="0 where no grade is above 0; a grade below the relevance level still counts",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved ideal deep",
)
def ndcg(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, gain: int) -> float:
    """DCG at k of the list / DCG at k of all judged documents sorted by grade.

    DCG is the sum of gain / log2(rank + 1); the gain is the grade, or 2^grade - 1 with gain=exp, and 0 below 0.
    """
    return ratio(gained(rank, grade, k, gain), best_gain(ideal, k, gain))


@measure(
    "DCG",
    title="discounted cumulated gain",
    source=JARVELIN,
    parameters=(K, GAIN),
    bounds=(0.0, math.inf),
    empty="0 where no grade is above 0; a grade below the relevance level still counts",
    laws="swap replacement tail padding unretrieved deep",
)
def dcg(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, gain: int) -> float:
    """Sum of gain / log2(rank + 1) over the first k; the gain is the grade, or 2^grade - 1 with gain=exp."""
    return gained(rank, grade, k, gain)
