"""The index of judgements: queries in byte order of their ids, each with its judged documents and ideal grades."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks import Notice
from rankmeter.errors import SHOWN, DataError, shortened
from rankmeter.ids import IdColumn, held, kind_of, list_heads
from rankmeter.judgements import Judged, earlier_same, sort_down
from rankmeter.sources.source import Source
from rankmeter.words import LONG, all_hashes

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class QrelsIndex:
    """All judgements, in memory.

    Attributes:
        queries: the judged queries, distinct, in byte order of their text.
        offsets: int64, where each query's judgements begin, and the end.
        documents: the judged document of each judgement.
        grade: float64, its grade.
        ideal: float64, the grades of each query sorted downwards.
        columns: the other columns of the qrels, one row per query.
    """

    queries: IdColumn
    offsets: Array
    documents: IdColumn
    grade: Array
    ideal: Array
    columns: pl.DataFrame

    def __len__(self) -> int:
        return len(self.queries.series)

    def query_text(self) -> pl.Series:
        """The queries as text."""
        return self.queries.series.cast(pl.String).alias("query_id")

    def n_judged(self) -> Array:
        """Judgements per query (int64)."""
        return np.diff(self.offsets)

    def n_relevant(self, level: float) -> Array:
        """Relevant documents per query (int64)."""
        before = np.concatenate([[0], np.cumsum(self.grade >= level)])
        return np.asarray(before[self.offsets[1:]] - before[self.offsets[:-1]])


def build_index(source: Source, *, from_log: bool = False) -> tuple[QrelsIndex, list[Notice]]:
    """Read all judgements and index them.

    Args:
        source: the qrels, or a labelled log.
        from_log: the source is a log: rows without a grade are no judgements, and repeats are no surprise.

    Raises:
        DataError: the judgements break a rule, or there are none.
    """
    frame = source.frame()
    if source.has_lists:
        frame = _flat(frame, source)
    if from_log:
        frame = frame.filter(pl.col("grade").is_not_null())
    if frame.height == 0:
        raise DataError(f"{source.label} holds no judgements (0 rows); nothing can be measured without them")
    queries = _distinct(frame["query_id"])
    order, offsets = _grouped(frame["query_id"], queries)
    if order is not None:
        frame = frame[order]
    keep, notices = _without_repeats(frame, offsets, source, order, quiet=from_log)
    if keep is not None:
        kept = np.concatenate([[0], np.cumsum(keep)])
        frame, offsets = frame.filter(pl.Series(keep)), kept[offsets]
    extra = [name for name in frame.columns if name not in ("query_id", "doc_id", "grade", "score", "rank", "run")]
    grade = frame["grade"].to_numpy()
    index = QrelsIndex(
        IdColumn(queries),
        offsets,
        IdColumn(frame["doc_id"].rechunk()),
        grade,
        sort_down(offsets, grade),
        per_query(frame.select("query_id", *extra), offsets, source.label),
    )
    return index, notices


def _flat(frame: pl.DataFrame, source: Source) -> pl.DataFrame:
    """List columns as one row per judgement."""
    lists = ["doc_ids", "grades"]
    lengths = frame.select(pl.col(lists).list.len())
    unequal = (lengths["doc_ids"] != lengths["grades"]).arg_true()
    if len(unequal):
        row = unequal[0]
        raise DataError(
            f"{source.label} row {row + 1} (query {shortened(frame['query_id'][row])}): doc_ids has "
            f"{lengths['doc_ids'][row]} items, grades has {lengths['grades'][row]}; they must be equally long"
        )
    return (
        frame.filter(pl.col("doc_ids").list.len() > 0).explode(lists).rename({"doc_ids": "doc_id", "grades": "grade"})
    )


def _distinct(query_id: pl.Series) -> pl.Series:
    """The distinct queries in byte order of their text."""
    distinct = query_id[list_heads(query_id)[:-1]].unique()
    return distinct[distinct.cast(pl.String).arg_sort()].rechunk()


def _grouped(query_id: pl.Series, queries: pl.Series) -> tuple[Array | None, Array]:
    """The order that brings each query's rows together (None: they are), and where each query begins."""
    heads = list_heads(query_id)
    numbers = IdColumn(queries).numbers(query_id, heads[:-1])
    if np.all(numbers[1:] > numbers[:-1]):
        return None, heads
    row_numbers = np.repeat(numbers, np.diff(heads))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row_numbers, minlength=len(queries)))])
    return np.argsort(row_numbers, kind="stable"), offsets


