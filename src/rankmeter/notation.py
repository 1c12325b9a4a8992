"""The names of measures: text such as `nDCG@10` or `P(rel=2)@5` to a measure with parameters, and back."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rankmeter.arguments import texts
from rankmeter.catalogue import MEASURES, SUITES, Measure, Parameter
from rankmeter.catalogue.registry import LARGEST_CUTOFF, NO_CUTOFF, names_of
from rankmeter.errors import UsageError, shortened

NAME = re.compile(r"[A-Za-z][\w-]*")
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
"""trec_eval's cut-offs where its spelling names none (`-m ndcg_cut`)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A measure with its parameters.

    Attributes:
        measure: the measure.
        values: the value of each of its parameters, in their order.
    """

    measure: Measure
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The canonical text, which parses to the same again.

        >>> parse_measure("map@100").name, parse_measure("P(rel=2)@5").name
        ('AP@100', 'P(rel=2)@5')
        """
        pairs = list(zip(self.measure.parameters, self.values, strict=True))
        inner = [f"{p.name}={_text(value)}" for p, value in pairs if p.kind != "cutoff" and value != p.default]
        cutoff = next((f"@{value}" for p, value in pairs if p.kind == "cutoff" and value is not None), "")
        return self.measure.name + (f"({','.join(inner)})" if inner else "") + cutoff

    @property
    def k(self) -> int | None:
        """The cut-off, or None."""
        return next((v for p, v in zip(self.measure.parameters, self.values, strict=True) if p.kind == "cutoff"), None)

    def kernel_parameters(self, level: float) -> tuple[int | float, ...]:
        """What the kernel takes behind the query; `level` is the relevance level in force."""
        return tuple(_for_kernel(p, v, level) for p, v in zip(self.measure.parameters, self.values, strict=True))


def _for_kernel(parameter: Parameter, value: Any, level: float) -> int | float:
    if parameter.kind == "cutoff":
        return NO_CUTOFF if value is None else int(value)
    if parameter.kind == "level":
        return float(level if value is None else value)
    if parameter.kind == "choice":
        return parameter.choices.index(value)
    return int(value) if parameter.kind == "flag" else float(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.17g}" if isinstance(value, float) and float(f"{value:g}") != value else _short(value)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_measures(measures: str | Iterable[str]) -> list[Asked]:
    """The measures named in one text or several, in order, each once; suites stand for what they hold.

    Args:
        measures: each text is split at commas and blanks outside brackets and quotes.

    Raises:
        UsageError: naming the part that is wrong.

    >>> [asked.name for asked in parse_measures("P@5, mrr  rag@1")][:4]
    ['P@5', 'RR', 'P@1', 'R@1']
    """
    parts = [part for text in texts("measures", measures, "a text such as nDCG@10, or several") for part in split(text)]
    asked: dict[str, Asked] = {}
    for part in parts:
        for one in _expanded(part):
            asked.setdefault(one.name, one)
    if not asked:
        raise UsageError("no measure is named; give one such as nDCG@10")
    return list(asked.values())


def parse_measure(text: str) -> Asked:
    """The measure that a text names.

    Raises:
        UsageError: naming the part that is wrong, or when the text names several measures.
    """
    asked = parse_measures(text)
    if len(asked) > 1:
        raise UsageError(f'"{shortened(text)}" names {len(asked)} measures where one is expected')
    return asked[0]


def split(text: str) -> list[str]:
    """A text cut at commas and blanks outside brackets and quotes; further numbers of a dotted name stay with it.

    >>> split("P.5,10 nDCG(gains='1=3, 2=7')@5,AP")
    ['P.5,10', "nDCG(gains='1=3, 2=7')@5", 'AP']
    """
    parts, depth, quote, start = [], 0, "", 0
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "()":
            depth += 1 if sign == "(" else -1
            if depth < 0:
                raise UsageError(f'a bracket is closed that was never opened: "{shortened(text)}"')
        elif (sign == "," or sign.isspace()) and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if quote or depth:
        raise UsageError(f'a {"quote" if quote else "bracket"} is not closed: "{shortened(text)}"')
    return _with_numbers([part for part in (*parts, text[start:]) if part.strip()])


def _with_numbers(parts: list[str]) -> list[str]:
    """Bare numbers joined to the dotted name before them."""
    joined: list[str] = []
    for part in parts:
        dotted = joined and re.fullmatch(r"[A-Za-z]\w*\.[\d.,+-]+", joined[-1])
        if dotted and re.fullmatch(r"[+-]?\d+(\.\d+)?", part):
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return joined


def _expanded(text: str) -> Iterator[Asked]:
    """The measures behind one name: itself, a suite's, or those of trec_eval's spelling."""
    suite, _, cut = text.partition("@")
    if suite.casefold() in SUITES:
        k = _cutoff(cut, text) if cut else None
        if k is None:
            raise UsageError(f'the suite {suite} needs a cut-off, for example {suite}@5: "{shortened(text)}"')
        yield from (_named(template.format(k=k)) for template in SUITES[suite.casefold()])
    elif (from_trec := _trec(text)) is not None:
        yield from from_trec
    else:
        yield _named(text)


def _trec(text: str) -> list[Asked] | None:
    """The measures of trec_eval's spelling (`P_5`, `map_cut.10,20`, `recip_rank`), or None."""
    match = re.fullmatch(r"([A-Za-z]\w*?)(?:[._]([\d.,+-]+))?", text)
    if match is None:
        return None
    name, numbers = match.groups()
    cut = next((m for m in MEASURES.values() if m.trec_cut == name), None)
    whole = next((m for m in MEASURES.values() if m.trec == name), None)
    if numbers is None and whole is not None:
        return [_with(whole, {}, text)]
    if cut is None or (numbers is None and name.casefold() in names_of(cut)):
        return None
    ks = [_cutoff(k, text) for k in numbers.split(",")] if numbers else TREC_CUTOFFS
    return [_with(cut, {"k": k}, text) for k in ks]


