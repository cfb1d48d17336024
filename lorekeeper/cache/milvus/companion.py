"""The companion of a Milvus library: keywords, filter fields and a second copy of every entity, in one SQLite file.

The file can be rebuilt from Milvus, and Milvus, if it is damaged, from the file: that is what `repair` does. It records in what the
two may differ: the id of the store that a table was built from, and the entities of pending writes.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lorekeeper.cache.formats import Normalized
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.sqlite.catalogue import Catalogue, insert, load, remove, statements
from lorekeeper.cache.sqlite.file import DamagedFileError, SqliteFile
from lorekeeper.cache.sqlite.upgrade import FileUpgrade
from lorekeeper.entities import Entity

logger = logging.getLogger(__name__)

R = TypeVar("R")

APPLICATION = 0x4C4B4B57
"""SQLite's application_id of a companion."""

LAYOUTS = range(6, 8)
"""Layouts that can be read; the last one is written. A file of an earlier one is built again from Milvus."""

DAMAGED = ".damaged"
"""Suffix of a file that could not be used and was moved aside."""

_MARKS = (
    "CREATE TABLE unfinished (type TEXT NOT NULL, document TEXT NOT NULL, slug TEXT NOT NULL)",
    "CREATE TABLE built (type TEXT PRIMARY KEY, store TEXT NOT NULL, rows INTEGER)",
)


class Companion(Catalogue):
    """The companion of one Milvus library. Blocking, and safe to use from several threads and processes."""

    def __init__(self, path: Path, types: Sequence[str] | None = None) -> None:
        tables = [*_MARKS, *statements(types)]
        super().__init__(SqliteFile(path, "the keyword index", APPLICATION, LAYOUTS, tables, durable=True, types=types))
        self.path = path
        self._known: dict[tuple[str, str], tuple[object, Any]] = {}

    def outdated(self) -> bool:
        """Whether the file has an earlier format, which `upgrade` changes."""
        return self._usable(self.file.outdated)

    def upgrade(self, normalized: Normalized) -> None:
        """Bring the file to the current format. The caller holds the library's write lock."""
        upgrade = FileUpgrade(self.file, normalized, parts=[], tables=["unfinished", "built", "changes"])
        self._usable(lambda: upgrade.run() if self.file.outdated() else None)

    def state(self, entity_type: str) -> tuple[str | None, bool]:
        """(id of the store that the type's table was built from, None if it never was; whether no write is pending)."""
        return self._remembered("state", entity_type, lambda c: self._state(c, entity_type))

    def copies(self, entity_type: str, store: str, identities: Sequence[Identity]) -> list[Entity] | None:
        """The entities of these identities, as `load` has them; None if they may differ from those of that store."""

        def read(c: sqlite3.Connection) -> list[Entity] | None:
            return load(c, entity_type, identities) if self._state(c, entity_type) == (store, True) else None

        return self._read(read)

    def unfinished(self, entity_type: str) -> list[Identity]:
        """The entities of pending writes: those that began and have not ended."""
        return self._rows("SELECT DISTINCT document, slug FROM unfinished WHERE type = ?", [entity_type])

    def version_mark(self, entity_type: str) -> tuple[object, ...]:
        """A value that changes whenever a write begins or ends."""
        return self._remembered(
            "mark", entity_type, lambda c: (*self.version(c, entity_type), *self._state(c, entity_type))
        )

    def _remembered(self, what: str, entity_type: str, read: Callable[[sqlite3.Connection], R]) -> R:
        """What is read of a type, read again after the next commit only: searches ask for it dozens of times."""
        stamp, known = self._usable(self.file.stamp), self._known.get((what, entity_type))
        if known is None or known[0] != stamp:
            self._known[what, entity_type] = known = stamp, self._read(read)
        value: R = known[1]
        return value

    def begin(self, entity_type: str, identities: Iterable[Identity]) -> None:
        """Record that a write of these entities begins; until it ends they may differ from the store's."""
        rows = [(entity_type, *identity) for identity in identities]
        self._write(lambda c: c.executemany("INSERT INTO unfinished VALUES (?, ?, ?)", rows))

    def apply(self, entity_type: str, entities: Iterable[Entity]) -> None:
        """Copy entities that the store now holds, and end the write."""

        def write(c: sqlite3.Connection) -> None:
            insert(c, entity_type, entities)
            _finish(c, entity_type)

        self._write(write)

    def remove(self, entity_type: str, identities: Iterable[Identity], current: Iterable[Entity] = ()) -> None:
        """Remove entities, store the current ones, and end the write."""

        def write(c: sqlite3.Connection) -> None:
            remove(c, entity_type, identities)
            insert(c, entity_type, current)
            _finish(c, entity_type)

        self._write(write)

    def rebuild(self, entity_type: str, store: str, entities: Callable[[], Iterable[Entity]]) -> None:
        """Rebuild a type's table from all its entities, which are requested again if the file proves damaged."""

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
        """Rows that the store's collection had after the last complete write; None if that is not known."""
        rows = self._rows("SELECT rows FROM built WHERE type = ?", [entity_type])
        return rows[0][0] if rows else None

    def note_rows(self, entity_type: str, number: int) -> None:
        """Record how many rows the store's collection has."""
        self._write(lambda c: c.execute("UPDATE built SET rows = ? WHERE type = ?", (number, entity_type)))

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
            self._learning.stop()
            self.file.move_aside(DAMAGED)
            return use()


def _finish(c: sqlite3.Connection, entity_type: str) -> None:
    c.execute("DELETE FROM unfinished WHERE type = ?", (entity_type,))
