"""Upgrading an SQLite file of ours: a new file is filled from the records of the earlier one, and then takes its place.

The earlier file stays as it was until that moment, which is one step. A process that is killed leaves a part of the new file,
and the next one goes on with it, if nothing was written to the earlier file in between.

First the earlier file leaves SQLite's WAL mode, which only works while no other process has it open: its log could otherwise
meet the new file, and a program of the earlier version would go on writing to a file that is gone.
See https://www.sqlite.org/howtocorrupt.html, sections 2.4 and 2.5.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import lorekeeper
from lorekeeper.cache.formats import UPGRADED, Format, Normalized, declarations, newer, reported, upgraded
from lorekeeper.cache.protocol import Progress
from lorekeeper.cache.sqlite.catalogue import insert_new, unpack
from lorekeeper.cache.sqlite.file import SqliteFile, columns, connect, database_files, read_format, remove_database
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError

BATCH = 256
"""Entities that are safe together."""

ALONE_SECONDS = 3.0
"""How long to wait for other processes to close the file: those that wait for the upgrade have it open for a moment."""


class FileUpgrade:
    """One upgrade of one file, whose write lock the caller holds.

    Args:
        file: the file, of an earlier format.
        normalized: gives the filter values that follow from an entity's data.
        parts: the suffixes of tables whose rows belong to the entities of a type, by their column "entity".
        tables: those that are copied as they are.
    """

    def __init__(self, file: SqliteFile, normalized: Normalized, parts: Sequence[str], tables: Sequence[str]) -> None:
        self._file, self._normalized, self._parts, self._tables = file, normalized, parts, tables
        self._path = file.path
        self._fresh = file.path.with_name(f"{file.path.name}.{UPGRADED}")

    def run(self) -> None:
        """Upgrade the file.

        Raises:
            CacheError: it cannot be done: another process has the file open, the disk is full, an entry is damaged. The file
                is as it was.
        """
        self._file.close()
        self._file.guarded(self._run)

    def _run(self) -> None:
        self._require_space()
        self._require_alone()
        try:
            self._fill()
            self._fresh.replace(self._path)
        except Exception:
            remove_database(self._fresh)
            with contextlib.suppress(sqlite3.Error), contextlib.closing(connect(self._path)) as c:
                c.execute("PRAGMA journal_mode = WAL")
            raise

    def _require_space(self) -> None:
        size = sum(file.stat().st_size for file in database_files(self._path) if file.exists())
        free = shutil.disk_usage(self._path.parent).free
        if free < size and not self._fresh.exists():
            raise CacheError(
                f"{self._file.kind} {self._path} has to be upgraded, which takes about {size / 1e6:,.0f} MB, and the disk has "
                f"{free / 1e6:,.0f} MB; free some space and try again"
            )

    def _require_alone(self) -> None:
        """Move the log into the file, which SQLite does where no other process has it open; CacheError where one has."""
        deadline = time.monotonic() + ALONE_SECONDS
        while True:
            with contextlib.closing(connect(self._path)) as c:
                made_by = read_format(c).version or "0.1.0"
                c.execute("PRAGMA busy_timeout = 0")
                with contextlib.suppress(sqlite3.OperationalError):
                    if c.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete":
                        return
            if time.monotonic() > deadline:
                raise CacheError(
                    f"{self._file.kind} {self._path} has the format of LoreKeeper {made_by} and must be upgraded to that of "
                    f"{lorekeeper.__version__}, but another process has it open. Restart the older program, so that both are "
                    "the same version, and try again"
                )
            time.sleep(0.05)

    def _fill(self) -> None:
        """Copy everything to the new file, or what is not there yet."""
        with contextlib.closing(connect(self._path)) as c:
            source = _state(c)
        if not self._fresh.exists() or _source_of(self._fresh) != source:
            remove_database(self._fresh)
            self._file.make(self._fresh)
        with contextlib.closing(connect(self._fresh)) as c:
            c.execute("INSERT OR REPLACE INTO meta VALUES ('source', ?)", [source])
            c.execute("ATTACH DATABASE ? AS earlier", [str(self._path)])
            earlier = read_format(c, "earlier")
            self._require_known_types(c, earlier)
            types = [entity_type for entity_type in COLLECTIONS if columns(c, entity_type, "earlier")]
            total = sum(_count(c, entity_type) for entity_type in types)
            with reported(f"{self._file.kind} {self._path}", total) as progress:
                for entity_type in types:
                    self._copy_type(c, entity_type, earlier.fields.get(entity_type, ""), progress)
            self._finish(c)

    def _require_known_types(self, c: sqlite3.Connection, earlier: Format) -> None:
        """NewerLibraryError where there are entities of a type that is not declared: they would be lost."""
        for entity_type in earlier.fields.keys() - COLLECTIONS.keys():
            if columns(c, entity_type, "earlier") and _count(c, entity_type):
                raise newer(f"{self._file.kind} {self._path}", earlier.layout, earlier.version)

    def _copy_type(self, c: sqlite3.Connection, entity_type: str, declared: str, progress: Progress) -> None:
        (last,) = c.execute(f"SELECT ifnull(max(id), 0) FROM main.{entity_type}").fetchone()
        progress(c.execute(f"SELECT count(*) FROM main.{entity_type}").fetchone()[0])
        sql = f"SELECT id, record FROM earlier.{entity_type} WHERE id > ? ORDER BY id LIMIT {BATCH}"
        while rows := c.execute(sql, [last]).fetchall():
            c.execute("BEGIN IMMEDIATE")
            for row_id, record in rows:
                insert_new(c, upgraded(unpack(entity_type, record), declared, self._normalized), row_id)
            for part in self._parts:
                _copy(c, entity_type + part, "WHERE entity BETWEEN ? AND ?", (rows[0][0], rows[-1][0]))
            c.execute("COMMIT")
            last = rows[-1][0]
            progress(len(rows))

    def _finish(self, c: sqlite3.Connection) -> None:
        c.execute("BEGIN IMMEDIATE")
        for table in self._tables:
            c.execute(f"DELETE FROM main.{table}")
            _copy(c, table)
        c.execute("COMMIT")


def _state(c: sqlite3.Connection) -> str:
    """What differs where the earlier file is another one, where it was written to, or where other columns are declared."""
    changes = sorted(c.execute("SELECT type, number FROM changes"))
    return json.dumps([changes, read_format(c).layout, declarations(), lorekeeper.__version__])


def _source_of(path: Path) -> str | None:
    """What the new file that a killed process has left was being filled from; None where that is not known."""
    try:
        with contextlib.closing(connect(path)) as c:
            row = c.execute("SELECT value FROM meta WHERE key = 'source'").fetchone()
    except sqlite3.Error:
        return None
    return str(row[0]) if row else None


def _copy(c: sqlite3.Connection, table: str, condition: str = "", values: Sequence[int] = ()) -> None:
    """Copy the rows of a table, in the columns that both files have."""
    there = columns(c, table, "earlier")
    names = ", ".join(name for name in columns(c, table) if name in there)
    if names:
        c.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM earlier.{table} {condition}", values)


def _count(c: sqlite3.Connection, entity_type: str) -> int:
    return int(c.execute(f"SELECT count(*) FROM earlier.{entity_type}").fetchone()[0])
