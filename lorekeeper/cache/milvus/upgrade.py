"""Upgrades a collection of an earlier format: its rows are copied, with their vectors, to a new one that then replaces it.

The earlier collection stays unchanged until the copy is complete. A process that is killed leaves an incomplete copy, which the
next process completes: entities that are copied already are skipped. On a server, other machines may write to the earlier
collection meanwhile, so the two are compared until nothing differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from lorekeeper.cache.formats import TO_FORMAT, UPGRADING, Normalized, reported, upgraded
from lorekeeper.cache.milvus import layout_v3 as ms
from lorekeeper.cache.milvus.backend import LazyBackend
from lorekeeper.cache.milvus.collections import Collections
from lorekeeper.cache.milvus.description import CollectionInfo
from lorekeeper.cache.milvus.layout_v3 import RECORDS
from lorekeeper.cache.protocol import Identity, Progress
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.text.passages import Passage

ENTITIES = 64
"""Entities copied at a time."""

COMPARISONS = 10
"""Most comparisons of a collection with its copy."""


@dataclass(frozen=True)
class _EntityRows:
    """The rows of one entity in a collection: its content hash, and the keys of its passages, in order."""

    content_hash: str
    keys: list[str]


class CollectionUpgrade:
    """The upgrade of one type's collection, whose write lock the caller holds.

    Args:
        backend: where the collection is.
        collections: of that backend.
        entity_type: which one.
        normalized: gives the filter values that follow from an entity's data.
        before_writing: called before each batch is written; what it raises ends the upgrade.
        alone: whether nobody else can write to the collection meanwhile, so that one pass copies all of it.
    """

    def __init__(
        self,
        backend: LazyBackend,
        collections: Collections,
        entity_type: str,
        normalized: Normalized,
        before_writing: Callable[[], None],
        *,
        alone: bool,
    ) -> None:
        self._backend, self._collections, self._type = backend, collections, entity_type
        self._normalized, self._before_writing, self._alone = normalized, before_writing, alone
        self._copy = entity_type + ms.UPGRADED

    def run(self) -> None:
        """Upgrade the collection; CacheError if that is not possible; the collection is then unchanged."""
        source = self._collections.info(self._type)
        assert source is not None
        self._before_writing()
        target = self._collections.create_upgraded(self._type, source)
        total = self._backend.count(self._type, RECORDS)
        with reported(UPGRADING, f"{self._type} of the library {self._backend.location}", total, TO_FORMAT) as progress:
            for number in range(COMPARISONS):
                if not self._copy_differences(source, target, None if number else progress) or self._alone:
                    self._collections.swap(self._type, ms.UPGRADED)
                    return
        raise CacheError(
            f"{self._type} in {self._backend.location} must be upgraded, but other machines keep writing to them; stop those "
            "writers and try again"
        )

    def _copy_differences(self, source: CollectionInfo, target: CollectionInfo, progress: Progress | None) -> bool:
        """Bring the copy up to date with the collection; False if it was already."""
        originals = self._entity_rows(self._type, source)
        copies = self._entity_rows(self._copy, target)
        stale = [key for identity in copies.keys() - originals.keys() for key in copies[identity].keys]
        if stale:
            self._backend.delete(self._copy, stale)
        differing = bool(stale)
        identities = sorted(originals)
        for start in range(0, len(identities), ENTITIES):
            part = identities[start : start + ENTITIES]
            loaded = self._collections.load(self._type, part)
            entities = [upgraded(entity, source.fields, self._normalized) for entity in loaded]
            wanted = {e.identity: _EntityRows(e.content_hash, originals[e.identity].keys) for e in entities}
            changed = [e for e in entities if copies.get(e.identity) != wanted[e.identity]]
            self._write(changed, originals, target)
            differing = differing or bool(changed)
            if progress:
                progress(len(part))
        self._backend.flush(self._copy)
        return differing

    def _write(self, entities: list[Entity], originals: Mapping[Identity, _EntityRows], target: CollectionInfo) -> None:
        if not entities:
            return
        self._before_writing()
        keys = [key for entity in entities for key in originals[entity.identity].keys]
        rows = {row["pk"]: row for row in self._backend.get(self._type, keys, ["section", "passage", "vector"])}
        chunked = [
            (e, [Passage(rows[k]["section"], rows[k]["passage"], "") for k in originals[e.identity].keys])
            for e in entities
        ]
        vectors = np.array([rows[key]["vector"] for key in keys], dtype=np.float32)
        self._collections.upsert(self._copy, chunked, vectors, target)

    def _entity_rows(self, name: str, info: CollectionInfo) -> dict[Identity, _EntityRows]:
        """The rows of every entity in a collection, without passages that an interrupted write left behind."""
        rows = self._backend.query(name, info.layout.PASSAGES, ["pk", "part", "hash", "document", "slug"])
        entities = {ms.identity(row): _EntityRows(row["hash"], []) for row in rows if row["part"] == 0}
        for row in sorted(rows, key=lambda row: row["part"]):
            entity = entities.get(ms.identity(row))
            if entity and entity.content_hash == row["hash"]:
                entity.keys.append(row["pk"])
        return entities
