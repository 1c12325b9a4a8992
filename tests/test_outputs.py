"""Files of values: every suffix reads back, carries its metadata, and appears whole or not at all."""

import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import inputs
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import rankmeter
from rankmeter import sinks
from rankmeter.cli import main
from rankmeter.cli.results import per_query_sheets
from rankmeter.errors import StorageError, UsageError
from rankmeter.result import Result

SMALL = inputs.collection(seed=2)
READERS = {
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
    ".csv": lambda path: pl.read_csv(path, schema_overrides={"query_id": pl.String, "doc_id": pl.String}),
    ".tsv": lambda path: pl.read_csv(
        path, separator="\t", schema_overrides={"query_id": pl.String, "doc_id": pl.String}
    ),
    ".jsonl": pl.read_ndjson,
}
RESULT_KEYS = ["rankmeter", "convention", "inputs", "runs", "warnings"]
ACCOUNT_KEYS = [
    *("rows_read", "rows_used", "rows_ignored", "queries_judged", "queries_in_run", "queries_evaluated"),
    *("queries_missing", "queries_unjudged", "queries_without_relevant", "queries_tied_at_hits"),
]


def measured(**options):
    return rankmeter.evaluate(SMALL.qrels, {"r": SMALL.run}, inputs.MEASURES, keep_hits=True, **options)


@pytest.fixture(scope="module")
def result():
    queries = SMALL.qrels.select("query_id").unique(maintain_order=True).with_row_index("number")
    return measured(by="part", queries=queries.select("query_id", part=pl.format("p{}", pl.col("number") % 3)))


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("table", ["per_query", "hits", "summary"])
def test_every_suffix_reads_back(table, suffix, result, tmp_path):
    path = tmp_path / f"x{suffix.upper()}"
    getattr(result, f"write_{table}")(path)
    found, expected = READERS[suffix](path), getattr(result, table)
    assert expected.height > 5
    assert found.columns == expected.columns
    assert_frame_equal(found.cast(dict(expected.schema)), expected, check_exact=True)
    if suffix in (".parquet", ".arrow"):
        assert found.schema == expected.schema
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", READERS)
def test_tables_of_no_rows(suffix, tmp_path):
    result = rankmeter.evaluate({"q": {"a": 0}}, {"q": {"b": 1.0}}, "AP", without_relevant="skip", keep_hits=True)
    for table in ("per_query", "hits"):
        path = tmp_path / f"{table}{suffix}"
        getattr(result, f"write_{table}")(path)
        if suffix != ".jsonl":
            assert READERS[suffix](path).columns == getattr(result, table).columns
            assert READERS[suffix](path).height == 0
        else:
            assert path.read_bytes() == b""


def test_columns_and_types_of_values_per_query(result):
    measures = [asked.name for asked in result.measures]
    counts = ["n_retrieved", "n_judged", "n_relevant"]
    assert result.per_query.columns == ["run", "query_id", "answered", "part", *counts, *measures]
    kinds = dict(result.per_query.schema)
    assert {kinds[name] for name in measures} == {pl.Float64}
    assert {kinds[name] for name in ("run", "query_id")} == {pl.String}
    assert kinds["answered"] == pl.Boolean
    assert list(result.hits.columns) == ["run", "query_id", "doc_id", "rank", "grade"]


def test_order_of_rows():
    runs = {"second": SMALL.run, "first": SMALL.run}
    result = rankmeter.evaluate(SMALL.qrels, runs, "AP", keep_hits=True)
    assert result.per_query["run"].unique(maintain_order=True).to_list() == ["second", "first"]
    for _, part in result.per_query.group_by("run"):
        assert part["query_id"].to_list() == sorted(part["query_id"], key=str.encode)
    for _, part in result.hits.group_by("run", "query_id"):
        assert part["rank"].to_list() == sorted(part["rank"])


