"""The cache that one viewer reads: the library's own where nothing is kept from them, else a projection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from lorekeeper.audience import DM, PLAYERS, Viewer
from lorekeeper.cache.protocol import (
    FIND,
    Identity,
    InView,
    LibraryCache,
    Operation,
    SearchCache,
    Statistics,
    Subject,
    type_of,
)
from lorekeeper.cache.snapshot import once
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity, Field, uri_of
from lorekeeper.errors import CacheError
from lorekeeper.filters import collection_of
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.system import AsyncClosing
from lorekeeper.views.redact import DocumentRedactor, EntryRedactor
from lorekeeper.views.redacted_views import Projection, file_of

T = TypeVar("T")

ENTRIES = tuple(name for name in COLLECTIONS if name != "documents")
"""The types of what documents hold."""


class Projections(AsyncClosing):
    """The projections of a library, which viewers of whom the same is kept share.

    Args:
        main: the library's cache.
        embedding: the library's.
        folder: where the projections are.
    """

    def __init__(self, main: LibraryCache, embedding: EmbeddingService, folder: Path) -> None:
        self.main = main
        self._embedding, self._folder = embedding, folder
        self._kept: dict[tuple[frozenset[str], frozenset[str]], Projection] = {}
        self._named: dict[str, tuple[object, frozenset[str] | None]] = {}
        """Of each type its version, and the names under which something of it is shared; None if nothing is kept secret."""

    async def of(self, entity_type: str, viewer: Viewer, unreadable_vaults: frozenset[str]) -> tuple[SearchCache, bool]:
        """Where a viewer reads a type, and whether that has changed since it was read last.

        Args:
            entity_type: the type.
            viewer: who reads.
            unreadable_vaults: keys of the vaults of which nothing may be seen, or `EVERY_VAULT`.

        Raises:
            CacheError: the library or a projection cannot be read or written.
            EmbeddingError: a passage has no vector yet, and the model is not available.
        """
        if viewer.sees_all:
            return self.main, False
        if entity_type == "documents":
            return await self._documents(viewer, unreadable_vaults)
        version = await self.main.version(entity_type)
        named = await self._names_in(entity_type, version)
        if named is None:
            return self.main, False
        projection = self._projection(viewer.names & named, unreadable_vaults)
        redactor = EntryRedactor(viewer, unreadable_vaults)
        return projection.cache, await projection.refresh(entity_type, version, redactor)

    async def close(self) -> None:
        """Close all of them."""
        for projection in self._kept.values():
            await projection.close()
        self._kept.clear()

    async def _documents(self, viewer: Viewer, unreadable_vaults: frozenset[str]) -> tuple[SearchCache, bool]:
        """The documents: those of which nothing may be seen are left out, of vaults also those without entries."""
        versions = [await self.main.version(name) for name in COLLECTIONS]
        names = [await self._names_in(name, version) for name, version in zip(COLLECTIONS, versions, strict=True)]
        if all(each is None for each in names):
            return self.main, False
        caches = {name: (await self.of(name, viewer, unreadable_vaults))[0] for name in ENTRIES}
        present = {key for name, cache in caches.items() for key in await cache.documents([name])}
        hidden = (await self.main.documents(ENTRIES)).keys() - present
        named = frozenset[str]().union(*filter(None, names))
        version = (versions[-1], frozenset(present), frozenset(hidden))
        projection = self._projection(viewer.names & named, unreadable_vaults)
        return projection.cache, await projection.refresh(
            "documents", version, DocumentRedactor(viewer, present, hidden)
        )

    def _projection(self, names: frozenset[str], unreadable_vaults: frozenset[str]) -> Projection:
        if (names, unreadable_vaults) not in self._kept:
            path = file_of(self._folder, names, unreadable_vaults)
            self._kept.setdefault((names, unreadable_vaults), Projection(self.main, self._embedding, path))
        return self._kept[names, unreadable_vaults]

    async def _names_in(self, entity_type: str, version: object) -> frozenset[str] | None:
        """The folded names under which something of a type is shared; None if everybody may see all of it."""
        known = self._named.get(entity_type)
        if known is None or known[0] != version:
            self._named[entity_type] = known = version, await self._read_names(entity_type)
        return known[1]

    async def _read_names(self, entity_type: str) -> frozenset[str] | None:
        audiences = await self.main.count_values(entity_type, AUDIENCE)
        # what is from a vault is secret without a mark, also where a library of an earlier version has no audiences yet
        if not audiences.known and not await self.main.count_entities(entity_type, source_api=VAULT):
            return None
        return frozenset(str(name) for name in audiences.counts) - {DM, PLAYERS}


class ViewCache(SearchCache):
    """The cache of one viewer. What is stored and removed through it is stored in and removed from the library.

    Args:
        projections: of the library.
        viewer: who reads.
        changed: called when what this viewer sees has changed.
        stale_uris: gives the uris of entries that are left out all the same.
        unreadable_vaults: gives the keys of vaults of which nothing may be seen, or `EVERY_VAULT`.
    """

    def __init__(
        self,
        projections: Projections,
        viewer: Viewer,
        *,
        changed: Callable[[], None],
        stale_uris: Callable[[], Collection[str]],
        unreadable_vaults: Callable[[], frozenset[str]],
    ) -> None:
        self.types = tuple(COLLECTIONS)
        self._projections, self._viewer = projections, viewer
        self._changed, self._stale_uris, self._unreadable_vaults = changed, stale_uris, unreadable_vaults
        self._main = projections.main
        self.has_snapshots = self._main.has_snapshots

    async def call(self, operation: Operation[T], subject: Subject, *arguments: Any) -> T:
        """Perform an operation as its declaration says for views; CacheError if it does not say.

        Raises:
            CacheError: besides, the library or a projection cannot be read or written.
        """
        if operation.in_view is InView.LIBRARY:
            return await self._main.call(operation, subject, *arguments)
        if operation.in_view is None or subject is None:
            raise CacheError(f"{operation.name} is not for views of a library; ask the library itself")
        entity_type = type_of(subject)
        cache = await once((self, entity_type), lambda: asyncio.ensure_future(self._of(entity_type)))
        if operation.in_view is InView.COUNTS:
            return await cache.call(operation, subject, *await self._counted(cache, subject, *arguments))
        answer = await cache.call(operation, subject, *arguments)
        stale_uris = self._stale_uris()  # by now: an entry may have become secret while it was read
        if operation.in_view is InView.ENTITIES and stale_uris:
            return cast("T", [entity for entity in cast("list[Entity]", answer) if entity.uri not in stale_uris])
        return answer

    async def _counted(
        self, cache: SearchCache, subject: Subject, fields: Sequence[Field], among: Sequence[Identity] | None
    ) -> tuple[Sequence[Field], Sequence[Identity] | None]:
        """The arguments of a count without what is withheld, which may be secret by now."""
        stale_uris = self._stale_uris()
        if stale_uris:
            if among is None:
                found = await cache.call(FIND, subject, None, 0)
                among = found
            among = [identity for identity in among if uri_of(type_of(subject), *identity) not in stale_uris]
        return fields, among

    async def _of(self, entity_type: str) -> SearchCache:
        """Where this viewer reads a type."""
        collection_of(entity_type)
        cache, changed = await self._projections.of(entity_type, self._viewer, self._unreadable_vaults())
        if changed:
            self._changed()
        return cache

    async def statistics(self) -> Statistics:
        """Those of the library, with what this viewer sees of it."""
        whole = await self._main.statistics()
        seen = {name: await (await self._of(name)).statistics() for name in COLLECTIONS}
        return replace(
            whole,
            counts={name: seen[name].counts[name] for name in seen},
            kinds={name: seen[name].kinds[name] for name in seen},
            passages={name: seen[name].passages[name] for name in seen},
            details={},
        )

    async def close(self) -> None:
        """Nothing: the library and its projections are closed by the library."""
