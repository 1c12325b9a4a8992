"""Sample data: an online shop's search, made from a seed, so that it is the same everywhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from rankmeter.errors import StorageError

if TYPE_CHECKING:
    import polars as pl

SEED = 20_240_501
DEPTH = 50
"""Length of a result list."""

THINGS = {
    "shoes": ("running", "hiking", "leather", "kids", "trail"),
    "jacket": ("rain", "winter", "down", "leather", "running"),
    "backpack": ("hiking", "laptop", "school", "rain", "kids"),
    "lamp": ("desk", "bedside", "outdoor", "reading", "kids"),
    "kettle": ("electric", "camping", "steel", "glass", "travel"),
    "headphones": ("wireless", "kids", "studio", "running", "travel"),
    "tent": ("camping", "hiking", "family", "winter", "beach"),
    "bottle": ("steel", "glass", "running", "kids", "travel"),
}
"""What the shop sells, and the kinds of each."""

COLOURS = ("black", "blue", "green", "red", "grey", "yellow")
MARKETS = ("de", "fr", "us")
DEVICES = ("mobile", "desktop")


@dataclass(frozen=True, slots=True)
class Product:
    """One article of the shop: what it is good for, and what its title says of that."""

    doc_id: str
    thing: str
    kinds: frozenset[str]
    title: frozenset[str]

    def fits(self, query: "Query") -> tuple[bool, bool]:
        """Whether it is the thing, and of the kind, that the query asks for."""
        return self.thing == query.thing, query.kind in self.kinds


@dataclass(frozen=True, slots=True)
class Query:
    """One query with its segments."""

    query_id: str
    thing: str
    kind: str
    market: str
    device: str

    @property
    def text(self) -> str:
        """What was typed."""
        return f"{self.kind} {self.thing}"


def write_sample(folder: Path) -> dict[Path, str]:
    """Write the sample into a folder; gives each path with what is in it.

    Raises:
        StorageError: the folder cannot be made or written.
    """
    from rankmeter.sinks import write_frames

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError.unwritable(folder, error) from error
    contents = {}
    for name, (frame, content) in sample().items():
        path = folder / f"{name}.parquet"
        write_frames(path, [frame], {"sample": SEED})
        contents[path] = f"{frame.height:>5,} rows  {content}"
    return contents


def sample() -> dict[str, "tuple[pl.DataFrame, str]"]:
    """The tables of the sample by name, each with a sentence about it."""
    import polars as pl

    random = Random(SEED)
    products, queries = list(_products(random)), list(_queries(random))
    table = pl.DataFrame([(q.query_id, q.text, q.market, q.device) for q in queries], _QUERY_COLUMNS, orient="row")
    qrels = pl.DataFrame(list(_judgements(random, queries, products)), ["query_id", "doc_id", "grade"], orient="row")
    columns = ["query_id", "doc_id", "score"]
    bm25 = pl.DataFrame(list(_run(queries[1:], products, _words_score)), columns, orient="row")
    dense = pl.DataFrame(list(_run(queries, products, _meaning_score)), columns, orient="row")
    return {
        "qrels": (qrels, "judgements: query_id, doc_id, grade 0 to 3"),
        "bm25": (bm25, "results of a word search, with many equal scores"),
        "dense": (dense, "results of a search by meaning"),
        "queries": (table, "query_id, text, market, device"),
    }


_QUERY_COLUMNS = ["query_id", "text", "market", "device"]


def _products(random: Random) -> Iterator[Product]:
    """Some articles of every kind and thing, in random colours."""
    number = 0
    for thing, kinds in THINGS.items():
        for kind in kinds:
            for _ in range(6 + int(random.random() * 6)):
                number += 1
                fits = frozenset({kind, _pick(random, kinds)})
                said = {word for word in sorted({thing, *fits}) if random.random() < 0.7}
                yield Product(f"p{number:04}", thing, fits, frozenset({*said, _pick(random, COLOURS)}))


def _queries(random: Random) -> Iterator[Query]:
    """One query for every kind of every thing."""
    pairs = [(thing, kind) for thing, kinds in THINGS.items() for kind in kinds]
    for number, (thing, kind) in enumerate(pairs, 1):
        yield Query(f"q{number:02}", thing, kind, _pick(random, MARKETS), _pick(random, DEVICES))


def _pick(random: Random, values: tuple[str, ...]) -> str:
    return values[int(random.random() * len(values))]


def _judgements(random: Random, queries: list[Query], products: list[Product]) -> Iterator[tuple[str, str, int]]:
    """Grades from 0 to 3 for most articles that fit in some way; for the last query nothing is relevant."""
    for query in queries:
        for product in products:
            thing, kind = product.fits(query)
            if random.random() < (0.9 if thing and kind else 0.4 if thing or kind else 0.02):
                grade = (1 + int(random.random() * 2.5)) if thing and kind else int(random.random() < 0.1)
                yield query.query_id, product.doc_id, 0 if query is queries[-1] else grade


def _words_score(query: Query, product: Product) -> float:
    """Words of the query in the title; short titles are better, and many articles get equal scores."""
    words = 2.1 * (query.thing in product.title) + 1.7 * (query.kind in product.title)
    return round(words / (1 + 0.1 * len(product.title)), 4)


def _meaning_score(query: Query, product: Product) -> float:
    """How well the article fits, blurred by a distance that only the seed and the pair decide."""
    thing, kind = product.fits(query)
    blur = Random(f"{SEED} {query.query_id} {product.doc_id}").gauss(0, 0.14)
    return round(0.45 * thing + 0.3 * kind + blur, 6)


def _run(
    queries: list[Query], products: list[Product], score: Callable[[Query, Product], float]
) -> Iterator[tuple[str, str, float]]:
    """The best articles for each query."""
    for query in queries:
        scored = sorted(((score(query, product), product.doc_id) for product in products), reverse=True)
        for value, doc_id in scored[:DEPTH]:
            yield query.query_id, doc_id, value
