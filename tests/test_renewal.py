"""Entries that several documents share: taken apart at import and by a sync, and renewed in libraries that have them whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.errors import CacheError, EmbeddingError
from lorekeeper.intake.renewal import renew
from lorekeeper.intake.sync_state import load_state, sync_lock
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.normalize.renewed import renewed
from lorekeeper.search.query import Query
from lorekeeper.server.tools import all_tools
from tests.support.entities import everything, make
from tests.support.libraries import open_library, server_library
from tests.support.open5e_server import Open5eServer, book, lists
from tests.support.syncing import address  # noqa: F401 (a fixture)

TOOLS = {tool.name: tool for tool in all_tools()}

BOOKS = ("srd-2014", "srd-2024", "a5e-ag")


def becalmed(*documents: str, name: str = "Becalmed") -> dict[str, Any]:
    """A condition as Open5e has it: one object with the words of several documents."""
    return {
        "key": name.lower(),
        "name": name,
        "document": {"name": "5e Core Concepts", "key": "core", "display_name": "5e Core"},
        "icon": None,
        "descriptions": [
            {"desc": f"{name} by the words of {d}: no wind moves you.", "document": d, "gamesystem": d}
            for d in documents
        ],
    }


def whole(obj: dict[str, Any]) -> Entity:
    """The one entity that earlier versions made of such an object."""
    (entity,) = normalize(obj, document="core")
    return replace(entity, document_name="5e Core")


CONDITIONS = [becalmed(*BOOKS), becalmed("srd-2014", "srd-2024", name="Salted")]
APART = {f"lore://rules/{d}/becalmed" for d in BOOKS} | {f"lore://rules/{d}/salted" for d in BOOKS[:2]}


async def uris(library: Library, entity_type: str = "rules") -> set[str]:
    return {e.uri for e in await everything(library.cache, entity_type)}


def state_path(library: Library) -> Path:
    """File of the state of a library's syncs."""
    assert library.source is not None
    return library.source.state_path


async def call(library: Library, tool: str, **arguments: Any) -> Any:
    return await TOOLS[tool].run(library, TOOLS[tool].check(arguments))


@pytest.fixture(params=["milvus", "sqlite"])
async def earlier(request, tmp_path: Path) -> AsyncIterator[Library]:
    """A library that an earlier version has filled."""
    async with open_library(tmp_path, backend=request.param) as library:
        await library.cache.store_entities([*map(whole, CONDITIONS), OWN], "rules")
        yield library


OWN = make("becalmed", "My own words.", type="rules", name="Becalmed", kind="condition", document="my-table")


# --- taken apart -----------------------------------------------------------------------------------------------------


def test_an_object_of_several_documents_gives_each_its_own_words():
    parts = {e.document: e for e in normalize(CONDITIONS[0])}
    assert list(parts) == list(BOOKS)
    for document, entity in parts.items():
        assert (entity.slug, entity.name, entity.kind) == ("becalmed", "Becalmed", "condition")
        assert [d["document"] for d in entity.data["descriptions"]] == [document]
        assert normalize(entity.data) == [entity], "what is stored gives the same entity again"


def test_an_object_of_one_document_stays_as_it_is():
    alone = {**becalmed("a5e-ag"), "key": "a5e-ag_becalmed", "document": {"key": "a5e-ag", "name": "Guide"}}
    (entity,) = normalize(alone)
    assert (entity.document, entity.document_name, entity.data) == ("a5e-ag", "Guide", alone)
    unnamed = {**alone, "descriptions": [{"desc": "No wind."}, "salt", None, {"desc": "x", "document": 7}]}
    assert [e.data for e in normalize(unnamed)] == [unnamed]


def test_words_that_name_no_document_stay_with_their_own():
    mixed = becalmed("srd-2024")
    mixed["descriptions"].append({"desc": "Everywhere."})
    assert [e.document for e in normalize(mixed)] == ["srd-2024", "core"]


def test_an_import_under_one_document_keeps_it_whole():
    (entity,) = normalize(CONDITIONS[0], document="my-table")
    assert (entity.document, len(entity.data["descriptions"])) == ("my-table", 3)
    assert renewed(entity) == [entity]


# --- a sync ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Open5eServer:
    return Open5eServer(
        lists() | {"v2/conditions": list(CONDITIONS), "v2/documents": [book(key) for key in [*BOOKS, "core"]]}
    )


@pytest.fixture
async def synced(tmp_path: Path, address: str) -> AsyncIterator[Library]:
    async with server_library(tmp_path, address) as library:
        yield library


