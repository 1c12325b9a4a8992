"""`python -m benchmarks`: make the data once, time cases and tools in processes of their own, re-make the tables."""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.cases import CASES, DEFAULT, PEERS
from benchmarks.generate import generate
from benchmarks.tools import LARGEST, NAMES, TOOLS

HERE = Path(__file__).parent
PAGES = (HERE.parent / "docs" / "benchmarks.md", HERE.parent / "README.md")
FIGURES = HERE / "figures.json"
ALLOWED = 1.25
"""How many times worse than the stored one a ratio may be under --check."""

TOLERANCE = {"ranx": 1e-3, "ir_measures": 1e-3, "pytrec_eval": 1e-4}
"""How far the means of a tool may be away: two order ties in other ways, one rounds scores to float32; else 1e-9."""


def machine() -> dict[str, object]:
    """What the figures depend on."""
    found: dict[str, object] = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "Python": platform.python_version(),
    }
    for name in ("polars", "pyarrow", "numba", "numpy", "duckdb", "pytrec_eval-terrier", "ir-measures", "ranx"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def python(*arguments: object, **environment: str) -> str:
    """What a new process of Python prints."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**clean, **environment}).stdout


def data_of(name: str, root: Path) -> Path:
    """The folder of a case, generated if it is not there."""
    folder = root / name
    if not (folder / "done").exists():
        generate(CASES[name], folder)
        (folder / "done").touch()
    return folder


def time_cases(names: list[str], root: Path, pairs: int) -> dict[str, Any]:
    """Reading against evaluating."""
    print(f"{'case':18} {'rows':>13} {'read s':>8} {'evaluate s':>11} {'ratio':>6} {'ns CPU/row':>11} {'peak GB':>8}")
    results = {}
    for name in names:
        folder = data_of(name, root)
        figures = json.loads(python("-m", "benchmarks.measure", name, folder, pairs))
        figures |= json.loads(python("-m", "benchmarks.measure", name, folder, "alone"))
        results[name] = figures
        print(
            f"{name:18} {figures['rows']:>13,} {figures['floor_s']:>8.3f} {figures['wall_s']:>11.3f} "
            f"{figures['ratio']:>6.2f} {figures['added_cpu_ns_a_row']:>11.1f} {figures['peak_gb']:>8.2f}",
            flush=True,
        )
    return results


def time_tools(cases: list[str], names: list[str], root: Path) -> dict[str, Any]:
    """Every tool on the same files; their means must agree."""
    print(f"{'case':12} {'tool':14} {'whole s':>8} {'warm s':>8} {'peak GB':>8}")
    results: dict[str, Any] = {}
    for case in cases:
        folder = data_of(case, root)
        for name in names:
            if CASES[case].rows > LARGEST.get(name, CASES[case].rows):
                continue
            try:
                got = json.loads(python("-m", "benchmarks.tools", name, folder, 2))
            except subprocess.CalledProcessError:
                print(f"{case:12} {name:14} failed, or is not installed")
                continue
            results.setdefault(case, {})[name] = got
            for measure in NAMES:
                right = results[case]["rankmeter"]["means"][measure]
                if abs(got["means"][measure] - right) > TOLERANCE.get(name, 1e-9):
                    sys.exit(f"{name} disagrees on {case}: {measure} is {got['means'][measure]}, not {right}")
            print(
                f"{case:12} {name:14} {got['first_s']:>8.2f} {got['warm_s']:>8.2f} {got['peak_gb']:>8.2f}", flush=True
            )
    return results


def time_starts() -> dict[str, float]:
    """Seconds of commands that have little to do."""
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder) / "q.trec", Path(folder) / "r.trec"
        qrels.write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(10)))
        run.write_text("".join(f"q{n} Q0 d{d} {d} {9 - d} t\n" for n in range(10) for d in range(10)))
        evaluate = ["-m", "rankmeter", "evaluate", qrels, run, "-m", "nDCG@10 RR@10 AP@100 P@10 R@100", "--quiet"]
        small = "import rankmeter, time\nq, r = {'q': {'a': 1}}, {'q': {'b': 2.0, 'a': 1.0}}\n"
        small += "rankmeter.evaluate(q, r)\nt = time.perf_counter()\n"
        small += "for _ in range(1000): rankmeter.evaluate(q, r).summary\nprint(time.perf_counter() - t)"
        calls = {
            "`rankmeter --help`": lambda: python("-m", "rankmeter", "--help"),
            "`rankmeter measures`": lambda: python("-m", "rankmeter", "measures"),
            "ten queries, warm": lambda: python(*evaluate),
            "ten queries, first ever": lambda: python(*evaluate, RANKMETER_CACHE_DIR=tempfile.mkdtemp(dir=folder)),
        }
        found = {}
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            found[name] = time.perf_counter() - start
        found["1,000 calls of one query each, in Python"] = float(python("-c", small))
    for name, seconds in found.items():
        print(f"{name:45} {seconds:.2f} s")
    return found


def check(figures: dict[str, Any], stored: dict[str, Any]) -> int:
    """Compare ratios with the stored ones; the number of those that are much worse."""
    worse = 0
    for name, case in figures.get("cases", {}).items():
        if name in stored.get("cases", {}):
            before = stored["cases"][name]["ratio"]
            bad = case["ratio"] > ALLOWED * before
            worse += bad
            print(f"{name}: ratio {case['ratio']:.2f}, stored {before:.2f}{' - worse' if bad else ''}")
    return worse


def main() -> int:
    """Run what was chosen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(DEFAULT), help=f"of {', '.join(CASES)}; none, or all")
    parser.add_argument(
        "--tools", nargs="*", default=None, help=f"also compare tools, of {', '.join(TOOLS)}; all by default"
    )
    parser.add_argument("--sizes", nargs="*", default=list(PEERS[:2]), help="the cases for the tools")
    parser.add_argument("--starts", action="store_true", help="also time commands that have little to do")
    parser.add_argument("--pairs", type=int, default=5, help="timed pairs of each case")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the data is kept")
    parser.add_argument("--store", action="store_true", help="keep the figures, and re-make the tables and the chart")
    parser.add_argument("--check", action="store_true", help="compare ratios with the stored ones; 1 if one is worse")
    options = parser.parse_args()
    names = {"none": [], "all": list(CASES)}.get(options.cases[0] if options.cases else "none", options.cases)
    if unknown := [name for name in [*names, *options.sizes] if name not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}")
    without_data = vars(options) | {"data": "FOLDER"}
    figures: dict[str, Any] = {"machine": machine(), "command": " ".join(f"{k}={v}" for k, v in without_data.items())}
    figures["cases"] = time_cases(names, options.data, options.pairs) if names else {}
    if options.tools is not None:
        figures["tools"] = time_tools(options.sizes, options.tools or list(TOOLS), options.data)
    if options.starts:
        figures["starts"] = time_starts()
    stored = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    if options.store:
        stored = merged(stored, figures)
        FIGURES.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        remake(stored)
    return int(options.check and check(figures, stored) > 0)


def merged(stored: Any, found: Any) -> Any:
    """What was stored, with what was found in its place."""
    if not (isinstance(stored, dict) and isinstance(found, dict)):
        return found
    return {**stored, **{name: merged(stored.get(name), value) for name, value in found.items()}}


def remake(figures: dict[str, Any]) -> None:
    """The tables of the pages, and the chart."""
    for page in PAGES:
        page.write_text(report.fill(page.read_text(encoding="utf-8"), figures), encoding="utf-8")
    if figures.get("tools"):
        report.chart(figures, HERE.parent / "docs" / "benchmarks.svg")


if __name__ == "__main__":
    sys.exit(main())
