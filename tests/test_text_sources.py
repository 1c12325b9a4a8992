"""The text sources by themselves: chunks, splitters, members, and the exact sentences for damaged files."""

import concurrent.futures
import csv
import gzip
import io
import json
import os
import random
import threading
from pathlib import Path

import inputs
import numpy as np
import polars as pl
import pytest

from rankmeter import fields
from rankmeter.errors import DataError, StorageError
from rankmeter.fields import Shape
from rankmeter.sources import compressed
from rankmeter.sources import text as text_module
from rankmeter.sources.compressed import chunks
from rankmeter.sources.text import open_text

MARK = b"\xef\xbb\xbf"
SIZES = (1, 2, 3, 5, 17, 1000)


@pytest.fixture(params=[1, 40, None], ids=lambda size: f"chunk{size}")
def small(request, monkeypatch):
    """Chunks of so many bytes; None leaves the usual size."""
    if request.param is not None:
        monkeypatch.setattr(text_module, "BYTES_A_ROW", request.param)
        monkeypatch.setattr(text_module, "SMALLEST_CHUNK", 1)
        monkeypatch.setattr(text_module, "FIRST_LINES", request.param)


@pytest.fixture
def opened(tmp_path):
    """Opens content as a file of a kind; the file is called `x`."""

    def run(content, kind, **settings):
        path = tmp_path / "x"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return open_text(str(path), kind, **settings)

    return run


def rows_of(part, columns=None):
    """All rows with their physical lines: (line, field, …)."""
    columns = list(part.schema()) if columns is None else columns
    out = []
    for batch in part.batches(columns, 1):
        frame = batch.read()
        assert frame.columns == list(columns)
        out += [(batch.row(position), *row) for position, row in enumerate(frame.rows())]
    return out


def message(part_of, tmp_path):
    """The sentence of the error, the folder left out."""
    with pytest.raises(DataError) as caught:
        rows_of(part_of())
    return str(caught.value).replace(f"{tmp_path}{os.sep}", "")


# chunks


def split(data, size, **settings):
    return list(chunks("x", data, size, **settings))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mark", [b"", MARK])
def test_chunks_are_whole_lines_and_lose_nothing(size, mark):
    chance = random.Random(size)
    for _ in range(100):
        data = "".join(chance.choice(["a", "\n", "\n\n", "bcdefgh", "ü", "\r\n"]) for _ in range(30)).encode()
        found = split(mark + data, size)
        assert b"".join(chunk.data for chunk in found) == data
        assert all(chunk.data.endswith(b"\n") for chunk in found[:-1])
        at = 0
        for chunk in found:
            assert chunk.first_line == 1 + data.count(b"\n", 0, at)
            at += len(chunk.data)


@pytest.mark.parametrize("size", SIZES)
def test_chunks_never_end_inside_quotes(size):
    chance = random.Random(size)
    for _ in range(100):
        data = "".join(chance.choice(["a", ",", "\n", '"', '"\n"', '""']) for _ in range(40)).encode()
        found = split(data, size, quoted=True)
        assert b"".join(chunk.data for chunk in found) == data
        assert all(chunk.data.count(b'"') % 2 == 0 and chunk.data.endswith(b"\n") for chunk in found[:-1])


def test_small_chunks_hold_few_lines():
    assert [chunk.data for chunk in split(b"a\nb\n\nc\nd", 1)] == [b"a\nb\n", b"\n", b"c\n", b"d"]


def test_a_line_longer_than_a_chunk_is_read_in_growing_steps(monkeypatch):
    """Else the cost of a long line, or of a quote that is never closed, would grow with the square of its length."""
    steps = []
    read = compressed._read
    monkeypatch.setattr(compressed, "_read", lambda *given: steps.append(given[-1]) or read(*given))
    assert len(split(b"x" * 1_000_000, 10)) == 1
    assert len(steps) < 30


