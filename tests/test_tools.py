"""Values of other evaluators: ranx under its convention, and ir_measures for the measures that only it has."""

import logging
import math
import random
import shutil

import pytest

import rankmeter
from rankmeter.notation import parse_measure

pytestmark = pytest.mark.filterwarnings("ignore")  # those tools warn of themselves

QUERIES = 5000
DEPTH = 30
POOL = [f"d{n}" for n in range(80)]


def collection(seed, grades):
    """Judgements and a run without ties, which those tools order as they like."""
    chance = random.Random(seed)
    qrels, run = {}, {}
    for number in range(QUERIES):
        judged = chance.sample(POOL, chance.choice([3, 10, 40]))
        found = chance.sample(POOL, chance.choice([1, 5, DEPTH]))
        scores = chance.sample(range(-500, 500), len(found))
        qrels[f"{number}"] = {doc: chance.choice(grades) for doc in judged}
        run[f"{number}"] = {doc: score / 4 for score, doc in zip(scores, found, strict=True)}
    return qrels, run


def values(qrels, run, names, **options):
    """Query -> measure -> value."""
    ours = {name: parse_measure(name).name for name in names}
    result = rankmeter.evaluate(qrels, {"r": run}, list(names), **options)
    rows = result.per_query.iter_rows(named=True)
    return {row["query_id"]: {name: row[canonical] for name, canonical in ours.items()} for row in rows}


RANX = {
    "hit_rate@5": "Success@5",
    "precision@1": "P@1",
    "precision@10": "P@10",
    "recall@10": "R@10",
    "f1@10": "F1@10",
    "r-precision": "Rprec",
    "mrr": "RR",
    "mrr@3": "RR@3",
    "map": "AP",
    "map@10": "AP@10",
    "ndcg": "nDCG",
    "ndcg@10": "nDCG@10",
    "ndcg_burges@10": "nDCG(gain=exp)@10",
    "dcg@10": "DCG@10",
    "dcg_burges@5": "DCG(gain=exp)@5",
    "hits@10": "NumRelRet@10",
    "rbp.80": "RBP(p=0.8,gain=linear)",
}
"""ranx's name -> ours."""


@pytest.mark.parametrize("level", [1, 2])
def test_values_of_ranx_without_ties(level):
    ranx = pytest.importorskip("ranx")
    qrels, run = collection(level, (0, 1, 2, 3))
    asked = list(RANX) if level == 1 else [f"{name}-l{level}" for name in RANX]
    theirs = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(qrels), theirs, asked)
    got = values(qrels, run, RANX.values(), convention="ranx", relevance_level=level)
    compared, differing = 0, []
    for name in asked:
        ours = RANX[name.removesuffix(f"-l{level}")]
        for query, value in theirs.scores[name].items():
            compared += 1
            if abs(value - got[query][ours]) > 1e-12:
                differing.append((query, name, value, got[query][ours]))
    assert compared == QUERIES * len(asked)
    assert not differing[:3], len(differing)


@pytest.mark.parametrize("query", range(0, 100, 5))
def test_bpref_of_ranx_for_one_query_at_a_time(query):
    """Of many queries together it gives others their values, and NaN where nothing is judged to be non-relevant."""
    ranx = pytest.importorskip("ranx")
    qrels, run = ({f"{query}": documents[f"{query}"]} for documents in collection(3, (0, 1, 2)))
    got = values(qrels, run, ["Bpref"])[f"{query}"]["Bpref"]
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["bpref"])
    assert math.isnan(theirs) or theirs == pytest.approx(got, abs=1e-12)


CWL = {
    "RBP(rel=1,p=0.8)": "RBP(p=0.8)",
    "BPM(max_rel=3)@10": "BPM(max_rel=3)@10",
    "BPM(max_rel=3,T=2.0)@10": "BPM(max_rel=3,T=2)@10",
    "SDCG(max_rel=3)@10": "SDCG(max_rel=3)@10",
    "NERR8(max_rel=3)@10": "NERR8(max_rel=3)@10",
    "NERR9(max_rel=3)@10": "NERR9(max_rel=3)@10",
    "NERR10(max_rel=3,p=0.9)": "NERR10(max_rel=3,p=0.9)",
    "NERR11(max_rel=3,T=1.0)": "NERR11(max_rel=3)",
    "INST(max_rel=3,T=1.0)": "INST(max_rel=3)",
    "INSQ(max_rel=3,T=2.0)": "INSQ(max_rel=3,T=2)",
}
"""Measures of cwl_eval, which is inside ir_measures: its name -> ours."""

OTHERS = {"Compat": "Compat", "Compat(p=0.8)": "Compat(p=0.8)", "Accuracy": "Accuracy"}
OTHERS |= {"Judged@5": "Judged@5", "Judged@10": "Judged@10", "IPrec@0.3": "IPrec(recall_points=up)@0.3"}


@pytest.mark.parametrize("names", [CWL, OTHERS], ids=["cwl", "others"])
def test_values_of_ir_measures(names):
    ir_measures = pytest.importorskip("ir_measures")
    if names is CWL:
        pytest.importorskip("cwl")
        logging.getLogger("cwl").disabled = True
    qrels, run = collection(7, (0, 0, 1, 2, 3))
    for documents in run.values():
        for document in documents:  # Compat takes what was not retrieved for retrieved with a score of 0
            documents[document] += 1000
        documents["elsewhere"] = 1.0  # where nothing else was retrieved, Accuracy divides by 0
    asked = {str(ir_measures.parse_measure(name)): ours for name, ours in names.items()}
    got = values(qrels, run, names.values())
    compared = differing = 0
    for metric in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in names], qrels, run):
        ours = got[metric.query_id][asked[str(metric.measure)]]
        if str(metric.measure).startswith("Accuracy") and metric.value == 0.0 == ours:
            continue
        compared += 1
        differing += abs(metric.value - ours) > 1e-12
    assert compared > QUERIES * (len(names) - 3)
    assert not differing


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval, inside ir_measures, is a Perl program")
def test_values_of_gdeval():
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = collection(9, (0, 0, 1, 2, 3, 4))
    got = values(qrels, run, ["ERR@10", "nDCG(gain=exp)@10"])
    names = {"ERR@10": "ERR@10", "nDCG(dcg='exp-log2')@10": "nDCG(gain=exp)@10"}
    for metric in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in names], qrels, run):
        ours = got[metric.query_id][names[str(metric.measure)]]
        assert metric.value == pytest.approx(ours, abs=6e-6), metric
