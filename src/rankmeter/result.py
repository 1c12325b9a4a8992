"""What an evaluation gives: means, values per query, counts, warnings, and the files made of them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter.checks.tally import Notice, Tally
from rankmeter.ids import Array
from rankmeter.markdown import pipe_table
from rankmeter.notation import Asked
from rankmeter.qrels import QrelsIndex
from rankmeter.request import Request
from rankmeter.sinks import ROW_GROUP, check_target, write_frames, write_text
from rankmeter.store import RunValues
from rankmeter.summary import Cell, Groups, cells, group
from rankmeter.version import package_version

IGNORED = {
    "rows_unjudged": "query not judged",
    "rows_own": "document is the query",
    "rows_repeated": "repeated document",
    "rows_deep": "below the depth",
    "rows_not_judged": "document not judged",
}
"""What is counted of rows that are left out -> why they are."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One run with its values and counts."""

    name: str
    values: RunValues
    tally: Tally


class Result:
    """The result of an evaluation.

    Attributes:
        measures: the measures, in the order asked.
        by: the columns that make segments.
        runs: names of the runs, in the order given, those of one table by name.
        warnings: what is worth knowing before the numbers are believed.
        convention: every rule in force.
        inputs: paths, bytes, rows and chosen columns.
    """

    def __init__(  # one argument for each thing a result is made of
        self,
        request: Request,
        index: QrelsIndex,
        segments: pl.DataFrame,
        evaluated: tuple[Evaluated, ...],
        warnings: tuple[Notice, ...],
        inputs: dict[str, Any],
    ) -> None:
        self.measures: tuple[Asked, ...] = request.measures
        self.by = request.by
        self.runs = tuple(run.name for run in evaluated)
        self.warnings = warnings
        self.convention = request.rules.as_dict()
        self.inputs = inputs
        self._rules = request.rules
        self._index = index
        self._segments = segments
        self._evaluated = {run.name: run for run in evaluated}
        self._kept_hits = request.keep_hits
        self._n_judged = index.n_judged
        self._n_relevant = index.n_relevant

    def _counted(self, run: Evaluated) -> Array:
        """Which queries count for a run (bool)."""
        counted = np.ones(len(self._index), bool)
        if self._rules.missing_queries == "skip":
            counted &= run.values.seen == 1
        if self._rules.without_relevant == "skip":
            counted &= self._n_relevant > 0
        return counted

    @cached_property
    def _groups(self) -> Groups:
        return group(self._segments, len(self._index))

    @cached_property
    def _cells(self) -> dict[str, list[list[Cell]]]:
        """Run -> for each measure the cell of all queries and one for each group."""
        geometric = [asked.measure.aggregate == "geometric" for asked in self.measures]
        return {
            name: cells(run.values.values, self._counted(run), self._groups, geometric)
            for name, run in self._evaluated.items()
        }

    def groups(self, run: str) -> list[tuple[dict[str, Any], int, dict[str, dict[str, float | None]]]]:
        """The groups of a run: segments, number of queries, and mean and sum of each measure; all queries first."""
        keys = [{}, *self._groups.values.iter_rows(named=True)] if self.by else [{}]
        table = self._cells[run]
        return [
            (
                key,
                table[0][g].n,
                {
                    asked.name: {"mean": row[g].mean, "sum": row[g].sum}
                    for asked, row in zip(self.measures, table, strict=True)
                },
            )
            for g, key in enumerate(keys)
        ]

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per run, group and measure; see the table `summary`. All queries come first, segments null."""
        rows = [
            {
                "run": run,
                **dict.fromkeys(self.by),
                **key,
                "measure": name,
                "n_queries": n,
                **values,
                "all_queries": not key,
            }
            for run in self.runs
            for key, n, measures in self.groups(run)
            for name, values in measures.items()
        ]
        types: dict[str, Any] = {"run": pl.String, **dict(self._segments.schema), "measure": pl.String}
        types |= {"n_queries": pl.Int64, "mean": pl.Float64, "sum": pl.Float64, "all_queries": pl.Boolean}
        return pl.DataFrame(rows, schema=types)

    @property
    def per_query(self) -> pl.DataFrame:
        """One row per run and evaluated query; see the table `per_query`."""
        return pl.concat(list(self._per_query_frames()))

    def _per_query_frames(self) -> Iterator[pl.DataFrame]:
        """The rows of `per_query` in pieces of one run each."""
        for run in self._evaluated.values():
            counted = self._counted(run)
            for start in range(0, len(counted), ROW_GROUP):
                yield self._per_query_piece(run, start, counted[start : start + ROW_GROUP])

    def _per_query_piece(self, run: Evaluated, start: int, counted: Array) -> pl.DataFrame:
        """The rows of those queries from `start` on that count."""
        values, piece = run.values, slice(start, start + len(counted))
        columns = [
            pl.Series("run", [run.name], dtype=pl.String).new_from_index(0, len(counted)),
            self._index.queries.series[piece].cast(pl.String).alias("query_id"),
            pl.Series("answered", values.seen[piece] == 1, dtype=pl.Boolean),
            *(self._segments[name][piece] for name in self.by),
            pl.Series("n_retrieved", values.num_ret[piece], dtype=pl.Int64),
            pl.Series("n_judged", self._n_judged[piece], dtype=pl.Int64),
            pl.Series("n_relevant", self._n_relevant[piece], dtype=pl.Int64),
        ]
        columns += [
            pl.Series(asked.name, column, dtype=pl.Float64)
            for asked, column in zip(self.measures, np.ascontiguousarray(values.values[piece].T), strict=True)
        ]
        frame = pl.DataFrame(columns)
        return frame if counted.all() else frame.filter(pl.Series(counted))

    def _hits_frames(self) -> Iterator[pl.DataFrame]:
        """The rows of the table `hits`, run by run, queries in byte order, hits by rank."""
        for run in self._evaluated.values():
            parts = run.values.hits
            counts = [np.diff(part.offsets) for part in parts]
            query = _joined([np.repeat(part.query, n) for part, n in zip(parts, counts, strict=True)])
            judgement = _joined([part.judgement for part in parts])
            rank = _joined([part.rank for part in parts])
            order = np.argsort(query, kind="stable")
            for start in range(0, max(1, len(order)), ROW_GROUP):
                piece = order[start : start + ROW_GROUP]
                yield pl.DataFrame(
                    [
                        pl.Series("run", [run.name], dtype=pl.String).new_from_index(0, len(piece)),
                        self._index.queries.series[query[piece]].cast(pl.String).alias("query_id"),
                        self._index.documents.series[judgement[piece]].cast(pl.String).alias("doc_id"),
                        pl.Series("rank", rank[piece], dtype=pl.Int64),
                        pl.Series("grade", self._index.grade[judgement[piece]], dtype=pl.Float64),
                    ]
                )

    @property
    def hits(self) -> pl.DataFrame:
        """Relevance at rank, see the table `hits`; only where `keep_hits` was asked for."""
        return pl.concat(list(self._hits_frames()))

    @property
    def accounting(self) -> dict[str, dict[str, Any]]:
        """Run -> what became of every row and query."""
        return {name: self._account(run) for name, run in self._evaluated.items()}

    def _account(self, run: Evaluated) -> dict[str, Any]:
        tally, seen = run.tally, run.values.seen == 1
        read = tally.count("rows_read")
        ignored = {reason: n for code, reason in IGNORED.items() if (n := tally.count(code))}
        return {
            "rows_read": read,
            "rows_used": read - sum(ignored.values()),
            "rows_ignored": ignored,
            "queries_judged": len(self._index),
            "queries_in_run": int(seen.sum()) + tally.count("queries-unjudged"),
            "queries_evaluated": int(self._counted(run).sum()),
            "queries_missing": int((~seen).sum()),
            "queries_unjudged": tally.count("queries-unjudged"),
            "queries_without_relevant": int((self._n_relevant == 0).sum()),
            "queries_tied_at_hits": int(run.values.tied.sum()),
        }

    def to_dict(self) -> dict[str, Any]:
        """The result as one JSON object."""
        runs = [
            {
                "run": run,
                "accounting": account,
                "groups": [
                    {"group": key, "n_queries": n, "measures": measures} for key, n, measures in self.groups(run)
                ],
            }
            for run, account in self.accounting.items()
        ]
        return {
            "rankmeter": package_version(),
            "convention": self.convention,
            "inputs": self.inputs,
            "runs": runs,
            "warnings": [notice.as_dict() for notice in self.warnings],
        }

    def metadata(self) -> dict[str, Any]:
        """What files of values carry: version, rules, measures, counters; no paths and no times."""
        return {
            "rankmeter": package_version(),
            "convention": self.convention,
            "measures": {asked.name: asked.measure.formula for asked in self.measures},
            "accounting": self.accounting,
        }

    def write_per_query(self, path: str | Path) -> None:
        """Write the table `per_query`; the suffix decides the format.

        Raises:
            UsageError: the suffix names no format for this output.
            StorageError: the file cannot be written.
        """
        check_target(path, "per_query")
        write_frames(path, self._per_query_frames(), self.metadata())

    def write_hits(self, path: str | Path) -> None:
        """Write the table `hits`; the suffix decides the format.

        Raises:
            UsageError: the suffix names no format for this output.
            StorageError: the file cannot be written.
        """
        check_target(path, "hits")
        write_frames(path, self._hits_frames(), self.metadata())

    def write_summary(self, path: str | Path) -> None:
        """Write the table `summary`, or with the suffix `.json` the whole result.

        Raises:
            UsageError: the suffix names no format for this output.
            StorageError: the file cannot be written.
        """
        check_target(path, "summary")
        suffix = Path(path).suffix.lower()
        if suffix == ".json":
            write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, default=str) + "\n")
        elif suffix == ".md":
            write_text(path, markdown(self.summary))
        else:
            write_frames(path, [self.summary], self.metadata())

    def show(self) -> str:
        """The summary as a Markdown table."""
        return markdown(self.summary)

    def __repr__(self) -> str:
        return f"Result of {', '.join(self.runs)}\n{self.summary}"


def markdown(frame: pl.DataFrame) -> str:
    """A frame as a Markdown table, floats in full.

    >>> print(markdown(pl.DataFrame({"a": [1.5]})), end="")
    | a |
    | ---: |
    | 1.5 |
    """
    rows = (["" if value is None else str(value) for value in row] for row in frame.iter_rows())
    return pipe_table(frame.columns, rows, [kind.is_numeric() for kind in frame.dtypes]) + "\n"


def _joined(arrays: list[Array]) -> Array:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)
