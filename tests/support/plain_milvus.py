"""A library as Milvus Lite alone sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from milvus_lite import MilvusLite

Found = dict[str, float]
"""Scores by slug, best first."""


def nearest(path: Path, vector: Any, limit: int, entity_type: str = "spells", expression: str = "") -> Found:
    """The best passage of each of the nearest entities, as anybody's program searches them."""
    with MilvusLite(str(path)) as library:
        collection = library.get_collection(entity_type)
        collection.load()
        (hits,) = collection.search(
            [vector],
            top_k=10 * limit,
            metric_type="COSINE",
            expr=expression or None,
            output_fields=["slug"],
            search_params={"nprobe": 128},
        )
    scores: Found = {}
    for hit in hits:
        scores.setdefault(hit["entity"]["slug"], hit["distance"])
    return dict(list(scores.items())[:limit])


def has_index(path: Path, entity_type: str = "spells") -> bool:
    """Whether the collection of a type has its index."""
    with MilvusLite(str(path)) as library:
        return bool(library.get_collection(entity_type).has_index())


def index_files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.idx"))
