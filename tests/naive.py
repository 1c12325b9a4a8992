"""Each measure again, without rankmeter: plain Python over the whole ranked list, in trec_eval's order of arithmetic.

A list has one entry a document in rank order: its grade, or None where it is not judged. `judged` holds all grades of
the query in any order. Sums are loops, because `sum` compensates from Python 3.12 on and trec_eval does not.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

List = Sequence[float | None]
Judged = Sequence[float]


def in_turn(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def is_relevant(ranked: List, rel: float) -> list[bool]:
    return [grade is not None and grade >= rel for grade in ranked]


def number_relevant(judged: Judged, rel: float) -> int:
    return len([grade for grade in judged if grade >= rel])


def precision(ranked: List, _judged: Judged, k: int, rel: float, norm: str = "k") -> float:
    divisor = k if norm == "k" else len(ranked[:k])
    return is_relevant(ranked, rel)[:k].count(True) / divisor if divisor else 0.0


def recall(ranked: List, judged: Judged, k: int, rel: float, cap: bool = False) -> float:
    wanted = sorted(judged, reverse=True)[: k if cap else None]
    return set_recall(ranked[:k], wanted, rel)


def f_beta(ranked: List, judged: Judged, k: int, rel: float, beta: float = 1.0) -> float:
    p, r = precision(ranked, judged, k, rel), recall(ranked, judged, k, rel)
    return (1 + beta * beta) * p * r / (beta * beta * p + r) if p and r else 0.0


def f1(ranked: List, judged: Judged, k: int, rel: float) -> float:
    p, r = precision(ranked, judged, k, rel), recall(ranked, judged, k, rel)
    return 2 * p * r / (p + r) if p or r else 0.0


def success(ranked: List, _judged: Judged, k: int | None, rel: float) -> float:
    return float(any(is_relevant(ranked[:k], rel)))


def reciprocal_rank(ranked: List, _judged: Judged, k: int | None, rel: float) -> float:
    found = is_relevant(ranked[:k], rel)
    return 1 / (found.index(True) + 1) if True in found else 0.0


def average_precision(ranked: List, judged: Judged, k: int | None, rel: float, norm: str = "rel") -> float:
    found = is_relevant(ranked[:k], rel)
    precisions = [found[:depth].count(True) / depth for depth in range(1, len(found) + 1) if found[depth - 1]]
    total = number_relevant(judged, rel)
    divisor = {"rel": total, "min": min(total, k or total), "hits": len(precisions)}[norm]
    return in_turn(precisions) / divisor if divisor else 0.0


def r_precision(ranked: List, judged: Judged, rel: float) -> float:
    return precision(ranked, judged, number_relevant(judged, rel), rel)


def set_precision(ranked: List, judged: Judged, rel: float) -> float:
    return precision(ranked, judged, len(ranked), rel)


def set_recall(ranked: List, judged: Judged, rel: float) -> float:
    total = number_relevant(judged, rel)
    return is_relevant(ranked, rel).count(True) / total if total else 0.0


def set_f(ranked: List, judged: Judged, rel: float, beta: float) -> float:
    return f_beta(ranked, judged, len(ranked), rel, beta) if ranked else 0.0


def share_judged(ranked: List, _judged: Judged, k: int | None) -> float:
    top = ranked[:k]
    return (len(top) - list(top).count(None)) / len(top) if top else 0.0


def dcg(ranked: List, _judged: Judged, k: int | None, gain: str) -> float:
    found = [(rank, grade) for rank, grade in enumerate(ranked[:k], start=1) if grade is not None and grade > 0]
    return in_turn((2.0**grade - 1 if gain == "exp" else grade) / math.log2(rank + 1) for rank, grade in found)


def ndcg(ranked: List, judged: Judged, k: int | None, gain: str) -> float:
    best = dcg(sorted(judged, reverse=True), judged, k, gain)
    return dcg(ranked, judged, k, gain) / best if best else 0.0


TWINS: dict[str, Callable[..., Any]] = {
    "P": precision,
    "R": recall,
    "F1": f1,
    "F": f_beta,
    "Success": success,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "Rprec": r_precision,
    "SetP": set_precision,
    "SetR": set_recall,
    "SetF": set_f,
    "Judged": share_judged,
    "NumQ": lambda _ranked, _judged: 1.0,
    "NumRet": lambda ranked, _judged: float(len(ranked)),
    "NumRel": lambda _ranked, judged, rel: float(number_relevant(judged, rel)),
    "NumRelRet": lambda ranked, _judged, rel: float(is_relevant(ranked, rel).count(True)),
    "nDCG": ndcg,
    "DCG": dcg,
}
"""Canonical name -> twin: it takes the list, the judged grades, then the parameters as declared (None: no cut-off)."""
