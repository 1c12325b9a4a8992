"""Parts that are tables already: Parquet and Arrow IPC files, and frames in memory."""

import contextlib
import glob
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rankmeter.checks.findings import Findings
from rankmeter.errors import DataError, StorageError, shortened
from rankmeter.sources.base import Batch, Part
from rankmeter.sources.held import refuse_arrow

ARROW = b"ARROW1"
"""How an Arrow file begins, where it is not a stream."""

DAMAGE = (OSError, UnicodeError, pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What is raised for files that are absent, unreadable or damaged."""


class ParquetPart(Part):
    """A Parquet file, read in slices that keep to its row groups: a group that is cut is decoded twice."""

    is_text = False

    def __init__(self, path: Path, label: str) -> None:
        """Open the file's footer.

        Raises:
            DataError: the file is truncated or no Parquet file.
            StorageError: it cannot be read.
        """
        self.label = label
        self._path = path
        _check_path(path)
        try:
            self.size = path.stat().st_size
            metadata = pq.read_metadata(path)
            _refuse(lambda: metadata.schema.to_arrow_schema(), label)
            self._schema = pl.read_parquet_schema(glob.escape(str(path)))
        except DAMAGE as error:
            raise _unreadable(label, "truncated or not a Parquet", error) from error
        self.rows: int | None = metadata.num_rows
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        self._groups = [group.num_rows for group in groups]
        items = [group.column(i).num_values for group in groups for i in range(group.num_columns)]
        self._longest = max(1, -(-max(items, default=0) // max([1, *self._groups])))

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        return self._schema

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of whole row groups, or of parts of one where a group is larger than `rows`."""
        lazy = pl.scan_parquet(self._path, parallel="none", glob=False, hive_partitioning=False).select(columns)
        for start, length in slices(self._groups, max(1, rows // self._longest)):
            yield Batch(self, partial(_slice, self.label, "Parquet", lazy, start, length), partial(_row, start))


def _check_path(path: Path) -> None:
    """Refuse a path that Polars cannot take."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise StorageError(f"{path}: cannot be read: its path is no valid Unicode text; rename it") from error


def _refuse(schema: Callable[[], pa.Schema], label: str, used: Collection[str] | None = ()) -> None:
    """Refuse types that cannot be read, in a file of which pyarrow knows the types."""
    with contextlib.suppress(*DAMAGE):
        refuse_arrow(schema(), label, used)


def _longest(frame: pl.DataFrame) -> int:
    """Items of a row on average, in the column that has most of them; 1 without list columns."""
    items = [int(frame[name].list.len().sum()) for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return max([1, *(-(-count // max(1, frame.height)) for count in items)])


def _unreadable(label: str, what: str, error: BaseException) -> Exception:
    """The error of ours for one of `DAMAGE`; a plain OSError without a number says that the content is wrong."""
    if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
        return StorageError.unreadable(label, error)
    if isinstance(error, pa.ArrowNotImplementedError):
        return DataError(
            f"{label}: has a column that cannot be read ({error}); write it as int64, float64 or text", "wrong-type"
        )
    return DataError(f"{label}: {what} file; write it again ({error})", "damaged-file")


def _slice(label: str, kind: str, lazy: pl.LazyFrame, start: int, length: int, _: Findings) -> pl.DataFrame:
    """Some rows of a file that was fine when it was opened; all of them can be read."""
    try:
        return lazy.slice(start, length).collect(engine="in-memory")
    except DAMAGE as error:
        raise _unreadable(label, f"damaged {kind}", error) from error


def _part_of(frame: pl.DataFrame, start: int, length: int, _: Findings) -> pl.DataFrame:
    """Some rows of a frame."""
    return frame.slice(start, length)


def _row(start: int, position: Any) -> Any:
    return start + position + 1


def slices(groups: Sequence[int], rows: int) -> Iterator[tuple[int, int]]:
    """Start and length of slices of about `rows` rows: whole row groups together, or pieces of a larger one.

    >>> list(slices([3, 3, 10], 6))
    [(0, 6), (6, 6), (12, 4)]
    """
    start = length = 0
    for group in groups:
        if length and length + group > rows:
            yield start, length
            start, length = start + length, 0
        length += group
        while length >= 2 * rows or (length > rows and length == group):
            yield start, rows
            start, length = start + rows, length - rows
    if length:
        yield start, length


@contextlib.contextmanager
def foreign(label: str, what: str, advice: str = "mend it and try again") -> Iterator[None]:
    """Whatever another library raises over an object of the user becomes an error of the data.

    Args:
        label: the input.
        what: the sentence, which the other library's reason follows.
        advice: what to do.
    """
    try:
        yield
    except MemoryError:
        raise
    except OSError as error:
        raise StorageError(f"{label}: {what}: {_reason(error)}") from error
    except (Exception, pl.exceptions.PanicException) as error:
        raise DataError(f"{label}: {what}: {_reason(error)}; {advice}", "unreadable-object") from error


def _reason(error: BaseException) -> str:
    """The first line of what another library says, or the text that is none."""
    if isinstance(error, UnicodeEncodeError):
        return f'"{shortened(error.object)}" is no valid Unicode text'
    return shortened(next(iter(str(error).splitlines()), type(error).__name__), 200)


class FramePart(Part):
    """A frame in memory, or a lazy one of which only the columns in use are collected."""

    is_text = False

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame, label: str, names: Sequence[str] = ()) -> None:
        """`names` are the columns of the object that the frame was made of, where it has not all of them."""
        self.label = label
        self.size = 0
        self.rows = frame.height if isinstance(frame, pl.DataFrame) else None
        self._frame = frame
        self._others = names

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        with foreign(self.label, "the lazy frame cannot be collected", "mend its query"):
            schema = self._frame.collect_schema()
        return {**dict.fromkeys(self._others, pl.Unknown()), **schema}

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the frame."""
        if isinstance(self._frame, pl.LazyFrame):
            with foreign(self.label, "the lazy frame cannot be collected", "mend its query"):
                frame = self._frame.select(columns).collect()
        else:  # without a query, which would take longer than all the work on a small frame
            frame = pl.DataFrame([self._frame[name] for name in columns])
        for start, length in slices([frame.height], max(1, rows // _longest(frame))):
            yield Batch(self, partial(_part_of, frame, start, length), partial(_row, start))


class ArrowPart(Part):
    """An Arrow IPC (Feather) file, mapped into memory: only the columns and rows in use are looked at."""

    is_text = False

    def __init__(self, path: Path, label: str) -> None:
        """Open the file's footer.

        Raises:
            DataError: the file is truncated or no Arrow file.
            StorageError: it cannot be read.
        """
        self.label = label
        try:
            self.size = path.stat().st_size
            self._types = partial(_arrow_types, path, pa.ipc.open_file)
            _refuse(self._types, label)
            self._lazy = pl.scan_ipc(glob.escape(str(path)), hive_partitioning=False)
            self._schema = self._lazy.collect_schema()
            self.rows: int | None = self._lazy.select(pl.len()).collect().item()
        except DAMAGE as error:
            raise _unreadable(label, "truncated or not an Arrow", error) from error

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        return self._schema

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the file."""
        _refuse(self._types, self.label, columns)
        lazy = self._lazy.select(columns)
        for start, length in slices([self.rows or 0], rows):
            yield Batch(self, partial(_slice, self.label, "Arrow", lazy, start, length), partial(_row, start))


def _arrow_types(path: Path, open_one: Callable[[Any], Any]) -> pa.Schema:
    """The columns of an Arrow file, or stream."""
    with pa.memory_map(str(path)) as file:
        return open_one(file).schema


def open_arrow(path: Path, label: str) -> Part:
    """An Arrow file in either form of the format; the stream form has no index and is read as a whole.

    Raises:
        DataError: the file is truncated or no Arrow file.
        StorageError: it cannot be read.
    """
    _check_path(path)
    try:
        with path.open("rb") as file:
            if file.read(len(ARROW)) == ARROW:
                return ArrowPart(path, label)
        _refuse(partial(_arrow_types, path, pa.ipc.open_stream), label, None)
        frame = pl.read_ipc_stream(path)
    except DAMAGE as error:
        raise _unreadable(label, "truncated or not an Arrow", error) from error
    part = FramePart(frame, label)
    part.size = path.stat().st_size
    return part
