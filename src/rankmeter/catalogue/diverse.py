"""Measures of diversity: documents are judged for each subtopic of a query, and what was seen before is worth less.

A kernel sees the ranks of the judged documents found and their numbers, and of all judged documents (`pool`) which
labels each has: a label is a subtopic with the grade that the document got for it. The definitions are those of ndeval,
the program of the TREC Web tracks.
"""

from typing import NamedTuple

from rankmeter.catalogue.binary import ratio
from rankmeter.catalogue.graded import discount
from rankmeter.catalogue.registry import K_REQUIRED, REL, Parameter, Ranks, measure, shared

CLARKE = "Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008; ndeval 4.5"
AGRAWAL = "Agrawal, Gollapudi, Halverson and Ieong, Diversifying Search Results, WSDM 2009; ndeval 4.5"
NOTHING = "0 where no subtopic has a relevant document"

ALPHA = Parameter(
    "alpha", "number", 0.5, "how much less a subtopic is worth each time it was seen", low=0, high=1, example="0.9"
)
BETA = Parameter("beta", "number", 0.5, "chance to go on to the next document", above=0, high=0.999999, example="0.8")


class Pool(NamedTuple):
    """The judged documents of one query.

    Attributes:
        first: number of the first judged document.
        last: number behind that of the last.
        starts: where the labels of each document begin, and the end.
        label: the subtopic of each label, numbered from 0 within a query.
        grade: the grade for it.
    """

    first: int
    last: int
    starts: Ranks
    label: Ranks
    grade: Ranks


@shared
def count_relevant(pool: Pool, rel: float) -> list[int]:
    """How many relevant documents each subtopic has."""
    size = 0
    for t in range(pool.starts[pool.first], pool.starts[pool.last]):
        size = max(size, pool.label[t] + 1)
    counts = [0] * (size + 1)  # one more, since a list that is empty has no type
    for t in range(pool.starts[pool.first], pool.starts[pool.last]):
        if pool.grade[t] >= rel:
            counts[pool.label[t]] += 1
    return counts


@shared
def subtopics(counts: list[int]) -> int:
    """How many subtopics have a relevant document."""
    found = 0
    for count in counts:
        if count > 0:
            found += 1
    return found


@shared
def novelty(pool: Pool, document: int, rel: float, worth: list[float]) -> float:
    """What a document is worth: the sum over its subtopics of what these are still worth."""
    total = 0.0
    for t in range(pool.starts[document], pool.starts[document + 1]):
        if pool.grade[t] >= rel:
            total += worth[pool.label[t]]
    return total


@shared
def wear(pool: Pool, document: int, rel: float, worth: list[float], alpha: float) -> None:
    """Let the subtopics of a document that was seen be worth less."""
    for t in range(pool.starts[document], pool.starts[document + 1]):
        if pool.grade[t] >= rel:
            worth[pool.label[t]] *= 1.0 - alpha


@shared
def weight(model: int, rank: int, beta: float) -> float:
    """What a rank counts: by the logarithm, by its inverse, or by the chance to get there."""
    if model == 0:
        return 1.0 / discount(rank)
    if model == 1:
        return 1.0 / rank
    arrives: float = beta ** float(rank - 1)
    return arrives


@shared
def seen(rank: Ranks, found: Ranks, pool: Pool, k: int, rel: float, alpha: float, model: int, beta: float) -> float:
    """Sum of novelty * weight over the first k documents of a list."""
    worth = [1.0] * len(count_relevant(pool, rel))
    total = 0.0
    for i in range(len(rank)):
        if rank[i] <= k:
            total += novelty(pool, found[i], rel, worth) * weight(model, rank[i], beta)
            wear(pool, found[i], rel, worth, alpha)
    return total


@shared
def best_seen(pool: Pool, k: int, rel: float, alpha: float, model: int, beta: float) -> float:
    """The same sum for the list that takes the document of the highest novelty next, of equals the one of higher id."""
    worth = [1.0] * len(count_relevant(pool, rel))
    left = [True] * (pool.last - pool.first + 1)
    total = 0.0
    for place in range(1, min(k, pool.last - pool.first) + 1):
        best, highest = -1, 0.0
        for document in range(pool.first, pool.last):
            if left[document - pool.first]:
                here = novelty(pool, document, rel, worth)
                if here > 0.0 and here >= highest:
                    best, highest = document, here
        if best < 0:
            break
        left[best - pool.first] = False
        total += highest * weight(model, place, beta)
        wear(pool, best, rel, worth, alpha)
    return total


