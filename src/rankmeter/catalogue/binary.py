"""Measures that ask of each document only whether it is relevant: whether its grade reaches a level."""

import math

from rankmeter.catalogue.registry import JUDGED_ONLY, K_REQUIRED, REL, Grades, K, Parameter, Ranks, measure, shared
from rankmeter.conventions import CHOICES

TREC_EVAL = "trec_eval 10.0"
MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8"
BUCKLEY = "Buckley and Voorhees, in TREC: Experiment and Evaluation in Information Retrieval, 2005"

AP_MIN, AP_HITS = (CHOICES["ap_norm"].index(choice) for choice in ("min", "hits"))
RETRIEVED = CHOICES["precision_norm"].index("retrieved")
CAPPED = int(True)
"""How kernels tell what divides."""

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
def precision_sum(rank: Ranks, grade: Grades, k: int, rel: float) -> float:
    """Sum of the precisions at each relevant document among the first k."""
    found = 0
    total = 0.0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= rel:
            found += 1
            total += found / rank[i]
    return total


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
        Parameter(
            "norm",
            "choice",
            None,
            "what divides: k, or what was retrieved of it; else the rule in force",
            choices=CHOICES["precision_norm"],
            example="retrieved",
            rule="precision_norm",
        ),
        JUDGED_ONLY,
    ),
    trec_cut="P",
    without_k="SetP",
    laws="swap replacement tail padding unretrieved",
    unless={"padding": ("norm", "retrieved")},
    elsewhere="ir_measures P; ranx precision; Spark precisionAt",
    differs="Spark counts labels, so its grades are binary",
)
def precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, norm: int) -> float:
    """Relevant documents among the first k / k. With norm=retrieved the divisor is min(k, retrieved)."""
    return ratio(hits(rank, grade, k, rel), min(k, num_ret) if norm == RETRIEVED else k)


@measure(
    "R",
    aliases=("Recall",),
    title="recall: share of the relevant documents that is among the first k",
    source=MANNING,
    parameters=(
        K_REQUIRED,
        REL,
        Parameter(
            "cap",
            "flag",
            None,
            "divide by min(k, relevant), so that 1 can be reached; else the rule in force",
            example="true",
            rule="recall_cap",
        ),
        JUDGED_ONLY,
    ),
    trec_cut="recall",
    without_k="SetR",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved",
    elsewhere="ir_measures R; ranx recall; Spark recallAt",
)
def recall(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, cap: int) -> float:
    """Relevant documents among the first k / relevant documents. With cap=true the divisor is min(k, relevant)."""
    total = relevant(ideal, rel)
    return ratio(hits(rank, grade, k, rel), min(k, total) if cap == CAPPED else total)


@measure(
    "F1",
    title="harmonic mean of precision and recall at k",
    source="van Rijsbergen, Information Retrieval, 1979, chapter 7",
    parameters=(K_REQUIRED, REL, JUDGED_ONLY),
    without_k="SetF",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved",
    elsewhere="ranx f1",
)
def f1(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """2 P R / (P + R) with precision P and recall R at k; 0 where both are 0."""
    found = hits(rank, grade, k, rel)
    return f_of(found / k, ratio(found, relevant(ideal, rel)), 1.0)


@measure(
    "F",
    title="weighted harmonic mean of precision and recall at k",
    source="van Rijsbergen, Information Retrieval, 1979, chapter 7",
    parameters=(K_REQUIRED, REL, BETA, JUDGED_ONLY),
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
    aliases=("Hit", "HitRate", "hit_rate", "hits"),
    title="whether a relevant document is among the first k",
    source=TREC_EVAL,
    parameters=(K, REL, JUDGED_ONLY),
    trec_cut="success",
    trec_cuts=(1, 5, 10),
    laws="swap replacement tail padding unretrieved ideal deep",
    elsewhere="ir_measures Success; ranx hit_rate",
    differs="ranx calls the number of hits `hits`, which is NumRelRet@k here",
)
def success(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """1 if a relevant document is among the first k, else 0."""
    return 1.0 if hits(rank, grade, k, rel) else 0.0


@measure(
    "RR",
    aliases=("MRR", "ReciprocalRank"),
    title="reciprocal rank of the first relevant document",
    source="Voorhees, The TREC-8 Question Answering Track Report, 1999",
    parameters=(K, REL, JUDGED_ONLY),
    trec="recip_rank",
    laws="swap replacement tail padding unretrieved ideal deep",
    elsewhere="ir_measures RR; ranx mrr",
    differs="ir_measures breaks ties by document id upwards for RR@k and downwards for RR",
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
            None,
            "what divides: the relevant documents, min(k, relevant), or the hits; else the rule in force",
            choices=CHOICES["ap_norm"],
            example="min",
            rule="ap_norm",
        ),
        JUDGED_ONLY,
    ),
    trec="map",
    trec_cut="map_cut",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved deep",
    unless={"swap": ("norm", "hits")},
    elsewhere="ir_measures AP; ranx map; Spark meanAveragePrecision",
    differs=(
        "Spark divides by min(k, relevant) at a cut-off: AP(norm=min)@k; "
        "torchmetrics and Elasticsearch by the hits: AP(norm=hits)@k"
    ),
)
def average_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float, norm: int) -> float:
    """Sum of the precisions at each relevant document among the first k / relevant documents.

    With norm=min the divisor is min(k, relevant), with norm=hits the relevant documents among the first k.
    """
    divisor = hits(rank, grade, k, rel) if norm == AP_HITS else relevant(ideal, rel)
    return ratio(precision_sum(rank, grade, k, rel), min(k, divisor) if norm == AP_MIN else divisor)


