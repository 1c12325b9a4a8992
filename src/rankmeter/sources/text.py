"""Text inputs: TREC, CSV, TSV and JSON lines, plain or compressed.

Files are read in chunks of whole lines. Chunks are cut one after the other and parsed in any thread.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter import fields
from rankmeter.checks.findings import STRICT, Collected, Findings
from rankmeter.errors import DataError, Problem, StorageError, shortened
from rankmeter.fields import Array, Fields, Shape
from rankmeter.sources.base import Batch
from rankmeter.sources.compressed import QUOTE, Chunk, chunks, has_mark, label_of, read_all
from rankmeter.sources.json_types import Changed, changed, clashes

TREC = {
    "trec-qrels": ("query_id", "iteration", "doc_id", "grade"),
    "trec-run": ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
}
SEPARATORS = {"csv": ",", "tsv": "\t"}

BYTES_A_ROW = 48
SMALLEST_CHUNK = 1 << 10
FIRST_LINES = 1 << 16
FIRST_ROWS = 100
"""Rows that tell whether a TREC file is a run or qrels."""

LOOKED_AT = 1 << 10
"""Bytes of each end of a long line that messages look at."""

LONGEST_SHOWN = 1 << 20
"""Bytes of a line in which its end is looked for."""

UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""How files in UTF-16 begin."""

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
        raise DataError(f"{part.label} is empty (0 bytes); most likely the job that writes it failed", "empty-file")
    part.check_first()
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
            raise DataError(
                f"{self.label} holds only blank lines; the first line must give the names of the columns",
                "missing-column",
            )
        for name in first:
            if first.count(name) > 1:
                raise DataError(
                    f'{self.label}: two columns are called "{shortened(name)}"; give each its own name', "two-columns"
                )
        return tuple(first)

    @cached_property
    def _first_row(self) -> tuple[int, list[str]]:
        """The line and the fields of the first row, names of columns included; no fields where there is no row."""
        for chunk in self.chunks(FIRST_LINES):
            for number, line in enumerate(chunk.lines(), chunk.first_line):
                if self._kind in TREC and (row := _trec_row(line, len(self.names))):
                    return number, row
                if self._kind in SEPARATORS and line:
                    text = checked_text(self.label, Chunk(line, number), STRICT).data.decode()
                    rest = chunk.data.split(b"\n", number - chunk.first_line)[-1]
                    return number, self._separated_row(text, rest)
        return 0, []

    def check_first(self) -> None:
        """Refuse UTF-16, qrels in place of a run, and a run in place of qrels.

        Raises:
            DataError: the file begins with the mark of UTF-16, or all of its first rows are those of the other one.
        """
        other = {"trec-qrels": "trec-run", "trec-run": "trec-qrels"}.get(self._kind)
        chunk = next(self.chunks(FIRST_LINES))
        if chunk.data[:2] in UTF16:
            raise DataError(f"{self.label} is in UTF-16; convert the file to UTF-8", "encoding")
        if other is None:
            return
        rows = [_trec_row(line, 0) for line in islice(chunk.lines(), FIRST_ROWS)]
        counts = {len(row) for row in rows if row}
        if counts == {len(TREC[other])}:
            mine, its = self._kind.removeprefix("trec-"), other.removeprefix("trec-")
            line = next(number for number, row in enumerate(rows, chunk.first_line) if row)
            raise DataError(
                f"{self.label} row {line}: {counts.pop()} fields, {len(self.names)} expected "
                f"({' '.join(self.names)}), so this looks like {'a run' if its == 'run' else its} in place of "
                f"{'a run' if mine == 'run' else mine}; give QRELS first, then RUN",
                "wrong-table",
            )

    def _separated_row(self, line: str, rest: bytes) -> list[str]:
        """The fields of a line; with quotes it may go on in the lines of `rest`."""
        if self._kind == "tsv" or '"' not in line:
            return line.split(SEPARATORS[self._kind])
        try:
            return next(csv.reader(io.StringIO(rest.decode(errors="replace"), newline="\n"), strict=True))
        except (csv.Error, StopIteration) as error:
            raise DataError(
                f"{self.label}: the quotes of the first row are wrong ({error}); mend that row", "quotes"
            ) from error

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

    def wrong_line(self, line: int, count: int, text: bytes) -> Problem:
        """What is wrong with a line that has another number of fields, or wrong quotes."""
        rule = "quotes" if count in WRONG_QUOTES else "field-count"
        expected = f"{count} field{'s' * (count != 1)}, {len(self.names)} expected ({' '.join(self.names)})"
        return _problem(rule, self.label, line, WRONG_QUOTES.get(count, expected), text)


