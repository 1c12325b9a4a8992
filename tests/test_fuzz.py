"""Damage by chance: a mutated file ends in a result that adds up, or in an error that says what is wrong."""

import random

import pytest

import rankmeter
from rankmeter.errors import DataError, UsageError

MUTATIONS = 2500
"""For each format, of which there are four."""

QRELS = [("q1", "a", 1), ("q1", "b", 0), ("q2", "c", 2), ("q2", "d d", 1)]
RUN = [("q1", "a", 3.5), ("q1", "x", 2.25), ("q1", "b", 2.25), ("q2", "c", 1e-3), ("q2", "é", -7.0)]
PIECES = [
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b",",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"nan",
    b"inf",
    b"1e999",
    b"-",
    b"#",
]
PIECES += [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"null",
    b"true",
    b"0x1",
    b"1,5",
    b"q1",
    b"9" * 40,
    b"\xe2\x80\xa8",
    b"\x1a",
]


def text(rows, kind, value):
    """Rows in a format of text."""
    if kind == "trec" and value == "grade":
        return "".join(f"{q} 0 {d.replace(' ', '')} {v}\n" for q, d, v in rows)
    if kind == "trec":
        return "".join(f"{q} Q0 {d} {n} {v} tag\n" for n, (q, d, v) in enumerate(rows, 1))
    if kind == "jsonl":
        return "".join(f'{{"query_id": "{q}", "doc_id": "{d}", "{value}": {v}}}\n' for q, d, v in rows)
    sign = "," if kind == "csv" else "\t"
    return "".join(sign.join(map(str, row)) + "\n" for row in [("query_id", "doc_id", value), *rows])


def mutated(chance, data):
    """The bytes with one to three changes: a byte flipped, a piece put in, a stretch cut out, doubled or moved."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(data) + 1)
        stop = min(len(data), start + chance.randint(0, 12))
        way = chance.randrange(5)
        if way == 0 and start < len(data):
            data = data[:start] + bytes([data[start] ^ (1 << chance.randrange(8))]) + data[start + 1 :]
        elif way == 1:
            data = data[:start] + chance.choice(PIECES) + data[start:]
        elif way == 2:
            data = data[:start] + data[stop:]
        elif way == 3:
            data = data[:stop] + data[start:stop] + data[stop:]
        else:
            line = chance.choice(data.split(b"\n"))
            data = data[:start] + line + data[start:]
    return data


def outcome(paths):
    """The result, or the sentence of the error; any other exception is a defect."""
    try:
        return rankmeter.evaluate(paths["qrels"], paths["run"], "nDCG@10 AP P@2"), ""
    except (DataError, UsageError) as error:
        return None, str(error)


@pytest.mark.parametrize("kind", ["trec", "csv", "tsv", "jsonl"])
def test_mutated_files_end_in_a_result_that_adds_up_or_in_a_sentence(kind, tmp_path):
    chance = random.Random(f"fuzz {kind}")
    sides = {"qrels": text(QRELS, kind, "grade").encode(), "run": text(RUN, kind, "score").encode()}
    paths = {side: tmp_path / f"{side}.{kind}" for side in sides}
    refused = 0
    for number in range(MUTATIONS):
        side = chance.choice([*sides])
        for name, data in sides.items():
            paths[name].write_bytes(mutated(chance, data) if name == side else data)
        result, sentence = outcome(paths)
        if result is None:
            refused += 1
            assert sentence.strip(), (number, paths[side].read_bytes())
            continue
        for account in result.accounting.values():
            assert account["rows_read"] == account["rows_used"] + sum(account["rows_ignored"].values())
        assert result.summary["mean"].is_between(0, 1).all(), (number, paths[side].read_bytes())
    assert MUTATIONS / 5 < refused < MUTATIONS
