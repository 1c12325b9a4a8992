"""Every form of input gives the same values; columns are found by name; inputs are never changed."""

import datetime
import enum
import json
import re
from decimal import Decimal
from fractions import Fraction

import duckdb
import inputs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rankmeter
from rankmeter.errors import DataError, StorageError, UsageError

INT = pl.Int64
NO_HEADER = {
    "header": False,
    "qrels_columns": {"query_id": "1", "doc_id": "2", "grade": "3"},
    "run_columns": {"query_id": "1", "doc_id": "2", "score": "3"},
}
SMALL = {"short ids": inputs.collection(digits=4), "long ids": inputs.collection(digits=15)}


def measured(qrels, run, **options):
    return rankmeter.evaluate(qrels, {"r": run}, inputs.MEASURES, **options)


@pytest.fixture(params=SMALL)
def small(request):
    return SMALL[request.param]


def text(suffix, content, encode=str.encode):
    def write(folder, frame, name):
        path = folder / f"{name}{suffix}"
        path.write_bytes(encode(content(frame)))
        return path

    return write


def separated(separator, **options):
    return lambda frame: frame.write_csv(separator=separator, **options)


def trec_name(content):
    """Text under a name that does not tell the format, in either case of its suffix."""
    return text(".TXT", content)


def parquet(folder, frame, name):
    path = folder / f"{name}.parquet"
    frame.write_parquet(path, row_group_size=7)
    return path


def parquet_without_suffix(folder, frame, name):
    return parquet(folder, frame, name).rename(folder / name)


