"""Text inputs: TREC, CSV, TSV and JSON lines, plain or compressed.

Files are read in chunks of whole lines. Chunks are cut one after the other and parsed in any thread.
"""

import csv
import io
import json
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
from rankmeter.sources.compressed import MARK, QUOTE, Chunk, chunks, read_all

TREC = {
    "trec-qrels": ("query_id", "iteration", "doc_id", "grade"),
    "trec-run": ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
}
SEPARATORS = {"csv": ",", "tsv": "\t"}

BYTES_A_ROW = 48
SMALLEST_CHUNK = 1 << 10
FIRST_LINES = 1 << 16


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
    if not part.start:
        raise DataError(f"{part.label} is empty (0 bytes); most likely the job that writes it failed")
    return part


class TextPart:
    """A text file whose fields are all text; numbers are parsed, and refused by row, later."""

    is_text = True
    rows: int | None = None

    def __init__(self, path: str, kind: str, *, header: bool = True) -> None:
        self.label = "standard input" if path == "-" else path
        self.size = 0 if path == "-" else _size(path)
        self._path = path
        self._kind = kind
        self._held = read_all(path)
        self._header = header and kind in SEPARATORS

    @cached_property
    def start(self) -> bytes:
        """The first lines of the file."""
        first = next(chunks(self._path, self._held, FIRST_LINES, quoted=self._kind == "csv"), None)
        return first.data if first else b""

    @cached_property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte-order mark."""
        if self._held is not None:
            return self._held.startswith(MARK)
        with Path(self._path).open("rb") as file:
            return file.read(len(MARK)) == MARK

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        if self._kind in TREC:
            return TREC[self._kind]
        first = self._first_row()
        if not self._header:
            return tuple(str(number) for number in range(1, len(first) + 1))
        for name in first:
            if first.count(name) > 1:
                raise DataError(f'{self.label}: two columns are called "{shortened(name)}"; give each its own name')
        return tuple(first)

    def _first_row(self) -> list[str]:
        text = self.start.decode("utf-8", errors="replace")
        if self._kind == "csv":
            return next((row for row in csv.reader(io.StringIO(text, newline="")) if row), [])
        return next((line.split("\t") for line in text.splitlines() if line), [])

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns: all text."""
        return dict.fromkeys(self.names, pl.String())

    def first_tag(self) -> str | None:
        """The tag of the first row of a TREC run."""
        for line in self.start.decode("utf-8", errors="replace").splitlines():
            row = line.split(maxsplit=len(TREC["trec-run"]) - 1)
            if row and not line.startswith("#"):
                return row[-1].strip() if len(row) == len(TREC["trec-run"]) else None
        return None

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Chunks of about `rows` lines."""
        size = max(SMALLEST_CHUNK, rows * BYTES_A_ROW)
        skip = self._header
        for chunk in chunks(self._path, self._held, size, quoted=self._kind == "csv"):
            lines = _Lines(self, chunk, skip_first=skip)
            skip = False
            yield Batch(self, partial(lines.frame, columns), lines.row)

    @property
    def shape(self) -> Shape:
        """How lines are cut."""
        separator = ord(SEPARATORS[self._kind]) if self._kind in SEPARATORS else -1
        trec = self._kind in TREC
        return Shape(len(self.names), separator, self._kind == "trec-run", trec)

    def wrong_line(self, line: int, count: int, text: bytes) -> DataError:
        """The error for a line with another number of fields."""
        expected = f"{len(self.names)} expected ({' '.join(self.names)})"
        shown = shortened(text.decode("utf-8", errors="replace"))
        return DataError(f'{self.label} row {line}: {count} fields, {expected}; the line reads "{shown}"')


class _Lines:
    """The lines of one chunk."""

    def __init__(self, part: TextPart, chunk: Chunk, *, skip_first: bool) -> None:
        self._part = part
        self._chunk = chunk
        self._skip_first = skip_first

    def frame(self, columns: Sequence[str]) -> pl.DataFrame:
        """The asked columns, all text; empty fields of CSV and TSV are null."""
        _check_text(self._part.label, self._chunk)
        if self._part.shape.separator == ord(",") and QUOTE in self._chunk.data:
            names = self._part.names
            rows = [row for _, row in self._quoted_rows()]
            return pl.DataFrame(
                [pl.Series(name, [row[names.index(name)] or None for row in rows], pl.String) for name in columns]
            )
        data = np.frombuffer(self._chunk.data, np.uint8)
        found = self._fields
        first = self._first_row
        series = []
        for name in columns:
            column = self._part.names.index(name)
            series.append(_column(data, found.begin[first:, column], found.end[first:, column]).alias(name))
        return pl.DataFrame(series)

    @cached_property
    def _fields(self) -> Fields:
        """Where the fields are, the rows cut to those there are."""
        shape = self._part.shape
        data = np.frombuffer(self._chunk.data, np.uint8)
        found = fields.room(fields.count_lines(data), shape)
        rows = fields.find_fields(data, shape, found)
        line, count, start, end = (int(number) for number in found.wrong)
        if line >= 0:
            raise self._part.wrong_line(self._chunk.first_line + line, count, self._chunk.data[start:end])
        return Fields(found.begin[:rows], found.end[:rows], found.line[:rows], found.wrong)

    @property
    def _first_row(self) -> int:
        return 1 if self._skip_first else 0

    def _quoted_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows of a CSV chunk with quotes, each with the line it begins at."""
        reader = csv.reader(io.StringIO(self._chunk.data.decode("utf-8"), newline=""), strict=True)
        line, number = self._chunk.first_line, 0
        try:
            for row in reader:
                if row and not (self._skip_first and number == 0):
                    if len(row) != len(self._part.names):
                        raise self._part.wrong_line(line, len(row), ",".join(row).encode())
                    yield line, row
                number += bool(row)
                line = self._chunk.first_line + reader.line_num
        except csv.Error as error:
            raise DataError(f"{self._part.label} row {line}: {error}; check the quotes of this row") from error

    def row(self, position: int) -> int:
        """The line of a row."""
        if self._part.shape.separator == ord(",") and QUOTE in self._chunk.data:
            return [line for line, _ in self._quoted_rows()][position]
        return int(self._fields.line[position + self._first_row]) + self._chunk.first_line


