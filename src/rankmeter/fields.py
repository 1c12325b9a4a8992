"""The compiled part of reading text: where the fields of each line are, and columns made of them without copying."""

from typing import Any, NamedTuple

import numpy as np

from rankmeter.compiler import callable_compiled, compiled

Array = np.ndarray[Any, Any]

NEWLINE, RETURN, SPACE, TAB, HASH, QUOTE = 10, 13, 32, 9, 35, 34

INLINE = 12
"""Bytes that an Arrow string view holds itself."""

STRAY, OPEN, BEHIND = -1, -2, -3
"""What is wrong with quotes, in place of a number of fields: one inside a field, no closing one, text behind it."""


class Shape(NamedTuple):
    """How lines are cut.

    Attributes:
        fields: number of fields.
        separator: the byte between fields; -1: any run of spaces and tabs.
        rest: whether text behind the last field belongs to it.
    """

    fields: int
    separator: int
    rest: bool


class Fields(NamedTuple):
    """Where the fields are.

    Attributes:
        begin: int32, one row per data line, one column per field; -1 for a field that is absent (null).
        end: int32, likewise.
        line: int32, the line of each row, from 0.
        wrong: int64, one row per line with another number of fields: the line, that number, where it begins.
    """

    begin: Array
    end: Array
    line: Array
    wrong: Array


def room(lines: int, shape: Shape) -> Fields:
    """Arrays for the fields of so many lines, and for an empty one behind the last line end."""
    return Fields(
        np.empty((lines + 1, shape.fields), np.int32),
        np.empty((lines + 1, shape.fields), np.int32),
        np.empty(lines + 1, np.int32),
        np.empty((lines + 1, 3), np.int64),  # memory that is not touched costs nothing
    )


@compiled
def count_lines(data: Any) -> int:
    """Lines in a text, one without a line end at the close included."""
    count = 0
    for i in range(len(data)):
        count += data[i] == NEWLINE
    return count + (len(data) > 0 and data[len(data) - 1] != NEWLINE)


@compiled
def find_blanks(data: Any, shape: Any, found: Any) -> Any:
    """Cut lines at runs of spaces and tabs; returns the numbers of data lines and of wrong ones.

    Lines without a field and those that begin with `#` are no data.
    """
    row = wrong = line = start = begin = count = 0
    size = len(data)
    for i in range(size + 1):
        byte = data[i] if i < size else NEWLINE
        if byte > SPACE or (byte != SPACE and byte != TAB and byte != NEWLINE):
            continue
        end = i - 1 if byte == NEWLINE and i > begin and data[i - 1] == RETURN else i
        if end > begin:
            if count < shape.fields:
                found.begin[row, count] = begin
                found.end[row, count] = end
            elif shape.rest:
                found.end[row, shape.fields - 1] = end
            count += 1
        begin = i + 1
        if byte == NEWLINE:
            is_data = count > 0 and data[start] != HASH
            if is_data and (count < shape.fields or (count > shape.fields and not shape.rest)):
                note_wrong(found.wrong, wrong, line, count, start)
                wrong += 1
                is_data = False
            found.line[row] = line
            row += is_data
            line += 1
            start, count = i + 1, 0
    return row, wrong


@callable_compiled
def note_wrong(out: Any, place: Any, line: Any, count: Any, start: Any) -> None:
    """Remember a wrong line: its number, how many fields it has, where it begins."""
    out[place, 0] = line
    out[place, 1] = count
    out[place, 2] = start


@compiled
def find_separated(data: Any, shape: Any, found: Any) -> Any:
    """Cut lines at single separators; returns the numbers of data lines and of wrong ones.

    Empty lines are no data, and empty fields are absent.
    """
    row = wrong = line = start = begin = count = 0
    size = len(data)
    for i in range(size + 1):
        byte = data[i] if i < size else NEWLINE
        if byte != shape.separator and byte != NEWLINE:
            continue
        end = i - 1 if byte == NEWLINE and i > begin and data[i - 1] == RETURN else i
        if count < shape.fields:
            found.begin[row, count] = begin if end > begin else -1
            found.end[row, count] = end if end > begin else -1
        count += 1
        begin = i + 1
        if byte == NEWLINE:
            if count > 1 or end > start:
                if count != shape.fields:
                    note_wrong(found.wrong, wrong, line, count, start)
                    wrong += 1
                else:
                    found.line[row] = line
                    row += 1
            line += 1
            start, count = i + 1, 0
    return row, wrong


