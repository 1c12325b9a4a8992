"""Ids as machine words: equal, ordered by their bytes, and looked up in hash tables, without copying a string.

Integers are one word; text is the two words of an Arrow string view: its length and bytes where these are at most 12,
else its length, its first four bytes and where the text lies.
"""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled
from rankmeter.memory import bare, byte_at, fetch_ahead, word_at

Array = np.ndarray[Any, Any]

INTEGER, SHORT, LONG = 1, 2, 3
"""How ids are held: as integers, as string views that all hold their text, or as string views of any length."""

DOC_ID_DESC, DOC_ID_ASC, INPUT_ORDER = 0, 1, 2
"""How ties are ordered."""

INLINE = 12
"""Bytes of text that a string view holds itself."""

FIRST = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xD6E8FEB86659FD93)

BLOCK = 16
"""Rows that are compared with their neighbours at once."""

AHEAD = 8
"""How many ids ahead the table is asked for from memory."""

LOW_BYTES = np.uint64(0x00FF00FF00FF00FF)
LOW_PAIRS = np.uint64(0x0000FFFF0000FFFF)
LOW_HALF = np.uint64(0xFFFFFFFF)


class Ids(NamedTuple):
    """Ids as machine words, in memory that somebody else keeps alive; numbers only, so that calls cost nothing.

    Attributes:
        words: the address of uint64 words, one an integer, two a text.
        size: number of ids.
        width: INTEGER, SHORT or LONG.
        buffers: the address of the addresses (int64) of the buffers that views of longer text point into.
    """

    words: int
    size: int
    width: int
    buffers: int


class Table(NamedTuple):
    """A hash table over ids: `slots` (int32) holds positions in `ids`, or -1."""

    slots: Array
    ids: Ids


@callable_compiled
def part(ids: Any, start: Any, size: Any) -> Any:
    """Some of the ids, one after the other."""
    bytes_each = 8 if ids.width == INTEGER else 16
    return Ids(ids.words + bytes_each * start, size, ids.width, ids.buffers)


@callable_compiled
def mixed(first: Any, second: Any) -> Any:
    """A 64-bit hash of two words."""
    x = (first ^ (first >> np.uint64(29))) * SECOND ^ second
    x = (x ^ (x >> np.uint64(32))) * FIRST
    return x ^ (x >> np.uint64(32))


@callable_compiled
def length_of(head: Any) -> Any:
    """Bytes of a text, given the first word of its view."""
    return np.int64(head & LOW_HALF)


@callable_compiled
def outside(ids: Any, i: Any) -> Any:
    """The address of a text that its view does not hold."""
    return text_address(ids.buffers, word_at(ids.words, 2 * i + 1))


@callable_compiled
def text_address(buffers: Any, place: Any) -> Any:
    """The address that the second word of a view stands for: the number of a buffer, and where in it."""
    return np.int64(word_at(buffers, np.int64(place & LOW_HALF))) + np.int64(place >> np.uint64(32))


@callable_compiled
def address_of(ids: Any, i: Any) -> Any:
    """Where the bytes of a text begin."""
    head = word_at(ids.words, 2 * i)
    return outside(ids, i) if length_of(head) > INLINE else ids.words + 16 * i + 4


@callable_compiled
def hash_of(ids: Any, i: Any) -> Any:
    """The hash of one id."""
    if ids.width == INTEGER:
        h = mixed(word_at(ids.words, i), np.uint64(0))
    else:
        head = word_at(ids.words, 2 * i)
        if ids.width == LONG and length_of(head) > INLINE:
            h = hash_outside(head, outside(ids, i))
        else:
            h = mixed(head, word_at(ids.words, 2 * i + 1))
    return h


@callable_compiled
def known_hash(hashes: Any, ids: Any, i: Any) -> Any:
    """The hash of an id, kept where ids are LONG: shorter ones are hashed sooner than fetched."""
    return hashes[i] if ids.width == LONG else hash_of(ids, i)


@callable_compiled
def hash_outside(head: Any, address: Any) -> Any:
    """The hash of a text that its view does not hold; the last word overlaps the one before."""
    h = mixed(head, word_at(address + 4, 0))
    t, length = 12, np.int64(head & LOW_HALF)
    while t + 8 <= length:
        h = mixed(h, word_at(address + t, 0))
        t += 8
    if t < length:
        h = mixed(h, word_at(address + length - 8, 0))
    return h


@callable_compiled
def same(a: Any, i: Any, b: Any, j: Any) -> Any:
    """Whether two ids are equal; both sides are integers, or both text."""
    if a.width == INTEGER:
        equal = word_at(a.words, i) == word_at(b.words, j)
    else:
        head = word_at(a.words, 2 * i)
        equal = head == word_at(b.words, 2 * j)
        if a.width == LONG and length_of(head) > INLINE:
            equal = equal and same_outside(outside(a, i), outside(b, j), length_of(head))
        else:
            equal &= word_at(a.words, 2 * i + 1) == word_at(b.words, 2 * j + 1)
    return equal


@callable_compiled
def same_outside(one: Any, other: Any, length: Any) -> Any:
    """Whether two texts are equal that are longer than a view, their first four bytes being equal."""
    equal = word_at(one + length - 8, 0) == word_at(other + length - 8, 0)
    t = 4
    while equal and t + 8 < length:
        equal = word_at(one + t, 0) == word_at(other + t, 0)
        t += 8
    return equal


