"""The import of files: what they hold is stored as far as the library does not have it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from lorekeeper.cache.protocol import Progress, SearchCache
from lorekeeper.cache.supplied_vectors import GivenVectors
from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.audiences import ListedAudience, audiences_for
from lorekeeper.intake.book_tables import ImportedTables
from lorekeeper.intake.changes import PendingEntities, store_in_batches
from lorekeeper.intake.files import Batch, Reader
from lorekeeper.intake.formats.text_file import Asked, Embedded
from lorekeeper.intake.import_cache import Remembered
from lorekeeper.intake.reports import ImportReport

Agree = Callable[[Sequence[Entity]], Awaitable[bool]]
"""Is given all that was read before anything is stored, and says whether it may be."""


class FileImport:
    """One import into one library.

    Args:
        cache: the library's.
        given: takes the vectors that come with entries.
        report: is updated.
        remembered: file that remembers what imported objects gave; None for none.
        vaults: keys of the library's vaults, into which nothing is imported.
        dry_run: read and count only.
        asked: what the import says of its books.
    """

    def __init__(
        self,
        cache: SearchCache,
        given: GivenVectors,
        report: ImportReport,
        remembered: Path | None,
        vaults: Collection[str] = (),
        *,
        dry_run: bool,
        asked: Asked | None = None,
    ) -> None:
        self._asked = asked or Asked()
        self._cache, self._report, self._file, self._dry_run = cache, report, remembered, dry_run
        self._given, self._reasons = given, set[str]()
        self._pending = PendingEntities(cache, report, vaults)
        self._tables = ImportedTables(cache, report, dry_run=dry_run)

    async def run(
        self,
        paths: Sequence[Path],
        document: str | None,
        audience: ListedAudience | None,
        start: Progress | None,
        progress: Progress | None,
        agree: Agree | None = None,
    ) -> None:
        """Import files and folders; see `Library.import_paths`, also for what is raised."""
        remembered = await self._recall()
        audiences = await audiences_for(self._cache, audience)
        loop = asyncio.get_running_loop()
        known = _finder(loop, lambda kind, name, key: self._cache.get_entities(kind, key, name_folded=name, limit=1))
        asked = replace(
            self._asked, loaded=_finder(loop, lambda kind, key, slug: self._cache.load(kind, [(key, slug)]))
        )
        reader = await asyncio.to_thread(
            Reader, list(paths), document, self._report, remembered, audiences, known, asked
        )
        if start:
            start(reader.size)
        async with aclosing(reader.batches()) as batches:
            if agree is None:
                await self.take_in(batches, progress)
            else:
                read = [batch async for batch in batches]
                if not await agree([found.entity for batch in read for found in batch.entries]):
                    return
                await self.take_in(_each(read), progress)
        if not self._dry_run:
            await asyncio.to_thread(remembered.save)

    async def _recall(self) -> Remembered:
        """What earlier imports have made of objects, as far as the library still has it."""
        remembered = await asyncio.to_thread(Remembered.load, self._file)
        stored = {entity_type: await self._pending.stored.of(entity_type) for entity_type in remembered.types}
        await asyncio.to_thread(remembered.confirm, stored)
        return remembered

    async def _take_vectors(self, batch: Batch) -> None:
        """Take the vectors of entries to be stored; why some are not taken is a warning, once for each reason."""
        for entry in batch.entries:
            if isinstance(entry, Embedded) and self._pending.has(entry.entity):
                reason = await self._given.adopt(entry.entity, entry.vectors)
                if reason and reason not in self._reasons:
                    self._reasons.add(reason)
                    self._report.warnings.append(ImportFileError(entry.where, reason))

    async def take_in(self, batches: AsyncIterable[Batch], progress: Progress | None) -> None:
        """Store what was read, as far as the library does not have it."""
        async for batch in batches:
            await self._pending.add(batch)
            if not self._dry_run:
                await self._take_vectors(batch)
            await self._store()
            await self._tables.add(batch)
            if progress:
                progress(batch.size)
        await self._store(everything=True)
        await self._tables.store()

    async def _store(self, *, everything: bool = False) -> None:
        for due in self._pending.due(everything=everything):
            if not self._dry_run:
                await store_in_batches(self._cache, due)


def _finder(
    loop: asyncio.AbstractEventLoop, ask: Callable[[str, str, str], Coroutine[Any, Any, Sequence[Entity]]]
) -> Callable[[str, str, str], Entity | None]:
    """Finds an entry of the library, for the thread that reads the files."""
    return lambda *sought: next(iter(asyncio.run_coroutine_threadsafe(ask(*sought), loop).result()), None)


async def _each(batches: Sequence[Batch]) -> AsyncGenerator[Batch]:
    for batch in batches:
        yield batch