def _problem(rule: str, label: str, line: int, sentence: str, text: bytes) -> Problem:
    """What is wrong with a line."""
    shown = _shown(text)
    advice = "; mend or remove it" if rule in ("field-count", "no-object") else ""
    message = f'{label} row {line}: {sentence}; the line reads "{shown}"{advice}'
    return Problem(rule, message, label, line, value=shown)


def _shown(line: bytes) -> str:
    """A line for a message; of a long one only the ends are looked at."""
    text = line if len(line) <= 2 * LOOKED_AT else line[:LOOKED_AT] + line[-LOOKED_AT:]
    return shortened(text.decode("utf-8", errors="replace"))


def _trec_row(line: bytes, count: int) -> list[str]:
    """The fields of a TREC line, the last with blanks in it; none in a comment, or where the line is no text.

    >>> _trec_row(b"q1 Q0 d 1 2.5 my tag ", 6)
    ['q1', 'Q0', 'd', '1', '2.5', 'my tag']
    """
    text = line.decode(errors="replace").strip(" \t") if not line.startswith(b"#") and is_text(line) else ""
    return re.split("[ \t]+", text, maxsplit=max(0, count - 1)) if text else []


class _Lines:
    """The lines of one chunk."""

    def __init__(self, part: TextPart, chunk: Chunk, shape: Shape, header_line: int) -> None:
        self._part = part
        self._chunk = chunk
        self._shape = shape
        self._header_line = header_line

    def frame(self, columns: Sequence[str], findings: Findings) -> pl.DataFrame:
        """The asked columns, all text; empty fields of CSV and TSV are null."""
        data, found = self._found(findings)
        numbers = [self._part.names.index(name) for name in columns]
        return pl.DataFrame(
            [
                _column(data, found.begin[:, number], found.end[:, number]).alias(name)
                for number, name in zip(numbers, columns, strict=True)
            ]
        )

    def row(self, position: Any) -> Any:
        """The line of a row, or of many."""
        return self._rows[position] + self._chunk.first_line

    @cached_property
    def _rows(self) -> Array:
        """The line of each row; only messages need them."""
        return self._found(Collected())[1].line.astype(np.int64)

    def _found(self, findings: Findings) -> tuple[Array, Fields]:
        """The bytes of the chunk, and where the fields of its rows are in them.

        Raises:
            RefusedRowsError: a row has another number of fields, wrong quotes, or is no text.
        """
        chunk = checked_text(self._part.label, self._chunk, findings)
        data = np.frombuffer(chunk.data, np.uint8)
        found = fields.room(fields.count_lines(data), self._shape)
        if self._shape.separator < 0:
            rows, wrong = fields.find_blanks(data, self._shape, found)
        elif self._shape.separator == ord(",") and QUOTE in chunk.data:
            data = data.copy()
            rows, wrong = fields.find_quoted(data, self._shape, found)
        else:
            rows, wrong = fields.find_separated(data, self._shape, found)
        self._take_wrong(chunk, found.wrong[:wrong], findings)
        first = int(rows > 0 and int(found.line[0]) + chunk.first_line == self._header_line)
        return data, Fields(found.begin[first:rows], found.end[first:rows], found.line[first:rows], found.wrong)

    def _take_wrong(self, chunk: Chunk, wrong: Array, findings: Findings) -> None:
        """Lines with another number of fields, or wrong quotes."""
        for rule, those in (("field-count", wrong[wrong[:, 1] >= 0]), ("quotes", wrong[wrong[:, 1] < 0])):

            def describe(number: int, those: Array = those) -> Problem:
                line, count, start = map(int, those[number])
                text = chunk.data[start : start + LONGEST_SHOWN].split(b"\n", 1)[0].removesuffix(b"\r")
                return self._part.wrong_line(chunk.first_line + line, count, text)

            findings.add(rule, range(len(those)), describe)


