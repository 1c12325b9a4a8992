"""The names of measures: text such as `nDCG@10` or `P(rel=2)@5` to a measure with parameters, and back."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rankmeter.arguments import texts
from rankmeter.catalogue import MEASURES, SUITES, Measure, Parameter
from rankmeter.catalogue.elsewhere import translated
from rankmeter.catalogue.registry import EXPECTED, LARGEST_CUTOFF, NO_CUTOFF, OTHER_SUITES, K, names_of
from rankmeter.conventions import BOUNDS, Rules
from rankmeter.errors import UsageError, shortened

NAME = re.compile(r"[^\W\d_][\w-]*")
OPENING, CLOSING = "({", ")}"
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
TREC_NAME = re.compile(r"([A-Za-z0-9]\w*?)(?:\.(.+)|_([\d.]+))?")
"""trec_eval's spelling: a name, and numbers behind a point, or one behind a low line."""

TREC_NUMBERS = r"[+-]?(?:\d+\.?\d*|\.\d+)"


@dataclass(frozen=True, slots=True)
class Asked:
    """A measure with its parameters.

    Attributes:
        measure: the measure.
        values: the value of each of its parameters, in their order.
        label: how trec_eval calls it, where it was asked for in that spelling.
    """

    measure: Measure
    values: tuple[Any, ...]
    label: str | None = field(default=None, compare=False)

    @property
    def pairs(self) -> list[tuple[Parameter, Any]]:
        """Its parameters and their values."""
        return list(zip(self.measure.parameters, self.values, strict=True))

    @property
    def name(self) -> str:
        """The canonical text, which parses to the same again.

        >>> parse_measure("map@100").name, parse_measure("P(rel=2)@5").name
        ('AP@100', 'P(rel=2)@5')
        """
        inner = [f"{p.name}={_text(value)}" for p, value in self.pairs if not p.behind_at and value != p.default]
        behind = next((f"@{_text(value)}" for p, value in self.pairs if p.behind_at and value is not None), "")
        return self.measure.name + (f"({','.join(inner)})" if inner else "") + behind

    @property
    def k(self) -> int | None:
        """The cut-off, or None."""
        return next((value for p, value in self.pairs if p.kind == "cutoff"), None)

    def in_force(self, rules: Rules) -> dict[str, Any]:
        """The value of each parameter under the rules in force; None for no cut-off.

        >>> parse_measure("AP@5").in_force(Rules(ap_norm="hits"))["norm"]
        'hits'
        """
        found = {p.name: _in_force(p, value, rules) for p, value in self.pairs}
        written = {p.name: value for p, value in self.pairs}
        if found.get("gains") and written["gain"] is None:
            found["gain"] = "linear"
        for p in self.measure.parameters:
            if p.kind == "floor" and written[p.name] is None:
                found[p.name] = _floor(found["gain"], rules.relevance_level, rules)
        return found

    def kernel_parameters(self, rules: Rules) -> tuple[int | float | tuple[float, ...], ...]:
        """What the kernel takes behind the query, under the rules in force."""
        found = self.in_force(rules)
        return tuple(_for_kernel(p, found[p.name]) for p in self.measure.parameters if not p.view)

    def view_parameters(self, rules: Rules) -> dict[str, Any]:
        """What changes what the kernel sees, as the view calls it, under the rules in force."""
        found = self.in_force(rules)
        seen = {p.view: found[p.name] for p in self.measure.parameters if p.view}
        if "least" in seen:
            seen["floor"] = _floor(seen["gain"], seen["least"], rules)
        return seen | ({"rising": rules.ties in BOUNDS} if "gains" in seen else {})

    def has_bounds(self, rules: Rules) -> bool:
        """Whether the best and the worst order of ties bound its values under the rules in force."""
        found = self.in_force(rules)
        shortened_lists = rules.depth is not None and (rules.judged_only or found.get("judged_only", False))
        laws = {"swap", "padding"} if shortened_lists else {"swap"}  # lists then differ in length with the order
        held = all(found[name] != value for law, (name, value) in self.measure.unless.items() if law in laws)
        return laws <= self.measure.laws and held and _rises(found.get("gains", ()))

    def is_expected(self, rules: Rules) -> bool:
        """Whether its value expected over all orders of ties is known under the rules in force."""
        known, found = EXPECTED.get(self.measure.name), self.in_force(rules)
        if known is None or found.get("judged_only", False):
            return False
        return all(found[name] != value for name, value in known.without.items())


def _in_force(parameter: Parameter, value: Any, rules: Rules) -> Any:
    """The value of a parameter: as written, else what the rules say."""
    if parameter.kind == "level" and value is None:
        return rules.relevance_level
    if parameter.rule is None or value is not None:
        return value
    ruled = getattr(rules, parameter.rule)
    return ruled if not parameter.choices or ruled in parameter.choices else parameter.choices[0]