def split(folder, frame, name, pattern):
    """Three files of about the same size."""
    for number, start in enumerate(range(0, frame.height, -(-frame.height // 3))):
        path = folder / name / pattern.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.slice(start, -(-frame.height // 3)).write_parquet(path)
    return folder / name


def spark_folder(folder, frame, name):
    path = split(folder, frame, name, "part-{:05}-c000.snappy.parquet")
    (path / "_SUCCESS").touch()
    (path / ".part-00000-c000.snappy.parquet.crc").write_bytes(b"crc\0")
    (path / "_metadata.parquet").write_bytes(b"no table")
    return path


def text_folder(folder, frame, name):
    """A folder of gzip files, one more of them for each query."""
    (folder / name).mkdir()
    for number, part in enumerate(frame.partition_by("query_id", maintain_order=True)):
        (folder / name / f"{number:03}.gz").write_bytes(inputs.gz_members(inputs.as_trec(part)))
    return folder / name


def arrow_file(folder, frame, name):
    frame.write_ipc(folder / f"{name}.feather", compression="lz4")
    return folder / f"{name}.feather"


def arrow_stream(folder, frame, name):
    frame.write_ipc_stream(folder / f"{name}.arrow")
    return folder / f"{name}.arrow"


def arrow_without_suffix(folder, frame, name):
    return arrow_file(folder, frame, name).rename(folder / name)


def lists(write):
    return lambda folder, frame, name: write(folder, inputs.as_lists(frame), name)


def fixed_lists(_folder, frame, _name):
    """One document a row, but in lists of a fixed length."""
    columns = [column for column in frame.columns if column != "query_id"]
    return frame.with_columns(pl.col(columns).reshape((-1, 1))).rename({column: f"{column}s" for column in columns})


class Stream:
    """Offers its rows as an Arrow stream and nothing else."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


class Failing:
    """A stream that gives up."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError("gone\nfor ever")


def relation(_folder, frame, _name):
    table = frame.to_arrow()
    return duckdb.connect().from_arrow(table)


def ids(kind):
    return lambda _folder, frame, _name: frame.with_columns(pl.col("query_id", "doc_id").cast(kind))


def enum_ids(_folder, frame, _name):
    """Categories in the order of appearance, which is not that of the texts."""
    kinds = {name: pl.Enum(frame[name].unique(maintain_order=True)) for name in ("query_id", "doc_id")}
    return frame.cast(kinds)


def arrow_ids(kind):
    def table(_folder, frame, _name):
        columns = {name: frame[name].to_arrow() for name in frame.columns}
        return pa.table(columns | {name: columns[name].cast(kind) for name in ("query_id", "doc_id")})

    return table


def dictionary_ids(_folder, frame, _name):
    columns = {name: frame[name].to_arrow() for name in frame.columns}
    for name in ("query_id", "doc_id"):
        columns[name] = columns[name].cast(pa.string()).dictionary_encode()
    return pa.table(columns)


def object_ids(_folder, frame, _name):
    """What pandas made of text for decades."""
    table = frame.to_pandas()
    return table.astype({"query_id": object, "doc_id": object})


def dicts(convert):
    def made(_folder, frame, _name):
        value = "grade" if "grade" in frame.columns else "score"
        return {
            convert(query): {convert(doc): number for doc, number in documents.items()}
            for query, documents in inputs.as_dicts(frame, value).items()
        }

    return made


FORMS = {
    "parquet": parquet,
    "parquet without suffix": parquet_without_suffix,
    "parquet, list columns": lists(parquet),
    "parquet folder": lambda folder, frame, name: split(folder, frame, name, "{}.parquet"),
    "parquet glob": lambda folder, frame, name: str(split(folder, frame, name, "x{}.parquet")) + "/x?.parquet",
    "parquet glob of folders": lambda folder, frame, name: (
        str(split(folder, frame, name, "d{}/x.parquet")) + "/**/*.parquet"
    ),
    "hive folder": lambda folder, frame, name: split(folder, frame, name, "day=0{}/x.parquet"),
    "Spark folder": spark_folder,
    "Arrow file": arrow_file,
    "Arrow stream": arrow_stream,
    "Arrow file without suffix": arrow_without_suffix,
    "Arrow file, list columns": lists(arrow_file),
    "TREC": text(".trec", inputs.as_trec),
    "TREC, unknown suffix": trec_name(inputs.as_trec),
    "TREC, gz": text(".trec.gz", inputs.as_trec, inputs.gz_members),
    "TREC, zst": text(".run.zst", inputs.as_trec, inputs.zst_members),
    "TREC, gz without suffix": text("", inputs.as_trec, inputs.gz_members),
    "TREC folder": text_folder,
    "CSV": text(".csv", separated(",")),
    "CSV, all quoted": text(".csv", separated(",", quote_style="always")),
    "CSV, CRLF": text(".csv", separated(",", line_terminator="\r\n")),
    "CSV, gz": text(".csv.gz", separated(","), inputs.gz_members),
    "TSV": text(".tsv", separated("\t")),
    "TSV, zst": text(".tsv.zst", separated("\t"), inputs.zst_members),
    "JSONL": text(".jsonl", inputs.json_lines),
    "JSONL, list columns": lists(text(".ndjson", inputs.json_lines)),
    "JSONL, gz": text(".jsonl.gz", inputs.json_lines, inputs.gz_members),
    "Polars": lambda _folder, frame, _name: frame,
    "Polars, lazy": lambda _folder, frame, _name: frame.lazy(),
    "Polars, list columns": lambda _folder, frame, _name: inputs.as_lists(frame),
    "Polars, fixed lists": fixed_lists,
    "pandas": lambda _folder, frame, _name: frame.to_pandas(),
    "pandas, objects": object_ids,
    "pandas, other index": lambda _folder, frame, _name: frame.to_pandas().set_index(frame["query_id"].to_numpy()),
    "pyarrow": lambda _folder, frame, _name: frame.to_arrow(),
    "pyarrow, reader": lambda _folder, frame, _name: frame.to_arrow().to_reader(max_chunksize=3),
    "Arrow capsule": lambda _folder, frame, _name: Stream(frame),
    "DuckDB": relation,
    "dicts": dicts(str),
    "dicts of integers": dicts(int),
    "ids: string": arrow_ids(pa.string()),
    "ids: large_string": arrow_ids(pa.large_string()),
    "ids: string_view": arrow_ids(pa.string_view()),
    "ids: dictionary": dictionary_ids,
    "ids: Categorical": ids(pl.Categorical),
    "ids: Enum": enum_ids,
    "ids: int64": ids(pl.Int64),
    "ids: uint64": ids(pl.UInt64),
}


def test_the_reference_is_right(small):
    result = measured(small.qrels, small.run, keep_hits=True)
    assert result.hits.drop("run").rows() == inputs.naive_hits(small.qrels, small.run)
    assert result.per_query["query_id"].to_list() == sorted(set(small.qrels["query_id"]))
    assert result.per_query["answered"].sum() == result.per_query.height - 1


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_values(form, small, tmp_path):
    expected = measured(small.qrels, small.run).per_query
    qrels, run = FORMS[form](tmp_path, small.qrels, "qrels"), FORMS[form](tmp_path, small.run, "run")
    result = measured(qrels, run)
    assert_frame_equal(result.per_query, expected, check_exact=True)
    assert result.accounting["r"]["rows_read"] == small.run.height


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int16, pl.UInt8, pl.UInt16, pl.Int32, pl.UInt32])
def test_narrow_integer_ids(kind):
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": [9, 10], "grade": [1, 1]})
    run = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [9, 10, 10], "score": [1.0, 1.0, 1.0]})
    narrow = [frame.with_columns(pl.col("query_id", "doc_id").cast(kind)) for frame in (qrels, run)]
    # as text "9" stands behind "10", so downwards it is first
    assert measured(*narrow).per_query["RR@10"].to_list() == [1, 1]


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float32, pl.Decimal(10, 2)])
def test_types_of_numbers(kind, small):
    scores = small.run.with_columns((pl.col("score") * 4).cast(kind))
    expected = measured(small.qrels, small.run.with_columns(pl.col("score") * 4)).per_query
    assert_frame_equal(measured(small.qrels.cast({"grade": kind}), scores).per_query, expected, check_exact=True)


