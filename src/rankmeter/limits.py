"""How much memory the work may take, and how it is divided."""

import math
import mmap
import re
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from rankmeter.arguments import shown
from rankmeter.errors import MemoryLimitError, UsageError

UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {"KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30, "TI": 1 << 40}

UNKNOWN_FREE = 4 << 30
"""What is taken to be free where the system does not tell."""

LEAST = 100 << 20
"""Bytes that the work needs beside the program itself."""

JUDGEMENT_BYTES = 100
"""Memory of one judgement while the index is built."""

ROW_BYTES = 120
"""Memory of one row of a run while it is worked on."""

LARGE_BATCH = 1 << 20
LEAST_BATCH = 1 << 13
"""Rows of a batch: large enough that its overhead vanishes, small enough that a few fit into memory."""


def parse_size(text: str | int) -> int:
    """Bytes of a size as people write it.

    >>> parse_size("1.5GB"), parse_size("512 MiB"), parse_size(100)
    (1500000000, 536870912, 100)

    Raises:
        UsageError: it is no size.
    """
    written = str(text) if isinstance(text, (str, Integral)) and not isinstance(text, bool) else ""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?", written.strip().upper())
    size = float(match[1]) * UNITS[match[2]] if match and match[2] in UNITS else 0.0
    if not 0 < size < math.inf:
        raise UsageError(f"{shown(text)} is no size of memory; write for example 2GB, 512MiB or a number of bytes")
    return int(size)


def shown_size(size: int) -> str:
    """A size for people to read.

    >>> shown_size(1_500_000_000)
    '1.50 GB'
    """
    return f"{size / 1e9:.2f} GB" if size >= 10**8 else f"{size / 1e6:.1f} MB"


@dataclass(frozen=True, slots=True)
class Budget:
    """The memory limit, and what was in use when the work began; both in bytes."""

    limit: int
    begun: int

    @classmethod
    def of(cls, asked: int | None) -> "Budget":
        """What was asked for, or half of what is free.

        Raises:
            MemoryLimitError: the limit leaves nothing for the work.
        """
        begun = used_memory()
        limit = begun + free_memory() // 2 if asked is None else asked
        if asked is not None and limit < begun + LEAST:
            raise MemoryLimitError(
                f"the memory limit of {shown_size(limit)} leaves no room, since the program itself takes "
                f"{shown_size(begun)}; give at least {shown_size(begun + LEAST)} with --memory-limit"
            )
        return cls(limit, begun)

    @property
    def free(self) -> int:
        """Bytes that the work may take."""
        return self.limit - self.begun

    @property
    def scattered(self) -> int:
        """Bytes that rows in no order may take before they go to a temporary file."""
        return self.free // 4

    @property
    def values(self) -> int:
        """Bytes that the values of queries may take before they go to a temporary file."""
        return self.free // 4

    def shares(self, judgements: int) -> int:
        """Into how many shares so many judgements are divided, so that one share at a time fits."""
        return max(1, -(-judgements * JUDGEMENT_BYTES * 2 // self.free))

    def threads(self, wanted: int) -> int:
        """How many workers: fewer ones rather than small batches, for which row groups are decoded more than once."""
        return max(1, min(wanted, self.free // 4 // (ROW_BYTES * LARGE_BATCH) - 1))

    def batch_rows(self, threads: int) -> int:
        """Rows of a batch, a few of which are worked on at a time."""
        return max(LEAST_BATCH, min(LARGE_BATCH, self.free // 4 // ((threads + 1) * ROW_BYTES)))

    def check(self, what: str) -> None:
        """Stop before the machine suffers.

        Raises:
            MemoryLimitError: more is in use than the limit allows.
        """
        used = used_memory()
        if used > self.limit:
            raise MemoryLimitError(
                f"{what}: {shown_size(used)} of memory in use, and the limit is {shown_size(self.limit)}; "
                "give more with --memory-limit, or use fewer --threads or a smaller --batch-rows"
            )


def used_memory() -> int:
    """Bytes that this process holds in memory and that files do not back, or 0 where the system does not tell."""
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    except (OSError, ValueError):
        return 0
    return (resident - shared) * mmap.PAGESIZE


def free_memory() -> int:
    """Bytes that may still be taken, by the machine and by the container."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(max(0, most - int((group / "memory.current").read_text(encoding="ascii"))))
    except (OSError, ValueError):
        pass
    return min(found, default=UNKNOWN_FREE)
