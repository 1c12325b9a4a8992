"""The compiled part of reading text: where the fields of each line are, and columns made of them without copying."""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled

Array = np.ndarray[Any, Any]

NEWLINE, RETURN, SPACE, TAB, HASH = 10, 13, 32, 9, 35

INLINE = 12
"""Bytes that an Arrow string view holds itself."""


class Shape(NamedTuple):
    """How lines are cut.

    Attributes:
        fields: number of fields.
        separator: the byte between fields; -1: any run of spaces and tabs.
        rest: whether text behind the last field belongs to it.
        comments: whether a line that begins with `#` is none.
    """

    fields: int
    separator: int
    rest: bool
    comments: bool


class Fields(NamedTuple):
    """Where the fields are.

    Attributes:
        begin: int32, one row per data line, one column per field.
        end: int32, likewise.
        line: int32, the line of each row, from 0.
        wrong: int64, the first line with another number of fields (or -1), that number, where it begins and ends.
    """

    begin: Array
    end: Array
    line: Array
    wrong: Array


@compiled
def count_lines(data: Any) -> int:
    """Lines in a text, one without a line end at the close included."""
    count = 0
    for i in range(len(data)):
        count += data[i] == NEWLINE
    return count + (len(data) > 0 and data[len(data) - 1] != NEWLINE)


@compiled
def find_fields(data: Any, shape: Any, found: Any) -> int:
    """Cut a text into lines and fields; returns the number of data lines, stops at the first wrong one."""
    row = line = start = 0
    size = len(data)
    while start < size:
        stop = start
        while stop < size and data[stop] != NEWLINE:
            stop += 1
        end = stop
        while end > start and (data[end - 1] == RETURN or (shape.separator < 0 and is_blank(data[end - 1]))):
            end -= 1
        if end > start and not (shape.comments and data[start] == HASH):
            count = cut_blanks(data, start, end, shape, found, row)
            if shape.separator >= 0:
                count = cut_separated(data, start, end, shape, found, row)
            if count != shape.fields and count > 0:
                found.wrong[0], found.wrong[1], found.wrong[2], found.wrong[3] = line, count, start, end
                return row
            found.line[row] = line
            row += count > 0
        line += 1
        start = stop + 1
    return row


@callable_compiled
def is_blank(byte: Any) -> Any:
    """Whether a byte is a space or a tab."""
    return (byte == SPACE) | (byte == TAB)


@compiled
def cut_blanks(data: Any, start: int, end: int, shape: Any, found: Any, row: int) -> int:
    """Fields between runs of blanks; returns how many there are."""
    if shape.separator >= 0:
        return 0
    count, i = 0, start
    while i < end:
        while i < end and is_blank(data[i]):
            i += 1
        if i == end:
            break
        begin = i
        last = shape.rest and count == shape.fields - 1
        i = end if last else i
        while i < end and not is_blank(data[i]):
            i += 1
        if count < shape.fields:
            found.begin[row, count] = begin
            found.end[row, count] = i
        count += 1
    return count


@compiled
def cut_separated(data: Any, start: int, end: int, shape: Any, found: Any, row: int) -> int:
    """Fields between single separators; returns how many there are."""
    count, begin = 0, start
    for i in range(start, end + 1):
        if i == end or data[i] == shape.separator:
            if count < shape.fields:
                found.begin[row, count] = begin
                found.end[row, count] = i
            count += 1
            begin = i + 1
    return count


@compiled
def string_views(data: Any, begin: Any, end: Any, views: Any) -> Any:
    """One column as Arrow string views (16 bytes each, written to `views`); counts empty and long fields."""
    empty = long = 0
    for row in range(len(begin)):
        first, length = begin[row], end[row] - begin[row]
        at = 16 * row
        for i in range(16):
            views[at + i] = 0
        put_int(views, at, length)
        shown = length if length <= INLINE else 4
        for i in range(shown):
            views[at + 4 + i] = data[first + i]
        if length > INLINE:
            put_int(views, at + 12, first)
        empty += length == 0
        long += length > INLINE
    return empty, long


@callable_compiled
def put_int(out: Any, at: Any, value: Any) -> None:
    """A number as four bytes, the lowest first."""
    out[at] = value & 0xFF
    out[at + 1] = (value >> 8) & 0xFF
    out[at + 2] = (value >> 16) & 0xFF
    out[at + 3] = (value >> 24) & 0xFF


def room(lines: int, shape: Shape) -> Fields:
    """Arrays for the fields of so many lines."""
    return Fields(
        np.empty((lines, shape.fields), np.int32),
        np.empty((lines, shape.fields), np.int32),
        np.empty(lines, np.int32),
        np.full(4, -1, np.int64),
    )
