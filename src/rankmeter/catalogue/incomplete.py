"""Measures for judgements that are known to be incomplete: they look at judged documents, or count the others."""

from rankmeter.catalogue.binary import TREC_EVAL, ratio, relevant
from rankmeter.catalogue.registry import NO_CUTOFF, REL, Grades, K, Ranks, measure, shared

BUCKLEY_VOORHEES = "Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004"

SMALL = 0.00001
"""What keeps the share of relevant documents in infAP above 0."""


@shared
def preference(rank: Ranks, grade: Grades, ideal: Grades, rel: float) -> float:
    """How often relevant documents stand before judged ones that are not."""
    total, others, before, value = relevant(ideal, rel), 0, 0, 0.0
    for i in range(len(ideal)):
        if 0.0 <= ideal[i] < rel:
            others += 1
    for i in range(len(rank)):
        if grade[i] >= rel:
            value += 1.0 - min(before, total) / min(others, total) if before else 1.0
        elif grade[i] >= 0.0:
            before += 1
    return ratio(value, total)


@measure(
    "Judged",
    title="share of the first k that is judged",
    source="ir_measures 0.4, as a check of how complete the judgements are",
    parameters=(K,),
    empty="as defined: judged non-relevant documents count",
    laws="replacement tail unretrieved ideal deep",
    elsewhere="ir_measures Judged; OpenSearch Coverage",
    differs="ir_measures orders ties by document id upwards",
)
def judged(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int) -> float:
    """Judged documents among the first k / min(k, retrieved); a negative grade is a judgement."""
    count = 0
    for i in range(len(rank)):
        if rank[i] <= k:
            count += 1
    return ratio(count, min(k, num_ret))


@measure(
    "Unjudged",
    title="share of the first k that is retrieved and not judged",
    source=TREC_EVAL,
    parameters=(K,),
    empty="as defined: judged non-relevant documents count",
    trec_cut="unj",
    trec_cuts=(5, 10, 20),
    laws="tail unretrieved",
    differs="a grade below 0 is not judged, as in trec_eval",
)
def unjudged(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int) -> float:
    """Retrieved documents among the first k that are not judged / k; without k, / retrieved. Below 0 is not judged."""
    length, count = min(k, num_ret), 0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= 0.0:
            count += 1
    return ratio(length - count, k if k < NO_CUTOFF else num_ret)


@measure(
    "Bpref",
    title="binary preference: how often relevant documents stand before judged ones that are not",
    source=BUCKLEY_VOORHEES + "; denominator of trec_eval 10.0",
    parameters=(REL,),
    trec="bpref",
    needs_all_relevant=True,
    laws="swap padding ideal",
    elsewhere="ir_measures Bpref; ranx bpref",
    differs="ranx gives NaN where nothing is judged non-relevant, and other values for many queries at once",
)
def bpref(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Mean over the relevant documents of 1 - min(n, R) / min(N, R), and of 0 for those not retrieved.

    R counts the relevant documents, N the others that are judged 0 or more, n those of them that stand before.
    """
    return preference(rank, grade, ideal, rel)


@measure(
    "GBpref",
    title="geometric mean of binary preference",
    source=TREC_EVAL,
    parameters=(REL,),
    aggregate="geometric",
    trec="gm_bpref",
    needs_all_relevant=True,
    laws="swap padding ideal",
)
def geometric_bpref(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Binary preference; over queries exp(mean of ln max(Bpref, 0.00001))."""
    return preference(rank, grade, ideal, rel)


@measure(
    "infAP",
    title="average precision inferred from a sample of judgements",
    source="Yilmaz and Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006",
    parameters=(REL,),
    trec="infAP",
    needs_all_relevant=True,
    laws="padding unretrieved",
    elsewhere="ir_measures infAP",
)
def inferred_ap(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Mean over the relevant documents of 1/r + (j/r) * share, where r is the rank, and j = r - 1 stand before.

    The share is pooled/j * (relevant + 0.00001) / (judged + 0.00002) of those before; a grade below 0 is pooled, and
    not judged.
    """
    found, others, pooled, value = 0, 0, 0, 0.0
    for i in range(len(rank)):
        if grade[i] < 0.0:
            pooled += 1
        elif grade[i] < rel:
            others += 1
        else:
            before = float(rank[i] - 1)
            if rank[i] == 1:
                value += 1.0
            else:
                seen = (found + others + pooled) / before
                share = (found + SMALL) / (found + others + 2 * SMALL)
                value += 1.0 / (before + 1.0) + before / (before + 1.0) * seen * share
            found += 1
    return ratio(value, relevant(ideal, rel))
