"""An untrusted SQLite file, opened read-only: a library of ours, the companion of a Milvus library, or an earlier cache.

The file may be malicious. Only its real tables are read: no view, virtual table or generated column of it is ever evaluated,
no trigger runs, and sizes are checked before anything is unpacked.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lorekeeper.cache.formats import parse_declarations
from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, log_files, unpacked
from lorekeeper.entities import COLLECTIONS, MAX_RECORD_BYTES, parse_json
from lorekeeper.errors import ImportFileError
from lorekeeper.regular_files import open_regular
from lorekeeper.system import Closing

BUSY_SECONDS = 2.0

VECTORS = 500
"""Vectors per batch."""

MAX_VECTOR_BYTES = 64 << 10
"""Longest packed vector that is read; vectors of real models take up to 16 kB."""

MAX_ROW_BYTES = 16 << 20
"""Largest row that SQLite reads: ten entries of the largest size are smaller."""

MAX_TEXT_BYTES = 4 * MAX_RECORD_BYTES
"""Longest JSON text that is parsed: with escapes and spaces it may be longer than the entry that it holds."""

MAX_GROWTH = 10
FREE_BYTES = 16 << 20
"""A file may unpack to this many times its size, and any file to this size: ours unpack to a few times their size."""

_STEPS = 1_000
_MAX_CALLS = 10_000
"""Instructions of SQLite's virtual machine per call of the progress handler, and calls allowed per row: a row needs about 20."""

_TOO_LARGE = f"it is damaged, or larger than an entry may be ({MAX_RECORD_BYTES:,} bytes as JSON)"

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_FUNCTION}

_MAGIC = b"SQLite format 3\0"
_WAL = b"\x02\x02"

_VECTOR = ", ".join(f"iif(length({name}) <= {MAX_VECTOR_BYTES}, {name}, NULL)" for name in ("key", "vector"))
"""The columns of a packed vector; what is too long for one is NULL, so that a batch of them stays small."""

_LEGACY = {"slug", "name", "data"}
"""Columns that make a table of an earlier cache; others may be missing."""

_NO_LORE = {"api_cache"}


@dataclass(frozen=True)
class SourceRow:
    """One entry as it stands in a file, or why it cannot be read.

    Attributes:
        slug: its key, None if it is missing.
        content: JSON text of the whole entry, of our own files that of `Entity.as_record`; None if ``problem`` is set.
        document: key of its document, if there is a column for it.
        source_api: where it came from, if there is a column for it.
        name: from its column.
        updated: seconds since the epoch, 0 if not recorded.
        problem: why it cannot be read, in one sentence.
    """

    slug: str | None
    content: str | bytes | None = None
    document: str | None = None
    source_api: str | None = None
    name: str | None = None
    updated: float = 0.0
    problem: str | None = None


