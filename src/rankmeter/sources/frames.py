"""Inputs that are Python objects: frames of any library, Arrow streams, dicts of dicts."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

import polars as pl

from rankmeter.errors import DataError, UsageError, shortened
from rankmeter.sources.columns import folded
from rankmeter.sources.tables import FramePart

LARGEST_EXACT = 2**53
"""Integers up to here are the same as float64."""


def part_of(data: Any, label: str, value: str, wanted: Set[str]) -> FramePart:
    """A frame, a stream or a dict as a part; the object is never changed.

    Args:
        data: a Polars, pandas or pyarrow table, anything with `__arrow_c_stream__`, or `{query: {document: value}}`.
        label: what messages call it.
        value: the column that the values of a dict become: `grade` or `score`.
        wanted: folded names of the columns that may be needed; the others are not converted.

    Raises:
        UsageError: the object is none of these.
        DataError: a dict that does not hold dicts.
    """
    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return FramePart(data, label)
    return FramePart(_converted(data, label, value, wanted), label)


def _converted(data: Any, label: str, value: str, wanted: Set[str]) -> pl.DataFrame:
    if isinstance(data, Mapping):
        return _from_dicts(data, label, value)
    try:
        if type(data).__module__.partition(".")[0] == "pandas":
            return pl.DataFrame(pl.from_pandas(data[_kept(data.columns, wanted)]))
        if hasattr(data, "column_names") and hasattr(data, "select"):
            return pl.DataFrame(data.select(_kept(data.column_names, wanted)))
        if hasattr(data, "__arrow_c_stream__"):
            return pl.DataFrame(data)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise DataError(f"{label}: cannot be read as a table: {error}") from error
    raise UsageError(
        f"{label} is a {type(data).__name__}; give a path, a Polars, pandas or Arrow table, or a dict of dicts"
    )


def _kept(names: Iterable[Any], wanted: Set[str]) -> list[Any]:
    return [name for name in names if folded(str(name)) in wanted]


def _from_dicts(data: Mapping[Any, Any], label: str, value: str) -> pl.DataFrame:
    """`{query: {document: value}}` as rows; ids are all text or all integers."""
    query_ids: list[Any] = []
    doc_ids: list[Any] = []
    values: list[Any] = []
    for query_id, documents in data.items():
        if not isinstance(documents, Mapping):
            raise DataError(
                f"{label}: query {query_id!r} has a {type(documents).__name__}, not a dict of document -> {value}"
            )
        query_ids += [query_id] * len(documents)
        doc_ids += documents.keys()
        values += documents.values()
    for query_id, doc_id, number in zip(query_ids, doc_ids, values, strict=True):
        if isinstance(number, int) and not -LARGEST_EXACT <= number <= LARGEST_EXACT and not _is_float64(number):
            raise DataError(
                f"{label}: the {value} {shortened(number)} of query {shortened(query_id)} and document "
                f"{shortened(doc_id)} would change as a float64; use smaller integers, or floats"
            )
    columns = {"query_id": _ids(query_ids), "doc_id": _ids(doc_ids)}
    try:
        columns[value] = pl.Series(values, dtype=None if values else pl.Float64, strict=False)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{label}: the values must be numbers: {error}") from error
    return pl.DataFrame(columns)


def _is_float64(number: int) -> bool:
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _ids(ids: list[Any]) -> pl.Series:
    """Ids of a dict as a column; mixed integers and text become text."""
    if all(type(key) is int for key in ids):
        return pl.Series(ids, dtype=pl.Int64 if all(abs(key) < 2**63 for key in ids) else pl.String, strict=False)
    if all(isinstance(key, str) or type(key) is int for key in ids):
        return pl.Series([str(key) for key in ids], dtype=pl.String)
    return pl.Series(ids, strict=False)
