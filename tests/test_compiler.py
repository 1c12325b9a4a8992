"""The disk cache of compiled code: used, mended, never stale, never needed."""

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import inputs
import pytest

REPORT = """
modules = [module for name, module in sys.modules.items() if name.startswith("rankmeter")]
compiled = {id(value): value for module in modules for value in vars(module).values() if hasattr(value, "stats")}
stats = [value.stats for value in compiled.values()]
print(json.dumps({
    "values": values,
    "hits": sum(sum(one.cache_hits.values()) for one in stats),
    "misses": sum(sum(one.cache_misses.values()) for one in stats),
    "folder": str(compiler.cache_folder()),
}))
"""
EVALUATE = f"""
import json, sys
import rankmeter
from rankmeter import compiler

qrels = {{"q1": {{"a": 1, "b": 2, "a long document name": 1}}, "q2": {{"x": 1}}}}
run = {{"q1": {{"b": 0.5, "c": 0.5, "a long document name": 0.25}}, "q2": {{"y": 2.0, "x": 1.0}}}}
result = rankmeter.evaluate(qrels, run, "nDCG@10 AP RR P@5")
values = result.per_query.drop("run").rows()
{REPORT}"""
FEW = f"""
import json, sys
import numpy as np
from rankmeter import compiler
from rankmeter.judgements import sort_down
from rankmeter.sums import exact_sums

numbers = np.array([0.1, 0.2, 0.3, 1e300, -1e300])
values = [str(one) for one in exact_sums(numbers.reshape(-1, 1), np.array([0, 1, 0, 1, 1]), 2)[0]]
values += sort_down(np.array([0, 2, 5]), numbers).tolist()
{REPORT}"""


def done(code, cache, **changes):
    """What a new process computes, and how often it found its code in the cache."""
    return json.loads(inputs.python(code, RANKMETER_CACHE_DIR=cache, **changes))


def filled(code, factory):
    """A new cache that one process has filled, and the values of that process."""
    folder = factory.mktemp("cache")
    first = done(code, folder)
    assert first["misses"] > 0
    return folder, first["values"]


@pytest.fixture(scope="module")
def whole_cache(tmp_path_factory):
    """A cache with all code of an evaluation, and its values."""
    return filled(EVALUATE, tmp_path_factory)


@pytest.fixture(scope="module")
def small_cache(tmp_path_factory):
    """A cache with the code of a few functions, which compile quickly, and their values."""
    return filled(FEW, tmp_path_factory)


@pytest.fixture
def small(small_cache, tmp_path):
    """A copy of the small cache, the values, and the files."""
    folder = tmp_path / "cache"
    shutil.copytree(small_cache[0], folder)
    return folder, small_cache[1], sorted(folder.glob("*/*.code"))


def test_the_second_process_compiles_nothing(whole_cache):
    folder, values = whole_cache
    files = sorted(folder.glob("*/*"))
    second = done(EVALUATE, folder)
    assert second["values"] == values
    assert second["misses"] == 0
    assert second["hits"] > 5
    assert sorted(folder.glob("*/*")) == files
    assert second["folder"].startswith(str(folder))


@pytest.mark.parametrize("damage", [b"", b"no pickle", None], ids=["empty", "other bytes", "cut"])
def test_damaged_files_are_compiled_anew(damage, small):
    folder, values, files = small
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    again = done(FEW, folder)
    assert again["values"] == values
    assert again["hits"] == 0
    assert again["misses"] == len(files)
    assert done(FEW, folder)["misses"] == 0


def test_one_damaged_file_among_many(small):
    folder, values, files = small
    files[0].write_bytes(b"damaged")
    files[1].unlink()
    again = done(FEW, folder)
    assert again["values"] == values
    assert 1 <= again["misses"] <= 2


def test_the_temporary_folder_stands_in_for_home(small, tmp_path):
    homeless = {"HOME": "/dev/null/x", "XDG_CACHE_HOME": "/dev/null/y", "TMPDIR": tmp_path}
    first = done(FEW, None, **homeless)
    assert first["values"] == small[1]
    assert first["folder"].startswith(str(tmp_path))
    assert done(FEW, None, **homeless)["misses"] == 0


