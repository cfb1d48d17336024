"""Lookups on a shelf that was never filled, or long ago: what is found, and what is said of the rest."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from lorekeeper.errors import UnknownDocumentError
from lorekeeper.filters import matches, parse_filters
from lorekeeper.intake.misses import SIZES
from lorekeeper.intake.sync_state import load_state, save
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from lorekeeper.server.mcp import build_server
from tests.support.entities import make
from tests.support.libraries import need_books, server_library
from tests.support.samples import write_lines
from tests.support.syncing import address, library, server  # noqa: F401 (fixtures)
from tests.support.tables import rows


async def look(
    library: Library, types: str = "spells", documents: list[str] | None = None, **filters: Any
) -> ResultPage:
    return await library.search(Query([types], filters=filters, documents=documents))


def names(page: ResultPage) -> list[str]:
    return [r.entity.name for r in page.results]


async def test_a_miss_asks_nobody_and_names_what_a_sync_would_bring(library, server, tmp_path):
    await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
    page = await look(library, level_min=2)
    assert (page.total, server.asked) == (0, [])
    assert "Run 'lorekeeper sync open5e --type spells' to fetch the rest" in (page.note or "")
    await library.sync(["spells"])
    server.asked.clear()
    assert names(await look(library, level_min=2)) == ["Ash Storm", "Tide Lance"]
    assert (await look(library, name="no such spell")).total == 0
    assert server.asked == []


async def test_what_no_sync_would_bring_is_not_said_to_be_fetched_by_one(library, tmp_path):
    await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "creatures", "name": "Own"}])])
    note = (await look(library, "creatures", name="githyanki warrior")).note or ""
    assert "'githyanki' is not open content: no open book has it." in note
    assert "Run 'lorekeeper sync" not in note


async def test_a_name_that_is_only_like_one_in_the_library_is_answered_and_said_to_be_missing(library):
    await library.cache.store_entities([make("tide-lanze", "A spear of rust.", name="Tide Lanze")], "spells")
    page = await look(library, name="tide lance of the deep")
    assert "lorekeeper sync open5e --type spells" in (page.note or "")


async def test_a_document_that_was_synced_alone_is_complete(library):
    await library.sync(["spells"], ["ember-book"])
    assert "lorekeeper sync" not in ((await look(library, documents=["ember-book"], level=9)).note or "")
    assert "lorekeeper sync" in ((await look(library, level=9)).note or "")


async def test_nothing_is_fetched_for_a_library_that_was_synced(library, server):
    await library.sync()
    asked = len(server.asked)
    page = await look(library, level=9)
    assert (page.total, page.note, len(server.asked)) == (0, "level is never 9: it ranges from 0 to 3.", asked)


async def test_what_is_found_needs_no_server(library, server, tmp_path):
    await library.import_paths(
        [write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own", "level": 1}])]
    )
    page = await look(library, level=1)
    assert (names(page), page.note, server.asked) == (["Own"], None, [])


async def test_homebrew_documents_are_no_reason_to_ask(library, server, tmp_path):
    await library.import_paths(
        [write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own", "level": 1}])]
    )
    page = await look(library, documents=["homebrew"], level=5)
    assert (page.total, page.note) == (0, "level is never 5: it ranges from 1 to 1.")
    assert server.asked == []


async def test_a_document_that_is_nowhere_is_an_error(library, tmp_path):
    await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
    with pytest.raises(UnknownDocumentError, match="sync open5e --type spells --document ember-book"):
        await look(library, documents=["ember-book"])


async def test_a_question_of_meaning_asks_nobody(library, server):
    await library.search(Query(["spells"], text="cold water"))
    assert server.asked == []


@pytest.mark.parametrize("offline", [True, False])
async def test_what_is_missing_is_said_with_how_to_bring_it(offline, tmp_path, address, server):
    async with server_library(tmp_path, address, offline=offline) as library:
        await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
        page = await look(library, "creatures", challenge_rating=3)
        assert (page.total, server.asked) == (0, [])
        assert "The library may not have all creatures." in (page.note or "")
        run = "unset it and run" if offline else "Run"  # a sync refuses while it is set
        assert f" {run} 'lorekeeper sync open5e --type creatures' to fetch the rest" in (page.note or "")
        assert ("LOREKEEPER_OFFLINE" in (page.note or "")) is offline


async def test_a_name_that_nothing_has_offline_is_answered_with_a_command_for_types_of_open5e_alone(tmp_path):
    async with server_library(tmp_path, "http://127.0.0.1:9", offline=True) as library:
        await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
        page = await library.search(Query(["notes", "spells"], filters={"name": "Nobody"}))
        assert "--type spells' to fetch the rest" in (page.note or "")
        assert "notes" not in (page.note or "")


async def test_a_table_that_nothing_has_is_answered_with_what_a_sync_would_bring(tmp_path, address, server):
    async with server_library(tmp_path, address) as library:
        await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
        async with Client(build_server(library)) as client:
            said = str((await client.call_tool("roll", {"what": "Salt Omens"})).content)
    assert "no entry is called 'Salt Omens'" in said
    assert "The library may not have all of Open5e. Run 'lorekeeper sync open5e' to fetch the rest." in said
    assert server.asked == []


async def test_a_library_that_was_synced_or_holds_everything_is_not_called_incomplete(tmp_path, address, monkeypatch):
    async with server_library(tmp_path / "synced", address) as library:
        await library.sync()
        assert library.source is not None
        path = library.source.state_path
        state = load_state(path, library.source.base_url)
        for listed in state.lists.values():
            listed.whole = {key: time.time() - 90 * 86400 for key in listed.whole}
        save(path, state)
        library.offline = True
        assert "sync" not in ((await look(library, name="no such spell")).note or "")
    async with server_library(tmp_path / "imported", address, offline=True) as library:
        made = [replace(make(f"s{n}", level=n), source_api="open5e-v2") for n in range(9)]
        await library.cache.store_entities(made, "spells")
        assert "lorekeeper sync" in ((await look(library, name="no such spell")).note or "")
        monkeypatch.setitem(SIZES, "spells", 9)
        assert "sync" not in ((await look(library, name="no such spell")).note or "")


@pytest.mark.parametrize(
    ("types", "filters"),
    [("spells", {"level": 12}), ("spells", {"school": "fire"}), ("creatures", {"name": "mind flayer"})],
)
async def test_what_cannot_exist_is_neither_fetched_nor_blamed_on_the_library(library, server, types, filters):
    need_books()
    await library.load_starter()
    page = await look(library, types, **filters)
    assert (page.total, server.asked) == (0, [])
    assert "drowned-bells" not in await library.cache.documents(), "the notes of the demo are for the demo only"
    assert "lorekeeper sync" not in (page.note or "")


async def test_a_name_that_is_understood_as_another_is_answered_without_a_command(tmp_path):
    async with server_library(tmp_path, "http://127.0.0.1:9", offline=True) as library:
        names = [{"collection": "spells", "name": name} for name in ("Arcane Sword", "Tidal Bell")]
        await library.import_paths([write_lines(tmp_path / "a.jsonl", names)])
        for written, note in (("Mordenkanen's sword", "is called Arcane Sword"), ("Tidl Bel", "name: Tidal Bell")):
            page = await look(library, "spells", name=written)
            assert note in (page.note or "")
            assert "lorekeeper sync" not in (page.note or "")


@pytest.mark.parametrize(
    ("filters", "holds"),
    rows("held_filters"),
)
def test_filters_hold_for_an_entity_as_they_do_in_a_store(filters, holds):
    entity = make("ash-storm", name="Ash Storm", level=3, school="evocation", classes=["wizard"], range=60)
    assert matches(entity, parse_filters("spells", filters)) is holds
