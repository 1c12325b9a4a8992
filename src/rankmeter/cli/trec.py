"""`--format trec`: character for character what trec_eval 10.0 prints with `-c`."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from rankmeter.errors import UsageError, shortened

if TYPE_CHECKING:
    import polars as pl

    from rankmeter.notation import Asked
    from rankmeter.result import Result

ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *("iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg"),
    *("binG", "G", "dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P", "success"),
    *("set_P", "set_relative_P", "set_recall", "set_map", "set_F", "num_nonrel_judged_ret", "yaap", "rbp"),
    *("rbp_resid", "unj"),
)
"""trec_eval's measures in the order in which it prints them, whatever the order in which they were asked for."""

DEFAULT = "trec"
WITH_RELSTRING = {"trec_all", "all_trec"}
WITH_RUNID = {"runid", "trec", "official", *WITH_RELSTRING}
RELSTRING = re.compile(r"relstring(?:[._](\d+))?")
USUAL_LENGTH = 10
"""How many documents of a list `relstring` shows where nothing else is said."""


def words_of(measures: Sequence[str] | None) -> list[str]:
    """What was asked for, name by name."""
    from rankmeter.notation import split

    return [word for text in measures or [DEFAULT] for word in split(text)]


def measures_in(measures: Sequence[str] | None) -> list[str]:
    """What was asked for, without that which only this format has."""
    words = words_of(measures)
    rest = [word for word in words if word != "runid" and RELSTRING.fullmatch(word) is None]
    return rest or ["num_q"]


@dataclass(frozen=True, slots=True)
class TrecPage:
    """What is printed besides the measures.

    Attributes:
        runid: whether the name of the run is.
        relstring: how many documents of each list are shown by their grades; None: none.
        relstring_name: what that line is called.
        only: whether no measure was asked for at all.
    """

    runid: bool
    relstring: int | None
    relstring_name: str
    only: bool

    @classmethod
    def asked(cls, measures: Sequence[str] | None) -> "TrecPage":
        """What the texts ask for.

        Raises:
            UsageError: two lengths of the string of grades.
        """
        words = words_of(measures)
        shown = [found for word in words if (found := RELSTRING.fullmatch(word))]
        if not shown and WITH_RELSTRING.intersection(map(str.casefold, words)):
            shown = [match for match in [RELSTRING.fullmatch("relstring")] if match]
        if len(shown) > 1:
            raise UsageError(f"relstring is asked for twice: {shortened(' '.join(words))}")
        length = int(shown[0].group(1) or USUAL_LENGTH) if shown else None
        name = f"relstring_{shown[0].group(1)}" if shown and shown[0].group(1) else "relstring"
        rest = [word for word in words if word != "runid" and RELSTRING.fullmatch(word) is None]
        return cls(bool(WITH_RUNID.intersection(map(str.casefold, words))), length, name, not rest)

    def print(self, result: "Result", *, per_query: bool, means: bool) -> None:
        """Print all runs."""
        measures = [] if self.only else sorted(result.measures, key=place)
        frames = result.per_query.partition_by("run", as_dict=True, maintain_order=True)
        for run in result.runs:
            frame = frames.get((run,), result.per_query.clear())
            lines = [*(self._topics(result, run, frame, measures) if per_query else ())]
            lines += [*(self._means(run, frame, measures) if means else ())]
            typer.echo("".join(f"{line}\n" for line in lines), nl=False)

    def _topics(self, result: "Result", run: str, frame: "pl.DataFrame", measures: "list[Asked]") -> Iterator[str]:
        """The lines of each query."""
        shown = grades_of(result, run) if self.relstring is not None else {}
        printed = [asked for asked in measures if asked.measure.name != "NumQ" and not _geometric(asked)]
        after = [asked for asked in printed if place(asked) > (ORDER.index("relstring"), 0.0)]
        before = printed[: len(printed) - len(after)]
        for row in frame.iter_rows(named=True):
            query = row["query_id"]
            yield from (line(label(asked), query, _number(asked, row[asked.name])) for asked in before)
            if self.relstring is not None:
                length = min(self.relstring, row["n_retrieved"])
                yield line(self.relstring_name, query, f"'{string_of(shown.get(query, {}), length)}'")
            yield from (line(label(asked), query, _number(asked, row[asked.name])) for asked in after)

    def _means(self, run: str, frame: "pl.DataFrame", measures: "list[Asked]") -> Iterator[str]:
        """The lines of all queries together."""
        if self.runid:
            yield line("runid", "all", run.split(maxsplit=1)[0] if run.split() else run)
        yield from (line(label(asked), "all", _over_all(asked, frame[asked.name].to_list())) for asked in measures)