@compiled
def find_quoted(data: Any, shape: Any, found: Any) -> Any:
    """Cut lines as `find_separated` does, where fields may stand in quotes (RFC 4180).

    Doubled quotes inside quoted fields are made single in place, so `data` changes. A field of two quotes is absent
    too: writers that quote everything have no other way to leave one out. Where quotes are wrong, the next row begins
    with the next line.
    """
    row = wrong = line = i = 0
    size = len(data)
    while i < size:
        start, count, breaks, more, end = i, 0, 0, True, 0
        while more:
            quoted = i < size and data[i] == QUOTE
            begin, end, stop, inner = (
                quoted_field(data, i, shape.separator) if quoted else plain_field(data, i, shape.separator)
            )
            if stop < 0:
                count, breaks, i = stop, 0, line_end(data, start) + 1
                break
            if count < shape.fields:
                found.begin[row, count] = begin
                found.end[row, count] = end
            count += 1
            breaks += inner
            more = stop < size and data[stop] != NEWLINE
            i = stop + 1
        blank = count == 1 and end < 0 and i < start + 3
        if count != shape.fields and not blank:
            note_wrong(found.wrong, wrong, line, count, start)
            wrong += 1
        found.line[row] = line
        row += count == shape.fields and not blank
        line += 1 + breaks
    return row, wrong


@callable_compiled
def line_end(data: Any, i: Any) -> Any:
    """Where the line ends that holds a position."""
    while i < len(data) and data[i] != NEWLINE:
        i += 1
    return i


@callable_compiled
def quoted_field(data: Any, i: int, separator: int) -> Any:
    """The field that begins with the quote at `i`: as `plain_field`, and how many line ends it holds."""
    begin = end = i + 1
    i, breaks, size = begin, 0, len(data)
    while i < size:
        if data[i] == QUOTE:
            i += 1
            if i == size or data[i] != QUOTE:
                i += i < size and data[i] == RETURN and (i + 1 == size or data[i + 1] == NEWLINE)
                fine = i == size or data[i] == separator or data[i] == NEWLINE
                stop = i if fine else BEHIND
                return (begin, end, stop, breaks) if end > begin else (-1, -1, stop, breaks)
        breaks += data[i] == NEWLINE
        data[end] = data[i]
        end += 1
        i += 1
    return begin, end, OPEN, breaks


@callable_compiled
def plain_field(data: Any, i: int, separator: int) -> Any:
    """The field without quotes at `i`: where it begins and ends (-1: it is empty), where the next byte is, 0."""
    begin, size = i, len(data)
    while i < size and data[i] != separator and data[i] != NEWLINE:
        if data[i] == QUOTE:
            return begin, i, STRAY, 0
        i += 1
    last = i == size or data[i] == NEWLINE
    end = i - 1 if last and i > begin and data[i - 1] == RETURN else i
    return (begin, end, i, 0) if end > begin else (-1, -1, i, 0)


@compiled
def string_views(data: Any, begin: Any, end: Any, views: Any) -> Any:
    """One column as Arrow string views (16 bytes each, written to `views`); counts absent and long fields."""
    absent = long = 0
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
        absent += first < 0
        long += length > INLINE
    return absent, long


@callable_compiled
def put_int(out: Any, at: Any, value: Any) -> None:
    """A number as four bytes, the lowest first."""
    out[at] = value & 0xFF
    out[at + 1] = (value >> 8) & 0xFF
    out[at + 2] = (value >> 16) & 0xFF
    out[at + 3] = (value >> 24) & 0xFF
