"""The vectors of a type in memory, in 8 bits: they say which passages may be the nearest ones to a query.

The whole vectors stay in the file. They are read for those few passages only, and decide. So the result is exact: `Matrix.near`
leaves out no passage that belongs to it. The proof:

A vector v is rounded twice, to v = s*a + t*b + r, where a and b are vectors of whole numbers from -127 to 127, s and t the
steps of v, and r what remains. By the inequality of Cauchy and Schwarz the similarity v*q differs from (s*a)*q by
|v - s*a| * |q| at most, and from (s*a + t*b)*q by |r| * |q|. Both lengths are measured when the matrix is made. (s*a)*q is
computed with numbers of 24 bits, which adds an error: of a sum of n products it is at most n * 2^-24 / (1 - n * 2^-24) times
the sum of their magnitudes, in whatever order they are added (Higham, Accuracy and Stability of Numerical Algorithms, 3.1),
and the sum of magnitudes is at most |s*a| * |q|.

So every similarity has an upper and a lower bound. If some entity has a passage whose lower bound is b, its similarity is b at
least; if so many entities as are wanted have one of at least b, no passage whose upper bound is below b is the best one of an
entity that is wanted. Scores are rounded: the bounds are wider by one unit of the last digit, which is a hundred times what
adding and comparing them may lose.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import SCORE_DIGITS
from lorekeeper.embedding.protocol import Vectors

LARGEST = 127
"""Largest magnitude of a number in 8 bits."""

COMPARED = 1024
"""Passages that are compared with a query in one go: more would leave the processor's cache."""

UNIT = 2.0**-24
"""Relative error of one operation on numbers of 24 bits."""

LENGTH = 1.01
"""Most that the length of a stored vector is: those whose length is not 1 are damaged, and not searched."""

Places = npt.NDArray[np.int64]
"""Places of passages, shape (passages,)."""

