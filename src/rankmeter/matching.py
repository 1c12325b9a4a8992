"""The compiled part of ranking: which judged documents a list holds, and at which ranks.

No document is sorted or joined. Each list fills a hash table of its own, which finds repeated documents and then the
judged ones; the rank of a judged document is its position where keys fall, and is counted where they tie or do not
fall. Only lists with many hits among ties or unordered keys are sorted. Ids are always compared themselves, so that
equal hashes cannot change a number.
"""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled
from rankmeter.memory import bare, fetch_ahead
from rankmeter.words import INPUT_ORDER, LONG, Ids, before_tied, fill_hashes, hash_of, known_hash, part, same

Array = np.ndarray[Any, Any]

MANY_HITS = 32
"""From here on counting ranks one by one costs more than sorting the list."""

UNRANKED = 2
"""What marks a list whose hits have no ranks yet."""

AHEAD = 8
"""How many lists ahead judgements are asked for from memory."""

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
        grade: float64, its grade.
        tied: uint8, per list, whether a hit shares its key with another document.
        own: int64, per list, rows whose document id is the query id.
        repeats: int64, number of repeated documents, then list and positions of the first.
    """

    offsets: Array
    judgement: Array
    rank: Array
    grade: Array
    tied: Array
    own: Array
    repeats: Array


class Scratch(NamedTuple):
    """Working memory for one list.

    Attributes:
        table: int32, a hash table whose length is a power of two.
        shift: uint64, 64 less the bits of a slot number.
        mask: uint64, the last slot number.
        hashes: uint64, one per document.
        order: int64, positions in rank order.
        judged_at: int64, the judgement at each position, or -1.
    """

    table: Array
    shift: Any
    mask: Any
    hashes: Array
    order: Array
    judged_at: Array


class Entered(NamedTuple):
    """The list that is in the hash table: its number, its first row, its epoch, its documents."""

    number: Any
    start: Any
    epoch: Any
    ids: Ids


@compiled
def match(given: Any, known: Any, ties: int, room: Any, memory: Any) -> int:
    """Find the judged documents of each list and their ranks; return how many lists have too many hits for that.

    These are marked as UNRANKED in `tied`, and are left to `rank_many`.

    Args:
        given: the `Lists`.
        known: the `Judged`.
        ties: how ties are ordered.
        room: the `Found` to fill.
        memory: a `Scratch` for the longest list.
    """
    lists, judged, found, scratch = bare(given), bare(known), bare(room), bare(memory)
    n_lists, epoch, unranked = len(given.query), np.int64(1), 0
    for n in range(n_lists):
        if n + 2 * AHEAD < n_lists:
            fetch_judged(judged, lists.query[n + AHEAD], lists.query[n + 2 * AHEAD])
        q, start, length = lists.query[n], lists.offsets[n], lists.offsets[n + 1] - lists.offsets[n]
        found.offsets[n + 1] = found.offsets[n]
        if q < 0 or length == 0:
            continue
        if epoch + length >= LAST_EPOCH:
            memory.table[:] = 0
            epoch = np.int64(1)
        entered = Entered(n, start, epoch, part(lists.ids, start, length))
        enter(entered, found.repeats, scratch)
        if n < lists.query_ids.size:
            own = place_of(lists.query_ids, n, hash_of(lists.query_ids, n), entered, scratch)
            found.own[n] = own >= 0
        find_hits(entered, q, judged, found, scratch)
        epoch += length
        if found.offsets[n + 1] - found.offsets[n] > MANY_HITS:
            found.tied[n] = UNRANKED
            unranked += 1
        elif found.offsets[n + 1] > found.offsets[n]:
            rank_hits(lists, n, ties, found)
            set_grades(n, judged, found)
    return unranked


@compiled
def rank_many(given: Any, known: Any, ties: int, room: Any, memory: Any) -> None:
    """Rank the hits of the lists that `match` left; the arguments are the same.

    By itself, since most runs have no such list, and compiling a sort takes long.
    """
    lists, judged, found, scratch = bare(given), bare(known), bare(room), bare(memory)
    for n in range(len(given.query)):
        if found.tied[n] != UNRANKED:
            continue
        found.tied[n] = 0
        start, length, sorted_already = lists.offsets[n], lists.offsets[n + 1] - lists.offsets[n], True
        for i in range(length):
            scratch.order[i] = i
            if i > 0:
                rising = lists.key[start + i] > lists.key[start + i - 1]
                equal = lists.key[start + i] == lists.key[start + i - 1]
                sorted_already &= not (rising or (equal and ties != INPUT_ORDER))
        if not sorted_already:
            sort_list(lists, n, ties, scratch.order)
        ranks_from_order(lists, n, found, scratch)
        set_grades(n, judged, found)


@callable_compiled
def set_grades(n: Any, judged: Any, found: Any) -> None:
    """Give the hits of a list their grades."""
    for hit in range(found.offsets[n], found.offsets[n + 1]):
        found.grade[hit] = judged.grade[found.judgement[hit]]


@callable_compiled
def fetch_judged(judged: Any, soon: Any, later: Any) -> None:
    """Ask for the judgements of two queries that come soon: they stand in another order than in the run."""
    first = judged.starts[max(soon, 0)]
    fetch_ahead(judged.starts, max(later, 0))
    fetch_ahead(judged.ends, max(later, 0))
    if judged.ids.width == LONG:
        fetch_ahead(judged.hashes, first)
    fetch_ahead(judged.grade, first)
    fetch_ahead(judged.ids.words, 2 * first)


@callable_compiled
def enter(entered: Any, repeats: Any, scratch: Any) -> None:
    """Enter the documents of a list into the hash table, and count repeated ones.

    Entries of the table below the list's epoch are empty, so that it need not be cleared between lists.
    """
    table, hashes, shift, mask = scratch.table, scratch.hashes, scratch.shift, scratch.mask
    ids, start, epoch = entered.ids, entered.start, entered.epoch
    fill_hashes(ids, hashes)
    for i in range(ids.size):
        h = hashes[i]
        slot = h >> shift
        entry = np.int64(table[slot])
        while entry >= epoch:
            if hashes[entry - epoch] == h and same(ids, entry - epoch, ids, i):
                note_repeat(repeats, entered.number, start + entry - epoch, start + i)
                break
            slot = (slot + np.uint64(1)) & mask
            entry = np.int64(table[slot])
        if entry < epoch:
            table[slot] = i + epoch


@callable_compiled
def place_of(asked: Any, i: Any, h: Any, entered: Any, scratch: Any) -> Any:
    """Where in the list that is in the table an id with the hash `h` is, or -1."""
    table, hashes, mask, epoch = scratch.table, scratch.hashes, scratch.mask, entered.epoch
    slot = h >> scratch.shift
    entry, place = np.int64(table[slot]), np.int64(-1)
    while entry >= epoch:
        if hashes[entry - epoch] == h and same(asked, i, entered.ids, entry - epoch):
            place = entry - epoch
            break
        slot = (slot + np.uint64(1)) & mask
        entry = np.int64(table[slot])
    return place


@callable_compiled
def find_hits(entered: Any, q: Any, judged: Any, found: Any, scratch: Any) -> None:
    """Look the judged documents of a query up in the table; a hit's rank is its place in the list for now."""
    hit = found.offsets[entered.number]
    for j in range(judged.starts[q], judged.ends[q]):
        place = place_of(judged.ids, j, known_hash(judged.hashes, judged.ids, j), entered, scratch)
        if place >= 0:
            found.judgement[hit] = j
            found.rank[hit] = place
            hit += 1
    found.offsets[entered.number + 1] = hit


