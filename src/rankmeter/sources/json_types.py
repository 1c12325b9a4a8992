"""Types of JSON values: a reader of columns makes one type of all, so what it changed without a word is looked for."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

LARGEST_EXACT = 2.0**53
"""Integers up to here are the same as float64."""

MADE_TEXT = r"^(?:true|false|[\[{].*|-?[0-9].*)$"
"""What text looks like that can have been made of something else than text and integers."""


class Changed(NamedTuple):
    """A value that would be another one: the line, from 0, its key, the value, and what is wrong."""

    line: int
    key: str
    value: object
    rule: str


def changed(frame: pl.DataFrame, columns: Sequence[str], data: bytes) -> Iterator[Changed]:
    """The values of these columns that the reader changed; lines are read again only where there may be some.

    Args:
        frame: the values as read.
        columns: the columns in use.
        data: what they were read from.
    """
    flat = data.count(b"{") <= frame.height  # so that no key stands in an object inside
    there = [frame[name] for name in columns if name in frame.columns]
    mixed = [
        series for series in there if isinstance(series.dtype, pl.List) and not (flat and _all_lists(series, data))
    ]
    doubtful = [series.name for series in there if _may_be_changed(series) and not (flat and _all_text(series, data))]
    clashing = list(clashes(data.split(b"\n"), [series.name for series in mixed])) if mixed else []
    if clashing or not doubtful:
        yield from clashing
        return
    texts = {name for name in doubtful if _items(frame[name]).dtype == pl.String}
    lists = [name for name in doubtful if isinstance(frame[name].dtype, pl.List)]
    for number, key, value in _values(data.split(b"\n"), doubtful, lists):
        if key in texts and not isinstance(value, str) and (isinstance(value, bool) or not isinstance(value, int)):
            kind = KINDS.get(type(value), "a number")
            yield Changed(number, key, value, f"is {kind} while others are text; write it as text, or all as integers")
        if key not in texts and isinstance(value, int) and float(value) != value:
            yield Changed(number, key, value, "would change as a float64, which other rows need; use smaller integers")


KINDS = {bool: "true or false", dict: "an object", list: "a list", float: "a number with a fraction"}


def clashes(lines: Sequence[bytes], keys: Sequence[str] | None = None) -> Iterator[Changed]:
    """The values whose type does not go with that of the first one under the same key.

    Args:
        lines: the objects.
        keys: the keys that matter, of which it only matters whether their values are lists; None: all, in each respect.
    """
    known: dict[str, str] = {}
    for number, line in enumerate(lines):
        for key, value in _object(line).items():
            if keys is not None and key not in keys:
                continue
            kind = _kind(value) if keys is None else _listed(value)
            if kind and known.setdefault(key, kind) != kind:
                yield Changed(number, key, value, f"is {kind}, while a row before has {known[key]} there")


def _listed(value: object) -> str:
    """Whether a value is a list, in words; nothing for null."""
    return "" if value is None else "a list" if isinstance(value, list) else "no list"


def _kind(value: object) -> str:
    """What a value is, in words; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, list):
        inner = {_kind(item) for item in value} - {""}
        return f"a list of {inner.pop()}" if len(inner) == 1 else "a list"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "a number"
    return "text" if isinstance(value, str) else KINDS[type(value)]


def _may_be_changed(series: pl.Series) -> bool:
    """Whether values can have been something else."""
    items = _items(series)
    if items.dtype == pl.String:
        return bool(items.str.contains(MADE_TEXT).any())
    return bool(items.dtype == pl.Float64 and (items.abs() >= LARGEST_EXACT).any())


def _all_lists(series: pl.Series, data: bytes) -> bool:
    """Whether all values of a column of lists are lists, as far as a quick look tells."""
    rows, key = len(series) - series.null_count(), json.dumps(series.name, ensure_ascii=False).encode()
    return rows in (data.count(key + b":["), data.count(key + b": ["))


def _all_text(series: pl.Series, data: bytes) -> bool:
    """Whether all values, or all items of lists, stand in quotes, as far as a quick look tells."""
    if _items(series).dtype != pl.String:
        return False
    rows, key = len(series) - series.null_count(), json.dumps(series.name, ensure_ascii=False).encode()
    if isinstance(series.dtype, pl.List):
        return len(re.findall(re.escape(key) + TEXTS, data)) == rows
    return rows in (data.count(key + b':"'), data.count(key + b': "'))


TEXTS = rb'\s*:\s*\[\s*(?:"(?:[^"\\]|\\.)*"\s*(?:,\s*"(?:[^"\\]|\\.)*"\s*)*)?\]'
"""A list of texts behind its key."""


def _items(series: pl.Series) -> pl.Series:
    """The values of a column, or of all its lists."""
    while isinstance(series.dtype, pl.List):
        series = series.filter(series.list.len() > 0).explode()
    return series


def _values(lines: Sequence[bytes], keys: Sequence[str], lists: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
    """The values under some keys that are not null, and the lines they stand in; those of `lists` item by item."""
    for number, line in enumerate(lines):
        found = _object(line)
        for key in keys:
            value = found.get(key)
            for item in value if isinstance(value, list) and key in lists else [value]:
                if item is not None:
                    yield number, key, item


def _object(line: bytes) -> dict[str, Any]:
    """The object in a line; an empty one where there is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
