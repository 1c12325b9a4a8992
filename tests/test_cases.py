"""Cases from people who evaluate ranked retrieval, each run as they would run it; see cases/README.md."""

import json
import math
from pathlib import Path

import inputs
import polars as pl
import pytest

import rankmeter
from rankmeter.cli import main

FOLDER = Path(__file__).resolve().parent / "cases"
TOLERANCE = 1e-12  # relative; an expected 0 must be 0
EXPECTED = {
    path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*/expect.json"))
}
UNWRITABLE = {"HOME": "/dev/null/x", "XDG_CACHE_HOME": "/dev/null/y", "TMPDIR": None}


def jobs():
    """Every run of every case: its folder, its file, and what is right."""
    for name, case in EXPECTED.items():
        for run in case["runs"]:
            yield pytest.param(name, run, case, id=f"{name}-{run}")
        if "also" in case:
            also = {"options": case["options"], "qrels": case["qrels"], **case["also"]}
            yield pytest.param(name, also["run"], also, id=f"{name}-{also['run']}-also")


def close(got, want):
    return got is not None and math.isclose(got, want, rel_tol=TOLERANCE)


def arguments(case, run, per_query):
    asked = [word for measure in case.get("ask") or case["mean"] for word in ("-m", measure)]
    return ["evaluate", case["qrels"], run, *asked, *case["options"], "--format", "json", "--per-query", str(per_query)]


def check_values(case, result, per_query):
    """Means, groups and values per query are the right ones."""
    groups = {tuple(group["group"].values()): group for group in result["runs"][0]["groups"]}
    check_group(groups[()], case["mean"], case["n_queries"])
    for name, values in case.get("groups", {}).items():
        means = {measure: value for measure, value in values.items() if measure != "n_queries"}
        check_group(groups[name,], means, values["n_queries"])
    if "per_query" in case:
        rows = {row["query_id"]: row for row in per_query.rows(named=True)}
        assert rows.keys() == case["per_query"].keys()
        for query, values in case["per_query"].items():
            for measure, want in values.items():
                assert close(rows[query][measure], want), (query, measure, rows[query][measure], want)


def check_group(group, means, n_queries):
    assert group["n_queries"] == n_queries
    for measure, want in means.items():
        got = group["measures"][measure]["mean"]
        assert close(got, want), (measure, got, want)


def test_all_cases_are_here():
    assert len(EXPECTED) == 41 == len([path for path in FOLDER.iterdir() if path.is_dir()])


@pytest.mark.parametrize(("name", "run", "case"), list(jobs()))
def test_case(name, run, case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(FOLDER / name)
    path = tmp_path / "per_query.parquet"
    code = main(arguments(case, run, path))
    out, err = capsys.readouterr()
    if "error" in case:
        assert code == case["exit_code"], err
        assert inputs.lacking(case["must_name"][run], err) == [], err
        assert out == ""
        assert not path.exists()
        return
    assert code == 0, err
    result = json.loads(out)
    check_values(case, result, pl.read_parquet(path))
    assert inputs.lacking(case.get("warn", []), err) == [], err
    assert bool(result["warnings"]) or "warn" not in case


def test_58_no_folder_for_the_cache_can_be_written(tmp_path):
    case = EXPECTED["58-numba-cache-read-only"]
    path = tmp_path / "per_query.parquet"
    done = inputs.process(
        *("-m", "rankmeter", *arguments(case, "run.trec", path)),
        cwd=FOLDER / "58-numba-cache-read-only",
        RANKMETER_CACHE_DIR=None,
        NUMBA_CACHE_DIR=None,
        **UNWRITABLE,
    )
    assert done.returncode == 0, done.stderr
    check_values(case, json.loads(done.stdout), pl.read_parquet(path))


@pytest.mark.parametrize("asked", ["nDCG@10 nDCG@100 nDCG@2", "nDCG@2 nDCG@100 nDCG@10"])
def test_60_the_same_objects_twice(asked, monkeypatch):
    case = EXPECTED["60-evaluate-twice"]
    monkeypatch.chdir(FOLDER / "60-evaluate-twice")
    qrels, run = ({}, {})
    for line in Path("qrels.trec").read_text(encoding="utf-8").splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    for line in Path("run.trec").read_text(encoding="utf-8").splitlines():
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    for _ in range(2):
        result = rankmeter.evaluate(qrels, run, f"AP P@1 RR {asked}")
        assert [measure.name for measure in result.measures] == ["AP", "P@1", "RR", *asked.split()]
        check_values(case, result.to_dict(), result.per_query)


def test_60_a_measure_given_twice(monkeypatch):
    monkeypatch.chdir(FOLDER / "60-evaluate-twice")
    result = rankmeter.evaluate("qrels.trec", "run.trec", "nDCG@2 nDCG@10 nDCG@2")
    assert [measure.name for measure in result.measures] == ["nDCG@2", "nDCG@10"]
