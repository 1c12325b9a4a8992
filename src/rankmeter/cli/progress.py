"""The progress bar: on terminals only, on standard error."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """Shows rows, queries, rate and what remains; may be called from any thread."""

    def __init__(self) -> None:
        self._display: Progress | None = None
        self._task: Any = None

    def start(self, rows: int | None, size: int) -> None:
        """Show the bar for a run; without a number of rows it only counts."""
        del size  # a bar of rows does not need it
        self.finish()
        self._display = _display(known=rows is not None)
        self._task = self._display.add_task("rows", total=rows, queries=0)
        self._display.start()

    def advance(self, rows: int, queries: int) -> None:
        """So many more rows and queries are done."""
        if self._display is not None:
            task = self._display.tasks[0]
            self._display.update(self._task, advance=rows, queries=task.fields["queries"] + queries)

    def finish(self) -> None:
        """Take the bar away."""
        if self._display is not None:
            self._display.stop()
            self._display = None


@contextlib.contextmanager
def bar(*, wanted: bool) -> Iterator[Bar | None]:
    """A bar where one is wanted and standard error is a terminal; it is gone afterwards, whatever happens."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    shown = Bar()
    try:
        yield shown
    finally:
        shown.finish()


def _display(*, known: bool) -> "Progress":
    import os

    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} rows/s" if speed else "")

    console = Console(file=sys.stderr, no_color=bool(os.environ.get("NO_COLOR")))
    counts = TextColumn("{task.completed:,.0f} rows, {task.fields[queries]:,} queries")
    remaining = [BarColumn(None), counts, Rate(), TimeRemainingColumn()] if known else [counts, Rate()]
    return Progress(*remaining, *([] if known else [TimeElapsedColumn()]), console=console, transient=True)
