"""Results of an evaluation on standard output, in each of the formats."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from rankmeter.cli import sheets
from rankmeter.cli.options import Format
from rankmeter.cli.sheets import Sheet, text

if TYPE_CHECKING:
    import polars as pl

    from rankmeter.result import Result


def print_result(result: "Result", form: Format, *, per_query: bool) -> None:
    """Print the result, and with `per_query` the values of each query."""
    if form is Format.json:
        whole = _with_queries(result) if per_query else result.to_dict()
        typer.echo(json.dumps(whole, ensure_ascii=False, default=str))  # segments can be dates
    elif form in (Format.csv, Format.tsv):
        _print_separated(result, form, per_query=per_query)
    else:
        pages = [*summary_sheets(result), *(per_query_sheets(result) if per_query else [])]
        if form is Format.table:
            sheets.show(pages)
        else:
            typer.echo("\n\n".join(sheets.markdown(page) for page in pages))


def _with_queries(result: "Result") -> dict[str, Any]:
    """The JSON object with the rows of each run's queries."""
    whole, frames = result.to_dict(), _by_run(result)
    for run in whole["runs"]:
        run["per_query"] = frames[run["run"]].to_dicts()
    return whole


def _by_run(result: "Result") -> "dict[str, pl.DataFrame]":
    """Run -> the rows of its queries."""
    frame = result.per_query  # made anew each time
    parts = frame.partition_by("run", as_dict=True)
    return {run: parts.get((run,), frame[:0]) for run in result.runs}


def _print_separated(result: "Result", form: Format, *, per_query: bool) -> None:
    separator = "," if form is Format.csv else "\t"
    frames = [result.summary, *([result.per_query] if per_query else [])]
    typer.echo("\n".join(frame.write_csv(separator=separator) for frame in frames), nl=False)


def summary_sheets(result: "Result") -> list[Sheet]:
    """The means as tables: one for all runs, or with groups one per run."""
    if result.by:
        return [_grouped_sheet(result, run) for run in result.runs]
    whole = {run: result.groups(run)[0] for run in result.runs}
    rows = [("queries", *(str(n) for _, n, _ in whole.values()))]
    rows += [(asked.name, *(_value(asked, values) for _, _, values in whole.values())) for asked in result.measures]
    notes = tuple(f"{text(run)}: {accounting_line(result.accounting[run])}" for run in result.runs)
    header = ("measure", *(text(run) for run in result.runs))
    return [Sheet(_title(result, result.runs), header, tuple(rows), notes=notes)]


def _grouped_sheet(result: "Result", run: str) -> Sheet:
    """One run: a row per group, the first of them everything."""
    columns = len(result.by)
    rows = []
    for group, n_queries, values in result.groups(run):
        names = [text(group[column]) for column in result.by] if group else ["all", *([""] * (columns - 1))]
        rows.append((*names, str(n_queries), *(_value(asked, values) for asked in result.measures)))
    header = (*(text(column) for column in result.by), "queries", *(asked.name for asked in result.measures))
    note = accounting_line(result.accounting[run])
    return Sheet(_title(result, (run,)), header, tuple(rows), columns, columns + 1, (note,))


def per_query_sheets(result: "Result") -> list[Sheet]:
    """The values of each query, one table per run."""
    return [_queries_sheet(result, run, frame) for run, frame in _by_run(result).items()]


def _queries_sheet(result: "Result", run: str, frame: "pl.DataFrame") -> Sheet:
    names = [asked.name for asked in result.measures]
    wanted = ["query_id", *result.by, "n_retrieved", "n_relevant", *names]
    rows = []
    for row in frame.iter_rows(named=True):
        texts = [text(row[column], 80) for column in ("query_id", *result.by)]
        counts = [str(row["n_retrieved"]), str(row["n_relevant"])]
        rows.append((*texts, *counts, *(_value(asked, {asked.name: row[asked.name]}) for asked in result.measures)))
    texts_wide = 1 + len(result.by)
    return Sheet(f"{text(run)}: values per query", tuple(text(name) for name in wanted), tuple(rows), texts_wide, 1)


def _title(result: "Result", runs: tuple[str, ...]) -> str:
    """Which runs, and the rules that the values follow."""
    return f"{', '.join(text(run) for run in runs)}: {rules_line(result.convention)}"


def rules_line(convention: Mapping[str, Any]) -> str:
    """The convention in force and what was changed in it."""
    from rankmeter.conventions import rules

    name = convention["convention"]
    usual = rules(name).as_dict()
    changed = [f"{rule.replace('_', '-')} {value}" for rule, value in convention.items() if usual.get(rule) != value]
    return f"convention {name}{' with ' if changed else ''}{', '.join(changed)}"


def _value(asked: Any, values: Mapping[str, Any]) -> str:
    """The number of one measure: a sum as an integer, a mean with four decimals."""
    value = values[asked.name]
    sums = asked.measure.aggregate == "sum"
    number = value["sum" if sums else "mean"] if isinstance(value, Mapping) else value
    if number is None:
        return "-"
    return f"{number:.0f}" if sums else f"{number:.4f}"


def accounting_line(counts: Mapping[str, Any]) -> str:
    """Where the queries and the rows of a run went.

    >>> counts = {"rows_read": 3000, "rows_used": 2990, "rows_ignored": {"query not judged": 10}}
    >>> counts |= {"queries_judged": 40, "queries_missing": 1, "queries_unjudged": 1}
    >>> accounting_line(counts | {"queries_without_relevant": 2, "queries_tied_at_hits": 5})[:56]
    '40 queries judged, 39 answered, 1 missing; 1 unjudged, 2'
    """
    return "; ".join(", ".join(part) for part in _accounting_parts(counts))


def _accounting_parts(counts: Mapping[str, Any]) -> Iterator[list[str]]:
    judged, missing = counts["queries_judged"], counts["queries_missing"]
    yield [f"{judged:,} queries judged", f"{judged - missing:,} answered", f"{missing:,} missing"]
    yield [
        f"{counts['queries_unjudged']:,} unjudged",
        f"{counts['queries_without_relevant']:,} without relevant",
        f"{counts['queries_tied_at_hits']:,} tied at hits",
    ]
    ignored = {reason: n for reason, n in counts["rows_ignored"].items() if n}
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in ignored.items())
    yield [
        f"{counts['rows_read']:,} rows read",
        f"{counts['rows_used']:,} used",
        f"{sum(ignored.values()):,} ignored{f' ({reasons})' if reasons else ''}",
    ]
