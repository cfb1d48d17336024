"""Fusion: one ranking from the rankings of several retrievers, and which of its hits are relevant; pure functions.

The heads of the rankings are fused by the weighted sum of their min-max normalised scores (Lee, SIGIR 1997; Weaviate's
``relativeScoreFusion``). On graded queries that beats reciprocal rank fusion, since it keeps how far a hit is ahead of
the next one. In the heads, similarity in meaning is that of an entry's passages together with that of its nearest shipped phrase.
Beyond the heads, where scores say little, reciprocal ranks continue.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

Retriever = Literal["semantic", "keyword", "name"]

Ranking = Sequence[tuple[K, float]]
"""Keys with their scores, best first."""

RRF_K = 60
"""The constant of reciprocal rank fusion; Cormack, Clarke and Buettcher, SIGIR 2009."""

FUSED_BY_SCORE = 60
"""How many entries of each ranking are fused by their scores."""

WEIGHTS: Mapping[Retriever, float] = {"semantic": 0.4, "keyword": 0.6}
"""Shares of the two retrievers, tuned on one half of the graded queries and checked on the other."""

NAME_WEIGHT, EXACT_NAME = 4.0, 1.0
"""A query that is a name, even misspelled, outweighs both retrievers; a correct name outweighs misspelled ones."""

NAME_POWER = 6
"""How steeply a name's weight falls with its similarity: one wrong letter less outweighs both retrievers."""


_NONE: Mapping[Retriever, float] = MappingProxyType({})


class Corpus(NamedTuple):
    """A part of the library whose scores are compared among themselves.

    Attributes:
        name: tells it from the others.
        weights: what each retriever weighs there.
        weight: what the corpus weighs, 0 to 1.
        phrases: what the nearest phrase of each entry weighs beside both retrievers, 0 to 1.
    """

    name: str
    weights: Mapping[Retriever, float]
    weight: float = 1.0
    phrases: float = 0.0

    @property
    def shares(self) -> Mapping[Retriever, float]:
        """What meaning, of passages and phrases, and keywords weigh: together 1."""
        beside = {retriever: (1 - self.phrases) * weight for retriever, weight in self.weights.items()}
        return {**beside, "semantic": beside["semantic"] + self.phrases}


WHOLE = Corpus("library", WEIGHTS)
"""A library that is not divided."""


class FusedHit(NamedTuple, Generic[K]):
    """One hit of a fused ranking.

    Attributes:
        key: what was found.
        score: 0 to 1, falling with the rank, comparable within the ranking only.
        retriever: the retriever that contributed most to the score.
        duplicates: keys of the same group, which it stands for.
        sure: whether it is close enough to the best hit to be taken for an answer (`relevant`).
        parts: what each retriever added to the sum that the score is a share of; empty in the tail.
    """

    key: K
    score: float
    retriever: Retriever
    duplicates: tuple[K, ...] = ()
    sure: bool = True
    parts: Mapping[Retriever, float] = _NONE


@dataclass(slots=True)
class _Group(Generic[K]):
    """Keys that are duplicates of each other, and the best score that each retriever gives to one of them."""

    keys: dict[K, None] = field(default_factory=dict)
    scores: dict[Retriever, float] = field(default_factory=dict)

    def add(self, key: K, retriever: Retriever, score: float) -> None:
        self.keys[key] = None
        self.scores[retriever] = max(self.scores.get(retriever, 0.0), score)


def fuse(
    semantic: Ranking[K],
    keyword: Ranking[K],
    names: Ranking[K],
    *,
    group: Callable[[K], Hashable],
    preference: Callable[[K], object],
    corpus: Callable[[K], Corpus] = lambda _: WHOLE,
    phrases: Mapping[K, float] = MappingProxyType({}),
    weight: Callable[[K], float] = lambda _: 1.0,
    tail: bool = True,
) -> list[FusedHit[K]]:
    """One ranking from three.

    Duplicates (keys of one group) share the best score of each retriever. The one with the nearest name represents
    them, among equals the preferred one; the others follow after the heads. A longer ranking never changes the order of
    what a shorter one already had.

    Args:
        semantic: by cosine similarity.
        keyword: by BM25.
        names: by similarity of the name, 0 to 1.
        group: the same for all duplicates of an entry.
        preference: sort key within a group, smallest first.
        corpus: of an entry.
        phrases: similarity of the nearest phrase of each entry in the heads that has any.
        weight: what an entry in the heads weighs, 0 to 1; the same for all duplicates.
        tail: continue beyond the heads.
    """
    scores = _normalised(semantic, keyword, names, corpus, phrases)
    hits = _ordered(_grouped(scores, group, weight), dict(names), preference)
    return hits + _tail(hits, semantic, keyword) if tail else hits


