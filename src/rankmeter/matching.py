"""The compiled part of ranking: ids as machine words, look-ups, and the ranks of judged documents.

No document is sorted or joined. Each list fills a hash table of its own, which finds repeated documents and then the
judged ones; the rank of a judged document is its position where keys fall, and is counted where they tie or do not
fall. Only lists with many hits among ties or unordered keys are sorted. Ids are always compared themselves, so that
equal hashes cannot change a number.
"""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled

Array = np.ndarray[Any, Any]

INTEGER, SHORT, LONG = 1, 2, 0
"""How ids are held: as integers, as Arrow string views of at most 12 bytes, or as a hash and bytes."""

DOC_ID_DESC, DOC_ID_ASC, INPUT_ORDER = 0, 1, 2

MANY_HITS = 32
"""From here on counting ranks one by one costs more than sorting the list."""

FIRST = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xD6E8FEB86659FD93)
LAST_EPOCH = 0x7FFFFFFF
"""Where the hash table's 32-bit entries end."""

LOW_BYTES = np.uint64(0x00FF00FF00FF00FF)
LOW_PAIRS = np.uint64(0x0000FFFF0000FFFF)
LOW_HALF = np.uint64(0xFFFFFFFF)


class Ids(NamedTuple):
    """Ids as machine words.

    Attributes:
        words: uint64, `width` words an id (one, the hash, where `width` is LONG).
        width: INTEGER, SHORT or LONG.
        offsets: int64, where each LONG id begins in `data`, and the end; else empty.
        data: uint8, the bytes of LONG ids; else empty.
    """

    words: Array
    width: int
    offsets: Array
    data: Array


class Table(NamedTuple):
    """A hash table over ids: `slots` (int32) holds positions in `ids`, or -1; `hashes` one uint64 per slot."""

    slots: Array
    hashes: Array
    ids: Ids


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


class Judged(NamedTuple):
    """The judgements, query by query: `offsets` (int64), one uint64 of `hashes` each, and the documents' `ids`."""

    offsets: Array
    hashes: Array
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


@callable_compiled
def mixed(first: Any, second: Any) -> Any:
    """A 64-bit hash of two words."""
    x = (first ^ (first >> np.uint64(29))) * SECOND ^ second
    x = (x ^ (x >> np.uint64(32))) * FIRST
    return x ^ (x >> np.uint64(32))


@callable_compiled
def hash_of(ids: Any, i: Any) -> Any:
    """The hash of one id."""
    h = ids.words[i] if ids.width != SHORT else np.uint64(0)
    if ids.width == SHORT:
        h = mixed(ids.words[2 * i], ids.words[2 * i + 1])
    elif ids.width == INTEGER:
        h = mixed(h, np.uint64(0))
    return h


@callable_compiled
def same(a: Any, i: Any, b: Any, j: Any) -> Any:
    """Whether two ids are equal; both sides are held in the same way."""
    if a.width == SHORT:
        equal = (a.words[2 * i] == b.words[2 * j]) & (a.words[2 * i + 1] == b.words[2 * j + 1])
    else:
        equal = a.words[i] == b.words[j]
        if equal and a.width == LONG:
            start, other, length = a.offsets[i], b.offsets[j], a.offsets[i + 1] - a.offsets[i]
            equal = length == b.offsets[j + 1] - other
            t = 0
            while equal and t < length:
                equal = a.data[start + t] == b.data[other + t]
                t += 1
    return equal


@callable_compiled
def reversed_bytes(x: Any) -> Any:
    """The word with its bytes in the opposite order, so that words compare as their text does."""
    x = ((x & LOW_BYTES) << np.uint64(8)) | ((x >> np.uint64(8)) & LOW_BYTES)
    x = ((x & LOW_PAIRS) << np.uint64(16)) | ((x >> np.uint64(16)) & LOW_PAIRS)
    return (x << np.uint64(32)) | (x >> np.uint64(32))


@compiled
def integer_greater(a: int, b: int) -> bool:
    """Whether the decimal text of `a` is greater by bytes than that of `b`.

    >>> integer_greater(9, 10), integer_greater(10, 1), integer_greater(-1, 5)
    (True, True, False)
    """
    if (a < 0) != (b < 0):
        return b < 0
    x = np.uint64(-a) if a < 0 else np.uint64(a)
    y = np.uint64(-b) if b < 0 else np.uint64(b)
    ten, digits_x, digits_y = np.uint64(10), 1, 1
    rest = x
    while rest >= ten:
        rest //= ten
        digits_x += 1
    rest = y
    while rest >= ten:
        rest //= ten
        digits_y += 1
    longer = digits_x > digits_y
    while digits_x < digits_y:
        x *= ten
        digits_x += 1
    while digits_y < digits_x:
        y *= ten
        digits_y += 1
    return x > y or (x == y and longer)


