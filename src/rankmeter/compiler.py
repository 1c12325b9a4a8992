"""Compiles functions with numba and keeps the machine code in a disk cache of our own.

numba's own cache fails where neither the package nor the home folder can be written, serves stale code when a
function that is called from another file was edited, and mixes up entries when several processes fill one index.
Here each compiled signature is one file, named by everything the code depends on and written whole or not at all;
where no folder can be written, functions are compiled anew in each process.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.extending import overload, register_jitable

from rankmeter.version import package_version

F = TypeVar("F", bound=Callable[..., Any])

CACHE_VARIABLE = "RANKMETER_CACHE_DIR"
"""Environment variable that names the folder of the cache."""


def compiled(function: F) -> F:
    """The function compiled at its first call for each signature, without the GIL, cached on disk."""
    dispatcher: Any = numba.njit(nogil=True, no_cfunc_wrapper=True)(function)  # a wrapper that nobody calls
    folder = cache_folder()
    if folder is not None and dispatcher is not function:  # the compiler may be off
        dispatcher._cache = _FileCache(function, folder)  # numba has no public way to give one function a cache
    return dispatcher  # type: ignore[no-any-return]  # it is called like the function


def callable_compiled(function: F) -> F:
    """A helper that compiled functions may call, and that stays a plain function for everyone else."""
    return register_jitable(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[no-any-return]  # numba has no types


def substitute(function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Compiled functions that call `function` call `other` instead."""
    overload(function, strict=False)(lambda *_: other)


@functools.cache
def cache_folder() -> Path | None:
    """The folder of the cache for this version of the code, or None where nothing can be written."""
    for base in _candidates():
        folder = base / f"{package_version()}-{_source_digest()[:16]}"
        try:
            base.parent.mkdir(parents=True, exist_ok=True)
            for level in (base, folder):
                level.mkdir(mode=stat.S_IRWXU, exist_ok=True)
                _check_owner(level)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


def nothing_compiled() -> bool:
    """Whether the cache holds no code yet, so that the first evaluation takes some seconds longer."""
    folder = cache_folder()
    return folder is None or next(folder.glob("*.code"), None) is None


def _candidates() -> list[Path]:
    """Where a cache may be, best first."""
    if named := os.environ.get(CACHE_VARIABLE):
        return [Path(named)]
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return [Path(home) / "rankmeter", Path(tempfile.gettempdir()) / f"rankmeter-{user}"]


def _check_owner(folder: Path) -> None:
    """Refuse a folder that somebody else could fill: cached code is run."""
    if hasattr(os, "getuid"):
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{folder} is open to others")


@functools.cache
def _source_digest() -> str:
    """A digest of the source files that take part in compiling: compiled code calls across files."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        content = path.read_bytes()
        if path.parent.name == "catalogue" or b"rankmeter.compiler" in content:
            digest.update(path.name.encode())
            digest.update(content)
    return digest.hexdigest()


class _FileCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """One file for each signature of one function."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._impl_class = functools.partial(_implementation, folder=folder)
        super().__init__(function)
        self._folder = folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code from its file, or None where that is absent or damaged.

        Ready code needs the run-time helpers only; numba's own cache loads all that a compilation needs, which takes
        longer than the rest of a small evaluation.
        """
        rtsys.initialize(target_context)
        try:
            data = pickle.loads(self._path(sig, target_context.codegen()).read_bytes())
            return self._impl.rebuild(target_context, data)
        except Exception:  # a damaged file can fail in any way, and compiling anew is always right
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the code to its file; a full disk or a lost folder costs only time."""
        if not self._impl.check_cachable(data):
            return
        target = self._path(sig, data.codegen)
        with contextlib.suppress(OSError):
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(pickle.dumps(self._impl.reduce(data)))
                Path(name).replace(target)
            except OSError:
                Path(name).unlink(missing_ok=True)

    def _path(self, sig: Any, codegen: Any) -> Path:
        key = (numba.__version__, self._impl.filename_base, self._index_key(sig, codegen))
        return self._folder / f"{self._py_func.__name__}-{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.code"


def _implementation(function: Callable[..., Any], folder: Path) -> Any:
    """Numba's way of turning compiled code into bytes, told that its folder is ours."""
    from numba.core.caching import CompileResultCacheImpl, _CacheLocator

    class Locator(_CacheLocator):  # type: ignore[misc]  # numba has no types
        def __init__(self, line: int) -> None:
            self._py_file = __file__
            self._line = line

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return _source_digest()

        def get_disambiguator(self) -> str:
            return str(self._line)

        @classmethod
        def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "Locator":
            del py_file
            return cls(py_func.__code__.co_firstlineno)

    class Implementation(CompileResultCacheImpl):  # type: ignore[misc]  # numba has no types
        _locator_classes = [Locator]  # noqa: RUF012  # numba's attribute

    return Implementation(function)
