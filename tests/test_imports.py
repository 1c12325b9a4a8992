"""Which module may import what, print, exit, and touch the disk; and that the command line starts quickly."""

import ast

import inputs
import pytest

HEAVY = ("polars", "pyarrow", "numba", "numpy")
MODULES = sorted(inputs.SOURCES.rglob("*.py"))
NUMBA = {"compiler", "memory"}
COMPILING = NUMBA | {"matching", "dealing", "words", "judgements", "sums", "fields", "catalogue/driver"}
ON_DISK = {"sinks", "spill", "scattered", "compiler"}
DISK = {
    "open",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "mkstemp",
    "TemporaryDirectory",
    "memory_map",
    "pwrite",
    "preadv",
    "TemporaryFile",
}
DISK |= {"unlink", "mkdir", "replace_file", "scan_parquet", "read_parquet", "write_parquet", "new_file", "rmtree"}

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


def called(name):
    """Names of the methods that a module calls, and of the functions that are not its own package's."""
    calls = [node.func for node in ast.walk(tree(name)) if isinstance(node, ast.Call)]
    own = {module.rpartition(".")[2] for module in imported(name) if module.startswith("rankmeter.")}
    methods = {function.attr for function in calls if isinstance(function, ast.Attribute)}
    return methods | {function.id for function in calls if isinstance(function, ast.Name)} - own


def test_the_walk_sees_what_there_is():
    assert "numba" in packages("compiler")
    assert "rankmeter.compiler" in imported("matching")
    assert "polars" in packages("sources/source")
    assert "mkstemp" in called("sinks")
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
