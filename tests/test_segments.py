"""Segments: from the queries table, the qrels, the run or a hive key, in that order."""

import datetime
import decimal
import json
import math

import polars as pl
import pytest

import rankmeter
from rankmeter.cli import main
from rankmeter.errors import DataError, UsageError

QRELS = pl.DataFrame(
    {"query_id": ["q1", "q1", "q2", "q3", "q4"], "doc_id": ["a", "b", "a", "a", "a"], "grade": [1] * 5}
)
RUN = pl.DataFrame(
    {"query_id": ["q1", "q2", "q2", "q3"], "doc_id": ["a", "x", "a", "y"], "score": [2.0, 2.0, 1.0, 1.0]}
)
MARKET = {"q1": "de", "q2": "fr", "q3": "de", "q4": None}
RR = {"q1": 1.0, "q2": 0.5, "q3": 0.0, "q4": 0.0}


def marked(frame, name="market", values=MARKET):
    return frame.with_columns(pl.col("query_id").replace_strict(values, default=None).alias(name))


def measured(qrels=QRELS, run=RUN, **options):
    return rankmeter.evaluate(qrels, {"r": run}, "RR", **options)


def groups(result, *names):
    """Segments -> (queries, mean), without the group of all."""
    found = result.to_dict()["runs"][0]["groups"]
    assert found[0]["group"] == {}
    assert found[0]["n_queries"] == 4
    assert found[0]["measures"]["RR"]["mean"] == 0.375
    return {
        tuple(group["group"][name] for name in names): (group["n_queries"], group["measures"]["RR"]["mean"])
        for group in found[1:]
    }


EXPECTED = {("de",): (2, 0.5), ("fr",): (1, 0.5), (None,): (1, 0.0)}


def codes(result):
    return {warning.code for warning in result.warnings}


def test_from_the_qrels():
    result = measured(marked(QRELS), by="market")
    assert groups(result, "market") == EXPECTED
    assert dict(result.per_query.select("query_id", "market").rows()) == MARKET
    assert "queries-without-segment" in codes(result)
    assert "segment-from-run" not in codes(result)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "jsonl", "integer ids"])
def test_from_the_queries_table(kind, tmp_path):
    qrels, run, queries = QRELS, RUN, marked(QRELS.select("query_id").unique(maintain_order=True)).reverse()
    queries = pl.concat([queries, pl.DataFrame({"query_id": ["q9"], "market": ["us"]})])
    if kind == "csv":
        queries.write_csv(tmp_path / "q.csv")
        queries = tmp_path / "q.csv"
    elif kind == "parquet":
        queries.write_parquet(tmp_path / "q.parquet")
        queries = tmp_path / "q.parquet"
    elif kind == "jsonl":
        queries.write_ndjson(tmp_path / "q.jsonl")
        queries = tmp_path / "q.jsonl"
    elif kind == "integer ids":
        qrels, run, queries = (
            frame.with_columns(pl.col("query_id").str.strip_prefix("q").cast(number))
            for frame, number in ((qrels, pl.String), (run, pl.Int64), (queries, pl.Int32))
        )
    result = measured(qrels, run, by=["market"], queries=queries)
    assert groups(result, "market") == EXPECTED
    assert "queries-without-segment" in codes(result)


def test_a_query_that_the_table_lacks_is_null():
    queries = marked(pl.DataFrame({"query_id": ["q1", "q2", "q3"]}))
    assert groups(measured(by="market", queries=queries), "market") == EXPECTED


@pytest.mark.parametrize("order", ["given", "shuffled"])
@pytest.mark.parametrize("batch_rows", [1, 2, None])
def test_from_the_run(order, batch_rows):
    run = marked(RUN) if order == "given" else marked(RUN).sample(fraction=1, shuffle=True, seed=1)
    result = measured(run=run, by="market", batch_rows=batch_rows)
    assert groups(result, "market") == EXPECTED  # q4 has no results and no segment
    assert "segment-from-run" in codes(result)


def test_from_the_lists_of_a_run():
    run = marked(RUN.group_by("query_id", maintain_order=True).agg("doc_id", "score"))
    assert groups(measured(run=run, by="market"), "market") == EXPECTED


