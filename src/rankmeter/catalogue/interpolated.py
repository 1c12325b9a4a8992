"""Interpolated precision: the best precision that is reached at some recall or beyond."""

from collections.abc import Sequence

from rankmeter.catalogue.binary import MANNING, relevant
from rankmeter.catalogue.registry import JUDGED_ONLY, REL, Grades, Parameter, Ranks, measure, shared
from rankmeter.conventions import CHOICES

ROUNDING = Parameter(
    "recall_points",
    "choice",
    None,
    "how the documents that a recall asks for are rounded; else the rule in force",
    choices=CHOICES["recall_points"],
    example="up",
    rule="recall_points",
)
POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@shared
def best_precision(rank: Ranks, grade: Grades, wanted: int, rel: float) -> float:
    """The highest precision at a rank where at least so many relevant documents were found."""
    best, found = 0.0, 0
    for i in range(len(rank)):
        if grade[i] >= rel:
            found += 1
            if found >= wanted:
                best = max(best, found / rank[i])
    return best


@shared
def documents_at(recall: float, total: int, rounding: int) -> int:
    """The relevant documents that a recall asks for, rounded to the nearest, halves up, or by adding 0.9."""
    wanted = recall * total
    if rounding == 1:
        return int(wanted + 0.9)
    return int(wanted) + (wanted - int(wanted) >= 0.5)


@measure(
    "IPrec",
    title="interpolated precision at a recall",
    source=MANNING,
    parameters=(
        Parameter("recall", "point", None, "the recall", low=0, high=1, required=True, example="0.5"),
        REL,
        ROUNDING,
        JUDGED_ONLY,
    ),
    trec_cut="iprec_at_recall",
    trec_cuts=POINTS,
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
    elsewhere="ir_measures IPrec",
    differs="trec_eval 9, which is inside pytrec_eval and ir_measures, rounds recall points up: --recall-points up",
)
def interpolated_precision(
    rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, recall: float, rel: float, rounding: int
) -> float:
    """The highest precision from the rank on where recall * relevant documents are found.

    That number is rounded to the nearest, or with recall_points=up 0.9 is added and the rest cut off.
    """
    wanted = documents_at(recall, relevant(ideal, rel), rounding)
    return best_precision(rank, grade, wanted, rel)


@measure(
    "IPrecAvg11",
    title="interpolated precision averaged over recalls, by default 0, 0.1, … 1",
    source=MANNING,
    parameters=(
        Parameter("recalls", "numbers", POINTS, "the recalls", low=0, high=1, example="0.5"),
        REL,
        ROUNDING,
    ),
    trec="11pt_avg",
    trec_numbers=lambda numbers: {"recalls": numbers},
    needs_all_relevant=True,
    laws="swap padding unretrieved ideal",
    differs="as IPrec",
)
def average_interpolated_precision(
    rank: Ranks, grade: Grades, ideal: Grades, num_ret: int, recalls: Sequence[float], rel: float, rounding: int
) -> float:
    """The mean of the interpolated precision over the recalls."""
    total, value = relevant(ideal, rel), 0.0
    for i in range(len(recalls)):
        value += best_precision(rank, grade, documents_at(recalls[i], total, rounding), rel)
    return value / len(recalls)
