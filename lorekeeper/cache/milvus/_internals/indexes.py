"""The vector indexes of segments: FAISS's, in 8 bits, which propose rows whose whole vectors are then compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import faiss
import numpy as np

from lorekeeper.cache.milvus._internals import row_files
from lorekeeper.cache.milvus._internals.names import IVF_FLAT, QUANTIZED, lookup_class, rebound
from lorekeeper.cache.milvus.schema import SEARCH_PARAMS
from lorekeeper.embedding.protocol import Vectors

wrappers: Any = faiss
"""FAISS with the arguments that its classes take in Python; its type declarations have those of C++."""

LARGEST = 127
"""Largest magnitude of a number in 8 bits."""

ERROR = 1.5
"""How much the cosine similarity of two vectors in 8 bits may differ from the exact one, in steps of both together.

Roundings add up to 0.2 of these, as a standard deviation, and to no more than this where vectors have nine numbers or fewer.
Measured: 1.1 at most, of texts, whose steps are 0.002."""

SAMPLE, ROUNDS = 32, 3
"""Vectors a list from which its centre is found, and in how many rounds: a search goes through all lists, however good they are."""

PROPOSED, AT_LEAST = 1.2, 32
"""Rows that are compared exactly: this many for each one that is wanted, and these besides."""

Distances = Callable[[Vectors, Any], Any]
"""Cosine distances of rows, shape (rows,), to a vector, given their numbers."""


class EarlierIndexError(Exception):
    """An index file has another kind of index than those that are built now."""


class _LeanFaiss:
    """FAISS, as the index of a segment uses it: silent, with numbers of 8 bits, and mapped into memory.

    FAISS warns on stderr, from C, about every index with fewer than 39 vectors a list; its own switch for that is the
    clustering parameter set here. Numbers of 8 bits take a quarter of the memory, and a quarter of the time of a search.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(faiss, name)

    def IndexIVFFlat(self, quantizer: Any, dimension: int, lists: int, metric: int) -> Any:  # noqa: N802 - FAISS's name
        bits, residuals = faiss.ScalarQuantizer.QT_8bit_direct_signed, False
        index = _RoundedIndex(quantizer, dimension, lists, bits, metric, residuals)
        index.cp.min_points_per_centroid, index.cp.max_points_per_centroid, index.cp.niter = 1, SAMPLE, ROUNDS
        return index

    def read_index(self, path: str) -> Any:
        index = faiss.read_index(path, faiss.IO_FLAG_MMAP_IFC if row_files.REMOVABLE else 0)
        bits = index.sq.qtype if isinstance(index, faiss.IndexIVFScalarQuantizer) else None
        if bits != faiss.ScalarQuantizer.QT_8bit_direct_signed:
            raise EarlierIndexError(path)
        return index


class _RoundedIndex(lookup_class(QUANTIZED)):  # type: ignore[misc]
    """An index of vectors whose numbers are rounded to steps, as those of queries have to be; it holds numbers of steps.

    FAISS multiplies whole numbers three times as fast as those between the least and the greatest one of each direction. It has a
    field for what a kind of number needs to know of the vectors, which this kind does not use: the step is kept there.
    """

    def train(self, x: Vectors) -> None:
        self.sq.rangestat_arg = _step(x)
        super().train(x / self.sq.rangestat_arg)

    def add(self, x: Vectors) -> None:
        super().add(np.rint(x / self.sq.rangestat_arg))


@dataclass(frozen=True)
class Rounded:
    """A query in numbers of 8 bits.

    Attributes:
        step: between its numbers, as a share of its length.
        steps: how many of them each number has, shape (1, dimension) float32.
    """

    step: float
    steps: Vectors

    @classmethod
    def of(cls, query: Vectors) -> Self:
        """That of a vector, shape (dimension,)."""
        unit = units(query[np.newaxis])
        return cls(_step(unit), np.rint(unit / _step(unit)))


