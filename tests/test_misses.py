"""Lookups on a shelf that was never filled, or long ago: what is fetched, what is stored, what is said."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest

from lorekeeper.errors import UnknownDocumentError
from lorekeeper.filters import matches, parse_filters
from lorekeeper.intake.on_demand import SIZES
from lorekeeper.intake.sync_state import encode, load_state, save, sync_lock
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from tests.support.corpus import replaying, requests_of
from tests.support.entities import make
from tests.support.libraries import need_books, server_library
from tests.support.open5e_server import Open5eServer, Reply, creature, serving
from tests.support.samples import write_lines
from tests.support.syncing import address, library, server  # noqa: F401 (fixtures)
from tests.support.waiting import HANG_SECONDS


async def look(
    library: Library, types: str = "spells", documents: list[str] | None = None, **filters: Any
) -> ResultPage:
    return await library.search(Query([types], filters=filters, documents=documents))


def names(page: ResultPage) -> list[str]:
    return [r.entity.name for r in page.results]


async def test_a_miss_is_fetched_stored_and_answered_under_the_same_filters(library, server):
    page = await look(library, level_min=2)
    assert names(page) == ["Ash Storm", "Tide Lance"]
    assert "Fetched 2 entries" in (page.note or "")
    assert "lorekeeper sync open5e --type spells" in (page.note or "")
    assert await library.cache.count_entities("spells") == 2
    assert {e.document for e in await library.cache.get_entities("documents")} == {"tide-atlas", "ember-book"}


async def test_the_same_question_is_not_asked_twice(library, server):
    await look(library, level_min=2)
    asked = len(server.asked)
    page = await look(library, level_min=2)
    assert (names(page), len(server.asked)) == (["Ash Storm", "Tide Lance"], asked)
    assert (await look(library, name="no such spell")).total == 0
    asked = len(server.asked)
    assert (await look(library, name="no such spell")).total == 0
    assert len(server.asked) == asked


async def test_a_part_is_never_taken_for_the_whole(library, server):
    await look(library, name="tide lance")
    assert await library.cache.count_entities("spells") == 1
    page = await look(library, classes=["wizard"])
    assert page.total == 5, "what an earlier lookup left here is not all there is"


async def test_names_narrow_what_is_asked_of_the_server(library, server):
    assert names(await look(library, name="of hush")) == ["Lantern of Hush"]
    assert server.pages_asked("v2/spells") == ["limit=100&name__icontains=hush"]


async def test_a_name_that_is_only_like_one_in_the_library_is_fetched(library, server):
    await library.cache.store_entities([make("tide-lanze", "A spear of rust.", name="Tide Lanze")], "spells")
    assert names(await look(library, name="tide lance")) == ["Tide Lance"]


async def test_documents_narrow_what_is_fetched(library, server):
    page = await look(library, documents=["ember-book"])
    assert names(page) == ["Ash Storm", "Ember Whisper"]
    assert server.pages_asked("v2/spells") == ["limit=100&document__key__in=ember-book"]
    asked = len(server.asked)
    assert (await look(library, documents=["ember-book"], level=9)).total == 0
    assert len(server.asked) == asked, "all of that book's spells are here"
    assert (await look(library, documents=["tide-atlas"], level=9)).total == 0
    assert len(server.asked) > asked


async def test_a_kind_narrows_the_lists(library, server):
    await look(library, "equipment", kind="weapon", name="sword")
    assert {a.split("/?")[0] for a in server.asked} == {"v2/documents", "v2/items"}


async def test_nothing_is_fetched_for_a_library_that_was_synced(library, server):
    await library.sync()
    asked = len(server.asked)
    page = await look(library, level=9)
    assert (page.total, page.note, len(server.asked)) == (0, "level is never 9: it ranges from 0 to 3.", asked)


async def test_a_stale_library_is_asked_anew(library, server):
    await library.sync()
    server.lists["v2/creatures"].append(creature("Fog Moth", rating=20.0))
    path = library.source.state_path
    state = load_state(path, library.source.base_url)
    for listed in state.lists.values():
        listed.whole = {key: time.time() - 31 * 86400 for key in listed.whole}
    save(path, encode(state))
    assert names(await look(library, "creatures", challenge_rating=20)) == ["Fog Moth"]


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
    assert {a.split("/?")[0] for a in server.asked} == {"v2/documents"}


async def test_a_document_that_is_nowhere_is_an_error(library, tmp_path):
    await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
    with pytest.raises(UnknownDocumentError, match="ember-book"):
        await look(library, documents=["embre-book"])


async def test_a_question_of_meaning_asks_nobody(library, server):
    await library.search(Query(["spells"], text="cold water"))
    assert server.asked == []


@pytest.mark.parametrize("offline", [True, False], ids=["offline", "nobody there"])
async def test_without_a_network_the_answer_is_what_is_here_and_says_what_is_missing(offline, tmp_path, monkeypatch):
    requests: list[str] = []
    send = httpx.AsyncHTTPTransport.handle_async_request

    async def counted(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        requests.append(str(request.url))
        return await send(transport, request)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", counted)
    with serving(Open5eServer({})) as address:
        pass
    async with server_library(tmp_path, address, offline=offline) as library:
        await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
        page = await look(library, "creatures", challenge_rating=3)
        assert len(requests) == (0 if offline else 1), "nobody is asked again in vain"
        assert page.total == 0
        assert "the library may not have all creatures." in (page.note or ""), "nobody knows what is missing"
        run = "Unset it and run" if offline else "Run"  # a sync refuses while it is set
        assert f" {run} 'lorekeeper sync open5e --type creatures' to fetch the rest" in (page.note or "")
        assert ("LOREKEEPER_OFFLINE" in (page.note or "")) is offline


async def test_a_name_that_nothing_has_offline_is_answered_with_a_command_for_types_of_open5e_alone(tmp_path):
    async with server_library(tmp_path, "http://127.0.0.1:9", offline=True) as library:
        await library.import_paths([write_lines(tmp_path / "a.jsonl", [{"collection": "spells", "name": "Own"}])])
        page = await library.search(Query(["notes", "spells"], filters={"name": "Nobody"}))
        assert "--type spells' to fetch the rest" in (page.note or "")
        assert "notes" not in (page.note or "")


async def test_a_library_that_was_synced_or_holds_everything_is_not_called_incomplete(tmp_path, address, monkeypatch):
    async with server_library(tmp_path / "synced", address) as library:
        await library.sync()
        assert library.source is not None
        path = library.source.state_path
        state = load_state(path, library.source.base_url)
        for listed in state.lists.values():
            listed.whole = {key: time.time() - 90 * 86400 for key in listed.whole}
        save(path, encode(state))
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


async def test_an_offline_library_sends_nothing(tmp_path, server, address):
    async with server_library(tmp_path, address, offline=True) as library:
        page = await look(library, level=1)
        assert "lorekeeper sync open5e --type spells" in (page.note or "")
    assert server.asked == []


async def test_a_server_that_fails_is_told_and_not_asked_again_at_once(library, server):
    server.fault = lambda *_: Reply(503)
    page = await look(library, level=1)
    assert "cannot be reached" in (page.note or "")
    asked = len(server.asked)
    assert "cannot be reached" in ((await look(library, name="no such spell")).note or "")
    assert len(server.asked) == asked


async def test_a_sync_of_another_process_is_not_disturbed(library, server, monkeypatch):
    monkeypatch.setattr("lorekeeper.intake.on_demand.LOCK_SECONDS", 0.1)
    with sync_lock(library.source.state_path):
        page = await look(library, level=1)
    assert "another process is syncing" in (page.note or "")
    assert server.asked == []


async def test_a_server_that_hangs_holds_nobody_up_for_long(library, server, monkeypatch):
    monkeypatch.setattr("lorekeeper.intake.on_demand.FETCH_SECONDS", 0.3)
    release = threading.Event()
    server.fault = lambda path, _: None if path != "v2/spells" else release.wait(HANG_SECONDS) and None
    page = await look(library, level=1)
    release.set()
    assert "no time to fetch" in (page.note or "")
    server.fault = lambda *_: None
    monkeypatch.undo()
    assert (await look(library, level=1)).total == 2


async def test_what_was_fetched_is_part_of_the_next_sync(library, server):
    await look(library, level_min=2)
    report = await library.sync(["spells"])
    assert (report.stored, report.unchanged) == (3, 4)
    del server.lists["v2/spells"][0]
    assert (await library.sync(["spells"])).removed == 1


async def test_b6_a_lookup_keeps_the_users_own_entry_and_stores_the_other_beside_it(library, server, tmp_path):
    own = {"collection": "spells", "name": "Tide Lance", "document": "tide-atlas", "description": "Mine.", "level": 5}
    await library.import_paths([write_lines(tmp_path / "own.jsonl", [own])])
    page = await look(library, level=2)
    assert [r.entity.uri for r in page.results] == ["lore://spells/tide-atlas/tide-lance-open5e"]
    assert "1 of them is stored next to your own entries" in (page.note or "")
    (kept,) = await library.cache.load("spells", [("tide-atlas", "tide-lance")])
    assert kept.data == own
    report = await library.sync(["spells"])
    assert (report.stored, report.unchanged, report.removed) == (4, 3, 0)
    await library.cache.delete_entities("spells", [kept.identity])
    assert (await library.sync(["spells"])).removed == 1
    assert {e.slug for e in await library.cache.get_entities("spells", name="tide lance")} == {"tide-lance"}


async def test_b6_a_lookup_removes_what_need_not_be_kept_apart_any_more(library, server, tmp_path):
    own = {"collection": "spells", "name": "Tide Lance", "document": "tide-atlas"}
    await library.import_paths([write_lines(tmp_path / "own.jsonl", [own])])
    await look(library, level=2)
    await library.cache.delete_entities("spells", [("tide-atlas", "tide-lance")])
    page = await look(library, level_max=2, school="evocation")
    assert "tide-lance-open5e" not in {r.entity.slug for r in page.results}
    assert "tide-lance" in {r.entity.slug for r in page.results}
    state = load_state(library.source.state_path, library.source.base_url)
    assert "lore://spells/tide-atlas/tide-lance-open5e" not in state.of("spells").seen


async def test_b6_a_lookup_takes_no_entries_of_our_own_shape_from_a_server(library, server):
    server.lists["v2/spells"] += [{"collection": "spells", "name": "Forged", "level": 9}]
    assert (await look(library, level=9)).total == 0


@pytest.mark.parametrize(
    ("filters", "holds"),
    [
        ({"level": 3}, True), ({"level": [1, 2]}, False), ({"level_min": 3}, True), ({"level_max": 2}, False),
        ({"school": "EVOCATION"}, True), ({"classes": ["srd_wizard"]}, True), ({"classes": ["druid"]}, False),
        ({"name": "ash"}, True), ({"name": "storms"}, False), ({"ritual": False}, False), ({"kind": "Spell"}, True),
        ({"range_min": 30.5}, True), ({"level": 3, "school": "illusion"}, False), ({}, True),
    ],
)  # fmt: skip
def test_filters_hold_for_an_entity_as_they_do_in_a_store(filters, holds):
    entity = make("ash-storm", name="Ash Storm", level=3, school="evocation", classes=["wizard"], range=60)
    assert matches(entity, parse_filters("spells", filters)) is holds


@pytest.mark.corpus
async def test_a_cold_library_answers_from_the_captured_server(corpus, tmp_path):
    with replaying(corpus) as address:
        async with server_library(tmp_path, address) as library:
            page = await look(library, documents=["srd-2014"], name="fireball")
            assert {r.entity.uri for r in page.results} == {
                "lore://spells/srd-2014/fireball",
                "lore://spells/srd-2014/delayed-blast-fireball",
            }
            page = await look(library, documents=["srd-2014"], level=3)
            raw = json.loads((corpus / "entities" / "_stats.json").read_text("utf-8"))
            assert 30 < page.total < raw["spells"]["by_document"]["srd-2014"]
            assert requests_of(address)[0] <= 1 + 4 + 4


async def test_what_the_source_does_not_have_is_not_asked_for_again_for_as_many_days_as_lists_are_fresh(
    library, server
):
    await look(library, name="no such spell")
    path = library.source.state_path
    for days, is_asked in ((2, False), (library.source.days, True)):
        state = load_state(path, library.source.base_url)
        state.asked = {key: time.time() - days * 86400 for key in state.asked}
        save(path, encode(state))
        server.asked.clear()
        await look(library, name="no such spell")
        assert bool(server.asked) == is_asked
