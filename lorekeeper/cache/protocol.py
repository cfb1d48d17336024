"""What a cache backend must do, and what our own search needs in addition. One contract suite runs over all of them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar

from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, EntityError, FilterError
from lorekeeper.filters import Selection, collection_of, field_of, parse_filters, unknown_name
from lorekeeper.order import BY_NAME, Order
from lorekeeper.printable import shown
from lorekeeper.system import AsyncClosing
from lorekeeper.text.keywords import KeywordQuery

if TYPE_CHECKING:
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.supplied_vectors import GivenVectors

logger = logging.getLogger(__name__)

T = TypeVar("T")

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
        name: the entry's name; keyword searches of embedded and SQLite libraries add its aliases after `ALIASES_BETWEEN`.
        score: that of `Hit`.
        passage: the text that matched best, "" if it is not known.
        section: heading that passage stands under, "" for the main text.
        complete: whether the entry has all words of the query, or of one of its wordings; in keyword searches only.
        second: similarity of its second best passage, in semantic searches only; None if it has no other that is as near as the
            last entry of the ranking.
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
    the entry point's name. What our own search needs in addition (`SearchCache`) is derived from these methods, more slowly.
    `lorekeeper.testing.CacheContract` tests a backend against this description.

    All methods except `iterate` are coroutines; none may block the event loop. A ``document`` is one key, several (any of
    them), or None for all. Filters are keyword arguments as `filters.parse_filters` reads them, and apply before any limit;
    `select_entities` applies them to entities in memory. Errors are LoreKeeper's, with the driver's as their cause. Every method
    may raise CacheError. Methods with an entity type or filters may raise FilterError, and those that need vectors
    EmbeddingError. A failure is never an empty list. What is stored has been checked before: entities have a key, and their
    fields are declared.
    """

    async def store_entities(
        self, entities: Sequence[Entity], entity_type: str, progress: Progress | None = None
    ) -> int:
        """Store entities of one type with their vectors; entities of equal identity are replaced.

        When it returns, all of them survive the end of the process. If several have one identity, the last is stored.
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


def nearest_sections(passages: Iterable[tuple[Identity, str, float]]) -> dict[Identity, tuple[tuple[str, float], ...]]:
    """`Ranked.near` by entry, of passages with their entries, headings and scores, best first."""
    found: dict[Identity, dict[str, float]] = {}
    for identity, section, score in passages:
        found.setdefault(identity, {}).setdefault(section, score)
    return {identity: tuple(sections.items()) for identity, sections in found.items()}


# --- operations ------------------------------------------------------------------------------------------------------


class InView(Enum):
    """How a view applies to an operation: what it asks, and what it leaves out of the answer."""

    READS = auto()
    """It is asked of what the viewer may read of the type; the answer stays as it is."""

    ENTITIES = auto()
    """The same, and entities that are withheld all the same are left out of the answer."""

    COUNTS = auto()
    """The same, and they are left out of what is counted."""

    LIBRARY = auto()
    """It is asked of the library: it changes it, or says nothing of its entries."""


@dataclass(frozen=True)
class Asked(Selection):
    """What an operation is about, as it was asked.

    Attributes:
        document: the argument that ``documents`` was read from.
        filters: those that ``conditions`` were read from.
    """

    document: Documents = None
    filters: Mapping[str, Any] = field(default_factory=dict)


Subject = Asked | str | None
"""What an operation is about: entities under filters, a type, or the whole library."""


@dataclass(frozen=True)
class Operation(Generic[T]):
    """An operation of a cache. A layer performs any of them by one method, `SearchCache.call`.

    Attributes:
        name: for messages, and for layers that perform it in a way of their own.
        in_view: how a view applies to it; None if it is refused in views.
        blocking: how a store performs it, given the store, the subject and the arguments; None if no store does by itself.
    """

    name: str
    in_view: InView | None = None
    blocking: Callable[..., T] | None = None


def type_of(subject: Subject) -> str:
    """The type that an operation is about; TypeError if it is about the whole library."""
    if subject is None:
        raise TypeError("the operation is about no type")
    return subject if isinstance(subject, str) else subject.entity_type


def _by_store(name: str) -> Callable[..., Any]:
    """Performed by a method of the store."""
    return lambda store, *arguments: getattr(store, name)(*arguments)


def _by_catalogue(name: str, empty: Callable[[], Any] = list) -> Callable[..., Any]:
    """Performed by a method of the store's catalogue; ``empty`` makes the answer of a type of which nothing is stored."""

    return lambda store, *arguments: store.ask(name, empty, *arguments)


