"""Counts: how much was retrieved, is relevant and was found."""

import math

from rankmeter.catalogue.binary import TREC_EVAL, hits, relevant
from rankmeter.catalogue.registry import REL, Grades, K, Ranks, measure

COUNT = (0.0, math.inf)


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
    elsewhere="ir_measures NumQ",
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
    elsewhere="ir_measures NumRet",
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
    elsewhere="ir_measures NumRel",
    differs="trec_eval's num_rel over all topics counts grades from 1 under `-c -l`",
)
def num_rel(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Judgements at or above the relevance level."""
    return float(relevant(ideal, rel))


@measure(
    "NumRelRet",
    title="number of relevant documents retrieved",
    source=TREC_EVAL,
    parameters=(K, REL),
    bounds=COUNT,
    aggregate="sum",
    trec="num_rel_ret",
    laws="swap replacement tail padding unretrieved deep",
    elsewhere="ir_measures NumRet(rel=1); ranx hits",
)
def num_rel_ret(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, k: int, rel: float) -> float:
    """Relevant documents among the first k; without k, among all retrieved."""
    return float(hits(rank, grade, k, rel))


@measure(
    "NumNonrelJudgedRet",
    title="number of documents retrieved that are judged 0 or more and not relevant",
    source=TREC_EVAL,
    parameters=(REL,),
    bounds=COUNT,
    aggregate="sum",
    empty="as defined",
    trec="num_nonrel_judged_ret",
    laws="padding unretrieved",
)
def num_nonrel_judged_ret(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Documents retrieved with a grade from 0 to below the relevance level."""
    return float(hits(rank, grade, num_ret, 0.0) - hits(rank, grade, num_ret, max(rel, 0.0)))
