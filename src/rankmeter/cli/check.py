"""`rankmeter check`: an audit of the inputs, without measures."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankmeter.cli import options, sheets
from rankmeter.cli.evaluate import Targets, check_form, column_roles, run_input
from rankmeter.cli.results import accounting_line
from rankmeter.cli.sheets import Sheet, text
from rankmeter.conventions import Rules, rules
from rankmeter.errors import DataError
from rankmeter.limits import shown_size
from rankmeter.request import Reading, Request, Resources

if TYPE_CHECKING:
    from rankmeter.checks.inspection import Inspection, Profile


class CheckFormat(StrEnum):
    """How the audit is printed."""

    table = "table"
    json = "json"


def check(
    qrels: options.Qrels = None,
    runs: options.Runs = None,
    labelled: options.Labelled = None,
    convention: options.Convention = None,
    relevance_level: options.RelevanceLevel = None,
    order_by: options.OrderBy = None,
    ignore_self: options.IgnoreSelf = False,
    duplicates: options.Duplicates = None,
    qrels_conflicts: options.QrelsConflicts = None,
    nan: options.Nan = None,
    by: options.By = None,
    queries: options.Queries = None,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
    qrels_columns: options.QrelsColumns = None,
    run_columns: options.RunColumns = None,
    no_header: options.NoHeader = False,
    run_column: options.RunColumn = None,
    problems: options.Problems = None,
    form: Annotated[CheckFormat, typer.Option("--format", help="Format of standard output.")] = CheckFormat.table,
    threads: options.Threads = None,
    batch_rows: options.BatchRows = None,
    memory_limit: options.MemoryLimit = None,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> int:
    """Say what is in the inputs, what is wrong and what is suspicious.

    Exit code 3 where an evaluation would refuse the inputs; what is suspicious is a warning.

    Example: rankmeter check qrels.parquet bm25.parquet
    """
    del debug  # its callback did the work
    check_form(qrels, runs, labelled)
    in_force = rules(
        convention or Rules().convention,
        relevance_level=relevance_level,
        order_by=order_by,
        ignore_self=ignore_self or None,
        duplicates=duplicates,
        qrels_conflicts=qrels_conflicts,
        nan=nan,
    )
    columns = (column_roles("qrels", qrels_columns), column_roles("run", run_columns))
    request = Request(
        runs=tuple(run_input(text) for text in runs or ()),
        measures=(),
        qrels=qrels,
        labelled=labelled,
        by=tuple(by or ()),
        queries=queries,
        rules=in_force,
        reading=Reading(qrels_format, run_format, *columns, not no_header, run_column),
        resources=Resources(threads, batch_rows, memory_limit),
        problems=problems,
    )
    Targets(problems=problems).check(request, quiet=False)
    found = _inspected(request, show_bar=not no_progress)
    if form is CheckFormat.json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, default=str))
    else:
        sheets.show(list(_pages(found)))
    return DataError.exit_code if found.counts else 0


def _inspected(request: Request, *, show_bar: bool) -> "Inspection":
    from rankmeter.checks.inspection import inspect
    from rankmeter.cli.progress import bar

    with bar(wanted=show_bar) as progress:
        return inspect(request, progress)


def _pages(found: "Inspection") -> Iterator[Sheet]:
    """The audit as tables: inputs, runs, what is wrong, what is suspicious."""
    for profile in found.profiles:
        yield Sheet(f"{profile.role}: {text(profile.source.label, 80)}", ("what", "value"), tuple(_rows(profile)), 2, 1)
    for run in found.runs():
        yield Sheet(f"run {text(run['run'])}", ("what", "value"), tuple(_run_rows(run)), 2, 1)
    wrong = tuple((rule, f"{count:,}") for rule, count in found.counts.items())
    notes = tuple(f"[{problem.rule}] {problem.message}" for problem in found.problems)
    total = sum(found.counts.values())
    title = f"{total:,} problem{'s' * (total != 1)}" if wrong else "no problems: an evaluation takes these inputs"
    yield Sheet(title, ("rule", "count")[: 1 + bool(wrong)], wrong, notes=notes)
    notes = tuple(f"[{notice.code}] {notice.message}" for notice in found.warnings)
    title = f"{len(notes):,} warning{'s' * (len(notes) != 1)}" if notes else "no warnings"
    yield Sheet(title, ("code",), (), notes=notes)


def _rows(profile: "Profile") -> Iterator[tuple[str, str]]:
    """One input, a row for each thing to know."""
    known = profile.as_dict()
    yield "bytes", shown_size(known["bytes"])
    yield "rows", f"{known['rows']:,}" + (f", {known['rows_refused']:,} of them refused" if profile.refused else "")
    yield (
        "columns",
        ", ".join(f"{role}={text(name)}" if role != name else role for role, name in known["columns"].items()),
    )
    yield "queries", f"{known['queries']:,}"
    if "documents" in known:
        yield "documents", f"{'' if known['documents_exact'] else 'about '}{known['documents']:,}"
    if "grades" in known:
        more = "" if known["grades_listed"] else f", … up to {known['highest_grade']:g}"
        yield "grades", ", ".join(f"{grade}: {count:,}" for grade, count in known["grades"].items()) + more


def _run_rows(run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """One run, a row for each thing to know."""
    for number, part in enumerate(accounting_line(run["accounting"]).split("; ")):
        yield ("queries", "", "rows")[number], part
    depth = run["depth"]
    if depth["shortest"] is not None:
        yield "results a query", f"{depth['shortest']:,} to {depth['longest']:,}, median {depth['median']:,g}"
        yield "judged", ", ".join(f"{value:.1%} at {name.partition('@')[2]}" for name, value in run["judged"].items())