def test_an_empty_cache_is_known_from_a_filled_one(small_cache, tmp_path):
    code = "from rankmeter.compiler import nothing_compiled; print(nothing_compiled())"
    assert inputs.python(code, RANKMETER_CACHE_DIR=tmp_path).strip() == "True"
    assert inputs.python(code, RANKMETER_CACHE_DIR=small_cache[0]).strip() == "False"


def test_no_folder_can_be_written(small):
    found = done(FEW, "/dev/null/z")
    assert found["values"] == small[1]
    assert found["folder"] == "None"


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702, 0o720], ids=oct)
@pytest.mark.parametrize("level", ["base", "folder"])
def test_a_folder_open_to_others_is_not_used(small, level, mode, tmp_path):
    folder, values, _ = small
    opened = folder if level == "base" else next(folder.iterdir())
    opened.chmod(mode)
    found = done(FEW, folder, HOME="/nowhere", XDG_CACHE_HOME="/nowhere", TMPDIR=tmp_path)
    assert (found["folder"], found["values"], found["hits"]) == ("None", values, 0)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077], ids=oct)
def test_folders_that_we_make_are_ours_alone(umask, tmp_path):
    code = f"import os; os.umask({umask}); from rankmeter.compiler import cache_folder; print(cache_folder())"
    for changes in ({"RANKMETER_CACHE_DIR": tmp_path / "a" / "b"}, {"RANKMETER_CACHE_DIR": None, "HOME": tmp_path}):
        folder = Path(inputs.python(code, **{"XDG_CACHE_HOME": None, **changes}).strip())
        assert folder.is_relative_to(tmp_path)
        for made in (folder, folder.parent):
            assert stat.S_IMODE(made.stat().st_mode) & 0o077 == 0


def test_an_edited_kernel_is_compiled_anew(whole_cache, tmp_path):
    """Edited after its code went into the cache, a kernel of another file than its driver gives its new values."""
    folder, values = whole_cache
    package = tmp_path / "src" / "rankmeter"
    shutil.copytree(inputs.SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    same = done(EVALUATE, folder, PYTHONPATH=package.parent)
    assert same["values"] == values
    kernel = package / "catalogue" / "binary.py"
    text = kernel.read_text(encoding="utf-8")
    edited = text.replace("return 1.0 / ", "return 7.0 / ").replace("return 1 / ", "return 7 / ")
    assert edited != text
    kernel.write_text(edited, encoding="utf-8")
    changed = done(EVALUATE, folder, PYTHONPATH=package.parent)
    assert changed["misses"] > 0
    assert changed["values"] != values
    assert changed["values"][0][7] == 7 * values[0][7]
    assert done(EVALUATE, folder)["values"] == values


def test_many_processes_on_an_empty_cache_agree(small_cache, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir(mode=0o700)
    environment = inputs.environment(RANKMETER_CACHE_DIR=folder)
    command = [sys.executable, "-c", FEW]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(8)]
    answers = [json.loads(process.communicate(timeout=300)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    assert [answer["values"] for answer in answers] == [small_cache[1]] * 8
    assert [path.suffix for path in folder.glob("*/*")] == [".code"] * len(list(folder.glob("*/*")))
    assert done(FEW, folder)["misses"] == 0


def test_the_compiler_off_gives_the_same_values(whole_cache, tmp_path):
    off = done(EVALUATE, tmp_path, NUMBA_DISABLE_JIT=1)
    assert off["values"] == whole_cache[1]
    assert off["hits"] == off["misses"] == 0
    assert list(tmp_path.rglob("*.code")) == []


@pytest.mark.parametrize("seed", range(2))
def test_the_compiler_off_gives_the_same_hits(seed, tmp_path):
    code = (
        "import sys, inputs, rankmeter\n"
        f"small = inputs.collection(seed={seed})\n"
        "result = rankmeter.evaluate(small.qrels, small.run, inputs.MEASURES, keep_hits=True)\n"
        "print(result.per_query.rows(), result.hits.rows(), result.accounting)"
    )
    path = f"{inputs.SOURCES.parent}:{Path(inputs.__file__).parent}"
    compiled = inputs.python(code, PYTHONPATH=path)
    assert inputs.python(code, PYTHONPATH=path, NUMBA_DISABLE_JIT=1, RANKMETER_CACHE_DIR=tmp_path) == compiled