def _without_repeats(
    frame: pl.DataFrame, offsets: Array, source: Source, order: Array | None, *, quiet: bool
) -> tuple[Array | None, list[Notice]]:
    """Which judgements to keep (None: all); exact repeats count once.

    Raises:
        DataError: two grades for one query and document.
    """
    kind = kind_of(frame["doc_id"], frame["doc_id"].dtype)
    ids = held(frame["doc_id"], kind)
    hashes = ids.words if kind == LONG else all_hashes(ids)
    hashes.flags.writeable = False
    first = earlier_same(Judged(offsets, hashes, ids))
    repeated = np.flatnonzero(first >= 0)
    if not len(repeated):
        return None, []
    grade = frame["grade"].to_numpy()
    conflicts = repeated[grade[repeated] != grade[first[repeated]]]
    place = _Places(frame, source, order)
    if len(conflicts):
        pairs = [(int(first[j]), int(j)) for j in conflicts[:SHOWN]]
        rule = "the grades differ; keep one judgement for each query and document"
        more = f"\n… and {len(conflicts) - len(pairs)} more" if len(conflicts) > len(pairs) else ""
        raise DataError("\n".join(place.sentence(a, b, rule) for a, b in pairs) + more)
    keep = np.ones(frame.height, bool)
    keep[repeated] = False
    if quiet:
        return keep, []
    examples = tuple(place.sentence(int(first[j]), int(j), "the same grade") for j in repeated[:3])
    message = f"{len(repeated)} repeated judgement{'s' * (len(repeated) != 1)} counted once: {examples[0]}"
    return keep, [Notice("repeated-judgements", message, len(repeated), examples)]


class _Places:
    """Where judgements come from, for messages."""

    def __init__(self, frame: pl.DataFrame, source: Source, order: Array | None) -> None:
        self._frame = frame
        self._source = source
        self._order = order

    def sentence(self, first: int, second: int, rule: str) -> str:
        """Two judgements of one query and document."""
        query_id, doc_id = self._frame["query_id"][first], self._frame["doc_id"][first]
        rows = sorted(int(self._order[j]) if self._order is not None else j for j in (first, second))
        grades = [self._frame["grade"][j] for j in (first, second)]
        label, numbers = rows_of(self._source, rows)
        return (
            f"{label} rows {' and '.join(numbers)}: query {shortened(query_id)} and document {shortened(doc_id)} "
            f"are judged twice (grades {grades[0]:g} and {grades[1]:g}), {rule}"
        )


def rows_of(source: Source, positions: list[int]) -> tuple[str, list[str]]:
    """The file and the row numbers of positions in all rows of a source, found by reading it again."""
    found: list[tuple[str, str]] = []
    start = 0
    for batch in source.batches(1 << 20):
        frame = batch.read()
        lengths = frame["doc_ids"].list.len().to_numpy() if source.has_lists else np.ones(frame.height, np.int64)
        ends = start + np.cumsum(lengths)
        stop = int(ends[-1]) if len(ends) else start
        found += [
            (batch.part.label, str(batch.row(int(np.searchsorted(ends, position, side="right")))))
            for position in positions
            if start <= position < stop
        ]
        start = stop
    labels = list(dict.fromkeys(label for label, _ in found))
    if len(labels) == 1:
        return labels[0], [row for _, row in found]
    return source.label, [f"{row} of {label}" for label, row in found]


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
            raise DataError(two_values(label, name, frame["query_id"][row], series[row - 1], series[row]))
    return heads.drop("query_id")


def two_values(label: str, column: str, query_id: object, one: object, other: object) -> str:
    """The sentence for a segment that is not constant in a query."""
    return (
        f"{label}: column {column} has two values for query {shortened(query_id)}: "
        f'"{shortened(one)}" and "{shortened(other)}"; a segment needs one value per query'
    )
