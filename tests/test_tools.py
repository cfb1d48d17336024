"""The tools, in process: what they take, what they refuse, what they answer."""

from __future__ import annotations

import ast
import functools
import json
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.server.answers import Answer
from lorekeeper.server.tools import all_tools
from tests.support.libraries import open_library, sample_library
from tests.support.samples import ALMANAC, ATLAS, SAMPLES, TITLES, write_lines

PAGING = "similar_to where order seed documents limit offset detail"
PARAMETERS = {
    "lookup_spell": "name level level_min level_max school class_key ritual concentration casting_time damage_type "
    f"semantic_query {PAGING}",
    "lookup_creature": "name cr cr_min cr_max type size alignment armor_class_min hit_points_min environment "
    f"semantic_query {PAGING}",
    "lookup_equipment": "name kind category rarity requires_attunement cost_min cost_max weight_max damage_type property "
    f"semantic_query {PAGING}",
    "lookup_character_option": f"name kind parent semantic_query {PAGING}",
    "lookup_rule": f"name kind parent semantic_query {PAGING}",
    "lookup_note": f"name kind folder tags modified_after modified_before session links_to semantic_query order {PAGING}",
    "search_lore": f"query types {PAGING}",
    "gather_topic": "topic types limit detail",
    "compare_entries": "uris name detail",
    "plan_encounter": "party difficulty rules monsters environment type cr_min cr_max where semantic_query documents seed detail",
    "get_entity": "uri section offset roll detail",
    "list_documents": "type detail",
}
"""Parameters that clients may rely on: others may be added, as README lists them, but none of these may go."""

EVERYWHERE = "name semantic_query wordings where edition documents limit offset detail"
LISTED = {
    "lookup_spell": f"{EVERYWHERE} level school class_key concentration",
    "lookup_creature": f"{EVERYWHERE} cr type environment order seed",
    "lookup_equipment": f"{EVERYWHERE} kind rarity order seed",
    "lookup_character_option": f"{EVERYWHERE} kind parent",
    "lookup_rule": f"{EVERYWHERE} kind",
    "lookup_note": f"{EVERYWHERE} kind session tags order",
    "lookup_character": f"{EVERYWHERE} order seed",
    "search_lore": "query wordings types where edition documents limit offset detail",
    "gather_topic": "topic types limit",
    "compare_entries": "uris name",
    "plan_encounter": "party difficulty rules monsters where semantic_query documents",
    "get_entity": "uri section offset roll",
    "roll": "what table times",
    "list_documents": "type",
}
"""Parameters that models read of; the others work too."""

REQUIRED = {"search_lore": ["query"], "gather_topic": ["topic"], "get_entity": ["uri"], "roll": ["what"]}
TOOLS = {tool.name: tool for tool in all_tools()}
RESULT_KEYS = set("uri name type kind document document_name edition score match section facts snippet".split())

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", params=["milvus", "sqlite"])
async def library(request, tmp_path_factory):
    async with sample_library(tmp_path_factory.mktemp("tools"), request.param) as opened:
        yield opened


async def call(library: Library, tool: str, **arguments: Any) -> Answer:
    return await TOOLS[tool].run(library, TOOLS[tool].check(arguments))


def as_json(answer: Answer) -> str:
    return json.dumps(answer.structured, ensure_ascii=False)


async def found(library: Library, tool: str, **arguments: Any) -> list[str]:
    """Names of the results, and a look at what every answer must have."""
    answer = await call(library, tool, **arguments)
    content = answer.structured
    assert set(content) == {"results", "total", "mode", "next_offset", "note"}
    for result in content["results"]:
        assert set(result) >= RESULT_KEYS
        assert result["document_name"] == TITLES[result["document"]]
        for essential in (result["name"], result["document"]):
            assert essential in answer.text
    return sorted(r["name"] for r in content["results"])


# --- what they take --------------------------------------------------------------------------------------------------


async def test_no_parameter_is_missing_and_models_read_of_those_that_they_need():
    assert set(LISTED) == set(TOOLS)
    for name, tool in TOOLS.items():
        schema = tool.input_schema
        assert set(PARAMETERS.get(name, "").split()) <= tool.arguments.model_fields.keys()
        assert set(schema["properties"]) == set(LISTED[name].split())
        assert schema.get("required", []) == REQUIRED.get(name, [])


