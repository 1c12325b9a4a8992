"""Seeded qrels and runs as Parquet, in memory that does not grow with them (but for shuffled ones).

Each query has two to eight judged documents, six in ten of them retrieved; grades are 0 to 3. One in a hundred
neighbours ties. Three in a hundred queries of the run are not judged, and the other way round.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.cases import Case

Array = np.ndarray

SEED = 20261201
PIECE = 20_000
"""Queries generated at a time."""

JUDGED_DEPTH = 1.6
"""Judged documents are drawn from so many times the list's length."""


def generate(case: Case, folder: Path) -> None:
    """Write `qrels.parquet` and `run.parquet` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "qrels.parquet", qrels(case), case.row_group)
    pieces = run(case)
    if case.layout == "shuffled":
        whole = pa.concat_tables(pieces)
        pieces = iter([whole.take(np.random.default_rng(SEED).permutation(len(whole)))])
    group = case.row_group // case.depth if case.layout == "lists" else case.row_group
    write(folder / "run.parquet", pieces, group)


def write(path: Path, tables: Iterator[pa.Table], group: int) -> None:
    """Write tables with row groups of `group` rows."""
    first = next(tables)
    rest = first.slice(0, 0)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for table in _chain(first, tables):
            rest = pa.concat_tables([rest, table])
            while len(rest) >= group:
                writer.write_table(rest.slice(0, group), row_group_size=group)
                rest = rest.slice(group)
        if len(rest):
            writer.write_table(rest)


def _chain(first: pa.Table, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from tables


def documents(case: Case, query: Array, place: Array) -> Array:
    """The document at a place of a query's imaginary endless list: distinct places, distinct documents."""
    start = (query * 2_654_435_761) % case.documents
    step = 1 + (query * 40_503) % (case.documents - 1)
    return (start + place * step) % case.documents


def texts(numbers: Array, prefix: str, width: int) -> pa.Array:
    """Numbers as text of a fixed width."""
    digits = np.empty((len(numbers), width), np.uint8)
    digits[:, : len(prefix)] = np.frombuffer(prefix.encode(), np.uint8)
    rest = numbers.astype(np.int64)
    for column in range(width - 1, len(prefix) - 1, -1):
        digits[:, column] = 48 + rest % 10
        rest = rest // 10
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(digits.reshape(-1)))


def ids(case: Case, numbers: Array, prefix: str) -> pa.Array:
    """Ids of queries or documents."""
    if case.ids == "integer":
        return pa.array(numbers.astype(np.int64))
    return texts(numbers, prefix * (25 if case.ids == "long" else 1), 32 if case.ids == "long" else 8)


def pieces(queries: Array) -> Iterator[Array]:
    """Queries, some at a time."""
    for start in range(0, len(queries), PIECE):
        yield queries[start : start + PIECE]


def qrels(case: Case) -> Iterator[pa.Table]:
    """The judgements, queries in an order of their own."""
    rng = np.random.default_rng(SEED + 1)
    unmatched = case.queries // 32
    for query in pieces(rng.permutation(case.queries) + unmatched):
        judged = 2 + rng.binomial(6, 0.5, len(query))
        repeated = np.repeat(query, judged)
        number = np.arange(len(repeated)) - np.repeat(np.cumsum(judged) - judged, judged)
        spread = int(case.depth * JUDGED_DEPTH)
        place = (repeated * 7919 + number * (spread // 9 + 1)) % spread
        grade = rng.choice(4, len(repeated), p=[0.3, 0.4, 0.2, 0.1]).astype(np.int8)
        yield pa.table(
            {
                "query_id": ids(case, repeated, "q"),
                "doc_id": ids(case, documents(case, repeated, place), "d"),
                "grade": grade,
            }
        )


def run(case: Case) -> Iterator[pa.Table]:
    """The results, best first in each query."""
    rng = np.random.default_rng(SEED + 2)
    for query in pieces(rng.permutation(case.queries)):
        steps = rng.integers(1, 150_000, (len(query), case.depth))
        steps[rng.random(steps.shape) < 0.01] = 0
        scores = ((1 << 30) - np.cumsum(steps, axis=1)).reshape(-1) / 2.0**20
        repeated = np.repeat(query, case.depth)
        place = np.tile(np.arange(case.depth), len(query))
        found = ids(case, documents(case, repeated, place), "d")
        if case.layout == "lists":
            offsets = pa.array(np.arange(len(query) + 1, dtype=np.int32) * case.depth)
            yield pa.table(
                {
                    "query_id": ids(case, query, "q"),
                    "doc_ids": pa.ListArray.from_arrays(offsets, found),
                    "scores": pa.ListArray.from_arrays(offsets, pa.array(scores)),
                }
            )
        else:
            yield pa.table({"query_id": ids(case, repeated, "q"), "doc_id": found, "score": scores})
