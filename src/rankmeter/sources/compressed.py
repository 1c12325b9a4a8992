"""Bytes of a file in chunks of whole lines, decompressed on the way."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from rankmeter.errors import DataError, StorageError
from rankmeter.fields import count_lines

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
UNREAD = {b"BZh": "bzip2", b"\xfd7zX": "xz", b"\x04\x22\x4d\x18": "lz4", b"PK\x03\x04": "zip"}
"""First bytes of files that are compressed in ways that are not read."""

SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes 2 to 4 of a zstd frame without data, which parallel compressors write first."""

MARK = b"\xef\xbb\xbf"
QUOTE = b'"'
LARGEST_CHUNK = 1 << 28
"""Bytes beyond which no more is read at once."""

LONGEST_LINE = 1 << 29
"""Positions in a chunk are int32, and a chunk may be twice as long as what is left of a line."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some whole lines of a file, and the number of the first, from 1."""

    data: bytes
    first_line: int

    def lines(self) -> list[bytes]:
        """The lines without their line ends, one more if the last has one."""
        return [line.removesuffix(b"\r") for line in self.data.split(b"\n")]


def label_of(path: str) -> str:
    """What messages call a path."""
    return "standard input" if path == "-" else path


def read_all(path: str) -> bytes | None:
    """The bytes of what can be read only once (standard input, a pipe); None for a file.

    Raises:
        StorageError: it cannot be read.
    """
    with _named(path):
        if path == "-":
            return sys.stdin.buffer.read()
        return Path(path).read_bytes() if Path(path).is_fifo() else None


def has_mark(path: str, held: bytes | None) -> bool:
    """Whether a text begins with a byte-order mark.

    Raises:
        DataError: a compressed file is damaged.
        StorageError: the file cannot be read.
    """
    with _named(path), _opened(path, held) as stream:
        return bytes(stream.read(len(MARK))) == MARK


def chunks(path: str, held: bytes | None, size: int, *, quoted: bool = False) -> Iterator[Chunk]:
    """A file as chunks of about `size` bytes that end at a line end, without a byte-order mark.

    Args:
        path: the file, for messages too.
        held: its bytes, where they are in memory already.
        size: bytes of a chunk.
        quoted: whether a line end between quotes is none.

    Raises:
        DataError: a compressed file is damaged, or a line has no end.
        StorageError: the file cannot be read.
    """
    line, step = 1, min(size, LARGEST_CHUNK)
    with _named(path):
        stream = _opened(path, held)
    with stream:
        rest = _read(path, stream, len(MARK))
        rest = b"" if rest == MARK else rest
        while block := _read(path, stream, step):
            block = rest + block
            cut = _last_line_end(block, quoted=quoted)
            rest = block[cut:]
            step = (
                min(size, LARGEST_CHUNK) if cut else max(step, len(rest))
            )  # a long line costs no square of its length
            if cut:
                yield Chunk(block[:cut], line)
                line += count_lines(np.frombuffer(block, np.uint8, cut))
            if len(rest) > LONGEST_LINE:
                raise DataError(
                    f"{label_of(path)} row {line}: does not end within {LONGEST_LINE} bytes; "
                    f"{'is a quote not closed' if quoted else 'is this a text file'}?",
                    "endless-line",
                )
        if rest:
            yield Chunk(rest, line)


def _last_line_end(block: bytes, *, quoted: bool) -> int:
    """Where the last whole line ends; line ends between quotes, an odd number of them before, do not count."""
    cut = block.rfind(b"\n") + 1
    inside = quoted and block.count(QUOTE, 0, cut) % 2
    while inside and cut:
        before = block.rfind(QUOTE, 0, cut)
        line_end = block.rfind(b"\n", 0, before) + 1
        inside = block.count(QUOTE, line_end, before) % 2
        cut = line_end
    return cut


def _read(path: str, stream: Any, size: int) -> bytes:
    with _named(path):
        return bytes(stream.read(size))


def _opened(path: str, held: bytes | None) -> IO[bytes] | Any:
    stream: IO[bytes] = BytesIO(held) if held is not None else Path(path).open("rb")  # noqa: SIM115  # the caller closes
    start = stream.read(4)
    stream.seek(0)
    unread = next((name for magic, name in UNREAD.items() if start.startswith(magic)), None)
    if unread is not None:
        stream.close()
        raise DataError(
            f"{label_of(path)} is compressed with {unread}, which is not read; decompress it, or use gzip or zstd",
            "compression",
        )
    codec = next((codec for magic, codec in MAGIC.items() if start.startswith(magic)), None)
    if start[1:] == SKIPPABLE and start[0] >> 4 == 5:
        codec = "zstd"
    return stream if codec is None else pa.CompressedInputStream(stream, codec)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Errors of reading become sentences that name the file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # what pyarrow raises for damaged compression
            raise DataError(
                f"{label_of(path)}: the compressed file is cut off or damaged ({error}); write it again",
                "damaged-file",
            ) from error
        raise StorageError.unreadable(label_of(path), error) from error