@shared
def unbounded(pool: Pool, k: int, rel: float, alpha: float, model: int) -> float:
    """The sum for a list in which each document is relevant to all subtopics."""
    total, worth = 0.0, float(subtopics(count_relevant(pool, rel)))
    for place in range(1, k + 1):
        more = total + worth * weight(model, place, 0.0)
        if more == total:  # what follows is no more
            break
        total = more
        worth *= 1.0 - alpha
    return total


@measure(
    "alpha_nDCG",
    aliases=("alpha-nDCG", "\N{GREEK SMALL LETTER ALPHA}_nDCG"),
    title="gain of subtopics not seen before, as a share of what the best list has",
    source=CLARKE,
    parameters=(K_REQUIRED, REL, ALPHA),
    empty=NOTHING,
    bounds=(0.0, 2.0),
    needs_all_relevant=True,
    of_subtopics=True,
    elsewhere="ir_measures alpha_nDCG; ndeval alpha-nDCG",
    differs="the best list is found greedily, as everywhere, so that a value can be a little above 1",
)
def alpha_ndcg(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, k: int, rel: float, alpha: float) -> float:
    """Sum of novelty / log2(rank + 1) at k of the list / that of the best list.

    Novelty sums (1 - alpha)^(times seen before) over the subtopics for which the document is relevant.
    """
    return ratio(seen(rank, found, pool, k, rel, alpha, 0, 0.0), best_seen(pool, k, rel, alpha, 0, 0.0))


@measure(
    "alpha_DCG",
    aliases=("alpha-DCG", "\N{GREEK SMALL LETTER ALPHA}_DCG"),
    title="gain of subtopics not seen before, as a share of a list relevant to all of them",
    source=CLARKE,
    parameters=(K_REQUIRED, REL, ALPHA),
    empty=NOTHING,
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures alpha_DCG; ndeval alpha-DCG",
    differs="ndeval forgets the divisor at cut-off 1",
)
def alpha_dcg(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, k: int, rel: float, alpha: float) -> float:
    """Sum of novelty / log2(rank + 1) at k / the same for documents that are all relevant to all subtopics."""
    return ratio(seen(rank, found, pool, k, rel, alpha, 0, 0.0), unbounded(pool, k, rel, alpha, 0))


@measure(
    "ERR_IA",
    aliases=("ERR-IA",),
    title="expected reciprocal rank over the subtopics, as a share of a list relevant to all of them",
    source="Chapelle et al., Intent-based diversification of web search results, 2011; ndeval 4.5",
    parameters=(K_REQUIRED, REL, ALPHA),
    empty=NOTHING,
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures ERR_IA; ndeval ERR-IA",
    differs="ndeval forgets the divisor at cut-off 1",
)
def err_ia(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, k: int, rel: float, alpha: float) -> float:
    """Sum of novelty / rank at k / the same for documents that are all relevant to all subtopics."""
    return ratio(seen(rank, found, pool, k, rel, alpha, 1, 0.0), unbounded(pool, k, rel, alpha, 1))


@measure(
    "nERR_IA",
    aliases=("nERR-IA",),
    title="expected reciprocal rank over the subtopics, as a share of what the best list has",
    source="Chapelle et al., Intent-based diversification of web search results, 2011; ndeval 4.5",
    parameters=(K_REQUIRED, REL, ALPHA),
    empty=NOTHING,
    bounds=(0.0, 2.0),
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures nERR_IA; ndeval nERR-IA",
)
def normalised_err_ia(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, k: int, rel: float, alpha: float) -> float:
    """Sum of novelty / rank at k of the list / that of the best list."""
    return ratio(seen(rank, found, pool, k, rel, alpha, 1, 0.0), best_seen(pool, k, rel, alpha, 1, 0.0))


