"""Faults while files are written: the old file stands there or the new one, and nothing is left beside it."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faults
import inputs
import numba
import numpy as np
import polars as pl
import pytest

import rankmeter
from rankmeter import sinks

FORMATS = [".parquet", ".arrow", ".csv", ".tsv", ".jsonl", ".json", ".md"]
MANY = "nDCG@10 RR AP " + " ".join(f"P@{depth}" for depth in range(1, 30))
FASTEST = 1000
"""Kills are spread over so many parts of the time that writing takes."""

SMALL = inputs.collection(seed=2)
LARGE = inputs.collection(seed=3, queries=2000, depth=30, digits=5)


@pytest.fixture(scope="module")
def nursery():
    started = faults.Nursery()
    yield started
    started.close()


@pytest.fixture(scope="module")
def written(nursery, tmp_path_factory):
    """Format -> the bytes that a run writes which nothing stops."""
    folder = tmp_path_factory.mktemp("written")
    for suffix in FORMATS:
        assert nursery.done("write", str(folder / f"x{suffix}"), 2, log=folder / "log") == 0, (
            folder / "log"
        ).read_text()
    return {suffix: (folder / f"x{suffix}").read_bytes() for suffix in FORMATS}


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """A folder with judgements and runs, small and large, in order and not."""
    folder = tmp_path_factory.mktemp("collection")
    for name, frames in (("small", SMALL), ("large", LARGE)):
        frames.qrels.write_parquet(folder / f"{name}-q.parquet")
        frames.run.write_parquet(folder / f"{name}-r.parquet")
    LARGE.run.sample(fraction=1, shuffle=True, seed=1).write_parquet(folder / "shuffled-r.parquet")
    return folder


def line(collection, size="small", run=None, **files):
    """The arguments of an evaluation that writes files."""
    paths = [str(collection / f"{size}-q.parquet"), str(collection / f"{run or size}-r.parquet")]
    options = [text for name, path in files.items() for text in (f"--{name.replace('_', '-')}", str(path))]
    return ["evaluate", *paths, "-m", MANY, *options]


def content(path):
    return path.read_bytes() if path.exists() else None


def leftovers(path):
    return [item.name for item in path.parent.iterdir() if item.name.endswith(sinks.TEMPORARY)]


@pytest.mark.parametrize("old", [None, b"old"], ids=["absent", "old"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_crash_before_any_step_leaves_the_old_file_or_the_new(suffix, old, nursery, written, tmp_path):
    """Step by step, until a run is not stopped any more."""
    path = tmp_path / f"x{suffix}"
    for last in range(1, 200):
        if old is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(old)
        code = nursery.done("write_until", str(path), 2, last, signal.SIGKILL)
        if code != -signal.SIGKILL:
            break
        replaced = content(path) != old
        assert content(path) == (written[suffix] if replaced else old), last
        assert len(leftovers(path)) == int(not replaced)
        assert len(sinks.check_target(path, "summary")) == int(not replaced)
        assert leftovers(path) == []
    assert code == 0
    assert last > 5
    assert content(path) == written[suffix]
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new(suffix, nursery, tmp_path):
    path, size, chance = tmp_path / f"x{suffix}", (4, 1000), random.Random(5)
    took = []
    for _ in range(3):
        begun = time.monotonic()
        assert nursery.done("write", str(path), 2, *size) == 0
        took.append(time.monotonic() - begun)
    new, codes = path.read_bytes(), []
    for _ in range(100):
        path.write_bytes(b"old")
        child = nursery.start("write", str(path), 2, *size)
        time.sleep(chance.randrange(FASTEST) / FASTEST * min(took))
        child.kill()
        codes.append(child.wait())
        assert content(path) in (b"old", new)
        assert codes[-1] in (0, -signal.SIGKILL)
        sinks.check_target(path, "summary")
        assert leftovers(path) == []
    assert codes.count(-signal.SIGKILL) > 0


ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(("number", "ended"), ENDS, ids=["interrupt", "terminate"])
def test_a_signal_while_files_are_written(number, ended, suffix, nursery, collection, tmp_path):
    """Before each step but the last, after which the new file stands there."""
    path = tmp_path / f"x{suffix}"
    arguments, log = line(collection, per_query=path), tmp_path.parent / f"{tmp_path.name}.log"
    assert nursery.done("command", arguments, str(tmp_path), log=log) == 0, log.read_text()
    new = path.read_bytes()
    for last in range(1, 100):
        path.write_bytes(b"old")
        code = nursery.done("command", arguments, str(tmp_path), last, number, log=log)
        if code == 0:
            break
        assert code == ended, log.read_text()
        assert content(path) in (b"old", new)
        assert "Traceback" not in log.read_text()
        assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert last > 3
    assert path.read_bytes() == new


@pytest.mark.parametrize(("number", "ended"), ENDS, ids=["interrupt", "terminate"])
def test_a_signal_at_any_moment(number, ended, nursery, collection, tmp_path):
    path, chance = tmp_path / "x.parquet", random.Random(6)
    arguments, log = line(collection, "large", "shuffled", per_query=path), tmp_path.parent / f"{tmp_path.name}.log"
    begun = time.monotonic()
    assert nursery.done("command", arguments, str(tmp_path), log=log) == 0, log.read_text()
    took, new = time.monotonic() - begun, path.read_bytes()
    for _ in range(8):
        path.write_bytes(b"old")
        child = nursery.start("command", arguments, str(tmp_path), log=log)
        time.sleep((0.1 + chance.randrange(FASTEST) / FASTEST) * took)
        child.kill(number)
        code = child.wait()
        assert code in (0, ended, -number), log.read_text()  # the last before and after the program itself
        assert content(path) in (b"old", new)
        assert "Traceback" not in log.read_text()
        assert [item.name for item in tmp_path.iterdir()] == [path.name]


def one_error(log):
    """The only error that the command line told."""
    said = log.read_text(encoding="utf-8")
    assert "Traceback" not in said
    (error,) = [text for text in said.splitlines() if text.startswith("rankmeter: error: ")]
    return error.removeprefix("rankmeter: error: ")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".jsonl"])
def test_a_full_disk_leaves_the_old_file(suffix, nursery, collection, tmp_path):
    disk, log = tmp_path / "disk", tmp_path / "log"
    disk.mkdir()
    path = disk / f"x{suffix}"
    arguments = line(collection, "large", per_query=path)
    assert nursery.done("on_small_disk", str(disk), str(path), arguments, log=log) == 0
    report = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    assert report == {"code": 4, "same": True, "before": [path.name], "after": [path.name]}
    assert one_error(log).startswith(f"{path}: cannot be written: ")


@pytest.mark.parametrize("spilled", ["scattered", "values"])
def test_a_full_disk_while_memory_is_spilled(spilled, nursery, collection, tmp_path):
    disk, log, path = tmp_path / "disk", tmp_path / "log", tmp_path / "x.csv"
    disk.mkdir()
    run = "shuffled" if spilled == "scattered" else None
    arguments = line(collection, "large", run, per_query=path, memory_limit="2GB")
    assert nursery.done("on_small_disk", str(disk), str(path), arguments, spilled, log=log) == 0
    report = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    assert report == {"code": 4, "same": True, "before": [], "after": []}
    assert one_error(log).startswith(f"{disk}: cannot be written: ")
    assert "set TMPDIR" in one_error(log)
    assert path.read_bytes() == b"old"
    assert leftovers(path) == []


def test_what_is_spilled_is_gone_with_the_process(nursery, tmp_path):
    folder, ready, log = tmp_path / "spilled", tmp_path / "ready", tmp_path / "log"
    folder.mkdir()
    child = nursery.start("spill_and_wait", str(folder), str(ready), log=log)
    while not ready.exists():
        assert child.lives(), log.read_text(encoding="utf-8")
        time.sleep(0.01)
    assert list(folder.iterdir()) == []  # no name even while it is used
    child.kill()
    assert child.wait() == -signal.SIGKILL
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".jsonl"])
def test_a_limit_of_file_sizes_leaves_the_old_file(suffix, nursery, collection, tmp_path):
    path, log = tmp_path / f"x{suffix}", tmp_path.parent / f"{tmp_path.name}.log"
    path.write_bytes(b"old")
    arguments = line(collection, "large", per_query=path)
    assert nursery.done("with_small_files", arguments, 1 << 14, log=log) == 4
    assert one_error(log).startswith(f"{path}: cannot be written: ")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o500, 0o600, 0o000], ids=oct)
def test_a_folder_without_permission(mode, nursery, collection, tmp_path):
    folder, log = tmp_path / "folder", tmp_path / "log"
    folder.mkdir()
    (folder / "x.csv").write_bytes(b"old")
    folder.chmod(mode)
    code = nursery.done("without_privileges", line(collection, per_query=folder / "x.csv"), log=log)
    folder.chmod(0o700)
    assert code == 4
    assert one_error(log).startswith(f"{folder / 'x.csv'}: cannot be written: ")
    assert (folder / "x.csv").read_bytes() == b"old"
    assert [item.name for item in folder.iterdir()] == ["x.csv"]


def test_a_missing_folder_is_told_before_the_work(nursery, tmp_path):
    log = tmp_path / "log"
    arguments = ["evaluate", "absent", "absent", "--per-query", str(tmp_path / "absent" / "x.csv")]
    assert nursery.done("command", arguments, str(tmp_path), log=log) == 4
    assert one_error(log).startswith(f"{tmp_path / 'absent' / 'x.csv'}: cannot be written: there is no folder ")


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "trec"])
def test_a_reader_that_reads_nothing(form, collection):
    """`| head -c 0`: more is printed than a pipe holds."""
    arguments = [*line(collection, "large"), "--format", form, "--print-per-query"]
    command = [sys.executable, "-m", "rankmeter", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, env=inputs.environment()) as process:
        process.stdout.close()
        assert process.stderr.read().replace(b"rankmeter: warning: ", b"").count(b"rankmeter: ") == 0
        assert process.wait(timeout=60) == 0


ODD = "мир 日本 é"
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": None}


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "trec"])
def test_an_ascii_locale_does_no_harm(form, tmp_path):
    """Ids, segments, run names and paths beyond ASCII, in files and data as they are, and in tables as escapes."""
    ids = {"query_id": [ODD, "q"], "doc_id": [ODD, "d"]}
    pl.DataFrame({**ids, "grade": [1, 1], ODD: [ODD, None]}).write_parquet(tmp_path / f"{ODD}.parquet")
    pl.DataFrame({**ids, "score": [1.0, 2.0]}).write_parquet(tmp_path / "r.parquet")
    files = [f"--{kind}={tmp_path}/{ODD} {kind}.csv" for kind in ("per-query", "hits", "summary")]
    arguments = [f"{ODD}.parquet", f"{ODD}=r.parquet", "-m", "RR P@50", "--by", ODD, "--format", form, *files]
    for _ in range(2):
        done = inputs.process("-m", "rankmeter", "evaluate", *arguments, "--print-per-query", cwd=tmp_path, **ASCII)
        assert done.returncode == 0, done.stderr
    shown = {"table": "\\u043c", "trec": ""}.get(form, ODD)  # data for programs is UTF-8 anywhere
    assert done.stdout.isascii() or form != "table"
    assert shown in done.stdout
    for kind in ("per-query", "hits", "summary"):
        assert ODD in (tmp_path / f"{ODD} {kind}.csv").read_text(encoding="utf-8")
    missing = inputs.process("-m", "rankmeter", "evaluate", f"{ODD} absent", "r.parquet", cwd=tmp_path, **ASCII)
    assert missing.returncode == 4
    assert "Traceback" not in missing.stderr


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_two_writers_of_one_target(suffix, nursery, tmp_path):
    """Each writes a hundred times and cleans up as a run does; whoever looks sees the file of one of them."""
    path, known = tmp_path / f"x{suffix}", []
    for seed in (2, 3):
        assert nursery.done("write", str(path), seed) == 0
        known.append(path.read_bytes())
    logs = [tmp_path.parent / f"{tmp_path.name}-{seed}.log" for seed in (2, 3)]
    children = [
        nursery.start("write_often", str(path), seed, 100, log=log) for seed, log in zip((2, 3), logs, strict=True)
    ]
    seen = []
    while any(child.lives() for child in children):
        seen.append(path.read_bytes())
    assert [child.wait() for child in children] == [0, 0], [log.read_text(encoding="utf-8") for log in logs]
    assert set(seen) <= set(known)
    assert path.read_bytes() in known
    assert list(tmp_path.iterdir()) == [path]


CACHED = """
import numpy as np
from powerless import powerless