MOST_TOKENS, CHARACTERS_A_TOKEN = 2_300, 4
"""Most tokens of the list of tools, and characters of a token of JSON: of cl100k it has some 5 here."""


async def test_all_that_describes_the_tools_stays_small():
    listed = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in TOOLS.values()
    ]
    assert len(json.dumps(listed, separators=(",", ":"))) / CHARACTERS_A_TOKEN < MOST_TOKENS


@pytest.mark.parametrize(
    ("tool", "wrong", "meant"),
    [
        ("lookup_spell", "levl", "level"),
        ("lookup_spell", "class", "class_key"),
        ("lookup_creature", "crmin", "cr_min"),
        ("lookup_equipment", "properties", "property"),
        ("search_lore", "type", "types"),
        ("get_entity", "url", "uri"),
    ],
)
async def test_an_unknown_parameter_is_refused_with_the_nearest_and_all_known(tool, wrong, meant):
    with pytest.raises(LoreKeeperError) as caught:
        TOOLS[tool].check(dict.fromkeys(REQUIRED.get(tool, []), "x") | {wrong: 3})
    message = str(caught.value)
    assert f"did you mean {meant!r}" in message
    assert wrong in message
    assert all(parameter in message for parameter in PARAMETERS[tool].split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 51}, "limit must be at most 50, not 51"),
        ({"limit": 0, "offset": -1}, "limit must be at least 1, not 0; offset must be at least 0, not -1"),
        ({"level": "x"}, "level must be a whole number or a list, not 'x'"),
        ({"level": [1, "x"]}, "level must be a whole number, not [1, 'x']"),
        ({"level_min": 1.5}, "level_min must be a whole number, not 1.5"),
        ({"ritual": "perhaps"}, "ritual must be true or false, not 'perhaps'"),
        ({"detail": "all"}, "detail must be 'concise', 'full' or 'json', not 'all'"),
        ({"school": 3}, "school must be a text or a list, not 3"),
        ({"name": "x" * 501}, "name must be a text of at most 500 characters"),
        ({"semantic_query": []}, "semantic_query must be a text or a non-empty list, not []"),
        ({"query": "fire"}, "query is not a parameter of lookup_spell; use name or semantic_query"),
        ({"range": 60}, "range is not a parameter of lookup_spell; use where, for example where='range:VALUE'"),
    ],
)
async def test_what_is_wrong_is_said_in_plain_words(arguments, message):
    with pytest.raises(LoreKeeperError) as refused:
        TOOLS["lookup_spell"].check(arguments)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lookup_creature", {"cr": "a lot"}),
        ("lookup_creature", {"cr": "1/0"}),
        ("lookup_creature", {"cr": float("nan")}),
        ("lookup_creature", {"cr_min": float("inf")}),
        ("lookup_equipment", {"cost_max": "cheap"}),
        ("lookup_equipment", {"name": "bow\0"}),
    ],
)
async def test_a_number_that_is_none_is_refused(library, tool, arguments):
    with pytest.raises(LoreKeeperError, match=r"must (be a number|have no NUL)"):
        await call(library, tool, **arguments)


# --- lookups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
async def test_b21_half_a_pair_in_any_argument_is_refused_with_a_reason(library, text):
    arguments = [(tool.name, name) for tool in TOOLS.values() for name in tool.arguments.model_fields]
    assert len(arguments) > len(TOOLS)
    for tool, name in arguments:
        for value in (text, [text]):
            with pytest.raises(LoreKeeperError) as refused:
                await call(library, tool, **dict.fromkeys(REQUIRED.get(tool, []), "x") | {name: value})
            assert str(refused.value).encode()


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        ("lookup_spell", "level school class_key damage_type documents"),
        ("lookup_creature", "cr type size environment documents"),
    ],
)
async def test_an_empty_list_that_nothing_meets_is_named(library, tool, names):
    for name in names.split():
        answer = await call(library, tool, **{name: []})
        assert answer.structured["results"] == []
        assert f"{name} is an empty list" in answer.text
        assert "leave it out" in answer.text
        assert "The library has no" not in answer.text


@pytest.mark.parametrize("rating", [0.25, "1/4", "0.25", " 2/8 "])
async def test_a_challenge_rating_may_be_a_fraction_or_a_decimal(library, rating):
    assert await found(library, "lookup_creature", cr=rating) == ["Brine Hound", "Lamp Wight"]


