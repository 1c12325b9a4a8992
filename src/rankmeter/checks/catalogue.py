"""Every rule on input: its code, how severe it is, what it says, and what else may be chosen.

Messages name the rule that is broken by its code; `docs/checks.md` is made from this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Check:
    """A rule on input.

    Attributes:
        code: its name in messages and outputs; stable.
        severity: `error` (exit 3, no result) or `warning`.
        meaning: what is found.
        policy: the option or the change with which another rule is chosen; empty where there is none.
    """

    code: str
    severity: str
    meaning: str
    policy: str = ""


_ERRORS = {
    "field-count": ("a line of a text file has more or fewer fields than its columns",),
    "quotes": ("the quotes of a CSV row are not closed, or stand inside a field",),
    "encoding": ("bytes that are not UTF-8, or zero bytes",),
    "endless-line": ("a line or quoted field does not end within what can be held",),
    "no-object": ("a line of JSON that is no object",),
    "json-type": ("a JSON value of another type than those of other rows, or one that would change",),
    "null-value": ("an id, score, rank or grade is null",),
    "no-number": ("a score, rank or grade in a text file is no number (headers, decimal commas)",),
    "nan-value": ("a score, rank or grade is NaN", "`--nan last` for scores"),
    "infinite-grade": ("a grade is infinite",),
    "infinite-segment": ("a segment is infinite",),
    "inexact-integer": ("an integer that would change as a float64",),
    "unequal-lists": ("the lists of a row are not equally long",),
    "path-contradiction": ("a column contradicts the hive key of its path",),
    "duplicate-document": ("a document stands twice in a list", "`--duplicates first`"),
    "conflicting-grades": ("one query and document have two grades", "`--qrels-conflicts max` or `last`"),
    "second-list": ("a query has two lists of which nothing tells the order", "a column of scores or ranks"),
    "two-segments": ("a `--by` column has two values in one query",),
    "wrong-type": ("a column has a type that its role cannot have: ids are text or integers, scores are numbers",),
    "missing-column": (
        "a needed column is absent, in the file or in one of its parts",
        "`--qrels-columns`, `--run-columns`",
    ),
    "two-columns": ("two columns could have one role", "`--qrels-columns`, `--run-columns`"),
    "wrong-table": ("a run in place of qrels, or the other way round",),
    "several-formats": ("the files of one input have several formats", "a glob"),
    "compression": ("a file is compressed in a way that is not read",),
    "empty-file": ("a file of 0 bytes, or a folder without data files",),
    "damaged-file": ("a file is truncated, damaged, or not what its name says",),
    "unreadable-object": ("a Python object that is no table, or holds what is no id or number",),
    "no-judgements": ("the qrels hold no row",),
    "no-order": ("a run has neither scores nor ranks", "`--order-by row`"),
    "no-common-queries": ("no query of a run is judged",),
    "grade-beyond-scale": ("a grade is above the scale of a measure", "`max=` or `max_rel=` of the measure"),
    "no-finite-value": ("a value of a measure is no finite number: gains are beyond float64",),
    "strict": ("there are warnings under `--strict`",),
}

_WARNINGS = {
    "shallow-run": ("no list is as long as the largest cut-off: the measure looks deeper than the run goes",),
    "disjoint-runs": (
        "no two runs of a table answer the same query; was it split by the wrong column?",
        "`--run-column`",
    ),
    "queries-missing": (
        "judged queries without results in the run; they count as empty lists",
        "`--missing-queries skip`",
    ),
    "queries-unjudged": ("queries of the run that are not judged; they are left out",),
    "queries-without-relevant": ("judged queries without a relevant document", "`--without-relevant skip`"),
    "queries-without-segment": ("queries that have no value in a `--by` column",),
    "segment-from-run": (
        "a `--by` column comes from the run, which lacks it for queries without results",
        "`--queries`",
    ),
    "rank-contradicts-score": ("the rank column says another order than the scores, which count", "`--order-by rank`"),
    "constant-scores": (
        "all scores of a list are equal while its ranks differ; was `--order-by rank` meant?",
        "`--order-by rank`",
    ),
    "repeated-ranks": ("a rank stands twice in a list; scores count", "`--order-by rank` makes ties of them"),
    "infinite-score": ("infinite scores, ordered like any other",),
    "query-is-document": (
        "results whose document id is the query id; not looked for where the queries are text while the documents of "
        "both run and judgements are integers",
        "`--ignore-self`",
    ),
    "nan-scores": ("scores that are NaN and were put last, with `--nan last`",),
    "conflicting-judgements": ("two grades for one query and document, of which `--qrels-conflicts` took one",),
    "own-judgements": ("judgements whose document is the query, left out with `--ignore-self`",),
    "repeated-judgements": ("the same judgement more than once with the same grade; it counts once",),
    "odd-grades": ("grades so high that they look like timestamps or counts", "`--qrels-columns grade=COLUMN`"),
    "grades-from-scores": (
        "fractions from a column called score are taken as grades: are the qrels a run?",
        "`--qrels-columns grade=COLUMN`",
    ),
    "no-judged-results": ("no result of a run is judged; do both use the same document ids?",),
    "labels-from-log": ("measures that know only the relevant documents that the log shows",),
    "mixed-tags": ("a TREC run with differing tags; it is still one run",),
    "byte-order-mark": ("a byte-order mark at the start of a file; it is left out",),
    "no-rows": ("an input without rows",),
    "ties-at-hits": ("judged documents that tie with others, of `rankmeter check`", "`--ties`"),
    "low-judged-rate": ("fewer than half of the first results are judged, of `rankmeter check`", "`--judged-only`"),
}

CHECKS: Mapping[str, Check] = {
    code: Check(code, severity, *texts)
    for severity, rules in ((ERROR, _ERRORS), (WARNING, _WARNINGS))
    for code, texts in rules.items()
}
"""Code -> rule."""
