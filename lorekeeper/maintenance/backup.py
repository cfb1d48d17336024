"""``lorekeeper backup`` and ``restore``: a whole library to one portable archive, and back."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lorekeeper.cache.protocol import Progress
from lorekeeper.cache.store import Store
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import vector_cache
from lorekeeper.entities import COLLECTIONS
from lorekeeper.intake.changes import IMPORT_BATCH, Changes
from lorekeeper.intake.reports import Report
from lorekeeper.library import Library
from lorekeeper.maintenance.archive import (
    VECTORS,
    Archive,
    ArchiveWriter,
    entity_line,
    model_of,
    of_one_size,
    write_packed,
)
from lorekeeper.settings import Settings
from lorekeeper.system import in_thread
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text


@dataclass
class ArchiveReport(Report):
    """What a backup or a restore did.

    Attributes:
        archive: path of the archive.
        counts: entries in it, by type.
        vectors: vectors in it.
        stored: entries written to the library; of a restore only.
        unchanged: entries that the library already had, with the same content; of a restore only.
        removed: entries that were in the library only; of a restore only.
        left_out: entries of types that only another program declares, by type; of a backup only.
        before: archive of the library before the restore, if entries were changed or removed; of a restore only.
    """

    KEYS = (
        "archive",
        "counts",
        "left_out",
        "vectors",
        "stored",
        "unchanged",
        "removed",
        "embedded",
        "before",
        "seconds",
    )

    archive: str
    counts: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    vectors: int = 0
    stored: int = 0
    unchanged: int = 0
    removed: int = 0
    before: str | None = None


# --- backup ----------------------------------------------------------------------------------------------------------


async def backup(
    settings: Settings, target: Path, start: Progress | None = None, progress: Progress | None = None
) -> ArchiveReport:
    """Write the whole library to an archive. It can be read meanwhile; writers wait.

    Args:
        settings: say which library.
        target: path of the archive.
        start: called with the number of entries to write.
        progress: called with the number of further entries written.

    Raises:
        ImportFileError: the archive cannot be written, or another file has its name.
        CacheError: the library cannot be read.
    """
    async with (
        Library.from_settings(settings) as library,
        in_thread(closing(vector_cache(settings))) as vectors,
    ):
        return await _back_up(library, vectors, target, start, progress)


async def _back_up(
    library: Library,
    vectors: VectorCache,
    target: Path,
    start: Progress | None = None,
    progress: Progress | None = None,
) -> ArchiveReport:
    report, store = ArchiveReport(str(target)), library.store
    with report.measured(library.embedding):
        async with in_thread(await asyncio.to_thread(ArchiveWriter, target)) as archive:
            statistics = await library.statistics()  # which also updates the keyword index, before writers are kept out
            report.left_out = await asyncio.to_thread(store.undeclared)
            await asyncio.to_thread(_collect_vectors, store, vectors)
            if start:
                start(sum(statistics.counts.values()))
            async with in_thread(store.write_lock()):
                await _fill(archive, library, vectors, model_of(statistics.embedding), report, progress)
            await asyncio.to_thread(
                archive.finish, embedding=statistics.embedding, counts=report.counts, vectors=report.vectors
            )
    return report


async def _fill(
    archive: ArchiveWriter,
    library: Library,
    vectors: VectorCache,
    model: str,
    report: ArchiveReport,
    progress: Progress | None,
) -> None:
    """Write all entries to an archive, then the cached vectors of their texts."""
    packed: dict[bytes, bytes] = {}
    for entity_type in COLLECTIONS:
        lines: list[bytes] = []
        async for batch in library.cache.iterate(entity_type, IMPORT_BATCH):
            lines += await asyncio.to_thread(list, map(entity_line, batch))
            embedded = [part.embedded for entity in batch for part in passages(entity, hint=hint_text(entity))]
            packed |= await asyncio.to_thread(vectors.packed, model, embedded)
            if progress:
                progress(len(batch))
        report.counts[entity_type] = len(lines)
        await asyncio.to_thread(archive.add, f"{entity_type}.jsonl", b"".join(lines))
    packed = of_one_size(packed)
    report.vectors = len(packed)
    await asyncio.to_thread(archive.add, VECTORS, write_packed(packed))


def _collect_vectors(store: Store, vectors: VectorCache) -> None:
    for rows in store.packed_vectors():
        vectors.add(rows)


# --- restore ---------------------------------------------------------------------------------------------------------


async def restore(
    settings: Settings, source: Path, start: Progress | None = None, progress: Progress | None = None
) -> ArchiveReport:
    """Replace the content of a library with that of an archive, while it is in use.

    The whole archive is read and checked before anything is changed. If entries of the library are changed or removed, an
    archive of it is written beside it first. Entries are stored and then removed in batches, so that each one is at any
    time either the old or the restored one; to finish an interrupted restore, run it again. ``start`` is called with the
    number of entries to store, ``progress`` with the number of further ones stored.

    Raises:
        ImportFileError: the archive is damaged, of another format, or not an archive.
        CacheError: the library cannot be read or written.
    """
    report, folder = ArchiveReport(str(source)), settings.library_path.parent
    async with (
        Library.from_settings(settings) as library,
        in_thread(closing(vector_cache(settings))) as vectors,
    ):
        with report.measured(library.embedding):
            async with in_thread(await asyncio.to_thread(Archive, source)) as archive:
                changes = await _changes(library, archive, report)
                if any(change.replaces for change in changes.values()):
                    report.before = str(await asyncio.to_thread(_unused_path, folder))
                    await _back_up(library, vectors, Path(report.before))
                if start:
                    start(sum(len(change.to_store) for change in changes.values()))
                await _apply(library, vectors, archive, changes, report, progress)
    return report


async def _changes(library: Library, archive: Archive, report: ArchiveReport) -> dict[str, Changes]:
    """How an archive differs from the library, by type; also counts its content in the report."""
    report.counts = {entity_type: len(hashes) for entity_type, hashes in archive.hashes.items()}
    report.vectors = archive.vectors
    return {
        entity_type: Changes.between(await library.cache.content_hashes(entity_type), hashes)
        for entity_type, hashes in archive.hashes.items()
    }


async def _apply(
    library: Library,
    vectors: VectorCache,
    archive: Archive,
    changes: dict[str, Changes],
    report: ArchiveReport,
    progress: Progress | None,
) -> None:
    """Store what is new or changed, then remove what is not in the archive."""
    if any(change.to_store for change in changes.values()):
        await _adopt_vectors(library, vectors, archive, changes)
    for entity_type, change in changes.items():
        report.unchanged += len(change.unchanged)
        batches = archive.entities(entity_type, change.to_store)
        while batch := await asyncio.to_thread(next, batches, None):
            report.stored += await library.cache.store_entities(batch, entity_type, progress)
    for entity_type, change in changes.items():
        report.removed += await library.cache.delete_entities(entity_type, sorted(change.removed))


async def _adopt_vectors(library: Library, vectors: VectorCache, archive: Archive, changes: dict[str, Changes]) -> None:
    """Add an archive's vectors to the embedding cache: those of its own entries' texts, by the current model."""
    provider = await library.embedding.provider()
    if archive.model == provider.fingerprint:
        batches = (batch for t, change in changes.items() for batch in archive.entities(t, change.to_store))
        entities = itertools.chain.from_iterable(batches)
        rows = archive.vector_rows()
        await asyncio.to_thread(vectors.adopt, rows, provider.fingerprint, entities, provider.dimension)


def _unused_path(folder: Path) -> Path:
    """A path for the archive of what a restore replaces, that does not exist yet."""
    name = time.strftime("before-restore-%Y-%m-%d-%H%M%S")
    suffixes = itertools.chain([""], (f"-{i}" for i in itertools.count(2)))
    return next(path for suffix in suffixes if not (path := folder / f"{name}{suffix}.zip").exists())