LOOKUPS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("lookup_spell", {"name": "LANDING"}, ["Soft Landing", "Soft Landing"]),
    ("lookup_spell", {"level": 0}, ["Ember Whisper"]),
    ("lookup_spell", {"level_min": 1, "level_max": 1}, ["Lantern of Hush", "Soft Landing"]),
    ("lookup_spell", {"school": "EVOCATION"}, ["Tide Lance"]),
    ("lookup_spell", {"class_key": "wizard"}, ["Soft Landing", "Soft Landing", "Tide Lance"]),
    ("lookup_spell", {"class_key": "srd-2024_wizard"}, ["Soft Landing", "Soft Landing", "Tide Lance"]),
    ("lookup_spell", {"ritual": True}, ["Lantern of Hush"]),
    ("lookup_spell", {"ritual": False}, ["Ember Whisper", "Soft Landing", "Soft Landing", "Tide Lance"]),
    ("lookup_spell", {"concentration": True}, ["Ash Storm", "Lantern of Hush"]),
    ("lookup_spell", {"level": [0, 3]}, ["Ash Storm", "Ember Whisper"]),
    ("lookup_spell", {"school": ["evocation", "Illusion"]}, ["Ember Whisper", "Tide Lance"]),
    ("lookup_spell", {"class_key": ["cleric", "druid"]}, ["Ash Storm", "Lantern of Hush", "Tide Lance"]),
    ("lookup_creature", {"cr": [8, "1/8"]}, ["Ash Drake", "Half-Elf Courier"]),
    ("lookup_spell", {"documents": ALMANAC, "level_min": 2}, ["Ash Storm", "Soft Landing"]),
    ("lookup_spell", {"where": "-ritual level>=2"}, ["Soft Landing", "Tide Lance"]),
    ("lookup_spell", {"casting_time": "action"}, ["Ash Storm", "Ember Whisper", "Tide Lance"]),
    ("lookup_spell", {"casting_time": "10minutes"}, ["Lantern of Hush"]),
    ("lookup_spell", {"damage_type": "Fire"}, ["Ash Storm"]),
    ("lookup_spell", {"documents": [ALMANAC], "level_min": 2}, ["Ash Storm", "Soft Landing"]),
    ("lookup_spell", {"documents": [ALMANAC, ATLAS], "level": 1}, ["Lantern of Hush", "Soft Landing"]),
    ("lookup_spell", {"documents": []}, []),
    ("lookup_creature", {"cr_min": "1/4", "cr_max": 5}, ["Brine Hound", "Lamp Wight", "Mire Hulk"]),
    ("lookup_creature", {"cr_max": "1/8"}, ["Half-Elf Courier"]),
    ("lookup_creature", {"type": "Dragon"}, ["Ash Drake"]),
    ("lookup_creature", {"size": "medium", "armor_class_min": 12}, ["Brine Hound", "Half-Elf Courier"]),
    ("lookup_creature", {"alignment": "Chaotic-Evil"}, ["Ash Drake", "Mire Hulk"]),
    ("lookup_creature", {"hit_points_min": 84}, ["Ash Drake", "Mire Hulk"]),
    ("lookup_creature", {"environment": "swamp"}, ["Brine Hound", "Mire Hulk"]),
    ("lookup_creature", {"name": "half_elf"}, ["Half-Elf Courier"]),
    ("lookup_equipment", {"kind": "magic-item"}, ["Bottomless Satchel", "Ring of Warm Hands"]),
    ("lookup_equipment", {"kind": "Magic Item"}, ["Bottomless Satchel", "Ring of Warm Hands"]),
    ("lookup_equipment", {"category": "ring"}, ["Ring of Warm Hands"]),
    ("lookup_equipment", {"category": "Wondrous-Item"}, ["Bottomless Satchel"]),
    ("lookup_equipment", {"category": "wondrous_item"}, ["Bottomless Satchel"]),
    ("lookup_equipment", {"rarity": "Very-Rare"}, ["Ring of Warm Hands"]),
    ("lookup_equipment", {"requires_attunement": False}, ["Bottomless Satchel"]),
    ("lookup_equipment", {"cost_min": 8}, ["Driftwood Shield", "Gullfeather Bow"]),
    ("lookup_equipment", {"cost_max": 0.5}, ["Tar Lamp"]),
    ("lookup_equipment", {"weight_max": 6.4}, ["Bottomless Satchel", "Gullfeather Bow", "Tar Lamp"]),
    ("lookup_equipment", {"damage_type": "piercing"}, ["Gullfeather Bow"]),
    ("lookup_equipment", {"property": "Two Handed"}, ["Gullfeather Bow"]),
    ("lookup_character_option", {"kind": "feat"}, ["Deep Breath"]),
    ("lookup_character_option", {"parent": "Tidecaller"}, ["Oath of the Storm"]),
    ("lookup_character_option", {"name": "lamp"}, ["Lamp Keeper"]),
    ("lookup_rule", {"kind": "condition"}, ["Becalmed"]),
    ("lookup_rule", {"parent": "combat"}, ["Parting Blow"]),
]


