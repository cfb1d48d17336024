"""What embedded libraries and Milvus servers have in common: the companion, and to write, delete, reindex and rank. Blocking.

The collections hold the entities with their vectors. The companion, an SQLite file, has keywords, filter fields and a second copy
of every entity; that of an embedded library a copy of the passages with their vectors, too. It is derived data, and whenever it may
differ from the collection it is made again from that; and Milvus, if it is damaged, from the companion: that is what `repair` does.

A write is recorded in the companion before it begins, so that the next one can finish what an interrupted one left undone. What
else the two may differ in is recorded too: the id of the store that a table was built from, the model of the vectors, and in which
state Milvus Lite's files were when they and the companion had been compared.
"""

from __future__ import annotations

import itertools
import json
import logging
import sqlite3
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lorekeeper.cache.formats import OlderLibraryError, Opening
from lorekeeper.cache.milvus.backend import LazyBackend
from lorekeeper.cache.milvus.collections import GET_KEYS, Collections
from lorekeeper.cache.milvus.rows import REBUILT, CollectionInfo
from lorekeeper.cache.protocol import Identity, Ranked, type_of
from lorekeeper.cache.snapshot import once
from lorekeeper.cache.sqlite import passages
from lorekeeper.cache.sqlite.catalogue import insert, remove
from lorekeeper.cache.sqlite.file import DamagedFileError, SqliteFile
from lorekeeper.cache.sqlite.passages import PASSAGES, PassageCatalogue
from lorekeeper.cache.store import WRITE_WAIT_SECONDS, Chunked, Store, WriteLock, require_dimension, require_model
from lorekeeper.cache.vectors import KEY_BYTES
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.text.passages import Passage

logger = logging.getLogger(__name__)

APPLICATION = 0x4C4B4B57
"""SQLite's application_id of a companion."""

LAYOUT = 8
"""See `cache.formats`."""

DAMAGED = ".damaged"
"""Suffix of a file that could not be used and was moved aside."""

_MARKS = (
    "CREATE TABLE unfinished (type TEXT NOT NULL, document TEXT NOT NULL, slug TEXT NOT NULL)",
    "CREATE TABLE built (type TEXT PRIMARY KEY, store TEXT NOT NULL, rows INTEGER)",
    "CREATE TABLE vectors (type TEXT PRIMARY KEY, store TEXT NOT NULL, embedding TEXT NOT NULL)",
    "CREATE TABLE sealed (type TEXT PRIMARY KEY, description TEXT NOT NULL, files TEXT NOT NULL)",
)

_STATES = """
SELECT value, built.store, value NOT IN (SELECT type FROM unfinished), vectors.store, embedding, description, files
FROM json_each(?) LEFT JOIN built ON built.type = value LEFT JOIN vectors ON vectors.type = value
LEFT JOIN sealed ON sealed.type = value
"""
"""What is recorded of some types."""

_NO_KEY = bytes(KEY_BYTES)
"""Stands where a library in SQLite has the key of a vector in the embedding cache."""


class Copy(NamedTuple):
    """What the companion has of one entity.

    Attributes:
        entity: the entity.
        passages: of an embedded library its passages.
        vectors: the vector of each, `(dim,) float32`.
    """

    entity: Entity
    passages: Sequence[Passage] = ()
    vectors: Sequence[Vectors] = ()


class TypeState(NamedTuple):
    """What the companion records of a type.

    Attributes:
        version: changes whenever something of it is written.
        store: id of the store that it was built from; None if it never was.
        finished: whether no write is pending.
        vectors: store and model of its vectors, if they are all there.
        sealed: the description of the collection, "" if there is none, and the state of its files when both were compared with
            this file, "" if they have not been since; None if nothing is known.
    """

    version: object
    store: str | None
    finished: bool
    vectors: tuple[str | None, str | None]
    sealed: tuple[str, str] | None


class CompanionFile(SqliteFile):
    """The file of a companion. A damaged one is moved aside and replaced with an empty one, which counts as never built."""

    def mend(self, damage: DamagedFileError) -> None:
        """Move it aside."""
        logger.warning("%s: rebuilding it", damage)
        self.move_aside(DAMAGED)


