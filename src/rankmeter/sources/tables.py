"""Parts that are tables already: Parquet and Arrow IPC files, and frames in memory."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rankmeter.errors import DataError, StorageError
from rankmeter.sources.base import Batch


class ParquetPart:
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
        try:
            self.size = path.stat().st_size
            metadata = pq.read_metadata(path)
            self._schema = pl.read_parquet_schema(path)
        except OSError as error:
            raise _unreadable(label, error) from error
        except (pa.ArrowException, pl.exceptions.PolarsError) as error:
            raise DataError(f"{label}: truncated or not a Parquet file; write it again ({error})") from error
        self.rows: int | None = metadata.num_rows
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        self._groups = [group.num_rows for group in groups]
        values = [group.column(i).num_values for group in groups for i in range(group.num_columns)]
        self._longest = max(1, -(-max(values, default=0) // max(self._groups, default=1)))

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        return self._schema

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of whole row groups, or of parts of one where a group is larger than `rows`."""
        lazy = pl.scan_parquet(self._path, parallel="none", glob=False, hive_partitioning=False).select(columns)
        for start, length in slices(self._groups, max(1, rows // self._longest)):
            yield Batch(self, partial(self._read, lazy, start, length), partial(_row, start))

    def _read(self, lazy: pl.LazyFrame, start: int, length: int) -> pl.DataFrame:
        try:
            return lazy.slice(start, length).collect(engine="in-memory")
        except OSError as error:
            raise StorageError.unreadable(self.label, error) from error
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{self.label}: damaged Parquet file; write it again ({error})") from error


def _longest(frame: pl.DataFrame) -> int:
    """Items of a row on average, in the column that has most of them; 1 without list columns."""
    items = [int(frame[name].list.len().sum()) for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return max([1, *(-(-count // max(1, frame.height)) for count in items)])


def _unreadable(label: str, error: OSError) -> Exception:
    """An OSError from the system, or one that pyarrow raises for a damaged file."""
    if error.errno is None:
        return DataError(f"{label}: truncated or not a Parquet file; write it again ({error})")
    return StorageError.unreadable(label, error)


def _row(start: int, position: int) -> int:
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


class FramePart:
    """A frame in memory, or a lazy one of which only the columns in use are collected."""

    is_text = False
    size = 0

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame, label: str) -> None:
        self.label = label
        self.rows = frame.height if isinstance(frame, pl.DataFrame) else None
        self._frame = frame

    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        return self._frame.collect_schema()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the frame."""
        if isinstance(self._frame, pl.LazyFrame):
            frame = self._frame.select(columns).collect()
        else:  # without a query, which would take longer than all the work on a small frame
            frame = pl.DataFrame([self._frame[name] for name in columns])
        for start, length in slices([frame.height], max(1, rows // _longest(frame))):
            yield Batch(self, partial(frame.slice, start, length), partial(_row, start))


class ArrowPart(FramePart):
    """An Arrow IPC (Feather) file, of which only the columns in use are read."""

    def __init__(self, path: Path, label: str) -> None:
        """Open the file.

        Raises:
            DataError: the file is truncated or no Arrow file.
            StorageError: it cannot be read.
        """
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                streamed = file.read(6) != b"ARROW1"
            frame = pl.read_ipc_stream(path) if streamed else pl.scan_ipc(path)
            super().__init__(frame, label)
            self.rows = frame.lazy().select(pl.len()).collect().item()
        except OSError as error:
            if error.errno is not None:
                raise StorageError.unreadable(label, error) from error
            raise DataError(f"{label}: truncated or not an Arrow file; write it again ({error})") from error
        except (pa.ArrowException, pl.exceptions.PolarsError) as error:
            raise DataError(f"{label}: truncated or not an Arrow file; write it again ({error})") from error
        self.size = size

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """Slices of the rows."""
        try:
            yield from super().batches(columns, rows)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{self.label}: damaged Arrow file; write it again ({error})") from error
