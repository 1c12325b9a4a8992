"""Measures that model a reader who goes down the list and stops somewhere."""

import math
from dataclasses import replace

from rankmeter.catalogue.binary import ratio
from rankmeter.catalogue.graded import discount
from rankmeter.catalogue.registry import GAIN_REL, K_REQUIRED, Grades, K, Parameter, Ranks, measure, shared

MOFFAT = "Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, TOIS 2008"
CHAPELLE = "Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009"
AZZOPARDI = "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021"

LENGTH = 1000
"""How far a reader goes at most who is not told where to stop, as in cwl_eval."""

PERSISTENCE = Parameter(
    "p", "number", 0.8, "chance to go on to the next document", above=0, high=0.999999, example="0.5"
)
GOAL = Parameter("T", "number", 1.0, "the gain that the reader wants", above=0, high=1e6)
LOW = Parameter("min_rel", "number", 0.0, "grade that is worth 0", low=0)
HIGH = Parameter(
    "max_rel",
    "number",
    None,
    "grade that is worth 1; none may be higher",
    above=0,
    required=True,
    example="4",
    exceeds="min_rel",
    scale=True,
)
STRICT, STEEP, PATIENT, AIMED, INSTANT, SQUARE = range(6)

RBP_GAINS = ("binary", "max", "linear")
RELEVANT, OF_HIGHEST = map(RBP_GAINS.index, ("binary", "max"))


@shared
def scaled(grade: float, low: float, high: float) -> float:
    """A grade between 0 and 1; NaN, which is refused, above the scale."""
    if grade > high:
        return math.nan
    return (max(grade, low) - low) / (high - low)


@shared
def going_on(model: int, rank: float, gain: float, seen: float, p: float) -> float:
    """The chance to go on from a rank, where a document has this gain, and all up to it have `seen`."""
    if model == STRICT:
        return 1.0 - gain
    if model == STEEP:
        return rank / (rank + 1.0) * (1.0 - gain)
    if model == PATIENT:
        return p * (1.0 - gain)
    if model == INSTANT:
        aim = rank + p + (p - seen)
        return (aim - 1.0) / aim * ((aim - 1.0) / aim)
    aim = rank + 2.0 * p
    stays = (aim - 1.0) / aim * ((aim - 1.0) / aim)
    return stays * (1.0 - gain) if model == AIMED else stays


@shared
def rate(rank: Ranks, grade: Grades, length: int, model: int, p: float, low: float, high: float) -> float:
    """The gain that a reader meets per document looked at: sum of V * gain / sum of V, V the chance to get there."""
    arrives, looked, met, seen = 1.0, 0.0, 0.0, 0.0
    hit = 0
    for place in range(1, length + 1):
        gain = 0.0
        if hit < len(rank) and rank[hit] == place:
            gain = scaled(grade[hit], low, high)
            hit += 1
        seen += gain
        looked += arrives
        met += arrives * gain
        arrives *= going_on(model, place, gain, seen, p)
    return met / looked


@measure(
    "RBP",
    title="rank-biased precision",
    source=MOFFAT,
    parameters=(
        K,
        PERSISTENCE,
        replace(GAIN_REL, view=""),
        Parameter(
            "gain",
            "choice",
            RBP_GAINS[0],
            "what a document is worth: 1 if relevant, its grade / max(1, highest grade of the query), or its grade",
            choices=RBP_GAINS,
            example="max",
        ),
    ),
    bounds=(0.0, math.inf),
    trec="rbp",
    trec_values={"p": 0.9, "gain": "max"},
    laws="swap replacement tail padding unretrieved deep",
    elsewhere="ir_measures RBP; ranx rbp",
    differs=(
        "trec_eval's is RBP(p=0.9,gain=max), whose stock build reads uninitialised values; ranx's is RBP(gain=linear); "
        "ir_measures goes 1,000 documents deep"
    ),
)
def rank_biased_precision(
    rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, p: float, rel: float, gain: int
) -> float:
    """(1 - p) * sum of gain * p^(rank - 1) over the first k; the gain is 1 for relevant documents.

    With gain=linear, whose values can be above 1, it is the grade.
    """
    total = 0.0
    for i in range(len(rank)):
        if rank[i] <= k and grade[i] >= rel:
            worth = 1.0 if gain == RELEVANT else max(0.0, grade[i])
            if gain == OF_HIGHEST:
                worth /= max(1.0, ideal[0])
            total += worth * p ** float(rank[i] - 1)
    return (1.0 - p) * total


@measure(
    "RBPResidual",
    title="how much higher RBP could be if what is not judged were relevant",
    source=MOFFAT,
    parameters=(PERSISTENCE,),
    empty="as defined: judged non-relevant documents count",
    trec="rbp_resid",
    trec_values={"p": 0.9},
    laws="unretrieved",
)
def rbp_residual(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, p: float) -> float:
    """p^retrieved + (1 - p) * sum of p^(rank - 1) over the documents that are not judged; 0 where all are judged.

    A grade below 0 is not judged.
    """
    judged, total = 0, 0.0
    for i in range(len(rank)):
        if grade[i] >= 0.0:
            judged += 1
            total += p ** float(rank[i] - 1)
    return 1.0 - (1.0 - p) * total if judged < num_ret else 0.0