@pytest.mark.parametrize("side", ["qrels", "run"])
def test_from_hive_keys(side, tmp_path):
    frame = marked(QRELS if side == "qrels" else RUN)
    for (market,), part in frame.group_by("market"):
        folder = tmp_path / side / f"market={market if market is not None else '__HIVE_DEFAULT_PARTITION__'}"
        folder.mkdir(parents=True)
        part.drop("market").write_parquet(folder / "0.parquet")
    result = measured(**{side: tmp_path / side}, by="market")
    assert groups(result, "market") == EXPECTED
    assert ("segment-from-run" in codes(result)) == (side == "run")


def test_hive_keys_are_text(tmp_path):
    for day, query in (("007", "q1"), ("7", "q2")):
        (tmp_path / f"day={day}").mkdir()
        RUN.filter(pl.col("query_id") == query).write_parquet(tmp_path / f"day={day}" / "0.parquet")
    assert groups(measured(run=tmp_path, by="day"), "day") == {
        ("007",): (1, 1.0),
        ("7",): (1, 0.5),
        (None,): (2, 0.0),
    }


@pytest.mark.parametrize("batch_rows", [1, None])
@pytest.mark.parametrize(
    ("key", "values", "row"),
    [
        ("query_id=q1", {"query_id": ["q1", "q1", "q2"]}, 3),
        ("query_id=1", {"query_id": [1, 2, 1]}, 2),
        ("query_id=01", {"query_id": [1, 1, 1]}, 1),
        ("score=3.0", {"score": [3.0, 3.0, 2.0]}, 3),
        ("market=de", {"market": ["de", None, "us"]}, 2),
        ("run=A", {"run": ["B"] * 3}, 1),
    ],
)
def test_a_column_that_contradicts_the_path_is_refused(key, values, row, batch_rows, tmp_path):
    (tmp_path / key).mkdir()
    frame = pl.DataFrame({"query_id": ["q1"] * 3, "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]} | values)
    frame.write_parquet(tmp_path / key / "0.parquet")
    with pytest.raises(DataError, match=rf"0\.parquet row {row}, column .* contradicts the path, which says {key};"):
        measured(run=tmp_path, by=["market"] * ("market" in values), batch_rows=batch_rows)


def test_a_column_that_says_what_the_path_says(tmp_path):
    for (market,), part in marked(RUN).filter(pl.col("market").is_not_null()).group_by("market"):
        (tmp_path / f"market={market}").mkdir()
        part.write_parquet(tmp_path / f"market={market}" / "0.parquet")
    assert groups(measured(run=tmp_path, by="market"), "market").keys() == EXPECTED.keys()


def test_the_queries_table_comes_before_the_qrels_and_these_before_the_run():
    other = dict.fromkeys(RR, "other")
    queries = marked(pl.DataFrame({"query_id": list(RR)}))
    assert groups(measured(marked(QRELS, values=other), by="market", queries=queries), "market") == EXPECTED
    assert groups(measured(marked(QRELS), marked(RUN, values=other), by="market"), "market") == EXPECTED


def test_two_columns_from_two_inputs():
    device = {"q1": 1, "q2": 2, "q3": 2, "q4": 1}
    queries = marked(pl.DataFrame({"query_id": list(RR)}), "device", device)
    result = measured(marked(QRELS), by=["market", "device"], queries=queries)
    assert groups(result, "market", "device") == {
        ("de", 1): (1, 1.0),
        ("de", 2): (1, 0.0),
        ("fr", 2): (1, 0.5),
        (None, 1): (1, 0.0),
    }
    swapped = measured(marked(QRELS), by=["device", "market"], queries=queries)
    assert list(groups(swapped, "device", "market")) == [(1, "de"), (1, None), (2, "de"), (2, "fr")]
    assert swapped.summary.columns[:4] == ["run", "device", "market", "measure"]
    assert result.per_query.schema["device"] == pl.Int64


@pytest.mark.parametrize(
    "values", [[1.5, 2.5, 1.5, None], [True, False, True, None], [3, 1, 3, None], ["", "0", "", None]]
)
def test_values_of_any_type_stay_as_they_are(values):
    found = groups(measured(marked(QRELS, values=dict(zip(RR, values, strict=True))), by="market"), "market")
    assert list(found) == [*sorted({(value,) for value in values if value is not None}), (None,)]
    assert [type(key[0]) for key in found][:-1] == [type(values[0])] * 2


def test_groups_add_up():
    result = measured(marked(QRELS), by="market")
    rows = result.summary.rows(named=True)
    assert sum(row["n_queries"] for row in rows[1:]) == rows[0]["n_queries"]
    assert sum(row["sum"] for row in rows[1:]) == rows[0]["sum"] == sum(RR.values())


@pytest.mark.parametrize("skip", ["missing_queries", "without_relevant"])
def test_queries_left_out_are_left_out_of_groups(skip):
    qrels = marked(QRELS).with_columns(grade=pl.when(pl.col("query_id") == "q4").then(0).otherwise(1))
    result = measured(qrels, by="market", **{skip: "skip"})
    sizes = dict(result.summary.filter(pl.col("market").is_not_null()).select("market", "n_queries").rows())
    assert sizes == {"de": 2, "fr": 1}


@pytest.mark.parametrize("order", ["given", "reversed"])
def test_two_values_in_the_qrels(order):
    qrels = marked(QRELS).with_columns(market=pl.Series(["de", "at", "fr", "de", "fr"]))
    with pytest.raises(DataError, match=r'qrels: column market has two values for query q1: "(de|at)" and "(at|de)"'):
        measured(qrels if order == "given" else qrels.reverse(), by="market")


def test_a_value_and_a_null_are_two_values():
    qrels = marked(QRELS).with_columns(market=pl.Series(["de", None, "fr", "de", "fr"]))
    with pytest.raises(DataError, match="market has two values for query q1"):
        measured(qrels, by="market")


def test_two_values_in_the_queries_table():
    queries = pl.DataFrame({"query_id": ["q1", "q2", "q1"], "market": ["de", "fr", "at"]})
    with pytest.raises(DataError, match="market has two values for query q1"):
        measured(by="market", queries=queries)


@pytest.mark.parametrize("batch_rows", [1, 2, None])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 3, 2], [3, 1, 0, 2], [1, 0, 2, 3]])
def test_two_values_in_one_list_of_the_run(order, batch_rows):
    run = RUN.with_columns(market=pl.Series(["de", "fr", "at", "de"]))[order]
    with pytest.raises(DataError, match="market has two values for query q2"):
        measured(run=run, by="market", batch_rows=batch_rows)


