"""What the hosts of models ask of a tool's schema, and what they send: the rules of each, over the list that a client gets."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from mcp import Client

from lorekeeper.library import Library
from lorekeeper.server.mcp import build_server
from lorekeeper.server.tools import all_tools
from tests.support.asking import asked
from tests.support.libraries import sample_library
from tests.support.samples import ALMANAC, ATLAS

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}

WORDS = frozenset("type description enum properties required items".split())
"""The words of a schema that both the Gemini API and OpenAI's strict mode take, with one type a parameter."""


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    async with sample_library(tmp_path_factory.mktemp("hosts"), "sqlite") as opened:
        yield opened


async def listed(library: Library) -> dict[str, dict[str, Any]]:
    """The schemas of tools by name, as a client gets them."""
    async with Client(build_server(library)) as client:
        tools = (await client.list_tools()).tools
    return {tool.name: dict(tool.input_schema) for tool in tools}


async def test_an_answer_is_text_alone_and_json_only_where_that_is_asked_for(library):
    """Hosts differ in which of the two they give a model."""
    async with Client(build_server(library)) as client:
        assert all(tool.output_schema is None for tool in (await client.list_tools()).tools)
        for tool, arguments in CALLS:
            told = await client.call_tool(tool, arguments)
            assert told.structured_content is None
            assert "lore://" not in told.content[0].text
            given = await asked(client, tool, **arguments)
            assert "null" not in json.dumps({key: each for key, each in given.items() if key not in ("facts", "texts")})
        assert (await asked(client, "roll", what="2d6", seed=3)).keys() == {"dice", "numbers", "fell"}
        assert (await client.call_tool("roll", {"what": "2d6", "seed": 3})).content[0].text.startswith("2d6: ")


LANDING = f"lore://spells/{ATLAS}/soft-landing"

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("get_entity", {"uri": LANDING.replace("-landing", "%20landin")}),
    ("get_entity", {"uri": LANDING, "section": "No Such Section"}),
    ("compare_entries", {"uris": [LANDING, LANDING]}),
    ("lookup_spell", {"similar_to": f"{LANDING}s"}),
    ("roll", {"what": LANDING}),
]
"""Calls that are errors."""


async def test_an_error_has_an_address_in_the_place_of_each_uri(library):
    async with Client(build_server(library)) as client:
        results = [await client.call_tool(tool, arguments) for tool, arguments in WRONG]
    told = "\n".join(result.content[0].text for result in results if result.is_error)
    assert len(told.splitlines()) == len(WRONG)
    assert not re.search("lore://|%20", told)
    assert LANDING.removeprefix("lore://") in told.splitlines()[0], "the entry that was meant"


HINTED: list[tuple[str, dict[str, Any]]] = [
    *((tool, {"order": "random", "limit": 1}) for tool in ("lookup_creature", "lookup_equipment")),
    ("search_lore", {"query": "roll a treasure hoard"}),
    ("search_lore", {"query": "who of us has the best passive perception"}),
    ("lookup_spell", {"where": "level:1 nonsense>3"}),
    *WRONG,
]
"""Calls whose answers say how to go on."""


async def test_a_parameter_that_an_answer_names_is_one_that_a_model_reads_of(library):
    """Of the tool that is named before it in the line, else of the one that was called."""
    schemas = await listed(library)
    known = {name for tool in all_tools() for name in tool.arguments.model_fields}
    named = []
    async with Client(build_server(library)) as client:
        for tool, arguments in HINTED:
            for line in (await client.call_tool(tool, arguments)).content[0].text.splitlines():
                for match in re.finditer(r"\b(\w+)=", line):
                    *_, asked = [tool, *(each for each in re.findall(r"\w+", line[: match.start()]) if each in schemas)]
                    named += [(asked, match[1])] if match[1] in known else []
    assert {name for _, name in named} >= {"seed", "offset", "order"}
    assert [(tool, name) for tool, name in named if name not in schemas[tool]["properties"]] == []


async def answer(library: Library, tool: str, arguments: dict[str, Any]) -> str:
    async with Client(build_server(library)) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return str(result.content[0].text)