def test_true_and_false_are_grades(small):
    grades = small.qrels.with_columns(pl.col("grade") > 0)
    expected = measured(grades.cast({"grade": pl.Int64}), small.run).per_query
    assert_frame_equal(measured(grades, small.run).per_query, expected, check_exact=True)


@pytest.mark.parametrize("first", [0, 1, -5])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_rank_only_run_without_a_header(first, suffix, small, tmp_path):
    run = small.run.select("query_id", "doc_id", pl.col("rank") + first).sample(fraction=1, shuffle=True, seed=3)
    path = tmp_path / f"run{suffix}"
    run.write_csv(path, include_header=False, separator="," if suffix == ".csv" else "\t")
    result = measured(small.qrels, path, header=False, run_columns={"query_id": "1", "doc_id": "2", "rank": "3"})
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


@pytest.mark.parametrize("separator", [",", "\t"])
def test_columns_by_position(separator, small, tmp_path):
    suffix = {",": ".csv", "\t": ".tsv"}[separator]
    for name in ("qrels", "run"):
        getattr(small, name).write_csv(tmp_path / f"{name}{suffix}", include_header=False, separator=separator)
    result = measured(tmp_path / f"qrels{suffix}", tmp_path / f"run{suffix}", **NO_HEADER)
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


def test_beir_qrels(small, tmp_path):
    small.qrels.rename({"query_id": "query-id", "doc_id": "corpus-id", "grade": "score"}).write_csv(
        tmp_path / "test.tsv", separator="\t"
    )
    result = measured(tmp_path / "test.tsv", small.run)
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


def test_a_labelled_log_is_qrels_and_run_in_one(small):
    log = small.run.join(small.qrels, on=["query_id", "doc_id"], how="left", maintain_order="left")
    shown = log.filter(pl.col("grade").is_not_null())
    expected = measured(shown.select("query_id", "doc_id", "grade"), small.run)
    result = rankmeter.evaluate(labelled=log, measures=inputs.MEASURES)
    assert_frame_equal(result.per_query.drop("run"), expected.per_query.drop("run"), check_exact=True)
    assert "labels-from-log" in {warning.code for warning in result.warnings}


def test_order_given_for_lists_without_scores(small):
    ordered = small.run.sort("query_id", "rank")
    run = inputs.as_lists(ordered).select("query_id", "doc_ids")
    result = measured(small.qrels, run)
    assert_frame_equal(result.per_query, measured(small.qrels, small.run).per_query, check_exact=True)


@pytest.mark.parametrize("form", ["Polars", "pandas", "pyarrow", "dicts", "DuckDB"])
def test_inputs_are_never_changed(form, small, tmp_path):
    make = FORMS[form]
    given = [make(tmp_path, frame, "x") for frame in (small.qrels, small.run)]
    before = [make(tmp_path, frame, "x") for frame in (small.qrels, small.run)]
    measured(*given)
    if form == "DuckDB":
        given, before = ([item.fetchall() for item in items] for items in (given, before))
    for one, other in zip(given, before, strict=True):
        equal = one.equals(other) if hasattr(one, "equals") else one == other
        assert equal


