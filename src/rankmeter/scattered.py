"""Runs whose rows are in any order: they are dealt out to boxes of whole queries, on disk where they are many.

Each batch is ordered by box (rows keep their order inside one). What it held stays in memory or goes to a temporary
file, from which a box takes its rows later: memory holds one box per thread, whatever the run's size.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankmeter import dealing
from rankmeter.checks.repeats import SECOND_LIST
from rankmeter.conflicts import two_values
from rankmeter.errors import DataError, RefusedRowsError
from rankmeter.ids import Held, list_heads
from rankmeter.parallel import in_order
from rankmeter.passes import Pass
from rankmeter.ranking import RankedLists, falling
from rankmeter.sources.base import Batch
from rankmeter.spill import Block, Spill
from rankmeter.words import INTEGER, LONG, LOW_HALF, Ids

Array = np.ndarray[Any, Any]

BOX_ROWS = 1 << 18
"""Rows of a box: enough that its overhead vanishes, few enough to stay in the caches for a while."""

MOST_BOXES = 4096

SAMPLE = 1 << 12
"""Rows at the beginning of a batch that show whether neighbours are of the same query."""

NUMBER = "number of a row"
"""Helper column; the blanks keep it apart from every role."""

KNOWN = ("query_id", "doc_id", "score", "rank", "grade")
"""The columns that are neither run nor segment."""

UNKNOWN_BOXES = 256
"""Boxes where the number of rows is not known beforehand."""


def scattered(attempt: Pass, read: Mapping[int, Batch]) -> None:
    """Evaluate an input whose rows are in any order.

    Args:
        attempt: the pass.
        read: batches that were read already, by number.

    Raises:
        StorageError: the temporary folder is full.
    """
    source, work = attempt.source, attempt.work
    if source.has_lists and attempt.order.column == "row":
        raise RefusedRowsError(f"{source.label}: a query {SECOND_LIST}", "second-list")
    boxes = Boxes.for_rows(None if source.has_lists else source.rows, len(work.index))
    numbered = enumerate(source.batches(work.batch_rows))
    with ExitStack() as stack:
        dealer = _Dealer(attempt, boxes, read, Spill(stack, work.budget.scattered))
        dealt = list(in_order(work.threads, numbered, dealer.deal))
        collector = _Collector.of(attempt, dealer, dealt)
        for _ in in_order(work.threads, iter(range(boxes.count)), collector.evaluate):
            pass


@dataclass(frozen=True, slots=True)
class Boxes:
    """How queries are divided: a box holds those whose numbers agree but for the lowest `shift` bits."""

    shift: int
    count: int

    @classmethod
    def for_rows(cls, rows: int | None, queries: int) -> "Boxes":
        """Boxes of about `BOX_ROWS` rows."""
        wanted = UNKNOWN_BOXES if rows is None else min(MOST_BOXES, -(-rows // BOX_ROWS))
        shift = 0
        while (queries - 1) >> shift >= max(1, wanted):
            shift += 1
        return cls(shift, ((queries - 1) >> shift) + 1)


class _Extras:
    """The distinct values of the run and segment columns, numbered as they come."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._schema: Any = None
        self._lock = threading.Lock()

    def numbered(self, rows: pl.DataFrame) -> Array:
        """The number of the values of each row (int64)."""
        distinct = rows.unique()
        with self._lock:
            self._schema = self._schema or rows.schema
            numbers = [self._numbers.setdefault(row, len(self._numbers)) for row in distinct.iter_rows()]
        known = distinct.with_columns(pl.Series(NUMBER, numbers, dtype=pl.Int64))
        joined = rows.join(known, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")
        return joined[NUMBER].to_numpy()

    def table(self) -> pl.DataFrame:
        """The values, by their number; one row without columns where there are none."""
        return pl.DataFrame(list(self._numbers), self._schema, orient="row")


@dataclass(frozen=True, slots=True)
class _Dealer:
    """Orders batches by box."""

    attempt: Pass
    boxes: Boxes
    read: Mapping[int, Batch]
    spill: Spill
    extras: _Extras = field(default_factory=_Extras)

    def deal(self, numbered: tuple[int, Batch]) -> Block:
        """The rows of one batch's judged queries, ordered by box, each with the number of its query."""
        attempt, (position, batch) = self.attempt, numbered
        attempt.work.budget.check(attempt.source.label)
        batch = self.read.get(position, batch)
        frame = attempt.noted(batch.read(), batch)
        if attempt.source.has_lists:
            frame = flat_results(frame)
        number = self._numbers(frame)
        target, starts = dealing.targets(number, self.boxes.shift, self.boxes.count)
        documents = attempt.work.prepared.result().matcher.held(frame["doc_id"])
        columns = {
            name: moved(_words_of(values), target, int(starts[-1])) for name, values in self._values(frame, number)
        }
        columns["words"] = moved(documents, target, int(starts[-1]))
        text_starts = np.zeros(len(starts), np.int64)
        if documents.ids.width == LONG:
            text_starts = dealing.text_starts(columns["words"], starts)
            columns["texts"] = np.empty(int(text_starts[-1]), np.uint8)
            dealing.move_texts(documents.ids, columns["words"], starts, text_starts, columns["texts"])
        attempt.work.progress.advance(frame.height // 2, 0)
        return self.spill.keep(Block(documents.ids.width, starts, text_starts, columns))

    def _numbers(self, frame: pl.DataFrame) -> Array:
        """The number of each row's query, or -1 (int64); rows of queries that are not judged are counted here."""
        queries = self.attempt.work.index.queries
        if len(list_heads(frame["query_id"][:SAMPLE])) > SAMPLE // 2:
            number = queries.numbers(frame["query_id"])
        else:
            heads = list_heads(frame["query_id"])
            number = np.repeat(queries.numbers(frame["query_id"][heads[:-1]]), np.diff(heads))
        if (unjudged := number < 0).any():
            self.attempt.count_unjudged_rows(frame.filter(pl.Series(unjudged)))
        return number

    def _values(self, frame: pl.DataFrame, number: Array) -> Iterator[tuple[str, Array]]:
        """The other columns that are dealt out, in words of 64 bits."""
        order = self.attempt.order
        if order.column != "row":
            yield "key", order.key({order.column: frame[order.column]}, frame.height)
        if order.column == "score" and "rank" in frame.columns:
            yield "rank", frame["rank"].rechunk().to_numpy()
        names = [name for name in frame.columns if name not in KNOWN]
        yield "tag", number | (self.extras.numbered(frame.select(names)) << 32) if names else number


def moved(held: Held, target: Array, size: int) -> Array:
    """The words of ids (or of other values) in their new places."""
    width = 1 if held.ids.width == INTEGER else 2
    out = np.empty(width * size, np.uint64)
    dealing.scatter(held.ids, target, width, out)
    return out


def gathered(parts: Sequence[Array], target: Array, width: int = INTEGER) -> Array:
    """Words that lie in several arrays in their new places; `width` says how many belong together, like that of ids."""
    each = 1 if width == INTEGER else 2
    out, start = np.empty(each * len(target), np.uint64), 0
    for part in parts:
        size = len(part) // each
        dealing.scatter(Ids(part.ctypes.data, size, width, 0), target[start : start + size], each, out)
        start += size
    return out


def _words_of(values: Array) -> Held:
    """Values of 64 bits as if they were ids."""
    return Held(Ids(values.ctypes.data, len(values), INTEGER, 0), values)


@dataclass(frozen=True, slots=True)
class _Collector:
    """Brings the rows of each box's queries together and evaluates them.

    Attributes:
        attempt: the pass.
        boxes: the boxes.
        extras: the values of run and segment columns, by their number.
        run_of: the number of the run of each of these (int64).
        dealt: what the batches held.
    """

    attempt: Pass
    boxes: Boxes
    extras: pl.DataFrame
    run_of: Array
    dealt: list[Block]

    @classmethod
    def of(cls, attempt: Pass, dealer: _Dealer, dealt: list[Block]) -> "_Collector":
        """What collects the rows that were dealt out."""
        extras = dealer.extras.table()
        runs = extras["run"].rank("dense").to_numpy() - 1 if "run" in extras.columns else np.zeros(extras.height)
        return cls(attempt, dealer.boxes, extras, runs.astype(np.int64), dealt)

    def evaluate(self, box: int) -> None:
        """Evaluate the queries of a box."""
        attempt, first = self.attempt, box << self.boxes.shift
        tag = np.concatenate(self._column("tag", box))
        if not len(tag):
            return
        lists, extra, runs = tag.view(np.int64) - first, None, 1
        if self.extras.width:
            number, extra = (tag & LOW_HALF).view(np.int64), (tag >> np.uint64(32)).view(np.int64)
            runs = int(self.run_of.max()) + 1
            lists = (number - first) * runs + self.run_of[extra]
        target, starts = dealing.targets(lists, 0, runs << self.boxes.shift)
        filled = np.flatnonzero(np.diff(starts))
        offsets, query = np.append(starts[filled], len(tag)), first + filled // runs
        query_id = attempt.work.index.queries.series[query]
        heads = pl.DataFrame()
        if extra is not None:
            heads = self._heads(gathered([extra], target).view(np.int64), offsets, query_id)
        ranked = RankedLists(query_id, offsets, self._documents(box, target), *self._order(box, target), heads)
        attempt.evaluate(ranked, query)
        attempt.work.progress.advance(len(tag) - len(tag) // 2, len(query))

    def _column(self, name: str, box: int, width: int = 1) -> list[Array]:
        """The words of a column of a box, batch by batch."""
        return [
            block.take(name, width * int(block.starts[box]), width * int(block.starts[box + 1])) for block in self.dealt
        ]

    def _order(self, box: int, target: Array) -> tuple[Array, Array | None]:
        """The key of each row, and a rank column to compare it with."""
        rank = None
        if "rank" in self.dealt[0].names:
            rank = gathered(self._column("rank", box), target).view(np.float64)
            rank.flags.writeable = False
        if "key" not in self.dealt[0].names:
            return falling(len(target)), rank
        key = gathered(self._column("key", box), target).view(np.float64)
        key.flags.writeable = False
        return key, rank

    def _documents(self, box: int, target: Array) -> Held:
        """The documents of a box, each list's together."""
        width = max(block.width for block in self.dealt)
        parts = self._column("words", box, 1 if width == INTEGER else 2)
        texts: list[Array] = []
        for part, block in zip(parts, self.dealt, strict=True):
            if block.width == LONG:
                dealing.set_buffer(part, len(texts))
                texts.append(block.take("texts", int(block.text_starts[box]), int(block.text_starts[box + 1])))
        words = gathered(parts, target, width)
        addresses = np.array([text.ctypes.data for text in texts], np.int64)
        ids = Ids(words.ctypes.data, len(target), width, addresses.ctypes.data)
        return Held(ids, words, addresses, texts)

    def _heads(self, extra: Array, offsets: Array, query_id: pl.Series) -> pl.DataFrame:
        """The run and the segments of each list.

        Raises:
            DataError: a segment changes within a list.
        """
        changed = np.flatnonzero(extra[1:] != extra[:-1]) + 1
        changed = changed[~np.isin(changed, offsets)]
        if len(changed):
            row = int(changed[0])
            one, other = (self.extras.row(int(extra[at]), named=True) for at in (row - 1, row))
            name = next(name for name in one if one[name] != other[name])
            query = query_id[int(np.searchsorted(offsets, row, side="right")) - 1]
            raise DataError(two_values(self.attempt.source.label, name, query, one[name], other[name]), "two-segments")
        return self.extras[extra[offsets[:-1]]]


def flat_results(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with lists as rows of one document."""
    lists = [name for name in ("doc_ids", "scores", "ranks") if name in frame.columns]
    filled = frame.filter(pl.col("doc_ids").list.len() > 0)
    return filled.explode(lists).rename({name: name.removesuffix("s") for name in lists})
