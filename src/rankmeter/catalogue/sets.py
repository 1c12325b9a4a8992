"""Measures of a set of retrieved documents, whose order does not count."""

import math

from rankmeter.catalogue.binary import BETA, TREC_EVAL, f_of, hits, ratio, relevant
from rankmeter.catalogue.registry import JUDGED_ONLY, REL, Grades, Parameter, Ranks, measure


@measure(
    "SetP",
    aliases=("SetPrecision",),
    title="precision of the whole list",
    source=TREC_EVAL,
    parameters=(REL, JUDGED_ONLY),
    trec="set_P",
    laws="swap replacement unretrieved",
    elsewhere="ir_measures SetP",
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
    elsewhere="ir_measures SetR",
)
def set_recall(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents retrieved / relevant documents."""
    return ratio(hits(rank, grade, num_ret, rel), relevant(ideal, rel))


@measure(
    "SetF",
    title="weighted harmonic mean of precision and recall of the whole list",
    source=TREC_EVAL,
    parameters=(REL, BETA, JUDGED_ONLY),
    trec="set_F",
    trec_numbers=lambda numbers: {"beta": math.sqrt(*numbers)},
    needs_all_relevant=True,
    laws="swap replacement unretrieved",
    elsewhere="ir_measures SetF",
    differs="beta is beta² in trec_eval and ir_measures: their SetF(beta=2) is SetF(beta=1.4142135623730951) here",
)
def set_f(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float, beta: float) -> float:
    """(1 + beta²) P R / (beta² P + R) with precision P and recall R of the whole list; 0 where both are 0."""
    found = hits(rank, grade, num_ret, rel)
    return f_of(ratio(found, num_ret), ratio(found, relevant(ideal, rel)), beta)


@measure(
    "SetAP",
    title="precision times recall of the whole list",
    source=TREC_EVAL,
    parameters=(REL, JUDGED_ONLY),
    trec="set_map",
    needs_all_relevant=True,
    laws="swap replacement unretrieved",
    elsewhere="ir_measures SetAP",
)
def set_ap(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents retrieved² / (documents retrieved * relevant documents)."""
    found = float(hits(rank, grade, num_ret, rel))
    return ratio(found * found, float(num_ret) * float(relevant(ideal, rel)))


@measure(
    "SetRelP",
    title="precision of the whole list, as a share of the highest that can be reached",
    source=TREC_EVAL,
    parameters=(REL, JUDGED_ONLY),
    trec="set_relative_P",
    needs_all_relevant=True,
    laws="swap replacement unretrieved ideal",
    elsewhere="ir_measures SetRelP",
)
def set_relative_precision(rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, rel: float) -> float:
    """Relevant documents retrieved / min(documents retrieved, relevant documents)."""
    return ratio(hits(rank, grade, num_ret, rel), min(num_ret, relevant(ideal, rel)))


def coefficient(name: str, default: float, what: str) -> Parameter:
    """A coefficient of the utility of a set."""
    return Parameter(name, "number", default, f"what {what} is worth", low=-1e9, high=1e9)


@measure(
    "Utility",
    title="what a set of retrieved documents is worth",
    source=TREC_EVAL,
    parameters=(
        coefficient("a", 1.0, "a relevant document retrieved"),
        coefficient("b", -1.0, "another document retrieved"),
        coefficient("c", 0.0, "a relevant document not retrieved"),
        coefficient("d", 0.0, "another document not retrieved"),
        Parameter("docs", "number", 0.0, "documents in the collection, for d", low=0, high=1e15),
        REL,
    ),
    bounds=(-math.inf, math.inf),
    empty="as defined",
    trec="utility",
    trec_numbers=lambda numbers: dict(zip("abcd", numbers, strict=True)),
    needs_all_relevant=True,
    laws="swap replacement unretrieved",
    differs="0 for queries without results, where trec_eval counts what was not retrieved",
)
def utility(
    rank: Ranks,
    grade: Grades,
    ideal: Grades,
    num_ret: int,
    a: float,
    b: float,
    c: float,
    d: float,
    docs: float,
    rel: float,
) -> float:
    """A * relevant retrieved + b * others retrieved + c * relevant not retrieved + d * others not retrieved.

    0 for an empty list.
    """
    if num_ret == 0:
        return 0.0
    found, total = hits(rank, grade, num_ret, rel), relevant(ideal, rel)
    return a * found + b * (num_ret - found) + c * (total - found) + d * (docs + found - num_ret - total)
