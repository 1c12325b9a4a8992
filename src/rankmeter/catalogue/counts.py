"""Counts: how much was judged, retrieved and found."""

import math

from rankmeter.catalogue.binary import TREC_EVAL, hits, ratio, relevant
from rankmeter.catalogue.registry import REL, Grades, K, Ranks, measure

COUNT = (0.0, math.inf)


@measure(
    "Judged",
    title="share of the first k that is judged",
    source="ir_measures 0.4, as a check of how complete the judgements are",
    parameters=(K,),
    empty="as defined: judged non-relevant documents count",
    laws="replacement tail unretrieved ideal deep",
)
def judged(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int) -> float:
    """Judged documents among the first k / min(k, retrieved); a negative grade is a judgement."""
    count = 0
    for i in range(len(rank)):
        if rank[i] <= k:
            count += 1
    return ratio(count, min(k, num_ret))


@measure(
    "NumQ",
    title="number of queries",
    source=TREC_EVAL,
    bounds=(1.0, 1.0),
    aggregate="sum",
    empty="1",
    missing="1",
    trec="num_q",
    laws="swap replacement padding unretrieved",
)
def num_q(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int) -> float:
    """1 for each query."""
    return 1.0


@measure(
    "NumRet",
    title="number of documents retrieved",
    source=TREC_EVAL,
    bounds=COUNT,
    aggregate="sum",
    empty="as defined",
    trec="num_ret",
    laws="swap replacement unretrieved",
)
def num_ret(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int) -> float:
    """Documents retrieved."""
    return float(num_ret)


@measure(
    "NumRel",
    title="number of relevant documents",
    source=TREC_EVAL,
    parameters=(REL,),
    bounds=COUNT,
    aggregate="sum",
    missing="as defined: it does not depend on the list",
    trec="num_rel",
    needs_all_relevant=True,
    laws="swap replacement padding unretrieved",
)
def num_rel(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Judgements at or above the relevance level."""
    return float(relevant(ideal, rel))


@measure(
    "NumRelRet",
    title="number of relevant documents retrieved",
    source=TREC_EVAL,
    parameters=(REL,),
    bounds=COUNT,
    aggregate="sum",
    trec="num_rel_ret",
    laws="swap replacement padding unretrieved",
)
def num_rel_ret(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents retrieved."""
    return float(hits(rank, grade, num_ret, rel))