def test_two_values_in_two_runs():
    runs = {"a": marked(RUN), "b": marked(RUN, values=MARKET | {"q3": "at"})}
    with pytest.raises(DataError, match='market has two values for query q3: "at" and "de"'):
        rankmeter.evaluate(QRELS, runs, "RR", by="market")


def test_a_query_that_only_one_run_answers_has_its_segment():
    runs = {"a": marked(RUN), "b": marked(RUN.filter(pl.col("query_id") != "q3"))}
    result = rankmeter.evaluate(QRELS, runs, "RR", by="market")
    for _, part in result.per_query.group_by("run"):
        assert dict(part.select("query_id", "market").rows()) == MARKET


@pytest.mark.parametrize("name", ["run", "query_id", "answered", "n_judged", "measure", "mean", "sum", "n_queries"])
def test_a_segment_named_like_a_column_of_the_output(name):
    with pytest.raises(UsageError, match=name):
        measured(QRELS.with_columns(pl.lit("x").alias(name)) if name != "query_id" else QRELS, by=name)


def test_a_segment_named_like_a_measure():
    with pytest.raises(UsageError, match="RR"):
        measured(marked(QRELS, "RR"), by="RR")


def test_a_segment_that_no_input_has():
    with pytest.raises(UsageError, match='"price"'):
        measured(by="price")


def test_a_segment_given_twice():
    with pytest.raises(UsageError, match="market"):
        measured(marked(QRELS), by=["market", "market"])


ROLES = ["query_id", "doc_id", "grade", "score", "rank", "run", "tag", "doc_ids", "grades", "scores", "ranks"]


def both(form):
    """Judgements and a run that have every role of their form."""
    qrels, run = QRELS.rename({"grade": "rel"}), RUN.with_columns(rank=pl.Series([1, 1, 2, 1]), run=pl.lit("r"))
    if form == "lists":
        qrels, run = (
            frame.group_by([name for name in ("query_id", "run") if name in frame.columns], maintain_order=True).all()
            for frame in (qrels, run)
        )
        run = run.rename({"doc_id": "doc_ids", "score": "scores", "rank": "ranks"})
    return qrels, run


