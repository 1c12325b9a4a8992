"""Small collections, the same data in every form that an input can take, and ways to run the program on them."""

import gzip
import hashlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

import rankmeter
from rankmeter.words import SECOND, mixed

SOURCES = Path(rankmeter.__file__).parent
MEASURES = "nDCG@10 RR@10 AP@100 P@5 R@100 Success@1 nDCG AP"


@dataclass(frozen=True)
class Collection:
    """Judgements (query_id, doc_id, grade) and a run (query_id, doc_id, score, rank) as frames of text ids."""

    qrels: pl.DataFrame
    run: pl.DataFrame


def collection(seed=0, queries=12, depth=15, digits=4, levels=6):
    """A random collection: ties, negative grades, queries missing on either side or without relevant documents.

    All ids are decimal texts, so that they can be integers too; ranks agree with scores and ties.
    """
    chance = random.Random(seed)
    low, high = 10 ** (digits - 1), 10**digits
    names = [str(name) for name in chance.sample(range(1, 10 * queries), queries)]
    judged, ranked = [], []
    for number, name in enumerate(names):
        pool = [str(doc) for doc in chance.sample(range(low, high), 2 * depth)]
        if number != 1:
            grades = [0, -1] if number == 2 else [-1, 0, 0, 1, 2, 3]
            judged += [(name, doc, chance.choice(grades)) for doc in pool[::2]]
        if number != 3:
            shown = chance.sample(pool, chance.randint(1, depth))
            rows = [(chance.randrange(levels) / 4 - 0.5, doc) for doc in shown]
            rows.sort(reverse=True)
            ranked += [(name, doc, score, rank) for rank, (score, doc) in enumerate(rows, 1)]
    qrels = pl.DataFrame(judged, schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}, orient="row")
    run = pl.DataFrame(
        ranked,
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "rank": pl.Int64},
        orient="row",
    )
    return Collection(qrels, run)


def as_trec(frame):
    """The rows of a collection as TREC text; the tag of a run is `r`."""
    if "grade" in frame.columns:
        return "".join(f"{q} 0 {d} {g}\n" for q, d, g in frame.select("query_id", "doc_id", "grade").rows())
    columns = ("query_id", "doc_id", "rank", "score")
    return "".join(f"{q} Q0 {d} {rank} {score!r} r\n" for q, d, rank, score in frame.select(columns).rows())


def as_lists(frame):
    """One row per query with list columns."""
    return (
        frame.group_by("query_id", maintain_order=True)
        .agg(pl.exclude("query_id"))
        .rename({name: f"{name}s" for name in frame.columns if name != "query_id"})
    )


def ordered(frame, order):
    """The rows as given, reversed, or shuffled by a seed."""
    if order == "given":
        return frame
    return frame.reverse() if order == "reversed" else frame.sample(fraction=1, shuffle=True, seed=order)


def as_folder(folder, frame, form, files):
    """The rows in a new folder of so many files, which are about equally long; ranks are written as TREC only."""
    folder.mkdir()
    cuts = [frame.height * number // files for number in range(files + 1)]
    for number, (start, stop) in enumerate(itertools.pairwise(cuts)):
        part, path = frame[start:stop], folder / f"{number:02}.{form}"
        if form == "trec":
            path.write_text(as_trec(part), encoding="utf-8")
        elif form == "parquet":
            part.drop("rank", strict=False).write_parquet(path, row_group_size=11)
        elif form == "csv":
            part.drop("rank", strict=False).write_csv(path)
        else:
            path.write_text(json_lines(part.drop("rank", strict=False)), encoding="utf-8")
    return folder


def as_dicts(frame, value):
    """`{query: {document: value}}`."""
    out = {}
    for query, doc, number in frame.select("query_id", "doc_id", value).rows():
        out.setdefault(query, {})[doc] = number
    return out


def gz_members(text):
    """A gzip file of three members, cut in the middle of lines."""
    data = text.encode()
    third = len(data) // 3
    return b"".join(gzip.compress(part) for part in (data[:third], data[third : 2 * third], data[2 * third :]))


def zst_members(text):
    """A zstd file of two frames, cut in the middle of a line."""
    data = text.encode()
    return b"".join(zst(part) for part in (data[: len(data) // 2], data[len(data) // 2 :]))


def zst(data):
    """One zstd frame."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def digest(path):
    """sha256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def environment(**changes):
    """The environment of a process that finds the package; a change to None takes a variable away."""
    env = {**os.environ, "PYTHONPATH": str(SOURCES.parent), **changes}
    return {name: str(value) for name, value in env.items() if value is not None}


def process(*arguments, cwd=None, stdin=None, **changes):
    """Runs Python with these arguments in a process of its own, the environment changed."""
    command = [sys.executable, *map(str, arguments)]
    pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(command, cwd=cwd, env=environment(**changes), text=True, timeout=300, check=False, **pipes)


def python(code, *arguments, **settings):
    """The standard output of Python code that must end well, run in a process of its own."""
    done = process("-c", code, *arguments, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def json_lines(frame):
    """The rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in frame.rows(named=True))


def naive_hits(qrels, run):
    """Relevance at rank by plain sorting: rows (query_id, doc_id, rank, grade), queries in byte order."""
    judged = {(q, d): float(g) for q, d, g in qrels.select("query_id", "doc_id", "grade").rows()}
    queries = {q for q, _ in judged}
    lists = {}
    for query, doc, score in run.select("query_id", "doc_id", "score").rows():
        lists.setdefault(query, []).append((score, doc.encode()))
    out = []
    for query in sorted(queries & lists.keys(), key=str.encode):
        ranked = sorted(lists[query], reverse=True)
        for rank, (_, doc) in enumerate(ranked, 1):
            if (query, doc.decode()) in judged:
                out.append((query, doc.decode(), rank, judged[query, doc.decode()]))
    return out


def colliding(count, size, seed=0):
    """Distinct ASCII ids of `size` bytes that all have the same hash.

    The last step of hashing takes in the last eight bytes, so for any beginning there are eight bytes that lead to the
    wanted hash; those that are ASCII are found by trying. The size must be 4 and a multiple of 8.
    """
    chance = np.random.default_rng(seed)
    heads = chance.integers(97, 123, (1000 * count, size), np.uint8)
    words = [heads[:, at : at + 8].copy().view(np.uint64)[:, 0] for at in range(4, size - 8, 8)]
    h = heads[:, :4].copy().view(np.uint32)[:, 0].astype(np.uint64) << np.uint64(32) | np.uint64(size)
    for word in words[: (size - 12) // 8]:
        h = mixed(h, word)
    before = (h ^ (h >> np.uint64(29))) * SECOND
    tails = (before ^ before[0] ^ np.uint64(0x6161616161616161)).view(np.uint8).reshape(-1, 8)
    ascii_only = np.flatnonzero(((tails > 0) & (tails < 128)).all(axis=1))
    found = {(heads[i, :-8].tobytes() + tails[i].tobytes()).decode("ascii") for i in ascii_only}
    return sorted(found)[:count]


def lacking(texts, message):
    """The texts that a message does not hold as whole words: row 2 is not named by 12, 2.5 or q2."""

    def named(text):
        number = text.replace(".", "").isdigit()
        before, after = (r"(?<![\w.])", r"(?!\w|\.\d)") if number else (r"(?<!\w)", r"(?!\w)")
        return re.search(before + re.escape(text) + after, message, re.IGNORECASE)

    return [text for text in texts if not named(text)]
