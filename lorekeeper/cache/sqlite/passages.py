"""Passages with their vectors in SQLite, and searches by meaning over them, as both local libraries have them.

A library in SQLite has them nowhere else. For an embedded library in Milvus they are derived data, in its companion: a copy of
what the collection has. The entities of both have the row ids of the same file, so that filters are tested on its columns.

In memory the vectors of a type are 32-bit numbers: an array, or a file that all processes map.

A search is exact. The similarities of all passages are computed with numbers of 24 bits. Of a sum of n products that may be wrong
by n * 2^-24 / (1 - n * 2^-24) times the product of both lengths, in whatever order they are added (Higham, Accuracy and Stability
of Numerical Algorithms, 3.1). The few passages that may be among the nearest by as much are computed with numbers of 53 bits, and
these decide.
"""

from __future__ import annotations

import itertools
import json
import logging
import mmap
import os
import secrets
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import (
    ALIASES_BETWEEN,
    LOOKED,
    SCORE_DIGITS,
    SECTIONED,
    Ranked,
    nearest_sections,
)
from lorekeeper.cache.sqlite import catalogue
from lorekeeper.cache.sqlite.catalogue import Catalogue, changed
from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, DamagedFileError, SqliteFile, columns, vectors_file
from lorekeeper.cache.vectors import pack_vector, unpack_vectors
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.folding import fold
from lorekeeper.system import private_file, return_memory
from lorekeeper.text.passages import Passage

logger = logging.getLogger(__name__)

READ = 1000
"""Vectors read from the file in one go."""

PASSAGES = "_passages"
"""Suffix of the table with the passages of a type."""

COLUMNS = (
    "(entity INTEGER NOT NULL, part INTEGER NOT NULL, section TEXT NOT NULL, passage TEXT NOT NULL, "
    "key BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (entity, part))"
)


_STORED = "CREATE TABLE IF NOT EXISTS matrices (type TEXT PRIMARY KEY, state TEXT NOT NULL, mark BLOB NOT NULL)"
"""Which matrix is in the file of each type, so that an opening need not read all vectors, and processes share them.

A file may lack the table, and nothing is lost with it."""

FREE_BYTES = 512 * 2**20
"""Free space on the disk below which no matrix is stored: it can be made again."""


class _State(NamedTuple):
    """What passages a matrix is of. It changes with each of them, also if a program that knows no matrices writes.

    Attributes:
        entities: number of changes of the type, and of the file in its place.
        passages: the same of its passages that were `replaced`.
    """

    entities: tuple[int, int]
    passages: tuple[int, int]

    def stored(self) -> str:
        """The numbers of changes, which mean the same in every process."""
        return f"{self.entities[1]} {self.passages[1]}"


class _Known(NamedTuple):
    """A matrix, what it was made of, and the content hash of each entity by row id."""

    state: _State
    hashes: Mapping[int, str]
    matrix: Matrix | None


def statements(types: Sequence[str]) -> list[str]:
    """The statements that create the tables of an empty file with entities and passages, for these types."""
    return [*catalogue.statements(types), *(f"CREATE TABLE {name}{PASSAGES} {COLUMNS}" for name in types)]


def insert(
    c: sqlite3.Connection,
    table: str,
    ids: Sequence[int],
    passages: Iterable[Sequence[Passage]],
    vectors: Iterable[Vectors],
    keys: Iterable[bytes],
) -> None:
    """Store the passages of some entities, given the row ids of these, and vector and key of each passage, in order."""
    remaining = zip(vectors, keys, strict=True)
    sql = f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?)"
    for entity, own in zip(ids, passages, strict=True):
        for part, (passage, (vector, key)) in enumerate(zip(own, itertools.islice(remaining, len(own)), strict=True)):
            c.execute(sql, (entity, part, passage.section, passage.text, key, pack_vector(key, vector)))


def remove(c: sqlite3.Connection, entity_type: str, ids: Iterable[int]) -> None:
    """Remove the passages of some entities."""
    c.executemany(f"DELETE FROM {entity_type}{PASSAGES} WHERE entity = ?", ((i,) for i in ids))


def replaced(c: sqlite3.Connection, entity_type: str) -> None:
    """Record that the passages of entities have changed although these have not: with vectors of another model, for instance."""
    changed(c, entity_type)
    changed(c, entity_type + PASSAGES)