def test_files_are_never_changed(small, tmp_path):
    paths = [FORMS["parquet"](tmp_path, small.qrels, "qrels"), FORMS["TREC"](tmp_path, small.run, "run")]
    before = [(inputs.digest(path), path.stat().st_mtime_ns) for path in paths]
    measured(*paths)
    assert [(inputs.digest(path), path.stat().st_mtime_ns) for path in paths] == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qrels.parquet", "run.trec"]


def test_only_columns_in_use_are_collected(small):
    def fail(_):
        raise AssertionError("the column was collected")

    lazy = small.run.lazy().with_columns(pl.col("doc_id").map_elements(fail, return_dtype=pl.String).alias("passage"))
    assert measured(small.qrels, lazy).per_query.height == small.qrels["query_id"].n_unique()


def test_columns_not_in_use_may_differ_between_parts(small, tmp_path):
    folder = split(tmp_path, small.run, "run", "{}.parquet")
    changed = pl.read_parquet(folder / "1.parquet").select("score", "rank", "doc_id", "query_id", more=pl.lit(1))
    changed.write_parquet(folder / "1.parquet")
    expected = measured(small.qrels, small.run).per_query
    assert_frame_equal(measured(small.qrels, folder).per_query, expected, check_exact=True)


def test_a_part_that_lacks_a_column_in_use(small, tmp_path):
    folder = split(tmp_path, small.run, "run", "{}.parquet")
    pl.read_parquet(folder / "1.parquet").rename({"score": "sim"}).write_parquet(folder / "1.parquet")
    with pytest.raises(DataError, match=r'1\.parquet has no column "score"'):
        measured(small.qrels, folder)


@pytest.mark.parametrize("named", ["absent.parquet", "absent*.parquet", "absent/"])
def test_nothing_at_the_path(named, small, tmp_path):
    with pytest.raises(StorageError, match="absent"):
        measured(small.qrels, tmp_path / named)


@pytest.mark.parametrize("named", ["mixed", "mixed/*"])
@pytest.mark.parametrize("other", ["README.md", "z.csv", "log.txt", "part-1"])
def test_files_of_several_formats_are_no_one_input(named, other, small, tmp_path):
    (tmp_path / "mixed").mkdir()
    small.run.write_parquet(tmp_path / "mixed" / "a.parquet")
    (tmp_path / "mixed" / other).write_text("q1 Q0 a 1 1 t\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"files of several formats, .*{other}"):
        measured(small.qrels, tmp_path / named)
    assert measured(small.qrels, tmp_path / "mixed" / "*.parquet").accounting


def test_an_object_that_is_no_table(small):
    with pytest.raises(UsageError, match="int"):
        measured(small.qrels, 5)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 + 1, 2**70 + 1, 10**400])
@pytest.mark.parametrize("others", [[], [1.5], [3]])
def test_integers_of_dicts_that_would_change_are_refused(number, others):
    run = {"q": {"x": number} | {f"d{place}": other for place, other in enumerate(others)}}
    with pytest.raises(DataError, match=r"run: the score .* of query q and document x would change as a float64"):
        rankmeter.evaluate({"q": {"x": 1}}, run, "RR")
    with pytest.raises(DataError, match=r"qrels: the grade .* of query q and document x would change as a float64"):
        rankmeter.evaluate(run, {"q": {"x": 1.0}}, "RR")


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt64, pl.Int128])
@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1])
def test_integers_of_frames_that_would_change_are_refused(kind, number):
    run = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": pl.Series([2**53, number], dtype=kind)})
    with pytest.raises(DataError, match=f'row 2, column score: "{number}" would change as a float64'):
        rankmeter.evaluate({"q": {"a": 1}}, run, "RR")


def test_large_integers_of_dicts_that_float64_holds_are_scores():
    run = {"q": {"b": 2**70, "a": 2**53, "c": 1.5}}
    assert rankmeter.evaluate({"q": {"a": 1}}, run, "RR").summary["mean"][0] == 0.5


NO_IDS = [1.0, None, True, ("a", 1), b"a", np.float64(1), float("nan"), datetime.date(2024, 5, 6), frozenset("a")]


