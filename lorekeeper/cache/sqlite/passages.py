"""Passages with their vectors in SQLite, and searches by meaning over them, as both local libraries have them.

A library in SQLite has them nowhere else. For an embedded library in Milvus they are derived data, in its companion: a copy of
what the collection has. The entities of both have the row ids of the same file, so that filters are tested on its columns.
"""

from __future__ import annotations

import itertools
import json
import logging
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

from lorekeeper.cache.matrix import Matrix, Owned
from lorekeeper.cache.protocol import (
    ALIASES_BETWEEN,
    LOOKED,
    SECTIONED,
    Identity,
    Ranked,
    nearest_sections,
)
from lorekeeper.cache.sqlite import catalogue
from lorekeeper.cache.sqlite.catalogue import Catalogue, changed
from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, DamagedFileError, SqliteFile, columns, vectors_file
from lorekeeper.cache.sqlite.keywords import described
from lorekeeper.cache.vectors import pack_vector, unpack_vectors
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.folding import fold
from lorekeeper.system import return_memory
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


_STORED = "CREATE TABLE matrices (type TEXT PRIMARY KEY, state TEXT NOT NULL, mark BLOB NOT NULL)"
"""Which matrix is in the file of each type, so that an opening need not read all vectors, and processes share them.

A file may lack the table, and nothing is lost with it. One of another shape is replaced."""

_MATRICES = ["type", "state", "mark"]
"""Its columns."""


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


class _Scored(NamedTuple):
    entity: int
    score: float
    section: str
    text: str


def statements(types: Iterable[str] | None = None) -> list[str]:
    """The statements that create the tables of an empty file, for these types."""
    return [f"CREATE TABLE {name}{PASSAGES} {COLUMNS}" for name in (COLLECTIONS if types is None else types)]


def later_statements(types: Iterable[str] | None = None) -> list[str]:
    """The statements for the tables that a file gets only when they are needed."""
    return [*catalogue.later_statements(types), _STORED]


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
        return _ranked(c, entity_type, _scored(c, entity_type, owners, parts, scores), limit, looked)

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
        if columns(c, "matrices") != _MATRICES:
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
            if columns(c, "matrices") != _MATRICES:
                c.execute("DROP TABLE IF EXISTS matrices")
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
        return int(self._rows(f"SELECT count(*) FROM {entity_type}{PASSAGES}")[0][0])


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


def _scored(
    c: sqlite3.Connection, entity_type: str, owners: Sequence[int], parts: Sequence[int], scores: Sequence[float]
) -> list[_Scored]:
    """Some passages with their similarities, in their order."""
    rows = c.execute(
        f"SELECT section, passage FROM json_each(?) AS wanted CROSS JOIN {entity_type}{PASSAGES} AS own "
        "ON entity = json_extract(wanted.value, '$[0]') AND part = json_extract(wanted.value, '$[1]')",
        (json.dumps(list(zip(owners, parts, strict=True))),),
    ).fetchall()
    if len(rows) != len(scores):
        raise DamagedFileError(f"passages of {entity_type} are missing")
    return [_Scored(owner, score, *row) for owner, score, row in zip(owners, scores, rows, strict=True)]


@contextmanager
def _damage_of(entity_type: str) -> Iterator[None]:
    """Vectors of different dimensions are damage to the file."""
    try:
        yield
    except ValueError as error:
        raise DamagedFileError(f"the vectors of {entity_type} are damaged") from error


def _ranked(
    c: sqlite3.Connection, entity_type: str, passages: Sequence[_Scored], limit: int, looked: int
) -> list[Ranked]:
    """The entities of some passages, which come best first, in the order of their best ones."""
    own: dict[int, list[_Scored]] = {}
    for passage in passages:
        own.setdefault(passage.entity, []).append(passage)
    entries = dict(zip(own, described(c, entity_type, list(own)), strict=True))
    identities: dict[int, Identity] = {entity: (document, slug) for entity, (document, slug, _) in entries.items()}
    near = nearest_sections((identities[each.entity], each.section, each.score) for each in passages[:looked])
    best = sorted(own, key=lambda entity: (-own[entity][0].score, identities[entity]))[:limit]
    names = {entity: entries[entity][2] for entity in best}
    names |= _without_aliases(c, entity_type, {e: name for e, name in names.items() if ALIASES_BETWEEN in name})
    ranking: list[Ranked] = []
    for entity in best:
        first, *others = own[entity]
        second = others[0].score if others else None
        sections = near.get(identities[entity], ())
        ranking.append(
            Ranked(
                identities[entity], names[entity], first.score, first.text, first.section, second=second, near=sections
            )
        )
    return ranking


def _without_aliases(c: sqlite3.Connection, entity_type: str, names: Mapping[int, str]) -> dict[int, str]:
    """Names of entities that have their aliases behind them, or ` / ` in them, without the aliases."""
    if not names:
        return {}
    sql = f"SELECT id, name_folded FROM {entity_type} WHERE id IN (SELECT value FROM json_each(?))"
    folded = dict(c.execute(sql, (json.dumps(list(names)),)))
    return {entity: _beginning(name, folded.get(entity)) for entity, name in names.items()}


def _beginning(written: str, folded: str | None) -> str:
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
