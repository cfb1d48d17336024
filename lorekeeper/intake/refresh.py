"""Reads stale lists of Open5e again: a page at a time, in small portions, each of them when nobody waits.

What has changed is embedded text by text before it is stored. The library is locked only while a few entries are written, so that
lookups that fetch something, and syncs of the user, need not wait for more than that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.errors import SourceError, SourceUnavailableError
from lorekeeper.intake.background import Embed, Leisure
from lorekeeper.intake.changes import Hashes, is_unchanged
from lorekeeper.intake.freshness import Stale, problem_line, stale_lists
from lorekeeper.intake.open5e import Open5eClient, Page, list_query
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.sync import ListSync, list_path, require_all
from lorekeeper.intake.sync_state import (
    LOCK_SECONDS,
    RESUME_SECONDS,
    BusyError,
    ListRead,
    Read,
    Refresh,
    Source,
    SyncState,
    encode,
    load_state,
    save,
    sync_lock,
)
from lorekeeper.measures import counted
from lorekeeper.normalize.book_tables import TYPE, book_tables
from lorekeeper.normalize.open5e import ENDPOINTS, Endpoint
from lorekeeper.system import in_thread
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

T = TypeVar("T")

logger = logging.getLogger(__name__)

NORMALIZED_AT_ONCE = 4
"""Objects that are normalised at a time, on the event loop: creatures take 1 ms each."""

STORED_AT_ONCE = 16
"""Changed entities that are written at a time."""

LOOKED_UP = "first and last"
"""What is looked for in a type that has changed."""

MOST_UNAVAILABLE = 3
"""After so many lists in a row that were not to be had, the server is left alone until the next attempt."""


class Refresher:
    """One attempt to bring all that is stale up to date. Hold `refresh_lock` meanwhile.

    Args:
        cache: the library's.
        source: what it was synced with.
        leisure: says when there is time.
        embed: embeds texts, and keeps their vectors.
    """

    def __init__(self, cache: SearchCache, source: Source, leisure: Leisure, embed: Embed) -> None:
        self._cache = cache
        self._source = source
        self._leisure = leisure
        self._embed = embed
        self._report = ImportReport()

    async def run(self) -> None:
        """Read each stale list again; what fails is recorded, and read at the next attempt.

        A list that was begun within the last day, by this process or by one that has ended, is continued.

        Raises:
            CacheError: the library cannot be written, or another process is syncing it, which is no failure.
            EmbeddingError: the embedding model is not available.
        """
        try:
            problem = await self._read_all()
        except BusyError:
            raise
        except Exception as error:  # whatever it is: without a pause the same page would be requested every minute
            await self._conclude(error)
            raise
        await self._conclude(problem)
        counted("source_sync")

    async def _read_all(self) -> SourceError | None:
        """Read the lists that are stale now; the last error."""
        state = await asyncio.to_thread(self._load)
        problem, unavailable = None, 0
        async with Open5eClient(self._source.base_url) as client:
            for stale in stale_lists(state, self._source.days):
                try:
                    await self._read(client, stale)
                    unavailable = 0
                except SourceError as error:
                    logger.info("%s cannot be read again: %s", stale.name, error)
                    problem = error
                    unavailable += isinstance(error, SourceUnavailableError)
                    if not client.reached or unavailable >= MOST_UNAVAILABLE:
                        break
        return problem

    async def _read(self, client: Open5eClient, stale: Stale) -> None:
        """Read a list to its end, unless the library has none of its entries: it was deleted, or is another one."""
        endpoint = ENDPOINTS[stale.name]
        hashes = await self._cache.content_hashes(endpoint.type or "")
        async with self._writing() as state:
            seen = state.of(stale.name).seen
            if seen and not any(parse_uri(uri)[1:] in hashes for uri in seen):
                return
            reading = _resumed(state.refresh.reading.pop(stale.name, None), stale)
            state.refresh.reading[stale.name] = reading
        try:
            while await self._page(client, endpoint, reading):
                pass
        except SourceUnavailableError:
            raise
        except SourceError:
            async with self._writing() as state:  # it has changed meanwhile: next time it is read from its start
                state.refresh.reading.pop(stale.name, None)
            raise

    async def _page(self, client: Open5eClient, endpoint: Endpoint, reading: ListRead) -> bool:
        """Read a page, store what has changed, and record that; whether there is another one."""
        await self._leisure.request()
        page = await client.page(list_path(endpoint), reading.read.following)
        objects = reading.read.objects + len(page.objects)
        if page.following is None:
            require_all(objects, page.count)
        elif not page.objects or objects >= page.count:
            raise SourceError(f"a list of {page.count} objects whose pages do not end")
        reading.read.found |= await self._take(page, endpoint, reading)
        await self._record(page, endpoint, reading, objects)
        return page.following is not None

    async def _take(self, page: Page, endpoint: Endpoint, reading: ListRead) -> set[str]:
        """Store what a page has that the library does not; the uris of all its entities."""
        lists = ListSync(self._cache, SyncState(self._source.base_url), self._report)
        changed: list[Entity] = []
        found: set[str] = set()
        await lists.read_hashes([endpoint.type or "", TYPE])
        for part in _parts(page.objects, NORMALIZED_AT_ONCE):
            async with self._leisure.portion():
                entities = lists.entities(part, endpoint, reading.documents, reading.read)
                to_embed, new = _changed(entities, lists.hashes)
            changed += new
            found |= {e.uri for e in entities} - {e.uri for e in new}
            await self._embed_all(to_embed)
        for stored in _parts(changed, STORED_AT_ONCE):
            async with self._leisure.portion():
                async with self._writing() as lists.state:
                    found |= await lists.store(endpoint, stored)
                await self._look_up(endpoint.type or "")
        return found

    async def _look_up(self, entity_type: str) -> None:
        """Search a type that was written to, so that what is kept for searches is made again before somebody asks.

        The first question after a write would take 1.7 x as long as others.
        """
        await self._cache.rank_names(entity_type, LOOKED_UP)
        await self._cache.rank_keyword(entity_type, LOOKED_UP, 1)

    async def _embed_all(self, entities: Sequence[Entity]) -> None:
        """Embed what will be embedded of entities, one text at a time: a question waits for one at most."""
        for entity in entities:
            async with self._leisure.portion():
                texts = [passage.embedded for passage in passages(entity, hint=hint_text(entity))]
            for text in texts:
                async with self._leisure.portion():
                    await self._embed([text])

    async def _record(self, page: Page, endpoint: Endpoint, reading: ListRead, objects: int) -> None:
        """Record that a page was read; after the last one, remove what the list no longer has."""
        async with self._leisure.portion(), self._writing() as state:
            if page.following is not None:
                reading.read.following, reading.read.objects = page.following, objects
                state.refresh.reading[endpoint.name] = reading
                return
            lists = ListSync(self._cache, state, self._report)
            await lists.complete(endpoint, reading.documents, reading.read, page.count)
            state.refresh.reading.pop(endpoint.name, None)

    async def _conclude(self, problem: Exception | None) -> None:
        """Record how the attempt went."""
        async with self._writing() as state:
            refresh = state.refresh
            if problem is None:
                state.refresh = Refresh()
            else:
                refresh.failures, refresh.tried, refresh.problem = (
                    refresh.failures + 1,
                    time.time(),
                    problem_line(problem),
                )

    def _load(self) -> SyncState:
        return load_state(self._source.state_path, self._source.base_url)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[SyncState]:
        """The state as it is now; saved after the body, with the library locked meanwhile."""
        async with in_thread(sync_lock(self._source.state_path, LOCK_SECONDS)):
            state = await asyncio.to_thread(self._load)
            yield state
            await asyncio.to_thread(lambda: save(self._source.state_path, encode(state)))


def _resumed(reading: ListRead | None, stale: Stale) -> ListRead:
    """The reading of a list that was begun, if it is that of this list and not too old; else a new one."""
    now = time.time()
    if reading and reading.documents == stale.documents and now - reading.began < RESUME_SECONDS:
        return reading
    endpoint = ENDPOINTS[stale.name]
    filtered = stale.documents if endpoint.type != "documents" else None
    return ListRead(stale.documents, now, Read(list_query(filtered, endpoint.version, shared=endpoint.shared)))


def _changed(entities: Sequence[Entity], stored: Mapping[str, Hashes]) -> tuple[list[Entity], list[Entity]]:
    """The entities and tables that a library with these hashes lacks, and the entities that are to be stored for them."""
    made = {e.uri: book_tables(e).entities for e in entities}
    lacking = [each for e in entities for each in (e, *made[e.uri]) if not is_unchanged(each, stored[each.type])]
    uris = {each.uri for each in lacking}
    return lacking, [e for e in entities if not uris.isdisjoint((e.uri, *(table.uri for table in made[e.uri])))]


def _parts(items: Sequence[T], number: int) -> Iterator[Sequence[T]]:
    """Items in order, so many at a time."""
    return (items[start : start + number] for start in range(0, len(items), number))