@shared
def cascade(grade: float, highest: float) -> float:
    """The chance that a document satisfies the reader; NaN, which is refused, above the scale."""
    if grade > highest:
        return math.nan
    return (2.0**grade - 1.0) / 2.0**highest if grade > 0.0 else 0.0


@shared
def expected_rr(rank: Ranks, grade: Grades, k: int, highest: float) -> float:
    """Sum over ranks of 1 / rank * the chance that the reader stops there."""
    arrives, total = 1.0, 0.0
    for i in range(len(rank)):
        if rank[i] <= k:
            stops = cascade(grade[i], highest)
            total += arrives * stops / rank[i]
            arrives *= 1.0 - stops
    return total


@shared
def ideal_rr(ideal: Grades, k: int, highest: float) -> float:
    """The same for the ideal list."""
    arrives, total = 1.0, 0.0
    for i in range(min(len(ideal), k)):
        stops = cascade(ideal[i], highest)
        total += arrives * stops / (i + 1)
        arrives *= 1.0 - stops
    return total


SCALE = Parameter(
    "max",
    "number",
    4.0,
    "the highest grade of the scale; none may be higher",
    above=0,
    high=1000,
    example="3",
    scale=True,
)


@measure(
    "ERR",
    title="expected reciprocal rank of the document that satisfies the reader",
    source=CHAPELLE,
    parameters=(K, SCALE),
    empty="0 where no grade is above 0",
    laws="swap replacement tail padding unretrieved deep",
    elsewhere="ir_measures ERR; Elasticsearch expected_reciprocal_rank",
    differs="gdeval, inside ir_measures, prints five decimals",
)
def err(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, highest: float) -> float:
    """Sum of s / rank over the first k, s = g * product of (1 - g) of those before, g = (2^grade - 1) / 2^max."""
    return expected_rr(rank, grade, k, highest)


@measure(
    "nERR",
    title="expected reciprocal rank, as a share of what the ideal list has",
    source=CHAPELLE,
    parameters=(K, SCALE),
    empty="0 where no grade is above 0",
    needs_all_relevant=True,
    laws="swap tail padding unretrieved ideal deep",
)
def normalised_err(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, highest: float) -> float:
    """ERR at k of the list / ERR at k of all judged documents sorted by grade."""
    return ratio(expected_rr(rank, grade, k, highest), ideal_rr(ideal, k, highest))


