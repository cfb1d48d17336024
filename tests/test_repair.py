"""Damage to every file of a library: it is noticed, named, kept to its own type, and undone."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lorekeeper.cache.milvus import embedded
from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.cache.milvus.rows import packed_record, unpacked_record
from lorekeeper.composition import open_store
from lorekeeper.errors import CacheError
from lorekeeper.library import Library
from lorekeeper.maintenance.doctor import examine
from lorekeeper.maintenance.repair import repair
from lorekeeper.search.query import Query
from lorekeeper.settings import Settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import batch, everything, make
from tests.support.libraries import settings_in

SPELLS = [*batch("a", 0, 150), *batch("b", 0, 20)]
WOLVES = [make(f"wolf{i}", f"Wolf number {i}.", type="creatures", kind="creature") for i in range(20)]


@pytest.fixture(scope="module", params=["milvus", "sqlite"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: Any, embeddings: EmbeddingServer) -> Settings:
    """A library of each backend with spells in two writes, and creatures; nobody changes it."""
    chosen = settings_in(tmp_path_factory.mktemp(request.param), request.param, embeddings)

    async def fill() -> None:
        async with Library.from_settings(chosen) as library:
            for part, entity_type in ((SPELLS[:150], "spells"), (SPELLS[150:], "spells"), (WOLVES, "creatures")):
                await library.cache.store_entities(part, entity_type)

    asyncio.run(fill())
    return chosen


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process flushes these libraries: what they lack will not come."""
    monkeypatch.setattr(embedded, "LOOK_AGAIN_SECONDS", (0.0, 0.0))


@pytest.fixture
def library(filled: Settings, tmp_path: Path, embeddings: EmbeddingServer) -> Settings:
    """A copy of it."""
    shutil.copytree(filled.library_path.parent, tmp_path / "library")
    return settings_in(tmp_path / "library", filled.cache_backend, embeddings)


