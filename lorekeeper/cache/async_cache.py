"""`SearchCache` on any store: checks arguments, embeds, and runs all blocking work in threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lorekeeper.cache import phrase_vectors
from lorekeeper.cache.checks import require_storable
from lorekeeper.cache.given_vectors import GivenVectors
from lorekeeper.cache.protocol import (
    BATCH,
    Choose,
    Documents,
    EntitySearches,
    Identity,
    Progress,
    Ranked,
    Statistics,
    ValueCounts,
)
from lorekeeper.cache.selecting import require_type, selected
from lorekeeper.cache.store import Chunked, Store
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection, collection_of, field_of
from lorekeeper.order import BY_NAME, Order
from lorekeeper.system import AsyncClosing, in_thread
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.passages import CHUNKER, passages
from lorekeeper.text.phrases import hint_text

logger = logging.getLogger(__name__)


class ThreadedCache(EntitySearches, AsyncClosing):
    """A cache that opens its store at first use.

    Args:
        store: stores everything.
        embedding: computes the vectors.
    """

    def __init__(self, store: Store, embedding: EmbeddingService) -> None:
        self._store = store
        self._embedding = embedding
        self.given = GivenVectors(embedding)
        """The vectors that came along with entries which are to be stored."""

    @property
    def types(self) -> Sequence[str]:
        """The types of entity that it holds."""
        return self._store.types

    @property
    def store(self) -> Store:
        """The store itself, for maintenance."""
        return self._store

    async def mark(self, entity_type: str) -> object:
        """A value that changes whenever a type may have changed."""
        return await asyncio.to_thread(self._store.mark, entity_type)

    async def marks(self, types: Iterable[str]) -> object | None:
        def read() -> object | None:
            return [self._store.mark(name) for name in types] if self._store.marks_all_writes else None

        return await asyncio.to_thread(read)

    async def store_entities(
        self, entities: Sequence[Entity], entity_type: str, progress: Progress | None = None
    ) -> int:
        self._type(entity_type)
        require_storable(entities, entity_type)
        latest = list({e.identity: e for e in entities}.values())
        write: asyncio.Task[None] | None = None
        try:
            for start in range(0, len(latest), BATCH):
                chunked, vectors = await self._embedded(latest[start : start + BATCH])
                if write:  # one batch is written while the next one is embedded
                    await write
                write = asyncio.create_task(self._write(entity_type, chunked, vectors, progress))
        finally:
            if write:
                await write
        if latest:
            await asyncio.to_thread(self._store.flush, entity_type)
        return len(latest)

    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        types = [self._type(entity_type)] if entity_type else list(self.types)
        return sum([await asyncio.to_thread(self._store.delete_document, t, document) for t in types])

    async def delete_entities(self, entity_type: str, identities: Iterable[Identity]) -> int:
        self._type(entity_type)
        return await asyncio.to_thread(self._store.delete_entities, entity_type, list(dict.fromkeys(identities)))

    async def reindex(self, progress: Progress | None = None) -> int:
        await asyncio.to_thread(self._store.upgrade)
        embedding = await self.fingerprint()
        dimension = (await self._embedding.provider()).dimension
        done = 0
        for entity_type in self.types:
            async with in_thread(self._store.write_lock()):
                done += await self._rebuild(entity_type, embedding, dimension, progress)
        return done

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
        identities = await asyncio.to_thread(self._store.find, selection, limit, offset, order)
        return await self.load(entity_type, identities)

    async def identities(self, entity_type: str, document: Documents = None, **filters: Any) -> list[Identity]:
        return await asyncio.to_thread(self._store.find, self._selected(entity_type, document, filters), None, 0)

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        entities = await self.load(entity_type, [(document, slug)])
        return entities[0] if entities else None

    async def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        self._type(entity_type)
        return await asyncio.to_thread(self._store.load, entity_type, identities)

    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        return await asyncio.to_thread(self._store.count, self._selected(entity_type, document, filters))

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
        return await asyncio.to_thread(self._store.count_values, selection, declared, among)

    async def rank_semantic(
        self, entity_type: str, query: str | Sequence[str], limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        selection = self._selected(entity_type, document, filters)
        if not self._embedding.loaded and await asyncio.to_thread(self._store.embedding_of, entity_type) is None:
            return []
        vector, embedding = await self._direction(query), await self.fingerprint()
        return await asyncio.to_thread(self._store.rank_semantic, selection, vector, limit, embedding)

    async def phrase_similarities(
        self, query: str | Sequence[str], names: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], float]:
        vector, model = await self._direction(query, again=True), await self._model()
        vectors = phrase_vectors.shipped()
        if not vectors.ready:
            return await asyncio.to_thread(vectors.similarities, model, vector, names)
        return vectors.similarities(model, vector, names)  # in half a millisecond

    async def _direction(self, query: str | Sequence[str], *, again: bool = False) -> Vectors:
        """The vector of a query; of several wordings, that of the sum of their vectors. ``again`` as in `embed_queries`."""
        wordings = [query] if isinstance(query, str) else list(query)
        vectors = await self._embedding.embed_queries(wordings, again=again)
        vector: Vectors = normalized(vectors.sum(axis=0, keepdims=True))[0] if len(wordings) > 1 else vectors[0]
        return vector

    async def rank_keyword(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        words = KeywordQuery.of(query) if isinstance(query, str) else query
        return await asyncio.to_thread(
            self._store.rank_keyword, self._selected(entity_type, document, filters), words, limit
        )

    async def rank_names(
        self, entity_type: str, query: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        return await asyncio.to_thread(self._store.rank_names, self._selected(entity_type, document, filters), query)

    async def rank_beginnings(
        self, entity_type: str, text: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        return await asyncio.to_thread(
            self._store.rank_beginnings, self._selected(entity_type, document, filters), text
        )

    async def names(self, entity_type: str) -> list[str]:
        return await asyncio.to_thread(self._store.names, self._type(entity_type))

    async def known_words(self, entity_type: str, words: Collection[str]) -> set[str]:
        return await asyncio.to_thread(self._store.known_words, self._type(entity_type), words)

    async def word_scores(
        self, entity_type: str, words: Collection[str], among: Collection[Identity], choose: Choose
    ) -> dict[Identity, float]:
        name = self._type(entity_type)
        return await asyncio.to_thread(self._store.word_scores, name, words, among, choose)

    async def iterate(self, entity_type: str, batch_size: int = 2 * BATCH) -> AsyncIterator[list[Entity]]:
        self._type(entity_type)
        identities = await asyncio.to_thread(self._store.identities, entity_type)
        for start in range(0, len(identities), batch_size):
            batch = await self.load(entity_type, identities[start : start + batch_size])
            if batch:
                yield batch

    async def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        return await asyncio.to_thread(self._store.content_hashes, self._type(entity_type))

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {}
        failures: dict[str, CacheError] = {}
        for entity_type in (entity_types := list(self.types if types is None else types)):
            try:
                by_document = await asyncio.to_thread(self._store.count_by, entity_type, "document")
            except CacheError as error:
                logger.warning("the documents of %s are not known: %s", entity_type, error)
                failures[entity_type] = error
                continue
            for document, number in by_document.items():
                counts.setdefault(document, {})[entity_type] = number
        if failures and failures.keys() == set(entity_types):
            raise next(iter(failures.values()))
        return dict(sorted(counts.items()))

    async def statistics(self) -> Statistics:
        return await asyncio.to_thread(self._store.statistics)

    async def open(self, types: Iterable[str] | None = None) -> None:
        await asyncio.to_thread(self._store.open, list(self.types if types is None else types))

    async def close(self) -> None:
        await asyncio.to_thread(self._store.close)

    async def _rebuild(self, entity_type: str, embedding: str, dimension: int, progress: Progress | None) -> int:
        """Rebuild all vectors of a type beside the old ones, then replace these; returns the number of entities."""
        if not await asyncio.to_thread(self._store.begin_rebuild, entity_type, embedding, dimension):
            return 0
        done = 0
        async for batch in self.iterate(entity_type, BATCH):
            await asyncio.to_thread(self._store.rebuild, entity_type, *await self._embedded(batch))
            done += len(batch)
            if progress:
                progress(len(batch))
        await asyncio.to_thread(self._store.end_rebuild, entity_type)
        return done

    async def _write(self, entity_type: str, chunked: Chunked, vectors: Vectors, progress: Progress | None) -> None:
        await asyncio.to_thread(self._store.write, entity_type, chunked, vectors, await self.fingerprint())
        if progress:
            progress(len(chunked))

    async def _embedded(self, entities: Sequence[Entity]) -> tuple[Chunked, Vectors]:
        """Entities with their passages, and the vectors of all of these."""
        chunked = await asyncio.to_thread(
            lambda: [(entity, passages(entity, hint=hint_text(entity))) for entity in entities]
        )
        given = [vector for entity, parts in chunked for vector in self._given_to(entity, len(parts))]
        texts = [passage.embedded for _, parts in chunked for passage in parts]
        computed = await self._embedding.embed([text for text, own in zip(texts, given, strict=True) if own is None])
        if len(computed) == len(texts):
            return chunked, computed
        further = iter(computed)
        return chunked, np.stack([next(further) if own is None else own for own in given])

    def _given_to(self, entity: Entity, number: int) -> Sequence[Vectors | None]:
        """The vectors that came with an entry, by passage; None for what is to be embedded here."""
        return self.given.take(entity) or [None] * number

    async def fingerprint(self) -> str:
        """What vectors are made with now: model and chunker. EmbeddingError if the model cannot be loaded."""
        return f"{await self._model()} {CHUNKER}"

    async def _model(self) -> str:
        """Fingerprint of the current model. EmbeddingError if it cannot be loaded."""
        return self._embedding.fingerprint or (await self._embedding.provider()).fingerprint

    def _type(self, entity_type: str) -> str:
        return require_type(entity_type, self.types)

    def _selected(self, entity_type: str, document: Documents, filters: Mapping[str, Any]) -> Selection:
        return selected(entity_type, self.types, document, filters)
