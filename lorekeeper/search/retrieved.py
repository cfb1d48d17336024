"""What the retrievers found for one query, before it is fused."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from lorekeeper.cache.protocol import Identity, Ranked, SearchCache
from lorekeeper.cache.snapshot import in_turn
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.errors import EmbeddingError
from lorekeeper.folding import fold
from lorekeeper.search.fusion import (
    BOOKS,
    CLOSE,
    FUSED_BY_SCORE,
    NOTES,
    PHRASES,
    PHRASES_REWORDED,
    Corpus,
    FusedHit,
    corpora,
    corpus_name,
    first,
    fuse,
)
from lorekeeper.search.grouping import asked_stems, asked_words
from lorekeeper.search.intent import AskedType
from lorekeeper.search.results import Key
from lorekeeper.search.sessions import PLANNED
from lorekeeper.search.versions import name_label
from lorekeeper.text.sections import sections

logger = logging.getLogger(__name__)

PHRASE_IN_NAME = 0.9
"""Similarity of an entry to a phrase that its name has: it outweighs all texts."""

COPIED, COPIED_WORDS = 0.8, 8
"""Share of their words that near copies and their passages have in common, and fewest words of such a passage."""

Ranking = dict[Key, Ranked]
"""The ranking of one retriever over all types, best first."""


@dataclass(frozen=True)
class Retrieved:
    """What the retrievers found for one query.

    Attributes:
        semantic: by cosine similarity.
        keyword: by BM25.
        names: by similarity of the name.
        count: number of entries under the filters.
        unavailable: why there was no semantic search, None if there was or none was asked for.
        reworded: whether the query has several wordings.
        phrases: similarity of the nearest shipped phrase of each entry in the heads that has any.
        asked: the type that the query prefers, None for none.
        counted: how many entries have each content word of the wordings, by corpus, without those that none has.
        sizes: number of entries under the filters, by corpus.
    """

    semantic: Ranking = field(default_factory=dict)
    keyword: Ranking = field(default_factory=dict)
    names: Ranking = field(default_factory=dict)
    count: int = 0
    unavailable: str | None = None
    reworded: bool = False
    phrases: Mapping[Key, float] = field(default_factory=dict)
    asked: AskedType | None = None
    counted: Mapping[str, Counter[str]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def all_ranked(self) -> Ranking:
        """The place of every entry in any of the rankings, if possible in the semantic one, which has passages."""
        return self.names | self.keyword | self.semantic

    @cached_property
    def occurring(self) -> Mapping[str, int]:
        """How many entries have each content word of the wordings, without those that none has."""
        return sum(self.counted.values(), Counter[str]())

    @cached_property
    def corpora(self) -> Mapping[str, Corpus]:
        """The corpora by name, with what they weigh for the query."""
        nearest = ((key[0], ranked.score) for key, ranked in self.semantic.items())
        tell = len(self.occurring) != 1 or not all(self.counted.values())  # not the only word, if both corpora have it
        worded = [(key[0], ranked.score) for key, ranked in self.keyword.items()] if tell else []
        phrases = PHRASES_REWORDED if self.reworded else PHRASES
        found = corpora(nearest, worded, max(self.phrases.values(), default=None), self.sizes, phrases)
        if self.asked and corpus_name(self.asked.name) == BOOKS and not self.asked.of_someone:
            weights = {BOOKS: 1.0, NOTES: min(found[NOTES].weight, self.asked.others)}
            return {name: corpus._replace(weight=weights[name]) for name, corpus in found.items()}
        return found

    @property
    def nearest_corpus(self) -> Corpus:
        """The corpus that weighs most of those with hits."""
        present = {corpus_name(key[0]) for key in (*self.semantic, *self.keyword)} or {BOOKS}
        return max((self.corpora[name] for name in present), key=lambda corpus: corpus.weight)

    @cached_property
    def heads(self) -> list[Key]:
        """The entries that are fused by their scores."""
        rankings = [first(ranking, FUSED_BY_SCORE) for ranking in (self.semantic, self.keyword)]
        return list(dict.fromkeys([*rankings[0], *rankings[1], *self.names]))

    def is_close(self, key: Key) -> bool:
        """Whether an entry is close to the query in meaning, or has all its words."""
        meant, worded = self.semantic.get(key), self.keyword.get(key)
        return bool((meant and meant.score >= CLOSE) or (worded and worded.complete))

    async def compared(self, cache: SearchCache, texts: Sequence[str]) -> Retrieved:
        """Compared with the query also in the shipped phrases of each entry of the heads.

        Args:
            cache: what was searched.
            texts: what was searched for by meaning.
        """
        if not self.semantic:
            return self
        names = {key: (key[0], self.all_ranked[key].name) for key in self.heads if corpus_name(key[0]) == BOOKS}
        if not names:
            return self
        try:
            near = await cache.phrase_similarities(texts, set(names.values()))
        except (
            EmbeddingError
        ) as error:  # of a server that has failed since, and of a query whose vector is no longer cached
            logger.info("phrases are not compared: %s", error)
            return self
        found = {key: near[name] for key, name in names.items() if name in near}
        return replace(self, phrases=found)

    def with_further(self, scores: Mapping[Key, float]) -> Retrieved:
        """With scores added to those by keywords of entries in the heads; what is beyond that head stays behind it."""
        if not scores:
            return self
        head = first(self.keyword, FUSED_BY_SCORE)
        for key, score in scores.items():
            own = head.get(key) or self.all_ranked[key]._replace(score=0.0, complete=False)
            head[key] = own._replace(score=own.score + score)
        ordered = dict(sorted(head.items(), key=lambda item: (-item[1].score, item[0])))
        return replace(self, keyword=ordered | {key: hit for key, hit in self.keyword.items() if key not in ordered})

    def with_names(self, named: Ranking) -> Retrieved:
        """With further entries that the query names."""
        ranked = sorted((self.names | named).items(), key=lambda item: (-item[1].score, item[0]))
        return replace(self, names=dict(ranked)) if named else self

    def without_words_of_books(self) -> Retrieved:
        """By meaning and names alone, as far as books are concerned: the words of the query are of another language."""
        return replace(self, keyword={key: hit for key, hit in self.keyword.items() if corpus_name(key[0]) != BOOKS})

    def with_phrases(self, phrases: Sequence[str]) -> Retrieved:
        """Only the entries that the keywords found, which have the phrases of the query; those whose names have them come first."""
        names = {key: ranked for key, ranked in self.names.items() if key in self.keyword}
        wanted = [f" {fold(phrase)} " for phrase in phrases]
        for key, ranked in self.keyword.items():
            if key not in names and all(phrase in f" {fold(ranked.name)} " for phrase in wanted):
                names[key] = ranked._replace(score=PHRASE_IN_NAME)
        return replace(self, names=names, count=len(self.keyword))


def fused(
    retrieved: Retrieved,
    preferred: Sequence[str],
    labels: Mapping[Key, Hashable],
    wordings: Sequence[str] = (),
    *,
    tail: bool,
    planned: Collection[Identity] = (),
    asked_for: Collection[str] = (),
) -> list[FusedHit[Key]]:
    """The rankings as one, duplicates in groups: those of one label, as variants of one thing and versions of one rule have,
    and else entries of one type and canonical name.

    Notes that are ``planned`` count less, by `sessions.PLANNED`.

    Of duplicates those of the documents ``asked_for`` stand for the others, then of variants the one with most words of the query
    in its name, then the one from the earliest of the preferred documents.
    """
    places = {document: place for place, document in enumerate(preferred)}
    ranked, weighed, asked = retrieved.all_ranked, retrieved.corpora, asked_stems(wordings)

    def preference(key: Key) -> tuple[bool, int, int]:
        document = key[1][0]
        return document not in asked_for, -asked_words(ranked[key].name, asked), places.get(document, len(places))

    return fuse(
        _scores(retrieved.semantic),
        _scores(retrieved.keyword),
        _scores(retrieved.names),
        group=lambda key: labels.get(key) or name_label(key, ranked[key].name),
        preference=preference,
        corpus=lambda key: weighed[corpus_name(key[0])],
        phrases=retrieved.phrases,
        weight=lambda key: (
            (retrieved.asked.weight(key[0]) if retrieved.asked else 1.0)
            * (PLANNED if key[0] == NOTES and key[1] in planned else 1.0)
        ),
        tail=tail,
    )


def like_another(hits: Sequence[FusedHit[Key]], retrieved: Retrieved) -> list[FusedHit[Key]]:
    """The first notes of a fused ranking whose nearest passage is a near copy of that of another: the notes may be copies."""
    known: list[tuple[FusedHit[Key], frozenset[str]]] = []
    alike: dict[Key, FusedHit[Key]] = {}
    for hit in hits:
        if len(known) == FUSED_BY_SCORE:
            break
        passage = retrieved.semantic[hit.key].passage if hit.key[0] == NOTES and hit.key in retrieved.semantic else ""
        words = frozenset(fold(passage).split())
        if len(words) < COPIED_WORDS:
            continue
        for other, own in known:
            if _alike(words, own):
                alike |= {other.key: other, hit.key: hit}
        known.append((hit, words))
    return list(alike.values())


def collapsed(hits: Sequence[FusedHit[Key]], notes: Mapping[Key, Entity]) -> list[FusedHit[Key]]:
    """A fused ranking with near copies of a note, as checklists are, in one place.

    What was found by its name is no copy of what is called otherwise.

    Args:
        hits: the ranking.
        notes: those that may be copies: of them the whole texts are compared, and who may see them.
    """
    result: list[FusedHit[Key]] = []
    known: list[tuple[int, frozenset[str], object]] = []
    for hit in hits:
        if hit.key not in notes:
            result.append(hit)
            continue
        note = notes[hit.key]
        words = frozenset(fold(" ".join(map(str, sections(note)))).split())
        kept_with = note.fields.get(AUDIENCE), hit.retriever == "name" and note.name
        first = next((n for n, own, others in known if others == kept_with and _alike(words, own)), None)
        if first is None:
            known.append((len(result), words, kept_with))
            result.append(hit)
        else:
            result[first] = result[first]._replace(duplicates=(*result[first].duplicates, hit.key))
    return result


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    least, most = sorted([len(words), len(others)])
    if least < COPIED * most:  # sets of other sizes share less
        return False
    shared = len(words & others)
    return shared >= COPIED * (len(words) + len(others) - shared)


def _scores(ranking: Ranking) -> list[tuple[Key, float]]:
    return [(key, ranked.score) for key, ranked in ranking.items()]


async def over_types(
    types: Sequence[str], rank: Callable[[str], Awaitable[list[Ranked]]], depth: int | None = None
) -> Ranking:
    """One retriever's ranking over several types, best first; ``depth`` entries of each corpus at most."""
    if len(types) == 1:
        return {(types[0], ranked.identity): ranked for ranked in (await rank(types[0]))[:depth]}
    found = await in_turn(map(rank, types))
    ranking = [((t, ranked.identity), ranked) for t, hits in zip(types, found, strict=True) for ranked in hits]
    ranking.sort(key=lambda item: (-item[1].score, item[0]))
    return dict(ranking) if depth is None else first(dict(ranking), depth)


@dataclass(frozen=True)
class Traits:
    """Traits of an embedding model; by default those of all-MiniLM-L6-v2.

    Attributes:
        multilingual: whether a text and its translation are near each other.
        unrelated: cosine similarity that texts have at least, however unrelated.
    """

    multilingual: bool = False
    unrelated: float = 0.0

    def scaled(self, similarity: float) -> float:
        """A cosine similarity on a scale on which unrelated texts have 0."""
        return (similarity - self.unrelated) / (1 - self.unrelated)


MINILM = Traits()
"""Those of the default model."""
