"""Work in a few threads; small work is done at once, since starting a thread takes longer."""

import functools
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

from rankmeter.errors import UsageError

S = TypeVar("S")
T = TypeVar("T")


@functools.cache
def _first_process() -> int:
    """The process in which work was first done; a fork of it remembers."""
    return os.getpid()


def refuse_after_fork() -> None:
    """Refuse to work in a process that was forked from one that has worked: Polars would wait for threads for ever.

    Raises:
        UsageError: saying what to do instead.
    """
    if _first_process() != os.getpid():
        raise UsageError(
            "this process was forked from one that has evaluated, and Polars' threads do not survive that; "
            'start workers with multiprocessing.get_context("spawn") or "forkserver"'
        )


SMALL_ROWS = 1 << 16
"""Rows up to which work is small."""


def in_order(threads: int, items: Iterator[S], job: Callable[[S], T]) -> Iterator[T]:
    """The job's results in the order of the items, with a few of them under way at a time.

    >>> list(in_order(2, iter("abc"), str.upper))
    ['A', 'B', 'C']
    """
    first = list(islice(items, 2))
    if len(first) < 2 or threads == 1:
        yield from map(job, chain(first, items))
        return
    under_way: deque[Future[T]] = deque()
    with _pool(threads) as pool:
        for item in chain(first, items):
            under_way.append(pool.submit(job, item))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that are given up at the first error."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="rankmeter")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def beside(job: Callable[[], T], *, small: bool) -> Iterator[Future[T]]:
    """A job in a thread of its own while the block runs, or before it where it is small.

    >>> with beside(lambda: 1, small=False) as one:
    ...     two = 2
    >>> one.result() + two
    3
    """
    if small:
        done: Future[T] = Future()
        done.set_result(job())
        yield done
        return
    with ThreadPoolExecutor(1, thread_name_prefix="rankmeter-beside") as pool:
        yield pool.submit(job)