@measure(
    "NRBP",
    title="novelty- and rank-biased precision",
    source="Clarke, Kolla and Vechtomova, An Effectiveness Measure for Ambiguous Queries, ICTIR 2009; ndeval 4.5",
    parameters=(REL, ALPHA, BETA),
    empty=NOTHING,
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures NRBP; ndeval NRBP",
)
def nrbp(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, rel: float, alpha: float, beta: float) -> float:
    """(1 - (1 - alpha) * beta) * sum of novelty * beta^(rank - 1) / subtopics."""
    total = seen(rank, found, pool, num_ret, rel, alpha, 2, beta) * (1.0 - (1.0 - alpha) * beta)
    return ratio(total, subtopics(count_relevant(pool, rel)))


@measure(
    "nNRBP",
    title="novelty- and rank-biased precision, as a share of what the best list has",
    source="Clarke, Kolla and Vechtomova, An Effectiveness Measure for Ambiguous Queries, ICTIR 2009; ndeval 4.5",
    parameters=(REL, ALPHA, BETA),
    empty=NOTHING,
    bounds=(0.0, 2.0),
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures nNRBP; ndeval nNRBP",
)
def normalised_nrbp(
    rank: Ranks, found: Ranks, pool: Pool, num_ret: int, rel: float, alpha: float, beta: float
) -> float:
    """Sum of novelty * beta^(rank - 1) of the list / that of the best list."""
    best = best_seen(pool, pool.last - pool.first, rel, alpha, 2, beta)
    return ratio(seen(rank, found, pool, num_ret, rel, alpha, 2, beta), best)


@measure(
    "AP_IA",
    aliases=("MAP_IA", "AP-IA", "MAP-IA"),
    title="average precision, averaged over the subtopics",
    source=AGRAWAL,
    parameters=(REL,),
    empty=NOTHING,
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures AP_IA; ndeval MAP-IA",
)
def ap_ia(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, rel: float) -> float:
    """The mean over subtopics with relevant documents of average precision for the subtopic."""
    counts = count_relevant(pool, rel)
    met, precision = [0] * len(counts), [0.0] * len(counts)
    for i in range(len(rank)):
        for t in range(pool.starts[found[i]], pool.starts[found[i] + 1]):
            if pool.grade[t] >= rel:
                met[pool.label[t]] += 1
                precision[pool.label[t]] += met[pool.label[t]] / rank[i]
    total = 0.0
    for label in range(len(counts)):
        total += ratio(precision[label], counts[label])
    return ratio(total, subtopics(counts))


@measure(
    "P_IA",
    aliases=("P-IA",),
    title="precision at k, averaged over the subtopics",
    source=AGRAWAL,
    parameters=(K_REQUIRED, REL),
    empty=NOTHING,
    of_subtopics=True,
    elsewhere="ir_measures P_IA; ndeval P-IA",
)
def p_ia(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, k: int, rel: float) -> float:
    """The mean over subtopics with relevant documents of precision at k for the subtopic."""
    count = 0
    for i in range(len(rank)):
        for t in range(pool.starts[found[i]], pool.starts[found[i] + 1]):
            if rank[i] <= k and pool.grade[t] >= rel:
                count += 1
    return ratio(count, k * subtopics(count_relevant(pool, rel)))


@measure(
    "StRecall",
    aliases=("StRec", "strec"),
    title="share of the subtopics that the first k cover",
    source="Zhai, Cohen and Lafferty, Beyond Independent Relevance, SIGIR 2003; ndeval 4.5",
    parameters=(K_REQUIRED, REL),
    empty=NOTHING,
    of_subtopics=True,
    needs_all_relevant=True,
    elsewhere="ir_measures StRecall; ndeval strec",
)
def subtopic_recall(rank: Ranks, found: Ranks, pool: Pool, num_ret: int, k: int, rel: float) -> float:
    """Subtopics with a relevant document among the first k / subtopics with one in the judgements."""
    counts = count_relevant(pool, rel)
    covered, met = 0, [0] * len(counts)
    for i in range(len(rank)):
        for t in range(pool.starts[found[i]], pool.starts[found[i] + 1]):
            if rank[i] <= k and pool.grade[t] >= rel and met[pool.label[t]] == 0:
                met[pool.label[t]] = 1
                covered += 1
    return ratio(covered, subtopics(counts))
