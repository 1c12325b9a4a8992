"""One pass over a run: batches are read and evaluated by a few threads, in memory that does not grow with the run.

Rows of a query that stand together are a list. The first and the last query of each batch may go on in its
neighbours, so they are set aside and evaluated at the end; batches need no order. Where the rows of a query turn out to
be scattered, the pass is given up and `rankmeter.scattered` takes over.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np
import polars as pl

from rankmeter.adjust import adjusted, without_own, without_repeats
from rankmeter.checks.repeats import repeated_document
from rankmeter.checks.tally import Notice, Tally
from rankmeter.conflicts import per_query
from rankmeter.conventions import Rules
from rankmeter.errors import RefusedRowsError
from rankmeter.ids import Share, compact, list_heads
from rankmeter.limits import Budget
from rankmeter.parallel import in_order
from rankmeter.qrels import QrelsIndex
from rankmeter.ranking import Matcher, Order, RankedLists, Repeat, contradictions, flat_lists, nested_lists
from rankmeter.request import Resources
from rankmeter.segments import Segments
from rankmeter.sources.base import Batch
from rankmeter.sources.source import Source
from rankmeter.store import ScatteredRows, Store, selected

Array = np.ndarray[Any, Any]

SAMPLE = 1 << 14
"""Rows of a batch that are looked at first."""

BORDER_ROWS = 1 << 18
"""Rows from which lists at the borders of batches are evaluated, so that they do not pile up."""


class Progress(Protocol):
    """What is told about work that takes long."""

    def start(self, rows: int | None, size: int) -> None:
        """A run of so many rows (None: unknown) and bytes begins."""

    def advance(self, rows: int, queries: int) -> None:
        """So many more rows and queries are done."""

    def finish(self) -> None:
        """The run is done."""


class Silent:
    """Tells nobody."""

    def start(self, rows: int | None, size: int) -> None:
        """Nothing."""

    def advance(self, rows: int, queries: int) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Within:
    """Tells of the progress of one run among several that go on at once."""

    whole: Progress

    def start(self, rows: int | None, size: int) -> None:
        """The whole has begun already."""

    def advance(self, rows: int, queries: int) -> None:
        """So many more rows and queries are done."""
        self.whole.advance(rows, queries)

    def finish(self) -> None:
        """The whole goes on."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is made of the judgements and the queries table before lists can be matched."""

    index: QrelsIndex
    matcher: Matcher
    segments: Segments
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What all passes share.

    Attributes:
        judgements: what messages call the qrels.
        prepared: what lists are matched with; the first batches are read while it is made.
        share: the queries that are taken now.
        rules: the rules in force.
        resources: threads and batch size.
        budget: the memory that may be used.
        progress: who is told.
    """

    judgements: str
    prepared: Future[Prepared]
    share: Share
    rules: Rules
    resources: Resources
    budget: Budget
    progress: Progress

    @property
    def index(self) -> QrelsIndex:
        """The judgements, as soon as they are indexed."""
        return self.prepared.result().index

    @property
    def threads(self) -> int:
        """Workers: one more than there are cores, since each waits for memory now and then."""
        return self.budget.threads(self.resources.threads or (os.cpu_count() or 1) + 1)

    @property
    def batch_rows(self) -> int:
        """Rows of a batch."""
        return self.resources.batch_rows or self.budget.batch_rows(self.threads)


@dataclass(slots=True)
class Pass:
    """One attempt to evaluate an input.

    Attributes:
        source: the run, or table of runs.
        name: the run where no column names it.
        order: what orders its lists.
        store: where the values go.
        work: what all passes share.
        tallies: run -> what was counted in it.
        notes: what was counted in the input as a whole.
        left: batches, by number, that had been read when their rows turned out to be scattered.
        infinite: whether a batch held infinite scores.
    """

    source: Source
    name: str
    order: Order
    store: Store
    work: Work
    tallies: dict[str, Tally] = field(default_factory=dict)
    notes: Tally = field(default_factory=Tally)
    left: dict[int, Batch] = field(default_factory=dict)
    infinite: bool = False

    def noted(self, frame: pl.DataFrame, batch: Batch) -> pl.DataFrame:
        """The rows of a batch, with note taken of odd tags and scores."""
        self.infinite |= not batch.infinite.isdisjoint(("score", "scores"))
        if "tag" in frame.columns:
            others = frame["tag"] != self.source.first_tag
            self.notes.add("mixed-tags", int(others.sum()), smallest(frame["tag"].filter(others)))
            frame = frame.drop("tag")
        if (undefined := sum(batch.undefined)) > 0:
            self.notes.add("nan-scores", undefined)
        if self.work.rules.ignore_self:
            frame, own = without_own(frame)
            self._count_rows(own, "rows_own")
        return frame

    def lists(self, frame: pl.DataFrame) -> RankedLists:
        """The rows of a batch as lists."""
        if self.source.has_lists:
            return nested_lists(frame, self.order)
        return self.flat(frame)

    def flat(self, frame: pl.DataFrame) -> RankedLists:
        """Rows of one document each as lists; segments are the same in all rows of a list."""
        lists = flat_lists(frame, self.order)
        self.check_segments(frame, lists)
        return lists

    def check_segments(self, frame: pl.DataFrame, lists: RankedLists) -> None:
        """Refuse a segment that changes within a list.

        Raises:
            DataError: naming the query and both values.
        """
        names = [name for name in lists.heads.columns if name != "run"]
        if names:
            query_id = lists.query_id[np.repeat(np.arange(len(lists)), np.diff(lists.offsets))]
            per_query(frame.select(query_id, *names), lists.offsets, self.source.label)

    def evaluate(self, lists: RankedLists, query: Array | None = None) -> None:
        """Match lists, compute their measures and keep them; `query` where the numbers of their queries are known."""
        if query is None:
            query = self.work.index.queries.numbers(lists.query_id)
        runs = list(runs_of(self.name, lists))
        if self.work.share.of > 1:
            here = self.work.share.holds(lists.query_id)
            runs = [(run, chosen & here) for run, chosen in runs]
        for run, chosen in runs:
            self.store.claim(run, query if chosen.all() else query[chosen])
        rules, matcher = self.work.rules, self.work.prepared.result().matcher
        self._note_infinite(lists, query)
        odd, left_out = contradictions(lists, query), {}
        lengths = np.diff(lists.offsets)
        hits, repeat, own = matcher.hits(lists, query)
        if repeat is not None and rules.duplicates == "error":
            raise self._repeated(lists, repeat)
        if repeat is not None:
            lists, left_out["rows_repeated"] = without_repeats(lists)
            hits, _, own = matcher.hits(lists, query)
        judged = np.diff(hits.offsets)
        hits, more = adjusted(hits, lists, rules)
        for run, chosen in runs:
            self._count(run, lists.query_id, lengths, chosen, query, {"query-is-document": own > 0, **odd})
            self.tally(run).add("judged-results", int(judged[chosen].sum()))
            self._count_left_out(run, chosen & (query >= 0), left_out | more)
            self.store.add(run, selected(hits, chosen))
        self.work.prepared.result().segments.add(query, lists.heads, self.source.label)

    def _note_infinite(self, lists: RankedLists, query: Array) -> None:
        """Take note of judged queries with infinite scores."""
        if self.infinite and self.order.column == "score":
            rows = np.flatnonzero(np.isinf(lists.key))
            found = np.unique(np.searchsorted(lists.offsets, rows, side="right") - 1)
            names = lists.query_id[found[query[found] >= 0]].cast(pl.String)
            self.notes.distinct("infinite-score", names.hash().to_numpy(), smallest(names))

    def tally(self, run: str) -> Tally:
        """What was counted in a run."""
        self.store.run(run)
        return self.tallies.setdefault(run, Tally())

    def _count_left_out(self, run: str, chosen: Array, left_out: Mapping[str, Array]) -> None:
        """Account for rows that rules leave out (reason -> how many of each list)."""
        for reason, counts in left_out.items():
            self.tally(run).add(reason, int(counts[chosen].sum()))

    def _count(
        self, run: str, names: pl.Series, lengths: Array, chosen: Array, query: Array, odd: Mapping[str, Array]
    ) -> None:
        """Account for every row of a run's lists, and for the odd ones among them (code -> bool)."""
        tally = self.tally(run)
        tally.add("rows_read", int(lengths[chosen & (query >= 0)].sum()))
        if (unjudged := chosen & (query < 0)).any():
            self._count_unjudged(run, names.filter(pl.Series(unjudged)), int(lengths[unjudged].sum()))
        for code, marked in odd.items():
            if (found := chosen & marked).any():
                tally.add(code, int(found.sum()), smallest(names.filter(pl.Series(found)).cast(pl.String)))

    def count_unjudged_rows(self, rows: pl.DataFrame) -> None:
        """Account for rows of one document each whose queries are not judged."""
        for run, part in self._by_run(rows):
            self._count_unjudged(run, part["query_id"].unique(), part.height)

    def _count_rows(self, rows: pl.DataFrame, reason: str) -> None:
        """Account for rows of one document each that are left out."""
        for run, part in self._by_run(rows):
            self.tally(run).add("rows_read", part.height)
            self.tally(run).add(reason, part.height)

    def _by_run(self, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        """The rows of the queries that are taken now, run by run."""
        if self.work.share.of > 1:
            rows = rows.filter(pl.Series(self.work.share.holds(rows["query_id"])))
        if "run" not in rows.columns:
            yield self.name, rows
            return
        for (run,), part in rows.group_by("run"):
            yield str(run), part

    def _count_unjudged(self, run: str, queries: pl.Series, rows: int) -> None:
        """Account for queries that are not judged; their rows are read and left out."""
        tally, names = self.tally(run), queries.cast(pl.String)
        tally.add("rows_read", rows)
        tally.add("rows_unjudged", rows)
        tally.distinct("queries-unjudged", names.hash().to_numpy(), smallest(names))

    def _repeated(self, lists: RankedLists, repeat: Repeat) -> RefusedRowsError:
        """The error for a document that stands twice in a list; an audit finds the rows."""
        query_id, doc_id = lists.query_id[repeat.number], lists.doc_id[repeat.first]
        message = f"{self.source.label}: {repeated_document(query_id, doc_id)}"
        return RefusedRowsError(message, "duplicate-document")


def runs_of(name: str, lists: RankedLists) -> Iterator[tuple[str, Array]]:
    """Each run of a batch and which lists are its own (bool).

    Args:
        name: the run where no column names it.
        lists: the lists; their heads may hold a run column.
    """
    if "run" not in lists.heads.columns:
        yield name, np.ones(len(lists), bool)
        return
    runs = lists.heads["run"].cast(pl.String)
    for run in runs.unique(maintain_order=True):
        yield run, (runs == run).to_numpy()


def smallest(names: pl.Series) -> list[str]:
    """The three smallest distinct texts."""
    return names.unique().sort().head(3).to_list()


def contiguous(attempt: Pass) -> None:
    """Evaluate an input whose rows stand together query by query.

    Raises:
        ScatteredRows: they do not.
    """
    borders = _Borders(attempt)
    batches = enumerate(attempt.source.batches(attempt.work.batch_rows))
    first = list(islice(batches, 2))
    work = _worker(attempt, alone=len(first) < 2)
    for head, tail in in_order(attempt.work.threads, chain(first, batches), work):
        borders.add(head, tail)
    borders.finish()


Aside = tuple[pl.DataFrame | None, pl.DataFrame | None]


def _worker(attempt: Pass, *, alone: bool) -> Callable[[tuple[int, Batch]], Aside]:
    """What a thread does with a batch: read, set the first and last list aside (unless alone), evaluate the rest."""

    def work(numbered: tuple[int, Batch]) -> Aside:
        position, batch = numbered
        attempt.work.budget.check(attempt.source.label)
        rows = batch.read()
        frame = attempt.noted(rows, batch)
        lists = attempt.lists(frame)
        if not attempt.source.has_lists and looks_scattered(frame, len(lists)):
            attempt.left[position] = replace(batch, load=lambda _: rows)
            raise ScatteredRows
        aside: Aside = (None, None)
        if not attempt.source.has_lists and not alone and len(lists):
            first, last = int(lists.offsets[1]), int(lists.offsets[-2])
            head, tail = compact(frame[:first]), compact(frame[last:])
            aside = (head, tail) if len(lists) > 1 else (head, None)
            lists = lists.between(1, max(1, len(lists) - 1))
        try:
            attempt.evaluate(lists)
        except ScatteredRows:
            attempt.left[position] = replace(batch, load=lambda _: rows)
            raise
        attempt.work.progress.advance(frame.height, len(lists))
        return aside

    return work


def looks_scattered(frame: pl.DataFrame, lists: int) -> bool:
    """Whether the rows change their list all the time, and the first ones come back to the same lists."""
    if frame.height < SAMPLE or lists < frame.height // 4:
        return False
    keys = [name for name in ("query_id", "run") if name in frame.columns]
    first = frame.select(keys)[:SAMPLE]
    heads = np.unique(np.concatenate([list_heads(first[name])[:-1] for name in keys]))
    return first[heads].n_unique() < len(heads)


class _Borders:
    """The lists at the borders of batches, put together in order and evaluated when they are many."""

    def __init__(self, attempt: Pass) -> None:
        self._attempt = attempt
        self._open: list[pl.DataFrame] = []
        self._closed: list[pl.DataFrame] = []

    def add(self, head: pl.DataFrame | None, tail: pl.DataFrame | None) -> None:
        """The first list of the next batch, and the last one where there are several."""
        if head is None:
            return
        if self._open and not _goes_on(self._open[-1], head):
            self._close()
        self._open.append(head)
        if tail is not None:
            self._close()
            self._open.append(tail)
        if sum(frame.height for frame in self._closed) >= BORDER_ROWS:
            self._evaluate()

    def finish(self) -> None:
        """There are no more batches."""
        self._close()
        self._evaluate()

    def _close(self) -> None:
        self._closed += self._open
        self._open = []

    def _evaluate(self) -> None:
        if self._closed:
            self._attempt.evaluate(self._attempt.flat(pl.concat(self._closed, how="vertical_relaxed")))
            self._closed = []


def _goes_on(rows: pl.DataFrame, more: pl.DataFrame) -> bool:
    """Whether the first of some more rows belongs to the list of the last row."""
    return all(rows[name][-1] == more[name][0] for name in ("query_id", "run") if name in rows.columns)
