"""The protocol of embedding providers, and a deterministic provider for tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lorekeeper.errors import EmbeddingError
from lorekeeper.folding import fold

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Prefixes:
    """What a model expects before queries, and before passages; "" for nothing."""

    query: str = ""
    passage: str = ""

    def replaced(self, query: str | None, passage: str | None) -> Prefixes:
        """These prefixes, each replaced by the given one unless that is None."""
        return Prefixes(self.query if query is None else query, self.passage if passage is None else passage)

    def of_queries(self, texts: Sequence[str]) -> list[str]:
        """Queries as the model reads them."""
        return [self.query + text for text in texts]

    def of_passages(self, texts: Sequence[str]) -> list[str]:
        """Passages as the model reads them."""
        return [self.passage + text for text in texts]

    @property
    def mark(self) -> str:
        """The part of a fingerprint that tells how passages are embedded, "" if nothing stands before them."""
        return f" passage:{json.dumps(self.passage)}" if self.passage else ""


NO_PREFIXES = Prefixes()


class EmbeddingProvider(Protocol):
    """A loaded model. Blocking; the service calls it in a thread, one call at a time.

    Attributes:
        name: the provider's name such as ``LOREKEEPER_EMBEDDING_PROVIDER``.
        fingerprint: identifies the space of the passages' vectors; only vectors of equal fingerprints may be compared.
        dimension: length of its vectors.
    """

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape (len(texts), dimension), float32, each of length 1.

        Raises:
            EmbeddingError: the model failed.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same for queries, which some models read after another prefix."""
        ...


SLICE = 64
"""Texts whose vectors are cached together, and texts per call of a provider that does not say how many."""


def at_once(provider: EmbeddingProvider) -> int:
    """Texts per call of a provider, which a question waits for at most: between two calls it goes first."""
    return int(getattr(provider, "at_once", SLICE))


def prefixes_of(provider: EmbeddingProvider) -> Prefixes:
    """What a provider puts before texts itself; nothing if it does not say."""
    prefixes: Prefixes = getattr(provider, "prefixes", NO_PREFIXES)
    return prefixes


class StoredProvider:
    """A vector space without its model: all that is known of it are vectors that were computed before.

    With such a provider, an `EmbeddingService` embeds only texts whose vectors are in its cache.
    """

    name = "stored"

    def __init__(self, fingerprint: str, dimension: int) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingError(f"{len(texts)} texts have no vectors of {self.fingerprint}, and its model is not loaded")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


class HashingProvider:
    """Vectors from hashed words and letter trigrams: deterministic and instant. For tests and examples.

    Texts that share words get similar vectors (feature hashing, Weinberger et al. 2009), whatever they mean.
    """

    name = "hashing"

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.fingerprint = f"hashing-{dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature, weight in self._features(text):
                digest = _digest(feature)
                row[digest % self.dimension] += weight if digest >> 63 else -weight
        return normalized(vectors)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    @staticmethod
    def _features(text: str) -> list[tuple[str, float]]:
        words = fold(text).split()
        grams = [w[i : i + 3] for w in words for i in range(len(w) - 2)]
        return [(w, 1.0) for w in words] + [(g, 0.3) for g in grams]


@cache
def _digest(feature: str) -> int:
    """Eight bytes of a hash as a number."""
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")


def normalized(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1; a row of zeros becomes the first unit vector, so that cosine stays defined."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    empty = norms[:, 0] == 0
    if empty.any():
        vectors = vectors.copy()
        vectors[empty, 0] = 1.0
        norms[empty] = 1.0
    result: Vectors = (vectors / norms).astype(np.float32)
    return result


LENGTH_TOLERANCE = 1e-3
"""How far the length of a vector may be from 1; rounding to half precision changes it by a tenth of that."""


def are_units(vectors: Vectors) -> bool:
    """Whether all vectors, shape (vectors, dimension), have length 1; one with NaN or infinities has not."""
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        return bool((np.abs(lengths - 1) <= LENGTH_TOLERANCE).all())


def is_unit(vector: Vectors) -> bool:
    """The same of one vector, shape (dimension,)."""
    return are_units(vector[np.newaxis])


def check_finite(vectors: Vectors) -> bool:
    """Whether no value is NaN or infinite."""
    return bool(np.isfinite(vectors).all())
