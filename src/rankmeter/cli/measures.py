"""`rankmeter measures`: the catalogue, and one measure explained."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rankmeter.cli import options
from rankmeter.cli.options import CatalogueFormat
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter.catalogue.registry import Measure


def measures(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", autocompletion=options.complete_measure, help="One measure or suite; without it all."
        ),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option("--for", metavar="JOB", autocompletion=options.complete_job, help="Which measures for which job."),
    ] = None,
    form: Annotated[CatalogueFormat, typer.Option("--format", help="Format of standard output.")] = (
        CatalogueFormat.table
    ),
    debug: options.Debug = False,
) -> None:
    """List the measures, or explain one.

    Explained are formula, parameters, range, special cases, trec_eval's name and source.
    """
    del debug  # its callback did the work
    from rankmeter.catalogue import MEASURES
    from rankmeter.cli import catalogue

    if job is not None:
        _print_job(form, job, name)
        return
    if name is None:
        _print_all(form, list(MEASURES.values()))
        return
    suite = [line for line in catalogue.suites() if re.split("[@:]", line)[0] == name.split("@")[0].casefold()]
    if suite:
        typer.echo(json.dumps({"suite": suite[0]}) if form is CatalogueFormat.json else suite[0])
        return
    _print_one(form, catalogue.find(name))


def _print_all(form: CatalogueFormat, known: "Sequence[Measure]") -> None:
    from rankmeter.cli import catalogue, sheets

    if form is CatalogueFormat.json:
        typer.echo(json.dumps([catalogue.as_dict(measure) for measure in known], ensure_ascii=False, indent=2))
        return
    overview, suites = catalogue.overview(), catalogue.suites()
    if form is CatalogueFormat.markdown:
        typer.echo("\n".join([sheets.markdown(overview), "", *(f"- {line}" for line in suites)]))
        return
    sheets.show([overview])
    typer.echo("\n".join(["", "Suites", *(f"  {line}" for line in suites), ""]))
    typer.echo("Parameters stand in brackets: P(rel=2)@5. One measure explained: rankmeter measures nDCG")


def _print_job(form: CatalogueFormat, name: str, measure: str | None) -> None:
    """What measures a job."""
    from rankmeter.catalogue.jobs import JOBS, UNSEEN
    from rankmeter.cli import sheets

    if measure is not None:
        raise UsageError("give the name of a measure, or --for JOB, and not both")
    job = JOBS.get(name.casefold())
    if job is None:
        raise UsageError.unknown("job", name, JOBS)
    rows = tuple((advice.measure, advice.asks) for advice in job.advice)
    sheet = sheets.Sheet(f"{name.casefold()}: {job.title}", ("measure", "asks"), rows, 2, 2, (job.reader, UNSEEN))
    if form is CatalogueFormat.json:
        told = {"job": name.casefold(), "title": job.title, "reader": job.reader, "unseen": UNSEEN}
        typer.echo(json.dumps(told | {"measures": [advice._asdict() for advice in job.advice]}, indent=2))
    elif form is CatalogueFormat.markdown:
        typer.echo(sheets.markdown(sheet))
    else:
        typer.echo(f"{sheet.title}\n")
        wide = max(len(advice.measure) for advice in job.advice)
        for advice in job.advice:
            _print_pair(advice.measure, advice.asks, wide + 2)
        typer.echo(f"\n{job.reader}.\n{UNSEEN}")


def _print_one(form: CatalogueFormat, measure: "Measure") -> None:
    from rankmeter.cli import catalogue

    if form is CatalogueFormat.json:
        typer.echo(json.dumps(catalogue.as_dict(measure), ensure_ascii=False, indent=2))
    elif form is CatalogueFormat.markdown:
        typer.echo(catalogue.explanation_markdown(measure))
    else:
        typer.echo(f"{measure.name} - {measure.title}\n")
        pairs = catalogue.explanation(measure)
        wide = max(len(heading) for heading, _ in pairs)
        for heading, text in pairs:
            _print_pair(heading, text, wide + 2)


def _print_pair(heading: str, text: str, indent: int) -> None:
    """A heading and its text beside it, wrapped to the terminal."""
    import shutil
    import textwrap

    width = max(40, min(100, shutil.get_terminal_size((100, 24)).columns) - indent)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
    typer.echo(f"{heading:{indent}}{lines[0]}")
    for line in lines[1:]:
        typer.echo(" " * indent + line)
