"""Random texts against plain Python parsing, with chunks so small that nearly every line end is a chunk end."""

import csv
import io
import random

import inputs
import polars as pl
import pytest

import rankmeter
from rankmeter.errors import DataError
from rankmeter.sources import text as text_module
from rankmeter.sources.text import open_text

CASES = 60
WORDS = (
    "a",
    "b#",
    "#c",
    "0",
    "007",
    "-1",
    "ü",
    "日本語の文書",
    "x" * 12,
    "y" * 13,
    "long-document-name-0001",
    "a,b",
    "'q'",
)
COLUMNS = {
    "trec-qrels": ("query_id", "iteration", "doc_id", "grade"),
    "trec-run": ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
}
ENDS = ("\n", "\n", "\n", "\r\n")


@pytest.fixture(params=[3, 7, 64, None], ids=lambda size: f"chunk{size}")
def chunk_size(request, monkeypatch):
    """Bytes of a chunk; None leaves the usual size."""
    if request.param is not None:
        monkeypatch.setattr(text_module, "BYTES_A_ROW", request.param)
        monkeypatch.setattr(text_module, "SMALLEST_CHUNK", 1)
        monkeypatch.setattr(text_module, "FIRST_LINES", 512)
    return request.param


def parsed(path, kind, *, columns=None, header=True):
    """All rows with their physical lines, as the program reads them: (line, field, …)."""
    part = open_text(str(path), kind, header=header)
    columns = columns or part.names
    out = []
    for batch in part.batches(columns, 1):
        frame = batch.read()
        assert frame.columns == list(columns)
        out += [(batch.row(position), *row) for position, row in enumerate(frame.rows())]
    return out


def filler(chance):
    """A line that holds no data."""
    return chance.choice(["", " ", "\t ", "# a comment", "#", "#\ta b c d e f"])


def random_trec(chance, kind):
    """A TREC text and its rows."""
    lines, rows = [], []
    for _ in range(chance.randrange(1, 25)):
        while chance.random() < 0.3:
            lines.append(filler(chance))
        fields = [chance.choice(WORDS) for _ in COLUMNS[kind]]
        fields[0] = fields[0].lstrip("#")  # else the line is a comment
        if kind == "trec-run" and chance.random() < 0.3:
            fields[-1] += chance.choice([" more text", "\ttag", "  #x"])
        blank = [chance.choice([" ", "\t", "  ", " \t "]) for _ in fields[1:]]
        line = (
            chance.choice(["", "", " ", "\t"])
            + fields[0]
            + "".join(b + f for b, f in zip(blank, fields[1:], strict=True))
        )
        lines.append(line + chance.choice(["", "", " ", "\t"]))
        rows.append((len(lines), *fields))
    return joined(chance, lines), rows


def joined(chance, lines, *, blank_ends=True):
    """Lines as bytes: odd line ends, perhaps a byte-order mark, perhaps no final line end."""
    content = "".join(line + chance.choice(ENDS) for line in lines)
    if blank_ends and chance.random() < 0.3:
        content += chance.choice(["\n", "  \n", "\n\n", "\t"])
    elif chance.random() < 0.5:
        content = content.removesuffix("\n").removesuffix("\r")
    return chance.choice([b"", b"\xef\xbb\xbf"]) + content.encode()


def naive_trec(data, kind):
    """The rows of a TREC text by plain Python: split at blanks, the last field takes the rest."""
    width, out = len(COLUMNS[kind]), []
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
        line = line.rstrip("\r \t")
        if line and not line.startswith("#"):
            fields = line.replace("\t", " ").split(" ") if kind == "trec-qrels" else None
            fields = [field for field in fields if field] if fields is not None else line.split(None, width - 1)
            out.append((number, *fields))
    return out


@pytest.mark.parametrize("kind", COLUMNS)
def test_trec(kind, chunk_size, tmp_path):
    chance = random.Random(f"{kind} {chunk_size}")
    for number in range(CASES):
        data, rows = random_trec(chance, kind)
        assert naive_trec(data, kind) == rows
        path = tmp_path / f"{number}.trec"
        path.write_bytes(data)
        assert parsed(path, kind) == rows, data


