"""Libraries of commit c387532 open, answer as they did, and need nothing embedded again; what is older is refused.

``data/library-c387532.tar.gz`` was written by commit c387532, for both backends, from entries of the starter and two notes.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.cache.formats import UPGRADE_ONCE
from lorekeeper.composition import open_store
from lorekeeper.errors import CacheError, ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.archive import seal
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.maintenance.doctor import examine
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.maintenance.repair import repair
from lorekeeper.people.registry import People
from lorekeeper.search.query import Query
from lorekeeper.settings import Settings
from tests.support.entities import make
from tests.support.libraries import settings

DATA = Path(__file__).parent / "data"

RANKINGS: dict[str, dict[str, list[tuple[str, float]]]] = json.loads((DATA / "library-c387532.json").read_text("utf-8"))
"""Questions, and by type the entries that commit c387532 ranked by meaning, with their similarities."""

ENTRIES = 24


@pytest.fixture(params=["milvus", "sqlite"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of a copy of the library, by backend."""
    with tarfile.open(DATA / "library-c387532.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / request.param
    for registry in folder.glob("*.vaults"):
        registry.write_text(registry.read_text("utf-8").replace("/campaign", str(tmp_path)), "utf-8")
    return settings(
        cache_backend=request.param,
        milvus_db_path=folder / "milvus.db",
        sqlite_db_path=folder / "cache.db",
        offline=1,
    )


# --- of that commit --------------------------------------------------------------------------------------------------


async def test_a_library_of_the_last_release_answers_as_it_did(earlier: Settings) -> None:
    async with Library.from_settings(earlier) as library:
        before = library.embedding.computed
        assert sum((await library.statistics()).counts.values()) == ENTRIES
        for question, by_type in RANKINGS.items():
            for entity_type, ranking in by_type.items():
                found = await library.cache.rank_semantic(entity_type, question, 10)
                assert ["/".join(ranked.identity) for ranked in found] == [identity for identity, _ in ranking]
                assert [ranked.score for ranked in found] == pytest.approx([score for _, score in ranking], abs=1e-4)
        assert library.embedding.computed - before <= len(RANKINGS), "only the questions may be embedded"


async def test_a_library_of_the_last_release_takes_in_new_entries(earlier: Settings, tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    file.write_text('{"collection": "spells", "name": "Frost Step", "description": "You step out of ice."}', "utf-8")
    async with Library.from_settings(earlier) as library:
        report = await library.import_paths([file])
        assert (report.stored, report.failed) == (1, [])
        assert sum((await library.statistics()).counts.values()) == ENTRIES + 1


async def test_its_people_vaults_and_views_are_those_that_it_had(earlier: Settings) -> None:
    path = earlier.library_path
    assert [person.name for person in People(path.with_name(f"{path.name}.people")).everyone()] == ["Ash"]
    async with Library.from_settings(earlier) as library:
        assert [vault.key for vault in library.vaults.registry.vaults()] == ["vault"]
        view = library.view(Viewer.player())
        await view.refresh()
        assert [note.name for note in await view.cache.get_entities("notes")] == ["Gull Market"]
        assert sorted(note.name for note in await library.cache.get_entities("notes")) == ["Gull Market", "Mira"]
        assert (await view.search(Query(("notes",), "drowned king", mode="keyword"))).total == 0
        assert library.embedding.computed == 0


# --- from before it --------------------------------------------------------------------------------------------------


def entities_file(chosen: Settings) -> Path:
    """The SQLite file that has the entries of a library."""
    path = chosen.library_path
    return path if chosen.cache_backend == "sqlite" else path.with_name(f"{path.name}.keywords")


def age(chosen: Settings) -> None:
    """Give a library the format before that of the commit."""
    for schema in chosen.library_path.glob("collections/*/schema.json"):
        text = schema.read_text("utf-8")
        assert '"format\\": 3' in text
        schema.write_text(text.replace('"format\\": 3', '"format\\": 1'), "utf-8")
    with closing(sqlite3.connect(entities_file(chosen))) as c:
        layout = c.execute("PRAGMA user_version").fetchone()[0]
        c.execute(f"PRAGMA user_version = {layout - 1}")
        c.execute("PRAGMA journal_mode = DELETE")


async def test_a_library_from_before_is_refused_with_what_to_do_and_left_alone(earlier: Settings) -> None:
    age(earlier)
    before = entities_file(earlier).read_bytes()
    async with Library.from_settings(earlier) as library:
        for call in (
            library.cache.count_entities("spells"),
            library.cache.rank_keyword("spells", "fire"),
            library.cache.store_entities([make("x")], "spells"),
            library.cache.reindex(),
        ):
            with pytest.raises(CacheError) as refused:
                await call
            assert "no longer reads; nothing was changed" in str(refused.value)
            assert UPGRADE_ONCE in str(refused.value)
    assert any(
        "no longer reads" in check.message
        for check in (await examine(earlier, dict.fromkeys(Settings.model_fields, ""))).checks
        if not check.ok
    )
    with pytest.raises(CacheError, match="no longer reads"):
        await repair(earlier)
    assert entities_file(earlier).read_bytes() == before
    assert not list(earlier.library_path.parent.glob("*damaged*"))


@pytest.mark.parametrize("earlier", ["milvus"], indirect=True)
async def test_a_collection_from_before_is_refused_without_its_companion_too(earlier: Settings) -> None:
    age(earlier)
    entities_file(earlier).unlink()
    store = open_store(earlier)
    with pytest.raises(CacheError, match=r"layout 1.*no longer reads"):
        store.load("spells", [("old-shelf", "time-stop")])
    store.close()


async def test_a_file_from_before_is_not_migrated(earlier: Settings, tmp_path: Path) -> None:
    age(earlier)
    target = settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "new.db", offline=1)
    with pytest.raises(ImportFileError, match=r"no longer reads.*import your files again"):
        await migrate(target, entities_file(earlier))


async def test_an_archive_that_does_not_name_its_fields_is_refused(earlier: Settings, tmp_path: Path) -> None:
    await backup(earlier, tmp_path / "backup.zip")
    with ZipFile(tmp_path / "backup.zip") as whole, ZipFile(tmp_path / "old.zip", "w") as old:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                del manifest["fields"]
                content = json.dumps(manifest).encode()
            old.writestr(name, content)
        old.comment = whole.comment
    seal(tmp_path / "old.zip")
    target = settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "new.db", offline=1)
    shutil.copyfile(earlier.library_path.with_name("vectors.db"), tmp_path / "vectors.db")
    with pytest.raises(ImportFileError, match="no longer reads"):
        await restore(target, tmp_path / "old.zip")
    assert (await restore(target, tmp_path / "backup.zip")).stored == ENTRIES