def _column(data: Array, begin: Array, end: Array) -> pl.Series:
    """One column of fields; long ones stay where they are in the chunk."""
    views = np.empty(16 * len(begin), np.uint8)
    empty, long = fields.string_views(data, begin, end, views)
    buffers = [None, pa.py_buffer(views), *([pa.py_buffer(data)] if long else [])]
    series = pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.string_view(), len(begin), buffers)))
    return series.set(series == "", None) if empty else series


def _check_text(label: str, chunk: Chunk) -> None:
    """Refuse bytes that are no text.

    Raises:
        DataError: naming the line.
    """
    data = chunk.data
    if b"\0" in data:
        line = chunk.first_line + data.count(b"\n", 0, data.index(b"\0"))
        raise DataError(f"{label} row {line}: holds a zero byte; is this a text file in UTF-8?")
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = chunk.first_line + data.count(b"\n", 0, error.start)
            shown = shortened(data[error.start : error.start + 1].hex())
            raise DataError(
                f"{label} row {line}: the byte 0x{shown} is not UTF-8; convert the file to UTF-8"
            ) from error


class JsonPart(TextPart):
    """A file of JSON objects, one a line: a document each, or a query with lists."""

    is_text = False

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns in the first lines."""
        return self._parsed(Chunk(self.start, 1)).schema

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Chunks of about `rows` lines."""
        for chunk in chunks(self._path, self._held, max(SMALLEST_CHUNK, rows * BYTES_A_ROW)):
            yield Batch(self, partial(self._frame, chunk, columns), partial(_json_line, chunk))

    def _frame(self, chunk: Chunk, columns: Sequence[str]) -> pl.DataFrame:
        """The asked columns; one that no object of the chunk has is all null."""
        frame = self._parsed(chunk)
        return frame.select(pl.col(name) if name in frame.columns else pl.lit(None).alias(name) for name in columns)

    def _parsed(self, chunk: Chunk) -> pl.DataFrame:
        _check_text(self.label, chunk)
        try:
            return pl.read_ndjson(io.BytesIO(chunk.data), infer_schema_length=None)
        except pl.exceptions.PolarsError as error:
            raise self._damaged(chunk, str(error)) from error

    def _damaged(self, chunk: Chunk, reason: str) -> DataError:
        """The error for the first line that is no object."""
        for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
            wrong = _why_no_object(line)
            if wrong:
                shown = shortened(line.decode())
                return DataError(f'{self.label} row {number}: {wrong}; the line reads "{shown}"')
        return DataError(f"{self.label}: the lines do not fit together: {reason}")


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
    filled = [number for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line) if line.strip()]
    return filled[position]


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise StorageError.unreadable(path, error) from error
