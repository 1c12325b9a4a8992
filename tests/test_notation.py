"""Names of measures: what is accepted, what is printed, what is refused and why."""

import random
import re
import subprocess
import sys

import pytest
from test_measures import random_asked

from rankmeter.catalogue import MEASURES, Measure
from rankmeter.catalogue.registry import NO_CUTOFF, names_of
from rankmeter.conventions import Rules
from rankmeter.errors import UsageError
from rankmeter.notation import parse_measure, parse_measures, split

READ = {
    "nDCG@10": "nDCG@10",
    "ndcg@10": "nDCG@10",
    "NDCG": "nDCG",
    "nDCG(gain=exp)@10": "nDCG(gain=exp)@10",
    "nDCG(gain=linear)@10": "nDCG(gain=linear)@10",
    "nDCG(dcg='log2')@10": "nDCG(gain=linear)@10",
    "nDCG(rel=2)@10": "nDCG(rel=2)@10",
    "nDCG(GAIN=Exp)@10": "nDCG(gain=exp)@10",
    "nDCG@10(gain='exp')": "nDCG(gain=exp)@10",
    'nDCG(gain="exp")@10': "nDCG(gain=exp)@10",
    "P(rel=2)@5": "P(rel=2)@5",
    "P(rel=2.0)@5": "P(rel=2)@5",
    "P@5(norm=retrieved,rel=2)": "P(rel=2,norm=retrieved)@5",
    "P( rel=2 , norm=retrieved )@5": "P(rel=2,norm=retrieved)@5",
    "P()@5": "P@5",
    "precision@5": "P@5",
    "Recall@100": "R@100",
    "R(cap=true)@5": "R(cap=true)@5",
    "R(cap=YES)@5": "R(cap=true)@5",
    "R(cap=no)@5": "R(cap=false)@5",
    "R(cap=false)@5": "R(cap=false)@5",
    "F(beta=2)@5": "F(beta=2)@5",
    "F(beta=0.1)@5": "F(beta=0.1)@5",
    "F(beta=1)@5": "F@5",
    "hit@5": "Success@5",
    "HitRate@5": "Success@5",
    "hits@5": "Success@5",
    "MRR": "RR",
    "mrr@10": "RR@10",
    "MAP": "AP",
    "MAP@100": "AP@100",
    "AP(norm=min)@10": "AP(norm=min)@10",
    "AP(norm=hits)": "AP(norm=hits)",
    "P": "SetP",
    "R": "SetR",
    "F1": "SetF",
    "F(beta=2)": "SetF(beta=2)",
    "P(rel=2)": "SetP(rel=2)",
    "Success": "Success",
    "Judged": "Judged",
    "map": "AP",
    "map_cut_100": "AP@100",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "P_5": "P@5",
    "P.5": "P@5",
    "recall_10": "R@10",
    "success_5": "Success@5",
    "Rprec": "Rprec",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
}