@pytest.mark.parametrize("face", ["python", "command line"])
@pytest.mark.parametrize("form", ["rows", "lists", "trec", "log"])
@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_no_segment(role, form, face, tmp_path, capsys):
    qrels, run = both(form)
    paths = [str(tmp_path / "q.parquet"), str(tmp_path / "r.parquet")]
    if form == "log":
        paths = ["--labelled", str(tmp_path / "log.parquet")]
        run.with_columns(label=1).write_parquet(paths[1])
    elif form == "trec":
        paths = [str(tmp_path / "q.qrels"), str(tmp_path / "r.run")]
        (tmp_path / "q.qrels").write_text("q1 0 a 1\n")
        (tmp_path / "r.run").write_text("q1 Q0 a 1 2.0 r\n")
    else:
        qrels.write_parquet(paths[0])
        run.write_parquet(paths[1])
    if face == "command line":
        assert main(["evaluate", *paths, "--by", role]) == 2
        assert f"{role}" in capsys.readouterr().err
    else:
        inputs = {"labelled": paths[1]} if form == "log" else {"qrels": paths[0], "run": paths[1]}
        with pytest.raises(UsageError, match=rf"\b{role}\b"):
            rankmeter.evaluate(**inputs, by=role)


@pytest.mark.parametrize("role", [role for role in ROLES if role not in ("query_id", "run")])
def test_the_queries_table_may_name_a_segment_like_a_role(role):
    queries = marked(pl.DataFrame({"query_id": list(RR)}), role)
    assert groups(measured(by=role, queries=queries), role) == EXPECTED


@pytest.mark.parametrize("name", ["query", "input", "number", "row", "label", "group", "Q0", "\t", " group"])
@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_a_segment_of_the_run_may_have_any_other_name(name, order):
    run = marked(RUN, name)
    run = run if order == "given" else run.sample(fraction=1, shuffle=True, seed=1)
    assert groups(measured(run=run, by=name), name) == EXPECTED


@pytest.mark.parametrize("name", ["query", "input", "tag", "scores", "label and more", "\t", " group"])
def test_a_segment_of_the_qrels_may_have_any_other_name(name):
    assert groups(measured(marked(QRELS, name), by=name), name) == EXPECTED


@pytest.mark.parametrize("form", ["json", "csv", "tsv", "markdown"])
@pytest.mark.parametrize("side", ["qrels", "queries"])
def test_what_is_no_number_is_a_missing_segment(form, side, tmp_path, capsys):
    values = pl.DataFrame({"query_id": list(RR), "size": [math.nan, math.nan, 1.5, None]})
    judged = QRELS.join(values, on="query_id", how="left") if side == "qrels" else QRELS
    for name, frame in {"q": judged, "r": RUN, "v": values}.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    q, r, v = (str(tmp_path / f"{name}.parquet") for name in "qrv")
    words = ["evaluate", q, r, "-m", "RR", "--by", "size", "--format", form, "-q"]
    assert main([*words, *(["--queries", v] if side == "queries" else [])]) == 0
    out = capsys.readouterr().out
    assert "NaN" not in out
    if form == "json":
        groups_found = json.loads(out, parse_constant=pytest.fail)["runs"][0]["groups"]
        assert [group["group"] for group in groups_found] == [{}, {"size": 1.5}, {"size": None}]


def test_the_summary_tells_everything_from_a_missing_segment():
    result = measured(marked(QRELS, values=dict.fromkeys(RR)), by="market")
    assert result.summary.select("market", "n_queries", "all_queries").rows() == [(None, 4, True), (None, 4, False)]


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"a", datetime.timedelta(1), math.inf])
def test_segments_of_other_types_are_refused(value):
    with pytest.raises(DataError, match="odd"):
        measured(QRELS.with_columns(pl.Series("odd", [value] * QRELS.height)), by="odd")


DAY = datetime.date(2024, 5, 6)


@pytest.mark.parametrize("value", [1, True, DAY, datetime.datetime(2024, 5, 6, 7), decimal.Decimal("1.5")])
@pytest.mark.parametrize("form", ["json", "csv", "markdown", "table"])
def test_segments_of_many_types(value, form, tmp_path, capsys):
    QRELS.with_columns(pl.Series("odd", [value] * QRELS.height)).write_parquet(tmp_path / "q.parquet")
    RUN.write_parquet(tmp_path / "r.parquet")
    words = [str(tmp_path / "q.parquet"), str(tmp_path / "r.parquet"), "-m", "RR", "--by", "odd", "--format", form]
    assert main(["evaluate", *words]) == 0
    assert str(value).split()[0].lower() in capsys.readouterr().out.lower()
