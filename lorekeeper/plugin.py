"""The cache for programs of other projects: plain dicts in, the same dicts out. See ``docs/plugin.md``.

async with MilvusCache("~/shop/milvus.db") as cache:
    await cache.store_entities([{"slug": "fireball", "name": "Fireball", "desc": "...", "level": 3}], "spells")
    await cache.semantic_search("spells", "protect from fire", level_max=4)
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, get_args

from lorekeeper.cache.protocol import Documents, Identity, Progress, Ranked, Statistics
from lorekeeper.embedding import EmbeddingProvider, EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS, WHOLE_NAME, Collection, Entity, declare, held
from lorekeeper.errors import CacheError, ConfigError, EmbeddingError, EntityError, FilterError
from lorekeeper.opening import embedding_of, load_provider, open_cache, vector_cache
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.settings import HOME, Settings, load_settings, settings_of
from lorekeeper.system import AsyncClosing
from lorekeeper.text.searchable import SHORT_TEXT, is_short
from lorekeeper.text.sections import TEXT_KEYS

if TYPE_CHECKING:
    from lorekeeper.cache.protocol import LibraryCache
    from lorekeeper.cache.supplied_vectors import GivenVectors
    from lorekeeper.embedding.protocol import Vectors
    from lorekeeper.embedding.service import Model

    Embedding = Model | EmbeddingService | None
    Types = Iterable[Collection] | None

logger = logging.getLogger(__name__)

NAMED = 5
"""Entities that a warning names."""

PROSE = 80
"""A text of so many characters is prose, and no name or value."""

FUSED, RRF_K = 100, 60
"""How many entities of each ranking are fused, and the constant of reciprocal rank fusion (Cormack et al., SIGIR 2009)."""

Entry = dict[str, Any]
"""An entity as it was stored: a JSON object."""

Mode = Literal["hybrid", "semantic", "keyword"]
"""What a search goes by: meaning and words, or one of them."""


C = TypeVar("C", bound="EntityCache")
F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])


def _with_types(method: F) -> F:
    """A method in which names of types are those of its cache."""

    @wraps(method)
    async def called(cache: EntityCache, /, *args: Any, **kwargs: Any) -> Any:
        with held(cache._types):
            return await method(cache, *args, **kwargs)

    return cast(F, called)


class EntityCache(AsyncClosing):
    """Stores plain dicts by type, with filters, vectors and keywords. It opens at first use; use it in ``async with``.

    A dict keeps all its keys. Its identity is ``document`` (the default one if it has none) and ``slug``, else ``key``, else its
    name; a dict of equal identity replaces the one before. The filter fields of a type are read from the keys of their names; for
    5e types also from Open5e's two shapes. A ``document`` of a method is one key, or a list of keys: any of them.

    Filters are keyword arguments: ``level=3``, ``level_min=1``, ``school=["evocation", "necromancy"]`` (any of them), and
    ``name`` for a part of the name. They apply before the limit, and an entity without a value matches none.

    A filter that is None is no filter. Dates are texts, or `datetime.date` and `datetime.datetime`, which are stored as texts.

    Every method may raise CacheError (UpgradingError while the library is being opened), FilterError (for an unknown
    type, field or value; the message lists the known ones) and, if it makes vectors, EmbeddingError.

    Attributes:
        last_fallback: why the last `semantic_search` ranked by names and words instead of meaning; None if it did not.
    """

    def __init__(
        self,
        cache: LibraryCache,
        embedding: EmbeddingService,
        types: Mapping[str, Collection] = COLLECTIONS,
        *,
        owned: bool = True,
        default_document: str | None = None,
    ) -> None:
        self._cache, self._embedding, self._types, self._owned = cache, embedding, types, owned
        self._default_document = default_document
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.last_fallback: str | None = None

    @property
    def embedding(self) -> EmbeddingService:
        """What makes its vectors."""
        return self._embedding

    @_with_types
    async def store_entities(
        self,
        entities: Iterable[Mapping[str, Any] | Entity],
        entity_type: str,
        progress: Progress | None = None,
        *,
        vectors: str | Sequence[Sequence[float]] | Vectors | None = None,
    ) -> int:
        """Store dicts, or `Entity` objects, with their vectors; returns how many. They survive the end of the process then.

        An entity whose vector is given is one passage of that vector, and its text is not embedded; `reindex` embeds it.

        Args:
            entities: the dicts; if several have one identity, the last is stored.
            entity_type: "spells", "creatures", ... or a type that the cache was given.
            progress: called with the number of further entities stored.
            vectors: of shape (number of entities, dimension of the model), of any length; or the key under which dicts have
                theirs, which is taken out of them: those without it are embedded.

        Raises:
            EntityError: one cannot be stored, because it has no name, or a field or a vector is wrong; nothing is stored then.
        """
        objects = list(entities)
        if isinstance(vectors, str):
            objects, vectors = _apart(objects, vectors)
        checked = await asyncio.to_thread(_entities, objects, entity_type, self._default_document)
        if vectors is None:
            return await self._cache.store_entities(checked, entity_type, progress)
        if len(vectors) != len(checked):
            raise EntityError(f"there are {len(vectors)} vectors for {len(checked)} entities; nothing was stored")
        given = self._given()
        await given.give(checked, list(vectors))
        try:
            return await self._cache.store_entities(checked, entity_type, progress)
        finally:
            for entity in checked:
                given.take(entity)

    @_with_types
    async def get_entities(
        self, entity_type: str, document: Documents = None, *, limit: int | None = None, offset: int = 0, **filters: Any
    ) -> list[Entry]:
        """The entities under the filters, by name; all of them without a limit."""
        _check(document=document, limit=limit, offset=offset)
        found = await self._cache.get_entities(entity_type, document, limit=limit, offset=offset, **filters)
        return [dict(entity.data) for entity in found]

    @_with_types
    async def get_entity(self, entity_type: str, key: str, document: str | None = None) -> Entry | None:
        """One entity by its slug, key or whole name, None if there is none; if several documents have it, the first one's."""
        _check(document=document)
        found = await self._at(entity_type, [key], document)
        if not found and str(key).strip():
            named: dict[str, Any] = {WHOLE_NAME.name: str(key)}
            found = await self._cache.get_entities(entity_type, document, limit=1, **named)
        return dict(found[0].data) if found else None

    @_with_types
    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        """Number of entities under the filters."""
        _check(document=document)
        return await self._cache.count_entities(entity_type, document, **filters)

    @_with_types
    async def semantic_search(
        self, entity_type: str, query: str, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Entry]:
        """The entities nearest in meaning under the filters, best first, each with its ``_score``.

        The score is the cosine similarity (-1 to 1) of the query and the entity's nearest passage. If there are no vectors to
        compare with, because the model cannot be used, the entities of that name come instead, then those with its words; if there
        are none, all that meet the filters. Their ``_score`` is None, `last_fallback` says why and which of these they are, and so
        does a warning in the log.
        """
        _check(document=document, limit=limit, query=query)
        filters = {name: value for name, value in filters.items() if value is not None}
        try:
            hits = await self._cache.semantic_search(entity_type, query, limit, document, **filters)
        except EmbeddingError as error:
            found, _ = await self._fallback(entity_type, query, limit, document, filters, error)
            return [{**entity.data, "_score": None} for entity in found]
        self.last_fallback = None
        return [{**hit.entity.data, "_score": hit.score} for hit in hits]

    @_with_types
    async def search(
        self,
        entity_type: str,
        query: str,
        limit: int = 20,
        document: Documents = None,
        *,
        mode: Mode = "hybrid",
        score_key: str = "_score",
        match_key: str = "_match",
        **filters: Any,
    ) -> list[Entry]:
        """The entities nearest in meaning, or in words, or in both, under the filters, best first.

        Hybrid is reciprocal rank fusion: an entity's score is the sum of 1 / (60 + rank) over the two rankings. If there are no
        vectors to compare with, it answers as `semantic_search` does then.

        Args:
            entity_type: as everywhere.
            query: a text.
            limit: how many at most.
            document: as everywhere.
            mode: "hybrid"; "semantic", whose score is the cosine similarity; "keyword", whose score is that of BM25.
            score_key: the key of the score in each answer.
            match_key: the key of what found it: "meaning", "words", "meaning and words", or "filters".
            **filters: as everywhere.
        """
        _check(document=document, limit=limit, query=query)
        if mode not in get_args(Mode):
            raise FilterError(f"mode must be one of {', '.join(get_args(Mode))}, not {shown(mode)}")
        filters = {name: value for name, value in filters.items() if value is not None}
        asked = (entity_type, query, max(limit, FUSED), document)
        rankings: dict[str, list[Ranked]] = {}
        self.last_fallback = None
        if mode != "keyword":
            try:
                rankings["meaning"] = await self._cache.rank_semantic(*asked, **filters)
            except EmbeddingError as error:
                found, by = await self._fallback(entity_type, query, limit, document, filters, error)
                match = "filters" if by.startswith("filters") else "words"
                return [{**entity.data, score_key: None, match_key: match} for entity in found]
        if mode != "semantic":
            rankings["words"] = await self._cache.rank_keyword(*asked, **filters)
        scores = _fused(rankings) if mode == "hybrid" else {r.identity: r.score for r in next(iter(rankings.values()))}
        best = sorted(scores, key=lambda identity: (-scores[identity], identity))[:limit]
        having = {by: {ranked.identity for ranked in ranking} for by, ranking in rankings.items()}
        return [
            {
                **entity.data,
                score_key: scores[entity.identity],
                match_key: " and ".join(by for by, all_of_it in having.items() if entity.identity in all_of_it),
            }
            for entity in await self._cache.load(entity_type, best)
        ]

    async def iterate(self, entity_type: str) -> AsyncIterator[Entry]:
        """All entities of a type, by document and slug, without holding them all in memory."""
        batches = aiter(self._cache.iterate(entity_type))
        while True:
            with held(self._types):
                batch = await anext(batches, None)
            if batch is None:
                return
            for entity in batch:
                yield dict(entity.data)

    @_with_types
    async def delete_entities(self, entity_type: str, keys: Iterable[str], document: str | None = None) -> int:
        """Remove entities by slug or key, from one document or from all; returns how many there were.

        A name removes only what was stored without slug and key: several entities may have one name.
        """
        _check(document=document, keys=keys)
        found = await self._at(entity_type, [keys] if isinstance(keys, str) else keys, document)
        return await self._cache.delete_entities(entity_type, [entity.identity for entity in found])

    @_with_types
    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        """Remove all entities of a document, of one type or of all; returns how many there were."""
        if not isinstance(document, str):
            raise FilterError(f"document must be the key of a document, not {shown(document)}")
        return await self._cache.delete_document(document, entity_type)

    @_with_types
    async def documents(self) -> dict[str, dict[str, int]]:
        """Number of entities by document key and type."""
        return await self._cache.documents()

    @_with_types
    async def statistics(self) -> Statistics:
        """Counts by type and kind, the vectors' model, and where the cache is."""
        return await self._cache.statistics()

    @_with_types
    async def reindex(self, progress: Progress | None = None) -> int:
        """Embed everything again, after a change of the model; returns how many entities. Searches go on meanwhile."""
        return await self._cache.reindex(progress)

    async def close(self) -> None:
        """Release files and connections; a cache that is used again opens again. Closing twice does nothing."""
        with held(self._types):
            await self._cache.close()
        if self._owned:
            self._embedding.close()
        if self._folder is not None:
            await asyncio.to_thread(self._folder.cleanup)

    def _given(self) -> GivenVectors:
        """Where vectors of the caller's wait for their entities; CacheError if the cache makes all vectors itself."""
        if self._cache.store is None:
            raise CacheError("this backend of another package makes its vectors itself; store without vectors=")
        return self._cache.given

    async def _fallback(
        self,
        entity_type: str,
        query: str,
        limit: int,
        document: Documents,
        filters: Mapping[str, Any],
        error: EmbeddingError,
    ) -> tuple[list[Entity], str]:
        """What a search finds without vectors, and by what: names and words, or if none has any the filters, if there are some."""
        found: dict[Identity, None] = {}
        for ranking in (
            await self._cache.rank_names(entity_type, query, document, **filters),
            await self._cache.rank_keyword(entity_type, query, limit, document, **filters),
        ):
            found.update((ranked.identity, None) for ranked in ranking)
        by = "names and words"
        if not found and (filters or document is not None):
            found = dict.fromkeys(await self._cache.identities(entity_type, document, **filters))
            by = "filters alone, since none has a word of the query"
        self.last_fallback = f"{entity_type} are searched by {by}: {error}"
        logger.warning("%s", self.last_fallback)
        return await self._cache.load(entity_type, list(found)[:limit]), by

    async def _at(self, entity_type: str, keys: Iterable[str], document: str | None) -> list[Entity]:
        """The entities that were stored under keys: their slugs or keys, with their document as Open5e writes them, else names."""
        from lorekeeper.normalize.build import slugify
        from lorekeeper.normalize.plain import is_called

        wanted: dict[Identity, str] = {}
        documents = [document] if document is not None else list(await self._cache.documents([entity_type]))
        for key in map(str, keys):
            prefix, _, rest = key.partition("_")
            wanted |= {(name, slug): key for slug in (slugify(key), key) for name in documents}
            if rest and document in (None, prefix):
                wanted[prefix, rest] = rest
        found = await self._cache.load(entity_type, [identity for identity in wanted if all(identity)])
        return [entity for entity in found if is_called(entity, wanted[entity.identity])]


