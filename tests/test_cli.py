"""The command line: exit codes, messages, streams and formats."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import inputs
import polars as pl
import pytest
from typer.main import get_command

from rankmeter.catalogue import MEASURES, SUITES
from rankmeter.catalogue.jobs import JOBS
from rankmeter.cli import app, exits, main, options, progress, sheets
from rankmeter.cli.demo import program
from rankmeter.cli.evaluate import run_input
from rankmeter.cli.sheets import Sheet
from rankmeter.errors import StorageError

QRELS = "q1 0 a 2\nq1 0 b 1\nq2 0 c 1\nq3 0 d 0\n"
BM25 = "q1 Q0 a 1 3 bm25\nq1 Q0 x 2 2 bm25\nq1 Q0 b 3 1 bm25\nq9 Q0 a 1 1 bm25\n"
DENSE = "q1 Q0 b 1 3 dense\nq2 Q0 y 1 2 dense\nq2 Q0 c 2 1 dense\n"
QUERIES = "query_id,market,device\nq1,de,mobile\nq2,fr,mobile\nq3,de,desktop\n"
SHADOWED = ("polars", "pyarrow", "numba", "numpy")


@pytest.fixture
def folder(tmp_path):
    for name, content in (("qrels.trec", QRELS), ("bm25.trec", BM25), ("dense.trec", DENSE), ("queries.csv", QUERIES)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


@pytest.fixture
def call(folder, monkeypatch, capsys):
    """Runs a command line in this process and that folder: exit code, standard output, standard error."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        words = shlex.split(arguments[0]) if len(arguments) == 1 else [str(argument) for argument in arguments]
        code = main(words)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def process(*arguments, **settings):
    """Runs a command line in a process of its own."""
    command = [sys.executable, "-m", "rankmeter", *(str(argument) for argument in arguments)]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **settings}
    return subprocess.run(command, check=False, **settings)


# Usage


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("evaluate", ["nothing to evaluate", "QRELS", "--labelled"]),
        ("evaluate qrels.trec", ["no run to evaluate against qrels.trec"]),
        ("evaluate qrels.trec bm25.trec --labelled log.csv", ["one form", "--labelled"]),
        ("evaluate absent.trec absent.trec -m nDGC@10", ["unknown measure", "nDGC", "nDCG"]),
        ("evaluate absent.trec absent.trec -m P@0", ["P@0", "1 or more"]),
        ("evaluate absent.trec absent.trec --ties wurst", ["--ties", "wurst", "worst"]),
        ("evaluate absent.trec absent.trec --order-by height", ["--order-by", "height"]),
        ("evaluate absent.trec absent.trec --missing-queries drop", ["--missing-queries", "drop"]),
        ("evaluate absent.trec absent.trec --without-relevant drop", ["--without-relevant", "drop"]),
        ("evaluate absent.trec absent.trec --relevance-level nan", ["relevance level", "nan"]),
        ("evaluate absent.trec absent.trec --relevance-level high", ["--relevance-level", "number"]),
        ("evaluate absent.trec absent.trec --threads 0", ["--threads", "1"]),
        ("evaluate absent.trec absent.trec --format xml", ["--format", "xml", "json"]),
        ("evaluate absent.trec absent.trec --qrels-columns q", ["--qrels-columns", "ROLE=COLUMN", '"q"']),
        ("evaluate absent.trec absent.trec --run-columns doc_id=a,doc_id=b", ["two columns for doc_id", "a", "b"]),
        ("evaluate qrels.trec x=", ['"x="', "no path"]),
        ("evaluate qrels.trec bm25.trec --qrels-format xml", ["xml", "parquet"]),
        ("evaluate qrels.trec bm25.trec --per-query out.xyz", ["out.xyz", ".parquet"]),
        ("evaluate qrels.trec bm25.trec --per-query a.csv --hits a.csv", ["--hits", "a.csv"]),
        ("evaluate qrels.trec bm25.trec --hits ./bm25.trec", ["--hits", "bm25.trec"]),
        ("evaluate qrels.trec a=bm25.trec a=dense.trec", ["a"]),
        ("evaluate qrels.trec bm25.trec --by market", ["market"]),
        ("evaluate queries.csv bm25.trec --qrels-columns query_id=nobody", ["nobody", "queries.csv"]),
        ("evaluate qrels.trec bm25.trec --nonsense", ["--nonsense"]),
        ("evalute", ["evalute", "evaluate"]),
        ("measures nDGC", ["nDGC", "nDCG"]),
        ("measures P@0", ["P@0"]),
        ("schema hist", ["hist", "hits"]),
        ("measures --format xml", ["xml"]),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(call, line, words):
    code, out, err = call(line)
    assert (code, out) == (2, "")
    assert err.startswith("rankmeter: error: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("evaluate absent.trec bm25.trec", 4, ["absent.trec"]),
        ("evaluate qrels.trec absent.parquet", 4, ["absent.parquet"]),
        ("evaluate qrels.trec 'absent/*.parquet'", 4, ["absent/*.parquet"]),
        ("evaluate qrels.trec name=absent.trec", 4, ["absent.trec"]),
        ("evaluate qrels.trec bm25.trec --by market --queries absent.csv", 4, ["absent.csv"]),
        ("evaluate qrels.trec bm25.trec --summary absent/s.csv", 4, ["absent"]),
        ("evaluate queries.csv bm25.trec", 3, ["queries.csv", "doc_id", "market"]),
        ("evaluate qrels.trec short.trec", 3, ["short.trec", "1", "5", "6"]),
        ("evaluate qrels.trec other.trec", 3, ["qrels.trec", "other.trec", "q77"]),
        ("evaluate qrels.trec twice.trec", 3, ["twice.trec", "q1", "a"]),
    ],
)
def test_bad_input_is_one_sentence(folder, call, line, code, words):
    (folder / "short.trec").write_text("q1 Q0 a 1 3\n", encoding="utf-8")
    (folder / "other.trec").write_text("q77 Q0 a 1 3 t\n", encoding="utf-8")
    (folder / "twice.trec").write_text("q1 Q0 a 1 3 t\nq1 Q0 a 2 2 t\n", encoding="utf-8")
    got, out, err = call(line)
    assert (got, out) == (code, "")
    assert "rankmeter: error: " in err
    assert "Traceback" not in err
    for word in words:
        assert word in err