def _floor(gain: str, level: float, rules: Rules) -> float:
    """The grade from which documents have gain, where the measure names none."""
    return level if gain == "binary" or rules.gain_from != "all" else -math.inf


def _rises(gains: tuple[tuple[float, float], ...]) -> bool:
    """Whether gains, by grade, do not fall, and none is below that of a document that is not judged."""
    worth = [0.0, *(gain for _, gain in gains)]
    return worth == sorted(worth)


def _for_kernel(parameter: Parameter, value: Any) -> int | float | tuple[float, ...]:
    """A value as kernels take it."""
    if parameter.kind == "cutoff":
        return NO_CUTOFF if value is None else int(value)
    if parameter.kind == "choice":
        return parameter.choices.index(value)
    if parameter.kind == "numbers":
        return tuple(map(float, value))
    return int(value) if parameter.kind == "flag" else float(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        inner = ("=".join(map(_text, one)) if isinstance(one, tuple) else _text(one) for one in value)
        return f"'{','.join(inner)}'"
    return f"{value:.17g}" if isinstance(value, float) and float(f"{value:g}") != value else _short(value)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_measures(measures: str | Iterable[str], *, trec: bool = False) -> list[Asked]:
    """The measures named in one text or several, in order, each once; suites stand for what they hold.

    Args:
        measures: each text is split at commas and blanks outside brackets and quotes.
        trec: a name that is trec_eval's too means what it means there: `P` its cut-offs, and not the whole list.

    Raises:
        UsageError: naming the part that is wrong.

    >>> [asked.name for asked in parse_measures("P@5, mrr  rag@1")][:4]
    ['P@5', 'RR', 'P@1', 'R@1']
    """
    parts = [part for text in texts("measures", measures, "a text such as nDCG@10, or several") for part in split(text)]
    asked: dict[str, Asked] = {}
    for part in parts:
        for one in _expanded(part, trec=trec):
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
        elif sign in OPENING or sign in CLOSING:
            depth += 1 if sign in OPENING else -1
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
        dotted = joined and re.fullmatch(r"[A-Za-z0-9]\w*\.[\d.,+=-]+", joined[-1])
        if dotted and re.fullmatch(rf"({TREC_NUMBERS}=)?{TREC_NUMBERS}", part):
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return joined


def _expanded(text: str, *, trec: bool) -> Iterator[Asked]:
    """The measures behind one name: itself, a suite's, or those of trec_eval's spelling."""
    text = translated(text)
    suite, sign, cut = text.partition("@")
    name = OTHER_SUITES.get(suite.casefold(), suite.casefold())
    if name in SUITES:
        needs = any("{k}" in template for template in SUITES[name])
        if needs != bool(sign):
            wrong = f"needs a cut-off, for example {suite}@5" if needs else "has no cut-off"
            raise UsageError(f'the suite {suite} {wrong}: "{shortened(text)}"')
        k = _cutoff(cut, text) if needs else None
        for template in SUITES[name]:
            yield from _trec(template, trec=True) or [_named(template.format(k=k))]
    elif (from_trec := _trec(text, trec=trec)) is not None:
        yield from from_trec
    else:
        yield _named(text)


def _trec(text: str, *, trec: bool) -> list[Asked] | None:
    """The measures of trec_eval's spelling (`P_5`, `map_cut.10,20`, `recip_rank`, `ndcg.1=3`), or None.

    With `trec`, a name that is ours too means what it means there.
    """
    match = TREC_NAME.fullmatch(text)
    if match is None:
        return None
    name, dotted, numbered = match.groups()
    cut = next((m for m in MEASURES.values() if m.trec_cut == name), None)
    whole = next((m for m in MEASURES.values() if m.trec == name), None)
    given = dotted or numbered
    if whole is not None and (given is None or (dotted and cut is None)):
        values = dict(whole.trec_values) if given is None else {**whole.trec_values, **_trec_values(whole, given, text)}
        return [replace(_with(whole, values, text), label=name if given is None else f"{name}_{given}")]
    if cut is None or (given is None and not trec and name.casefold() in names_of(cut)):
        return None
    at = next(p for p in cut.parameters if p.behind_at)
    whole_part = "[.].*" if at.kind == "cutoff" else "$"  # trec_eval cuts what stands behind the point off
    points = [_behind_at(at, re.sub(whole_part, "", k), text) for k in given.split(",")] if given else cut.trec_cuts
    return [
        replace(
            _with(cut, {**cut.trec_values, at.name: k}, text),
            label=f"{name}_{k:{'d' if at.kind == 'cutoff' else '.2f'}}",
        )
        for k in sorted(points)
    ]


def _trec_values(found: Measure, given: str, text: str) -> dict[str, Any]:
    """The parameters behind the point of trec_eval's spelling: `name=value` or `grade=gain` pairs, or numbers."""
    wrong = UsageError(f'"{shortened(given)}" in "{shortened(text)}" is not understood')
    if "=" in given:
        pairs = [pair.partition("=")[::2] for pair in given.split(",")]
        if not all(value for _, value in pairs):
            raise wrong
        named = {key: value for key, value in pairs if found.parameter(key) is not None}
        rest = ",".join(f"{key}={value}" for key, value in pairs if key not in named)
        named |= {"gains": rest} if rest else {}
        return {key: _value(_parameter(found, key, text), value, text) for key, value in named.items()}
    numbers = tuple(number for one in given.split(",") if (number := _number(one)) is not None)
    if found.trec_numbers is None or len(numbers) != given.count(",") + 1:
        raise wrong
    try:
        values = found.trec_numbers(numbers)
    except (TypeError, ValueError) as error:  # another number of them, or a root of what is below 0
        raise wrong from error
    for key, value in values.items():
        parameter = _parameter(found, key, text)
        every = value if isinstance(value, tuple) else (value,)
        if not all(map(parameter.allows, every)):
            raise UsageError(f'{key} is {parameter.values()}: "{shortened(text)}"')
    return values


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
            at = next((p for p in found.parameters if p.behind_at), K)
            _once(values, at.name, _behind_at(at, number, text), text)
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
        value = value.strip("'\"")
        synonyms = {other: (p.name, meant) for p in found.parameters for other, meant in p.synonyms}
        key, value = synonyms.get(f"{key}={value}".casefold(), (key, value))
        yield (parameter := _parameter(found, key, text)).name, _value(parameter, value, text)


def _parameter(found: Measure, key: str, text: str) -> Parameter:
    """The parameter of that name that is written in brackets."""
    inside = {p.name.casefold(): p for p in found.parameters if not p.behind_at}
    if not inside:
        raise UsageError(f'{found.name} has no parameter "{key}", and no others in brackets: "{shortened(text)}"')
    if key.casefold() not in inside:
        known = [p.name for p in inside.values()]
        raise UsageError(f'{UsageError.unknown(f"parameter of {found.name}", key, known)} (in "{shortened(text)}")')
    return inside[key.casefold()]


def _value(parameter: Parameter, value: str, text: str) -> Any:
    """A value in the parameter's type."""
    if parameter.kind == "choice" and value.casefold() in parameter.choices:
        return value.casefold()
    if parameter.kind == "flag" and value.casefold() in FLAGS:
        return FLAGS[value.casefold()]
    if (
        parameter.kind in ("number", "level", "floor", "point")
        and (number := _number(value)) is not None
        and parameter.allows(number)
    ):
        return number
    if parameter.kind == "numbers":
        numbers = [_number(one) for one in value.split(",")]
        if all(number is not None and parameter.allows(number) for number in numbers):
            return tuple(numbers)
    if parameter.kind == "gains" and (gains := _gains(value)) is not None:
        return gains
    raise UsageError(f'{parameter.name} is {parameter.values()}, not "{shortened(value)}": "{shortened(text)}"')


def _gains(text: str) -> tuple[tuple[float, float], ...] | None:
    """Pairs of a grade and its gain, by grade, from `1=3,2=7` or `{1: 3, 2: 7}`; None where these are none.

    >>> _gains("{2: 7, 1: 3}")
    ((1.0, 3.0), (2.0, 7.0))
    """
    pairs: dict[float, float] = {}
    for pair in text.strip("{} ").replace(":", "=").split(","):
        grade, gain = map(_number, map(str.strip, (*pair.split("=", 1), "")[:2]))
        if grade is None or gain is None or grade in pairs:
            return None
        pairs[grade] = gain
    return tuple(sorted(pairs.items()))


def _number(text: str) -> float | None:
    """A number in plain digits, which `float` alone would not insist on."""
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _behind_at(parameter: Parameter, text: str, whole: str) -> float:
    """The value of a parameter that is written behind `@`."""
    return _cutoff(text, whole) if parameter.kind == "cutoff" else float(_value(parameter, text, whole))


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
    lacking = next((p for p in found.parameters if p.required and p.name not in values), None)
    if lacking is not None:
        raise UsageError(f'{found.name} needs {lacking.name}, {lacking.values()}: "{shortened(text)}"')
    complete = {p.name: values.get(p.name, p.default) for p in found.parameters}
    for p in found.parameters:
        if p.exceeds and complete[p.name] <= complete[p.exceeds]:
            raise UsageError(
                f"{p.name}={complete[p.name]:g} must be more than {p.exceeds}={complete[p.exceeds]:g}: "
                f'"{shortened(text)}"'
            )
    return Asked(found, tuple(complete.values()))


def _whole_list(found: Measure, values: dict[str, Any], text: str) -> Asked:
    """What a measure that needs a cut-off means without one."""
    other = MEASURES[str(found.without_k)]
    lacking = [key for key in values if other.parameter(key) is None]
    if lacking:
        raise UsageError(
            f'{found.name} with {lacking[0]} needs a cut-off, for example {found.name}(…)@10: "{shortened(text)}"'
        )
    return _with(other, values, text)