@pytest.mark.parametrize("query", [{}, {"semantic_query": "a lamp in the storm"}], ids=["lookup", "search"])
async def test_lookups_and_searches_by_filters(library, query):
    for tool, arguments, expected in LOOKUPS:
        assert await found(library, tool, **arguments, **query) == expected, (tool, arguments)


@pytest.mark.parametrize("arguments", [{"name": "soft landing"}, {"semantic_query": "soft landing"}])
async def test_results_have_the_keys_of_the_contract_and_no_others(library, arguments):
    answer = await call(library, "lookup_spell", **arguments)
    results = answer.structured["results"]
    assert len(results) >= 2
    assert {frozenset(r) - {"differs", "sure"} for r in results} == {
        frozenset(RESULT_KEYS)
    }  # two books word it otherwise


async def test_the_entry_that_has_the_name_is_given_whole_and_the_others_are_named(library):
    named = await call(library, "lookup_spell", name="soft landing")
    first, *others = named.structured["results"]
    entry = await call(library, "get_entity", uri=first["uri"])
    assert entry.text.partition("\n\n")[2] in named.text
    assert others
    assert f"; Soft Landing, {others[0]['document']}: level 1 " in named.text.splitlines()[0]


async def test_a_list_has_an_entry_of_two_books_in_one_row_with_both_addresses(library):
    text = (await call(library, "lookup_spell", level_min=0)).text
    (row,) = [line for line in text.splitlines() if "Soft Landing" in line]
    assert all(f"Soft Landing, {document}" in row for document in (ALMANAC, ATLAS))
    ranked = (await call(library, "search_lore", query="tide", wordings=["ash"])).text
    for names in re.findall(r"^(?:Also|Less sure): (.*)", ranked, re.MULTILINE):
        told = re.sub(r" \([^()]*\)[;.]", ",", names).split(", ")
        assert len(told) == len(set(told))


@pytest.mark.parametrize("query", [{}, {"semantic_query": "a lamp in the storm"}], ids=["lookup", "search"])
async def test_results_come_in_the_order_asked_for(library, query):
    answer = await call(library, "lookup_spell", order="level desc", where="level>=0", **query)
    levels: dict[tuple[str, str], int] = {(e["document"], e["name"]): e["level"] for e in SAMPLES if "level" in e}
    listed = [levels[result["document"], result["name"]] for result in answer.structured["results"]]
    assert listed == sorted(listed, reverse=True)
    assert set(listed) == {0, 1, 2, 3}


async def test_where_restricts_search_lore_to_the_types_that_have_the_field(library):
    answer = await call(library, "search_lore", query="ash lamp tide", where="cr<=1")
    assert {result["type"] for result in answer.structured["results"]} == {"creatures"}
    with pytest.raises(
        FilterError, match=r"level is a filter of spells and characters: .*types=\['spells', 'characters'\]"
    ):
        await call(library, "search_lore", query="ash", types=["rules", "creatures"], where="level:3")


async def test_an_unknown_document_is_refused_with_the_known_ones(library):
    with pytest.raises(FilterError, match=f"no-such-book.*{ALMANAC}, {ATLAS}"):
        await call(library, "lookup_spell", documents=["no-such-book"])
    with pytest.raises(FilterError, match=f"is the title of {ALMANAC}$"):
        await call(library, "lookup_spell", documents=[TITLES[ALMANAC].upper()])


async def test_pages_follow_next_offset(library):
    first = await call(library, "lookup_spell", limit=5)
    second = await call(library, "lookup_spell", limit=5, offset=first.structured["next_offset"])
    assert "offset=5" in first.text
    assert first.structured["total"] == second.structured["total"] == 7
    assert second.structured["next_offset"] is None
    uris = [r["uri"] for page in (first, second) for r in page.structured["results"]]
    assert len(set(uris)) == 7


