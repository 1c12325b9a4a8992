"""Damaged inputs: each ends with its exit code, a message that says where and what, and no output."""

import bz2
import datetime
import gzip
import lzma
from dataclasses import dataclass, field

import inputs
import polars as pl
import pytest

from rankmeter.cli import main

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 c 1 1 t\n"
QRELS_FRAME = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "grade": [1, 0, 2]})
RUN_FRAME = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
LISTS = pl.DataFrame({"query_id": ["q1", "q2"], "doc_ids": [["a", "b"], ["c"]], "scores": [[3.0, 2.0], [1.0]]})
DAY = datetime.date(2024, 5, 6)
INFINITE = float("inf")


@dataclass(frozen=True)
class Bad:
    """Damaged content for one file, what the message must hold, the exit code and further options."""

    name: str
    content: object
    texts: tuple[str, ...]
    code: int = 3
    options: tuple[str, ...] = field(default=())
    side: str = "run"


def run(name, content, *texts, **settings):
    return Bad(name, content, texts, **settings)


def qrels(name, content, *texts, **settings):
    return Bad(name, content, texts, side="qrels", **settings)


def with_column(frame, column, values, dtype=None):
    return frame.with_columns(pl.Series(column, values, dtype=dtype, strict=False))


def damaged(frame, suffix, change):
    """The bytes of a table, changed."""

    def make(path):
        if suffix == ".parquet":
            frame.write_parquet(path)
        else:
            frame.write_ipc(path, compression="zstd")
        path.write_bytes(change(path.read_bytes()))

    return make


def squeezed(data, magic):
    """Damage to whatever begins with the magic bytes of compressed data."""
    assert magic in data
    return data.replace(magic, b"\0\0\0\0")


def flipped(data):
    """Damage in the middle of the data pages."""
    return data[:8] + bytes(byte ^ 0xFF for byte in data[8:40]) + data[40:]