def within(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema, and those in it."""
    yield schema
    for part in (*schema.get("properties", {}).values(), schema.get("items")):
        if part is not None:
            yield from within(part)


async def test_gemini_and_openai_take_every_schema(library):
    schemas = await listed(library)
    assert schemas
    for name, schema in schemas.items():
        assert re.fullmatch(r"[a-zA-Z_][\w.-]{0,63}", name)
        assert set(schema.get("required", [])) <= set(schema["properties"])
        for part in within(schema):
            assert part.keys() <= WORDS, (name, part)
            assert part["type"] in JSON_TYPES, (name, part)
            assert part["type"] == "string" or "enum" not in part, (name, part)
            assert ("items" in part) == (part["type"] == "array"), (name, part)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_lore", {"query": "fog", "wordings": ["mist", "haze"], "types": ["spells"]}),
    ("lookup_spell", {"class_key": "wizard", "level": 2, "concentration": False, "detail": "full"}),
    ("lookup_creature", {"cr": "1/4", "semantic_query": "a dog"}),
    ("lookup_creature", {"where": "cr>=0.25", "environment": "swamp, coast", "documents": [ATLAS]}),
    ("plan_encounter", {"party": "4x3", "monsters": ["2 mire hulk"]}),
    ("compare_entries", {"name": "soft landing"}),
]
"""Calls as a model writes them by the schemas."""


async def test_cursor_lets_calls_by_the_schema_pass_and_they_are_answered(library):
    schemas = await listed(library)
    for tool, arguments in CALLS:
        for name, value in arguments.items():
            declared = schemas[tool]["properties"][name]["type"]
            assert isinstance(declared, str), (tool, name)  # its check compares the type of the value with this
            assert isinstance(value, JSON_TYPES[declared]), (tool, name)
        assert await answer(library, tool, arguments)


ALIKE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("lookup_spell", {"class_key": "wizard, druid"}, {"class_key": ["wizard", "druid"]}),
    ("lookup_spell", {"class_key": '["wizard", "druid"]'}, {"class_key": ["wizard", "druid"]}),
    ("lookup_spell", {"level": "1, 3"}, {"level": [1, 3]}),
    ("lookup_spell", {"level": ["1", "3"]}, {"level": [1, 3]}),
    ("lookup_spell", {"school": "evocation,illusion"}, {"school": ["evocation", "illusion"]}),
    ("lookup_spell", {"name": ["landing"], "limit": "5", "ritual": "false"}, {"name": "landing", "ritual": False}),
    ("lookup_spell", {"name": "null", "level": "3", "school": " NULL "}, {"level": 3}),
    ("lookup_spell", {"documents": ["null"], "class_key": ["druid", "null", ""]}, {"class_key": "druid"}),
    (
        "lookup_spell",
        {"documents": f"{ATLAS}, {ALMANAC}", "seed": "null", "offset": ""},
        {"documents": [ATLAS, ALMANAC]},
    ),
    ("lookup_creature", {"cr": "1/4, 5"}, {"cr": [0.25, 5]}),
    ("lookup_creature", {"cr": 5, "cr_min": "1/8"}, {"cr": "5"}),
    ("lookup_creature", {"cr": "0.25", "wordings": ["null"]}, {"cr": 0.25}),
    ("lookup_equipment", {"rarity": "uncommon, very rare"}, {"rarity": ["uncommon", "very rare"]}),
    ("lookup_creature", {"semantic_query": ["a dog", "salt"]}, {"semantic_query": "a dog", "wordings": ["salt"]}),
    ("lookup_creature", {"wordings": "a dog"}, {"semantic_query": "a dog"}),
    ("search_lore", {"query": ["a lamp", "storm"]}, {"query": "a lamp", "wordings": ["storm", "a lamp"]}),
    ("search_lore", {"query": "ash", "types": ["null"]}, {"query": "ash"}),
    ("search_lore", {"query": "ash", "types": "spells,creatures"}, {"query": "ash", "types": ["spells", "creatures"]}),
    (
        "plan_encounter",
        {"party": [3, 3, 4], "monsters": "2 mire hulk"},
        {"party": "3,3,4", "monsters": ["2 mire hulk"]},
    ),
    (
        "plan_encounter",
        {"party": '["3", "3"]', "monsters": ["ash drake"]},
        {"party": [3, 3], "monsters": ["ash drake"]},
    ),
]
"""Two calls of a tool that mean the same."""


@pytest.mark.parametrize(("tool", "sent", "meant"), ALIKE, ids=lambda value: str(value)[:50])
async def test_what_hosts_send_is_understood(library, tool, sent, meant):
    assert await answer(library, tool, sent) == await answer(library, tool, meant)


async def test_a_name_may_have_commas_and_a_required_text_may_be_the_word_null(library):
    text = await answer(library, "lookup_character_option", {"parent": "tidecaller, of the sea"})
    assert "Oath" not in text  # neither of "tidecaller"
    assert await answer(library, "search_lore", {"query": "null"})
