"""Columns of ids: how they are held as machine words, numbered, and cut where they change."""

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter import words
from rankmeter.memory import word_at
from rankmeter.words import INTEGER, LONG, SHORT, Ids, Table

Array = np.ndarray[Any, Any]


def both_integers(one: pl.Series, other: pl.Series) -> bool:
    """Whether ids of two columns are compared as integers, and not as text."""
    return one.dtype.is_integer() and other.dtype.is_integer()


HALF = np.uint64(32)
"""Bits of half a word."""


class Held:
    """Ids as machine words, which are there as long as this object is."""

    def __init__(self, ids: Ids, *owners: object) -> None:
        """`owners` own the memory."""
        self.ids = ids
        self._owners = owners

    def __len__(self) -> int:
        return self.ids.size

    def __getitem__(self, i: int) -> int | str:
        """One id."""
        if self.ids.width == INTEGER:
            return int(np.int64(word_at(self.ids.words, i)))
        length = int(words.length_of(word_at(self.ids.words, 2 * i)))
        return ctypes.string_at(int(words.address_of(self.ids, i)), length).decode()

    def between(self, start: int, stop: int) -> "Held":
        """The ids from one position up to, but without, another."""
        return Held(words.part(self.ids, start, stop - start), *self._owners)

    @classmethod
    def of(cls, series: pl.Series, *, integers: bool) -> "Held":
        """A column of ids without nulls, as integers or as the text that it holds or stands for."""
        series = series.rechunk()
        if integers:
            values = series.cast(pl.Int64).to_numpy()
            return cls(Ids(values.ctypes.data, len(values), INTEGER, 0), values)
        array = series.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.newest())
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        views, *texts = array.buffers()[1:]
        addresses = np.array([text.address if text else 0 for text in texts], np.int64)
        width = LONG if any(text and text.size for text in texts) else SHORT
        start = views.address + 16 * array.offset if views else 0
        return cls(Ids(start, len(array), width, addresses.ctypes.data), array, addresses)


def compact(rows: pl.DataFrame) -> pl.DataFrame:
    """A copy of a few rows that does not keep the memory of those around them alive."""
    rows = rows[np.arange(rows.height)]
    long = [s.name for s in rows if s.dtype == pl.String and s.null_count() < len(s) and _points_outside(s)]
    return rows.with_columns(pl.Series(name, pl.from_arrow(rows[name].to_arrow())) for name in long) if long else rows


def _points_outside(text: pl.Series) -> bool:
    """Whether a column of text has buffers of longer text, which rows of it share."""
    column = Held.of(text, integers=False)
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
                self._held[integers] = Held.of(self.series, integers=integers)
            return self._held[integers].ids

    def hashed(self, *, integers: bool | None = None) -> tuple[Array, Ids]:
        """The hash of each id (uint64) where they are LONG, and the ids; as integers if they are some by default."""
        integers = self.series.dtype.is_integer() if integers is None else integers
        ids = self.words(integers=integers)
        with self._lock:
            if integers not in self._hashes:
                hashes = words.all_hashes(ids) if ids.width == LONG else np.zeros(0, np.uint64)
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

    def numbers(self, ids: pl.Series) -> Array:
        """The position here of each given id, or -1 (int64)."""
        integers = both_integers(ids, self.series)
        asked = Held.of(ids, integers=integers)
        return np.asarray(words.look_up(self.table(integers=integers), asked.ids))


@dataclass(frozen=True, slots=True)
class Share:
    """Which queries are taken: all, or those of one of several shares of about the same size."""

    number: int = 0
    of: int = 1

    def holds(self, ids: pl.Series) -> Array:
        """Whether each query belongs here (bool); as integers and as text they belong to the same share."""
        if self.of == 1:
            return np.ones(len(ids), bool)
        held = Held.of(ids, integers=False)
        share = (words.all_hashes(held.ids) >> np.uint64(40)) % np.uint64(self.of)
        return np.asarray(share == self.number)


ALL = Share()


def byte_order(ids: pl.Series) -> Array:
    """The order of ids by the bytes of their text (int64).

    >>> byte_order(pl.Series(["b", "a", "ab"])).tolist(), byte_order(pl.Series([9, 10])).tolist()
    ([1, 2, 0], [1, 0])
    """
    text = ids.cast(pl.String).rechunk()
    held = Held.of(text, integers=False)
    if held.ids.width == LONG or not len(held):
        return text.arg_sort().cast(pl.Int64).to_numpy()
    memory = (ctypes.c_uint64 * (2 * len(held))).from_address(held.ids.words)
    views: Array = np.ctypeslib.as_array(memory).reshape(-1, 2)
    first, length = views[:, 0] >> HALF | views[:, 1] << HALF, views[:, 0] & words.LOW_HALF
    leading = first.byteswap()
    order = np.argsort(leading)
    ordered = leading[order]
    if (ordered[1:] == ordered[:-1]).any():  # the bytes behind decide, then the length: what is absent counts as 0
        order = np.lexsort(((views[:, 1] >> HALF << HALF).byteswap() << HALF | length, leading))
    return np.asarray(order)


def list_heads(series: pl.Series) -> Array:
    """Positions where a column of ids changes, and its length (int64)."""
    column = Held.of(series, integers=series.dtype.is_integer())
    return np.asarray(words.heads(column.ids))