def _column(data: Array, begin: Array, end: Array) -> pl.Series:
    """One column of fields; long ones stay where they are in the chunk."""
    views = np.empty(16 * len(begin), np.uint8)
    absent, long = fields.string_views(data, begin, end, views)
    buffers = [None, pa.py_buffer(views), *([pa.py_buffer(data)] if long else [])]
    series = pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.string_view(), len(begin), buffers)))
    return series.set(pl.Series(begin < 0), None) if absent else series


def checked_text(label: str, chunk: Chunk, findings: Findings) -> Chunk:
    """A chunk of which lines that are no text are left out.

    Raises:
        RefusedRowsError: there are such lines, and the findings are strict.
    """
    data = chunk.data
    if b"\0" not in data and (data.isascii() or _is_utf8(data)):
        return chunk
    lines = data.split(b"\n")
    wrong = [number for number, line in enumerate(lines) if not is_text(line)]

    def describe(number: int) -> Problem:
        return _no_text(label, chunk.first_line + wrong[number], lines[wrong[number]])

    findings.add("encoding", range(len(wrong)), describe)
    bad = set(wrong)
    return Chunk(b"\n".join(b"" if number in bad else line for number, line in enumerate(lines)), chunk.first_line)


def is_text(line: bytes) -> bool:
    """Whether a line is UTF-8 without zero bytes."""
    try:
        return b"\0" not in line and bool(line.decode() or True)
    except UnicodeDecodeError:
        return False


