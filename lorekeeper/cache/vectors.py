"""The embedding cache: computed vectors by model and text, so that no text is embedded twice.

It is only a cache: without its file everything works, more slowly, and the file may be deleted at any time. Vectors may come
from elsewhere (an archive, another library): only valid ones, of length 1 and of the model's dimension, are stored and returned.
Whether a vector belongs to its text cannot be checked, so a vector from elsewhere is used only for the texts that came with it,
and never replaces a cached one.
"""

from __future__ import annotations

import hashlib
import logging
import random
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, connect_read_only, log_files, remove_database
from lorekeeper.embedding.open_vectors import OpenVectors
from lorekeeper.embedding.protocol import Vectors, are_units
from lorekeeper.entities import Entity
from lorekeeper.system import keep_private, private_file, private_folder
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

logger = logging.getLogger(__name__)

R = TypeVar("R")

FORMAT = 1
"""Stored as SQLite's user_version. There is no earlier one; a file of a later format is neither used nor changed."""

KEYS = 500
"""Keys per query."""

BUSY_SECONDS = 10.0

PAGE_BYTES = 8192
"""Of a new file: SQLite's usual 4096 hold two vectors of 384 numbers, and a quarter of each page stays empty."""

ATTEMPTS = 3

CHECK_BYTES = 4
"""Every vector is followed by a checksum of key and vector: a damaged one, or another text's, is computed again."""

KEY_BYTES = 16


