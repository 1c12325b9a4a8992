"""Results do not depend on the way they are computed: batches, threads, order, files, memory, collisions."""

import itertools
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import inputs
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankmeter
from rankmeter import matching, spill
from rankmeter.errors import DataError, UsageError
from rankmeter.ids import Held
from rankmeter.limits import Budget
from rankmeter.store import RunValues
from rankmeter.words import all_hashes

SMALL = inputs.collection(seed=4, queries=25, depth=20)
TIES = ("doc-id-desc", "doc-id-asc", "input-order")


def measured(judged, run, **options):
    return rankmeter.evaluate(judged, {"r": run}, inputs.MEASURES, **options)


def digests(result, folder):
    """sha256 of the files of values and of hits."""
    result.write_per_query(folder / "per_query.parquet")
    result.write_hits(folder / "hits.parquet")
    return inputs.digest(folder / "per_query.parquet"), inputs.digest(folder / "hits.parquet")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The files' digests for the collection as frames in the order given."""
    result = measured(SMALL.qrels, SMALL.run.drop("rank"), keep_hits=True)
    assert result.hits.drop("run").rows() == inputs.naive_hits(SMALL.qrels, SMALL.run)
    return digests(result, tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize("batch_rows", [1, 3, 50])
def test_lists_in_any_order_and_size_of_batch(batch_rows, expected, tmp_path):
    lists = inputs.as_lists(SMALL.run.drop("rank"))
    for frame in (lists, lists.reverse(), inputs.as_lists(inputs.ordered(SMALL.run.drop("rank"), 8))):
        assert digests(measured(SMALL.qrels, frame, keep_hits=True, batch_rows=batch_rows), tmp_path) == expected


def test_a_query_split_over_rows_of_lists(expected, tmp_path):
    halves = [SMALL.run.drop("rank").gather_every(2), SMALL.run.drop("rank").gather_every(2, 1)]
    frame = pl.concat([inputs.as_lists(half) for half in halves])
    assert digests(measured(SMALL.qrels, frame, keep_hits=True, batch_rows=5), tmp_path) == expected


def test_a_query_scattered_over_files(expected, tmp_path):
    for number in range(3):
        SMALL.run.gather_every(3, number).write_parquet(tmp_path / f"part{number}.parquet")
    result = measured(SMALL.qrels, str(tmp_path / "part*.parquet"), keep_hits=True)
    assert digests(result, tmp_path) == expected


@pytest.mark.parametrize("in_memory", [0, 1 << 22], ids=["spilled", "in memory"])
@pytest.mark.parametrize("batch_rows", [7, 50, 1000])
def test_scattered_rows_on_disk_and_in_memory(in_memory, batch_rows, expected, tmp_path, monkeypatch):
    called, original = [], spill.BlockOnDisk.written
    monkeypatch.setattr(Budget, "scattered", in_memory)
    monkeypatch.setattr(spill.BlockOnDisk, "written", lambda *given: called.append(1) or original(*given))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = inputs.ordered(SMALL.run, 8)
    result = measured(SMALL.qrels, run, keep_hits=True, batch_rows=batch_rows)
    assert bool(called) == (in_memory == 0)
    assert list(tmp_path.iterdir()) == []
    assert digests(result, tmp_path) == expected


@pytest.mark.parametrize("order", ["given", 8])
@pytest.mark.parametrize("shares", [1, 2, 5, 60])
@pytest.mark.parametrize("in_memory", [0, 1 << 30], ids=["values on disk", "in memory"])
def test_shares_of_the_judgements_and_values_on_disk(order, shares, in_memory, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(Budget, "shares", lambda *_: shares)
    monkeypatch.setattr(Budget, "values", in_memory)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    whole = measured(SMALL.qrels, inputs.ordered(SMALL.run, order), keep_hits=True)
    result = measured(
        inputs.ordered(SMALL.qrels, order), inputs.ordered(SMALL.run, order), keep_hits=True, batch_rows=40
    )
    assert list(tmp_path.iterdir()) == []
    assert digests(result, tmp_path) == expected
    assert result.accounting == whole.accounting
    assert [notice.as_dict() for notice in result.warnings] == [notice.as_dict() for notice in whole.warnings]


@pytest.mark.parametrize("shares", [2, 3])
def test_shares_with_segments_runs_and_repeats(shares, monkeypatch):
    market = pl.col("query_id").str.slice(-1).alias("market")
    qrels = pl.concat([SMALL.qrels, SMALL.qrels[:3]]).with_columns(market)
    table = pl.concat([SMALL.run.with_columns(run=pl.lit(name), device=market) for name in "ba"])
    whole = rankmeter.evaluate(qrels, table, inputs.MEASURES, by=["market", "device"])
    monkeypatch.setattr(Budget, "shares", lambda *_: shares)
    result = rankmeter.evaluate(qrels, table, inputs.MEASURES, by=["market", "device"])
    assert_frame_equal(result.summary, whole.summary, check_exact=True)
    assert result.accounting == whole.accounting
    assert {notice.code: notice.count for notice in result.warnings}["repeated-judgements"] == 3
    plain = rankmeter.evaluate(SMALL.qrels, SMALL.run, inputs.MEASURES)
    for run in "ab":
        values = result.per_query.filter(pl.col("run") == run).drop("run", "market", "device")
        assert_frame_equal(values, plain.per_query.drop("run"), check_exact=True)


@pytest.mark.parametrize("shares", [1, 4])
def test_conflicts_are_found_in_shares_with_their_rows(shares, monkeypatch):
    monkeypatch.setattr(Budget, "shares", lambda *_: shares)
    query, doc, _ = SMALL.qrels.row(7)
    qrels = pl.concat([SMALL.qrels, SMALL.qrels[7:8].with_columns(pl.col("grade") + 1)])
    with pytest.raises(
        DataError, match=f"rows 8 and {qrels.height}: query {query} and document {doc} are judged twice"
    ):
        measured(qrels, SMALL.run)


def deep(ties, seed=0, queries=3, depth=400):
    """Lists with far more hits than are counted one by one; `ties`: how many scores there are."""
    chance = random.Random(seed)
    rows = [
        (f"q{q}", f"d{doc:03}", float(chance.randrange(ties)))
        for q in range(queries)
        for doc in chance.sample(range(999), depth)
    ]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    judged = run.select("query_id", "doc_id", grade=pl.Series([chance.randrange(-1, 4) for _ in rows]))
    return judged.sample(fraction=0.8, seed=seed), run


@pytest.mark.parametrize("ties", [1, 2, 30, 10**9])
@pytest.mark.parametrize("order", ["as made", "falling"])
@pytest.mark.parametrize("few", [True, False], ids=["few hits", "many hits"])
def test_deep_lists_equal_plain_sorting(ties, order, few):
    judged, run = deep(ties)
    judged = judged.head(20) if few else judged
    run = run.sort("query_id", "score", descending=[False, True], maintain_order=True) if order == "falling" else run
    assert few or judged.group_by("query_id").len()["len"].min() > matching.MANY_HITS
    assert measured(judged, run, keep_hits=True).hits.drop("run").rows() == inputs.naive_hits(judged, run)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("few", [True, False], ids=["few hits", "many hits"])
def test_lists_that_are_all_tied(ties, few):
    judged, run = deep(1, seed=2)
    judged = judged.head(15) if few else judged
    hits = measured(judged, run, ties=ties, keep_hits=True).hits
    for (query,), found in hits.group_by("query_id"):
        docs = run.filter(pl.col("query_id") == query)["doc_id"].to_list()
        if ties != "input-order":
            docs = sorted(docs, reverse=ties == "doc-id-desc")
        assert found["rank"].to_list() == sorted(docs.index(doc) + 1 for doc in found["doc_id"])
        assert all(docs[rank - 1] == doc for doc, rank in found.select("doc_id", "rank").rows())


@pytest.mark.parametrize("size", [12, 20, 28, 52], ids="{} bytes".format)
def test_hashes_that_collide_change_no_number(size):
    docs = inputs.colliding(150, size)
    hashes = all_hashes(Held.of(pl.Series(docs), integers=False).ids)
    assert len(docs) == 150
    assert len(set(hashes.tolist())) == 1
    chance = random.Random(size)
    pairs = [(f"q{query}", doc) for query in range(3) for doc in chance.sample(docs, 150 - 60 * query)]
    run = pl.DataFrame(pairs, schema=["query_id", "doc_id"], orient="row")
    run = run.with_columns(score=pl.Series([float(chance.randrange(4)) for _ in pairs]))
    judged = run.sample(200, seed=1).select("query_id", "doc_id", grade=pl.Series(chance.choices(range(-1, 4), k=200)))
    assert measured(judged, run, keep_hits=True).hits.drop("run").rows() == inputs.naive_hits(judged, run)


@pytest.mark.parametrize("size", [12, 20, 52], ids="{} bytes".format)
def test_repeats_are_found_among_hashes_that_collide(size):
    docs = inputs.colliding(30, size)
    assert len(docs) == 30
    judged = {"q": dict.fromkeys(docs, 1)}
    frame = pl.DataFrame({"query_id": "q", "doc_id": [*docs, docs[17]], "score": np.arange(31.0)})
    twice = pl.DataFrame({"query_id": "q", "doc_id": [*docs, docs[17]], "grade": 1})
    with pytest.raises(DataError, match=r"rows 18 and 31: document .* stands twice"):
        measured(judged, frame)
    assert [notice.count for notice in measured(twice, frame[:30]).warnings if "repeated" in notice.code] == [1]


@pytest.mark.parametrize("sizes", [(12, 13), (4, 5, 12), (11, 12, 13, 14), (8, 16, 17, 24, 25), (60, 61)], ids=str)
def test_ids_of_every_length_are_ordered_by_their_bytes(sizes):
    chance = random.Random(str(sizes))
    docs = sorted({"".join(chance.choices("aböz", k=chance.choice(sizes))) for _ in range(400)})
    docs += [doc + "a" for doc in docs[:50] if doc + "a" not in docs]
    run = pl.DataFrame({"query_id": "q", "doc_id": chance.sample(docs, len(docs)), "score": 1.0})
    judged = run.select("query_id", "doc_id", grade=1)
    for some in (judged, judged.head(20)):
        assert measured(some, run, keep_hits=True).hits.drop("run").rows() == inputs.naive_hits(some, run)


@pytest.mark.parametrize("ties", TIES)
def test_integers_and_texts_of_equal_length_are_told_apart(ties):
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": [-(2**63), 7], "score": [2.0, 1.0]})
    assert measured({"q": {"-922AAAAAAAAAAAAAAAA": 1, "8": 1}}, run, ties=ties, keep_hits=True).hits.height == 0
    found = measured({"q": {"-9223372036854775808": 1, "7": 2}}, run, ties=ties, keep_hits=True).hits
    assert found.select("doc_id", "rank").rows() == [("-9223372036854775808", 1), ("7", 2)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("swaps", [0, 1, 3])
@pytest.mark.parametrize("batch_rows", [9, 1000])
def test_warnings_do_not_depend_on_the_order_of_rows(seed, swaps, batch_rows):
    chance = random.Random(seed)
    rows = [(f"q{query}", f"d{rank}", float(9 - rank // 2), rank) for query in range(8) for rank in range(9)]
    for _ in range(swaps):
        here = chance.randrange(len(rows))
        rows[here] = (*rows[here][:3], chance.randrange(9))
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "rank"], orient="row")
    run = run.with_columns(score=pl.when(pl.col("query_id") == "q3").then(1.0).otherwise("score"))
    judged = run.select("query_id", "doc_id", grade=1)
    expected = dict.fromkeys(("rank-contradicts-score", "constant-scores"), 0)
    for _, part in run.group_by("query_id"):
        pairs = list(itertools.product(part.select("score", "rank").rows(), repeat=2))
        wrong = any(one[0] > other[0] and one[1] > other[1] for one, other in pairs)
        expected["rank-contradicts-score"] += wrong
        expected["constant-scores"] += not wrong and part["score"].n_unique() == 1 and part["rank"].n_unique() > 1
    for order in ("given", 8, "reversed"):
        warned = {w.code: w.count for w in measured(judged, inputs.ordered(run, order), batch_rows=batch_rows).warnings}
        assert {code: warned.get(code, 0) for code in expected} == expected, order


@pytest.mark.parametrize("form", ["rows", "lists"])
@pytest.mark.parametrize("order", ["given", 8])
def test_queries_with_infinite_scores_are_counted(form, order):
    scores = [float("inf"), 1.0, 2.0, -float("inf"), float("inf"), 3.0]
    run = pl.DataFrame({"query_id": list("aabbcd"), "doc_id": list("xyxyxx"), "score": scores})
    run = inputs.ordered(run, order)
    if form == "lists":
        run = run.group_by("query_id", maintain_order=True).agg(doc_ids="doc_id", scores="score")
    found = measured({"a": {"x": 1}, "b": {"x": 1}, "d": {"x": 1}}, run).warnings
    assert {w.code: (w.count, w.examples) for w in found}["infinite-score"] == (2, ("a", "b"))


def test_repeats_in_a_table_of_runs_have_their_own_rows():
    table = pl.DataFrame({"run": list("ABB"), "query_id": "q", "doc_id": ["a", "a", "a"], "score": [1.0, 2.0, 1.0]})
    with pytest.raises(DataError, match="rows 2 and 3: document a stands twice"):
        rankmeter.evaluate({"q": {"a": 1}}, table, "RR")


def test_conflicts_in_a_log_have_their_own_rows():
    log = pl.DataFrame(
        {"query_id": "q", "doc_id": ["x", "y", "a", "z", "a"], "score": 1.0, "grade": [None, 1, 1, None, 2]}
    )
    with pytest.raises(DataError, match="rows 3 and 5: query q and document a are judged twice"):
        rankmeter.evaluate(labelled=log, measures="RR")


def test_rows_of_lists_in_no_order_are_refused_where_nothing_orders_them():
    run = pl.DataFrame({"query_id": ["q", "p", "q"], "doc_ids": [["b", "c"], ["a"], ["a"]]})
    with pytest.raises(DataError, match="rows 1 and 3: query q has two lists, whose order nothing tells"):
        measured({"q": {"a": 1}, "p": {"a": 1}}, run)


FORKED = """
import os, sys, rankmeter
from rankmeter.errors import UsageError

def evaluate():
    return rankmeter.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR").summary["mean"][0]

if sys.argv[1] == "after":
    evaluate()
import rankmeter.pipeline
child = os.fork()
if not child:
    try:
        os._exit(10 if evaluate() == 1.0 else 11)
    except UsageError as error:
        os._exit(12 if "spawn" in str(error) else 13)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), evaluate())
"""


@pytest.mark.parametrize(("when", "code"), [("before", 10), ("after", 12)])
def test_forks_before_the_first_evaluation_work_and_later_ones_are_refused(when, code):
    done = subprocess.run(
        [sys.executable, "-c", FORKED, when],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(inputs.SOURCES.parent)},
    )
    assert done.stdout.split() == [str(code), "1.0"], done.stderr


def test_several_runs_are_each_evaluated_for_themselves():
    runs = {f"system {n}": inputs.collection(seed=4, queries=25, depth=20 - n).run for n in range(3)}
    together = rankmeter.evaluate(SMALL.qrels, runs, inputs.MEASURES)
    assert together.runs == tuple(runs)
    for name, run in runs.items():
        alone = rankmeter.evaluate(SMALL.qrels, {name: run}, inputs.MEASURES)
        assert_frame_equal(together.per_query.filter(pl.col("run") == name), alone.per_query, check_exact=True)
        assert together.accounting[name] == alone.accounting[name]


@pytest.mark.parametrize("column", ["run", "run_id", "System", "my runs"])
@pytest.mark.parametrize("order", ["given", "reversed", 8])
@pytest.mark.parametrize("batch_rows", [1, 40, None])
def test_runs_of_one_table(column, order, batch_rows):
    runs = {name: inputs.collection(seed=4, queries=25, depth=depth).run for name, depth in (("b", 9), ("a", 20))}
    table = pl.concat([run.with_columns(pl.lit(name).alias(column)) for name, run in runs.items()])
    options = {"run_column": column} if column == "my runs" else {}
    result = rankmeter.evaluate(
        SMALL.qrels, inputs.ordered(table, order), inputs.MEASURES, batch_rows=batch_rows, keep_hits=True, **options
    )
    assert result.runs == ("a", "b")
    separate = rankmeter.evaluate(SMALL.qrels, {"a": runs["a"], "b": runs["b"]}, inputs.MEASURES, keep_hits=True)
    assert_frame_equal(result.per_query, separate.per_query, check_exact=True)
    assert_frame_equal(result.hits, separate.hits, check_exact=True)
    assert result.accounting == separate.accounting


def test_runs_of_one_name_are_refused(tmp_path):
    SMALL.run.write_parquet(tmp_path / "x.parquet")
    with pytest.raises(UsageError, match='two runs are called "x"'):
        rankmeter.evaluate(SMALL.qrels, [tmp_path / "x.parquet", tmp_path / "x.parquet"], "AP")


def test_names_of_runs(tmp_path):
    SMALL.run.write_parquet(tmp_path / "bm25.v2.parquet")
    (tmp_path / "x.trec").write_text(inputs.as_trec(SMALL.run), encoding="utf-8")
    runs = [tmp_path / "bm25.v2.parquet", tmp_path / "x.trec", SMALL.run]
    assert rankmeter.evaluate(SMALL.qrels, runs, "AP").runs == ("bm25.v2", "r", "run3")
    assert rankmeter.evaluate(SMALL.qrels, SMALL.run, "AP").runs == ("run",)
    assert rankmeter.evaluate(SMALL.qrels, inputs.as_dicts(SMALL.run, "score"), "AP").runs == ("run",)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("folder", "named", "expected"),
    [
        ("dense", "dense", "dense"),
        ("dense", "dense/*.parquet", "dense"),
        ("dense", "dense/part-*.parquet", "part"),
        ("dense.parquet", "dense.parquet", "dense"),
        ("runs/run=A", "runs", "A"),
        ("runs/run=A", "runs/run=A", "A"),
        ("runs/run=A", "runs/run=*/*.parquet", "A"),
        ("runs/system=A%20B", "runs/system=A%20B/*", "A B"),
    ],
)
def test_the_name_of_a_run_does_not_depend_on_its_parts(parts, folder, named, expected, tmp_path):
    (tmp_path / folder).mkdir(parents=True)
    for number in range(parts):
        rows = SMALL.run.filter(pl.col("query_id").hash() % parts == number)
        rows.write_parquet(tmp_path / folder / f"part-{number}.parquet")
    assert rankmeter.evaluate(SMALL.qrels, tmp_path / named, "AP").runs == (expected,)


@pytest.mark.parametrize("order", ["score", "rank", "row", "score:desc", "score:asc", "rank:asc"])
def test_the_tag_names_the_run_whatever_orders_it(order, tmp_path):
    (tmp_path / "x.trec").write_text("# none\n" + inputs.as_trec(SMALL.run), encoding="utf-8")
    assert rankmeter.evaluate(SMALL.qrels, tmp_path / "x.trec", "AP", order_by=order).runs == ("r",)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("order", ["given", 8])
def test_every_row_and_query_is_accounted_for(seed, order):
    small = inputs.collection(seed=seed)
    result = measured(small.qrels, inputs.ordered(small.run, order), batch_rows=9)
    account = result.accounting["r"]
    judged, found = set(small.qrels["query_id"]), set(small.run["query_id"])
    unjudged = small.run.filter(~pl.col("query_id").is_in(list(judged))).height
    assert account["rows_read"] == small.run.height
    assert account["rows_read"] == account["rows_used"] + sum(account["rows_ignored"].values())
    assert sum(account["rows_ignored"].values()) == unjudged > 0
    assert account["queries_judged"] == len(judged)
    assert account["queries_in_run"] == len(found)
    assert account["queries_missing"] == len(judged - found)
    assert account["queries_unjudged"] == len(found - judged)
    assert account["queries_evaluated"] == len(judged) == result.per_query.height
    relevant = set(small.qrels.filter(pl.col("grade") >= 1)["query_id"])
    assert account["queries_without_relevant"] == len(judged - relevant)
    assert result.per_query["n_retrieved"].sum() == account["rows_used"]


def test_missing_queries_and_those_without_relevant_can_be_left_out():
    small = inputs.collection(seed=1)
    everything = measured(small.qrels, small.run).per_query
    answered = measured(small.qrels, small.run, missing_queries="skip").per_query
    assert_frame_equal(answered, everything.filter("answered"), check_exact=True)
    relevant = measured(small.qrels, small.run, without_relevant="skip")
    assert_frame_equal(relevant.per_query, everything.filter(pl.col("n_relevant") > 0), check_exact=True)
    assert everything.height == answered.height + 1 == relevant.per_query.height + 1
    assert relevant.accounting["r"]["queries_evaluated"] == relevant.per_query.height
    means = relevant.summary.select("measure", "mean").rows()
    assert means == [(name, pytest.approx(relevant.per_query[name].mean())) for name, _ in means]


def test_no_query_counts():
    result = rankmeter.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, "AP", without_relevant="skip")
    assert result.summary.select("n_queries", "mean", "sum").rows() == [(0, None, 0.0)]
    assert result.per_query.height == 0


@pytest.mark.parametrize("form", ["frame", "csv", "tsv", "lists", "empty lists", "jsonl", "parquet"])
def test_a_run_without_results_scores_zero_and_is_named(form, tmp_path):
    empty, lists = SMALL.run.clear(), inputs.as_lists(SMALL.run).select("query_id", "doc_ids", "scores")
    path = tmp_path / f"empty.{form}"
    if form in ("csv", "tsv"):
        empty.write_csv(path, separator="\t" if form == "tsv" else ",")
    elif form == "jsonl":
        lists.with_columns(pl.col("doc_ids", "scores").list.head(0)).write_ndjson(path)
    elif form == "parquet":
        empty.write_parquet(path)
    run = {
        "frame": empty,
        "lists": lists.clear(),
        "empty lists": lists.with_columns(pl.col("doc_ids", "scores").list.head(0)),
    }.get(form, path)
    result = measured(SMALL.qrels, run, batch_rows=1)
    assert result.summary["mean"].to_list() == [0.0] * len(result.measures)
    assert "no-rows" in {warning.code for warning in result.warnings}


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_a_repeated_document_is_found_across_batches(batch_rows):
    run = pl.DataFrame(
        {"query_id": ["q", "q", "q", "p"], "doc_id": ["a", "b", "a", "a"], "score": [3.0, 2.0, 1.0, 1.0]}
    )
    with pytest.raises(DataError, match="rows 1 and 3: document a stands twice"):
        rankmeter.evaluate({"q": {"b": 1}, "p": {"a": 1}}, run, "AP", batch_rows=batch_rows)


def values():
    return measured(SMALL.qrels, SMALL.run).per_query.drop("run", "query_id").rows()


PROCESSES = """
import multiprocessing, sys
import test_pipeline

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        found = [pool.apply_async(test_pipeline.values) for _ in range(4)]
        found = [one.get(timeout=100) for one in found]
    assert found == [test_pipeline.values()] * 4
    print("equal")
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_in_processes_of_every_kind(method, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROCESSES, encoding="utf-8")
    path = f"{inputs.SOURCES.parent}:{Path(__file__).parent}"
    done = inputs.process(script, method, PYTHONPATH=path)
    assert done.stdout == "equal\n", done.stderr


@pytest.mark.parametrize("form", ["trec", "parquet"])
def test_no_thread_takes_away_what_another_has_kept(form, expected, tmp_path, monkeypatch):
    """The room for the values of a run is made once, however long that takes and however many threads ask for it."""
    chance = random.Random(0)

    def slow(*given):
        time.sleep(chance.choice([0, 0.05]))
        return RunValues(*given)

    monkeypatch.setattr("rankmeter.store.RunValues", slow)
    monkeypatch.setattr("rankmeter.sources.text.SMALLEST_CHUNK", 100)
    run = inputs.as_folder(tmp_path / "run", SMALL.run, form, 3)
    for _ in range(8):
        result = measured(SMALL.qrels, run, keep_hits=True, batch_rows=40, threads=8)
        assert digests(result, tmp_path) == expected


def test_in_several_threads_at_once():
    expected, found = values(), []
    threads = [threading.Thread(target=lambda: found.append(values())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6


PEAK = """
import re, sys
import polars as pl
if sys.argv[1] == "read":
    kept = pl.read_parquet(sys.argv[2])
else:
    import rankmeter
    result = rankmeter.evaluate(sys.argv[3], sys.argv[2], "nDCG@10 AP", threads=2, batch_rows=1 << 17)
    assert result.summary["n_queries"][0] == 100
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Runs of one and four million rows with text ids, and judgements of 100 of their queries."""
    folder = tmp_path_factory.mktemp("large")
    for millions in (1, 4):
        pl.select(row=pl.int_range(millions * 1_000_000)).select(
            query_id=pl.format("query-{}", pl.col("row") // 500 + 1000),
            doc_id=pl.format("document-{}-{}", pl.col("row") % 500, pl.col("row").hash() % 10**9),
            score=-(pl.col("row") % 500).cast(pl.Float64),
        ).write_parquet(folder / f"{millions}.parquet", row_group_size=1 << 17)
    head = pl.read_parquet(folder / "1.parquet", n_rows=50_000)
    head.write_parquet(folder / "small.parquet")
    head.gather_every(9).select("query_id", "doc_id", grade=1).write_parquet(folder / "qrels.parquet")
    return folder


def peak(job, run, folder):
    """The largest memory of a process, in bytes."""
    out = inputs.python(PEAK, job, run, folder / "qrels.parquet", POLARS_MAX_THREADS=2)
    return int(out) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak")
def test_memory_does_not_grow_with_the_run(large):
    """What the program itself takes is measured on a small run and taken off."""
    peaks = {
        job: [peak(job, large / f"{run}.parquet", large) for run in ("small", 1, 4)] for job in ("evaluate", "read")
    }
    evaluated, read = peaks["evaluate"], peaks["read"]
    assert evaluated[2] < 1.5 * evaluated[1], peaks
    assert evaluated[2] - evaluated[0] < read[2] - read[0], peaks
