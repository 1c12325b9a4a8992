"""Damaged inputs: each ends with exit code 3, a message that says where, what and what to do, and no output.

`python tests/test_bad_inputs.py CASE ...` records what the program says of new cases; see bad/README.md.
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import sys
from pathlib import Path

import inputs
import polars as pl
import pytest

from rankmeter.checks.catalogue import CHECKS, ERROR
from rankmeter.cli import main

FOLDER = Path(__file__).resolve().parent / "bad"
CASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
REASON = "⟨reason⟩"
ELSEWHERE = {"unreadable-object", "strict", "endless-line"}
"""Rules of Python objects, of warnings, and of what no small file can break; they have tests of their own."""

IN_COLUMNS = {"null-value", "no-number", "nan-value", "infinite-grade", "inexact-integer", "json-type"}
IN_ROWS = IN_COLUMNS | {"field-count", "no-object", "unequal-lists", "duplicate-document", "conflicting-grades"}
"""Rules whose messages name a column, and those whose messages name a row."""

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"


def arguments(folder):
    """The command line of a case."""
    qrels, run = (next(path.name for path in sorted(folder.iterdir()) if path.name.startswith(side)) for side in SIDES)
    options = folder / "options.json"
    more = json.loads(options.read_text(encoding="utf-8")) if options.exists() else []
    measures = [] if "-m" in more else ["-m", "nDCG@10 AP"]
    return ["evaluate", qrels, run, *measures, "--format", "json", *more]


SIDES = ("qrels", "run")


def expected(case):
    return (FOLDER / case / "expected.txt").read_text(encoding="utf-8")


def as_pattern(text):
    """What standard error must be, as a regular expression."""
    return ".*".join(map(re.escape, text.split(REASON)))


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case, tmp_path, monkeypatch, capsys):
    folder = tmp_path / case
    shutil.copytree(FOLDER / case, folder)
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    outputs = ("--per-query", "p.parquet", "--summary", "s.json", "--hits", "h.csv")
    code = main([*arguments(folder), *outputs])
    out, err = capsys.readouterr()
    assert re.fullmatch(as_pattern(expected(case)), err, re.DOTALL), err
    assert (code, out) == (3, "")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("case", CASES)
def test_the_audit_says_the_same_as_the_evaluation(case, tmp_path, monkeypatch, capsys):
    folder = tmp_path / case
    shutil.copytree(FOLDER / case, folder)
    monkeypatch.chdir(folder)
    _, *words = arguments(folder)
    asked = [word for number, word in enumerate(words) if "-m" not in words[max(0, number - 1) : number + 1]]
    code = main(["check", *asked, "--problems", "problems.parquet"])
    found = json.loads(capsys.readouterr().out)
    told = set(re.findall(r"\[([a-z]+(?:-[a-z]+)*)\] ", expected(case)))
    if told <= {"no-finite-value", "grade-beyond-scale"}:  # of measures, which an audit does not have
        assert code == 0
        return
    assert code == 3
    assert set(found["problems"]["by_rule"]) >= told
    assert found["problems"]["count"] == sum(found["problems"]["by_rule"].values())


def test_there_are_twenty_cases_of_each_format():
    for family in ("trec", "csv", "jsonl", "parquet"):
        assert sum(case.startswith(f"{family}-") for case in CASES) >= 20


def test_each_rule_has_a_case():
    told = {rule for case in CASES for rule in re.findall(r"\[([a-z-]+)\] ", expected(case))}
    assert {check.code for check in CHECKS.values() if check.severity == ERROR} - told == ELSEWHERE


@pytest.mark.parametrize("case", CASES)
def test_a_problem_of_a_row_names_file_row_rule_and_remedy(case):
    for line in re.findall(r"^(?:rankmeter: error: )?(\[.*)$", expected(case), re.MULTILINE):
        rule = re.match(r"\[([a-z-]+)\] ", line)[1]
        if rule in IN_ROWS:
            assert re.search(r"^\[[a-z-]+\] \S+ rows? [0-9]+", line), line
            assert rule not in IN_COLUMNS or re.search(r", column \S+", line), line


@pytest.mark.parametrize("position", [1, 5_000, 99_999])
def test_the_row_is_right_far_down(position, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    scores = [float(-row) for row in range(100_000)]
    scores[position] = float("nan")
    run = pl.DataFrame({"query_id": ["q1"] * 100_000, "doc_id": range(100_000), "score": scores})
    run.write_parquet("r.parquet", row_group_size=1_000)
    run.write_csv("r.csv")
    for name, row in (("r.parquet", position + 1), ("r.csv", position + 2)):
        assert main(["evaluate", "q.trec", name, "-m", "AP", "--batch-rows", "700"]) == 3
        assert inputs.lacking([name, f"row {row}", "score", "nan", "q1", str(position)], capsys.readouterr().err) == []


def test_many_problems_are_counted_and_the_first_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    (tmp_path / "r.trec").write_text("".join(f"q1 Q0 d{row} 1 x{row} t\n" for row in range(1, 51)), encoding="utf-8")
    assert main(["evaluate", "q.trec", "r.trec", "-m", "AP"]) == 3
    err = capsys.readouterr().err
    assert err.count("column score") == 20
    assert "30 more" in err
    assert inputs.lacking(["row 1", "x1", "row 20", "x20"], err) == []


def test_long_values_are_cut_in_the_middle(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    (tmp_path / "r.trec").write_text(f"q1 Q0 a 1 {'x' * 500}\x1b[31m t\n", encoding="utf-8")
    assert main(["evaluate", "q.trec", "r.trec", "-m", "AP"]) == 3
    err = capsys.readouterr().err
    assert "x" * 30 in err
    assert "x" * 81 not in err
    assert "\x1b" not in err


PLANTED = {"field-count": 9, "encoding": 4, "no-number": 12, "nan-value": 8, "duplicate-document": 17}


def planted(rows, seed):
    """A run of so many good rows with fifty defects among them, and the line of each defect by its rule."""
    chance, defects = random.Random(seed), {}
    lines = [(None, f"q{row % 7} Q0 d{row} 1 {-row} t".encode()) for row in range(rows)]
    for rule, count in PLANTED.items():
        for number in range(count):  # each at a place of its own
            other = chance.randrange(rows)
            line = {
                "field-count": b"q1 Q0 short 1",
                "encoding": b"q1 Q0 d\xe9 1 2 t",
                "no-number": f"q1 Q0 n{number} 1 1,{number} t".encode(),
                "nan-value": f"q1 Q0 nan{number} 1 nan t".encode(),
                "duplicate-document": f"q{other % 7} Q0 d{other} 1 {-rows} t".encode(),
            }[rule]
            last = rule == "duplicate-document"  # so that it stands behind what it repeats
            lines.insert(len(lines) if last else chance.randrange(len(lines)), (rule, line))
    for line, (rule, _) in enumerate(lines, 1):
        defects.setdefault(rule, []).append(line)
    del defects[None]
    return b"\n".join(text for _, text in lines) + b"\n", defects


@pytest.mark.parametrize("batch_rows", ["100", "100000"])
def test_fifty_planted_defects_are_found_in_one_go(batch_rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, defects = planted(3000, 5)
    Path("run.trec").write_bytes(data)
    Path("qrels.trec").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(7)), encoding="utf-8")
    options = ["-m", "AP", "--batch-rows", batch_rows, "--problems", "problems.parquet"]
    assert main(["evaluate", "qrels.trec", "run.trec", *options]) == 3
    err = capsys.readouterr().err
    counts = {rule: len(rows) for rule, rows in defects.items()}
    assert sum(counts.values()) == 50
    assert err.startswith("rankmeter: error: 50 problems: ")
    assert all(f"{count} {rule}" in err.splitlines()[0] for rule, count in counts.items())
    assert len(re.findall(r"^\[", err, re.MULTILINE)) == 20
    assert err.endswith("… and 30 more\n")
    table = pl.read_parquet("problems.parquet")
    found = {rule: sorted(rows) for rule, rows in table.group_by("rule").agg("row").iter_rows()}
    assert found == defects
    assert table["message"].str.contains(r"run\.trec rows? [0-9]+").all()


def record(case):
    """Write what the program says of a case."""
    os.chdir(FOLDER / case)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(arguments(FOLDER / case))
    sys.stdout.write(f"{case}: exit code {code}\n{said.getvalue()}")
    (FOLDER / case / "expected.txt").write_text(said.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    for one in sys.argv[1:]:
        record(one)