class SqliteSource(Closing):
    """An open source file; use it as a context manager, in one thread.

    Args:
        path: the file.
        layouts: layouts (user_version) of our own files, up to which they are read, by kind (application_id).
        tables: the tables of another program's file that are to be read; none for the files that LoreKeeper knows.

    Attributes:
        ours: whether it is a library or a companion of ours.
        tables: names of the tables that hold entries.
        fields: the declared fields of the entries of our own files, as `lorekeeper.cache.formats.declarations` writes them.

    Raises:
        ImportFileError: it is not an SQLite file, or locked, or has no table that LoreKeeper can read.
    """

    def __init__(self, path: Path, layouts: Mapping[int, int], tables: Sequence[str] = ()) -> None:
        self.path, self._layouts = path, layouts
        self._wanted = tables
        self._folder: str | None = None
        self._calls = self._unpacked = self._most = 0
        with self._named("cannot be opened"):
            self._connection = self._open()
        try:
            with self._named("cannot be read"):
                application = self._connection.execute("PRAGMA application_id").fetchone()[0]
                version = self._connection.execute("PRAGMA user_version").fetchone()[0]
                # views and virtual tables have no page of their own, whatever else their rows say
                names = self._connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE%'"
                ).fetchall()
                self.ours = application in layouts and not tables
                self._names = [name.decode("utf-8", "replace") for (name,) in names]
                self.tables = self._chosen(self._names, application, version)
                self.fields = self._declarations()
                if self.ours:  # a type that was not declared then has no table
                    self.tables = [name for name in self.tables if name in self.fields]
        except BaseException:
            self.close()
            raise

    def rows(self, table: str) -> Iterator[SourceRow]:
        """All entries of a table; if the file is damaged, one row says so and the rest is left out."""
        try:
            yield from self._records(table) if self.ours else self._legacy(table)
        except SQLITE_ERRORS as error:
            yield SourceRow(None, problem=f"the rest of the table cannot be read: {error}")

    def undeclared(self) -> dict[str, int]:
        """How many entries a file of ours has of types that only another program declares, by type."""
        others = [name for name in self.fields if name not in COLLECTIONS and self._columns(name)] if self.ours else []
        with self._named("cannot be read"):
            counts = {name: next(self._rows(f'SELECT count(*) FROM "{name}" NOT INDEXED'))[0] for name in others}
        return {name: number for name, number in counts.items() if number}

    def columns(self, table: str) -> list[str]:
        """The columns of a table."""
        return sorted(self._columns(table))

    def objects(self, table: str) -> Iterator[dict[str, Any] | None]:
        """The rows of another program's table by column; None for one that cannot be read."""
        names = self.columns(table)
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        for row in self._select(table, columns):
            yield None if row is None else dict(zip(names, map(_plain, row), strict=True))

    def vectors(self) -> Iterator[list[tuple[Any, Any]]]:
        """All vectors of a library of ours, by key and packed, unchecked; nothing of other files."""
        tables = [f"{t}_passages" for t in self.tables] if self.ours else []
        for table in tables:
            with contextlib.suppress(*SQLITE_ERRORS):  # a vector that cannot be read is computed
                readable = self._columns(table) >= {"key", "vector"}
                rows = filter(None, self._select(table, _VECTOR)) if readable else iter(())
                while batch := list[tuple[Any, Any]](itertools.islice(rows, VECTORS)):
                    yield batch

    def close(self) -> None:
        """Close it, and remove the copy if there is one."""
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _open(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise ImportFileError(str(self.path), "there is no such file")
        with open_regular(self.path) as file:
            header = file.read(20)
        if header[:16] != _MAGIC:
            raise ImportFileError(str(self.path), "is not an SQLite database" if header else "is empty")
        place, options = self.path, "mode=ro"
        wal, shm = log_files(self.path)
        size = sum(file.stat().st_size for file in (self.path, wal) if file.exists())
        self._most = max(FREE_BYTES, MAX_GROWTH * size)
        if header[18:20] == _WAL and not shm.exists():
            # SQLite would create files beside it. No process has it open, so it is read as it is, or copied with its log
            if wal.exists() and wal.stat().st_size:
                self._folder = tempfile.mkdtemp(prefix="lorekeeper-")
                place = Path(self._folder) / self.path.name
                shutil.copyfile(self.path, place)
                shutil.copyfile(wal, f"{place}-wal")
            else:
                options = "mode=ro&immutable=1"
        uri = f"file:{quote(str(place.absolute()))}?{options}"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
        connection.set_progress_handler(self._is_endless, _STEPS)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_authorized)
        return connection

    def _is_endless(self) -> bool:
        self._calls += 1
        return self._calls > _MAX_CALLS

    def _select(self, table: str, columns: str) -> Iterator[Any]:
        """The rows of a table by their ids, None for one that is too large, or missing under its id."""
        quoted, names = table.replace('"', '""'), self._columns(table)
        key = next((name for name in ("rowid", "_rowid_", "oid") if name not in names), "rowid")
        last = -math.inf
        for (row_id,) in self._rows(f'SELECT {key} FROM "{quoted}" NOT INDEXED'):
            if not isinstance(row_id, int) or row_id <= last:  # a page that is listed again and again would never end
                raise sqlite3.DatabaseError("its rows are out of order")
            last = row_id
            try:
                yield next(self._rows(f'SELECT {columns} FROM "{quoted}" WHERE {key} = ?', [row_id]), None)
            except sqlite3.DataError:
                yield None

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query; each has its own share of SQLite's instructions."""
        self._calls = 0
        for row in self._connection.execute(sql, values):
            yield row
            self._calls = 0

    def _chosen(self, names: list[str], application: int, version: int) -> list[str]:
        if self._wanted:
            if missing := [table for table in self._wanted if table not in names]:
                raise ImportFileError(
                    str(self.path), f"has no table {missing[0]}; its tables are {', '.join(names[:10])}"
                )
            return list(self._wanted)
        if self.ours:
            if version > self._layouts[application]:
                raise ImportFileError(
                    str(self.path),
                    f"has layout {version}, which this version of LoreKeeper cannot read; use the version that wrote it",
                )
            return list(COLLECTIONS)
        tables = [n for n in names if n not in _NO_LORE and self._columns(n) >= _LEGACY]
        if not tables:
            content = f"its tables are {', '.join(names[:10])}" if names else "it has no tables"
            raise ImportFileError(
                str(self.path),
                f"is neither a LoreKeeper library nor an earlier cache: {content}, none with slug, name and data. Say what a table "
                "holds with --map TABLE=TYPE",
            )
        return tables

    def _declarations(self) -> dict[str, str]:
        if not self.ours:
            return {}
        try:
            meta = self._select("meta", "key, value") if self._columns("meta") >= {"key", "value"} else ()
            rows = {_text(key): _text(value) for key, value in filter(None, meta)}
            return parse_declarations(parse_json(rows.get("fields") or ""))
        except ValueError as error:
            raise ImportFileError(str(self.path), f"has an invalid description of its fields: {error}") from error

    def _columns(self, table: str) -> set[str]:
        quoted = table.replace('"', '""')
        rows = self._connection.execute(f'PRAGMA table_info("{quoted}")')  # leaves generated columns out
        return {row[1].decode("utf-8", "replace") for row in rows} if table in self._names else set()

    def _records(self, table: str) -> Iterator[SourceRow]:
        if not self._columns(table) >= {"slug", "record"}:
            yield SourceRow(None, problem="the file has no such table with columns slug and record")
            return
        for row in self._select(table, "slug, record"):
            if row is None:
                yield SourceRow(None, problem=_TOO_LARGE)
                continue
            slug, record = row
            try:
                content = unpacked(record, MAX_TEXT_BYTES)
            except ValueError as error:
                yield SourceRow(_text(slug), problem=f"it is damaged: {error}")
                continue
            self._unpacked += len(content)
            if self._unpacked > self._most:
                yield SourceRow(
                    _text(slug),
                    problem="the rest was not read: it unpacks to far more than a library holds",
                )
                return
            yield SourceRow(_text(slug), content)

    def _legacy(self, table: str) -> Iterator[SourceRow]:
        present = self._columns(table)
        names = ("slug", "name", "data", "document", "source_api", "updated_at")
        columns = ", ".join(f'"{name}"' if name in present else "NULL" for name in names)
        for row in self._select(table, columns):
            if row is None:
                yield SourceRow(None, problem=_TOO_LARGE)
                continue
            slug, *texts, updated = row
            key = _text(slug)
            try:
                name, data, document, source = (t.decode() if isinstance(t, bytes) else t for t in texts)
            except UnicodeDecodeError as error:
                yield SourceRow(key, problem=f"it is not UTF-8: {error.reason} at byte {error.start}")
                continue
            problem = None if key and key.strip() else "its slug is missing"
            if not isinstance(data, str):
                problem = problem or "its data is missing"
            elif len(data) > MAX_TEXT_BYTES:
                problem = problem or _TOO_LARGE
            when = float(updated) if isinstance(updated, (int, float)) else 0.0
            yield SourceRow(key, None if problem else data, document, source, name, when, problem)

    @contextlib.contextmanager
    def _named(self, what: str) -> Iterator[None]:
        try:
            yield
        except (*SQLITE_ERRORS, OSError) as error:
            advice = "; close the program that uses it" if "locked" in str(error) else ""
            raise ImportFileError(str(self.path), f"{what}: {error}{advice}") from error


def _authorized(action: int, _one: str | None, _two: str | None, _database: str | None, within: str | None) -> int:
    """Whether SQLite may do something: read tables, and not for a view or a trigger."""
    allowed = within is None and action in _READING
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _plain(value: Any) -> Any:
    """A value as JSON has it: texts are decoded, and what is neither text nor number is left out."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else str(value)