def test_no_command_shows_help_on_standard_error(call):
    code, out, err = call("")
    assert (code, out) == (2, "")
    assert "Usage: rankmeter" in err


def test_version(call):
    code, out, err = call("--version")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"rankmeter.*\n", out)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_each_command(call, flag):
    code, out, err = call(flag)
    assert (code, err) == (0, "")
    for name in get_command(app).commands:
        assert re.search(rf"^  {name} ", out, re.MULTILINE)


@pytest.mark.parametrize("name", get_command(app).commands)
def test_help_of_a_command_lists_and_explains_each_option(call, name):
    code, out, err = call(f"{name} --help")
    assert (code, err) == (0, "")
    for parameter in get_command(app).commands[name].params:
        assert parameter.help
        for option in parameter.opts if parameter.param_type_name == "option" else []:
            assert option in out


# Results


def test_table_shows_runs_measures_and_accounting(call):
    code, out, err = call("evaluate qrels.trec bm25.trec dense.trec -m 'RR P@2 NumRelRet'")
    assert code == 0
    assert "error" not in err
    lines = [line.split() for line in out.splitlines()]
    assert ["measure", "bm25", "dense"] in lines
    assert ["queries", "3", "3"] in lines
    assert ["RR", "0.3333", "0.5000"] in lines
    assert ["P@2", "0.1667", "0.3333"] in lines
    assert ["NumRelRet", "2", "2"] in lines
    assert "convention trec_eval" in out
    assert "bm25: 3 queries judged, 1 answered, 2 missing; 1 unjudged, 1 without relevant" in out
    assert "4 rows read, 3 used, 1 ignored" in out
    assert "\x1b" not in out


def test_table_names_changed_rules(call):
    _, out, _ = call("evaluate qrels.trec bm25.trec -l 2 --ties doc-id-asc --missing-queries skip")
    assert "convention trec_eval with relevance-level 2" in out
    assert "ties doc-id-asc" in out
    assert "missing-queries skip" in out


def test_table_by_segment_has_all_first(call):
    code, out, _ = call("evaluate qrels.trec bm25.trec dense.trec -m RR --by market --queries queries.csv")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    start = rows.index(["market", "queries", "RR"])
    assert rows[start + 2 : start + 5] == [["all", "3", "0.3333"], ["de", "2", "0.5000"], ["fr", "1", "0.0000"]]
    assert out.count("market") == 2


