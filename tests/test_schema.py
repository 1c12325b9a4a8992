"""The schema files are those of the code, have the form of Frictionless, and name what the loader accepts."""

import json
import subprocess
import sys
from pathlib import Path

import inputs
import polars as pl
import pytest

import rankmeter
from rankmeter import schema
from rankmeter.schema import HITS, PER_QUERY, QRELS, RUN_TABLE, SUMMARY, TABLES

FOLDER = Path(__file__).resolve().parent.parent / "data_schemas"
FRICTIONLESS_TYPES = {"string", "number", "integer", "boolean", "object", "array", "date", "datetime", "any"}
VALUES = {"query_id": "q", "doc_id": "a", "grade": 1, "score": 1.0, "rank": 1, "run": "r"}


def names(column):
    return (column.name, *column.names, *column.last_names)


def test_the_files_are_fresh():
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.json" for name in TABLES}
    for name, table in TABLES.items():
        stale = f"{name}.json is stale; run python -m rankmeter.schema data_schemas"
        assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == schema.json_text(table), stale


def test_the_module_writes_the_files(tmp_path):
    command = [sys.executable, "-m", "rankmeter.schema", str(tmp_path)]
    subprocess.run(command, check=True, env=inputs.environment())
    for name in TABLES:
        assert (tmp_path / f"{name}.json").read_bytes() == (FOLDER / f"{name}.json").read_bytes()


@pytest.mark.parametrize("name", TABLES)
def test_frictionless_structure(name):
    table = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    fields = [field["name"] for field in table["fields"]]
    assert table["name"] == name
    assert table["title"]
    assert len(set(fields)) == len(fields) > 0
    assert set(table["primaryKey"]) <= set(fields)
    assert table["missingValues"] == []
    for field in table["fields"]:
        assert field["type"] in FRICTIONLESS_TYPES
        assert field["description"].endswith(".")
        assert isinstance(field["constraints"]["required"], bool)
        assert field["rankmeter:types"]
        assert field.get("rankmeter:acceptedNames", [field["name"]])[0] == field["name"]


@pytest.mark.parametrize("table", [QRELS, RUN_TABLE], ids=lambda table: table.name)
def test_the_loader_takes_every_accepted_name(table):
    for column in table.columns:
        for name in names(column):
            roles = {other.name: other.name for other in table.columns if other.required} | {column.name: name}
            if table is RUN_TABLE and not roles.keys() & {"score", "rank"}:
                roles["score"] = "score"
            frame = pl.DataFrame({roles[role]: [VALUES[role]] for role in roles})
            given = {"qrels": {"q": {"a": 1}}, "run": {"q": {"a": 1.0}}} | {table.name: frame}
            result = rankmeter.evaluate(given["qrels"], given["run"], "RR")
            shown = result.inputs["qrels"] if table is QRELS else result.inputs["runs"][0]
            assert shown["columns"][column.name] == name
            assert result.per_query["RR"].to_list() == [1.0]


def test_the_outputs_have_the_columns_of_their_tables():
    result = rankmeter.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR", keep_hits=True)
    kinds = {"text": pl.String, "integer": pl.Int64, "float": pl.Float64, "boolean": pl.Boolean}
    for table, frame in ((PER_QUERY, result.per_query.drop("RR")), (HITS, result.hits), (SUMMARY, result.summary)):
        expected = {column.name: kinds[column.types[0]] for column in table.columns}
        assert dict(frame.schema) == expected
        assert frame.columns == list(expected)
