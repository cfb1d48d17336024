"""What a library holds after a hostile input, and whether all of it still works."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.settings import load_settings
from tests.support.entities import everything
from tests.support.hostile.vectors import DIMENSION, MODEL, VICTIM, embedded

SURE = 0.99
"""Cosine similarity of a text and itself, at least."""


class Provider(HashingProvider):
    """What the embedding server of the tests computes, without the server."""

    def __init__(self) -> None:
        super().__init__(DIMENSION)
        self.fingerprint = MODEL


async def check(base: list[str] | None = None) -> dict[str, Any]:
    """Look at the library of the environment's settings.

    Args:
        base: texts whose vectors were known before, where there are any.

    Returns:
        ``hashes`` by "type document slug", ``texts`` of all entries, ``known``: how many of the base
        texts still have their vectors, and ``problems`` in words.
    """
    settings, _ = load_settings(env_file=Path("no.env"))
    provider, problems = Provider(), list[str]()
    vectors = VectorCache(settings.library_path.parent / "vectors.db")
    service = EmbeddingService(Provider, vectors)
    hashes: dict[str, str] = {}
    texts: list[str] = []
    async with open_cache(settings, service) as cache:
        for entity_type in COLLECTIONS:
            held = await everything(cache, entity_type)
            hashes |= {_key(e): e.content_hash for e in held}
            texts += [embedded(e) for e in held]
            listed = await cache.content_hashes(entity_type)
            if listed != {e.identity: e.content_hash for e in held} or len(listed) != len(held):
                problems.append(f"the list of {entity_type} is not what is stored")
            problems += await _searches(cache, held[:3])
        await cache.store_entities([VICTIM], "spells")
        problems += await _searches(cache, [VICTIM])
        await cache.delete_entities("spells", [VICTIM.identity])
    known = vectors.get(MODEL, base or [])
    for text, vector in known.items():
        right = provider.embed([text])[0]
        if vector.shape != right.shape or not np.allclose(vector, right, atol=1e-3):
            problems.append(f"another vector is known for {text[:60]!a}")
    vectors.close()
    service.close()
    return {"hashes": hashes, "texts": texts, "known": len(known), "problems": problems}


async def _searches(cache: SearchCache, entities: list[Entity]) -> list[str]:
    """What is wrong with the semantic search for entries by their own texts."""
    problems = []
    for entity in entities:
        hits = await cache.semantic_search(entity.type, embedded(entity), 5)
        scores = {h.entity.identity: h.score for h in hits}
        if not scores.get(entity.identity, 0.0) >= SURE:
            problems.append(f"{entity.uri[:80]} is not found by its own text: {list(scores.values())}")
        if not all(math.isfinite(s) for s in scores.values()):
            problems.append(f"scores of {entity.type} are {list(scores.values())}")
    return problems


def _key(entity: Entity) -> str:
    return f"{entity.type} {entity.document} {entity.slug}"