class Companion(PassageCatalogue):
    """The companion of one Milvus library. Blocking, and safe to use from several threads and processes."""

    def __init__(self, path: Path, types: Sequence[str] | None = None) -> None:
        types = tuple(COLLECTIONS) if types is None else types
        tables = [*_MARKS, *passages.statements(types)]
        super().__init__(
            CompanionFile(path, "the keyword index", APPLICATION, LAYOUT, tables, durable=True, types=types)
        )
        self.path = path

    def examine(self) -> None:
        """Open the file, if there is one; UnknownFormatError if it has another format."""
        if self.path.exists():
            self.file.read(lambda _: None)

    def discard(self) -> None:
        """Move the file aside, so that it is built again."""
        logger.warning("%s has an earlier format: building it again", self.path)
        self.file.move_aside(DAMAGED)

    def state(self, entity_type: str) -> TypeState:
        """What the file records of a type."""
        return once((self, entity_type), lambda: self.file.read(lambda c: self._state_in(c, entity_type)))

    def _state_in(self, c: sqlite3.Connection, entity_type: str) -> TypeState:
        recorded = once(
            (self, c), lambda: {row[0]: row[1:] for row in c.execute(_STATES, [json.dumps(self.file.types)])}
        )
        store, finished, *vectors, description, files = recorded[entity_type]
        sealed = None if description is None else (description, files)
        return TypeState(self.version_in(c, entity_type), store, bool(finished), (vectors[0], vectors[1]), sealed)

    def unfinished(self, entity_type: str) -> list[Identity]:
        """The entities of pending writes: those that began and have not ended."""
        sql = "SELECT DISTINCT document, slug FROM unfinished WHERE type = ?"
        return self.file.read(lambda c: c.execute(sql, [entity_type]).fetchall())

    def begin(self, entity_type: str, identities: Iterable[Identity]) -> None:
        """Record that a write of these entities begins; until it ends they may differ from the store's."""
        rows = [(entity_type, *identity) for identity in identities]
        self.file.write(lambda c: c.executemany("INSERT INTO unfinished VALUES (?, ?, ?)", rows))

    def replace(self, entity_type: str, identities: Sequence[Identity], copies: Sequence[Copy] = ()) -> None:
        """Remove entities, store what the store now has of them, and end the write."""

        def write(c: sqlite3.Connection) -> None:
            passages.remove(c, entity_type, remove(c, entity_type, identities))
            ids = insert(c, entity_type, [copy.entity for copy in copies])
            vectors = [vector for copy in copies for vector in copy.vectors]
            _insert(c, entity_type, ids, [copy.passages for copy in copies], vectors)
            if not all(copy.passages for copy in copies):
                _forget_vectors(c, entity_type)
            _finish(c, entity_type)

        self.file.write(write)

    def rebuild(self, entity_type: str, store: str, entities: Callable[[], Iterable[Entity]]) -> None:
        """Rebuild a type's table from all its entities, which are requested again if the file proves damaged."""

        def write(c: sqlite3.Connection) -> None:
            c.execute(f"DELETE FROM {entity_type}")
            c.execute(f"DELETE FROM {entity_type}_fts")
            _forget_vectors(c, entity_type)
            insert(c, entity_type, entities())
            c.execute("INSERT OR REPLACE INTO built VALUES (?, ?, NULL)", (entity_type, store))
            _finish(c, entity_type)

        logger.info("building the keyword index of %s", entity_type)
        self.file.write(write)

    # --- vectors ---------------------------------------------------------------------------------------------------

    def has_vectors(self, entity_type: str, info: CollectionInfo) -> bool:
        """Whether the file has the vectors of a collection of that description."""
        return self.state(entity_type).vectors == (info.store, info.embedding)

    def rank_semantic(
        self, c: sqlite3.Connection, selection: Selection, vector: Vectors, limit: int, info: CollectionInfo
    ) -> list[Ranked] | None:
        """The entities whose best passage is nearest to a vector, exactly; None if these are another collection's vectors."""
        state = self._state_in(c, selection.entity_type)
        return self.nearest(c, selection, vector, limit) if state.vectors == (info.store, info.embedding) else None

    def copy_vectors(
        self,
        entity_type: str,
        info: CollectionInfo,
        read: Callable[[], Iterable[Mapping[Identity, tuple[Sequence[Passage], Sequence[Vectors]]]]],
    ) -> None:
        """Store the passages and vectors of all entities of a type, which ``read`` gives, in place of those that are there.

        Raises:
            CacheError: they are not those of the entities that the file has; nothing was changed.
        """

        def write(c: sqlite3.Connection) -> None:
            rows = c.execute(f"SELECT document, slug, id FROM {entity_type}")
            missing = {(document, slug): row for document, slug, row in rows}
            c.execute(f"DELETE FROM {entity_type}{PASSAGES}")
            for batch in read():
                own = [(missing.pop(identity), copy) for identity, copy in batch.items() if identity in missing]
                vectors = [vector for _, (_, vectors) in own for vector in vectors]
                _insert(c, entity_type, [row for row, _ in own], [texts for _, (texts, _) in own], vectors)
            if missing:
                raise CacheError(f"{len(missing):,} {entity_type} have no vectors")
            c.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (entity_type, info.store, info.embedding))
            c.execute("INSERT OR REPLACE INTO sealed VALUES (?, ?, '')", (entity_type, info.as_text()))
            passages.replaced(c, entity_type)

        self.file.write(write)

    def seal(self, states: Mapping[str, tuple[str, str]]) -> None:
        """Record, by type, the description of its collection, and the state of its files: "" if they may not agree with this."""
        rows = [(entity_type, *state) for entity_type, state in states.items()]
        self.file.write(lambda c: c.executemany("INSERT OR REPLACE INTO sealed VALUES (?, ?, ?)", rows))

    def seal_again(self, entity_type: str, recorded: tuple[str, str], description: str) -> None:
        """Record another description of a type's collection, unless another process has recorded one since then."""
        change = "UPDATE sealed SET description = ?, files = '' WHERE (type, description, files) = (?, ?, ?)"
        self.file.write(lambda c: c.execute(change, (description, entity_type, *recorded)))