class MilvusCache(EntityCache):
    """A cache in Milvus: an embedded library in a folder, or on a server. See `EntityCache` for its methods.

    Next to the folder are files whose names begin with its name, and ``vectors.db``, the embedding cache.

    Args:
        path: the folder, or the address of a server, such as ``http://127.0.0.1:19530``.
        embedding: makes the vectors: the name or folder of a model, a provider, or an `EmbeddingService`, which is not closed with
            the cache; by default the model of LOREKEEPER_EMBEDDING_MODEL.
        collections: the types of entity that it holds; by default those of 5e, `COLLECTIONS`.
        default_document: the document of dicts that name none, "homebrew" unless another is given.
        token: the server's token, or ``user:password``.
        folder: with a server, where files of this machine are.
        index: with a server, the index of the collections that it makes; all but FLAT find approximately.
        search: what answers by meaning in an embedded library: its "index", which compares all vectors, or "milvus",
            the collections, as on a server. They find the same.
        share: whether other processes of this user may use an embedded library while this one has it open. Then a thread waits
            for them at a private socket; without, they get a MilvusConnectionError.
        db_path: another name of ``path``.

    Raises:
        ConfigError: a type cannot be declared, see `Collection`.
    """

    def __init__(
        self,
        path: str | Path = HOME / "milvus.db",
        *,
        embedding: Embedding = None,
        collections: Types = None,
        default_document: str | None = None,
        token: str | None = None,
        folder: str | Path = HOME,
        index: Literal["FLAT", "IVF_FLAT", "HNSW"] = "FLAT",
        search: Literal["index", "milvus"] = "index",
        share: bool = True,
        db_path: str | Path | None = None,
    ) -> None:
        path = path if db_path is None else db_path
        if "://" in str(path):
            own = Path(folder) / "milvus.db"
            settings = settings_of(
                {"milvus_uri": str(path), "milvus_token": token, "milvus_db_path": own, "milvus_index": index}
            )
        else:
            settings = settings_of({"milvus_db_path": Path(path), "milvus_search": search, "milvus_share": share})
        super().__init__(
            *_opened(settings, embedding, collections),
            owned=not isinstance(embedding, EmbeddingService),
            default_document=default_document,
        )

    @classmethod
    def temporary(cls, *, embedding: Embedding = HashingProvider, collections: Types = None) -> Self:
        """An empty cache for a test, in a folder that is removed when it is closed; without a model, by `HashingProvider`."""
        return _temporary(lambda folder: cls(folder / "milvus.db", embedding=embedding, collections=collections))


