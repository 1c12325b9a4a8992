"""The errors a user can meet: each a sentence, each with the exit code of the command line."""

from collections.abc import Iterable
from difflib import get_close_matches

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


class DataError(RankmeterError):
    """The input data breaks a rule: the message says where, which, and what to do."""

    exit_code = 3


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
