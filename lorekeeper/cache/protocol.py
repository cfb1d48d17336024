"""What a cache backend must do, and what our own search needs of it besides. One contract suite runs over all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from lorekeeper.entities import Entity
from lorekeeper.order import BY_NAME, Order
from lorekeeper.text.keywords import KeywordQuery

if TYPE_CHECKING:
    from lorekeeper.cache.given_vectors import GivenVectors
    from lorekeeper.cache.store import Store

Identity = tuple[str, str]
"""(document, slug) of an entity within its type."""

Documents = str | Sequence[str] | None
"""One document key, several (any of them), or None for all."""

BATCH = 128
"""Entities that are read, embedded and written together.

What handles many entities takes them by this number: a reader of files gives one batch at a time, iteration two, and an
import stores four of one type in one go, of which one is written while the next is embedded.
"""

SCORE_DIGITS = 5
"""Decimals of a cosine similarity: engines differ beyond them, and entries whose scores are equal come by identity."""

SECTIONED = frozenset({"notes", "character_options"})
"""The types of which searches by meaning tell how near each section is: their entries are on many things."""

LOOKED = 120
"""How many of the nearest passages they tell it of: two for each entry whose score is fused."""

ALIASES_BETWEEN = " / "
"""What keyword searches have between the name of an entry and each of its aliases."""

Progress = Callable[[int], None]
"""Called with the number of further items done."""

Choose = Callable[[Mapping[str, int], int], Collection[str]]
"""Those of some words that count, given how many entities have each, and how many entities there are."""


class Ranked(NamedTuple):
    """One place in a ranking, without the entity itself.

    Attributes:
        identity: (document, slug).
        name: the entry's name; in keyword searches of embedded and SQLite libraries with its aliases, `ALIASES_BETWEEN` them.
        score: as in `Hit`.
        passage: the text that matched best, "" if it is not known.
        section: heading that passage stands under, "" for the main text.
        complete: whether the entry has all words of the query, or of one of its wordings; of keyword searches only.
        second: similarity of its second best passage, of semantic searches only; None if it has no other, or none that is as
            near as the last entry of the ranking.
        near: headings and scores of the sections that have some of the `LOOKED` nearest passages, best first; of types that
            are `SECTIONED`.
    """

    identity: Identity
    name: str
    score: float
    passage: str = ""
    section: str = ""
    complete: bool = False
    second: float | None = None
    near: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Hit:
    """One search result.

    Attributes:
        entity: the whole entry.
        score: higher is better; cosine similarity (-1 to 1) of a semantic search, BM25 (above 0) of a keyword search.
        passage: the text that matched best, "" if it is not known.
        section: heading that passage stands under, "" for the main text.
    """

    entity: Entity
    score: float
    passage: str = ""
    section: str = ""


@dataclass(frozen=True)
class ValueCounts:
    """The values of one field.

    Attributes:
        counts: number of entities by value, in the field's canonical form; of a list field by each of its texts.
        known: number of entities with a value; an empty list has none.
        total: number of entities, also those without a value.
    """

    counts: Mapping[str | int | float | bool, int]
    known: int
    total: int


@dataclass(frozen=True)
class Statistics:
    """Statistics of a backend.

    Attributes:
        backend: "milvus" or "sqlite".
        location: path or address.
        counts: entities by type, types without entities included.
        kinds: entities by type and kind.
        passages: vectors by type.
        embedding: fingerprint of the model the vectors were made with, None if there are none.
        details: further facts, by label.
    """

    backend: str
    location: str
    counts: dict[str, int]
    kinds: dict[str, dict[str, int]]
    passages: dict[str, int]
    embedding: str | None
    details: dict[str, str]


class CacheProtocol(Protocol):
    """A store of entities with filters and vectors: what a backend must do, to be used by `Library` and by other programs.

    A package offers one by an entry point of the group ``lorekeeper.cache_backends``: a function of `Settings` and an
    `EmbeddingService` that returns a cache, which must open nothing before its first use. LOREKEEPER_CACHE_BACKEND chooses it by
    the entry point's name. What our own search needs besides (`SearchCache`) is derived from these methods, more slowly.
    `lorekeeper.testing.CacheContract` tests that a backend does what is said here.

    All methods are coroutines, but for `iterate`; none may block the event loop. A ``document`` is one key, several (any of
    them), or None for all. Filters are keyword arguments as `filters.parse_filters` reads them, and apply before any limit;
    `select_entities` applies them to entities in memory. Errors are LoreKeeper's, with the driver's as their cause: every method
    may raise CacheError; those that take an entity type or filters FilterError; those that need vectors EmbeddingError. A failure
    is never an empty list. What is stored has been checked before: entities have a key, and their fields are declared.
    """

    async def store_entities(
        self, entities: Sequence[Entity], entity_type: str, progress: Progress | None = None
    ) -> int:
        """Store entities of one type with their vectors; entities of equal identity are replaced.

        When it returns, all of them survive the end of the process. Of several with one identity the last is kept.
        Returns how many were stored. ``progress`` is called with the number of further entities stored.
        """
        ...

    async def get_entities(
        self, entity_type: str, document: Documents = None, *, limit: int | None = None, offset: int = 0, **filters: Any
    ) -> list[Entity]:
        """Entities under the filters, by folded name, then document and slug; all of them without a limit.

        The filter ``name`` matches folded names, whole ones first, then prefixes, then parts.
        """
        ...

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        """One entity by identity, None if there is none."""
        ...

    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        """Number of entities under the filters."""
        ...

    async def semantic_search(
        self, entity_type: str, query: str, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        """The entities nearest in meaning, best first: as many as the limit, if there are that many under the filters.

        An entity's score is the cosine similarity of the query with its best passage, -1 to 1.
        """
        ...

    def iterate(self, entity_type: str, batch_size: int = 2 * BATCH) -> AsyncIterator[list[Entity]]:
        """All entities of a type in the order of their identities, in batches."""
        ...

    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        """Remove all entities of one document (of one type); returns how many."""
        ...

    async def delete_entities(self, entity_type: str, identities: Iterable[Identity]) -> int:
        """Remove entities by identity; others are ignored. Returns how many there were."""
        ...

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        """Number of entities by document key and type, of these types or of all; without zeros.

        A type that cannot be read is left out while others can; CacheError if none can.
        """
        ...

    async def statistics(self) -> Statistics:
        """Counts by type, kind and passages, the fingerprint of the vectors' model, and where the store is."""
        ...

    async def reindex(self, progress: Progress | None = None) -> int:
        """Embed every entity again with the current model; the store stays usable meanwhile.

        Returns how many entities were embedded.
        """
        ...

    async def close(self) -> None:
        """Release files, locks and connections. Closing twice does nothing, and the next use opens the store again."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class SearchCache(CacheProtocol, Protocol):
    """What our own search needs of a cache besides; `completed.CompletedCache` derives it from any `CacheProtocol`."""

    async def get_entities(
        self,
        entity_type: str,
        document: Documents = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        order: Order = BY_NAME,
        prefer: Sequence[str] = (),
        **filters: Any,
    ) -> list[Entity]:
        """Entities under the filters, in an order; by default by name, then document and slug.

        Of one name, those of the documents ``prefer`` come first, in that order.

        The filter ``name`` matches folded names, whole ones first, then prefixes, then parts.
        """
        ...

    async def identities(self, entity_type: str, document: Documents = None, **filters: Any) -> list[Identity]:
        """Identities of the entities under the filters, in the order of `get_entities`."""
        ...

    async def count_values(
        self, entity_type: str, field: str, document: Documents = None, **filters: Any
    ) -> ValueCounts:
        """The values that a filter field other than ``name`` has under the filters, and how often.

        Of a Milvus server they may be half a minute old if another machine has written meanwhile.
        """
        ...

    async def count_fields(
        self,
        entity_type: str,
        fields: Sequence[str],
        document: Documents = None,
        *,
        among: Sequence[Identity] | None = None,
        **filters: Any,
    ) -> dict[str, ValueCounts]:
        """`count_values` of several fields at once, by field; only of the entities ``among``, if these are given."""
        ...

    async def keyword_search(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        """The entities that have any word of a query, best first, by BM25 (Robertson and Walker 1994).

        A text is searched for by its own content words; a `KeywordQuery` may bring alternatives to them.
        """
        ...

    async def rank_semantic(
        self, entity_type: str, query: str | Sequence[str], limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """`semantic_search` without loading the entities; of several wordings, by the sum of their vectors.

        The cosine with that sum ranks passages as the sum of their cosines with each wording does (CombSUM; Fox and Shaw 1994).
        """
        ...

    async def phrase_similarities(
        self, query: str | Sequence[str], names: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], float]:
        """How near the query is to the nearest shipped phrase of each entry, by cosine similarity.

        Args:
            query: as in `rank_semantic`.
            names: types and names of the entries; those without phrases are left out of the answer.
        """
        ...

    async def rank_keyword(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """`keyword_search` without loading the entities."""
        ...

    async def rank_names(
        self, entity_type: str, query: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """The entities whose names are the query, also misspelt or in another order, best first; similarity 0 to 1."""
        ...

    async def rank_beginnings(
        self, entity_type: str, text: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """The entities whose names somebody may be typing, best first: the last word of the text may go on.

        All its words are in the name, the last one as the beginning of a word. The score is a share, 0 to 1: names that begin
        with the text come first, among these the shortest.
        """
        ...

    async def names(self, entity_type: str) -> list[str]:
        """The folded names of all entities of a type, in no particular order."""
        ...

    async def known_words(self, entity_type: str, words: Collection[str]) -> set[str]:
        """The words that occur, in any form, in an entity of the type."""
        ...

    async def word_scores(
        self, entity_type: str, words: Collection[str], among: Collection[Identity], choose: Choose
    ) -> dict[Identity, float]:
        """What those of some words that are chosen add to the scores of some entities by BM25.

        The scores are those of `rank_keyword`, except on a server that ranks by itself: they are of about the same size there.
        Entities that have none of the words are left out.

        Args:
            entity_type: the type.
            words: to choose from, folded.
            among: the entities.
            choose: given how many entities of the type have each word, in any form, and how many there are: the words that count.
                Words that none has are left out. Called in another thread.
        """
        ...

    async def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        """The entities of these identities, in their order; those that no longer exist are left out."""
        ...

    async def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        """``Entity.content_hash`` of everything stored of a type."""
        ...

    async def marks(self, types: Iterable[str]) -> object | None:
        """A value that is another one whenever an entry of these types may be; None if no value can say so."""
        ...

    async def open(self, types: Iterable[str] | None = None) -> None:
        """Open the store and these types now, so that the first query need not wait; otherwise each is opened at first use."""
        ...


class LibraryCache(SearchCache, Protocol):
    """What a `Library` needs of its cache besides."""

    @property
    def types(self) -> Sequence[str]:
        """The types of entity that it holds."""
        ...

    @property
    def given(self) -> GivenVectors:
        """The vectors that came along with entries which are to be stored."""
        ...

    async def mark(self, entity_type: str) -> object:
        """A value that changes whenever a type may have changed."""
        ...

    @property
    def store(self) -> Store | None:
        """The store itself, for maintenance; None if another package's backend has it."""
        ...


