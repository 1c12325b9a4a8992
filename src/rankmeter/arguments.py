"""The types of arguments: what Python lets pass and a rule of ours does not is one sentence, as on the command line."""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from rankmeter.errors import UsageError, shortened


def wrong(option: str, rule: str, value: object) -> UsageError:
    """The error for a value that breaks the rule on an option.

    >>> str(wrong("--threads", "a whole number", "2"))
    '--threads is a whole number, not "2"'
    """
    return UsageError(f"{option} is {rule}, not {shown(value)}")


def shown(value: object) -> str:
    """A value for a message, with its type where that is not plain.

    >>> shown("2"), shown(2.5), shown(None), shown([b"x"])
    ('"2"', '2.5', 'None', "[b'x'] (list)")
    """
    if isinstance(value, str):
        return f'"{shortened(value)}"'
    kind = type(value)
    if value is None or kind in (bool, int, float):
        return shortened(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{shortened(value)} ({module}{kind.__qualname__})"


def check_flag(option: str, value: object) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool):
        raise wrong(option, "True or False", value)


def check_positive(option: str, value: object) -> None:
    """Refuse what is not a whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise wrong(option, "a whole number of at least 1", value)


def check_text(option: str, value: object, rule: str = "a text") -> None:
    """Refuse what is not text."""
    if not isinstance(value, str):
        raise wrong(option, rule, value)


def check_columns(option: str, value: object) -> None:
    """Refuse what does not map roles to columns."""
    rule = 'a mapping from role to column such as {"query_id": "q"}'
    if not isinstance(value, Mapping):
        raise wrong(option, rule, value)
    for text in (*value, *value.values()):
        check_text(option, text, f"{rule}, both texts")


def finite(option: str, value: object) -> float:
    """A number as a float; what is not a finite number is refused."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise wrong(option, "a finite number", value)
    return number


def texts(option: str, value: Any, rule: str) -> tuple[str, ...]:
    """One text, or several, as a tuple."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
        raise wrong(option, rule, value)
    found = tuple(value)
    for text in found:
        check_text(option, text, rule)
    return found
