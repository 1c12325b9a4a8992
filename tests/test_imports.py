"""Which module may import what, print, exit, and touch the disk; and that the command line starts quickly."""

import ast
import re
from pathlib import Path

import inputs
import pytest

HEAVY = ("polars", "pyarrow", "numba", "numpy")
MODULES = sorted(inputs.SOURCES.rglob("*.py"))
NUMBA = {"compiler", "memory"}
COMPILING = NUMBA | {
    "values",
    "matching",
    "dealing",
    "words",
    "judgements",
    "sums",
    "fields",
    "catalogue/driver",
    "catalogue/view",
    "bounds",
}
ON_DISK = {"sinks", "spill", "compiler"}
DISK = {
    "open",
    "fdopen",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "memory_map",
    "OSFile",
    "pwrite",
    "preadv",
}
DISK |= {"unlink", "mkdir", "makedirs", "rmtree", "rmdir", "touch", "copyfile", "copytree", "symlink_to", "truncate"}
DISK |= {"mkstemp", "mkdtemp", "TemporaryDirectory", "TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile"}
DISK |= {f"{verb}_{kind}" for verb in ("scan", "sink") for kind in ("parquet", "ipc", "csv", "ndjson")}
DISK |= {
    "read_parquet",
    "read_parquet_schema",
    "read_ipc",
    "read_ipc_stream",
    "read_csv",
    "read_metadata",
    "read_table",
}
DISK |= {
    "write_parquet",
    "write_ipc",
    "write_ipc_stream",
    "write_ndjson",
    "write_table",
    "ParquetFile",
    "ParquetWriter",
}
DISK |= {f"{of}.{verb}" for of in ("os", "Path()", "path", "target") for verb in ("rename", "replace")}
"""Ways to the disk; `rename` and `replace` are methods of frames and texts too."""

EXEMPT = {
    "schema": {"write_text"},  # a tool of the developers, which writes the schema files
    "cli/catalogue": {"read_text"},  # likewise, for the pages made from the registry
    "demo": {"mkdir"},  # the folder of the sample
    "limits": {"read_text"},  # what the system says of its memory
    "cli/exits": {"open"},  # the device that swallows what a closed pipe leaves
}


def name_of(path):
    """`cli/evaluate` of `src/rankmeter/cli/evaluate.py`."""
    return path.relative_to(inputs.SOURCES).with_suffix("").as_posix()


NAMES = {name_of(path): path for path in MODULES}


def tree(name):
    return ast.parse(NAMES[name].read_text(encoding="utf-8"))


def only_for_types(node):
    """Whether it is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def statements(node, *, lazily):
    """All nodes that run; without `lazily` only those that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if only_for_types(child):
            continue
        yield child
        if lazily or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from statements(child, lazily=lazily)


def imported(name, *, lazily=True):
    """Names of the modules that a module imports."""
    found = set()
    for node in statements(tree(name), lazily=lazily):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def packages(name, **settings):
    return {module.partition(".")[0] for module in imported(name, **settings)}


def owner(node):
    """What a method is called on: `os` of `os.replace`, `Path()` of `Path(name).replace`."""
    if isinstance(node, ast.Call):
        return f"{owner(node.func)}()"
    return node.id if isinstance(node, ast.Name) else ""


def called(name):
    """Names of the methods that a module calls, and of the functions that are not its own package's."""
    calls = [node.func for node in ast.walk(tree(name)) if isinstance(node, ast.Call)]
    own = {module.rpartition(".")[2] for module in imported(name) if module.startswith("rankmeter.")}
    methods = {function.attr for function in calls if isinstance(function, ast.Attribute)}
    methods |= {f"{owner(function.value)}.{function.attr}" for function in calls if isinstance(function, ast.Attribute)}
    return methods | {function.id for function in calls if isinstance(function, ast.Name)} - own


def test_the_walk_sees_what_there_is():
    assert "numba" in packages("compiler")
    assert "rankmeter.compiler" in imported("matching")
    assert "polars" in packages("sources/source")
    assert called("sinks") >= {"mkstemp", "Path().replace", "tempfile.mkstemp"}
    assert "TemporaryFile" in called("compiler")
    assert called("sources/tables") >= {"scan_ipc", "scan_parquet", "read_metadata", "path.open"}
    assert len(MODULES) > 30


@pytest.mark.parametrize("name", NAMES)
def test_who_compiles(name):
    assert ("numba" in packages(name)) <= (name in NUMBA)
    uses = {"rankmeter.compiler.compiled", "rankmeter.compiler.callable_compiled"} & imported(name)
    assert bool(uses) <= (name in COMPILING)


@pytest.mark.parametrize("name", sorted(COMPILING))
def test_compiled_modules_know_numpy_only(name):
    assert not packages(name) & {"polars", "pyarrow", "typer", "rich"}