async def test_full_detail_brings_the_whole_entry_and_its_page(library):
    answer = await call(library, "lookup_spell", name="tide lance", detail="full")
    (result,) = answer.structured["results"]
    entry = next(entry for entry in SAMPLES if entry["name"] == "Tide Lance")
    assert result["entity"].items() <= entry.items()
    assert result["entity"]["description"] == entry["description"]
    assert f"   {entry['description']}" in answer.text.splitlines()


async def test_similar_to_finds_entries_like_another_and_not_that_one(library):
    (uri,) = [r["uri"] for r in (await call(library, "lookup_spell", name="tide lance")).structured["results"]]
    answer = await call(library, "lookup_spell", similar_to=uri, limit=3)
    assert "Entries like Tide Lance" in answer.text
    assert len(answer.structured["results"]) == 3
    assert uri not in [r["uri"] for r in answer.structured["results"]]
    filtered = await call(library, "lookup_spell", similar_to=uri, semantic_query="ash", level_max=0)
    assert {r["name"] for r in filtered.structured["results"]} == {"Ember Whisper"}
    lore = await call(library, "search_lore", query="a storm", similar_to=uri)
    assert lore.structured["results"]
    with pytest.raises(FilterError, match="no-such"):
        await call(library, "lookup_spell", similar_to="lore://spells/no-such/entry")


async def test_nothing_found_is_said(library):
    answer = await call(library, "lookup_spell", level=9)
    assert "Nothing found" in answer.text
    assert (answer.structured["results"], answer.structured["total"]) == ([], 0)


# --- search_lore, get_entity, list_documents -------------------------------------------------------------------------


async def test_search_lore_goes_over_all_types_but_documents(library):
    answer = await call(library, "search_lore", query="ash lamp tide blow deep", limit=50)
    assert {r["type"] for r in answer.structured["results"]} == {e["collection"] for e in SAMPLES} - {"documents"}
    assert answer.structured["mode"] == "hybrid"


async def test_search_lore_stays_within_types_and_documents(library):
    answer = await call(library, "search_lore", query="ash", types=["rules", "spells"], documents=[ALMANAC])
    results = answer.structured["results"]
    assert {r["type"] for r in results} == {"rules", "spells"}
    assert {r["document"] for r in results} == {ALMANAC}


async def test_an_empty_text_counts_as_not_given_where_none_is_required(library):
    given = {"name": "", "school": " ", "semantic_query": "", "where": "", "edition": "", "documents": "", "level": 1}
    assert TOOLS["lookup_spell"].check(given) == {"level": 1}
    assert (await call(library, "lookup_spell", **given)).text == (await call(library, "lookup_spell", level=1)).text
    assert "name" not in TOOLS["lookup_spell"].check({"name": None})


async def test_each_description_has_a_call_that_works(library):
    for name, tool in TOOLS.items():
        example = tool.description.partition("Example: ")[2].removesuffix(".")
        example_call = ast.parse(f"f({example})", mode="eval").body
        assert isinstance(example_call, ast.Call)
        arguments = {str(each.arg): ast.literal_eval(each.value) for each in example_call.keywords}
        assert set(arguments) <= set(tool.input_schema["properties"]), name
        assert tool.check(arguments) == arguments


@pytest.mark.parametrize(
    ("tool", "query"),
    [
        ("search_lore", ""),
        ("search_lore", "  "),
        *((t, "x" * n) for t in ("search_lore", "lookup_rule") for n in (2001, 10_000)),
    ],
)
async def test_an_empty_or_overlong_query_is_refused_and_says_what_is_read(library, tool, query):
    with pytest.raises(FilterError, match=r"empty|at most 2,000"):
        await call(library, tool, **{"query" if tool == "search_lore" else "semantic_query": query})


async def test_get_entity_gives_the_whole_entry_with_source_and_licence(library):
    uri = f"lore://spells/{ATLAS}/soft-landing"
    answer = await call(library, "get_entity", uri=uri)
    entry = next(e for e in SAMPLES if e["name"] == "Soft Landing" and e["document"] == ATLAS)
    content = answer.structured
    assert content["uri"] == uri
    assert content["entity"].items() <= entry.items()
    assert (content["document"], content["document_name"]) == (ATLAS, TITLES[ATLAS])
    assert content["licenses"] == ["CC-BY-4.0"]
    for essential in (f"Soft Landing, {ATLAS}", entry["description"], TITLES[ATLAS], "CC-BY-4.0"):
        assert essential in answer.text


