"""From frames to ranked lists, and from lists to hits: relevance at rank."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter import matching
from rankmeter.ids import Held, both_integers, list_heads
from rankmeter.judgements import Judged
from rankmeter.matching import Found, Lists, Scratch
from rankmeter.qrels import QrelsIndex
from rankmeter.words import DOC_ID_ASC, DOC_ID_DESC, INPUT_ORDER, INTEGER, Ids

Array = np.ndarray[Any, Any]

TIES = {"doc-id-desc": DOC_ID_DESC, "doc-id-asc": DOC_ID_ASC, "input-order": INPUT_ORDER}
"""How ties are ordered; where the grades decide, that is done later."""


@dataclass(frozen=True, slots=True)
class RankedLists:
    """Lists of one batch, one after the other, as frames have them.

    Attributes:
        query_id: the query of each list.
        offsets: int64, where each list begins in the rows, and the end.
        doc_id: the document of each row.
        key: float64, what orders the rows of a list, downwards.
        rank: float64, a rank column that the key was not made of, or None.
        heads: one row per list with the run column and the segments taken from the run.
    """

    query_id: pl.Series
    offsets: Array
    doc_id: pl.Series | Held
    key: Array
    rank: Array | None
    heads: pl.DataFrame

    def __len__(self) -> int:
        return len(self.query_id)

    def documents(self) -> pl.Series:
        """The document of each row."""
        if isinstance(self.doc_id, pl.Series):
            return self.doc_id
        return pl.Series([self.doc_id[i] for i in range(len(self.doc_id))])

    def only(self, kept: Array) -> "RankedLists":
        """Some of the rows (bool) of all lists."""
        ends = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            offsets=ends[self.offsets],
            doc_id=self.documents().filter(pl.Series(kept)),
            key=self.key[kept],
            rank=None if self.rank is None else self.rank[kept],
        )

    def between(self, start: int, stop: int) -> "RankedLists":
        """The lists from number `start` up to, but without, number `stop`."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return RankedLists(
            self.query_id[start:stop],
            self.offsets[start : stop + 1] - first,
            self.doc_id[first:last] if isinstance(self.doc_id, pl.Series) else self.doc_id.between(first, last),
            self.key[first:last],
            None if self.rank is None else self.rank[first:last],
            self.heads[start:stop],
        )


@dataclass(frozen=True, slots=True)
class Order:
    """What orders a list: a column, upwards or downwards, in float32 or not; `row` is the order given."""

    column: str
    upwards: bool
    single: bool = False

    def key(self, columns: Mapping[str, pl.Series], n: int) -> Array:
        """The key of each row, to be ordered downwards (float64)."""
        if self.column == "row":
            return falling(n)
        key = columns[self.column].rechunk().to_numpy()
        key = -key if self.upwards else key
        if self.single:
            with np.errstate(over="ignore"):  # what is beyond float32 ties, as it does there
                key = key.astype(np.float32).astype(np.float64)
        key.flags.writeable = False
        return key


def falling(n: int) -> Array:
    """Keys of rows that stand in order already."""
    key = np.arange(0, -n, -1, dtype=np.float64)
    key.flags.writeable = False
    return key


def flat_lists(frame: pl.DataFrame, order: Order) -> RankedLists:
    """Lists from rows of one (query, document) each; neighbouring rows of one query and run are one list."""
    offsets = list_heads(frame["query_id"])
    if "run" in frame.columns:
        offsets = np.union1d(offsets, list_heads(frame["run"]))
    return lists_at(frame, offsets, frame["query_id"][offsets[:-1]], order)


def lists_at(frame: pl.DataFrame, offsets: Array, query_id: pl.Series, order: Order) -> RankedLists:
    """Lists from rows of one document each, where it is known where the lists begin and whose they are."""
    extra = [name for name in frame.columns if name not in ("query_id", "doc_id", "score", "rank", "grade")]
    return RankedLists(
        query_id,
        offsets,
        frame["doc_id"],
        order.key({name: frame[name] for name in ("score", "rank") if name in frame.columns}, frame.height),
        _other_rank(frame, "rank", order),
        frame.select(extra)[offsets[:-1]] if extra else pl.DataFrame(),
    )


def nested_lists(frame: pl.DataFrame, order: Order) -> RankedLists:
    """Lists from rows that hold a whole list each, all its columns equally long."""
    lengths = frame["doc_ids"].list.len().cast(pl.Int64).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    items = {
        name.removesuffix("s"): _items(frame[name]) for name in ("doc_ids", "scores", "ranks") if name in frame.columns
    }
    return RankedLists(
        frame["query_id"],
        offsets,
        items["doc_id"],
        order.key(items, int(offsets[-1])),
        _other_rank(pl.DataFrame(items), "rank", order),
        frame.drop([name for name in ("query_id", "doc_ids", "scores", "ranks") if name in frame.columns]),
    )