@pytest.mark.parametrize("others", [[], ["a"], [1], ["a", 1]])
@pytest.mark.parametrize("key", NO_IDS, ids=repr)
def test_keys_of_dicts_that_are_no_ids_are_refused(key, others):
    keys = [*(other for other in others if other != key), key]
    named = rf"{re.escape(repr(key))} has type {type(key).__name__}; ids are text or integers"
    for documents in ({"d": 1.0}, {}):
        with pytest.raises(DataError, match=rf"run: the query id {named}"):
            rankmeter.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}, **dict.fromkeys(keys, documents)}, "RR")
    with pytest.raises(DataError, match=rf"run, query q: the document id {named}"):
        rankmeter.evaluate({"q": {"d": 1}}, {"q": dict.fromkeys(keys, 1.0)}, "RR")
    with pytest.raises(DataError, match=rf"qrels, query q: the document id {named}"):
        rankmeter.evaluate({"q": dict.fromkeys(keys, 1)}, {"q": {"d": 1.0}}, "RR")


@pytest.mark.parametrize("pair", [(1, "1"), ("1", 1), ("-7", -7), (2**70, str(2**70)), (np.int64(5), "5")])
def test_two_keys_of_a_dict_that_are_the_same_id_are_refused(pair):
    same = r"ids .* and .* are the same, since an integer is read as its decimal text"
    with pytest.raises(DataError, match=f"run: the query {same}"):
        rankmeter.evaluate({"q": {"d": 1}}, {key: {key: 1.0} for key in pair}, "RR")
    with pytest.raises(DataError, match=f"qrels: the query {same}"):
        rankmeter.evaluate({pair[0]: {}, pair[1]: {"d": 1}}, {"q": {"d": 1.0}}, "RR")
    with pytest.raises(DataError, match=f"qrels, query q: the document {same}"):
        rankmeter.evaluate({"q": dict.fromkeys(pair, 1)}, {"q": {"d": 1.0}}, "RR")


class Name(str, enum.Enum):  # noqa: UP042  # StrEnum is another case
    """Text whose str() is something else."""

    A = "1"


@pytest.mark.parametrize("key", [1, "1", np.int64(1), np.str_("1"), enum.IntEnum("N", "A").A, Name.A])
@pytest.mark.parametrize("other", [7, "seven"])
def test_keys_of_dicts_are_text_or_integers_of_any_kind(key, other):
    run = {key: {key: 2.0, other: 1.0}, other: {}}
    assert rankmeter.evaluate({"1": {"1": 1}}, run, "RR").per_query.rows() == [("run", "1", True, 2, 1, 1, 1.0)]


NO_NUMBERS = ["5", b"5", [1], 1j, object(), datetime.date(2024, 5, 6), np.array(1.0), pl.Series([1])]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("others", [[], [1.5], [3], [None]])
def test_values_of_dicts_that_are_no_numbers_are_refused(value, others):
    documents = {"x": value} | {f"d{place}": other for place, other in enumerate(others)}
    with pytest.raises(DataError, match=r"run: the score .* of query q and document x is no number; convert it"):
        rankmeter.evaluate({"q": {"x": 1}}, {"q": documents}, "RR")
    with pytest.raises(DataError, match=r"qrels: the grade .* of query q and document x is no number; convert it"):
        rankmeter.evaluate({"q": documents}, {"q": {"x": 1.0}}, "RR")


@pytest.mark.parametrize(
    "low", [np.float32(0.25), Decimal("0.25"), Fraction(1, 4), np.longdouble(0.25), np.int8(0), Decimal("1e-50")]
)
def test_numbers_of_any_kind_are_values_of_dicts(low):
    run = {"q": {"a": low, "b": 0.5, "c": 2**60}}
    assert rankmeter.evaluate({"q": {"a": 1}}, run, "RR").summary["mean"][0] == 1 / 3
    assert rankmeter.evaluate({"q": {"a": True, "b": low, "c": np.False_}}, run, "NumRel").summary["mean"][0] == 1


@pytest.mark.parametrize("role", ["query", "document"])
def test_halves_of_characters_in_ids_are_refused(role):
    name = "d\ud800"
    run = {name: {"d": 1.0}} if role == "query" else {"q": {name: 1.0}}
    frame = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]}).astype(object)
    frame["query_id" if role == "query" else "doc_id"] = pd.Series([name], dtype=object)
    for data in (run, frame):
        with pytest.raises(DataError, match=r"d\\ud800.* is no valid Unicode text"):
            rankmeter.evaluate({"q": {"d": 1}}, data, "RR")


WIDE = [1, 2**63 - 1, 2**63, -(2**70), 2**100, 10**37]