@compiled
def bytes_greater(ids: Any, i: int, j: int) -> bool:
    """Whether LONG id `i` is greater by bytes than `j`."""
    start, other = ids.offsets[i], ids.offsets[j]
    length, other_length = ids.offsets[i + 1] - start, ids.offsets[j + 1] - other
    for t in range(min(length, other_length)):
        if ids.data[start + t] != ids.data[other + t]:
            return bool(ids.data[start + t] > ids.data[other + t])
    return bool(length > other_length)


@callable_compiled
def greater(ids: Any, i: Any, j: Any) -> Any:
    """Whether id `i` is greater than id `j`, by the bytes of their text."""
    if ids.width == INTEGER:
        more = integer_greater(np.int64(ids.words[i]), np.int64(ids.words[j]))
    elif ids.width == LONG:
        more = bytes_greater(ids, i, j)
    else:
        head, other_head = (
            reversed_bytes(ids.words[2 * i]) & LOW_HALF,
            reversed_bytes(ids.words[2 * j]) & LOW_HALF,
        )
        tail, other_tail = reversed_bytes(ids.words[2 * i + 1]), reversed_bytes(ids.words[2 * j + 1])
        length, other_length = ids.words[2 * i] & LOW_HALF, ids.words[2 * j] & LOW_HALF
        more = (head > other_head) | (
            (head == other_head)
            & ((tail > other_tail) | ((tail == other_tail) & (length > other_length)))
        )
    return more


@callable_compiled
def before_tied(ids: Any, i: Any, j: Any, ties: Any) -> Any:
    """Whether document `i` stands before `j`, their keys being equal."""
    if ties == INPUT_ORDER:
        first = i < j
    elif ties == DOC_ID_DESC:
        first = greater(ids, i, j)
    else:
        first = greater(ids, j, i)
    return first


@compiled
def heads(ids: Any) -> Any:
    """Positions where a SHORT or INTEGER id differs from the one before, and the end (int64).

    The words are compared in place: a call that passes arrays costs more than all the rest of a row.
    """
    width, words = ids.width, ids.words
    n = len(words) // width
    found = np.empty(n + 1, np.int64)
    count = 0
    for i in range(n):
        at, last = i * width, i * width + width - 1
        found[count] = i
        count += i == 0 or (words[at] != words[at - width]) | (words[last] != words[last - width])
    found[count] = n
    return found[: count + 1].copy()


@compiled
def all_hashes(ids: Any) -> Any:
    """The hash of every id (uint64)."""
    n = len(ids.words) // max(ids.width, 1)
    out = np.empty(n, np.uint64)
    for i in range(n):
        out[i] = hash_of(ids, i)
    return out


@compiled
def fill_table(table: Any) -> Any:
    """Enter all ids of a table; they must be distinct."""
    mask = np.uint64(len(table.slots) - 1)
    n = len(table.ids.words) // max(table.ids.width, 1)
    for i in range(n):
        h = hash_of(table.ids, i)
        slot = h & mask
        while table.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table.slots[slot] = i
        table.hashes[slot] = h


@compiled
def look_up(table: Any, ids: Any, positions: Any) -> Any:
    """For the ids at `positions`: their number in the table, or -1 (int64)."""
    mask = np.uint64(len(table.slots) - 1)
    out = np.full(len(positions), -1, np.int64)
    for n in range(len(positions)):
        i = positions[n]
        h = hash_of(ids, i)
        slot = h & mask
        while table.slots[slot] >= 0:
            if table.hashes[slot] == h and same(ids, i, table.ids, table.slots[slot]):
                out[n] = table.slots[slot]
                break
            slot = (slot + np.uint64(1)) & mask
    return out


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
def ranks_by_counting(lists: Any, here: Any, ties: int, falling: bool, found: Any) -> None:
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
    """Heap sort: positions of a list in rank order. (numpy's sort takes seconds to compile.)"""
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
def sort_down(offsets: Any, grade: Any) -> Any:
    """The grades of each query sorted downwards (float64)."""
    out = grade.copy()
    for q in range(len(offsets) - 1):
        part = out[offsets[q] : offsets[q + 1]]
        if len(part) <= MANY_HITS:
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
            against += (key[i] > key[i - 1] and rank[i] > rank[i - 1]) or (key[i] < key[i - 1] and rank[i] < rank[i - 1])
            same_key += key[i] == key[i - 1]
            same_rank += rank[i] == rank[i - 1]
        pairs = offsets[n + 1] - offsets[n] - 1
        if against:
            out[n] = 1
        elif pairs > 0 and same_key == pairs and same_rank < pairs:
            out[n] = 2
    return out
