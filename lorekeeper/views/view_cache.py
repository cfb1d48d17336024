"""The cache that one viewer reads: the library's own where nothing is kept from them, else a projection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lorekeeper.audience import DM, PLAYERS, Viewer
from lorekeeper.cache.projections import Projection, file_of
from lorekeeper.cache.protocol import (
    BATCH,
    Choose,
    Documents,
    EntitySearches,
    Identity,
    LibraryCache,
    Progress,
    Ranked,
    SearchCache,
    Statistics,
    ValueCounts,
)
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity, uri_of
from lorekeeper.errors import CacheError
from lorekeeper.filters import collection_of
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.order import BY_NAME, Order
from lorekeeper.system import AsyncClosing
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.views.cutters import DocumentCutter, EntryCutter

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
        """Of each type its mark, and the names under which something of it is shared; None if nothing is kept secret."""

    async def of(self, entity_type: str, viewer: Viewer, sealed: frozenset[str]) -> tuple[SearchCache, bool]:
        """Where a viewer reads a type, and whether that has changed since it was read last.

        Args:
            entity_type: the type.
            viewer: who reads.
            sealed: keys of the vaults of which nothing may be seen, or `EVERY_VAULT`.

        Raises:
            CacheError: the library or a projection cannot be read or written.
            EmbeddingError: a passage has no vector yet, and the model is not available.
        """
        if viewer.sees_all:
            return self.main, False
        if entity_type == "documents":
            return await self._documents(viewer, sealed)
        mark = await self.main.mark(entity_type)
        named = await self._names_in(entity_type, mark)
        if named is None:
            return self.main, False
        projection = self._projection(viewer.names & named, sealed)
        return projection.cache, await projection.refresh(entity_type, mark, EntryCutter(viewer, sealed))

    async def close(self) -> None:
        """Close all of them."""
        for projection in self._kept.values():
            await projection.close()
        self._kept.clear()

    async def _documents(self, viewer: Viewer, sealed: frozenset[str]) -> tuple[SearchCache, bool]:
        """The documents: those of which nothing may be seen are left out, of vaults also those without entries."""
        marks = [await self.main.mark(name) for name in COLLECTIONS]
        names = [await self._names_in(name, mark) for name, mark in zip(COLLECTIONS, marks, strict=True)]
        if all(each is None for each in names):
            return self.main, False
        caches = {name: (await self.of(name, viewer, sealed))[0] for name in ENTRIES}
        present = {key for name, cache in caches.items() for key in await cache.documents([name])}
        hidden = (await self.main.documents(ENTRIES)).keys() - present
        named = frozenset[str]().union(*filter(None, names))
        mark = (marks[-1], frozenset(present), frozenset(hidden))
        projection = self._projection(viewer.names & named, sealed)
        return projection.cache, await projection.refresh("documents", mark, DocumentCutter(viewer, present, hidden))

    def _projection(self, names: frozenset[str], sealed: frozenset[str]) -> Projection:
        if (names, sealed) not in self._kept:
            path = file_of(self._folder, names, sealed)
            self._kept[names, sealed] = Projection(self.main, self._embedding, path)
        return self._kept[names, sealed]

    async def _names_in(self, entity_type: str, mark: object) -> frozenset[str] | None:
        """The folded names under which something of a type is shared; None if everybody may see all of it."""
        known = self._named.get(entity_type)
        if known is None or known[0] != mark:
            self._named[entity_type] = known = mark, await self._read_names(entity_type)
        return known[1]

    async def _read_names(self, entity_type: str) -> frozenset[str] | None:
        audiences = await self.main.count_values(entity_type, AUDIENCE)
        # what is from a vault is secret without a mark, also where a library of an earlier version has no audiences yet
        if not audiences.known and not await self.main.count_entities(entity_type, source_api=VAULT):
            return None
        return frozenset(str(name) for name in audiences.counts) - {DM, PLAYERS}


class ViewCache(EntitySearches, AsyncClosing):
    """`SearchCache` for one viewer. What is stored and removed through it is stored in and removed from the library.

    Args:
        projections: of the library.
        viewer: who reads.
        changed: called when what this viewer sees has changed.
        withheld: gives the uris of entries that are left out all the same.
        sealed: gives the keys of vaults of which nothing may be seen, or `EVERY_VAULT`.
    """

    def __init__(
        self,
        projections: Projections,
        viewer: Viewer,
        *,
        changed: Callable[[], None],
        withheld: Callable[[], Collection[str]],
        sealed: Callable[[], frozenset[str]],
    ) -> None:
        self._projections, self._viewer = projections, viewer
        self._changed, self._withheld, self._sealed = changed, withheld, sealed
        self._main = projections.main

    async def _of(self, entity_type: str) -> SearchCache:
        collection_of(entity_type)
        cache, changed = await self._projections.of(entity_type, self._viewer, self._sealed())
        if changed:
            self._changed()
        return cache

    def _kept(self, entities: Iterable[Entity]) -> list[Entity]:
        withheld = self._withheld()
        return [entity for entity in entities if not withheld or entity.uri not in withheld]

    async def get_entities(
        self,
        entity_type: str,
        document: Documents = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        order: Order = BY_NAME,
        prefer: Sequence[str] = (),
        **filters: Any,
    ) -> list[Entity]:
        cache = await self._of(entity_type)
        found = await cache.get_entities(
            entity_type, document, limit=limit, offset=offset, order=order, prefer=prefer, **filters
        )
        return self._kept(found)

    async def identities(self, entity_type: str, document: Documents = None, **filters: Any) -> list[Identity]:
        return await (await self._of(entity_type)).identities(entity_type, document, **filters)

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        found = await self.load(entity_type, [(document, slug)])
        return found[0] if found else None

    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        return await (await self._of(entity_type)).count_entities(entity_type, document, **filters)

    async def count_values(
        self, entity_type: str, field: str, document: Documents = None, **filters: Any
    ) -> ValueCounts:
        return (await self.count_fields(entity_type, [field], document, **filters))[field]

    async def count_fields(
        self,
        entity_type: str,
        fields: Sequence[str],
        document: Documents = None,
        *,
        among: Sequence[Identity] | None = None,
        **filters: Any,
    ) -> dict[str, ValueCounts]:
        """Also without the values of what is withheld, which may be secret by now."""
        cache, withheld = await self._of(entity_type), self._withheld()
        if withheld:
            listed = await cache.identities(entity_type, document, **filters) if among is None else among
            among = [identity for identity in listed if uri_of(entity_type, *identity) not in withheld]
        return await cache.count_fields(entity_type, fields, document, among=among, **filters)

    async def rank_semantic(
        self, entity_type: str, query: str | Sequence[str], limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        return await (await self._of(entity_type)).rank_semantic(entity_type, query, limit, document, **filters)

    async def phrase_similarities(
        self, query: str | Sequence[str], names: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], float]:
        """Of what ships with the package, and is no secret."""
        return await self._main.phrase_similarities(query, names)

    async def rank_keyword(
        self, entity_type: str, query: str | KeywordQuery, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        return await (await self._of(entity_type)).rank_keyword(entity_type, query, limit, document, **filters)

    async def rank_names(
        self, entity_type: str, query: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        return await (await self._of(entity_type)).rank_names(entity_type, query, document, **filters)

    async def rank_beginnings(
        self, entity_type: str, text: str, document: Documents = None, **filters: Any
    ) -> list[Ranked]:
        return await (await self._of(entity_type)).rank_beginnings(entity_type, text, document, **filters)

    async def names(self, entity_type: str) -> list[str]:
        return await (await self._of(entity_type)).names(entity_type)

    async def known_words(self, entity_type: str, words: Collection[str]) -> set[str]:
        return await (await self._of(entity_type)).known_words(entity_type, words)

    async def word_scores(
        self, entity_type: str, words: Collection[str], among: Collection[Identity], choose: Choose
    ) -> dict[Identity, float]:
        return await (await self._of(entity_type)).word_scores(entity_type, words, among, choose)

    async def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        return self._kept(await (await self._of(entity_type)).load(entity_type, identities))

    async def iterate(self, entity_type: str, batch_size: int = 2 * BATCH) -> AsyncIterator[list[Entity]]:
        async for batch in (await self._of(entity_type)).iterate(entity_type, batch_size):
            yield self._kept(batch)

    async def content_hashes(self, entity_type: str) -> dict[Identity, str]:
        return await (await self._of(entity_type)).content_hashes(entity_type)

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {}
        failures: list[CacheError] = []
        for entity_type in (wanted := list(COLLECTIONS if types is None else types)):
            try:
                by_document = await (await self._of(entity_type)).documents([entity_type])
            except CacheError as error:
                failures.append(error)
                continue
            for key, by_type in by_document.items():
                counts.setdefault(key, {}).update(by_type)
        if failures and len(failures) == len(wanted):
            raise failures[0]
        return dict(sorted(counts.items()))

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

    async def marks(self, types: Iterable[str]) -> object | None:
        return None if self._withheld() or self._sealed() else await self._main.marks(types)

    # --- what changes the library ------------------------------------------------------------------------------------

    async def store_entities(
        self, entities: Sequence[Entity], entity_type: str, progress: Progress | None = None
    ) -> int:
        return await self._main.store_entities(entities, entity_type, progress)

    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        return await self._main.delete_document(document, entity_type)

    async def delete_entities(self, entity_type: str, identities: Iterable[Identity]) -> int:
        return await self._main.delete_entities(entity_type, identities)

    async def reindex(self, progress: Progress | None = None) -> int:
        return await self._main.reindex(progress)

    async def open(self, types: Iterable[str] | None = None) -> None:
        await self._main.open(types)

    async def close(self) -> None:
        """Nothing: the library and its projections are closed by the library."""
