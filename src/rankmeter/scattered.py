"""Runs whose rows are in any order: they are dealt out to buckets of whole queries, on disk where they are many.

Each batch is ordered by bucket (rows keep their order inside one) and written to a temporary file, from which a
bucket takes its slices later. Memory holds one bucket per thread, whatever the run's size.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankmeter.errors import DataError, StorageError
from rankmeter.ids import Held, list_heads
from rankmeter.passes import Pass, check_lengths, in_order, runs_of
from rankmeter.ranking import flat_lists, lists_at
from rankmeter.sources.base import Batch
from rankmeter.words import LONG

Array = np.ndarray[Any, Any]

IN_MEMORY_ROWS = 1 << 22
"""Up to here the buckets stay in memory."""

NUMBER = "query number"
"""Helper column: the number of a row's query within its bucket; the blank keeps it apart from every role."""

SHORT_NUMBERS = 1 << 16
"""Buckets, and queries in a bucket: numbers of 16 bits are sorted in linear time."""


@dataclass(frozen=True, slots=True)
class Dealt:
    """One batch ordered by bucket: its rows (or the file that holds them), and where each bucket begins."""

    rows: pl.DataFrame | Path
    starts: Array

    def bucket(self, number: int) -> pl.DataFrame:
        """The rows of one bucket."""
        if isinstance(self.rows, pl.DataFrame):
            return self.rows[int(self.starts[number]) : int(self.starts[number + 1])]
        with pa.memory_map(str(self.rows)) as mapped:
            return pl.DataFrame(pl.from_arrow(pa.ipc.open_file(mapped).get_batch(number)))


def spilled(rows: pl.DataFrame, starts: Array, path: Path) -> Dealt:
    """The rows on disk, one record batch a bucket."""
    # views of short text have no buffers, which a slice would write whole
    table = rows.to_arrow(
        compat_level=None if Held(rows["doc_id"], integers=False).ids.width == LONG else pl.CompatLevel.newest()
    )
    with pa.ipc.new_file(path, table.schema) as writer:
        for start, stop in pairwise(starts.tolist()):
            batches = table.slice(start, stop - start).combine_chunks().to_batches()
            writer.write_batch(batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema))
    return Dealt(path, starts)


def scattered(attempt: Pass) -> None:
    """Evaluate an input whose rows are in any order.

    Raises:
        StorageError: the temporary folder is full.
    """
    rows = attempt.source.rows
    known = rows if rows is not None else attempt.source.size // 20
    queries = len(attempt.work.index)
    buckets = max(-(-known // attempt.work.batch_rows), -(-queries // SHORT_NUMBERS), 1)
    if buckets > SHORT_NUMBERS:
        raise DataError(f"{attempt.source.label}: too many rows in no order of queries; sort the file by query first")
    try:
        with tempfile.TemporaryDirectory(prefix="rankmeter-") as folder:
            dealer = _Dealer(attempt, buckets, -(-queries // buckets), Path(folder) if known > IN_MEMORY_ROWS else None)
            numbered = enumerate(attempt.source.batches(attempt.work.batch_rows))
            dealt = list(in_order(attempt.work, numbered, dealer.deal))
            for _ in in_order(attempt.work, iter(range(buckets)), lambda bucket: dealer.evaluate(dealt, bucket)):
                pass
    except OSError as error:
        raise StorageError.unwritable(tempfile.gettempdir(), error) from error


@dataclass(frozen=True, slots=True)
class _Dealer:
    """Orders batches by bucket, and evaluates buckets.

    Attributes:
        attempt: the pass.
        buckets: number of buckets.
        width: queries of a bucket.
        folder: where batches are kept; None: in memory.
    """

    attempt: Pass
    buckets: int
    width: int
    folder: Path | None

    def deal(self, numbered: tuple[int, Batch]) -> Dealt:
        """The rows of one batch's judged queries, ordered by bucket, each with the number of its query."""
        position, batch = numbered
        frame = self.attempt.read(batch)
        if self.attempt.source.has_lists:
            check_lengths(frame, self.attempt.source.label)
            frame = _flat(frame)
        self.attempt.work.progress.advance(frame.height // 2, 0)
        number = self._numbers(frame)
        judged = np.flatnonzero(number >= 0)
        number = number[judged]
        bucket = (number // self.width).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=self.buckets))])
        local = (number - bucket.astype(np.int64) * self.width).astype(np.uint16)
        rows = frame.drop("query_id")[judged[order]].with_columns(pl.Series(NUMBER, local[order]))
        return Dealt(rows, starts) if self.folder is None else spilled(rows, starts, self.folder / f"{position}.arrow")

    def _numbers(self, frame: pl.DataFrame) -> Array:
        """The number of each row's query, or -1 (int64); rows of queries that are not judged are counted here."""
        lists = flat_lists(frame, self.attempt.order)
        lengths = np.diff(lists.offsets)
        number = self.attempt.work.index.queries.numbers(lists.query_id)
        for run, chosen in runs_of(self.attempt.name, lists):
            self.attempt.count_unjudged(run, lists.query_id, lengths, chosen & (number < 0))
        return np.repeat(number, lengths)

    def evaluate(self, dealt: Sequence[Dealt], bucket: int) -> None:
        """Bring the rows of a bucket's queries together and evaluate them."""
        attempt = self.attempt
        frame = pl.concat([batch.bucket(bucket) for batch in dealt], how="vertical_relaxed")
        if frame.height == 0:
            return
        if "run" in frame.columns:
            frame = frame[np.argsort(frame["run"].rank("dense").to_numpy(), kind="stable")]
        order = np.argsort(frame[NUMBER].to_numpy(), kind="stable")
        number = frame[NUMBER].to_numpy()[order].astype(np.int64)
        frame = frame.drop(NUMBER)[order]
        offsets = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [len(number)]])
        if "run" in frame.columns:
            offsets = np.union1d(offsets, list_heads(frame["run"]))
        query = number[offsets[:-1]] + bucket * self.width
        lists = lists_at(frame, offsets, attempt.work.index.queries.series[query], attempt.order)
        attempt.check_segments(frame, lists)
        attempt.evaluate(lists, query)
        attempt.work.progress.advance(frame.height - frame.height // 2, len(lists))


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with lists as rows of one document."""
    lists = [name for name in ("doc_ids", "scores", "ranks") if name in frame.columns]
    filled = frame.filter(pl.col("doc_ids").list.len() > 0)
    return filled.explode(lists).rename({name: name.removesuffix("s") for name in lists})
