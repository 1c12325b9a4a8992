"""Tables as text: what stands in the cells, and how they become a terminal table or Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rankmeter.errors import shortened
from rankmeter.markdown import pipe_table

if TYPE_CHECKING:
    from rich.console import Console

GAP = 3
"""Blanks between two columns: one of padding on each side, one for the rule that the box leaves out."""

UNBOUNDED = 1_000_000
"""Width where nobody looks at a terminal: nothing wraps, so that lines can be searched and cut."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts.

    Attributes:
        title: the line above it.
        header: names of the columns.
        rows: the cells.
        texts: how many columns at the start are texts, aligned left; the others are numbers, aligned right.
        fixed: how many columns at the start are repeated where the table is too wide and goes on below.
        notes: lines below it.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1
    fixed: int = 1
    notes: tuple[str, ...] = ()

    def pieces(self, width: int) -> Iterator["Sheet"]:
        """The table cut into tables of at most that width, each with the fixed columns.

        >>> sheet = Sheet("", ("measure", "bm25", "dense"), (("RR", "0.1000", "0.2000"),))
        >>> [piece.header for piece in sheet.pieces(17)]
        [('measure', 'bm25'), ('measure', 'dense')]
        """
        start = self.fixed
        while start < len(self.header):
            end = self._last_that_fits(start, width)
            yield replace(
                self,
                header=self.header[: self.fixed] + self.header[start:end],
                rows=tuple(row[: self.fixed] + row[start:end] for row in self.rows),
            )
            start = end

    def _last_that_fits(self, start: int, width: int) -> int:
        room = width - sum(self._width(column) + GAP for column in range(self.fixed))
        end = start
        while end < len(self.header) and room >= self._width(end):
            room -= self._width(end) + GAP
            end += 1
        return max(end, start + 1)

    def _width(self, column: int) -> int:
        from rich.cells import cell_len

        return max(cell_len(row[column]) for row in (self.header, *self.rows))


def text(value: object, limit: int = 40) -> str:
    """A value from the data as the text of a cell; null is shown as `null`."""
    return "null" if value is None else shortened(value, limit)


def console() -> "Console":
    """Standard output as rich writes to it: colours on a terminal only and never under NO_COLOR."""
    import os
    import sys

    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=None if terminal else UNBOUNDED,
        color_system="auto" if terminal and not os.environ.get("NO_COLOR") else None,
        force_terminal=terminal,
        markup=False,
        emoji=False,
        highlight=False,
    )


def show(sheets: Sequence[Sheet]) -> None:
    """Print tables to standard output for people."""
    screen = console()
    for number, sheet in enumerate(sheets):
        if number:
            screen.print()
        if sheet.title:
            screen.print(sheet.title, style="bold")
        for piece in sheet.pieces(screen.width):
            screen.print()
            _show_piece(piece, screen)
        if sheet.notes:
            screen.print()
        for note in sheet.notes:
            screen.print(note)


def _show_piece(sheet: Sheet, screen: "Console") -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for number, name in enumerate(sheet.header):
        wraps = number < sheet.texts
        table.add_column(name, justify="left" if wraps else "right", no_wrap=not wraps, overflow="fold")
    for row in sheet.rows:
        table.add_row(*row)
    screen.print(table)


def markdown(sheet: Sheet) -> str:
    r"""The table as Markdown.

    >>> print(markdown(Sheet("", ("measure", "a|b"), (("RR", "0.5000"),))))
    | measure | a\|b |
    | --- | ---: |
    | RR | 0.5000 |
    """
    table = pipe_table(sheet.header, sheet.rows, [number >= sheet.texts for number in range(len(sheet.header))])
    title = [sheet.title, ""] if sheet.title else []
    notes = ["", *(f"{note}  " for note in sheet.notes)] if sheet.notes else []
    return "\n".join([*title, table, *notes])
