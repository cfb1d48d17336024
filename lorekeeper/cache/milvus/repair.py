"""Damage to a library in Milvus: store and companion are compared, and either can be rebuilt from the other."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lorekeeper.cache.formats import NewerLibraryError, OlderLibraryError
from lorekeeper.cache.milvus.backend import UnwritableError
from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.cache.milvus.remote import RemoteStore
from lorekeeper.cache.milvus.rows import REBUILT
from lorekeeper.cache.milvus.source import type_vectors
from lorekeeper.cache.milvus.store import MilvusStore
from lorekeeper.cache.places import companion_path
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.repair import REPAIRED, RepairBackend, Salvage, differences, merged, nothing_readable
from lorekeeper.cache.sqlite.file import remove_database, rename_database
from lorekeeper.cache.sqlite.repair import fields_of, readable, sound_entities
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.embedding.protocol import is_unit
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, MilvusConnectionError

logger = logging.getLogger(__name__)

KEYS = 1024
"""Entities read in one go."""


class RemoteRepair(RepairBackend):
    """A library on a server, which can only be examined; `lorekeeper.cache.repair.RepairBackend` says what its methods do.

    Args:
        store: the library.
    """

    def __init__(self, store: RemoteStore) -> None:
        self._store = store

    def problems(self, entity_type: str) -> list[str]:
        """What is wrong with a type: it cannot be read, or its entities are not those that were stored."""
        try:
            if self._store.embedding_of(entity_type) is None:
                return []
            return differences(*_stored(self._store, entity_type))
        except CacheError as error:
            return [str(error)]

    def fix(self) -> list[str]:
        """Finish interrupted writes."""
        return [sentence for name in COLLECTIONS for sentence in finished_writes(self._store, name)]

    def exclusive(self) -> contextlib.AbstractContextManager[None]:
        """CacheError."""
        raise CacheError(
            f"the library is on the server {self._store.server.location}, which maintains its own data; repair is for "
            "libraries on this machine"
        )


class EmbeddedRepair(RepairBackend):
    """A library on this machine; `lorekeeper.cache.repair.RepairBackend` says what its methods do.

    Args:
        store: the library.
        vectors: where its vectors go, so that none is computed again.
    """

    def __init__(self, store: EmbeddedStore, vectors: VectorCache) -> None:
        self._store, self._path, self._vectors = store, store.path, vectors

    def problems(self, entity_type: str) -> list[str]:
        """What is wrong with a type: it cannot be read, store and companion differ, or its vectors cannot be searched.

        Called within `exclusive`: the companion is brought up to date. Vectors are checked only if this process serves the
        store itself: they are too many to be sent over the socket.
        """
        try:
            if self._store.embedding_of(entity_type) is None:
                return []
            self._store.collections.require_current(entity_type)
            hashes, entities = _stored(self._store, entity_type)
            problems = differences(hashes, entities)
            if not problems:
                self._store.sync_companion(entity_type)
                problems = [f"the keyword index: {text}" for text in differences(hashes, self._copied(entity_type))]
            if not problems and not self._is_client():
                problems = self._damaged_vectors(entity_type, sorted(hashes))
            return problems
        except (UnwritableError, OlderLibraryError):  # it cannot be examined
            raise
        except CacheError as error:
            return [str(error)]

    def fix(self) -> list[str]:
        """Finish interrupted swaps and writes, and build the keyword index again where it differs from a sound store."""
        done = []
        if self._path.is_dir() and not self._store.companion.path.exists():
            done.append("the keyword index was missing; it is built again from the library")
        for entity_type in COLLECTIONS:
            with contextlib.suppress(CacheError):  # damage that only a repair can undo, as the checks say
                done += [*self._finished_swap(entity_type), *finished_writes(self._store, entity_type)]
                done += self._rebuilt_index(entity_type)
        return done

    def _finished_swap(self, entity_type: str) -> list[str]:
        """Opening a type finishes or undoes its swap, if this is the process that opens the library."""
        interrupted = entity_type + REBUILT in self._store.backend.list_collections()
        self._store.embedding_of(entity_type)
        if not interrupted or entity_type + REBUILT in self._store.backend.list_collections():
            return []
        return [f"{entity_type}: an interrupted reindex was finished or undone; 'lorekeeper reindex' starts it again"]

    def _rebuilt_index(self, entity_type: str) -> list[str]:
        """Build the keyword index of a type again, if the store is sound and the index differs from it."""
        if self._store.embedding_of(entity_type) is None:
            return []
        hashes, entities = _stored(self._store, entity_type)
        if differences(hashes, entities) or not differences(hashes, self._copied(entity_type)):
            return []
        self._store.rebuild_companion(entity_type)
        return [
            f"{entity_type}: the keyword index did not match the entries; it was built again from {len(entities):,}"
        ]

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep all other writers out, and the store in this process."""
        try:
            self._store.settle()
        except NewerLibraryError:
            raise
        except CacheError as error:
            logger.info("%s cannot be opened: %s", self._path, error)
        with self._store.closed_lock():
            with contextlib.suppress(CacheError):
                self._store.backend.open()
            if self._is_client():
                raise MilvusConnectionError(
                    f"another process has the library {self._path} open; end it (lorekeeper doctor says which), and run "
                    "repair again"
                )
            yield

    def salvage(self) -> Salvage:
        """The companion's entities, and those that only the store still has; CacheError if neither can be read."""
        salvage = {entity_type: self._readable(entity_type) for entity_type in COLLECTIONS}
        if not any(salvage.values()):
            raise nothing_readable(self._path, self._store.companion.path)
        with self._store.collections.unverified():
            for entity_type in COLLECTIONS:
                with contextlib.suppress(CacheError):  # what cannot be read is embedded again
                    for batch in type_vectors(self._store.collections, entity_type):
                        self._vectors.add(batch)
        return salvage

    def fields(self) -> Mapping[str, str]:
        """Those of the collections, and of the keyword index, whose entries come first."""
        found: dict[str, str] = {}
        with self._store.collections.unverified():
            for entity_type in COLLECTIONS:
                with contextlib.suppress(CacheError):
                    info = self._store.collections.info(entity_type)
                    found |= {entity_type: info.fields} if info else {}
        return {**found, **fields_of(self._store.companion.file)}

    def new_store(self) -> EmbeddedStore:
        path = self._named(REPAIRED)
        shutil.rmtree(path, ignore_errors=True)
        remove_database(companion_path(path))
        return EmbeddedStore(path, companion_path(path))

    def promote(self, suffix: str) -> Path:
        """Rename the folder, then its companion; in between the companion is another store's, and rebuilt if need be."""
        self._store.close()
        quarantine, repaired = self._named(suffix), self._named(REPAIRED)
        with contextlib.suppress(FileNotFoundError):
            self._path.replace(quarantine)
        repaired.replace(self._path)
        companion = self._store.companion.path
        rename_database(companion, companion_path(quarantine))
        companion_path(repaired).replace(companion)
        Path(f"{companion_path(repaired)}.lock").unlink(missing_ok=True)
        return quarantine

    def _is_client(self) -> bool:
        """Whether another process has the library open."""
        return self._store.embedded.role == "client"

    def _damaged_vectors(self, entity_type: str, identities: Sequence[Identity]) -> list[str]:
        """One sentence if vectors of entities are not of length 1."""
        batches = self._store.collections.passages(entity_type, identities)
        damaged = sum(not is_unit(v) for batch in batches for _, vectors in batch.values() for v in vectors)
        return [f"{damaged:,} vectors are damaged"] if damaged else []

    def _readable(self, entity_type: str) -> list[Entity]:
        """All entities of a type that store or companion have as they were stored."""
        copied: list[Entity] = []
        stored: list[Entity] = []
        with contextlib.suppress(CacheError):
            copied = self._copied(entity_type)
        with contextlib.suppress(CacheError):
            hashes, entities = _stored(self._store, entity_type)
            stored = [e for e in entities if hashes.get(e.identity) == e.content_hash]
        return merged(entity_type, copied, stored)

    def _copied(self, entity_type: str) -> list[Entity]:
        """All entities of a type in the companion whose bytes are what was stored."""
        if not self._store.companion.path.exists():
            return []
        with readable(self._store.companion.file) as c:
            return sound_entities(c, entity_type)