@pytest.mark.parametrize("kind", [pl.Int128, pl.Decimal(38, 0), "HUGEINT"])
@pytest.mark.parametrize("ids", [WIDE, WIDE[:2]])
def test_wide_integers_are_ids(ids, kind, tmp_path):
    texts = [str(number) for number in ids]
    expected = pl.DataFrame({"query_id": texts, "doc_id": texts, "score": [1.0] * len(ids)})
    qrels = pl.DataFrame({"query_id": texts[:2], "doc_id": texts[:2], "grade": [1, 1]})
    if kind == "HUGEINT":
        table = expected.to_arrow()
        wide = duckdb.connect().from_arrow(table).project("query_id::HUGEINT query_id, doc_id::HUGEINT doc_id, score")
    else:
        wide = expected.with_columns(pl.col(name).cast(kind) for name in ("query_id", "doc_id"))
    result = measured(qrels, wide)
    assert_frame_equal(result.per_query, measured(qrels, expected).per_query, check_exact=True)
    if kind == pl.Decimal(38, 0):
        wide.write_parquet(tmp_path / "r.parquet")
        assert_frame_equal(measured(qrels, tmp_path / "r.parquet").per_query, result.per_query, check_exact=True)


def test_decimals_with_a_fraction_are_no_ids():
    run = pl.DataFrame({"query_id": ["q"], "doc_id": pl.Series(["1.0"]).cast(pl.Decimal(5, 1)), "score": [1.0]})
    with pytest.raises(DataError, match=r"column doc_id has type Decimal\(precision=5, scale=1\); ids are"):
        rankmeter.evaluate({"q": {"1": 1}}, run, "RR")


def rows(**columns):
    return {"query_id": ["q"], "doc_id": ["d"], "score": [1.0]} | columns


def pandas_objects(*values):
    return pd.Series(values, dtype=object)


def pandas_rows(**columns):
    height = max(len(column) for column in columns.values())
    table = {"query_id": ["q"] * height, "doc_id": [f"d{row}" for row in range(height)], "score": [1.0] * height}
    return pd.DataFrame(table | columns)


@pytest.mark.parametrize(
    ("run", "texts"),
    [
        (pandas_rows(score=[1j, 2]), ["column score", "complex128"]),
        (pandas_rows(doc_id=pandas_objects("a", 1)), ["column doc_id", "object", "int", "str"]),
        (pandas_rows(doc_id=pandas_objects(2**70, 1)), ["column doc_id", "object", "int"]),
        (pandas_rows(score=pandas_objects(1.0, "x")), ["column score", "float", "str"]),
        (pandas_rows(score=pd.arrays.SparseArray([1.0, 0.0])), ["column score", "Sparse"]),
        (pandas_rows(score=pd.period_range("2020", periods=1)), ["column score", "period"]),
        (
            pd.DataFrame({"query_id": ["q", "p"], "doc_ids": [np.array(["a"]), np.array([])]}),
            ["column doc_ids", "object", "ndarray of float64"],
        ),
        (pandas_rows(score=pd.Series([1], dtype=pd.ArrowDtype(pa.decimal256(50, 2)))), ["column score", "decimal256"]),
        (pd.concat([pandas_rows(score=[1.0])] * 2, axis=1), ['two columns called "query_id"']),
        (pandas_rows(other=[1]).rename(columns={"doc_id": "d"}), ["no column for doc_id", "query_id, d, score, other"]),
        (pd.DataFrame(), ["no column for query_id", "it has no columns"]),
        (pa.table(rows()).rename_columns(["q", "doc_id", "s"]), ["its columns are q, doc_id, s"]),
        (pa.table([["q"], ["d"], ["d"]], names=["query_id", "doc_id", "doc_id"]), ['two columns called "doc_id"']),
        (pl.LazyFrame(rows()).select("zzz"), ["lazy frame", "zzz"]),
        (pl.LazyFrame(rows(score=["x"])).cast({"score": pl.Float64}), ["lazy frame", "conversion"]),
        (pl.DataFrame(rows(doc_id=pl.Series(["d"], dtype=pl.Object))), ["column doc_id", "Object"]),
        (pl.DataFrame(rows(score=pl.Series([1], dtype=pl.Object))), ["column score", "Object"]),
        (Failing(), ["cannot be read as a table: gone"]),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, list) else "",
)
def test_tables_that_cannot_be_read_are_refused_by_column_and_type(run, texts):
    with pytest.raises(DataError) as caught:
        rankmeter.evaluate({"q": {"d": 1}}, run, "RR")
    assert [text for text in ["run", *texts] if text not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("side", ["qrels", "run", "queries"])
def test_objects_are_no_segments(side):
    objects = pl.Series("market", [object()], dtype=pl.Object)
    tables = {"qrels": pl.DataFrame(rows(grade=[1])).drop("score"), "run": pl.DataFrame(rows())}
    tables["queries"] = pl.DataFrame({"query_id": ["q"]})
    tables[side] = tables[side].with_columns(objects)
    with pytest.raises(DataError, match="column market has type Object, which cannot be read"):
        rankmeter.evaluate(**tables, measures="RR", by="market")


def test_an_error_in_a_relation_is_one_of_the_data():
    relation = duckdb.sql("select 'q' query_id, 'd' doc_id, cast('x' || i as double) score from range(2) t(i)")
    with pytest.raises(DataError, match=r"run: cannot be read as a table: Conversion Error"):
        rankmeter.evaluate({"q": {"d": 1}}, relation, "RR")


def test_a_lazy_frame_of_a_file_that_is_absent():
    with pytest.raises(StorageError, match=r"run: the lazy frame cannot be collected: No such file"):
        rankmeter.evaluate({"q": {"d": 1}}, pl.scan_parquet("absent.parquet"), "RR")


@pytest.mark.parametrize("empty", [{}, {"q": {}}])
def test_several_runs_of_dicts_of_which_one_is_empty(empty):
    runs = {"A": empty, "B": {"q": {"a": 1.0}}}
    result = rankmeter.evaluate({"q": {"a": 1}}, runs, "RR")
    assert result.summary.select("run", "mean").rows() == [("A", 0.0), ("B", 1.0)]


def test_standard_input(small, tmp_path):
    small.qrels.write_parquet(tmp_path / "qrels.parquet")
    path = FORMS["TREC, gz"](tmp_path, small.run, "run")
    with path.open("rb") as stream:
        done = inputs.process(
            *("-m", "rankmeter", "evaluate", tmp_path / "qrels.parquet", "-", "-m", "AP", "--format", "json"),
            stdin=stream,
        )
    answer = json.loads(done.stdout)["runs"][0]
    expected = measured(small.qrels, small.run).summary.filter(pl.col("measure") == "AP")["mean"][0]
    assert answer["groups"][0]["measures"]["AP"]["mean"] == expected
    assert answer["run"] == "r"


LIST = {"q": {"d": 1.0}}
FRAME = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})


