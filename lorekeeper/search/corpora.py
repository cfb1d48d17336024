"""Corpora: the books, and the notes of the user's own campaign.

Scores of the two say little about each other: a note has some thousand words on all that happened, an entry of a book a
hundred on one thing. So each corpus is ranked by itself, and a query goes first to the corpus that is nearer to it in meaning and
in words; a single word that both have says nothing, since it is rarer in the smaller one. Phrases tell best that a question is
about the rules: people say such things at any table.

Asked of all of Open5e and four vaults, three sets of questions about books have an nDCG@10 of 0.65, 0.45 and 0.30; without phrases
and with notes preferred as one vault needs it, 0.48, 0.37 and 0.15; of the books alone 0.70, 0.51 and 0.34. Two sets about notes
have 0.53 and 0.41 instead of 0.55 and 0.42 (``benchmarks/quality.py --all-types``).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from lorekeeper.search.fusion import WEIGHTS, Corpus

BOOKS, NOTES = "books", "notes"

CAMPAIGN = ("notes", "characters")
"""The types of what is the user's own: names in questions are mostly of these."""

K = TypeVar("K", bound=tuple[str, Any])

V = TypeVar("V")

COMPARED = 5
"""Entries of a corpus whose mean similarity counts: one alone is near to many a query by chance."""

PHRASES, PHRASES_REWORDED = 0.2, 0.1
"""What the nearest shipped phrase of each entry weighs, for a query in one wording and in several, beside meaning and keywords.

Phrases are what people say at the table, as is a query in one wording; several wordings are nearer to what books say. nDCG@10 is
0.832 and 0.912; with 0.15 and 0.05 it is 0.827 and 0.910, with 0.25 and 0.15 0.830 and 0.908."""

SPREAD, EVEN = 0.03, 12
"""How much nearer, in cosine similarity, the nearest of e times as many texts are by chance, and how many entries of books a note
weighs up for that.

Of one vault of 107 notes beside all of Open5e, 0.06 in favour of notes does best, of four vaults with 741 notes 0."""

WORDED = 0.15
"""What it counts, in cosine similarity, that the best hit of a corpus by keywords scores 2.7 times as high: 0.1 and 0.2 do too."""

SHORTER = 1.5
"""How much higher a book's hit scores by keywords for a query that is as much about either: it is shorter than a note."""

STEEPNESS = 10.0
"""How steeply the weight of a corpus falls with its distance."""

LEAST = 0.1
"""Least weight of the corpus that is farther."""


def corpus_name(entity_type: str) -> str:
    """The corpus that entries of a type belong to."""
    return NOTES if entity_type in CAMPAIGN else BOOKS


def corpora(
    nearest: Iterable[tuple[str, float]],
    worded: Iterable[tuple[str, float]],
    said: float | None = None,
    sizes: Mapping[str, int] = MappingProxyType({}),
    phrases: float = 0.0,
) -> Mapping[str, Corpus]:
    """The corpora by name, with what they weigh for a query.

    Args:
        nearest: type and cosine similarity of the entries nearest to it, best first.
        worded: type and BM25 score of those that have its words, best first.
        said: cosine similarity of the nearest shipped phrase, None if no entry that was found has any.
        sizes: number of entries under the filters, by corpus.
        phrases: what the nearest phrase of each entry weighs among books.
    """
    notes = math.exp(STEEPNESS * _ahead(_by_corpus(nearest), _by_corpus(worded), said, sizes))
    return {
        BOOKS: Corpus(BOOKS, WEIGHTS, max(min(1.0, 1 / notes), LEAST), phrases),
        NOTES: Corpus(NOTES, WEIGHTS, max(min(1.0, notes), LEAST)),
    }


def _ahead(
    nearest: Mapping[str, Sequence[float]],
    worded: Mapping[str, Sequence[float]],
    said: float | None,
    sizes: Mapping[str, int],
) -> float:
    """How much nearer notes are to a query than books, in cosine similarity; 0 if only one corpus has anything near."""
    if len(nearest) < 2:
        return 0.0
    books_near = statistics.fmean(nearest[BOOKS])
    nearer = statistics.fmean(nearest[NOTES]) - (books_near if said is None else (books_near + said) / 2)
    if sizes.get(BOOKS) and sizes.get(NOTES):
        nearer += SPREAD * math.log(sizes[BOOKS] / sizes[NOTES] / EVEN)
    if not worded:
        return nearer
    notes, books = (max(worded.get(name, ()), default=0.0) for name in (NOTES, BOOKS))
    return nearer + WORDED * math.log(SHORTER * (1 + notes) / (1 + books))


def _by_corpus(scores: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """The `COMPARED` first scores of each corpus."""
    found: dict[str, list[float]] = {}
    for entity_type, score in scores:
        own = found.setdefault(corpus_name(entity_type), [])
        if len(own) < COMPARED:
            own.append(score)
    return found


def first(ranking: Mapping[K, V], number: int) -> dict[K, V]:
    """The first entries of a ranking, so many of each corpus."""
    if len(ranking) <= number:
        return dict(ranking)
    taken: Counter[str] = Counter()
    result: dict[K, V] = {}
    for key, value in ranking.items():
        name = corpus_name(key[0])
        taken[name] += 1
        if taken[name] <= number:
            result[key] = value
    return result