@pytest.mark.parametrize(
    ("quoted", "hint"), [(False, "is this a text file?"), (True, "is a quote not closed?")], ids=["plain", "quoted"]
)
def test_a_line_without_end_is_refused(quoted, hint, monkeypatch):
    monkeypatch.setattr(compressed, "LONGEST_LINE", 100)
    with pytest.raises(DataError, match="x row 2: does not end within 100 bytes") as caught:
        split(b'a\n"' + b"x" * 1000, 10, quoted=quoted)
    assert str(caught.value).endswith(hint)


def test_more_than_the_largest_chunk_is_never_asked_for(monkeypatch):
    monkeypatch.setattr(compressed, "LARGEST_CHUNK", 64)
    assert max(len(chunk.data) for chunk in split(b"abc\n" * 1000, 1 << 40)) <= 67


# compressed members


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("pack", [gzip.compress, inputs.zst], ids=["gzip", "zstd"])
def test_members(pack, size):
    chance = random.Random(size)
    for _ in range(20):
        members = [
            chance.choice([b"", b"a", b"bc\nd", b"ef\n", b"xyz" * 100 + b"\n"]) for _ in range(chance.randrange(1, 8))
        ]
        found = split(b"".join(pack(member) for member in members), size)
        assert b"".join(chunk.data for chunk in found) == b"".join(members)


def test_zstd_frames_without_data():
    empty = b"\x5a\x2a\x4d\x18\x04\x00\x00\x00abcd"
    data = empty + inputs.zst(b"a\n") + empty + inputs.zst(b"b\n")
    assert b"".join(chunk.data for chunk in split(data, 10)) == b"a\nb\n"


@pytest.mark.parametrize("pack", [gzip.compress, inputs.zst], ids=["gzip", "zstd"])
def test_a_cut_member_is_refused(pack, tmp_path):
    whole = pack(bytes(random.Random(1).randbytes(500).hex(), "ascii"))
    for cut in (5, 20, len(whole) // 2, len(whole) - 1):
        path = tmp_path / "run.gz"
        path.write_bytes(pack(b"q1 Q0 a 1 2 t\n") + whole[:cut])
        with pytest.raises(DataError, match=r"run\.gz: the compressed file is cut off or damaged"):
            rows_of(open_text(str(path), "trec-run"))


@pytest.mark.parametrize("pack", [gzip.compress, inputs.zst], ids=["gzip", "zstd"])
def test_a_mark_inside_a_compressed_file_is_known(pack, opened):
    part = opened(pack(MARK + b"q 0 d 1\n"), "trec-qrels")
    assert part.has_mark
    assert rows_of(part) == [(1, "q", "0", "d", "1")]
    assert not opened(pack(b"q 0 d 1\n"), "trec-qrels").has_mark


# splitters


def naive_blanks(text, width):
    """Rows (line, fields) and the wrong lines (line, count), by plain Python."""
    rows, wrong = [], []
    for number, line in enumerate(text.split("\n")):
        parts = [part for part in line.removesuffix("\r").replace("\t", " ").split(" ") if part]
        if parts and not line.startswith("#"):
            if len(parts) != width:
                wrong.append((number, len(parts)))
            else:
                rows.append((number, parts))
    return rows, wrong


def naive_separated(text, width):
    rows, wrong = [], []
    for number, line in enumerate(text.split("\n")):
        line = line.removesuffix("\r")
        if line:
            parts = line.split("\t")
            if len(parts) != width:
                wrong.append((number, len(parts)))
            else:
                rows.append((number, [part or None for part in parts]))
    return rows, wrong


@pytest.mark.parametrize(
    ("find", "separator", "naive"),
    [(fields.find_blanks, -1, naive_blanks), (fields.find_separated, 9, naive_separated)],
    ids=["blanks", "tabs"],
)
def test_splitters_equal_plain_python(find, separator, naive):
    chance = random.Random(3)
    pieces = ["a", "bc", " ", "\t", "\t", "\n", "\r\n", "\r", "#", "ü", "\x0b", "\x1c", "\xa0", '"', "x\ty"]
    wrong_ones = 0
    for _ in range(3000):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 14)))
        data = np.frombuffer(text.encode(), np.uint8)
        shape = Shape(2, separator, False)
        found = fields.room(fields.count_lines(data), shape)
        rows, wrong_lines = find(data, shape, found)
        expected, wrong = naive(text, 2)
        cut = [
            [
                None if b < 0 else bytes(data[b:e]).decode()
                for b, e in zip(found.begin[row], found.end[row], strict=True)
            ]
            for row in range(rows)
        ]
        assert list(zip(found.line[:rows].tolist(), cut, strict=True)) == expected, repr(text)
        assert [tuple(one[:2]) for one in found.wrong[:wrong_lines].tolist()] == wrong, repr(text)
        wrong_ones += bool(wrong)
    assert 100 < wrong_ones < 2900


