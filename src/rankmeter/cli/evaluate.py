"""`rankmeter evaluate`: the main job."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankmeter.cli import options
from rankmeter.cli.exits import say
from rankmeter.cli.options import Format
from rankmeter.cli.results import print_result
from rankmeter.cli.trec import TrecPage, measures_in
from rankmeter.conventions import Rules, rules
from rankmeter.errors import DataError, UsageError
from rankmeter.request import DEFAULT_MEASURES, Reading, Request, Resources, RunInput

if TYPE_CHECKING:
    from rankmeter.checks.tally import Notice
    from rankmeter.notation import Asked
    from rankmeter.result import Result


def evaluate(
    qrels: options.Qrels = None,
    runs: options.Runs = None,
    labelled: options.Labelled = None,
    measure: options.Measures = None,
    convention: options.Convention = None,
    relevance_level: options.RelevanceLevel = None,
    ties: options.Ties = None,
    order_by: options.OrderBy = None,
    missing_queries: options.MissingQueries = None,
    without_relevant: options.WithoutRelevant = None,
    judged_only: options.JudgedOnly = False,
    ignore_self: options.IgnoreSelf = False,
    depth: options.Depth = None,
    duplicates: options.Duplicates = None,
    qrels_conflicts: options.QrelsConflicts = None,
    nan: options.Nan = None,
    score_type: options.ScoreType = None,
    recall_points: options.RecallPoints = None,
    gain_from: options.GainFrom = None,
    ap_norm: options.ApNorm = None,
    precision_norm: options.PrecisionNorm = None,
    recall_cap: options.RecallCap = False,
    by: options.By = None,
    queries: options.Queries = None,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
    qrels_columns: options.QrelsColumns = None,
    run_columns: options.RunColumns = None,
    no_header: options.NoHeader = False,
    run_column: options.RunColumn = None,
    per_query: options.PerQuery = None,
    summary: options.Summary = None,
    hits: options.Hits = None,
    problems: options.Problems = None,
    form: options.OutputFormat = Format.table,
    print_per_query: options.PrintPerQuery = False,
    no_means: options.NoMeans = False,
    complete: options.Complete = False,
    threads: options.Threads = None,
    batch_rows: options.BatchRows = None,
    memory_limit: options.MemoryLimit = None,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    strict: options.Strict = False,
    debug: options.Debug = False,
) -> None:
    """Measure runs against relevance judgements.

    Give QRELS and one or more RUN, or --labelled LOG.

    Example: rankmeter evaluate qrels.parquet bm25.parquet dense.parquet -m 'nDCG@10 RR@10'
    """
    del debug  # its callback did the work
    if no_means and form is not Format.trec:
        raise UsageError("-n leaves the means out of --format trec; other formats always have them")
    if complete and missing_queries == "skip":
        raise UsageError("-c counts judged queries without results, --missing-queries skip does not: give one of them")
    check_form(qrels, runs, labelled)
    in_force = rules(
        convention or Rules().convention,
        relevance_level=relevance_level,
        ties=ties,
        order_by=order_by,
        missing_queries=missing_queries,
        without_relevant=without_relevant,
        judged_only=judged_only or None,
        ignore_self=ignore_self or None,
        depth=depth,
        duplicates=duplicates,
        qrels_conflicts=qrels_conflicts,
        nan=nan,
        score_type=score_type,
        recall_points=recall_points,
        gain_from=gain_from,
        ap_norm=ap_norm,
        precision_norm=precision_norm,
        recall_cap=recall_cap or None,
    )
    columns = (column_roles("qrels", qrels_columns), column_roles("run", run_columns))
    targets = Targets(per_query, summary, hits, problems)
    asked = _asked(measure, form)  # before any file is looked at
    page = TrecPage.asked(measure) if form is Format.trec else None
    request = Request(
        runs=tuple(run_input(text) for text in runs or ()),
        measures=asked,
        qrels=qrels,
        labelled=labelled,
        by=tuple(by or ()),
        queries=queries,
        rules=in_force,
        reading=Reading(qrels_format, run_format, *columns, not no_header, run_column),
        keep_hits=hits is not None or (page is not None and page.relstring is not None),
        resources=Resources(threads, batch_rows, memory_limit),
        problems=problems,
    )
    targets.check(request, quiet=quiet)
    result = _run(request, show_bar=not (quiet or no_progress))
    _report(result.warnings, quiet=quiet, strict=strict)
    targets.write(result)
    if page is not None:
        page.print(result, per_query=print_per_query, means=not no_means)
    else:
        print_result(result, form, per_query=print_per_query)


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to write."""

    per_query: str | None = None
    summary: str | None = None
    hits: str | None = None
    problems: str | None = None

    def check(self, request: Request, *, quiet: bool) -> None:
        """Refuse, before any work, what could not be written or would overwrite an input; tell what was cleaned up."""
        from rankmeter.sinks import check_target

        taken = {_real(path): path for path in _inputs(request)}
        for kind, path in self._given():
            if _real(path) in taken:
                raise UsageError(f"--{kind.replace('_', '-')} {path} is also {taken[_real(path)]}; choose another path")
            taken[_real(path)] = path
            for left in check_target(Path(path), kind):
                if not quiet:
                    say("note", f"removed {left}, left by a run that was interrupted")

    def write(self, result: "Result") -> None:
        """Write the files that were asked for; that of problems was written by the evaluation."""
        for kind, path in self._given():
            if kind != "problems":
                getattr(result, f"write_{kind}")(Path(path))

    def _given(self) -> list[tuple[str, str]]:
        paths = {"per_query": self.per_query, "summary": self.summary, "hits": self.hits, "problems": self.problems}
        return [(kind, path) for kind, path in paths.items() if path is not None]


