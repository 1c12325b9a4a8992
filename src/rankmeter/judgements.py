"""The compiled part of the index of judgements: repeated ones are found, grades are put into ideal order."""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import compiled
from rankmeter.words import Ids, same

Array = np.ndarray[Any, Any]

FEW = 32
"""Up to here inserting one by one is the fastest way to sort."""


class Judged(NamedTuple):
    """The judgements, query by query: `offsets` (int64), one uint64 of `hashes` each, and the documents' `ids`."""

    offsets: Array
    hashes: Array
    ids: Ids


@compiled
def earlier_same(judged: Any) -> Any:
    """For each judgement the first one of the same query and document, or -1 (int64)."""
    longest = 1
    for q in range(len(judged.offsets) - 1):
        longest = max(longest, judged.offsets[q + 1] - judged.offsets[q])
    size = 1024
    while size < 2 * longest:
        size *= 2
    table, mask, epoch = np.full(size, -1, np.int64), np.uint64(size - 1), 0
    out = np.full(len(judged.hashes), -1, np.int64)
    for q in range(len(judged.offsets) - 1):
        for j in range(judged.offsets[q], judged.offsets[q + 1]):
            slot = judged.hashes[j] & mask
            while table[slot] >= epoch:
                other = table[slot]
                if judged.hashes[other] == judged.hashes[j] and same(judged.ids, other, judged.ids, j):
                    out[j] = other
                    break
                slot = (slot + np.uint64(1)) & mask
            if out[j] < 0:
                table[slot] = j
        epoch = judged.offsets[q + 1]
    return out


@compiled
def sort_down(offsets: Any, grade: Any) -> Any:
    """The grades of each query sorted downwards (float64)."""
    out = grade.copy()
    for q in range(len(offsets) - 1):
        part = out[offsets[q] : offsets[q + 1]]
        if len(part) <= FEW:
            for i in range(1, len(part)):
                value, at = part[i], i
                while at > 0 and part[at - 1] < value:
                    part[at] = part[at - 1]
                    at -= 1
                part[at] = value
        else:
            heap_sort_down(part)
    return out


@compiled
def heap_sort_down(part: Any) -> None:
    """Sort floats downwards, in place."""
    n = len(part)
    for step in range(n // 2 + n - 1):
        end = n
        root = n // 2 - 1 - step
        if root < 0:
            end = n + root
            part[0], part[end] = part[end], part[0]
            root = 0
        moved = part[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and part[child + 1] < part[child]:
                child += 1
            if part[child] >= moved:
                break
            part[root] = part[child]
            root = child
            child = 2 * root + 1
        part[root] = moved