LISTS = {
    "P@5,R@5": ["P@5", "R@5"],
    "P@5  R@5\n\tAP": ["P@5", "R@5", "AP"],
    " P@5 , R@5 ": ["P@5", "R@5"],
    "P@5 precision@5 P_5": ["P@5"],
    "ndcg_cut.10,20": ["nDCG@10", "nDCG@20"],
    "P.5,10 AP": ["P@5", "P@10", "AP"],
    "P.5 10": ["P@5", "P@10"],
    "AP P(rel=2,norm=retrieved)@5,RR": ["AP", "P(rel=2,norm=retrieved)@5", "RR"],
    "map_cut": [f"AP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)],
    "RAG@2 P@2": ["P@2", "R@2", "F1@2", "Success@2", "RR@2", "AP@2", "nDCG@2"],
}

WRONG = {
    "": "no measure is named",
    "  ": "no measure is named",
    ",": "no measure is named",
    "P@0": "must be 1 or more",
    "P@-1": "must be 1 or more",
    "P_0": "must be 1 or more",
    "P.5,0": "must be 1 or more",
    "rag@0": "must be 1 or more",
    "P@1.5": '"1.5"',
    "P@1e3": '"1e3"',
    "P@ten": '"ten"',
    "P@": 'whole number from 1, not ""',
    "P@\u0665": "whole number from 1",
    "P@5@6": '"5@6"',
    "P@5(rel=2)@6": "two cut-offs",
    "P@2147483649": "at most 2147483648",
    "P@99999999999999999999": "at most 2147483648",
    "nDGC@10": "did you mean nDCG",
    "precison@5": "did you mean Precision",
    "Sucess@5": "did you mean Success",
    "mpa": "did you mean MAP",
    "xyzzy": 'unknown measure "xyzzy"',
    "map_5": 'unknown measure "map_5"',
    "P_": 'unknown measure "P_"',
    "P(foo=1)@5": 'unknown parameter of P "foo"; known are: rel, norm',
    "P(noorm=k)@5": "did you mean norm",
    "P(k=5)": 'unknown parameter of P "k"',
    "Judged(rel=2)@10": 'Judged has no parameter "rel"',
    "NumQ(rel=2)": 'NumQ has no parameter "rel"',
    "P(norm=x)@5": 'norm is k or retrieved, not "x"',
    "nDCG(gain=log)@5": 'gain is linear or exp or binary, not "log"',
    "AP(norm=max)@5": "rel or min or hits",
    "R(cap=maybe)@5": 'cap is true or false, not "maybe"',
    "P(rel=x)@5": 'rel is a number, not "x"',
    "P(rel=1e400)@5": 'rel is a number, not "1e400"',
    "F(beta=0)@5": 'beta is a number above 0 up to 1e+06, not "0"',
    "F(beta=-1)@5": 'beta is a number above 0 up to 1e+06, not "-1"',
    "F(beta=nan)@5": 'beta is a number above 0 up to 1e+06, not "nan"',
    "F(beta=inf)@5": 'beta is a number above 0 up to 1e+06, not "inf"',
    "F(beta=1_0)@5": 'beta is a number above 0 up to 1e+06, not "1_0"',
    "F(beta=\u0661)@5": "beta is a number above 0 up to 1e+06, not",
    "P(rel=)@5": '"rel="',
    "P(2)@5": '"2"',
    "P(rel=2,rel=3)@5": "rel twice",
    "P(rel=2@5": "bracket is not closed",
    "P(rel=2))@5": "bracket is closed that was never opened",
    "P(rel='2)@5": "quote is not closed",
    "P)5(": "bracket is closed that was never opened",
    "Rprec@5": "Rprec has no cut-off",
    "SetP@5": "SetP has no cut-off",
    "P(norm=retrieved)": "needs a cut-off",
    "R(cap=true)": "needs a cut-off",
    "rag": "needs a cut-off",
    "rag@x": '"x"',
    "5": "begins with its name",
    "@5": "begins with its name",
    "(rel=2)": "begins with its name",
    "P @5": '"@5"',
    "P;AP": '";AP"',
    "P\x00@5": "\\x00@5",
    "P(rel=2)5": '"5"',
    "P!5": '"!5"',
}


@pytest.mark.parametrize(("text", "name"), READ.items())
def test_reads_and_prints(text: str, name: str) -> None:
    assert parse_measure(text).name == name
    assert parse_measure(name) == parse_measure(text)


@pytest.mark.parametrize(("text", "names"), LISTS.items())
def test_reads_lists(text: str, names: list[str]) -> None:
    assert [asked.name for asked in parse_measures(text)] == names


@pytest.mark.parametrize(("text", "part"), WRONG.items())
def test_names_what_is_wrong(text: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measures(text)
    assert part in str(caught.value)
    assert caught.value.exit_code == 2


def needed(declared: Measure) -> str:
    """What stands behind the name of a measure that is given what it needs, and a cut-off."""
    inside = [f"{p.name}={p.example}" for p in declared.parameters if p.required and not p.behind_at]
    behind = [f"@{p.example}" for p in declared.parameters if p.behind_at]
    return (f"({','.join(inside)})" if inside else "") + "".join(behind)


@pytest.mark.parametrize("name", MEASURES)
def test_names_are_read_in_any_case(name: str) -> None:
    end = needed(MEASURES[name])
    for alias in (name, *MEASURES[name].aliases):
        for form in (alias, alias.upper(), alias.lower(), alias.swapcase()):
            assert parse_measure(form + end).name == name + end, form


@pytest.mark.parametrize("name", MEASURES)
def test_trec_evals_names_are_read(name: str) -> None:
    declared = MEASURES[name]
    if declared.trec is not None:
        asked = parse_measure(declared.trec)
        assert (asked.measure.name, asked.label) == (name, declared.trec)
    if declared.trec_cut is not None:
        point = next(p.example for p in declared.parameters if p.behind_at)
        assert parse_measure(f"{declared.trec_cut}_{point}").name == f"{name}@{point}"


@pytest.mark.parametrize("name", MEASURES)
def test_any_parameters_round_trip(name: str) -> None:
    chance = random.Random(name)
    for _ in range(200):
        asked = random_asked(name, chance)
        again = parse_measure(asked.name)
        assert again == asked
        assert hash(again) == hash(asked)


def test_bare_trec_spellings_mean_its_default_cutoffs() -> None:
    names = [asked.name for asked in parse_measures("ndcg_cut")]
    assert names == [f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]


def test_several_texts_are_one_list() -> None:
    assert [asked.name for asked in parse_measures(["P@5 AP", "map", "RR"])] == ["P@5", "AP", "RR"]
    with pytest.raises(UsageError, match="names 2 measures"):
        parse_measure("P@5 AP")


def test_splits_outside_brackets_and_quotes() -> None:
    assert split("a(b='1, 2', c=3) d,e") == ["a(b='1, 2', c=3)", "d", "e"]


def test_what_kernels_get() -> None:
    assert parse_measure("P@5").kernel_parameters(Rules(relevance_level=2)) == (5, 2.0, 0)
    assert parse_measure("P(rel=3,norm=retrieved)@5").kernel_parameters(Rules(relevance_level=2)) == (5, 3.0, 1)
    assert parse_measure("R(cap=true)@5").kernel_parameters(Rules()) == (5, 1.0, 1)
    assert parse_measure("AP").kernel_parameters(Rules()) == (NO_CUTOFF, 1.0, 0)
    assert parse_measure("F(beta=2)@5").kernel_parameters(Rules()) == (5, 1.0, 2.0)
    assert (parse_measure("AP").k, parse_measure("AP@5").k) == (None, 5)


def test_names_are_different() -> None:
    names = [name for declared in MEASURES.values() for name in names_of(declared)]
    assert len(names) == len(set(names))


def test_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys, rankmeter.notation\n"
        "heavy = {'polars', 'pyarrow', 'numba', 'numpy'} & sys.modules.keys()\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        *("set_F.0", "set_F.-1", "set_F.1,2", "set_F.x=2", "11pt_avg.2", "11pt_avg.-0.1"),
        *("utility.1", "utility.1,-1,0", "utility.1,2,3,4,5", "ndcg.1=3,4", "ndcg.1=3,2=7,4", "ndcg.1="),
    ],
)
def test_wrong_numbers_behind_a_name_of_trec_eval_are_a_usage_error(text):
    with pytest.raises(UsageError, match=re.escape(text.split(".", 1)[0])):
        parse_measures([text])


