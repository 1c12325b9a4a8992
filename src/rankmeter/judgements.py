"""The compiled part of the index of judgements: repeated ones are found, grades are put into ideal order."""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import compiled
from rankmeter.memory import bare, fetch_ahead
from rankmeter.words import AHEAD, Ids, known_hash, same

Array = np.ndarray[Any, Any]

FEW = 32
"""Up to here inserting one by one is the fastest way to sort."""


class Judged(NamedTuple):
    """The judgements, query by query.

    Attributes:
        starts: int64, where each query's judgements begin.
        ends: int64, where they end.
        grade: float64, one a judgement.
        hashes: uint64, the hash of each judged document where these are LONG, else empty.
        ids: the judged documents.
    """

    starts: Array
    ends: Array
    grade: Array
    hashes: Array
    ids: Ids


@compiled
def group_rows(number: Any, heads: Any, n_queries: int) -> Any:
    """The order that brings the rows of each query together, and where each query begins (both int64).

    Args:
        number: the query of each run of rows.
        heads: where each run of rows begins, and the end.
        n_queries: how many queries there are.
    """
    offsets = np.zeros(n_queries + 1, np.int64)
    for run in range(len(number)):
        offsets[number[run] + 1] += heads[run + 1] - heads[run]
    for q in range(n_queries):
        offsets[q + 1] += offsets[q]
    order, place = np.empty(heads[len(number)], np.int64), offsets.copy()
    for run in range(len(number)):
        at = place[number[run]]
        for row in range(heads[run], heads[run + 1]):
            order[at] = row
            at += 1
        place[number[run]] = at
    return order, offsets


@compiled
def earlier_same(heads: Any, hashes: Any, ids: Any) -> Any:
    """For each judgement the first one of the same query and document, or -1 (int64).

    Args:
        heads: where the judgements of each query begin, and the end.
        hashes: the hash of each judged document where these are LONG.
        ids: the judged documents.
    """
    longest = 1
    for q in range(len(heads) - 1):
        longest = max(longest, heads[q + 1] - heads[q])
    size = 1024
    while size < 2 * longest:
        size *= 2
    table, mask, epoch = np.full(size, -1, np.int64), np.uint64(size - 1), 0
    out = np.full(ids.size, -1, np.int64)
    for q in range(len(heads) - 1):
        for j in range(heads[q], heads[q + 1]):
            h = known_hash(hashes, ids, j)
            slot = h & mask
            while table[slot] >= epoch:
                other = table[slot]
                if known_hash(hashes, ids, other) == h and same(ids, other, ids, j):
                    out[j] = other
                    break
                slot = (slot + np.uint64(1)) & mask
            if out[j] < 0:
                table[slot] = j
        epoch = heads[q + 1]
    return out


@compiled
def count_reaching(heads: Any, grade: Any, level: float) -> Any:
    """How many judgements of each query have at least that grade (int64)."""
    out = np.zeros(len(heads) - 1, np.int64)
    for q in range(len(out)):
        for j in range(heads[q], heads[q + 1]):
            out[q] += grade[j] >= level
    return out


@compiled
def ideals_of(starts: Any, ends: Any, ideal: Any, query: Any) -> Any:
    """The ideal grades of queries (-1: none), one after the other, and before them where each begins, and the end."""
    n, total = len(query), 0
    offsets = np.zeros(n + 1, np.int64)
    for i in range(n):
        if query[i] >= 0:
            total += ends[query[i]] - starts[query[i]]
        offsets[i + 1] = total
    out = np.empty(total, np.float64)
    source, target = bare((ideal,))[0], bare((out,))[0]
    for i in range(n):
        if i + AHEAD < n:
            fetch_ahead(source, starts[max(query[i + AHEAD], 0)])
        if query[i] >= 0:
            start, at = starts[query[i]], offsets[i]
            for t in range(offsets[i + 1] - at):
                target[at + t] = source[start + t]
    return offsets, out


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
