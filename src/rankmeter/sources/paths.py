"""From what the user named to the files that hold it: files, globs, folders, hive partitions, Spark output."""

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from rankmeter.errors import DataError, StorageError

COMPRESSED = (".gz", ".zst")
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow"}
KNOWN = ("parquet", "arrow", "trec", "csv", "tsv", "jsonl")


@dataclass(frozen=True, slots=True)
class File:
    """One file of an input, with the hive keys that its path gives to all its rows."""

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def at(cls, path: Path) -> "File":
        """The file at a path as the user named it, the keys of its folders included."""
        return cls(path, hive_keys(path.parts[:-1]))


def find_files(named: str) -> list[File]:
    """The files behind a path, a glob or a folder, in byte order of their paths.

    Hidden files and names that begin with `_` (`_SUCCESS`, checksums) are no data.

    Raises:
        StorageError: there is nothing at the path.
        DataError: a folder without data files.
    """
    path = Path(named)
    if path.is_dir():
        files = _in_folder(path)
        if not files:
            raise DataError(f"{named}: the folder holds no data file", "empty-file")
        return files
    if path.exists():
        return [File.at(path)]
    matches = sorted(glob.glob(named, recursive=True)) if glob.has_magic(named) else []  # noqa: PTH207  # Path has no globs from the root
    if not matches:
        raise StorageError(f"{named}: there is no such file or folder")
    return [file for match in matches for file in find_files(match)]


def _in_folder(folder: Path) -> list[File]:
    found = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.as_posix().encode()):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "_")) for part in parts):
            found.append(File.at(path))
    return found


def hive_keys(folders: tuple[str, ...]) -> tuple[tuple[str, str | None], ...]:
    """The keys in folder names of the form `key=value`, as text.

    >>> hive_keys(("market=de", "day=007"))
    (('market', 'de'), ('day', '007'))
    """
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return tuple((key, None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)) for key, _, value in pairs)


def format_of(path: Path) -> str:
    """The format of a file, by its suffix, else by its first bytes; what is not known is TREC text.

    Raises:
        StorageError: the file cannot be read.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    if not path.is_file():
        return "trec"  # a pipe can be read only once
    try:
        with path.open("rb") as file:
            start = file.read(6)
    except OSError as error:
        raise StorageError.unreadable(path, error) from error
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), "trec")


def name_of(named: str) -> str:
    """The name of a run that has no other: that of the file or folder, or what a glob says, without suffixes.

    >>> name_of("runs/bm25.trec.gz"), name_of("runs/bm25-*.parquet"), name_of("dense/*.parquet")
    ('bm25', 'bm25', 'dense')
    """
    is_glob = not Path(named).exists()
    for part in reversed(Path(named).parts):
        stem = _stem_of(part)
        if name := _WILD.sub("", stem).strip("-_. ") if is_glob else stem:
            return name
    return named


_WILD = re.compile(r"\[[^]]*\]|[*?]")
"""What a glob leaves open."""


def _stem_of(name: str) -> str:
    """A file name without the suffixes that say its format."""
    for suffix in reversed(Path(name).suffixes):
        if suffix.lower() not in (*COMPRESSED, *FORMATS, ".trec", ".run", ".txt", ".qrels"):
            break
        name = name.removesuffix(suffix)
    return name
