"""``lorekeeper doctor --fix`` puts right what it can without losing anything, says what it did, and leaves the rest."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lorekeeper.composition import VECTORS, open_store
from lorekeeper.library import Library
from lorekeeper.maintenance.doctor import examine
from lorekeeper.maintenance.fixes import fix
from lorekeeper.settings import Settings
from tests.support.entities import batch, everything
from tests.support.libraries import settings_in

SPELLS = batch("a", 0, 30)


@pytest.fixture(params=["milvus", "sqlite"])
async def library(request, tmp_path, embeddings) -> Settings:
    chosen = settings_in(tmp_path, request.param, embeddings)
    async with Library.from_settings(chosen) as opened:
        await opened.cache.store_entities(SPELLS, "spells")
    return chosen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, so that nobody's settings are touched."""
    folder = tmp_path / "home"
    (folder / ".lorekeeper").mkdir(parents=True)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(folder))
    return folder


def file_of(library: Settings) -> Path:
    """The SQLite file that has the library's words."""
    return library.library_path if library.cache_backend == "sqlite" else Path(f"{library.library_path}.keywords")


async def integrity(library: Settings) -> bool:
    checks = (await examine(library, dict.fromkeys(Settings.model_fields, ""))).checks
    return next(check.ok for check in checks if check.name == "integrity")


async def found(library: Settings) -> int:
    """How many entries a search for a word of all of them finds; their content is as it was."""
    async with Library.from_settings(library) as opened:
        assert {e.identity: e for e in await everything(opened.cache)} == {e.identity: e for e in SPELLS}
        return len(await opened.cache.rank_keyword("spells", "text", 100))


async def test_a_sound_library_is_left_as_it_is(library):
    fixes = await fix(library)
    assert (fixes.fixed, fixes.left) == ([], [])
    assert await found(library) == len(SPELLS)


@pytest.mark.parametrize("library", ["sqlite"], indirect=True)
async def test_keywords_that_do_not_match_are_written_again(library):
    with closing(sqlite3.connect(file_of(library))) as c, c:
        c.execute("DELETE FROM spells_fts WHERE rowid <= 10")
    assert not await integrity(library)
    assert (await fix(library)).fixed == [
        "spells: the keywords did not match the texts; those of 30 entries were written again"
    ]
    assert await found(library) == len(SPELLS)
    assert await integrity(library)


@pytest.mark.parametrize("library", ["milvus"], indirect=True)
async def test_a_keyword_index_that_lost_texts_is_built_again_from_the_store(library):
    with closing(sqlite3.connect(file_of(library))) as c, c:
        (record,) = c.execute("SELECT record FROM spells WHERE slug = 'a1'").fetchone()
        c.execute("UPDATE spells SET record = ? WHERE slug = 'a0'", [record])
    assert not await integrity(library)
    fixes = await fix(library)
    assert fixes.fixed == ["spells: the keyword index did not match the entries; it was built again from 30"]
    assert await integrity(library)
    assert await found(library) == len(SPELLS)


@pytest.mark.parametrize("library", ["milvus"], indirect=True)
async def test_an_interrupted_write_is_finished(library):
    with closing(sqlite3.connect(file_of(library))) as c, c:
        c.executemany("INSERT INTO unfinished VALUES ('spells', 'own', ?)", [("a0",), ("a1",)])
        c.execute("DELETE FROM spells_fts WHERE rowid = (SELECT id FROM spells WHERE slug = 'a0')")
        c.execute("DELETE FROM spells WHERE slug = 'a0'")
    fixes = await fix(library)
    assert fixes.fixed == ["spells: an interrupted write of 2 entries was finished or undone"]
    assert await found(library) == len(SPELLS)
    assert (await fix(library)).fixed == []


@pytest.mark.parametrize("library", ["milvus"], indirect=True)
async def test_an_interrupted_reindex_is_undone(library):
    store = open_store(library)
    with store.write_lock():
        assert store.begin_rebuild("spells", "another model", 16)
    store.close()
    (sentence,) = (await fix(library)).fixed
    assert sentence.startswith("spells: an interrupted reindex")
    assert (await fix(library)).fixed == []
    assert await found(library) == len(SPELLS)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
async def test_files_that_others_can_read_are_made_private_and_others_are_left_alone(library, home):
    own = home / ".lorekeeper" / ".env"
    own.write_text("LOREKEEPER_HTTP_TOKEN=secret")
    own.chmod(0o644)
    stranger = library.library_path.with_name(f"{library.library_path.name}2")
    stranger.write_text("of somebody else")
    (library.library_path.parent / VECTORS).chmod(0o644)
    stranger.chmod(0o644)
    fixed = (await fix(library)).fixed
    assert [path.name in sentence for path, sentence in zip([Path(VECTORS), own], fixed, strict=True)] == [True, True]
    assert own.stat().st_mode & 0o777 == 0o600
    assert (library.library_path.parent / VECTORS).stat().st_mode & 0o077 == 0
    assert stranger.stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions are those of POSIX")
async def test_neither_links_nor_pipes_nor_files_of_the_users_choice_are_made_private(library, tmp_path):
    target = tmp_path / "elsewhere"
    target.write_text("LOREKEEPER_LOG_LEVEL=error")
    library.library_path.with_name(f"{library.library_path.name}.link").symlink_to(target)
    pipe = library.library_path.with_name(f"{library.library_path.name}.pipe")
    os.mkfifo(pipe)
    for path in (target, pipe):
        path.chmod(0o644)
    assert (await fix(library)).fixed == []
    assert (await fix(library.model_copy(update={"env_file": target}))).fixed == []
    assert [path.stat().st_mode & 0o777 for path in (target, pipe)] == [0o644, 0o644]


@pytest.mark.parametrize("library", ["sqlite"], indirect=True)
async def test_damage_that_only_a_repair_undoes_is_left_to_it(library):
    with closing(sqlite3.connect(file_of(library))) as c, c:
        c.execute("UPDATE spells SET record = x'00' WHERE slug = 'a0'")
        c.execute("DELETE FROM spells_fts WHERE rowid <= 10")
    before = file_of(library).read_bytes()
    assert (await fix(library)).fixed == []
    assert file_of(library).read_bytes() == before
    assert not await integrity(library)
