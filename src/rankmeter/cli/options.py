"""The options of the command line, declared once for all commands."""

from enum import StrEnum
from typing import Annotated

import typer

from rankmeter.conventions import CHOICES, CONVENTIONS, ORDERS, Rules
from rankmeter.request import DEFAULT_MEASURES


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    tsv = "tsv"
    markdown = "markdown"
    trec = "trec"


class CatalogueFormat(StrEnum):
    """How the catalogue of measures is printed."""

    table = "table"
    json = "json"
    markdown = "markdown"


def _one_of(rule: str) -> str:
    return f"{', '.join(CHOICES[rule])}. [default: {CHOICES[rule][0]}]"


def complete_measure(incomplete: str) -> list[str]:
    """Names of measures and suites that start with the text, for shell completion.

    >>> complete_measure("ndc")
    ['nDCG', 'nDCGRel']
    """
    from rankmeter.catalogue import MEASURES, SUITES

    return [name for name in (*MEASURES, *SUITES) if name.casefold().startswith(incomplete.casefold())]


def complete_job(incomplete: str) -> list[str]:
    """Names of jobs that start with the text, for shell completion."""
    from rankmeter.catalogue.jobs import JOBS

    return [name for name in JOBS if name.startswith(incomplete.casefold())]


def complete_table(incomplete: str) -> list[str]:
    """Names of tables that start with the text, for shell completion."""
    from rankmeter.schema import TABLES

    return [name for name in TABLES if name.startswith(incomplete)]


def _complete_rule(rule: str) -> list[str]:
    return list(CHOICES[rule])


def _set_debug(context: typer.Context, asked: bool) -> bool:
    if asked and context.obj is not None:
        context.obj.debug = True
    return asked


Qrels = Annotated[str | None, typer.Argument(metavar="QRELS", help="Relevance judgements: file, folder or glob.")]
Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="RUN", help="Ranked results: file, folder, glob or -; NAME=PATH gives the run a name."),
]
Labelled = Annotated[
    str | None,
    typer.Option(metavar="LOG", help="A log whose rows carry their grades, in place of QRELS and RUN."),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--measure",
        metavar="TEXT",
        autocompletion=complete_measure,
        help=f"Measures: one text split at commas and blanks, or the option again. [default: {DEFAULT_MEASURES}]",
    ),
]
RelevanceLevel = Annotated[
    float | None,
    typer.Option("-l", "--relevance-level", metavar="N", help="Grade from which a document is relevant. [default: 1]"),
]
Ties = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("ties"),
        help=f"Order of documents with equal keys: {_one_of('ties')}",
    ),
]
OrderBy = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        autocompletion=lambda: list(ORDERS),
        help=f"What orders a list: {', '.join(ORDERS)}, COLUMN:asc or COLUMN:desc. [default: score, else rank]",
    ),
]
MissingQueries = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("missing_queries"),
        help=f"Judged queries without results: {_one_of('missing_queries')}",
    ),
]
WithoutRelevant = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("without_relevant"),
        help=f"Queries without a relevant document: {_one_of('without_relevant')}",
    ),
]
Convention = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=lambda: list(CONVENTIONS),
        help=f"A named set of rules: {', '.join(CONVENTIONS)}. [default: {Rules().convention}]",
    ),
]
JudgedOnly = Annotated[
    bool, typer.Option("-J", "--judged-only", help="Leave out documents that are not judged, or judged below 0.")
]
IgnoreSelf = Annotated[
    bool, typer.Option("--ignore-self", help="Leave out results and judgements whose document is the query.")
]
Depth = Annotated[
    int | None,
    typer.Option("-M", "--depth", metavar="N", help="Look at the first N documents of a list. [default: all]"),
]
Duplicates = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("duplicates"),
        help=f"The same document twice in a list: {_one_of('duplicates')}",
    ),
]
QrelsConflicts = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("qrels_conflicts"),
        help=f"Two grades for one query and document: {_one_of('qrels_conflicts')}",
    ),
]
Nan = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("nan"),
        help=f"Scores that are NaN: {_one_of('nan')}",
    ),
]
ScoreType = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE",
        autocompletion=lambda: _complete_rule("score_type"),
        help=f"The type in which scores are compared: {_one_of('score_type')}",
    ),
]
RecallPoints = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("recall_points"),
        help=f"How a recall becomes a number of documents: {_one_of('recall_points')}",
    ),
]
GainFrom = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("gain_from"),
        help=f"Which grades above 0 have gain: {_one_of('gain_from')}",
    ),
]
ApNorm = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("ap_norm"),
        help=f"What divides AP at k: {_one_of('ap_norm')}",
    ),
]
PrecisionNorm = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        autocompletion=lambda: _complete_rule("precision_norm"),
        help=f"What divides P at k: {_one_of('precision_norm')}",
    ),
]
RecallCap = Annotated[
    bool, typer.Option("--recall-cap", help="R at k divides by min(k, relevant), so that 1 can be reached.")
]
By = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Also one group per value of this column; repeatable.")
]
Queries = Annotated[str | None, typer.Option(metavar="FILE", help="A table with one row per query: columns for --by.")]
QrelsFormat = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="Format of QRELS, where the name does not tell.")
]
RunFormat = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="Format of RUN or LOG, where the name does not tell.")
]
QrelsColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=COLUMN,...", help="Columns of QRELS: query_id=q,doc_id=d,grade=g."),
]
RunColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=COLUMN,...", help="Columns of RUN or LOG: query_id=q,doc_id=d,score=s."),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="CSV and TSV have no header; columns are positions from 1.")
]
RunColumn = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column whose values split one table into runs.")]
PerQuery = Annotated[str | None, typer.Option(metavar="PATH", help="Write the values of each query to this file.")]
Summary = Annotated[str | None, typer.Option(metavar="PATH", help="Write the means to this file.")]
Hits = Annotated[str | None, typer.Option(metavar="PATH", help="Write the judged documents of each list to this file.")]
Problems = Annotated[
    str | None, typer.Option(metavar="PATH", help="Write the rows that break a rule to this file, all of them.")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="Format of standard output.")]
PrintPerQuery = Annotated[
    bool, typer.Option("-q", "--print-per-query", help="The values of each query on standard output too.")
]
NoMeans = Annotated[bool, typer.Option("-n", "--no-means", help="No means on standard output; with --format trec.")]
Complete = Annotated[
    bool,
    typer.Option("-c", "--complete", help="Queries without results count, as they do anyway."),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="Threads that read and compute. [default: by the cores]")
]
BatchRows = Annotated[
    int | None, typer.Option(metavar="N", help="Rows that one thread holds at a time. [default: chosen]")
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Memory that may be used, for example 2GB. [default: half of what is free]"),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No warnings and no progress.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.")]
Strict = Annotated[bool, typer.Option("--strict", help="Warnings are errors: exit 3 and no output.")]
Debug = Annotated[bool, typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show tracebacks of errors.")]