def test_queries_stand_in_the_order_of_their_bytes():
    names = ["z", "é", "日", "Z", "10", "9", "", "a" * 20, "a" * 19 + "é"]
    result = rankmeter.evaluate({name: {"a": 1} for name in names}, {name: {"a": 1.0} for name in names}, "AP")
    assert result.per_query["query_id"].to_list() == sorted(names, key=str.encode)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("table", ["per_query", "hits", "summary"])
def test_metadata(table, suffix, result, tmp_path):
    path = tmp_path / f"x{suffix}"
    getattr(result, f"write_{table}")(path)
    carrier = pq.read_metadata(path) if suffix == ".parquet" else pa.ipc.open_file(path).schema
    metadata = json.loads(carrier.metadata[b"rankmeter"])
    assert metadata == json.loads(json.dumps(result.metadata()))
    assert metadata["accounting"]["r"]["rows_read"] == SMALL.run.height
    assert list(metadata["measures"]) == [asked.name for asked in result.measures]
    assert all(metadata["measures"].values())
    assert metadata["convention"]["convention"] == "trec_eval"
    assert metadata["rankmeter"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_link_stays_one_and_its_file_is_written(suffix, tmp_path):
    (tmp_path / "deep").mkdir()
    link, target = tmp_path / f"link{suffix}", tmp_path / "deep" / f"file{suffix}"
    link.symlink_to(target)
    result = rankmeter.evaluate(SMALL.qrels, SMALL.run, "RR")
    for _ in range(2):
        result.write_per_query(link)
        assert link.is_symlink()
        assert READERS[suffix](target).height == result.per_query.height
    assert [path.name for path in (tmp_path / "deep").iterdir()] == [target.name]


def test_a_pipe_is_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with subprocess.Popen(["cat", tmp_path / "pipe.csv"], stdout=subprocess.PIPE) as reader:
        rankmeter.evaluate(SMALL.qrels, SMALL.run, "RR").write_per_query(tmp_path / "pipe.csv")
        assert reader.communicate(timeout=30)[0].startswith(b"run,query_id")
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)


def test_files_name_no_paths_and_no_times(tmp_path):
    SMALL.run.write_parquet(tmp_path / "unique-name.parquet")
    files = []
    for _ in range(2):
        result = rankmeter.evaluate(SMALL.qrels, {"r": tmp_path / "unique-name.parquet"}, "AP", keep_hits=True)
        for table in ("per_query", "hits", "summary"):
            getattr(result, f"write_{table}")(tmp_path / f"{table}.parquet")
            files.append((tmp_path / f"{table}.parquet").read_bytes())
    assert files[:3] == files[3:]
    assert not any(b"unique-name" in content for content in files)


def test_row_groups_have_a_fixed_size(tmp_path, monkeypatch):
    monkeypatch.setattr("rankmeter.sinks.ROW_GROUP", 4)
    result = measured()
    result.write_per_query(tmp_path / "x.parquet")
    metadata = pq.read_metadata(tmp_path / "x.parquet")
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [4, 4, result.per_query.height - 8]


def test_the_object_has_its_keys_in_order(result):
    found = result.to_dict()
    assert list(found) == RESULT_KEYS
    run = found["runs"][0]
    assert list(run) == ["run", "accounting", "groups"]
    assert list(run["accounting"]) == ACCOUNT_KEYS
    assert [group["group"] for group in run["groups"]] == [{}, {"part": "p0"}, {"part": "p1"}, {"part": "p2"}]
    for group in run["groups"]:
        assert list(group) == ["group", "n_queries", "measures"]
        assert list(group["measures"]) == [asked.name for asked in result.measures]
    assert found["warnings"]
    assert all(list(warning) == ["code", "message", "count", "examples"] for warning in found["warnings"])
    assert all(len(warning["examples"]) <= 3 for warning in found["warnings"])


