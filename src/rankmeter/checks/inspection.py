"""What is in the inputs, what is wrong with them, and what is suspicious: an evaluation without measures."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.audit import Audit, Subject, subjects
from rankmeter.checks.findings import Collected
from rankmeter.checks.tally import Notice
from rankmeter.conventions import Rules
from rankmeter.errors import SHOWN, DataError, Problem
from rankmeter.inputs import Inputs, given_runs, open_inputs, open_judgements, open_queries, open_run
from rankmeter.limits import Budget
from rankmeter.notation import parse_measures
from rankmeter.passes import Progress
from rankmeter.pipeline import measured, written
from rankmeter.request import Request
from rankmeter.result import Result
from rankmeter.sources.source import Source
from rankmeter.version import package_version

Array = np.ndarray[Any, Any]

DEPTHS = (5, 10, 20, 100)
"""How deep the share of judged results is looked at."""

LEAST_JUDGED = 0.5
"""Share of the first ten results of which at least so many should be judged."""

EXACTLY = 1 << 20
"""Distinct ids that are counted exactly; the number of more is estimated, to about a thousandth."""

GRADES = 50
"""Distinct grades that are listed."""


class Distinct:
    """Counts distinct ids by their hashes, of which it keeps the smallest.

    >>> ids = Distinct()
    >>> ids.add(pl.Series(["a", "b", "a"]))
    >>> ids.count()
    2
    """

    def __init__(self) -> None:
        self._hashes: Array = np.zeros(0, np.uint64)

    def add(self, ids: pl.Series) -> None:
        """More ids."""
        found = ids.cast(pl.String).unique().hash().to_numpy()
        self._hashes = np.unique(np.concatenate([self._hashes, found]))[:EXACTLY]

    @property
    def exact(self) -> bool:
        """Whether the count is no estimate."""
        return len(self._hashes) < EXACTLY

    def count(self) -> int:
        """How many distinct ids there are, or about how many."""
        if self.exact:
            return len(self._hashes)
        return round((EXACTLY - 1) / (float(self._hashes[-1]) / 2.0**64))


@dataclass(slots=True)
class Profile:
    """What is in one input.

    Attributes:
        role: `qrels`, `queries`, `run` or `log`.
        source: the input.
        rows: its rows.
        refused: rows that break a rule by themselves.
        queries: its queries.
        documents: its documents.
        grades: grade -> how many judgements have it.
    """

    role: str
    source: Source
    rows: int = 0
    refused: int = 0
    queries: Distinct = field(default_factory=Distinct)
    documents: Distinct = field(default_factory=Distinct)
    grades: Counter[float] = field(default_factory=Counter)

    def add(self, findings: Collected, frame: pl.DataFrame) -> None:
        """Look at a batch."""
        lines = findings.counts["field-count"] + findings.counts["quotes"] + findings.counts["encoding"]
        lines += findings.counts["no-object"] + findings.counts["json-type"]
        self.rows += len(findings.kept) + lines
        self.refused += int((~findings.kept).sum()) + lines
        self.queries.add(frame["query_id"])
        for name in ("doc_id", "doc_ids"):
            if name in frame.columns:
                self.documents.add(_items(frame[name]))
        for name in ("grade", "grades"):
            if name in frame.columns and self.role in ("qrels", "log"):
                counted = _items(frame[name]).drop_nulls().value_counts(name="n")
                self.grades.update(dict(counted.iter_rows()))

    def as_dict(self) -> dict[str, Any]:
        """The input as it stands in the JSON output."""
        found: dict[str, Any] = {"role": self.role, **self.source.describe(), "rows": self.rows}
        found |= {"rows_refused": self.refused, "queries": self.queries.count()}
        if self.role != "queries":
            found |= {"documents": self.documents.count(), "documents_exact": self.documents.exact}
        if self.grades:
            ordered = sorted(self.grades.items())
            found |= {"grades": {f"{grade:g}": count for grade, count in ordered[:GRADES]}}
            found |= {
                "lowest_grade": ordered[0][0],
                "highest_grade": ordered[-1][0],
                "grades_listed": len(ordered) <= GRADES,
            }
        return found


def _items(series: pl.Series) -> pl.Series:
    """The values, or the items of lists."""
    return series.filter(series.list.len() > 0).explode() if isinstance(series.dtype, pl.List) else series


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an inspection found.

    Attributes:
        rules: the rules in force.
        profiles: what is in the inputs; none where one of them cannot be opened.
        result: what was measured of the rows that break no rule: depth, judged results, ties; None where nothing was.
        problems: the first of what is wrong.
        counts: rule -> how many problems there are.
        warnings: what is suspicious.
    """

    rules: Rules
    profiles: tuple[Profile, ...]
    result: Result | None
    problems: tuple[Problem, ...]
    counts: dict[str, int]
    warnings: tuple[Notice, ...]

    def to_dict(self) -> dict[str, Any]:
        """The inspection as one JSON object."""
        return {
            "rankmeter": package_version(),
            "convention": self.rules.as_dict(),
            "inputs": [profile.as_dict() for profile in self.profiles],
            "runs": list(self.runs()),
            "problems": {
                "count": sum(self.counts.values()),
                "by_rule": self.counts,
                "examples": [_as_dict(problem) for problem in self.problems],
            },
            "warnings": [notice.as_dict() for notice in self.warnings],
        }

    def runs(self) -> Iterator[dict[str, Any]]:
        """Each run: its accounting, how long its lists are, and which share of their first results is judged."""
        if self.result is None:
            return
        frame = self.result.per_query
        for run, account in self.result.accounting.items():
            rows = frame.filter((pl.col("run") == run) & pl.col("answered"))
            depth = rows["n_retrieved"]
            yield {
                "run": run,
                "accounting": account,
                "depth": {"shortest": depth.min(), "median": depth.median(), "longest": depth.max()},
                "judged": {f"Judged@{k}": rows[f"Judged@{k}"].mean() for k in DEPTHS},
            }


