"""How a page came about: what each retriever gave to each result, and why nothing was found. Built only when asked for.

It says what the search did: ranks and scores are those of the retrievers, and shares those that the fusion left in its hits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lorekeeper.search.coverage import OFF_TOPIC, Topic
from lorekeeper.search.documents import Scopes
from lorekeeper.search.expansion import expanded_keywords, expanded_text
from lorekeeper.search.explain import Explainer
from lorekeeper.search.fusion import Retriever, weights_of
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key, Result, ResultPage
from lorekeeper.search.retrieved import Ranking, Retrieved
from lorekeeper.text.keywords import KeywordQuery


@dataclass(frozen=True)
class Side:
    """What one retriever gave to a result, or to the best of its duplicates.

    Attributes:
        rank: from 1; None if it did not find it.
        score: cosine similarity of the best passage, BM25 (of a note with what `feedback` adds), or the name's similarity, 0 to 1.
        share: how much of the fused score came from it, 0 to 1; that of the nearest shipped phrase is part of meaning's.
    """

    rank: int | None
    score: float | None
    share: float


@dataclass(frozen=True)
class Explained:
    """One result: its uri, its fused score, the wording that found it ("" if there is only one), and its sides."""

    uri: str
    name: str
    score: float | None
    wording: str
    sides: Mapping[Retriever, Side]


@dataclass(frozen=True)
class Explanation:
    """How a page came about.

    Attributes:
        embedded: the texts that were searched for by meaning.
        words: those searched for as keywords.
        alternatives: other words for the same, which count as much.
        related: words that books use for what the query says, from the thesaurus; they count less.
        weights: what meaning and keywords weigh in the fusion.
        found: how many entries each retriever ranked.
        entries: how many there are under the filters.
        topic: whether the query is about what is in the library; None if that was not tested.
        results: those of the page, in their order.
        without: if nothing was found, how many entries there would be without each filter.
    """

    embedded: tuple[str, ...]
    words: tuple[str, ...]
    alternatives: tuple[str, ...]
    related: tuple[str, ...]
    weights: Mapping[Retriever, float]
    found: Mapping[Retriever, int]
    entries: int
    topic: Topic | None
    results: tuple[Explained, ...]
    without: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON; with a topic, also the limits that its values were held against."""
        limits = [{"closest_below": closest, "occurring_at_most": share} for closest, share in OFF_TOPIC]
        return {**asdict(self), "off_topic_if": limits if self.topic else []}


def explanation_of(page: ResultPage, wordings: Sequence[str], retrieved: Retrieved, topic: Topic | None) -> Explanation:
    """How the results of a ranked page were found.

    Args:
        page: the page.
        wordings: of the query.
        retrieved: what the retrievers found.
        topic: what the test of its topic gave.
    """
    keywords = KeywordQuery(()) if page.mode == "semantic" else expanded_keywords(wordings)
    rankings: dict[Retriever, Ranking] = {
        "semantic": retrieved.semantic,
        "keyword": retrieved.keyword,
        "name": retrieved.names,
    }
    places = {retriever: _places(ranking) for retriever, ranking in rankings.items()}
    found = {retriever: len(ranking) for retriever, ranking in rankings.items()}
    return Explanation(
        embedded=() if page.mode == "keyword" else tuple(map(expanded_text, wordings)),
        words=keywords.words,
        alternatives=keywords.alternatives,
        related=keywords.related,
        weights=weights_of([name for name, number in found.items() if number], retrieved.nearest_shelf.shares),
        found=found,
        entries=retrieved.count,
        topic=topic,
        results=tuple(_explained(result, places) for result in page.results),
    )


async def with_filters(page: ResultPage, explainer: Explainer, query: Query, scopes: Scopes) -> ResultPage:
    """A page; if it is empty and to be explained, with the number of entries that there are without each filter."""
    if page.explanation is None or page.total:
        return page
    without = Counter[str]()
    for entity_type in query.types:
        without.update(dict(await explainer.without(entity_type, query.filters, scopes[entity_type])))
    return replace(page, explanation=replace(page.explanation, without=dict(without)))


def _places(ranking: Ranking) -> dict[Key, tuple[int, float]]:
    """Rank and score of every entry of a ranking."""
    return {key: (rank, ranked.score) for rank, (key, ranked) in enumerate(ranking.items(), 1)}


def _explained(result: Result, places: Mapping[Retriever, Mapping[Key, tuple[int, float]]]) -> Explained:
    entity, hit = result.entity, result.hit
    keys = (hit.key, *hit.duplicates) if hit else ()
    parts = hit.parts if hit else {}
    total = sum(parts.values())
    sides: dict[Retriever, Side] = {}
    for retriever, found in places.items():
        rank, score = min((found[key] for key in keys if key in found), default=(None, None))
        sides[retriever] = Side(rank, score, parts.get(retriever, 0.0) / total if total else 0.0)
    return Explained(entity.uri, entity.name, result.score, result.wording, sides)