class SqliteCache(EntityCache):
    """A cache in one SQLite file, vectors included. See `EntityCache` for its methods, and `MilvusCache` for its arguments."""

    def __init__(
        self,
        path: str | Path = HOME / "cache.db",
        *,
        embedding: Embedding = None,
        collections: Types = None,
        default_document: str | None = None,
        db_path: str | Path | None = None,
    ) -> None:
        file = Path(path if db_path is None else db_path)
        settings = settings_of({"cache_backend": "sqlite", "sqlite_db_path": file})
        super().__init__(
            *_opened(settings, embedding, collections),
            owned=not isinstance(embedding, EmbeddingService),
            default_document=default_document,
        )

    @classmethod
    def temporary(cls, *, embedding: Embedding = HashingProvider, collections: Types = None) -> Self:
        """An empty cache for a test, as that of `MilvusCache`."""
        return _temporary(lambda folder: cls(folder / "cache.db", embedding=embedding, collections=collections))


@dataclass(frozen=True)
class CacheConfig:
    """What a cache is made of, in place of the environment: see `create_cache`.

    Attributes:
        backend: "milvus" or "sqlite".
        milvus_db_path: folder of the embedded library.
        sqlite_db_path: file of the SQLite cache.
        embedding_model: name or folder of the model.
        embedding_dimension: of its vectors; the first use raises a ConfigError if the model has another one. None for any.
    """

    backend: str = "milvus"
    milvus_db_path: str | Path = HOME / "milvus.db"
    sqlite_db_path: str | Path = HOME / "cache.db"
    embedding_model: str = "all-MiniLM-L6-v2"
    embedding_dimension: int | None = None

    def settings(self) -> Settings:
        """The settings of these names; ConfigError if a value is wrong."""
        return settings_of(
            {
                "cache_backend": self.backend,
                "milvus_db_path": Path(self.milvus_db_path),
                "sqlite_db_path": Path(self.sqlite_db_path),
                "embedding_model": self.embedding_model,
            }
        )


