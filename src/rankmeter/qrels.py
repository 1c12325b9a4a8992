"""The index of judgements: queries in byte order of their ids, each with its judged documents and ideal grades."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks import Notice, check_lengths
from rankmeter.conventions import Rules
from rankmeter.errors import SHOWN, DataError, shortened
from rankmeter.ids import ALL, IdColumn, Share, byte_order, list_heads
from rankmeter.judgements import count_reaching, earlier_same, group_rows, sort_down
from rankmeter.parallel import SMALL_ROWS, beside, in_order
from rankmeter.sources.base import Batch
from rankmeter.sources.source import Source

Array = np.ndarray[Any, Any]


READERS = 2
"""Threads that read the judgements, while others begin with the run."""

BATCH_ROWS = 1 << 20
"""Rows that are read at a time."""


NO_LABELS = (np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))


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
        frame, rows, own = _without_own(frame, rows)
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
    places = _Places(found.frame, source, rows)
    frame, keep, notices = settled(found.frame, found.repeat_of, places, rules, quiet=from_log)
    if keep is not None:
        heads = np.concatenate([[0], np.cumsum(keep)])[heads]
        found = _Judgements.of(frame.filter(pl.Series(keep)).rechunk(), heads, level)
    starts, ends, grade = heads[place], heads[place + 1], found.frame["grade"].to_numpy()
    columns, relevant = _columns(found, place, source.label), found.relevant[place]
    counts = (queries, starts, ends, found.documents, grade, found.ideal, ends - starts, relevant, columns)
    index = QrelsIndex(*counts, labels_of(found.frame))
    return index, own + notices


def _without_own(frame: pl.DataFrame, rows: Array | None) -> tuple[pl.DataFrame, Array | None, list[Notice]]:
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
            frame = _flat(frame, batch)
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
        raise DataError(f"{source.label} holds no judgements (0 rows); nothing can be measured without them")
    return frame, None if kept.all() else np.flatnonzero(kept)


LABELS = ("subtopics", "grades of subtopics")
"""Columns that hold, for each judgement, its subtopics and their grades."""


def without_subtopics(
    frame: pl.DataFrame, source: Source, rows: Array | None, rules: Rules
) -> tuple[pl.DataFrame, None, list[Notice]]:
    """One row per judged document, by id, with its highest grade, and the labels in columns of their own."""
    key = ["query_id", "doc_id", "subtopic"]
    frame = frame.with_columns(pl.col("subtopic").cast(pl.String))
    alike = frame.select(pl.struct(key).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    first = np.full(int(alike.max(initial=-1)) + 1, -1, np.int64)
    first[alike[::-1]] = np.arange(frame.height)[::-1]
    repeat_of = np.where(first[alike] == np.arange(frame.height), -1, first[alike])
    frame, keep, notices = settled(frame, repeat_of, _Places(frame, source, rows), rules, quiet=False)
    frame = frame if keep is None else frame.filter(pl.Series(keep))
    numbered = frame.with_columns((pl.col("subtopic").rank("dense").over("query_id") - 1).cast(pl.Int64))
    others = [pl.col(name).first() for name in frame.columns if name not in (*key, "grade")]
    labels = [pl.col("subtopic").alias(LABELS[0]), pl.col("grade").alias(LABELS[1])]
    text = pl.col("doc_id").cast(pl.String)
    by_id = numbered.sort(pl.col("query_id"), text, maintain_order=True)
    grouped = by_id.group_by("query_id", "doc_id", maintain_order=True)
    return grouped.agg(pl.col("grade").max(), *others, *labels).rechunk(), None, notices


def labels_of(frame: pl.DataFrame) -> tuple[Array, Array, Array]:
    """The labels of judgements, as `QrelsIndex` has them."""
    if LABELS[0] not in frame.columns:
        return NO_LABELS
    starts = np.concatenate([[0], np.cumsum(frame[LABELS[0]].list.len().to_numpy())]).astype(np.int64)
    label, grade = (frame[name].explode().to_numpy() for name in LABELS)
    return starts, label, grade


def rechunked(columns: list[pl.Series]) -> pl.DataFrame:
    """A frame of these columns, each in one piece; the list is emptied, so that few are ever there twice."""

    def taken() -> Iterator[pl.Series]:
        while columns:
            yield columns.pop(0)

    return pl.DataFrame(list(in_order(READERS, taken(), lambda column: column.rechunk())))


def _columns(found: _Judgements, place: Array, label: str) -> pl.DataFrame:
    """The other columns of the qrels, one row per query."""
    known = ("query_id", "doc_id", "grade", "score", "rank", "run", *LABELS)
    extra = [name for name in found.frame.columns if name not in known]
    return per_query(found.frame.select("query_id", *extra), found.heads, label)[place] if extra else pl.DataFrame()


def _flat(frame: pl.DataFrame, batch: Batch) -> pl.DataFrame:
    """List columns as one row per judgement."""
    check_lengths(frame, batch)
    held = frame.filter(pl.col("doc_ids").list.len() > 0)
    return held.explode("doc_ids", "grades").rename({"doc_ids": "doc_id", "grades": "grade"})


def settled(
    frame: pl.DataFrame, first: Array, place: "_Places", rules: Rules, *, quiet: bool
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
        raise _conflict([(int(first[j]), int(j)) for j in conflicts[:SHOWN]], len(conflicts), place)
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


def _conflict(pairs: list[tuple[int, int]], count: int, place: "_Places") -> DataError:
    """The error for judgements that contradict each other."""
    rule = "the grades differ; keep one judgement for each query and document, or choose with --qrels-conflicts"
    more = f"\n… and {count - len(pairs)} more" if count > len(pairs) else ""
    return DataError("\n".join(place.sentence(a, b, rule) for a, b in pairs) + more)


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


class _Places:
    """Where judgements come from, for messages: `rows` has the row of each in the source (None: they are all rows)."""

    def __init__(self, frame: pl.DataFrame, source: Source, rows: Array | None) -> None:
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
