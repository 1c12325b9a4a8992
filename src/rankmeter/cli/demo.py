"""`rankmeter demo`: a small sample, and the main jobs on it."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from rankmeter.cli import options


def demo(
    context: typer.Context,
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Folder of the sample; made if absent, other files in it stay.")
    ] = "rankmeter-demo",
    debug: options.Debug = False,
) -> None:
    """Write a small sample as Parquet and run the main jobs on it.

    Each command line is shown before its output and can be pasted into a shell in the same folder.
    """
    del debug  # its callback did the work
    from rankmeter.demo import write_sample

    sample = write_sample(Path(folder))
    typer.echo(f"A sample of an online shop's search is in {folder}:")
    for path, content in sample.items():
        typer.echo(f"  {path.name:16}  {content}")
    for job in _jobs(folder):
        typer.echo(f"\n$ {shlex.join([*program(), *job])}")
        sys.stdout.flush()
        _call(context, job)


def _jobs(folder: str) -> list[list[str]]:
    """The command lines to show."""
    place = Path(folder)
    qrels, queries = str(place / "qrels.parquet"), str(place / "queries.parquet")
    runs = [str(place / "bm25.parquet"), str(place / "dense.parquet")]
    files = ["--per-query", str(place / "per_query.parquet"), "--hits", str(place / "hits.parquet")]
    return [
        ["evaluate", qrels, *runs],
        ["evaluate", qrels, *runs, "-m", "nDCG@10 RR@10", "--queries", queries, "--by", "market"],
        ["evaluate", qrels, runs[1], "-m", "rag@5", *files],
        ["measures", "nDCG"],
    ]


def _call(context: typer.Context, arguments: list[str]) -> None:
    """Run one command of the same program."""
    root = context.find_root()
    code = root.command.main(args=arguments, prog_name=root.info_name, standalone_mode=False, obj=context.obj)
    if isinstance(code, int) and code:
        raise typer.Exit(code)


def program() -> list[str]:
    """How this program was called, as it can be called again from the same folder."""
    called = sys.argv[0] if sys.argv else ""
    name = Path(called).name
    if name == "__main__.py" and Path(called).parent.name == "rankmeter":
        return [sys.executable, "-m", "rankmeter"]
    if name != "rankmeter":  # called from Python
        return ["rankmeter"]
    found = shutil.which(name)
    return [name if found and Path(found).resolve() == Path(called).resolve() else called]
