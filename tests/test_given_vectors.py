"""Vectors that come along with entries: used if they are right, and said to be wrong if they are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lorekeeper.cache.supplied_vectors import embedded_texts, written
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.normalize import normalize
from tests.support.libraries import open_library

ENTRY = {"collection": "spells", "name": "Reed Song", "document": "fens", "description": "It charms herons. " * 60}

PROVIDER = HashingProvider(64)


def given(change: Callable[[dict[str, Any]], object] = lambda _: None) -> dict[str, Any]:
    """The vectors of the entry, changed."""
    vectors: dict[str, Any] = written(PROVIDER.fingerprint, PROVIDER.embed(embedded_texts(normalize(ENTRY)[0])))
    change(vectors)
    return vectors


async def imported(folder: Path, vectors: object) -> tuple[int, list[str], dict[str, Any]]:
    """How many texts an import embedded, its warnings, and what is stored of the entry."""
    file = folder / "fens.jsonl"
    file.write_text(json.dumps({**ENTRY, "vectors": vectors}) + "\n")
    embedding = EmbeddingService(lambda: PROVIDER, VectorCache(folder / "vectors.db"))
    async with open_library(folder, embedding, backend="sqlite") as library:
        report = await library.import_paths([file])
        assert (report.stored, report.failed) == (1, [])
        (entity,) = await library.cache.get_entities("spells")
        (hit,) = await library.cache.semantic_search("spells", "charms herons")
        assert hit.entity == entity
        return report.embedded, [warning.reason for warning in report.warnings], dict(entity.data)


async def test_right_vectors_are_used_and_nothing_is_embedded(tmp_path):
    assert len(given()["passages"]) > 1
    embedded, warnings, data = await imported(tmp_path, given())
    assert (embedded, warnings) == (0, [])
    assert "vectors" not in data


def longer(vectors: dict[str, Any]) -> None:
    vectors["passages"][0] = written("", np.ones((1, 64), dtype=np.float32))["passages"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (given(lambda v: v.update(model="other")), "not of"),
        (given(lambda v: v["passages"].pop()), "passages"),
        (given(lambda v: v["passages"].__setitem__(0, "!!")), "base64"),
        (given(lambda v: v["passages"].__setitem__(0, 3)), "base64"),
        (given(lambda v: v["passages"].__setitem__(0, "A" * 10_000)), "base64"),
        (given(longer), "length 1"),
        (given(lambda v: v.update(passages={})), "'passages'"),
        (["x"], "'model'"),
        ("x", "'model'"),
    ],
)
async def test_wrong_vectors_are_said_and_the_entry_is_embedded_here(tmp_path, vectors, said):
    embedded, warnings, data = await imported(tmp_path, vectors)
    assert embedded > 0
    assert len(warnings) == 1
    assert said in warnings[0]
    assert "vectors" not in data


OTHER = {
    "collection": "spells",
    "name": "Otter Form",
    "document": "otters",
    "description": "It turns you into an otter.",
}


async def test_vectors_that_come_along_count_for_their_own_entry_only(tmp_path):
    """Of other books with the same text, in the same file or later, and of what is embedded again, none gets them."""
    forged = written(PROVIDER.fingerprint, PROVIDER.embed(["an otter"] * len(embedded_texts(normalize(ENTRY)[0]))))
    twins = [{**ENTRY, "document": "marsh"}, {**ENTRY, "vectors": forged}, {**ENTRY, "document": "reeds"}]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("".join(json.dumps(each) + "\n" for each in (*twins, OTHER)))
    second.write_text(json.dumps({**ENTRY, "document": "delta"}) + "\n")
    cache = VectorCache(tmp_path / "vectors.db")
    async with open_library(tmp_path, EmbeddingService(lambda: PROVIDER, cache), backend="sqlite") as library:
        for file in (first, second):
            report = await library.import_paths([file])
            assert (report.failed, report.warnings) == ([], [])
        scores = {hit.entity.document: hit.score for hit in await library.cache.semantic_search("spells", "an otter")}
        assert scores["fens"] == pytest.approx(1, abs=0.01)
        assert scores["marsh"] == scores["reeds"] == scores["delta"] < 0.9
        await library.cache.reindex()
        hits = await library.cache.semantic_search("spells", "an otter")
        assert len({hit.score for hit in hits if hit.entity.name == ENTRY["name"]}) == 1
