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
from rankmeter.ids import list_heads
from rankmeter.passes import Pass, check_lengths, in_order
from rankmeter.sources.base import Batch

Array = np.ndarray[Any, Any]

IN_MEMORY_ROWS = 1 << 22
"""Up to here the buckets stay in memory."""

NUMBER = "query number"
"""Helper column; its blank keeps it apart from every role."""

UNJUDGED_NUMBERS = 1024
"""Numbers behind the judged queries, over which the rows of unjudged ones are spread."""

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
            frame = pl.from_arrow(pa.ipc.open_file(mapped).get_batch(number))
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def spilled(self, path: Path) -> "Dealt":
        """The same on disk, one record batch a bucket."""
        table = self.rows.to_arrow()  # type: ignore[union-attr]  # a frame that is not on disk yet
        with pa.ipc.new_file(path, table.schema) as writer:
            for start, stop in pairwise(self.starts.tolist()):
                batches = table.slice(start, stop - start).combine_chunks().to_batches()
                writer.write_batch(batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema))
        return Dealt(path, self.starts)


def scattered(attempt: Pass) -> None:
    """Evaluate an input whose rows are in any order.

    Raises:
        StorageError: the temporary folder is full.
    """
    rows = attempt.source.rows
    known = rows if rows is not None else attempt.source.size // 20
    numbers = len(attempt.work.index) + UNJUDGED_NUMBERS
    buckets = max(-(-known // attempt.work.batch_rows), -(-numbers // SHORT_NUMBERS))
    if buckets > SHORT_NUMBERS:
        raise DataError(f"{attempt.source.label}: too many rows in no order of queries; sort the file by query first")
    try:
        with tempfile.TemporaryDirectory(prefix="rankmeter-") as folder:
            dealer = _Dealer(attempt, buckets, -(-numbers // buckets), Path(folder) if known > IN_MEMORY_ROWS else None)
            numbered = enumerate(attempt.source.batches(attempt.work.batch_rows))
            dealt = list(in_order(attempt.work, numbered, dealer.deal))
            for _ in in_order(attempt.work, iter(range(buckets)), lambda bucket: _evaluate(attempt, dealt, bucket)):
                pass
    except OSError as error:
        raise StorageError.unwritable(tempfile.gettempdir(), error) from error


@dataclass(frozen=True, slots=True)
class _Dealer:
    """Orders batches by bucket."""

    attempt: Pass
    buckets: int
    width: int
    folder: Path | None

    def deal(self, numbered: tuple[int, Batch]) -> Dealt:
        """One batch, ordered by bucket."""
        position, batch = numbered
        frame = self.attempt.read(batch)
        if self.attempt.source.has_lists:
            check_lengths(frame, self.attempt.source.label)
            frame = _flat(frame)
        self.attempt.work.progress.advance(frame.height // 2, 0)
        number = self._numbers(frame["query_id"])
        bucket = (number // self.width).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=self.buckets))])
        number -= bucket.astype(np.int64) * self.width
        dealt = Dealt(frame.with_columns(pl.Series(NUMBER, number.astype(np.uint16)))[order], starts)
        return dealt if self.folder is None else dealt.spilled(self.folder / f"{position}.arrow")

    def _numbers(self, query_id: pl.Series) -> Array:
        """The number of each row's query; unjudged ones get a number behind the judged."""
        index = self.attempt.work.index
        heads = list_heads(query_id)
        number = index.queries.numbers(query_id, heads[:-1])
        unjudged = np.flatnonzero(number < 0)
        spread = query_id[heads[unjudged]].cast(pl.String).hash().to_numpy() % np.uint64(UNJUDGED_NUMBERS)
        number[unjudged] = len(index) + spread.astype(np.int64)
        return np.repeat(number, np.diff(heads))


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with lists as rows of one document."""
    lists = [name for name in ("doc_ids", "scores", "ranks") if name in frame.columns]
    filled = frame.filter(pl.col("doc_ids").list.len() > 0)
    return filled.explode(lists).rename({name: name.removesuffix("s") for name in lists})


def _evaluate(attempt: Pass, dealt: Sequence[Dealt], bucket: int) -> None:
    """Bring the rows of a bucket's queries together and evaluate them."""
    frame = pl.concat([batch.bucket(bucket) for batch in dealt], how="vertical_relaxed")
    if "run" in frame.columns:
        frame = frame[np.argsort(frame["run"].rank("dense").to_numpy(), kind="stable")]
    grouped = frame.drop(NUMBER)[np.argsort(frame[NUMBER].to_numpy(), kind="stable")]
    lists = attempt.flat(grouped)
    attempt.evaluate(lists)
    attempt.work.progress.advance(frame.height - frame.height // 2, len(lists))
