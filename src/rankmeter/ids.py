"""Columns of ids: how they are held as machine words, numbered, and cut where they change."""

import threading
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter import words
from rankmeter.words import INTEGER, LONG, SHORT, Ids, Table

Array = np.ndarray[Any, Any]


def both_integers(one: pl.Series, other: pl.Series) -> bool:
    """Whether ids of two columns are compared as integers, and not as text."""
    return one.dtype.is_integer() and other.dtype.is_integer()


class Held:
    """A column of ids without nulls as machine words, which are there as long as this object is."""

    def __init__(self, series: pl.Series, *, integers: bool) -> None:
        """As integers, or as the text that the column holds or stands for."""
        series = series.rechunk()
        if integers:
            values = series.cast(pl.Int64).to_numpy()
            self._owner: object = values
            self.ids = Ids(values.ctypes.data, len(values), INTEGER, 0)
            return
        array = series.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.newest())
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        views, *texts = array.buffers()[1:]
        addresses = np.array([text.address if text else 0 for text in texts], np.int64)
        self._owner = array, addresses
        width = LONG if any(text and text.size for text in texts) else SHORT
        start = views.address + 16 * array.offset if views else 0
        self.ids = Ids(start, len(array), width, addresses.ctypes.data)


def compact(rows: pl.DataFrame) -> pl.DataFrame:
    """A copy of a few rows that does not keep the memory of those around them alive."""
    rows = rows[np.arange(rows.height)]
    long = [s.name for s in rows if s.dtype == pl.String and s.null_count() < len(s) and _points_outside(s)]
    return rows.with_columns(pl.Series(name, pl.from_arrow(rows[name].to_arrow())) for name in long)


def _points_outside(text: pl.Series) -> bool:
    """Whether a column of text has buffers of longer text, which rows of it share."""
    column = Held(text, integers=False)
    return column.ids.width == LONG


class IdColumn:
    """A column of ids that is asked for as integers or as text; each form is made once."""

    def __init__(self, series: pl.Series) -> None:
        self.series = series
        self._lock = threading.Lock()
        self._held: dict[bool, Held] = {}
        self._hashes: dict[bool, Array] = {}
        self._tables: dict[bool, Table] = {}

    def words(self, *, integers: bool) -> Ids:
        """The ids as machine words, which are there as long as this column is."""
        with self._lock:
            if integers not in self._held:
                self._held[integers] = Held(self.series, integers=integers)
            return self._held[integers].ids

    def hashed(self, *, integers: bool | None = None) -> tuple[Array, Ids]:
        """The hash of each id (uint64), and the ids; as integers if they are some, where nothing is said."""
        integers = self.series.dtype.is_integer() if integers is None else integers
        ids = self.words(integers=integers)
        with self._lock:
            if integers not in self._hashes:
                hashes = words.all_hashes(ids)
                hashes.flags.writeable = False  # writable arrays are another type to the compiler
                self._hashes[integers] = hashes
            return self._hashes[integers], ids

    def table(self, *, integers: bool) -> Table:
        """A hash table over the ids, which must be distinct."""
        ids = self.words(integers=integers)
        with self._lock:
            if integers not in self._tables:
                size = 1 << max(4, (2 * len(self.series)).bit_length())
                table = Table(np.full(size, -1, np.int32), ids)
                words.fill_table(table)
                self._tables[integers] = table
            return self._tables[integers]

    def numbers(self, ids: pl.Series, positions: Array | None = None) -> Array:
        """The position here of each given id, or -1 (int64); of those at `positions` only where these are given."""
        integers = both_integers(ids, self.series)
        if positions is None:
            positions = np.arange(len(ids))
        asked = Held(ids, integers=integers)
        return np.asarray(words.look_up(self.table(integers=integers), asked.ids, positions))


def list_heads(series: pl.Series) -> Array:
    """Positions where a column of ids changes, and its length (int64)."""
    column = Held(series, integers=series.dtype.is_integer())
    return np.asarray(words.heads(column.ids))