class PassageCatalogue(Catalogue):
    """A catalogue whose file has the passages of its entities, too. Blocking, safe in several threads."""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file)
        self._known_matrices: dict[str, _Known] = {}
        self._stored: dict[str, _State] = {}
        """What the stored matrix of each type is of, as far as it was read or written here."""

    def nearest(self, c: sqlite3.Connection, selection: Selection, vector: Vectors, limit: int) -> list[Ranked]:
        """The entities whose best passage is nearest to a vector of shape (dimension,), exactly, best first."""
        entity_type = selection.entity_type
        matrix = self.matrix(c, entity_type)
        if matrix is None or limit < 1:
            return []
        if matrix.dimension != len(vector):
            raise DamagedFileError(
                f"the vectors of {entity_type} in {self.file.path} have another dimension than the model's"
            )
        rows = self._rows_meeting(c, selection)
        allowed = None if rows is None else np.isin(matrix.entities, self._columns_of(c, entity_type).ids[rows])
        looked = LOOKED if entity_type in SECTIONED else 0
        places, scores = matrix.near(vector, limit, looked, allowed)
        if not scores:
            return []
        owners, parts = matrix.entities[matrix.owners[places]].tolist(), matrix.parts[places].tolist()
        return self._ranked(c, entity_type, list(zip(owners, parts, strict=True)), scores, limit, looked)

    def _ranked(
        self,
        c: sqlite3.Connection,
        entity_type: str,
        passages: Sequence[tuple[int, int]],
        scores: Sequence[float],
        limit: int,
        looked: int,
    ) -> list[Ranked]:
        """The entities of some passages (row id of the entity, part), which come best first, in the order of their best ones."""
        keywords = self._keywords(c, entity_type)
        columns, names = keywords.columns, keywords.texts.names
        own: dict[int, list[int]] = {}
        for number, (entity, _) in enumerate(passages):
            own.setdefault(entity, []).append(number)
        found = np.searchsorted(columns.ids, list(own))
        if columns.ids.take(found, mode="clip").tolist() != list(own):
            raise DamagedFileError(f"an entry of {entity_type} is incomplete")
        places = dict(zip(own, found.tolist(), strict=True))
        identities = {entity: columns.identities[place] for entity, place in places.items()}
        best = sorted(own, key=lambda entity: (-scores[own[entity][0]], identities[entity]))[:limit]
        wanted = sorted({*range(min(looked, len(passages))), *(own[entity][0] for entity in best)})
        texts = dict(zip(wanted, _texts(c, entity_type, [passages[number] for number in wanted]), strict=True))
        near = nearest_sections(
            (identities[entity], texts[number][0], scores[number])
            for number, (entity, _) in enumerate(passages[:looked])
        )
        ranking: list[Ranked] = []
        for entity in best:
            first, *others = own[entity]
            name, identity, (section, text) = names[places[entity]], identities[entity], texts[first]
            if ALIASES_BETWEEN in name:
                name = _beginning(name, self._names(c, entity_type).folded[places[entity]])
            second = scores[others[0]] if others else None
            ranking.append(
                Ranked(identity, name, scores[first], text, section, second=second, near=near.get(identity, ()))
            )
        return ranking

    def matrix(self, c: sqlite3.Connection, entity_type: str) -> Matrix | None:
        """The vectors of a type in memory, cached until it changes; None if it has none."""
        return self._cached(c, entity_type, self._current)

    def _current(self, c: sqlite3.Connection, entity_type: str) -> Matrix | None:
        """The matrix of a type; of one that was known before only the entities are read that have changed since."""
        known, state = self._known_matrices.get(entity_type), self._state_of(c, entity_type)
        hashes = dict(c.execute(f"SELECT id, hash FROM {entity_type}"))
        if known is None or known.matrix is None or known.state.passages != state.passages:
            matrix = self._read_stored(c, entity_type, state) or _matrix(c, entity_type)
            return_memory()
        else:
            gone = [row for row, digest in known.hashes.items() if hashes.get(row) != digest]
            new = [row for row, digest in hashes.items() if known.hashes.get(row) != digest]
            with _damage_of(entity_type):
                matrix = known.matrix.updated(gone, _matrix(c, entity_type, new))
        self._known_matrices[entity_type] = _Known(state, hashes, matrix)
        return matrix

    def _state_of(self, c: sqlite3.Connection, entity_type: str) -> _State:
        return _State(self.version_in(c, entity_type), self.version_in(c, entity_type + PASSAGES))

    def _read_stored(self, c: sqlite3.Connection, entity_type: str, state: _State) -> Matrix | None:
        """The stored matrix of a type; None if there is none, or it is of other passages, or damaged."""
        if not columns(c, "matrices"):
            return None
        try:
            sql = "SELECT mark FROM matrices WHERE type = ? AND state = ?"
            row = c.execute(sql, (entity_type, state.stored())).fetchone()
        except SQLITE_ERRORS as error:
            logger.info("the stored vectors of %s cannot be read: %s", entity_type, error)
            return None
        matrix = Matrix.mapped(vectors_file(self.file.path, entity_type), row[0]) if row else None
        if matrix:
            self._stored[entity_type] = state
        return matrix

    def store_matrices(self) -> None:
        """Store the matrices that differ from the stored ones, where there is room, and use them from there."""
        known = {t: k for t, k in self._known_matrices.items() if k.matrix and self._stored.get(t) != k.state}

        def store(c: sqlite3.Connection) -> None:
            c.execute(_STORED)
            for entity_type, (state, hashes, matrix) in known.items():
                if matrix and self._state_of(c, entity_type) == state:  # else another process has written meanwhile
                    path = vectors_file(self.file.path, entity_type)
                    mark = matrix.store(path)
                    c.execute("INSERT OR REPLACE INTO matrices VALUES (?, ?, ?)", (entity_type, state.stored(), mark))
                    self._stored[entity_type] = state
                    shared = Matrix.mapped(path, mark) or matrix
                    self._known_matrices[entity_type] = _Known(state, hashes, shared)
                    self._memory.pop((self._current, entity_type), None)

        if known and self.file.is_same() and shutil.disk_usage(self.file.path.parent).free >= FREE_BYTES:
            with suppress(CacheError):
                self.file.write(store)

    def count_passages(self, entity_type: str) -> int:
        """Number of passages of a type."""
        sql = f"SELECT count(*) FROM {entity_type}{PASSAGES}"
        return self.file.read(lambda c: int(c.execute(sql).fetchone()[0]))


