"""The SQLite backend: a whole library in one file, vectors included, searched exactly. Blocking.

An entity and all that is derived from it are written in one transaction, so that they always agree.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.repair import ADVICE
from lorekeeper.cache.sqlite import catalogue, passages
from lorekeeper.cache.sqlite.catalogue import write_words
from lorekeeper.cache.sqlite.file import DamagedFileError, SqliteFile
from lorekeeper.cache.sqlite.passages import PASSAGES, PassageCatalogue
from lorekeeper.cache.store import WRITE_WAIT_SECONDS, Chunked, Store, WriteLock, require_dimension, require_model
from lorekeeper.cache.vectors import CHECK_BYTES, vector_key
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.text.passages import CHUNKER

APPLICATION = 0x4C4F5245
"""SQLite's application_id of a library: "LORE"."""

LAYOUT = 2
"""See `cache.formats`."""

REBUILT = "_rebuilt"
"""Suffix of the table that is to replace the passages of a type."""

_MODELS = "CREATE TABLE models (type TEXT PRIMARY KEY, embedding TEXT NOT NULL, following TEXT)"

VECTORS = 500
"""Vectors read in one go."""


class LibraryFile(SqliteFile):
    """The file of a library; if there is another database in its place, the error names it."""

    advice = "check LOREKEEPER_SQLITE_DB_PATH, and the permissions of the file and its folder"

    def __init__(self, path: Path, types: Sequence[str]) -> None:
        tables = [*passages.statements(types), _MODELS]
        super().__init__(path, "the library", APPLICATION, LAYOUT, tables, durable=True, types=types)

    def mend(self, damage: DamagedFileError) -> NoReturn:
        """Say which command repairs it."""
        raise CacheError(f"{damage}. {ADVICE}") from damage

    def refuse(self, connection: sqlite3.Connection) -> None:
        """Name what the database is instead."""
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        legacy = tables & {"api_cache", "monsters", "spells", "creatures"} and "spells_fts" not in tables
        if legacy:
            raise CacheError(
                f"{self.path} is the cache of an earlier LoreKeeper; it was not changed. Set LOREKEEPER_SQLITE_DB_PATH to a "
                f"new file and run 'lorekeeper migrate {self.path}'"
            )
        raise CacheError(
            f"{self.path} is another program's database, not a LoreKeeper library; it was not changed. Set "
            "LOREKEEPER_SQLITE_DB_PATH to a new file"
        )


