"""The rules of value: everything that two evaluators could decide differently, declared once."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankmeter.arguments import check_text, finite, wrong
from rankmeter.errors import UsageError

CHOICES: Mapping[str, tuple[str, ...]] = {
    "ties": ("doc-id-desc", "doc-id-asc", "input-order"),
    "missing_queries": ("zero", "skip"),
    "without_relevant": ("zero", "skip"),
}
"""The values each rule can take, the default first."""

ORDERS = ("score", "rank", "row")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force; part of every output.

    Attributes:
        convention: the named set they started from.
        relevance_level: grade from which a document is relevant.
        order_by: what orders a list: `score`, `rank`, `row`, `COLUMN:asc` or `COLUMN:desc`; None: score, else rank,
            else, for list columns, the order given.
        ties: order of documents with equal keys.
        missing_queries: whether judged queries without results count as empty lists.
        without_relevant: whether queries without a relevant document count.
    """

    convention: str = "trec_eval"
    relevance_level: float = 1.0
    order_by: str | None = None
    ties: str = "doc-id-desc"
    missing_queries: str = "zero"
    without_relevant: str = "zero"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            option = f"--{name.replace('_', '-')}"
            check_text(option, getattr(self, name), " or ".join(known))
            if getattr(self, name) not in known:
                raise UsageError.unknown(f"value of {option}", getattr(self, name), known)
        object.__setattr__(self, "relevance_level", finite("the relevance level", self.relevance_level))
        if self.order_by is not None:
            _check_order(self.order_by)

    def as_dict(self) -> dict[str, Any]:
        """Every rule, for outputs."""
        return {**asdict(self), "order_by": self.order_by or "score, else rank, else the order given"}


def _check_order(order_by: str) -> None:
    rule = f"{', '.join(ORDERS)}, COLUMN:asc or COLUMN:desc"
    check_text("--order-by", order_by, rule)
    column, _, direction = order_by.rpartition(":")
    if order_by not in ORDERS and (not column or direction not in ("asc", "desc")):
        raise wrong("--order-by", rule, order_by)


CONVENTIONS: Mapping[str, Rules] = {"trec_eval": Rules()}


def rules(convention: str = "trec_eval", **changes: Any) -> Rules:
    """A named convention with some rules changed; changes that are None keep the convention's rule.

    Raises:
        UsageError: an unknown convention or a value that a rule cannot take.
    """
    check_text("convention", convention, " or ".join(CONVENTIONS))
    if convention not in CONVENTIONS:
        raise UsageError.unknown("convention", convention, CONVENTIONS)
    return replace(CONVENTIONS[convention], **{name: value for name, value in changes.items() if value is not None})
