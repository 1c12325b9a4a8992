"""One digest for each output, whatever the batches, threads, order of rows, split into files and format."""

import itertools

import inputs
import polars as pl
import pytest

import rankmeter

BATCHES = (1, 2, 7, 1024, None)
THREADS = (1, 2, 4)
ORDERS = ("given", "reversed", 1, 2, 3)
SPLITS = (1, 3, 50)
FORMS = ("trec", "csv", "parquet", "jsonl")
TINY_PARTS = ((1, None), (1, 4))
"""Batches and threads for 50 parts: these hold one row or two, so that larger batches are the same ones."""

ASKED = f"{inputs.MEASURES} GMAP Bpref infAP RBP(gain=max) ERR@10 nDCG(gain=exp)@5 IPrecAvg11 NumRet Judged@5"
BY = ["market", "device"]

WHOLE = inputs.collection(seed=4, queries=11, depth=11, levels=5)
RUN = WHOLE.run.with_columns(score=pl.col("score") / 3)
QRELS = WHOLE.qrels.with_columns(grade=pl.col("grade") / 2)
QUERIES = QRELS.select("query_id").unique(maintain_order=True).with_row_index("n")
QUERIES = QUERIES.select("query_id", market=pl.col("n") % 3, device=pl.when(pl.col("n") % 2 == 1).then(pl.lit("phone")))


def measured(qrels, run, queries=QUERIES, **options):
    return rankmeter.evaluate(qrels, {"r": run}, ASKED, by=BY, queries=queries, keep_hits=True, **options)


def digests(result, folder):
    """sha256 of the files of values, of hits and of means; these also hold the rules, the counts and the measures."""
    result.write_per_query(folder / "per_query.parquet")
    result.write_hits(folder / "hits.parquet")
    result.write_summary(folder / "summary.parquet")
    return {kind: inputs.digest(folder / f"{kind}.parquet") for kind in ("per_query", "hits", "summary")}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The digests for frames in the order given, in which everything stands that could be mistaken."""
    result = measured(QRELS, RUN.drop("rank"))
    assert result.hits.drop("run").rows() == inputs.naive_hits(QRELS, RUN)
    account = result.accounting["r"]
    assert min(account["queries_tied_at_hits"], account["queries_missing"], account["queries_unjudged"]) > 0
    assert account["queries_without_relevant"] > 0
    assert result.hits.height < account["rows_used"]
    assert (result.hits["grade"] % 1 != 0).any()
    assert result.summary.select(BY).unique().height > 4
    return digests(result, tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("files", SPLITS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_same_bytes_for_every_way(form, files, order, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("rankmeter.sources.text.SMALLEST_CHUNK", 100)
    run = inputs.as_folder(tmp_path / "run", inputs.ordered(RUN, order), form, files)
    qrels = inputs.as_folder(tmp_path / "qrels", inputs.ordered(QRELS, order), form, min(files, 3))
    queries = inputs.ordered(QUERIES, order)
    for batch_rows, threads in itertools.product(*((BATCHES, THREADS) if files < 50 else TINY_PARTS)):
        result = measured(qrels, run, queries, batch_rows=batch_rows, threads=threads)
        assert digests(result, tmp_path) == expected, (batch_rows, threads)


def test_another_grade_has_other_digests(expected, tmp_path):
    query, doc, *_ = measured(QRELS, RUN).hits.drop("run").row(0)
    hit = (pl.col("query_id") == query) & (pl.col("doc_id") == doc)
    changed = QRELS.with_columns(grade=pl.when(hit).then(2.25).otherwise("grade"))
    assert not digests(measured(changed, RUN.drop("rank")), tmp_path).items() & expected.items()