BAD = {
    # TREC
    "empty run": run("r.trec", "", "r.trec", "empty", "0 bytes"),
    "empty qrels": qrels("q.trec", "", "q.trec", "empty", "0 bytes"),
    "comments only, qrels": qrels("q.trec", "# nothing\n\n", "q.trec", "0 rows"),
    "short row": run("r.trec", RUN + "q2 Q0 d 2\n", "r.trec", "row 4", "4 fields", "6 expected", "q2 Q0 d 2"),
    "short row behind comments": run("r.trec", "# x\n\n" + RUN + "q2\n", "r.trec", "row 6", "1 fields"),
    "short row of qrels": qrels("q.trec", QRELS + "q3 0 d\n", "q.trec", "row 4", "3 fields", "4 expected"),
    "long row of qrels": qrels("q.trec", QRELS + "q3 0 d e 1\n", "q.trec", "row 4", "5 fields", "4 expected"),
    "run in place of qrels": qrels("q.trec", RUN, "q.trec", "row 1", "6 fields"),
    "grade that is text": qrels("q.trec", QRELS + "q3 0 d high\n", "q.trec", "row 4", "grade", "high", "q3", "d"),
    "header in qrels": qrels("q.trec", "qid iter docno rel\n" + QRELS, "q.trec", "row 1", "rel", "header"),
    "header in run": run("r.trec", "qid iter docno rank score tag\n" + RUN, "row 1", "score", "header"),
    "NaN score": run("r.trec", RUN + "q2 Q0 d 2 NaN t\n", "r.trec", "row 4", "score", "nan", "q2", "d"),
    "NaN grade": qrels("q.trec", QRELS + "q2 0 d nan\n", "q.trec", "row 4", "grade", "nan", "q2", "d"),
    "score that is text": run("r.trec", RUN + "q2 Q0 d 2 x1 t\n", "row 4", "score", "x1", "q2", "d"),
    "decimal comma": run("r.trec", RUN + "q2 Q0 d 2 0,5 t\n", "row 4", "score", "0,5", "comma"),
    "two numbers in one": run("r.trec", RUN + "q2 Q0 d 2 1.5.2 t\n", "row 4", "score", "1.5.2"),
    "hexadecimal score": run("r.trec", RUN + "q2 Q0 d 2 0x10 t\n", "row 4", "score", "0x10"),
    "underscore in a score": run("r.trec", RUN + "q2 Q0 d 2 1_0 t\n", "row 4", "score", "1_0"),
    "document twice": run("r.trec", RUN + "q2 Q0 c 2 0 t\n", "r.trec", "rows 3 and 4", "c", "twice", "q2"),
    "document twice, far apart": run("r.trec", RUN + "q1 Q0 a 2 0 t\n", "r.trec", "rows 1 and 4", "a", "q1"),
    "two grades": qrels("q.trec", QRELS + "q1 0 a 2\n", "q.trec", "rows 1 and 4", "q1", "a", "differ"),
    "not UTF-8": run("r.trec", RUN.encode() + b"q2 Q0 d\xe9 2 0 t\n", "r.trec", "row 4", "0xe9", "UTF-8"),
    "zero byte": run("r.trec", RUN.encode() + b"q2 Q0 \0 2 0 t\n", "r.trec", "row 4", "zero byte"),
    "no query in common": run("r.trec", RUN.replace("q", "topic"), "r.trec", "q.trec", "topic1", "q1"),
    # compressed
    "cut gzip": run("r.trec.gz", gzip.compress(RUN.encode() * 9)[:-9], "r.trec.gz", "cut off or damaged"),
    "damaged gzip": run("r.trec.gz", gzip.compress(RUN.encode())[:12] + b"\xff" * 40, "r.trec.gz", "damaged"),
    "cut zstd": run("r.run.zst", inputs.zst(RUN.encode() * 9)[:-5], "r.run.zst", "cut off or damaged"),
    "empty inside gzip": run("r.trec.gz", gzip.compress(b""), "r.trec.gz", "empty"),
    "no gzip at all": run("r.trec.gz", "not compressed\n", "r.trec.gz", "row 1", "2 fields"),
    # CSV and TSV
    "CSV, short row": run(
        "r.csv", "query_id,doc_id,score\nq1,a,1\n\nq1,b\n", "r.csv", "row 4", "2 fields", "3 expected"
    ),
    "CSV, long row": run("r.csv", "query_id,doc_id,score\nq1,a,1,2\n", "r.csv", "row 2", "4 fields", "3 expected"),
    "CSV, quoted short row": run("r.csv", 'query_id,doc_id,score\n"q1","a"\n', "r.csv", "row 2", "2 fields"),
    "CSV, open quote": run("r.csv", 'query_id,doc_id,score\nq1,"a,1\nq1,b,2\n', "r.csv", "row 2", "quotes"),
    "CSV, empty score": run(
        "r.csv", "query_id,doc_id,score\nq1,a,1\nq1,b,\n", "r.csv", "row 3", "score", "null", "q1", "b"
    ),
    "CSV, empty id": run("r.csv", "query_id,doc_id,score\nq1,a,1\nq1,,2\n", "r.csv", "row 3", "doc_id", "null", "q1"),
    "CSV, same name twice": run("r.csv", "query_id,doc_id,score,score\nq1,a,1,2\n", "r.csv", "two columns", "score"),
    "CSV, two names for a role": run(
        "r.csv", "query_id,doc_id,score,sim\nq1,a,1,2\n", "r.csv", "score", "sim", "--run-columns"
    ),
    "CSV without a header": run("r.csv", "q1,a,1\nq1,b,2\n", "r.csv", "no column for query_id", "--run-columns"),
    "CSV, score that is text": run(
        "r.csv", "query_id,doc_id,score\nq1,a,1\nq1,b,best\n", "r.csv", "row 3", "best", "b"
    ),
    "CSV behind a quoted line end": run(
        "r.csv", 'query_id,doc_id,score\nq1,"a\nx",1\nq1,b,best\n', "r.csv", "row 4", "score", "best", "b"
    ),
    "TSV, spaces in place of tabs": qrels(
        "q.tsv", "query_id doc_id grade\nq1 a 1\n", "q.tsv", "query_id", "--qrels-columns"
    ),
    "TSV, BEIR grade": qrels("q.tsv", "query-id\tcorpus-id\tscore\nq1\ta\tx\n", "q.tsv", "row 2", "score", "x", "q1"),
    "position that is absent": run(
        "r.tsv",
        "q1\ta\t1\n",
        "r.tsv",
        "4",
        code=2,
        options=("--no-header", "--run-columns", "query_id=1,doc_id=2,score=4"),
    ),
    # JSON lines
    "JSONL, no JSON": run(
        "r.jsonl", '{"query_id":"q1","doc_id":"a","score":1}\n{"query_id":\n', "r.jsonl", "row 2", "JSON"
    ),
    "JSONL, no object": run("r.jsonl", '{"query_id":"q1","doc_id":"a","score":1}\n[1]\n', "r.jsonl", "row 2", "object"),
    "JSONL, NaN": run("r.jsonl", '{"query_id":"q1","doc_id":"a","score":NaN}\n', "r.jsonl", "row 1", "NaN"),
    "JSONL, null score": run(
        "r.jsonl",
        '{"query_id":"q1","doc_id":"a","score":1}\n{"query_id":"q1","doc_id":"b","score":null}\n',
        *("r.jsonl", "row 2", "score", "null", "q1", "b"),
    ),
    "JSONL, key that is absent": run(
        "r.jsonl",
        '{"query_id":"q1","doc_id":"a","score":1}\n\n{"query_id":"q1","score":2}\n',
        *("r.jsonl", "row 3", "doc_id", "null", "q1"),
    ),
    "JSONL, score as text": run(
        "r.jsonl", '{"query_id":"q1","doc_id":"a","score":"1"}\n', "r.jsonl", "score", "number"
    ),
    "JSONL, unequal lists": run(
        "r.jsonl",
        '{"query_id":"q0","doc_ids":["a"],"scores":[1]}\n{"query_id":"q1","doc_ids":["a","b"],"scores":[1]}\n',
        *("r.jsonl row 2 ", "q1", "2", "1", "equally long"),
    ),
    "JSONL, integer that a fraction elsewhere would change": run(
        "r.jsonl",
        '{"query_id":"q1","doc_id":"a","score":2.5}\n\n{"query_id":"q1","doc_id":"b","score":9007199254740993}\n',
        *("r.jsonl row 3", "column score", "9007199254740993", "float64"),
    ),
    "JSONL, such an integer in a list": run(
        "r.jsonl",
        '{"query_id":"q1","doc_ids":["a","b"],"scores":[9007199254740993,2.5]}\n',
        *("r.jsonl row 1", "column scores", "9007199254740993"),
    ),
    "JSONL, such a grade": qrels(
        "q.jsonl",
        '{"query_id":"q1","doc_id":"a","grade":0.5}\n{"query_id":"q1","doc_id":"b","grade":9007199254740993}\n',
        *("q.jsonl row 2", "column grade", "9007199254740993"),
    ),
    **{
        f"JSONL, {value} as id beside text{' in a list' * many}": run(
            "r.jsonl",
            f'{{"query_id":"q1","doc_ids":["b",{value}],"scores":[2,1]}}\n'
            if many
            else f'{{"query_id":"q1","doc_id":"b","score":2}}\n{{"query_id":"q1","doc_id":{value},"score":1}}\n',
            *(f"row {1 if many else 2}", f"doc_id{'s' * many}", "1000.0" if value == "1e3" else value),
        )
        for value in ("1.0", "1e3", "true", '{"a": 1}', '["a"]')
        for many in (False, True)
    },
    "JSONL, text among scores": run(
        "r.jsonl",
        '{"query_id":"q1","doc_id":"a","score":1}\n{"query_id":"q1","doc_id":"b","score":"high"}\n',
        *("r.jsonl", "score"),
    ),
    "JSONL, a list where others have a value": run(
        "r.jsonl",
        '{"query_id":"q1","doc_id":"a","score":1}\n{"query_id":"q1","doc_id":"b","score":[2]}\n',
        *("r.jsonl row 2", "column score", "a list"),
    ),
    **{
        f"{suffix}, only blank lines{' and comments' * comment}": kind(
            f"x.{suffix}", "\n\n" + "# none\n" * comment, f"x.{suffix}"
        )
        for suffix in ("trec", "csv", "tsv", "jsonl")
        for comment in ((True, False) if suffix == "trec" else (False,))
        for kind in (qrels,)
    },
    **{
        f"{name} file": run(f"r.{suffix}", data, f"r.{suffix} is compressed with {name}", "gzip or zstd")
        for name, suffix, data in (
            ("bzip2", "trec.bz2", bz2.compress(RUN.encode())),
            ("xz", "csv", lzma.compress(RUN.encode())),
            ("lz4", "jsonl", b"\x04\x22\x4d\x18" + RUN.encode()),
            ("zip", "tsv", b"PK\x03\x04" + RUN.encode()),
        )
    },
    # tables
    "no Parquet": run("r.parquet", "text\n", "r.parquet", "not a Parquet file"),
    "cut Parquet": run("r.parquet", damaged(RUN_FRAME, ".parquet", lambda b: b[:-20]), "r.parquet", "truncated"),
    "empty Parquet": run("r.parquet", "", "r.parquet", "truncated or not a Parquet file"),
    "damaged Parquet": run("r.parquet", damaged(RUN_FRAME, ".parquet", flipped), "r.parquet", "damaged"),
    "no Arrow": run("r.arrow", "text\n", "r.arrow", "not an Arrow file"),
    "cut Arrow": run("r.arrow", damaged(RUN_FRAME, ".arrow", lambda b: b[: len(b) // 2]), "r.arrow", "truncated"),
    "damaged Arrow": run(
        "r.arrow", damaged(pl.concat([RUN_FRAME] * 99), ".arrow", lambda b: squeezed(b, b"\x28\xb5\x2f\xfd")), "damaged"
    ),
    "null score": run(
        "r.parquet", with_column(RUN_FRAME, "score", [1.0, None, 1.0]), "row 2", "score", "null", "q1", "b"
    ),
    "null query": run(
        "r.parquet", with_column(RUN_FRAME, "query_id", ["q1", "q1", None]), "row 3", "query_id", "null", "c"
    ),
    "null document": qrels("q.parquet", with_column(QRELS_FRAME, "doc_id", ["a", "b", None]), "row 3", "doc_id", "q2"),
    "infinite grade in text": qrels("q.trec", "q1 0 a 1\nq1 0 b inf\n", "q.trec", "row 2", "grade", "infinite", "b"),
    "infinite grade": qrels(
        "q.parquet", with_column(QRELS_FRAME, "grade", [1.0, 0.0, -INFINITE]), "row 3", "grade", "infinite", "q2", "c"
    ),
    "infinite grade in a list": qrels(
        "q.parquet",
        pl.DataFrame({"query_id": ["q1", "q2"], "doc_ids": [["a"], ["b", "c"]], "grades": [[1.0], [2.0, INFINITE]]}),
        *("row 2", "grades", "infinite", "q2"),
    ),
    "ideal list beyond float64": qrels(
        "q.trec", "q1 0 a 1e308\nq1 0 b 1e308\nq1 0 y 1e308\n", "q1", "nDCG", "beyond", options=("-m", "nDCG")
    ),
    "ideal list beyond float64, exponential gain": qrels(
        "q.trec", "q1 0 a 1\nq1 0 y 1024\n", "q1", "nDCG", "beyond", options=("-m", "nDCG@10(gain=exp)")
    ),
    "null grade": qrels(
        "q.parquet", with_column(QRELS_FRAME, "grade", [1, None, 0]), "row 2", "grade", "null", "q1", "b"
    ),
    "null rank": run(
        "r.parquet", with_column(RUN_FRAME, "rank", [1, None, 1]).drop("score"), "row 2", "rank", "null", "q1", "b"
    ),
    "null rank beside scores": run(
        "r.parquet", with_column(RUN_FRAME, "rank", [1, None, 1]), "row 2", "rank", "null", "q1", "b"
    ),
    "null rank in a list": run(
        "r.parquet",
        with_column(LISTS, "ranks", [[1, None], [1]], pl.List(pl.Int64)),
        *("row 1", "ranks, item 2", "null", "q1"),
    ),
    "null document in a list behind empty ones": run(
        "r.parquet",
        pl.DataFrame({"query_id": ["q0", "q1", "q2"], "doc_ids": [[], ["a"], ["b", "c", None]]}),
        *("row 3", "doc_ids, item 3", "null", "q2"),
    ),
    "tags as an order": run("r.trec", RUN, "row 1", "column tag", "number; mend", options=("--order-by", "tag:asc")),
    "all scores null": run("r.parquet", with_column(RUN_FRAME, "score", [None] * 3), "row 1", "score", "null"),
    "NaN in a table": run(
        "r.parquet", with_column(RUN_FRAME, "score", [1.0, 2.0, float("nan")]), "row 3", "score", "nan", "c"
    ),
    "typed text scores": run(
        "r.parquet", with_column(RUN_FRAME, "score", ["3", "2", "1"]), "r.parquet", "score", "String"
    ),
    "dates as scores": run("r.parquet", with_column(RUN_FRAME, "score", [DAY] * 3), "r.parquet", "score", "Date"),
    "booleans as scores": run("r.parquet", with_column(RUN_FRAME, "score", [True, False, True]), "score", "Boolean"),
    "float ids": run("r.parquet", with_column(RUN_FRAME, "doc_id", [1.0, 2.0, 3.0]), "r.parquet", "doc_id", "Float64"),
    "dates as ids": qrels("q.parquet", with_column(QRELS_FRAME, "query_id", [DAY] * 3), "query_id", "Date"),
    "binary ids": run("r.parquet", with_column(RUN_FRAME, "doc_id", [b"a", b"b", b"c"]), "doc_id", "Binary"),
    "struct ids": run("r.parquet", with_column(RUN_FRAME, "query_id", [{"a": 1}] * 3), "query_id", "Struct"),
    "integers beyond float64": run(
        "r.parquet", with_column(RUN_FRAME, "score", [1, 2**53 + 1, 3]), "row 2", "score", "9007199254740993", "q1", "b"
    ),
    "unsigned integers beyond float64": run(
        "r.parquet",
        with_column(RUN_FRAME, "score", [1, 2**53 + 1, 3], pl.UInt64),
        *("row 2", "score", "9007199254740993", "q1", "b"),
    ),
    "no judgements": qrels("q.parquet", QRELS_FRAME.clear(), "q.parquet", "0 rows"),
    "no score and no rank": run("r.parquet", RUN_FRAME.drop("score"), "r.parquet", "score", "rank", "--order-by row"),
    "conflict in a table": qrels(
        "q.parquet", pl.concat([QRELS_FRAME, with_column(QRELS_FRAME, "grade", [1, 3, 2])]), "rows 2 and 5", "q1", "b"
    ),
    "unequal lists": run("r.parquet", with_column(LISTS, "scores", [[1.0], [1.0]]), "r.parquet", "q1", "equally long"),
    "null list": run(
        "r.parquet", with_column(LISTS, "doc_ids", [["a", "b"], None]), "r.parquet", "row 2", "doc_ids", "null"
    ),
    "null in a list": run(
        "r.parquet", with_column(LISTS, "doc_ids", [["a", "b"], [None]]), "row 2", "doc_ids", "null", "q2"
    ),
    "NaN in a list": run(
        "r.parquet", with_column(LISTS, "scores", [[1.0, 2.0], [float("nan")]]), "row 2", "scores", "nan", "q2"
    ),
    "document twice in a list": run(
        "r.parquet", with_column(LISTS, "doc_ids", [["a", "a"], ["c"]]), "r.parquet", "row 1", "a", "twice", "q1"
    ),
    "text in a list of scores": run("r.parquet", with_column(LISTS, "scores", [["1", "2"], ["3"]]), "scores", "String"),
    "lists beside single scores": run("r.parquet", with_column(LISTS, "scores", [1.0, 2.0]), "scores", "lists"),
    "unequal lists of qrels": qrels(
        "q.parquet",
        pl.DataFrame({"query_id": ["q1", "q2"], "doc_ids": [["a"], ["b", "c"]], "grades": [[1], [1]]}),
        *("q.parquet", "row 2", "q2", "doc_ids", "grades", "equally long"),
    ),
    # options about columns
    "column to order by that is absent": run("r.trec", RUN, "price", code=2, options=("--order-by", "price:asc")),
    "rank that is absent": run("r.parquet", RUN_FRAME, "rank", code=2, options=("--order-by", "rank")),
    "unknown format": run("r.trec", RUN, "excel", code=2, options=("--run-format", "excel")),
    "segment that is absent": run("r.trec", RUN, "market", code=2, options=("--by", "market")),
    "segment with two values": run(
        "r.parquet",
        with_column(RUN_FRAME, "market", ["de", "fr", "de"]),
        *("r.parquet", "market", "q1", "de", "fr"),
        options=("--by", "market"),
    ),
    "run column that is absent": run("r.trec", RUN, "system", code=2, options=("--run-column", "system")),
}


def write(folder, bad):
    path = folder / bad.name
    if isinstance(bad.content, pl.DataFrame):
        bad.content.write_parquet(path)
    elif callable(bad.content):
        bad.content(path)
    else:
        path.write_bytes(bad.content if isinstance(bad.content, bytes) else bad.content.encode())


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_bad_input(bad, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    (tmp_path / "r.trec").write_text(RUN, encoding="utf-8")
    write(tmp_path, bad)
    before = sorted(tmp_path.iterdir())
    paths = (bad.name, "r.trec") if bad.side == "qrels" else ("q.trec", bad.name)
    outputs = ("--per-query", "p.parquet", "--summary", "s.json", "--hits", "h.csv")
    code = main(["evaluate", *paths, "-m", "nDCG@10 AP", "--format", "json", *outputs, *bad.options])
    out, err = capsys.readouterr()
    assert (code, inputs.lacking(bad.texts, err)) == (bad.code, []), err
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("rankmeter: error: ")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("position", [1, 5_000, 99_999])
def test_the_row_is_right_far_down(position, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    scores = [float(-row) for row in range(100_000)]
    scores[position] = float("nan")
    run = pl.DataFrame({"query_id": ["q1"] * 100_000, "doc_id": range(100_000), "score": scores})
    run.write_parquet("r.parquet", row_group_size=1_000)
    run.write_csv("r.csv")
    for name, row in (("r.parquet", position + 1), ("r.csv", position + 2)):
        assert main(["evaluate", "q.trec", name, "-m", "AP", "--batch-rows", "700"]) == 3
        assert inputs.lacking([name, f"row {row}", "score", "nan", "q1", str(position)], capsys.readouterr().err) == []


def test_many_problems_are_counted_and_the_first_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    (tmp_path / "r.trec").write_text("".join(f"q1 Q0 d{row} 1 x{row} t\n" for row in range(1, 51)), encoding="utf-8")
    assert main(["evaluate", "q.trec", "r.trec", "-m", "AP"]) == 3
    err = capsys.readouterr().err
    assert err.count("column score") == 20
    assert "30 more" in err
    assert inputs.lacking(["row 1", "x1", "row 20", "x20"], err) == []


def test_long_values_are_cut_in_the_middle(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.trec").write_text(QRELS, encoding="utf-8")
    (tmp_path / "r.trec").write_text(f"q1 Q0 a 1 {'x' * 500}\x1b[31m t\n", encoding="utf-8")
    assert main(["evaluate", "q.trec", "r.trec", "-m", "AP"]) == 3
    err = capsys.readouterr().err
    assert "x" * 30 in err
    assert "x" * 81 not in err
    assert "\x1b" not in err
