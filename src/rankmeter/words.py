"""Ids as machine words: equal, ordered by their bytes, and looked up in hash tables, without touching a string.

Integers are one word; text of at most 12 bytes is the two words of an Arrow string view; longer text is a hash, and
bytes that are compared wherever hashes agree.
"""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled

Array = np.ndarray[Any, Any]

INTEGER, SHORT, LONG = 1, 2, 0
"""How ids are held: as integers, as Arrow string views of at most 12 bytes, or as a hash and bytes."""

DOC_ID_DESC, DOC_ID_ASC, INPUT_ORDER = 0, 1, 2
"""How ties are ordered."""

FIRST = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xD6E8FEB86659FD93)
BLOCK = 1024
"""Rows for which room is made at a time."""

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
def integer_greater(a: Any, b: Any) -> Any:
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
    return bool(x > y or (x == y and longer))


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
            (head == other_head) & ((tail > other_tail) | ((tail == other_tail) & (length > other_length)))
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

    The words are compared in place: a call that passes arrays costs more than all the rest of a row. What is found
    grows as needed: room for every row would take longer to touch than the words take to read.
    """
    width = ids.width
    n = len(ids.words) // width
    found = np.empty(1024, np.int64)
    count = min(n, 1)
    found[0] = 0
    for start in range(1, n, BLOCK):
        if count + BLOCK >= len(found):
            found = np.concatenate((found, np.empty(len(found) + BLOCK, np.int64)))
        size = min(BLOCK, n - start)
        # slices, whose indices cannot be negative, are read without a check
        here, before = ids.words[start * width :], ids.words[(start - 1) * width :]
        if width == SHORT:
            for i in range(size):
                found[count] = start + i
                count += (here[2 * i] != before[2 * i]) | (here[2 * i + 1] != before[2 * i + 1])
        else:
            for i in range(size):
                found[count] = start + i
                count += here[i] != before[i]
    found[count] = n
    return found[: count + 1].copy()


@compiled
def fill_hashes(words: Any, width: int, start: int, hashes: Any) -> None:
    """The hashes of the ids from `start` on; a loop for each width, since a call with arrays costs more than a hash."""
    n = len(hashes)
    if width == SHORT:
        pairs = words[2 * start : 2 * (start + n)]
        for i in range(n):
            hashes[i] = mixed(pairs[2 * i], pairs[2 * i + 1])
    elif width == INTEGER:
        for i in range(n):
            hashes[i] = mixed(words[start + i], np.uint64(0))
    else:
        hashes[:] = words[start : start + n]


@compiled
def all_hashes(ids: Any) -> Any:
    """The hash of every id (uint64)."""
    out = np.empty(len(ids.words) // max(ids.width, 1), np.uint64)
    fill_hashes(ids.words, ids.width, 0, out)
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
    words, known, step = ids.words, table.ids.words, max(ids.width, 1)
    out = np.full(len(positions), -1, np.int64)
    for n in range(len(positions)):
        i = positions[n]
        h = hash_of(ids, i)
        first, last = words[i * step], words[i * step + step - 1]
        slot = h & mask
        entry = table.slots[slot]
        while entry >= 0:
            equal = (table.hashes[slot] == h) & (known[entry * step] == first)
            if equal and known[entry * step + step - 1] == last and (step == SHORT or same(ids, i, table.ids, entry)):
                out[n] = entry
                break
            slot = (slot + np.uint64(1)) & mask
            entry = table.slots[slot]
    return out