@pytest.mark.parametrize("name", NAMES)
def test_who_prints_and_exits(name):
    if name.startswith("cli/"):
        return
    assert not packages(name) & {"typer", "rich", "click"}
    assert not called(name) & {"print", "exit", "_exit", "echo"} or name == "__main__"
    streams = {"stdout", "stderr"}
    used = {node.attr for node in ast.walk(tree(name)) if isinstance(node, ast.Attribute)} & streams
    assert not used


@pytest.mark.parametrize("name", NAMES)
def test_who_touches_the_disk(name):
    touches = called(name) & DISK
    if name in EXEMPT:
        assert touches == EXEMPT[name]
        return
    assert not touches or name in ON_DISK or name.startswith("sources/"), touches


def design_rows():
    """What docs/design.md says in its table of imports: modules -> (compiled code, files)."""
    text = (Path(__file__).parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    lines = text.partition("## Who may import what")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return {frozenset(re.findall(r"`([\w/.]+)`", row[0])): (row[2], row[4]) for row in rows}


def test_the_table_of_imports_names_modules_that_exist():
    assert len(design_rows()) > 5
    for name in frozenset().union(*design_rows()):
        assert (inputs.SOURCES / name).exists(), name


def test_the_table_of_imports_says_who_touches_the_disk():
    told = frozenset().union(*(names for names, (_, files) in design_rows().items() if files != "no"))
    found = {name for name in NAMES if called(name) & DISK}
    named = {f"{name}.py" for name in found if not name.startswith("sources/")} | {"sources/"}
    told = {name for name in told if Path(name).suffix and not name.startswith("sources/")} | told & {"sources/"}
    assert told == named


def test_the_table_of_imports_says_which_sources_call_compiled_code():
    told = frozenset().union(*(names for names, (compiled, _) in design_rows().items() if compiled != "no"))
    compiling = {f"rankmeter.{name.replace('/', '.')}" for name in COMPILING}
    found = {f"{name}.py" for name in NAMES if name.startswith("sources/") and imported(name) & compiling}
    assert found == {name for name in told if name.startswith("sources/")} != set()


OVERRIDDEN = {"load_overload", "save_overload"}
FOR_USERS = {"write_per_query", "write_hits", "write_summary"}


def defined(module):
    """Names that a module defines: functions, classes, constants and methods; decorated ones are used by that."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not (
            node.decorator_list and isinstance(node, ast.FunctionDef)
        ):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (method.name for method in node.body if isinstance(method, ast.FunctionDef))
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def used(module):
    """Names that a module reads, calls or exports."""
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_name_is_used():
    everywhere = {name for module in NAMES for name in used(tree(module))} | OVERRIDDEN | FOR_USERS
    for module in NAMES:
        unused = {name for name in defined(tree(module)) if not name.startswith("__")} - everywhere
        assert not unused, module


@pytest.mark.parametrize(
    ("said", "home"),
    [
        (lambda name: "importlib.metadata" in imported(name), "version"),  # which version this is
        (lambda name: "---:" in {text.strip() for text in used(tree(name))}, "markdown"),  # Markdown tables
    ],
    ids=["version", "Markdown"],
)
def test_what_is_said_in_one_place(said, home):
    assert [name for name in NAMES if said(name)] == [home]


def test_only_sources_know_kinds_of_parts():
    homes = {"rankmeter.sources.text", "rankmeter.sources.tables", "rankmeter.sources.frames"}
    assert {name for name in NAMES if imported(name) & homes} <= {"sources/source", "sources/frames"}


@pytest.mark.parametrize("name", NAMES)
def test_nobody_uses_the_network(name):
    assert not packages(name) & {"socket", "urllib3", "requests", "http", "fsspec"}
    assert "urllib.request" not in imported(name)


@pytest.mark.parametrize("name", NAMES)
def test_layers_do_not_look_upwards(name):
    own = {module for module in imported(name) if module.startswith("rankmeter.")}
    if not name.startswith("cli/") and name != "__main__":
        assert not {module for module in own if module.startswith("rankmeter.cli")}
    if name.startswith("sources/") or name in {"checks", "schema", "errors", "fields", "words"}:
        upper = {"pipeline", "passes", "result", "ranking", "qrels", "api", "store", "segments", "summary"}
        upper |= {
            "notices",
            "scattered",
            "dealing",
            "shares",
            "matching",
            "sinks",
            "demo",
            "notation",
            "request",
            "catalogue",
        }
        assert not {module for module in own if module.split(".")[1] in upper}


@pytest.mark.parametrize("module", ["rankmeter", "rankmeter.cli", "rankmeter.notation", "rankmeter.errors"])
def test_importing_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    assert inputs.python(code).split() == []


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys, contextlib, io; from rankmeter.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()): code = main({arguments!r})\n"
        f"print(code, *sorted(set(sys.modules) & set({(*HEAVY, 'rich')!r})))"
    )
    assert inputs.python(code).split() == ["0"]
