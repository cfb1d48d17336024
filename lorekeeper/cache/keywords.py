"""The keyword side of the embedded library: BM25 over names and texts, and the filter fields, in one SQLite file.

It holds nothing that the library does not, so it can always be built again. Two marks say when it must be: the id of
the store a table was built from, and a list of writes that were begun and not finished.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.sql import column_definitions, column_value, fts_query, where
from lorekeeper.entities import COLLECTIONS, Entity, fold
from lorekeeper.errors import CacheError
from lorekeeper.filters import Condition, name_rank
from lorekeeper.hints import Hint, hint_of
from lorekeeper.names import name_key, similar_names
from lorekeeper.text import facts, full_text

logger = logging.getLogger(__name__)

R = TypeVar("R")

FORMAT = 4
"""Stored as SQLite's user_version; a file of another format is built anew."""

COLUMN_WEIGHTS = "4.0, 1.0, 1.0, 0.5"
"""How much a word counts in the name, the text, the phrases and the description of the hint."""

NAMES = 40
"""Most similar names that are looked at."""

MAX_NAME_QUERY = 80
"""Characters of a query that may be a name."""

BUSY_SECONDS = 10.0


@dataclass(frozen=True)
class NameList:
    """Names of a type, side by side: identities, folded names, and these with their words in order."""

    identities: list[Identity]
    folded: list[str]
    keys: list[str]