async def test_get_entity_takes_a_name_for_a_uri(library):
    uri = (await call(library, "lookup_spell", name="tide lance", limit=1)).structured["results"][0]["uri"]
    assert (await call(library, "get_entity", uri=" Tide Lance ")).structured["uri"] == uri


@pytest.mark.parametrize(
    "address", [f"Soft Landing, {ATLAS}", f"spells/{ATLAS}/soft-landing", f"lore://spells/{ATLAS}/soft-landing"]
)
async def test_an_address_reads_its_entry_wherever_one_is_asked_for(library, address):
    uri = f"lore://spells/{ATLAS}/soft-landing"
    assert (await call(library, "get_entity", uri=address)).structured["uri"] == uri
    compared = await call(library, "compare_entries", uris=[address, f"Tide Lance, {ATLAS}"])
    assert compared.structured["entries"][0]["uri"] == uri
    assert "Entries like Soft Landing" in (await call(library, "lookup_spell", similar_to=address)).text


async def test_every_address_of_an_answer_can_be_read(library):
    text = (await call(library, "search_lore", query="ash tide lamp")).text
    addresses = re.findall(rf"^- (?:.* \| )?(.+?(?:, |/)(?:{ATLAS}|{ALMANAC})\S*) \(", text, re.MULTILINE)
    assert len(addresses) > 1
    for address in addresses:
        assert address in (await call(library, "get_entity", uri=address)).text


async def test_a_comparison_does_not_say_that_there_is_none_of_what_a_source_leaves_out(library):
    uris = [(await call(library, tool)).structured["results"][0]["uri"] for tool in ("lookup_spell", "lookup_creature")]
    answer = await call(library, "compare_entries", uris=uris)
    assert "- Armor Class: A: not stated | B: " in answer.text
    assert ": none" not in answer.text


@pytest.mark.parametrize(
    ("uri", "advice"),
    [
        ("fireball", "no entry is called 'fireball'"),
        ("", "lore://TYPE/DOCUMENT/SLUG"),
        ("https://spells/a/b", "lore://TYPE/DOCUMENT/SLUG"),
        ("lore://spels/a/b", "spells, creatures"),
        ("lore://spells/a", "lore://TYPE/DOCUMENT/SLUG"),
        ("lore://spells/a/b/c", "lookup_spell"),
        ("lore://spells//tide-lance", "lore://TYPE/DOCUMENT/SLUG"),
        (f"lore://spells/{ATLAS}/no-such-spell", "lookup_spell"),
        (f"lore://creatures/{ATLAS}/tide-lance", "lookup_creature"),
        ("lore://documents/no-such-book/no-such-book", "list_documents"),
        (f"lore://spells/{ATLAS}/%22%20or%20%22", "lookup_spell"),
        (f"lore://spells/{ATLAS}/a%00b", ""),
        ("lore://spells/" + "x" * 5000 + "/y", ""),
    ],
)
async def test_a_uri_that_leads_nowhere_says_where_uris_come_from(library, uri, advice):
    with pytest.raises(LoreKeeperError) as caught:
        await call(library, "get_entity", uri=uri)
    assert advice in str(caught.value)


async def test_list_documents_counts_by_type(library):
    answer = await call(library, "list_documents")
    documents = {d["key"]: d for d in answer.structured["documents"]}
    assert set(documents) == {ATLAS, ALMANAC}
    expected: dict[str, int] = {}
    for entry in SAMPLES:
        if entry["document"] == ATLAS and entry["collection"] != "documents":
            expected[entry["collection"]] = expected.get(entry["collection"], 0) + 1
    assert documents[ATLAS]["counts"] == expected
    assert documents[ATLAS]["name"] == TITLES[ATLAS]
    assert documents[ATLAS]["publisher"] == "Gull and Anchor"
    assert documents[ALMANAC]["licenses"] == ["CC0"]
    for key, title in TITLES.items():
        assert key in answer.text
        assert title in answer.text


