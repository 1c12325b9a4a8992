"""Tables on disk are read in slices, the columns in use only; damage is an error that names the file."""

import contextlib

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
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


DECIMAL = pa.decimal256(50, 2)
UNHELD = {
    "wide decimals": pa.array([1, 2], DECIMAL),
    "narrow decimals": pa.array([1, 2], pa.decimal256(10, 2)),
    "lists of wide decimals": pa.array([[1], [2]], pa.list_(DECIMAL)),
    "a negative scale": pa.array([100, 200], pa.decimal128(5, -2)),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), [1.0]),
    "list views": pa.array([[1.0], [2.0]], pa.list_view(pa.float64())),
    "large list views": pa.array([[1.0], [2.0]], pa.large_list_view(pa.float64())),
    "list views in a struct": pa.array([{"a": [1.0]}] * 2, pa.struct([("a", pa.list_view(pa.float64()))])),
    "intervals": pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
    "a union": pa.UnionArray.from_dense(pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2])]),
}
"""Columns of types that Polars lacks."""
READABLE = {("narrow decimals", "Parquet")}
NOT_STORED = {(kind, "Parquet") for kind in ("a negative scale", "run ends", "intervals", "a union")}


def stored_file(open_one):
    def write(table, path):
        with pa.OSFile(str(path), "wb") as file, open_one(file, table.schema) as writer:
            writer.write_table(table)
        return path

    return write


def stored_parquet(table, path):
    pq.write_table(table, path)
    return path


HOLDERS = {
    "table": lambda table, _path: table,
    "batch": lambda table, _path: table.to_batches()[0],
    "reader": lambda table, _path: table.to_reader(),
    "Arrow file": stored_file(pa.ipc.new_file),
    "Arrow stream": stored_file(pa.ipc.new_stream),
    "Parquet": stored_parquet,
}


def unheld(kind, role):
    rows = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0], role: UNHELD[kind]}
    return pa.table(rows)


FILES = {"Arrow file", "Arrow stream", "Parquet"}
CASES = [(kind, holder) for kind in UNHELD for holder in HOLDERS if (kind, holder) not in NOT_STORED]
HARMLESS = [
    (kind, holder)
    for kind, holder in CASES
    if holder not in FILES or ("decimals" in kind and holder != "Arrow stream")  # Polars opens no other such file
]


def stored(kind, role, holder, folder):
    return HOLDERS[holder](unheld(kind, role), folder / f"r.{'parquet' if holder == 'Parquet' else 'arrow'}")


@pytest.mark.parametrize(("kind", "holder"), [case for case in CASES if case not in READABLE])
@pytest.mark.parametrize("role", ["score", "doc_id", "market"])
def test_types_that_polars_lacks_are_refused_by_column_and_type(role, kind, holder, tmp_path, capfd):
    run = stored(kind, role, holder, tmp_path)
    with pytest.raises(DataError, match=rf"column {role} has type .*, which cannot be read; .*(cast|decode)"):
        rankmeter.evaluate({"q": {"b": 1}}, run, "RR", by=["market"] if role == "market" else [])
    assert capfd.readouterr() == ("", "")  # no panic either


@pytest.mark.parametrize(("kind", "holder"), HARMLESS)
def test_types_that_polars_lacks_do_no_harm_in_other_columns(kind, holder, tmp_path):
    run = stored(kind, "other", holder, tmp_path)
    assert rankmeter.evaluate({"q": {"b": 1}}, run, "RR").summary["mean"][0] == 0.5


def test_a_type_that_pyarrow_lacks_is_no_damage(tmp_path):
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["b"], "score": pl.Series([1], dtype=pl.Int128)})
    run.write_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match=r"r\.parquet: has a column that cannot be read \(Integers with more"):
        rankmeter.evaluate({"q": {"b": 1}}, tmp_path / "r.parquet", "RR")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".trec"])
def test_a_path_that_is_no_text(suffix, tmp_path):
    path = tmp_path / f"r\udce9{suffix}"
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["b"], "score": [1.0]})
    text = tmp_path / "r"
    if suffix == ".trec":
        text.write_text("q Q0 b 1 1.0 t\n", encoding="utf-8")
    else:
        (run.write_parquet if suffix == ".parquet" else run.write_ipc)(text)
    text.rename(path)
    if suffix == ".trec":
        assert rankmeter.evaluate({"q": {"b": 1}}, path, "RR").summary.rows()[0][0] == "t"
        return
    with pytest.raises(StorageError, match="its path is no valid Unicode text; rename it"):
        rankmeter.evaluate({"q": {"b": 1}}, {"r": path}, "RR")


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