def _found(store: Store, asked: Asked, limit: int | None, offset: int, order: Order) -> list[Entity]:
    found: list[Entity] = store.ask(
        "load", list, asked.entity_type, store.ask("find", list, asked, limit, offset, order)
    )
    return found


GET_ENTITIES = Operation[list[Entity]]("get_entities", InView.ENTITIES, _found)
FIND = Operation[list[Identity]]("identities", InView.READS, _by_catalogue("find"))
LOAD = Operation[list[Entity]]("load", InView.ENTITIES, _by_catalogue("load"))
LIST = Operation[list[Identity]]("iterate", InView.READS, _by_catalogue("identities"))
COUNT = Operation[int]("count_entities", InView.READS, _by_catalogue("count", int))
COUNT_BY = Operation[dict[str, int]]("documents", InView.READS, _by_catalogue("count_by", dict))
COUNT_FIELDS = Operation[dict[str, ValueCounts]]("count_fields", InView.COUNTS, _by_catalogue("count_values", dict))
CONTENT_HASHES = Operation[dict[Identity, str]]("content_hashes", InView.READS, _by_catalogue("content_hashes", dict))
RANK_SEMANTIC = Operation[list[Ranked]]("rank_semantic", InView.READS)
RANK_KEYWORD = Operation[list[Ranked]]("rank_keyword", InView.READS, _by_catalogue("rank_keyword"))
RANK_NAMES = Operation[list[Ranked]]("rank_names", InView.READS, _by_catalogue("rank_names"))
RANK_BEGINNINGS = Operation[list[Ranked]]("rank_beginnings", InView.READS, _by_catalogue("rank_beginnings"))
NAMES = Operation[list[str]]("names", InView.READS, _by_catalogue("names"))
WORD_COUNTS = Operation[dict[str, int]]("word_counts", InView.READS, _by_catalogue("word_counts", dict))
WORD_SCORES = Operation[dict[Identity, float]]("word_scores", InView.READS, _by_catalogue("word_scores", dict))
PHRASES = Operation[dict[tuple[str, str], float]]("phrase_similarities", InView.LIBRARY)
STORE = Operation[int]("store_entities", InView.LIBRARY)
DELETE_DOCUMENT = Operation[int]("delete_document", InView.LIBRARY)
DELETE_ENTITIES = Operation[int]("delete_entities", InView.LIBRARY, _by_store("delete_entities"))
REINDEX = Operation[int]("reindex", InView.LIBRARY)
OPEN = Operation[None]("open", InView.LIBRARY)
STATISTICS = Operation[Statistics]("statistics", blocking=lambda store, _: store.statistics())
VERSION_OF_TYPE = Operation[object]("version", blocking=_by_store("version"))


def require_storable(entities: Iterable[object], entity_type: str) -> None:
    """EntityError, which names the first one, if entities cannot be stored under a type."""
    for entity in entities:
        if not isinstance(entity, Entity):
            raise EntityError(
                f"this cache stores lorekeeper.Entity objects, not {type(entity).__name__}; MilvusCache and SqliteCache take dicts"
            )
        if reason := next(_wrong(entity, entity_type), None):
            raise EntityError(reason)


def _wrong(entity: Entity, entity_type: str) -> Iterator[str]:
    if entity.type != entity_type:
        yield f"{entity.uri} does not belong to {entity_type}; store it under {entity.type}"
    collection = collection_of(entity_type)
    for what in ("slug", "document"):
        value = getattr(entity, what)
        if not isinstance(value, str) or not value:
            yield f"{shown(entity.name)} of {entity_type} has an empty {what}, so that it cannot be found again; give it one"
            return
    if len(entity.slug) > collection.max_slug:
        yield f"the slug {shown(entity.slug)} has more than {collection.max_slug} characters"
    for name in entity.fields:
        if name not in collection.filters:
            yield f"{entity.name}: {unknown_name(name, [f.name for f in collection.fields], f'field of {entity_type}')}"


