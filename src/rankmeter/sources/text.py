"""Text inputs: TREC, CSV, TSV and JSON lines, plain or compressed.

Files are read in chunks of whole lines. Chunks are cut one after the other and parsed in any thread.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter import fields
from rankmeter.errors import DataError, StorageError, shortened
from rankmeter.fields import Array, Fields, Shape
from rankmeter.sources.base import Batch
from rankmeter.sources.compressed import QUOTE, Chunk, chunks, has_mark, label_of, read_all
from rankmeter.sources.json_types import Changed, first_changed, first_clash

TREC = {
    "trec-qrels": ("query_id", "iteration", "doc_id", "grade"),
    "trec-run": ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
}
SEPARATORS = {"csv": ",", "tsv": "\t"}

BYTES_A_ROW = 48
SMALLEST_CHUNK = 1 << 10
FIRST_LINES = 1 << 16
LOOKED_AT = 1 << 10
"""Bytes of each end of a long line that messages look at."""

WRONG_QUOTES = {
    fields.STRAY: "holds a quote inside a field that is not quoted; quote the field and double the quotes in it",
    fields.OPEN: "a quote is not closed; check the quotes of this row",
    fields.BEHIND: "holds text behind a closing quote; double the quotes inside a quoted field",
}
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half of a character beyond 16 bits, which JSON may escape and only a pair of which is text."""


def open_text(path: str, kind: str, *, header: bool = True) -> "TextPart":
    """A text file, or standard input for `-`.

    Args:
        path: the file.
        kind: `trec-qrels`, `trec-run`, `csv`, `tsv` or `jsonl`.
        header: whether a CSV or TSV file begins with the names of its columns; else they are `1`, `2`, …

    Raises:
        DataError: the file is empty.
        StorageError: it cannot be read.
    """
    part = JsonPart(path, kind) if kind == "jsonl" else TextPart(path, kind, header=header)
    if part.is_empty:
        raise DataError(f"{part.label} is empty (0 bytes); most likely the job that writes it failed")
    return part


class TextPart:
    """A text file whose fields are all text; numbers are parsed, and refused by row, later.

    Attributes:
        label: the path, as messages show it.
        size: bytes on disk; 0 for standard input.
        rows: None: unknown before reading.
        is_text: whether every field is text.
    """

    is_text = True
    rows: int | None = None

    def __init__(self, path: str, kind: str, *, header: bool = True) -> None:
        self.label = label_of(path)
        self.size = 0 if path == "-" else _size(path)
        self._path = path
        self._kind = kind
        self._held = read_all(path)
        self._header = header and kind in SEPARATORS

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is not one byte of text, once decompressed."""
        return next(self.chunks(FIRST_LINES), None) is None

    @cached_property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte-order mark."""
        return has_mark(self._path, self._held)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """The file in chunks of about `size` bytes."""
        return chunks(self._path, self._held, size, quoted=self._kind == "csv")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        if self._kind in TREC:
            return TREC[self._kind]
        _, first = self._first_row
        if not self._header:
            return tuple(str(number) for number in range(1, len(first) + 1))
        if not first:
            raise DataError(f"{self.label} holds only blank lines; the first line must give the names of the columns")
        for name in first:
            if first.count(name) > 1:
                raise DataError(f'{self.label}: two columns are called "{shortened(name)}"; give each its own name')
        return tuple(first)

    @cached_property
    def _first_row(self) -> tuple[int, list[str]]:
        """The line and the fields of the first row, names of columns included; no fields where there is no row."""
        for chunk in self.chunks(FIRST_LINES):
            check_text(self.label, chunk)
            for number, line in enumerate(chunk.lines()):
                text = line.decode()
                if self._kind in TREC and (row := _trec_row(text, len(self.names))):
                    return chunk.first_line + number, row
                if self._kind in SEPARATORS and text:
                    rest = chunk.data.split(b"\n", number)[number]
                    return chunk.first_line + number, self._separated_row(text, rest)
        return 0, []

    def _separated_row(self, line: str, rest: bytes) -> list[str]:
        """The fields of a line; with quotes it may go on in the lines of `rest`."""
        if self._kind == "tsv" or '"' not in line:
            return line.split(SEPARATORS[self._kind])
        try:
            return next(csv.reader(io.StringIO(rest.decode(), newline="\n"), strict=True))
        except (csv.Error, StopIteration) as error:
            raise DataError(f"{self.label}: the quotes of the first row are wrong ({error}); mend that row") from error

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns: all text."""
        return dict.fromkeys(self.names, pl.String())

    def first_tag(self) -> str | None:
        """The tag of the first row of a TREC run; None where there is none."""
        if self._kind != "trec-run":
            return None
        _, row = self._first_row
        return row[-1] if len(row) == len(self.names) else None

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Chunks of about `rows` lines."""
        shape = self.shape
        header_line = self._first_row[0] if self._header else 0
        for chunk in self.chunks(max(SMALLEST_CHUNK, rows * BYTES_A_ROW)):
            lines = _Lines(self, chunk, shape, header_line)
            yield Batch(self, partial(lines.frame, columns), lines.row)

    @property
    def shape(self) -> Shape:
        """How lines are cut."""
        separator = ord(SEPARATORS[self._kind]) if self._kind in SEPARATORS else -1
        return Shape(len(self.names), separator, self._kind == "trec-run")

    def wrong_line(self, line: int, count: int, text: bytes) -> DataError:
        """The error for a line with another number of fields, or with wrong quotes."""
        shown = f'the line reads "{_shown(text)}"'
        if count in WRONG_QUOTES:
            return DataError(f"{self.label} row {line}: {WRONG_QUOTES[count]}; {shown}")
        expected = f"{len(self.names)} expected ({' '.join(self.names)})"
        return DataError(f"{self.label} row {line}: {count} fields, {expected}; {shown}")


