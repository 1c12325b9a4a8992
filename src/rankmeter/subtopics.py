"""Judgements for subtopics: one row per document, with a label for each subtopic that it was judged for."""

from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.tally import Notice
from rankmeter.conflicts import Places, per_query, settled
from rankmeter.conventions import Rules
from rankmeter.ids import list_heads
from rankmeter.sources.source import Source

Array = np.ndarray[Any, Any]

NO_LABELS = (np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))

LABELS = ("subtopics", "grades of subtopics")
"""Columns that hold, for each judgement, its subtopics and their grades."""


def without_subtopics(
    frame: pl.DataFrame, source: Source, rows: Array | None, rules: Rules
) -> tuple[pl.DataFrame, None, list[Notice]]:
    """One row per judged document, by id, with its highest grade, and the labels in columns of their own."""
    key = ["query_id", "doc_id", "subtopic"]
    frame = frame.with_columns(pl.col("subtopic").cast(pl.String))
    alike = frame.select(pl.struct(key).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    first = np.full(int(alike.max(initial=-1)) + 1, -1, np.int64)
    first[alike[::-1]] = np.arange(frame.height)[::-1]
    repeat_of = np.where(first[alike] == np.arange(frame.height), -1, first[alike])
    frame, keep, notices = settled(frame, repeat_of, Places(frame, source, rows), rules, quiet=False)
    frame = frame if keep is None else frame.filter(pl.Series(keep))
    numbered = frame.with_columns((pl.col("subtopic").rank("dense").over("query_id") - 1).cast(pl.Int64))
    others = [name for name in frame.columns if name not in (*key, "grade")]
    labels = [pl.col("subtopic").alias(LABELS[0]), pl.col("grade").alias(LABELS[1])]
    text = pl.col("doc_id").cast(pl.String)
    by_id = numbered.sort(pl.col("query_id"), text, maintain_order=True)
    if others:
        per_query(by_id.select("query_id", *others), list_heads(by_id["query_id"]), source.label)
    grouped = by_id.group_by("query_id", "doc_id", maintain_order=True)
    return grouped.agg(pl.col("grade").max(), pl.col(others).first(), *labels).rechunk(), None, notices


def labels_of(frame: pl.DataFrame) -> tuple[Array, Array, Array]:
    """The labels of judgements, as `QrelsIndex` has them."""
    if LABELS[0] not in frame.columns:
        return NO_LABELS
    starts = np.concatenate([[0], np.cumsum(frame[LABELS[0]].list.len().to_numpy())]).astype(np.int64)
    label, grade = (frame[name].explode().to_numpy() for name in LABELS)
    return starts, label, grade