def test_table_with_queries(call):
    _, out, _ = call("evaluate qrels.trec dense.trec -m 'RR NumRel' -q")
    rows = [line.split() for line in out.splitlines()]
    assert ["query_id", "n_retrieved", "n_relevant", "RR", "NumRel"] in rows
    assert ["q2", "2", "1", "0.5000", "1"] in rows


def test_json_has_the_keys_in_order(call):
    code, out, _ = call(
        "evaluate qrels.trec bm25.trec -m 'hit@5 nDCG@10' --by market --queries queries.csv --format json"
    )
    assert code == 0
    assert out.endswith("}\n")
    assert out.count("\n") == 1
    whole = json.loads(out)
    assert list(whole) == ["rankmeter", "convention", "inputs", "runs", "warnings"]
    (run,) = whole["runs"]
    assert list(run) == ["run", "accounting", "groups"]
    assert list(run["accounting"]) == [
        "rows_read",
        "rows_used",
        "rows_ignored",
        "queries_judged",
        "queries_in_run",
        "queries_evaluated",
        "queries_missing",
        "queries_unjudged",
        "queries_without_relevant",
        "queries_tied_at_hits",
    ]
    assert [group["group"] for group in run["groups"]] == [{}, {"market": "de"}, {"market": "fr"}]
    assert list(run["groups"][0]) == ["group", "n_queries", "measures"]
    assert list(run["groups"][0]["measures"]) == ["Success@5", "nDCG@10"]
    assert run["groups"][0]["measures"]["Success@5"]["mean"] == 1 / 3


def test_json_with_queries(call):
    _, out, _ = call("evaluate qrels.trec bm25.trec dense.trec -m RR --format json -q")
    queries = {run["run"]: {row["query_id"]: row["RR"] for row in run["per_query"]} for run in json.loads(out)["runs"]}
    assert queries == {"bm25": {"q1": 1.0, "q2": 0.0, "q3": 0.0}, "dense": {"q1": 1.0, "q2": 0.5, "q3": 0.0}}


@pytest.mark.parametrize(("form", "separator"), [("csv", ","), ("tsv", "\t")])
def test_separated_values_have_full_precision(call, form, separator):
    _, out, _ = call(f"evaluate qrels.trec bm25.trec -m 'RR NumRel' --format {form}")
    rows = list(csv.DictReader(io.StringIO(out), delimiter=separator))
    assert [row["measure"] for row in rows] == ["RR", "NumRel"]
    assert float(rows[0]["mean"]) == 1 / 3
    assert float(rows[1]["sum"]) == 3


def test_separated_values_with_queries_are_two_blocks(call):
    _, out, _ = call("evaluate qrels.trec bm25.trec -m RR --format csv -q")
    summary, queries = out.split("\n\n")
    assert summary.startswith("run,measure,")
    assert queries.startswith("run,query_id,")
    assert len(queries.splitlines()) == 4


def test_markdown_is_a_pipe_table(call):
    _, out, _ = call("evaluate qrels.trec bm25.trec dense.trec -m RR --format markdown")
    assert "| measure | bm25 | dense |\n| --- | ---: | ---: |\n| queries | 3 | 3 |\n| RR | 0.3333 | 0.5000 |" in out


def test_default_measures(call):
    _, out, _ = call("evaluate qrels.trec bm25.trec --format json")
    assert list(json.loads(out)["runs"][0]["groups"][0]["measures"]) == options.DEFAULT_MEASURES.split()


def test_files_are_written(call):
    code, _, _ = call("evaluate qrels.trec bm25.trec -m RR --per-query p.parquet --summary s.csv --hits h.parquet")
    assert code == 0
    assert pl.read_parquet("p.parquet")["RR"].to_list() == [1.0, 0.0, 0.0]
    assert pl.read_csv("s.csv")["measure"].to_list() == ["RR"]
    assert pl.read_parquet("h.parquet").select("doc_id", "rank", "grade").rows() == [("a", 1, 2.0), ("b", 3, 1.0)]


def test_labelled_log(folder, call):
    (folder / "log.csv").write_text("query_id,doc_id,rank,label\nq1,a,1,0\nq1,b,2,1\n", encoding="utf-8")
    code, out, _ = call("evaluate --labelled log.csv -m 'RR P@1' --format json")
    assert code == 0
    assert json.loads(out)["runs"][0]["groups"][0]["measures"]["RR"]["mean"] == 0.5


