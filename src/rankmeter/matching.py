"""The compiled part of ranking: which judged documents a list holds, and at which ranks.

No document is sorted or joined. Each list fills a hash table of its own, which finds repeated documents and then the
judged ones; the rank of a judged document is its position where keys fall, and is counted where they tie or do not
fall. Only lists with many hits among ties or unordered keys are sorted. Ids are always compared themselves, so that
equal hashes cannot change a number.
"""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled
from rankmeter.words import INPUT_ORDER, LONG, Ids, before_tied, fill_hashes, same

Array = np.ndarray[Any, Any]

MANY_HITS = 32
"""From here on counting ranks one by one costs more than sorting the list."""

LAST_EPOCH = 0x7FFFFFFF
"""Where the hash table's 32-bit entries end."""


class Lists(NamedTuple):
    """Ranked lists, one after the other.

    Attributes:
        offsets: int64, where each list begins, and the end.
        query: int64, the number of each list's query, or -1.
        key: float64, what orders the documents, downwards.
        ids: the documents.
        query_ids: the query of each list, held like the documents; empty where they cannot be compared.
    """

    offsets: Array
    query: Array
    key: Array
    ids: Ids
    query_ids: Ids


class Found(NamedTuple):
    """What matching writes.

    Attributes:
        offsets: int64, where each list's hits begin, and the end.
        judgement: int64, the number of the judgement of each hit, in rank order.
        rank: int64, its rank, from 1.
        tied: uint8, per list, whether a hit shares its key with another document.
        own: int64, per list, rows whose document id is the query id.
        repeats: int64, number of repeated documents, then list and positions of the first.
    """

    offsets: Array
    judgement: Array
    rank: Array
    tied: Array
    own: Array
    repeats: Array


class Scratch(NamedTuple):
    """Working memory for one list.

    Attributes:
        table: int32, a hash table whose length is a power of two.
        shift: int64, 64 less the bits of a slot number.
        hashes: uint64, one per document.
        order: int64, positions in rank order.
        judged_at: int64, the judgement at each position, or -1.
    """

    table: Array
    shift: int
    hashes: Array
    order: Array
    judged_at: Array


@compiled
def match(lists: Any, judged: Any, ties: int, found: Any, scratch: Any) -> None:
    """Find the judged documents of each list and their ranks; see `Found`."""
    find_hits(lists, judged, found, scratch)
    rank_hits(lists, ties, found, scratch)


@compiled
def find_hits(lists: Any, judged: Any, found: Any, scratch: Any) -> None:  # noqa: C901, PLR0915  # see below
    """Enter each list into the hash table, count repeated documents, and look the judged ones up.

    A hit's rank is its row for now. Entries of the table below the list's epoch are empty, so that it need not be
    cleared between lists. All in one function, since a call that passes arrays costs as much as ten rows.
    """
    table, shift, mask = scratch.table, np.uint64(scratch.shift), np.uint64(len(scratch.table) - 1)
    hashes, words, known, width = scratch.hashes, lists.ids.words, judged.ids.words, lists.ids.width
    step = max(width, 1)
    last = step - 1
    epoch = np.int64(1)
    for n in range(len(lists.query)):
        q, hit = lists.query[n], found.offsets[n]
        start, stop = lists.offsets[n], lists.offsets[n + 1] if q >= 0 else lists.offsets[n]
        if epoch + stop - start >= LAST_EPOCH:
            table[:] = 0
            epoch = np.int64(1)
        base = start - epoch
        fill_hashes(words, width, start, hashes[: stop - start])
        if n * step < len(lists.query_ids.words):
            found.own[n] = count_own(lists, n, start, stop)
        for i in range(start, stop):
            h = hashes[i - start]
            slot = h >> shift
            entry = np.int64(table[slot])
            while entry >= epoch:
                row = base + entry
                equal = (words[row * step] == words[i * step]) & (words[row * step + last] == words[i * step + last])
                if hashes[entry - epoch] == h and equal and (width != LONG or same(lists.ids, row, lists.ids, i)):
                    note_repeat(found.repeats, n, row, i)
                    break
                slot = (slot + np.uint64(1)) & mask
                entry = np.int64(table[slot])
            if entry < epoch:
                table[slot] = i - base
        for j in range(judged.offsets[q], judged.offsets[q + 1] if q >= 0 else judged.offsets[q]):
            h = judged.hashes[j]
            slot = h >> shift
            entry = np.int64(table[slot])
            while entry >= epoch:
                row = base + entry
                equal = (words[row * step] == known[j * step]) & (words[row * step + last] == known[j * step + last])
                if hashes[entry - epoch] == h and equal and (width != LONG or same(lists.ids, row, judged.ids, j)):
                    found.judgement[hit] = j
                    found.rank[hit] = row
                    hit += 1
                    break
                slot = (slot + np.uint64(1)) & mask
                entry = np.int64(table[slot])
        found.offsets[n + 1] = hit
        epoch += stop - start


