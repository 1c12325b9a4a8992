"""Spellings of other tools that are no names: what they are in our notation."""

import re
from collections.abc import Callable

_LEVEL = r"(?:-l(?P<level>\d+))?"
_CUT = r"(?P<cut>@\d+)?"


def _inside(match: re.Match[str], *given: str) -> str:
    """The parameters of a spelling of ranx in brackets, its level among them, and the cut-off."""
    level = [f"rel={match['level']}"] if match["level"] else []
    inside = ",".join([*given, *level])
    return (f"({inside})" if inside else "") + (match.groupdict().get("cut") or "")


SPELLINGS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (rf"(?P<name>n?dcg)_burges{_CUT}{_LEVEL}", lambda match: match["name"] + _inside(match, "gain=exp")),
    (rf"rbp\.(?P<digits>\d\d){_LEVEL}", lambda match: "RBP" + _inside(match, f"p=0.{match['digits']}", "gain=linear")),
    (r"NumRet\((?P<inside>rel=\d+)\)", lambda match: f"NumRelRet({match['inside']})"),
    (r"SetP\((?P<before>.*?),?relative=True\)", lambda match: f"SetRelP({match['before']})".replace("()", "")),
    (rf"(?P<name>[a-z0-9_-]+?){_CUT}-l(?P<level>\d+)", lambda match: match["name"] + _inside(match)),
)
"""ranx: levels as `-l2`, gains of Burges, RBP; ir_measures: parameters that make another measure of one."""


def translated(text: str) -> str:
    """The spelling of another tool in our notation; any other text as it is.

    >>> translated("ndcg_burges@5-l2"), translated("rbp.95"), translated("NumRet(rel=1)"), translated("AP@10")
    ('ndcg(gain=exp,rel=2)@5', 'RBP(p=0.95,gain=linear)', 'NumRelRet(rel=1)', 'AP@10')
    """
    for pattern, said in SPELLINGS:
        if match := re.fullmatch(pattern, text):
            return said(match)
    return text