def min_max(ranking: Ranking[K], *, floor: float | None = None) -> dict[K, float]:
    """Min-max normalised scores, 0 to 1: (score - floor) / (best - floor); the floor is the last score by default."""
    if not ranking:
        return {}
    best = ranking[0][1]
    low = ranking[-1][1] if floor is None else floor
    span = best - low
    return {key: (score - low) / span if span > 0 else 1.0 for key, score in ranking}


def weights_of(present: Collection[Retriever], weights: Mapping[Retriever, float]) -> dict[Retriever, float]:
    """What meaning and keywords weigh, as far as they have results: together 1."""
    total = sum(weight for retriever, weight in weights.items() if retriever in present)
    return {retriever: weight / total for retriever, weight in weights.items() if retriever in present}


def _normalised(
    semantic: Ranking[K],
    keyword: Ranking[K],
    names: Ranking[K],
    corpus: Callable[[K], Corpus],
    phrases: Mapping[K, float],
) -> dict[Retriever, Ranking[K]]:
    """Weighted scores by retriever: on each corpus those of meaning and keywords add up to its weight, and names add to that."""
    weighted: dict[Retriever, list[tuple[K, float]]] = {"semantic": [], "keyword": []}
    for place, meant, worded in _by_corpus(semantic, keyword, corpus):
        heads: dict[Retriever, dict[K, float]] = {
            "semantic": min_max(meant[:FUSED_BY_SCORE]),
            "keyword": min_max(worded[:FUSED_BY_SCORE], floor=0.0),
        }
        heads["semantic"], place = _with_phrases(heads, phrases, place)
        weights = weights_of([retriever for retriever, scores in heads.items() if scores], place.shares)
        for retriever, weight in weights.items():
            weighted[retriever] += [(key, place.weight * weight * score) for key, score in heads[retriever].items()]
    return {**weighted, "name": [(key, _name_score(similarity)) for key, similarity in names]}


def _with_phrases(
    heads: Mapping[Retriever, Mapping[K, float]], phrases: Mapping[K, float], corpus: Corpus
) -> tuple[dict[K, float], Corpus]:
    """Scores by meaning of all heads of a corpus, each with that of its nearest phrase; and the corpus, as it is weighed then.

    An entry without phrases is taken for as near by a phrase as it is by its passages, so that it neither gains nor loses.
    """
    keys = dict.fromkeys(key for scores in heads.values() for key in scores)
    near = min_max(sorted(((key, phrases[key]) for key in keys if key in phrases), key=itemgetter(1), reverse=True))
    meant = heads["semantic"]
    if not (near and meant):
        return dict(meant), corpus
    share = corpus.phrases / corpus.shares["semantic"]
    found = ((key, meant.get(key, 0.0)) for key in keys if key in meant or key in near)
    return {key: (1 - share) * score + share * near.get(key, score) for key, score in found}, corpus


def _by_corpus(
    semantic: Ranking[K], keyword: Ranking[K], corpus: Callable[[K], Corpus]
) -> list[tuple[Corpus, list[tuple[K, float]], list[tuple[K, float]]]]:
    """Each corpus with its part of both rankings."""
    parts: dict[str, tuple[Corpus, list[tuple[K, float]], list[tuple[K, float]]]] = {}
    for number, ranking in enumerate((semantic, keyword), 1):
        for key, score in ranking:
            place = corpus(key)
            parts.setdefault(place.name, (place, [], []))[number].append((key, score))  # type: ignore[union-attr]
    return list(parts.values())


def _name_score(similarity: float) -> float:
    return 1.0 + NAME_WEIGHT * similarity**NAME_POWER + (EXACT_NAME if similarity == 1 else 0.0)


def _grouped(
    scores: Mapping[Retriever, Ranking[K]], group: Callable[[K], Hashable], weight: Callable[[K], float]
) -> dict[Hashable, _Group[K]]:
    """The keys in groups of duplicates by label, in the order in which they are met, their scores weighed."""
    groups: dict[Hashable, _Group[K]] = {}
    by_key: dict[K, _Group[K]] = {}
    for retriever, ranking in scores.items():
        for key, score in ranking:
            if key not in by_key:
                by_key[key] = groups.setdefault(group(key), _Group())
            by_key[key].add(key, retriever, weight(key) * score)
    return groups


def _ordered(
    groups: Mapping[Hashable, _Group[K]], similarity: Mapping[K, float], preference: Callable[[K], object]
) -> list[FusedHit[K]]:
    """One hit for each group, best first; scores are shares of the highest possible sum."""
    highest = 1.0 + (_name_score(1.0) if similarity else 0.0)
    scores = {label: min(sum(group.scores.values()) / highest, 1.0) for label, group in groups.items()}
    repeated = Counter(scores.values())
    hits: list[FusedHit[K]] = []
    for label in sorted(scores, key=lambda label: (-scores[label], str(label) if repeated[scores[label]] > 1 else "")):
        group = groups[label]
        keys = list(group.keys)
        if len(keys) > 1:
            keys.sort(key=lambda key: (-similarity.get(key, 0.0), preference(key), str(key)))
        best = max(group.scores, key=group.scores.__getitem__)
        hits.append(FusedHit(keys[0], scores[label], best, tuple(keys[1:]), True, group.scores))
    return hits