_HEAD = struct.Struct("<4I")
"""Before a packed matrix: its checksum, passages, dimension and entities."""


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
    """The vectors of all passages of a type, in 8 bits, grouped by entity.

    Attributes:
        coarse: a of each vector, shape (passages, dimension) int8.
        fine: b of each vector, shape (passages, dimension) int8; its step is that of a divided by 2 * `LARGEST`.
        steps: s of each vector, shape (passages,).
        coarse_errors: |v - s*a|, and what the computation of (s*a)*q adds for a q of length 1, shape (passages,).
        fine_errors: |r|, shape (passages,).
        parts: number of each passage within its entity, shape (passages,).
        entities: row ids of the entities, ascending, shape (entities,).
        owners: place of the entity of each passage among these, ascending, shape (passages,).
    """

    coarse: npt.NDArray[np.int8]
    fine: npt.NDArray[np.int8]
    steps: npt.NDArray[np.float32]
    coarse_errors: npt.NDArray[np.float32]
    fine_errors: npt.NDArray[np.float32]
    parts: Places
    entities: Places
    owners: Places

    @classmethod
    def of(cls, batches: Iterable[Owned]) -> Self | None:
        """That of vectors in the order of their owners and parts; None if there are none.

        Raises:
            ValueError: they have different dimensions.
        """
        rounded = list[tuple[Any, ...]]()
        owners, parts = list[Places](), list[Places]()
        for batch in batches:
            rounded.append(_rounded(batch.vectors))
            owners.append(batch.owners)
            parts.append(batch.parts)
        if not rounded:
            return None
        entities, places = np.unique(np.concatenate(owners), return_inverse=True)
        coarse, fine, steps, coarse_errors, fine_errors = map(np.concatenate, zip(*rounded, strict=True))
        return cls(coarse, fine, steps, coarse_errors, fine_errors, np.concatenate(parts), entities, places)

    def updated(self, gone: npt.ArrayLike, new: Matrix | None) -> Matrix | None:
        """The matrix without some entities, given their row ids, and with those of another; None if that leaves none.

        Raises:
            ValueError: they have different dimensions.
        """
        remaining = ~np.isin(self.entities, gone)[self.owners]
        pieces = [tuple(numbers[remaining] for numbers in self._numbers()), *([new._numbers()] if new else [])]
        *numbers, owners = map(np.concatenate, zip(*pieces, strict=True))
        if not len(owners):
            return None
        if (np.diff(owners) < 0).any():
            order = np.argsort(owners, kind="stable")
            *numbers, owners = (own[order] for own in (*numbers, owners))
        entities, places = np.unique(owners, return_inverse=True)
        coarse, fine, steps, coarse_errors, fine_errors, parts = numbers
        return Matrix(coarse, fine, steps, coarse_errors, fine_errors, parts, entities, places)

    def _numbers(self) -> tuple[Any, ...]:
        """What it has of each passage, the row id of its entity last."""
        rounded = self.coarse, self.fine, self.steps, self.coarse_errors, self.fine_errors
        return *rounded, self.parts, self.entities[self.owners]

    @property
    def dimension(self) -> int:
        """Numbers of each vector."""
        return int(self.coarse.shape[1])

    def packed(self, label: str) -> bytes:
        """All of it as bytes, little-endian, as `unpacked` reads it under the same label, which says what it is of."""
        numbers = b"".join(getattr(self, name).astype(kind).tobytes() for name, kind, _ in _layout(0, 0, 0))
        sizes = (*self.coarse.shape, len(self.entities))
        return _HEAD.pack(_checksum(label, numbers, sizes), *sizes) + numbers

    @classmethod
    def unpacked(cls, data: object, label: str) -> Self | None:
        """The matrix of `packed`; None if it is anything else, or of something else."""
        if not isinstance(data, bytes) or len(data) < _HEAD.size:
            return None
        checksum, *sizes = _HEAD.unpack_from(data)
        numbers, start = memoryview(data)[_HEAD.size :], 0
        whole = sum(math.prod(shape) * np.dtype(kind).itemsize for _, kind, shape in _layout(*sizes))
        if len(numbers) != whole or _checksum(label, numbers, sizes) != checksum:
            return None
        parts = {}
        for name, kind, shape in _layout(*sizes):
            end = start + math.prod(shape) * np.dtype(kind).itemsize
            parts[name] = np.frombuffer(numbers[start:end], kind).reshape(shape)
            start = end
        return cls(**parts)

    def owners_of(self, places: Places) -> Places:
        """Row ids of the entities that the passages at some places belong to."""
        owners: Places = self.entities[self.owners[places]]
        return owners

    def near(
        self,
        query: Vectors,
        limit: int,
        looked: int,
        allowed: npt.NDArray[np.bool_] | None,
        least: float = -np.inf,
    ) -> Places:
        """The places of all passages that may be near enough, ascending; of most that are not, they are few.

        Args:
            query: shape (dimension,).
            limit: of so many nearest entities the best passages are wanted, and the others that are as near as the last one.
            looked: so many nearest passages are wanted besides.
            allowed: the entities under the filters, shape (entities,); None for all.
            least: if no passage has this similarity, none is wanted.
        """
        length = float(np.linalg.norm(query.astype(np.float64)))
        places = np.arange(len(self.owners)) if allowed is None else np.flatnonzero(allowed[self.owners])
        coarse, errors = self._coarse_similarities(query)[places], length * self.coarse_errors[places]
        if (coarse + errors).max(initial=-np.inf) + 10.0**-SCORE_DIGITS < least:
            return places[:0]
        places = places[self._may_be_near(places, coarse, errors, limit, looked)]
        fine = self._fine_similarities(query, places)
        return places[self._may_be_near(places, fine, length * self.fine_errors[places], limit, looked)]

    def _may_be_near(self, places: Places, similar: Any, errors: Any, limit: int, looked: int) -> npt.NDArray[np.bool_]:
        """Which of some passages may be near enough, given their similarities and how far these may be wrong."""
        if not len(places):
            return np.zeros(0, np.bool_)
        errors = errors + np.float32(10.0**-SCORE_DIGITS)
        surely = similar - errors
        firsts = np.flatnonzero(np.diff(self.owners[places], prepend=-1))
        least = min(_at(np.maximum.reduceat(surely, firsts), limit), _at(surely, looked))
        near: npt.NDArray[np.bool_] = similar + errors >= least
        return near

    def _coarse_similarities(self, query: Vectors) -> npt.NDArray[np.float32]:
        """(s*a)*q of all passages."""
        starts = range(0, len(self.coarse), COMPARED)
        whole = query.astype(np.float32)
        parts = [self.coarse[start : start + COMPARED].astype(np.float32) @ whole for start in starts]
        similar: npt.NDArray[np.float32] = np.concatenate(parts) * self.steps
        return similar

    def _fine_similarities(self, query: Vectors, places: Places) -> npt.NDArray[np.float64]:
        """(s*a + t*b)*q of some passages, computed with numbers of 53 bits."""
        starts = range(0, len(places), COMPARED)
        parts = [self._restored(places[start : start + COMPARED]) @ query.astype(np.float64) for start in starts]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _restored(self, places: Places) -> npt.NDArray[np.float64]:
        """s*a + t*b of some passages."""
        fine = self.fine[places].astype(np.float64) / (2 * LARGEST)
        restored: npt.NDArray[np.float64] = (self.coarse[places] + fine) * self.steps[places].astype(np.float64)[
            :, None
        ]
        return restored