def _as_dict(problem: Problem) -> dict[str, Any]:
    names = ("file", "row", "column", "value", "rule", "query_id", "doc_id", "message")
    return {name: getattr(problem, name) for name in names}


def inspect(request: Request, progress: Progress | None = None) -> Inspection:
    """Look into the inputs of a request; its measures are left aside.

    Raises:
        UsageError: what is asked for makes no sense.
        StorageError: a path is absent or unreadable.
        MemoryLimitError: the memory limit leaves no room.
    """
    request = replace(request, measures=tuple(parse_measures([f"Judged@{k}" for k in DEPTHS])))
    try:
        inputs = open_inputs(request)
    except DataError as error:
        return _unopened(request, error)
    budget = Budget.of(request.resources.memory)
    profiles = list(_profiles(request, inputs))
    by_source = {id(profile.source): profile for profile in profiles}

    def watch(subject: Subject, findings: Collected, frame: pl.DataFrame) -> None:
        if id(subject.source) in by_source:
            by_source[id(subject.source)].add(findings, frame)

    describe_all = request.problems is not None
    audit = Audit(subjects(request, inputs), request.rules, budget, describe_all=describe_all, watch=watch)
    written(request, audit)
    problems, counts = list(audit.shown), dict(audit.counts)
    result = None
    try:
        result = measured(_tolerant(request), _lenient(inputs), budget, progress)
    except DataError as error:
        if error.problems[0].rule not in counts:
            problems += error.problems
            counts |= error.counts
    warnings = tuple(_suspicions(result, request.rules)) if result else ()
    return Inspection(request.rules, tuple(profiles), result, tuple(problems[:SHOWN]), counts, warnings)


def _profiles(request: Request, inputs: Inputs) -> Iterator[Profile]:
    """A profile for each input; a log is one input."""
    if request.labelled is None:
        yield Profile("qrels", inputs.judgements)
    if inputs.queries is not None:
        yield Profile("queries", inputs.queries)
    role = "run" if request.labelled is None else "log"
    yield from (Profile(role, run) for run in inputs.runs)


def _unopened(request: Request, first: DataError) -> Inspection:
    """What is wrong with inputs of which some cannot be opened."""
    jobs: list[Callable[[], object]] = [lambda: open_judgements(request)] if request.labelled is None else []
    jobs.append(lambda: open_queries(request))
    jobs += [lambda given=given: open_run(request, given) for given in given_runs(request)]  # type: ignore[misc]  # default
    errors: dict[str, DataError] = {str(first): first}
    for job in jobs:
        try:
            job()
        except DataError as error:
            errors[str(error)] = error
    problems = [problem for error in errors.values() for problem in error.problems]
    counts = Counter(rule for error in errors.values() for rule in error.counts)
    return Inspection(request.rules, (), None, tuple(problems[:SHOWN]), dict(counts), ())


def _tolerant(request: Request) -> Request:
    """The request with rules that go on where the data contradicts itself."""
    rules = request.rules
    conflicts = "max" if rules.qrels_conflicts == "error" else rules.qrels_conflicts
    return replace(request, rules=replace(rules, duplicates="first", qrels_conflicts=conflicts))


def _lenient(inputs: Inputs) -> Inputs:
    """The inputs without the rows that break a rule by themselves."""

    def lenient(source: Source) -> Source:
        return replace(source, findings=Collected)

    queries = inputs.queries and lenient(inputs.queries)
    return Inputs(lenient(inputs.judgements), queries, [lenient(run) for run in inputs.runs], inputs.names)


def _suspicions(result: Result, rules: Rules) -> Iterator[Notice]:
    """The warnings of an evaluation, and those that only an inspection has."""
    settled = "" if rules.qrels_conflicts != "error" else "conflicting-judgements"
    yield from (notice for notice in result.warnings if notice.code != settled)
    frame = result.per_query
    for run, account in result.accounting.items():
        if tied := account["queries_tied_at_hits"]:
            message = f"{run}: ties could change the values of {tied} queries; --ties best and worst bound by how much"
            yield Notice("ties-at-hits", message, tied, (run,))
        judged = frame.filter((pl.col("run") == run) & pl.col("answered"))["Judged@10"].mean()
        if isinstance(judged, float) and judged < LEAST_JUDGED:
            message = f"{run}: {judged:.0%} of the first ten results are judged; others count as not relevant"
            yield Notice("low-judged-rate", message, 1, (run,))
