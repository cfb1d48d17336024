"""What our search needs of a cache, derived from the methods that every backend has.

Names, words and filters are looked up in an index on this machine, which is built from all entities when it is first needed, and
compared with the backend now and then: other programs may write to it.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from lorekeeper.cache.places import COMPANION, path_beside
from lorekeeper.cache.protocol import (
    BATCH,
    GET_ENTITIES,
    Asked,
    CacheProtocol,
    Documents,
    Hit,
    Identity,
    LibraryCache,
    Operation,
    Progress,
    Ranked,
    Statistics,
    Subject,
    type_of,
)
from lorekeeper.cache.sqlite import catalogue
from lorekeeper.cache.sqlite.catalogue import Catalogue
from lorekeeper.cache.sqlite.file import SqliteFile, remove_database
from lorekeeper.cache.supplied_vectors import GivenVectors
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, ConfigError
from lorekeeper.order import BY_NAME, Order
from lorekeeper.settings import Settings, installed_backends

T = TypeVar("T")

COMPARE_SECONDS, COMPARE_SHARE = 30.0, 20
"""How long the index is relied on before it is compared with the backend; as a multiple of what that takes, if that is longer."""

APPLICATION = 0x4C4F4958
"""SQLite's application_id of an index: "LOIX"."""


class DerivedIndex(Catalogue):
    """Names, words and filter fields of a backend's entities, in one SQLite file. Blocking.

    A file that is damaged, or of another version, is made again.
    """

    def __init__(self, path: Path, types: Sequence[str]) -> None:
        tables, kind = catalogue.statements(types), "the index of names and words"
        super().__init__(SqliteFile(path, kind, APPLICATION, 1, tables, durable=False, types=types))

    def follow(self, entity_type: str, current: Mapping[Identity, Entity]) -> None:
        """Make a type's part of the index that of these entities."""
        try:
            indexed = self.ask("content_hashes", dict, entity_type)
        except CacheError:
            self.close()
            remove_database(self.file.path)
            indexed = {}
        wanted = {identity: entity.content_hash for identity, entity in current.items()}
        differing = sorted({identity for identity, _ in indexed.items() ^ wanted.items()})
        changed = [current[identity] for identity in differing if identity in current]

        def write(c: sqlite3.Connection) -> None:
            catalogue.remove(c, entity_type, differing)
            catalogue.insert(c, entity_type, changed)

        if differing:
            self.file.write(write)


