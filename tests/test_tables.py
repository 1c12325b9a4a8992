"""Tables on disk are read in slices, the columns in use only; damage is an error that names the file."""

import contextlib

import polars as pl
import pytest

import rankmeter
from rankmeter.errors import DataError, StorageError
from rankmeter.sources.tables import ParquetPart, open_arrow

ROWS = 1000
FRAME = pl.DataFrame(
    {
        "query_id": [f"q{row // 10}" for row in range(ROWS)],
        "doc_id": [f"document number {row}" for row in range(ROWS)],
        "score": [float(-row) for row in range(ROWS)],
        "text": ["MARKED text of a document" for _ in range(ROWS)],
    }
)
USED = ("query_id", "doc_id", "score")


def arrow(path, frame=FRAME, **settings):
    frame.write_ipc(path, **settings)
    return open_arrow(path, str(path))


def stream(path, frame=FRAME):
    frame.write_ipc_stream(path)
    return open_arrow(path, str(path))


def parquet(path, frame=FRAME):
    frame.write_parquet(path, row_group_size=64, compression="uncompressed")
    return ParquetPart(path, str(path))


@pytest.mark.parametrize("rows", [1, 7, 100, 999, 1000, 5000])
@pytest.mark.parametrize("make", [arrow, stream, parquet])
def test_slices_make_up_the_table(make, rows, tmp_path):
    part = make(tmp_path / "t")
    assert (part.rows, part.size, part.is_text) == (ROWS, (tmp_path / "t").stat().st_size, False)
    assert part.schema() == FRAME.schema
    batches = list(part.batches(USED, rows))
    frames = [batch.read() for batch in reversed(batches)][::-1]
    assert pl.concat(frames).equals(FRAME.select(USED))
    starts = [0, *pl.Series([frame.height for frame in frames]).cum_sum()[:-1]]
    assert [batch.row(0) for batch in batches] == [start + 1 for start in starts]
    assert max(frame.height for frame in frames) < max(2 * rows, 65)


@pytest.mark.parametrize("size", [1, 64, None])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_of_every_kind(compression, size, tmp_path):
    part = arrow(tmp_path / "t.arrow", compression=compression, record_batch_size=size)
    assert pl.concat([batch.read() for batch in part.batches(USED, 33)]).equals(FRAME.select(USED))


@pytest.mark.parametrize("make", [arrow, parquet])
def test_a_column_that_is_not_in_use_is_not_read(make, tmp_path):
    path = tmp_path / ("t.arrow" if make is arrow else "t.parquet")
    make(path, FRAME.with_columns(pl.col("text") + pl.int_range(ROWS).cast(pl.String)))
    path.write_bytes(path.read_bytes().replace(b"MARKED", b"\xff" * 6))  # no UTF-8, which every reader refuses
    with pytest.raises(pl.exceptions.ComputeError):
        (pl.read_ipc if make is arrow else pl.read_parquet)(path, columns=["text"])
    qrels = pl.DataFrame({"query_id": ["q3"], "doc_id": ["document number 31"], "grade": [1]})
    assert rankmeter.evaluate(qrels, path, "RR").summary["mean"].to_list() == [0.5]


@pytest.mark.parametrize("name", ["a[b]", "a*b", "a?b", "{x}", "a b", "[", "market=de"])
@pytest.mark.parametrize("make", [arrow, parquet])
def test_a_name_is_never_a_pattern(make, name, tmp_path):
    suffix = ".arrow" if make is arrow else ".parquet"
    make(tmp_path / f"aab{suffix}", FRAME.head(3))
    part = make(tmp_path / f"{name}{suffix}")
    assert part.rows == ROWS
    assert [batch.read().height for batch in part.batches(USED, ROWS)] == [ROWS]


def read(make, path, data):
    """Everything in a file of these bytes."""
    path.write_bytes(data)
    part = ParquetPart(path, "t") if make is parquet else open_arrow(path, "t")
    return pl.concat([batch.read() for batch in part.batches(USED, 100)])


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("make", [arrow, parquet])
def test_a_cut_file_is_refused(make, share, tmp_path):
    make(tmp_path / "t")
    data = (tmp_path / "t").read_bytes()
    kind = "a Parquet" if make is parquet else "an Arrow"
    with pytest.raises(DataError, match=rf"t: truncated or not {kind} file; write it again"):
        read(make, tmp_path / "t", data[: int(share * len(data))])


@pytest.mark.parametrize("make", [arrow, parquet])
def test_a_damaged_file_is_read_or_refused(make, tmp_path):
    make(tmp_path / "t", FRAME.head(30))
    data = (tmp_path / "t").read_bytes()
    fine = 0
    for place in range(0, len(data), max(1, len(data) // 200)):
        changed = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
        with contextlib.suppress(DataError):
            read(make, tmp_path / "t", changed)
            fine += 1
    assert 20 < fine < 200


@pytest.mark.parametrize("make", [arrow, stream, parquet])
def test_a_table_that_is_gone(make, tmp_path):
    part = make(tmp_path / "t")
    batches = list(part.batches(USED, ROWS))
    (tmp_path / "t").unlink()
    if make is parquet:
        with pytest.raises(StorageError, match="t: cannot be read"):
            batches[0].read()
    with pytest.raises(StorageError, match="t: cannot be read"):
        ParquetPart(tmp_path / "t", "t") if make is parquet else open_arrow(tmp_path / "t", "t")