def _named(text: str) -> Asked:
    """A measure in our own notation: `Name`, `Name@k`, `Name(p=v,…)@k` or `Name@k(p=v,…)`."""
    match = NAME.match(text)
    if match is None:
        raise UsageError(f'a measure begins with its name, for example nDCG@10, not with "{shortened(text)}"')
    name, rest = match.group(), text[match.end() :]
    found = _find(name, text)
    values: dict[str, Any] = {}
    while rest:
        if rest[0] == "@":
            cut = re.match(r"@([^(]*)", rest)
            number = cut.group(1) if cut else ""
            _once(values, "k", _cutoff(number, text), text)
            rest = rest[1 + len(number) :]
        elif rest[0] == "(":
            inner, _, rest = _bracket(rest)
            for key, value in _pairs(inner, found, text):
                _once(values, key, value, text)
        else:
            raise UsageError(
                f'"{shortened(rest)}" is not understood in "{shortened(text)}"; write Name(parameter=value)@k'
            )
    return _with(found, values, text)


def _find(name: str, text: str) -> Measure:
    """The measure of that name, in any case."""
    found = next((m for m in MEASURES.values() if name == m.name), None)
    found = found or next((m for m in MEASURES.values() if name.casefold() in names_of(m)), None)
    if found is None:
        known = [alias for m in MEASURES.values() for alias in (m.name, *m.aliases)]
        error = UsageError.unknown("measure", name, known)
        where = "" if name == text else f' (in "{shortened(text)}")'
        raise UsageError(f"{error}{where}")
    return found


def _bracket(text: str) -> tuple[str, str, str]:
    """What stands in the brackets at the start, and what follows."""
    quote = ""
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == ")":
            return text[1:i], ")", text[i + 1 :]
        elif sign == "(" and i:
            break
    raise UsageError(f'the brackets in "{shortened(text)}" do not match')


def _pairs(inner: str, found: Measure, text: str) -> Iterator[tuple[str, Any]]:
    """`name=value` pairs, each checked by its parameter."""
    for part in split(re.sub(r"\s*=\s*", "=", inner)):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not value:
            raise UsageError(f'"{shortened(part)}" in "{shortened(text)}" is not of the form parameter=value')
        parameter = found.parameter(key.casefold())
        if parameter is None or parameter.kind == "cutoff":
            known = [p.name for p in found.parameters if p.kind != "cutoff"]
            if not known:
                raise UsageError(
                    f'{found.name} has no parameter "{key}", and no others in brackets: "{shortened(text)}"'
                )
            raise UsageError(f'{UsageError.unknown(f"parameter of {found.name}", key, known)} (in "{shortened(text)}")')
        yield parameter.name, _value(parameter, value.strip("'\""), text)


def _value(parameter: Parameter, value: str, text: str) -> Any:
    """A value in the parameter's type."""
    if parameter.kind == "choice" and value.casefold() in parameter.choices:
        return value.casefold()
    if parameter.kind == "flag" and value.casefold() in FLAGS:
        return FLAGS[value.casefold()]
    if parameter.kind in ("number", "level") and (number := _number(value)) is not None:
        low = parameter.low if parameter.low is not None else -math.inf
        above = parameter.above if parameter.above is not None else -math.inf
        high = parameter.high if parameter.high is not None else math.inf
        if low <= number <= high and number > above:
            return number
    raise UsageError(f'{parameter.name} is {parameter.values()}, not "{shortened(value)}": "{shortened(text)}"')


def _number(text: str) -> float | None:
    """A number in plain digits, which `float` alone would not insist on."""
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _cutoff(text: str, whole: str) -> int:
    """A cut-off: a whole number from 1."""
    if re.fullmatch(r"[+-]?[0-9]+", text.strip()) is None:
        raise UsageError(f'a cut-off is a whole number from 1, not "{shortened(text)}": "{shortened(whole)}"')
    k = int(text) if len(text) < 12 else LARGEST_CUTOFF + 1  # longer than any cut-off
    if k < 1 and len(text) < 12:  # likewise
        raise UsageError(f'a cut-off must be 1 or more: "{shortened(whole)}"')
    if k > LARGEST_CUTOFF:
        raise UsageError(f'a cut-off must be at most {LARGEST_CUTOFF}: "{shortened(whole)}"')
    return k


def _once(values: dict[str, Any], key: str, value: Any, text: str) -> None:
    if key in values:
        what = "two cut-offs" if key == "k" else f"{key} twice"
        raise UsageError(f'"{shortened(text)}" gives {what}')
    values[key] = value


def _with(found: Measure, values: dict[str, Any], text: str) -> Asked:
    """The measure with its values, the rest by default."""
    if "k" in values and found.parameter("k") is None:
        raise UsageError(f'{found.name} has no cut-off: "{shortened(text)}"')
    if found.without_k is not None and "k" not in values:
        return _whole_list(found, values, text)
    return Asked(found, tuple(values.get(p.name, p.default) for p in found.parameters))


def _whole_list(found: Measure, values: dict[str, Any], text: str) -> Asked:
    """What a measure that needs a cut-off means without one."""
    other = MEASURES[str(found.without_k)]
    lacking = [key for key in values if other.parameter(key) is None]
    if lacking:
        raise UsageError(
            f'{found.name} with {lacking[0]} needs a cut-off, for example {found.name}(…)@10: "{shortened(text)}"'
        )
    return _with(other, values, text)