class ExactIndex(lookup_class(IVF_FLAT)):  # type: ignore[misc]
    """Milvus Lite's IVF_FLAT index, built and read with `_LeanFaiss`: it proposes rows, and their vectors are compared.

    Attributes:
        distances: cosine distances of some rows to a vector.
    """

    distances: Distances

    @property
    def step(self) -> float:
        """Between the numbers of its vectors."""
        return float(self._index.sq.rangestat_arg)

    def search(self, queries: Any, top_k: int, valid_mask: Any = None, params: Any = None) -> tuple[Any, Any]:
        """Numbers and cosine distances of the nearest rows, each of shape (queries, top_k), filled up with -1 and inf."""
        vectors = np.atleast_2d(np.asarray(queries, np.float32))
        numbers = np.full((len(vectors), top_k), -1, np.int64)
        distances = np.full((len(vectors), top_k), np.inf, np.float32)
        for place, vector in enumerate(vectors if top_k > 0 else []):
            found = nearest([(self, valid_mask)], vector, top_k, params)
            distances[place, : len(found)] = [distance for distance, _, _ in found]
            numbers[place, : len(found)] = [row for _, _, row in found]
        return numbers, distances

    def proposed(self, query: Rounded, number: int, mask: Any, params: Any) -> tuple[Any, Any]:
        """Numbers of so many rows as are nearest in 8 bits, and their cosine distances; -inf for each if there are no more.

        Milvus Lite's own search asks the same of FAISS, and then looks at each row in Python, which takes a quarter of the time.
        """
        if (self._index.ntotal if mask is None else np.count_nonzero(mask)) <= number:
            allowed = np.arange(self._index.ntotal) if mask is None else np.flatnonzero(mask)
            return allowed, np.full(len(allowed), -np.inf)
        selector = None if mask is None else wrappers.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        probes = (params or SEARCH_PARAMS["params"])["nprobe"]
        options = wrappers.SearchParametersIVF(nprobe=probes, sel=selector)
        similarities, rows = self._index.search(query.steps, number, params=options)
        found = rows[0] >= 0
        return rows[0][found], 1.0 - self.step * query.step * similarities[0][found].astype(np.float64)


def nearest(
    indexes: Sequence[tuple[ExactIndex, Any]], query: Vectors, limit: int, params: Any
) -> list[tuple[float, int, int]]:
    """(cosine distance, place of the index, row) of the nearest rows of several indexes, best first.

    Vectors are compared of the rows that are nearest in 8 bits over all indexes, and of more if one that was not compared may
    be nearer than the last, given the `ERROR` of 8 bits.

    Args:
        indexes: each with a mask of the rows that may be found, None for all.
        query: shape (dimension,).
        limit: rows to find, at least 1.
        params: of Milvus Lite's searches.
    """
    number, rounded = int(PROPOSED * limit) + AT_LEAST, Rounded.of(query)
    error = ERROR * (max(index.step for index, _ in indexes) + rounded.step)
    while True:
        found = [index.proposed(rounded, number, mask, params) for index, mask in indexes]
        farthest = _smallest(np.concatenate([distances for _, distances in found]), number)
        near = [np.sort(rows[distances <= farthest]) for rows, distances in found]
        exact = np.concatenate([index.distances(query, own) for (index, _), own in zip(indexes, near, strict=True)])
        places, rows = np.repeat(np.arange(len(near)), [len(own) for own in near]), np.concatenate(near)
        best = np.lexsort((rows, places, exact))[:limit]
        if farthest == math.inf or exact[best[-1]] + error <= farthest:
            return list(zip(exact[best].tolist(), places[best].tolist(), rows[best].tolist(), strict=True))
        number *= 4


def _step(units: Vectors) -> float:
    """The least step by which the numbers of vectors are at most `LARGEST`."""
    return float(np.abs(units).max(initial=0.0)) / LARGEST or 1.0


def _smallest(numbers: Any, place: int) -> float:
    """The number at a place, from 1, in ascending order of those above -inf; inf if there are not so many."""
    finite = numbers[np.isfinite(numbers)]
    return float(np.partition(finite, place - 1)[place - 1]) if len(finite) >= place else math.inf


@cache
def index_class() -> Any:
    lean = _LeanFaiss()
    methods: dict[str, Any] = {
        name: classmethod(rebound(getattr(ExactIndex, name), faiss=lean)) for name in ("build", "load")
    }
    return type("LeanIndex", (ExactIndex,), methods)


def units(vectors: Vectors) -> Vectors:
    """Vectors of length 1 and of the same directions, as an index is built from them; null vectors stay what they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1.0, lengths)).astype(np.float32, copy=False)
