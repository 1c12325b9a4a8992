"""Rules of value that can be chosen: each against the same collection changed by hand, in every form and order."""

import itertools
import math
import random
import re

import inputs
import polars as pl
import pytest
import pytrec_eval
from polars.testing import assert_frame_equal

import rankmeter
from rankmeter.catalogue import MEASURES
from rankmeter.cli import main
from rankmeter.conventions import CONVENTIONS, Rules
from rankmeter.errors import DataError, UsageError
from rankmeter.notation import parse_measure

SMALL = inputs.collection(seed=11, queries=30, depth=20)
ASKED = f"{inputs.MEASURES} Bpref infAP RBP(gain=max) nDCG(gain=exp)@5 NumRet Judged@5 Unjudged@5 num_nonrel_judged_ret"
FORMS = ["flat", "lists", "shuffled"]


def in_form(run, form):
    if form == "lists":
        return inputs.as_lists(run.select("query_id", "doc_id", "score"))
    return run.sample(fraction=1, shuffle=True, seed=3) if form == "shuffled" else run


def ordered(run):
    """Rank order by the default rules: score downwards, then document downwards."""
    return run.sort("query_id", "score", "doc_id", descending=[False, True, True], maintain_order=True)


def same_values(one, other):
    assert_frame_equal(one.per_query.drop("answered"), other.per_query.drop("answered"), check_exact=True)


