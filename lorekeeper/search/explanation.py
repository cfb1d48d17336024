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

NOTHING_OCCURS = OFF_TOPIC[0][1]
"""Share of its words that occur up to which an off-topic query has no results: of what it says the library has hardly a word. With
more of them it may be a valid question in words of its own, so the nearest entries are shown as unsure."""


LEAST_EVIDENCE = 0.95
"""`Topic.evidence` below which a query may have no answer in the library. Of 148 graded questions 7 in 100 have less, of 40 about
other games, real life and closed monsters most (area under the curve 0.89; of phrases or passages alone it is less)."""


@dataclass(frozen=True)
class Topic:
    """Whether a query is about what the library is about, and why.

    Attributes:
        closest: the best cosine similarity.
        occurring: share of its words that occur in the library, 0 to 1; None if that does not matter.
        off: whether it is off-topic, by `OFF_TOPIC`.
        evidence: similarity of the nearest phrase, half the best cosine similarity, and a fiftieth of the best BM25 score; None
            without phrases.
    """

    closest: float
    occurring: float | None = None
    off: bool = False
    evidence: float | None = None

    @property
    def doubtful(self) -> bool:
        """Whether the library may well have no answer: nothing that is shown is sure."""
        return self.off or (self.evidence is not None and self.evidence < LEAST_EVIDENCE)

    @property
    def empty(self) -> bool:
        """Whether it is so far off that nothing is shown."""
        return self.off and (self.occurring or 0.0) <= NOTHING_OCCURS


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
class Stage:
    """A stage of a search, and what it changed."""

    name: str
    changed: str


@dataclass(frozen=True)
class Explained:
    """One result: its uri, its fused score, the wording that found it ("" if there is only one), its sides, why it was found."""

    uri: str
    name: str
    score: float | None
    wording: str
    sides: Mapping[Retriever, Side]
    why: str


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
        stages: those of the search that changed something, in their order.
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
    stages: tuple[Stage, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON; with a topic, also the limits that its values were held against."""
        limits = [{"closest_below": closest, "occurring_at_most": share} for closest, share in OFF_TOPIC]
        return {**asdict(self), "off_topic_if": limits if self.topic else []}
