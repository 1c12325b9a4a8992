"""The registry: what a measure is, and the one place where each declares itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

NO_CUTOFF = 2**62
"""What a kernel gets where there is no cut-off."""

LARGEST_CUTOFF = 2**31

TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
"""The cut-offs of most of trec_eval's measures."""

NOTHING: Mapping[str, Any] = MappingProxyType({})

Ranks = Sequence[int]
Grades = Sequence[float]
Gains = Sequence[float]
Kernel = Callable[..., float]
F = TypeVar("F", bound=Callable[..., Any])

LAWS = {
    "swap": "moving a neighbour up that is as good or better never lowers it, wherever the list is cut off then; "
    "unjudged is as good as judged 0 or below",
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
        name: as written in brackets; cut-offs and points are written behind `@`.
        kind: `cutoff` (a whole number of documents), `point` (a number behind `@`), `level`, `floor` (a level below
            which no grade has gain), `number`, `numbers`, `gains` (grade=gain pairs), `choice` or `flag`.
        default: None for a cut-off is no cut-off; None for a level is the relevance level in force, for a floor that
            level where only relevant documents have gain, and with `rule` the rule in force.
        help: what it does.
        low: the lowest value.
        above: the value that must be exceeded, where there is no lowest.
        high: the highest value.
        choices: the values of a choice.
        required: whether it must be given.
        view: what it changes of what the kernel sees, whose argument it then is not; see `rankmeter.catalogue.view`.
        synonyms: other spellings, `name=value` in small letters -> value.
        example: a value to show.
        rule: the rule that holds where it is not given.
        differs: what others do otherwise, of any measure that has it.
        exceeds: the parameter whose value it must exceed.
        scale: whether no grade may be higher.
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
    view: str = ""
    synonyms: tuple[tuple[str, str], ...] = ()
    example: str = "2"
    rule: str | None = None
    differs: str = ""
    exceeds: str = ""
    scale: bool = False

    @property
    def behind_at(self) -> bool:
        """Whether it is written behind `@`."""
        return self.kind in ("cutoff", "point")

    def allows(self, number: float) -> bool:
        """Whether a number is within the bounds."""
        low = self.low is None or self.low <= number
        above = self.above is None or self.above < number
        return low and above and (self.high is None or number <= self.high)

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
        if self.kind == "gains":
            return "pairs in quotes, such as '1=3,2=7'"
        many = "numbers in quotes, each" if self.kind == "numbers" else "a number"
        low = "" if self.low is None else f" from {self.low:g}"
        above = "" if self.above is None else f" above {self.above:g}"
        high = "" if self.high is None else f" up to {self.high:g}"
        return f"{many}{low}{above}{high}"


K = Parameter("k", "cutoff", None, "how many documents from the top count; all without it", low=1, example="10")
K_REQUIRED = replace(K, help="how many documents from the top count", required=True)
REL = Parameter("rel", "level", None, "grade from which a document is relevant; else the relevance level in force")
JUDGED_ONLY = Parameter(
    "judged_only", "flag", default=False, help="leave out what is not judged, and rank anew", view="judged_only"
)
GAIN = Parameter(
    "gain",
    "choice",
    None,
    "what a grade above 0 is worth: itself or 2^grade - 1; or 1 for each relevant document; else the rule in force",
    choices=("linear", "exp", "binary"),
    view="gain",
    example="exp",
    synonyms=(("dcg=log2", "linear"), ("dcg=exp-log2", "exp")),
    rule="gain_from",
)
GAINS = Parameter(
    "gains", "gains", (), "what grades are worth instead; grades that are not named keep theirs", view="gains"
)
GAIN_REL = Parameter(
    "rel",
    "floor",
    None,
    "grade from which a document has gain; else the level in force with gain=binary, --gain-from relevant or binary",
    view="floor",
)
REACHED = Parameter(
    "rel",
    "level",
    None,
    "the value is 0 where no grade reaches this, from which a document is relevant; else the level in force",
    view="least",
)


@dataclass(frozen=True, slots=True, eq=False)  # one object each
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
        aggregate: `mean`, `sum` or `geometric` over queries.
        empty: its value when nothing is relevant.
        missing: its value for a query without results.
        trec: trec_eval's name without a cut-off.
        trec_cut: trec_eval's name with a cut-off (or a point), which is written `name_k`.
        trec_cuts: the cut-offs (or points) that this name stands for where it names none.
        trec_values: parameters that trec_eval's name implies, other than the defaults here.
        trec_numbers: what numbers behind trec_eval's name mean: numbers -> parameters.
        without_k: the measure that the bare name means, where it needs a cut-off itself.
        source: where the formula is from.
        elsewhere: what other tools call it: `tool name; tool name`.
        differs: what others do otherwise.
        of_subtopics: whether documents are judged for each subtopic; see `rankmeter.catalogue.diverse` for its kernel.
        needs_all_relevant: whether it uses the number of relevant documents or the ideal list.
        laws: names of the `LAWS` that hold for the defaults of all parameters.
        unless: law -> the parameter and the value of it with which this law does not hold.
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
    trec_cuts: tuple[float, ...]
    trec_values: Mapping[str, Any]
    trec_numbers: Callable[[tuple[float, ...]], dict[str, Any]] | None
    without_k: str | None
    source: str
    elsewhere: str
    differs: str
    of_subtopics: bool
    needs_all_relevant: bool
    laws: frozenset[str]
    unless: Mapping[str, tuple[str, Any]]

    @property
    def formula(self) -> str:
        """The formula in words."""
        return " ".join((self.kernel.__doc__ or "").split())

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


MEASURES: dict[str, Measure] = {}
"""Canonical name -> measure, in the order of declaration."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of a measure over all orders of ties.

    Attributes:
        kernel: `kernel(above, size, grade, ideal, num_ret, *parameters)`: for each judged document found, how many
            documents stand before its tie, and how many are in it; else as the measure's own kernel.
        without: parameters and values with which it is not known.
    """

    kernel: Kernel
    without: Mapping[str, Any]


EXPECTED: dict[str, Expected] = {}
"""Canonical name -> what to expect."""

SHARED: list[Callable[..., Any]] = []
"""Helpers that kernels call, in the order of declaration."""

TABULATED: dict[Callable[[int], float], int] = {}
"""Helpers that are looked up where they are compiled, and for how many numbers from 0."""

TREC_OFFICIAL = "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
TREC_OTHERS = (
    "recall infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success "
    "set_P set_relative_P set_recall set_map set_F num_nonrel_judged_ret rbp rbp_resid unj"
)
SUITES = {
    "rag": ["P@{k}", "R@{k}", "F1@{k}", "Success@{k}", "RR@{k}", "AP@{k}", "nDCG@{k}"],
    "recsys": ["Success@{k}", "P@{k}", "R@{k}", "RR@{k}", "AP(norm=min)@{k}", "nDCG@{k}"],
    "mteb": ["nDCG@10", "AP"],
    "trec": TREC_OFFICIAL.split(),
    "trec_all": f"{TREC_OFFICIAL} {TREC_OTHERS}".split(),
    "set": ["set_P", "set_relative_P", "set_recall", "set_map", "set_F"],
}
"""Name -> measures, in any spelling; those with `{k}` need a cut-off. `rag@k` is the window that a prompt reads."""

OTHER_SUITES = {"official": "trec", "all_trec": "trec_all"}
"""What trec_eval calls suites."""


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


def expected(name: str, **without: Any) -> Callable[[F], F]:
    """Declare the decorated kernel as what to expect of a measure over all orders of ties; see `Expected`."""

    def register(kernel: F) -> F:
        EXPECTED[name] = Expected(kernel, without)
        return kernel

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
    trec_cuts: tuple[float, ...] = TREC_CUTS,
    trec_values: Mapping[str, Any] = NOTHING,
    trec_numbers: Callable[[tuple[float, ...]], dict[str, Any]] | None = None,
    without_k: str | None = None,
    elsewhere: str = "",
    differs: str = "",
    of_subtopics: bool = False,
    needs_all_relevant: bool = False,
    laws: str = "",
    unless: Mapping[str, tuple[str, Any]] = NOTHING,
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
            trec_cuts,
            trec_values,
            trec_numbers,
            without_k,
            source,
            elsewhere,
            differs,
            of_subtopics,
            needs_all_relevant,
            frozenset(laws.split()),
            unless,
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
