"""Reads stale lists of Open5e again: a page at a time, in small portions, each of them when nobody waits.

What has changed is embedded text by text before it is stored. The library is locked only while a few entries are written, so that
syncs of the user need not wait for more than that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.intake.background import Embed, Leisure
from lorekeeper.intake.changes import Hashes, is_unchanged
from lorekeeper.intake.freshness import stale_lists
from lorekeeper.intake.open5e import Open5eClient
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.sync import Syncer
from lorekeeper.intake.sync_state import Source
from lorekeeper.measures import counted
from lorekeeper.normalize.book_tables import TYPE, book_tables
from lorekeeper.normalize.open5e import ENDPOINTS, Endpoint
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

LOOKED_UP = "first and last"
"""What is looked for in a type that has changed."""


class Refresher(Syncer):
    """One attempt to bring all that is stale up to date. Hold `refresh_lock` meanwhile.

    Args:
        cache: the library's.
        source: what it was synced with.
        leisure: says when there is time.
        embed: embeds texts, and keeps their vectors.
    """

    made_at_once, stored_at_once = 4, 16  # creatures take 1 ms each on the event loop

    def __init__(self, cache: SearchCache, source: Source, leisure: Leisure, embed: Embed) -> None:
        super().__init__(cache, Open5eClient(source.base_url), source.state_path, ImportReport())
        self._source = source
        self._leisure = leisure
        self._embed = embed

    async def wait(self) -> None:
        await self._leisure.request()

    def portion(self) -> AbstractAsyncContextManager[None]:
        return self._leisure.portion()

    async def refresh(self) -> None:
        """Read each stale list again, but for those of which the library has nothing any more; see `Syncer.read_lists`.

        A list that was begun within the last day, by this process or by one that has ended, is continued.

        Raises:
            EmbeddingError: the embedding model is not available.
        """
        state = await asyncio.to_thread(self._source.known)
        due = list[tuple[Endpoint, list[str] | None]]()
        for stale in stale_lists(state, self._source.days):
            endpoint, seen = ENDPOINTS[stale.name], state.of(stale.name).seen
            hashes = await self._cache.content_hashes(endpoint.type or "")
            if not seen or any(parse_uri(uri)[1:] in hashes for uri in seen):
                due.append((endpoint, stale.documents))
        async with self._client:
            await self.read_lists(due)
        counted("source_sync")

    async def read_hashes(self, types: Iterable[str]) -> None:
        await super().read_hashes([*types, TYPE])

    async def to_store(self, entities: Sequence[Entity]) -> Sequence[Entity]:
        """Those that are not in the library; what is embedded of them is, one text at a time: a question waits for one at most."""
        async with self.portion():
            lacking, changed = _changed(entities, self.hashes)
        for entity in lacking:
            async with self.portion():
                texts = [passage.embedded for passage in passages(entity, hint=hint_text(entity))]
            for text in texts:
                async with self.portion():
                    await self._embed([text])
        return changed

    async def look_up(self, entity_type: str) -> None:
        """Search a type that was written to, so that what is kept for searches is made again before somebody asks.

        The first question after a write would take 1.7 x as long as others.
        """
        await self._cache.rank_names(entity_type, LOOKED_UP)
        await self._cache.rank_keyword(entity_type, LOOKED_UP, 1)


def _changed(entities: Sequence[Entity], stored: Mapping[str, Hashes]) -> tuple[list[Entity], list[Entity]]:
    """The entities and tables that a library with these hashes lacks, and the entities that are to be stored for them."""
    made = {e.uri: book_tables(e).entities for e in entities}
    lacking = [each for e in entities for each in (e, *made[e.uri]) if not is_unchanged(each, stored[each.type])]
    uris = {each.uri for each in lacking}
    return lacking, [e for e in entities if not uris.isdisjoint((e.uri, *(table.uri for table in made[e.uri])))]
