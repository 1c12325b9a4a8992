"""Bytes of a file in chunks of whole lines, decompressed on the way."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from rankmeter.errors import DataError, StorageError

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
MARK = b"\xef\xbb\xbf"
QUOTE = b'"'
LARGEST_CHUNK = 1 << 30


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some whole lines of a file, and the number of the first, from 1."""

    data: bytes
    first_line: int


def read_all(path: str) -> bytes | None:
    """Standard input, which can be read only once; None for a path."""
    return sys.stdin.buffer.read() if path == "-" else None


def chunks(path: str, held: bytes | None, size: int, *, quoted: bool = False) -> Iterator[Chunk]:
    """A file as chunks of about `size` bytes that end at a line end, without a byte-order mark.

    Args:
        path: the file, for messages too.
        held: its bytes, where they are in memory already.
        size: bytes of a chunk.
        quoted: whether a line end between quotes is none.

    Raises:
        DataError: a compressed file is damaged.
        StorageError: the file cannot be read.
    """
    line, rest = 1, b""
    try:
        with _opened(path, held) as stream:
            first = True
            while block := stream.read(size):
                block = rest + (block.removeprefix(MARK) if first else block)
                first = False
                cut = _last_line_end(block, quoted=quoted)
                if len(block) > LARGEST_CHUNK:
                    raise DataError(
                        f"{path} row {line}: a line longer than {LARGEST_CHUNK} bytes; is this a text file?"
                    )
                data, rest = block[:cut], block[cut:]
                if data:
                    yield Chunk(data, line)
                    line += data.count(b"\n")
            if rest:
                yield Chunk(rest, line)
    except OSError as error:
        if error.errno is None:  # what pyarrow raises for damaged compression
            raise DataError(f"{path}: the compressed file is cut off or damaged ({error}); write it again") from error
        raise StorageError.unreadable(path, error) from error


def _last_line_end(block: bytes, *, quoted: bool) -> int:
    """Where the last whole line ends."""
    cut = block.rfind(b"\n") + 1
    while quoted and cut and block.count(QUOTE, 0, cut) % 2:
        cut = block.rfind(b"\n", 0, cut - 1) + 1
    return cut


def _opened(path: str, held: bytes | None) -> IO[bytes] | Any:
    stream: IO[bytes] = BytesIO(held) if held is not None else Path(path).open("rb")  # noqa: SIM115  # the caller closes
    start = stream.read(4)
    stream.seek(0)
    codec = next((codec for magic, codec in MAGIC.items() if start.startswith(magic)), None)
    return stream if codec is None else pa.CompressedInputStream(stream, codec)
