"""Where checks bring the rows that break a rule: they are refused at once, or collected and left out."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from rankmeter.errors import SHOWN, Problem, RefusedRowsError

Array = np.ndarray[Any, Any]


class Findings(Protocol):
    """Takes what breaks a rule. Where `add` returns, the rows are left out by who found them."""

    def add(self, rule: str, positions: Sequence[int], describe: Callable[[int], Problem]) -> None:
        """Take rows that break a rule.

        Args:
            rule: the code of the rule.
            positions: where they are.
            describe: what is wrong at a position.
        """

    def leave(self, kept: Array) -> None:
        """Those rows of what was read are left (bool)."""


class Strict:
    """Refuses rows that break a rule."""

    def add(self, rule: str, positions: Sequence[int], describe: Callable[[int], Problem]) -> None:
        """Refuse these rows.

        Raises:
            RefusedRowsError: always, where there are any; it describes the first ones.
        """
        if positions:
            raise RefusedRowsError.of([describe(position) for position in positions[:SHOWN]], {rule: len(positions)})

    def leave(self, kept: Array) -> None:
        """All rows are left."""


STRICT = Strict()


class Collected:
    """Counts what breaks rules in one batch, and describes the first rows of each rule, or all.

    Attributes:
        counts: rule -> how many problems.
        problems: what was described.
        kept: which rows of what was read are left (bool), once the batch has been read.
    """

    def __init__(self, room: int | None = 0) -> None:
        """`room` is how many problems of each rule are described; None: all."""
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.kept: Array = np.zeros(0, bool)
        self._room = room

    def add(self, rule: str, positions: Sequence[int], describe: Callable[[int], Problem]) -> None:
        """Count these rows, and describe as many as there is room for."""
        if not positions:
            return
        free = len(positions) if self._room is None else max(0, self._room - self.counts[rule])
        self.counts[rule] += len(positions)
        self.problems += [describe(position) for position in positions[:free]]

    def leave(self, kept: Array) -> None:
        """Remember which rows are left."""
        self.kept = kept
