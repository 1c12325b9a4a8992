"""Seeded qrels and runs, in memory that does not grow with them.

Each query has two to eight judged documents, six in ten of them retrieved; grades are 0 to 3. One in a hundred
neighbours ties. Three in a hundred queries of the run are not judged, and the other way round.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.cases import Case

Array = np.ndarray

SEED = 20261201
PIECE = 2_000_000
"""Rows generated at a time."""

JUDGED_DEPTH = 1.6
"""Judged documents are drawn from so many times the list's length."""

PARTS = 100
"""Files of a run in parts, and heaps that rows are dealt to before they are shuffled."""


def generate(case: Case, folder: Path) -> None:
    """Write `qrels.parquet` and the run into the folder: `run.parquet`, `run.trec`, or a folder `run`."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "qrels.parquet", qrels(case), case.row_group)
    if case.layout == "shuffled":
        shuffle(case, folder)
    elif case.layout == "parts":
        write_parts(case, folder / "run")
    elif case.layout == "trec":
        write_trec(case, folder)
    elif case.layout == "files":
        (folder / "run").mkdir(exist_ok=True)
        for system in range(case.systems):
            write(folder / "run" / f"system{system}.parquet", run(case, system), case.row_group)
    else:
        systems = (table for system in range(case.systems) for table in run(case, system))
        group = max(1, case.row_group // case.depth) if case.layout == "lists" else case.row_group
        write(folder / "run.parquet", systems, group)


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


def write_parts(case: Case, folder: Path) -> None:
    """The run as many files of whole queries."""
    folder.mkdir(exist_ok=True)
    tables, size = run(case, 0), -(-case.rows // PARTS)
    waiting, rows, number = [], 0, 0
    for table in tables:
        waiting.append(table)
        rows += len(table)
        if rows >= size:
            write(folder / f"part-{number:03}.parquet", iter(waiting), case.row_group)
            waiting, rows, number = [], 0, number + 1
    if waiting:
        write(folder / f"part-{number:03}.parquet", iter(waiting), case.row_group)


def write_trec(case: Case, folder: Path) -> None:
    """Qrels and run as text."""
    columns = ["query_id", pl.lit("Q0").alias("iteration"), "doc_id", pl.lit(1).alias("rank"), "score", pl.lit("tag")]
    with (folder / "run.trec").open("wb") as file:
        for table in run(case, 0):
            frame = pl.DataFrame(table)
            frame.select(columns).write_csv(file, include_header=False, separator=" ")


def shuffle(case: Case, folder: Path) -> None:
    """The rows of the run in no order: dealt to heaps by chance, which are shuffled one by one."""
    rng = np.random.default_rng(SEED + 3)
    heaps = max(1, min(PARTS, case.rows // PIECE))
    paths = [folder / f"heap-{number}.arrow" for number in range(heaps)]
    writers = []
    for table in run(case, 0):
        writers = writers or [pa.ipc.new_file(path, table.schema) for path in paths]
        heap = rng.integers(0, heaps, len(table))
        for number, writer in enumerate(writers):
            writer.write_table(table.take(np.flatnonzero(heap == number)))
    for writer in writers:
        writer.close()
    write(folder / "run.parquet", (_shuffled(path, rng) for path in paths), case.row_group)
    for path in paths:
        path.unlink()


def _shuffled(path: Path, rng: np.random.Generator) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
        return table.take(rng.permutation(len(table)))


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
    width = 9 if case.documents > 10**7 else 8
    return texts(numbers, prefix * (25 if case.ids == "long" else 1), 32 if case.ids == "long" else width)


def pieces(queries: Array, depth: int) -> Iterator[Array]:
    """Queries, some at a time."""
    size = max(1, PIECE // depth)
    for start in range(0, len(queries), size):
        yield queries[start : start + size]


def qrels(case: Case) -> Iterator[pa.Table]:
    """The judgements, queries in an order of their own."""
    rng = np.random.default_rng(SEED + 1)
    unmatched = case.queries // 32
    for query in pieces(rng.permutation(case.queries) + unmatched, case.judged or 8):
        judged = np.full(len(query), case.judged) if case.judged else 2 + rng.binomial(6, 0.5, len(query))
        repeated = np.repeat(query, judged)
        number = np.arange(len(repeated)) - np.repeat(np.cumsum(judged) - judged, judged)
        spread = int(case.depth * JUDGED_DEPTH)
        step = spread // case.judged if case.judged else spread // 9 + 1
        place = (repeated * 7919 + number * step) % spread
        grade = rng.choice(4, len(repeated), p=[0.3, 0.4, 0.2, 0.1]).astype(np.int8)
        yield pa.table(
            {
                "query_id": ids(case, repeated, "q"),
                "doc_id": ids(case, documents(case, repeated, place), "d"),
                "grade": grade,
            }
        )


def run(case: Case, system: int) -> Iterator[pa.Table]:
    """The results of a system, best first in each query."""
    rng = np.random.default_rng([SEED + 2, system])
    for query in pieces(rng.permutation(case.queries), case.depth):
        steps = rng.integers(1, 150_000, (len(query), case.depth))
        steps[rng.random(steps.shape) < 0.01] = 0
        scores = ((1 << 30) - np.cumsum(steps, axis=1)).reshape(-1) / 2.0**20
        repeated = np.repeat(query, case.depth)
        place = np.tile(np.arange(case.depth) + 7 * system, len(query))
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
            continue
        columns = {"query_id": ids(case, repeated, "q"), "doc_id": found, "score": scores}
        if case.layout == "table":
            columns = {"run": pa.array([f"system{system}"] * len(found)), **columns}
        yield pa.table(columns)
