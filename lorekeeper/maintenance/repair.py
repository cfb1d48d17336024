"""``lorekeeper repair``: a damaged library, or one of an earlier format, is moved aside and rebuilt from all that can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.protocol import Progress
from lorekeeper.cache.repair import Problems, RepairBackend, examine, renewed
from lorekeeper.composition import repair_backend, vector_cache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, EmbeddingError
from lorekeeper.intake.changes import IMPORT_BATCH, store_in_batches
from lorekeeper.intake.reports import Report
from lorekeeper.library import Library
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.repairs import changes
from lorekeeper.settings import Settings
from lorekeeper.system import in_thread


@dataclass
class RepairReport(Report):
    """What a repair found and did.

    Attributes:
        problems: what was wrong, by type; empty if the library is sound.
        kept: entries of the rebuilt library, by type.
        left: entries of types that only another program declares, by type, which stay in the damaged library.
        dropped: invalid vectors that were removed from the embedding cache.
        aside: where the damaged library is now; None if nothing was rebuilt.
    """

    KEYS = ("problems", "kept", "left", "embedded", "dropped", "aside", "seconds")

    problems: Problems = field(default_factory=Problems)
    kept: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    dropped: int = 0
    aside: str | None = None


@dataclass
class DataReport(Report):
    """What is repaired in the data of the library's entries.

    Attributes:
        repairs: by reason: the address of each entry, and where it is repaired.
        entries: how many entries there are.
    """

    KEYS = ("repairs", "entries")

    repairs: dict[str, dict[str, str]] = field(default_factory=dict)
    entries: int = 0


async def data_repairs(settings: Settings) -> DataReport:
    """What LoreKeeper repairs in the entries of the library whenever it reads one. Nothing is written."""
    report = DataReport()
    async with Library.from_settings(settings) as library:
        for entity_type in COLLECTIONS:
            async for batch in library.cache.iterate(entity_type, IMPORT_BATCH):
                report.entries += len(batch)
                await asyncio.to_thread(_note_changes, batch, report.repairs)
    return report


def _note_changes(entities: Iterable[Entity], repairs: dict[str, dict[str, str]]) -> None:
    for entity in entities:
        for reason, place in changes(entity).items():
            repairs.setdefault(reason, {})[entity.uri] = place


async def repair(settings: Settings, start: Progress | None = None, progress: Progress | None = None) -> RepairReport:
    """Examine the library of the settings, and rebuild it if it is damaged.

    What can still be read is stored in a new library beside the damaged one, with the cached vectors; then the new one
    replaces it. Until then the damaged library is unchanged, even if the process is killed.

    Args:
        settings: say which library.
        start: called with the number of entries to keep.
        progress: called with the number of further entries kept.

    Raises:
        CacheError: nothing can be read any more, or another process has the library open.
    """
    report = RepairReport()
    async with (
        Library.from_settings(settings) as library,
        in_thread(closing(vector_cache(settings))) as vectors,
    ):
        with report.measured(library.embedding):
            with suppress(EmbeddingError):  # without the model, vectors are compared with each other only
                await library.embedding.provider()
            report.dropped = await asyncio.to_thread(vectors.drop_damaged)
            backend = repair_backend(library.store, vectors, library.embedding.dimension_of)
            async with in_thread(backend.exclusive()):
                report.problems = await asyncio.to_thread(examine, backend)
                if report.problems:
                    with suppress(CacheError):  # what cannot be read is not known
                        report.left = await asyncio.to_thread(library.store.undeclared)
                    await _rebuild(backend, library.embedding, report, settings.library_path, start, progress)
    return report


async def _rebuild(
    backend: RepairBackend,
    embedding: EmbeddingService,
    report: RepairReport,
    path: Path,
    start: Progress | None,
    progress: Progress | None,
) -> None:
    salvage = await asyncio.to_thread(renewed, backend, derive_fields)
    report.kept = {entity_type: len(entities) for entity_type, entities in salvage.items()}
    if start:
        start(sum(report.kept.values()))
    async with ThreadedCache(await asyncio.to_thread(backend.new_store), embedding) as cache:
        await store_in_batches(cache, salvage, progress)
    report.aside = str(await asyncio.to_thread(backend.promote, report.problems.suffix(path)))
