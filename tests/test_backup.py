"""Backup and restore: one archive for both backends; a damaged one changes nothing."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.archive import Archive
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.settings import Settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import batch, everything, make
from tests.support.examples import examples
from tests.support.libraries import settings_in

SPELLS = batch("a", 0, 40)
WOLF = make(
    "wolf", "A wolf with a “quote”, a \u2028 and a tail.", type="creatures", kind="creature", challenge_rating=0.25
)


@pytest.fixture(params=["milvus", "sqlite"])
def library(request: pytest.FixtureRequest, tmp_path: Path, embeddings: EmbeddingServer) -> Settings:
    """An empty library of each backend."""
    return settings_in(tmp_path / "library", request.param, embeddings)


async def fill(library: Settings, *entities: Entity) -> None:
    async with Library.from_settings(library) as opened:
        for entity_type in dict.fromkeys(e.type for e in entities):
            await opened.cache.store_entities([e for e in entities if e.type == entity_type], entity_type)


async def held(library: Settings) -> list[Entity]:
    async with Library.from_settings(library) as opened:
        return [e for t in ("spells", "creatures") for e in await everything(opened.cache, t)]


def in_order(*entities: Entity) -> list[Entity]:
    return sorted(entities, key=lambda e: (e.type != "spells", e.identity))


@pytest.mark.alike(2)
@pytest.mark.parametrize("other", ["milvus", "sqlite"])
async def test_what_one_backend_wrote_any_backend_restores_without_computing(
    library: Settings, other: str, tmp_path: Path, embeddings: EmbeddingServer
) -> None:
    await fill(library, *SPELLS, WOLF)
    async with Library.from_settings(library) as opened:
        ranked = await opened.cache.rank_semantic("spells", "text a 7", 10)
    written = await backup(library, tmp_path / "shelf.zip")
    assert (written.counts["spells"], written.counts["creatures"]) == (40, 1)
    assert written.vectors > 41
    target = settings_in(tmp_path / "other", other, embeddings)
    report = await restore(target, tmp_path / "shelf.zip")
    assert (report.stored, report.embedded, report.removed, report.before) == (41, 0, 0, None)
    assert await held(target) == in_order(*SPELLS, WOLF)
    async with Library.from_settings(target) as opened:
        again = await opened.cache.rank_semantic("spells", "text a 7", 10)
    assert [r.identity for r in again] == [r.identity for r in ranked]


async def test_a_restore_brings_back_what_was_and_keeps_what_it_replaces(library: Settings, tmp_path: Path) -> None:
    await fill(library, *SPELLS, WOLF)
    await backup(library, tmp_path / "shelf.zip")
    changed = make("a3", "Something else.")
    await fill(library, changed, make("new", "Typed since."))
    async with Library.from_settings(library) as opened:
        await opened.cache.delete_entities("spells", [("own", "a4")])
    now = await held(library)
    report = await restore(library, tmp_path / "shelf.zip")
    assert (report.stored, report.unchanged, report.removed) == (2, 39, 1)
    assert await held(library) == in_order(*SPELLS, WOLF)
    assert report.before is not None
    back = await restore(library, Path(report.before))
    assert (back.stored, back.removed) == (2, 1)
    assert back.before not in (None, report.before)
    assert await held(library) == now


@pytest.mark.slow
async def test_a_backup_is_one_moment_of_a_library_that_others_use(library: Settings, tmp_path: Path) -> None:
    """Each write stores a pair; an archive never holds half of one."""
    await fill(library, *SPELLS)
    async with Library.from_settings(library) as opened:

        async def write() -> None:
            for i in range(30):
                pair = [make(f"p{i}{side}", "Text.", data={"n": i}) for side in "lr"]
                await opened.cache.store_entities(pair, "spells")

        async def read() -> None:
            while not writing.done():
                assert len(await opened.cache.semantic_search("spells", "text", 5)) == 5

        async def archived(path: Path) -> set[str]:
            await backup(library, path)
            with Archive(path) as archive:
                return {slug for _, slug in archive.hashes["spells"]}

        writing = asyncio.create_task(write())
        reading = asyncio.create_task(read())
        archives = [await archived(tmp_path / f"{i}.zip") for i in range(4)]
        await asyncio.gather(writing, reading)
        archives.append(await archived(tmp_path / "last.zip"))
    assert len(archives[-1]) == len(SPELLS) + 60
    for slugs in archives:
        assert {s[:-1] + "r" for s in slugs if s.endswith("l")} == {s for s in slugs if s.endswith("r")}


# --- damaged archives --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, embeddings: EmbeddingServer) -> bytes:
    folder = tmp_path_factory.mktemp("archive")

    async def write() -> None:
        chosen = settings_in(folder, "sqlite", embeddings)
        await fill(chosen, *SPELLS, WOLF)
        await backup(chosen, folder / "shelf.zip")

    asyncio.run(write())
    return (folder / "shelf.zip").read_bytes()


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@examples(150, [HealthCheck.function_scoped_fixture])
def test_no_flipped_bit_goes_unnoticed(archive: bytes, tmp_path: Path, place: float, bit: int) -> None:
    spoilt = bytearray(archive)
    spoilt[int(place * len(spoilt))] ^= 1 << bit
    (tmp_path / "shelf.zip").write_bytes(spoilt)
    with pytest.raises(ImportFileError, match="damaged"):
        Archive(tmp_path / "shelf.zip")


async def test_a_damaged_archive_is_refused_and_nothing_changes(
    library: Settings, archive: bytes, tmp_path: Path
) -> None:
    await fill(library, WOLF)
    middle = bytearray(archive)
    middle[len(middle) // 2] ^= 1
    path = tmp_path / "shelf.zip"
    for content in (
        b"",
        b"short",
        archive[:-1],
        archive[: len(archive) // 2],
        archive + b"x",
        bytes(middle),
        b"PK" * 5000,
    ):
        path.write_bytes(content)
        with pytest.raises(ImportFileError, match="damaged"):
            await restore(library, path)
        assert path.read_bytes() == content
    with pytest.raises(ImportFileError, match="does not exist"):
        await restore(library, tmp_path / "missing.zip")
    assert await held(library) == [WOLF]


def test_an_archive_of_another_format_is_named(archive: bytes, tmp_path: Path) -> None:
    from lorekeeper.maintenance.archive import SEAL_BYTES, seal

    (tmp_path / "a.zip").write_bytes(archive)
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(tmp_path / "b.zip", "w") as new:
        new.comment = b"0" * SEAL_BYTES
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                content = json.dumps(json.loads(content) | {"format": 99}).encode()
            new.writestr(name, content)
    seal(tmp_path / "b.zip")
    with pytest.raises(ImportFileError, match="format 99"):
        Archive(tmp_path / "b.zip")


# --- the commands ------------------------------------------------------------------------------------------------------


async def test_an_archive_that_changes_while_it_is_read_is_refused(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    chosen = settings_in(tmp_path, "sqlite", embeddings)
    async with Library.from_settings(chosen) as library:
        await library.cache.store_entities([make("a", "Text.")], "spells")
    await backup(chosen, tmp_path / "a.zip")
    with Archive(tmp_path / "a.zip") as archive:
        identity = next(iter(archive.hashes["spells"]))
        assert [len(each) for each in archive.entities("spells", [identity])] == [1]
        archive.hashes["spells"][identity] = "another"
        with pytest.raises(ImportFileError, match="changed while"):
            list(archive.entities("spells", [identity]))