async def test_a_sync_takes_shared_objects_apart_and_a_second_one_changes_nothing(synced, server):
    assert (await synced.sync(["rules"])).failed == []
    assert await uris(synced) - {"lore://rules/old-rules/travel"} == APART
    again = await synced.sync(["rules"])
    assert (again.stored, again.removed, again.embedded) == (0, 0, 0)
    server.lists["v2/conditions"][0] = becalmed("srd-2014", "srd-2024")
    changed = await synced.sync(["rules"])
    assert (changed.stored, changed.removed) == (0, 1)
    assert "lore://rules/a5e-ag/becalmed" not in await uris(synced)


async def test_a_sync_of_one_document_brings_its_words_and_leaves_the_others_alone(synced):
    await synced.sync(["rules"], ["srd-2024"])
    assert await uris(synced) == {uri for uri in APART if "srd-2024" in uri}
    await synced.sync(["rules"])
    whole_library = await uris(synced)
    one = await synced.sync(["rules"], ["srd-2014"])
    assert (one.stored, one.removed) == (0, 0)
    assert await uris(synced) == whole_library >= APART


async def test_a_lookup_in_one_document_fetches_its_words(synced):
    page = await synced.search(Query(types=["rules"], filters={"kind": "condition"}, documents=["srd-2024"]))
    assert {r.entity.uri for r in page.results} == {uri for uri in APART if "srd-2024" in uri}


async def test_after_a_renewal_a_sync_has_nothing_to_do(tmp_path, address, server):
    async with server_library(tmp_path, address) as library:
        await library.sync(["rules"])
        await as_an_earlier_version_left_it(library)
        assert await renew(library.cache, library.source, ["rules"]) == 2
        assert load_state(state_path(library), address).of("conditions").seen == APART
        report = await library.sync(["rules"])
        assert (report.stored, report.removed, report.embedded) == (0, 0, 0)
        assert await uris(library) >= APART


async def test_a_renewal_that_ends_before_the_state_is_adapted_is_continued(tmp_path, address, monkeypatch):
    def interrupted(*_: object) -> None:
        raise CacheError("interrupted")

    async with server_library(tmp_path, address) as library:
        await library.sync(["rules"])
        await as_an_earlier_version_left_it(library)
        with monkeypatch.context() as patched:
            patched.setattr("lorekeeper.intake.renewal._adapt", interrupted)
            with pytest.raises(CacheError):
                await renew(library.cache, library.source, ["rules"])
        assert await uris(library) >= APART | {"lore://rules/core/salted"}
        await renew(library.cache, library.source, ["rules"])
        report = await library.sync(["rules"])
        assert (report.stored, report.removed) == (0, 0)
        assert await uris(library) - {"lore://rules/old-rules/travel"} == APART


async def test_a_sync_renews_what_is_not_renewed_yet(tmp_path, address):
    async with server_library(tmp_path, address) as library:
        await library.sync(["rules"])
        await as_an_earlier_version_left_it(library)
    async with server_library(tmp_path, address) as library:
        report = await library.sync(["rules"], ["srd-2024"])
        assert (report.stored, report.removed) == (0, 0)
        assert await uris(library) - {"lore://rules/old-rules/travel"} == APART


async def as_an_earlier_version_left_it(library: Library) -> None:
    """Put the conditions back together, in the library and in the state of its syncs."""
    entities = [whole(obj) for obj in CONDITIONS]
    await library.cache.store_entities(entities, "rules")
    await library.cache.delete_entities("rules", [parse_uri(uri)[1:] for uri in APART])
    path = state_path(library)
    state = json.loads(path.read_text())
    state["lists"]["conditions"]["seen"] = [e.uri for e in entities]
    path.write_text(json.dumps(state))


# --- libraries that exist --------------------------------------------------------------------------------------------


async def test_a_library_is_renewed_when_it_is_opened_and_nothing_else_changes(earlier):
    await earlier.open()
    assert await uris(earlier) == APART | {OWN.uri}
    found = await call(earlier, "lookup_rule", name="becalmed", documents=["srd-2024"])
    assert [r["uri"] for r in found.structured["results"]] == ["lore://rules/srd-2024/becalmed"]
    best = await call(earlier, "search_lore", query="salted by the words of srd-2014", limit=1)
    assert best.structured["results"][0]["name"] == "Salted"
    assert await renew(earlier.cache, None, ["rules"]) == 0