@callable_compiled
def note_repeat(repeats: Any, number: Any, first: Any, second: Any) -> None:
    """Count a repeated document and remember the first one."""
    if repeats[0] == 0:
        repeats[1], repeats[2], repeats[3] = number, first, second
    repeats[0] += 1


@callable_compiled
def rank_hits(lists: Any, n: Any, ties: Any, found: Any) -> None:
    """Turn the places of a list's few hits into ranks, and put them into rank order."""
    start, stop, key = lists.offsets[n], lists.offsets[n + 1], lists.key
    rising = equal = 0
    for i in range(start + 1, stop):
        rising += key[i] > key[i - 1]
        equal += key[i] == key[i - 1]
    if rising or equal:
        ranks_by_counting(lists, n, ties, rising == 0, found)
    else:
        for hit in range(found.offsets[n], found.offsets[n + 1]):
            found.rank[hit] += 1
    order_hits(n, found)


@callable_compiled
def order_hits(n: Any, found: Any) -> None:
    """Put a few hits into rank order, by insertion."""
    first = found.offsets[n]
    for hit in range(first + 1, found.offsets[n + 1]):
        rank, judgement, at = found.rank[hit], found.judgement[hit], hit
        while at > first and found.rank[at - 1] > rank:
            found.rank[at], found.judgement[at] = found.rank[at - 1], found.judgement[at - 1]
            at -= 1
        found.rank[at], found.judgement[at] = rank, judgement


