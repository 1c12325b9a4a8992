"""The rules of value: everything that two evaluators could decide differently, declared once."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankmeter.arguments import check_flag, check_positive, check_text, finite, wrong
from rankmeter.errors import UsageError

CHOICES: Mapping[str, tuple[str, ...]] = {
    "ties": ("doc-id-desc", "doc-id-asc", "input-order", "best", "worst", "expected"),
    "missing_queries": ("zero", "skip"),
    "without_relevant": ("zero", "skip"),
    "duplicates": ("error", "first"),
    "qrels_conflicts": ("error", "max", "last"),
    "nan": ("error", "last"),
    "score_type": ("float64", "float32"),
    "recall_points": ("nearest", "up"),
    "gain_from": ("all", "relevant", "binary"),
    "ap_norm": ("rel", "min", "hits"),
    "precision_norm": ("k", "retrieved"),
}
"""The values each rule can take, the default first."""

BOUNDS = ("best", "worst")
"""Orders of ties that go by the grades, and bound what ties could change."""

ORDERS = ("score", "rank", "row")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force; part of every output.

    Attributes:
        convention: the named set they started from.
        relevance_level: grade from which a document is relevant.
        order_by: what orders a list: `score`, `rank`, `row`, `COLUMN:asc` or `COLUMN:desc`; None: score, else rank,
            else, for list columns, the order given.
        ties: order of documents with equal keys; `best` and `worst` go by grade, and bound what ties could
            change; `expected` is the mean over all orders.
        missing_queries: whether judged queries without results count as empty lists.
        without_relevant: whether queries without a relevant document count.
        judged_only: whether documents that are not judged, or judged below 0, are left out of the lists.
        ignore_self: whether rows and judgements are left out whose document is the query.
        depth: how many documents of a list are looked at; None: all.
        duplicates: a document twice in one list: an error, or the first one in rank order counts.
        qrels_conflicts: two grades for one query and document: an error, or the highest, or the last.
        nan: NaN scores: an error, or as the lowest score of all.
        score_type: in which type scores are compared.
        recall_points: how the number of documents is rounded that a recall stands for (IPrec, IPrecAvg11).
        gain_from: which grades have gain: all above 0, only relevant ones, or these and each of them 1.
        ap_norm: what divides AP at k: the relevant documents, min(k, relevant), or the hits among the first k.
        precision_norm: what divides P at k: k, or what was retrieved of it.
        recall_cap: whether R at k divides by min(k, relevant).
    """

    convention: str = "trec_eval"
    relevance_level: float = 1.0
    order_by: str | None = None
    ties: str = "doc-id-desc"
    missing_queries: str = "zero"
    without_relevant: str = "zero"
    judged_only: bool = False
    ignore_self: bool = False
    depth: int | None = None
    duplicates: str = "error"
    qrels_conflicts: str = "error"
    nan: str = "error"
    score_type: str = "float64"
    recall_points: str = "nearest"
    gain_from: str = "all"
    ap_norm: str = "rel"
    precision_norm: str = "k"
    recall_cap: bool = False

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            option = f"--{name.replace('_', '-')}"
            check_text(option, getattr(self, name), " or ".join(known))
            if getattr(self, name) not in known:
                raise UsageError.unknown(f"value of {option}", getattr(self, name), known)
        object.__setattr__(self, "relevance_level", finite("the relevance level", self.relevance_level))
        for name in ("judged_only", "ignore_self", "recall_cap"):
            check_flag(f"--{name.replace('_', '-')}", getattr(self, name))
        if self.depth is not None:
            check_positive("--depth", self.depth)
        if self.order_by is not None:
            _check_order(self.order_by)

    def as_dict(self) -> dict[str, Any]:
        """Every rule, for outputs."""
        return {
            **asdict(self),
            "order_by": self.order_by or "score, else rank, else the order given",
            "depth": self.depth or "all",
        }


def _check_order(order_by: str) -> None:
    rule = f"{', '.join(ORDERS)}, COLUMN:asc or COLUMN:desc"
    check_text("--order-by", order_by, rule)
    column, _, direction = order_by.rpartition(":")
    if order_by not in ORDERS and (not column or direction not in ("asc", "desc")):
        raise wrong("--order-by", rule, order_by)


TREC_EVAL_9 = Rules("trec_eval-9", score_type="float32", recall_points="up")

CONVENTIONS: Mapping[str, Rules] = {
    "trec_eval": Rules(),
    "trec_eval-9": TREC_EVAL_9,
    "pytrec_eval": replace(TREC_EVAL_9, convention="pytrec_eval", missing_queries="skip"),
    "ranx": Rules("ranx", gain_from="relevant"),
    "spark": Rules("spark", gain_from="binary", ap_norm="min"),
}
"""Name -> rules: trec_eval 10.0 with -c, its version 9, pytrec_eval, which has that inside, ranx, Spark."""


def rules(convention: str = "trec_eval", **changes: Any) -> Rules:
    """A named convention with some rules changed; changes that are None keep the convention's rule.

    Raises:
        UsageError: an unknown convention or a value that a rule cannot take.
    """
    check_text("convention", convention, " or ".join(CONVENTIONS))
    if convention not in CONVENTIONS:
        raise UsageError.unknown("convention", convention, CONVENTIONS)
    return replace(CONVENTIONS[convention], **{name: value for name, value in changes.items() if value is not None})
