"""Vectors that come along with entries, so that storing them embeds nothing.

A program gives one for a whole entry, which is one passage then (`GivenVectors.give`). In our own JSON shape they are

    "vectors": {"model": "FINGERPRINT", "passages": ["BASE64", ...]}

One for each passage of the entry, in order, as little-endian 32-bit floats of length 1. They come from outside: whatever is
not right about them is said, and the entry is embedded here. Whether they are those of its texts cannot be seen from them, so they
count for this very entry only: another one with the same text, of another book, never gets them, and they are not cached.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence

import numpy as np

from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.protocol import Vectors, is_unit
from lorekeeper.entities import Entity
from lorekeeper.errors import EntityError
from lorekeeper.printable import shown
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

NUMBER = np.dtype("<f4")


def written(model: str, vectors: Vectors) -> dict[str, object]:
    """Vectors of shape (number of passages, dimension), as an entry has them."""
    return {"model": model, "passages": [base64.b64encode(row.astype(NUMBER).tobytes()).decode() for row in vectors]}


def embedded_texts(entity: Entity) -> list[str]:
    """The texts of an entry whose vectors these are, in order."""
    return [passage.embedded for passage in passages(entity, hint=hint_text(entity))]


class GivenVectors:
    """The vectors that came along with entries, until these are stored.

    Args:
        embedding: whose vectors they are to be.
    """

    def __init__(self, embedding: EmbeddingService) -> None:
        self._embedding = embedding
        self._waiting: dict[tuple[str, str], list[Vectors]] = {}

    async def adopt(self, entity: Entity, given: object) -> str:
        """Take the vectors that came with an entry; why they are not used, "" if they are.

        Args:
            entity: the entry.
            given: the value of its key ``vectors``.

        Raises:
            EmbeddingError: the model cannot be loaded.
        """
        provider = await self._embedding.provider()
        if not isinstance(given, Mapping) or not isinstance(given.get("passages"), list):
            return "vectors must have the keys 'model' and 'passages'; they are not used"
        model, values, number = given.get("model"), given["passages"], len(embedded_texts(entity))
        if model != provider.fingerprint:
            named = shown(str(model), 80)
            return f"its vectors were made with the model {named}, not of {provider.fingerprint}; they are not used"
        if len(values) != number:
            return f"it has {len(values)} vectors for {number} passages; they are not used"
        vectors = [vector for value in values if (vector := _vector(value, provider.dimension)) is not None]
        if len(vectors) != number:
            return f"a vector is not {provider.dimension} numbers of length 1 as base64; they are not used"
        self._waiting[_key(entity)] = vectors
        return ""

    async def give(self, entities: Sequence[Entity], vectors: Sequence[object | None]) -> None:
        """Take one vector for each of some entries, of any length; those without one, None, are embedded.

        Raises:
            EntityError: a vector is none of the model's; none is taken.
            EmbeddingError: the model cannot be loaded.
        """
        dimension = (await self._embedding.provider()).dimension
        taken = {
            _key(entity): [_direction(given, dimension, f"entity {place} cannot be stored under {entity.type}")]
            for place, (entity, given) in enumerate(zip(entities, vectors, strict=True), 1)
            if given is not None
        }
        self._waiting |= taken

    def take(self, entity: Entity) -> Sequence[Vectors]:
        """The vectors of an entry's passages, in order, once; none if none came with it."""
        return self._waiting.pop(_key(entity), ()) if self._waiting else ()

    def clear(self) -> None:
        """Forget the vectors of entries that have not been stored."""
        self._waiting.clear()


def _direction(given: object, dimension: int, where: str) -> Vectors:
    """A vector of a program as one of length 1."""
    try:
        vector = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError):
        vector = np.empty(0, dtype=np.float32)
    if vector.shape != (dimension,):
        raise EntityError(f"{where}: its vector must be {dimension} numbers, as the model's are; nothing was stored")
    length = float(np.linalg.norm(vector))
    if not length or not math.isfinite(length):
        raise EntityError(f"{where}: its vector has no direction (zeros, NaN or infinity); nothing was stored")
    return vector / np.float32(length)


def _key(entity: Entity) -> tuple[str, str]:
    """What an entry is recognised by: another one of its uri, with other content, has no part in its vectors."""
    return entity.uri, entity.content_hash


def _vector(value: object, dimension: int) -> Vectors | None:
    """A vector of that dimension and of length 1, None if it is none."""
    if not isinstance(value, str) or len(value) > 8 * NUMBER.itemsize * dimension:
        return None
    try:
        content = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(content) != NUMBER.itemsize * dimension:
        return None
    vector = np.frombuffer(content, dtype=NUMBER).astype(np.float32)
    return vector if is_unit(vector) else None
