"""The inputs of a request, opened: which column is what, what orders the lists, and what the runs are called."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankmeter.conventions import Rules
from rankmeter.errors import DataError, UsageError, shortened
from rankmeter.ranking import Order
from rankmeter.request import Reading, Request, RunInput
from rankmeter.schema import LABELLED, QRELS, QUERIES, RUN_TABLE, SUBTOPIC_QRELS
from rankmeter.segments import check_segments
from rankmeter.sources.paths import name_of
from rankmeter.sources.source import Source, Spec, open_source


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs: judgements, queries table, runs and their names."""

    judgements: Source
    queries: Source | None
    runs: list[Source]
    names: list[str]


def open_inputs(request: Request) -> Inputs:
    """Open all inputs of a request, and choose their columns.

    Raises:
        UsageError: what is asked for does not go with the inputs.
        DataError: a file is damaged, or lacks a column, or nothing orders the lists of a run.
        StorageError: a path is absent or unreadable.
    """
    if request.labelled is not None and request.of_subtopics:
        raise UsageError("measures of subtopics need judgements for each of them, which a labelled log does not have")
    judgements = open_judgements(request)
    queries = open_queries(request)
    runs = [(given, open_run(request, given)) for given in given_runs(request)]
    names = [_run_name(given, source) for given, source in runs]
    check_names(names)
    sources = [source for _, source in runs]
    for source in sources:
        order_of(source, request.rules)  # which it must have
    check_segments(request, [*([queries] if queries else []), judgements], sources)
    return Inputs(judgements, queries, sources, names)


def given_runs(request: Request) -> tuple[RunInput, ...]:
    """The runs; a log is one."""
    return request.runs if request.labelled is None else (RunInput(None, request.labelled),)


def open_judgements(request: Request) -> Source:
    """The qrels, or the labels of a log."""
    reading, by = request.reading, request.by
    if request.labelled is not None:
        log = open_run(request, RunInput(None, request.labelled))
        used = ("query_id", "doc_id", "grade", *by)
        labels = {role: name for role, name in log.columns.items() if role in used}
        return replace(log, columns=labels, nan="error")
    table = SUBTOPIC_QRELS if request.of_subtopics else QRELS
    return open_source(
        request.qrels, Spec(table, reading.qrels_format, reading.qrels_columns, reading.header, by), "qrels"
    )


def open_queries(request: Request) -> Source | None:
    """The queries table, where there is one."""
    if request.queries is None:
        return None
    return open_source(request.queries, Spec(QUERIES, extra=request.by, header=request.reading.header), "queries")


def open_run(request: Request, given: RunInput) -> Source:
    """A run, or a log."""
    reading = request.reading
    table, label = (LABELLED, "log") if request.labelled is not None else (RUN_TABLE, given.name or "run")
    chosen = _run_columns(reading, request.rules)
    spec = Spec(table, reading.run_format, chosen, reading.header, request.by, request.rules.nan)
    return open_source(given.data, spec, label)


def _run_columns(reading: Reading, in_force: Rules) -> dict[str, str]:
    """The columns of a run that the user named: by role, and one that orders it."""
    chosen = dict(reading.run_columns)
    if reading.run_column is not None:
        chosen["run"] = reading.run_column
    column, _, direction = (in_force.order_by or "").rpartition(":")
    if column:
        chosen["score" if direction == "desc" else "rank"] = column
    return chosen


def order_of(source: Source, in_force: Rules) -> Order:
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


def check_names(names: Sequence[str]) -> None:
    """Refuse two runs of one name, and names that are no text.

    Raises:
        UsageError: there are such names.
    """
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two runs are called "{shortened(name)}"; give them names of their own with NAME=PATH')
        if name.encode(errors="replace").decode() != name:
            raise UsageError(f'the run name "{shortened(name)}" is no valid Unicode text; give another with NAME=PATH')