@callable_compiled
def reversed_bytes(x: Any) -> Any:
    """The word with its bytes in the opposite order, so that words compare as their text does."""
    x = ((x & LOW_BYTES) << np.uint64(8)) | ((x >> np.uint64(8)) & LOW_BYTES)
    x = ((x & LOW_PAIRS) << np.uint64(16)) | ((x >> np.uint64(16)) & LOW_PAIRS)
    return (x << np.uint64(32)) | (x >> np.uint64(32))


@callable_compiled
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


@callable_compiled
def text_greater(one: Any, length: Any, other: Any, other_length: Any) -> Any:
    """Whether the text of `length` bytes at one address is greater by bytes than that at the other."""
    least = min(length, other_length)
    t = 0
    while t + 8 <= least and word_at(one + t, 0) == word_at(other + t, 0):
        t += 8
    while t < least and byte_at(one + t) == byte_at(other + t):
        t += 1
    if t < least:
        return bool(byte_at(one + t) > byte_at(other + t))
    return bool(length > other_length)


@callable_compiled
def greater(ids: Any, i: Any, j: Any) -> Any:
    """Whether id `i` is greater than id `j`, by the bytes of their text."""
    if ids.width == INTEGER:
        more = integer_greater(np.int64(word_at(ids.words, i)), np.int64(word_at(ids.words, j)))
    else:
        one, other = word_at(ids.words, 2 * i), word_at(ids.words, 2 * j)
        if ids.width == LONG:
            more = text_greater(address_of(ids, i), length_of(one), address_of(ids, j), length_of(other))
        else:
            more = view_greater(one, word_at(ids.words, 2 * i + 1), other, word_at(ids.words, 2 * j + 1))
    return more


@callable_compiled
def view_greater(head: Any, tail: Any, other_head: Any, other_tail: Any) -> Any:
    """Whether the text in a view is greater by bytes than that in another; behind shorter text there are zeros."""
    first, other_first = reversed_bytes(head) & LOW_HALF, reversed_bytes(other_head) & LOW_HALF
    rest, other_rest = reversed_bytes(tail), reversed_bytes(other_tail)
    longer = length_of(head) > length_of(other_head)
    return (first > other_first) | ((first == other_first) & ((rest > other_rest) | ((rest == other_rest) & longer)))


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
    """Positions where an id differs from the one before, and the end (int64).

    Most rows are of the same query as the one before, so a block of them is compared at once. What is found grows as
    needed: room for every row would take longer to touch than the words take to read.
    """
    width = 1 if ids.width == INTEGER else 2
    found = np.empty(1024, np.int64)
    count = min(ids.size, 1)
    found[0] = 0
    for start in range(1, ids.size, BLOCK):
        stop = min(start + BLOCK, ids.size)
        changed = np.uint64(0)
        for t in range(start * width, stop * width):
            changed |= word_at(ids.words, t) ^ word_at(ids.words, t - width)
        if changed == 0:
            continue
        if count + BLOCK >= len(found):
            larger = np.empty(2 * len(found), np.int64)
            for t in range(count):  # numpy's ways to copy take long to compile
                larger[t] = found[t]
            found = larger
        for i in range(start, stop):
            found[count] = i
            count += not same(ids, i, ids, i - 1)
    found[count] = ids.size
    return found[: count + 1]


@callable_compiled
def fill_hashes(ids: Any, hashes: Any) -> None:
    """The hash of every id; a loop for each width."""
    if ids.width == SHORT:
        for i in range(ids.size):
            hashes[i] = mixed(word_at(ids.words, 2 * i), word_at(ids.words, 2 * i + 1))
    else:
        for i in range(ids.size):
            hashes[i] = hash_of(ids, i)


@compiled
def all_hashes(ids: Any) -> Any:
    """The hash of every id (uint64)."""
    out = np.empty(ids.size, np.uint64)
    fill_hashes(ids, out)
    return out


@compiled
def fill_table(table: Any) -> None:
    """Enter all ids of a table; they must be distinct."""
    slots, mask = table.slots, np.uint64(len(table.slots) - 1)
    for i in range(table.ids.size):
        slot = hash_of(table.ids, i) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i


@compiled
def look_up(known: Any, ids: Any) -> Any:
    """For each id its number in the table, or -1 (int64).

    The table is larger than the caches, so that what one id needs is asked for while others are looked at.
    """
    table, mask, width = bare(known), np.uint64(len(known.slots) - 1), 1 if ids.width == INTEGER else 2
    out = np.empty(ids.size, np.int64)
    for step in range(ids.size + 2 * AHEAD):
        if step < ids.size:
            first = hash_of(ids, step) & mask
            fetch_ahead(table.slots, first)
            out[step] = np.int64(first)
        near = step - AHEAD
        if 0 <= near < ids.size:
            fetch_ahead(table.ids.words, width * max(table.slots[out[near]], 0))
        here = step - 2 * AHEAD
        if here >= 0:
            slot, found = np.uint64(out[here]), np.int64(-1)
            while table.slots[slot] >= 0:
                entry = np.int64(table.slots[slot])
                if same(ids, here, table.ids, entry):
                    found = entry
                    break
                slot = (slot + np.uint64(1)) & mask
            out[here] = found
    return out
