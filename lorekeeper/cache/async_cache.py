"""A cache on any store: embeds, and runs all blocking work in threads."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from lorekeeper.cache.protocol import (
    BATCH,
    Asked,
    InView,
    LibraryCache,
    Operation,
    Progress,
    Ranked,
    Subject,
)
from lorekeeper.cache.snapshot import apart, once, outside
from lorekeeper.cache.store import Chunked, Store
from lorekeeper.cache.supplied_vectors import GivenVectors
from lorekeeper.embedding import EmbeddingService, phrase_vectors
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.entities import Entity
from lorekeeper.system import TURNS, in_thread
from lorekeeper.text.passages import CHUNKER, passages
from lorekeeper.text.phrases import hint_text

T = TypeVar("T")


class ThreadedCache(LibraryCache):
    """A cache that opens its store at first use.

    Args:
        store: stores everything.
        embedding: computes the vectors.
    """

    def __init__(self, store: Store, embedding: EmbeddingService) -> None:
        self.types = store.types
        self.given = GivenVectors(embedding)
        self._store = store
        self._embedding = embedding
        self.has_snapshots = store.reads_in_turn

    @property
    def store(self) -> Store:
        """The store itself, for maintenance."""
        return self._store

    async def call(self, operation: Operation[T], subject: Subject, *arguments: Any) -> T:
        """Perform an operation by the store, in a thread; what is not for the store alone by the method of its name."""
        if operation.blocking is not None:
            run = asyncio.to_thread if operation.in_view is InView.LIBRARY else apart
            return await run(operation.blocking, self._store, subject, *arguments)
        answer: T = await getattr(self, f"_{operation.name}")(subject, *arguments)
        return answer

    async def close(self) -> None:
        """Close the store; the next use opens it again."""
        await asyncio.to_thread(self._store.close)

    async def fingerprint(self) -> str:
        """What vectors are made with now: model and chunker. EmbeddingError if the model cannot be loaded."""
        return f"{await self._model()} {CHUNKER}"

    async def _model(self) -> str:
        """Fingerprint of the current model. EmbeddingError if it cannot be loaded."""
        return self._embedding.fingerprint or (await outside(self._embedding.provider)).fingerprint

    async def _open(self, _: None, types: Sequence[str]) -> None:
        await asyncio.to_thread(self._store.open, types)

    # --- by meaning --------------------------------------------------------------------------------------------------

    async def _rank_semantic(self, asked: Asked, query: str | Sequence[str], limit: int) -> list[Ranked]:
        if not self._embedding.loaded and await apart(self._store.embedding_of, asked.entity_type) is None:
            return []
        vector, embedding = await self._direction(query), await self.fingerprint()
        return await apart(self._store.rank_semantic, asked, vector, limit, embedding)

    async def _phrase_similarities(
        self, _: None, query: str | Sequence[str], names: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], float]:
        vector, model = await self._direction(query, again=True), await self._model()
        vectors = phrase_vectors.shipped()
        if not vectors.ready:
            return await apart(vectors.similarities, model, vector, names)
        return vectors.similarities(model, vector, names)  # in half a millisecond

    async def _direction(self, query: str | Sequence[str], *, again: bool = False) -> Vectors:
        """The vector of a query; of several wordings, that of the sum of their vectors. ``again`` as in `embed_queries`."""
        wordings = [query] if isinstance(query, str) else list(query)
        embedded = partial(self._embedding.embed_queries, wordings, again=again)
        vectors = await once(("vectors", *wordings), lambda: asyncio.ensure_future(outside(embedded)))
        vector: Vectors = normalized(vectors.sum(axis=0, keepdims=True))[0] if len(wordings) > 1 else vectors[0]
        return vector

    # --- changes -----------------------------------------------------------------------------------------------------

    async def _store_entities(self, entity_type: str, entities: Sequence[Entity], progress: Progress | None) -> int:
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

    async def _delete_document(self, entity_type: str | None, document: str) -> int:
        types = [entity_type] if entity_type else self.types
        return sum([await asyncio.to_thread(self._store.delete_document, t, document) for t in types])

    async def _reindex(self, _: None, progress: Progress | None) -> int:
        await asyncio.to_thread(self._store.settle)
        embedding = await self.fingerprint()
        dimension = (await self._embedding.provider()).dimension
        done = 0
        for entity_type in self.types:
            async with in_thread(self._store.write_lock()):
                done += await self._rebuild(entity_type, embedding, dimension, progress)
        return done

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
        await asyncio.sleep(TURNS.left)
        await asyncio.to_thread(self._store.write, entity_type, chunked, vectors, await self.fingerprint())
        if progress:
            progress(len(chunked))

    async def _embedded(self, entities: Sequence[Entity]) -> tuple[Chunked, Vectors]:
        """Entities with their passages, and the vectors of all of these."""
        own_vectors = [self.given.take(entity) for entity in entities]
        chunked = await asyncio.to_thread(
            lambda: [
                (entity, passages(entity, hint=hint_text(entity))[: len(own) or None])
                for entity, own in zip(entities, own_vectors, strict=True)
            ]
        )
        given: list[Vectors | None] = [
            vector
            for (_, parts), own in zip(chunked, own_vectors, strict=True)
            for vector in own or itertools.repeat(None, len(parts))
        ]
        texts = [passage.embedded for _, parts in chunked for passage in parts]
        computed = await self._embedding.embed([text for text, own in zip(texts, given, strict=True) if own is None])
        if len(computed) == len(texts):
            return chunked, computed
        further = iter(computed)
        return chunked, np.stack([next(further) if own is None else own for own in given])
