"""Columns of ids: how they are held as machine words, numbered, and cut where they change."""

import threading
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter import words
from rankmeter.words import INTEGER, LONG, SHORT, Ids, Table

Array = np.ndarray[Any, Any]

LONGEST_SHORT = 12
"""Bytes of text that an Arrow string view holds itself."""

NO_OFFSETS = np.zeros(0, np.int64)
NO_BYTES = np.zeros(0, np.uint8)


def held(series: pl.Series, kind: int) -> Ids:
    """A column of ids without nulls as machine words of the given kind (INTEGER, SHORT or LONG)."""
    series = series.rechunk()
    if kind == INTEGER:
        return _frozen(series.cast(pl.Int64).to_numpy().view(np.uint64), kind)
    series = series.cast(pl.String)
    if kind == SHORT:
        return _frozen(_view_words(_view_array(series)), kind)
    array = _single(series.to_arrow())
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return _frozen(series.hash().to_numpy(), kind, places, np.frombuffer(data, np.uint8) if data else NO_BYTES)


def kind_of(series: pl.Series, other: pl.DataType) -> int:
    """How a column of ids is best held when it is compared with a column of type `other`."""
    if series.dtype.is_integer() and other.is_integer():
        return INTEGER
    if series.dtype.is_integer():
        return LONG if len(series) and series.abs().max() >= 10**11 else SHORT  # type: ignore[operator]  # an integer
    return LONG if has_long(series) else SHORT


def has_long(series: pl.Series) -> bool:
    """Whether any text has more bytes than a string view holds itself; such text lies in buffers of its own."""
    series = series.rechunk()
    if series.dtype != pl.String:
        return False
    if not any(buffer is not None and buffer.size for buffer in _view_array(series).buffers()[2:]):
        return False
    longest = series.str.len_bytes().max()
    return isinstance(longest, int) and longest > LONGEST_SHORT


def _frozen(array: Array, width: int, offsets: Array = NO_OFFSETS, data: Array = NO_BYTES) -> Ids:
    """Ids over arrays that are all read-only, since writable ones are another type to the compiler."""
    for part in (array, offsets, data):
        part.flags.writeable = False
    return Ids(array, width, offsets, data)


def _single(array: Any) -> Any:
    """The only chunk of an Arrow array."""
    return array.chunk(0) if isinstance(array, pa.ChunkedArray) else array


def _view_array(series: pl.Series) -> Any:
    return _single(series.to_arrow(compat_level=pl.CompatLevel.newest()))


def _view_words(array: Any) -> Array:
    """The two words of each string view: its length and text where that has at most 12 bytes."""
    views = array.buffers()[1]
    if views is None:
        return np.zeros(0, np.uint64)
    return np.frombuffer(views, np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]


class IdColumn:
    """A column of ids that is asked for in several forms; each is made once."""

    def __init__(self, series: pl.Series) -> None:
        self.series = series
        self._lock = threading.Lock()
        self._words: dict[int, Ids] = {}
        self._tables: dict[int, Table] = {}

    def words(self, kind: int) -> Ids:
        """The ids as machine words of that kind."""
        with self._lock:
            if kind not in self._words:
                self._words[kind] = held(self.series, kind)
            return self._words[kind]

    def table(self, kind: int) -> Table:
        """A hash table over the ids, which must be distinct."""
        ids = self.words(kind)
        with self._lock:
            if kind not in self._tables:
                size = 1 << max(4, (2 * len(self.series)).bit_length())
                table = Table(np.full(size, -1, np.int32), np.empty(size, np.uint64), ids)
                words.fill_table(table)
                self._tables[kind] = table
            return self._tables[kind]

    def numbers(self, ids: pl.Series, positions: Array | None = None) -> Array:
        """The position here of each given id, or -1 (int64); of those at `positions` only where these are given."""
        kind = kind_of(ids, self.series.dtype)
        if positions is None:
            positions = np.arange(len(ids))
        return np.asarray(words.look_up(self.table(kind), held(ids, kind), positions))


def list_heads(series: pl.Series) -> Array:
    """Positions where a column of ids changes, and its length (int64)."""
    kind = kind_of(series, series.dtype)
    if kind != LONG:
        return np.asarray(words.heads(held(series, kind)))
    changes = (series != series.shift(1)).to_numpy(allow_copy=True)
    return np.concatenate([np.zeros(min(1, len(series)), np.int64), np.flatnonzero(changes[1:]) + 1, [len(series)]])
