"""The index of judgements: queries in byte order of their ids, each with its judged documents and ideal grades."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.tally import Notice
from rankmeter.conflicts import Places, per_query, settled, without_own_judgements
from rankmeter.conventions import Rules
from rankmeter.errors import DataError
from rankmeter.ids import ALL, IdColumn, Share, byte_order, list_heads
from rankmeter.judgements import count_reaching, earlier_same, group_rows, sort_down
from rankmeter.parallel import SMALL_ROWS, beside, in_order
from rankmeter.sources.base import Batch
from rankmeter.sources.source import Source
from rankmeter.subtopics import LABELS, NO_LABELS, labels_of, without_subtopics

Array = np.ndarray[Any, Any]


READERS = 2
"""Threads that read the judgements, while others begin with the run."""

BATCH_ROWS = 1 << 20
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class QrelsIndex:
    """All judgements, in memory; those of one query stand together.

    Attributes:
        queries: the judged queries, distinct, in byte order of their text.
        starts: int64, where each query's judgements begin.
        ends: int64, where they end.
        documents: the judged document of each judgement.
        grade: float64, its grade.
        ideal: float64, the grades of each query sorted downwards.
        n_judged: int64, judgements per query.
        n_relevant: int64, relevant documents per query.
        columns: the other columns of the qrels, one row per query.
        labels: where the labels of each judgement begin, and the end (int64), the subtopic of each (int64, from 0 in
            each query), and its grade (float64); empty where judgements are not for subtopics.
    """

    queries: IdColumn
    starts: Array
    ends: Array
    documents: IdColumn
    grade: Array
    ideal: Array
    n_judged: Array
    n_relevant: Array
    columns: pl.DataFrame
    labels: tuple[Array, Array, Array] = NO_LABELS

    def __len__(self) -> int:
        return len(self.queries.series)

    def query_text(self) -> pl.Series:
        """The queries as text."""
        return self.queries.series.cast(pl.String).alias("query_id")


@dataclass(frozen=True, slots=True)
class _Judgements:
    """The judgements of queries whose rows stand together.

    Attributes:
        frame: their rows.
        heads: int64, where those of each query begin, and the end.
        documents: the judged documents.
        repeat_of: int64, the first judgement of the same query and document, or -1.
        ideal: float64, the grades of each query sorted downwards.
        relevant: int64, relevant documents per query.
    """

    frame: pl.DataFrame
    heads: Array
    documents: IdColumn
    repeat_of: Array
    ideal: Array
    relevant: Array

    @classmethod
    def of(cls, frame: pl.DataFrame, heads: Array, level: float) -> "_Judgements":
        """What is made of the rows, given the grade from which a document is relevant."""
        documents, grade = IdColumn(frame["doc_id"]), frame["grade"].to_numpy()
        return cls(
            frame,
            heads,
            documents,
            earlier_same(heads, *documents.hashed()),
            sort_down(heads, grade),
            count_reaching(heads, grade, level),
        )


def build_index(
    source: Source, rules: Rules, *, from_log: bool = False, share: Share = ALL
) -> tuple[QrelsIndex, list[Notice]]:
    """Read judgements and index them.

    Args:
        source: the qrels, or a labelled log.
        rules: the rules in force.
        share: whose judgements are taken.
        from_log: the source is a log: rows without a grade are no judgements, and repeats are no surprise.

    Raises:
        DataError: the judgements break a rule, or there are none.
    """
    level = rules.relevance_level
    frame, rows = _rows(source, share, from_log=from_log)
    own: list[Notice] = []
    if rules.ignore_self:
        frame, rows, own = without_own_judgements(frame, rows)
    if "subtopic" in frame.columns:
        frame, rows, more = without_subtopics(frame, source, rows, rules)
        own += more
    heads = list_heads(frame["query_id"])
    with beside(lambda: _Judgements.of(frame, heads, level), small=frame.height <= SMALL_ROWS) as begun:
        queries, place, numbers = _queries(frame["query_id"][heads[:-1]])
        found = begun.result()
    if len(numbers) > len(queries.series):  # the rows of some query do not stand together
        order, heads = group_rows(numbers, heads, len(queries.series))
        rows = order if rows is None else rows[order]
        place = np.arange(len(queries.series))
        found = _Judgements.of(frame[order].rechunk(), heads, level)
    places = Places(found.frame, source, rows)
    frame, keep, notices = settled(found.frame, found.repeat_of, places, rules, quiet=from_log)
    if keep is not None:
        heads = np.concatenate([[0], np.cumsum(keep)])[heads]
        found = _Judgements.of(frame.filter(pl.Series(keep)).rechunk(), heads, level)
    starts, ends, grade = heads[place], heads[place + 1], found.frame["grade"].to_numpy()
    columns, relevant = _columns(found, place, source.label), found.relevant[place]
    counts = (queries, starts, ends, found.documents, grade, found.ideal, ends - starts, relevant, columns)
    index = QrelsIndex(*counts, labels_of(found.frame))
    return index, own + notices


def _queries(named: pl.Series) -> tuple[IdColumn, Array, Array]:
    """Distinct queries in byte order of their text, where each stands among the named ones, and the numbers of these.

    The place of a query that is named more than once means nothing.
    """
    place = byte_order(named)
    ordered = named[place]
    first = list_heads(ordered)
    numbers = np.empty(len(named), np.int64)
    numbers[place] = np.repeat(np.arange(len(first) - 1), np.diff(first))
    queries = IdColumn(ordered if len(first) > len(named) else ordered[first[:-1]])
    queries.table(integers=named.dtype.is_integer())  # which every batch asks for
    return queries, place, numbers


def _rows(source: Source, share: Share, *, from_log: bool) -> tuple[pl.DataFrame, Array | None]:
    """The judgements of a share, and which rows of the source they are (None: all)."""

    def read(batch: Batch) -> tuple[pl.DataFrame, Array]:
        frame = batch.read()
        if source.has_lists:
            frame = flat_judgements(frame)
        kept = share.holds(frame["query_id"])
        if from_log:
            kept &= frame["grade"].is_not_null().to_numpy()
        return frame if kept.all() else frame.filter(pl.Series(kept)), kept

    pieces = list(in_order(READERS, source.batches(BATCH_ROWS), read))
    kept = np.concatenate([np.zeros(0, bool), *(kept for _, kept in pieces)])
    frames = [frame for frame, _ in pieces] or [source.no_rows()]
    del pieces
    columns = pl.concat(frames, how="vertical_relaxed").get_columns()
    del frames
    frame = rechunked(columns)
    if frame.height == 0 and share.of == 1:
        raise DataError(
            f"{source.label} holds no judgements (0 rows); nothing can be measured without them", "no-judgements"
        )
    return frame, None if kept.all() else np.flatnonzero(kept)


def rechunked(columns: list[pl.Series]) -> pl.DataFrame:
    """A frame of these columns, each in one piece; the list is emptied, so that few are ever there twice."""

    def taken() -> Iterator[pl.Series]:
        while columns:
            yield columns.pop(0)

    threads = 1 if len(columns[0]) <= SMALL_ROWS else READERS
    return pl.DataFrame(list(in_order(threads, taken(), lambda column: column.rechunk())))


def _columns(found: _Judgements, place: Array, label: str) -> pl.DataFrame:
    """The other columns of the qrels, one row per query."""
    known = ("query_id", "doc_id", "grade", "score", "rank", "run", *LABELS)
    extra = [name for name in found.frame.columns if name not in known]
    return per_query(found.frame.select("query_id", *extra), found.heads, label)[place] if extra else pl.DataFrame()


def flat_judgements(frame: pl.DataFrame) -> pl.DataFrame:
    """List columns as one row per judgement."""
    held = frame.filter(pl.col("doc_ids").list.len() > 0)
    return held.explode("doc_ids", "grades").rename({"doc_ids": "doc_id", "grades": "grade"})
