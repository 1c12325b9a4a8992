"""Printed output of trec_eval 10.0 on real runs and on its own test files; skipped where these are not beside us."""

import gzip
import json
from pathlib import Path

import pytest

import rankmeter
from rankmeter.notation import parse_measures

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ROBUST = DATA / "robust03"
OWN = DATA / "trec_eval"

needs_robust = pytest.mark.skipif(not ROBUST.is_dir(), reason="TREC 2003 Robust runs are third-party data")
needs_own = pytest.mark.skipif(not OWN.is_dir(), reason="trec_eval's test files are third-party data")


ONLY_PRINTED = ("runid", "relstring", "relstring_20")
"""What only trec_eval's own format has."""

LABELLED = {"ndcg_1=3,2=9,4=4.5": "ndcg.1=3,2=9,4=4.5", "utility_2,-1,0,0": "utility.2,-1,0,0"}
LABELLED |= {"11pt_avg_.25,.5,.75": "11pt_avg..25,.5,.75"}
"""Names as they are printed that are asked for in another way."""


def known(names):
    """trec_eval's name -> our measure."""
    return {name: parse_measures(LABELLED.get(name, name), trec=True)[0] for name in names if name not in ONLY_PRINTED}


def lines(path):
    """Name, topic and printed value of each line."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [tuple(line.split()) for line in file if len(line.split()) == 3]


FIXED = {"-nan": "0.0000", "-0.0000": "0.0000"}
"""What is printed where the reference divides 0 by 0, and for its 0 below 0."""


def check(result, expected, measures):
    """Compare printed values; returns how many there were."""
    values = {row["query_id"]: row for row in result.per_query.iter_rows(named=True)}
    total = {
        name: {"mean": mean, "geometric": mean, "sum": sum_}
        for name, mean, sum_ in result.summary.select("measure", "mean", "sum").rows()
    }
    count = 0
    for name, topic, printed in expected:
        if name not in measures or (name == "num_q" and topic != "all"):
            continue
        asked = measures[name]
        value = total[asked.name][asked.measure.aggregate] if topic == "all" else values[topic][asked.name]
        assert (f"{value:.4f}" if "." in printed else f"{value:.0f}") == FIXED.get(printed, printed), (name, topic)
        count += 1
    return count


@needs_robust
@pytest.mark.parametrize("run", ["pircRBa1", "humR03dc", "VTcdhgp1"])
def test_real_runs_print_the_same(run):
    expected = lines(ROBUST / "expected" / f"{run}.txt.gz")
    measures = known(dict.fromkeys(name for name, _, _ in expected))
    assert len(measures) >= 99
    result = rankmeter.evaluate(
        ROBUST / "qrels.trec.gz", ROBUST / f"{run}.trec.gz", [asked.name for asked in measures.values()]
    )
    assert check(result, expected, measures) >= 9699
    doubles = json.loads(gzip.decompress((ROBUST / "expected" / f"{run}.double.json.gz").read_bytes()))
    values = {row["query_id"]: row for row in result.per_query.iter_rows(named=True)}
    for topic, exact in doubles.items():
        for name, value in exact.items():
            if name in measures and name != "11pt_avg":  # version 9, which gave the doubles, rounds recalls otherwise
                assert values[topic][measures[name].name] == pytest.approx(value, rel=0, abs=1e-12)


GOLDENS = [
    ("out.test", "qrels.test", "results.test", {}),
    ("out.test", "qrels.test.with-comments", "results.test", {}),
    ("out.comment.test", "qrels.comment.test", "results.comment.test.gz", {}),
    ("out.test.a", "qrels.test", "results.test", {}),
    ("out.test.aq", "qrels.test", "results.test", {}),
    ("out.test.aqc", "qrels.test", "results.trunc", {}),
    ("out.test.aql", "qrels.rel_level", "results.test", {"relevance_level": 2}),
    ("out.test.meas_params", "qrels.test", "results.test", {}),
]


@needs_own
@pytest.mark.parametrize(("golden", "qrels", "run", "options"), GOLDENS)
def test_the_reference_s_own_files_print_the_same(golden, qrels, run, options):
    expected = [(name.removesuffix(":"), topic, value) for name, topic, value in lines(OWN / golden)]
    measures = known(dict.fromkeys(name for name, _, _ in expected))
    names = [asked.name for asked in measures.values()]
    result = rankmeter.evaluate(OWN / qrels, OWN / run, names, **options)
    assert check(result, expected, measures) >= 10