def _tail(heads: Sequence[FusedHit[K]], semantic: Ranking[K], keyword: Ranking[K]) -> list[FusedHit[K]]:
    """What comes after the heads: the duplicates of their hits, then the rest of one ranking.

    It is one ranking only, so that a further page fits the pages before it, however deep it had to look.
    """
    retriever: Retriever = "semantic" if semantic else "keyword"
    lowest = heads[-1].score if heads else 1.0
    duplicates = [key for hit in heads for key in hit.duplicates]
    seen = {hit.key for hit in heads} | set(duplicates)
    tail = [FusedHit(key, lowest, retriever) for key in duplicates]
    for rank, (key, _) in enumerate(semantic or keyword, 1):
        if key not in seen:
            tail.append(FusedHit(key, lowest * (RRF_K + 1) / (RRF_K + rank), retriever))
    return tail


SURE = 0.45
"""Share of the best score from which on a hit is a sure answer."""

RELEVANT = 0.25
"""Share of the best score below which a hit is left out; tuned on graded queries."""

BEHIND_A_NAME = 0.3
"""The same behind hits that have the name: a share of the best score among the other hits."""

CLOSE = 0.40
"""Least cosine similarity of a hit behind those that have the name, unless it has all words of the query."""

FEW = 25
"""If there are no more entries than this, none is left out: a list so short is wanted whole."""


def relevant(
    hits: Sequence[FusedHit[K]], is_close: Callable[[K], bool], *, everything: bool, reworded: bool = False
) -> list[FusedHit[K]]:
    """The hits that answer a query, in their order, each marked whether it does so surely.

    If the query is a name, the entries of that name are sure, and others less so. A name that is one wording of several is a
    guess of whoever asks: it says nothing against other entries.

    Args:
        hits: a fused ranking, without its tail.
        is_close: whether an entry is `CLOSE` to the query, or has all its words.
        everything: leave nothing out.
        reworded: whether the query has several wordings.
    """
    others = [hit.score for hit in hits if hit.retriever != "name"]
    best = max(others, default=0.0)
    has_name = len(others) < len(hits) and not reworded

    def is_sure(hit: FusedHit[K]) -> bool:
        return hit.retriever == "name" or (not has_name and hit.score >= SURE * best)

    def is_relevant(hit: FusedHit[K]) -> bool:
        if hit.retriever == "name" or not has_name:
            return hit.retriever == "name" or hit.score >= RELEVANT * best
        return hit.score >= BEHIND_A_NAME * best and any(map(is_close, (hit.key, *hit.duplicates)))

    shown = [hit for hit in hits if everything or is_relevant(hit)]
    return [hit if is_sure(hit) else hit._replace(sure=False) for hit in shown]


BOOKS, NOTES = "books", "notes"
"""The corpora: the books, and the notes of the user's own campaign. Their scores say little about each other: a note has some
thousand words on all that happened, an entry of a book a hundred on one thing. So each is ranked by itself, and a query goes first
to the one that is nearer in meaning and in words. Phrases tell best that it is about the rules: people say them at any table.

Asked of all of Open5e and four vaults, three sets of questions about books have an nDCG@10 of 0.65, 0.45 and 0.30; without phrases
and with notes preferred as one vault needs it, 0.48, 0.37 and 0.15; of the books alone 0.70, 0.51 and 0.34. Two sets about notes
have 0.53 and 0.41 instead of 0.55 and 0.42 (``benchmarks/quality.py --all-types``)."""

CAMPAIGN = ("notes", "characters")
"""The types of what is the user's own: names in questions are mostly of these."""

CorpusKey = TypeVar("CorpusKey", bound=tuple[str, Any])

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
    notes = math.exp(STEEPNESS * _ahead(_nearest_scores(nearest), _nearest_scores(worded), said, sizes))
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


def _nearest_scores(scores: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """The `COMPARED` first scores of each corpus."""
    found: dict[str, list[float]] = {}
    for entity_type, score in scores:
        own = found.setdefault(corpus_name(entity_type), [])
        if len(own) < COMPARED:
            own.append(score)
    return found


def first(ranking: Mapping[CorpusKey, V], number: int) -> dict[CorpusKey, V]:
    """The first entries of a ranking, so many of each corpus."""
    if len(ranking) <= number:
        return dict(ranking)
    taken: Counter[str] = Counter()
    result: dict[CorpusKey, V] = {}
    for key, value in ranking.items():
        name = corpus_name(key[0])
        taken[name] += 1
        if taken[name] <= number:
            result[key] = value
    return result