def _shown(line: bytes) -> str:
    """A line for a message; of a long one only the ends are looked at."""
    text = line if len(line) <= 2 * LOOKED_AT else line[:LOOKED_AT] + line[-LOOKED_AT:]
    return shortened(text.decode("utf-8", errors="replace"))


def _trec_row(line: str, count: int) -> list[str]:
    """The fields of a TREC line, the last with blanks in it; none in a comment.

    >>> _trec_row("q1 Q0 d 1 2.5 my tag ", 6)
    ['q1', 'Q0', 'd', '1', '2.5', 'my tag']
    """
    text = line.strip(" \t")
    return re.split("[ \t]+", text, maxsplit=count - 1) if text and not line.startswith("#") else []


class _Lines:
    """The lines of one chunk."""

    def __init__(self, part: TextPart, chunk: Chunk, shape: Shape, header_line: int) -> None:
        self._part = part
        self._chunk = chunk
        self._shape = shape
        self._header_line = header_line

    def frame(self, columns: Sequence[str]) -> pl.DataFrame:
        """The asked columns, all text; empty fields of CSV and TSV are null."""
        check_text(self._part.label, self._chunk)
        data, found = self._found()
        numbers = [self._part.names.index(name) for name in columns]
        return pl.DataFrame(
            [
                _column(data, found.begin[:, number], found.end[:, number]).alias(name)
                for number, name in zip(numbers, columns, strict=True)
            ]
        )

    def row(self, position: int) -> int:
        """The line of a row."""
        return int(self._rows[position]) + self._chunk.first_line

    @cached_property
    def _rows(self) -> Array:
        """The line of each row; only messages need them."""
        return self._found()[1].line.copy()

    def _found(self) -> tuple[Array, Fields]:
        """The bytes of the chunk, and where the fields of its rows are in them.

        Raises:
            DataError: a row has another number of fields, or wrong quotes.
        """
        data = np.frombuffer(self._chunk.data, np.uint8)
        found = fields.room(fields.count_lines(data), self._shape)
        if self._shape.separator < 0:
            rows = fields.find_blanks(data, self._shape, found)
        elif self._shape.separator == ord(",") and QUOTE in self._chunk.data:
            data = data.copy()
            rows = fields.find_quoted(data, self._shape, found)
        else:
            rows = fields.find_separated(data, self._shape, found)
        line, count, start = (int(number) for number in found.wrong)
        if line >= 0:
            text = self._chunk.data[start:].split(b"\n", 1)[0].removesuffix(b"\r")
            raise self._part.wrong_line(self._chunk.first_line + line, count, text)
        first = int(rows > 0 and int(found.line[0]) + self._chunk.first_line == self._header_line)
        return data, Fields(found.begin[first:rows], found.end[first:rows], found.line[first:rows], found.wrong)


def _column(data: Array, begin: Array, end: Array) -> pl.Series:
    """One column of fields; long ones stay where they are in the chunk."""
    views = np.empty(16 * len(begin), np.uint8)
    absent, long = fields.string_views(data, begin, end, views)
    buffers = [None, pa.py_buffer(views), *([pa.py_buffer(data)] if long else [])]
    series = pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.string_view(), len(begin), buffers)))
    return series.set(pl.Series(begin < 0), None) if absent else series