@callable_compiled
def ranks_by_counting(lists: Any, n: Any, ties: Any, falling: Any, found: Any) -> None:
    """The ranks of a few hits of a list: 1 + documents with a higher key + tied ones that stand before."""
    start, stop, key = lists.offsets[n], lists.offsets[n + 1], lists.key
    for hit in range(found.offsets[n], found.offsets[n + 1]):
        i = start + found.rank[hit]
        own = key[i]
        low, high, rank = start, stop, 1
        if falling:
            low, high = tie_extent(key, start, i, stop)
            rank = low - start + 1
        tied = 0
        for t in range(low, high):
            rank += key[t] > own
            if key[t] == own and t != i:
                tied = 1
                rank += before_tied(lists.ids, t, i, ties)
        found.rank[hit] = rank
        found.tied[n] |= tied


@callable_compiled
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


@callable_compiled
def sort_list(lists: Any, number: Any, ties: Any, order: Any) -> None:
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


@callable_compiled
def ranks_from_order(lists: Any, number: Any, found: Any, scratch: Any) -> None:
    """Give many hits their ranks, in rank order, by one walk over the sorted list."""
    start, n = lists.offsets[number], lists.offsets[number + 1] - lists.offsets[number]
    order, judged_at, key = scratch.order, scratch.judged_at, lists.key
    for i in range(n):
        judged_at[i] = -1
    hit = found.offsets[number]
    for h in range(hit, found.offsets[number + 1]):
        judged_at[found.rank[h]] = found.judgement[h]
    for r in range(n):
        if judged_at[order[r]] < 0:
            continue
        found.judgement[hit] = judged_at[order[r]]
        found.rank[hit] = r + 1
        hit += 1
        own = key[start + order[r]]
        if (r + 1 < n and key[start + order[r + 1]] == own) or (r > 0 and key[start + order[r - 1]] == own):
            found.tied[number] = 1


@compiled
def contradictions(given: Any, rank: Any, memory: Any) -> Any:
    """Per list (uint8): 1 ranks contradict the key, 2 all keys are equal and ranks differ, 3 some ranks repeat.

    A contradiction is a document with a higher key and a higher rank than another.

    Args:
        given: the `Lists`, whose ids are not looked at.
        rank: float64, the rank of each document.
        memory: a `Scratch` for the longest list.
    """
    lists, scratch = bare(given), bare(memory)
    out = np.zeros(len(given.query), np.uint8)
    for n in range(len(given.query)):
        start, stop = lists.offsets[n], lists.offsets[n + 1] if lists.query[n] >= 0 else lists.offsets[n]
        rising = False
        for i in range(start, stop):
            scratch.order[i - start] = i - start
            rising |= i > start and lists.key[i] > lists.key[i - 1]
        if rising:
            sort_list(lists, n, INPUT_ORDER, scratch.order)
        above = within = -np.inf  # the highest rank of documents with a higher key, and of those with the same one
        against = same_key = same_rank = 0
        for r in range(stop - start):
            i, before = start + scratch.order[r], start + scratch.order[max(r - 1, 0)]
            if lists.key[i] != lists.key[before]:
                above = max(above, within)
            within = max(within, rank[i])
            against += rank[i] < above
            same_key += lists.key[i] == lists.key[before]
            same_rank += rank[i] == rank[before]
        out[n] = oddity(against, same_key, same_rank, stop - start)
    return out


@callable_compiled
def oddity(against: Any, same_key: Any, same_rank: Any, n: Any) -> Any:
    """What is odd in a list of `n` documents: contradictions, as many documents with the key, or rank, of the last."""
    if against:
        return 1
    if n > 1 and same_key == n and same_rank < n:
        return 2
    return 3 * (1 < same_rank < n)