def measured(qrels, run, **options):
    return rankmeter.evaluate(qrels, {"r": run}, ASKED, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch_rows", [1, 50, None])
@pytest.mark.parametrize("depth", [1, 3, 10, 1000])
def test_depth_is_the_same_as_a_shorter_run(form, batch_rows, depth):
    cut = ordered(SMALL.run).group_by("query_id", maintain_order=True).head(depth)
    result = measured(SMALL.qrels, in_form(SMALL.run, form), depth=depth, batch_rows=batch_rows)
    same_values(result, measured(SMALL.qrels, cut))
    account = result.accounting["r"]
    judged = SMALL.run.join(SMALL.qrels.select("query_id").unique(), on="query_id")
    left = judged.height - cut.join(judged.select("query_id").unique(), on="query_id").height
    assert account["rows_ignored"].get("below the depth", 0) == left
    assert account["rows_read"] == SMALL.run.height


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch_rows", [1, None])
def test_judged_only_is_the_same_as_a_run_without_the_others(form, batch_rows):
    judged = SMALL.qrels.filter(pl.col("grade") >= 0)
    kept = SMALL.run.join(judged.select("query_id", "doc_id"), on=["query_id", "doc_id"], maintain_order="left")
    result = measured(SMALL.qrels, in_form(SMALL.run, form), judged_only=True, batch_rows=batch_rows)
    same_values(result, measured(SMALL.qrels, kept))
    known = SMALL.run.join(SMALL.qrels.select("query_id").unique(), on="query_id").height
    assert result.accounting["r"]["rows_ignored"]["document not judged"] == known - kept.height


def test_depth_comes_before_judged_only():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"x": 3.0, "b": 2.0, "a": 1.0}}
    value = {
        name: rankmeter.evaluate(qrels, run, "RR", **options).summary["mean"][0]
        for name, options in {
            "both": {"depth": 2, "judged_only": True},
            "judged": {"judged_only": True},
            "depth": {"depth": 3},
        }.items()
    }
    assert value == {"both": 0.0, "judged": 0.5, "depth": pytest.approx(1 / 3)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch_rows", [1, None])
@pytest.mark.parametrize("integers", [False, True])
def test_ignore_self_leaves_the_query_itself_out(form, batch_rows, integers):
    own = SMALL.run.select("query_id").unique(maintain_order=True)
    extra = own.with_columns(doc_id=pl.col("query_id"), score=pl.lit(9.0), rank=pl.lit(0, pl.Int64))
    run = pl.concat([SMALL.run, extra]).sort("query_id", maintain_order=True)
    qrels = pl.concat([SMALL.qrels, own.head(4).with_columns(doc_id=pl.col("query_id"), grade=pl.lit(1, pl.Int64))])
    if integers:
        run, qrels = run.cast({"query_id": pl.Int64, "doc_id": pl.Int64}), qrels.cast({"doc_id": pl.Int64})
    result = measured(qrels, in_form(run, form), ignore_self=True, batch_rows=batch_rows)
    same_values(result, measured(SMALL.qrels, SMALL.run))
    assert result.accounting["r"]["rows_ignored"]["document is the query"] == own.height
    assert result.accounting["r"]["rows_read"] == run.height
    assert {w.code: w.count for w in result.warnings}["own-judgements"] == 4


def test_ignore_self_keeps_the_lists_that_become_empty():
    run = pl.DataFrame(
        {"query_id": ["a", "b", "c"], "doc_ids": [["a"], [], ["x", "c"]], "scores": [[1.0], [], [1.0, 2.0]]}
    )
    result = rankmeter.evaluate({q: {"x": 1} for q in "abc"}, run, "RR", ignore_self=True)
    assert result.per_query.select("answered", "n_retrieved", "RR").rows() == [(True, 0, 0), (True, 0, 0), (True, 1, 1)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch_rows", [1, 7, None])
def test_the_first_of_repeated_documents_counts(form, batch_rows):
    worse = SMALL.run.filter(pl.int_range(pl.len()) % 3 == 0).with_columns(score=pl.col("score") - 5)
    run = pl.concat([worse, SMALL.run]).sort("query_id", maintain_order=True)
    with pytest.raises(DataError, match="stands twice"):
        measured(SMALL.qrels, in_form(run, form), batch_rows=batch_rows)
    result = measured(SMALL.qrels, in_form(run, form), duplicates="first", batch_rows=batch_rows)
    same_values(result, measured(SMALL.qrels, SMALL.run))
    known = worse.join(SMALL.qrels.select("query_id").unique(), on="query_id").height
    assert result.accounting["r"]["rows_ignored"]["repeated document"] == known


@pytest.mark.parametrize("rule", ["max", "last"])
@pytest.mark.parametrize("together", [True, False])
def test_one_of_conflicting_judgements_counts(rule, together):
    chance = random.Random(4)
    others = [
        SMALL.qrels.sample(fraction=0.5, seed=seed).with_columns(
            grade=pl.Series([chance.choice([-1, 0, 1, 2, 3]) for _ in range(SMALL.qrels.height // 2)])
        )
        for seed in (1, 2)
    ]
    every = pl.concat([SMALL.qrels, *others])
    every = every.sort("query_id", maintain_order=True) if together else every
    settled = every.group_by("query_id", "doc_id", maintain_order=True).agg(
        pl.col("grade").max() if rule == "max" else pl.col("grade").last()
    )
    with pytest.raises(DataError, match="--qrels-conflicts"):
        measured(every, SMALL.run)
    result = measured(every, SMALL.run, qrels_conflicts=rule)
    same_values(result, measured(settled, SMALL.run))
    told = {w.code: w.count for w in result.warnings}
    assert told["conflicting-judgements"] + told["repeated-judgements"] == every.height - settled.height


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch_rows", [1, None])
def test_nan_is_the_lowest_score(form, batch_rows):
    broken = pl.when(pl.int_range(pl.len()) % 4 == 0)
    run = SMALL.run.with_columns(score=broken.then(float("nan")).otherwise("score"))
    low = SMALL.run.with_columns(score=broken.then(-1e9).otherwise("score"))
    with pytest.raises(DataError, match="NaN"):
        measured(SMALL.qrels, in_form(run, form), batch_rows=batch_rows)
    result = measured(SMALL.qrels, in_form(run, form), nan="last", batch_rows=batch_rows)
    same_values(result, measured(SMALL.qrels, low))
    assert {w.code: w.count for w in result.warnings}["nan-scores"] == math.ceil(run.height / 4)


def orders(scores):
    """All orders of documents that their scores allow."""
    groups = [list(group) for _, group in itertools.groupby(sorted(scores, key=lambda d: -scores[d]), key=scores.get)]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield [doc for part in parts for doc in part]


def standing(order):
    """A run in which documents stand in an order."""
    return {document: -place for place, document in enumerate(order)}


def over_orders(qrels, scores, measures, rules):
    """The values of each order of ties, one row an order, one column a measure."""
    every = dict(enumerate(itertools.islice(orders(scores), 720)))
    run = {number: standing(order) for number, order in every.items()}
    result = rankmeter.evaluate(dict.fromkeys(every, qrels), {"r": run}, measures, **rules)
    return result.per_query.select(parse_measure(measure).name for measure in measures).to_numpy()


def tied(seed, least):
    """A query whose results tie, with grades of every kind."""
    chance = random.Random(seed)
    docs = "abcdef"
    scores = {doc: chance.randrange(chance.choice([1, 2, 3])) for doc in docs[: chance.randint(least, 6)]}
    return {doc: chance.choice([-1, 0, 0, 1, 2]) for doc in docs if chance.random() < 0.7} | {"z": 1}, scores


def spelled(declared):
    """A measure with what it needs, and in every other way that its choices allow."""
    needed = {"max_rel": "2", "k": "3", "x": "0.5", "recall": "0.5"}
    inside = [f"{p.name}={needed[p.name]}" for p in declared.parameters if p.required and not p.behind_at]
    behind = "".join(f"@{needed[p.name]}" for p in declared.parameters if p.behind_at)
    ways = [[]]
    ways += [
        [f"{p.name}={value}"]
        for p in declared.parameters
        for value in p.choices or ("true", "false")[: p.kind == "flag"]
    ]
    ways += [[f"{p.name}=2"] for p in declared.parameters if p.kind in ("level", "floor")]
    ways += [[f"{p.name}='1=2,2=5'"] for p in declared.parameters if p.kind == "gains"]
    return [f"{declared.name}({','.join([*inside, *way])}){behind}" for way in ways]


WRITTEN = [text for declared in MEASURES.values() if not declared.of_subtopics for text in spelled(declared)]
SPELLED = list({parse_measure(text).name: text for text in WRITTEN}.values())  # some ways are the default
WAYS = [
    {},
    {"depth": 2},
    {"judged_only": True},
    {"depth": 2, "judged_only": True},
    {"ap_norm": "hits", "precision_norm": "retrieved", "recall_cap": True},
    {"gain_from": "relevant", "relevance_level": 2},
    {"gain_from": "binary", "ap_norm": "min", "relevance_level": 0},
]


@pytest.mark.parametrize("rules", WAYS, ids=str)
def test_best_and_worst_bound_every_order_of_ties(rules):
    asked = [text for text in SPELLED if parse_measure(text).has_bounds(Rules(ties="best", **rules))]
    assert len(asked) > len(SPELLED) / 2
    for seed in range(12):
        qrels, scores = tied(f"bounds {seed}", 2)
        table = over_orders(qrels, scores, asked, rules)
        for rule, bound in (("best", table.max(axis=0)), ("worst", table.min(axis=0))):
            got = rankmeter.evaluate({"q": qrels}, {"q": scores}, asked, ties=rule, **rules).per_query
            names = [parse_measure(measure).name for measure in asked]
            values = zip(names, got.select(names).row(0), bound.tolist(), strict=True)
            assert [one for one in values if one[1] != pytest.approx(one[2], abs=1e-12)] == []


@pytest.mark.parametrize(
    ("measure", "rules"),
    [
        ("AP@2", {"ap_norm": "hits"}),
        ("AP(norm=hits)@2", {}),
        ("NumNonrelJudgedRet", {"depth": 2}),
        *(
            (name, {"depth": 2, "judged_only": True})
            for name in ("SetP", "SetF", "SetAP", "SetRelP", "Utility", "Rndcg")
        ),
        ("SetP(judged_only=true)", {"depth": 2}),
        ("P@2", {"depth": 2, "judged_only": True, "precision_norm": "retrieved"}),
        *((f"{name}(gains='1=5,2=1')", {}) for name in ("nDCG", "DCG", "nDCGRel", "Rndcg")),
        ("nDCG(gains='0=-1')", {}),
    ],
)
def test_no_bound_where_rules_and_parameters_let_a_swap_lower_it(measure, rules):
    qrels, run = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": dict.fromkeys("abcx", 1.0)}
    for rule in ("best", "worst"):
        with pytest.raises(UsageError, match=rf"--ties {rule} is no bound for {re.escape(measure)}"):
            rankmeter.evaluate(qrels, run, measure, ties=rule, **rules)


@pytest.mark.parametrize(
    ("gains", "grades", "message"),
    [
        ("1=3,2=7", (0, 1, 2), None),
        ("1=3,2=7", (1, 2, 3), "grade 2 worth 7, less than grade 3"),
        ("2=1", (1, 2), None),
        ("2=1", (1.5, 2), "grade 1.5 worth 1.5"),
        ("-1=2", (-1, 1), "grade 1 worth 1, less than grade -1"),
        ("-1=2", (-1, 2), None),
    ],
)
def test_gains_have_bounds_where_they_rise_with_the_grades_of_each_query(gains, grades, message):
    qrels = {"p": {"a": 5}, "q": dict(zip("bcd", grades, strict=False)), "r": {"a": 0}}
    run, measure = {query: dict.fromkeys("abcdx", 1.0) for query in qrels}, f"nDCG(gains='{gains}')"
    if message is None:
        assert rankmeter.evaluate(qrels, run, measure, ties="best").summary["mean"][0] == pytest.approx(2 / 3)
        return
    with pytest.raises(UsageError, match="no bounds for such gains"):
        rankmeter.evaluate(qrels, run, measure, ties="worst")


EXPECTING = "P@1 P@3 P(norm=retrieved)@9 R@2 R(cap=true)@2 Success@1 Success@3 Success RR RR@2 AP AP@3 AP(norm=min)@2"
EXPECTING += " nDCG nDCG@3 nDCG(gain=exp)@2 DCG@4 AP(rel=2) nDCG(gains='0=1,2=5') nDCG(gain=binary)@2 nDCG(rel=2)"


@pytest.mark.parametrize("rules", [rules for rules in WAYS if not {"depth", "judged_only"} & rules.keys()], ids=str)
def test_expected_values_are_means_over_all_orders(rules):
    asked = [text for text in (*EXPECTING.split(), *SPELLED) if parse_measure(text).is_expected(Rules(**rules))]
    asked = list({parse_measure(text).name: text for text in asked}.values())
    for seed in range(20):
        qrels, scores = tied(f"expected {seed}", 2)
        means = over_orders(qrels, scores, asked, rules).mean(axis=0)
        got = rankmeter.evaluate({"q": qrels}, {"q": scores}, asked, ties="expected", **rules).summary
        values = zip(got["measure"], got["mean"], means.tolist(), strict=True)
        assert [one for one in values if one[1] != pytest.approx(one[2], abs=1e-12)] == []


@pytest.mark.parametrize("seed", range(20))
def test_expected_ndcg_is_that_of_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    chance = random.Random(seed)
    docs = [f"d{n}" for n in range(chance.randint(2, 60))]
    grades, scores = ([chance.randrange(4) for _ in docs] for _ in range(2))
    if not any(grades):
        grades[0] = 1
    for k in (1, 5, 100):
        result = rankmeter.evaluate(
            {"q": dict(zip(docs, grades, strict=True))},
            {"q": dict(zip(docs, scores, strict=True))},
            f"nDCG@{k}",
            ties="expected",
        )
        assert result.summary["mean"][0] == pytest.approx(metrics.ndcg_score([grades], [scores], k=k), abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch_rows", [1, None])
def test_expected_values_do_not_depend_on_the_form(form, batch_rows):
    runs = {"r": in_form(SMALL.run, form)}
    result = rankmeter.evaluate(SMALL.qrels, runs, EXPECTING, ties="expected", batch_rows=batch_rows)
    other = rankmeter.evaluate(SMALL.qrels, {"r": SMALL.run}, EXPECTING, ties="expected")
    assert_frame_equal(result.per_query, other.per_query, check_exact=True)


NO_SUMS = [("Rprec", {}), ("AP(norm=hits)", {}), ("RR(judged_only=true)", {}), ("RR", {"depth": 5})]
NO_SUMS += [("AP@5", {"ap_norm": "hits"})]


@pytest.mark.parametrize(("measure", "options"), [*NO_SUMS, ("RR", {"judged_only": True})])
def test_nothing_is_expected_of_what_is_no_sum_over_places(measure, options):
    with pytest.raises(UsageError, match="--ties expected"):
        rankmeter.evaluate(SMALL.qrels, SMALL.run, measure, ties="expected", **options)


def test_bounds_hold_for_many_hits_in_a_tie():
    docs = [f"d{n:03}" for n in range(100)]
    qrels = {"q": {doc: n % 3 for n, doc in enumerate(docs)}}
    run = {"q": dict.fromkeys(docs + [f"x{n}" for n in range(50)], 1.0)}
    best, worst = (
        rankmeter.evaluate(qrels, run, "nDCG P@50 RR", ties=rule).summary["mean"].to_list()
        for rule in ("best", "worst")
    )
    assert best == [1.0, 1.0, 1.0]
    gained = sum(grade / math.log2(rank + 1) for rank, grade in enumerate([0] * 34 + [1] * 33 + [2] * 33, start=51))
    perfect = sum(grade / math.log2(rank + 1) for rank, grade in enumerate([2] * 33 + [1] * 33, start=1))
    assert worst == [pytest.approx(gained / perfect, abs=1e-12), 0.0, pytest.approx(1 / 85)]


@pytest.mark.parametrize("rule", ["best", "worst"])
@pytest.mark.parametrize("name", ["infAP", "Judged@5", "Accuracy"])
def test_no_bound_for_measures_that_a_swap_can_lower(rule, name):
    with pytest.raises(UsageError, match=rf"--ties {rule} is no bound for {name}"):
        rankmeter.evaluate(SMALL.qrels, SMALL.run, f"RR {name}", ties=rule)


@pytest.mark.parametrize("seed", range(6))
def test_the_rules_of_version_9_are_those_of_pytrec_eval(seed):
    chance = random.Random(seed)
    near = [1.0 + n * 2.0**-26 for n in range(40)]
    docs = [f"d{n}" for n in range(40)]
    run = {f"q{q}": {doc: chance.choice(near) for doc in chance.sample(docs, 25)} for q in range(40)}
    qrels = {f"q{q}": {doc: chance.choice([0, 1, 2]) for doc in chance.sample(docs, 20)} for q in range(45)}
    names = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "11pt_avg": "IPrecAvg11", "bpref": "Bpref"}
    names |= {f"iprec_at_recall_{r / 10:.2f}": f"IPrec@{r / 10:g}" for r in range(11)}
    expected = pytrec_eval.RelevanceEvaluator(
        qrels, {"map", "recip_rank", "ndcg", "11pt_avg", "bpref", "iprec_at_recall"}
    ).evaluate(run)
    result = rankmeter.evaluate(qrels, run, list(names.values()), convention="pytrec_eval")
    got = {row["query_id"]: row for row in result.per_query.iter_rows(named=True)}
    assert got.keys() == expected.keys()
    for query, values in expected.items():
        for name, ours in names.items():
            assert got[query][ours] == pytest.approx(values[name], rel=0, abs=1e-12), (query, name)
    assert rankmeter.evaluate(qrels, run, "AP").per_query["AP"].to_list() != result.per_query["AP"].to_list()


def test_gain_from_relevant_ones_only():
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    value = rankmeter.evaluate(qrels, run, "nDCG", gain_from="relevant", relevance_level=2).summary["mean"][0]
    assert value == 1 / math.log2(3)
    assert rankmeter.evaluate(qrels, run, "nDCG", convention="ranx", relevance_level=2).summary["mean"][0] == value


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_is_told_in_every_output(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text("q 0 a 1\n", encoding="utf-8")
    (tmp_path / "r.trec").write_text("q Q0 a 1 1 t\n", encoding="utf-8")
    assert main(["evaluate", "q.trec", "r.trec", "--convention", name, "-m", "AP", "--depth", "7"]) == 0
    assert f"convention {name} with depth 7" in capsys.readouterr().out
    result = rankmeter.evaluate("q.trec", "r.trec", "AP", convention=name)
    assert result.convention == CONVENTIONS[name].as_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth"),
        ({"depth": 1.5}, "depth"),
        ({"judged_only": "yes"}, "--judged-only"),
        ({"duplicates": "last"}, "duplicates"),
        ({"nan": "first"}, "nan"),
        ({"score_type": "float16"}, "score-type"),
        ({"convention": "treceval"}, "trec_eval"),
    ],
)
def test_rules_that_are_none(options, message):
    with pytest.raises(UsageError, match=message):
        rankmeter.evaluate(SMALL.qrels, SMALL.run, "AP", **options)


def spark(found, labels, k):
    """What Spark's RankingMetrics documents for a list and its labels: precisionAt, recallAt, MAP at k, ndcgAt."""
    hits = [document in labels for document in found]
    precision = sum(hits[:k]) / k
    recall = sum(hits[:k]) / len(labels)
    precisions = [sum(hits[: i + 1]) / (i + 1) for i in range(min(k, len(hits))) if hits[i]]
    discounts = [1 / math.log(i + 2) for i in range(max(len(found), len(labels)))]
    gained = sum(discount for hit, discount in zip(hits[:k], discounts, strict=False) if hit)
    return precision, recall, sum(precisions) / min(k, len(labels)), gained / sum(discounts[: min(k, len(labels))])


@pytest.mark.parametrize("seed", range(30))
def test_the_rules_of_spark_are_its_documented_formulas(seed):
    chance = random.Random(seed)
    docs = [f"d{n}" for n in range(30)]
    found, labels = chance.sample(docs, chance.randint(1, 20)), chance.sample(docs, chance.randint(1, 15))
    run = {"q": {document: -n for n, document in enumerate(found)}}
    qrels = {"q": {document: chance.choice([1, 2, 5]) for document in labels} | {"x": 0}}
    for k in (1, 3, 10, 40):
        asked = f"P@{k} R@{k} AP@{k} nDCG@{k}"
        result = rankmeter.evaluate(qrels, run, asked, convention="spark")
        assert result.summary["mean"].to_list() == pytest.approx(spark(found, labels, k), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "measure", "same"),
    [
        ({"ap_norm": "min"}, "AP@3", "AP(norm=min)@3"),
        ({"ap_norm": "hits"}, "AP@3", "AP(norm=hits)@3"),
        ({"precision_norm": "retrieved"}, "P@40", "P(norm=retrieved)@40"),
        ({"recall_cap": True}, "R@3", "R(cap=true)@3"),
        ({"recall_points": "up"}, "IPrec@0.3", "IPrec(recall_points=up)@0.3"),
        ({"gain_from": "binary"}, "nDCG@5", "nDCG(gain=binary)@5"),
        ({"relevance_level": 2}, "AP", "AP(rel=2)"),
    ],
)
def test_a_rule_is_the_default_of_a_parameter(options, measure, same):
    by_rule = rankmeter.evaluate(SMALL.qrels, SMALL.run, measure, **options).per_query[measure]
    by_name = rankmeter.evaluate(SMALL.qrels, SMALL.run, same).per_query[same]
    assert by_rule.to_list() == by_name.to_list()
    assert by_rule.to_list() != rankmeter.evaluate(SMALL.qrels, SMALL.run, measure).per_query[measure].to_list()
    assert rankmeter.evaluate(SMALL.qrels, SMALL.run, same, **options).per_query[same].to_list() == by_name.to_list()
