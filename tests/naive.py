"""Each measure again, without rankmeter: plain Python over the whole ranked list, in trec_eval's order of arithmetic.

A list has one entry a document in rank order: its grade, or None where it is not judged. `judged` holds all grades of
the query in any order. Sums are loops, because `sum` compensates from Python 3.12 on and trec_eval does not.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

List = Sequence[float | None]
Judged = Sequence[float]
Pairs = Sequence[tuple[float, float]]


def in_turn(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def is_relevant(ranked: List, rel: float) -> list[bool]:
    return [grade is not None and grade >= rel for grade in ranked]


def number_relevant(judged: Judged, rel: float) -> int:
    return len([grade for grade in judged if grade >= rel])


def precision(ranked: List, _judged: Judged, k: int, rel: float, norm: str | None = None) -> float:
    divisor = k if norm != "retrieved" else len(ranked[:k])
    return is_relevant(ranked, rel)[:k].count(True) / divisor if divisor else 0.0


def recall(ranked: List, judged: Judged, k: int, rel: float, cap: bool | None = None) -> float:
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


def average_precision(ranked: List, judged: Judged, k: int | None, rel: float, norm: str | None = None) -> float:
    found = is_relevant(ranked[:k], rel)
    precisions = [found[:depth].count(True) / depth for depth in range(1, len(found) + 1) if found[depth - 1]]
    total = number_relevant(judged, rel)
    divisor = {"min": min(total, k or total), "hits": len(precisions)}.get(norm or "", total)
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


def only_judged(ranked: List) -> list[float | None]:
    return [grade for grade in ranked if grade is not None]


def on_judged(twin: Callable[..., float]) -> Callable[..., float]:
    """A twin whose last parameter says whether documents that are not judged are left out first."""

    def seen(ranked: List, judged: Judged, *values: Any) -> float:
        *others, judged_only = values
        return twin(only_judged(ranked) if judged_only else ranked, judged, *others)

    return seen


def worth(grade: float | None, gain: str | None, gains: Pairs, rel: float) -> float:
    if grade is None:
        return 0.0
    usual = {"exp": 2.0 ** max(grade, 0.0) - 1, "linear": max(grade, 0.0), "binary": 1.0}[gain or "linear"]
    return dict(gains).get(grade, usual if grade >= rel else 0.0)


def discounted(gains: Iterable[float]) -> float:
    return in_turn(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1) if gain)


def best_gains(judged: Judged, gain: str | None, gains: Pairs, rel: float) -> list[float]:
    every = (worth(grade, gain, gains, rel) for grade in judged)
    return sorted((value for value in every if value > 0), reverse=True)


def dcg(ranked: List, _judged: Judged, k: int | None, gain: str | None, gains: Pairs, rel: float) -> float:
    return discounted(worth(grade, gain, gains, rel) for grade in ranked[:k])


def ideal_dcg(_ranked: List, judged: Judged, k: int | None, gain: str | None, gains: Pairs, rel: float) -> float:
    return discounted(best_gains(judged, gain, gains, rel)[:k])


def ndcg(ranked: List, judged: Judged, k: int | None, gain: str | None, gains: Pairs, rel: float) -> float:
    best = ideal_dcg(ranked, judged, k, gain, gains, rel)
    return dcg(ranked, judged, k, gain, gains, rel) / best if best else 0.0


def ndcg_rel(ranked: List, judged: Judged, gain: str | None, gains: Pairs, rel: float) -> float:
    found, best = [worth(grade, gain, gains, rel) for grade in ranked], best_gains(judged, gain, gains, rel)
    if not best:
        return 0.0
    ranks = [rank for rank, value in enumerate(found, start=1) if value > 0]
    total = in_turn(discounted(found[:rank]) / discounted(best[:rank]) for rank in ranks)
    total += (len(best) - len(ranks)) * (discounted(found) / discounted(best))
    return total / len(best) if total > 0 else 0.0


def rndcg(ranked: List, judged: Judged, gain: str | None, gains: Pairs, least: float) -> float:
    rel = least if gain == "binary" else -math.inf
    found, best = [worth(grade, gain, gains, rel) for grade in ranked], best_gains(judged, gain, gains, rel)
    if not best or not number_relevant(judged, least):
        return 0.0
    ends = [rank for rank in range(1, len(best) + 1) if rank == len(best) or best[rank] != best[rank - 1]]
    at = [discounted(found[:rank]) / discounted(best[:rank]) for rank in ends]
    if len(ranked) > len(best) + 1:
        at.append(discounted(found) / discounted(best))
    return in_turn(at) / len(at)


def normalised_gain(ranked: List, judged: Judged, gain: str | None, gains: Pairs, rel: float) -> float:
    best, cost, seen, total = best_gains(judged, gain, gains, rel), 0.0, 0.0, 0.0
    for place, grade in enumerate(ranked):
        cost += max(1.0, best[place] if place < len(best) else 0.0)
        value = worth(grade, gain, gains, rel)
        seen += value
        total += value / math.log2(2 + cost - seen) if value else 0.0
    return total / in_turn(best) if best else 0.0


def bin_g(ranked: List, judged: Judged, rel: float) -> float:
    found, total = is_relevant(ranked, rel), number_relevant(judged, rel)
    parts = (1 / math.log2(2 + found[:place].count(False)) for place, hit in enumerate(found) if hit)
    return in_turn(parts) / total if total else 0.0


def relative_precision(ranked: List, judged: Judged, k: int, rel: float) -> float:
    divisor = min(k, number_relevant(judged, rel))
    return is_relevant(ranked[:k], rel).count(True) / divisor if divisor else 0.0


def r_precision_multiple(ranked: List, judged: Judged, x: float, rel: float) -> float:
    return precision(ranked, judged, math.floor(x * number_relevant(judged, rel) + 0.9), rel)


def yaap(ranked: List, judged: Judged, rel: float) -> float:
    found = is_relevant(ranked, rel)
    total = in_turn(found[:depth].count(True) / depth for depth in range(1, len(found) + 1) if found[depth - 1])
    return math.log((1 + total) / (1 + number_relevant(judged, rel) - total))


def accuracy(ranked: List, _judged: Judged, k: int | None, rel: float) -> float:
    found = is_relevant(ranked[:k], rel)
    hits, others = found.count(True), found.count(False)
    wrong = sum(found[:place].count(False) for place, hit in enumerate(found) if hit)
    if not hits:
        return 0.0
    return 1 - wrong / (others * hits) if others else 1.0


def share_unjudged(ranked: List, _judged: Judged, k: int | None) -> float:
    count = sum(grade is None or grade < 0 for grade in ranked[:k])
    divisor = k or len(ranked)
    return count / divisor if divisor else 0.0


def bpref(ranked: List, judged: Judged, rel: float) -> float:
    total, others = number_relevant(judged, rel), sum(0 <= grade < rel for grade in judged)
    pooled = [grade for grade in ranked if grade is not None and grade >= 0]
    parts = []
    for place, grade in enumerate(pooled):
        before = sum(other < rel for other in pooled[:place])
        if grade >= rel:
            parts.append(1 - min(before, total) / min(others, total) if before else 1.0)
    return in_turn(parts) / total if total else 0.0


def inferred_ap(ranked: List, judged: Judged, rel: float) -> float:
    parts, small = [], 0.00001
    for place, grade in enumerate(ranked):
        before = [other for other in ranked[:place] if other is not None]
        hits, judged_before = sum(other >= rel for other in before), sum(other >= 0 for other in before)
        if grade is not None and grade >= rel and place == 0:
            parts.append(1.0)
        elif grade is not None and grade >= rel:
            j = float(place)
            expected = (hits + small) / (judged_before + 2 * small)
            parts.append(1 / (j + 1) + j / (j + 1) * (len(before) / j) * expected)
    total = number_relevant(judged, rel)
    return in_turn(parts) / total if total else 0.0


def interpolated_precision(
    ranked: List, judged: Judged, recall: float, rel: float, recall_points: str | None = None
) -> float:
    exact = recall * number_relevant(judged, rel)
    wanted = math.floor(exact + 0.9) if recall_points == "up" else math.floor(Fraction(exact) + Fraction(1, 2))
    found = is_relevant(ranked, rel)
    tops = [found[:depth].count(True) for depth in range(1, len(found) + 1)]
    return max((hits / depth for depth, hits in enumerate(tops, start=1) if hits >= wanted), default=0.0)


def average_interpolated(
    ranked: List, judged: Judged, recalls: Sequence[float], rel: float, recall_points: str | None
) -> float:
    values = (interpolated_precision(ranked, judged, recall, rel, recall_points) for recall in recalls)
    return in_turn(values) / len(recalls)


def set_ap(ranked: List, judged: Judged, rel: float) -> float:
    found, divisor = is_relevant(ranked, rel).count(True), len(ranked) * number_relevant(judged, rel)
    return found * found / divisor if divisor else 0.0


def utility(ranked: List, judged: Judged, a: float, b: float, c: float, d: float, docs: float, rel: float) -> float:
    found, total = is_relevant(ranked, rel).count(True), number_relevant(judged, rel)
    others = len(ranked) - found
    return a * found + b * others + c * (total - found) + d * (docs - total - others) if ranked else 0.0


def rank_biased(ranked: List, judged: Judged, k: int | None, p: float, rel: float, gain: str) -> float:
    highest = max(1.0, *judged) if judged else 1.0
    gains = [
        {"max": max(grade, 0.0) / highest, "linear": max(grade, 0.0), "binary": 1.0}[gain]
        if grade is not None and grade >= rel
        else 0.0
        for grade in ranked[:k]
    ]
    return (1 - p) * in_turn(value * p ** float(place) for place, value in enumerate(gains))


def rank_biased_residual(ranked: List, _judged: Judged, p: float) -> float:
    known = [grade is not None and grade >= 0 for grade in ranked]
    unknown = in_turn(p**place for place, one in enumerate(known) if not one)
    return p ** len(ranked) + (1 - p) * unknown if not all(known) else 0.0


def expected_rr(ranked: List, _judged: Judged, k: int | None, highest: float) -> float:
    arrives, total = 1.0, 0.0
    for rank, grade in enumerate(ranked[:k], start=1):
        stops = (2.0**grade - 1) / 2.0**highest if grade is not None and grade > 0 else 0.0
        total += arrives * stops / rank
        arrives *= 1 - stops
    return total


def normalised_err(ranked: List, judged: Judged, k: int | None, highest: float) -> float:
    best = expected_rr(sorted(judged, reverse=True), judged, k, highest)
    return expected_rr(ranked, judged, k, highest) / best if best else 0.0


def scaled_gains(ranked: List, low: float, high: float) -> list[float]:
    grades = [max(grade or 0.0, low) for grade in ranked] + [low] * 1000
    return [(grade - low) / (high - low) for grade in grades[:1000]]


def per_document(gains: Sequence[float], go_on: Callable[[int, float, float], float]) -> float:
    """Gain per document for a reader who goes on from a rank with a chance, given rank, gain and gain so far."""
    chances, seen = [1.0], 0.0
    for rank, gain in enumerate(gains, start=1):
        seen += gain
        chances.append(chances[-1] * go_on(rank, gain, seen))
    return in_turn(chance * gain for chance, gain in zip(chances, gains, strict=False)) / in_turn(chances[: len(gains)])


def squared(aim: float) -> float:
    return ((aim - 1) / aim) ** 2


def nerr8(ranked: List, _judged: Judged, k: int, low: float, high: float) -> float:
    return per_document(scaled_gains(ranked, low, high)[:k], lambda _rank, gain, _seen: 1 - gain)


def nerr9(ranked: List, _judged: Judged, k: int, low: float, high: float) -> float:
    return per_document(scaled_gains(ranked, low, high)[:k], lambda rank, gain, _seen: rank / (rank + 1) * (1 - gain))


def nerr10(ranked: List, _judged: Judged, p: float, low: float, high: float) -> float:
    return per_document(scaled_gains(ranked, low, high), lambda _rank, gain, _seen: p * (1 - gain))


def nerr11(ranked: List, _judged: Judged, goal: float, low: float, high: float) -> float:
    gains = scaled_gains(ranked, low, high)
    return per_document(gains, lambda rank, gain, _seen: squared(rank + 2 * goal) * (1 - gain))


def inst(ranked: List, _judged: Judged, goal: float, low: float, high: float) -> float:
    return per_document(scaled_gains(ranked, low, high), lambda rank, _gain, seen: squared(rank + 2 * goal - seen))


def insq(ranked: List, _judged: Judged, goal: float, low: float, high: float) -> float:
    return per_document(scaled_gains(ranked, low, high), lambda rank, _gain, _seen: squared(rank + 2 * goal))


def bejeweled(ranked: List, _judged: Judged, k: int, goal: float, low: float, high: float) -> float:
    return per_document(scaled_gains(ranked, low, high)[:k], lambda _rank, _gain, seen: float(seen < goal))


def scaled_dcg(ranked: List, _judged: Judged, k: int, low: float, high: float) -> float:
    gains = scaled_gains(ranked, low, high)[:k]
    return discounted(gains) / discounted([1.0] * len(gains))


def compatibility(ranked: List, judged: Judged, p: float, normalize: bool) -> float:
    """Rank-biased overlap of numbered documents with the ideal list, whose ties stand as in the list."""
    documents = list(enumerate(ranked))
    missed = list(judged)
    for grade in ranked:
        if grade is not None:
            missed.remove(grade)
    pool = [*documents, *enumerate(missed, start=len(ranked))]
    ideal = sorted((doc for doc in pool if doc[1] is not None and doc[1] > 0), key=lambda doc: -(doc[1] or 0))

    def overlap(one: Sequence[Any], other: Sequence[Any]) -> float:
        depth = max(len(ranked), len(ideal))
        return in_turn(p ** (d - 1) * len({*one[:d]} & {*other[:d]}) / d for d in range(1, depth + 1))

    best = overlap(ideal, ideal) if normalize else in_turn(p**d for d in range(max(len(ranked), len(ideal))))
    return overlap(documents, ideal) / best if best and ideal else 0.0


TWINS: dict[str, Callable[..., Any]] = {
    "P": on_judged(precision),
    "R": on_judged(recall),
    "F1": on_judged(f1),
    "F": on_judged(f_beta),
    "Success": on_judged(success),
    "RR": on_judged(reciprocal_rank),
    "AP": on_judged(average_precision),
    "GMAP": on_judged(lambda ranked, judged, rel: average_precision(ranked, judged, None, rel)),
    "RelP": on_judged(relative_precision),
    "RprecMult": r_precision_multiple,
    "Yaap": yaap,
    "Accuracy": accuracy,
    "Rprec": on_judged(r_precision),
    "SetP": on_judged(set_precision),
    "SetR": set_recall,
    "SetF": on_judged(set_f),
    "SetAP": on_judged(set_ap),
    "SetRelP": on_judged(lambda ranked, judged, rel: relative_precision(ranked, judged, len(ranked), rel)),
    "Utility": utility,
    "Judged": share_judged,
    "Unjudged": share_unjudged,
    "Bpref": bpref,
    "GBpref": bpref,
    "infAP": inferred_ap,
    "IPrec": on_judged(interpolated_precision),
    "IPrecAvg11": average_interpolated,
    "NumQ": lambda _ranked, _judged: 1.0,
    "NumRet": lambda ranked, _judged: float(len(ranked)),
    "NumRel": lambda _ranked, judged, rel: float(number_relevant(judged, rel)),
    "NumRelRet": lambda ranked, _judged, k, rel: float(is_relevant(ranked[:k], rel).count(True)),
    "NumNonrelJudgedRet": lambda ranked, _judged, rel: float(
        sum(grade is not None and 0 <= grade < rel for grade in ranked)
    ),
    "nDCG": on_judged(ndcg),
    "DCG": on_judged(dcg),
    "IDCG": ideal_dcg,
    "nDCGRel": ndcg_rel,
    "Rndcg": rndcg,
    "G": normalised_gain,
    "BinG": bin_g,
    "RBP": rank_biased,
    "RBPResidual": rank_biased_residual,
    "ERR": expected_rr,
    "nERR": normalised_err,
    "NERR8": nerr8,
    "NERR9": nerr9,
    "NERR10": nerr10,
    "NERR11": nerr11,
    "INST": inst,
    "INSQ": insq,
    "BPM": bejeweled,
    "SDCG": scaled_dcg,
    "Compat": compatibility,
}
"""Canonical name -> twin: it takes the list, the judged grades, then the parameters as declared (None: no cut-off)."""

ROUNDED = {"Utility", "RBPResidual", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ", "BPM", "SDCG", "Compat"}
"""Twins that do their arithmetic in another order, so that the last digit may differ."""
