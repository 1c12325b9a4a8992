"""Column types that Polars cannot hold: it panics on some and calls others damage, so they are refused before."""

from collections.abc import Collection, Iterator
from typing import Any

import polars as pl
import pyarrow as pa

from rankmeter.errors import DataError, shortened

WIDEST = 38
"""Digits of a decimal at most."""

PLAIN_DECIMALS = f"decimals have at most {WIDEST} digits, so cast it to float64, or ids to text"


def refuse_arrow(schema: pa.Schema, label: str, used: Collection[str] | None = None) -> None:
    """Refuse columns of Arrow types that Polars cannot hold.

    Args:
        schema: the columns.
        label: the input, for messages.
        used: the columns that will be read, all by default; the others count where they hinder reading at all.

    Raises:
        DataError: naming the column, its type and what to do.
    """
    for field in schema:
        is_used = used is None or field.name in used
        for kind in _within(field.type):
            remedy = _plain_form(kind) or (PLAIN_DECIMALS if is_used and pa.types.is_decimal256(kind) else "")
            if remedy:
                raise _unreadable(label, field.name, field.type, remedy if is_used else f"{remedy}, or leave it out")


def refuse_polars(kind: pl.DataType, label: str, name: str) -> None:
    """Refuse a column of a type that has a name in Polars and cannot be worked with.

    Raises:
        DataError: naming the column, its type and what to do.
    """
    inner: Any = kind
    while isinstance(inner, (pl.List, pl.Array)):
        inner = inner.inner
    if isinstance(inner, pl.Object):
        raise _unreadable(label, name, kind, "make it text, integers or floats")
    if isinstance(inner, pl.Decimal) and (inner.precision or 0) > WIDEST:
        raise _unreadable(label, name, kind, PLAIN_DECIMALS)


def _unreadable(label: str, name: str, kind: object, remedy: str) -> DataError:
    return DataError(
        f"{label}: column {shortened(name)} has type {shortened(kind)}, which cannot be read; {remedy}", "wrong-type"
    )


def _within(kind: Any) -> Iterator[Any]:
    """A type and those that it is made of."""
    yield kind
    if isinstance(kind, pa.BaseExtensionType):
        yield from _within(kind.storage_type)
    elif pa.types.is_dictionary(kind):
        yield from _within(kind.value_type)
    elif pa.types.is_nested(kind):
        for i in range(kind.num_fields):
            yield from _within(kind.field(i).type)


def _plain_form(kind: Any) -> str:
    """What to do about a type on which Polars gives up whatever columns it is asked for."""
    types = pa.types
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return "cast it to a list type"
    if types.is_run_end_encoded(kind):
        return "decode it to the type of its values"
    if types.is_union(kind) or types.is_interval(kind):
        return "cast it to text or a number"
    if types.is_decimal(kind) and kind.scale < 0:
        return "cast it to float64, or to a decimal whose scale is 0 or more"
    return ""
