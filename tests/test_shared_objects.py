"""Objects that several documents share are split: each document gets its own words, at import and by a sync."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from tests.support.entities import everything
from tests.support.libraries import server_library
from tests.support.open5e_server import Open5eServer, book, lists
from tests.support.syncing import address  # noqa: F401 (a fixture)

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


CONDITIONS = [becalmed(*BOOKS), becalmed("srd-2014", "srd-2024", name="Salted")]
APART = {f"lore://rules/{d}/becalmed" for d in BOOKS} | {f"lore://rules/{d}/salted" for d in BOOKS[:2]}


async def uris(library: Library, entity_type: str = "rules") -> set[str]:
    return {e.uri for e in await everything(library.cache, entity_type)}


# --- taken apart -----------------------------------------------------------------------------------------------------


def test_an_object_of_several_documents_gives_each_its_own_words():
    parts = {e.document: e for e in normalize(CONDITIONS[0])}
    assert list(parts) == list(BOOKS)
    for document, entity in parts.items():
        assert (entity.slug, entity.name, entity.kind) == ("becalmed", "Becalmed", "condition")
        assert [d["document"] for d in entity.data["descriptions"]] == [document]
        assert normalize(entity.data) == [entity], "what is stored gives the same entity again"


def test_an_import_under_one_document_keeps_it_whole():
    (entity,) = normalize(CONDITIONS[0], document="my-table")
    assert (entity.document, len(entity.data["descriptions"])) == ("my-table", 3)


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