def _matrix(c: sqlite3.Connection, entity_type: str, ids: Sequence[int] | None = None) -> Matrix | None:
    """The matrix of a type, or of some of its entities.

    Raises:
        DamagedFileError: a vector cannot be searched, or has another dimension than the others.
    """
    among = "" if ids is None else "WHERE entity IN (SELECT value FROM json_each(?)) "
    sql = f"SELECT entity, part, key, vector FROM {entity_type}{PASSAGES} {among}ORDER BY entity, part"
    rows = c.execute(sql, [] if ids is None else [json.dumps(ids)])

    def batches() -> Iterator[Owned]:
        while batch := rows.fetchmany(READ):
            places = np.array([row[:2] for row in batch], np.int64)
            yield Owned(_unpacked(entity_type, [row[2:] for row in batch]), places[:, 0], places[:, 1])

    with _damage_of(entity_type):
        return Matrix.of(batches())


def _texts(c: sqlite3.Connection, entity_type: str, passages: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    """(section, text) of some passages, in their order."""
    rows = c.execute(
        f"SELECT section, passage FROM json_each(?) AS wanted CROSS JOIN {entity_type}{PASSAGES} AS own "
        "ON entity = json_extract(wanted.value, '$[0]') AND part = json_extract(wanted.value, '$[1]')",
        (json.dumps(passages),),
    ).fetchall()
    if len(rows) != len(passages):
        raise DamagedFileError(f"passages of {entity_type} are missing")
    return rows


@contextmanager
def _damage_of(entity_type: str) -> Iterator[None]:
    """Vectors of different dimensions are damage to the file."""
    try:
        yield
    except ValueError as error:
        raise DamagedFileError(f"the vectors of {entity_type} are damaged") from error


def _beginning(written: str, folded: str) -> str:
    """The shortest beginning of a text that is the folded one, which ends where an alias may begin; else the whole text."""
    parts = written.split(ALIASES_BETWEEN)
    beginnings = (ALIASES_BETWEEN.join(parts[:number]) for number in range(1, len(parts)))
    return next((beginning for beginning in beginnings if fold(beginning) == folded), written)


def _unpacked(entity_type: str, rows: Sequence[tuple[object, object]]) -> Vectors:
    """The vectors of some rows of keys and bytes, shape (rows, dimension); DamagedFileError if they cannot be searched."""
    vectors = unpack_vectors(rows)
    if vectors is None:
        raise DamagedFileError(f"the vectors of {entity_type} are damaged")
    return vectors


# --- vectors in memory -----------------------------------------------------------------------------------------------

COMPARED = 1024
"""Passages that are compared with a query in one go: more would be divided among threads, which costs more than it saves."""

UNIT = 2.0**-24
"""Relative error of one operation on numbers of 24 bits."""

LENGTH = 1.01
"""Most that the length of a stored vector is: those whose length is not 1 are damaged, and not searched."""

Places = npt.NDArray[np.int64]
"""Places of passages, shape (passages,)."""

_HEAD = struct.Struct("<16s4I")
"""Before a stored matrix: what it is of, its checksum, passages, dimension and entities."""

_ALIGNED, _BLOCK = 64, 4096
"""Bytes after which the numbers of a stored matrix begin, and bytes of which its checksum has one sum."""


@dataclass(frozen=True)
class Owned:
    """Some vectors of length 1, and whose they are.

    Attributes:
        vectors: shape (passages, dimension).
        owners: row id of the entity of each passage, shape (passages,).
        parts: number of each passage within its entity, shape (passages,).
    """

    vectors: Vectors
    owners: Places
    parts: Places


@dataclass(frozen=True)
class Matrix:
    """The vectors of all passages of a type, grouped by entity.

    Attributes:
        vectors: shape (passages, dimension) float32.
        parts: number of each passage within its entity, shape (passages,).
        entities: row ids of the entities, ascending, shape (entities,).
        owners: place of the entity of each passage among these, ascending, shape (passages,).
    """

    vectors: Vectors
    parts: Places
    entities: Places
    owners: Places

    @classmethod
    def of(cls, batches: Iterable[Owned]) -> Self | None:
        """That of vectors in the order of their owners and parts; None if there are none.

        Raises:
            ValueError: they have different dimensions.
        """
        pieces = [(batch.vectors, batch.parts, batch.owners) for batch in batches]
        return cls._joined(pieces) if pieces else None

    def updated(self, gone: npt.ArrayLike, new: Matrix | None) -> Matrix | None:
        """The matrix without some entities, given their row ids, and with those of another; None if that leaves none.

        Raises:
            ValueError: they have different dimensions.
        """
        remaining = ~np.isin(self.entities, gone)[self.owners]
        pieces = [(self.vectors[remaining], self.parts[remaining], self._owner_ids()[remaining])]
        pieces += [(new.vectors, new.parts, new._owner_ids())] if new else []
        return self._joined(pieces)

    @classmethod
    def _joined(cls, pieces: Iterable[tuple[Vectors, Places, Places]]) -> Self | None:
        """The matrix of vectors, their parts and the row ids of their entities; None if there are none."""
        vectors, parts, owners = map(np.concatenate, zip(*pieces, strict=True))
        if not len(owners):
            return None
        if (np.diff(owners) < 0).any():
            order = np.argsort(owners, kind="stable")
            vectors, parts, owners = vectors[order], parts[order], owners[order]
        entities, places = np.unique(owners, return_inverse=True)
        return cls(vectors, parts, entities, places)

    @cached_property
    def _firsts(self) -> Places:
        """Place of the first passage of each entity."""
        return _firsts(self.owners)

    def _owner_ids(self) -> Places:
        ids: Places = self.entities[self.owners]
        return ids

    @property
    def dimension(self) -> int:
        """Numbers of each vector."""
        return int(self.vectors.shape[1])

    def near(
        self,
        query: Vectors,
        limit: int,
        looked: int,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> tuple[Places, list[float]]:
        """The places of all passages that may be near enough, and their similarities, best first; of others, they are few.

        Args:
            query: shape (dimension,).
            limit: of so many nearest entities the best passages are wanted, and the others that are as near as the last one.
            looked: so many nearest passages are wanted besides.
            allowed: the entities under the filters, shape (entities,); None for all.
        """
        exact = query.astype(np.float64)
        margin = self._error(float(np.linalg.norm(exact))) + 10.0**-SCORE_DIGITS
        similar, firsts = self._similarities(query.astype(np.float32)), self._firsts
        places = None if allowed is None else np.flatnonzero(allowed[self.owners])
        if places is not None:
            similar, firsts = similar[places], _firsts(self.owners[places])
        if not len(similar):
            return np.zeros(0, np.int64), []
        last = min(_at(np.maximum.reduceat(similar, firsts), limit), _at(similar, looked))
        near = np.flatnonzero(similar >= last - 2 * margin)
        places = near if places is None else places[near]
        scores = np.round(self.vectors[places].astype(np.float64) @ exact, SCORE_DIGITS)
        order = np.argsort(-scores, kind="stable")  # of equal ones the first of an entity
        return places[order], scores[order].tolist()

    def _similarities(self, query: Vectors) -> Vectors:
        """Those of all passages, with numbers of 24 bits."""
        similar = np.empty(len(self.vectors), np.float32)
        for start in range(0, len(similar), COMPARED):
            part = slice(start, start + COMPARED)
            np.dot(self.vectors[part], query, out=similar[part])
        return similar

    def _error(self, length: float) -> float:
        """How much these may be wrong for a query of a length."""
        terms = (self.dimension + 1) * UNIT
        return terms / (1 - terms) * LENGTH * length

    # --- stored ------------------------------------------------------------------------------------------------------

    def store(self, path: Path) -> bytes:
        """Write all of it to a file, in place of one that is there; returns what `mapped` asks for. OSError if it cannot be."""
        mark = secrets.token_bytes(16)
        numbers = [getattr(self, name).astype(kind, copy=False) for name, kind, _ in _layout(0, 0, 0)]
        sizes = (*self.vectors.shape, len(self.entities))
        written = path.with_name(f"{path.name}.{mark.hex()}.new")
        try:
            with private_file(written).open("wb") as file:
                file.write(_HEAD.pack(mark, _checksum(numbers), *sizes).ljust(_ALIGNED, b"\0"))
                for each in numbers:
                    file.write(each)
                file.flush()
                os.fsync(file.fileno())
            written.replace(path)
        except OSError:
            with suppress(OSError):
                written.unlink()
            raise
        return mark

    @classmethod
    def mapped(cls, path: Path, mark: object) -> Self | None:
        """The matrix that `store` has written to a file; None if anything else is there, or it is damaged."""
        try:
            with path.open("rb") as file:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # there is none, or it is empty
            return None
        if len(content) < _ALIGNED:
            return None
        found, checksum, *sizes = _HEAD.unpack_from(content)
        layout = list(_layout(*sizes))
        whole = _ALIGNED + sum(int(np.prod(shape)) * np.dtype(kind).itemsize for _, kind, shape in layout)
        if found != mark or len(content) != whole:
            return None
        parts, start = dict[str, Any](), _ALIGNED
        for name, kind, shape in layout:
            count = int(np.prod(shape))
            parts[name] = np.frombuffer(content, kind, count, start).reshape(shape)
            start += count * np.dtype(kind).itemsize
        return cls(**parts) if _checksum(parts.values()) == checksum else None


def _layout(passages: int, dimension: int, entities: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, type and shape of what a matrix has, in the order in which it is stored."""
    yield "vectors", "<f4", (passages, dimension)
    yield from (("parts", "<i8", (passages,)), ("entities", "<i8", (entities,)), ("owners", "<i8", (passages,)))


def _checksum(numbers: Iterable[npt.NDArray[Any]]) -> int:
    """That of what a file has: the CRC-32 of the sums of its blocks, an eighth of the time of that of all bytes."""
    checksum = 0
    for each in numbers:
        content = each.reshape(-1).view(np.uint8)
        whole = len(content) // _BLOCK * _BLOCK
        sums = content[:whole].view(np.uint64).reshape(-1, _BLOCK // 8).sum(axis=1)
        checksum = zlib.crc32(content[whole:].tobytes(), zlib.crc32(sums, checksum))
    return checksum


def _firsts(owners: Places) -> Places:
    """Places at which another owner begins."""
    return np.flatnonzero(np.diff(owners, prepend=-1))


def _at(values: Any, place: int) -> float:
    """The value at a place, from 1, in descending order; -inf if there are not so many, and inf at place 0."""
    if not 0 < place <= len(values):
        return -np.inf if place else np.inf
    return float(np.partition(values, -place)[-place])