def test_run_names(folder, call):
    (folder / "odd=name.trec").write_text(BM25, encoding="utf-8")
    _, out, _ = call("evaluate qrels.trec old=bm25.trec new=dense.trec -m RR --format json")
    assert [run["run"] for run in json.loads(out)["runs"]] == ["old", "new"]
    code, _, _ = call("evaluate qrels.trec odd=name.trec -m RR")
    assert code == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [("a=x.trec", "a"), ("x.trec", None), ("part=1/x.trec", "part"), ("dir/a=1.trec", None), ("=x.trec", None)],
)
def test_name_before_the_path(tmp_path, monkeypatch, text, name):
    monkeypatch.chdir(tmp_path)
    assert run_input(text).name == name


def test_existing_paths_and_globs_have_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part=1").mkdir()
    (tmp_path / "part=1" / "x.trec").touch()
    assert run_input("part=1/x.trec").name is None
    assert run_input("part=*/x.trec").name is None


# Messages


def test_warnings_go_to_standard_error_and_into_json(call):
    code, out, err = call("evaluate qrels.trec bm25.trec -m P@100 --format json")
    assert code == 0
    warnings = json.loads(out)["warnings"]
    assert warnings
    for warning in warnings:
        assert f"rankmeter: warning: [{warning['code']}] {warning['message']}" in err


def test_quiet_prints_no_warnings(call):
    code, out, err = call("evaluate qrels.trec bm25.trec -m P@100 --quiet")
    assert (code, err) == (0, "")
    assert "P@100" in out


def test_strict_makes_errors_of_warnings(call):
    code, out, err = call("evaluate qrels.trec bm25.trec -m P@100 --strict --per-query p.parquet")
    assert (code, out) == (3, "")
    assert "rankmeter: warning: [" in err
    assert err.splitlines()[-1].startswith("rankmeter: error: [strict] --strict")
    assert not Path("p.parquet").exists()


class Beyond(BaseException):
    """What no `except Exception` sees."""


PANIC = pl.exceptions.PanicException("index out of bounds")
"""What polars raises where a library below it fails."""


@pytest.mark.parametrize("error", [KeyError("inside"), KeyError(), Beyond("inside"), GeneratorExit(), PANIC], ids=repr)
def test_defects_are_exit_70_with_a_traceback_only_under_debug(error, call, monkeypatch):
    def broken(*_):
        raise error

    monkeypatch.setattr("rankmeter.pipeline.execute", broken)
    code, out, err = call("evaluate qrels.trec bm25.trec")
    assert (code, out) == (70, "")
    assert err.count("\n") == 1
    assert "defect in rankmeter" in err
    assert "--debug" in err
    for line in ("evaluate qrels.trec bm25.trec --debug", "--debug evaluate qrels.trec bm25.trec"):
        code, _, err = call(line)
        assert code == 70
        assert "Traceback" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (MemoryError(), 5),
        (OSError(28, "No space left on device", "out.csv"), 4),
        (StorageError("x: cannot be read"), 4),
        (BrokenPipeError(), 0),
    ],
)
def test_ends_become_exit_codes(call, monkeypatch, error, code):
    def ends(*_):
        raise error

    monkeypatch.setattr("rankmeter.pipeline.execute", ends)
    monkeypatch.setattr(exits, "_after_closed_pipe", lambda: 0)
    got, out, err = call("evaluate qrels.trec bm25.trec")
    assert (got, out) == (code, "")
    assert "Traceback" not in err