def create_cache(
    settings: Settings | CacheConfig | None = None,
    *,
    embedding: Embedding = None,
    collections: Types = None,
    default_document: str | None = None,
) -> EntityCache:
    """The cache of the environment: by LOREKEEPER_CACHE_BACKEND, in LOREKEEPER_MILVUS_DB_PATH, _MILVUS_URI or _SQLITE_DB_PATH.

    Args:
        settings: instead of those of the environment and the user's own file.
        embedding: as for `MilvusCache`; by default the model of the settings.
        collections: as for `MilvusCache`.
        default_document: as for `MilvusCache`.

    Raises:
        ConfigError: the settings are wrong, or a type cannot be declared.
    """
    if isinstance(settings, CacheConfig):
        dimension, settings = settings.embedding_dimension, settings.settings()
        embedding = embedding or partial(_provider, settings, dimension)
    settings = settings or load_settings()[0]
    return EntityCache(
        *_opened(settings, embedding or embedding_of(settings), collections),
        owned=not isinstance(embedding, EmbeddingService),
        default_document=default_document,
    )


def _provider(settings: Settings, dimension: int | None) -> EmbeddingProvider:
    """The model of settings, whose vectors must have a dimension; ConfigError if they have another one. Blocking."""
    provider = load_provider(settings)
    if dimension not in (None, provider.dimension):
        raise ConfigError(f"vectors of {provider.name} have {provider.dimension} numbers, not {dimension}")
    return provider


