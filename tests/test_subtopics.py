"""Measures of diversity: worked out by hand, against naive twins, and against ndeval."""

import math
import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankmeter
from rankmeter.catalogue import MEASURES
from rankmeter.cli import main
from rankmeter.errors import DataError, UsageError
from rankmeter.notation import parse_measure

NAMES = [name for name, declared in MEASURES.items() if declared.of_subtopics]
LOG3 = 1 / math.log2(3)

# Documents and the subtopics they are relevant to: a to 1 and 2, b to 1, c to 3.
JUDGED = [("1", "a", 1), ("2", "a", 1), ("1", "b", 1), ("3", "c", 1), ("3", "a", 0), ("9", "d", 0)]
ROWS = [
    ("alpha_nDCG@1", "a", 1.0),
    ("alpha_nDCG@1", "b", 1 / 2),
    ("alpha_nDCG@2", "ac", 1.0),
    ("alpha_nDCG@2", "ab", (2 + 0.5 * LOG3) / (2 + LOG3)),
    ("alpha_nDCG@9", "xd", 0.0),
    ("alpha_DCG@1", "a", 2 / 3),
    ("alpha_DCG@2", "ab", (2 + 0.5 * LOG3) / (3 + 1.5 * LOG3)),
    ("alpha_DCG(alpha=0)@2", "ab", (2 + LOG3) / (3 + 3 * LOG3)),
    ("alpha_DCG@2", "xa", 2 * LOG3 / (3 + 1.5 * LOG3)),
    ("alpha_DCG@5", "x", 0.0),
    ("ERR_IA@1", "b", 1 / 3),
    ("ERR_IA@2", "ab", (2 + 0.5 / 2) / (3 + 1.5 / 2)),
    ("ERR_IA@2", "xc", (1 / 2) / (3 + 1.5 / 2)),
    ("ERR_IA(alpha=1)@2", "ab", 2 / 3),
    ("ERR_IA@3", "", 0.0),
    ("nERR_IA@1", "b", 1 / 2),
    ("nERR_IA@2", "ab", (2 + 0.25) / (2 + 0.5)),
    ("nERR_IA@2", "ac", 1.0),
    ("nERR_IA@2", "ca", (1 + 1) / 2.5),
    ("nERR_IA@2", "d", 0.0),
    ("NRBP", "a", 2 * 0.75 / 3),
    ("NRBP", "ab", (2 + 0.25) * 0.75 / 3),
    ("NRBP(beta=0.8)", "xa", 2 * 0.8 * 0.6 / 3),
    ("NRBP(alpha=1)", "ab", 2 / 3),
    ("NRBP", "", 0.0),
    ("nNRBP", "acb", 1.0),
    ("nNRBP", "a", 2 / (2 + 0.5 + 0.5 * 0.25)),
    ("nNRBP", "xa", 1 / (2 + 0.5 + 0.5 * 0.25)),
    ("nNRBP(alpha=1)", "ca", (1 + 2 * 0.5) / 2.5),
    ("nNRBP", "x", 0.0),
    ("AP_IA", "a", (1 / 2 + 1 + 0) / 3),
    ("AP_IA", "abc", (1 + 1 + 1 / 3) / 3),
    ("AP_IA", "xab", ((1 / 2 + 2 / 3) / 2 + 1 / 2) / 3),
    ("AP_IA(rel=2)", "abc", 0.0),
    ("AP_IA", "", 0.0),
    ("P_IA@1", "a", 2 / 3),
    ("P_IA@2", "ab", 3 / 6),
    ("P_IA@4", "ab", 3 / 12),
    ("P_IA@1", "xa", 0.0),
    ("P_IA@3", "", 0.0),
    ("StRecall@1", "a", 2 / 3),
    ("StRecall@2", "ab", 2 / 3),
    ("StRecall@3", "abc", 1.0),
    ("StRecall@2", "xc", 1 / 3),
    ("StRec@5", "d", 0.0),
]


def frame(rows):
    return pl.DataFrame(rows, schema=["query_id", "subtopic", "doc_id", "grade"], orient="row")


def in_order(documents):
    return {document: -float(place) for place, document in enumerate(documents)}


