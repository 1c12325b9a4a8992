"""Judgements that do not fit into memory: they are taken in shares of the queries, the run once for each share.

Which share a query belongs to follows from the hash of its text. What the shares gave is put together as if they had
been one: values by query, hits with their documents, counts added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.tally import EXAMPLES, Notice
from rankmeter.conflicts import judgement_notice
from rankmeter.ids import IdColumn, byte_order
from rankmeter.passes import Pass
from rankmeter.qrels import QrelsIndex
from rankmeter.store import RunValues

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the passes over all runs gave.

    Attributes:
        index: the judgements.
        by: the segments, one row per query.
        from_run: the segments that the runs held.
        notices: warnings of the judgements.
        passes: one per input.
    """

    index: QrelsIndex
    by: pl.DataFrame
    from_run: tuple[str, ...]
    notices: tuple[Notice, ...]
    passes: tuple[Pass, ...]


def lightened(share: Evaluation) -> Evaluation:
    """The evaluation of a share without what only further passes would need."""
    index, start = share.index, 0
    documents, grades = [], []
    for done in share.passes:
        for kept in done.store.runs.values():
            for number, hits in enumerate(kept.hits):
                documents.append(index.documents.series[hits.judgement].rechunk())
                grades.append(hits.grade)
                kept.hits[number] = replace(hits, judgement=np.arange(start, start + len(hits.judgement)))
                start += len(hits.judgement)
    hit = pl.concat(documents) if documents else index.documents.series[:0]
    nothing = np.zeros(0)
    light = replace(
        index,
        starts=nothing,
        ends=nothing,
        documents=IdColumn(hit),
        grade=np.concatenate([nothing, *grades]),
        ideal=nothing,
    )
    return replace(share, index=light)


def together(shares: Sequence[Evaluation]) -> Evaluation:
    """The evaluation of all queries."""
    queries = pl.concat([share.index.queries.series for share in shares])
    order = byte_order(queries)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    starts = np.cumsum([0, *(len(share.index) for share in shares)])
    first_hits = np.cumsum([0, *(len(share.index.documents.series) for share in shares)])
    nothing = np.zeros(0)
    index = QrelsIndex(
        IdColumn(queries[order].rechunk()),
        nothing,
        nothing,
        IdColumn(pl.concat([share.index.documents.series for share in shares])),
        np.concatenate([share.index.grade for share in shares]),
        nothing,
        np.concatenate([share.index.n_judged for share in shares])[order],
        np.concatenate([share.index.n_relevant for share in shares])[order],
        pl.DataFrame(),
    )
    passes = []
    for number, first in enumerate(shares[0].passes):
        parts = [share.passes[number] for share in shares]
        places = [place[start : start + len(share.index)] for start, share in zip(starts, shares, strict=False)]
        for run in first.store.runs:
            joined = _joined([part.store.runs[run] for part in parts], order, places, first_hits)
            first.store.runs[run] = joined
            for part in parts[1:]:
                first.tally(run).merge(part.tally(run))
        for part in parts[1:]:
            first.notes.merge(part.notes, distinct_only=True)
        passes.append(first)
    by = pl.concat([share.by for share in shares])[order] if shares[0].by.width else shares[0].by
    return Evaluation(index, by, shares[0].from_run, _notices(shares), tuple(passes))


def _joined(parts: Sequence[RunValues], order: Array, places: Sequence[Array], first_hits: Array) -> RunValues:
    """The values of one run."""
    hits = [
        replace(one, query=where[one.query], judgement=one.judgement + start)
        for part, where, start in zip(parts, places, first_hits, strict=False)
        for one in part.hits
    ]

    def column(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    return RunValues(column("values"), column("num_ret"), column("seen"), column("tied"), hits)


def _notices(shares: Sequence[Evaluation]) -> tuple[Notice, ...]:
    """The warnings of judgements, those of each code counted together."""
    notices = [notice for share in shares for notice in share.notices]
    found = []
    for code in dict.fromkeys(notice.code for notice in notices):
        alike = [notice for notice in notices if notice.code == code]
        examples = tuple(example for notice in alike for example in notice.examples)[:EXAMPLES]
        found.append(judgement_notice(code, sum(notice.count for notice in alike), examples))
    return tuple(found)
