"""The memory limit: sizes as people write them, what is refused, how it is divided."""

import inputs
import polars as pl
import pytest

import rankmeter
from rankmeter.errors import MemoryLimitError, UsageError
from rankmeter.limits import LARGE_BATCH, LEAST_BATCH, Budget, free_memory, parse_size, shown_size, used_memory

SMALL = inputs.collection(seed=4, queries=25, depth=20)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("2GB", 2 * 10**9), ("2g", 2 * 10**9), ("1.5 GiB", 3 << 29), ("512MiB", 512 << 20), ("64k", 64_000)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0GB", "-1GB", "2 apples", "GB", "1e9", "1,5GB", "2GBB", "nan"])
def test_wrong_sizes(text):
    with pytest.raises(UsageError, match="is no size of memory"):
        parse_size(text)
    with pytest.raises(UsageError, match="is no size of memory"):
        rankmeter.evaluate(SMALL.qrels, SMALL.run, "AP", memory_limit=text)


def test_a_limit_that_leaves_nothing_is_refused():
    with pytest.raises(MemoryLimitError, match=r"leaves no room, since the program itself takes .* give at least"):
        rankmeter.evaluate(SMALL.qrels, SMALL.run, "AP", memory_limit="20MB")


def test_too_much_in_use_ends_the_work(monkeypatch):
    monkeypatch.setattr("rankmeter.limits.used_memory", iter([10**8, 3 * 10**9, 3 * 10**9]).__next__)
    with pytest.raises(MemoryLimitError, match=r"run: 3\.00 GB of memory in use, and the limit is 2\.00 GB; give more"):
        rankmeter.evaluate(SMALL.qrels, SMALL.run, "AP", memory_limit="2GB")


def test_a_limit_changes_no_number():
    free = rankmeter.evaluate(SMALL.qrels, SMALL.run, inputs.MEASURES)
    limited = rankmeter.evaluate(SMALL.qrels, SMALL.run, inputs.MEASURES, memory_limit=used_memory() + (200 << 20))
    assert free.per_query.equals(limited.per_query)


@pytest.mark.parametrize("threads", [1, 3, 64])
@pytest.mark.parametrize("limit", [1 << 28, 1 << 30, 1 << 40])
def test_a_smaller_limit_means_smaller_batches_and_more_shares(threads, limit):
    budget, larger = Budget(limit, 1 << 27), Budget(2 * limit, 1 << 27)
    assert LEAST_BATCH <= budget.batch_rows(threads) <= larger.batch_rows(threads) <= LARGE_BATCH
    assert budget.shares(10**8) >= larger.shares(10**8) >= 1
    assert 1 <= budget.threads(threads) <= larger.threads(threads) <= threads
    assert budget.scattered + budget.values < budget.free


def test_what_the_system_tells():
    before = used_memory()
    held = pl.Series([0.5]).new_from_index(0, 20_000_000)
    assert used_memory() - before > 100_000_000
    assert held[-1] == 0.5
    assert free_memory() > 0


@pytest.mark.parametrize(("size", "text"), [(1_500_000_000, "1.50 GB"), (20_000_000, "20.0 MB")])
def test_sizes_for_people(size, text):
    assert shown_size(size) == text