def test_sigterm_is_143():
    code = (
        "import sys, time\nimport rankmeter.schema as s\n"
        "def wait(*_):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "s.find_table = wait\n"
        "from rankmeter.cli import main\n"
        "sys.exit(main(['schema', 'hits']))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 143


@pytest.mark.parametrize("arguments", [["schema", "run"], ["--help"], ["measures"]])
def test_a_closed_pipe_is_fine(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    done = process(*arguments, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


WARNS = "evaluate q.trec r.trec -m P@50"
"""A command that prints a warning and a result."""


@pytest.mark.parametrize(
    ("redirection", "code"),
    [("<&-", 0), ("2>&-", 0), ("2>/dev/full", 0), (">&-", 4), (">/dev/full", 4), (">&- 2>&-", 4), ("<&- >&- 2>&-", 4)],
)
def test_streams_that_are_closed_or_full(redirection, code, tmp_path):
    (tmp_path / "q.trec").write_text("q 0 a 1\n", encoding="utf-8")
    (tmp_path / "r.trec").write_text("q Q0 a 1 1 t\n", encoding="utf-8")
    command = f"{sys.executable} -m rankmeter {WARNS} --per-query out.csv {redirection}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=inputs.environment(), capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("run,query_id")
    if code == 0:
        assert b"P@50" in done.stdout
    elif "2>" not in redirection:
        assert b"rankmeter: error: standard output: " in done.stderr


def test_an_ascii_terminal_gets_escapes(folder):
    (folder / "run.trec").write_text(BM25.replace("bm25", "Müller"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = process("evaluate", folder / "qrels.trec", folder / "run.trec", "-m", "RR", env=environment)
    assert done.returncode == 0, done.stderr
    assert b"M\\xfcller" in done.stdout


# Speed and looks


def test_the_command_line_imports_nothing_heavy():
    code = (
        "import sys, rankmeter.cli, rankmeter.cli.catalogue, rankmeter.cli.results, rankmeter.cli.progress\n"
        f"print([name for name in {(*SHADOWED, 'rich')!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["measures"], ["schema", "run"]])
def test_commands_without_data_load_nothing_heavy(arguments):
    code = (
        "import sys\nfrom rankmeter.cli import main\n"
        f"main({arguments!r})\n"
        f"sys.exit(','.join(name for name in {SHADOWED!r} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_is_quick():
    best = min(_seconds("--help") for _ in range(3))
    assert best < 1.0  # about 0.1 on a free machine; tests share theirs


def _seconds(*arguments):
    start = time.perf_counter()
    process(*arguments)
    return time.perf_counter() - start


class Screen(io.StringIO):
    """Stands in for a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), ("", True)])
def test_no_color(monkeypatch, no_color, coloured):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    sheets.show([Sheet("title", ("measure", "bm25"), (("RR", "0.5000"),))])
    assert ("\x1b" in screen.getvalue()) == coloured


def test_a_table_too_wide_goes_on_below(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    header = ("measure", *(f"run-number-{number}" for number in range(6)))
    sheets.show([Sheet("", header, (("RR", *["0.5000"] * 6),))])
    lines = screen.getvalue().splitlines()
    assert max(len(line) for line in lines) <= 40
    assert sum(line.startswith("measure") for line in lines) == 3
    for name in header:
        assert name in screen.getvalue()


def test_markup_in_names_is_text(folder, call):
    (folder / "run.trec").write_text(BM25.replace("bm25", "[red]x[/red]"), encoding="utf-8")
    _, out, _ = call("evaluate qrels.trec run.trec -m RR")
    assert "[red]x[/red]" in out


def test_progress_shows_on_a_terminal(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.bar(wanted=True) as shown:
        for total in (1000, None):
            shown.start(total, 10)
            shown.advance(1000, 10)
            shown.finish()
        shown.advance(1, 1)
    assert "1,000 rows, 10 queries" in screen.getvalue()


@pytest.mark.parametrize("empty", [True, False])
def test_compiling_is_announced_on_a_terminal(call, monkeypatch, empty):
    monkeypatch.setattr(sys, "stderr", Screen())
    monkeypatch.setattr("rankmeter.compiler.nothing_compiled", lambda: empty)
    screen = sys.stderr
    code, _, _ = call("evaluate qrels.trec bm25.trec")
    assert code == 0
    assert ("compiling for the first time" in screen.getvalue()) == empty


@pytest.mark.parametrize("wanted", [True, False])
def test_progress_is_silent_elsewhere(capsys, wanted):
    with progress.bar(wanted=wanted) as shown:
        assert shown is None
    assert capsys.readouterr().err == ""


# Other commands


def test_measures_lists_all(call):
    code, out, err = call("measures")
    assert (code, err) == (0, "")
    for measure in MEASURES.values():
        assert measure.title in out
    for suite in SUITES:
        assert f"{suite}@k: " in out or f"{suite}: " in out


@pytest.mark.parametrize("name", [*MEASURES, "hit@5", "MAP", "ndcg_cut_10"])
def test_measures_explains_one(call, name):
    code, out, err = call("measures", name)
    assert (code, err) == (0, "")
    for heading in ("Formula", "Range", "Nothing relevant", "Missing query", "Source", "Example", "trec_eval"):
        assert re.search(rf"^{heading} +\S", out, re.MULTILINE)


@pytest.mark.parametrize("name", MEASURES)
def test_the_example_of_a_measure_works(call, name):
    told = json.loads(call("measures", name, "--format", "json")[1])
    assert told["name"] == name
    shown = " ".join(call("measures", name)[1].split())
    assert told["example"] in shown
    arguments = shlex.split(told["example"])[1:]
    replaced = ["qrels.trec" if word == "QRELS" else "bm25.trec" if word == "RUN" else word for word in arguments]
    assert call(*replaced)[0] == 0


@pytest.mark.parametrize("job", JOBS)
def test_measures_for_a_job(call, job):
    code, out, err = call("measures", "--for", job)
    assert (code, err) == (0, "")
    for advice in JOBS[job].advice:
        assert re.search(rf"^{re.escape(advice.measure)} +\S", out, re.MULTILINE)
    assert "faithful" in out
    told = json.loads(call("measures", "--for", job, "--format", "json")[1])
    assert [one["measure"] for one in told["measures"]] == [advice.measure for advice in JOBS[job].advice]
    assert "| measure |" in call("measures", "--for", job, "--format", "markdown")[1]
    names = " ".join(advice.measure for advice in JOBS[job].advice)
    assert call("evaluate", "qrels.trec", "bm25.trec", "-m", names)[0] == 0


def test_an_unknown_job_has_a_nearest_one(call):
    assert call("measures", "--for", "rerankk")[0] == 2
    assert "rerank" in call("measures", "--for", "rerankk")[2]
    assert call("measures", "nDCG", "--for", "rag")[0] == 2


def test_measures_in_other_formats(call):
    everything = json.loads(call("measures --format json")[1])
    assert [measure["name"] for measure in everything] == list(MEASURES)
    assert call("measures --format markdown")[1].startswith("| measure |")
    assert call("measures nDCG --format markdown")[1].startswith("## nDCG")
    assert call("measures rag")[1].startswith("rag@k: P@k, ")
    assert "suite" in json.loads(call("measures rag@5 --format json")[1])


def test_schema_lists_and_describes(call):
    code, out, _ = call("schema")
    assert code == 0
    for line in out.splitlines():
        code, described, _ = call("schema", line.split()[0])
        assert code == 0
        assert json.loads(described)["name"] == line.split()[0]


def test_demo_twice_leaves_other_files(tmp_path, monkeypatch, call):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "mine.txt").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["rankmeter"])
    first = call("demo shop")
    files = {path.name: path.read_bytes() for path in (tmp_path / "shop").iterdir()}
    second = call("demo shop")
    assert first[0] == second[0] == 0
    assert first[1] == second[1]
    assert {path.name: path.read_bytes() for path in (tmp_path / "shop").iterdir()} == files
    assert files["mine.txt"] == b"mine"


def test_demo_prints_commands_that_work(monkeypatch, call):
    monkeypatch.setattr(sys, "argv", ["rankmeter"])
    code, out, err = call("demo", "my shop")
    assert code == 0, err
    commands = re.findall(r"^\$ rankmeter (.*)$", out, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        code, shown, _ = call(command)
        assert code == 0
        assert shown in out


def test_demo_where_a_file_is_in_the_way(tmp_path, call):
    (tmp_path / "taken").touch()
    code, out, err = call("demo", tmp_path / "taken")
    assert (code, out) == (4, "")
    assert "taken" in err


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        (".venv/bin/rankmeter", [".venv/bin/rankmeter"]),
        ("/x/rankmeter/__main__.py", [sys.executable, "-m", "rankmeter"]),
        ("pytest", ["rankmeter"]),
    ],
)
def test_demo_shows_how_it_was_called(monkeypatch, called, shown):
    monkeypatch.setattr(sys, "argv", [called])
    assert program() == shown


def test_completion_of_names():
    assert options.complete_measure("ndc") == ["nDCG", "nDCGRel"]
    assert "rag" in options.complete_measure("ra")
    assert options.complete_table("hi") == ["hits"]


def test_shell_completion_lists_commands():
    environment = {**os.environ, "_RANKMETER_COMPLETE": "complete_bash", "COMP_WORDS": "rankmeter ", "COMP_CWORD": "1"}
    done = process(env=environment)
    assert set(done.stdout.decode().split()) == set(get_command(app).commands)
