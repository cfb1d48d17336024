"""The first books are loaded whenever they never were, whatever came first, and stay deleted where they were deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from lorekeeper.intake.shipped_books import shipped_books
from lorekeeper.intake.starter_record import DECLINED, LOADED, NOT_NEEDED, TYPES
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.settings import Settings, load_settings
from lorekeeper.text.phrases import RULES_2024_DOCUMENT
from lorekeeper.views.view import ADDED, STARTED
from tests.support.commands import STARTER_RECORDS, environment, run_inside
from tests.support.entities import make
from tests.support.libraries import need_books
from tests.support.programs import forked, serve_with_books
from tests.support.samples import write_lines
from tests.support.vaults import write
from tests.support.waiting import eventually

SRD, EARLIER = "srd-2014", "lorekeeper-starter"

FIREBALL = Query(["spells"], filters={"name": "fireball"})
LORE = Query(["spells", "notes"], "a burst of fire")


def of(folder: Path) -> Settings:
    """The settings of a library in a folder, of which nothing is recorded."""
    chosen = {"CACHE_BACKEND": "sqlite", "SQLITE_DB_PATH": folder / "cache.db", "OFFLINE": 1}
    return load_settings({f"LOREKEEPER_{name}": str(value) for name, value in chosen.items()}, folder / "no.env")[0]


def plain(folder: Path) -> dict[str, str]:
    """The environment of such a library."""
    env = environment(folder, CACHE_BACKEND="sqlite")
    for name in STARTER_RECORDS:
        (folder / name).unlink(missing_ok=True)
    return env


def notes(folder: Path) -> Path:
    return write(folder / "vault", {"Mirra.md": "# Mirra\nShe keeps an inn at the ford.\n"})


async def number(folder: Path, document: str | None = SRD) -> int:
    async with Library.from_settings(of(folder)) as library:
        return await library.cache.count_entities("spells", document)


async def rules(folder: Path) -> int:
    async with Library.from_settings(of(folder)) as library:
        return await library.cache.count_entities("rules", RULES_2024_DOCUMENT)


@pytest.fixture
def spells(small_starter: list[Path]) -> int:
    """How many the SRD 5.1 has of the small books."""
    need_books()
    return sum((entity.type, entity.document) == ("spells", SRD) for entity in shipped_books())


def entries(file: Path) -> int:
    """How many a file has."""
    return len(file.read_text("utf-8").splitlines())


@pytest.mark.usefixtures("spells")
async def test_a_vault_first_and_then_a_question_about_the_rules(tmp_path):
    added = await asyncio.to_thread(run_inside, tmp_path, "vault", "add", str(notes(tmp_path)), env=plain(tmp_path))
    assert added.returncode == 0, added.stderr
    async with Library.from_settings(of(tmp_path)) as library:
        page = await library.search(FIREBALL)
        assert page.results[0].entity.name == "Fireball"
        assert await library.cache.count_entities("notes") == 1


async def test_an_import_first_and_then_a_question(tmp_path, spells):
    own = write_lines(tmp_path / "own.jsonl", [{"collection": "spells", "name": "Own Spell"}])
    async with Library.from_settings(of(tmp_path)) as library:
        await library.import_paths([own])
        assert await library.cache.count_entities("spells") == 1
    async with Library.from_settings(of(tmp_path)) as library:
        first, second = await library.search(LORE), await library.search(LORE)
    assert ADDED in (first.note or "")
    assert ADDED not in (second.note or "")
    assert await number(tmp_path) == spells


async def test_a_vault_first_and_then_a_server_that_nobody_asks(tmp_path, spells, small_starter):
    env = plain(tmp_path)
    await asyncio.to_thread(run_inside, tmp_path, "vault", "add", str(notes(tmp_path)), env=env)
    (tmp_path / "cache.db.starter").unlink()
    async with Library.from_settings(of(tmp_path)) as library:
        for document in (SRD, "srd-2024"):
            await library.cache.delete_document(document)
    command, *arguments = forked(serve_with_books, *small_starter)
    server = StdioServerParameters(command=command, args=arguments, env=env)
    async with Client(server, read_timeout_seconds=60) as client:
        await client.list_prompts()
        await eventually((tmp_path / "cache.db.starter").exists)
    assert await number(tmp_path) == spells


@pytest.mark.usefixtures("spells")
async def test_a_question_first_and_a_starter_that_was_deleted_is_not_loaded_again(tmp_path):
    async with Library.from_settings(of(tmp_path)) as library:
        both = await asyncio.gather(*(library.search(FIREBALL) for _ in range(2)))
        assert [page.results[0].entity.name for page in both] == ["Fireball"] * 2
        assert any(STARTED in (page.note or "") for page in both)
        await library.cache.store_entities([make("own", "Mine.")], "spells")
        for document in (SRD, "srd-2024"):
            await library.cache.delete_document(document)
    async with Library.from_settings(of(tmp_path)) as library:
        page = await library.search(FIREBALL)
        assert page.total == 0
        assert await library.cache.count_entities("spells") == 1


async def test_a_library_that_is_removed_and_made_anew_has_the_starter_again(tmp_path, spells):
    async with Library.from_settings(of(tmp_path)) as library:
        await library.search(FIREBALL)
    for path in tmp_path.glob("cache.db*"):
        if not path.name.endswith(".starter"):
            path.unlink()
    await asyncio.to_thread(run_inside, tmp_path, "vault", "add", str(notes(tmp_path)), env=environment_kept(tmp_path))
    assert await number(tmp_path) == spells


def environment_kept(folder: Path) -> dict[str, str]:
    """The environment of a library, with the record that it has."""
    record = (folder / "cache.db.starter").read_text()
    env = environment(folder, CACHE_BACKEND="sqlite")
    (folder / "cache.db.starter").write_text(record)
    return env


async def test_a_library_with_an_srd_needs_no_starter(tmp_path, small_starter):
    async with Library.from_settings(of(tmp_path)) as library:
        for name in TYPES:
            await library.cache.store_entities([make("one", "Text.", type=name, document="srd-2024")], name)
    async with Library.from_settings(of(tmp_path)) as library:
        assert (await library.search(FIREBALL)).note != ADDED
    assert await number(tmp_path) == 0
    assert (tmp_path / "cache.db.starter").read_text().startswith(NOT_NEEDED)
    assert await rules(tmp_path) == entries(small_starter[1] / "rules.jsonl")


@pytest.mark.parametrize("recorded", [LOADED, NOT_NEEDED])
async def test_a_library_of_an_earlier_release_gets_the_rules_that_no_book_has(tmp_path, recorded):
    async with Library.from_settings(of(tmp_path)) as library:
        await library.cache.store_entities([make("own", "Mine.")], "spells")
    (tmp_path / "cache.db.starter").write_text(recorded)
    async with Library.from_settings(of(tmp_path)) as library:
        page = await library.search(Query(["rules"], filters={"name": "influence"}))
        assert [hit.entity.document for hit in page.results] == [RULES_2024_DOCUMENT]
        assert page.note is None or ADDED not in page.note
    assert await number(tmp_path) == 0
    async with Library.from_settings(of(tmp_path)) as library:
        await library.cache.delete_document(RULES_2024_DOCUMENT)
    async with Library.from_settings(of(tmp_path)) as library:
        assert (await library.search(Query(["rules"], filters={"name": "influence"}))).total == 0


@pytest.mark.usefixtures("spells")
async def test_books_take_the_place_of_what_an_earlier_release_began_with_and_of_nothing_else(tmp_path):
    row = {
        "collection": "creatures",
        "slug": "lich",
        "name": "Lich",
        "document": EARLIER,
        "description": "A bone mage.",
    }
    own = {**row, "document": SRD, "name": "My Lich"}
    async with Library.from_settings(of(tmp_path)) as library:
        await library.import_paths([write_lines(tmp_path / "old.jsonl", [row, own])])
    (tmp_path / "cache.db.starter").write_text(LOADED)
    async with Library.from_settings(of(tmp_path)) as library:
        page = await library.search(Query(["creatures"], filters={"name": "lich"}))
        assert {hit.entity.uri: hit.entity.name for hit in page.results} == {
            "lore://creatures/srd-2014/lich": "My Lich",
            "lore://creatures/srd-2024/lich": "Lich",
        }
        assert page.note is None or ADDED not in page.note


async def test_a_record_may_decline_it(tmp_path):
    (tmp_path / "cache.db.starter").write_text(DECLINED)
    async with Library.from_settings(of(tmp_path)) as library:
        await library.cache.store_entities([make("own", "Mine.")], "spells")
        assert (await library.search(FIREBALL)).total == 0
    assert await number(tmp_path) == 0
