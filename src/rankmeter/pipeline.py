"""The pipeline: inputs are opened, judgements indexed, runs matched and measured, values gathered into a result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankmeter.adjust import BOUNDS
from rankmeter.catalogue.registry import EXPECTED
from rankmeter.checks.audit import Audit, Examined, of_qrels, of_run, problem_frame
from rankmeter.checks.notices import check_overlap, input_notices, run_notices, segment_notices
from rankmeter.conventions import Rules
from rankmeter.errors import DataError, RefusedRowsError, UsageError, shortened
from rankmeter.ids import Share
from rankmeter.limits import Budget
from rankmeter.parallel import SMALL_ROWS, beside, in_order, refuse_after_fork
from rankmeter.passes import Pass, Prepared, Progress, Silent, Within, Work, contiguous
from rankmeter.qrels import QrelsIndex, build_index
from rankmeter.ranking import Matcher, Order
from rankmeter.request import Reading, Request, RunInput
from rankmeter.result import Evaluated, Result
from rankmeter.scattered import scattered
from rankmeter.schema import LABELLED, QRELS, QUERIES, RUN_TABLE, SUBTOPIC_QRELS
from rankmeter.segments import Segments, check_segments
from rankmeter.shares import Evaluation, lightened, together
from rankmeter.sinks import write_frames
from rankmeter.sources.paths import name_of
from rankmeter.sources.source import Source, Spec, open_source
from rankmeter.store import ScatteredRows, Store
from rankmeter.version import package_version

LEAST_JUDGEMENT = 8
"""Bytes that a judgement takes at least in a compressed file."""

UNEXPECTED = {("judged_only", True), ("norm", "hits")}
"""Parameters that make a measure something else than a sum over places."""

CHECKED = 1 << 16
"""Queries whose values are looked at together."""


def execute(request: Request, progress: Progress | None = None) -> Result:
    """Carry out a request, stage by stage.

    Raises:
        UsageError: what is asked for makes no sense.
        DataError: the data breaks a rule.
        StorageError: a path is absent or unreadable.
    """
    refuse_after_fork()
    _check_request(request)
    judgements, runs = _open_inputs(request)
    queries = None
    if request.queries is not None:
        queries = open_source(
            request.queries, Spec(QUERIES, extra=request.by, header=request.reading.header), "queries"
        )
    names = [_run_name(given, source) for given, source in runs]
    _check_names(names)
    sources = [source for _, source in runs]
    check_segments(request, [*([queries] if queries else []), judgements], sources)
    budget = Budget.of(request.resources.memory)
    inputs, shares = Inputs(judgements, queries, sources, names), budget.shares(_size_of(judgements))
    try:
        done = [_evaluate(request, inputs, Share(number, shares), budget, progress) for number in range(shares)]
    except RefusedRowsError as error:
        raise audited(request, inputs, budget) or error from error
    result = _gather(request, judgements, queries, done[0] if len(done) == 1 else together(done))
    if request.problems is not None:
        write_frames(request.problems, [problem_frame([])], {"rankmeter": package_version()})
    return result


def audited(request: Request, inputs: "Inputs", budget: Budget) -> DataError | None:
    """All that is wrong with the rows of the inputs, as one error; written to a file where that is asked for."""
    rules, from_log = request.rules, request.labelled is not None
    examined = [of_qrels(inputs.judgements, rules, from_log=from_log)]
    examined += [Examined(inputs.queries)] if inputs.queries else []
    examined += [of_run(source, rules, ordered=_order(source, rules).column != "row") for source in inputs.runs]
    audit = Audit(examined, rules, budget, describe_all=request.problems is not None)
    if request.problems is None:
        for _ in audit.problems():
            pass
    else:
        write_frames(request.problems, audit.frames(), {"rankmeter": package_version()})
    return audit.error()


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs: judgements, queries table, runs and their names."""

    judgements: Source
    queries: Source | None
    runs: list[Source]
    names: list[str]


def _size_of(judgements: Source) -> int:
    """About how many judgements there are."""
    known = judgements.rows if not judgements.has_lists else None
    return judgements.size // LEAST_JUDGEMENT if known is None else known