@measure(
    "NERR8",
    title="nearly expected reciprocal rank, the reader stops at gain",
    source=AZZOPARDI,
    parameters=(K_REQUIRED, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="swap replacement tail padding unretrieved",
    elsewhere="ir_measures NERR8",
    differs="ir_measures clips grades above max_rel, which are refused here",
)
def nerr8(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, low: float, high: float) -> float:
    """Sum of V * gain / sum of V over the first k; V is the product of 1 - gain of those before."""
    return rate(rank, grade, min(k, LENGTH), STRICT, 0.0, low, high)


@measure(
    "NERR9",
    title="nearly expected reciprocal rank, the reader stops at gain, or by rank",
    source=AZZOPARDI,
    parameters=(K_REQUIRED, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="swap replacement tail padding unretrieved",
    elsewhere="ir_measures NERR9",
    differs="as NERR8",
)
def nerr9(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, low: float, high: float) -> float:
    """Sum of V * gain / sum of V over the first k; V multiplies i / (i + 1) * (1 - gain) of the ranks i before."""
    return rate(rank, grade, min(k, LENGTH), STEEP, 0.0, low, high)


@measure(
    "NERR10",
    title="nearly expected reciprocal rank, the reader stops at gain, or with a constant chance",
    source=AZZOPARDI,
    parameters=(
        Parameter("p", "number", 0.9, PERSISTENCE.help, above=0, high=0.999999, example="0.5"),
        LOW,
        HIGH,
    ),
    empty="0 where no grade is above min_rel",
    laws="swap replacement padding unretrieved",
    elsewhere="ir_measures NERR10",
    differs="as NERR8",
)
def nerr10(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, p: float, low: float, high: float) -> float:
    """Sum of V * gain / sum of V over 1,000 ranks; V is the product of p * (1 - gain) of those before."""
    return rate(rank, grade, LENGTH, PATIENT, p, low, high)


@measure(
    "NERR11",
    title="nearly expected reciprocal rank, the reader stops at gain, or when the goal is out of reach",
    source=AZZOPARDI,
    parameters=(GOAL, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="swap replacement padding unretrieved",
    elsewhere="ir_measures NERR11",
    differs="as NERR8",
)
def nerr11(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, goal: float, low: float, high: float) -> float:
    """Sum of V * gain / sum of V over 1,000 ranks; V multiplies ((a - 1) / a)^2 * (1 - gain) of ranks i before.

    a = i + 2T.
    """
    return rate(rank, grade, LENGTH, AIMED, goal, low, high)


@measure(
    "INST",
    title="gain per document for a reader who adapts to what was found",
    source="Moffat, Bailey, Scholer and Thomas, INST: An Adaptive Metric for IR Evaluation, ADCS 2015",
    parameters=(GOAL, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="swap replacement padding unretrieved",
    elsewhere="ir_measures INST",
    differs="as NERR8",
)
def inst(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, goal: float, low: float, high: float) -> float:
    """Sum of V * gain / sum of V over 1,000 ranks; V multiplies ((a - 1) / a)^2 of ranks i before.

    a = i + 2T - gain so far.
    """
    return rate(rank, grade, LENGTH, INSTANT, goal, low, high)


@measure(
    "INSQ",
    title="gain per document for a reader with a goal",
    source="Moffat, Scholer and Thomas, Models and Metrics: IR Evaluation As a User Process, ADCS 2012",
    parameters=(GOAL, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="swap replacement padding unretrieved",
    elsewhere="ir_measures INSQ",
    differs="as NERR8",
)
def insq(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, goal: float, low: float, high: float) -> float:
    """Sum of V * gain / sum of V over 1,000 ranks; V multiplies ((i + 2T - 1) / (i + 2T))^2 of the ranks i before."""
    return rate(rank, grade, LENGTH, SQUARE, goal, low, high)


@measure(
    "BPM",
    title="gain per document until the reader has enough, or has seen k",
    source="Zhang, Liu, Li, Zhang, Xu and Ma, Evaluating Web Search with a Bejeweled Player Model, SIGIR 2017",
    parameters=(K_REQUIRED, GOAL, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="tail padding unretrieved",
    elsewhere="ir_measures BPM",
    differs="as NERR8",
)
def bpm(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, goal: float, low: float, high: float) -> float:
    """The sum of gains up to the rank where it reaches T, at most k / that rank."""
    seen = 0.0
    for i in range(len(rank)):
        if rank[i] <= min(k, LENGTH):
            seen += scaled(grade[i], low, high)
            if seen >= goal:
                return seen / rank[i]
    return seen / min(k, LENGTH)


@measure(
    "SDCG",
    title="discounted cumulated gain, as a share of k documents of the highest grade",
    source="Järvelin and Kekäläinen 2002, scaled as in cwl_eval",
    parameters=(K_REQUIRED, LOW, HIGH),
    empty="0 where no grade is above min_rel",
    laws="swap replacement tail padding unretrieved",
    elsewhere="ir_measures SDCG",
    differs="as NERR8",
)
def scaled_dcg(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, low: float, high: float) -> float:
    """Sum of gain / log2(rank + 1) over the first k / sum of 1 / log2(rank + 1) over k ranks."""
    total, whole, depth = 0.0, 0.0, min(k, LENGTH)
    for i in range(len(rank)):
        if rank[i] <= depth:
            total += scaled(grade[i], low, high) / discount(rank[i])
    for place in range(1, depth + 1):
        whole += 1.0 / discount(place)
    return total / whole


@measure(
    "Compat",
    title="compatibility: overlap of the list with the ideal list, early ranks first",
    source="Clarke, Vtyurina and Smucker, Assessing Top-k Preferences, TOIS 2021",
    parameters=(
        Parameter("p", "number", 0.95, PERSISTENCE.help, above=0, high=0.999999, example="0.5"),
        Parameter("normalize", "flag", default=True, help="divide by what the ideal list has", example="false"),
    ),
    empty="0 where no grade is above 0",
    needs_all_relevant=True,
    laws="swap unretrieved ideal",
    elsewhere="ir_measures Compat",
    differs="ir_measures breaks ties by id upwards, and takes what was not retrieved for retrieved with score 0",
)
def compatibility(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, p: float, normalize: int) -> float:
    """Sum of p^(i - 1) * overlap at i / i over the ranks i of the longer list / the same for the ideal list.

    The ideal list holds the documents graded above 0, by grade, and those of one grade as the list has them. With
    normalize=false the divisor is the sum of p^(i - 1).
    """
    best = 0
    while best < len(ideal) and ideal[best] > 0.0:
        best += 1
    depth = max(num_ret, best)
    met = [0] * (depth + 1)
    taken = [0] * (len(ideal) + 1)
    for i in range(len(rank)):
        if grade[i] > 0.0:
            first, last = 0, best
            while first < last:
                middle = (first + last) // 2
                if ideal[middle] > grade[i]:
                    first = middle + 1
                else:
                    last = middle
            place = first + taken[first] + 1
            taken[first] += 1
            met[max(place, rank[i])] += 1
    weight, overlap, score, highest, everything = 1.0, 0, 0.0, 0.0, 0.0
    for i in range(1, depth + 1):
        overlap += met[i]
        score += weight * overlap / i
        highest += weight * min(i, best) / i
        everything += weight
        weight *= p
    return ratio(score, highest if normalize == 1 else everything)
