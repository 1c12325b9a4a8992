"""What is asked for: inputs, measures, rules, resources. Plain values, made by the command line and by Python."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankmeter.arguments import check_columns, check_flag, check_positive, check_text
from rankmeter.conventions import Rules
from rankmeter.errors import UsageError
from rankmeter.limits import parse_size
from rankmeter.sources.paths import KNOWN

if TYPE_CHECKING:
    from rankmeter.notation import Asked

DEFAULT_MEASURES = "nDCG@10 RR@10 AP@100 P@10 R@100 Success@10"


@dataclass(frozen=True, slots=True)
class RunInput:
    """One run: its name, if the user gave one, and its path or frame."""

    name: str | None
    data: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """How inputs are read, where that is not left to their names.

    Attributes:
        qrels_format: `parquet`, `arrow`, `trec`, `csv`, `tsv` or `jsonl`; None: by suffix, else by content.
        run_format: likewise.
        qrels_columns: role -> column.
        run_columns: likewise.
        header: whether CSV and TSV files begin with the names of their columns; else these are `1`, `2`, …
        run_column: the column that splits one table into runs.
    """

    qrels_format: str | None = None
    run_format: str | None = None
    qrels_columns: Mapping[str, str] = field(default_factory=dict)
    run_columns: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    run_column: str | None = None

    def __post_init__(self) -> None:
        check_columns("--qrels-columns", self.qrels_columns)
        check_columns("--run-columns", self.run_columns)
        check_flag("header", self.header)
        if self.run_column is not None:
            check_text("--run-column", self.run_column, "the name of a column")
        for option, name in (("--qrels-format", self.qrels_format), ("--run-format", self.run_format)):
            if name is not None:
                check_text(option, name, " or ".join(KNOWN))
                if name not in KNOWN:
                    raise UsageError.unknown(f"value of {option}", name, KNOWN)


@dataclass(frozen=True, slots=True)
class Resources:
    """How much of the machine may be used; None leaves the choice to us.

    Attributes:
        threads: threads that read and compute.
        batch_rows: rows that one thread holds at a time.
        memory_limit: bytes of memory, or a size like `2GB`.
    """

    threads: int | None = None
    batch_rows: int | None = None
    memory_limit: int | str | None = None

    def __post_init__(self) -> None:
        for option, number in (("--threads", self.threads), ("--batch-rows", self.batch_rows)):
            if number is not None:
                check_positive(option, number)
        if self.memory_limit is not None:
            parse_size(self.memory_limit)

    @property
    def memory(self) -> int | None:
        """The memory limit in bytes."""
        return None if self.memory_limit is None else parse_size(self.memory_limit)


@dataclass(frozen=True, slots=True)
class Request:
    """An evaluation.

    Attributes:
        runs: the runs; empty where `labelled` is given.
        measures: the measures.
        qrels: path or frame of the judgements; None where `labelled` is given.
        labelled: path or frame of shown results with their labels.
        by: columns whose values make segments.
        queries: path or frame with one row per query, where segments may be found.
        rules: the rules in force.
        reading: how inputs are read.
        keep_hits: whether relevance at rank is kept, for `write_hits`.
        resources: threads and batch size.
        problems: where a table of all that is wrong with the rows is written; none by default.
    """

    runs: tuple[RunInput, ...]
    measures: "tuple[Asked, ...]"
    qrels: Any = None
    labelled: Any = None
    by: tuple[str, ...] = ()
    queries: Any = None
    rules: Rules = field(default_factory=Rules)
    reading: Reading = field(default_factory=Reading)
    keep_hits: bool = False
    resources: Resources = field(default_factory=Resources)
    problems: str | Path | None = None

    def __post_init__(self) -> None:
        check_flag("keep_hits", self.keep_hits)

    @property
    def of_subtopics(self) -> bool:
        """Whether a measure needs judgements for each subtopic."""
        return any(asked.measure.of_subtopics for asked in self.measures)
