"""The table of cases: what is generated, and what is compared with what."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One set of data.

    Attributes:
        queries: number of queries.
        depth: results of each.
        layout: `flat` (one row a result), `lists` (one row a query) or `shuffled` (flat, rows in any order).
        ids: `text` (8 bytes), `long` (32 bytes) or `integer`.
        documents: number of distinct documents, a prime, so that any step through them meets each.
        row_group: rows of a row group.
    """

    queries: int
    depth: int = 100
    layout: str = "flat"
    ids: str = "text"
    documents: int = 7_999_993
    row_group: int = 1 << 20

    @property
    def rows(self) -> int:
        """Results in all."""
        return self.queries * self.depth


CASES = {
    "flat-1m": Case(10_000),
    "flat-10m": Case(100_000),
    "flat-100m": Case(1_000_000),
    "lists-10m": Case(100_000, layout="lists"),
    "shuffled-10m": Case(100_000, layout="shuffled"),
    "integer-10m": Case(100_000, ids="integer"),
    "long-10m": Case(100_000, ids="long"),
    "few-documents-10m": Case(100_000, documents=49_999),
    "small-groups-10m": Case(100_000, row_group=120_000),
    "deep-10m": Case(1_000, depth=10_000),
}

DEFAULT = ("flat-1m", "flat-10m")
MEASURES = "nDCG@10 RR@10 AP@100 P@10 R@100"
