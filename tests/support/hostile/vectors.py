"""Vectors that are none, or of texts that are another's; and files of known vectors that hold such."""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lorekeeper.cache.vectors import pack_vector, vector_key
from lorekeeper.embedding import HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text
from tests.support.entities import make
from tests.support.hostile.input import Good, Input

Vector = NDArray[Any]

MODEL = "http all-MiniLM-L6-v2"
"""Fingerprint of the vectors that the libraries under attack have."""

DIMENSION = 128

VICTIM = make("victim", "The user imports this later, and then it must be found.", name="The Victim")
"""An entry that no input holds: the vectors of its text are what some of them try to replace."""


def good_vector(text: str) -> Vector:
    """What the embedding server answers for a text."""
    vector: Vector = HashingProvider(DIMENSION).embed([text])[0]
    return vector


def embedded(entity: Entity) -> str:
    """The first text of an entity that is embedded."""
    return passages(entity, hint=hint_text(entity))[0].embedded


def packed(text: str, vector: Vector) -> tuple[bytes, bytes]:
    """Key and bytes of a vector, with a checksum that fits."""
    key = vector_key(MODEL, text)
    return key, pack_vector(key, vector.astype(np.float32))


def bad_vectors() -> dict[str, Vector]:
    """Vectors that are none, by what is wrong."""
    right = good_vector("anything at all")
    infinite = right.copy()
    infinite[3] = math.inf
    return {
        "NaN": np.full(DIMENSION, math.nan),
        "infinite": infinite,
        "zeros": np.zeros(DIMENSION),
        "too long": right * 1e30,
        "length 2": right * 2,
        "3 numbers": np.array([1.0, 0.0, 0.0]),
        "no numbers": np.zeros(0),
        "10,000 numbers": np.full(10_000, 0.01),
    }


def _repaired(name: str, spoil: Callable[[sqlite3.Connection], object]) -> Input:
    """The file of known vectors beside the library, as an earlier version may have taken it from an archive."""

    def build(_: Good, folder: Path, __: random.Random) -> list[str]:
        with closing(sqlite3.connect(folder / "vectors.db", isolation_level=None)) as c:
            spoil(c)
        return ["repair", "--json"]

    return Input(f"known vectors: {name}", build)


def known_vectors() -> Iterator[Input]:
    """Known attacks by vectors that are there already."""

    def poison(vector: Vector) -> Callable[[sqlite3.Connection], object]:
        return lambda c: c.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", packed(embedded(VICTIM), vector))

    def poison_all(c: sqlite3.Connection) -> None:
        for (key,) in c.execute("SELECT key FROM vectors").fetchall():
            blob = pack_vector(key, np.full(DIMENSION, math.nan, dtype=np.float32))
            c.execute("UPDATE vectors SET vector = ? WHERE key = ?", (blob, key))

    for name, vector in bad_vectors().items():
        yield _repaired(name, poison(vector))
    yield _repaired("all NaN", poison_all)
    yield _repaired("text", lambda c: c.execute("UPDATE vectors SET vector = 'text'"))
