"""The pipeline: inputs are opened, judgements indexed, runs matched and measured, values gathered into a result."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankmeter.catalogue.registry import EXPECTED
from rankmeter.checks.audit import Audit, problem_frame, subjects
from rankmeter.checks.notices import check_overlap, input_notices, run_notices, segment_notices
from rankmeter.conventions import BOUNDS
from rankmeter.errors import DataError, RefusedRowsError, UsageError, shortened
from rankmeter.ids import Share
from rankmeter.inputs import Inputs, check_names, open_inputs, order_of
from rankmeter.limits import Budget
from rankmeter.parallel import SMALL_ROWS, beside, in_order, refuse_after_fork
from rankmeter.passes import Pass, Prepared, Progress, Silent, Within, Work, contiguous
from rankmeter.qrels import QrelsIndex, build_index
from rankmeter.ranking import Matcher
from rankmeter.request import Request
from rankmeter.result import Evaluated, Result
from rankmeter.scattered import scattered
from rankmeter.segments import Segments
from rankmeter.shares import Evaluation, lightened, together
from rankmeter.sinks import write_frames
from rankmeter.sources.source import Source
from rankmeter.store import ScatteredRows, Store
from rankmeter.version import package_version

LEAST_JUDGEMENT = 8
"""Bytes that a judgement takes at least in a compressed file."""

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
    inputs = open_inputs(request)
    budget = Budget.of(request.resources.memory)
    try:
        result = measured(request, inputs, budget, progress)
    except RefusedRowsError as error:
        raise audited(request, inputs, budget) or error from error
    if request.problems is not None:
        write_frames(request.problems, [problem_frame([])], {"rankmeter": package_version()})
    return result


def measured(request: Request, inputs: Inputs, budget: Budget, progress: Progress | None) -> Result:
    """The result of opened inputs.

    Raises:
        RefusedRowsError: rows break a rule; there may be more of them.
        DataError: the data breaks another rule.
    """
    shares = budget.shares(_size_of(inputs.judgements))
    done = [_evaluate(request, inputs, Share(number, shares), budget, progress) for number in range(shares)]
    return _gather(request, inputs, done[0] if len(done) == 1 else together(done))


def audited(request: Request, inputs: Inputs, budget: Budget) -> DataError | None:
    """All that is wrong with the rows of the inputs, as one error; written to a file where that is asked for."""
    audit = Audit(subjects(request, inputs), request.rules, budget, describe_all=request.problems is not None)
    written(request, audit)
    return audit.error()


def written(request: Request, audit: Audit) -> None:
    """Carry an audit out, and write what it finds where that is asked for."""
    if request.problems is None:
        for _ in audit.problems():
            pass
    else:
        write_frames(request.problems, audit.frames(), {"rankmeter": package_version()})


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
        _check_scales(request, index)
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
    rules, asked = request.rules, request.measures
    ties = rules.ties
    unbounded = [one.name for one in asked if ties in BOUNDS and not one.has_bounds(rules)]
    if unbounded:
        raise UsageError(
            f"--ties {ties} is no bound for {', '.join(unbounded)}, which can fall when a better document moves up "
            "(with a depth and judged documents only, where the lists differ in length); leave these out"
        )
    if ties != "expected":
        return
    unknown = [one.name for one in asked if not one.is_expected(rules)]
    if unknown:
        raise UsageError(f"--ties expected is known for {', '.join(EXPECTED)}, not for {', '.join(unknown)}")
    if rules.depth is not None or rules.judged_only:
        raise UsageError("--ties expected looks at all orders of whole lists; leave --depth and --judged-only out")


def _evaluate_run(source: Source, name: str, request: Request, work: Work) -> Pass:
    """All lists of one input."""
    order = order_of(source, request.rules)

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


def _gather(request: Request, inputs: Inputs, done: Evaluation) -> Result:
    """The result of all passes."""
    evaluated = [
        Evaluated(run, one.store.runs[run], one.tallies[run]) for one in done.passes for run in sorted(one.tallies)
    ]
    check_names([run.name for run in evaluated])
    _check_values(evaluated, request, done.index)
    notices = [*done.notices]
    notices += input_notices([inputs.judgements, *(one.source for one in done.passes)], request, done.index)
    for one in done.passes:
        check_overlap(one, done.index)
        notices += run_notices(one, done.index, request)
    notices += segment_notices(done.by, done.index, done.from_run)
    described: dict[str, Any] = {
        "qrels": inputs.judgements.describe(),
        "runs": [one.source.describe() for one in done.passes],
        "queries": inputs.queries.describe() if inputs.queries else None,
    }
    return Result(request, done.index, done.by, tuple(evaluated), tuple(notices), described)


def _check_scales(request: Request, index: QrelsIndex) -> None:
    """Refuse grades above the scale of a measure.

    Raises:
        DataError: naming the query, the document, the grade and the measure.
    """
    scales = [(value, p.name, asked) for asked in request.measures for p, value in asked.pairs if p.scale]
    if not scales or not len(index.grade):
        return
    lowest, name, asked = min(scales, key=lambda scale: float(scale[0]))
    beyond = np.flatnonzero(index.grade > lowest)
    if len(beyond):
        place = int(beyond[0])
        query = int(np.flatnonzero((index.starts <= place) & (place < index.ends))[0])
        grade = index.grade[place]
        raise DataError(
            f"query {shortened(index.query_text()[query])}, document {shortened(index.documents.series[place])}: the "
            f"grade {grade:g} is above the scale of {asked.name}, which ends at {lowest:g}; give {name}={grade:g} or "
            "more, or mend the grades",
            "grade-beyond-scale",
        )


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
                    f"{request.measures[measure].name} is no finite number; gains are beyond what a "
                    "float64 holds, so mend the grades",
                    "no-finite-value",
                )