def _no_text(label: str, line: int, text: bytes) -> Problem:
    """What is wrong with a line of bytes that are no text."""
    sentence = "holds a zero byte; is this a text file in UTF-8?"
    try:
        text.decode()
    except UnicodeDecodeError as error:
        sentence = f"the byte 0x{text[error.start]:02x} is not UTF-8; convert the file to UTF-8"
    return _problem("encoding", label, line, sentence, text)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8; other threads run meanwhile, which `bytes.decode` does not allow."""
    offsets = np.array([0, len(data)], np.int64)
    try:
        whole = pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


class JsonPart(TextPart):
    """A file of JSON objects, one a line: a document each, or a query with lists."""

    is_text = False

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns in the first lines that hold an object."""
        for chunk in self.chunks(FIRST_LINES):
            frame = _Objects(self, chunk).parsed(Collected())
            if frame.height:
                return frame.schema
        for chunk in self.chunks(FIRST_LINES):
            _Objects(self, chunk).parsed(STRICT)
        return pl.Schema()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Chunks of about `rows` lines."""
        for chunk in self.chunks(max(SMALLEST_CHUNK, rows * BYTES_A_ROW)):
            objects = _Objects(self, chunk)
            yield Batch(self, partial(objects.frame, columns), objects.row)


class _Objects:
    """The objects of one chunk."""

    def __init__(self, part: TextPart, chunk: Chunk) -> None:
        self._part = part
        self._chunk = chunk
        self._left = chunk  # without the lines that broke a rule when it was read last

    def frame(self, columns: Sequence[str], findings: Findings) -> pl.DataFrame:
        """The asked columns; one that no object of the chunk has is all null."""
        frame = self.parsed(findings)
        while found := list(changed(frame, columns, self._left.data)):
            self._leave_out("json-type", [(one.line, self._wrong_value(one)) for one in found], findings)
            frame = self._read(findings)
        absent = [pl.Series(name, [None] * frame.height, pl.Null) for name in columns if name not in frame.columns]
        return frame.with_columns(absent).select(columns)

    def row(self, position: Any) -> Any:
        """The line of an object, or of many."""
        return self._filled[position]

    @property
    def _filled(self) -> Array:
        """The lines that hold an object."""
        filled = [number for number, line in enumerate(self._left.lines(), self._left.first_line) if line.strip()]
        return np.array(filled, np.int64)

    def parsed(self, findings: Findings) -> pl.DataFrame:
        """All that the objects hold."""
        self._left = checked_text(self._part.label, self._chunk, findings)
        if SURROGATE.search(self._left.data):
            lines = self._left.lines()
            halves = dict.fromkeys(_surrogates(lines), "holds half of a surrogate pair")
            self._leave_out("no-object", self._wrong_objects(lines, halves), findings)
        return self._read(findings)

    def _read(self, findings: Findings) -> pl.DataFrame:
        """The objects of the lines that are left; those that cannot be read are left out too."""
        while self._left.data.strip():
            try:
                return pl.read_ndjson(io.BytesIO(self._left.data), infer_schema_length=None)
            except pl.exceptions.PolarsError as error:
                self._leave_out(*self._damaged(str(error)), findings)
        return pl.DataFrame()

    def _leave_out(self, rule: str, wrong: Sequence[tuple[int, Problem]], findings: Findings) -> None:
        """Lines, from 0, that break a rule."""
        findings.add(rule, range(len(wrong)), lambda number: wrong[number][1])
        numbers = {number for number, _ in wrong}
        lines = self._left.data.split(b"\n")
        left = b"\n".join(b"" if number in numbers else line for number, line in enumerate(lines))
        self._left = Chunk(left, self._left.first_line)

    def _damaged(self, reason: str) -> tuple[str, list[tuple[int, Problem]]]:
        """The lines that cannot be read, each for itself, or else those that do not fit to the others.

        Raises:
            DataError: there are none.
        """
        lines = self._left.lines()
        whys = {number: why for number, line in enumerate(lines) if (why := _why_no_object(line))}
        if not whys and (odd := _unreadable(lines)) is not None:
            whys = {odd: f"cannot be read ({next(iter(reason.splitlines()), reason)})"}
        if whys:
            return "no-object", self._wrong_objects(lines, whys)
        if found := list(clashes(lines)):
            return "json-type", [(one.line, self._wrong_value(one)) for one in found]
        raise DataError(f"{self._part.label}: the lines do not fit together: {reason}", "json-type")

    def _wrong_value(self, wrong: Changed) -> Problem:
        row, value = self._left.first_line + wrong.line, shortened(json.dumps(wrong.value, ensure_ascii=False))
        label, column = self._part.label, shortened(wrong.key)
        message = f"{label} row {row}, column {column}: {value} {wrong.rule}"
        return Problem("json-type", message, label, row, column, value)

    def _wrong_objects(self, lines: Sequence[bytes], whys: Mapping[int, str]) -> list[tuple[int, Problem]]:
        first, label = self._left.first_line, self._part.label
        return [(n, _problem("no-object", label, first + n, why, lines[n])) for n, why in whys.items()]


def _surrogates(lines: Sequence[bytes]) -> Iterator[int]:
    """Lines that hold half a character, which the reader would turn into another one."""
    for number, line in enumerate(lines):
        if SURROGATE.search(line) and _why_no_object(line) is None:
            try:
                json.dumps(json.loads(line), ensure_ascii=False).encode()
            except UnicodeEncodeError:
                yield number


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


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise StorageError.unreadable(path, error) from error