def random_separated(chance, separator, *, quotes):
    """A text of separated fields without line ends in fields: its bytes, names, and rows."""
    width = chance.randrange(2, 6)
    names = [f"column {number}" for number in range(width)]
    words = (
        [word for word in WORDS if separator not in word or quotes] + ["", " ", " a ", 'say "x"'] * quotes + ["", " b"]
    )
    lines, rows = [separator.join(names)], []
    for _ in range(chance.randrange(25)):
        while chance.random() < 0.2:
            lines.append("")
        fields = [chance.choice(words) for _ in names]
        if not any(fields):
            fields[0] = "a"
        quoted = [
            '"' + field.replace('"', '""') + '"'
            if quotes and (separator in field or '"' in field or chance.random() < 0.2)
            else field
            for field in fields
        ]
        lines.append(separator.join(quoted))
        rows.append((len(lines), *(field or None for field in fields)))
    return joined(chance, lines, blank_ends=False), names, rows


@pytest.mark.parametrize(
    ("suffix", "separator", "quotes"), [("csv", ",", False), ("csv", ",", True), ("tsv", "\t", False)]
)
def test_separated(suffix, separator, quotes, chunk_size, tmp_path):
    chance = random.Random(f"{suffix} {quotes} {chunk_size}")
    for number in range(CASES):
        data, names, rows = random_separated(chance, separator, quotes=quotes)
        path = tmp_path / f"{number}.{suffix}"
        path.write_bytes(data)
        assert list(open_text(str(path), suffix).names) == names
        assert parsed(path, suffix) == rows, data
        assert parsed(path, suffix, columns=names[::-1][:2]) == [(row[0], *row[:0:-1][:2]) for row in rows], data


