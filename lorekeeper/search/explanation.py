"""How a page came about: what each retriever gave to each result, and whether the first one may be no answer.

It says what the search did: ranks and scores are those of the retrievers, and shares those that the fusion left in its hits. It is
made only when asked for (`explain.explanation_of`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lorekeeper.search.fusion import Retriever

LACKED = 0.45
"""How rare the words may be that the first hit of a ranking lacks, as a share of its nearness.

Of 61 unanswerable questions asked of all types that are tested 13 are answered as if for sure, of 131 right first hits of graded
questions 45 are shown as unsure, and of 76 wrong ones 55; with 0.4 these are 12, 52 and 60, with 0.5 they are 15, 41 and 50."""

NOTHING_OCCURS = 0.34
"""Share of its words that occur up to which a doubted query has no results: of what it says the library has hardly a word. With
more of them it may be a valid question in words of its own, so the nearest entries are shown as unsure."""


@dataclass(frozen=True)
class Doubt:
    """How well the first hit of a ranking stands for a query.

    Attributes:
        near: similarity to the query of its nearest phrase or passage, whichever is nearer.
        lacking: how rare the words of the query are that it, or the whole library, lacks (`doubt.rarity`), as a mean over all:
            0 if it has each of them, 1 if no entry has any.
        occurring: share of the words that any entry has.
    """

    near: float
    lacking: float
    occurring: float

    @property
    def allowed(self) -> float:
        """What it may lack."""
        return LACKED * self.near

    @property
    def is_doubtful(self) -> bool:
        """Whether the library may well have no answer: nothing that is shown is sure."""
        return self.lacking > self.allowed

    @property
    def is_hopeless(self) -> bool:
        """Whether it is so doubtful that nothing is shown."""
        return self.is_doubtful and self.occurring <= NOTHING_OCCURS


@dataclass(frozen=True)
class Side:
    """What one retriever gave to a result, or to the best of its duplicates.

    Attributes:
        rank: from 1; None if it did not find it.
        score: cosine similarity of the best passage, BM25 (with what raises a note), or the name's similarity, 0 to 1.
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
        doubt: of the first hit; None if it was not tested.
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
    doubt: Doubt | None
    results: tuple[Explained, ...]
    without: Mapping[str, int] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON; with a doubt, also what it was held against and its verdict."""
        found = asdict(self)
        if self.doubt:
            found["doubt"] |= {"allowed": self.doubt.allowed, "doubtful": self.doubt.is_doubtful}
        return found