def check_text(label: str, chunk: Chunk) -> None:
    """Refuse bytes that are no text.

    Raises:
        DataError: naming the line.
    """
    data = chunk.data
    if b"\0" in data:
        line = chunk.line_at(data.index(b"\0"))
        raise DataError(f"{label} row {line}: holds a zero byte; is this a text file in UTF-8?")
    if not data.isascii() and not _is_utf8(data):
        _refuse_bytes(label, chunk)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8; other threads run meanwhile, which `bytes.decode` does not allow."""
    offsets = np.array([0, len(data)], np.int64)
    try:
        whole = pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_bytes(label: str, chunk: Chunk) -> None:
    try:
        chunk.data.decode()
    except UnicodeDecodeError as error:
        line, shown = chunk.line_at(error.start), chunk.data[error.start]
        raise DataError(
            f"{label} row {line}: the byte 0x{shown:02x} is not UTF-8; convert the file to UTF-8"
        ) from error


class JsonPart(TextPart):
    """A file of JSON objects, one a line: a document each, or a query with lists."""

    is_text = False

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns in the first lines that hold an object."""
        frames = (self._parsed(chunk) for chunk in self.chunks(FIRST_LINES))
        return next((frame.schema for frame in frames if frame.height), pl.Schema())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Chunks of about `rows` lines."""
        for chunk in self.chunks(max(SMALLEST_CHUNK, rows * BYTES_A_ROW)):
            yield Batch(self, partial(self._frame, chunk, columns), partial(_json_line, chunk))

    def _frame(self, chunk: Chunk, columns: Sequence[str]) -> pl.DataFrame:
        """The asked columns; one that no object of the chunk has is all null."""
        frame = self._parsed(chunk)
        if changed := first_changed(frame, columns, chunk.data):
            raise self._wrong_value(chunk, changed)
        absent = [pl.Series(name, [None] * frame.height, pl.Null) for name in columns if name not in frame.columns]
        return frame.with_columns(absent).select(columns)

    def _parsed(self, chunk: Chunk) -> pl.DataFrame:
        check_text(self.label, chunk)
        if not chunk.data.strip():
            return pl.DataFrame()
        if SURROGATE.search(chunk.data):
            self._check_surrogates(chunk)
        try:
            return pl.read_ndjson(io.BytesIO(chunk.data), infer_schema_length=None)
        except pl.exceptions.PolarsError as error:
            raise self._damaged(chunk, str(error)) from error

    def _check_surrogates(self, chunk: Chunk) -> None:
        """Refuse half a character, which the reader would turn into another one."""
        for number, line in enumerate(chunk.lines(), chunk.first_line):
            if SURROGATE.search(line) and _why_no_object(line) is None:
                try:
                    json.dumps(json.loads(line), ensure_ascii=False).encode()
                except UnicodeEncodeError as error:
                    raise self._wrong_object(number, line, "holds half of a surrogate pair") from error

    def _damaged(self, chunk: Chunk, reason: str) -> DataError:
        """The error for the first line that is no object."""
        lines = chunk.lines()
        for number, line in enumerate(lines, chunk.first_line):
            if wrong := _why_no_object(line):
                return self._wrong_object(number, line, wrong)
        odd = _unreadable(lines)
        if odd is None and (clash := first_clash(lines)):
            return self._wrong_value(chunk, clash)
        if odd is None:
            return DataError(f"{self.label}: the lines do not fit together: {reason}")
        return self._wrong_object(chunk.first_line + odd, lines[odd], f"cannot be read ({reason})")

    def _wrong_value(self, chunk: Chunk, wrong: Changed) -> DataError:
        row, value = chunk.first_line + wrong.line, shortened(json.dumps(wrong.value, ensure_ascii=False))
        return DataError(f"{self.label} row {row}, column {shortened(wrong.key)}: {value} {wrong.rule}")

    def _wrong_object(self, number: int, line: bytes, wrong: str) -> DataError:
        return DataError(f'{self.label} row {number}: {wrong}; the line reads "{_shown(line)}"')


def _unreadable(lines: Sequence[bytes]) -> int | None:
    """Which of these lines cannot be read, by halves; None where all can, each for itself."""
    try:
        if any(line.strip() for line in lines):
            pl.read_ndjson(io.BytesIO(b"\n".join(lines)), infer_schema_length=None)
    except pl.exceptions.PolarsError:
        if len(lines) == 1:
            return 0
        half = len(lines) // 2
        first = _unreadable(lines[:half])
        if first is not None:
            return first
        second = _unreadable(lines[half:])
        return None if second is None else half + second
    return None


def _why_no_object(line: bytes) -> str | None:
    """What is wrong with a line that should be a JSON object."""
    try:
        fine = not line.strip() or isinstance(json.loads(line, parse_constant=_no_constant), dict)
    except ValueError as error:
        return f"is not JSON ({error})"
    return None if fine else "is not an object"


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _json_line(chunk: Chunk, position: int) -> int:
    """The line of the object at a position."""
    filled = [number for number, line in enumerate(chunk.lines(), chunk.first_line) if line.strip()]
    return filled[position]


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise StorageError.unreadable(path, error) from error