@pytest.mark.usefixtures("chunk_size")
def test_quoted_line_ends(tmp_path):
    """A line end between quotes belongs to the field; the row is where it begins."""
    chance = random.Random(5)
    for number in range(CASES):
        rows, content = [], io.StringIO(newline="")
        writer = csv.writer(content, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(["query_id", "doc_id"])
        for _ in range(chance.randrange(1, 12)):
            fields = [chance.choice(["a", "b\nc", "\n\n", 'd"\ne', "f,g", "h\r\ni"]) for _ in range(2)]
            rows.append((content.getvalue().count("\n") + 1, *fields))
            writer.writerow(fields)
        path = tmp_path / f"{number}.csv"
        path.write_bytes(content.getvalue().encode())
        assert parsed(path, "csv") == rows, content.getvalue()


@pytest.mark.usefixtures("chunk_size")
def test_tsv_has_no_quoting(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('query_id\tdoc_id\n"a\tb"\n""\t\'c\n', encoding="utf-8")
    assert parsed(path, "tsv") == [(2, '"a', 'b"'), (3, '""', "'c")]


@pytest.mark.usefixtures("chunk_size")
def test_no_header(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("q1\ta\n\nq2\tb", encoding="utf-8")
    assert parsed(path, "tsv", header=False) == [(1, "q1", "a"), (3, "q2", "b")]
    assert parsed(path, "tsv", header=False, columns=["2"]) == [(1, "a"), (3, "b")]


@pytest.mark.usefixtures("chunk_size")
def test_json_lines(tmp_path):
    chance = random.Random(9)
    for number in range(CASES):
        lines, rows = [], []
        for _ in range(chance.randrange(1, 15)):
            while chance.random() < 0.2:
                lines.append(chance.choice(["", "  "]))
            row = {
                "query_id": chance.choice(WORDS),
                "doc_id": chance.choice(WORDS),
                "score": chance.choice([1.5, 2.25, -0.0]),
            }
            lines.append(inputs.json_lines(pl.DataFrame([row])).strip())
            rows.append((len(lines), row["query_id"], row["score"]))
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(joined(chance, lines, blank_ends=False))
        assert parsed(path, "jsonl", columns=["query_id", "score"]) == rows


@pytest.mark.parametrize("suffix", [".gz", ".zst", ""])
@pytest.mark.usefixtures("chunk_size")
def test_compressed_members_end_anywhere(suffix, tmp_path):
    chance = random.Random(11)
    pack = {".gz": inputs.gz_members, ".zst": inputs.zst_members, "": str.encode}[suffix]
    for number in range(CASES // 4):
        data, rows = random_trec(chance, "trec-run")
        path = tmp_path / f"{number}.run{suffix}"
        path.write_bytes(pack(data.decode()))
        assert parsed(path, "trec-run") == rows


NUMBERS = {
    "1": 1.0,
    "+1.5": 1.5,
    "-0": -0.0,
    "1e3": 1000.0,
    "1E-2": 0.01,
    ".5": 0.5,
    "5.": 5.0,
    "0.1": 0.1,
    "inf": float("inf"),
    "-inf": -float("inf"),
    "9007199254740993": 9007199254740992.0,
    "0.30000000000000004": 0.1 + 0.2,
    "1e-320": 1e-320,
    "1e400": float("inf"),
}


@pytest.mark.parametrize(("written", "number"), NUMBERS.items())
def test_numbers_are_the_nearest_float64(written, number, tmp_path):
    """The score decides between two documents whose scores are one float apart."""
    path = tmp_path / "run.trec"
    path.write_text(f"q 0 b 1 {written} r\nq 0 a 1 {number!r} r\n", encoding="utf-8")
    result = rankmeter.evaluate({"q": {"a": 1}}, path, "RR")
    # equal scores: the greater id is first
    assert result.per_query["RR"].to_list() == [0.5]
    assert result.accounting["r"]["queries_tied_at_hits"] == 1


@pytest.mark.parametrize("lines_before", [0, 1, 40])
@pytest.mark.usefixtures("chunk_size")
def test_a_short_line_is_named_by_its_physical_line(lines_before, tmp_path):
    path = tmp_path / "run.trec"
    filling = "# comment\n\nq1 0 a 1 2.5 r\r\n" * lines_before
    path.write_text(f"{filling}q1 0 only-three\nq2 0 b 1 1 r\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"run\.trec row {3 * lines_before + 1}: 3 fields, 6 expected"):
        parsed(path, "trec-run")


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3(", b"\0"])
@pytest.mark.usefixtures("chunk_size")
def test_a_bad_byte_is_named_by_its_line(bad, tmp_path):
    path = tmp_path / "run.trec"
    path.write_bytes(b"q1 0 a 1 2 r\n" * 30 + b"q1 0 " + bad + b" 1 2 r\n" + b"q1 0 a 1 2 r\n" * 30)
    with pytest.raises(DataError, match=r"run\.trec row 31: .*UTF-8"):
        parsed(path, "trec-run")


def test_marks_are_told(tmp_path):
    path = tmp_path / "run.trec"
    path.write_bytes(b"\xef\xbb\xbfq1 0 a 1 2 r\n")
    result = rankmeter.evaluate({"q1": {"a": 1}}, path, "RR")
    assert result.per_query["RR"].to_list() == [1.0]
    assert [warning.code for warning in result.warnings] == ["byte-order-mark"]


def test_a_mark_alone_is_an_empty_file(tmp_path):
    path = tmp_path / "run.trec"
    path.write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(DataError, match="empty"):
        rankmeter.evaluate({"q1": {"a": 1}}, path, "RR")


@pytest.mark.parametrize("lead", ["\t", "\t\t"])
def test_tsv_keeps_empty_first_fields(lead, tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(f"a\tb\tc\n{lead}x{chr(9) * (2 - len(lead))}\n", encoding="utf-8")
    expected = (2, None, "x", None) if lead == "\t" else (2, None, None, "x")
    assert parsed(path, "tsv") == [expected]


@pytest.mark.parametrize("end", ["\n", ""])
def test_the_only_row_behind_a_comment(end, tmp_path):
    path = tmp_path / "stem.trec"
    path.write_text(f"# a comment\nq1 0 a 1 2 tag{end}", encoding="utf-8")
    assert rankmeter.evaluate({"q1": {"a": 1}}, path, "RR").runs == ("tag",)


@pytest.mark.parametrize("blank", ["\n", "  \n", "\n" * 70_000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_json_lines_behind_blank_lines(blank, end, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(f'{blank}{{"query_id": "q1", "doc_id": "a", "score": 1.5}}{end}', encoding="utf-8")
    assert rankmeter.evaluate({"q1": {"a": 1}}, path, "RR").per_query["RR"].to_list() == [1.0]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_table_behind_blank_lines(end, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(f"\nquery_id,doc_id,score{end}", encoding="utf-8")
    assert list(open_text(str(path), "csv").names) == ["query_id", "doc_id", "score"]