async def test_list_documents_of_one_type_leaves_out_books_without_it(tmp_path):
    one = {"collection": "rules", "document": "thin-book", "name": "A Rule", "kind": "rule"}
    async with sample_library(tmp_path) as library:
        await library.import_paths([write_lines(tmp_path / "thin.jsonl", [one])])
        rules = await call(library, "list_documents", type="rules")
        spells = await call(library, "list_documents", type="spells")
    assert [d["key"] for d in rules.structured["documents"]] == [ALMANAC, "thin-book", ATLAS]
    assert [d["key"] for d in spells.structured["documents"]] == [ALMANAC, ATLAS]
    assert [d["counts"] for d in spells.structured["documents"]] == [{"spells": 4}, {"spells": 3}]


async def test_an_unknown_type_is_refused_with_the_nearest_and_all_known(library):
    with pytest.raises(LoreKeeperError, match=r"did you mean 'spells'.*creatures.*rules"):
        await call(library, "search_lore", query="ash", types=["spell"])
    with pytest.raises(FilterError, match=r"did you mean 'spells'"):
        await call(library, "list_documents", type="spell")


# --- size ------------------------------------------------------------------------------------------------------------


async def test_twenty_results_are_named_where_their_order_is_unsure(tmp_path):
    """A few lines and the names of the others, from which whoever asked chooses; a name, or a limit, brings as many as ever."""
    text = (
        "The ember burns {} foes within reach, and a foe that fails its save takes fire damage and drops what it holds. "
        * 3
    )
    entries = [
        {
            "collection": "spells",
            "name": f"Ember Ring {n}",
            "slug": f"s{n}",
            "document": "own",
            "description": text.format(n, n, n),
        }
        for n in range(30)
    ]
    async with open_library(tmp_path) as library:
        await library.import_paths([write_lines(tmp_path / "short.jsonl", entries)])
        unsure = await call(library, "lookup_spell", semantic_query="something to burn foes that are near")
        sizes = [
            len((await call(library, "lookup_spell", **asked)).structured["results"])
            for asked in (
                {"semantic_query": "burn foes that are near", "limit": 5},
                {"semantic_query": "Ember Ring 7"},
                {},
            )
        ]
    assert len(unsure.structured["results"]) == 20
    assert unsure.structured["next_offset"] == 20
    assert unsure.structured["note"] is None
    assert "\nAlso: " in unsure.text
    assert len(unsure.text) <= 600 * CHARACTERS_A_TOKEN
    assert (sizes[0], sizes[2]) == (5, 10)
    assert sizes[1] <= 10


async def test_a_concise_answer_is_bounded_however_long_names_and_texts_are(tmp_path):
    """Characters rather than tokens, for the worst that can be stored: names of 500 characters."""
    entries = [
        {
            "collection": "spells",
            "name": f"{number} " + "Long " * 99,
            "slug": f"s{number}",
            "document": "b",
            "description": "word " * 5000,
        }
        for number in range(10)
    ]
    async with open_library(tmp_path) as library:
        await library.import_paths([write_lines(tmp_path / "long.jsonl", entries)])
        answer = await call(library, "lookup_spell")
    assert len(answer.structured["results"]) == 10
    assert max(len(answer.text), len(as_json(answer))) < 12_000


# --- how they read ---------------------------------------------------------------------------------------------------


class Counting(sqlite3.Connection):
    """A connection that notes the transactions that begin on it."""

    begun: ClassVar[list[str]] = []

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if sql.startswith("BEGIN"):
            file = super().execute("PRAGMA database_list").fetchone()[2]
            self.begun.append(Path(file).name)
        return super().execute(sql, *arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lookup_spell", {"semantic_query": "a ball of fire", "level_max": 5}),
        ("lookup_creature", {"where": "cr>=1", "order": "-cr"}),
        ("search_lore", {"query": "what burns at sea"}),
        ("gather_topic", {"topic": "fire"}),
        ("plan_encounter", {"party": "4x3"}),
        ("list_documents", {}),
    ],
)
async def test_a_call_reads_each_file_of_the_library_in_one_transaction(tmp_path, monkeypatch, tool, arguments):
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Counting))
    async with sample_library(tmp_path) as opened:
        await call(opened, tool, **arguments)  # the first one opens the library
        Counting.begun.clear()
        await call(opened, tool, **arguments)
    assert Counting.begun
    assert max(Counter(Counting.begun).values()) == 1, Counting.begun
