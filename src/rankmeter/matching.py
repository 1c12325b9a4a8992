"""The compiled part of ranking: which judged documents a list holds, and at which ranks.

No document is sorted or joined. Each list fills a hash table of its own, which finds repeated documents and then the
judged ones; the rank of a judged document is its position where keys fall, and is counted where they tie or do not
fall. Only lists with many hits among ties or unordered keys are sorted. Ids are always compared themselves, so that
equal hashes cannot change a number.
"""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled
from rankmeter.words import INPUT_ORDER, LONG, Ids, before_tied, hash_of, same

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
    """

    offsets: Array
    query: Array
    key: Array
    ids: Ids


class Found(NamedTuple):
    """What matching writes.

    Attributes:
        offsets: int64, where each list's hits begin, and the end.
        judgement: int64, the number of the judgement of each hit, in rank order.
        rank: int64, its rank, from 1.
        tied: uint8, per list, whether a hit shares its key with another document.
        repeats: int64, number of repeated documents, then list and positions of the first.
    """

    offsets: Array
    judgement: Array
    rank: Array
    tied: Array
    repeats: Array


class Here(NamedTuple):
    """One list: its number, its first row, the row behind its last, and its epoch in the hash table."""

    number: int
    start: int
    stop: int
    epoch: int


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
    epoch = 1
    for n in range(len(lists.query)):
        found.offsets[n + 1] = found.offsets[n]
        if lists.query[n] < 0:
            continue
        here = Here(n, lists.offsets[n], lists.offsets[n + 1], epoch)
        if epoch + here.stop - here.start >= LAST_EPOCH:
            scratch.table[:] = 0
            here = Here(n, lists.offsets[n], lists.offsets[n + 1], 1)
        enter(lists.ids, here, found.repeats, scratch)
        find_judged(lists, here, judged, found, scratch)
        falling, equal = order_of_keys(lists.key, here)
        hits = found.offsets[n + 1] - found.offsets[n]
        if hits > MANY_HITS:
            if not falling or (equal and ties != INPUT_ORDER):
                sort_list(lists, here, ties, scratch.order)
            else:
                for i in range(here.stop - here.start):
                    scratch.order[i] = i
            ranks_from_order(lists, here, found, scratch)
        elif hits > 0:
            ranks_by_counting(lists, here, ties, falling, found)
            sort_hits(found, n)
        epoch = here.epoch + here.stop - here.start


@compiled
def enter(ids: Any, here: Any, repeats: Any, scratch: Any) -> None:
    """Enter a list's documents into the hash table; count the repeated ones.

    Entries below the list's epoch are empty, so that the table need not be cleared between lists.
    """
    start, epoch = here.start, here.epoch
    shift, mask = np.uint64(scratch.shift), np.uint64(len(scratch.table) - 1)
    hashes, table = scratch.hashes, scratch.table
    n = here.stop - start
    for i in range(n):
        hashes[i] = hash_of(ids, start + i)
    for i in range(n):
        slot = hashes[i] >> shift
        entry = np.int64(table[slot])
        while entry >= epoch:
            if hashes[entry - epoch] == hashes[i] and same(ids, start + entry - epoch, ids, start + i):
                if repeats[0] == 0:
                    repeats[1], repeats[2], repeats[3] = here.number, start + entry - epoch, start + i
                repeats[0] += 1
                break
            slot = (slot + np.uint64(1)) & mask
            entry = np.int64(table[slot])
        if entry < epoch:
            table[slot] = epoch + i


@compiled
def find_judged(lists: Any, here: Any, judged: Any, found: Any, scratch: Any) -> None:
    """Look the query's judged documents up in the table; a hit's rank is its position (from 0) for now."""
    shift, mask = np.uint64(scratch.shift), np.uint64(len(scratch.table) - 1)
    hashes, table, epoch = scratch.hashes, scratch.table, here.epoch
    q = lists.query[here.number]
    hit = found.offsets[here.number]
    for j in range(judged.offsets[q], judged.offsets[q + 1]):
        h = judged.hashes[j]
        slot = h >> shift
        entry = np.int64(table[slot])
        while entry >= epoch:
            if hashes[entry - epoch] == h and same(lists.ids, here.start + entry - epoch, judged.ids, j):
                found.judgement[hit] = j
                found.rank[hit] = entry - epoch
                hit += 1
                break
            slot = (slot + np.uint64(1)) & mask
            entry = np.int64(table[slot])
    found.offsets[here.number + 1] = hit


@compiled
def order_of_keys(key: Any, here: Any) -> Any:
    """Whether a list's keys never rise, and whether neighbours are equal."""
    rising = equal = 0
    list_key = key[here.start : here.stop]
    for i in range(1, len(list_key)):
        rising += list_key[i] > list_key[i - 1]
        equal += list_key[i] == list_key[i - 1]
    return rising == 0, equal > 0