def delete(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content, chance = bytearray(path.read_bytes()), random.Random(5)
    for _ in range(5):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


async def state(library: Settings) -> dict[str, Any]:
    """What each type answers: its number of entries where all sides agree, else the error."""
    answers: dict[str, Any] = {}
    async with Library.from_settings(library) as opened:
        for entity_type, text in (("spells", "text"), ("creatures", "wolf")):
            try:
                stored = {e.identity: e for e in await everything(opened.cache, entity_type)}
                near = await opened.cache.rank_semantic(entity_type, text, 1000)
                words = await opened.cache.rank_keyword(entity_type, text, 1000)
                listed = await opened.cache.get_entities(entity_type)
                assert len({r.identity for r in near}) == len(near) == len(stored) == len(words) == len(listed)
                expected = {e.identity: e for e in (*SPELLS, *WOLVES)}
                assert all(expected[identity] == entity for identity, entity in stored.items())
                answers[entity_type] = len(stored)
            except CacheError as error:
                answers[entity_type] = str(error)
    return answers


async def integrity(library: Settings) -> str | None:
    """What doctor says is wrong with the entries."""
    checks = {check.name: check for check in (await examine(library, dict.fromkeys(Settings.model_fields, ""))).checks}
    return None if checks["integrity"].ok else checks["integrity"].message


SOUND = {"spells": 170, "creatures": 20}
FILES = ("manifest.json", "*_000001_*.parquet", "schema.json", "milvus.db.keywords")


@pytest.mark.alike(3)
@pytest.mark.parametrize("damage", [delete, cut, flip])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("filled", ["milvus"], indirect=True)
async def test_damage_to_any_file_of_a_milvus_library_loses_nothing(
    library: Settings, name: str, damage: Callable[[Path], None]
) -> None:
    folder = library.milvus_db_path.parent
    place = folder if name.endswith(".keywords") else library.milvus_db_path / "collections" / "spells"
    (file,) = place.glob(name) if place == folder else place.rglob(name)
    damage(file)
    found = await state(library)
    assert found["creatures"] == 20, "other types go on working"
    harmed = found["spells"] != 170
    if name != "manifest.json":  # Milvus Lite reads the one before if it can, which names the same rows
        assert harmed == (name != "milvus.db.keywords")
    if harmed:
        assert "lorekeeper repair" in found["spells"]
        said = await integrity(library)
        assert said is not None
        assert said.startswith("spells: ")
        async with Library.from_settings(library) as opened:
            page = await opened.searcher.search(Query(["creatures"], "wolf number 7"))
            assert page.results[0].entity == WOLVES[7]
            with pytest.raises(CacheError, match="lorekeeper repair"):
                await opened.cache.store_entities(SPELLS[:1], "spells")
    report = await repair(library)
    assert (report.aside is not None, report.embedded) == (harmed, 0)
    assert await state(library) == SOUND
    assert await integrity(library) is None
    if report.aside:
        assert Path(report.aside).is_dir()
        assert report.kept == {**dict.fromkeys(report.kept, 0), **SOUND}


@pytest.mark.parametrize("filled", ["milvus"], indirect=True)
async def test_a_library_that_another_process_has_open_is_not_repaired_under_it(library: Settings) -> None:
    (file,) = (library.milvus_db_path / "collections" / "spells").rglob("*_000001_*.parquet")
    file.unlink()
    server = open_store(library)
    assert isinstance(server, EmbeddedStore)
    server.backend.open()
    with pytest.raises(CacheError, match="another process"):
        await repair(library)
    server.close()
    assert (await repair(library)).aside


@pytest.mark.parametrize("filled", ["milvus"], indirect=True)
async def test_an_entry_that_was_changed_behind_our_back_is_noticed_and_put_right(library: Settings) -> None:
    store = open_store(library)
    assert isinstance(store, EmbeddedStore)
    (row,) = store.backend.query("spells", 'slug == "a7" and part == 0', ["*"])
    entity = unpacked_record("spells", row["record"])
    row["record"] = packed_record(replace(entity, data={"name": "a7", "desc": "Not what was stored."}))
    row["vector"] = np.asarray(row["vector"], dtype=np.float32)
    store.backend.upsert("spells", [row])
    store.close()
    assert "1 entries are not as they were stored" in (await integrity(library) or "")
    await repair(library)
    assert await state(library) == SOUND


async def test_a_sound_library_is_left_alone(library: Settings) -> None:
    before = {p.name for p in library.library_path.parent.iterdir()}
    report = await repair(library)
    assert (report.problems, report.aside) == ({}, None)
    assert await integrity(library) is None
    assert {p.name for p in library.library_path.parent.iterdir()} >= before
    assert not [p for p in library.library_path.parent.iterdir() if "damaged" in p.name or "repaired" in p.name]


# --- SQLite ----------------------------------------------------------------------------------------------------------


def spoil_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xa5" * 100)


def spoil_the_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as c:
        roots = {n for (n,) in c.execute("SELECT rootpage FROM sqlite_master")}
    with path.open("r+b") as file:
        for page in set(range(1, 60)) - roots:
            file.seek((page - 1) * 4096)
            file.write(b"\xa5" * 4096)


def spoil_vectors(path: Path) -> None:
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE spells_passages SET vector = zeroblob(516) WHERE rowid % 50 = 1")


def spoil_a_column(path: Path) -> None:
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE spells SET name_folded = 'another' WHERE id = 7")


def forget_vectors(path: Path) -> None:
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("DELETE FROM spells_passages WHERE entity = 7")


@pytest.mark.parametrize("damage", [spoil_header, spoil_the_schema, spoil_vectors, spoil_a_column, forget_vectors])
@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
async def test_damage_to_a_sqlite_library_that_leaves_its_entries_loses_nothing(
    library: Settings, damage: Callable[[Path], None]
) -> None:
    damage(library.sqlite_db_path)
    said = await integrity(library)
    assert said is not None
    assert "lorekeeper repair" in said
    report = await repair(library)
    assert (Path(str(report.aside)).is_file(), report.embedded) == (True, 0)
    assert await state(library) == SOUND
    assert await integrity(library) is None


@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
async def test_of_a_sqlite_library_with_spoilt_pages_all_is_kept_that_can_be_read(library: Settings) -> None:
    path = library.sqlite_db_path
    with closing(sqlite3.connect(path)) as c:
        pages = [n for (n,) in c.execute("SELECT pageno FROM dbstat WHERE name = 'spells' AND pagetype = 'leaf'")]
    content = bytearray(path.read_bytes())
    for page in pages[1:3]:
        content[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    found = await state(library)
    assert "lorekeeper repair" in found["spells"]
    assert found["creatures"] == 20
    report = await repair(library)
    assert (report.kept["creatures"], report.embedded) == (20, 0)
    assert 100 < report.kept["spells"] < 170
    assert await state(library) == {"spells": report.kept["spells"], "creatures": 20}
    assert await integrity(library) is None


def _uncounted(content: bytes | bytearray) -> bytes:
    """A SQLite file without its two counters of transactions, which opening it may raise while all else stays."""
    return bytes(content[:24] + content[28:92] + content[96:])


@pytest.mark.alike(5)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
async def test_whatever_bits_are_flipped_or_cut_off_a_sqlite_library_never_answers_wrongly(
    library: Settings, seed: int
) -> None:
    path, chance = library.sqlite_db_path, random.Random(seed)
    content = bytearray(path.read_bytes())
    if seed % 3 == 0:
        del content[int(len(content) * chance.uniform(0.5, 0.95)) :]
    for _ in range(20):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    report = await repair(library)
    assert sum(report.kept.values()) > (20 if seed % 3 == 0 else 100) or not report.aside
    if report.aside:
        assert _uncounted(Path(report.aside).read_bytes()[: len(content)]) == _uncounted(content)
    after = await state(library)
    assert all(isinstance(number, int) for number in after.values())
    if report.kept:
        assert after == {t: report.kept[t] for t in after}
    else:
        assert after == SOUND
    assert await integrity(library) is None
