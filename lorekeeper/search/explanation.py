"""How a page came about: what each retriever gave to each result, and whether the query was about the library at all.

It says what the search did: ranks and scores are those of the retrievers, and shares those that the fusion left in its hits. It is
made only when asked for (`explain.explanation_of`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lorekeeper.search.fusion import Retriever

OFF_TOPIC = ((0.50, 0.34), (0.45, 0.50), (0.35, 0.67), (0.32, 1.0))
"""A query is off-topic if, for one pair, its best cosine similarity is below the first number and the share of its
words that occur in the library at most the second: tuned between nonsense and the hardest real questions."""


@dataclass(frozen=True)
class Topic:
    """Whether a query is about what the library is about, and why.

    Attributes:
        closest: the best cosine similarity.
        occurring: share of its words that occur in the library, 0 to 1; None if that does not matter.
        off: whether it is off-topic, by `OFF_TOPIC`.
    """

    closest: float
    occurring: float | None = None
    off: bool = False


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
        alternatives: other words for the same, which count as much; those of an abbreviation do so together.
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
