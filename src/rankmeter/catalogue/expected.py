"""Values expected over all orders of ties: the mean over every order of the documents with equal keys.

A kernel sees, for each judged document found, how many documents stand before its tie, and how many are in it; a tie of
one is no tie. Linearity does most: a document of a tie is at each of its places equally often.
"""

from rankmeter.catalogue.binary import AP_MIN, CAPPED, RETRIEVED, ratio, relevant
from rankmeter.catalogue.graded import best_gained, discount
from rankmeter.catalogue.registry import Gains, Grades, Ranks, expected, shared


@shared
def likely_hits(above: Ranks, size: Ranks, grade: Grades, k: int, rel: float) -> float:
    """Relevant documents among the first k, as expected."""
    total = 0.0
    for i in range(len(above)):
        if grade[i] >= rel:
            total += min(1.0, max(0.0, (k - above[i]) / size[i]))
    return total


@shared
def end_of_tie(above: Ranks, i: int) -> int:
    """The first hit behind the tie of hit `i`."""
    end = i + 1
    while end < len(above) and above[end] == above[i]:
        end += 1
    return end


@shared
def relevant_in(grade: Grades, first: int, end: int, rel: float) -> int:
    """Relevant hits of a tie."""
    count = 0
    for i in range(first, end):
        if grade[i] >= rel:
            count += 1
    return count


@expected("P")
def precision(
    above: Ranks, size: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, norm: int
) -> float:
    """Expected relevant documents among the first k / k."""
    return ratio(likely_hits(above, size, grade, k, rel), min(k, num_ret) if norm == RETRIEVED else k)


@expected("R")
def recall(
    above: Ranks, size: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, cap: int
) -> float:
    """Expected relevant documents among the first k / relevant documents."""
    total = relevant(ideal, rel)
    return ratio(likely_hits(above, size, grade, k, rel), min(k, total) if cap == CAPPED else total)


@expected("Success")
def success(above: Ranks, size: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """The chance that a relevant document is among the first k."""
    for i in range(len(above)):
        if grade[i] >= rel:
            others = size[i] - relevant_in(grade, first_of_tie(above, i), end_of_tie(above, i), rel)
            none = 1.0
            for place in range(min(k - above[i], size[i])):
                none *= max(0, others - place) / (size[i] - place)
            return 1.0 - none if k > above[i] else 0.0
    return 0.0


@shared
def first_of_tie(above: Ranks, i: int) -> int:
    """The first hit of the tie of hit `i`."""
    first = i
    while first > 0 and above[first - 1] == above[i]:
        first -= 1
    return first


@expected("RR")
def reciprocal_rank(above: Ranks, size: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """The sum over the places of the first tie with relevant documents of the chance to be the first of them / rank."""
    for i in range(len(above)):
        if grade[i] >= rel:
            found = relevant_in(grade, first_of_tie(above, i), end_of_tie(above, i), rel)
            none, total = 1.0, 0.0
            for place in range(min(size[i] - found + 1, k - above[i])):
                left = size[i] - place
                total += none * found / left / (above[i] + place + 1)
                none *= (left - found) / left
            return total
    return 0.0


@expected("AP", norm="hits")
def average_precision(
    above: Ranks, size: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, norm: int
) -> float:
    """The sum over all places of the chance of a relevant document there * the precision expected if there is one."""
    before, total, i = 0, 0.0, 0
    while i < len(above):
        end, ties = end_of_tie(above, i), size[i]
        found = relevant_in(grade, i, end, rel)
        for place in range(min(ties, k - above[i]) if found else 0):
            earlier = place * (found - 1) / (ties - 1) if ties > 1 else 0.0
            total += found / ties * (before + 1 + earlier) / (above[i] + place + 1)
        before += found
        i = end
    wanted = relevant(ideal, rel)
    return ratio(total, min(k, wanted) if norm == AP_MIN else wanted)


@shared
def likely_gained(above: Ranks, size: Ranks, gain: Gains, k: int) -> float:
    """Sum of gain / log2(rank + 1) over the first k, as expected."""
    total, i = 0.0, 0
    while i < len(above):
        end, here, weight = end_of_tie(above, i), 0.0, 0.0
        for hit in range(i, end):
            here += gain[hit]
        for place in range(min(size[i], k - above[i]) if here != 0.0 else 0):
            weight += 1.0 / discount(above[i] + place + 1)
        total += here / size[i] * weight
        i = end
    return total


@expected("nDCG")
def ndcg(above: Ranks, size: Ranks, gain: Gains, ideal: Gains, num_ret: int, k: int) -> float:
    """Expected DCG at k / DCG at k of all judged documents sorted by gain."""
    return ratio(likely_gained(above, size, gain, k), best_gained(ideal, k))


@expected("DCG")
def dcg(above: Ranks, size: Ranks, gain: Gains, ideal: Gains, num_ret: int, k: int) -> float:
    """Expected sum of gain / log2(rank + 1) over the first k."""
    return likely_gained(above, size, gain, k)