class SqliteStore(PassageCatalogue, Store):
    """One library in one SQLite file; its methods are documented in `lorekeeper.cache.store.Store`.

    Args:
        path: the file; created at first use.
        types: the types of entity that it holds.
    """

    backend_name = "sqlite"

    def __init__(self, path: Path, types: Sequence[str] | None = None) -> None:
        super().__init__(LibraryFile(path, tuple(COLLECTIONS) if types is None else types))
        self.path, self.types = path, self.file.types
        self._lock = WriteLock(Path(f"{path}.lock"), str(path))

    @contextmanager
    def write_lock(self, wait: float = WRITE_WAIT_SECONDS) -> Iterator[None]:
        self.file.read(lambda _: None)
        with self._lock.hold(wait):
            yield

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entity_type: str, chunked: Chunked, vectors: Vectors, embedding: str) -> None:
        def store(c: sqlite3.Connection) -> None:
            made_with = _embedding(c, entity_type)
            for other in self.types if made_with is None else [entity_type]:
                require_model(_embedding(c, other), embedding)
            require_dimension(_dimension(c, entity_type), vectors)
            c.execute("INSERT OR IGNORE INTO models VALUES (?, ?, NULL)", (entity_type, embedding))
            _remove(c, entity_type, [entity.identity for entity, _ in chunked])
            ids = catalogue.insert(c, entity_type, [entity for entity, _ in chunked])
            _insert_passages(c, f"{entity_type}{PASSAGES}", ids, chunked, vectors, embedding)

        with self.write_lock():
            self.file.write(store)

    def delete_document(self, entity_type: str, document: str) -> int:
        with self.write_lock():
            selection = Selection(entity_type, documents=[document])
            return self.file.write(lambda c: _remove(c, entity_type, self.find(c, selection, None, 0)))

    def delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> int:
        with self.write_lock():
            return self.file.write(lambda c: _remove(c, entity_type, identities))

    def begin_rebuild(self, entity_type: str, embedding: str, dimension: int) -> bool:  # noqa: ARG002
        def begin(c: sqlite3.Connection) -> bool:
            if _embedding(c, entity_type) is None:
                return False
            c.execute(f"DROP TABLE IF EXISTS {entity_type}{REBUILT}")
            c.execute(f"CREATE TABLE {entity_type}{REBUILT} {passages.COLUMNS}")
            c.execute("UPDATE models SET following = ? WHERE type = ?", (embedding, entity_type))
            return True

        return self.file.write(begin)

    def rebuild(self, entity_type: str, chunked: Chunked, vectors: Vectors) -> None:
        def fill(c: sqlite3.Connection) -> None:
            (embedding,) = c.execute("SELECT following FROM models WHERE type = ?", (entity_type,)).fetchone()
            sql = f"SELECT id FROM {entity_type} WHERE document = ? AND slug = ?"
            ids = [c.execute(sql, entity.identity).fetchone()[0] for entity, _ in chunked]
            _insert_passages(c, f"{entity_type}{REBUILT}", ids, chunked, vectors, embedding)

        self.file.write(fill)

    def end_rebuild(self, entity_type: str) -> None:
        def end(c: sqlite3.Connection) -> None:
            c.execute(f"DROP TABLE {entity_type}{PASSAGES}")
            c.execute(f"ALTER TABLE {entity_type}{REBUILT} RENAME TO {entity_type}{PASSAGES}")
            c.execute("UPDATE models SET embedding = following, following = NULL WHERE type = ?", (entity_type,))
            passages.replaced(c, entity_type)

        self.file.write(end)

    # --- reading ---------------------------------------------------------------------------------------------------

    def embedding_of(self, entity_type: str) -> str | None:
        return self.file.read(lambda c: _embedding(c, entity_type))

    def rank_semantic(self, selection: Selection, vector: Vectors, limit: int, embedding: str) -> list[Ranked]:
        ranking: list[Ranked] = self.ask("ranked", list, selection, vector, limit, embedding)
        return ranking

    def ranked(
        self, c: sqlite3.Connection, selection: Selection, vector: Vectors, limit: int, embedding: str
    ) -> list[Ranked]:
        """`rank_semantic` in one state of the file."""
        require_model(_embedding(c, selection.entity_type), embedding)
        return self.nearest(c, selection, vector, limit)

    def rewrite_words(self, entity_type: str) -> int:
        """Write the keywords of all entities of a type again; returns how many entities there are."""
        with self.write_lock():
            return self.file.write(lambda c: write_words(c, entity_type))

    def packed_vectors(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """All vectors of the library that can be read, packed."""
        for entity_type in self.types:
            last = 0
            with suppress(CacheError):
                while rows := self.ask("packed", list, entity_type, last):
                    yield [(key, vector) for _, key, vector in rows]
                    last = rows[-1][0]

    def packed(self, c: sqlite3.Connection, entity_type: str, after: int) -> list[tuple[int, bytes, bytes]]:
        """The next vectors after a row, with their rows and keys."""
        sql = f"SELECT rowid, key, vector FROM {entity_type}{PASSAGES} WHERE rowid > ? LIMIT {VECTORS}"
        return c.execute(sql, [after]).fetchall()

    def open(self, types: Iterable[str]) -> None:
        """Open the file, and read the vectors of these types."""
        for entity_type in types:
            self.ask("matrix", list, entity_type)
        self.store_matrices()

    def details(self) -> dict[str, str]:
        return {"size": f"{self.path.stat().st_size / 1e6:,.1f} MB"}

    def close(self) -> None:
        self.store_matrices()
        super().close()


def _embedding(c: sqlite3.Connection, entity_type: str) -> str | None:
    row = c.execute("SELECT embedding FROM models WHERE type = ?", (entity_type,)).fetchone()
    return row[0] if row else None


def _dimension(c: sqlite3.Connection, entity_type: str) -> int | None:
    row = c.execute(f"SELECT length(vector) FROM {entity_type}{PASSAGES} LIMIT 1").fetchone()
    return (row[0] - CHECK_BYTES) // 4 if row else None


def _remove(c: sqlite3.Connection, entity_type: str, identities: Sequence[Identity]) -> int:
    ids = catalogue.remove(c, entity_type, identities)
    passages.remove(c, entity_type, ids)
    return len(ids)


def _insert_passages(
    c: sqlite3.Connection, table: str, ids: Sequence[int], chunked: Chunked, vectors: Vectors, embedding: str
) -> None:
    model = embedding.removesuffix(f" {CHUNKER}")
    keys = (vector_key(model, passage.embedded) for _, own in chunked for passage in own)
    passages.insert(c, table, ids, [own for _, own in chunked], vectors, keys)