def test_quoted_fields_equal_pythons_reader():
    chance = random.Random(4)
    values = ["", "a", "b c", 'd"e', '"', "f,g", "h\ni", "\r\n", "ü", "twelve bytes", "thirteen byte", "x" * 30, '""']
    for _ in range(400):
        table = [[chance.choice(values) for _ in range(3)] for _ in range(chance.randrange(1, 8))]
        content = io.StringIO(newline="")
        end = chance.choice(["\n", "\r\n"])
        csv.writer(content, lineterminator=end, quoting=chance.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])).writerows(
            table
        )
        text = content.getvalue() if chance.random() < 0.5 else content.getvalue().removesuffix(end)
        data = np.frombuffer(text.encode(), np.uint8).copy()
        shape = Shape(3, ord(","), False)
        found = fields.room(fields.count_lines(data), shape)
        rows, wrong_lines = fields.find_quoted(data, shape, found)
        assert wrong_lines == 0
        cut = [
            ["" if b < 0 else bytes(data[b:e]).decode() for b, e in zip(found.begin[row], found.end[row], strict=True)]
            for row in range(rows)
        ]
        assert cut == list(csv.reader(io.StringIO(text, newline=""), strict=True)) == table


def test_views_at_the_border_of_inline_text(opened):
    words = ["x" * length for length in (1, 4, 5, 11, 12, 13, 16, 40)] + ["日本語の文書", "ü" * 6, "ü" * 7]
    part = opened("".join(f"q 0 {word} 1\n" for word in words), "trec-qrels")
    frame = next(part.batches(["doc_id"], 1000)).read()
    assert frame["doc_id"].to_list() == words
    assert frame.schema == {"doc_id": pl.String}
    assert frame.filter(pl.col("doc_id") == "x" * 13).height == 1


# rows


@pytest.mark.usefixtures("small")
def test_the_header_is_the_first_line_that_is_not_blank(opened):
    part = opened("\n" * 50 + "a\tb\n\nx\ty\na\tb\n", "tsv")
    assert part.names == ("a", "b")
    assert rows_of(part) == [(53, "x", "y"), (54, "a", "b")]


@pytest.mark.usefixtures("small")
def test_names_end_at_line_ends_only(opened):
    assert opened("a\u2028b\tc\x85\r\n1\t2\n", "tsv").names == ("a\u2028b", "c\x85")


@pytest.mark.usefixtures("small")
def test_a_quoted_header_may_go_over_lines(opened):
    part = opened('\n"a\nb","c ""d"""\nx,"y"\n', "csv")
    assert part.names == ("a\nb", 'c "d"')
    assert rows_of(part) == [(4, "x", "y")]


@pytest.mark.usefixtures("small")
def test_no_header_counts_columns(opened):
    part = opened('007,"a,b"\n,\n', "csv", header=False)
    assert part.names == ("1", "2")
    assert rows_of(part) == [(1, "007", "a,b"), (2, None, None)]


@pytest.mark.usefixtures("small")
def test_empty_fields_are_null_quoted_or_not(opened):
    assert rows_of(opened('a,b\n,1\n"",2\n3,""\n', "csv")) == [(2, None, "1"), (3, None, "2"), (4, "3", None)]
    assert rows_of(opened('a\n""\n\nx\n', "csv")) == [(2, None), (4, "x")]