@compiled
def ranks_by_counting(lists: Any, here: Any, ties: int, falling: Any, found: Any) -> None:  # noqa: C901  # one loop
    """Turn the positions of a few hits into ranks: 1 + documents with a higher key + tied ones that stand before."""
    key = lists.key
    for hit in range(found.offsets[here.number], found.offsets[here.number + 1]):
        i = here.start + found.rank[hit]
        low, high = i, i + 1
        if falling:
            while low > here.start and key[low - 1] == key[i]:
                low -= 1
            while high < here.stop and key[high] == key[i]:
                high += 1
            rank = low - here.start + 1
        else:
            low, high, rank = here.start, here.stop, 1
            for t in range(low, high):
                rank += key[t] > key[i]
        tied = False
        if high - low > 1:
            for t in range(low, high):
                if t != i and key[t] == key[i]:
                    tied = True
                    rank += before_tied(lists.ids, t, i, ties)
        found.rank[hit] = rank
        if tied:
            found.tied[here.number] = 1


@compiled
def sort_hits(found: Any, number: int) -> None:
    """Put the few hits of a list into rank order."""
    first = found.offsets[number]
    for hit in range(first + 1, found.offsets[number + 1]):
        rank, judgement, at = found.rank[hit], found.judgement[hit], hit
        while at > first and found.rank[at - 1] > rank:
            found.rank[at], found.judgement[at] = found.rank[at - 1], found.judgement[at - 1]
            at -= 1
        found.rank[at], found.judgement[at] = rank, judgement


@callable_compiled
def stands_before(lists: Any, i: Any, j: Any, ties: Any) -> Any:
    """Whether row `i` ranks before row `j` of the same list."""
    first = lists.key[i] > lists.key[j]
    if lists.key[i] == lists.key[j]:
        first = before_tied(lists.ids, i, j, ties)
    return first


@compiled
def sort_list(lists: Any, here: Any, ties: int, order: Any) -> None:
    """Positions of a list in rank order, by heap sort: numpy's sort takes seconds to compile."""
    start, n = here.start, here.stop - here.start
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
def ranks_from_order(lists: Any, here: Any, found: Any, scratch: Any) -> None:
    """Give many hits their ranks, in rank order, by one walk over the sorted list."""
    n = here.stop - here.start
    order, judged_at, key = scratch.order, scratch.judged_at, lists.key
    for i in range(n):
        judged_at[i] = -1
    hit = found.offsets[here.number]
    for h in range(hit, found.offsets[here.number + 1]):
        judged_at[found.rank[h]] = found.judgement[h]
    for r in range(n):
        if judged_at[order[r]] < 0:
            continue
        found.judgement[hit] = judged_at[order[r]]
        found.rank[hit] = r + 1
        hit += 1
        own = key[here.start + order[r]]
        after = r + 1 < n and key[here.start + order[r + 1]] == own
        if after or (r > 0 and key[here.start + order[r - 1]] == own):
            found.tied[here.number] = 1


@compiled
def own_rows(lists: Any, query_ids: Any) -> Any:
    """Rows of each judged list whose document id is the query id (int64); both are held in the same way."""
    out = np.zeros(len(lists.query), np.int64)
    words, width = lists.ids.words, max(lists.ids.width, 1)
    for n in range(len(lists.query)):
        if lists.query[n] < 0:
            continue
        first, last = query_ids.words[n * width], query_ids.words[n * width + width - 1]
        equal = 0
        for i in range(lists.offsets[n], lists.offsets[n + 1]):
            equal += (words[i * width] == first) & (words[i * width + width - 1] == last)
        if equal and lists.ids.width == LONG:
            equal = 0
            for i in range(lists.offsets[n], lists.offsets[n + 1]):
                equal += same(query_ids, n, lists.ids, i)
        out[n] = equal
    return out


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