def _temporary(make: Callable[[Path], C]) -> C:
    """A cache in a folder of its own, which is removed when it is closed."""
    folder = tempfile.TemporaryDirectory(prefix="lorekeeper-")
    cache = make(Path(folder.name))
    cache._folder = folder
    return cache


def _opened(
    settings: Settings, embedding: Embedding, collections: Types
) -> tuple[LibraryCache, EmbeddingService, Mapping[str, Collection]]:
    """The cache of the settings, what makes its vectors, and its types; both open at first use."""
    given = COLLECTIONS.values() if collections is None else map(declare, collections)
    types = {collection.name: collection for collection in given}
    if not isinstance(embedding, EmbeddingService):
        embedding = EmbeddingService(embedding, vector_cache(settings))
    with held(types):
        return open_cache(settings, embedding, list(types)), embedding, types


def _apart(
    objects: Sequence[Mapping[str, Any] | Entity], key: str
) -> tuple[list[Mapping[str, Any] | Entity], list[Any]]:
    """Dicts without the vectors that they have under a key, and these: None for a dict that has none."""
    plain: list[Mapping[str, Any] | Entity] = [
        {name: value for name, value in obj.items() if name != key} if isinstance(obj, Mapping) else obj
        for obj in objects
    ]
    return plain, [obj.get(key) if isinstance(obj, Mapping) else None for obj in objects]