class KeywordIndex:
    """BM25 search over the entities of one library. Blocking, and safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._listed: dict[str, tuple[tuple[int, int], NameList]] = {}

    def state(self, entity_type: str) -> tuple[str | None, bool]:
        """(id of the store the type's table was built from, None if never; whether no write is unfinished)."""
        return self._read(lambda c: self._state(c, entity_type))

    def count(
        self, entity_type: str, conditions: Sequence[Condition] = (), documents: Sequence[str] | None = None
    ) -> int:
        """Number of entities under the filters."""
        test, values = where(conditions, documents)
        sql = f"SELECT count(*) FROM {entity_type} WHERE {test}"
        return int(self._read(lambda c: c.execute(sql, values).fetchone()[0]))

    def find(
        self,
        entity_type: str,
        conditions: Sequence[Condition],
        documents: Sequence[str] | None,
        limit: int | None,
        offset: int,
    ) -> list[Identity]:
        """Identities under the filters: whole name matches first, then by name, document and slug."""
        test, values = where(conditions, documents)
        wanted = next((str(c.values[0]) for c in conditions if c.op == "name"), "")
        sql = (
            f"SELECT document, slug FROM {entity_type} WHERE {test} "
            "ORDER BY name_rank(name_folded, ?), name_folded, document, slug LIMIT ? OFFSET ?"
        )
        parameters = [*values, wanted, -1 if limit is None else limit, offset]
        return self._read(lambda c: c.execute(sql, parameters).fetchall())

    def tally(self, entity_type: str, column: str) -> dict[str, int]:
        """Number of entities by "document" or "kind_name"."""
        sql = f"SELECT {column}, count(*) FROM {entity_type} GROUP BY {column}"
        return dict(self._read(lambda c: c.execute(sql).fetchall()))

    def begin(self, entity_type: str) -> None:
        """Say that a write to the store is about to begin; until it ends the table counts as stale."""
        self._write(lambda c: c.execute("INSERT OR IGNORE INTO unfinished VALUES (?)", (entity_type,)))

    def apply(self, entity_type: str, entities: Iterable[Entity]) -> None:
        """Take over entities that the store now holds, and end the write."""

        def write(c: sqlite3.Connection) -> None:
            self._insert(c, entity_type, entities)
            self._finish(c, entity_type)

        self._write(write)

    def remove(self, entity_type: str, identities: Iterable[Identity]) -> None:
        """Drop entities, and end the write."""
        sql = f"SELECT id FROM {entity_type} WHERE document = ? AND slug = ?"

        def write(c: sqlite3.Connection) -> None:
            rows = [row for identity in identities for row in c.execute(sql, identity)]
            c.executemany(f"DELETE FROM {entity_type}_fts WHERE rowid = ?", rows)
            c.executemany(f"DELETE FROM {entity_type} WHERE id = ?", rows)
            self._finish(c, entity_type)

        self._write(write)

    def rebuild(self, entity_type: str, store: str, entities: Iterable[Entity]) -> None:
        """Build a type's table anew from all its entities."""

        def write(c: sqlite3.Connection) -> None:
            c.execute(f"DELETE FROM {entity_type}")
            c.execute(f"DELETE FROM {entity_type}_fts")
            self._insert(c, entity_type, entities)
            c.execute("INSERT OR REPLACE INTO built VALUES (?, ?)", (entity_type, store))
            self._finish(c, entity_type)

        logger.info("building the keyword index of %s", entity_type)
        self._write(write)

    def search(
        self,
        entity_type: str,
        query: str,
        limit: int,
        conditions: Sequence[Condition],
        documents: Sequence[str] | None,
    ) -> list[Ranked]:
        """The entities that share words with the query, best first; BM25 scores, above 0."""
        expression = fts_query(query)
        if expression is None:
            return []
        test, values = where(conditions, documents)
        sql = (
            f"SELECT document, slug, name, -bm25({entity_type}_fts, {COLUMN_WEIGHTS}) AS score "
            f"FROM {entity_type}_fts JOIN {entity_type} ON {entity_type}.id = {entity_type}_fts.rowid "
            f"WHERE {entity_type}_fts MATCH ? AND {test} ORDER BY score DESC, document, slug LIMIT ?"
        )
        rows = self._read(lambda c: c.execute(sql, [expression, *values, limit]).fetchall())
        return [Ranked((document, slug), name, score) for document, slug, name, score in rows]

    def similar(
        self, entity_type: str, query: str, conditions: Sequence[Condition], documents: Sequence[str] | None
    ) -> list[Ranked]:
        """The entities whose names are most similar to a query, best first; similarity 0 to 1."""
        wanted = fold(query)
        if not wanted or len(wanted) > MAX_NAME_QUERY:
            return []
        listed = self._read(lambda c: self._names(c, entity_type, conditions, documents))
        found = similar_names(wanted, listed.folded, listed.keys, NAMES)
        return [Ranked(listed.identities[place], listed.folded[place], score) for place, score in found]

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _names(
        self,
        c: sqlite3.Connection,
        entity_type: str,
        conditions: Sequence[Condition],
        documents: Sequence[str] | None,
    ) -> NameList:
        """All names under the filters; the whole list of a type is kept until the file changes."""
        test, values = where(conditions, documents)
        sql = f"SELECT document, slug, name_folded, name_key FROM {entity_type} WHERE {test} ORDER BY id"
        version = (c.execute("PRAGMA data_version").fetchone()[0], c.total_changes)
        kept = self._listed.get(entity_type)
        if not values and kept and kept[0] == version:
            return kept[1]
        rows = c.execute(sql, values).fetchall()
        listed = NameList([(d, s) for d, s, _, _ in rows], [n for _, _, n, _ in rows], [k for _, _, _, k in rows])
        if not values:
            self._listed[entity_type] = version, listed
        return listed

    @staticmethod
    def _state(c: sqlite3.Connection, entity_type: str) -> tuple[str | None, bool]:
        row = c.execute("SELECT store FROM built WHERE type = ?", (entity_type,)).fetchone()
        unfinished = c.execute("SELECT 1 FROM unfinished WHERE type = ?", (entity_type,)).fetchone()
        return row[0] if row else None, unfinished is None

    @staticmethod
    def _finish(c: sqlite3.Connection, entity_type: str) -> None:
        c.execute("DELETE FROM unfinished WHERE type = ?", (entity_type,))

    @staticmethod
    def _insert(c: sqlite3.Connection, entity_type: str, entities: Iterable[Entity]) -> None:
        fields = COLLECTIONS[entity_type].fields
        names = [
            "document",
            "slug",
            "name_folded",
            "name_key",
            "kind",
            "kind_name",
            "source_api",
            *(f.name for f in fields),
        ]
        columns = ", ".join(f'"{n}"' for n in names)
        marks = ", ".join("?" * len(names))
        for entity in entities:
            old = c.execute(f"SELECT id FROM {entity_type} WHERE document = ? AND slug = ?", entity.identity).fetchone()
            if old:
                c.execute(f"DELETE FROM {entity_type}_fts WHERE rowid = ?", old)
                c.execute(f"DELETE FROM {entity_type} WHERE id = ?", old)
            folded = fold(entity.name)
            values = [
                *entity.identity,
                folded,
                name_key(folded),
                fold(entity.kind),
                entity.kind,
                fold(entity.source_api),
            ]
            values += [column_value(f, entity.fields.get(f.name)) for f in fields]  # type: ignore[misc]
            row = c.execute(f"INSERT INTO {entity_type} ({columns}) VALUES ({marks})", values).lastrowid
            body = f"{facts(entity)}\n{full_text(entity)}"
            hint = hint_of(entity) or Hint("", ())
            words = (row, entity.name, body, "\n".join(hint.asked_as), hint.description)
            c.execute(
                f"INSERT INTO {entity_type}_fts (rowid, name, body, phrases, description) VALUES (?, ?, ?, ?, ?)", words
            )

    def _read(self, function: Callable[[sqlite3.Connection], R]) -> R:
        with self._lock:
            return self._guarded(function)

    def _write(self, function: Callable[[sqlite3.Connection], object]) -> None:
        def transaction(c: sqlite3.Connection) -> None:
            c.execute("BEGIN IMMEDIATE")
            try:
                function(c)
            except BaseException:
                c.rollback()
                raise
            c.commit()

        with self._lock:
            self._guarded(transaction)

    def _guarded(self, function: Callable[[sqlite3.Connection], R]) -> R:
        """Run with the open connection; a damaged file is replaced by an empty one, which counts as never built."""
        try:
            return function(self._open())
        except sqlite3.OperationalError as error:
            raise CacheError(
                f"the keyword index {self.path} cannot be used: {error}; free space or close other programs"
            ) from error
        except sqlite3.DatabaseError as error:
            logger.warning("the keyword index %s is damaged (%s): building it anew", self.path, error)
            self._discard()
            return function(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, FORMAT):
                    raise sqlite3.DatabaseError(f"format {version}, not {FORMAT}")
                connection.create_function("name_rank", 2, name_rank, deterministic=True)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                if version == 0:
                    self._create(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    @staticmethod
    def _create(connection: sqlite3.Connection) -> None:
        statements = [
            "CREATE TABLE IF NOT EXISTS unfinished (type TEXT PRIMARY KEY)",
            "CREATE TABLE IF NOT EXISTS built (type TEXT PRIMARY KEY, store TEXT NOT NULL)",
        ]
        for name, collection in COLLECTIONS.items():
            statements += [
                f"CREATE TABLE IF NOT EXISTS {name} (id INTEGER PRIMARY KEY, document TEXT NOT NULL, "
                f"slug TEXT NOT NULL, name_folded TEXT NOT NULL, name_key TEXT NOT NULL, kind TEXT, "
                f"kind_name TEXT, source_api TEXT, {column_definitions(collection)}, UNIQUE (document, slug))",
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {name}_fts USING fts5("
                "name, body, phrases, description, tokenize = 'porter unicode61 remove_diacritics 2')",
            ]
        with closing(connection.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute(f"PRAGMA user_version = {FORMAT}")
            cursor.execute("COMMIT")

    def _discard(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._listed.clear()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
