"""Every table that rankmeter reads or writes: columns, types, accepted names, meaning.

The loader finds its columns with these tables, the writers name theirs with them, and the files in `data_schemas/`
are made from them (`python -m rankmeter.schema FOLDER`), in the form of a Frictionless Table Schema.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankmeter.errors import UsageError

ID = ("text", "integer", "dictionary of text")
NUMBER = ("integer", "float", "decimal")

JSON_TYPES = {"text": "string", "integer": "integer", "float": "number", "decimal": "number", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: the role, which is also the first accepted name.
        types: kinds of values that are accepted (or written).
        meaning: what the values say.
        required: whether the table must have it.
        names: other accepted names; case, `_`, `-`, `.` and blanks do not count.
        last_names: names that count only where no other fits.
        many: one list a row instead of one value.
        nullable: whether a value may be null.
        finite: whether a number must be less than infinite.
    """

    name: str
    types: tuple[str, ...]
    meaning: str
    required: bool = True
    names: tuple[str, ...] = ()
    last_names: tuple[str, ...] = ()
    many: bool = False
    nullable: bool = False
    finite: bool = False

    def as_json(self) -> dict[str, Any]:
        """The column as a field of a Frictionless Table Schema."""
        kind = "array" if self.many else JSON_TYPES.get(self.types[0], "any")
        field: dict[str, Any] = {"name": self.name, "type": kind, "description": self.meaning}
        field["constraints"] = {"required": not self.nullable and self.required}
        field["rankmeter:types"] = list(self.types)
        if self.names or self.last_names:
            field["rankmeter:acceptedNames"] = [self.name, *self.names]
        if self.last_names:
            field["rankmeter:namesIfNoOther"] = list(self.last_names)
        return field


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, what one row is, its columns, and what other columns mean."""

    name: str
    title: str
    row: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    others: str = "Other columns are left alone."

    def as_json(self) -> dict[str, Any]:
        """The table as a Frictionless Table Schema."""
        return {
            "name": self.name,
            "title": self.title,
            "description": f"{self.row} {self.others}",
            "fields": [column.as_json() for column in self.columns],
            "primaryKey": list(self.key),
            "missingValues": [],
        }


def _many(column: Column) -> Column:
    """The list form of a column: each name in the singular or the plural."""
    names = (column.name, *column.names)
    plural = tuple(f"{name}s" for name in names)
    return replace(
        column,
        name=plural[0],
        meaning=f"{column.meaning} One list a row, all lists of a row equally long.",
        names=(*names, *plural[1:]),
        last_names=tuple(f"{name}{ending}" for name in column.last_names for ending in ("", "s")),
        many=True,
    )


QUERY_ID = Column(
    "query_id",
    ID,
    "The query; an integer is read as its decimal text.",
    names=("qid", "topic_id"),
    last_names=("query", "topic"),
)
DOC_ID = Column(
    "doc_id",
    ID,
    "The document; an integer is read as its decimal text.",
    names=("docno", "corpus_id", "document_id", "item_id", "chunk_id", "passage_id"),
    last_names=("doc", "document"),
)
GRADE = Column(
    "grade",
    (*NUMBER, "boolean"),
    "The degree of relevance; at least the relevance level is relevant, below 0 is judged and not relevant.",
    names=("relevance", "rel", "label", "gain"),
    last_names=("score",),
    finite=True,
)
SUBTOPIC = Column("subtopic", ID, "The aspect of the query that the grade is for.", names=("iteration", "intent"))
LABEL = replace(GRADE, last_names=(), nullable=True)
SCORE = Column("score", NUMBER, "Higher is better.", required=False, names=("sim", "similarity"))
RANK = Column(
    "rank",
    ("integer", "float"),
    "Lower is better, any first value; null in no row, also where scores order the lists.",
    required=False,
    names=("position", "pos"),
)
RUN = Column(
    "run", ("text", "integer"), "The system that made the list.", required=False, names=("run_id", "run_name", "system")
)
_FREE = "Other columns may hold segments (`--by`)."
_RUN_NAME = Column("run", ("text",), "The system.")
_QUERY_TEXT = Column("query_id", ("text",), "The query.")

QRELS = Table(
    "qrels",
    "Relevance judgements",
    "One row per judged (query, document).",
    (QUERY_ID, DOC_ID, GRADE),
    ("query_id", "doc_id"),
    _FREE,
)
SUBTOPIC_QRELS = Table(
    "subtopic_qrels",
    "Relevance judgements for subtopics",
    "One row per judged (query, subtopic, document), for measures of diversity.",
    (QUERY_ID, SUBTOPIC, DOC_ID, GRADE),
    ("query_id", "subtopic", "doc_id"),
    _FREE,
)
QRELS_LISTS = Table(
    "qrels_lists",
    "Relevance judgements with list columns",
    "One row per query.",
    (QUERY_ID, _many(DOC_ID), _many(GRADE)),
    ("query_id",),
    _FREE,
)
RUN_TABLE = Table(
    "run",
    "Ranked results",
    "One row per retrieved (query, document), ordered by score, else by rank.",
    (QUERY_ID, DOC_ID, SCORE, RANK, RUN),
    ("run", "query_id", "doc_id"),
    _FREE,
)
RUN_LISTS = Table(
    "run_lists",
    "Ranked results with list columns",
    "One row per query; without scores and ranks the documents stand in the order given.",
    (QUERY_ID, _many(DOC_ID), _many(SCORE), _many(RANK), RUN),
    ("run", "query_id"),
    _FREE,
)
LABELLED = Table(
    "labelled_log",
    "Shown results with their labels",
    "One row per shown (query, document) with the grade it got; null where it has none.",
    (QUERY_ID, DOC_ID, LABEL, SCORE, RANK, RUN),
    ("run", "query_id", "doc_id"),
    _FREE,
)
QUERIES = Table(
    "queries",
    "Queries and their segments",
    "One row per query.",
    (QUERY_ID,),
    ("query_id",),
    "Every other column can be a segment (`--by`).",
)
PER_QUERY = Table(
    "per_query",
    "Values per query",
    "One row per run and evaluated query, runs as asked, queries by the bytes of their ids.",
    (
        _RUN_NAME,
        _QUERY_TEXT,
        Column("answered", ("boolean",), "Whether the run has results for the query."),
        Column("n_retrieved", ("integer",), "Documents in the list."),
        Column("n_judged", ("integer",), "Judgements of the query."),
        Column("n_relevant", ("integer",), "Judgements at or above the relevance level."),
    ),
    ("run", "query_id"),
    "Between `answered` and `n_retrieved` stand the `--by` columns, at the end one float column per measure.",
)
HITS = Table(
    "hits",
    "Relevance at rank",
    "One row per judged document in a list, by run, query and rank.",
    (
        _RUN_NAME,
        _QUERY_TEXT,
        Column("doc_id", ("text",), "The judged document."),
        Column("rank", ("integer",), "Its position in the list, from 1, ties resolved."),
        Column("grade", ("float",), "Its grade."),
    ),
    ("run", "query_id", "rank"),
    "There are no other columns.",
)
SUMMARY = Table(
    "summary",
    "Values per run, segment and measure",
    "One row per run, segment (nulls: all queries) and measure.",
    (
        _RUN_NAME,
        Column("measure", ("text",), "Canonical name of the measure."),
        Column("n_queries", ("integer",), "Queries that count."),
        Column("mean", ("float",), "Mean over the queries, from their exact sum.", nullable=True),
        Column("sum", ("float",), "Exact sum over the queries, rounded once; null for products.", nullable=True),
        Column("all_queries", ("boolean",), "Whether the row is over all queries, and not one of a segment."),
    ),
    ("run", "measure"),
    "The `--by` columns stand behind `run`.",
)
PROBLEMS = Table(
    "problems",
    "Rows that break a rule",
    "One row per problem in the input data.",
    (
        Column("file", ("text",), "The file, or the name of the frame.", nullable=True),
        Column("row", ("integer",), "The row, from 1; in text files the physical line.", nullable=True),
        Column("column", ("text",), "The column as the file names it.", nullable=True),
        Column("value", ("text",), "What stands there, shortened to 80 characters.", nullable=True),
        Column("rule", ("text",), "The code of the rule."),
        Column("query_id", ("text",), "The query of the row.", nullable=True),
        Column("doc_id", ("text",), "The document of the row.", nullable=True),
        Column("message", ("text",), "The whole sentence: where, what, and what to do."),
    ),
    (),
    "There are no other columns.",
)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        QRELS,
        SUBTOPIC_QRELS,
        QRELS_LISTS,
        RUN_TABLE,
        RUN_LISTS,
        LABELLED,
        QUERIES,
        PER_QUERY,
        HITS,
        SUMMARY,
        PROBLEMS,
    )
}


def find_table(name: str) -> Table:
    """The table of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in TABLES:
        raise UsageError.unknown("table", name, TABLES)
    return TABLES[name]


def json_text(table: Table) -> str:
    """The content of the table's file in `data_schemas/`."""
    return json.dumps(table.as_json(), indent=2, ensure_ascii=False) + "\n"


def write_files(folder: Path) -> None:
    """Write one JSON file per table."""
    for table in TABLES.values():
        (folder / f"{table.name}.json").write_text(json_text(table), encoding="utf-8")


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
