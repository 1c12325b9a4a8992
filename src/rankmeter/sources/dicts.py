"""Inputs that are dicts of dicts, as rows."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl

from rankmeter.arguments import shown
from rankmeter.checks.rows import INEXACT
from rankmeter.errors import DataError, shortened

NO_NUMBER = "is no number; convert it"


def from_dicts(data: Mapping[Any, Any], label: str, value: str) -> pl.DataFrame:
    """`{query: {document: value}}` as rows; ids are all text or all integers.

    Args:
        data: the dicts.
        label: the input, for messages.
        value: the column of the values: `grade` or `score`.

    Raises:
        DataError: naming the query, the document and the rule.
    """
    query_ids: list[Any] = []
    doc_ids: list[Any] = []
    values: list[Any] = []
    _check_ids(data, f"{label}: the query id")
    for query_id, documents in data.items():
        if not isinstance(documents, Mapping):
            raise DataError(
                f"{label}: query {query_id!r} has a {type(documents).__name__}, not a dict of document -> {value}",
                "unreadable-object",
            )
        _check_ids(documents, f"{label}, query {shortened(query_id)}: the document id")
        query_ids += [query_id] * len(documents)
        doc_ids += documents.keys()
        values += documents.values()
    if not set(map(type, values)) <= {float, type(None)}:
        values = list(_numbers(data, label, value))
    columns = {"query_id": _column(query_ids, label), "doc_id": _column(doc_ids, label)}
    return pl.DataFrame({**columns, value: pl.Series(values, dtype=pl.Float64)})


def _is_id(kind: type[Any]) -> bool:
    return issubclass(kind, (str, Integral)) and not issubclass(kind, bool)


def _text(key: Any) -> Any:
    return key if isinstance(key, str) else str(int(key))


def _check_ids(keys: Iterable[Any], place: str) -> None:
    """Refuse keys of a dict that are no ids, and two that are the same id: an integer is read as its decimal text."""
    kinds = set(map(type, keys))
    if kinds <= {str} or kinds <= {int}:
        return
    known: dict[str, Any] = {}
    for key in keys:
        if not _is_id(type(key)):
            raise DataError(
                f"{place} {shortened(repr(key))} has type {type(key).__name__}; ids are text or integers, so convert "
                "it",
                "unreadable-object",
            )
        other = known.setdefault(_text(key), key)
        if other is not key:
            raise DataError(
                f"{place}s {shortened(repr(other))} and {shortened(repr(key))} are the same, since an integer is read "
                "as its decimal text; put them together under one key",
                "unreadable-object",
            )


def _column(ids: list[Any], label: str) -> pl.Series:
    """Ids as a column: int64 where they fit, else text; mixed integers and text become text."""
    kinds = set(map(type, ids))
    if not any(issubclass(kind, str) for kind in kinds):
        integers = list(map(int, ids))
        if all(-(2**63) <= number < 2**63 for number in integers):
            return pl.Series(integers, dtype=pl.Int64)
    try:
        return pl.Series(ids if kinds == {str} else list(map(_text, ids)), dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError(
            f'{label}: the id "{shortened(error.object)}" is no valid Unicode text (it holds half of a character); '
            "mend it where it was decoded",
            "unreadable-object",
        ) from error


def _numbers(data: Mapping[Any, Mapping[Any, Any]], label: str, value: str) -> Iterable[float | None]:
    """The values as float64, none of them an integer that this changes."""
    for query_id, documents in data.items():
        for doc_id, number in documents.items():
            rule = _wrong(number, flags=value == "grade")
            if rule:
                document = f"query {shortened(query_id)} and document {shortened(doc_id)}"
                raise DataError(f"{label}: the {value} {shown(number)} of {document} {rule}", "unreadable-object")
            yield None if number is None else float(number)


def _wrong(number: Any, *, flags: bool) -> str:
    """The rule that a value breaks, if it does; `flags` says whether True and False are numbers."""
    if number is None or isinstance(number, float):
        return ""
    if isinstance(number, (bool, np.bool_)):
        return "" if flags else NO_NUMBER
    if not isinstance(number, (Real, Decimal)):
        return NO_NUMBER
    try:
        return INEXACT if isinstance(number, Integral) and int(float(number)) != int(number) else ""
    except OverflowError:
        return INEXACT
    except ValueError:  # a signalling NaN
        return NO_NUMBER
