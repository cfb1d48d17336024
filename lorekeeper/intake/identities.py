"""Corrects the identity of entries that an earlier migration stored under a wrong one."""

from __future__ import annotations

from collections.abc import Iterable

from lorekeeper.cache.protocol import BATCH, Identity, SearchCache
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.normalize import legacy


async def correct_identities(cache: SearchCache, types: Iterable[str] = COLLECTIONS) -> int:
    """Correct the identity of every entry of these types that `legacy.corrected` recognises; returns how many.

    Each is stored before the one it replaces is deleted, so that nothing is lost if this is interrupted; the next call
    continues. An entry that came from Open5e under the right identity is kept as it is; if one of the user's own has it, both
    are kept. The embedded text does not change, so no vector is computed.

    Raises:
        CacheError: the library cannot be read or written.
    """
    titles: legacy.Titles | None = None
    number = 0
    for entity_type in types:
        suspects = [i for i in await cache.content_hashes(entity_type) if _is_suspect(i)]
        if suspects and titles is None:
            titles = legacy.titles([e async for batch in cache.iterate("documents") for e in batch])
        for first in range(0, len(suspects), BATCH):
            entities = await cache.load(entity_type, suspects[first : first + BATCH])
            pairs = [(e.identity, right) for e in entities if (right := legacy.corrected(e, titles or {}))]
            number += await _replace(cache, entity_type, pairs)
    return number


def _is_suspect(identity: Identity) -> bool:
    """Whether an entry may have a wrong identity: its document is a title, which no key of Open5e is."""
    return legacy.is_title(identity[0])


async def _replace(cache: SearchCache, entity_type: str, pairs: list[tuple[Identity, Entity]]) -> int:
    targets = [right.identity for _, right in pairs]
    sources = {e.identity: e.source_api for e in await cache.load(entity_type, targets)}
    movable = [(wrong, e) for wrong, e in pairs if _same_source(sources.get(e.identity, e.source_api), e.source_api)]
    additions = [right for _, right in movable if right.identity not in sources]
    if additions:
        await cache.store_entities(additions, entity_type)
    return await cache.delete_entities(entity_type, [wrong for wrong, _ in movable]) if movable else 0


def _same_source(one: str, other: str) -> bool:
    return one.split("-")[0] == other.split("-")[0]