def test_the_object_comes_back_from_its_file(result, tmp_path):
    result.write_summary(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == result.to_dict()


def test_the_summary_is_that_of_the_object(result):
    rows = {
        (row["part"], row["measure"]): (row["n_queries"], row["mean"], row["sum"])
        for row in result.summary.rows(named=True)
    }
    for group in result.to_dict()["runs"][0]["groups"]:
        for name, values in group["measures"].items():
            expected = group["n_queries"], values["mean"], values["sum"]
            assert rows.pop((group["group"].get("part"), name)) == expected
    assert rows == {}


def test_markdown(result, tmp_path):
    result.write_summary(tmp_path / "x.md")
    lines = (tmp_path / "x.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == result.summary.columns
    rows = [["" if value is None else str(value) for value in row] for row in result.summary.rows()]
    assert cells[2:] == rows


@pytest.mark.parametrize("value", ["a|b", "|", "a\\", "\\|", "a\nb", "a\r\nb", "`a`", "\\\\n"], ids=repr)
@pytest.mark.parametrize("printed", [True, False], ids=["printed", "written"])
def test_markdown_cells_are_one_cell_each(value, printed, tmp_path, capsys):
    qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "grade": [1], "part": [value]})
    qrels.write_parquet(tmp_path / "q.parquet")
    (tmp_path / "r.run").write_text("q Q0 d 1 1 t\n", encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("q.parquet", "r.run")]
    assert main(["evaluate", *paths, "-m", "RR", "--by", "part", "--format", "markdown"]) == 0
    text = capsys.readouterr().out if printed else rankmeter.evaluate(*paths, "RR", by="part").show()
    (line,) = [line for line in text.splitlines() if line.startswith("| ") and "1.0" in line and "all" not in line][-1:]
    cells = [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line.replace("\\\\", "\1"))[1:-1]]
    assert len(cells) == (3 if printed else 7)
    shown = value.replace("\r", "\\r").replace("\n", "\\n") if printed else value.replace("\r", " ").replace("\n", " ")
    assert cells[0 if printed else 1].replace("\\|", "|").replace("\1", "\\") == shown


@pytest.mark.parametrize("form", ["json", "csv", "tsv", "table", "markdown"])
def test_values_per_query_are_made_once_for_all_runs(form, tmp_path, monkeypatch, capsys):
    SMALL.qrels.write_parquet(tmp_path / "q.parquet")
    names = [f"run {number}" for number in range(6)]
    runs = [SMALL.run.head(5 * number).with_columns(run=pl.lit(name)) for number, name in enumerate(names)]
    pl.concat(runs).write_parquet(tmp_path / "r.parquet")
    made = []
    whole = Result.per_query.fget
    monkeypatch.setattr(Result, "per_query", property(lambda self: made.append(1) or whole(self)))
    monkeypatch.chdir(tmp_path)
    asked = ["evaluate", "q.parquet", "r.parquet", "-m", "RR", "--missing-queries", "skip", "-q", "--format", form]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert made == [1]
    assert all(name in out for name in names[1:])
    if form == "json":
        expected = rankmeter.evaluate("q.parquet", "r.parquet", "RR", missing_queries="skip").per_query
        for run in json.loads(out)["runs"]:
            rows = expected.filter(pl.col("run") == run["run"]).rows(named=True)
            assert run["per_query"] == rows


def test_a_run_without_a_row_has_an_empty_table_of_values():
    result = rankmeter.evaluate(SMALL.qrels, {"a": SMALL.run, "b": SMALL.run.clear()}, "RR", missing_queries="skip")
    assert [len(sheet.rows) for sheet in per_query_sheets(result)] == [result.per_query.height, 0]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--per-query", "x.json"),
        ("--per-query", "x.md"),
        ("--hits", "x.txt"),
        ("--hits", "x"),
        ("--summary", "x.xlsx"),
        ("--summary", "x.parquet.bak"),
    ],
)
def test_a_suffix_without_a_format(option, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "no-qrels", "no-run", "-m", "AP", option, name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert name in err
    assert ".parquet" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["absent/x.parquet", "folder.parquet", "file/x.parquet"])