def _forget_vectors(c: sqlite3.Connection, entity_type: str) -> None:
    """Remove the vectors of a type, of which the store has others."""
    c.execute(f"DELETE FROM {entity_type}{PASSAGES}")
    c.execute("DELETE FROM vectors WHERE type = ?", (entity_type,))
    passages.replaced(c, entity_type)


def _finish(c: sqlite3.Connection, entity_type: str) -> None:
    c.execute("DELETE FROM unfinished WHERE type = ?", (entity_type,))


def _insert(
    c: sqlite3.Connection,
    entity_type: str,
    ids: Sequence[int],
    texts: Iterable[Sequence[Passage]],
    vectors: Sequence[Vectors],
) -> None:
    """Store passages with their vectors, which may be none for none of them."""
    passages.insert(c, f"{entity_type}{PASSAGES}", ids, texts, vectors, [_NO_KEY] * len(vectors))


# --- the store -------------------------------------------------------------------------------------------------------


class MilvusStore(Store):
    """One library in Milvus; its methods are documented in `lorekeeper.cache.store.Store`.

    Args:
        backend: keeps the collections.
        collections: of that backend.
        companion: on this machine.
    """

    backend_name = "milvus"

    searches_itself = True
    """Whether the collections search by meaning, so that the companion gets no vectors."""

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
        if self._info(entity_type) is None:
            return 0
        with self.write_lock():
            identities = self.collections.find(Selection(entity_type, documents=[document]))
            return self._remove(entity_type, sorted(identities))

    def delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> int:
        if self._info(entity_type) is None:
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
            self.companion.seal({entity_type: (info.as_text(), "")})
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
        return self.companion.state(entity_type)[:3] if self._ready(entity_type) else None

    def ask(self, name: str, empty: Callable[[], Any], *arguments: Any) -> Any:
        entity_type = type_of(arguments[0])
        if once((self, entity_type), partial(self._ready, entity_type)):
            return self.companion.ask(name, empty, *arguments)
        return empty()

    def rank_semantic(self, selection: Selection, vector: Vectors, limit: int, embedding: str) -> list[Ranked]:
        info = self._info(selection.entity_type)
        if info is None:
            return []
        require_model(info.embedding, embedding)
        return self.collections.nearest(selection, vector, limit)

    def undeclared(self) -> dict[str, int]:
        self._companion_opening.wait()
        return self.companion.undeclared()

    def open(self, types: Iterable[str]) -> None:
        """Open the store, and these types with their part of the companion, which is rebuilt if it is stale."""
        self.backend.open()
        for entity_type in types:
            self._ready(entity_type)

    def close(self) -> None:
        self.backend.close()
        self.companion.close()
        for opening in (self._companion_opening, *self._openings.values()):
            opening.forget()

    def count_passages(self, entity_type: str) -> int:
        return self.collections.count_passages(entity_type)

    # --- the companion ---------------------------------------------------------------------------------------------

    def _ready(self, entity_type: str, stale: Collection[Identity] = ()) -> bool:
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

    def _copies(self, chunked: Chunked, vectors: Vectors) -> list[Copy]:
        """What the companion gets of entities that are written."""
        if self.searches_itself:
            return [Copy(entity) for entity, _ in chunked]
        remaining = iter(vectors)
        return [Copy(entity, texts, list(itertools.islice(remaining, len(texts)))) for entity, texts in chunked]

    def _stored_copies(self, entity_type: str, identities: Sequence[Identity]) -> Iterator[Copy]:
        """What the companion gets of entities that were written before."""
        passages = () if self.searches_itself else self.collections.passages(entity_type, identities)
        found = {identity: copied for batch in passages for identity, copied in batch.items()}
        return (Copy(entity, *found.get(entity.identity, ())) for entity in self._each(entity_type, identities))

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
