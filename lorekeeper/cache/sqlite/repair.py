"""Damage to a library in SQLite: found with SQLite's own checks and ours, undone row by row."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from lorekeeper.cache.repair import REPAIRED, Salvage, merged
from lorekeeper.cache.sqlite import catalogue
from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, SqliteFile
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.cache.vectors import VectorCache, unpack_vector
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.system import private_file
from lorekeeper.text.passages import CHUNKER

MAX_REFUSALS = 1024
"""Unreadable stretches of a table after which the rest of it is given up."""

MAX_ROWS = 1 << 20
"""Row ids that are tried where the table does not say its largest."""

_PAGE = 4096


class SqliteWorkshop:
    """Examines and rebuilds one library.

    Args:
        store: the library.
        known: where its vectors go, so that none is computed again.
        dimension_of: gives the dimension of a model's vectors by its fingerprint, None where it is not known.
    """

    def __init__(self, store: SqliteStore, known: VectorCache, dimension_of: Callable[[str], int | None]) -> None:
        self._store, self._known, self._path = store, known, store.path
        self._dimension_of = dimension_of

    def problems(self, entity_type: str) -> list[str]:
        """What is wrong with a type; [] where there is no file."""
        if not self._path.exists():
            return []
        try:
            self._store.count(Selection(entity_type))
            if self._store.upgrade_failure:
                return [str(self._store.upgrade_failure)]
            with closing(_reader(self._path)) as c:
                return list(dict.fromkeys(_faults(c, entity_type, self._dimension(entity_type))))
        except (CacheError, *SQLITE_ERRORS) as error:
            return [str(error)]

    def _dimension(self, entity_type: str) -> int | None:
        """What the vectors of a type should have; None where that cannot be known."""
        made_with = self._store.embedding_of(entity_type)
        return None if made_with is None else self._dimension_of(made_with.removesuffix(f" {CHUNKER}"))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep all other writers out."""
        self._store.upgrade()
        with self._store.closed_lock():
            yield

    def salvage(self) -> Salvage:
        """Every entry whose bytes are what was stored; CacheError where the file gives nothing at all."""
        found: Salvage = {}
        with readable(self._store.file) as c:
            for entity_type in COLLECTIONS:
                found[entity_type] = merged(entity_type, sound_entities(c, entity_type))
                vectors = _rows(c, f"{entity_type}_passages", "rowid", "key, vector")
                self._known.add(vectors)
        if not any(found.values()):
            raise CacheError(
                f"nothing in {self._path} can be read any more; it was left alone. Move it away and run 'lorekeeper restore' "
                "with a backup, or import again"
            )
        return found

    def fresh(self) -> SqliteStore:
        """An empty library beside it."""
        path = self._path.with_name(self._path.name + REPAIRED)
        for part in ("", "-wal", "-shm"):
            Path(f"{path}{part}").unlink(missing_ok=True)
        return SqliteStore(path)

    def close(self) -> None:
        """Let go of the library."""
        self._store.close()

    def exchange(self, suffix: str) -> Path:
        """Link the damaged file under another name, and let the new one replace it in one step."""
        aside = self._path.with_name(self._path.name + suffix)
        self._store.close()
        try:
            os.link(self._path, aside)
        except OSError:
            shutil.copyfile(self._path, private_file(aside))
        for part in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{self._path}{part}").replace(f"{aside}{part}")
        self._path.with_name(self._path.name + REPAIRED).replace(self._path)
        return aside


def _reader(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)


