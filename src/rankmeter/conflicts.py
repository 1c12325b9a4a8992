"""What contradicts: two grades for one document, two segments for one query; and judgements that are no news."""

from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.repeats import CONFLICT
from rankmeter.checks.tally import Notice
from rankmeter.conventions import Rules
from rankmeter.errors import DataError, RefusedRowsError, shortened
from rankmeter.sources.source import Source

Array = np.ndarray[Any, Any]


def settled(
    frame: pl.DataFrame, first: Array, place: "Places", rules: Rules, *, quiet: bool
) -> tuple[pl.DataFrame, Array | None, list[Notice]]:
    """The judgements, which of them to keep (None: all), and warnings; exact repeats count once.

    Args:
        frame: the judgements.
        first: int64, for each the first one of the same query and document, or -1.
        place: where they come from.
        rules: the rules in force.
        quiet: exact repeats are no surprise.

    Raises:
        DataError: two grades for one query and document, where no rule says which one counts.
    """
    repeated = np.flatnonzero(first >= 0)
    if not len(repeated):
        return frame, None, []
    grade = frame["grade"].to_numpy()
    conflicts = repeated[grade[repeated] != grade[first[repeated]]]
    if len(conflicts) and rules.qrels_conflicts == "error":
        raise RefusedRowsError(f"{place.label}: {len(conflicts)} {CONFLICT}", "conflicting-grades")
    keep = np.ones(len(first), bool)
    keep[repeated] = False
    notices = []
    if len(conflicts):
        frame = frame.with_columns(pl.Series("grade", _settled(grade, first, repeated, rules.qrels_conflicts)))
        told = tuple(place.sentence(int(first[j]), int(j), f"the {RULE[rules.qrels_conflicts]}") for j in conflicts[:3])
        notices.append(judgement_notice("conflicting-judgements", len(conflicts), told))
    same = np.setdiff1d(repeated, conflicts, assume_unique=True)
    if len(same) and not quiet:
        told = tuple(place.sentence(int(first[j]), int(j), "the same grade") for j in same[:3])
        notices.append(judgement_notice("repeated-judgements", len(same), told))
    return frame, keep, notices


RULE = {"max": "higher one counts", "last": "last one counts"}
"""What becomes of two grades."""


def _settled(grade: Array, first: Array, repeated: Array, rule: str) -> Array:
    """The grades, of which the first ones of repeated judgements are the highest or the last of all that there are."""
    out = grade.copy()
    if rule == "max":
        np.maximum.at(out, first[repeated], grade[repeated])
    else:
        out[first[repeated]] = grade[repeated]  # in the order given, so that the last one stays
    return out


ABOUT_JUDGEMENTS = {
    "repeated-judgements": "repeated judgement{s} counted once",
    "conflicting-judgements": "conflicting judgement{s} settled",
    "own-judgements": "judgement{s} of the query itself left out",
}
"""Warnings of judgements: code -> what stands behind their number."""


def judgement_notice(code: str, count: int, examples: tuple[str, ...]) -> Notice:
    """A warning of so many judgements."""
    what = ABOUT_JUDGEMENTS[code].replace("{s}", "s" * (count != 1))
    return Notice(code, f"{count} {what}: {examples[0]}", count, examples)


class Places:
    """Where judgements come from, for messages: `rows` has the row of each in the source (None: they are all rows).

    Attributes:
        label: the source.
    """

    def __init__(self, frame: pl.DataFrame, source: Source, rows: Array | None) -> None:
        self.label = source.label
        self._frame = frame
        self._source = source
        self._rows = rows

    def sentence(self, first: int, second: int, rule: str) -> str:
        """Two judgements of one query and document."""
        query_id, doc_id = self._frame["query_id"][first], self._frame["doc_id"][first]
        rows = sorted(int(self._rows[j]) if self._rows is not None else j for j in (first, second))
        grades = [self._frame["grade"][j] for j in (first, second)]
        label, numbers = self._source.rows_at(rows)
        return (
            f"{label} rows {' and '.join(numbers)}: query {shortened(query_id)} and document {shortened(doc_id)} "
            f"are judged twice (grades {grades[0]:g} and {grades[1]:g}), {rule}"
        )


def without_own_judgements(frame: pl.DataFrame, rows: Array | None) -> tuple[pl.DataFrame, Array | None, list[Notice]]:
    """The judgements whose document is not the query itself, and a warning of the others."""
    own = is_own(frame["query_id"], frame["doc_id"])
    if not own.any():
        return frame, rows, []
    kept = ~own
    rows = np.flatnonzero(kept) if rows is None else rows[kept.to_numpy()]
    examples = tuple(shortened(name) for name in frame["query_id"].filter(own).cast(pl.String).head(3))
    return frame.filter(kept).rechunk(), rows, [judgement_notice("own-judgements", int(own.sum()), examples)]


def is_own(query_id: pl.Series, doc_id: pl.Series) -> pl.Series:
    """In which rows the document is the query (bool)."""
    same = query_id.dtype == doc_id.dtype
    return query_id == doc_id if same else query_id.cast(pl.String) == doc_id.cast(pl.String)


def per_query(frame: pl.DataFrame, offsets: Array, label: str) -> pl.DataFrame:
    """The columns of grouped rows as one row per query.

    Raises:
        DataError: a column has two values in one query.
    """
    heads = frame[offsets[:-1]]
    for name in frame.columns[1:]:
        series = frame[name]
        changed = series.ne_missing(series.shift(1)).to_numpy().copy()
        changed[offsets[:-1]] = False
        if changed.any():
            row = int(np.flatnonzero(changed)[0])
            raise DataError(
                two_values(label, name, frame["query_id"][row], series[row - 1], series[row]), "two-segments"
            )
    return heads.drop("query_id")


def two_values(label: str, column: str, query_id: object, one: object, other: object) -> str:
    """The sentence for a segment that is not constant in a query."""
    return (
        f"{label}: column {column} has two values for query {shortened(query_id)}: "
        f'"{shortened(one)}" and "{shortened(other)}"; a segment needs one value per query'
    )