def test_a_target_that_cannot_be_written(target, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "file").touch()
    assert main(["evaluate", "no-qrels", "no-run", "-m", "AP", "--per-query", target]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert target in err
    with pytest.raises(StorageError, match=target.replace(".", r"\.")):
        measured().write_per_query(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.parquet"]


REFUSED = """
import sys
from pathlib import Path
from powerless import powerless

powerless()
import rankmeter
from rankmeter.errors import StorageError

path = Path(sys.argv[1])
result = rankmeter.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR", keep_hits=True)
for mode in (0o500, 0o600, 0o000):
    path.parent.chmod(mode)
    for write in (result.write_per_query, result.write_summary, result.write_hits):
        try:
            write(path)
        except StorageError as error:
            sys.stdout.write(str(error) + "\\n")
path.parent.chmod(0o700)
"""


def test_a_folder_that_may_not_be_written(tmp_path):
    path = tmp_path / "folder" / "x.parquet"
    path.parent.mkdir()
    said = inputs.python(REFUSED, path, PYTHONPATH=f"{inputs.SOURCES.parent}:{Path(__file__).parent}").splitlines()
    assert len(said) == 9
    assert all(line.startswith(f"{path}: cannot be written: ") for line in said), said
    assert list(path.parent.iterdir()) == []


def test_an_unknown_suffix_from_python(tmp_path):
    with pytest.raises(UsageError, match=r"\.xlsx"):
        measured().write_per_query(tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("x")])
def test_a_failure_leaves_the_old_file(old, failure, tmp_path):
    path = tmp_path / "x.csv"
    if old:
        path.write_bytes(old)

    def frames():
        yield pl.DataFrame({"a": range(10_000)})
        raise failure

    expected = StorageError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected):
        sinks.write_frames(path, frames(), {})
    assert [item.name for item in tmp_path.iterdir()] == (["x.csv"] if old else [])
    assert not old or path.read_bytes() == old


KILLED = """
import sys, time
import polars as pl
from rankmeter import sinks

def frames():
    for _ in range(5):
        yield pl.DataFrame({"a": range(100_000)})
    print("writing", flush=True)
    time.sleep(60)

sinks.write_frames(sys.argv[1], frames(), {})
"""


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_kill_while_writing_leaves_the_old_file(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=inputs.environment()) as process:
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    assert path.read_bytes() == b"old"
    left = [item.name for item in tmp_path.iterdir() if item != path]
    assert len(left) == 1  # what a killed process leaves is hidden and known by its suffix
    assert left[0].startswith(".")
    assert left[0].endswith(sinks.TEMPORARY)


def test_readers_never_see_half_a_file(tmp_path):
    """The target is replaced in one step: while it is written over and over, it always reads as a whole."""
    path = tmp_path / "x.parquet"
    measured().write_per_query(path)
    code = (
        "import sys, rankmeter\nr = rankmeter.evaluate({'q': {'a': 1}}, {'r': {'q': {'a': 1.0}}}, 'AP')\n"
        "for _ in range(60): r.write_per_query(sys.argv[1])"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], env=inputs.environment()) as process:
        reads = 0
        while process.poll() is None:
            assert pq.read_metadata(path).num_rows in (1, measured_height())
            reads += 1
            time.sleep(0.001)
    assert process.returncode == 0
    assert reads > 5
    assert pq.read_metadata(path).num_rows == 1


def measured_height():
    return SMALL.qrels["query_id"].n_unique()