@measure(
    "Rprec",
    aliases=("RPrecision", "R-precision"),
    title="precision at the number of relevant documents",
    source=BUCKLEY,
    parameters=(REL, JUDGED_ONLY),
    trec="Rprec",
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
    elsewhere="ir_measures Rprec; ranx r-precision",
)
def r_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents among the first R / R, where R is the number of relevant documents."""
    total = relevant(ideal, rel)
    return ratio(hits(rank, grade, total, rel), total)


@measure(
    "GMAP",
    title="geometric mean of average precision",
    source=TREC_EVAL,
    parameters=(REL, JUDGED_ONLY),
    aggregate="geometric",
    trec="gm_map",
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
    differs="values per query are average precision, of which trec_eval prints none",
)
def geometric_ap(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Average precision; over queries exp(mean of ln max(AP, 0.00001))."""
    return ratio(precision_sum(rank, grade, num_ret, rel), relevant(ideal, rel))


@measure(
    "RelP",
    title="precision at k, as a share of the highest that can be reached",
    source=TREC_EVAL,
    parameters=(K_REQUIRED, REL, JUDGED_ONLY),
    trec_cut="relative_P",
    without_k="SetRelP",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved ideal",
    differs="the same as R(cap=true)@k, which beir calls R_cap",
)
def relative_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """Relevant documents among the first k / min(k, relevant documents)."""
    return ratio(hits(rank, grade, k, rel), min(k, relevant(ideal, rel)))


@measure(
    "RprecMult",
    title="precision at a multiple of the number of relevant documents",
    source=TREC_EVAL,
    parameters=(
        Parameter("x", "point", None, "the multiple", above=0, high=1e6, required=True),
        REL,
    ),
    trec_cut="Rprec_mult",
    trec_cuts=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
)
def r_precision_multiple(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, x: float, rel: float) -> float:
    """Relevant documents among the first k / k, where k is x * relevant documents + 0.9, cut to an integer."""
    k = int(x * relevant(ideal, rel) + 0.9)
    return ratio(hits(rank, grade, k, rel), k)


@measure(
    "Yaap",
    title="average precision on a scale that averages well over queries",
    source="Robertson, On Smoothing Average Precision, ECIR 2012",
    parameters=(REL,),
    bounds=(-math.inf, math.inf),
    empty="0",
    missing="as defined: ln(1 / (1 + relevant))",
    trec="yaap",
    needs_all_relevant=True,
    laws="swap padding unretrieved",
)
def yaap(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """ln((1 + s) / (1 + R - s)), where s sums the precisions at relevant documents and R counts these."""
    total = precision_sum(rank, grade, num_ret, rel)
    return math.log((1.0 + total) / (1.0 + relevant(ideal, rel) - total))


@measure(
    "Accuracy",
    title="chance that a relevant document stands before one that is not, among those retrieved",
    source="ir_measures 0.4",
    parameters=(K, REL),
    empty="0",
    laws="tail unretrieved ideal deep",
    elsewhere="ir_measures Accuracy",
    differs="ir_measures leaves queries without relevant results out, where it is 0 here",
)
def accuracy(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """Pairs of a relevant document before one that is not relevant / all such pairs, among the first k retrieved.

    0 where no relevant document is among them, 1 where nothing else is.
    """
    length, found, wrong = min(k, num_ret), 0, 0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= rel:
            wrong += rank[i] - 1 - found
            found += 1
    if found == 0:
        return 0.0
    return 1.0 - ratio(wrong, (length - found) * found)