def _evaluate(request: Request, inputs: Inputs, share: Share, budget: Budget, progress: Progress | None) -> Evaluation:
    """All runs against a share of the judgements."""
    judgements = inputs.judgements
    small = judgements.rows is not None and judgements.rows <= SMALL_ROWS

    def prepare() -> Prepared:
        """What lists are matched with."""
        from_log = request.labelled is not None
        index, notices = build_index(judgements, request.rules, from_log=from_log, share=share)
        matcher = Matcher(index, request.rules.ties)
        return Prepared(index, matcher, Segments(request.by, index, inputs.queries), tuple(notices))

    with beside(prepare, small=small) as prepared:
        work = Work(judgements.label, prepared, share, request.rules, request.resources, budget, progress or Silent())
        passes = _evaluate_runs(request, inputs, work)
    found = prepared.result()
    segments = found.segments
    done = Evaluation(found.index, segments.frame(), segments.from_run, found.notices, tuple(passes))
    return done if share.of == 1 else lightened(done)


def _evaluate_runs(request: Request, inputs: Inputs, work: Work) -> list[Pass]:
    """All lists of all inputs; small inputs, which are one batch each, are read side by side."""
    named = list(zip(inputs.runs, inputs.names, strict=True))
    rows = [source.rows for source in inputs.runs]
    if len(named) == 1 or any(count is None or count > work.batch_rows for count in rows):
        return [_evaluate_run(source, name, request, work) for source, name in named]
    work.progress.start(sum(count for count in rows if count), sum(source.size for source in inputs.runs))
    inside = replace(work, progress=Within(work.progress))
    try:
        jobs = in_order(work.threads, iter(named), lambda one: _evaluate_run(one[0], one[1], request, inside))
        return list(jobs)
    finally:
        work.progress.finish()


def _check_request(request: Request) -> None:
    if (request.labelled is None) == (request.qrels is None and not request.runs):
        raise UsageError("give either QRELS and RUN, or a labelled log, and not both")
    if request.labelled is None and (request.qrels is None or not request.runs):
        raise UsageError("an evaluation needs judgements and at least one run")
    if not request.measures:
        raise UsageError("no measure was asked for")
    _check_ties(request)


def _check_ties(request: Request) -> None:
    """Refuse orders of ties that say nothing of a measure, or cannot be had with another rule."""
    ties, asked = request.rules.ties, request.measures
    unbounded = [one.name for one in asked if ties in BOUNDS and "swap" not in one.measure.laws]
    if unbounded:
        raise UsageError(
            f"--ties {ties} is no bound for {', '.join(unbounded)}, which can fall when a better document moves up; "
            "leave these out"
        )
    if ties != "expected":
        return
    unknown = [one.name for one in asked if one.measure.name not in EXPECTED or UNEXPECTED.intersection(one.given)]
    if unknown:
        raise UsageError(f"--ties expected is known for {', '.join(EXPECTED)}, not for {', '.join(unknown)}")
    if request.rules.depth is not None or request.rules.judged_only:
        raise UsageError("--ties expected looks at all orders of whole lists; leave --depth and --judged-only out")


def _open_inputs(request: Request) -> tuple[Source, list[tuple[RunInput, Source]]]:
    """The judgements and the runs, their columns chosen."""
    reading, by = request.reading, request.by
    chosen = _run_columns(reading, request.rules)
    if request.labelled is not None and request.of_subtopics:
        raise UsageError("measures of subtopics need judgements for each of them, which a labelled log does not have")
    if request.labelled is not None:
        spec = Spec(LABELLED, reading.run_format, chosen, reading.header, by, request.rules.nan)
        log = open_source(request.labelled, spec, "log")
        used = ("query_id", "doc_id", "grade", *by)
        labels = {role: name for role, name in log.columns.items() if role in used}
        return Source(log.label, log.table, log.parts, labels), [(RunInput(None, request.labelled), log)]
    table = SUBTOPIC_QRELS if request.of_subtopics else QRELS
    judged = Spec(table, reading.qrels_format, reading.qrels_columns, reading.header, by)
    judgements = open_source(request.qrels, judged, "qrels")
    spec = Spec(RUN_TABLE, reading.run_format, chosen, reading.header, by, request.rules.nan)
    opened = [(given, open_source(given.data, spec, given.name or "run")) for given in request.runs]
    return judgements, opened


def _run_columns(reading: Reading, in_force: Rules) -> dict[str, str]:
    """The columns of a run that the user named: by role, and one that orders it."""
    chosen = dict(reading.run_columns)
    if reading.run_column is not None:
        chosen["run"] = reading.run_column
    column, _, direction = (in_force.order_by or "").rpartition(":")
    if column:
        chosen["score" if direction == "desc" else "rank"] = column
    return chosen


