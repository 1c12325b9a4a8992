"""The command line: arguments become one call, its result is printed, its end becomes an exit code."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from rankmeter.cli.check import check
from rankmeter.cli.demo import demo
from rankmeter.cli.evaluate import evaluate
from rankmeter.cli.exits import Session, guarded
from rankmeter.cli.measures import measures
from rankmeter.cli.options import Debug
from rankmeter.cli.schema import schema
from rankmeter.version import package_version

app = typer.Typer(
    name="rankmeter",
    # Plain help reads the same in a pipe, in the docs and on a terminal, and does not load rich.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (evaluate, check, measures, schema, demo):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rankmeter {package_version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def rankmeter(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Measures of ranked retrieval over Parquet, Arrow, TREC, CSV and JSONL files.

    Results go to standard output, messages and progress to standard error.
    Exit codes: 0 fine, 2 wrong usage, 3 bad input data, 4 a path is absent or cannot be read or written,
    70 a defect in rankmeter, 130 and 143 interrupted.
    """
    del version, debug  # their callbacks did the work
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["schema", "hits"])  # doctest: +ELLIPSIS
    {
      "name": "hits",
    ...
    0
    """
    session = Session()
    asked = list(sys.argv[1:] if arguments is None else arguments)

    def work() -> Any:  # what a command returns says nothing
        return get_command(app).main(args=asked, prog_name="rankmeter", standalone_mode=False, obj=session)

    return guarded(work, session)


__all__ = ["app", "main"]