def nearest_sections(passages: Iterable[tuple[Identity, str, float]]) -> dict[Identity, tuple[tuple[str, float], ...]]:
    """`Ranked.near` by entry, of passages with their entries, headings and scores, best first."""
    found: dict[Identity, dict[str, float]] = {}
    for identity, section, score in passages:
        found.setdefault(identity, {}).setdefault(section, score)
    return {identity: tuple(sections.items()) for identity, sections in found.items()}


async def hits(cache: SearchCache, entity_type: str, ranking: Sequence[Ranked]) -> list[Hit]:
    """A ranking with its entities, as the search methods of every backend return it."""
    entities = {e.identity: e for e in await cache.load(entity_type, [r.identity for r in ranking])}
    return [Hit(entities[r.identity], r.score, r.passage, r.section) for r in ranking if r.identity in entities]


class EntitySearches:
    """The two searches that return whole entities, for caches that rank them."""

    async def semantic_search(
        self: SearchCache,
        entity_type: str,
        query: str,
        limit: int = 20,
        document: Documents = None,
        **filters: Any,
    ) -> list[Hit]:
        """See `SearchCache`."""
        return await hits(self, entity_type, await self.rank_semantic(entity_type, query, limit, document, **filters))

    async def keyword_search(
        self: SearchCache,
        entity_type: str,
        query: str | KeywordQuery,
        limit: int = 20,
        document: Documents = None,
        **filters: Any,
    ) -> list[Hit]:
        """See `SearchCache`."""
        return await hits(self, entity_type, await self.rank_keyword(entity_type, query, limit, document, **filters))
