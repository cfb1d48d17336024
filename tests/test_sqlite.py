"""The SQLite backend beside the other: the same rankings, and what stands in a library's place."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from lorekeeper.errors import CacheError
from tests.support.backends import Caches
from tests.support.entities import batch
from tests.support.libraries import settings

pytestmark = pytest.mark.store


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
