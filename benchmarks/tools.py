"""The tools that are compared: each computes six measures per query and writes them, from the same Parquet files.

`python -m benchmarks.tools TOOL FOLDER TIMES` runs one in a process of its own and prints its figures and means.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Tool = Callable[[Path, Path], dict[str, float]]
NAMES = ("P@10", "R@100", "RR@10", "AP@100", "nDCG@10", "Success@10")

TOOLS: dict[str, Tool] = {}
"""Name -> a function of the folder of a case and of the Parquet file to write, which gives the means."""

LARGEST = {"pytrec_eval": 10_000_000, "ranx": 10_000_000, "ir_measures": 10_000_000}
"""Rows up to which a tool is run: beyond, it needs more memory or time than is useful to know."""


def tool(function: Tool) -> Tool:
    """A tool under the name of its function."""
    TOOLS[function.__name__] = function
    return function


@tool
def rankmeter(folder: Path, output: Path) -> dict[str, float]:
    """This package."""
    import rankmeter

    result = rankmeter.evaluate(folder / "qrels.parquet", folder / "run.parquet", NAMES)
    result.write_per_query(output)
    return dict(result.summary.select("measure", "mean").iter_rows())


SQL = """
SET preserve_insertion_order = false;
CREATE OR REPLACE TEMP TABLE qrels AS SELECT query_id, doc_id, grade FROM '{qrels}';
CREATE OR REPLACE TEMP TABLE judged AS
    SELECT query_id, count(*) FILTER (grade >= 1) AS relevant,
        coalesce(sum(gain / log2(place + 1)) FILTER (place <= 10), 0) AS ideal
    FROM (
        SELECT query_id, grade, greatest(grade, 0) AS gain,
            row_number() OVER (PARTITION BY query_id ORDER BY grade DESC) AS place
        FROM qrels
    ) GROUP BY query_id;
CREATE OR REPLACE TEMP TABLE hits AS
    SELECT query_id, place, grade, count(*) FILTER (grade >= 1) OVER (PARTITION BY query_id ORDER BY place) AS found
    FROM (
        SELECT query_id, doc_id, row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS place
        FROM '{run}' SEMI JOIN judged USING (query_id)
    ) JOIN qrels USING (query_id, doc_id);
CREATE OR REPLACE TEMP TABLE per_query AS
    SELECT query_id,
        coalesce(count(*) FILTER (grade >= 1 AND place <= 10), 0) / 10 AS "P@10",
        coalesce(count(*) FILTER (grade >= 1 AND place <= 100) / nullif(any_value(relevant), 0), 0) AS "R@100",
        coalesce(max(1 / place) FILTER (grade >= 1 AND place <= 10), 0) AS "RR@10",
        coalesce(sum(found / place) FILTER (grade >= 1 AND place <= 100) / nullif(any_value(relevant), 0), 0)
            AS "AP@100",
        coalesce(sum(greatest(grade, 0) / log2(place + 1)) FILTER (place <= 10) / nullif(any_value(ideal), 0), 0)
            AS "nDCG@10",
        coalesce(max((grade >= 1 AND place <= 10)::INT), 0) AS "Success@10"
    FROM judged LEFT JOIN hits USING (query_id) GROUP BY query_id ORDER BY query_id;
COPY per_query TO '{output}' (FORMAT parquet, COMPRESSION zstd);
"""


@tool
def duckdb(folder: Path, output: Path) -> dict[str, float]:
    """DuckDB, in SQL that is exact in ties."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(SQL.format(qrels=folder / "qrels.parquet", run=folder / "run.parquet", output=output))
    means = connection.execute("SELECT " + ", ".join(f'avg("{name}")' for name in NAMES) + " FROM per_query").fetchall()
    return dict(zip(NAMES, means[0], strict=True))


@tool
def polars(folder: Path, output: Path) -> dict[str, float]:
    """Polars, exact in ties: the rank of (score, document) within its query."""
    import polars as pl

    qrels = pl.scan_parquet(folder / "qrels.parquet")
    grade, place = pl.col("grade"), pl.col("place")
    gain, relevant = pl.max_horizontal(grade, 0) / (place + 1).log(2), grade >= 1
    judged = (
        qrels.with_columns(place=grade.rank("ordinal", descending=True).over("query_id").cast(pl.Int64))
        .group_by("query_id")
        .agg(relevant=relevant.sum(), ideal=gain.filter(place <= 10).sum())
    )
    best_first = pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id")
    hits = (
        pl.scan_parquet(folder / "run.parquet")
        .join(judged, on="query_id", how="semi")
        .with_columns(place=best_first.cast(pl.Int64))
        .join(qrels, on=["query_id", "doc_id"])
        .sort("query_id", "place")
        .with_columns(found=relevant.cum_sum().over("query_id"))
    )
    sums = hits.group_by("query_id").agg(
        p=(relevant & (place <= 10)).sum() / 10,
        r=(relevant & (place <= 100)).sum(),
        rr=(1 / place.filter(relevant & (place <= 10))).max(),
        ap=(pl.col("found") / place).filter(relevant & (place <= 100)).sum(),
        dcg=gain.filter(place <= 10).sum(),
    )
    total, ideal = pl.col("relevant"), pl.col("ideal")
    values = judged.join(sums, on="query_id", how="left").select(
        "query_id",
        pl.col("p").fill_null(0).alias("P@10"),
        pl.when(total > 0).then(pl.col("r") / total).fill_null(0).alias("R@100"),
        pl.col("rr").fill_null(0).alias("RR@10"),
        pl.when(total > 0).then(pl.col("ap") / total).fill_null(0).alias("AP@100"),
        pl.when(ideal > 0).then(pl.col("dcg") / ideal).fill_null(0).alias("nDCG@10"),
        (pl.col("p").fill_null(0) > 0).cast(pl.Float64).alias("Success@10"),
    )
    frame = values.sort("query_id").collect()
    frame.write_parquet(output)
    return {name: frame[name].mean() for name in NAMES}


