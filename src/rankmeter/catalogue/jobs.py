"""Which measure for which job: the guidance of the field, in the words of what a reader of the list does with it."""

from typing import NamedTuple


class Advice(NamedTuple):
    """A measure for a job, and what it asks."""

    measure: str
    asks: str


class Job(NamedTuple):
    """A job that ranked lists do.

    Attributes:
        title: what it is.
        reader: who reads the list, and how far: the k to choose.
        advice: the measures, the most telling first.
    """

    title: str
    reader: str
    advice: tuple[Advice, ...]


ENTERED = "did the answer enter the window that the prompt or the page shows?"
ALL_OF_IT = "how much of what answers the question is in the window?"
ON_TOPIC = "is the window mostly on topic, or does it spend its room on other things?"
FIRST = "how soon does the first good result come?"
PACKED = "are several good results packed high?"
GRADED = "is the whole window in the order of how good its results are?"

JOBS: dict[str, Job] = {
    "rag": Job(
        "retrieval for generation: a language model reads the list",
        "k is the number of passages that go into the prompt",
        (
            Advice("R@5", ALL_OF_IT),
            Advice("Success@5", ENTERED),
            Advice("P@5", ON_TOPIC),
            Advice("nDCG@5", GRADED),
            Advice("F1@5", "the compromise between the room that is used well and the answers that are there"),
        ),
    ),
    "retrieve": Job(
        "first stage: a reranker reads the list",
        "k is the number of candidates that the reranker gets, often 100 to 1000",
        (
            Advice("R@100", "what is not among the candidates no reranker can bring back"),
            Advice("Success@100", ENTERED),
            Advice("nDCG@10", GRADED),
        ),
    ),
    "rerank": Job(
        "reranking: the same candidates in a better order",
        "k is what is shown in the end; recall of the candidates is the ceiling and does not change",
        (
            Advice("nDCG@10", GRADED),
            Advice("AP", PACKED + " For labels of relevant or not."),
            Advice("RR@10", FIRST),
        ),
    ),
    "search": Job(
        "a person reads a page of results",
        "k is the number of results on the first page, often 10",
        (
            Advice("nDCG@10", GRADED),
            Advice("RR@10", FIRST),
            Advice("P@10", ON_TOPIC),
            Advice("Success@10", ENTERED),
            Advice("ERR(max=4)@10", FIRST + " A good result makes those below it worth less."),
        ),
    ),
    "navigate": Job(
        "one right result: routing, a citation, a known item",
        "k is 1, or the few that are tried before giving up",
        (Advice("Success@1", "was it right at once?"), Advice("RR@10", FIRST)),
    ),
    "recsys": Job(
        "recommendation: a row of items that a person may take",
        "k is the number of items that are seen without scrolling",
        (
            Advice("Success@10", ENTERED),
            Advice("nDCG@10", GRADED),
            Advice("R@10", ALL_OF_IT),
            Advice("AP(norm=min)@10", PACKED),
        ),
    ),
    "discovery": Job(
        "everything must be found: patents, law, medicine",
        "k is how many documents somebody is paid to read",
        (
            Advice("R@1000", ALL_OF_IT),
            Advice("AP@1000", PACKED),
            Advice("Rprec", "how pure is the list at the depth where it could be complete?"),
            Advice("Unjudged@1000", "how much of the list nobody has judged, so that the other numbers are too low"),
        ),
    ),
}
"""Name -> job."""

UNSEEN = (
    "None of them sees whether documents are fresh, whether the reader may see them, or whether an answer made of them "
    "is faithful: they know only the judgements."
)
