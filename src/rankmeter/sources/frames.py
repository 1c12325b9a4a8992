"""Inputs that are Python objects: frames of any library, Arrow streams, dicts of dicts."""

from collections.abc import Iterable, Mapping, Set
from numbers import Integral
from typing import Any

import polars as pl

from rankmeter.checks import INEXACT
from rankmeter.errors import DataError, UsageError, shortened
from rankmeter.sources.columns import folded
from rankmeter.sources.tables import FramePart


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
    kinds = set(map(type, values))
    whole = {kind for kind in kinds if issubclass(kind, Integral) and not issubclass(kind, bool)}
    wrong = {bool} & kinds if value == "score" else set()
    if whole or wrong:  # a column of all values rounds integers beside floats, and casts booleans
        _check_values(data, f"{label}: the {value}", whole, wrong)
        values = [float(number) if type(number) in whole else number for number in values]
    columns = {"query_id": _ids(query_ids), "doc_id": _ids(doc_ids)}
    try:
        columns[value] = pl.Series(values, dtype=None if values else pl.Float64, strict=False)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{label}: the values must be numbers: {error}") from error
    return pl.DataFrame(columns)


def _check_values(
    data: Mapping[Any, Mapping[Any, Any]], place: str, whole: Set[type[Any]], wrong: Set[type[Any]]
) -> None:
    """Refuse integers that are no float64, and values of wrong types.

    Args:
        data: `{query: {document: value}}`.
        place: the input and what its values are, for messages.
        whole: the types that are integers.
        wrong: the types that are no numbers.
    """
    for query_id, documents in data.items():
        for doc_id, number in documents.items():
            if type(number) in whole and not _is_exact(int(number)):
                rule = INEXACT
            elif type(number) in wrong:
                rule = "is no number; convert it"
            else:
                continue
            document = f"query {shortened(query_id)} and document {shortened(doc_id)}"
            raise DataError(f"{place} {shortened(number)} of {document} {rule}")


def _is_exact(number: int) -> bool:
    """Whether an integer is also a float64."""
    try:
        return float(number) == number
    except OverflowError:
        return False


def _ids(ids: list[Any]) -> pl.Series:
    """Ids of a dict as a column; mixed integers and text become text."""
    if all(type(key) is int for key in ids):
        return pl.Series(ids, dtype=pl.Int64 if all(abs(key) < 2**63 for key in ids) else pl.String, strict=False)
    if all(isinstance(key, str) or type(key) is int for key in ids):
        return pl.Series([str(key) for key in ids], dtype=pl.String)
    return pl.Series(ids, strict=False)