def _layout(passages: int, dimension: int, entities: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, type and shape of what a matrix has, in the order in which it is packed."""
    vectors, each = (passages, dimension), (passages,)
    yield from (("coarse", "<i1", vectors), ("fine", "<i1", vectors))
    yield from ((name, "<f4", each) for name in ("steps", "coarse_errors", "fine_errors"))
    yield from (("parts", "<i8", each), ("entities", "<i8", (entities,)), ("owners", "<i8", each))


def _checksum(label: str, numbers: bytes | memoryview, sizes: Iterable[int]) -> int:
    return zlib.crc32(numbers, zlib.crc32(repr((label, *sizes)).encode()))


def _rounded(vectors: Vectors) -> tuple[Any, ...]:
    """a, b, s, |v - s*a| and |r| of some vectors, the lengths with what the computation in 24 bits may have lost.

    A quotient of up to `LARGEST` steps is wrong by `LARGEST` * `UNIT` steps at most, so that none is rounded to more than
    `LARGEST`. What is subtracted from it, and from the difference, adds less than that again.
    """
    steps = np.abs(vectors).max(axis=1).astype(np.float32) / np.float32(LARGEST)
    whole = vectors.astype(np.float32) / steps[:, np.newaxis]
    coarse = np.rint(whole)
    whole -= coarse
    fine = whole * np.float32(2 * LARGEST)
    np.rint(fine, out=fine)
    coarse_errors = _lengths(whole)
    whole -= fine / np.float32(2 * LARGEST)
    coarse_errors, fine_errors = (steps * (errors + _lost(vectors)) for errors in (coarse_errors, _lengths(whole)))
    terms = (vectors.shape[1] + 4) * UNIT
    coarse_errors += np.float32(terms / (1 - terms)) * (LENGTH + coarse_errors)
    return coarse.astype(np.int8), fine.astype(np.int8), steps, coarse_errors, fine_errors


def _lost(vectors: Vectors) -> np.float32:
    """Length of what the computation of quotients may have lost of a vector, in steps, rounded up."""
    return np.float32(math.sqrt(vectors.shape[1]) * 2.1 * LARGEST * UNIT)


def _lengths(numbers: Any) -> npt.NDArray[np.float32]:
    """Lengths of vectors, rounded up by more than their computation in 24 bits can lose."""
    dimension = numbers.shape[1]
    lengths: npt.NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
    return lengths * np.float32(1 + 2 * (dimension + 8) * UNIT)


def _at(values: Any, place: int) -> float:
    """The value at a place, from 1, in descending order; -inf if there are not so many, and inf at place 0."""
    if not 0 < place <= len(values):
        return -np.inf if place else np.inf
    return float(np.partition(values, -place)[-place])
