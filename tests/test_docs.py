"""The documentation agrees with the program."""

import ast
import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

import rankmeter
from rankmeter import schema
from rankmeter.api import Options
from rankmeter.checks.catalogue import CHECKS, ERROR, WARNING
from rankmeter.checks.notices import COUNTED
from rankmeter.cli import app, catalogue, main
from rankmeter.conventions import Rules
from rankmeter.demo import write_sample

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "guide.md"
SOURCES = [*(ROOT / "src" / "rankmeter").rglob("*.py")]
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [module.name for module in pkgutil.walk_packages(rankmeter.__path__, "rankmeter.")]
COMMANDS = get_command(app).commands
RUN = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/rankmeter demo"
TEST = "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/python -m pytest"


def read(path):
    return path.read_text(encoding="utf-8")


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", read(path), re.MULTILINE | re.DOTALL)


def test_readme_has_the_run_and_the_test_command():
    assert [block.strip() for block in blocks(README, "")[:2]] == [RUN, TEST]


def test_ci_runs_the_readme_test_command():
    script = read(ROOT / ".ci" / "run")
    for part in TEST.split(" && "):
        assert all(word in script for word in part.replace(".venv/bin/pip", "pip").split()), part
    for part in ("ruff check .", "ruff format --check .", "mypy", "set -eu"):
        assert part in script
    assert script.rstrip().splitlines()[-1].startswith(".venv/bin/python -m pytest")


def test_readme_table_of_measures_is_fresh():
    assert catalogue.with_table(read(README)) == read(README), "run python -m rankmeter.cli.catalogue ."


def test_page_of_measures_is_fresh():
    assert catalogue.page() == read(ROOT / "docs" / "measures.md"), "run python -m rankmeter.cli.catalogue ."


def test_refresh_writes_both_pages(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"before\n{catalogue.BEGIN}\nold\n{catalogue.END}\nafter\n", encoding="utf-8")
    catalogue.refresh(tmp_path)
    assert read(tmp_path / "docs" / "measures.md") == catalogue.page()
    assert read(tmp_path / "README.md").startswith(f"before\n{catalogue.BEGIN}\n| measures |")
    assert read(tmp_path / "README.md").endswith(f"|\n{catalogue.END}\nafter\n")


def test_data_schemas_are_fresh():
    stored = {path.name: read(path) for path in (ROOT / "data_schemas").glob("*.json")}
    assert stored == {f"{table.name}.json": schema.json_text(table) for table in schema.TABLES.values()}


@pytest.mark.parametrize("path", sorted((ROOT / "data_schemas").glob("*.json")), ids=lambda path: path.stem)
def test_data_schema_is_a_table_schema(path):
    table = json.loads(read(path))
    names = [field["name"] for field in table["fields"]]
    assert set(table["primaryKey"]) <= set(names)
    assert all(field["type"] in {"string", "number", "integer", "boolean", "array"} for field in table["fields"])


@pytest.mark.parametrize("name", COMMANDS)
def test_guide_has_each_command_and_option(name):
    guide = read(GUIDE)
    assert f"`rankmeter {name}" in guide
    for parameter in COMMANDS[name].params:
        for option in parameter.opts if parameter.param_type_name == "option" else []:
            assert re.search(rf"`{re.escape(option)}[` ]", guide), option


@pytest.mark.parametrize("rule", sorted(set(Rules.__dataclass_fields__) - {"convention"}))
def test_a_rule_in_force_is_one_that_can_be_chosen(rule):
    assert rule in Options.__annotations__
    assert rule in {parameter.name for parameter in COMMANDS["evaluate"].params}
    assert f"`--{rule.replace('_', '-')}" in read(GUIDE)


def codes_in(folder):
    """Codes of warnings that the modules of a folder and of those below make."""
    return {code for path in folder.rglob("*.py") for code in re.findall(r'otice\(\s*"([a-z-]+)"', read(path))}


def test_the_search_for_codes_goes_into_each_folder(tmp_path):
    for number, place in enumerate((tmp_path, tmp_path / "a", tmp_path / "a" / "b")):
        place.mkdir(exist_ok=True)
        (place / "x.py").write_text(f'Notice("code-{"abc"[number]}", 1)\nyield _notice(\n    "code-again", 1)\n')
    assert codes_in(tmp_path) == {"code-a", "code-b", "code-c", "code-again"}


def test_each_warning_is_in_the_catalogue_of_checks():
    codes = codes_in(ROOT / "src" / "rankmeter") | set(COUNTED)
    assert len(codes) > len(COUNTED) > 3
    assert codes == {check.code for check in CHECKS.values() if check.severity == WARNING}


def test_each_rule_of_errors_is_in_the_catalogue_of_checks():
    errors = {check.code for check in CHECKS.values() if check.severity == ERROR}
    source = "\n".join(read(path) for path in SOURCES if path.parent.name != "checks" or path.name != "catalogue.py")
    unused = {code for code in errors if f'"{code}"' not in source}
    assert unused == set()
    calls = [node for path in SOURCES for node in ast.walk(ast.parse(read(path))) if isinstance(node, ast.Call)]
    raised = [call for call in calls if getattr(call.func, "id", "") in ("DataError", "RefusedRowsError")]
    assert len(raised) > 40
    for call in raised:
        rule = call.args[1]
        assert not isinstance(rule, ast.Constant) or rule.value in errors, rule.value


def test_the_page_of_checks_is_fresh():
    assert read(ROOT / "docs" / "checks.md") == catalogue.checks_page()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_and_options_in_the_pages_exist(path):
    known = {"--help", "-h", *(option for command in COMMANDS.values() for p in command.params for option in p.opts)}
    known |= {option for parameter in get_command(app).params for option in parameter.opts}
    for line in re.findall(r"`(?:\$ )?(?:\.venv/bin/)?rankmeter ([^`\n]*)`", read(path)):
        words = line.split()
        assert words[0].startswith("-") or words[0] in COMMANDS, line
    for option in re.findall(r"`(--?[a-zA-Z][a-z-]*)[` ]", read(path)):
        assert option in known | {"-c"}, option


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)]+)\)", read(path)):
        file, _, anchor = target.partition("#")
        if "://" in file:
            continue
        page = path.parent / file if file else path
        assert page.exists(), target
        headings = [re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings_of(page)]
        assert not anchor or anchor in headings, target


def headings_of(path):
    return re.findall(r"^#+ (.+)$", read(path), re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_examples_run(path, capsys):
    for block in blocks(path, "python"):
        exec(compile(block, str(path), "exec"), {})
        assert capsys.readouterr().out


def test_readme_session_shows_what_is_printed(tmp_path, monkeypatch):
    write_sample(tmp_path)
    monkeypatch.chdir(tmp_path)
    (session,) = blocks(README, "console")
    for command, shown in re.findall(r"^\$ rankmeter (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert main(shlex.split(command)) == 0
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()


def test_readme_names_each_module():
    tree = read(README).partition("## Source tree")[2]
    for path in (ROOT / "src" / "rankmeter").iterdir():
        if path.suffix == ".py" and not path.name.startswith("__"):
            assert f"  {path.name} " in tree
        elif path.is_dir() and path.name != "__pycache__":
            assert f"  {path.name}/ " in tree


def test_changelog_has_this_version():
    version = re.search(r'^version = "(.+)"', read(ROOT / "pyproject.toml"), re.MULTILINE).group(1)
    assert f"## {version}\n" in read(ROOT / "CHANGELOG.md")


@pytest.mark.parametrize("name", ["rankmeter", *(name for name in MODULES if not name.endswith("__main__"))])
def test_examples_in_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0
