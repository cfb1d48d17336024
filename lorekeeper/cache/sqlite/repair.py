"""Damage to a library in SQLite: found with SQLite's own checks and ours, repaired row by row."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from lorekeeper.cache.formats import UnknownFormatError
from lorekeeper.cache.repair import REPAIRED, RepairBackend, Salvage, merged, nothing_readable
from lorekeeper.cache.sqlite import catalogue
from lorekeeper.cache.sqlite.file import (
    SQLITE_ERRORS,
    SqliteFile,
    connect,
    log_files,
    read_format,
    remove_database,
    unpack,
)
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.cache.vectors import VectorCache, unpack_vector
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.system import private_file
from lorekeeper.text.passages import CHUNKER

MAX_REFUSALS = 1024
"""Unreadable ranges of a table after which the rest of it is given up."""

MAX_ROWS = 1 << 20
"""Row ids that are tried if the table's largest cannot be read."""

_PAGE = 4096


class SqliteRepair(RepairBackend):
    """Examines and rebuilds one library, as `RepairBackend` says.

    Args:
        store: the library.
        vectors: where its vectors go, so that none is computed again.
        dimension_of: gives the dimension of a model's vectors by its fingerprint, None if it is not known.
    """

    def __init__(self, store: SqliteStore, vectors: VectorCache, dimension_of: Callable[[str], int | None]) -> None:
        self._store, self._vectors, self._path = store, vectors, store.path
        self._dimension_of = dimension_of

    def problems(self, entity_type: str) -> list[str]:
        if not self._path.exists():
            return []
        try:
            self._store.ask("count", int, Selection(entity_type))
            with closing(connect(self._path)) as c:
                return list(dict.fromkeys(_faults(c, entity_type, self._dimension(entity_type))))
        except UnknownFormatError:
            raise
        except (CacheError, *SQLITE_ERRORS) as error:
            return [str(error)]

    def fix(self) -> list[str]:
        """Write the words of every type again whose keywords do not match its entries, if these are sound."""
        done: list[str] = []
        if self._path.exists():
            for entity_type in COLLECTIONS:
                with contextlib.suppress(CacheError):  # damage that only a repair can undo, as the checks say
                    done += self._reworded(entity_type)
        return done

    def _reworded(self, entity_type: str) -> list[str]:
        with closing(connect(self._path)) as c, contextlib.suppress(*SQLITE_ERRORS):
            if not any(_word_faults(c, entity_type)) or any(_changed_entries(c, entity_type)):
                return []
            number = self._store.rewrite_words(entity_type)
            return [
                f"{entity_type}: the keywords did not match the texts; those of {number:,} entries were written again"
            ]
        return []

    def _dimension(self, entity_type: str) -> int | None:
        """The dimension that vectors of a type should have; None if it is not known."""
        made_with = self._store.embedding_of(entity_type)
        return None if made_with is None else self._dimension_of(made_with.removesuffix(f" {CHUNKER}"))

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._store.closed_lock():
            yield

    def salvage(self) -> Salvage:
        """Every entry whose bytes are what was stored; CacheError if nothing can be read."""
        entities_by_type: Salvage = {}
        with readable(self._store.file) as c:
            for entity_type in COLLECTIONS:
                entities_by_type[entity_type] = merged(entity_type, sound_entities(c, entity_type))
                self._vectors.add(_rows(c, f"{entity_type}_passages", "rowid", "key, vector"))
        if not any(entities_by_type.values()):
            raise nothing_readable(self._path)
        return entities_by_type

    def fields(self) -> Mapping[str, str]:
        return fields_of(self._store.file)

    def new_store(self) -> SqliteStore:
        path = self._named(REPAIRED)
        remove_database(path)
        return SqliteStore(path)

    def promote(self, suffix: str) -> Path:
        """Link the damaged file under another name, and let the new one replace it in one step."""
        quarantine = self._named(suffix)
        self._store.close()
        try:
            os.link(self._path, quarantine)
        except OSError:
            shutil.copyfile(self._path, private_file(quarantine))
        for log, quarantined in zip(log_files(self._path), log_files(quarantine), strict=True):
            with contextlib.suppress(FileNotFoundError):
                log.replace(quarantined)
        self._named(REPAIRED).replace(self._path)
        return quarantine


