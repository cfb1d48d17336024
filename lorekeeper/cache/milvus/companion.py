"""The companion of a Milvus library: keywords, filter fields and a second copy of every entity, in one SQLite file.

The companion of an embedded library has a copy of the passages with their vectors, too. Searches by meaning read it: it is
derived data, and whenever it may differ from the collection it is made again from that.

The file can be rebuilt from Milvus, and Milvus, if it is damaged, from the file: that is what `repair` does. It records in what the
two may differ: the id of the store that a table was built from, the model of the vectors, and the entities of pending writes. It
also records in which state Milvus Lite's files were when they and the companion had been compared.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from lorekeeper.cache.milvus.rows import CollectionInfo
from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.snapshot import once
from lorekeeper.cache.sqlite import passages
from lorekeeper.cache.sqlite.catalogue import insert, remove, statements
from lorekeeper.cache.sqlite.file import DamagedFileError, SqliteFile
from lorekeeper.cache.sqlite.passages import PASSAGES, PassageCatalogue
from lorekeeper.cache.vectors import KEY_BYTES
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.text.passages import Passage

logger = logging.getLogger(__name__)

R = TypeVar("R")

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
        vectors: store and model of its vectors; None if they are not all there.
        sealed: the description of the collection, and the state of its files, when both were compared with this file.
    """

    version: object
    store: str | None
    finished: bool
    vectors: tuple[str, str] | None
    sealed: tuple[str, str] | None


class Companion(PassageCatalogue):
    """The companion of one Milvus library. Blocking, and safe to use from several threads and processes."""

    def __init__(self, path: Path, types: Sequence[str] | None = None) -> None:
        tables = [*_MARKS, *statements(types), *passages.statements(types)]
        file = SqliteFile(
            path,
            "the keyword index",
            APPLICATION,
            LAYOUT,
            tables,
            durable=True,
            types=types,
            later=passages.later_statements(types),
        )
        super().__init__(file)
        self.path = path

    def examine(self) -> None:
        """Open the file, if there is one; UnknownFormatError if it has another format."""
        if self.path.exists():
            self._read(lambda _: None)

    def discard(self) -> None:
        """Move the file aside, so that it is built again."""
        logger.warning("%s has an earlier format: building it again", self.path)
        self.file.move_aside(DAMAGED)

    def state(self, entity_type: str) -> TypeState:
        """What the file records of a type."""
        return once((self, entity_type), lambda: self._read(lambda c: self._state(c, entity_type)))

    def _state(self, c: sqlite3.Connection, entity_type: str) -> TypeState:
        vectors, sealed = (_recorded(c, table, entity_type) for table in ("vectors", "sealed"))
        return TypeState(self.version_in(c, entity_type), *_built(c, entity_type), vectors, sealed)

    def copies(self, entity_type: str, store: str, identities: Sequence[Identity]) -> list[Entity] | None:
        """The entities of these identities, as `load` has them; None if they may differ from those of that store."""

        def read(c: sqlite3.Connection) -> list[Entity] | None:
            return self.loaded(c, entity_type, identities) if _built(c, entity_type) == (store, True) else None

        return self._read(read)

    def unfinished(self, entity_type: str) -> list[Identity]:
        """The entities of pending writes: those that began and have not ended."""
        return self._rows("SELECT DISTINCT document, slug FROM unfinished WHERE type = ?", [entity_type])

    def begin(self, entity_type: str, identities: Iterable[Identity]) -> None:
        """Record that a write of these entities begins; until it ends they may differ from the store's."""
        rows = [(entity_type, *identity) for identity in identities]
        self._write(lambda c: c.executemany("INSERT INTO unfinished VALUES (?, ?, ?)", rows))

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

        self._write(write)

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
        self._write(write)

    # --- vectors ---------------------------------------------------------------------------------------------------

    def has_vectors(self, entity_type: str, info: CollectionInfo) -> bool:
        """Whether the file has the vectors of a collection of that description."""
        return self.state(entity_type).vectors == _vectors_of(info)

    def rank_semantic(
        self, selection: Selection, vector: Vectors, limit: int, info: CollectionInfo
    ) -> list[Ranked] | None:
        """The entities whose best passage is nearest to a vector, exactly; None if these are another collection's vectors."""

        def rank(c: sqlite3.Connection) -> list[Ranked] | None:
            current = _recorded(c, "vectors", selection.entity_type) == _vectors_of(info)
            return self.nearest(c, selection, vector, limit) if current else None

        return self._read(rank)

    def read_vectors(self, entity_type: str) -> None:
        """Read the vectors of a type into memory, unless they are there."""
        self._read(lambda c: self.matrix(c, entity_type))

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
            c.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (entity_type, *_vectors_of(info)))
            passages.replaced(c, entity_type)

        self._write(write)

    # --- the state of Milvus Lite's files --------------------------------------------------------------------------

    def seal(self, states: Mapping[str, tuple[str, str]]) -> None:
        """Record the description and the state of the files of some types, by type."""
        rows = [(entity_type, *state) for entity_type, state in states.items()]
        self._write(lambda c: c.executemany("INSERT OR REPLACE INTO sealed VALUES (?, ?, ?)", rows))

    def _read(self, function: Callable[[sqlite3.Connection], R]) -> R:
        return self._usable(lambda: self.file.read(function))

    def _write(self, function: Callable[[sqlite3.Connection], object]) -> None:
        self._usable(lambda: self.file.write(function))

    def _usable(self, use: Callable[[], R]) -> R:
        """Use the file; a damaged one is moved aside and replaced with an empty one, which counts as never built."""
        try:
            return use()
        except DamagedFileError as error:
            logger.warning("%s: rebuilding it", error)
            self.file.move_aside(DAMAGED)
            return use()


def _forget_vectors(c: sqlite3.Connection, entity_type: str) -> None:
    """Remove the vectors of a type, of which the store has others."""
    c.execute(f"DELETE FROM {entity_type}{PASSAGES}")
    c.execute("DELETE FROM vectors WHERE type = ?", (entity_type,))
    passages.replaced(c, entity_type)


def _finish(c: sqlite3.Connection, entity_type: str) -> None:
    c.execute("DELETE FROM unfinished WHERE type = ?", (entity_type,))


def _built(c: sqlite3.Connection, entity_type: str) -> tuple[str | None, bool]:
    """The store that a type was built from, None if it never was, and whether no write is pending."""
    sql = "SELECT (SELECT store FROM built WHERE type = ?1), NOT EXISTS (SELECT 1 FROM unfinished WHERE type = ?1)"
    store, finished = c.execute(sql, (entity_type,)).fetchone()
    return store, bool(finished)


def _vectors_of(info: CollectionInfo) -> tuple[str, str]:
    """What tells the vectors of a collection from others."""
    return info.store, info.embedding


def _recorded(c: sqlite3.Connection, table: str, entity_type: str) -> tuple[str, str] | None:
    """What a table of `_MARKS` has for a type: the `_vectors_of` of its vectors, if all are there, or its seal."""
    row: tuple[str, str, str] | None = c.execute(f"SELECT * FROM {table} WHERE type = ?", (entity_type,)).fetchone()
    return row and row[1:]


def _insert(
    c: sqlite3.Connection,
    entity_type: str,
    ids: Sequence[int],
    texts: Iterable[Sequence[Passage]],
    vectors: Sequence[Vectors],
) -> None:
    """Store passages with their vectors, which may be none for none of them."""
    passages.insert(c, f"{entity_type}{PASSAGES}", ids, texts, vectors, [_NO_KEY] * len(vectors))
