"""Measures of gain: the higher a document's grade and rank, the more it adds."""

import math

from rankmeter.catalogue.binary import TREC_EVAL, ratio, relevant
from rankmeter.catalogue.registry import (
    GAIN,
    GAIN_REL,
    GAINS,
    JUDGED_ONLY,
    REACHED,
    REL,
    Gains,
    Grades,
    K,
    Ranks,
    measure,
    shared,
    tabulated,
)

JARVELIN = "Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002; log2(rank + 1)"


@tabulated(1024)
def discount(rank: int) -> float:
    """log2(rank + 1), which divides a gain."""
    return math.log2(rank + 1.0)


@shared
def gained(rank: Ranks, gain: Gains, k: int) -> float:
    """Sum of gain / log2(rank + 1) over the documents among the first k."""
    total = 0.0
    for i in range(len(rank)):
        if rank[i] <= k and gain[i] != 0.0:
            total += gain[i] / discount(rank[i])
    return total


@shared
def best_gained(ideal: Gains, k: int) -> float:
    """The same sum over the ideal list; gains of 0 and below are left out of it."""
    total = 0.0
    for i in range(min(len(ideal), k)):
        if ideal[i] > 0.0:
            total += ideal[i] / discount(i + 1)
    return total


@measure(
    "nDCG",
    title="discounted cumulated gain, as a share of what the ideal list has",
    source=JARVELIN,
    parameters=(K, GAIN, GAINS, GAIN_REL, JUDGED_ONLY),
    trec="ndcg",
    trec_cut="ndcg_cut",
    empty="0 where no grade is above 0; a grade below the relevance level still counts",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved ideal deep",
    elsewhere="ir_measures nDCG; ranx ndcg and ndcg_burges; Spark ndcgAt; scikit-learn ndcg_score",
    differs=(
        "ranx ndcg_burges and gdeval are nDCG(gain=exp); "
        "ranx lets the level filter grades: --gain-from relevant; "
        "Elasticsearch and MLflow cut the ideal list at what was retrieved; "
        "scikit-learn averages over ties"
    ),
)
def ndcg(rank: Ranks, gain: Gains, ideal: Gains, num_ret: int, k: int) -> float:
    """DCG at k of the list / DCG at k of all judged documents sorted by gain.

    DCG is the sum of gain / log2(rank + 1); the gain is the grade, or 2^grade - 1 with gain=exp, and 0 below 0.
    """
    return ratio(gained(rank, gain, k), best_gained(ideal, k))


@measure(
    "DCG",
    title="discounted cumulated gain",
    source=JARVELIN,
    parameters=(K, GAIN, GAINS, GAIN_REL, JUDGED_ONLY),
    bounds=(0.0, math.inf),
    empty="0 where no grade is above 0; a grade below the relevance level still counts",
    trec="dcg",
    laws="swap replacement tail padding unretrieved deep",
    elsewhere="ranx dcg and dcg_burges; scikit-learn dcg_score",
)
def dcg(rank: Ranks, gain: Gains, ideal: Gains, num_ret: int, k: int) -> float:
    """Sum of gain / log2(rank + 1) over the first k; the gain is the grade, or 2^grade - 1 with gain=exp."""
    return gained(rank, gain, k)


@measure(
    "IDCG",
    title="discounted cumulated gain of the ideal list",
    source=JARVELIN,
    parameters=(K, GAIN, GAINS, GAIN_REL),
    bounds=(0.0, math.inf),
    empty="0 where no grade is above 0; a grade below the relevance level still counts",
    missing="as defined: it does not depend on the list",
    trec="ideal_dcg",
    needs_all_relevant=True,
    laws="swap replacement tail padding unretrieved deep",
)
def ideal_dcg(rank: Ranks, gain: Gains, ideal: Gains, num_ret: int, k: int) -> float:
    """Sum of gain / log2(rank + 1) over the first k of all judged documents sorted by gain."""
    return best_gained(ideal, k)