def _order(source: Source, in_force: Rules) -> Order:
    """What orders the lists of a run.

    Raises:
        UsageError: a column that was asked for is not there.
        DataError: nothing orders the rows.
    """
    there = {role.removesuffix("s") if source.has_lists else role for role in source.columns}
    asked = in_force.order_by
    if asked is not None and asked.endswith(":asc"):
        asked = "rank"
    elif asked is not None and asked.endswith(":desc"):
        asked = "score"
    for name in ("score", "rank"):
        if asked == name and name not in there:
            raise UsageError(
                f"{source.label} has no {name} column to order by; its roles are {', '.join(sorted(there))}"
            )
    if asked is None:
        asked = next((name for name in ("score", "rank") if name in there), "row" if source.has_lists else None)
    if asked is None:
        raise DataError(
            f"{source.label} has neither a score nor a rank column; name one with --run-columns score=COLUMN, "
            "or say --order-by row if the rows stand in rank order",
            "no-order",
        )
    return Order(asked, upwards=asked == "rank", single=asked == "score" and in_force.score_type == "float32")


def _run_name(given: RunInput, source: Source) -> str:
    """The name of a run that no column names: as given, else the only tag of its files, else made of the path."""
    if given.name is not None:
        return given.name
    if "tag" in source.columns:
        tags = {part.first_tag() for part, _ in source.parts}
        if len(tags) == 1 and (tag := tags.pop()) is not None:
            return tag
    if not isinstance(given.data, (str, Path)):
        return source.label
    return source.parts[0][0].label if source.label == "-" else name_of(source.label)


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two runs are called "{shortened(name)}"; give them names of their own with NAME=PATH')
        if name.encode(errors="replace").decode() != name:
            raise UsageError(f'the run name "{shortened(name)}" is no valid Unicode text; give another with NAME=PATH')


def _evaluate_run(source: Source, name: str, request: Request, work: Work) -> Pass:
    """All lists of one input."""
    order = _order(source, request.rules)

    def attempt() -> Pass:
        store = Store(
            lambda: work.index,
            request.measures,
            request.rules,
            work.budget.values,
            keep_hits=request.keep_hits,
        )
        return Pass(source, name, order, store, work)

    work.progress.start(source.rows, source.size)
    done = attempt()
    try:
        contiguous(done)
    except ScatteredRows:
        read, done = done.left, attempt()
        work.progress.start(source.rows, source.size)
        scattered(done, read)
    finally:
        work.progress.finish()
    if not done.tallies:
        done.tally(name)
    done.store.complete()
    return done


def _gather(request: Request, judgements: Source, queries: Source | None, done: Evaluation) -> Result:
    """The result of all passes."""
    evaluated = [
        Evaluated(run, one.store.runs[run], one.tallies[run]) for one in done.passes for run in sorted(one.tallies)
    ]
    _check_names([run.name for run in evaluated])
    _check_values(evaluated, request, done.index)
    notices = [*done.notices]
    notices += input_notices([judgements, *(one.source for one in done.passes)], request, done.index)
    for one in done.passes:
        check_overlap(one, done.index)
        notices += run_notices(one, done.index, request)
    notices += segment_notices(done.by, done.index, done.from_run)
    inputs: dict[str, Any] = {
        "qrels": judgements.describe(),
        "runs": [one.source.describe() for one in done.passes],
        "queries": queries.describe() if queries else None,
    }
    return Result(request, done.index, done.by, tuple(evaluated), tuple(notices), inputs)


def _check_values(evaluated: Sequence[Evaluated], request: Request, index: QrelsIndex) -> None:
    """Refuse values that are no numbers: gains beyond float64.

    Raises:
        DataError: naming the measure and the query.
    """
    for run in evaluated:
        for start in range(0, len(index), CHECKED):
            if (wrong := ~np.isfinite(run.values.values[start : start + CHECKED])).any():
                query, measure = np.argwhere(wrong)[0]
                raise DataError(
                    f"run {shortened(run.name)}, query {shortened(index.query_text()[start + int(query)])}: "
                    f"{request.measures[measure].name} is no finite number; a grade is beyond the scale of the "
                    "measure, or gains are beyond what a float64 holds",
                    "no-finite-value",
                )
