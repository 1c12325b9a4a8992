"""Inputs that are Python objects: frames of any library, Arrow streams, dicts of dicts."""

import contextlib
from collections.abc import Iterable, Mapping, Set
from typing import Any

import polars as pl
import pyarrow as pa

from rankmeter.errors import DataError, UsageError, shortened
from rankmeter.sources.columns import folded
from rankmeter.sources.dicts import from_dicts
from rankmeter.sources.held import refuse_arrow
from rankmeter.sources.tables import FramePart, foreign

UNREADABLE = "cannot be read as a table"
PLAIN = "give ids as text or integers, scores, ranks and grades as numbers, and lists as lists of one of these"
KINDS_SHOWN = 4


def part_of(data: Any, label: str, value: str, wanted: Set[str]) -> FramePart:
    """A frame, a stream or a dict as a part; the object is never changed.

    Args:
        data: a Polars, pandas or pyarrow table, anything with `__arrow_c_stream__`, or `{query: {document: value}}`.
        label: what messages call it.
        value: the column that the values of a dict become: `grade` or `score`.
        wanted: folded names of the columns that may be needed; the others are not converted.

    Raises:
        UsageError: the object is none of these.
        DataError: a dict that does not hold dicts, or a table that cannot be converted.
    """
    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return FramePart(data, label)
    if isinstance(data, Mapping):
        return FramePart(from_dicts(data, label, value), label)
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        return _from_pandas(data, label, wanted)
    if isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return _from_pyarrow(data, label, wanted)
    if hasattr(data, "__arrow_c_stream__"):
        return _from_stream(data, label)
    raise UsageError(
        f"{label} is an object of type {type(data).__name__}; "
        "give a path, a Polars, pandas or Arrow table, or a dict of dicts"
    )


def _kept(names: Iterable[Any], label: str, wanted: Set[str]) -> list[Any]:
    """The names of columns that may be needed, each of which must be there once."""
    kept: dict[str, Any] = {}
    for name in names:
        if folded(str(name)) in wanted:
            if str(name) in kept:
                raise DataError(
                    f'{label} has two columns called "{shortened(name)}"; give each a name of its own', "two-columns"
                )
            kept[str(name)] = name
    return list(kept.values())


def _from_pyarrow(data: Any, label: str, wanted: Set[str]) -> FramePart:
    with foreign(label, UNREADABLE):
        table = data.read_all() if isinstance(data, pa.RecordBatchReader) else data
    table, names = table.select(_kept(table.schema.names, label, wanted)), table.schema.names
    refuse_arrow(table.schema, label)
    with foreign(label, UNREADABLE):
        return FramePart(pl.DataFrame(table), label, names)


def _from_stream(data: Any, label: str) -> FramePart:
    try:
        with foreign(label, UNREADABLE):
            return FramePart(pl.DataFrame(data), label)
    except DataError:
        refuse_arrow(_schema_of(data), label)  # names the column, where that is the reason
        raise


def _schema_of(data: Any) -> pa.Schema:
    """The columns of a stream; none if it has been read and does not begin anew."""
    with contextlib.suppress(Exception):
        return pa.RecordBatchReader.from_stream(data).schema
    return pa.schema([])


def _from_pandas(data: Any, label: str, wanted: Set[str]) -> FramePart:
    table = data[_kept(data.columns, label, wanted)]
    arrow = {str(name): kind.pyarrow_dtype for name, kind in table.dtypes.items() if hasattr(kind, "pyarrow_dtype")}
    refuse_arrow(pa.schema(arrow.items()), label)
    names = [str(name) for name in data.columns]
    try:
        with foreign(label, UNREADABLE):
            return FramePart(pl.DataFrame(pl.from_pandas(table)), label, names)
    except DataError:
        for name in table.columns:
            _convert_alone(table[[name]], label)
        raise


def _convert_alone(column: Any, label: str) -> None:
    """Refuse one column of pandas if it is the one that cannot be converted."""
    name = column.columns[0]
    held = f"pandas type {column.dtypes.iloc[0]}{_held(column[name])}"
    with foreign(label, f"column {shortened(name)} ({held}) cannot be read", PLAIN):
        pl.from_pandas(column)


def _held(column: Any) -> str:
    """The Python types in a column of objects."""
    if column.dtype != object:
        return ""
    kinds = sorted({_kind(value) for value in column if value is not None})
    more = " and others" if len(kinds) > KINDS_SHOWN else ""
    return f", holds {', '.join(kinds[:KINDS_SHOWN])}{more}"


def _kind(value: Any) -> str:
    inner = getattr(value, "dtype", None)
    return type(value).__name__ if inner is None else f"{type(value).__name__} of {inner}"
