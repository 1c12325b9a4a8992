"""The numbers of trec_eval, against its own code (pytrec_eval-terrier, version 9) on many small random collections.

Scores are such that float32 holds them, since version 9 compares scores in that type.
"""

import math
import random

import polars as pl
import pytest
import pytrec_eval

import rankmeter
from rankmeter.notation import parse_measure

NAMES = {
    "map": "AP",
    "ndcg": "nDCG",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "bpref": "Bpref",
    "infAP": "infAP",
    "binG": "BinG",
    "G": "G",
    "ndcg_rel": "nDCGRel",
    "Rndcg": "Rndcg",
    "set_map": "SetAP",
    "set_relative_P": "SetRelP",
    "utility": "Utility",
    "11pt_avg": "IPrecAvg11(recall_points=up)",
    "num_nonrel_judged_ret": "NumNonrelJudgedRet",
}
CUTS = (1, 2, 3, 5, 7, 10, 20, 50, 100, 1000)
CUT_NAMES = {"P": "P", "recall": "R", "map_cut": "AP", "ndcg_cut": "nDCG", "success": "Success", "relative_P": "RelP"}
POINTS = [r / 10 for r in range(11)]
MULTIPLES = [x / 5 for x in range(1, 11)]
MEASURES = NAMES | {f"{trec}_{k}": f"{ours}@{k}" for trec, ours in CUT_NAMES.items() for k in CUTS}
MEASURES |= {f"iprec_at_recall_{r:.2f}": f"IPrec(recall_points=up)@{r:g}" for r in POINTS}
MEASURES |= {f"Rprec_mult_{x:.2f}": f"RprecMult@{x:g}" for x in MULTIPLES}
ASKED = {*NAMES, "iprec_at_recall", "Rprec_mult", *(f"{trec}.{','.join(map(str, CUTS))}" for trec in CUT_NAMES)}

NEAR = {"infAP", "G", "ndcg_rel", "Rndcg", "11pt_avg", "binG"}
"""Measures whose sums are made in another order; all others are equal to the bit."""

CASES = 102
QUERIES = 1000
"""Queries of a collection; each is a case of its own, so that a run has 102,000."""

ALPHABETS = ("ab", "0123456789", "äßé", "\U0001d11e\U0001f600", "a b", "'\"`", "A-z_.", "xyz" * 8)


def document(rng):
    """An id that is short or long, and often the beginning of another."""
    alphabet = rng.choice(ALPHABETS)
    return "".join(rng.choice(alphabet) for _ in range(rng.choice((1, 2, 3, 8, 12, 13, 40)))).strip() or "-"


def collection(seed):
    """Judgements and a run: ties, negative grades, missing queries, unjudged ones, lists of many lengths."""
    rng = random.Random(seed)
    pool = sorted({document(rng) for _ in range(60 + 200 * (seed % 3))})
    if seed % 4 == 0:
        pool = [str(rng.choice((1, -1)) * rng.randrange(10 ** rng.randrange(1, 12))) for _ in range(400)]
    grades = rng.choice(((0, 1), (0, 1, 2, 3), (-2, -1, 0, 1, 2), (0,), (0, 0, 0, 5)))
    qrels, run = {}, {}
    for number in range(QUERIES):
        query = f"q{number}" if seed % 5 else f"query of many bytes {number}"
        judged = rng.sample(pool, min(len(pool), rng.choice((1, 2, 5, 10, 60))))
        qrels[query] = {doc: rng.choice(grades) for doc in judged}
        found = rng.sample(pool, min(len(pool), rng.choice((0, 1, 2, 5, 20, 100, 200))))
        levels = rng.choice((1, 3, 10, 1 << 20))
        scores = {doc: rng.randrange(-levels, levels) / 4 for doc in found}
        if found and rng.random() < 0.95:
            run[query if rng.random() < 0.95 else f"unjudged {number}"] = scores
    return {q: docs for q, docs in qrels.items() if max(docs.values()) >= 0}, run


