"""``lorekeeper repair``: a damaged library is put aside, and built anew from all that can still be read."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.protocol import Progress
from lorekeeper.cache.repair import Workshop, damaged_suffix, examine
from lorekeeper.embedding import EmbeddingService
from lorekeeper.errors import EmbeddingError
from lorekeeper.intake.identities import correct_identities
from lorekeeper.library import embedding_service, open_store, store_in_batches, vector_cache
from lorekeeper.settings import Settings


@dataclass
class RepairReport:
    """What a repair found and did. `as_dict` is its public shape.

    Attributes:
        problems: what was wrong, by type; nothing where the library is sound.
        kept: entries of the library as it is now, by type.
        embedded: texts whose vectors had to be computed again.
        corrected: entries of an earlier migration that were given their true identity.
        dropped: vectors removed from the cache of known ones, since none could be searched.
        aside: where the damaged library is now; None where nothing had to be done.
        seconds: how long it took.
    """

    problems: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    embedded: int = 0
    corrected: int = 0
    dropped: int = 0
    aside: str | None = None
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """``{"problems", "kept", "embedded", "corrected", "dropped", "aside", "seconds"}``."""
        return asdict(self)


def open_workshop(settings: Settings) -> Workshop:
    """What can be done about damage to the library of the settings; it knows the dimension of a model that is loaded."""
    store = open_store(settings)
    if settings.cache_backend == "sqlite":
        from lorekeeper.cache.sqlite.repair import SqliteWorkshop
        from lorekeeper.cache.sqlite.store import SqliteStore

        assert isinstance(store, SqliteStore)
        return SqliteWorkshop(store, vector_cache(settings), embedding_service(settings).dimension_of)
    from lorekeeper.cache.milvus.repair import MilvusWorkshop
    from lorekeeper.cache.milvus.store import MilvusStore

    assert isinstance(store, MilvusStore)
    return MilvusWorkshop(store)


async def repair(settings: Settings, start: Progress | None = None, progress: Progress | None = None) -> RepairReport:
    """Examine the library of the settings, and where it is damaged build it anew.

    What can still be read is stored in a new library beside the damaged one, with the vectors that are known; then the two
    change places. Whatever ends the process before that, the damaged library is as it was.

    Args:
        settings: say which library.
        start: told the number of entries to keep.
        progress: told of each batch.

    Raises:
        CacheError: nothing can be read any more, or another process has to end first.
    """
    began, report = time.monotonic(), RepairReport()
    workshop, embedding = open_workshop(settings), embedding_service(settings)
    known = vector_cache(settings)
    with contextlib.suppress(EmbeddingError):  # without the model, vectors are compared with each other only
        await embedding.provider()
    try:
        report.dropped = await asyncio.to_thread(known.drop_damaged)
        await _examine_and_rebuild(workshop, embedding, report, start, progress)
        async with ThreadedCache(open_store(settings), embedding) as cache:
            report.corrected = await correct_identities(cache)
    finally:
        known.close()
        embedding.close()
    report.seconds = round(time.monotonic() - began, 2)
    return report


async def _examine_and_rebuild(
    workshop: Workshop,
    embedding: EmbeddingService,
    report: RepairReport,
    start: Progress | None,
    progress: Progress | None,
) -> None:
    held = workshop.held()
    try:
        await asyncio.to_thread(held.__enter__)
        try:
            report.problems = await asyncio.to_thread(examine, workshop)
            if report.problems:
                await _rebuild(workshop, embedding, report, start, progress)
        finally:
            await asyncio.to_thread(held.__exit__, None, None, None)
    finally:
        await asyncio.to_thread(workshop.close)


async def _rebuild(
    workshop: Workshop,
    embedding: EmbeddingService,
    report: RepairReport,
    start: Progress | None,
    progress: Progress | None,
) -> None:
    salvage = await asyncio.to_thread(workshop.salvage)
    report.kept = {entity_type: len(entities) for entity_type, entities in salvage.items()}
    if start:
        start(sum(report.kept.values()))
    before = embedding.computed
    async with ThreadedCache(workshop.fresh(), embedding) as cache:
        await store_in_batches(cache, salvage, progress)
    report.embedded = embedding.computed - before
    report.aside = str(await asyncio.to_thread(workshop.exchange, damaged_suffix()))
