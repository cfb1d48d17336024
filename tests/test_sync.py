"""Syncing a library with a server of our own: what is stored, what is left alone, what is removed, and where it goes on."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError
from lorekeeper.intake.sync import endpoints, store_from_source
from lorekeeper.intake.sync_state import sync_lock
from lorekeeper.library import Library
from lorekeeper.normalize import normalize_open5e
from tests.support.commands import environment, run_inside, run_lorekeeper
from tests.support.entities import everything, make
from tests.support.libraries import server_library
from tests.support.open5e_server import SPELLS, Open5eServer, Reply, creature, lists, serving, spell
from tests.support.samples import write_lines
from tests.support.syncing import address, library, server  # noqa: F401 (fixtures)
from tests.support.waiting import eventually

LISTS = {f"v{e.version}/{e.name}" for e in endpoints(list(COLLECTIONS))}
STORED = {"spells": 5, "creatures": 2, "rules": 1, "documents": 2}


async def counts(library: Library) -> dict[str, int]:
    return {t: n for t, n in (await library.statistics()).counts.items() if n}


async def titles(library: Library, entity_type: str = "spells") -> set[str]:
    return {e.name for e in await everything(library.cache, entity_type)}


# --- what is stored --------------------------------------------------------------------------------------------------


async def test_a_sync_brings_every_entry_of_every_list(library, server):
    report = await library.sync()
    assert await counts(library) == STORED
    assert (report.stored, report.unchanged, report.removed, report.failed) == (10, 0, 0, [])
    assert report.embedded >= 10
    assert {t: numbers["stored"] for t, numbers in report.by_type.items() if numbers["stored"]} == STORED
    assert {a.split("/?")[0] for a in server.asked} == LISTS
    assert len(server.asked) == len(LISTS) + 2, "one request a page: the spells have three"


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_second_sync_stores_and_embeds_nothing(backend, server, address, tmp_path):
    async with server_library(tmp_path, address, backend) as library:
        await library.sync()
        assert await counts(library) == STORED
        asked = len(server.asked)
        report = await library.sync()
        assert (report.stored, report.embedded, report.removed, report.unchanged) == (0, 0, 0, 10)
        assert len(server.asked) == 2 * asked
        del server.lists["v2/spells"][0]
        assert (await library.sync(["spells"])).removed == 1
        assert len(await titles(library)) == 4


async def test_only_what_has_changed_is_stored_again(library, server):
    await library.sync()
    server.lists["v2/spells"][1] = spell("Soft Landing", desc="Now you bounce.")
    server.lists["v2/spells"].append(spell("Salt Mirror"))
    report = await library.sync()
    assert (report.stored, report.unchanged, report.embedded) == (2, 9, 2)
    (changed,) = await library.cache.get_entities("spells", name="soft landing")
    assert changed.data["desc"] == "Now you bounce."


async def test_chosen_documents_and_types_only(library, server):
    report = await library.sync(["spells", "creatures"], ["ember-book"])
    assert await counts(library) == {"spells": 2, "creatures": 1, "documents": 1}
    assert report.stored == 4
    assert {a.split("/?")[0] for a in server.asked} == {"v2/documents", "v2/spells", "v2/creatures"}


async def test_progress_is_told_by_type_and_adds_up(library):
    told: dict[str, list[int]] = {}

    def step(entity_type: str, more: int, done: int) -> None:
        numbers = told.setdefault(entity_type, [0, 0])
        numbers[0] += more
        numbers[1] += done

    await library.sync(step=step)
    assert {t: n for t, n in told.items() if any(n)} == {t: [n, n] for t, n in STORED.items()}


# --- what is removed -------------------------------------------------------------------------------------------------


async def test_what_the_server_removes_is_removed_and_nothing_else(library, server, tmp_path):
    homebrew = [
        {"collection": "spells", "name": "Own Spell", "document": "tide-atlas"},
        {"collection": "spells", "name": "Other Spell", "document": "my-world"},
    ]
    await library.import_paths([write_lines(tmp_path / "own.jsonl", homebrew)])
    await library.import_paths([write_lines(tmp_path / "spells.jsonl", [spell("Never Synced", "ember-book")])])
    await library.sync(["spells"])
    del server.lists["v2/spells"][0]
    report = await library.sync(["spells"])
    assert (report.removed, report.stored) == (1, 0)
    assert report.by_type["spells"]["removed"] == 1
    left = {"Soft Landing", "Lantern of Hush", "Ember Whisper", "Ash Storm"}
    assert await titles(library) == left | {"Own Spell", "Other Spell", "Never Synced"}


async def test_an_entry_that_became_homebrew_is_not_removed(library, server, tmp_path):
    await library.sync(["spells"])
    own = {"collection": "spells", "name": "Tide Lance", "document": "tide-atlas", "description": "Mine now."}
    await library.import_paths([write_lines(tmp_path / "own.jsonl", [own])])
    del server.lists["v2/spells"][0]
    assert (await library.sync(["spells"])).removed == 0
    assert "Tide Lance" in await titles(library)


async def test_a_list_that_is_suddenly_empty_is_reported_and_nothing_removed(library, server):
    await library.sync(["spells"])
    server.lists["v2/spells"] = []
    report = await library.sync(["spells"])
    assert [f.where for f in report.failed] == ["v2/spells"]
    assert "stay" in report.failed[0].reason
    assert len(await titles(library)) == 5


async def test_nothing_is_removed_from_a_list_with_an_entry_that_cannot_be_read(library, server):
    await library.sync(["spells"])
    server.lists["v2/spells"][0] = {**spell("Tide Lance"), "level": "often"}
    report = await library.sync(["spells"])
    assert report.removed == 0
    assert [f.where for f in report.failed] == ["v2/spells tide-atlas_tide-lance"]
    assert "level" in report.failed[0].reason
    assert len(await titles(library)) == 5


# --- what is the user's own ------------------------------------------------------------------------------------------

OWN = {"collection": "spells", "name": "Tide Lance", "document": "tide-atlas", "description": "Mine."}


async def slugs(library: Library, entity_type: str = "spells", document: str = "tide-atlas") -> dict[str, str]:
    """Where the entries of a document are from, by slug."""
    return {e.slug: e.source_api for e in await library.cache.get_entities(entity_type, document)}


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_b6_an_entry_of_the_users_own_is_kept_and_the_other_is_stored_beside_it(
    backend, server, address, tmp_path
):
    async with server_library(tmp_path, address, backend) as library:
        await library.import_paths([write_lines(tmp_path / "own.jsonl", [OWN])])
        report = await library.sync(["spells"])
        assert (report.stored, report.failed) == (7, [])
        (clash,) = report.warnings
        assert "lore://spells/tide-atlas/tide-lance," in clash.reason
        assert "lore://spells/tide-atlas/tide-lance-open5e" in clash.reason
        held = await slugs(library)
        assert (held["tide-lance"], held["tide-lance-open5e"]) == ("lorekeeper", "open5e-v2")
        (own,) = await library.cache.load("spells", [("tide-atlas", "tide-lance")])
        assert own.data == OWN

        report = await library.sync(["spells"])
        assert (report.stored, report.removed, report.unchanged, len(report.warnings)) == (0, 0, 7, 1)

        await library.cache.delete_entities("spells", [own.identity])
        report = await library.sync(["spells"])
        assert (report.stored, report.removed, report.warnings) == (1, 1, [])
        held = await slugs(library)
        assert held["tide-lance"] == "open5e-v2"
        assert "tide-lance-open5e" not in held
        report = await library.sync(["spells"])
        assert (report.stored, report.removed, report.unchanged) == (0, 0, 7)


@pytest.mark.parametrize("source_api", ["lorekeeper", "orcbrew", "unknown", "homebrew", "", "5e"])
async def test_b6_whatever_is_not_from_the_source_is_kept(source_api, library):
    own = replace(make("tide-lance", name="Tide Lance", document="tide-atlas"), source_api=source_api)
    await library.cache.store_entities([own], "spells")
    await library.sync(["spells"])
    assert await library.cache.load("spells", [own.identity]) == [own]
    assert "tide-lance-open5e" in await slugs(library)


async def test_b6_an_entry_that_the_user_made_after_a_sync_is_kept(library, tmp_path):
    await library.sync(["spells"])
    await library.import_paths([write_lines(tmp_path / "own.jsonl", [OWN])])
    report = await library.sync(["spells"])
    assert (report.stored, report.removed, len(report.warnings)) == (1, 0, 1)
    assert (await slugs(library))["tide-lance"] == "lorekeeper"
    library.source.state_path.unlink()
    await library.cache.delete_entities("spells", [("tide-atlas", "tide-lance")])
    report = await library.sync(["spells"])
    assert (report.stored, report.removed) == (1, 1), "also where it is not known what came from the server"
    assert "tide-lance-open5e" not in await slugs(library)


async def test_b6_a_server_cannot_send_our_own_shape_nor_say_where_an_entry_is_from(library, server):
    server.lists["v2/spells"] += [
        {**OWN, "name": "Forged"},
        {**spell("Salt Mirror"), "collection": "creatures", "source_api": "lorekeeper"},
        {**creature("Whale"), "collection": "spells"},
    ]
    report = await library.sync(["spells"])
    assert [f.where for f in report.failed] == ["v2/spells None", "v2/spells tide-atlas_whale"]
    assert "creatures" in report.failed[1].reason
    assert set((await slugs(library)).values()) == {"open5e-v2"}
    assert await counts(library) == {"spells": 6, "documents": 2}


async def test_b6_an_import_during_a_sync_is_kept(library):
    """What was known when the sync began is no reason to write over what was stored since."""
    own = make("tide-lance", name="Tide Lance", document="tide-atlas")
    await library.cache.store_entities([own], "spells")
    (arriving,) = normalize_open5e(spell("Tide Lance"))
    outcome = await store_from_source(library.cache, "spells", [arriving], {})
    assert [e.slug for e in outcome.stored] == ["tide-lance-open5e"]
    assert await library.cache.load("spells", [own.identity]) == [own]


# --- what fails ------------------------------------------------------------------------------------------------------


async def test_a_list_that_fails_is_reported_and_all_others_are_stored(library, server):
    server.fault = lambda path, _: Reply(503) if path == "v2/spells" else None
    report = await library.sync()
    assert [f.where for f in report.failed] == ["v2/spells"]
    assert await counts(library) == {t: n for t, n in STORED.items() if t != "spells"}
    asked = len(server.asked)
    server.fault = lambda *_: None
    report = await library.sync()
    assert report.failed == []
    assert await counts(library) == STORED
    assert {a.split("/?")[0] for a in server.asked[asked:]} == {"v2/spells"}, "the rest was done a moment ago"


async def test_a_list_that_gives_less_than_it_says_is_not_taken_for_whole(library, server):
    await library.sync(["spells"])
    body = json.dumps({"count": 5, "next": None, "results": SPELLS[:2]}).encode()
    server.fault = lambda path, _: Reply(200, body=body, content_type="application/json") if "spells" in path else None
    report = await library.sync(["spells"])
    assert report.removed == 0
    assert "returned 2" in report.failed[0].reason
    assert len(await titles(library)) == 5


async def test_two_syncs_at_once_are_refused(library, monkeypatch):
    monkeypatch.setattr("lorekeeper.intake.sync.LOCK_SECONDS", 0.1)
    with sync_lock(library.source.state_path), pytest.raises(CacheError, match="another process"):
        await library.sync()
    assert (await library.sync(["spells"])).stored == 7


# --- where it goes on ------------------------------------------------------------------------------------------------


async def test_a_sync_that_was_cut_off_goes_on_where_it_was(library, server, tmp_path, address):
    reached, release = threading.Event(), threading.Event()

    def stuck(path: str, _number: int) -> None:
        if path == "v2/spells" and len(server.pages_asked(path)) == 3:
            reached.set()
            release.wait(20)

    server.fault = stuck
    syncing = asyncio.create_task(library.sync())
    assert await asyncio.to_thread(reached.wait, 20)

    async def are_stored() -> bool:
        stored, reading = await counts(library), library.source.known().of("spells").reading
        is_noted = reading is not None and reading.following.endswith("page=3")
        return is_noted and stored.get("spells") == 4

    await eventually(are_stored)
    before = await counts(library)
    syncing.cancel()
    await asyncio.gather(syncing, return_exceptions=True)
    release.set()
    server.fault = lambda *_: None
    first = list(server.asked)
    report = await library.sync()
    again = server.asked[len(first) :]
    assert report.stored == sum(STORED.values()) - sum(before.values())
    assert {a.split("/?")[0] for a in first} & {a.split("/?")[0] for a in again} == {"v2/spells"}
    assert server.pages_asked("v2/spells")[3:] == ["limit=100&page=3"]
    assert await counts(library) == STORED
    assert not [a for a in again if "spells" not in a and "page" in a]
    assert (await library.sync()).unchanged == 10, "when it is done, the next one reads everything again"


@pytest.mark.parametrize("damage", [b"", b"{", b'{"source": 3}', b"\x00\xff", None], ids=str)
async def test_a_damaged_state_costs_time_and_nothing_else(damage, library, server):
    await library.sync(["spells"])
    path = library.source.state_path
    path.unlink() if damage is None else path.write_bytes(damage)
    del server.lists["v2/spells"][0]
    report = await library.sync(["spells"])
    assert (report.unchanged, report.removed, report.failed) == (6, 0, [])
    assert len(await titles(library)) == 5


async def test_another_server_removes_nothing_of_the_first(library, server, tmp_path):
    await library.sync(["spells"])
    await library.close()
    other = Open5eServer(lists() | {"v2/spells": SPELLS[:1]})
    with serving(other) as elsewhere:
        async with server_library(tmp_path, elsewhere) as second:
            assert (await second.sync(["spells"])).removed == 0
            assert len(await titles(second)) == 5


async def test_a_library_that_was_deleted_is_filled_again(tmp_path, server, address):
    async with server_library(tmp_path, address) as library:
        await library.sync(["spells"])
        await library.cache.delete_document("tide-atlas")
        server.fault = lambda path, _: Reply(503) if path == "v2/spells" else None
        await library.sync(["spells"])
        server.fault = lambda *_: None
        for document in ("tide-atlas", "ember-book"):
            await library.cache.delete_document(document)
        await library.sync(["spells"])
        assert await counts(library) == {"spells": 5, "documents": 2}


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_syncs_and_tells_what_it_did(tmp_path, server, address):
    env = environment(tmp_path, OFFLINE="", OPEN5E_BASE_URL=address + "/v2/")
    server.fault = lambda path, _: Reply(404) if path == "v2/creatures" else None
    done = run_lorekeeper(tmp_path, "sync", "open5e", "--type", "spells", "--type", "creatures", "--json", env=env)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert list(report) == ["stored", "unchanged", "embedded", "removed", "failed", "not_taken", "seconds"]
    assert (report["stored"], [f["where"] for f in report["failed"]]) == (7, ["v2/creatures"])
    server.fault = lambda *_: None
    done = run_inside(tmp_path, "sync", "open5e", "--document", "ember-book", "--type", "creatures", env=env)
    assert done.returncode == 0, done.stderr
    assert "creatures" in done.stdout
    done = run_inside(tmp_path, "sync", "open5e", env=environment(tmp_path, OPEN5E_BASE_URL=address))
    assert done.returncode == 2
    assert "LOREKEEPER_OFFLINE" in done.stderr
