"""The import of files: what they hold is stored as far as the library does not have it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from lorekeeper.cache.protocol import CacheProtocol, Progress
from lorekeeper.intake.audiences import ListedAudience, audiences_for
from lorekeeper.intake.changes import PendingEntities, store_in_batches
from lorekeeper.intake.files import Reader
from lorekeeper.intake.remembered import Remembered
from lorekeeper.intake.reports import ImportReport


class FileImport:
    """One import into one library.

    Args:
        cache: the library's.
        report: is updated.
        remembered: file that remembers what imported objects gave; None for none.
        dry_run: read and count only.
    """

    def __init__(self, cache: CacheProtocol, report: ImportReport, remembered: Path | None, *, dry_run: bool) -> None:
        self._cache, self._report, self._file, self._dry_run = cache, report, remembered, dry_run
        self._pending = PendingEntities(cache, report)

    async def run(
        self,
        paths: Sequence[Path],
        document: str | None,
        audience: ListedAudience | None,
        start: Progress | None,
        progress: Progress | None,
    ) -> None:
        """Import files and folders; see `Library.import_paths`, also for what is raised."""
        remembered = await self._recall()
        audiences = await audiences_for(self._cache, audience)
        reader = await asyncio.to_thread(Reader, list(paths), document, self._report, remembered, audiences)
        if start:
            start(reader.size)
        await self._take_in(reader, progress)
        if not self._dry_run:
            await asyncio.to_thread(remembered.save)

    async def _recall(self) -> Remembered:
        """What earlier imports have made of objects, as far as the library still has it."""
        remembered = await asyncio.to_thread(Remembered.load, self._file)
        stored = {entity_type: await self._pending.stored.of(entity_type) for entity_type in remembered.types}
        await asyncio.to_thread(remembered.confirm, stored)
        return remembered

    async def _take_in(self, reader: Reader, progress: Progress | None) -> None:
        """Store what a reader reads, as far as the library does not have it."""
        async with aclosing(reader.batches()) as batches:
            async for batch in batches:
                await self._pending.add(batch)
                due = self._pending.due()
                if not self._dry_run:
                    await store_in_batches(self._cache, due)
                if progress:
                    progress(batch.size)
        if not self._dry_run:
            await store_in_batches(self._cache, self._pending.due(everything=True))
