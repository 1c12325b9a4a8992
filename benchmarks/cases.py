"""The table of cases: what is generated, and what is compared with what."""

from dataclasses import dataclass

MEASURES = "P@10 R@100 RR@10 AP@100 nDCG@10 Success@10"
"""What every tool computes."""

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
MANY = " ".join(f"{name}@{k}" for name in ("P", "R", "F1", "Success", "RR", "AP", "nDCG") for k in CUTOFFS) + " Rprec"
"""Fifty measures."""


@dataclass(frozen=True)
class Case:
    """One set of data.

    Attributes:
        queries: number of queries.
        depth: results of each.
        layout: `flat` (one row a result), `lists` (one row a query), `shuffled` (flat, rows in any order), `table` (a
            table with a run column), `files` (one file a system), `parts` (a folder of files) or `trec` (text).
        ids: `text` (8 bytes), `long` (32 bytes) or `integer`.
        documents: number of distinct documents, a prime, so that any step through them meets each.
        row_group: rows of a row group.
        judged: judged documents of a query; None: two to eight.
        systems: number of runs.
        measures: what is computed.
        note: what the case is for.
    """

    queries: int
    depth: int = 100
    layout: str = "flat"
    ids: str = "text"
    documents: int = 7_999_993
    row_group: int = 1 << 20
    judged: int | None = None
    systems: int = 1
    measures: str = MEASURES
    note: str = ""

    @property
    def rows(self) -> int:
        """Results in all."""
        return self.queries * self.depth * self.systems


CASES = {
    "flat-1m": Case(10_000, note="one row a result, 100 results a query, text ids of 8 bytes"),
    "flat-10m": Case(100_000, note="the same"),
    "flat-100m": Case(1_000_000, note="the same"),
    "flat-1b": Case(10_000_000, layout="parts", note="the same in 100 files"),
    "integer-10m": Case(100_000, ids="integer", note="integer ids"),
    "long-10m": Case(100_000, ids="long", note="ids of 32 bytes"),
    "few-documents-10m": Case(100_000, documents=49_999, note="50,000 distinct documents"),
    "small-groups-10m": Case(100_000, row_group=120_000, note="row groups of 120,000 rows"),
    "lists-10m": Case(100_000, layout="lists", note="list columns, one row a query"),
    "shuffled-10m": Case(100_000, layout="shuffled", note="rows in no order"),
    "shuffled-100m": Case(1_000_000, layout="shuffled", note="rows in no order"),
    "deep-1000": Case(10_000, depth=1_000, note="1,000 results a query"),
    "deep-10000": Case(1_000, depth=10_000, note="10,000 results a query"),
    "one-query-10m": Case(1, depth=10_000_000, documents=15_999_989, note="one query with 10 million results"),
    "judged-100k": Case(50, depth=200_000, judged=100_000, note="100,000 judged documents a query"),
    "table-of-20": Case(5_000, layout="table", systems=20, note="20 systems in one table"),
    "files-of-20": Case(5_000, layout="files", systems=20, note="20 systems as 20 files"),
    "many-measures-10m": Case(100_000, measures=MANY, note="50 measures"),
    "trec-10m": Case(100_000, layout="trec", note="TREC text"),
}

DEFAULT = ("flat-1m", "flat-10m")
PEERS = ("flat-1m", "flat-10m", "flat-100m")
"""The cases that other tools take part in."""
