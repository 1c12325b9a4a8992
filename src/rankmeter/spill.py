"""Values and rows, in memory up to a limit, and from then on in a temporary file.

The file has no name, so that it is gone when the process is, however that ends.
"""

import errno
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from rankmeter.errors import StorageError

Array = np.ndarray[Any, Any]


def zeros(shape: tuple[int, int], limit: int) -> Array:
    """A table of zeros (float64), in memory if it takes at most `limit` bytes, else in a temporary file.

    Raises:
        StorageError: the temporary folder is full.
    """
    size = 8 * shape[0] * shape[1]
    if size <= limit:
        return np.zeros(shape)
    with _on_disk(), tempfile.TemporaryFile(prefix="rankmeter-") as file:
        _reserve(file, size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.float64).reshape(shape)


def _reserve(file: IO[bytes], size: int) -> None:
    """Give a file its size, and the room on the disk: writing to mapped memory without room ends the process."""
    file.truncate(size)
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except (AttributeError, OSError) as error:
        if getattr(error, "errno", errno.EOPNOTSUPP) not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise


@contextmanager
def _on_disk() -> Iterator[None]:
    """Errors of temporary files become sentences that name their folder.

    Raises:
        StorageError: the folder is full, or there is none.
    """
    try:
        yield
    except OSError as error:
        cause = StorageError.unwritable(tempfile.tempdir or "the temporary folder", error)
        raise StorageError(
            f"{cause}; what does not fit into memory goes there, so make room, set TMPDIR or raise --memory-limit"
        ) from error


@dataclass(slots=True)
class Block:
    """What one batch held, ordered by box.

    Attributes:
        width: how documents are held.
        starts: where each box begins in the rows.
        text_starts: where it begins in the longer texts.
        columns: `words` (of documents), `tag` (the number of the query, and above 32 bits that of run and segments),
            `key`, `rank`, `texts`; those that there are.
    """

    width: int
    starts: Array
    text_starts: Array
    columns: dict[str, Array]

    @property
    def names(self) -> set[str]:
        """The columns that there are."""
        return set(self.columns)

    def take(self, name: str, start: int, stop: int) -> Array:
        """Some items of a column."""
        return self.columns[name][start:stop]


class Spill:
    """Blocks in memory up to a limit, and from then on in a temporary file."""

    def __init__(self, stack: ExitStack, limit: int) -> None:
        self._stack = stack
        self._limit = limit
        self._kept = self._end = 0
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()

    def keep(self, block: Block) -> Block:
        """The block, or one that reads from the file.

        Raises:
            StorageError: the temporary folder is full.
        """
        size = sum(column.nbytes for column in block.columns.values())
        with self._lock:
            if self._kept + size <= self._limit:
                self._kept += size
                return block
            if self._file is None:
                with _on_disk():
                    self._file = self._stack.enter_context(tempfile.TemporaryFile(prefix="rankmeter-"))  # noqa: SIM115
            place, self._end = self._end, self._end + size
        with _on_disk():
            return BlockOnDisk.written(block, self._file.fileno(), place)


@dataclass(slots=True)
class BlockOnDisk(Block):
    """A block in a file: `places` has where each column begins, and what it holds."""

    file: int = -1
    places: dict[str, tuple[int, Any]] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The columns that there are."""
        return set(self.places)

    @classmethod
    def written(cls, block: Block, file: int, place: int) -> "BlockOnDisk":
        """Write the columns of a block, from that place on."""
        places = {}
        for name, column in block.columns.items():
            places[name] = place, column.dtype
            data = column.view(np.uint8).data
            while data:
                done = os.pwrite(file, data, place)
                data, place = data[done:], place + done
        return cls(block.width, block.starts, block.text_starts, {}, file, places)

    def take(self, name: str, start: int, stop: int) -> Array:
        """Some items of a column."""
        place, kind = self.places[name]
        out = np.empty(stop - start, kind)
        data, place = out.view(np.uint8).data, place + start * kind.itemsize
        while data:
            done = os.preadv(self.file, [data], place)
            data, place = data[done:], place + done
        return out