@measure(
    "nDCGRel",
    title="nDCG averaged over the ranks of documents with gain",
    source=TREC_EVAL,
    parameters=(GAIN, GAINS, GAIN_REL),
    bounds=(0.0, math.inf),
    trec="ndcg_rel",
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
)
def ndcg_rel(rank: Ranks, gain: Gains, ideal: Gains, num_ret: int) -> float:
    """The mean of DCG / ideal DCG over all documents with gain, at their ranks, or at the end if not retrieved."""
    reached, best, total = 0.0, 0.0, 0.0
    place = found = 0
    for i in range(len(rank)):
        while place < min(rank[i], len(ideal)) and ideal[place] > 0.0:
            best += ideal[place] / discount(place + 1)
            place += 1
        if gain[i] != 0.0:
            reached += gain[i] / discount(rank[i])
        if gain[i] > 0.0:
            total += ratio(reached, best)
            found += 1
    while place < len(ideal) and ideal[place] > 0.0:
        best += ideal[place] / discount(place + 1)
        place += 1
    total += (place - found) * ratio(reached, best)
    return total / place if total > 0.0 else 0.0


@measure(
    "Rndcg",
    title="nDCG averaged over the ranks at which the ideal gain changes",
    source=TREC_EVAL,
    parameters=(GAIN, GAINS, REACHED),
    bounds=(0.0, math.inf),
    trec="Rndcg",
    needs_all_relevant=True,
    laws="swap unretrieved ideal",
)
def rndcg(rank: Ranks, gain: Gains, ideal: Gains, num_ret: int) -> float:
    """The mean of DCG / ideal DCG at the ranks where the gain of the ideal list falls, and at the end of the list.

    The end counts where the list is longer by two than the documents with gain.
    """
    reached, best, total = 0.0, 0.0, 0.0
    hit = changes = place = 0
    while place < len(ideal) and ideal[place] > 0.0:
        best += ideal[place] / discount(place + 1)
        place += 1
        if place == len(ideal) or ideal[place] != ideal[place - 1]:
            while hit < len(rank) and rank[hit] <= place:
                reached += gain[hit] / discount(rank[hit])
                hit += 1
            total += reached / best
            changes += 1
    if num_ret > place + 1:
        while hit < len(rank):
            reached += gain[hit] / discount(rank[hit])
            hit += 1
        total += ratio(reached, best)
        changes += best > 0.0
    return ratio(total, changes)


@measure(
    "G",
    title="normalised gain: each gain counts less the more gain was missed before it",
    source=TREC_EVAL,
    parameters=(GAIN, GAINS, GAIN_REL),
    bounds=(0.0, math.inf),
    trec="G",
    needs_all_relevant=True,
    laws="padding unretrieved",
)
def g(rank: Ranks, gain: Gains, ideal: Gains, num_ret: int) -> float:
    """Sum of gain / log2(2 + cost - gain, both so far) / sum of all gains; a rank costs its ideal gain, at least 1."""
    cost, seen, total = 0.0, 0.0, 0.0
    place = 0
    for i in range(len(rank)):
        while place < rank[i]:
            cost += max(1.0, ideal[place]) if place < len(ideal) else 1.0
            place += 1
        seen += gain[i]
        if gain[i] != 0.0:
            total += gain[i] / math.log2(2.0 + cost - seen)
    everything = 0.0
    for i in range(len(ideal)):
        everything += max(0.0, ideal[i])
    return ratio(total, everything)


@measure(
    "BinG",
    title="normalised gain of relevant documents",
    source=TREC_EVAL,
    parameters=(REL,),
    trec="binG",
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
)
def bin_g(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Sum of 1 / log2(2 + documents before that are not relevant) over the relevant documents / relevant documents."""
    total, found = 0.0, 0
    for i in range(len(rank)):
        if grade[i] >= rel:
            total += 1.0 / discount(rank[i] - found)
            found += 1
    return ratio(total, relevant(ideal, rel))