def test_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        measured().write_per_query(tmp_path / "new.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640
    (tmp_path / "old.csv").touch()
    (tmp_path / "old.csv").chmod(0o604)
    measured().write_per_query(tmp_path / "old.csv")
    assert stat.S_IMODE((tmp_path / "old.csv").stat().st_mode) == 0o604


def test_a_link_stays_a_link_or_is_replaced_whole(tmp_path):
    (tmp_path / "target.csv").write_text("old", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to("target.csv")
    measured().write_per_query(tmp_path / "link.csv")
    assert pl.read_csv(tmp_path / "link.csv").height == measured_height()


def test_the_output_may_not_be_an_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SMALL.qrels.write_parquet("qrels.parquet")
    SMALL.run.write_parquet("run.parquet")
    before = inputs.digest("run.parquet")
    assert main(["evaluate", "qrels.parquet", "run.parquet", "-m", "AP", "--per-query", "./run.parquet"]) == 2
    assert "run.parquet" in capsys.readouterr().err
    assert inputs.digest("run.parquet") == before


@pytest.fixture
def interrupted(tmp_path):
    """A folder with what a killed writer of `x.csv` left, and other files with names like that."""
    target = tmp_path / "x.csv"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, env=inputs.environment()
    ) as process:
        assert process.stdout.readline() == b"writing\n"
        process.kill()
    (left,) = tmp_path.iterdir()
    for name in (f".y.csv.abcdefgh{sinks.TEMPORARY}", f".x.csv.y.abcdefgh{sinks.TEMPORARY}", f"x.csv{sinks.TEMPORARY}"):
        (tmp_path / name).touch()
    (tmp_path / f".x.csv.folder{sinks.TEMPORARY}").mkdir()
    (tmp_path / f".x.csv.link{sinks.TEMPORARY}").symlink_to(tmp_path / f"x.csv{sinks.TEMPORARY}")
    return left, sorted(path for path in tmp_path.iterdir() if path != left)


def test_what_a_killed_run_left_is_removed_by_the_next(interrupted):
    left, others = interrupted
    target = left.parent / "x.csv"
    assert sinks.check_target(target, "per_query") == [left]
    assert sorted(left.parent.iterdir()) == others
    assert sinks.check_target(target, "per_query") == []


@pytest.mark.parametrize("link", [False, True], ids=["target", "link"])
def test_writing_removes_what_a_killed_run_left(link, interrupted):
    left, others = interrupted
    target = left.parent / ("link.csv" if link else "x.csv")
    if link:
        target.symlink_to("x.csv")
    measured().write_per_query(target)
    assert not left.exists()
    assert sorted(left.parent.iterdir()) == sorted({*others, left.parent / "x.csv", target})


@pytest.mark.parametrize("quiet", [False, True])
def test_the_command_line_tells_what_it_removed(quiet, interrupted, monkeypatch, capsys):
    left, _ = interrupted
    monkeypatch.chdir(left.parent)
    SMALL.qrels.write_parquet("q.parquet")
    SMALL.run.write_parquet("r.parquet")
    line = ["evaluate", "q.parquet", "r.parquet", "-m", "RR", "--per-query", "x.csv", *(["--quiet"] if quiet else [])]
    assert main(line) == 0
    note = f"rankmeter: note: removed {left}, left by a run that was interrupted\n"
    assert (note in capsys.readouterr().err) is not quiet
    assert not left.exists()


def test_the_file_of_a_run_that_still_writes_is_never_touched(tmp_path):
    target = tmp_path / "x.csv"
    with sinks.whole_file(target) as file:
        file.write(b"mine")
        assert sinks.check_target(target, "per_query") == []
        with sinks.whole_file(target) as other:
            other.write(b"other")
        assert target.read_bytes() == b"other"
    assert target.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_taken_away_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    target, lock = tmp_path / "x.csv", sinks._locked
    taken = []

    def late(handle, *, wait):
        if wait and not taken:
            taken.extend(sinks.check_target(target, "per_query"))
        return lock(handle, wait=wait)

    monkeypatch.setattr("rankmeter.sinks._locked", late)
    with sinks.whole_file(target) as file:
        file.write(b"new")
    assert len(taken) == 1
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_without_locks_files_are_written_and_leftovers_stay(interrupted, monkeypatch):
    left, _ = interrupted
    refused = OSError(errno.ENOLCK, "No locks available")
    monkeypatch.setattr("fcntl.flock", lambda *_: (_ for _ in ()).throw(refused))
    measured().write_per_query(left.parent / "x.csv")
    assert left.exists()
    assert READERS[".csv"](left.parent / "x.csv").height == measured_height()
