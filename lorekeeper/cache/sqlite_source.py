"""Somebody's SQLite file, read and never changed: a library of ours, the companion of a Milvus library, an earlier cache."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from lorekeeper.cache import keywords, sqlite_store
from lorekeeper.cache.catalogue import unpack
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, ImportFileError

BUSY_SECONDS = 2.0

VECTORS = 500
"""Vectors a batch."""

_MAGIC = b"SQLite format 3\0"
_WAL = b"\x02\x02"

_FORMATS = {sqlite_store.APPLICATION: sqlite_store.FORMAT, keywords.APPLICATION: keywords.FORMAT}

_LEGACY = {"slug", "name", "data"}
"""Columns that make a table of an earlier cache; others may be missing."""

_NO_LORE = {"api_cache"}


@dataclass(frozen=True)
class SourceRow:
    """One entry as it stands in a file, or why it cannot be read.

    Attributes:
        slug: its key, None where it is missing.
        content: the whole entry: an `Entity` of our own file, JSON text of an earlier one; None where ``problem`` is set.
        document: key of its document where a column says it.
        source_api: where it came from where a column says it.
        name: as the column says it.
        updated: seconds since the epoch, 0 where nothing says it.
        problem: why it cannot be read, in one sentence.
    """

    slug: str | None
    content: Entity | str | None = None
    document: str | None = None
    source_api: str | None = None
    name: str | None = None
    updated: float = 0.0
    problem: str | None = None


class SqliteSource:
    """An open source file; use it as a context manager, in one thread.

    Args:
        path: the file, or the folder of an embedded Milvus library, whose companion is read then.

    Raises:
        ImportFileError: it is no SQLite file, or locked, or holds nothing that LoreKeeper knows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}.keywords") if path.is_dir() else path
        self._folder: str | None = None
        with self._named("cannot be opened"):
            self._connection = self._open()
        try:
            with self._named("cannot be read"):
                application = self._connection.execute("PRAGMA application_id").fetchone()[0]
                version = self._connection.execute("PRAGMA user_version").fetchone()[0]
                names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                self.ours = application in _FORMATS
                self.tables = self._chosen([name.decode() for (name,) in names], application, version)
        except BaseException:
            self.close()
            raise

    def count(self, table: str) -> int:
        """Number of entries of a table."""
        with self._named(f"its table {table} cannot be read"):
            return int(self._connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])

    def rows(self, table: str) -> Iterator[SourceRow]:
        """All entries of a table; where the file is damaged, one row says so and the rest is left out."""
        try:
            yield from self._records(table) if self.ours else self._legacy(table)
        except sqlite3.Error as error:
            yield SourceRow(None, problem=f"the rest of the table cannot be read: {error}")

    def vectors(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """All vectors of a library of ours, packed and by key; nothing of other files."""
        tables = [f"{t}_passages" for t in self.tables] if self.ours else []
        for table in tables:
            with contextlib.suppress(sqlite3.Error):  # a vector that cannot be read is computed
                cursor = self._connection.execute(f"SELECT key, vector FROM {table}")
                yield from iter(lambda c=cursor: c.fetchmany(VECTORS), [])  # type: ignore[misc]

    def close(self) -> None:
        """Close it, and remove the copy if there is one."""
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _open(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise ImportFileError(str(self.path), "there is no such file")
        with self.path.open("rb") as file:
            header = file.read(20)
        if header[:16] != _MAGIC:
            raise ImportFileError(str(self.path), "is empty" if not header else "is no SQLite database")
        place, options = self.path, "mode=ro"
        wal, shm = (Path(f"{self.path}{suffix}") for suffix in ("-wal", "-shm"))
        if header[18:20] == _WAL and not shm.exists():
            # SQLite would make files beside it: nobody has it open, so it can be read as it is, or as a copy with its log
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
        return connection

    def _chosen(self, names: list[str], application: int, version: int) -> list[str]:
        if self.ours:
            if version != _FORMATS[application]:
                raise ImportFileError(
                    str(self.path), f"has format {version}; this version reads {_FORMATS[application]}"
                )
            return list(COLLECTIONS)
        tables = [n for n in names if n not in _NO_LORE and self._columns(n) >= _LEGACY]
        if not tables:
            held = f"its tables are {', '.join(names[:10])}" if names else "it has no tables"
            raise ImportFileError(
                str(self.path),
                f"is no library and no earlier cache of LoreKeeper: {held}, none with slug, name and data",
            )
        return tables

    def _columns(self, table: str) -> set[str]:
        name = table.replace('"', '""')
        return {row[1].decode() for row in self._connection.execute(f'PRAGMA table_info("{name}")')}

    def _records(self, table: str) -> Iterator[SourceRow]:
        for slug, record in self._connection.execute(f"SELECT slug, record FROM {table}"):
            try:
                yield SourceRow(_text(slug), unpack(table, record))
            except CacheError as error:
                yield SourceRow(_text(slug), problem=str(error))

    def _legacy(self, table: str) -> Iterator[SourceRow]:
        known = self._columns(table)
        wanted = ("slug", "name", "data", "document", "source_api", "updated_at")
        columns = ", ".join(f'"{name}"' if name in known else "NULL" for name in wanted)
        for slug, *texts, updated in self._connection.execute(f'SELECT {columns} FROM "{table}"'):
            key = _text(slug)
            try:
                name, data, document, source = (t.decode() if isinstance(t, bytes) else t for t in texts)
            except UnicodeDecodeError as error:
                yield SourceRow(key, problem=f"is not UTF-8: {error.reason} at byte {error.start}")
                continue
            problem = None if key and key.strip() else "its slug is missing"
            if not isinstance(data, str):
                problem = problem or "its data is missing"
            when = float(updated) if isinstance(updated, (int, float)) else 0.0
            yield SourceRow(key, None if problem else data, document, source, name, when, problem)

    @contextlib.contextmanager
    def _named(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            advice = "; close the program that uses it" if "locked" in str(error) else ""
            raise ImportFileError(str(self.path), f"{what}: {error}{advice}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _text(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None if value is None else str(value)