@pytest.mark.parametrize(("measure", "found", "value"), ROWS)
def test_values_worked_out_by_hand(measure, found, value):
    qrels = frame([("q", *row) for row in JUDGED])
    result = rankmeter.evaluate(qrels, {"r": {"q": in_order(found)}}, measure)
    assert result.summary["mean"][0] == pytest.approx(value, rel=1e-14, abs=0)


@pytest.mark.parametrize("name", NAMES)
def test_measure_has_five_rows(name):
    assert sum(parse_measure(measure).measure.name == name for measure, _, _ in ROWS) >= 5
    declared = MEASURES[name]
    assert all((declared.title, declared.formula, declared.source, declared.empty, declared.missing))


def collection(seed, queries=60, grades=(0, 1, 1, 2)):
    chance = random.Random(seed)
    documents = [f"d{n}" for n in range(30)]
    rows, run = [], {}
    for query in range(queries):
        for subtopic in range(1, chance.randint(2, 7)):
            chosen = chance.sample(documents, chance.randint(1, 12))
            rows += [(str(query), str(subtopic), document, chance.choice(grades)) for document in chosen]
        run[str(query)] = in_order(chance.sample(documents, chance.randint(1, 30)))
    return frame(rows), run


def novelties(ranking, labels, alpha):
    """The novelty of each document in turn."""
    worth, out = {}, []
    for document in ranking:
        out.append(math.fsum(worth.get(label, 1.0) for label in labels.get(document, ())))
        for label in labels.get(document, ()):
            worth[label] = worth.get(label, 1.0) * (1 - alpha)
    return out


def best(labels, alpha):
    """The greedy list: the highest novelty next, of equals the higher id."""
    ranking, left = [], set(labels)
    while left:
        ranking.append(max(left, key=lambda document: (novelties([*ranking, document], labels, alpha)[-1], document)))
        left.remove(ranking[-1])
    return ranking


def twin(name, ranking, labels, k, alpha=0.5, beta=0.5):
    """A measure again, from the labels of each document."""
    every = sorted({label for of_one in labels.values() for label in of_one})
    if not every:
        return 0.0
    discounts = {
        "alpha": lambda rank: math.log2(rank + 1),
        "err": lambda rank: rank,
        "nrbp": lambda rank: beta ** (1 - rank),
    }
    kind = "alpha" if "DCG" in name else "err" if "ERR" in name else "nrbp"

    def total(values):
        return math.fsum(value / discounts[kind](rank) for rank, value in enumerate(values[:k], start=1))

    gained = total(novelties(ranking, labels, alpha))
    if name in ("alpha_nDCG", "nERR_IA", "nNRBP"):
        return gained / total(novelties(best(labels, alpha), labels, alpha))
    if name in ("alpha_DCG", "ERR_IA"):
        return gained / total([len(every) * (1 - alpha) ** place for place in range(k)])
    if name == "NRBP":
        return gained * (1 - (1 - alpha) * beta) / len(every)
    if name == "StRecall":
        return len({label for document in ranking[:k] for label in labels.get(document, ())}) / len(every)
    parts = []
    for label in every:
        found = [label in labels.get(document, ()) for document in ranking]
        relevant = sum(label in of_one for of_one in labels.values())
        precisions = [sum(found[: place + 1]) / (place + 1) for place, hit in enumerate(found) if hit]
        parts.append(sum(found[: k or 0]) / k if name == "P_IA" else math.fsum(precisions) / relevant)
    return math.fsum(parts) / len(every)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("form", ["flat", "shuffled"])
def test_naive_twin_agrees(name, level, form):
    qrels, run = collection(level)
    k = 7 if MEASURES[name].parameter("k") else None
    asked = parse_measure(f"{name}@{k}" if k else name)
    given = qrels.sample(fraction=1, shuffle=True, seed=2) if form == "shuffled" else qrels
    result = rankmeter.evaluate(given, {"r": run}, asked.name, relevance_level=level, batch_rows=20)
    for query, value in result.per_query.select("query_id", asked.name).iter_rows():
        labels = {}
        for subtopic, document, grade in qrels.filter(query_id=query).select("subtopic", "doc_id", "grade").iter_rows():
            labels.setdefault(document, set()).update({subtopic} if grade >= level else ())
        labels = {document: found for document, found in labels.items() if found}
        ranking = sorted(run[query], key=lambda document: -run[query][document])
        assert value == pytest.approx(twin(name, ranking, labels, k), abs=1e-12), query


