"""Answers that would fill a model's context: cut over MCP with how to read on, whole everywhere else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import jsonschema
import pytest
from mcp import Client

from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.server.cutting import MAX_CHARS, cut_content, cut_text
from lorekeeper.server.mcp import build_server
from lorekeeper.server.tools import all_tools
from tests.support.entities import make
from tests.support.libraries import open_library

ROOM = MAX_CHARS + 2_000
"""What an answer may have with the sentence that says how to read on."""


def hall(name: str) -> Entity:
    sections = "\n\n".join(
        f"## Chamber {each}\n"
        + " ".join(f"The grey dust of {name} lies {each + step} deep here." for step in range(110))
        for each in range(60)
    )
    return make(name.lower(), document="halls", name=f"Hall {name}", type="rules", kind="rule", data={"desc": sections})


@pytest.fixture
async def halls(tmp_path: Path) -> AsyncIterator[Library]:
    async with open_library(tmp_path, backend="sqlite") as library:
        lake = make("lake", document="halls", name="Lake", type="rules", kind="rule", data={"desc": "Cold."})
        await library.cache.store_entities([hall("North"), hall("South"), lake], "rules")
        yield library


NORTH, SOUTH = "lore://rules/halls/north", "lore://rules/halls/south"

CALLS = {
    "get_entity": {"uri": NORTH},
    "compare_entries": {"uris": [NORTH, SOUTH]},
    "lookup_rule": {"name": "Hall", "detail": "full"},
    "search_lore": {"query": "grey dust", "detail": "full"},
    "gather_topic": {"topic": "Hall North"},
}


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", CALLS)
async def test_an_answer_of_a_tool_is_cut_and_says_how_to_read_on(halls, name):
    async with Client(build_server(halls)) as client:
        result = await client.call_tool(name, CALLS[name])
    text, content = result.content[0].text, result.structured_content
    assert not result.is_error
    assert len(text) < ROOM
    assert len(json.dumps(content, ensure_ascii=False)) < ROOM
    jsonschema.validate(content, next(tool.output for tool in all_tools() if tool.name == name))
    if name != "gather_topic":  # a dossier is short by itself
        assert "search_lore" in text
        assert "Left out, among others: Chamber" in text
        assert "halls" in text[:2_000], "the source stands before what is cut"


async def test_a_resource_is_cut_too(halls):
    async with Client(build_server(halls)) as client:
        text = (await client.read_resource(NORTH)).contents[0].text
    assert len(text) < ROOM
    assert "To read on" in text


async def test_short_answers_are_left_as_they_are(halls):
    async with Client(build_server(halls)) as client:
        result = await client.call_tool("get_entity", {"uri": "lore://rules/halls/lake"})
    assert "cut" not in result.content[0].text
    assert "[cut:" not in json.dumps(result.structured_content)


def test_a_text_is_cut_after_a_line_so_that_marks_stay_before_what_they_mark():
    text = "(secret: GM Notes)\n" + "one line of it\n" * (MAX_CHARS // 10)
    kept = cut_text(text).partition("\n\nThis answer was cut")[0]
    assert text.startswith(kept)
    assert kept.endswith("one line of it")
    assert cut_text("short") == "short"


@pytest.mark.parametrize(
    "value",
    ["a" * 10**6, ["word " * 1_000] * 500, [{"desc": "x" * 900}] * 5_000, {str(n): ["y"] * 99 for n in range(9_000)}],
)
def test_content_of_any_shape_is_cut_to_the_limit(value):
    content = {"uri": "lore://rules/x/y", "entity": value, "note": None}
    cut = cut_content(content, {"properties": {"note": {}}})
    assert len(json.dumps(cut)) < ROOM
    assert cut["uri"] == "lore://rules/x/y"
    assert "To read on" in cut["note"]
    assert content["note"] is None
    assert cut_content({"entity": "short"}, {}) == {"entity": "short"}
