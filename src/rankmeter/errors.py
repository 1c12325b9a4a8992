"""The errors a user can meet: each a sentence, each with the exit code of the command line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

SHOWN = 20
"""How many problems of one input are spelled out; the others are only counted."""


class RankmeterError(Exception):
    """An error with a sentence for the person who has to mend it.

    Attributes:
        exit_code: what the command line exits with.
    """

    exit_code = 70

    def __str__(self) -> str:
        """The sentence, halves of characters (in names that were wrongly decoded) made visible, so that it prints."""
        return super().__str__().encode("utf-8", "backslashreplace").decode("utf-8")


class UsageError(RankmeterError):
    """What was asked for makes no sense: a measure, an option, a column that is not there."""

    exit_code = 2

    @classmethod
    def unknown(cls, what: str, name: str, known: Iterable[str]) -> "UsageError":
        """`name` is no `what`; the message gives the nearest known names."""
        known = list(known)
        folded = {candidate.casefold(): candidate for candidate in known}
        near = [folded[match] for match in get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are: {', '.join(known)}"
        return cls(f'unknown {what} "{name}"; {hint}')


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the input data that breaks a rule.

    Attributes:
        rule: the code of the rule, see `rankmeter.checks.catalogue`.
        message: the sentence for the person who has to mend it.
        file: the file or the frame.
        row: the row, from 1; in text files the physical line.
        column: the column.
        value: what stands there, shortened.
        query_id: the query of the row.
        doc_id: the document of the row.
    """

    rule: str
    message: str
    file: str | None = None
    row: int | None = None
    column: str | None = None
    value: str | None = None
    query_id: str | None = None
    doc_id: str | None = None


class DataError(RankmeterError):
    """The input data breaks a rule: the message says where, which, and what to do.

    Attributes:
        problems: what is wrong, the first of it.
        counts: rule -> how many problems there are.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        rule: str,
        problems: Sequence[Problem] = (),
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """An error with one sentence that breaks a rule, or with all that is given in `problems` and `counts`."""
        super().__init__(message)
        self.problems = tuple(problems) or (Problem(rule, message),)
        self.counts = dict(counts or {rule: 1})

    def __reduce__(self) -> tuple[Any, ...]:
        """How the error goes to another process."""
        return type(self), (str(self), self.problems[0].rule, self.problems, self.counts)

    @classmethod
    def of(cls, problems: Sequence[Problem], counts: Mapping[str, int]) -> Self:
        """The error for some problems, the first of which are given, and how many there are by rule.

        >>> print(DataError.of([Problem("null-value", "a")], {"null-value": 1}))
        a
        >>> print(DataError.of([Problem("null-value", "a")], {"null-value": 2, "nan-value": 1}))
        3 problems: 2 null-value, 1 nan-value
        [null-value] a
        … and 2 more
        """
        total = sum(counts.values())
        if total == 1:
            return cls(problems[0].message, problems[0].rule, problems)
        lines = [f"{total:,} problems: {', '.join(f'{count:,} {rule}' for rule, count in counts.items())}"]
        lines += [f"[{problem.rule}] {problem.message}" for problem in problems[:SHOWN]]
        if total > len(lines) - 1:
            lines.append(f"… and {total - len(lines) + 1:,} more")
        return cls("\n".join(lines), problems[0].rule, problems, counts)


class RefusedRowsError(DataError):
    """Rows break a rule; all that is wrong is found by an audit of the inputs."""


class StorageError(RankmeterError):
    """A path is absent or unreadable, or writing failed."""

    exit_code = 4

    @classmethod
    def unreadable(cls, path: object, error: OSError) -> "StorageError":
        """`path` could not be read."""
        return cls(f"{path}: cannot be read: {error.strerror or error}")

    @classmethod
    def unwritable(cls, path: object, error: OSError) -> "StorageError":
        """`path` could not be written."""
        return cls(f"{path}: cannot be written: {error.strerror or error}")


class MemoryLimitError(RankmeterError):
    """The work does not fit into the memory limit."""

    exit_code = 5


def shortened(value: object, limit: int = 80) -> str:
    """The text of a value, cut in the middle to `limit` characters, control characters made visible.

    >>> shortened("a" * 100, 11)
    'aaaaa…aaaaa'
    """
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(value))
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"
