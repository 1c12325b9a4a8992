"""The pipeline: inputs are opened, judgements indexed, runs matched and measured, values gathered into a result."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from rankmeter.conventions import Rules
from rankmeter.errors import DataError, UsageError, shortened
from rankmeter.notices import check_overlap, input_notices, run_notices, segment_notices
from rankmeter.passes import Pass, Prepared, Progress, Silent, Work, contiguous
from rankmeter.qrels import QrelsIndex, build_index
from rankmeter.ranking import Matcher, Order
from rankmeter.request import Reading, Request, RunInput
from rankmeter.result import Evaluated, Result
from rankmeter.scattered import scattered
from rankmeter.schema import LABELLED, QRELS, QUERIES, RUN_TABLE
from rankmeter.segments import Segments, check_segments
from rankmeter.sources.paths import stem_of
from rankmeter.sources.source import Source, Spec, open_source
from rankmeter.store import ScatteredRows, Store


def execute(request: Request, progress: Progress | None = None) -> Result:
    """Carry out a request, stage by stage.

    Raises:
        UsageError: what is asked for makes no sense.
        DataError: the data breaks a rule.
        StorageError: a path is absent or unreadable.
    """
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
    with ThreadPoolExecutor(1, thread_name_prefix="rankmeter-index") as indexer:
        prepared = indexer.submit(_prepare, request, judgements, queries)
        work = Work(judgements.label, prepared, request.resources, progress or Silent())
        passes = [_evaluate_run(source, name, request, work) for source, name in zip(sources, names, strict=True)]
    return _gather(request, judgements, queries, passes)


def _prepare(request: Request, judgements: Source, queries: Source | None) -> Prepared:
    """What lists are matched with."""
    index, notices = build_index(judgements, request.rules.relevance_level, from_log=request.labelled is not None)
    matcher = Matcher(index, request.rules.ties)
    return Prepared(index, matcher, Segments(request.by, index, queries), tuple(notices))


def _check_request(request: Request) -> None:
    if (request.labelled is None) == (request.qrels is None and not request.runs):
        raise UsageError("give either QRELS and RUN, or a labelled log, and not both")
    if request.labelled is None and (request.qrels is None or not request.runs):
        raise UsageError("an evaluation needs judgements and at least one run")
    if not request.measures:
        raise UsageError("no measure was asked for")


def _open_inputs(request: Request) -> tuple[Source, list[tuple[RunInput, Source]]]:
    """The judgements and the runs, their columns chosen."""
    reading, by = request.reading, request.by
    chosen = _run_columns(reading, request.rules)
    if request.labelled is not None:
        spec = Spec(LABELLED, reading.run_format, chosen, reading.header, by)
        log = open_source(request.labelled, spec, "log")
        used = ("query_id", "doc_id", "grade", *by)
        labels = {role: name for role, name in log.columns.items() if role in used}
        return Source(log.label, log.table, log.parts, labels), [(RunInput(None, request.labelled), log)]
    judged = Spec(QRELS, reading.qrels_format, reading.qrels_columns, reading.header, by)
    judgements = open_source(request.qrels, judged, "qrels")
    spec = Spec(RUN_TABLE, reading.run_format, chosen, reading.header, by)
    opened = [(given, open_source(given.data, spec, given.name or "run")) for given in request.runs]
    return judgements, opened


def _run_columns(reading: Reading, in_force: Rules) -> dict[str, str]:
    """The columns of a run that the user named, by role."""
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
            "or say --order-by row if the rows stand in rank order"
        )
    return Order(asked, upwards=asked == "rank")


def _run_name(given: RunInput, source: Source) -> str:
    """The name of a run that no column names: as given, else the file's only tag, else its stem."""
    if given.name is not None:
        return given.name
    if "tag" in source.columns:
        tags = {part.first_tag() for part, _ in source.parts}
        if len(tags) == 1 and (tag := tags.pop()) is not None:
            return tag
    if not isinstance(given.data, (str, Path)):
        return source.label
    return stem_of(source.parts[0][0].label if len(source.parts) == 1 else source.label)


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two runs are called "{shortened(name)}"; give them names of their own with NAME=PATH')


def _evaluate_run(source: Source, name: str, request: Request, work: Work) -> Pass:
    """All lists of one input."""
    order = _order(source, request.rules)

    def attempt() -> Pass:
        store = Store(lambda: work.index, request.measures, request.rules.relevance_level, keep_hits=request.keep_hits)
        return Pass(source, name, order, store, work)

    work.progress.start(source.rows, source.size)
    done = attempt()
    try:
        contiguous(done)
    except ScatteredRows:
        done = attempt()
        work.progress.start(source.rows, source.size)
        scattered(done)
    finally:
        work.progress.finish()
    if not done.tallies:
        done.tally(name)
    done.store.complete()
    return done


def _gather(request: Request, judgements: Source, queries: Source | None, passes: Sequence[Pass]) -> Result:
    """The result of all passes."""
    work = passes[0].work
    segments = work.prepared.result().segments
    evaluated = [
        Evaluated(run, done.store.runs[run], done.tallies[run]) for done in passes for run in sorted(done.tallies)
    ]
    _check_names([run.name for run in evaluated])
    _check_values(evaluated, request, work.index)
    by = segments.frame()
    notices = [*work.prepared.result().notices]
    notices += input_notices([judgements, *(done.source for done in passes)], request, work.index)
    for done in passes:
        check_overlap(done)
        notices += run_notices(done, request)
    notices += segment_notices(by, work.index, segments.from_run)
    inputs: dict[str, Any] = {
        "qrels": judgements.describe(),
        "runs": [done.source.describe() for done in passes],
        "queries": queries.describe() if queries else None,
    }
    return Result(request, work.index, by, tuple(evaluated), tuple(notices), inputs)


def _check_values(evaluated: Sequence[Evaluated], request: Request, index: QrelsIndex) -> None:
    """Refuse values that are no numbers: gains beyond float64.

    Raises:
        DataError: naming the measure and the query.
    """
    for run in evaluated:
        if not (wrong := ~np.isfinite(run.values.values)).any():
            continue
        query, measure = np.argwhere(wrong)[0]
        raise DataError(
            f"run {shortened(run.name)}, query {shortened(index.query_text()[int(query)])}: "
            f"{request.measures[measure].name} is beyond what a float64 holds; the grades are too large for this gain"
        )