powerless()
from rankmeter import compiler
from rankmeter.sums import exact_sums

print(exact_sums(np.array([[0.1], [0.2]]), np.array([0, 0]), 1)[0][0], compiler.cache_folder())
"""


def test_a_cache_that_may_only_be_read_does_no_harm(tmp_path):
    """What it holds is used by nobody who could not have written it; values are the same."""
    path = f"{inputs.SOURCES.parent}:{Path(__file__).parent}"
    cache = tmp_path / "cache"
    places = {"HOME": tmp_path / "none", "XDG_CACHE_HOME": cache, "TMPDIR": tmp_path, "PYTHONPATH": path}
    first = inputs.python(CACHED, RANKMETER_CACHE_DIR=None, **places).split()
    files = sorted(cache.rglob("*"))
    for folder in (cache, *(item for item in files if item.is_dir())):
        folder.chmod(0o500)
    second = inputs.python(CACHED, RANKMETER_CACHE_DIR=None, **places).split()
    assert first[0] == second[0]
    assert first[1].startswith(str(cache))
    assert not second[1].startswith(str(cache))
    assert sorted(cache.rglob("*")) == files


def settings():
    """What a call could change for the whole process."""
    return {
        "polars": pl.thread_pool_size(),
        "numba": numba.get_num_threads(),
        "environment": dict(os.environ),
        "switching": sys.getswitchinterval(),
        "floats": np.geterr(),
        "folder": Path.cwd(),
        "limits": [resource.getrlimit(kind) for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)],
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
        "hook": sys.unraisablehook,
        "threads": {thread for thread in threading.enumerate() if thread.name.startswith("rankmeter")},
    }


def test_calls_from_a_pool_of_threads_equal_serial_ones_and_change_no_settings(tmp_path):
    frames = [inputs.collection(seed=seed, queries=30) for seed in range(6)]

    def work(number):
        result = rankmeter.evaluate(frames[number].qrels, {"r": frames[number].run}, inputs.MEASURES, keep_hits=True)
        result.write_per_query(tmp_path / f"{number}.parquet")
        result.write_hits(tmp_path / "the same.csv")
        return result.per_query.rows(), result.hits.rows(), result.summary.rows()

    before = settings()
    expected = [work(number) for number in range(len(frames))]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, list(range(len(frames))) * 4))
    assert found == expected * 4
    assert settings() == before
    assert leftovers(tmp_path / "x") == []