NDEVAL = {
    "alpha-nDCG@5": "alpha_nDCG@5",
    "alpha-nDCG@20": "alpha_nDCG@20",
    "alpha-DCG@10": "alpha_DCG@10",
    "ERR-IA@10": "ERR_IA@10",
    "nERR-IA@5": "nERR_IA@5",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP_IA",
    "P-IA@10": "P_IA@10",
    "strec@5": "StRecall@5",
    "strec@20": "StRecall@20",
}
"""ndeval's name -> ours."""


@pytest.mark.parametrize("seed", range(5))
def test_values_of_ndeval(seed):
    pyndeval = pytest.importorskip("pyndeval")
    qrels, run = collection(seed, queries=1000, grades=(0, 1))
    judged = [pyndeval.SubtopicQrel(*row) for row in qrels.iter_rows()]
    scored = [pyndeval.ScoredDoc(q, document, score) for q, found in run.items() for document, score in found.items()]
    expected = pyndeval.ndeval(judged, scored, list(NDEVAL))
    got = {
        row["query_id"]: row
        for row in rankmeter.evaluate(qrels, {"r": run}, list(NDEVAL.values())).per_query.to_dicts()
    }
    differing = [
        (query, name, value, got[query][NDEVAL[name]])
        for query, values in expected.items()
        for name, value in values.items()
        if not math.isnan(value) and abs(value - got[query][NDEVAL[name]]) > 1e-12
    ]
    assert not differing[:3]
    assert len(expected) == len(got)


def test_other_measures_take_the_highest_grade_of_a_document():
    qrels, run = collection(5)
    flat = qrels.group_by("query_id", "doc_id", maintain_order=True).agg(pl.col("grade").max())
    asked = ["nDCG@10", "AP", "Bpref", "NumRel"]
    result = rankmeter.evaluate(qrels, {"r": run}, [*asked, "StRecall@5"])
    assert_frame_equal(result.per_query.drop("StRecall@5"), rankmeter.evaluate(flat, {"r": run}, asked).per_query)


def test_trec_files_have_the_subtopic_in_the_iteration(tmp_path, capsys):
    lines = "".join(f"q {subtopic} {document} {grade}\n" for subtopic, document, grade in JUDGED)
    (tmp_path / "q.trec").write_text(lines, encoding="utf-8")
    (tmp_path / "r.trec").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n", encoding="utf-8")
    words = ["evaluate", str(tmp_path / "q.trec"), str(tmp_path / "r.trec"), "-m", "StRecall@2"]
    assert main([*words, "--format", "csv"]) == 0
    assert f"StRecall@2,1,{2 / 3!r}" in capsys.readouterr().out


def test_two_grades_for_one_subtopic_are_a_conflict():
    rows = [("q", "1", "a", 1), ("q", "2", "a", 0), ("q", "1", "a", 0)]
    with pytest.raises(DataError, match="rows 1 and 3"):
        rankmeter.evaluate(frame(rows), {"r": {"q": {"a": 1.0}}}, "StRecall@1")
    result = rankmeter.evaluate(frame(rows), {"r": {"q": {"a": 1.0}}}, "StRecall@1", qrels_conflicts="last")
    assert result.summary["mean"][0] == 0.0
    assert {w.code for w in result.warnings} >= {"conflicting-judgements"}


def test_judgements_without_subtopics_are_told():
    with pytest.raises(DataError, match="subtopic"):
        rankmeter.evaluate(
            pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [1]}), {"q": {"a": 1.0}}, "StRecall@1"
        )
    log = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [1], "score": [1.0], "subtopic": ["1"]})
    with pytest.raises(UsageError, match="subtopics"):
        rankmeter.evaluate(labelled=log, measures="StRecall@1")
