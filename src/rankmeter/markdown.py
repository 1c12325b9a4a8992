r"""Markdown tables.

A cell is one line and may hold pipes and backslashes of the data: `a|b` becomes `a\|b`.
"""

from collections.abc import Iterable, Sequence

ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": " ", "\r": " "})


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool]) -> str:
    r"""A table with pipes, without a line end at the close.

    Args:
        header: names of the columns.
        rows: the cells, as many in each row.
        numbers: which columns hold numbers, and stand on the right.

    >>> print(pipe_table(["measure", "a|b"], [["RR", "0.5"]], [False, True]))
    | measure | a\|b |
    | --- | ---: |
    | RR | 0.5 |
    """
    rules = ["---:" if right else "---" for right in numbers]
    return "\n".join([_line(header), f"| {' | '.join(rules)} |", *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.translate(ESCAPES) for cell in cells)} |"
