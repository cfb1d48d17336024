"""Vectors that were computed before, by model and text, so that no text is embedded twice.

A cache and nothing more: a file that cannot be used costs time, never an answer, and may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from lorekeeper.embedding.provider import Vectors
from lorekeeper.system import keep_private, private_file, private_folder

logger = logging.getLogger(__name__)

R = TypeVar("R")

FORMAT = 1
"""Stored as SQLite's user_version; a file of another format is replaced."""

KEYS = 500
"""Keys a query."""

BUSY_SECONDS = 10.0

CHECK_BYTES = 4
"""Every vector is followed by a checksum of key and vector: a damaged one, or another text's, is computed anew."""


class VectorCache:
    """An SQLite file of vectors. Blocking, and safe to use from several threads and processes.

    Args:
        path: the file; made at first use.
        shipped: vectors that come with the package, an ``.npz`` file as `save_vectors` writes it; None for none.
    """

    def __init__(self, path: Path, shipped: Path | None = None) -> None:
        self.path = path
        self._shipped = shipped
        self._packed: dict[bytes, Vectors] | None = None
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def get(self, model: str, texts: Sequence[str]) -> dict[str, Vectors]:
        """The known vectors, float32, by text.

        Args:
            model: fingerprint of the vector space.
            texts: what was embedded.
        """
        keys = {vector_key(model, text): text for text in texts}
        found = self._guarded(lambda c: dict(_select(c, list(keys)))) or {}
        packed = self._packed_vectors()
        found |= {key: packed[key] for key in keys.keys() & packed.keys() - found.keys()}
        return {keys[key]: vector for key, vector in found.items()}

    def put(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Remember vectors, shape (len(texts), dimension) float32."""
        keys = [vector_key(model, text) for text in texts]
        self.add([(key, pack_vector(key, vector)) for key, vector in zip(keys, vectors, strict=True)])

    def add(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Take over vectors as `pack_vector` makes them, by `vector_key`."""

        def write(c: sqlite3.Connection) -> None:
            with c:
                c.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

        self._guarded(write)

    def packed(self, model: str, texts: Sequence[str]) -> dict[bytes, bytes]:
        """The known vectors of texts as `pack_vector` makes them, by `vector_key`."""
        known = {vector_key(model, text): vector for text, vector in self.get(model, texts).items()}
        return {key: pack_vector(key, vector) for key, vector in known.items()}

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _packed_vectors(self) -> dict[bytes, Vectors]:
        if self._packed is None:
            self._packed = load_vectors(self._shipped) if self._shipped and self._shipped.is_file() else {}
        return self._packed

    def _guarded(self, function: Callable[[sqlite3.Connection], R]) -> R | None:
        """Run with the open file; None where it cannot be used, which is said once. A damaged file is replaced."""
        with self._lock:
            for _ in range(2):
                try:
                    return function(self._open())
                except (sqlite3.OperationalError, OSError) as error:
                    level = logging.WARNING if self._usable else logging.DEBUG
                    logger.log(level, "the vector cache %s cannot be used: %s", self.path, error)
                    self._usable = False
                    return None
                except sqlite3.DatabaseError as error:
                    logger.warning("the vector cache %s is damaged (%s): beginning a new one", self.path, error)
                    self._discard()
            return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            private_folder(self.path.parent)
            for part in ("-wal", "-shm"):
                keep_private(self.path.with_name(self.path.name + part))
            connection = sqlite3.connect(private_file(self.path), timeout=BUSY_SECONDS, check_same_thread=False)
            try:
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, FORMAT):
                    raise sqlite3.DatabaseError(f"format {version}, not {FORMAT}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _discard(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


def vector_key(model: str, text: str) -> bytes:
    """16 bytes that stand for a text in a vector space."""
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def save_vectors(path: Path, model: str, texts: Sequence[str], vectors: Vectors) -> None:
    """Write vectors to a compressed file, as half-precision numbers: cosines stay the same to six digits.

    Args:
        path: an ``.npz`` file.
        model: fingerprint of the vector space.
        texts: what was embedded.
        vectors: shape (len(texts), dimension).
    """
    order = sorted(range(len(texts)), key=lambda i: vector_key(model, texts[i]))
    keys = np.frombuffer(b"".join(vector_key(model, texts[i]) for i in order), dtype=np.uint8).reshape(-1, 16)
    np.savez_compressed(path, keys=keys, vectors=vectors[order].astype(np.float16))


def load_vectors(path: Path) -> dict[bytes, Vectors]:
    """Vectors of length 1, float32, by `vector_key`, from a file of `save_vectors`."""
    with np.load(path, allow_pickle=False) as file:
        keys, vectors = file["keys"], file["vectors"].astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return {key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)}


def write_packed(packed: Mapping[bytes, bytes]) -> bytes:
    """Vectors of `pack_vector` and their keys as one portable block: both lengths, then key and vector one by one."""
    rows = sorted(packed.items())
    sizes = [len(part) for part in rows[0]] if rows else [0, 0]
    return json.dumps(sizes).encode() + b"\n" + b"".join(key + vector for key, vector in rows)


def read_packed(block: bytes) -> dict[bytes, bytes]:
    """The vectors of `write_packed`; ValueError where it is none."""
    head, _, rows = block.partition(b"\n")
    key, size = json.loads(head)
    starts = range(0, len(rows), key + size) if rows else range(0)
    return {rows[i : i + key]: rows[i + key : i + key + size] for i in starts}


def _select(c: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, Vectors]]:
    for start in range(0, len(keys), KEYS):
        part = keys[start : start + KEYS]
        sql = f"SELECT key, vector FROM vectors WHERE key IN ({', '.join('?' * len(part))})"
        with closing(c.execute(sql, part)) as rows:
            for key, blob in rows:
                vector = unpack_vector(key, blob)
                if vector is not None:
                    yield key, vector


def pack_vector(key: bytes, vector: Vectors) -> bytes:
    """A vector as bytes, with a checksum over these and its key."""
    data = vector.astype("<f4").tobytes()
    return data + _checksum(key, data)


def unpack_vector(key: bytes, blob: bytes) -> Vectors | None:
    """The vector of `pack_vector`, shape (dimension,) float32; None where key or bytes are not what was packed."""
    data = blob[:-CHECK_BYTES]
    return np.frombuffer(data, dtype="<f4") if _checksum(key, data) == blob[-CHECK_BYTES:] else None


def _checksum(key: bytes, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(key)).to_bytes(CHECK_BYTES, "big")
