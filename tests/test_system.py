"""Whom the files and folders of a library belong to, and how many descriptors a listener takes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.store import WriteLock
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.cli import serving
from lorekeeper.cli.command import Call
from lorekeeper.intake.sync_state import SyncState, save, sync_lock
from lorekeeper.library import Library
from lorekeeper.server import mcp as server
from lorekeeper.settings import Settings
from lorekeeper.system import in_thread
from tests.support.backends import Caches
from tests.support.commands import STARTER_RECORDS
from tests.support.entities import make
from tests.support.libraries import settings
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


@pytest.fixture
def open_umask() -> Iterator[None]:
    """As in a process whose files are open to all unless it says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """What others could read, write or enter below a folder, but for what the engine makes in a folder of its own."""
    paths = [path for path in sorted(folder.rglob("*")) if "milvus.db" not in path.relative_to(folder).parts[:-1]]
    modes = {path: path.stat().st_mode for path in paths}
    return [f"{path.relative_to(folder)} {stat.filemode(mode)}" for path, mode in modes.items() if mode & 0o077]


def library(folder: Path, backend: str) -> Settings:
    if backend == "sqlite":
        return settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db")
    return settings(milvus_db_path=folder / "milvus.db")


@pytest.mark.parametrize("backend", ["sqlite", "milvus"])
async def test_b20_a_library_is_private_whatever_the_umask(tmp_path, backend, open_umask):
    folder = tmp_path / "new" / "shelf"
    caches = Caches(library(folder, backend))
    cache = caches.open()
    await cache.store_entities([make("lamp", "It glows.")], "spells")
    while_open = open_to_others(tmp_path)
    await caches.close()
    assert while_open == open_to_others(tmp_path) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_b20_vectors_locks_and_sync_state_are_private_whatever_the_umask(tmp_path, open_umask):
    folder = tmp_path / "new"
    known = VectorCache(folder / "vectors.db")
    known.put("model", ["text"], np.ones((1, 4), dtype=np.float32))
    save(folder / "library.sync", SyncState("https://api.example"))
    with WriteLock(folder / "write.lock", "the library").hold(), sync_lock(folder / "library.sync"):
        names = {path.name for path in folder.iterdir()}
        assert open_to_others(tmp_path) == []
    known.close()
    assert {"vectors.db", "vectors.db-wal", "library.sync", "write.lock", "library.sync.lock"} <= names


@pytest.mark.parametrize("backend", ["sqlite", "milvus"])
async def test_b20_a_library_that_was_open_to_others_is_closed_when_it_is_opened(tmp_path, backend):
    for opening in range(2):
        caches = Caches(library(tmp_path, backend))
        cache = caches.open()
        await cache.store_entities([make(f"lamp-{opening}", "It glows.")], "spells")
        if opening:
            assert open_to_others(tmp_path) == []
        await caches.close()
        for path in [] if opening else set(tmp_path.rglob("*")) - {tmp_path / name for name in STARTER_RECORDS}:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert open_to_others(tmp_path) == []


@pytest.fixture
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


async def test_b15_the_collector_runs_while_a_server_waits_for_its_first_request(tmp_path, monkeypatch, collecting):
    seen = []

    async def serve(_library: Library, _audit_log: Path | None) -> None:
        seen.append(gc.isenabled())
        raise OSError("the first request is refused")

    monkeypatch.setattr(server, "serve_stdio", serve)
    arguments = argparse.Namespace(transport="stdio", tls_cert=None, tls_key=None)
    with pytest.raises(OSError, match="refused"):
        await serving.serve(Call(arguments, library(tmp_path, "sqlite"), {}))
    assert seen == [True]
    assert gc.isenabled()


async def test_a_lock_is_waited_for_off_the_event_loop_and_not_kept_by_a_cancelled_task(tmp_path):
    lock = WriteLock(tmp_path / "write.lock", "the library")
    asked, entered = list[str](), list[str]()

    @contextlib.contextmanager
    def hold() -> Iterator[None]:
        asked.append("asked")
        with lock.hold():
            yield

    async def enter() -> None:
        async with in_thread(hold()):
            entered.append("entered")

    with lock.hold():
        waiting, cancelled = asyncio.create_task(enter()), asyncio.create_task(enter())
        await eventually(lambda: len(asked) == 2)  # the loop goes on
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    await waiting
    async with in_thread(lock.hold(wait=5)):
        assert entered == ["entered"]
