"""Warnings, and counts of what is worth one."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

EXAMPLES = 3
"""How many examples a warning carries."""

FEW_HASHES = 1 << 18
"""Hashes that may be kept more than once."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: a stable code, a sentence, how often, and up to three examples."""

    code: str
    message: str
    count: int
    examples: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The warning as it stands in the JSON output."""
        return {"code": self.code, "message": self.message, "count": self.count, "examples": list(self.examples)}


class Tally:
    """Counts occurrences over batches and threads, and keeps the smallest examples, so that order does not matter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._examples: dict[str, set[str]] = {}
        self._distinct: dict[str, list[Array]] = {}

    def add(self, code: str, count: int, examples: Iterable[str] = ()) -> None:
        """Count `count` more of `code`."""
        with self._lock:
            self._counts[code] = self._counts.get(code, 0) + count
            kept = self._examples.setdefault(code, set())
            kept.update(examples)
            self._examples[code] = set(sorted(kept)[:EXAMPLES])

    def distinct(self, code: str, hashes: Array, examples: Iterable[str]) -> None:
        """Count the distinct ones among all that are given under `code`."""
        self.add(code, 0, examples)
        with self._lock:
            known = self._distinct.setdefault(code, [])
            known.append(hashes)
            if sum(map(len, known[1:])) > max(len(known[0]), FEW_HASHES):  # so that they do not pile up
                known[:] = [np.unique(np.concatenate(known))]

    def merge(self, other: "Tally", *, distinct_only: bool = False) -> None:
        """Take in what another tally counted, or only those counts that do not mind hearing of the same thing twice."""
        for code, count in other._counts.items():
            if code in other._distinct or not distinct_only:
                self.add(code, count, other._examples[code])
        for code, hashes in other._distinct.items():
            self._distinct.setdefault(code, []).extend(hashes)

    def count(self, code: str) -> int:
        """How many of `code` there were."""
        if code in self._distinct:
            return len(np.unique(np.concatenate(self._distinct[code])))
        return self._counts.get(code, 0)

    def examples(self, code: str) -> tuple[str, ...]:
        """The smallest examples of `code`."""
        return tuple(sorted(self._examples.get(code, ())))