def line(name: str, query: str, value: str) -> str:
    r"""One line.

    >>> line("map", "all", "0.1785").split("\t")
    ['map                   ', 'all', '0.1785']
    """
    return f"{name:<22}\t{query}\t{value}"


def label(asked: "Asked") -> str:
    """What trec_eval calls a measure; our own name where it has none.

    >>> from rankmeter.notation import parse_measure
    >>> label(parse_measure("nDCG@10")), label(parse_measure("RBP(p=0.5)")), label(parse_measure("ndcg.1=3"))
    ('ndcg_cut_10', 'RBP(p=0.5)', 'ndcg_1=3')
    """
    if asked.label is not None:
        return asked.label
    found = asked.measure
    usual = {p.name: found.trec_values.get(p.name, p.default) for p in found.parameters}
    changed = {p.name: value for p, value in asked.pairs if value != usual[p.name]}
    if not changed:
        return found.trec or asked.name
    at = next((p for p in found.parameters if p.behind_at), None)
    if at is None or changed.keys() != {at.name} or found.trec_cut is None:
        return asked.name
    point = changed[at.name]
    return f"{found.trec_cut}_{point:d}" if at.kind == "cutoff" else f"{found.trec_cut}_{point:.2f}"


def place(asked: "Asked") -> tuple[int, float]:
    """Where a measure is printed: measures of our own come last."""
    name, found = label(asked), asked.measure
    base = found.trec_cut if found.trec_cut and name.startswith(f"{found.trec_cut}_") else found.trec
    known = ORDER.index(base) if base in ORDER and (name == base or name.startswith(f"{base}_")) else len(ORDER)
    point = next((value for p, value in asked.pairs if p.behind_at and value is not None), 0.0)
    return known, float(point)


def _geometric(asked: "Asked") -> bool:
    return asked.measure.aggregate == "geometric"


def _number(asked: "Asked", value: float) -> str:
    """A value as printed: counts as integers, all else with four decimals."""
    return f"{value:.0f}" if asked.measure.aggregate == "sum" else f"{value:6.4f}"


def _over_all(asked: "Asked", values: list[float]) -> str:
    """The mean, made of a plain sum in the order of the queries, as trec_eval makes it."""
    from rankmeter.summary import LEAST

    total = 0.0
    for value in values:
        total += math.log(max(value, LEAST)) if _geometric(asked) else value
    if asked.measure.aggregate == "sum":
        return _number(asked, total)
    mean = total / len(values) if values else 0.0
    return _number(asked, math.exp(mean) if _geometric(asked) else mean)


def grades_of(result: "Result", run: str) -> dict[str, dict[int, Any]]:
    """For each query of a run: rank -> grade of the judged documents found."""
    found: dict[str, dict[int, Any]] = {}
    for name, query, rank, grade in result.hits.select("run", "query_id", "rank", "grade").iter_rows():
        if name == run:
            found.setdefault(query, {})[rank] = grade
    return found


def string_of(grades: dict[int, Any], length: int) -> str:
    """The grades of the first documents of a list, one sign each.

    >>> string_of({1: 2.0, 3: -1.0, 4: 12.0}, 5)
    '2-.>-'
    """
    return "".join(_sign(grades.get(rank)) for rank in range(1, length + 1))


def _sign(grade: Any) -> str:
    if grade is None:
        return "-"
    if grade < 0:
        return "."
    return ">" if grade > 9 else f"{grade:.0f}"  # the last grade of one digit