async def test_an_import_renews_first(earlier, tmp_path):
    (tmp_path / "more.json").write_text(json.dumps([becalmed("srd-2014", name="Sunk")]))
    report = await earlier.import_paths([tmp_path / "more.json"], dry_run=True)
    assert "lore://rules/core/salted" in await uris(earlier)
    report = await earlier.import_paths([tmp_path / "more.json"])
    assert report.stored == 1
    assert await uris(earlier) == APART | {OWN.uri, "lore://rules/srd-2014/sunk"}


async def test_entries_of_ones_own_are_never_replaced(earlier):
    mine = make("salted", "Mine.", type="rules", name="Salted", kind="condition", document="srd-2014")
    await earlier.cache.store_entities([mine], "rules")
    await earlier.open()
    assert await uris(earlier) == APART | {OWN.uri, "lore://rules/srd-2014/salted-open5e"}
    assert await earlier.cache.get_entity("rules", "srd-2014", "salted") == mine


async def test_an_entry_that_is_now_another_one_makes_way_for_it(earlier, monkeypatch):
    """As rows of a table do, whose things the list of items has whole."""
    items = [
        replace(make(s, type="equipment", kind="weapon"), source_api="open5e-v2")
        for s in ("oar", "oar-stats", "net-stats")
    ]
    await earlier.cache.store_entities(items, "equipment")

    def as_items(entity: Entity) -> list[Entity]:
        return [replace(entity, slug=entity.slug.removesuffix("-stats"))]

    monkeypatch.setattr("lorekeeper.intake.renewal.renewed", as_items)
    assert await renew(earlier.cache, None, ["equipment"]) == 2
    assert await uris(earlier, "equipment") == {"lore://equipment/own/oar", "lore://equipment/own/net"}
    assert await earlier.cache.get_entity("equipment", "own", "oar") == items[0], "what is there whole is not replaced"
    answer = await call(earlier, "get_entity", uri="lore://equipment/own/oar-stats")
    assert answer.structured["uri"] == "lore://equipment/own/oar"


@pytest.mark.parametrize("step", ["store_entities", "delete_entities"])
async def test_what_is_interrupted_loses_nothing_and_is_continued(earlier, monkeypatch, step):
    async def interrupted(*_: object) -> int:
        raise CacheError("interrupted")

    before = await uris(earlier)
    with monkeypatch.context() as patched:
        patched.setattr(earlier.cache, step, interrupted)
        await earlier.open()
    assert await uris(earlier) >= before
    await earlier.open()
    assert await uris(earlier) == APART | {OWN.uri}


async def test_without_a_model_the_library_is_read_as_it_is(earlier, tmp_path):
    def no_model() -> HashingProvider:
        raise EmbeddingError("the model cannot be had")

    backend = "milvus" if (tmp_path / "milvus.db").exists() else "sqlite"
    await earlier.close()
    async with open_library(tmp_path, EmbeddingService(no_model), backend) as library:
        with pytest.raises(EmbeddingError):
            await library.open()
        assert len(await uris(library)) == 3
        answer = await call(library, "get_entity", uri="lore://rules/core/salted")
        assert answer.structured["uri"] == "lore://rules/core/salted"


async def test_of_several_processes_one_renews(tmp_path, address):
    async with server_library(tmp_path, address) as one, server_library(tmp_path, address) as other:
        await one.cache.store_entities([whole(obj) for obj in CONDITIONS], "rules")
        with sync_lock(state_path(one)), pytest.raises(CacheError, match="another process"):
            await renew(other.cache, other.source, ["rules"])
        numbers = await asyncio.gather(
            *(renew(library.cache, library.source, ["rules"]) for library in (one, other)), return_exceptions=True
        )
        assert sum(n for n in numbers if isinstance(n, int)) == 2
        assert await uris(other) == APART


# --- earlier addresses -----------------------------------------------------------------------------------------------


async def test_an_earlier_address_leads_to_the_house_editions_entry(earlier):
    await earlier.open()
    answer = await call(earlier, "get_entity", uri="lore://rules/core/becalmed")
    assert answer.structured["uri"] == "lore://rules/srd-2024/becalmed"
    for document in ("srd-2014", "a5e-ag"):
        assert f"lore://rules/{document}/becalmed" in answer.structured["note"]
        assert f"lore://rules/{document}/becalmed" in answer.text
    earlier.searcher.documents.edition = ("2014",)
    answer = await call(earlier, "get_entity", uri="lore://rules/core/salted")
    assert answer.structured["uri"] == "lore://rules/srd-2014/salted"
    assert "by the words of srd-2014" in answer.text
    assert "by the words of srd-2024" not in answer.text