def _inputs(request: Request) -> list[str]:
    inputs = [request.qrels, request.labelled, request.queries, *(run.data for run in request.runs)]
    return [path for path in inputs if isinstance(path, str) and path != "-"]


def _real(path: str) -> str:
    return str(Path(path).resolve())


def check_form(qrels: str | None, runs: Sequence[str] | None, labelled: str | None) -> None:
    """Exactly one of the two forms."""
    if labelled is not None and qrels is not None:
        raise UsageError("QRELS and RUN are one form, --labelled LOG the other: give one of them")
    if labelled is None and qrels is None:
        raise UsageError("nothing to evaluate: give QRELS and one or more RUN, or --labelled LOG")
    if labelled is None and not runs:
        raise UsageError(f"no run to evaluate against {qrels}: give one or more RUN after QRELS")


def run_input(text: str) -> RunInput:
    """A run as given: a path, or NAME=PATH where no such path exists."""
    name, sign, path = text.partition("=")
    if not sign or not name or "/" in name or "\\" in name or _exists(text):
        return RunInput(None, text)
    if not path:
        raise UsageError(f'"{text}" has no path after the =')
    return RunInput(name, path)


def _exists(path: str) -> bool:
    """Whether the path, or something that the glob stands for, is there."""
    import glob

    try:
        return bool(glob.glob(path, recursive=True)) or Path(path).exists()  # noqa: PTH207  # absolute globs too
    except (OSError, ValueError):
        return False


def column_roles(side: str, texts: Sequence[str] | None) -> dict[str, str]:
    """`query_id=q,doc_id=d` as a mapping from role to column."""
    roles: dict[str, str] = {}
    for pair in (pair for text in texts or () for pair in text.split(",")):
        role, sign, column = (part.strip() for part in pair.partition("="))
        if not sign or not column:
            raise UsageError(f'--{side}-columns takes ROLE=COLUMN,..., for example query_id=q, not "{pair}"')
        if role in roles:
            raise UsageError(f"--{side}-columns names two columns for {role}: {roles[role]} and {column}")
        roles[role] = column
    return roles


def _asked(measures: Sequence[str] | None, form: Format) -> "tuple[Asked, ...]":
    from rankmeter.notation import parse_measures

    if form is Format.trec:
        return tuple(parse_measures(measures_in(measures), trec=True))
    return tuple(parse_measures(measures or [DEFAULT_MEASURES]))


def _run(request: Request, *, show_bar: bool) -> "Result":
    from rankmeter.cli.progress import bar
    from rankmeter.compiler import nothing_compiled
    from rankmeter.pipeline import execute

    with bar(wanted=show_bar) as progress:
        if progress is not None and nothing_compiled():
            say("note", "compiling for the first time, which takes some seconds")
        return execute(request, progress)


def _report(warnings: "Sequence[Notice]", *, quiet: bool, strict: bool) -> None:
    """Print the warnings; under --strict they end the work."""
    if not quiet:
        for warning in warnings:
            say("warning", f"[{warning.code}] {warning.message}")
    if strict and warnings:
        codes = ", ".join(warning.code for warning in warnings)
        raise DataError(f"--strict makes errors of warnings, and there are {len(warnings)}: {codes}", "strict")
