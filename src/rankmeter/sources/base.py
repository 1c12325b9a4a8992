"""What every kind of input offers to the rest: parts that are read batch by batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rankmeter.checks.findings import STRICT, Findings

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Batch:
    """A slice of one part that can be read alone, in any thread.

    Attributes:
        part: where it comes from.
        load: gives the rows, with the columns as the part names them; rows that break a rule go to the findings.
        row: the 1-based row (in text files the physical line) of a position, or of many, in what was loaded last.
        findings: who takes rows that break a rule, unless `read` is told.
        infinite: columns in which reading has met infinite numbers.
        undefined: how many scores were NaN and became the lowest of all, each time this was read.
    """

    part: "Part"
    load: Callable[[Findings], "pl.DataFrame"]
    row: Callable[[Any], Any]
    findings: Callable[[], Findings] = lambda: STRICT  # shared, as it keeps nothing
    infinite: set[str] = field(default_factory=set)
    undefined: list[int] = field(default_factory=list)

    def read(self, findings: Findings | None = None) -> "pl.DataFrame":
        """The rows.

        Raises:
            RefusedRowsError: rows break a rule, and the findings are strict.
        """
        return self.load(findings or self.findings())


class Part(Protocol):
    """One file or frame of an input; those that inherit from it have no tag and no byte-order mark.

    Attributes:
        label: the path, or the name of a frame, as messages show it.
        size: bytes on disk; 0 for what is in memory.
        rows: number of rows where it is known without reading, else None.
        is_text: whether every field was text, so that numbers have to be parsed and may be refused by row.
    """

    label: str
    size: int
    rows: int | None
    is_text: bool

    def schema(self) -> "Mapping[str, pl.DataType]":
        """Names and types of the columns."""
        ...

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """The part cut into batches of about `rows` rows, in order, with the named columns only."""
        ...

    def first_tag(self) -> str | None:
        """The tag of the first row of a TREC run; None where there is none."""
        return None

    @property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte-order mark, which is no data."""
        return False