@pytest.mark.parametrize("content", ["# only\n#comments", "\n \t\n\r\n", "#"])
@pytest.mark.parametrize("kind", ["trec-run", "trec-qrels"])
def test_comments_and_blank_lines_alone_are_no_rows(content, kind, opened):
    part = opened(content, kind)
    frames = [batch.read() for batch in part.batches(["query_id", "doc_id"], 1)]
    assert frames
    assert all(frame.schema == {"query_id": pl.String, "doc_id": pl.String} for frame in frames)
    assert sum(frame.height for frame in frames) == 0
    assert part.first_tag() is None


@pytest.mark.usefixtures("small")
def test_what_stands_behind_the_fifth_field_of_a_run_is_the_tag(opened):
    part = opened("q\tQ0  d 1 2 my tag\t # 3 \t\r\nq Q0 d 1 2 t", "trec-run")
    assert rows_of(part, ["tag", "query_id"]) == [(1, "my tag\t # 3", "q"), (2, "t", "q")]


@pytest.mark.usefixtures("small")
def test_the_last_line_needs_no_line_end(opened):
    assert rows_of(opened('a,b\n"x",yz', "csv")) == [(2, "x", "yz")]
    assert rows_of(opened('a,b\nx,"y"', "csv")) == [(2, "x", "y")]
    assert rows_of(opened("a\tb\nx\tyz\r", "tsv")) == [(2, "x", "yz")]


@pytest.mark.usefixtures("small")
def test_the_first_tag(opened):
    assert opened("# x\n" * 100 + "\n q Q0 d 1 2 my\u00a0tag \tis \r\n", "trec-run").first_tag() == "my\u00a0tag \tis"
    assert opened("q Q0 d 1 2\n", "trec-run").first_tag() is None
    assert opened("a,b,tag\n1,2,x\n", "csv").first_tag() is None


def test_what_a_part_says_of_itself(opened, tmp_path):
    part = opened("q 0 d 1\n", "trec-qrels")
    assert (part.label, part.size, part.rows, part.is_text) == (str(tmp_path / "x"), 8, None, True)
    assert dict(part.schema()) == dict.fromkeys(("query_id", "iteration", "doc_id", "grade"), pl.String())
    assert not opened('{"a": 1}\n', "jsonl").is_text


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"# x\nq Q0 d 1 2 t\n"))))
    part = open_text("-", "trec-run")
    assert (part.label, part.size, part.first_tag()) == ("standard input", 0, "t")
    assert rows_of(part) == rows_of(part) == [(2, "q", "Q0", "d", "1", "2", "t")]


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"q 0 d 1\n",))
    writer.start()
    part = open_text(str(path), "trec-qrels")
    writer.join()
    assert rows_of(part) == rows_of(part) == [(1, "q", "0", "d", "1")]


def test_batches_are_read_in_any_thread_and_order(opened):
    content = "".join(f"q{number} 0 document-number-{number} {number % 3}\n" for number in range(5000))
    batches = list(opened(content, "trec-qrels").batches(["doc_id", "query_id"], 20))
    assert len(batches) > 50
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        frames = list(pool.map(lambda batch: batch.read(), reversed(batches)))
    whole = pl.concat(frames[::-1])
    assert whole["query_id"].to_list() == [f"q{number}" for number in range(5000)]
    assert whole["doc_id"].to_list() == [f"document-number-{number}" for number in range(5000)]


# JSON lines


def test_json_integers_beside_texts_are_decimal_texts(opened):
    rows = [7, "x", -3, 2**63 - 1, 2**64 - 1, 10**25, "007", None]
    part = opened("".join(json.dumps({"query_id": value}) + "\n" for value in rows), "jsonl")
    assert [row[1] for row in rows_of(part)] == [None if value is None else str(value) for value in rows]
    assert dict(opened('{"a": [1, "x"]}\n{"a": [2]}\n', "jsonl").schema()) == {"a": pl.List(pl.String)}


def test_json_integers_alone_are_integers(opened):
    part = opened('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', "jsonl")
    assert dict(part.schema()) == {"a": pl.Int64, "b": pl.String}