def _faults(c: sqlite3.Connection, entity_type: str, dimension: int | None) -> Iterator[str]:
    """All that is wrong with a type's tables."""
    for table in (entity_type, f"{entity_type}_passages"):
        yield from (f"{table}: {said}" for (said,) in c.execute(f"PRAGMA integrity_check({table})") if said != "ok")
    try:
        c.execute(f"INSERT INTO {entity_type}_fts ({entity_type}_fts) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        yield f"its keywords do not match its texts ({error})"
    yield from _odd_entries(c, entity_type)
    rows = c.execute(f"SELECT key, vector FROM {entity_type}_passages")
    vectors = (unpack_vector(key, vector, dimension) for key, vector in rows)
    dimensions = {None if vector is None else len(vector) for vector in vectors}
    if None in dimensions or len(dimensions) > 1:
        yield "vectors are damaged"
    for table, key, what in (("passages WHERE part = 0", "entity", "vectors"), ("fts", "rowid", "keywords")):
        ids, others = f"SELECT id FROM {entity_type}", f"SELECT {key} FROM {entity_type}_{table}"
        if c.execute(f"{ids} EXCEPT {others}").fetchone() or c.execute(f"{others} EXCEPT {ids}").fetchone():
            yield f"entries and {what} do not match"


def _odd_entries(c: sqlite3.Connection, entity_type: str) -> Iterator[str]:
    """Entries whose columns are not those of what was stored."""
    record = catalogue.columns_named(entity_type).index("record")
    for row in c.execute(f"SELECT {catalogue.column_list(entity_type)} FROM {entity_type}"):
        try:
            expected = catalogue.columns_of(catalogue.unpack(entity_type, row[record]))
        except CacheError as error:
            yield str(error)
            continue
        if (*expected[:record], *expected[record + 1 :]) != (*row[:record], *row[record + 1 :]):
            yield "entries are not as they were stored"


def sound_entities(c: sqlite3.Connection, entity_type: str) -> list[Entity]:
    """All entities of a type that can be read and whose bytes are what was stored."""
    entities = []
    for (record,) in _rows(c, entity_type, "id", "record"):
        with contextlib.suppress(CacheError):
            entities.append(catalogue.unpack(entity_type, record))
    return entities


@contextlib.contextmanager
def readable(damaged: SqliteFile) -> Iterator[sqlite3.Connection]:
    """A copy of a file of ours, with its schema set right where that is what keeps it from being opened."""
    path = damaged.path
    copy = path.with_name(f"{path.name}.salvage")
    try:
        shutil.copyfile(path, private_file(copy))
        if Path(f"{path}-wal").exists():
            shutil.copyfile(f"{path}-wal", private_file(Path(f"{copy}-wal")))
        if not _opens(copy):
            _graft(copy, damaged)
        with closing(_reader(copy)) as c:
            yield c
    except OSError as error:
        raise CacheError(f"{path} cannot be read: {error}") from error
    finally:
        for part in ("", "-wal", "-shm", "-journal"):
            Path(f"{copy}{part}").unlink(missing_ok=True)


def _graft(path: Path, like: SqliteFile) -> None:
    """Replace the pages that say what tables there are by those of an empty file, whose tables begin at the same pages.

    The layout is that of https://www.sqlite.org/fileformat.html; what `reindex` has moved is not found then: vectors.
    """
    empty = path.with_name(f"{path.name}-empty")
    try:
        like.make(empty)
        with closing(_reader(empty)) as c:
            roots = {page for (page,) in c.execute("SELECT rootpage FROM sqlite_master")}
        content = empty.read_bytes()
    finally:
        empty.unlink(missing_ok=True)
    held = path.stat().st_size // _PAGE
    with path.open("r+b") as file:
        for page in range(1, len(content) // _PAGE + 1):
            if page not in roots or page > held:
                file.seek((page - 1) * _PAGE)
                file.write(content[(page - 1) * _PAGE : page * _PAGE])
        file.seek(28)
        file.write(
            max(held, len(content) // _PAGE).to_bytes(4, "big") + bytes(8)
        )  # no page is on the list of free ones


def _opens(path: Path) -> bool:
    try:
        with closing(_reader(path)) as c:
            return bool(c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except SQLITE_ERRORS:
        return False


def _rows(c: sqlite3.Connection, table: str, key: str, columns: str) -> list[tuple[bytes, ...]]:
    """All rows of a table that can be read; halves of a stretch that cannot are tried by themselves."""
    refusals = 0

    def read(low: int, high: int) -> list[tuple[bytes, ...]]:
        nonlocal refusals
        if low > high or refusals > MAX_REFUSALS:
            return []
        try:
            return c.execute(f"SELECT {columns} FROM {table} WHERE {key} BETWEEN ? AND ?", (low, high)).fetchall()
        except SQLITE_ERRORS:
            refusals += 1
        if low == high:
            return []
        middle = (low + high) // 2
        return read(low, middle) + read(middle + 1, high)

    return read(1, _attempt(lambda: c.execute(f"SELECT max({key}) FROM {table}").fetchone()[0] or 0, MAX_ROWS))


def _attempt(function: Callable[[], int], otherwise: int) -> int:
    try:
        return function()
    except SQLITE_ERRORS:
        return otherwise
