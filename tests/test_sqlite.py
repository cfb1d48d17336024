"""The SQLite backend beside the other: the same rankings, and what stands in a library's place."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.formats import not_again
from lorekeeper.cache.protocol import SCORE_DIGITS
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection, parse_filters
from lorekeeper.text.passages import passages
from tests.support.backends import Caches
from tests.support.entities import batch, make
from tests.support.libraries import settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


async def refusal(path: Path) -> str:
    """What using a library at a path is answered with."""
    caches = Caches(settings(cache_backend="sqlite", sqlite_db_path=path))
    with pytest.raises(CacheError) as read:
        await caches.open().get_entities("spells")
    with pytest.raises(CacheError):
        await caches.open().store_entities(batch("a", 0, 1), "spells")
    await caches.close()
    assert str(path) in str(read.value)
    return str(read.value)


# --- equal rank ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimension", "spread"), [(16, 1.0), (384, 1.0), (384, 0.01)])
def test_the_nearest_are_those_of_brute_force_under_every_filter(path: Path, dimension: int, spread: float) -> None:
    store, chance = SqliteStore(path, not_again), np.random.default_rng(3)
    entities = [make(f"s{i}", f"Some text. {i} " * (1 + i % 90), level=i % 7) for i in range(300)]
    cut = [(entity, passages(entity)) for entity in entities]
    owners = np.repeat(np.arange(300), [len(found) for _, found in cut])
    vectors = (np.ones(dimension) + spread * chance.standard_normal((len(owners), dimension))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store.write("spells", cut, vectors, "model")
    for level in (None, 3):
        query = vectors[7] + 0.1
        scores = np.round(vectors.astype(np.float64) @ query.astype(np.float64), SCORE_DIGITS)
        own = {f"s{i}": sorted(scores[owners == i], reverse=True) for i in range(300) if level in (None, i % 7)}
        found = store.rank_semantic(Selection("spells", parse_filters("spells", {"level": level})), query, 25, "model")
        assert [r.identity[1] for r in found] == sorted(own, key=lambda slug: (-own[slug][0], slug))[:25]
        assert [r.score for r in found] == [own[r.identity[1]][0] for r in found]
        last = found[-1].score
        assert [max(r.second or -1, last) for r in found] == [max(*own[r.identity[1]][1:2], -1, last) for r in found]
    store.close()


# --- places that hold no library -------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"notes " * 100, b"SQLite format 3\0rest", b"SQLite format 3\0" + b"x" * 8000])
async def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "lorekeeper repair" in await refusal(path)
    assert path.read_bytes() == content


async def test_another_programs_database_is_named_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()
    before = path.read_bytes()
    assert "another program's database" in await refusal(path)
    assert path.read_bytes() == before


async def test_the_cache_of_an_earlier_lorekeeper_is_sent_to_migrate(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE spells (slug TEXT PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL)")
    connection.close()
    before = path.read_bytes()
    assert f"lorekeeper migrate {path}" in await refusal(path)
    assert path.read_bytes() == before


async def test_another_format_is_named(path: Path) -> None:
    caches = Caches(settings(cache_backend="sqlite", sqlite_db_path=path))
    await caches.open().store_entities(batch("a", 0, 1), "spells")
    await caches.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "layout 99" in await refusal(path)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root can write read-only folders")
async def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "permission" in await refusal(tmp_path / "closed" / "cache.db")


async def test_a_locked_file_is_named_and_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lorekeeper.cache.sqlite.file.BUSY_SECONDS", 0.2)
    caches = Caches(settings(cache_backend="sqlite", sqlite_db_path=path))
    cache = caches.open()
    await cache.store_entities(batch("a", 0, 3), "spells")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CacheError, match="locked"):
        await caches.open().store_entities(batch("b", 0, 1), "spells")
    assert len(await caches.open().get_entities("spells")) == 3
    other.execute("ROLLBACK")
    other.close()
    assert await cache.store_entities(batch("b", 0, 1), "spells") == 1
    await caches.close()