class SearchCache(AsyncClosing):
    """What our own search needs of a cache: a `CacheProtocol`, which documents its methods, with more operations.

    Its methods check their arguments and name an operation. Each layer carries it out in its `call`: threads around a store
    (`async_cache.ThreadedCache`), an index next to another package's backend
    (`completed.CompletedCache`), and views (`views.view_cache.ViewCache`).

    Attributes:
        types: the types of entity that it holds.
        has_snapshots: whether a search may run in a thread and read one state of it, see `cache.snapshot`.
    """

    types: Sequence[str]
    has_snapshots = False

    async def call(self, operation: Operation[T], subject: Subject, *arguments: Any) -> T:
        """Perform an operation."""
        raise NotImplementedError

    def _type(self, entity_type: str) -> str:
        """A type that the cache holds; FilterError, with the known ones, for others."""
        if entity_type not in self.types:
            raise FilterError(unknown_name(str(entity_type), list(self.types), "type"))
        return entity_type

    def _asked(self, entity_type: str, document: Documents, filters: Mapping[str, Any]) -> Asked:
        """What a method is about; FilterError for an unknown type, field or value."""
        conditions = parse_filters(self._type(entity_type), filters)
        documents = [document] if isinstance(document, str) else document
        keys = None if documents is None else list(documents)
        return Asked(entity_type, conditions, keys, document=document, filters=filters)

    # --- entities ----------------------------------------------------------------------------------------------------

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
        asked = replace(self._asked(entity_type, document, filters), prefer=[*dict.fromkeys(prefer)])
        return await self.call(GET_ENTITIES, asked, limit, offset, order)

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        entities = await self.load(entity_type, [(document, slug)])
        return entities[0] if entities else None

    async def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        """The entities of these identities, in their order; those that no longer exist are left out."""
        return await self.call(LOAD, self._type(entity_type), identities)

    async def iterate(self, entity_type: str, batch_size: int = 2 * BATCH) -> AsyncIterator[list[Entity]]:
        identities = await self.call(LIST, self._type(entity_type))
        for start in range(0, len(identities), batch_size):
            batch = await self.load(entity_type, identities[start : start + batch_size])
            if batch:
                yield batch

    async def identities(self, entity_type: str, document: Documents = None, **filters: Any) -> list[Identity]:
        """Identities of the entities under the filters, in the order of `get_entities`."""
        return await self.call(FIND, self._asked(entity_type, document, filters), None, 0)

    async def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        """``Entity.content_hash`` of everything stored of a type."""
        return await self.call(CONTENT_HASHES, self._type(entity_type))

    # --- counts ------------------------------------------------------------------------------------------------------

    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        return await self.call(COUNT, self._asked(entity_type, document, filters))

    async def count_values(
        self, entity_type: str, field: str, document: Documents = None, **filters: Any
    ) -> ValueCounts:
        """The values that a filter field other than ``name`` has under the filters, and how often.

        On a Milvus server they may be half a minute old if another machine has written meanwhile.
        """
        return (await self.count_fields(entity_type, [field], document, **filters))[field]

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
        asked = self._asked(entity_type, document, filters)
        declared = [field_of(collection_of(entity_type), name) for name in fields]
        counted = await self.call(COUNT_FIELDS, asked, declared, among)
        return counted or dict.fromkeys(fields, ValueCounts({}, 0, 0))

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {}
        failures: list[CacheError] = []
        for entity_type in (entity_types := list(self.types if types is None else types)):
            try:
                by_document = await self.call(COUNT_BY, entity_type, "document")
            except CacheError as error:
                logger.warning("the documents of %s are not known: %s", entity_type, error)
                failures.append(error)
                continue
            for document, number in by_document.items():
                counts.setdefault(document, {})[entity_type] = number
        if failures and len(failures) == len(entity_types):
            raise failures[0]
        return dict(sorted(counts.items()))

    async def statistics(self) -> Statistics:
        return await self.call(STATISTICS, None)

    # --- rankings ----------------------------------------------------------------------------------------------------

    async def semantic_search(
        self, entity_type: str, query: str, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        return await self._hits(entity_type, await self.rank_semantic(entity_type, query, limit, document, **filters))

    async def keyword_search(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        """The entities that have any word of a query, best first, by BM25 (Robertson and Walker 1994).

        A text is searched for by its own content words; a `KeywordQuery` may bring alternatives to them.
        """
        return await self._hits(entity_type, await self.rank_keyword(entity_type, query, limit, document, **filters))

    async def _hits(self, entity_type: str, ranking: Sequence[Ranked]) -> list[Hit]:
        """A ranking with its entities."""
        entities = {e.identity: e for e in await self.load(entity_type, [r.identity for r in ranking])}
        return [Hit(entities[r.identity], r.score, r.passage, r.section) for r in ranking if r.identity in entities]

    async def rank_semantic(
        self,
        entity_type: str,
        query: str | Sequence[str],
        limit: int = 20,
        document: Documents = None,
        **filters: Any,
    ) -> list[Ranked]:
        """`semantic_search` without loading the entities; of several wordings, by the sum of their vectors.

        The cosine with that sum ranks passages as the sum of their cosines with each wording does (CombSUM; Fox and Shaw 1994).
        """
        return await self.call(RANK_SEMANTIC, self._asked(entity_type, document, filters), query, limit)

    async def phrase_similarities(
        self, query: str | Sequence[str], names: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], float]:
        """How near the query is to the nearest shipped phrase of each entry, by cosine similarity.

        Args:
            query: see `rank_semantic`.
            names: types and names of the entries; those without phrases are left out of the answer.
        """
        return await self.call(PHRASES, None, query, names)

    async def rank_keyword(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """`keyword_search` without loading the entities."""
        words = KeywordQuery.of(query) if isinstance(query, str) else query
        return await self.call(RANK_KEYWORD, self._asked(entity_type, document, filters), words, limit)

    async def rank_names(
        self, entity_type: str, query: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """The entities whose names are the query, also misspelt or in another order, best first; similarity 0 to 1."""
        return await self.call(RANK_NAMES, self._asked(entity_type, document, filters), query)

    async def rank_beginnings(
        self, entity_type: str, text: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """The entities whose names a user may be typing, best first: the last word of the text may be unfinished.

        All its words are in the name, the last one as the beginning of a word. The score is a share, 0 to 1: names that begin
        with the text come first, among these the shortest.
        """
        return await self.call(RANK_BEGINNINGS, self._asked(entity_type, document, filters), text)

    # --- names and words ---------------------------------------------------------------------------------------------

    async def names(self, entity_type: str) -> list[str]:
        """The folded names of all entities of a type, in no particular order."""
        return await self.call(NAMES, self._type(entity_type))

    async def word_counts(self, entity_type: str, words: Collection[str]) -> dict[str, int]:
        """How many entities of the type have each word, in any form; words that none has are left out."""
        return await self.call(WORD_COUNTS, self._type(entity_type), words)

    async def word_scores(
        self, entity_type: str, words: Collection[str], among: Collection[Identity], choose: Choose
    ) -> dict[Identity, float]:
        """The BM25 scores that the chosen ones of some words add to some entities.

        The scores are those of `rank_keyword`, except on a server that ranks by itself: they are of about the same size there.
        Entities that have none of the words are left out.

        Args:
            entity_type: the type.
            words: to choose from, folded.
            among: the entities.
            choose: given how many entities of the type have each word, in any form, and how many there are: the words that count.
                Words that none has are left out. Called in another thread.
        """
        return await self.call(WORD_SCORES, self._type(entity_type), words, among, choose)

    # --- changes -----------------------------------------------------------------------------------------------------

    async def store_entities(
        self, entities: Sequence[Entity], entity_type: str, progress: Progress | None = None
    ) -> int:
        require_storable(entities, self._type(entity_type))
        return await self.call(STORE, entity_type, entities, progress)

    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        return await self.call(DELETE_DOCUMENT, self._type(entity_type) if entity_type else None, document)

    async def delete_entities(self, entity_type: str, identities: Iterable[Identity]) -> int:
        return await self.call(DELETE_ENTITIES, self._type(entity_type), list(dict.fromkeys(identities)))

    async def reindex(self, progress: Progress | None = None) -> int:
        return await self.call(REINDEX, None, progress)

    # --- opening -----------------------------------------------------------------------------------------------------

    async def open(self, types: Iterable[str] | None = None) -> None:
        """Open the store and these types now, so that the first query need not wait; otherwise each is opened at first use."""
        await self.call(OPEN, None, list(self.types if types is None else types))


class LibraryCache(SearchCache):
    """What a `Library` needs of its cache in addition.

    Attributes:
        given: the vectors that came with the entries to store.
    """

    given: GivenVectors

    @property
    def store(self) -> Store | None:
        """The store itself, for maintenance; None if another package's backend has it."""
        raise NotImplementedError

    async def version(self, entity_type: str) -> object:
        """A value that changes whenever a type may have changed."""
        return await self.call(VERSION_OF_TYPE, entity_type)