def _faults(c: sqlite3.Connection, entity_type: str, dimension: int | None) -> Iterator[str]:
    """All that is wrong with a type's tables."""
    for table in (entity_type, f"{entity_type}_passages"):
        yield from (f"{table}: {line}" for (line,) in c.execute(f"PRAGMA integrity_check({table})") if line != "ok")
    yield from _word_faults(c, entity_type)
    yield from _changed_entries(c, entity_type)
    rows = c.execute(f"SELECT key, vector FROM {entity_type}_passages")
    vectors = (unpack_vector(key, vector, dimension) for key, vector in rows)
    dimensions = {None if vector is None else len(vector) for vector in vectors}
    if None in dimensions or len(dimensions) > 1:
        yield "vectors are damaged"
    if not _match(c, entity_type, "passages WHERE part = 0", "entity"):
        yield "entries and vectors do not match"


def _word_faults(c: sqlite3.Connection, entity_type: str) -> Iterator[str]:
    """What is wrong with a type's keywords."""
    try:
        c.execute(f"INSERT INTO {entity_type}_fts ({entity_type}_fts) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        yield f"its keywords do not match its texts ({error})"
    if not _match(c, entity_type, "fts", "rowid"):
        yield "entries and keywords do not match"


def _match(c: sqlite3.Connection, entity_type: str, table: str, key: str) -> bool:
    """Whether the rows of a table are those of the entities."""
    ids, others = f"SELECT id FROM {entity_type}", f"SELECT {key} FROM {entity_type}_{table}"
    return not (c.execute(f"{ids} EXCEPT {others}").fetchone() or c.execute(f"{others} EXCEPT {ids}").fetchone())


def _changed_entries(c: sqlite3.Connection, entity_type: str) -> Iterator[str]:
    """Entries whose columns are not those of what was stored."""
    record = catalogue.columns_named(entity_type).index("record")
    for row in c.execute(f"SELECT {catalogue.column_list(entity_type)} FROM {entity_type}"):
        try:
            expected = catalogue.columns_of(unpack(entity_type, row[record]))
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
            entities.append(unpack(entity_type, record))
    return entities


def fields_of(file: SqliteFile) -> Mapping[str, str]:
    """The filter fields that a file of ours records, by type; {} if they cannot be read."""
    with contextlib.suppress(CacheError, *SQLITE_ERRORS), readable(file) as c:
        return read_format(c).fields
    return {}


@contextlib.contextmanager
def readable(damaged: SqliteFile) -> Iterator[sqlite3.Connection]:
    """A copy of a file of ours, with a new schema if the old one keeps it from being opened."""
    path = damaged.path
    copy = path.with_name(f"{path.name}.salvage")
    try:
        shutil.copyfile(path, private_file(copy))
        if Path(f"{path}-wal").exists():
            shutil.copyfile(f"{path}-wal", private_file(Path(f"{copy}-wal")))
        if not _opens(copy):
            _graft(copy, damaged)
        with closing(connect(copy)) as c:
            yield c
    except OSError as error:
        raise CacheError(f"{path} cannot be read: {error}") from error
    finally:
        remove_database(copy)
        Path(f"{copy}-journal").unlink(missing_ok=True)


def _graft(path: Path, like: SqliteFile) -> None:
    """Replace the pages that say what tables there are by those of an empty file, whose tables begin at the same pages.

    The layout is that of https://www.sqlite.org/fileformat.html; what `reindex` has moved is not found then: vectors.
    """
    empty = path.with_name(f"{path.name}-empty")
    try:
        like.make(empty)
        with closing(connect(empty)) as c:
            roots = {page for (page,) in c.execute("SELECT rootpage FROM sqlite_master")}
        content = empty.read_bytes()
    finally:
        empty.unlink(missing_ok=True)
    pages = path.stat().st_size // _PAGE
    with path.open("r+b") as file:
        for page in range(1, len(content) // _PAGE + 1):
            if page not in roots or page > pages:
                file.seek((page - 1) * _PAGE)
                file.write(content[(page - 1) * _PAGE : page * _PAGE])
        file.seek(28)
        count = max(pages, len(content) // _PAGE)
        file.write(count.to_bytes(4, "big") + bytes(8))  # and no page is on the list of free ones


def _opens(path: Path) -> bool:
    try:
        with closing(connect(path)) as c:
            return bool(c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except SQLITE_ERRORS:
        return False


def _rows(c: sqlite3.Connection, table: str, key: str, columns: str) -> list[tuple[bytes, ...]]:
    """All rows of a table that can be read; halves of a range that cannot are tried separately."""
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