@compiled
def count_own(lists: Any, n: int, start: int, stop: int) -> int:
    """Rows of a list whose document id is the query id."""
    step = max(lists.ids.width, 1)
    first, last = lists.query_ids.words[n * step], lists.query_ids.words[n * step + step - 1]
    words = lists.ids.words[start * step : stop * step]
    equal = 0
    for i in range(stop - start):
        equal += (words[i * step] == first) & (words[i * step + step - 1] == last)
    if equal and lists.ids.width == LONG:
        equal = 0
        for i in range(start, stop):
            equal += same(lists.query_ids, n, lists.ids, i)
    return equal


@compiled
def note_repeat(repeats: Any, number: int, first: int, second: int) -> None:
    """Count a repeated document and remember the first one."""
    if repeats[0] == 0:
        repeats[1], repeats[2], repeats[3] = number, first, second
    repeats[0] += 1


@compiled
def rank_hits(lists: Any, ties: int, found: Any, scratch: Any) -> None:  # noqa: C901  # likewise
    """Turn the rows of hits into ranks, and put them into rank order."""
    for n in range(len(lists.query)):
        hits = found.offsets[n + 1] - found.offsets[n]
        if hits == 0:
            continue
        start, stop = lists.offsets[n], lists.offsets[n + 1]
        key = lists.key[start:stop]
        rising = equal = 0
        for i in range(1, len(key)):
            rising += key[i] > key[i - 1]
            equal += key[i] == key[i - 1]
        if hits > MANY_HITS:
            if rising or (equal and ties != INPUT_ORDER):
                sort_list(lists, n, ties, scratch.order)
            else:
                for i in range(stop - start):
                    scratch.order[i] = i
            ranks_from_order(lists, n, found, scratch)
        else:
            if rising or equal:
                ranks_by_counting(lists, n, ties, rising == 0, found)
            else:
                for hit in range(found.offsets[n], found.offsets[n + 1]):
                    found.rank[hit] += 1 - start
            for hit in range(found.offsets[n] + 1, found.offsets[n + 1]):
                rank, judgement, at = found.rank[hit], found.judgement[hit], hit
                while at > found.offsets[n] and found.rank[at - 1] > rank:
                    found.rank[at], found.judgement[at] = found.rank[at - 1], found.judgement[at - 1]
                    at -= 1
                found.rank[at], found.judgement[at] = rank, judgement


@compiled
def ranks_by_counting(lists: Any, n: int, ties: int, falling: Any, found: Any) -> None:
    """The ranks of a few hits of a list: 1 + documents with a higher key + tied ones that stand before."""
    start, stop = lists.offsets[n], lists.offsets[n + 1]
    for hit in range(found.offsets[n], found.offsets[n + 1]):
        i = found.rank[hit]
        own = lists.key[i]
        low, high, rank = start, stop, 1
        if falling:
            low, high = tie_extent(lists.key, start, i, stop)
            rank = low - start + 1
        tied = 0
        for t in range(low, high):
            rank += lists.key[t] > own
            if lists.key[t] == own and t != i:
                tied = 1
                rank += before_tied(lists.ids, t, i, ties)
        found.rank[hit] = rank
        found.tied[n] |= tied


