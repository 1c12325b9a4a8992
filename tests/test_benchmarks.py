"""The benchmarks: data is the same for the same seed and as stated, every layout evaluates, tools agree."""

import hashlib
from dataclasses import replace

import polars as pl
import pytest

import rankmeter
from benchmarks import generate, report
from benchmarks.cases import CASES, Case
from benchmarks.floors import floors, values
from benchmarks.measure import evaluate, inputs
from benchmarks.tools import NAMES, TOOLS

SMALL = Case(64, depth=20, documents=7_919, row_group=300)
LAYOUTS = ("flat", "lists", "shuffled", "table", "files", "parts", "trec")


def made(case, folder):
    generate.generate(case, folder)
    return folder


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


@pytest.mark.parametrize("ids", ["text", "long", "integer"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_evaluates_to_the_same(layout, ids, tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "PIECE", 200)
    monkeypatch.setattr(generate, "PARTS", 5)
    case = replace(SMALL, layout=layout, ids=ids, systems=2 if layout in ("table", "files") else 1)
    folder = made(case, tmp_path / "a")
    assert digest(folder) == digest(made(case, tmp_path / "b"))
    evaluate(case, folder, tmp_path / "per_query.parquet")
    found = pl.read_parquet(tmp_path / "per_query.parquet")
    assert found.height == 64 * case.systems
    plain = made(replace(SMALL, ids=ids), tmp_path / "plain")
    result = rankmeter.evaluate(plain / "qrels.parquet", plain / "run.parquet", case.measures)
    first = found.filter(pl.col("run") == found["run"].min()).drop("run")
    assert first.equals(result.per_query.drop("run"))
    if layout != "trec":
        assert values(inputs(case, folder)[1]) == case.rows
    for floor in floors(inputs(case, folder)[1]).values():
        floor()


@pytest.mark.parametrize("name", ["rankmeter", "duckdb", "polars", "pytrec_eval"])
def test_tools_agree(name, tmp_path):
    folder = made(SMALL, tmp_path)
    right = TOOLS["rankmeter"](folder, tmp_path / "right.parquet")
    found = TOOLS[name](folder, tmp_path / "found.parquet")
    assert all(
        found[measure] == pytest.approx(right[measure], abs=1e-9 if name != "pytrec_eval" else 1e-3)
        for measure in NAMES
    )
    assert pl.read_parquet(tmp_path / "found.parquet").height == 64


def test_the_table_of_cases():
    assert len(CASES["many-measures-10m"].measures.split()) == 50
    assert CASES["flat-100m"].rows == 100_000_000
    assert all(case.note for case in CASES.values())


def test_pages_are_filled_between_markers():
    case = {"rows": 1, "floor_s": 1.0, "wall_s": 2.0, "ratio": 2.0, "added_cpu_ns_a_row": 3.0, "peak_gb": 0.5}
    page = report.fill(
        "a\n<!-- cases -->\nold\n<!-- /cases -->\nb <!-- tools --><!-- /tools -->", {"cases": {"flat-1m": case}}
    )
    assert page.startswith("a\n<!-- cases -->\n| case | rows |")
    assert "| flat-1m | 1 |" in page
    assert "old" not in page
    assert page.endswith("<!-- /cases -->\nb <!-- tools --><!-- /tools -->")