@pytest.mark.parametrize("name", [measure.name for measure in MEASURES.values() if measure.parameter("min_rel")])
@pytest.mark.parametrize("low", [2, 3])
def test_a_scale_ends_above_its_beginning(name, low):
    with pytest.raises(UsageError, match="max_rel=2 must be more than min_rel"):
        parse_measures([f"{name}(min_rel={low},max_rel=2){'@3' * (MEASURES[name].parameter('k') is not None)}"])


RANX = {
    "hit_rate": "Success",
    "hit_rate@5": "Success@5",
    "precision@10-l2": "P(rel=2)@10",
    "recall-l2": "SetR(rel=2)",
    "f1@5-l3": "F1(rel=3)@5",
    "r-precision-l2": "Rprec(rel=2)",
    "mrr-l2": "RR(rel=2)",
    "map@100-l2": "AP(rel=2)@100",
    "bpref-l2": "Bpref(rel=2)",
    "ndcg@10-l2": "nDCG(rel=2)@10",
    "dcg_burges": "DCG(gain=exp)",
    "ndcg_burges@10": "nDCG(gain=exp)@10",
    "ndcg_burges@10-l2": "nDCG(gain=exp,rel=2)@10",
    "rbp.95": "RBP(p=0.95,gain=linear)",
    "rbp.80-l2": "RBP(p=0.8,gain=linear,rel=2)",
}
"""Spellings of ranx, and what they are here."""

IR_MEASURES = {
    "NumRet(rel=1)": "NumRelRet(rel=1)",
    "SetP(relative=True)": "SetRelP",
    "SetP(rel=2,relative=True)": "SetRelP(rel=2)",
    "\N{GREEK SMALL LETTER ALPHA}_nDCG@20": "alpha_nDCG@20",
    "\N{GREEK SMALL LETTER ALPHA}_DCG@10": "alpha_DCG@10",
}


@pytest.mark.parametrize(("spelling", "meant"), [*RANX.items(), *IR_MEASURES.items()])
def test_spellings_of_other_tools_are_read(spelling, meant):
    assert [asked.name for asked in parse_measures([spelling])] == [parse_measure(meant).name]
