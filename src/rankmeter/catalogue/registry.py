"""The registry: what a measure is, and the one place where each declares itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

NO_CUTOFF = 2**62
"""What a kernel gets where there is no cut-off."""

LARGEST_CUTOFF = 2**31

Ranks = Sequence[int]
Grades = Sequence[float]
Kernel = Callable[..., float]
F = TypeVar("F", bound=Callable[..., Any])

LAWS = {
    "swap": "moving a neighbour up that is as good or better never lowers it; unjudged is as good as judged 0 or below",
    "replacement": "raising the grade of a retrieved document never lowers it",
    "tail": "documents below the cut-off do not matter",
    "padding": "unjudged documents at the end change nothing",
    "unretrieved": "documents judged 0 or below that were not retrieved change nothing",
    "ideal": "the ideal list has the value 1 where something is relevant",
    "deep": "a cut-off beyond the list and the judgements is the same as none",
}
"""The laws that measures declare for the defaults of their parameters, and that tests hold them to."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a measure.

    Attributes:
        name: as written in brackets; `k` is written behind `@`.
        kind: `cutoff`, `level`, `number`, `choice` or `flag`.
        default: None for a cut-off is no cut-off, None for a level is the relevance level in force.
        help: what it does.
        low: the lowest value.
        above: the value that must be exceeded, where there is no lowest.
        high: the highest value.
        choices: the values of a choice.
        required: whether it must be given.
    """

    name: str
    kind: str
    default: Any
    help: str
    low: float | None = None
    above: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    required: bool = False

    def values(self) -> str:
        """What it can be, in words.

        >>> K.values()
        'a whole number from 1'
        """
        if self.kind == "cutoff":
            return "a whole number from 1"
        if self.kind == "choice":
            return " or ".join(self.choices)
        if self.kind == "flag":
            return "true or false"
        low = "" if self.low is None else f" from {self.low:g}"
        above = "" if self.above is None else f" above {self.above:g}"
        high = "" if self.high is None else f" up to {self.high:g}"
        return f"a number{low}{above}{high}"


K = Parameter("k", "cutoff", None, "how many documents from the top count; all without it", low=1)
K_REQUIRED = Parameter("k", "cutoff", None, "how many documents from the top count", low=1, required=True)
REL = Parameter("rel", "level", None, "grade from which a document is relevant; else the relevance level in force")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of one query, and how queries are put together.

    Attributes:
        name: canonical name.
        aliases: other names, in any case.
        title: what it says, in one line.
        kernel: `kernel(rank, grade, ideal, num_ret, *parameters) -> float`: ranks (from 1, ascending) and grades of the
            judged documents found, all judged grades sorted downwards, the length of the list, the parameters.
        parameters: in the order in which the kernel takes them.
        bounds: lowest and highest value.
        aggregate: `mean` or `sum` over queries.
        empty: its value when nothing is relevant.
        missing: its value for a query without results.
        trec: trec_eval's name without a cut-off.
        trec_cut: trec_eval's name with a cut-off, which is written `name_k`.
        without_k: the measure that the bare name means, where it needs a cut-off itself.
        source: where the formula is from.
        needs_all_relevant: whether it uses the number of relevant documents or the ideal list.
        laws: names of the `LAWS` that hold.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    kernel: Kernel
    parameters: tuple[Parameter, ...]
    bounds: tuple[float, float]
    aggregate: str
    empty: str
    missing: str
    trec: str | None
    trec_cut: str | None
    without_k: str | None
    source: str
    needs_all_relevant: bool
    laws: frozenset[str]

    @property
    def formula(self) -> str:
        """The formula in words."""
        return " ".join((self.kernel.__doc__ or "").split())

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


MEASURES: dict[str, Measure] = {}
"""Canonical name -> measure, in the order of declaration."""

SHARED: list[Callable[..., Any]] = []
"""Helpers that kernels call, in the order of declaration."""

TABULATED: dict[Callable[[int], float], int] = {}
"""Helpers that are looked up where they are compiled, and for how many numbers from 0."""

SUITES = {"rag": ("P@{k}", "R@{k}", "F1@{k}", "Success@{k}", "RR@{k}", "AP@{k}", "nDCG@{k}")}
"""Name -> measures; `rag@k` is the window that a prompt reads."""


def shared(function: F) -> F:
    """A small function that kernels call."""
    SHARED.append(function)
    return function


def tabulated(size: int) -> Callable[[F], F]:
    """A small function of a whole number that kernels call often: compiled code looks the first values up."""

    def register(function: F) -> F:
        TABULATED[function] = size
        return function

    return register


def measure(  # the declaration of a measure is the one place with all its facts
    name: str,
    *,
    title: str,
    source: str,
    parameters: tuple[Parameter, ...] = (),
    aliases: tuple[str, ...] = (),
    bounds: tuple[float, float] = (0.0, 1.0),
    aggregate: str = "mean",
    empty: str = "0",
    missing: str = "0",
    trec: str | None = None,
    trec_cut: str | None = None,
    without_k: str | None = None,
    needs_all_relevant: bool = False,
    laws: str = "",
) -> Callable[[Kernel], Kernel]:
    """Declare the decorated kernel as a measure; see `Measure`.

    Raises:
        ValueError: the name or an alias is taken, or a law is unknown.
    """

    def register(kernel: Kernel) -> Kernel:
        declared = Measure(
            name,
            aliases,
            title,
            kernel,
            parameters,
            bounds,
            aggregate,
            empty,
            missing,
            trec,
            trec_cut,
            without_k,
            source,
            needs_all_relevant,
            frozenset(laws.split()),
        )
        _check(declared)
        MEASURES[name] = declared
        return kernel

    return register


def names_of(declared: Measure) -> set[str]:
    """Every name of a measure in small letters."""
    return {name.casefold() for name in (declared.name, *declared.aliases)}


def _check(declared: Measure) -> None:
    if unknown := declared.laws - LAWS.keys():
        raise ValueError(f"{declared.name} declares unknown laws: {unknown}")
    for other in (*MEASURES.values(),):
        if taken := names_of(declared) & names_of(other):
            raise ValueError(f"{declared.name} and {other.name} share the names {taken}")
