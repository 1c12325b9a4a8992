"""One case in one process: pairs of reading only and evaluating, and the peak of the memory.

Reading is timed in several ways, and the fastest of them is the floor, so that the figure does not flatter.
"""

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

import rankmeter
from benchmarks.cases import MEASURES
from rankmeter.sources.tables import slices


def floors(run: Path) -> dict[str, Callable[[], object]]:
    """Ways to decode every column of a file."""
    metadata = pq.read_metadata(run)
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    rows = max(1, (1 << 20) * metadata.num_rows // max(1, values(run)))

    def in_slices() -> None:
        lazy = pl.scan_parquet(run, parallel="none")

        def read(piece: tuple[int, int]) -> int:
            return lazy.slice(*piece).collect(engine="in-memory").height

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(read, slices(groups, rows)))

    def in_batches() -> None:
        for _ in pl.scan_parquet(run).collect_batches(chunk_size=rows, maintain_order=False):
            pass

    return {"slices": in_slices, "collect_batches": in_batches}


def values(run: Path) -> int:
    """Results in a file, whether flat or in lists."""
    metadata = pq.read_metadata(run)
    return sum(metadata.row_group(i).column(1).num_values for i in range(metadata.num_row_groups))


def evaluate(folder: Path, output: Path) -> None:
    """The whole job: every check, five measures, values per query written."""
    result = rankmeter.evaluate(folder / "qrels.parquet", folder / "run.parquet", MEASURES)
    result.write_per_query(output)
    result.to_dict()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall and of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(folder: Path, pairs: int) -> dict[str, object]:
    """Medians over pairs of the fastest floor and the evaluation."""
    ways = floors(folder / "run.parquet")
    with tempfile.TemporaryDirectory() as out:
        output = Path(out) / "per_query.parquet"
        evaluate(folder, output)  # compiles
        rounds = []
        for _ in range(pairs):
            floor = min(timed(way) for way in ways.values())
            wall, cpu = timed(lambda: evaluate(folder, output))
            rounds.append({"floor": floor[0], "wall": wall, "cpu": cpu, "floor_cpu": floor[1]})
    rows = values(folder / "run.parquet")
    return {
        "rows": rows,
        "ratio": statistics.median(r["wall"] / r["floor"] for r in rounds),
        "wall_s": statistics.median(r["wall"] for r in rounds),
        "floor_s": statistics.median(r["floor"] for r in rounds),
        "added_cpu_ns_a_row": statistics.median(r["cpu"] - r["floor_cpu"] for r in rounds) / rows * 1e9,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1]), int(sys.argv[2]))))
