"""Warnings about inputs: what is worth knowing before the numbers are believed."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from rankmeter.checks.forms import likeness
from rankmeter.checks.tally import EXAMPLES, Notice, Tally
from rankmeter.errors import DataError, shortened
from rankmeter.ids import Array
from rankmeter.passes import Pass
from rankmeter.qrels import QrelsIndex
from rankmeter.request import Request
from rankmeter.sources.columns import folded
from rankmeter.sources.source import Source

ODD_GRADE, TIMESTAMP = 1e3, 1e8
"""Grades from which they look like counts, or like timestamps."""

SAMPLE_ROWS = 1 << 13
"""Rows in which document ids are looked at where none is judged."""

COUNTED = {
    "queries-unjudged": "{queries} of the run not judged and left out",
    "rank-contradicts-score": "the rank column contradicts the scores in {queries}; scores count, see --order-by rank",
    "constant-scores": "all scores equal while ranks differ in {queries}; ties go by document id, see --order-by rank",
    "repeated-ranks": "a rank stands twice in a list in {queries}; scores count, see --order-by rank",
    "query-is-document": "{rows} whose query id equals doc id; does the query find itself?",
    "infinite-score": "{queries} with infinite scores, ordered like any other",
    "nan-scores": "{rows} with NaN as score, put last",
    "mixed-tags": "{rows} with another tag than the first; one file is one run",
}
"""What a pass counts and warns of: code -> sentence."""


def input_notices(sources: Sequence[Source], request: Request, index: QrelsIndex) -> Iterator[Notice]:
    """Warnings that concern the files and the judgements."""
    for source in sources:
        marked = [part.label for part, _ in source.parts if part.has_mark]
        if marked:
            yield _notice("byte-order-mark", "a byte-order mark was left out of {count} files", len(marked), marked)
        if source.rows == 0:
            yield _no_rows(source)
    yield from _grade_notices(sources[0], index)
    without = index.n_relevant == 0
    if without.any():
        yield _notice(
            "queries-without-relevant",
            "{queries} without a relevant document",
            int(without.sum()),
            _names(index, without),
        )
    needy = [asked.name for asked in request.measures if asked.measure.needs_all_relevant]
    if request.labelled is not None and needy:
        message = "{count} measures know only the relevant documents that the log shows"
        yield _notice("labels-from-log", message, len(needy), needy)


def _grade_notices(source: Source, index: QrelsIndex) -> Iterator[Notice]:
    """Warnings of grades that are something else."""
    highest = float(index.ideal.max(initial=0))
    if highest >= ODD_GRADE:
        what = "timestamps" if highest >= TIMESTAMP else "counts"
        message = f"{source.label}: grades go up to {highest:g}; are these {what}?"
        yield _notice("odd-grades", message, 1, [source.columns.get("grade", "grades")])
    column = source.columns.get("grade", "")
    if folded(column) == "score" and (broken := index.ideal % 1 != 0).any():
        message = f"{source.label}: {{rows}} whose grade, a fraction, comes from the column {column}; is this a run?"
        yield _notice("grades-from-scores", message, int(broken.sum()), [])


def run_notices(done: Pass, index: QrelsIndex, request: Request) -> Iterator[Notice]:
    """Warnings that concern one run, or the runs of one table."""
    label = done.source.label
    runs = done.store.runs
    if len(runs) > 1 and np.max(np.sum([run.seen for run in runs.values()], axis=0)) <= 1:
        yield _notice("disjoint-runs", f"{label}: no two runs answer the same query", len(runs), sorted(runs))
    if done.source.rows != 0 and not any(done.tally(run).count("rows_read") for run in runs):
        yield _no_rows(done.source)
    deepest = max((asked.k for asked in request.measures if asked.k is not None), default=0)
    for run, kept in sorted(runs.items()):
        longest = int(kept.num_ret.max())
        if 0 < longest < deepest:
            message = f"{label}: no list has more than {longest} documents, while a measure looks at {deepest}"
            yield _notice("shallow-run", message, 1, [run])
        missing = kept.seen == 0
        if missing.any() and not missing.all():
            names = _names(index, missing)
            yield _notice("queries-missing", label + ": {judged queries} without results", int(missing.sum()), names)
        if kept.seen.any() and not done.tally(run).count("judged-results"):
            yield _nothing_judged(done, index, run)
        yield from _counted(label, done.tally(run))
    yield from _counted(label, done.notes)


def _nothing_judged(done: Pass, index: QrelsIndex, run: str) -> Notice:
    """The warning of a run without a single judged result, and what its document ids may differ in."""
    first = next(done.source.batches(SAMPLE_ROWS)).read()
    documents = first["doc_ids"].explode() if done.source.has_lists else first["doc_id"]
    alike = likeness(documents, index.documents.series)
    message = f"{done.source.label}: no result is judged{f'; {alike}' if alike else ''}"
    return _notice("no-judged-results", message, 1, [run])


def _no_rows(source: Source) -> Notice:
    """The warning of an input that holds nothing."""
    return _notice("no-rows", "an input of 0 rows", 1, [source.label])


def _counted(label: str, tally: Tally) -> Iterator[Notice]:
    """A warning for everything that was counted and is worth one."""
    for code, sentence in COUNTED.items():
        if count := tally.count(code):
            yield _notice(code, f"{label}: {sentence}", count, tally.examples(code))


def check_overlap(done: Pass, index: QrelsIndex) -> None:
    """Refuse an input that has no judged query.

    Raises:
        DataError: with ids of both sides.
    """
    runs = done.store.runs.values()
    tallies = done.tallies.values()
    if any(run.seen.any() for run in runs) or not any(tally.count("rows_read") for tally in tallies):
        return
    judged = [shortened(name) for name in index.query_text()[:EXAMPLES]]
    found = sorted({name for tally in tallies for name in tally.examples("queries-unjudged")})[:EXAMPLES]
    alike = likeness(pl.Series(found, dtype=pl.String), index.query_text())
    raise DataError(
        f"{done.source.label} and {done.work.judgements} have no query id in common; the run has "
        f"{', '.join(map(shortened, found))}, judged are {', '.join(judged)}"
        f"{f'; {alike}' if alike else ''}; make both use the same ids",
        "no-common-queries",
    )


def _names(index: QrelsIndex, chosen: Array) -> list[str]:
    """The first of the chosen queries."""
    text = index.query_text()
    return [str(text[int(query)]) for query in chosen.nonzero()[0][:EXAMPLES]]


def _notice(code: str, sentence: str, count: int, examples: Sequence[str]) -> Notice:
    """A warning whose sentence ends with its examples."""
    shown = tuple(shortened(example) for example in examples)
    words = {
        "count": count,
        "queries": f"{count} quer{'y' if count == 1 else 'ies'}",
        "judged queries": f"{count} judged quer{'y' if count == 1 else 'ies'}",
        "rows": f"{count} row{'s' * (count != 1)}",
    }
    for name, value in words.items():
        sentence = sentence.replace(f"{{{name}}}", str(value))
    more = ", …" if count > len(shown) else ""
    return Notice(code, f"{sentence}: {', '.join(shown)}{more}" if shown else sentence, count, shown)


def segment_notices(by: pl.DataFrame, index: QrelsIndex, from_run: Sequence[str]) -> Iterator[Notice]:
    """Warnings that concern the segments."""
    for name in by.columns:
        if name in from_run:
            message = (
                "a segment comes from the run, which lacks it for queries without results; they form the group null"
            )
            yield _notice("segment-from-run", message, 1, [name])
        elif (lacking := by[name].is_null().to_numpy()).any():
            message = f"{{judged queries}} without a value of {name}; they form the group null"
            yield _notice("queries-without-segment", message, int(lacking.sum()), _names(index, lacking))