def finished_writes(store: MilvusStore, entity_type: str) -> list[str]:
    """Finish the pending writes of a type: what was done, in sentences."""
    pending = len(store.companion.unfinished(entity_type))
    store.open([entity_type])  # brings the companion up to date
    if not pending or store.companion.unfinished(entity_type):
        return []
    return [f"{entity_type}: an interrupted write of {pending:,} entries was finished or undone"]


def _stored(store: MilvusStore, entity_type: str) -> tuple[dict[Identity, str], list[Entity]]:
    """The hashes that Milvus has for a type, and all entities that it returns, whatever the companion says."""
    with store.collections.unverified():
        hashes = store.collections.content_hashes(entity_type)
        identities = sorted(hashes)
        parts = (identities[i : i + KEYS] for i in range(0, len(identities), KEYS))
        return hashes, [entity for part in parts for entity in _load(store, entity_type, part)]


def _load(store: MilvusStore, entity_type: str, identities: list[Identity]) -> list[Entity]:
    """Entities by identity; of a part that cannot be read, both halves are tried separately."""
    try:
        return store.collections.load(entity_type, identities)
    except CacheError:
        if len(identities) == 1:
            return []
        middle = len(identities) // 2
        return _load(store, entity_type, identities[:middle]) + _load(store, entity_type, identities[middle:])
