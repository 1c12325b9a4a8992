"""Ways to only read a run: the fastest of them is the floor, so that the figures do not flatter."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow.csv
import pyarrow.parquet as pq

from rankmeter.sources.tables import slices

Floor = Callable[[], object]


def files(run: Path) -> list[Path]:
    """The files of a run."""
    return sorted(run.glob("*.parquet")) if run.is_dir() else [run]


def values(run: Path) -> int:
    """Results in a Parquet run, whether flat or in lists."""
    total = 0
    for path in files(run):
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        total += sum(max(group.column(c).num_values for c in range(group.num_columns)) for group in groups)
    return total


def floors(run: Path) -> dict[str, Floor]:
    """Name -> a way to read every column of a run."""
    if run.suffix == ".trec":
        return text_floors(run)
    paths = files(run)
    return {
        "slices": lambda: _in_slices(paths),
        "collect_batches": lambda: [None for path in paths for _ in _in_batches(path)],
    }


def _in_slices(paths: list[Path]) -> None:
    """Slices of whole row groups, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_read, [(path, piece) for path in paths for piece in _pieces(path)]))


def _pieces(path: Path) -> list[tuple[int, int]]:
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return list(slices(groups, max(1, (1 << 20) * metadata.num_rows // max(1, values(path)))))


def _read(given: tuple[Path, tuple[int, int]]) -> int:
    path, piece = given
    return pl.scan_parquet(path, parallel="none").slice(*piece).collect(engine="in-memory").height


def _in_batches(path: Path) -> Iterator[pl.DataFrame]:
    rows = max(1, (1 << 20) * pq.read_metadata(path).num_rows // max(1, values(path)))
    yield from pl.scan_parquet(path).collect_batches(chunk_size=rows, maintain_order=False)


def text_floors(run: Path) -> dict[str, Floor]:
    """Plain splits of text, all fields as text but the score."""
    names = ["query_id", "iteration", "doc_id", "rank", "score", "tag"]
    types = {**dict.fromkeys(names, pl.String), "score": pl.Float64}

    def by_polars() -> int:
        return pl.read_csv(run, has_header=False, separator=" ", schema=types, quote_char=None).height

    def by_arrow() -> int:
        read = pyarrow.csv.ReadOptions(column_names=names)
        parse = pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False)
        return pyarrow.csv.read_csv(run, read, parse).num_rows

    return {"polars": by_polars, "pyarrow": by_arrow}