_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class VectorCache:
    """An SQLite file of vectors. Blocking, and safe to use from several threads and processes.

    Args:
        path: the file; created at first use.
        shipped: vectors that come with the package; None for none.
        open_books: vectors of the data package, for what is not in the file; None for none.
    """

    def __init__(self, path: Path, shipped: OpenVectors | None = None, open_books: OpenVectors | None = None) -> None:
        self.path = path
        self._open_books = open_books
        self._shipped = shipped
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def get(self, model: str, texts: Sequence[str], dimension: int | None = None) -> dict[str, Vectors]:
        """The cached vectors, float32, of length 1, by text; vectors that ship with the package take precedence.

        Those of a data package, which are less exact, come last.

        Args:
            model: fingerprint of the vector space.
            texts: the embedded texts.
            dimension: of its vectors; others are skipped. None if it is not known.
        """
        keys = {vector_key(model, text): text for text in texts}
        vectors = self._shipped.get(model, keys.keys(), dimension) if self._shipped else {}
        others = list(keys.keys() - vectors.keys())
        vectors |= self._guarded(lambda c: dict(_select(c, others, dimension))) or {}
        if self._open_books:
            vectors |= self._open_books.get(model, keys.keys() - vectors.keys(), dimension)
        return {keys[key]: vector for key, vector in vectors.items()}

    def put(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Store vectors that were computed here, shape (len(texts), dimension) float32, replacing cached ones."""
        keys = [vector_key(model, text) for text in texts]
        self._write("REPLACE", [(key, pack_vector(key, vector)) for key, vector in zip(keys, vectors, strict=True)])

    def add(self, rows: Iterable[Sequence[Any]], dimension: int | None = None) -> None:
        """Store packed vectors from elsewhere, by `vector_key`, if `unpack_vector` accepts them.

        Cached vectors are not replaced.
        """
        self._write("IGNORE", [(key, blob) for key, blob in rows if unpack_vector(key, blob, dimension) is not None])

    def adopt(
        self, batches: Iterable[Sequence[tuple[bytes, bytes]]], model: str, entities: Iterable[Entity], dimension: int
    ) -> None:
        """Store those vectors from elsewhere that belong to the texts of these entities, as `add` does.

        Args:
            batches: rows of `add`; read until every text has a vector.
            model: fingerprint of the vector space.
            entities: whose texts count.
            dimension: of the vectors; others are ignored.
        """
        wanted = set(passage_keys(model, entities))
        wanted -= self._guarded(lambda c: {key for key, _ in _select(c, list(wanted), dimension)}) or set()
        for rows in batches if wanted else ():
            found = [row for row in rows if row[0] in wanted]
            self.add(found, dimension)
            wanted.difference_update(key for key, _ in found)
            if not wanted:
                break

    def rows(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """All vectors of the file, which is not changed, as rows of `add`; nothing if it cannot be read."""
        if not self.path.is_file():
            return
        try:
            with closing(connect_read_only(self.path, BUSY_SECONDS)) as c:
                found = c.execute("SELECT key, vector FROM vectors")
                while batch := found.fetchmany(KEYS):
                    yield batch
        except SQLITE_ERRORS as error:
            logger.warning("the vector cache %s cannot be read: %s", self.path, error)

    def drop_damaged(self) -> int:
        """Remove what `get` would skip for any model; returns how many vectors were removed."""

        def drop(c: sqlite3.Connection) -> int:
            with c:
                rows = c.execute("SELECT rowid, key, vector FROM vectors")
                damaged = [(row,) for row, key, blob in rows if unpack_vector(key, blob) is None]
                c.executemany("DELETE FROM vectors WHERE rowid = ?", damaged)
            return len(damaged)

        return (self._guarded(drop) or 0) if self.path.exists() else 0

    def packed(self, model: str, texts: Sequence[str]) -> dict[bytes, bytes]:
        """The cached vectors of texts as `pack_vector` makes them, by `vector_key`."""
        vectors = {vector_key(model, text): vector for text, vector in self.get(model, texts).items()}
        return {key: pack_vector(key, vector) for key, vector in vectors.items()}

    def _write(self, conflict: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        def write(c: sqlite3.Connection) -> None:
            with c:
                c.executemany(f"INSERT OR {conflict} INTO vectors VALUES (?, ?)", rows)

        self._guarded(write)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _guarded(self, function: Callable[[sqlite3.Connection], R]) -> R | None:
        """Call with the open file; None if it cannot be used, which is logged once. A damaged file is replaced.

        SQLite does not always wait for a lock: two connections that change a new file to WAL fail at once.
        """
        with self._lock:
            for attempt in range(ATTEMPTS):
                try:
                    return function(self._open())
                except (*SQLITE_ERRORS, OSError) as error:
                    if _code(error) == sqlite3.SQLITE_BUSY and attempt + 1 < ATTEMPTS:
                        time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 - not to meet the other one again
                        continue
                    if _is_damage(error):
                        logger.warning("the vector cache %s is damaged (%s): starting a new one", self.path, error)
                        self._disconnect()
                        remove_database(self.path)
                        continue
                    level = logging.WARNING if self._usable else logging.DEBUG
                    logger.log(level, "the vector cache %s cannot be used: %s", self.path, error)
                    self._usable = False
                    return None
            return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            private_folder(self.path.parent)
            for file in log_files(self.path):
                keep_private(file)
            connection = sqlite3.connect(private_file(self.path), timeout=BUSY_SECONDS, check_same_thread=False)
            try:
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                if version > FORMAT:
                    raise sqlite3.NotSupportedError(f"a later version of LoreKeeper wrote it, in format {version}")
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection


def vector_key(model: str, text: str) -> bytes:
    """16 bytes that identify a text in a vector space."""
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def passage_keys(model: str, entities: Iterable[Entity]) -> Iterator[bytes]:
    """`vector_key` of every embedded text of entities."""
    return (vector_key(model, p.embedded) for entity in entities for p in passages(entity, hint=hint_text(entity)))


def _select(c: sqlite3.Connection, keys: Sequence[bytes], dimension: int | None) -> Iterator[tuple[bytes, Vectors]]:
    for start in range(0, len(keys), KEYS):
        part = keys[start : start + KEYS]
        sql = f"SELECT key, vector FROM vectors WHERE key IN ({', '.join('?' * len(part))})"
        with closing(c.execute(sql, part)) as rows:
            for key, blob in rows:
                vector = unpack_vector(key, blob, dimension)
                if vector is not None:
                    yield key, vector


def pack_vector(key: bytes, vector: Vectors) -> bytes:
    """A vector as bytes, with a checksum over these and its key."""
    data = vector.astype("<f4").tobytes()
    return data + _checksum(key, data).to_bytes(CHECK_BYTES, "big")


def unpack_vector(key: object, blob: object, dimension: int | None = None) -> Vectors | None:
    """The vector of `pack_vector`, shape (dimension,) float32; None if it cannot be searched.

    That is the case if key or bytes differ from what was packed, or if it is not of length 1 or of the given dimension.
    """
    vectors = unpack_vectors([(key, blob)])
    return None if vectors is None or dimension not in (None, vectors.shape[1]) else vectors[0]


def unpack_vectors(rows: Sequence[tuple[object, object]]) -> Vectors | None:
    """The vectors of some rows of keys and bytes, shape (rows, dimension) float32.

    None if one of them cannot be searched, as `unpack_vector` says, or has another dimension than the others.
    """
    size = len(rows[0][1]) if rows and isinstance(rows[0][1], bytes) else 0
    if size <= CHECK_BYTES or size % CHECK_BYTES:
        return None
    blobs, checks = list[bytes](), list[int]()
    for key, blob in rows:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES or not isinstance(blob, bytes) or len(blob) != size:
            return None
        blobs.append(blob)
        checks.append(_checksum(key, blob[:-CHECK_BYTES]))
    packed = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(rows), -1)
    vectors: Vectors = packed[:, :-1]  # the last number of each is its checksum
    return vectors if (packed[:, -1].view(">u4") == checks).all() and are_units(vectors) else None


def _checksum(key: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(key))


def _is_damage(error: Exception) -> bool:
    """Whether an error means that the file is damaged; other errors concern the disk, a lock, or a row."""
    return isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGE


def _code(error: Exception) -> int | None:
    """SQLite's primary result code."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
