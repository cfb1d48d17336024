"""The companion of a Milvus library: keywords, filter fields and a second copy of every entity, in one SQLite file.

The file can be built again from Milvus, and Milvus, where it is damaged, from the file: that is what `repair` does. Two
marks say where the two may differ: the id of the store a table was built from, and the entities of a write that was begun
and not finished.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.sqlite.catalogue import Catalogue, insert, remove, statements
from lorekeeper.cache.sqlite.file import DamagedFileError, SqliteFile
from lorekeeper.entities import Entity

logger = logging.getLogger(__name__)

R = TypeVar("R")

APPLICATION = 0x4C4B4B57
FORMAT = 6
"""Stored as SQLite's application_id and user_version; a file of another format is built anew."""

DAMAGED = ".damaged"
"""What is appended to the name of a file that could not be used."""

_MARKS = (
    "CREATE TABLE unfinished (type TEXT NOT NULL, document TEXT NOT NULL, slug TEXT NOT NULL)",
    "CREATE TABLE built (type TEXT PRIMARY KEY, store TEXT NOT NULL, rows INTEGER)",
)


class Companion(Catalogue):
    """The catalogue of one Milvus library. Blocking, and safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        made = [*_MARKS, *statements()]
        super().__init__(SqliteFile(path, "the keyword index", APPLICATION, FORMAT, made, durable=True))
        self.path = path

    def state(self, entity_type: str) -> tuple[str | None, bool]:
        """(id of the store the type's table was built from, None if never; whether no write is unfinished)."""
        return self._read(lambda c: self._state(c, entity_type))

    def unfinished(self, entity_type: str) -> list[Identity]:
        """The entities of a write that was begun and not finished."""
        return self._rows("SELECT DISTINCT document, slug FROM unfinished WHERE type = ?", [entity_type])

    def mark(self, entity_type: str) -> tuple[object, ...]:
        """Differs whenever a write has begun or ended in between."""
        return self._read(lambda c: (*self.version(c, entity_type), *self._state(c, entity_type)))

    def begin(self, entity_type: str, identities: Iterable[Identity]) -> None:
        """Say that a write of these entities is about to begin; until it ends they may differ from the store's."""
        rows = [(entity_type, *identity) for identity in identities]
        self._write(lambda c: c.executemany("INSERT INTO unfinished VALUES (?, ?, ?)", rows))

    def apply(self, entity_type: str, entities: Iterable[Entity]) -> None:
        """Take over entities that the store now holds, and end the write."""

        def write(c: sqlite3.Connection) -> None:
            insert(c, entity_type, entities)
            _finish(c, entity_type)

        self._write(write)

    def remove(self, entity_type: str, identities: Iterable[Identity], kept: Iterable[Entity] = ()) -> None:
        """Drop entities but those that are to be kept, as they are given, and end the write."""

        def write(c: sqlite3.Connection) -> None:
            remove(c, entity_type, identities)
            insert(c, entity_type, kept)
            _finish(c, entity_type)

        self._write(write)

    def rebuild(self, entity_type: str, store: str, entities: Callable[[], Iterable[Entity]]) -> None:
        """Build a type's table anew from all its entities, which are asked for again where the file proves damaged."""

        def write(c: sqlite3.Connection) -> None:
            c.execute(f"DELETE FROM {entity_type}")
            c.execute(f"DELETE FROM {entity_type}_fts")
            insert(c, entity_type, entities())
            c.execute("INSERT OR REPLACE INTO built VALUES (?, ?, NULL)", (entity_type, store))
            _finish(c, entity_type)

        logger.info("building the keyword index of %s", entity_type)
        self._write(write)

    @staticmethod
    def _state(c: sqlite3.Connection, entity_type: str) -> tuple[str | None, bool]:
        row = c.execute("SELECT store FROM built WHERE type = ?", (entity_type,)).fetchone()
        unfinished = c.execute("SELECT 1 FROM unfinished WHERE type = ?", (entity_type,)).fetchone()
        return row[0] if row else None, unfinished is None

    def rows(self, entity_type: str) -> int | None:
        """Rows that the store's collection had after the last write that ended as it should; None where that is not known."""
        found = self._rows("SELECT rows FROM built WHERE type = ?", [entity_type])
        return found[0][0] if found else None

    def note_rows(self, entity_type: str, number: int) -> None:
        """Note how many rows the store's collection has."""
        self._write(lambda c: c.execute("UPDATE built SET rows = ? WHERE type = ?", (number, entity_type)))

    def _read(self, function: Callable[[sqlite3.Connection], R]) -> R:
        return self._kept(self.file.read, function)

    def _write(self, function: Callable[[sqlite3.Connection], object]) -> None:
        self._kept(self.file.write, function)

    def _kept(
        self, use: Callable[[Callable[[sqlite3.Connection], R]], R], function: Callable[[sqlite3.Connection], R]
    ) -> R:
        """Use the file; a damaged one is put aside for an empty one, which counts as never built."""
        try:
            return use(function)
        except DamagedFileError as error:
            logger.warning("%s: building it anew", error)
            self.file.move_aside(DAMAGED)
            return use(function)


def _finish(c: sqlite3.Connection, entity_type: str) -> None:
    c.execute("DELETE FROM unfinished WHERE type = ?", (entity_type,))
