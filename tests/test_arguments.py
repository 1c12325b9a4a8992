"""Arguments of wrong types and values: one sentence, the same for Python and the command line, before any file."""

import decimal
import fractions

import numpy as np
import pytest

import rankmeter
from rankmeter.api import Options
from rankmeter.cli import main
from rankmeter.conventions import CHOICES, Rules
from rankmeter.errors import UsageError
from rankmeter.request import Reading, Request, Resources

COUNTS = (0, -5, "2", 2.0, True, [2], b"2", float("nan"))
TEXTS = (5, b"x", ["x"], True, np.array(["a", "b"]))
FLAGS = ("x", 1, 0.0, None, [])
COLUMNS = ("x=y", None, 5, [("score", "s")], {"score": 0}, {"score": None}, {0: "s"})
WRONG = {
    "convention": ("convention", (*TEXTS, None, "zz")),
    "relevance_level": ("relevance level", ("1", True, [1], decimal.Decimal(1), 1j, 10**400, float("inf"))),
    "order_by": ("--order-by", (*TEXTS, "zz", "")),
    "depth": ("--depth", COUNTS),
    "qrels_columns": ("--qrels-columns", COLUMNS),
    "run_columns": ("--run-columns", COLUMNS),
    "run_column": ("--run-column", TEXTS),
    "qrels_format": ("--qrels-format", (*TEXTS, "zz")),
    "run_format": ("--run-format", (*TEXTS, "zz")),
    "header": ("header", FLAGS),
    "keep_hits": ("keep_hits", FLAGS),
    "threads": ("--threads", COUNTS),
    "batch_rows": ("--batch-rows", COUNTS),
    "memory_limit": ("size of memory", (1e9, True, "zz", b"2GB", [2], "9" * 400, 0, -1)),
    "measures": ("measures", (None, 5, b"RR", [None], ["RR", 5], [b"RR"])),
    "by": ("--by", (None, 5, b"x", [None], ["x", 5])),
}
RULES = {name: f"--{name.replace('_', '-')}" for name in Rules.__dataclass_fields__}
WRONG |= {name: (RULES[name], (*TEXTS, "zz")) for name in CHOICES}
WRONG |= {name: (RULES[name], ("x", 1, 0.0, [])) for name, value in Rules().as_dict().items() if value is False}


def test_every_option_is_tried():
    assert WRONG.keys() >= Options.__annotations__.keys() - {"labelled", "queries", "problems"}


@pytest.mark.parametrize(
    ("option", "value"),
    [(option, value) for option, (_, values) in WRONG.items() for value in values],
    ids=lambda value: repr(value)[:30],
)
def test_a_wrong_argument_is_named_before_any_input_is_read(option, value):
    arguments = {"qrels": "absent.parquet", "run": "absent.parquet", "measures": "RR"} | {option: value}
    with pytest.raises(UsageError) as caught:
        rankmeter.evaluate(**arguments)
    assert WRONG[option][0] in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"threads": np.int64(2), "batch_rows": np.int32(7), "memory_limit": np.int64(1 << 40)},
        {"relevance_level": fractions.Fraction(1, 2)},
        {"relevance_level": np.float32(1)},
        {"threads": 10**30, "batch_rows": 10**30},
        {"memory_limit": 2**63 - 1},
        {"measures": (name for name in ("RR", "P@1"))},
    ],
)
def test_other_types_of_numbers_and_collections_will_do(options):
    result = rankmeter.evaluate(**{"qrels": {"q": {"d": 1}}, "run": {"q": {"d": 1.0}}, "measures": "RR"} | options)
    assert result.summary["mean"][0] == 1.0
    assert type(result.to_dict()["convention"]["relevance_level"]) is float


@pytest.mark.parametrize(("option", "value"), [("threads", 0), ("batch_rows", -5), ("memory_limit", "2 apples")])
def test_the_command_line_says_the_same(option, value, capsys):
    with pytest.raises(UsageError) as caught:
        rankmeter.evaluate("absent.trec", "absent.trec", "RR", **{option: value})
    assert main(["evaluate", "absent.trec", "absent.trec", f"--{option.replace('_', '-')}", str(value)]) == 2
    assert capsys.readouterr().err == f"rankmeter: error: {caught.value}\n"


def test_no_request_holds_wrong_values():
    for make in (lambda: Resources(threads=0), lambda: Reading(header=1), lambda: Request((), (), keep_hits=5)):
        with pytest.raises(UsageError):
            make()


@pytest.mark.parametrize("name", [None, b"a", 1.5, ("a",), True])
def test_names_of_runs_are_text_or_integers(name):
    with pytest.raises(UsageError, match="the name of a run is a text"):
        rankmeter.evaluate({"q": {"d": 1}}, {name: {"q": {"d": 1.0}}}, "RR")


@pytest.mark.parametrize(
    "options",
    [
        {"run": {"a\ud800": {"q": {"d": 1.0}}}},
        {"measures": "RR\ud800"},
        {"by": "\ud800"},
        {"run_column": "\ud800"},
        {"run_columns": {"score": "\ud800"}},
        {"run_format": "\ud800"},
        {"memory_limit": "\ud800"},
        {"order_by": "\ud800:asc"},
    ],
)
def test_halves_of_characters_are_refused_and_made_visible(options):
    with pytest.raises(UsageError) as caught:
        rankmeter.evaluate(**{"qrels": {"q": {"d": 1}}, "run": {"q": {"d": 1.0}}, "measures": "RR"} | options)
    assert "\\ud800" in str(caught.value).encode().decode()
