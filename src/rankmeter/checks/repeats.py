"""Rows that contradict each other: a document twice in a list, two grades for one judgement, two lists for a query.

Whether something repeats is seen by the hashes of all keys, eight bytes a row; the rows whose hash repeats are read
again and compared as they are. Where even the hashes do not fit into memory, they are taken in shares.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankmeter.errors import Problem, shortened

Array = np.ndarray[Any, Any]

ONCE = "a list holds each document once, so remove the repeated rows, or choose --duplicates first"
CONFLICT = "the grades differ; keep one judgement for each query and document, or choose with --qrels-conflicts"
SECOND_LIST = "has two lists, whose order nothing tells; put them together in one row, or add a column of scores"

FILE, ROW = "file of the row", "row in its file"
"""Helper columns; the blanks keep them apart from every role."""

CANDIDATES = 1 << 20
"""Repeated keys that are looked at together."""


def repeated_document(query_id: object, doc_id: object) -> str:
    """The sentence for a document that stands twice in a list."""
    return f"document {shortened(doc_id)} stands twice in the list of query {shortened(query_id)}; {ONCE}"


@dataclass(frozen=True, slots=True)
class Once:
    """What may be there only once.

    Attributes:
        rule: the code of the rule.
        keys: the columns that may not have the same values twice.
        grades: whether repeats are fine as long as their grades agree.
        lists: whether it holds of whole lists, and not of their documents.
        describe: the problem of the first and of the repeated row.
    """

    rule: str
    keys: tuple[str, ...]
    describe: Callable[[dict[str, Any], dict[str, Any]], Problem]
    grades: bool = False
    lists: bool = False


def document_twice(keys: Sequence[str]) -> Once:
    """A document may be in a list once."""

    def describe(first: dict[str, Any], row: dict[str, Any]) -> Problem:
        sentence = repeated_document(row["query_id"], row["doc_id"])
        return _problem("duplicate-document", first, row, "doc_id", row["doc_id"], sentence)

    return Once("duplicate-document", tuple(keys), describe)


def judged_twice(keys: Sequence[str]) -> Once:
    """A document may be judged for a query with one grade."""

    def describe(first: dict[str, Any], row: dict[str, Any]) -> Problem:
        sentence = (
            f"query {shortened(row['query_id'])} and document {shortened(row['doc_id'])} are judged twice "
            f"(grades {first['grade']:g} and {row['grade']:g}), {CONFLICT}"
        )
        return _problem("conflicting-grades", first, row, "grade", f"{row['grade']:g}", sentence)

    return Once("conflicting-grades", tuple(keys), describe, grades=True)


def listed_twice(keys: Sequence[str]) -> Once:
    """A query may have one list where nothing orders its documents."""

    def describe(first: dict[str, Any], row: dict[str, Any]) -> Problem:
        sentence = f"query {shortened(row['query_id'])} {SECOND_LIST}"
        return _problem("second-list", first, row, "query_id", row["query_id"], sentence)

    return Once("second-list", tuple(keys), describe, lists=True)


def _problem(
    rule: str, first: dict[str, Any], row: dict[str, Any], column: str, value: object, sentence: str
) -> Problem:
    """What is wrong with a row that repeats another."""
    file, number = row[FILE], row[ROW]
    place = f"{file} rows {first[ROW]} and {number}"
    if first[FILE] != file:
        place = f"{file} row {number} and {first[FILE]} row {first[ROW]}"
    elif first[ROW] == number:
        place = f"{file} row {number}"
    named = {role: shortened(row[role]) for role in ("query_id", "doc_id") if role in row}
    return Problem(rule, f"{place}: {sentence}", file, number, column, shortened(value), **named)


@dataclass(slots=True)
class Repeats:
    """Finds the keys that repeat, in a share of all.

    Attributes:
        once: what may be there only once.
        share: which share of the hashes is taken.
        of: how many shares there are.
    """

    once: Once
    share: int = 0
    of: int = 1
    _hashes: list[Array] = field(default_factory=list)

    def hashes(self, frame: pl.DataFrame) -> Array:
        """The hash of the key of each row (uint64)."""
        texts = [pl.col(key).cast(pl.String) for key in self.once.keys]
        return frame.select(pl.struct(texts).hash()).to_series().to_numpy()

    def add(self, frame: pl.DataFrame) -> None:
        """Take note of the keys of some rows."""
        found = self.hashes(frame)
        self._hashes.append(found if self.of == 1 else found[found % np.uint64(self.of) == self.share])

    def repeated(self) -> Array:
        """The hashes that are there more than once, in order."""
        every = np.concatenate([np.zeros(0, np.uint64), *self._hashes])
        self._hashes.clear()
        every.sort()
        return np.unique(every[1:][every[1:] == every[:-1]])

    def problems(self, repeated: Array, read: Callable[[], Iterable[pl.DataFrame]]) -> Iterator[list[Problem]]:
        """What is wrong with the rows of repeated keys; `read` gives all rows again, and `FILE` and `ROW` of each."""
        for start in range(0, len(repeated), CANDIDATES):
            wanted = repeated[start : start + CANDIDATES]
            yield [self.once.describe(first, row) for first, row in self._pairs(wanted, read())]

    def _pairs(self, wanted: Array, frames: Iterable[pl.DataFrame]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Each row that repeats another, behind the first one with its key, in order."""
        grade = ["grade"] if self.once.grades else []
        columns = [*(pl.col(key).cast(pl.String) for key in self.once.keys), *grade, FILE, ROW]
        kept = []
        for frame in frames:
            found = self.hashes(frame)
            place = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
            kept.append(frame.filter(pl.Series(wanted[place] == found)).select(columns))
        firsts: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in pl.concat(kept).iter_rows(named=True):
            first = firsts.setdefault(tuple(row[key] for key in self.once.keys), row)
            if first is not row and not (self.once.grades and first["grade"] == row["grade"]):
                yield first, row
