"""What our search needs of a cache, derived from the methods that every backend has.

Names, words and filters are looked up in an index on this machine, which is built from all entities when it is first needed, and
compared with the backend now and then: other programs may write to it.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lorekeeper.cache.checks import require_storable
from lorekeeper.cache.given_vectors import GivenVectors
from lorekeeper.cache.protocol import (
    BATCH,
    CacheProtocol,
    Choose,
    Documents,
    Hit,
    Identity,
    Progress,
    Ranked,
    Statistics,
    ValueCounts,
    hits,
)
from lorekeeper.cache.selecting import require_type, selected
from lorekeeper.cache.sqlite import catalogue
from lorekeeper.cache.sqlite.catalogue import Catalogue
from lorekeeper.cache.sqlite.file import SqliteFile, remove_database
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection, collection_of, field_of
from lorekeeper.order import BY_NAME, Order
from lorekeeper.system import AsyncClosing
from lorekeeper.text.keywords import KeywordQuery

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
        super().__init__(SqliteFile(path, kind, APPLICATION, range(1, 2), tables, durable=False, types=types))

    def follow(self, entity_type: str, current: Mapping[Identity, Entity]) -> None:
        """Make a type's part of the index that of these entities."""
        try:
            if self.file.outdated():
                remove_database(self.file.path)
            indexed = self.content_hashes(entity_type)
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

    def mark(self, entity_type: str) -> object:
        """A value that changes whenever the index of a type does."""
        return self._read(lambda c: self.version(c, entity_type))


class CompletedCache(AsyncClosing):
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

    # --- what the backend does itself ------------------------------------------------------------------------------

    async def store_entities(
        self, entities: Sequence[Entity], entity_type: str, progress: Progress | None = None
    ) -> int:
        require_storable(entities, require_type(entity_type, self.types))
        number = await self._cache.store_entities(entities, entity_type, progress)
        self._next.pop(entity_type, None)
        return number

    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        self._next.clear()
        return await self._cache.delete_document(document, entity_type)

    async def delete_entities(self, entity_type: str, identities: Iterable[Identity]) -> int:
        self._next.pop(require_type(entity_type, self.types), None)
        return await self._cache.delete_entities(entity_type, list(identities))

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        return await self._cache.get_entity(require_type(entity_type, self.types), document, slug)

    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        self._selected(entity_type, document, filters)
        return await self._cache.count_entities(entity_type, document, **filters)

    async def semantic_search(
        self, entity_type: str, query: str, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        self._selected(entity_type, document, filters)
        return await self._cache.semantic_search(entity_type, query, limit, document, **filters)

    async def iterate(self, entity_type: str, batch_size: int = 2 * BATCH) -> AsyncIterator[list[Entity]]:
        async for batch in self._cache.iterate(require_type(entity_type, self.types), batch_size):
            yield batch

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        return await self._cache.documents(list(self.types if types is None else types))

    async def statistics(self) -> Statistics:
        found = await self._cache.statistics()
        absent: dict[str, dict[str, int]] = {name: {} for name in self.types}
        return replace(
            found,
            counts=dict.fromkeys(self.types, 0) | found.counts,
            kinds=absent | found.kinds,
            passages=dict.fromkeys(self.types, 0) | found.passages,
        )

    async def reindex(self, progress: Progress | None = None) -> int:
        return await self._cache.reindex(progress)

    async def close(self) -> None:
        """Close the backend and the index."""
        await self._cache.close()
        self._next.clear()
        await asyncio.to_thread(self._index.close)

    # --- what is derived -------------------------------------------------------------------------------------------

    async def rank_semantic(
        self, entity_type: str, query: str | Sequence[str], limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        """See `SearchCache`; several wordings are searched one by one, and their scores added."""
        wordings = [query] if isinstance(query, str) else list(query)
        found: dict[Identity, Ranked] = {}
        for wording in wordings:
            for hit in await self.semantic_search(entity_type, wording, limit, document, **filters):
                best, entity, share = found.get(hit.entity.identity), hit.entity, hit.score / len(wordings)
                score = share if best is None else best.score + share
                found[entity.identity] = Ranked(entity.identity, entity.name, score, hit.passage, hit.section)
        return sorted(found.values(), key=lambda ranked: (-ranked.score, ranked.identity))[:limit]

    async def phrase_similarities(
        self,
        query: str | Sequence[str],  # noqa: ARG002
        names: Collection[tuple[str, str]],  # noqa: ARG002
    ) -> dict[tuple[str, str], float]:
        """None: no entry of another package's backend has shipped phrases."""
        return {}

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
        selection = replace(self._selected(entity_type, document, filters), prefer=prefer)
        if order == BY_NAME and not prefer:
            return await self._cache.get_entities(entity_type, document, limit=limit, offset=offset, **filters)
        await self._ready(entity_type)
        identities = await asyncio.to_thread(self._index.find, selection, limit, offset, order)
        return await self.load(entity_type, identities)

    async def identities(self, entity_type: str, document: Documents = None, **filters: Any) -> list[Identity]:
        selection = self._selected(entity_type, document, filters)
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.find, selection, None, 0)

    async def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.load, entity_type, identities)

    async def count_values(
        self, entity_type: str, field: str, document: Documents = None, **filters: Any
    ) -> ValueCounts:
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
        selection = self._selected(entity_type, document, filters)
        declared = [field_of(collection_of(entity_type), field) for field in fields]
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.count_values, selection, declared, among)

    async def keyword_search(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        return await hits(self, entity_type, await self.rank_keyword(entity_type, query, limit, document, **filters))

    async def rank_keyword(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        selection = self._selected(entity_type, document, filters)
        words = KeywordQuery.of(query) if isinstance(query, str) else query
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.rank_keyword, selection, words, limit)

    async def rank_names(
        self, entity_type: str, query: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        selection = self._selected(entity_type, document, filters)
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.rank_names, selection, query)

    async def rank_beginnings(
        self, entity_type: str, text: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        selection = self._selected(entity_type, document, filters)
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.rank_beginnings, selection, text)

    async def names(self, entity_type: str) -> list[str]:
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.names, entity_type)

    async def known_words(self, entity_type: str, words: Collection[str]) -> set[str]:
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.known_words, entity_type, words)

    async def word_scores(
        self, entity_type: str, words: Collection[str], among: Collection[Identity], choose: Choose
    ) -> dict[Identity, float]:
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.word_scores, entity_type, words, among, choose)

    async def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.content_hashes, entity_type)

    async def mark(self, entity_type: str) -> object:
        await self._ready(entity_type)
        return await asyncio.to_thread(self._index.mark, entity_type)

    async def marks(self, types: Iterable[str]) -> object | None:  # noqa: ARG002
        """None: what other programs write to the backend is not seen at once."""
        return None

    async def open(self, types: Iterable[str] | None = None) -> None:
        for entity_type in self.types if types is None else types:
            await self._ready(entity_type)

    def _selected(self, entity_type: str, document: Documents, filters: Mapping[str, Any]) -> Selection:
        return selected(entity_type, self.types, document, filters)

    async def _ready(self, entity_type: str) -> None:
        """Bring a type's part of the index up to date, if it is time to look."""
        require_type(entity_type, self.types)
        async with self._turn:
            began = time.monotonic()
            if began < self._next.get(entity_type, -math.inf):
                return
            current = {entity.identity: entity async for batch in self._cache.iterate(entity_type) for entity in batch}
            await asyncio.to_thread(self._index.follow, entity_type, current)
            ended = time.monotonic()
            self._next[entity_type] = ended + max(COMPARE_SECONDS, COMPARE_SHARE * (ended - began))
