"""Outputs that appear whole or not at all: written beside the target, synced, renamed."""

import errno
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from rankmeter.errors import StorageError, UsageError

if sys.platform != "win32":
    import fcntl

SUFFIXES = {
    "per_query": (".parquet", ".arrow", ".csv", ".tsv", ".jsonl"),
    "hits": (".parquet", ".arrow", ".csv", ".tsv", ".jsonl"),
    "problems": (".parquet", ".arrow", ".csv", ".tsv", ".jsonl"),
    "summary": (".parquet", ".arrow", ".csv", ".tsv", ".jsonl", ".json", ".md"),
}
"""The kinds of file that each output can be."""

ROW_GROUP = 1 << 17
"""Rows of a row group in Parquet files."""

COMPRESSION = 1
"""The level of zstd: higher ones take longer for a few per cent."""

TEMPORARY = ".rankmeter-tmp"
"""The suffix of files that are not whole yet."""


def check_target(path: str | Path, kind: str) -> list[Path]:
    """Refuse a target that could not be written, before the work begins, and clean up beside it.

    Returns:
        The unfinished files of the same target that interrupted runs had left, which are removed.

    Raises:
        UsageError: the suffix names no format that this output has.
        StorageError: the folder is absent or may not be written, or the path is a folder.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES[kind]:
        known = ", ".join(SUFFIXES[kind])
        raise UsageError(f'{path}: the suffix "{target.suffix}" names no format for this output; use one of {known}')
    try:
        _check_place(target, path)
    except OSError as error:
        raise StorageError.unwritable(path, error) from error
    return _without_leftovers(target.resolve())


def _check_place(target: Path, path: str | Path) -> None:
    """Refuse a target that is a folder, or whose folder is absent or may not be written."""
    if target.is_dir():
        raise StorageError(f"{path}: cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise StorageError(f"{path}: cannot be written: there is no folder {target.parent}")
    folder = target.resolve().parent
    if not _is_pipe_or_device(target) and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"no permission to write into the folder {folder}")


def _is_pipe_or_device(target: Path) -> bool:
    """Whether something stands there that is written into, and is not replaced."""
    try:
        return target.exists() and not target.is_file()
    except OSError:  # which writing tells
        return False


def _without_leftovers(target: Path) -> list[Path]:
    """Remove the unfinished files of a target that nobody writes any more, and tell which these were."""
    unfinished = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]+{re.escape(TEMPORARY)}")
    try:
        found = sorted(path for path in target.parent.iterdir() if unfinished.fullmatch(path.name))
    except OSError:  # a folder may be written and not listed
        return []
    return [path for path in found if _removed(path)]


def _removed(path: Path) -> bool:
    """Whether an unfinished file could be locked, so that nobody writes it, and is gone now."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if not _locked(handle, wait=False):
            return False
        path.unlink()
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _locked(handle: int, *, wait: bool) -> bool:
    """Whether a file is now locked for this process alone, until it is closed; some file systems know no locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _unfinished(target: Path) -> tuple[int, str]:
    """A new file beside the target, open and locked, so that no other run takes it for a leftover."""
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY)
        _locked(handle, wait=True)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # removed by another run before it was locked


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` only when all went well.

    Raises:
        StorageError: it cannot be written; what stood at `path` is untouched.
    """
    target = Path(path).resolve()  # where a link leads, so that it stays one
    if _is_pipe_or_device(target):
        with _opened(target, path) as file:
            yield file
        return
    try:
        handle, name = _unfinished(target)
    except OSError as error:
        raise StorageError.unwritable(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            Path(name).chmod(_usual_mode(target))
            Path(name).replace(target)  # before the lock goes with the file
        _sync_folder(target.parent)
    except OSError as error:
        raise StorageError.unwritable(path, error) from error
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _opened(target: Path, path: str | Path) -> Iterator[IO[bytes]]:
    """A pipe or a device, which is written into, and is not replaced.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        with target.open("wb") as file:
            yield file
    except OSError as error:
        raise StorageError.unwritable(path, error) from error


def _usual_mode(target: Path) -> int:
    """The permissions that a new file would have, or those of the file that is replaced."""
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_frames(path: str | Path, frames: Iterable[pl.DataFrame], metadata: Mapping[str, Any]) -> None:
    """Write frames of one schema, one after the other, in the format of the suffix.

    Args:
        path: the target.
        frames: at least one frame.
        metadata: what Parquet and Arrow files carry under the key `rankmeter`.

    Raises:
        StorageError: the target cannot be written.
    """
    suffix = Path(path).suffix.lower()
    with whole_file(path) as file:
        if suffix == ".parquet":
            _write_parquet(file, frames, metadata, path)
        elif suffix == ".arrow":
            _write_arrow(file, frames, metadata)
        else:
            write = _TEXT[suffix]
            for number, frame in enumerate(frames):
                write(frame, file, number == 0)


def _carried(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The metadata of a file."""
    return {"rankmeter": json.dumps(metadata, ensure_ascii=False)}


def _write_parquet(
    file: IO[bytes], frames: Iterable[pl.DataFrame], metadata: Mapping[str, Any], path: str | Path
) -> None:
    """Parquet, streamed, columns encoded in parallel."""
    first, rest = _first_of(frames)

    def stream(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del with_columns, predicate, n_rows, batch_size  # all rows and columns are asked for
        yield from chain((first,), rest)

    lazy = register_io_source(stream, schema=first.schema)
    try:
        lazy.sink_parquet(
            file,
            compression="zstd",
            compression_level=COMPRESSION,
            row_group_size=ROW_GROUP,
            metadata=_carried(metadata),
            engine="streaming",
        )
    except pl.exceptions.ComputeError as error:
        raise StorageError(f"{path}: cannot be written: {error}") from error


def _write_arrow(file: IO[bytes], frames: Iterable[pl.DataFrame], metadata: Mapping[str, Any]) -> None:
    """Arrow IPC, streamed."""
    first, rest = _first_of(frames)
    schema = first.to_arrow().schema.with_metadata(_carried(metadata))
    with pa.ipc.new_file(file, schema) as writer:
        for frame in chain((first,), rest):
            writer.write_table(frame.to_arrow().cast(schema))


def _first_of(frames: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, Iterator[pl.DataFrame]]:
    """The first frame, and the others."""
    rest = iter(frames)
    return next(rest), rest


def _write_separated(separator: str) -> Callable[[pl.DataFrame, IO[bytes], bool], None]:
    def write(frame: pl.DataFrame, file: IO[bytes], first: bool) -> None:  # noqa: FBT001  # a writer's third argument
        frame.write_csv(file, include_header=first, separator=separator)

    return write


def _write_lines(frame: pl.DataFrame, file: IO[bytes], first: bool) -> None:  # noqa: FBT001  # a writer's third argument
    del first
    frame.write_ndjson(file)


_TEXT = {".csv": _write_separated(","), ".tsv": _write_separated("\t"), ".jsonl": _write_lines}


def write_text(path: str | Path, text: str) -> None:
    """Write a text whole.

    Raises:
        StorageError: the target cannot be written.
    """
    with whole_file(path) as file:
        file.write(text.encode())
