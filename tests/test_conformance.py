"""Printed output of trec_eval 10.0 on real runs and on its own test files; skipped where these are not beside us."""

import gzip
import json
from pathlib import Path

import pytest

import rankmeter
from rankmeter.cli import main
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
        wanted = FIXED.get(printed, printed)
        assert (f"{value:.4f}" if "." in wanted else f"{value:.0f}") == wanted, (name, topic)
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


RANDOM = DATA / "random"
needs_random = pytest.mark.skipif(not RANDOM.is_dir(), reason="the collections are third-party data")


def collections():
    """Random collections, each with the options and the whole output of the reference."""
    for name in ("collections", "combined") if RANDOM.is_dir() else ():
        with gzip.open(RANDOM / f"{name}.jsonl.gz", "rt") as file:
            yield from map(json.loads, file)


def nested(rows, kind):
    """Rows of (query, document, value) as `{query: {document: value}}`."""
    out = {}
    for query, document, value in rows:
        out.setdefault(query, {})[document] = kind(value)
    return out


def rules_of(letters):
    """The options of the reference as ours."""
    given = {letter[:2]: letter[2:] for letter in letters}
    options = {"relevance_level": float(given["-l"])} if "-l" in given else {}
    return options | ({"depth": int(given["-M"])} if "-M" in given else {}) | {"judged_only": "-J" in given}


def trusted(printed, options):
    """What the reference prints without the two lines in which it is wrong by itself."""
    spoiled = {name for name, _, value in printed if value == "-nan"}  # so are the means of these
    for name, topic, value in printed:
        means = topic == "all"
        if not (means and (name in spoiled or (name == "num_rel" and "relevance_level" in options))):
            yield name, topic, value


@needs_random
def test_random_collections_print_the_same():
    count = 0
    for collection in collections():
        options = rules_of(collection["options"])
        printed = list(trusted(collection["trec_eval"], options))
        measures = known(dict.fromkeys(name for name, _, _ in printed))
        qrels, run = nested(collection["qrels"], int), nested(collection["run"], float)
        names = [asked.name for asked in measures.values()]
        result = rankmeter.evaluate(qrels, run, names, **options)
        count += check(result, [line for line in printed if line[0] != "P_200" or line[1] != "all"], measures)
    assert count > 127_000


PRINTED = [
    ("out.test", "", "qrels.test", "results.test"),
    ("out.comment.test", "", "qrels.comment.test", "results.comment.test.gz"),
    ("out.test.a", "-m all_trec", "qrels.test", "results.test"),
    ("out.test.a", "-m all_trec -n -q -n", "qrels.test", "results.test"),
    ("out.test.aq", "-m all_trec -q", "qrels.test", "results.test"),
    ("out.test.aqc", "-m all_trec -q -c", "qrels.test", "results.trunc"),
    ("out.test.aqcM", "-m all_trec -q -c -M100", "qrels.test", "results.trunc"),
    ("out.test.aqcM", "-m trec_all --print-per-query --depth 100", "qrels.test", "results.trunc"),
    ("out.test.aql", "-m all_trec -m relstring.20 -q -l2", "qrels.rel_level", "results.test"),
    (
        "out.test.meas_params",
        "-q -m iprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
        "-m utility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -m ndcg.1=3,2=9,4=4.5 -m ndcg_cut.10,20,23.4 -m success.2,5,20",
        "qrels.test",
        "results.test",
    ),
]


@needs_own
@pytest.mark.parametrize(("golden", "options", "qrels", "run"), PRINTED)
def test_its_format_is_the_same_to_the_character(golden, options, qrels, run, capsys):
    words = ["evaluate", OWN / qrels, OWN / run, "--quiet", "--format", "trec", *options.split()]
    assert main([*map(str, words)]) == 0
    expected = (OWN / golden).read_text().splitlines(keepends=True)
    if "-n" in options:
        with (OWN / "out.test.aq").open() as file:
            expected = [line for line in file if line.split("\t")[1] != "all"]
    assert capsys.readouterr().out.splitlines(keepends=True) == expected


@needs_random
def test_random_collections_are_printed_the_same(tmp_path, capsys):
    for number, collection in enumerate(collections()):
        options = rules_of(collection["options"])
        qrels, run = tmp_path / f"{number}.qrels", tmp_path / f"{number}.run"
        qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in collection["qrels"]), encoding="utf-8")
        run.write_text("".join(f"{q} Q0 {d} 0 {s} t\n" for q, d, s in collection["run"]), encoding="utf-8")
        words = ["evaluate", qrels, run, "--quiet", "--format", "trec", "-q", "-m", "all_trec yaap"]
        assert main([*map(str, words), *collection["options"]]) == 0
        printed = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
        known_lines = {tuple(line) for line in trusted(collection["trec_eval"], options)}
        missing = {(name, topic, FIXED.get(value, value)) for name, topic, value in known_lines} - printed
        assert {line for line in missing if line[0] not in ("runid", "relstring")} == set(), number


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