@pytest.mark.parametrize(
    ("run", "names", "means"),
    [
        (LIST, ["run"], [1.0]),
        ({"q0": {}, **LIST}, ["run"], [1.0]),
        ({**LIST, "q0": {}}, ["run"], [1.0]),
        ({"A": LIST, "B": {}}, ["A", "B"], [1.0, 0.0]),
        ({"A": {}, "B": LIST}, ["A", "B"], [0.0, 1.0]),
        ({"A": {}, "B": {}, "C": LIST}, ["A", "B", "C"], [0.0, 0.0, 1.0]),
        ({"A": {}, "B": FRAME}, ["A", "B"], [0.0, 1.0]),
        ({"A": FRAME, "B": {}}, ["A", "B"], [1.0, 0.0]),
        ({"A": {"q": {}}, "B": LIST}, ["A", "B"], [0.0, 1.0]),
        ({"q": {}}, ["run"], [0.0]),
        ({}, ["run"], [0.0]),
    ],
)
def test_dicts_are_one_run_or_names_of_runs(run, names, means):
    result = rankmeter.evaluate({"q": {"d": 1}}, run, "RR")
    assert (list(result.runs), result.summary["mean"].to_list()) == (names, means)


@pytest.mark.parametrize("judged", [pl.String, pl.Int64])
@pytest.mark.parametrize("found", [pl.String, pl.Int64])
@pytest.mark.parametrize("query", [pl.String, pl.Int64])
def test_whether_a_query_is_a_document(query, found, judged):
    frame = pl.DataFrame({"query_id": ["7"], "doc_id": ["7"]}).with_columns(pl.col("query_id").cast(query))
    qrels = frame.with_columns(pl.col("doc_id").cast(judged), grade=1)
    run = frame.with_columns(pl.col("doc_id").cast(found), score=1.0)
    codes = {warning.code for warning in rankmeter.evaluate(qrels, run, "RR").warnings}
    not_comparable = query == pl.String and found == judged == pl.Int64  # as the guide says
    assert ("query-is-document" in codes) != not_comparable