def _items(series: pl.Series) -> pl.Series:
    """The items of all lists, one after the other."""
    return series.filter(series.list.len() > 0).explode()


def _other_rank(frame: pl.DataFrame, name: str, order: Order) -> Array | None:
    """The rank column where lists are ordered by score, to be compared with."""
    if order.column != "score" or name not in frame.columns:
        return None
    rank = frame[name].rechunk().to_numpy()
    rank.flags.writeable = False
    return rank


@dataclass(frozen=True, slots=True)
class Hits:
    """Relevance at rank: the judged documents found in each list.

    Attributes:
        query: int64, the number of each list's query.
        num_ret: int64, the length of each list.
        offsets: int64, where each list's hits begin, and the end.
        judgement: int64, the number of the judgement of each hit, in rank order.
        rank: int64, its rank, from 1.
        grade: float64, its grade.
        tied: uint8, per list, whether a hit shares its key with another document.
        above: int64, how many documents stand before the tie of each hit; None where nobody asks.
        size: int64, how many are in it; None where nobody asks.
    """

    query: Array
    num_ret: Array
    offsets: Array
    judgement: Array
    rank: Array
    grade: Array
    tied: Array
    above: Array | None = None
    size: Array | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A document that stands twice in one list: how many there are, and the list and rows of the first."""

    count: int
    number: int
    first: int
    second: int


class Matcher:
    """Matches lists with the judgements."""

    def __init__(self, index: QrelsIndex, ties: str) -> None:
        self._index = index
        self._ties = TIES.get(ties, DOC_ID_DESC)

    def hits(self, lists: RankedLists, query: Array) -> tuple[Hits, Repeat | None, Array]:
        """The hits of each list whose query number is not -1, the repeated documents, if any, and own rows."""
        index = self._index
        documents = self.held(lists.doc_id)
        integers = documents.ids.width == INTEGER
        judged = Judged(index.starts, index.ends, index.grade, *index.documents.hashed(integers=integers))
        comparable = lists.query_id if not integers or lists.query_id.dtype.is_integer() else lists.query_id[:0]
        queries = Held.of(comparable, integers=integers)
        given = Lists(lists.offsets, query, lists.key, documents.ids, queries.ids)
        lengths = np.diff(lists.offsets)
        found = self._room(query, lengths)
        memory = scratch(int(lengths.max(initial=1)))
        if matching.match(given, judged, self._ties, found, memory):
            matching.rank_many(given, judged, self._ties, found, memory)
        total = int(found.offsets[-1])
        hits = Hits(
            query,
            lengths,
            found.offsets,
            found.judgement[:total],
            found.rank[:total],
            found.grade[:total],
            found.tied,
        )
        repeat = Repeat(*map(int, found.repeats)) if found.repeats[0] else None
        return hits, repeat, found.own

    def held(self, doc_id: pl.Series | Held) -> Held:
        """Documents as they are compared with the judged ones."""
        if isinstance(doc_id, Held):
            return doc_id
        return Held.of(doc_id, integers=both_integers(doc_id, self._index.documents.series))

    def _room(self, query: Array, lengths: Array) -> Found:
        """Arrays large enough for all hits: a list has at most as many as its query's judgements."""
        judged, index = query[query >= 0], self._index
        most = int(np.minimum(index.ends[judged] - index.starts[judged], lengths[query >= 0]).sum())
        return Found(
            np.zeros(len(query) + 1, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.float64),
            np.zeros(len(query), np.uint8),
            np.zeros(len(query), np.int64),
            np.zeros(4, np.int64),
        )


def contradictions(lists: RankedLists, query: Array) -> dict[str, Array]:
    """Code of a warning -> the lists whose ranks give reason for it (bool); empty without a column of ranks."""
    if lists.rank is None:
        return {}
    nothing = Ids(0, 0, INTEGER, 0)
    given = Lists(lists.offsets, query, lists.key, nothing, nothing)
    longest = int(np.diff(lists.offsets).max(initial=1))
    found = matching.contradictions(given, lists.rank, scratch(longest))
    return {"rank-contradicts-score": found == 1, "constant-scores": found == 2, "repeated-ranks": found == 3}


def scratch(longest: int) -> Scratch:
    """Working memory for lists of up to `longest` documents."""
    bits = max(10, (2 * longest - 1).bit_length())
    return Scratch(
        np.zeros(1 << bits, np.int32),
        np.uint64(64 - bits),
        np.uint64((1 << bits) - 1),
        np.empty(longest, np.uint64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
    )