def _fused(rankings: Mapping[str, Sequence[Ranked]]) -> dict[Identity, float]:
    """The scores of reciprocal rank fusion."""
    scores: dict[Identity, float] = {}
    for ranking in rankings.values():
        for rank, ranked in enumerate(ranking, 1):
            scores[ranked.identity] = scores.get(ranked.identity, 0.0) + 1 / (RRF_K + rank)
    return scores


def _entities(objects: Iterable[Mapping[str, Any] | Entity], entity_type: str, default: str | None) -> list[Entity]:
    """The entities of objects; EntityError, with the place of the first one that cannot be stored. Blocking."""
    from lorekeeper.normalize.plain import plain_entity

    entities: list[Entity] = []
    plain: list[Entity] = []
    for place, obj in enumerate(objects, 1):
        try:
            entities.append(plain_entity(obj, entity_type, default))
            plain += [] if isinstance(obj, Entity) else entities[-1:]
        except EntityError as error:
            raise EntityError(
                f"entity {place} cannot be stored under {entity_type}: {error}; nothing was stored"
            ) from error
    _warn_of_short_texts(entities, entity_type)
    _warn_of_unread_texts(plain, entity_type)
    return entities


def _warn_of_unread_texts(entities: Sequence[Entity], entity_type: str) -> None:
    """Say under which keys of plain dicts prose lies that is not searched, where a type does not declare its keys itself."""
    unread = Counter(key for entity in entities for key in _unread_keys(entity)).most_common(NAMED)
    if unread:
        logger.warning(
            "texts of %s are stored but not searched under %s; put them under 'desc', or declare a type whose text names the keys",
            entity_type,
            ", ".join(f"{one_line(key, MAX_SHOWN)!r} ({number:,} of {len(entities):,})" for key, number in unread),
        )


def _unread_keys(entity: Entity) -> list[str]:
    """The keys of a plain object under which prose lies that is no part of the entity's text; none of Open5e's whole objects."""
    if entity.collection.text or "document__slug" in entity.data or isinstance(entity.data.get("document"), Mapping):
        return []
    read = {"name", *(key for key, _ in TEXT_KEYS), *(field.name for field in entity.collection.fields)}
    return [
        key
        for key, value in entity.data.items()
        if key not in read and isinstance(value, str) and len(value) >= PROSE and len(value.split()) > 1
    ]


def _check(
    *, document: object = None, limit: object = None, offset: object = 0, query: object = "", keys: object = ()
) -> None:
    """FilterError for an argument that is none of what every method takes."""
    if not isinstance(keys, Iterable):
        raise FilterError(f"keys must be slugs or keys of entities, not {shown(keys)}")
    if not isinstance(query, str):
        raise FilterError(f"query must be a text, not {shown(query)}")
    for name, number in (("limit", limit), ("offset", offset)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
            raise FilterError(f"{name} must be a whole number of at least 0, not {shown(number)}")
    keys = [document] if document is None or isinstance(document, str) else document
    if not isinstance(keys, Iterable) or not all(key is None or isinstance(key, str) for key in keys):
        raise FilterError(f"document must be the key of a document, or a list of keys, not {shown(document)}")


def _warn_of_short_texts(entities: Sequence[Entity], entity_type: str) -> None:
    short = [entity.name for entity in entities if is_short(entity)]
    if short:
        logger.warning(
            "%d of %d %s have less than %d characters of text, and are found by name, kind and facts alone: %s%s",
            len(short),
            len(entities),
            entity_type,
            SHORT_TEXT,
            ", ".join(short[:NAMED]),
            ", ..." if len(short) > NAMED else "",
        )
