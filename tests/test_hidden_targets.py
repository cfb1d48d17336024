"""Links that show something else than where they lead: who does not see the target receives only the words that are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lorekeeper.audience import Viewer
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.server.tools import all_tools
from tests.support.commands import environment, run_inside
from tests.support.serving import http_server
from tests.support.vaults import vault_library, write

ANYBODY, ANA = Viewer.player(), Viewer.player("Ana")
TOOLS = {tool.name: tool for tool in all_tools()}


async def answer(library: Library, viewer: Viewer, tool: str, **arguments: Any) -> str:
    """What a call gives a viewer, as text."""
    try:
        found = await TOOLS[tool].run(library.view(viewer), TOOLS[tool].check(arguments))
    except LoreKeeperError as error:
        return str(error)
    return json.dumps(found.structured) + found.text


STRANGER = """---
visibility: players
patron: "[[Azal the Lich|a friend]]"
---
# Mira

A hooded [[Azal the Lich|stranger]] pays. So does [another](../dm/Lady%20Vex.md), and [a third][3].

She knows [[Keep|the keep]], [[Keep#Under the lich's throne|its hall]] and [[Nowhere]].

![[Azal the Lich|a portrait]]

[3]: ../dm/Lady%20Vex.md
"""
HIDDEN = ("azal", "vex", "lich", "../dm", "dm/", "throne")
NOTES = {
    "npcs/Mira.md": STRANGER,
    "npcs/Keep.md": "---\nvisibility: players\n---\n# Keep\n\nTowers above the reeds.\n",
    "dm/Azal the Lich.md": "# Azal the Lich\n\nHe sleeps below [[Mira]].\n",
    "dm/Lady Vex.md": "# Lady Vex\n\nShe leads the cult of [[Keep]].\n",
}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("lookup_note", {"links_to": "xyz"}),
    ("lookup_note", {"links_to": "Azal the Lihc"}),
    ("lookup_note", {"links_to": "Azal the Lich"}),
    ("lookup_note", {"links_to": "dm/Lady Vex"}),
    ("lookup_note", {"where": 'links:"azal the lich"'}),
    ("lookup_note", {"where": 'links:"xyz"'}),
    ("lookup_note", {"name": "Mira", "detail": "full"}),
    ("lookup_note", {"similar_to": "lore://notes/saga/npcs%2FKeep.md"}),
    ("search_lore", {"query": "who is the hooded stranger"}),
    ("gather_topic", {"topic": "Mira"}),
    ("gather_topic", {"topic": "Keep"}),
    ("get_entity", {"uri": "lore://notes/saga/npcs%2FMira.md"}),
    ("get_entity", {"uri": "lore://notes/saga/npcs%2FKeep.md"}),
]


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_the_target_of_a_link_that_shows_something_else_is_in_no_answer(backend: str, tmp_path: Path) -> None:
    async with vault_library(tmp_path, [write(tmp_path / "saga", NOTES)], backend) as library:
        await library.vaults.sync()
        for tool, arguments in ASKED:
            given = (await answer(library, ANYBODY, tool, **arguments)).lower()
            for asked in ("azal the lihc", "azal the lich", "dm/lady vex"):
                given = given.replace(asked, "") if asked in str(arguments).lower() else given
            assert [word for word in HIDDEN if word in given] == [], (tool, arguments)
        view = library.view(ANYBODY)
        stored = json.dumps([e.as_record() async for found in view.cache.iterate("notes") for e in found]).lower()
        assert [word for word in HIDDEN if word in stored] == []
        values = (await view.cache.count_values("notes", "links")).counts
        assert set(values) == {
            "stranger",
            "another",
            "a third",
            "a friend",
            "a portrait",
            "npcs/keep",
            "keep",
            "nowhere",
        }
        assert "npcs%2FMira.md" in await answer(library, ANYBODY, "lookup_note", links_to="Keep")
        assert "npcs%2FMira.md" in await answer(library, library.asks, "lookup_note", links_to="Azal the Lich")
        assert "its hall" in await answer(library, ANYBODY, "get_entity", uri="lore://notes/saga/npcs%2FMira.md")


async def test_who_sees_the_target_follows_the_link(tmp_path: Path) -> None:
    notes = {**NOTES, "dm/Azal the Lich.md": "---\nvisibility: [Ana]\n---\n# Azal the Lich\n\nHe sleeps.\n"}
    notes = {path.replace("dm/", "crypt/"): text for path, text in notes.items()}
    async with vault_library(tmp_path, [write(tmp_path / "saga", notes)], "sqlite") as library:
        await library.vaults.sync()
        assert "npcs%2FMira.md" in await answer(library, ANA, "lookup_note", links_to="Azal the Lich")
        assert "npcs%2FMira.md" not in await answer(library, ANYBODY, "lookup_note", links_to="Azal the Lich")
        await library.view(ANA).refresh()
        (mira,) = await library.view(ANA).entities_at("notes", "saga", "npcs/Mira.md")
        written = " ".join(section["written"] for section in mira.data["sections"])
        assert "[[Azal the Lich|stranger]]" in written
        assert "Vex" not in written


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server that a player asks."""
    folder = tmp_path_factory.mktemp("rest")
    write(folder / "saga", NOTES)
    done = run_inside(folder, "vault", "add", str(folder / "saga"), env=environment(folder, CACHE_BACKEND="sqlite"))
    assert done.returncode == 0, done.stderr
    with http_server(folder, CACHE_BACKEND="sqlite", VIEW="player") as url:
        yield url.removesuffix("/mcp")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/search?query=hooded+stranger&types=notes",
        "/api/v1/search?query=hooded&types=notes&links_to=xyz",
        "/api/v1/search?query=hooded&types=notes&links_to=Azal+the+Lihc",
        "/api/v1/topics?q=Mira",
        "/api/v1/entities/notes/saga/npcs%2FMira.md",
        "/api/v1/entities/notes/saga/npcs%2FKeep.md",
        "/entries/notes/saga/npcs%2FMira.md",
        "/entries/notes/saga/npcs%2FKeep.md",
        "/topics?q=Mira",
    ],
)
def test_rest_and_pages_do_not_have_the_target_either(address: str, path: str) -> None:
    answer = httpx.get(address + path, timeout=200)
    told = answer.text.lower().replace("azal the lihc", "").replace("azal+the+lihc", "")
    assert answer.status_code == 200
    assert [word for word in HIDDEN if word in told] == []
