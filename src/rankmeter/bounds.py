"""The compiled part of tie bounds: hits with equal keys stand by their grades, at one end of their tie."""

from typing import Any

import numpy as np

from rankmeter.compiler import callable_compiled, compiled
from rankmeter.judgements import heap_sort_down


@compiled
def rearrange(offsets: Any, keys: Any, hit_offsets: Any, tied: Any, hits: Any, best: Any) -> None:
    """Give the hits of each tie its first ranks, the highest grade first, or its last ones, the highest grade last.

    Args:
        offsets: int64, where each list begins in the rows, and the end.
        keys: float64, what orders the rows of a list, downwards.
        hit_offsets: int64, where the hits of each list begin, and the end.
        tied: uint8, which lists have hits in ties.
        hits: judgement, rank and grade of each hit, in rank order; changed.
        best: whether the hits come first.
    """
    _, rank, _ = hits
    for n in range(len(tied)):
        if not tied[n]:
            continue
        falling = keys[offsets[n] : offsets[n + 1]].copy()
        heap_sort_down(falling)
        first, end = hit_offsets[n], hit_offsets[n + 1]
        while first < end:
            low, high = extent(falling, rank[first] - 1)
            last = first
            while last < end and rank[last] <= high:
                last += 1
            order_by_grade(hits, first, last, best)
            start = low + 1 if best else high + 1 - (last - first)
            for hit in range(first, last):
                rank[hit] = start + hit - first
            first = last


@compiled
def extents(offsets: Any, keys: Any, hit_offsets: Any, tied: Any, rank: Any) -> Any:
    """For each hit how many documents stand before its tie, and how many are in it (both int64).

    The arguments are those of `rearrange`.
    """
    above, size = np.empty(len(rank), np.int64), np.ones(len(rank), np.int64)
    for n in range(len(tied)):
        falling = keys[offsets[n] : offsets[n + 1] if tied[n] else offsets[n]].copy()
        heap_sort_down(falling)
        for hit in range(hit_offsets[n], hit_offsets[n + 1]):
            above[hit] = rank[hit] - 1
            if tied[n] and hit > hit_offsets[n] and rank[hit] <= above[hit - 1] + size[hit - 1]:
                above[hit], size[hit] = above[hit - 1], size[hit - 1]
            elif tied[n]:
                low, high = extent(falling, rank[hit] - 1)
                above[hit], size[hit] = low, high - low
    return above, size


@callable_compiled
def extent(falling: Any, place: Any) -> Any:
    """Where in keys that fall those equal to the one at a place begin and end."""
    low, high = place, place + 1
    while low > 0 and falling[low - 1] == falling[place]:
        low -= 1
    while high < len(falling) and falling[high] == falling[place]:
        high += 1
    return low, high


@compiled
def order_by_grade(hits: Any, first: Any, last: Any, best: Any) -> None:
    """Put hits into the order of their grades, downwards or upwards; equal grades stay as they are."""
    judgement, _, grade = hits
    key = grade[first:last] if not best else -grade[first:last]
    order = np.argsort(key, kind="mergesort")
    moved, graded = judgement[first:last].copy(), grade[first:last].copy()
    for place in range(last - first):
        judgement[first + place] = moved[order[place]]
        grade[first + place] = graded[order[place]]
