"""Which column plays which role: accepted names, two for one role, none, and those chosen by the user."""

import inputs
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankmeter
from rankmeter.cli import main
from rankmeter.errors import DataError, UsageError

SMALL = inputs.collection(digits=4)


@pytest.fixture
def small():
    return SMALL


def measured(qrels, run, **options):
    return rankmeter.evaluate(qrels, {"r": run}, inputs.MEASURES, **options)


@pytest.mark.parametrize(
    ("query_id", "doc_id", "grade"),
    [
        ("qid", "docno", "rel"),
        ("QID", "DocNo", "Label"),
        ("Topic ID", "corpus.id", "RELEVANCE"),
        ("query-id", "Document_Id", "gain"),
        ("topic", "ITEM-ID", "score"),
        ("query", "chunkid", "grade"),
        ("queryId", "PassageID", "Grade"),
        ("Topic", "Doc", "re_l"),
        ("Query", "document", "Score"),
    ],
)
def test_accepted_names_in_odd_cases(query_id, doc_id, grade, small):
    qrels = small.qrels.rename({"query_id": query_id, "doc_id": doc_id, "grade": grade})
    result = measured(qrels, small.run)
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)
    assert result.inputs["qrels"]["columns"] == {"query_id": query_id, "doc_id": doc_id, "grade": grade}


@pytest.mark.parametrize("score", ["score", "Sim", "SIMILARITY", "s-core"])
def test_accepted_names_of_scores(score, small):
    result = measured(small.qrels, small.run.drop("rank").rename({"score": score}))
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


@pytest.mark.parametrize("rank", ["rank", "Position", "POS"])
def test_accepted_names_of_ranks(rank, small):
    result = measured(small.qrels, small.run.drop("score").rename({"rank": rank}))
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


def test_a_last_name_counts_only_where_no_other_fits(small):
    qrels = small.qrels.with_columns(pl.lit("free text").alias("query"), pl.lit(9.5).alias("score"))
    result = measured(qrels, small.run)
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


@pytest.mark.parametrize(
    ("side", "column", "second", "option"),
    [
        ("qrels", "query_id", "qid", "--qrels-columns query_id="),
        ("qrels", "doc_id", "DocNo", "--qrels-columns doc_id="),
        ("qrels", "grade", "rel", "--qrels-columns grade="),
        ("run", "query_id", "Query-Id", "--run-columns query_id="),
        ("run", "doc_id", "chunk_id", "--run-columns doc_id="),
        ("run", "score", "similarity", "--run-columns score="),
        ("run", "rank", "position", "--run-columns rank="),
    ],
)
def test_two_columns_for_one_role(side, column, second, option, small):
    frames = {"qrels": small.qrels, "run": small.run}
    frames[side] = frames[side].with_columns(pl.col(column).alias(second))
    with pytest.raises(DataError) as caught:
        measured(frames["qrels"], frames["run"])
    assert all(text in str(caught.value) for text in (column, second, option))
    chosen = measured(frames["qrels"], frames["run"], **{f"{side}_columns": {column: second}})
    assert_frame_equal(chosen.per_query, measured(small.qrels, small.run).per_query, check_exact=True)
    assert chosen.inputs["qrels"]["columns"]["query_id"]


@pytest.mark.parametrize(("side", "role"), [("qrels", "query_id"), ("qrels", "grade"), ("run", "doc_id")])
def test_a_role_without_a_column(side, role, small):
    frames = {"qrels": small.qrels, "run": small.run}
    frames[side] = frames[side].rename({role: "other"})
    with pytest.raises(DataError) as caught:
        measured(frames["qrels"], frames["run"])
    assert all(text in str(caught.value) for text in (role, "other", f"--{side}-columns {role}=COLUMN"))


def test_columns_chosen_by_the_user_win(small):
    run = small.run.drop("rank").rename({"score": "my score"}).with_columns(score=-pl.col("my score"))
    expected = measured(small.qrels, small.run.drop("rank")).per_query
    assert_frame_equal(measured(small.qrels, run, run_columns={"score": "my score"}).per_query, expected)
    assert not measured(small.qrels, run).per_query.equals(expected)


@pytest.mark.parametrize("columns", [{"score": "absent"}, {"no_role": "score"}])
def test_a_chosen_column_or_role_that_is_absent(columns, small):
    with pytest.raises(UsageError, match=next(iter({"absent", "no_role"} & {*columns, *columns.values()}))):
        measured(small.qrels, small.run, run_columns=columns)


@pytest.mark.parametrize(
    ("side", "options", "roles"),
    [
        ("run", {"run_columns": {"score": "score", "rank": "score"}}, "score and rank"),
        ("run", {"run_columns": {"doc_id": "query_id", "query_id": "query_id"}}, "doc_id and query_id"),
        ("run", {"run_columns": {"doc_id": "doc_id"}, "run_column": "doc_id"}, "doc_id and run"),
        ("run", {"run_columns": {"score": "score"}, "order_by": "score:asc"}, "score and rank"),
        ("qrels", {"qrels_columns": {"query_id": "doc_id", "doc_id": "doc_id"}}, "query_id and doc_id"),
        ("qrels", {"qrels_columns": {"grade": "grade", "doc_id": "grade"}}, "grade and doc_id"),
    ],
)
def test_one_column_for_two_roles(side, options, roles, small):
    label = {"run": "r", "qrels": "qrels"}[side]
    with pytest.raises(UsageError, match=rf"the column .* of {label} is given for two roles, {roles}"):
        measured(small.qrels, small.run, **options)


def test_one_column_for_two_roles_on_the_command_line(small, tmp_path, capsys):
    small.qrels.write_parquet(tmp_path / "q.parquet")
    small.run.write_parquet(tmp_path / "r.parquet")
    paths = [str(tmp_path / name) for name in ("q.parquet", "r.parquet")]
    assert main(["evaluate", *paths, "--run-columns", "score=score,rank=score"]) == 2
    assert "is given for two roles, score and rank" in capsys.readouterr().err


def test_two_columns_for_one_role_of_lists(small):
    run = inputs.as_lists(small.run).with_columns(more=pl.col("doc_ids"))
    with pytest.raises(UsageError, match="is given two columns for doc_id: doc_ids and more"):
        measured(small.qrels, run, run_columns={"doc_ids": "doc_ids", "doc_id": "more"})


@pytest.mark.parametrize(("options", "role"), [({"order_by": "doc_id:asc"}, "rank"), ({"run_column": "doc_id"}, "run")])
def test_a_column_that_has_another_role_is_said_to_be_taken(options, role, small):
    with pytest.raises(DataError, match=rf"no column for doc_id; its columns are .*doc_id \(taken as {role}\)"):
        measured(small.qrels, small.run.drop("rank"), **options)


def test_a_distance_is_no_score(small):
    run = small.run.select("query_id", "doc_id", distance=-pl.col("score"))
    with pytest.raises(DataError, match="neither a score nor a rank"):
        measured(small.qrels, run)
    result = measured(small.qrels, run, order_by="distance:asc")
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


def test_neither_score_nor_rank(small):
    run = small.run.sort("query_id", "rank").select("query_id", "doc_id")
    with pytest.raises(DataError, match="--order-by row"):
        measured(small.qrels, run)
    result = measured(small.qrels, run, order_by="row")
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)
