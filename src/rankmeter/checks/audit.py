"""An audit of the inputs: all that is wrong with their rows, where an evaluation stops at the first of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.findings import Collected
from rankmeter.checks.repeats import FILE, ROW, Once, Repeats, document_twice, judged_twice, listed_twice
from rankmeter.conflicts import is_own
from rankmeter.conventions import Rules
from rankmeter.errors import SHOWN, DataError, Problem
from rankmeter.inputs import Inputs, order_of
from rankmeter.limits import Budget
from rankmeter.parallel import in_order
from rankmeter.request import Request
from rankmeter.schema import PROBLEMS
from rankmeter.sources.base import Batch
from rankmeter.sources.source import PIECE, READERS, Source

Array = np.ndarray[Any, Any]

HASH_BYTES = 32
"""Memory of one row while repeats are looked for."""

UNKNOWN_ROWS = 1 << 24
"""Rows of an input that does not know them."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An input to audit.

    Attributes:
        source: the input.
        once: what may be there only once.
        judged_only: whether that holds of judged queries alone.
        counts: whether its rows are looked at here, and not with another source of the same rows.
    """

    source: Source
    once: tuple[Once, ...] = ()
    judged_only: bool = False
    counts: bool = True


def subjects(request: Request, inputs: Inputs) -> list[Subject]:
    """How the inputs of a request are audited, the judgements first."""
    rules = request.rules
    runs = [_of_run(run, rules, ordered=order_of(run, rules).column != "row") for run in inputs.runs]
    queries = [Subject(inputs.queries)] if inputs.queries else []
    return [_of_qrels(inputs.judgements, rules, from_log=request.labelled is not None), *queries, *runs]


def _of_qrels(source: Source, rules: Rules, *, from_log: bool) -> Subject:
    """How judgements are audited."""
    keys = [name for name in ("query_id", "subtopic", "doc_id") if name in (*source.columns, "doc_id")]
    once = (judged_twice(keys),) if rules.qrels_conflicts == "error" else ()
    return Subject(source, once, counts=not from_log)


def _of_run(source: Source, rules: Rules, *, ordered: bool) -> Subject:
    """How a run is audited; `ordered` says whether a column orders its lists."""
    lists = [name for name in ("run", "query_id") if name in source.columns]
    once = [document_twice([*lists, "doc_id"])] if rules.duplicates == "error" else []
    if source.has_lists and not ordered:
        once.append(listed_twice(lists))
    return Subject(source, tuple(once), judged_only=True)


Watch = Callable[[Subject, Collected, pl.DataFrame], object]
"""Is shown each batch: what was found in it, and the rows that are left."""


class Audit:
    """Finds all that is wrong with the rows of some inputs, the judgements first.

    Attributes:
        counts: rule -> how many problems were found so far.
        shown: the first of them.
    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        rules: Rules,
        budget: Budget,
        *,
        describe_all: bool = False,
        watch: Watch = lambda *_: None,
    ) -> None:
        """`describe_all`: every problem is described, not only the first ones; `watch` is shown each batch."""
        self.counts: Counter[str] = Counter()
        self.shown: list[Problem] = []
        self._subjects = subjects
        self._watch = watch
        self._rules = rules
        self._budget = budget
        self._room = None if describe_all else SHOWN
        self._said: set[str] = set()
        self._judged = pl.Series("query_id", [], pl.String)

    def problems(self) -> Iterator[list[Problem]]:
        """What is wrong, piece by piece; counted, and the first of it kept, on the way."""
        for number, subject in enumerate(self._subjects):
            every = [Repeats(once, 0, self._shares(subject.source)) for once in subject.once]
            for findings, frame in self._read(subject):
                if number == 0:
                    self._judged = pl.concat([self._judged, frame["query_id"].cast(pl.String).unique()]).unique()
                if subject.counts:
                    yield self._taken(sorted(findings.problems, key=lambda problem: problem.row or 0), findings.counts)
                self._watch(subject, findings, frame)
                for repeats in every:
                    self._note(subject, frame, repeats)
            for repeats in every:
                yield from self._repeats(subject, repeats)

    def error(self) -> DataError | None:
        """The error for all that was found."""
        return DataError.of(self.shown, self.counts) if self.counts else None

    def frames(self) -> Iterator[pl.DataFrame]:
        """The problems as rows of the table `problems`."""
        yield problem_frame([])
        yield from (problem_frame(problems) for problems in self.problems() if problems)

    def _shares(self, source: Source) -> int:
        rows = UNKNOWN_ROWS if source.rows is None else source.rows
        return max(1, -(-rows * HASH_BYTES // max(1, self._budget.free)))

    def _taken(self, problems: list[Problem], counts: Counter[str]) -> list[Problem]:
        """The problems, counted, the first ones kept."""
        self.counts.update(counts)
        self.shown += problems[: SHOWN - len(self.shown)]
        return problems

    def _read(self, subject: Subject) -> Iterator[tuple[Collected, pl.DataFrame]]:
        """What was found in each batch, and the rows that are left."""
        return in_order(READERS, subject.source.batches(PIECE), self._examine)

    def _examine(self, batch: Batch) -> tuple[Collected, pl.DataFrame]:
        """One batch; where its file cannot be read at all, that is one problem."""
        self._budget.check(batch.part.label)
        findings = Collected(self._room)
        try:
            frame = batch.read(findings)
        except DataError as error:
            if str(error) not in self._said:
                self._said.add(str(error))
                problem = error.problems[0]
                findings.add(problem.rule, range(1), lambda _: problem)
            return findings, pl.DataFrame(schema={"query_id": pl.String})
        row = np.asarray(batch.row(np.flatnonzero(findings.kept)), np.int64)
        place = [pl.Series(ROW, row), pl.Series(FILE, [batch.part.label], pl.String).new_from_index(0, frame.height)]
        return findings, frame.with_columns(place)

    def _note(self, subject: Subject, frame: pl.DataFrame, repeats: Repeats) -> None:
        """Take note of the keys of some rows."""
        if frame.height:
            repeats.add(self._looked_at(subject, frame, repeats.once))

    def _looked_at(self, subject: Subject, frame: pl.DataFrame, once: Once) -> pl.DataFrame:
        """One row per document, without those that rules leave out or queries that are not judged."""
        if subject.judged_only:
            frame = frame.filter(frame["query_id"].cast(pl.String).is_in(self._judged.implode()))
        if once.lists:
            return frame
        lists = [name for name in ("doc_ids", "grades", "scores", "ranks") if name in frame.columns]
        if lists:
            filled = frame.filter(pl.col("doc_ids").list.len() > 0)
            frame = filled.explode(lists).rename({name: name.removesuffix("s") for name in lists})
        if "grade" in frame.columns:
            frame = frame.filter(pl.col("grade").is_not_null())
        return frame.filter(~is_own(frame["query_id"], frame["doc_id"])) if self._rules.ignore_self else frame

    def _repeats(self, subject: Subject, repeats: Repeats) -> Iterator[list[Problem]]:
        """Rows that contradict each other, share by share."""

        def read() -> Iterable[pl.DataFrame]:
            frames = (frame for _, frame in self._read(subject) if frame.height)
            return (self._looked_at(subject, frame, repeats.once) for frame in frames)

        for share in range(repeats.of):
            if share:
                repeats = Repeats(repeats.once, share, repeats.of)
                for frame in read():
                    repeats.add(frame)
            for problems in repeats.problems(repeats.repeated(), read):
                yield self._taken(problems, Counter({repeats.once.rule: len(problems)} if problems else {}))


def problem_frame(problems: Sequence[Problem]) -> pl.DataFrame:
    """Problems as rows of the table `problems`."""
    types: dict[str, Any] = {"text": pl.String, "integer": pl.Int64}
    schema = {column.name: types[column.types[0]] for column in PROBLEMS.columns}
    return pl.DataFrame({name: [getattr(problem, name) for problem in problems] for name in schema}, schema=schema)
