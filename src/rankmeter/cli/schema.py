"""`rankmeter schema`: the tables that are read and written."""

from typing import Annotated

import typer

from rankmeter.cli import options


def schema(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", autocompletion=options.complete_table, help="One table; without it all are listed."
        ),
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Describe the tables that are read and written.

    With TABLE its columns, types and accepted names as a Frictionless Table Schema in JSON.
    """
    del debug  # its callback did the work
    from rankmeter.schema import TABLES, find_table, json_text

    if table is not None:
        typer.echo(json_text(find_table(table)), nl=False)
        return
    wide = max(len(name) for name in TABLES)
    for name, described in TABLES.items():
        typer.echo(f"{name:{wide}}  {described.title}. {described.row}")
