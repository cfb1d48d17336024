"""What a failing power, a cut file and a wrong clock may do to a library: nothing acknowledged is lost, and nothing is hidden."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cache.milvus import embedded
from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.errors import CacheError
from lorekeeper.library import Library
from lorekeeper.maintenance.repair import repair
from lorekeeper.settings import Settings
from tests.support.backends import Caches
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import batch, everything, versioned
from tests.support.libraries import settings_in

FOLDER = Path("/proc/self/fd")


@pytest.mark.skipif(not FOLDER.exists(), reason="needs the names of open files")
async def test_what_was_stored_is_on_the_disk(embedded: Caches, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, sync = dict[str, int](), os.fsync

    def recorded(number: int) -> None:
        synced[str((FOLDER / str(number)).readlink())] = os.fstat(number).st_size
        sync(number)

    monkeypatch.setattr(os, "fsync", recorded)
    cache = embedded.open()
    store = cache._store  # type: ignore[attr-defined]
    assert isinstance(store, EmbeddedStore)
    collection = embedded.settings.milvus_db_path / "collections" / "spells"
    kinds = set[str]()

    def unsynced() -> set[str]:
        files = {
            str(file): file.stat().st_size for file in collection.rglob("*.*") if file.suffix in (".arrow", ".parquet")
        }
        kinds.update(Path(file).suffix for file in files)
        return {file for file, size in files.items() if synced.get(file) != size}

    monkeypatch.setattr(store, "flush", lambda _: None)
    await cache.store_entities(batch("a", 0, 30), "spells")
    assert unsynced() == set()
    monkeypatch.undo()
    monkeypatch.setattr(os, "fsync", recorded)
    await cache.store_entities(batch("b", 0, 30), "spells")
    assert unsynced() == set()
    await cache.delete_entities("spells", [("own", "a1")])
    assert unsynced() == set()
    await cache.close()
    assert unsynced() == set()
    assert kinds == {".arrow", ".parquet"}


# --- files that were cut off --------------------------------------------------------------------------------------------

WRITTEN = {f"s{n}": versioned(f"s{n}", 1) for n in range(40)} | {f"s{n}": versioned(f"s{n}", 2) for n in range(40, 60)}


@pytest.fixture(scope="module", params=["closed", "killed"])
def left(request: pytest.FixtureRequest, tmp_path_factory: Any, embeddings: EmbeddingServer) -> Settings:
    """A library in Milvus that was closed, or whose program was killed after a write that replaced entries."""
    chosen = settings_in(tmp_path_factory.mktemp(request.param), "milvus", embeddings)

    async def fill() -> None:
        async with Library.from_settings(chosen) as library:
            await library.cache.store_entities([versioned(f"s{n}", 1) for n in range(60)], "spells")
        async with Library.from_settings(chosen) as library:
            if request.param == "killed":
                library.store.flush = lambda _: None  # type: ignore[method-assign, assignment]
            await library.cache.store_entities(list(WRITTEN.values())[40:], "spells")
            if request.param == "killed":
                shutil.copytree(chosen.library_path.parent, chosen.library_path.parent.with_name("as left"))
        if request.param == "killed":
            shutil.rmtree(chosen.library_path.parent)
            chosen.library_path.parent.with_name("as left").rename(chosen.library_path.parent)

    asyncio.run(fill())
    return chosen


def cuts(library: Path) -> Iterator[tuple[Path, int]]:
    """Files of a library, each with sizes to which it is cut; without the log of SQLite, which syncs it with each commit."""
    for file in sorted(library.parent.rglob("*")):
        part = file.relative_to(library.parent).parts
        size = file.stat().st_size
        if (
            file.is_file()
            and size
            and part[0].startswith(library.name)
            and not file.name.endswith((".lock", "LOCK", "-shm", "-wal"))
        ):
            yield from ((file, keep) for keep in sorted({0, size // 2, size - 1}))


async def answered(chosen: Settings) -> dict[str, Any] | str:
    async with Library.from_settings(chosen) as library:
        try:
            stored = {e.slug: e for e in await everything(library.cache)}
            near = await library.cache.rank_semantic("spells", "text", 1000)
            assert {r.identity[1] for r in near} == stored.keys()
            return stored
        except CacheError as error:
            return str(error)


@pytest.mark.slow
async def test_whatever_file_is_cut_off_nothing_is_lost_in_silence(
    left: Settings, tmp_path: Path, embeddings: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOOK_AGAIN_SECONDS", (0.0,))
    assert await answered(copied(left, tmp_path / "whole", embeddings)) == WRITTEN
    said: dict[str, object] = {}
    for number, (file, keep) in enumerate(cuts(left.library_path)):
        chosen = copied(left, tmp_path / str(number), embeddings)
        os.truncate(chosen.library_path.parent / file.relative_to(left.library_path.parent), keep)
        found = await answered(chosen)
        if isinstance(found, str):
            assert "lorekeeper repair" in found
        await repair(chosen)
        after = await answered(chosen)
        if (isinstance(found, dict) and found != WRITTEN) or after != WRITTEN:
            said[f"{file.relative_to(left.library_path.parent)} {keep}"] = (
                found if isinstance(found, str) else len(found)
            )
        shutil.rmtree(chosen.library_path.parent)
    assert said == {}


def copied(left: Settings, folder: Path, embeddings: EmbeddingServer) -> Settings:
    shutil.copytree(left.library_path.parent, folder)
    return settings_in(folder, "milvus", embeddings)


# --- clocks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_two_repairs_at_one_time_of_the_clock_keep_both_damaged_libraries(
    tmp_path: Path, backend: str, embeddings: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings_in(tmp_path, backend, embeddings)
    format_time: Callable[..., str] = time.strftime
    monkeypatch.setattr(time, "strftime", lambda text, *_: format_time(text, time.gmtime(0)))
    async with Library.from_settings(chosen) as library:
        await library.cache.store_entities(batch("a", 0, 30), "spells")
    kept = set[str | None]()
    for _ in range(3):
        await asyncio.to_thread(_spoil, chosen.library_path)
        kept.add((await repair(chosen)).aside)
    assert len(kept) == 3
    assert all(place and Path(place).exists() for place in kept)
    async with Library.from_settings(chosen) as library:
        assert len(await everything(library.cache)) == 30


def _spoil(library: Path) -> None:
    for file in library.rglob("*.parquet") if library.is_dir() else [library]:
        content = file.read_bytes()
        if library.is_dir():
            file.write_bytes(content[: len(content) // 2])
        else:
            file.write_bytes(content.replace(b"Text a 1. ", b"Text b 1. "))
