"""One case in one process: pairs of only reading and evaluating; or, alone, the peak of the memory."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import rankmeter
from benchmarks.cases import CASES, Case
from benchmarks.floors import files, floors
from benchmarks.tools import peak_gb


def inputs(case: Case, folder: Path) -> tuple[Path, Path]:
    """Qrels and run of a case."""
    run = folder / (
        "run" if case.layout in ("parts", "files") else "run.trec" if case.layout == "trec" else "run.parquet"
    )
    return folder / "qrels.parquet", run


def evaluate(case: Case, folder: Path, output: Path) -> None:
    """The whole job: every check, all measures, values per query written."""
    qrels, run = inputs(case, folder)
    result = rankmeter.evaluate(qrels, files(run) if case.layout == "files" else run, case.measures)
    result.write_per_query(output)
    result.to_dict()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall and of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(case: Case, folder: Path, output: Path, pairs: int) -> dict[str, object]:
    """Medians over pairs of the fastest floor and the evaluation."""
    ways = floors(inputs(case, folder)[1])
    evaluate(case, folder, output)  # compiles
    rounds = []
    for _ in range(pairs):
        times = {name: timed(way) for name, way in ways.items()}
        best = min(times, key=times.__getitem__)
        wall, cpu = timed(lambda: evaluate(case, folder, output))
        rounds.append({"way": best, "floor": times[best][0], "floor_cpu": times[best][1], "wall": wall, "cpu": cpu})
    return {
        "rows": case.rows,
        "floor": statistics.mode(r["way"] for r in rounds),
        "ratio": statistics.median(r["wall"] / r["floor"] for r in rounds),
        "ratios": [round(r["wall"] / r["floor"], 2) for r in rounds],
        "wall_s": statistics.median(r["wall"] for r in rounds),
        "floor_s": statistics.median(r["floor"] for r in rounds),
        "added_cpu_ns_a_row": statistics.median(r["cpu"] - r["floor_cpu"] for r in rounds) / case.rows * 1e9,
    }


def alone(case: Case, folder: Path, output: Path) -> dict[str, object]:
    """One evaluation in a process that does nothing else: its time and the peak of the memory."""
    wall, cpu = timed(lambda: evaluate(case, folder, output))
    return {"first_s": wall, "first_cpu_s": cpu, "peak_gb": peak_gb()}


if __name__ == "__main__":
    chosen, root, job = CASES[sys.argv[1]], Path(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as out:
        target = Path(out) / "per_query.parquet"
        figures = alone(chosen, root, target) if job == "alone" else compare(chosen, root, target, int(job))
    print(json.dumps(figures))