@pytest.mark.usefixtures("small")
def test_json_types_may_differ_between_chunks(opened):
    part = opened('{"a": 1}\n' * 5 + '{"a": "x"}\n' * 5, "jsonl")
    assert [str(row[1]) for row in rows_of(part)] == ["1"] * 5 + ["x"] * 5


@pytest.mark.usefixtures("small")
def test_json_objects_without_an_asked_key_stay_rows(opened):
    part = opened('{"a": 1}\n' + '{"b": 2}\n{}\n' * 30, "jsonl")
    assert rows_of(part, ["a"]) == [(1, 1)] + [(line, None) for line in range(2, 62)]
    assert rows_of(part, ["a", "c"]) == [(1, 1, None)] + [(line, None, None) for line in range(2, 62)]


@pytest.mark.usefixtures("small")
def test_json_blank_lines_are_no_rows(opened):
    part = opened("\n \n" * 30 + '{"a": 1}\r\n\r\n{"a": 2}' + "\n\t\n" * 30, "jsonl")
    assert dict(part.schema()) == {"a": pl.Int64}
    assert rows_of(part) == [(61, 1), (63, 2)]
    assert rows_of(opened("\n\n", "jsonl")) == []


def test_json_surrogate_pairs_are_text(opened):
    part = opened('{"a": "\\ud83d\\ude00"}\n{"a": "\\\\ud800"}\n', "jsonl")
    assert rows_of(part) == [(1, "😀"), (2, "\\ud800")]


# damage

EMPTY = "x is empty (0 bytes); most likely the job that writes it failed"
LOST = "\ufffd"  # what stands for a byte that is no text
UTF8 = "is not UTF-8; convert the file to UTF-8"
BYTES = {
    "empty": ("trec-run", b"", EMPTY),
    "empty in gzip": ("csv", gzip.compress(b"") * 2, EMPTY),
    "empty in zstd": ("jsonl", inputs.zst(b""), EMPTY),
    "mark alone": ("tsv", MARK, EMPTY),
    "not UTF-8": (
        "trec-run",
        b"# \xc3\xbc\nq \xe9\n",
        f'x row 2: the byte 0xe9 {UTF8}; the line reads "q {LOST}"',
    ),
    "half a character": (
        "tsv",
        b"a\nb\xc3",
        f'x row 2: the byte 0xc3 {UTF8}; the line reads "b{LOST}"',
    ),
    "surrogate in UTF-8": (
        "csv",
        b"\xed\xa0\x80\n",
        f'x row 1: the byte 0xed {UTF8}; the line reads "{LOST * 3}"',
    ),
    "UTF-16": ("csv", "a,b\n".encode("utf-16"), "x is in UTF-16; convert the file to UTF-8"),
    "long line": (
        "trec-qrels",
        "y" * 1_000_000,
        f'x row 1: 1 field, 4 expected (query_id iteration doc_id grade); the line reads "{"y" * 39}…{"y" * 39}"; '
        "mend or remove it",
    ),
}
"""Damage that is not text: kind, content, sentence."""

TEXTS = Path(__file__).parent / "data" / "text" / "damaged.json"
DAMAGED = BYTES | {name: rest for name, *rest in json.loads(TEXTS.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(("kind", "content", "sentence"), DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.usefixtures("small")
def test_damage(kind, content, sentence, opened, tmp_path):
    assert message(lambda: opened(content, kind), tmp_path) == sentence


def test_json_beyond_the_reader_is_named_by_its_line(opened, tmp_path):
    found = message(lambda: opened('{"a": 1}\n' * 9 + '\n{"a": 1e400}\n{"a": 2}\n', "jsonl"), tmp_path)
    assert found.startswith("x row 11: cannot be read (")
    assert found.endswith('the line reads "{"a": 1e400}"; mend or remove it')


def test_json_that_does_not_fit_together(opened, tmp_path):
    found = message(lambda: opened('{"a": true}\n{"a": 1}\n', "jsonl"), tmp_path)
    assert found == "x row 2, column a: 1 is a number, while a row before has true or false there"


def test_paths_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(StorageError, match="cannot be read") as caught:
            open_text(str(path), "trec-run")
        assert str(caught.value).startswith(f"{path}: ")