def _dicts(folder: Path) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Qrels and run as dicts of dicts."""
    import polars as pl

    def nested(path: Path, value: str) -> dict[str, dict[str, float]]:
        frame = pl.read_parquet(path).group_by("query_id", maintain_order=True).agg("doc_id", value)
        return {query: dict(zip(docs, numbers, strict=True)) for query, docs, numbers in frame.iter_rows()}

    return nested(folder / "qrels.parquet", "grade"), nested(folder / "run.parquet", "score")  # type: ignore[return-value]


def _written(rows: dict[str, list[float]], queries: list[str], output: Path) -> dict[str, float]:
    """Write the values per query; the means."""
    import polars as pl

    frame = pl.DataFrame({"query_id": queries, **rows})
    frame.write_parquet(output)
    return {name: frame[name].mean() for name in NAMES}


@tool
def pytrec_eval(folder: Path, output: Path) -> dict[str, float]:
    """pytrec_eval-terrier, through dicts; it has no cut-off for the reciprocal rank, so that low ones are cleared."""
    import pytrec_eval

    qrels, run = _dicts(folder)
    names = {"P_10", "recall_100", "recip_rank", "map_cut_100", "ndcg_cut_10", "success_10"}
    found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    keys = ("P_10", "recall_100", "recip_rank", "map_cut_100", "ndcg_cut_10", "success_10")
    values = {
        name: [found[query][key] if query in found else 0.0 for query in qrels]
        for name, key in zip(NAMES, keys, strict=True)
    }
    values["RR@10"] = [value if value >= 0.1 else 0.0 for value in values["RR@10"]]
    return _written(values, list(qrels), output)


@tool
def ir_measures(folder: Path, output: Path) -> dict[str, float]:
    """ir_measures, on frames, with its default providers."""
    import ir_measures
    import polars as pl

    qrels = pl.read_parquet(folder / "qrels.parquet").rename({"grade": "relevance"}).to_pandas()
    run = pl.read_parquet(folder / "run.parquet").to_pandas()
    asked = {ir_measures.parse_measure(name): name for name in NAMES}
    values: dict[str, dict[str, float]] = {name: {} for name in NAMES}
    for metric in ir_measures.iter_calc(list(asked), qrels, run):
        values[asked[metric.measure]][metric.query_id] = metric.value
    queries = sorted(set(qrels["query_id"]))
    return _written({name: [by.get(query, 0.0) for query in queries] for name, by in values.items()}, queries, output)


@tool
def ranx(folder: Path, output: Path) -> dict[str, float]:
    """ranx, from data frames; its order of ties is arbitrary."""
    import polars as pl
    from ranx import Qrels, Run, evaluate

    text = {"query_id": object, "doc_id": object}
    judged = pl.read_parquet(folder / "qrels.parquet").to_pandas().astype({**text, "grade": int})
    found = pl.read_parquet(folder / "run.parquet").to_pandas().astype(text)
    qrels = Qrels.from_df(judged, q_id_col="query_id", doc_id_col="doc_id", score_col="grade")
    run = Run.from_df(found, q_id_col="query_id", doc_id_col="doc_id", score_col="score")
    keys = ["precision@10", "recall@100", "mrr@10", "map@100", "ndcg@10", "hit_rate@10"]
    scores = evaluate(qrels, run, keys, return_mean=False, make_comparable=True)
    values = {name: list(map(float, scores[key])) for name, key in zip(NAMES, keys, strict=True)}
    return _written(values, list(qrels.keys()), output)


def peak_gb() -> float:
    """The most memory that this process held; what the system calls maximum resident set is inherited by children."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e9


def main() -> None:
    """Run one tool some times: the first time counts its imports, later ones are warm."""
    begun = time.perf_counter()
    name, folder, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    walls = []
    with tempfile.TemporaryDirectory() as out:
        for number in range(times):
            start = begun if number == 0 else time.perf_counter()
            means = TOOLS[name](folder, Path(out) / "per_query.parquet")
            walls.append(time.perf_counter() - start)
    figures = {"first_s": walls[0], "warm_s": min(walls[1:], default=None), "peak_gb": peak_gb(), "means": means}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