def rows(nested, value, seed):
    """Rows of a dict of dicts, those of a query together, in no order otherwise."""
    rng = random.Random(seed)
    queries = rng.sample(sorted(nested), len(nested))
    flat = [(q, d, v) for q in queries for d, v in rng.sample(sorted(nested[q].items()), len(nested[q]))]
    return pl.DataFrame(flat, schema=["query_id", "doc_id", value], orient="row")


def reference(qrels, run, level=1):
    """The values of the reference; judged queries without results are 0, but for what does not depend on the run."""
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level)
    return evaluator.evaluate({query: docs for query, docs in run.items() if query in qrels})


def differs(one, other, name):
    """Whether two values are not the same; -nan, of nothing retrieved, is 0."""
    return abs(one - other) > 1e-12 if name in NEAR else one != other and not (math.isnan(one) and other == 0)


@pytest.mark.parametrize("seed", range(CASES))
def test_every_value_is_the_same_to_the_bit(seed):
    qrels, run = collection(seed)
    level = 1 + seed % 2
    expected = reference(qrels, run, level)
    result = rankmeter.evaluate(
        rows(qrels, "grade", seed),
        rows(run, "score", seed).with_columns(pl.col("score").cast(pl.Float64)),
        list(MEASURES.values()),
        relevance_level=level,
    )
    got = {row["query_id"]: row for row in result.per_query.iter_rows(named=True)}
    assert got.keys() == qrels.keys()
    differing = [
        (query, name, values[name], got[query][ours])
        for query, values in expected.items()
        for name, ours in MEASURES.items()
        if differs(values[name], got[query][ours], name)
    ]
    assert not differing[:5]
    missing = [row for query, row in got.items() if query not in expected]
    assert all(row[name] == 0 for row in missing for name in MEASURES.values() if name not in ("NumRel", "Utility"))


@pytest.mark.parametrize("seed", range(0, CASES, 6))
def test_means_are_exact(seed):
    qrels, run = collection(seed)
    result = rankmeter.evaluate(qrels, rows(run, "score", seed), list(MEASURES.values()))
    means = dict(result.summary.select("measure", "mean").rows())
    for name in MEASURES.values():
        assert means[name] == pytest.approx(math.fsum(result.per_query[name]) / len(qrels), rel=1e-15, abs=0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ties", ["doc-id-desc", "doc-id-asc", "input-order"])
def test_ties_are_ordered_as_asked(seed, ties):
    qrels, run = collection(seed)
    frame = rows(run, "score", seed)
    order = {q: [] for q in run}
    for number, (query, doc, score) in enumerate(frame.rows()):
        order[query].append((-score, number, doc))
    for listed in order.values():
        if ties != "input-order":
            listed.sort(key=lambda row: row[2].encode(), reverse=ties == "doc-id-desc")
        listed.sort(key=lambda row: row[0])
    result = rankmeter.evaluate(qrels, frame, "RR", ties=ties, keep_hits=True)
    expected = sorted(
        (query.encode(), rank, doc)
        for query, listed in order.items()
        for rank, (_, _, doc) in enumerate(listed, 1)
        if doc in qrels.get(query, {})
    )
    assert [
        (query.encode(), rank, doc) for query, rank, doc in result.hits.select("query_id", "rank", "doc_id").rows()
    ] == expected


def test_integer_ids_tie_as_decimal_text():
    ids = [5, 50, -5, 500, 49, 0, 9, 10, 123456789012, -10, 2**63 - 1, -(2**63)]
    qrels = pl.DataFrame({"query_id": [7] * len(ids), "doc_id": ids, "grade": [1] * len(ids)})
    run = qrels.select("query_id", "doc_id", score=pl.lit(1.0))
    hits = rankmeter.evaluate(qrels, run, "RR", keep_hits=True).hits
    assert hits["doc_id"].to_list() == sorted(map(str, ids), reverse=True)


def test_every_shared_measure_is_compared():
    trec = {name for name in (parse_measure(ours).measure.trec for ours in NAMES.values()) if name}
    assert trec == NAMES.keys()
