"""Renews entries that the current rules make otherwise than the version that stored them: from what is stored, offline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lorekeeper.cache.protocol import BATCH, Identity, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.intake.sync import SOURCE, store_from_source
from lorekeeper.intake.sync_state import Source, encode, load_state, save, sync_lock
from lorekeeper.normalize.renewed import SUSPECTS, Suspects, renewed
from lorekeeper.system import in_thread

Renewed = Mapping[str, Sequence[str]]
"""Uris of the entities that replace another, by its uri."""


async def renew(cache: SearchCache, source: Source | None, types: Iterable[str]) -> int:
    """Replace the entities of these types that now have other identities; returns how many there were.

    New entities are stored first, then the state of syncs is adapted, then old entities are deleted: nothing is lost if
    this is interrupted, and the next call continues. What is not to be renewed costs one indexed query for each line of
    `SUSPECTS`.

    Args:
        cache: the library's.
        source: what the library is synced with, None for nothing.
        types: entity types.

    Raises:
        CacheError: the library cannot be read or written, or another process is syncing or renewing it.
        EmbeddingError: the embedding model is not available.
    """
    due = [suspects for suspects in SUSPECTS if suspects.type in set(types) and await _identities(cache, suspects)]
    if not due:
        return 0
    if source is None:
        return sum([await _renew(cache, None, suspects) for suspects in due])
    async with in_thread(sync_lock(source.state_path)):
        return sum([await _renew(cache, source, suspects) for suspects in due])


async def _identities(cache: SearchCache, suspects: Suspects) -> list[Identity]:
    found = await cache.identities(suspects.type, suspects.document, **suspects.filters)
    return [identity for identity in found if suspects.has(identity)]


async def _renew(cache: SearchCache, source: Source | None, suspects: Suspects) -> int:
    identities = await _identities(cache, suspects)
    number = 0
    for first in range(0, len(identities), BATCH):
        entities = await cache.load(suspects.type, identities[first : first + BATCH])
        changed = [(e, current) for e in entities if (current := renewed(e)) != [e]]
        replaced = await _store(cache, suspects.type, changed)
        if source and replaced:
            await asyncio.to_thread(_adapt, source.state_path, source.base_url, replaced)
        old = [entity.identity for entity, _ in changed]
        number += await cache.delete_entities(suspects.type, old) if old else 0
    return number


async def _store(cache: SearchCache, entity_type: str, changed: Sequence[tuple[Entity, list[Entity]]]) -> Renewed:
    """Store what replaces entities, except what the library already has from the source, which may be newer."""
    additions = [e for _, current in changed for e in current]
    present = await cache.load(entity_type, [e.identity for e in additions]) if additions else []
    kept = {e.identity for e in present if e.source_api.startswith(SOURCE)}
    outcome = await store_from_source(cache, entity_type, [e for e in additions if e.identity not in kept])
    placed = dict(outcome.clashes)
    return {entity.uri: [placed.get(e.uri, e.uri) for e in current] for entity, current in changed}


def _adapt(path: Path, base_url: str, replaced: Renewed) -> None:
    """Record that what came from the source is now stored as other entities. Blocking."""
    state = load_state(path, base_url)
    found = [listed.seen for listed in state.lists.values()]
    found += [read.found for read in (state.run.reading.values() if state.run else ())]
    found += [reading.read.found for reading in state.refresh.reading.values()]
    affected = [uris for uris in found if uris & replaced.keys()]
    for uris in affected:
        uris.update(*(replaced[old] for old in uris & replaced.keys()))
        uris.difference_update(replaced)
    if affected:
        save(path, encode(state))
