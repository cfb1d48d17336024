"""Vectors of the shipped phrases: how near a question is to the one phrase of an entry that is nearest to it.

The passage of a hint has all phrases of an entry at once, and its vector is a mean of what they say. A question is like one of
them. A vector for each phrase, among the passages, would double these; so the phrases have a file of their own, for the default
model, with the 96 directions in which phrases differ most, in 4 bits each: 48 bytes a phrase. On graded questions over all of
Open5e they order entries as whole vectors do (nDCG@10 0.825 and 0.825; with 64 directions in 8 bits 0.826, at a third more).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from lorekeeper.embedding.protocol import Vectors
from lorekeeper.text.names import base_name
from lorekeeper.text.phrases import DATA

logger = logging.getLogger(__name__)

PHRASE_VECTORS = DATA / "phrases.npz"
"""Made by `scripts/build_phrase_vectors.py`."""

DIRECTIONS = 96
"""Numbers that are kept of each vector; even, since a byte holds two."""

LARGEST = 7
"""Largest magnitude of a number in 4 bits."""

CLIPPED = 2.6
"""Standard deviations beyond which a number is cut: the least error of numbers that are normally distributed in 15 steps."""

Name = tuple[str, str]
"""Type and name of an entry."""


@dataclass(frozen=True)
class _Tables:
    """The content of a file.

    Attributes:
        model: fingerprint of the vector space.
        places: number of each entry's place in ``starts``, by `_key`.
        starts: where the phrases of each entry begin, and behind the last one where they end.
        codes: two numbers a byte, shape (phrases, `DIRECTIONS` / 2).
        basis: from a vector to the directions, times the step of each, shape (dimension, `DIRECTIONS`).
    """

    model: str
    places: Mapping[int, int]
    starts: NDArray[np.int64]
    codes: NDArray[np.uint8]
    basis: Vectors


class PhraseVectors:
    """A file of `save_phrase_vectors`, read at first use. Blocking; safe to use from several threads.

    Args:
        path: the file; without it no entry has a phrase.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tables: _Tables | None = None
        self._sought = False

    @property
    def ready(self) -> bool:
        """Whether the file has been read, so that nothing blocks."""
        return self._sought

    def similarities(self, model: str, vector: Vectors, names: Collection[Name]) -> dict[Name, float]:
        """Cosine similarity of a vector with the nearest phrase of each entry, about; entries without phrases are left out.

        Args:
            model: fingerprint of the vector space; for another one than the file's there are no phrases.
            vector: of length 1.
            names: of the entries.
        """
        tables = self._read() if names else None
        if tables is None or tables.model != model:
            return {}
        keys = {name: tables.places.get(_key(*name)) for name in names}
        places = {name: place for name, place in keys.items() if place is not None}
        if not places:
            return {}
        chosen = np.fromiter(places.values(), np.int64, len(places))
        counts = tables.starts[chosen + 1] - tables.starts[chosen]
        firsts = np.cumsum(counts) - counts
        rows = np.arange(counts.sum()) + np.repeat(tables.starts[chosen] - firsts, counts)
        scores = _numbers(tables.codes[rows]) @ (vector @ tables.basis)
        return dict(zip(places, np.maximum.reduceat(scores, firsts).tolist(), strict=True))

    def _read(self) -> _Tables | None:
        """The tables of the file; None if it cannot be used, which is logged once."""
        if not self._sought:
            try:
                self._tables = _load(self._path)
            except (OSError, ValueError, KeyError, BadZipFile) as error:
                logger.warning("the vectors of phrases in %s cannot be used: %s", self._path, error)
            self._sought = True
        return self._tables


@cache
def shipped() -> PhraseVectors:
    """The vectors that come with the package."""
    return PhraseVectors(PHRASE_VECTORS)


def save_phrase_vectors(path: Path, model: str, phrases: Mapping[Name, Sequence[str]], vectors: Vectors) -> None:
    """Write the vectors of phrases, by `phrases.shipped_phrases`, one after the other in that order, each of length 1."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    basis = directions[:, ::-1][:, :DIRECTIONS]
    numbers = vectors @ basis
    steps = numbers.std(axis=0) * CLIPPED / LARGEST
    codes = (np.clip(np.rint(numbers / steps), -LARGEST, LARGEST) + LARGEST).astype(np.uint8)
    np.savez(
        path,
        model=np.array(model),
        digest=np.array(digest_of(phrases)),
        keys=np.array([_key(*name) for name in phrases], np.uint64),
        counts=np.array([len(own) for own in phrases.values()], np.uint8),
        codes=codes[:, ::2] | codes[:, 1::2] << 4,
        basis=(basis * steps).astype(np.float32),
    )


def digest_of(phrases: Mapping[Name, Sequence[str]]) -> str:
    """Changes whenever the phrases do: that of the file tells when it is due to be made again."""
    return hashlib.blake2b(repr(dict(phrases)).encode(), digest_size=16).hexdigest()


def digest_in(path: Path) -> str:
    """The `digest_of` the phrases that a file was made from."""
    with np.load(path) as content:
        return str(content["digest"])


def _load(path: Path) -> _Tables:
    with np.load(path) as content:
        arrays: dict[str, Any] = dict(content)
    starts = np.concatenate([[0], np.cumsum(arrays["counts"], dtype=np.int64)])
    if starts[-1] != len(arrays["codes"]):
        raise ValueError(f"it has {len(arrays['codes'])} vectors for {starts[-1]} phrases")
    places = {key: place for place, key in enumerate(arrays["keys"].tolist())}
    return _Tables(str(arrays["model"]), places, starts, arrays["codes"], arrays["basis"])


def _numbers(codes: NDArray[np.uint8]) -> Vectors:
    """The numbers that bytes hold, shape (phrases, `DIRECTIONS`)."""
    numbers = np.empty((len(codes), 2 * codes.shape[1]), np.float32)
    numbers[:, ::2], numbers[:, 1::2] = codes & 15, codes >> 4
    numbers -= LARGEST
    return numbers


@lru_cache(maxsize=2**15)
def _key(entity_type: str, name: str) -> int:
    """Eight bytes of a hash of type and base name, as `phrases.hint_of` looks it up."""
    text = f"{entity_type}/{base_name(name)}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
