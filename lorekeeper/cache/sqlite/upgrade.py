"""Upgrades an SQLite file of ours: a new file is filled from the records of the earlier one, and then replaces it.

The earlier file stays unchanged until that moment, and the replacement is atomic. A process that is killed leaves an
incomplete new file, which the next process completes, unless the earlier file was written to in between.

First the earlier file leaves SQLite's WAL mode, which works only while no other process has it open. Otherwise its log could
be applied to the new file, and a program of the earlier version would continue to write to the deleted file.
See https://www.sqlite.org/howtocorrupt.html, sections 2.4 and 2.5.

A file that only lacks tables, as those of new types, is not copied, since nothing that it has would change: it gets them.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from lorekeeper.cache.formats import (
    TO_FORMAT,
    UPGRADED,
    UPGRADING,
    Format,
    Normalized,
    declarations,
    is_later,
    newer,
    reported,
    upgraded,
)
from lorekeeper.cache.protocol import Progress
from lorekeeper.cache.sqlite.catalogue import insert_new
from lorekeeper.cache.sqlite.file import SqliteFile, columns, connect, database_files, read_format, remove_database
from lorekeeper.cache.sqlite.records import unpack
from lorekeeper.errors import CacheError
from lorekeeper.version import VERSION

BATCH = 256
"""Entities copied in one transaction."""

ALONE_SECONDS = 3.0
"""How long to wait for other processes to close the file: those that wait for the upgrade open it briefly."""


class FileUpgrade:
    """One upgrade of one file, whose write lock the caller holds.

    Args:
        file: the file, of an earlier format.
        normalized: gives the filter values that follow from an entity's data.
        parts: the suffixes of tables whose rows belong to the entities of a type, by their column "entity".
        tables: the tables that are copied unchanged.
    """

    def __init__(self, file: SqliteFile, normalized: Normalized, parts: Sequence[str], tables: Sequence[str]) -> None:
        self._file, self._normalized, self._parts, self._tables = file, normalized, parts, tables
        self._path = file.path
        self._target = file.path.with_name(f"{file.path.name}.{UPGRADED}")

    def run(self) -> None:
        """Upgrade the file.

        Raises:
            CacheError: another process has the file open, the disk is full, or an entry is damaged. The file is unchanged.
        """
        self._file.close()
        self._file.guarded(self._run)

    def _run(self) -> None:
        if self._lacks_tables_only():
            self._require_alone()
            self._file.complete()
            return
        self._require_space()
        self._require_alone()
        try:
            self._fill()
            self._target.replace(self._path)
        except Exception:
            remove_database(self._target)
            with contextlib.suppress(sqlite3.Error), contextlib.closing(connect(self._path)) as c:
                c.execute("PRAGMA journal_mode = WAL")
            raise

    def _lacks_tables_only(self) -> bool:
        with contextlib.closing(connect(self._path)) as c:
            earlier = read_format(c)
        return earlier.layout >= self._file.extended and all(
            earlier.fields.get(name, columns) == columns for name, columns in declarations(self._file.types).items()
        )

    def _require_space(self) -> None:
        size = sum(file.stat().st_size for file in database_files(self._path) if file.exists())
        free = shutil.disk_usage(self._path.parent).free
        if free < size and not self._target.exists():
            raise CacheError(
                f"{self._file.kind} {self._path} must be upgraded, which takes about {size / 1e6:,.0f} MB, but the disk has only "
                f"{free / 1e6:,.0f} MB free; free some space and try again"
            )

    def _require_alone(self) -> None:
        """Merge the log into the file, which SQLite does if no other process has it open; CacheError if one has."""
        deadline = time.monotonic() + ALONE_SECONDS
        while True:
            with contextlib.closing(connect(self._path)) as c:
                writer = read_format(c).version
                c.execute("PRAGMA busy_timeout = 0")
                with contextlib.suppress(sqlite3.OperationalError):
                    if c.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete":
                        return
            if time.monotonic() > deadline:
                raise CacheError(
                    f"{self._file.kind} {self._path} has the format of LoreKeeper {writer} and must be upgraded to that of "
                    f"{VERSION}, but another process has it open. Restart that process, so that both "
                    "run the same version, and try again"
                )
            time.sleep(0.05)

    def _fill(self) -> None:
        """Copy everything that the new file does not have yet."""
        with contextlib.closing(connect(self._path)) as c:
            source = _state(c, self._file.types)
        if not self._target.exists() or _source_of(self._target) != source:
            remove_database(self._target)
            self._file.make(self._target)
        with contextlib.closing(connect(self._target)) as c:
            c.execute("INSERT OR REPLACE INTO meta VALUES ('source', ?)", [source])
            c.execute("ATTACH DATABASE ? AS earlier", [str(self._path)])
            earlier = read_format(c, "earlier")
            self._require_known_types(c, earlier)
            types = [entity_type for entity_type in self._file.types if columns(c, entity_type, "earlier")]
            total = sum(_count(c, entity_type) for entity_type in types)
            with reported(UPGRADING, f"{self._file.kind} {self._path}", total, TO_FORMAT) as progress:
                for entity_type in types:
                    self._copy_type(c, entity_type, earlier.fields.get(entity_type, ""), progress)
            self._finish(c)

    def _require_known_types(self, c: sqlite3.Connection, earlier: Format) -> None:
        """CacheError if there are entities of a type that is not declared: they would be lost."""
        where = f"{self._file.kind} {self._path}"
        for entity_type in sorted(earlier.fields.keys() - set(self._file.types)):
            if columns(c, entity_type, "earlier") and _count(c, entity_type):
                if is_later(earlier.version):
                    raise newer(where, earlier.layout, earlier.version)
                raise CacheError(
                    f"{where} must be upgraded, but has entities of the type {entity_type}, which is not declared here; open it "
                    "once with the program that declares it"
                )

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


def _state(c: sqlite3.Connection, types: Sequence[str]) -> str:
    """A text that changes if the earlier file is replaced or written to, or if other columns are declared."""
    changes = sorted(c.execute("SELECT type, number FROM changes"))
    return json.dumps([changes, read_format(c).layout, declarations(types), VERSION])


def _source_of(path: Path) -> str | None:
    """The `_state` of the file from which a killed process was filling a new one; None if it is not known."""
    try:
        with contextlib.closing(connect(path)) as c:
            row = c.execute("SELECT value FROM meta WHERE key = 'source'").fetchone()
    except sqlite3.Error:
        return None
    return str(row[0]) if row else None


def _copy(c: sqlite3.Connection, table: str, condition: str = "", values: Sequence[int] = ()) -> None:
    """Copy the rows of a table, in the columns that both files have."""
    source_columns = columns(c, table, "earlier")
    names = ", ".join(name for name in columns(c, table) if name in source_columns)
    if names:
        c.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM earlier.{table} {condition}", values)


def _count(c: sqlite3.Connection, entity_type: str) -> int:
    return int(c.execute(f"SELECT count(*) FROM earlier.{entity_type}").fetchone()[0])
