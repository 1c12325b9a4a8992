"""Measures that ask of each document only whether it is relevant: whether its grade reaches a level."""

import math

from rankmeter.catalogue.registry import K_REQUIRED, REL, Grades, K, Parameter, Ranks, measure, shared

TREC_EVAL = "trec_eval 10.0"
MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8"
BUCKLEY = "Buckley and Voorhees, in TREC: Experiment and Evaluation in Information Retrieval, 2005"

BETA = Parameter("beta", "number", 1.0, "recall counts beta times as much as precision", above=0, high=1e6)


@shared
def hits(rank: Ranks, grade: Grades, k: int, rel: float) -> int:
    """Relevant documents among the first k."""
    found = 0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= rel:
            found += 1
    return found


@shared
def relevant(ideal: Grades, rel: float) -> int:
    """Relevant documents of the query."""
    count = 0
    for i in range(len(ideal)):
        if ideal[i] >= rel:
            count += 1
    return count


@shared
def ratio(part: float, whole: float) -> float:
    """A quotient in which 0/0 is 0; NaN, which is refused, where the whole is beyond float64."""
    if whole == math.inf:
        return math.nan
    return part / whole if whole else 0.0


@shared
def f_of(p: float, r: float, beta: float) -> float:
    """The weighted harmonic mean of precision and recall."""
    return ratio((1.0 + beta * beta) * p * r, beta * beta * p + r)


@measure(
    "P",
    aliases=("Precision",),
    title="precision: share of the first k that is relevant",
    source=MANNING,
    parameters=(
        K_REQUIRED,
        REL,
        Parameter("norm", "choice", "k", "what divides: k, or what was retrieved of it", choices=("k", "retrieved")),
    ),
    trec_cut="P",
    without_k="SetP",
    laws="swap replacement tail padding unretrieved",
)
def precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, norm: int) -> float:
    """Relevant documents among the first k / k. With norm=retrieved the divisor is min(k, retrieved)."""
    return ratio(hits(rank, grade, k, rel), min(k, num_ret) if norm == 1 else k)


@measure(
    "R",
    aliases=("Recall",),
    title="recall: share of the relevant documents that is among the first k",
    source=MANNING,
    parameters=(
        K_REQUIRED,
        REL,
        Parameter("cap", "flag", default=False, help="divide by min(k, relevant), so that 1 can be reached"),
    ),
    trec_cut="recall",
    without_k="SetR",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved",
)
def recall(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, cap: int) -> float:
    """Relevant documents among the first k / relevant documents. With cap=true the divisor is min(k, relevant)."""
    total = relevant(ideal, rel)
    return ratio(hits(rank, grade, k, rel), min(k, total) if cap == 1 else total)


@measure(
    "F1",
    title="harmonic mean of precision and recall at k",
    source="van Rijsbergen, Information Retrieval, 1979, chapter 7",
    parameters=(K_REQUIRED, REL),
    without_k="SetF",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved",
)
def f1(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """2 P R / (P + R) with precision P and recall R at k; 0 where both are 0."""
    found = hits(rank, grade, k, rel)
    return f_of(found / k, ratio(found, relevant(ideal, rel)), 1.0)


@measure(
    "F",
    title="weighted harmonic mean of precision and recall at k",
    source="van Rijsbergen, Information Retrieval, 1979, chapter 7",
    parameters=(K_REQUIRED, REL, BETA),
    without_k="SetF",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved",
)
def f_beta(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, beta: float) -> float:
    """(1 + beta²) P R / (beta² P + R) with precision P and recall R at k; 0 where both are 0."""
    found = hits(rank, grade, k, rel)
    return f_of(found / k, ratio(found, relevant(ideal, rel)), beta)


@measure(
    "Success",
    aliases=("Hit", "HitRate", "hits"),
    title="whether a relevant document is among the first k",
    source=TREC_EVAL,
    parameters=(K, REL),
    trec_cut="success",
    laws="swap replacement tail padding unretrieved ideal deep",
)
def success(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """1 if a relevant document is among the first k, else 0."""
    return 1.0 if hits(rank, grade, k, rel) else 0.0


@measure(
    "RR",
    aliases=("MRR", "ReciprocalRank"),
    title="reciprocal rank of the first relevant document",
    source="Voorhees, The TREC-8 Question Answering Track Report, 1999",
    parameters=(K, REL),
    trec="recip_rank",
    laws="swap replacement tail padding unretrieved ideal deep",
)
def reciprocal_rank(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """1 / rank of the first relevant document; 0 where none is among the first k."""
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= rel:
            return 1.0 / rank[i]
    return 0.0


@measure(
    "AP",
    aliases=("MAP", "AveragePrecision"),
    title="average precision at the relevant documents",
    source=BUCKLEY,
    parameters=(
        K,
        REL,
        Parameter(
            "norm",
            "choice",
            "rel",
            "what divides: the relevant documents, min(k, relevant), or the hits among the first k",
            choices=("rel", "min", "hits"),
        ),
    ),
    trec="map",
    trec_cut="map_cut",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved deep",
)
def average_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, norm: int) -> float:
    """Sum of the precisions at each relevant document among the first k / relevant documents.

    With norm=min the divisor is min(k, relevant), with norm=hits the relevant documents among the first k.
    """
    found = 0
    total = 0.0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= rel:
            found += 1
            total += found / rank[i]
    divisor = found if norm == 2 else relevant(ideal, rel)  # the third choice
    return ratio(total, min(k, divisor) if norm == 1 else divisor)


@measure(
    "Rprec",
    aliases=("RPrecision", "R-precision"),
    title="precision at the number of relevant documents",
    source=BUCKLEY,
    parameters=(REL,),
    trec="Rprec",
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
)
def r_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents among the first R / R, where R is the number of relevant documents."""
    total = relevant(ideal, rel)
    return ratio(hits(rank, grade, total, rel), total)


@measure(
    "SetP",
    aliases=("SetPrecision",),
    title="precision of the whole list",
    source=TREC_EVAL,
    parameters=(REL,),
    trec="set_P",
    laws="swap replacement unretrieved",
)
def set_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents retrieved / documents retrieved."""
    return ratio(hits(rank, grade, num_ret, rel), num_ret)


@measure(
    "SetR",
    aliases=("SetRecall",),
    title="recall of the whole list",
    source=TREC_EVAL,
    parameters=(REL,),
    trec="set_recall",
    needs_all_relevant=True,
    laws="swap replacement padding unretrieved ideal",
)
def set_recall(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents retrieved / relevant documents."""
    return ratio(hits(rank, grade, num_ret, rel), relevant(ideal, rel))


@measure(
    "SetF",
    title="weighted harmonic mean of precision and recall of the whole list",
    source=TREC_EVAL,
    parameters=(REL, BETA),
    trec="set_F",
    needs_all_relevant=True,
    laws="swap replacement unretrieved",
)
def set_f(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float, beta: float) -> float:
    """(1 + beta²) P R / (beta² P + R) with precision P and recall R of the whole list; 0 where both are 0."""
    found = hits(rank, grade, num_ret, rel)
    return f_of(ratio(found, num_ret), ratio(found, relevant(ideal, rel)), beta)
