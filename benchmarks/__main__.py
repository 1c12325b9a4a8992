"""`python -m benchmarks [CASE…]`: generate the data once, then time each case in a process of its own."""

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.cases import CASES, DEFAULT
from benchmarks.generate import generate

HERE = Path(__file__).parent


def machine() -> dict[str, object]:
    """What the figures depend on."""
    libraries = {name: version(name) for name in ("polars", "pyarrow", "numba", "numpy")}
    return {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version(), **libraries}


def data_of(name: str, root: Path) -> Path:
    """The folder of a case, generated if it is not there."""
    folder = root / name
    if not (folder / "done").exists():
        generate(CASES[name], folder)
        (folder / "done").touch()
    return folder


def main() -> None:
    """Time the chosen cases and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", default=DEFAULT, help=f"of {', '.join(CASES)}")
    parser.add_argument("--pairs", type=int, default=5, help="timed pairs of each case")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the data is kept")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}")
    results = {}
    print(f"{'case':20} {'rows':>12} {'read s':>8} {'evaluate s':>11} {'ratio':>6} {'ns CPU/row':>11} {'peak GB':>8}")
    for name in options.cases:
        command = [sys.executable, "-m", "benchmarks.measure", str(data_of(name, options.data)), str(options.pairs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures = results[name] = json.loads(done.stdout)
        print(
            f"{name:20} {figures['rows']:>12,} {figures['floor_s']:>8.3f} {figures['wall_s']:>11.3f} "
            f"{figures['ratio']:>6.2f} {figures['added_cpu_ns_a_row']:>11.1f} {figures['peak_gb']:>8.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "cases": results}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
