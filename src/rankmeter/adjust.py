"""What the rules in force make of lists and hits: repeated documents, tie bounds, depth, judged documents only.

The order of work is that of trec_eval: order, repeated documents, depth, judged only; cut-offs are the measures' own.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from rankmeter.bounds import extents, rearrange
from rankmeter.conflicts import is_own
from rankmeter.conventions import BOUNDS, Rules
from rankmeter.ids import Array
from rankmeter.ranking import Hits, RankedLists

ROW = "number of a row"
"""Helper column; the blanks keep it apart from every role."""


def without_own(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of a run, flat or with lists, without the documents that are the query itself, and these as flat rows."""
    lists = [name for name in ("doc_ids", "scores", "ranks") if name in frame.columns]
    if not lists:
        own = is_own(frame["query_id"], frame["doc_id"])
        return frame.filter(~own), frame.filter(own)
    numbered = frame.with_row_index(ROW)
    flat = numbered.filter(pl.col("doc_ids").list.len() > 0).explode(lists)
    own = is_own(flat["query_id"], flat["doc_ids"])
    kept = flat.filter(~own).group_by(ROW, maintain_order=True).agg(lists)
    empty = [pl.col(name).fill_null(pl.lit(pl.Series([[]], dtype=frame[name].dtype))) for name in lists]
    joined = numbered.drop(lists).join(kept, on=ROW, how="left", maintain_order="left").with_columns(empty)
    return joined.select(frame.columns), flat.filter(own)


def without_repeats(lists: RankedLists) -> tuple[RankedLists, Array]:
    """Lists in which only the first of equal documents in rank order is left, and how many each lost (int64)."""
    number = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    rows = pl.DataFrame({"list": number, "document": lists.documents(), "key": lists.key}).with_row_index("row")
    first = rows.sort("list", "key", "row", descending=[False, True, False]).unique(["list", "document"], keep="first")
    kept = np.zeros(len(number), bool)
    kept[first["row"].to_numpy()] = True
    return lists.only(kept), np.bincount(number[~kept], minlength=len(lists))


def adjusted(hits: Hits, lists: RankedLists, rules: Rules) -> tuple[Hits, dict[str, Array]]:
    """The hits under the rules in force, and for each reason how many rows of each list were left out (int64)."""
    left_out: dict[str, Array] = {}
    if rules.ties in BOUNDS:
        hits = bounded(hits, lists, best=rules.ties == "best")
    if rules.ties == "expected":
        above, size = extents(lists.offsets, lists.key, hits.offsets, hits.tied, hits.rank)
        hits = replace(hits, above=above, size=size)
    if rules.depth is not None:
        length = np.minimum(hits.num_ret, rules.depth)
        left_out["rows_deep"] = hits.num_ret - length
        hits = only(replace(hits, num_ret=length), hits.rank <= rules.depth)
    if rules.judged_only:
        length = hits.num_ret
        hits = only(hits, hits.grade >= 0)
        counts = np.diff(hits.offsets)
        rank = np.arange(1, len(hits.rank) + 1) - np.repeat(hits.offsets[:-1], counts)
        hits = replace(hits, num_ret=counts, rank=rank)
        left_out["rows_not_judged"] = np.where(hits.query >= 0, length - counts, 0)
    return hits, left_out


def only(hits: Hits, kept: Array) -> Hits:
    """Some of the hits (bool)."""
    if kept.all():
        return hits
    ends = np.concatenate([[0], np.cumsum(kept)])
    return replace(
        hits,
        offsets=ends[hits.offsets],
        judgement=hits.judgement[kept],
        rank=hits.rank[kept],
        grade=hits.grade[kept],
    )


def bounded(hits: Hits, lists: RankedLists, *, best: bool) -> Hits:
    """Hits whose ranks are the best, or the worst, that the order of ties allows."""
    judgement, rank, grade = hits.judgement.copy(), hits.rank.copy(), hits.grade.copy()
    rearrange(lists.offsets, lists.key, hits.offsets, hits.tied, (judgement, rank, grade), best)
    return replace(hits, judgement=judgement, rank=rank, grade=grade)