@compiled
def tie_extent(key: Any, start: int, i: int, stop: int) -> Any:
    """The first row of row `i`'s tie in a falling list, and the row behind the last."""
    low, high = i, i + 1
    while low > start and key[low - 1] == key[i]:
        low -= 1
    while high < stop and key[high] == key[i]:
        high += 1
    return low, high


@callable_compiled
def stands_before(lists: Any, i: Any, j: Any, ties: Any) -> Any:
    """Whether row `i` ranks before row `j` of the same list."""
    first = lists.key[i] > lists.key[j]
    if lists.key[i] == lists.key[j]:
        first = before_tied(lists.ids, i, j, ties)
    return first


@compiled
def sort_list(lists: Any, number: int, ties: int, order: Any) -> None:
    """Positions of a list in rank order, by heap sort: numpy's sort takes seconds to compile."""
    start, n = lists.offsets[number], lists.offsets[number + 1] - lists.offsets[number]
    for i in range(n):
        order[i] = i
    for step in range(n // 2 + n - 1):
        end = n
        root = n // 2 - 1 - step
        if root < 0:
            end = n + root
            order[0], order[end] = order[end], order[0]
            root = 0
        moved = order[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and stands_before(lists, start + order[child], start + order[child + 1], ties):
                child += 1
            if not stands_before(lists, start + moved, start + order[child], ties):
                break
            order[root] = order[child]
            root = child
            child = 2 * root + 1
        order[root] = moved


@compiled
def ranks_from_order(lists: Any, number: int, found: Any, scratch: Any) -> None:
    """Give many hits their ranks, in rank order, by one walk over the sorted list."""
    start, n = lists.offsets[number], lists.offsets[number + 1] - lists.offsets[number]
    order, judged_at, key = scratch.order, scratch.judged_at, lists.key[start : start + n]
    for i in range(n):
        judged_at[i] = -1
    hit = found.offsets[number]
    for h in range(hit, found.offsets[number + 1]):
        judged_at[found.rank[h] - start] = found.judgement[h]
    for r in range(n):
        if judged_at[order[r]] < 0:
            continue
        found.judgement[hit] = judged_at[order[r]]
        found.rank[hit] = r + 1
        hit += 1
        own = key[order[r]]
        if (r + 1 < n and key[order[r + 1]] == own) or (r > 0 and key[order[r - 1]] == own):
            found.tied[number] = 1


@compiled
def mark(seen: Any, query: Any) -> int:
    """Mark queries as seen; return how many were so before."""
    again = 0
    for i in range(len(query)):
        if query[i] >= 0:
            again += seen[query[i]]
            seen[query[i]] = 1
    return again


@compiled
def contradictions(offsets: Any, query: Any, key: Any, rank: Any) -> Any:
    """Per list (uint8): 1 where the rank column contradicts the key, 2 where all keys are equal and ranks differ.

    Neighbours are compared, which finds every contradiction in lists that stand in the order of either.
    """
    out = np.zeros(len(query), np.uint8)
    for n in range(len(query)):
        if query[n] < 0:
            continue
        against = same_key = same_rank = 0
        for i in range(offsets[n] + 1, offsets[n + 1]):
            against += (key[i] > key[i - 1] and rank[i] > rank[i - 1]) or (
                key[i] < key[i - 1] and rank[i] < rank[i - 1]
            )
            same_key += key[i] == key[i - 1]
            same_rank += rank[i] == rank[i - 1]
        pairs = offsets[n + 1] - offsets[n] - 1
        if against:
            out[n] = 1
        elif pairs > 0 and same_key == pairs and same_rank < pairs:
            out[n] = 2
    return out