class CompletedCache(LibraryCache):
    """A `LibraryCache` on any `CacheProtocol`.

    Args:
        cache: the backend.
        embedding: the service that the backend embeds with.
        index: file of the index of names, words and filters.
        types: the types of entity that it holds.
    """

    store = None

    def __init__(self, cache: CacheProtocol, embedding: EmbeddingService, index: Path, types: Sequence[str]) -> None:
        self.types = types
        self.given = GivenVectors(embedding)
        self._cache = cache
        self._index = DerivedIndex(index, types)
        self._turn = asyncio.Lock()
        self._next: dict[str, float] = {}
        """When each type is to be compared again."""

    async def call(self, operation: Operation[T], subject: Subject, *arguments: Any) -> T:
        """Perform an operation by the method of its name; one that there is none of by the index, in a thread."""
        own = getattr(self, f"_{operation.name}", None)
        if own is not None:
            answer: T = await own(subject, *arguments)
            return answer
        await self._ready(type_of(subject))
        return await self._by_index(operation, subject, *arguments)

    async def close(self) -> None:
        """Close the backend and the index."""
        await self._cache.close()
        self._next.clear()
        await asyncio.to_thread(self._index.close)

    async def _by_index(self, operation: Operation[T], subject: Subject, *arguments: Any) -> T:
        if operation.blocking is None:
            raise TypeError(f"{operation.name} can be done neither by the backend nor by an index of it")
        return await asyncio.to_thread(operation.blocking, self._index, subject, *arguments)

    # --- what the backend does itself --------------------------------------------------------------------------------

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        return await self._cache.get_entity(self._type(entity_type), document, slug)

    async def semantic_search(
        self, entity_type: str, query: str, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        self._asked(entity_type, document, filters)
        return await self._cache.semantic_search(entity_type, query, limit, document, **filters)

    async def iterate(self, entity_type: str, batch_size: int = 2 * BATCH) -> AsyncIterator[list[Entity]]:
        async for batch in self._cache.iterate(self._type(entity_type), batch_size):
            yield batch

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        return await self._cache.documents(list(self.types if types is None else types))

    async def _count_entities(self, asked: Asked) -> int:
        return await self._cache.count_entities(asked.entity_type, asked.document, **asked.filters)

    async def _store_entities(self, entity_type: str, entities: Sequence[Entity], progress: Progress | None) -> int:
        number = await self._cache.store_entities(entities, entity_type, progress)
        self._next.pop(entity_type, None)
        return number

    async def _delete_document(self, entity_type: str | None, document: str) -> int:
        self._next.clear()
        return await self._cache.delete_document(document, entity_type)

    async def _delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> int:
        self._next.pop(entity_type, None)
        return await self._cache.delete_entities(entity_type, identities)

    async def _statistics(self, _: None) -> Statistics:
        found = await self._cache.statistics()
        absent: dict[str, dict[str, int]] = {name: {} for name in self.types}
        return replace(
            found,
            counts=dict.fromkeys(self.types, 0) | found.counts,
            kinds=absent | found.kinds,
            passages=dict.fromkeys(self.types, 0) | found.passages,
        )

    async def _reindex(self, _: None, progress: Progress | None) -> int:
        return await self._cache.reindex(progress)

    # --- what is derived ---------------------------------------------------------------------------------------------

    async def _get_entities(self, asked: Asked, limit: int | None, offset: int, order: Order) -> list[Entity]:
        """By the backend in its own order, else by the index."""
        if order == BY_NAME and not asked.prefer:
            return await self._cache.get_entities(
                asked.entity_type, asked.document, limit=limit, offset=offset, **asked.filters
            )
        await self._ready(asked.entity_type)
        return await self._by_index(GET_ENTITIES, asked, limit, offset, order)

    async def _rank_semantic(self, asked: Asked, query: str | Sequence[str], limit: int) -> list[Ranked]:
        """Several wordings are searched one by one, and their scores added."""
        wordings = [query] if isinstance(query, str) else list(query)
        found: dict[Identity, Ranked] = {}
        for wording in wordings:
            hits = await self._cache.semantic_search(asked.entity_type, wording, limit, asked.document, **asked.filters)
            for hit in hits:
                best, entity, share = found.get(hit.entity.identity), hit.entity, hit.score / len(wordings)
                score = share if best is None else best.score + share
                found[entity.identity] = Ranked(entity.identity, entity.name, score, hit.passage, hit.section)
        return sorted(found.values(), key=lambda ranked: (-ranked.score, ranked.identity))[:limit]

    async def _phrase_similarities(self, *_: object) -> dict[tuple[str, str], float]:
        """None: no entry of another package's backend has shipped phrases."""
        return {}

    async def _open(self, _: None, types: Sequence[str]) -> None:
        for entity_type in types:
            await self._ready(entity_type)

    async def _ready(self, entity_type: str) -> None:
        """Bring a type's part of the index up to date, if it is time to look."""
        self._type(entity_type)
        async with self._turn:
            began = time.monotonic()
            if began < self._next.get(entity_type, -math.inf):
                return
            current = {entity.identity: entity async for batch in self._cache.iterate(entity_type) for entity in batch}
            await asyncio.to_thread(self._index.follow, entity_type, current)
            ended = time.monotonic()
            self._next[entity_type] = ended + max(COMPARE_SECONDS, COMPARE_SHARE * (ended - began))


# --- backends of other packages, which offer them by entry points -----------------------------------------------------

Factory = Callable[[Settings, EmbeddingService], CacheProtocol]
"""What an entry point names."""


def open_installed(settings: Settings, embedding: EmbeddingService, types: Sequence[str]) -> CompletedCache:
    """The cache of another package that the settings name; ConfigError if it cannot be made."""
    name = settings.cache_backend
    try:
        factory: Factory = installed_backends()[name].load()
        cache = factory(settings, embedding)
    except Exception as error:  # whatever the other package raises
        raise ConfigError(
            f"the cache backend {name} of another package cannot be used: {type(error).__name__}: {error}. Update or remove that "
            "package, or set LOREKEEPER_CACHE_BACKEND to milvus"
        ) from error
    return CompletedCache(cache, embedding, path_beside(settings, COMPANION), types)
