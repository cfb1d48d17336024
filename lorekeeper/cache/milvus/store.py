"""What embedded libraries and Milvus servers have in common: write, delete, reindex, load and rank. Blocking.

The collections hold the entities with their vectors. The companion holds a second copy of the entities, with their names and
words. A write is recorded there before it begins, so that the next one can finish what an interrupted one left undone.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lorekeeper.cache.formats import OlderLibraryError, Opening
from lorekeeper.cache.milvus.backend import LazyBackend
from lorekeeper.cache.milvus.collections import GET_KEYS, Collections
from lorekeeper.cache.milvus.companion import Companion, Copy
from lorekeeper.cache.milvus.rows import REBUILT, CollectionInfo
from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.snapshot import once
from lorekeeper.cache.store import WRITE_WAIT_SECONDS, Chunked, Store, WriteLock, require_dimension, require_model
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection


class MilvusStore(Store):
    """One library in Milvus; its methods are documented in `lorekeeper.cache.store.Store`.

    Args:
        backend: keeps the collections.
        collections: of that backend.
        companion: on this machine.
    """

    backend_name = "milvus"

    def __init__(self, backend: LazyBackend, collections: Collections, companion: Companion) -> None:
        self.types = companion.file.types
        self.backend, self.collections, self.companion = backend, collections, companion
        self._lock = WriteLock(Path(f"{companion.path}.lock"), backend.location)
        self._companion_opening = Opening(self._examine_companion)
        self._openings = {entity_type: self._opening_of(entity_type) for entity_type in self.types}
        self._rebuilding: dict[str, CollectionInfo] = {}

    @contextmanager
    def write_lock(self, wait: float = WRITE_WAIT_SECONDS) -> Iterator[None]:
        self.backend.open()
        with self._lock.hold(wait):
            yield

    def settle(self) -> None:
        self.backend.open()
        for opening in (self._companion_opening, *self._openings.values()):
            opening.settle()

    def embedding_of(self, entity_type: str) -> str | None:
        info = self._info(entity_type)
        return info.embedding if info else None

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entity_type: str, chunked: Chunked, vectors: Vectors, embedding: str) -> None:
        self._require_space()
        self._info(entity_type)
        with self.write_lock():
            info = self._collection(entity_type, vectors, embedding)
            self.sync_companion(entity_type)
            self.companion.begin(entity_type, [entity.identity for entity, _ in chunked])
            lengths = self.collections.upsert(entity_type, chunked, vectors, info)
            self.collections.delete(entity_type, self.collections.surplus(entity_type, lengths))
            copies = self._copies(chunked, vectors)
            self.companion.replace(entity_type, [copy.entity.identity for copy in copies], copies)

    def flush(self, entity_type: str) -> None:
        self._require_space()
        with self.write_lock():
            self.collections.flush(entity_type)

    def delete_document(self, entity_type: str, document: str) -> int:
        self._info(entity_type)
        if self.collections.info(entity_type) is None:
            return 0
        with self.write_lock():
            identities = self.collections.find(Selection(entity_type, documents=[document]))
            return self._remove(entity_type, sorted(identities))

    def delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> int:
        self._info(entity_type)
        if self.collections.info(entity_type) is None:
            return 0
        with self.write_lock():
            return self._remove(entity_type, self.collections.existing(entity_type, identities))

    def begin_rebuild(self, entity_type: str, embedding: str, dimension: int) -> bool:
        info = self.collections.info(entity_type)
        if info is None:
            return False
        self.collections.require_current(entity_type)
        self._rebuilding[entity_type] = self.collections.create(entity_type + REBUILT, info.store, embedding, dimension)
        return True

    def rebuild(self, entity_type: str, chunked: Chunked, vectors: Vectors) -> None:
        self.collections.upsert(entity_type + REBUILT, chunked, vectors, self._rebuilding[entity_type])

    def end_rebuild(self, entity_type: str) -> None:
        self.collections.swap(entity_type)

    def _collection(self, entity_type: str, vectors: Vectors, embedding: str) -> CollectionInfo:
        """The collection of a type, created if need be; EmbeddingError if it has vectors of another model."""
        info = self.collections.info(entity_type)
        if info is None:
            for other in self.types:
                require_model(self.embedding_of(other), embedding)
            info = self.collections.create(entity_type, uuid.uuid4().hex, embedding, vectors.shape[1])
            self.companion.rebuild(entity_type, info.store, list)
        require_model(info.embedding, embedding)
        require_dimension(info.dimension, vectors)
        return info

    def _remove(self, entity_type: str, identities: Sequence[Identity]) -> int:
        """Remove entities that exist, in order. The caller holds the write lock."""
        if identities:
            self.sync_companion(entity_type)
            self.companion.begin(entity_type, identities)
            self.collections.delete_entities(entity_type, identities)
            self.companion.replace(entity_type, identities)
        return len(identities)

    # --- reading ---------------------------------------------------------------------------------------------------

    def version(self, entity_type: str) -> object:
        return self.companion.state(entity_type)[:3] if self._companion_ready(entity_type) else None

    def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        self._info(entity_type)
        return self.collections.load(entity_type, identities)

    def rank_semantic(self, selection: Selection, vector: Vectors, limit: int, embedding: str) -> list[Ranked]:
        info = self._info(selection.entity_type)
        if info is None:
            return []
        require_model(info.embedding, embedding)
        return self.collections.nearest(selection, vector, limit)

    def catalogue(self, entity_type: str) -> Companion | None:
        return self.companion if once((self, entity_type), lambda: self._companion_ready(entity_type)) else None

    def undeclared(self) -> dict[str, int]:
        self._companion_opening.wait()
        return self.companion.undeclared()

    def open(self, types: Iterable[str]) -> None:
        """Open the store, and these types with their part of the companion, which is rebuilt if it is stale."""
        self.backend.open()
        for entity_type in types:
            self._companion_ready(entity_type)

    def close(self) -> None:
        self.backend.close()
        self.companion.close()
        for opening in (self._companion_opening, *self._openings.values()):
            opening.forget()

    def count_passages(self, entity_type: str) -> int:
        return self.collections.count_passages(entity_type)

    # --- the companion ---------------------------------------------------------------------------------------------

    def _companion_ready(self, entity_type: str, stale: Collection[Identity] = ()) -> bool:
        """Bring a type's part of the companion up to date, if it is not; False if there is nothing to search.

        Args:
            entity_type: the type.
            stale: entities of which the companion has an outdated copy.
        """
        info = self._info(entity_type)
        if info is None:
            return False
        state = self.companion.state(entity_type)
        usable = state.store == info.store
        if usable and state.finished and not stale:
            return True
        try:
            with self.write_lock(wait=0 if usable else WRITE_WAIT_SECONDS):
                self.sync_companion(entity_type, stale)
        except CacheError:
            if not usable:
                raise
        return True

    def sync_companion(self, entity_type: str, stale: Collection[Identity] = ()) -> None:
        """Bring a type's part of the companion up to date with its collection: rebuild it, or replace what may differ.

        The caller holds the write lock, so that no process on this machine is writing.
        """
        info = self.collections.info(entity_type)
        if info is None:
            return
        state = self.companion.state(entity_type)
        if state.store != info.store or not state.finished:
            self.collections.delete(entity_type, self.collections.leftovers(entity_type))
        if state.store != info.store:
            self._rebuild_companion(entity_type, info.store)
        elif stale or not state.finished:
            changed = sorted({*stale, *self.companion.unfinished(entity_type)})
            self.companion.replace(entity_type, changed, list(self._stored_copies(entity_type, changed)))

    def rebuild_companion(self, entity_type: str) -> None:
        """Build a type's part of the companion again from its collection, whatever it holds."""
        with self.write_lock():
            info = self.collections.info(entity_type)
            if info is not None:
                self._rebuild_companion(entity_type, info.store)

    def _rebuild_companion(self, entity_type: str, store: str) -> None:
        identities = self.collections.identities(entity_type)
        self.companion.rebuild(entity_type, store, lambda: self._each(entity_type, identities))

    def _copies(self, chunked: Chunked, _vectors: Vectors) -> list[Copy]:
        """What the companion gets of entities that are written; it has no vectors of a server's."""
        return [Copy(entity) for entity, _ in chunked]

    def _stored_copies(self, entity_type: str, identities: Sequence[Identity]) -> Iterator[Copy]:
        """What the companion gets of entities that were written before."""
        return map(Copy, self._each(entity_type, identities))

    def _each(self, entity_type: str, identities: Sequence[Identity]) -> Iterator[Entity]:
        """The entities of these identities, however many, loaded in batches."""
        for start in range(0, len(identities), GET_KEYS):
            yield from self.collections.load(entity_type, identities[start : start + GET_KEYS])

    # --- opening ---------------------------------------------------------------------------------------------------

    def _info(self, entity_type: str) -> CollectionInfo | None:
        """The description of a type's collection, which is examined before its first use. Not for holders of the lock."""
        self._companion_opening.wait()
        self._openings[entity_type].wait()
        return self.collections.info(entity_type)

    def _examine_companion(self) -> None:
        try:
            self.companion.examine()
        except OlderLibraryError:
            for entity_type in self.types:  # refused if one is of an earlier format; else the companion is built again
                self.collections.require_current(entity_type)
            self.companion.discard()

    def _opening_of(self, entity_type: str) -> Opening:
        return Opening(lambda: self._examine(entity_type), lambda: self._opening(entity_type))

    def _examine(self, entity_type: str) -> None:
        """OlderLibraryError if a type's collection has an earlier format."""
        self.collections.require_current(entity_type)

    def _opening(self, _entity_type: str) -> str:
        """What is done with a type until it was examined, as in "the library is being opened"."""
        return "opened"

    def _require_space(self) -> None:
        """CacheError if the disk is too full to write; not checked for a server."""
