"""The Python face: one call with any kind of input."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypedDict, Unpack

import polars as pl

from rankmeter.arguments import texts, wrong
from rankmeter.catalogue import MEASURES
from rankmeter.conventions import rules
from rankmeter.errors import UsageError
from rankmeter.notation import parse_measures
from rankmeter.pipeline import execute
from rankmeter.request import DEFAULT_MEASURES, Reading, Request, Resources, RunInput
from rankmeter.result import Result
from rankmeter.sinks import check_target


class Options(TypedDict, total=False):
    """Further arguments of `evaluate`; see the options of the same names of `rankmeter evaluate`."""

    labelled: Any
    queries: Any
    convention: str
    relevance_level: float
    order_by: str
    ties: str
    missing_queries: str
    without_relevant: str
    judged_only: bool
    ignore_self: bool
    depth: int
    duplicates: str
    qrels_conflicts: str
    nan: str
    score_type: str
    recall_points: str
    gain_from: str
    ap_norm: str
    precision_norm: str
    recall_cap: bool
    qrels_columns: Mapping[str, str]
    run_columns: Mapping[str, str]
    run_column: str
    qrels_format: str
    run_format: str
    header: bool
    keep_hits: bool
    problems: str | Path
    threads: int
    batch_rows: int
    memory_limit: int | str


def evaluate(
    qrels: Any = None,
    run: Any = None,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    *,
    by: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> Result:
    """Measure one run or several.

    Args:
        qrels: the judgements: a path, a Polars, pandas or Arrow table, anything with `__arrow_c_stream__`, or
            `{query: {document: grade}}`.
        run: one run (path, table or `{query: {document: score}}`), a sequence of them, or a mapping name -> run.
        measures: names of measures, in one string or many.
        by: columns whose values make segments.
        options: see `Options`.

    Returns:
        Means, values per query, counts and warnings.

    Raises:
        UsageError: what is asked for makes no sense.
        DataError: the data breaks a rule.
        StorageError: a path is absent or unreadable.

    >>> evaluate({"q": {"a": 1, "b": 0}}, {"q": {"b": 2.0, "a": 1.0}}, "RR").summary["mean"][0]
    0.5
    """
    reading_names = set(Reading.__dataclass_fields__)
    resource_names = set(Resources.__dataclass_fields__)
    known = reading_names | resource_names | {"labelled", "queries", "keep_hits", "problems"}
    rest = {name: value for name, value in options.items() if name not in known}
    _check_options(rest)
    request = Request(
        runs=tuple(named_runs(run)),
        measures=tuple(parse_measures(measures)),
        qrels=qrels,
        labelled=options.get("labelled"),
        by=texts("--by", by, "the name of a column, or several"),
        queries=options.get("queries"),
        rules=rules(**rest),  # type: ignore[arg-type]  # each rule checks its own value
        reading=Reading(**{name: value for name, value in options.items() if name in reading_names}),  # type: ignore[arg-type]
        keep_hits=options.get("keep_hits", False),
        problems=_target(options.get("problems")),
        resources=Resources(**{name: value for name, value in options.items() if name in resource_names}),  # type: ignore[arg-type]
    )
    return execute(request)


def _target(problems: str | Path | None) -> str | Path | None:
    """Where problems are written, if it can be."""
    if problems is not None:
        check_target(problems, "problems")
    return problems


def _check_options(rest: Mapping[str, object]) -> None:
    for name in rest:
        if name not in Options.__annotations__:
            raise UsageError.unknown("option", name, Options.__annotations__)


def named_runs(run: Any) -> Iterator[RunInput]:
    """The runs behind what a user gave as runs."""
    if run is None:
        return
    if isinstance(run, Mapping) and not _is_dict_run(run):
        for name, data in run.items():
            if isinstance(name, bool) or not isinstance(name, (str, Integral)):
                raise wrong("the name of a run", "a text", name)
            yield RunInput(str(name), data)
    elif isinstance(run, (list, tuple)):
        for number, data in enumerate(run, 1):
            yield RunInput(None if isinstance(data, (str, Path)) else f"run{number}", data)
    else:
        yield RunInput(None, run)


def _is_dict_run(run: Mapping[Any, Any]) -> bool:
    """Whether a mapping is `{query: {document: score}}` and not name -> run."""
    if not all(isinstance(value, Mapping) for value in run.values()):
        return False
    first: Any = next((value for value in run.values() if value), {})
    return not any(isinstance(value, Mapping) for value in first.values())


def measures() -> pl.DataFrame:
    """The catalogue of measures: one row each, with aliases, trec_eval's name, and what it is.

    >>> measures().filter(pl.col("name") == "RR")["trec_eval"][0]
    'recip_rank'
    """
    return pl.DataFrame(
        [
            {
                "name": measure.name,
                "aliases": list(measure.aliases),
                "trec_eval": measure.trec or measure.trec_cut,
                "title": measure.title,
                "parameters": [parameter.name for parameter in measure.parameters],
                "lowest": measure.bounds[0],
                "highest": measure.bounds[1],
                "formula": measure.formula,
                "source": measure.source,
            }
            for measure in MEASURES.values()
        ]
    )
