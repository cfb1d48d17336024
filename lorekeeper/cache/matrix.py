"""The vectors of a type in memory, as 32-bit numbers: an array of its own, or a file that all processes map.

A search is exact. The similarities of all passages are computed with numbers of 24 bits. Of a sum of n products that may be wrong
by n * 2^-24 / (1 - n * 2^-24) times the product of both lengths, in whatever order they are added (Higham, Accuracy and Stability
of Numerical Algorithms, 3.1). The few passages that may be among the nearest by as much are computed with numbers of 53 bits, and
these decide.
"""

from __future__ import annotations

import mmap
import os
import secrets
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import SCORE_DIGITS
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.system import private_file

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

_ALIGNED = 64
"""Bytes after which the numbers of a stored matrix begin."""


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
        checksum = 0
        for each in numbers:
            checksum = zlib.crc32(each, checksum)
        written = path.with_name(f"{path.name}.{mark.hex()}.new")
        try:
            with private_file(written).open("wb") as file:
                file.write(_HEAD.pack(mark, checksum, *sizes).ljust(_ALIGNED, b"\0"))
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
        if found != mark or len(content) != whole or zlib.crc32(memoryview(content)[_ALIGNED:]) != checksum:
            return None
        parts, start = dict[str, Any](), _ALIGNED
        for name, kind, shape in layout:
            count = int(np.prod(shape))
            parts[name] = np.frombuffer(content, kind, count, start).reshape(shape)
            start += count * np.dtype(kind).itemsize
        return cls(**parts)


def _layout(passages: int, dimension: int, entities: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, type and shape of what a matrix has, in the order in which it is stored."""
    yield "vectors", "<f4", (passages, dimension)
    yield from (("parts", "<i8", (passages,)), ("entities", "<i8", (entities,)), ("owners", "<i8", (passages,)))


def _firsts(owners: Places) -> Places:
    """Places at which another owner begins."""
    return np.flatnonzero(np.diff(owners, prepend=-1))


def _at(values: Any, place: int) -> float:
    """The value at a place, from 1, in descending order; -inf if there are not so many, and inf at place 0."""
    if not 0 < place <= len(values):
        return -np.inf if place else np.inf
    return float(np.partition(values, -place)[-place])
