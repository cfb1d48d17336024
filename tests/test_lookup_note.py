"""Notes in lookups and searches: filters, names, orders, sections and pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from lorekeeper.entities import COLLECTIONS, MAX_LINKS
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields, matches, parse_filters
from lorekeeper.library import Library
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes.note import Note, Section
from lorekeeper.search.by_name import MAX_PARTIAL_NAMES
from lorekeeper.search.resolve_entry import find_entry
from lorekeeper.server import resources
from lorekeeper.server.answers import Answer
from lorekeeper.server.tools import all_tools
from tests.support.campaign import PATHS, VAULT, campaign
from tests.support.entities import make
from tests.support.libraries import open_library

TOOLS = {tool.name: tool for tool in all_tools()}
BRIDGE = f"lore://notes/{VAULT}/World%2FTallow%20Bridge.md"
ODA = f"lore://notes/{VAULT}/World%2FFens%2FOda.md"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["milvus", "sqlite"])
async def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    async with open_library(tmp_path_factory.mktemp("campaign"), backend=request.param) as opened:
        await opened.cache.store_entities(campaign(), "notes")
        yield opened


async def call(library: Library, tool: str = "lookup_note", **arguments: Any) -> Answer:
    return await TOOLS[tool].run(library, TOOLS[tool].check(arguments))


async def names(library: Library, **arguments: Any) -> list[str]:
    return [result["name"] for result in (await call(library, **arguments)).structured["results"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"folder": "World"}, ["Oda Reedmother", "Tallow Bridge"]),
        ({"folder": "world/FENS/"}, ["Oda Reedmother"]),
        ({"tags": "#npc"}, ["Bors", "Oda Reedmother"]),
        ({"tags": ["npc/ally"]}, ["Oda Reedmother"]),
        ({"kind": "npc"}, ["Bors", "Oda Reedmother"]),
        ({"session": 9}, ["Nine"]),
        ({"session": [1, 10]}, ["Ten", "The Broken Toll"]),
        ({"modified_after": "2026-11-06"}, ["Bors", "Bors"]),
        ({"modified_before": "2026-11-02"}, ["Oda Reedmother", "Tallow Bridge"]),
        ({"where": "session_date>=2026-10-01 -tags:npc"}, ["The Broken Toll"]),
        ({"where": "alias:\"the reed witch\""}, ["Oda Reedmother"]),
        ({"links_to": "Tallow Bridge"}, ["Oda Reedmother", "The Broken Toll"]),
        ({"links_to": "World/Tallow Bridge.md"}, ["Oda Reedmother", "The Broken Toll"]),
        ({"links_to": BRIDGE}, ["Oda Reedmother", "The Broken Toll"]),
        ({"links_to": "nowhere"}, ["Oda Reedmother"]),
        ({"name": "the reed witch"}, ["Oda Reedmother"]),
        ({"name": "reed"}, ["Oda Reedmother"]),
        ({"name": "reed wich"}, ["Oda Reedmother"]),
        ({"name": "bors"}, ["Bors", "Bors"]),
        ({"documents": [VAULT], "kind": "location"}, ["Tallow Bridge"]),
        ({"kind": "session", "order": "newest"}, ["Ten", "Nine", "The Broken Toll"]),
        ({"kind": "session", "order": "modified"}, ["Ten", "Nine", "The Broken Toll"]),
        ({"kind": "session", "order": "name"}, ["Nine", "Ten", "The Broken Toll"]),
    ],
    ids=str,
)  # fmt: skip
async def test_lookups_of_notes(library, arguments, expected):
    assert await names(library, **arguments) == expected


async def test_an_alias_is_found_beside_the_name_that_has_its_words_and_each_note_once(library):
    witch = make("The Reed Witch's Hut.md", "A hut.", type="notes", name="The Reed Witch's Hut", document="huts")
    await library.cache.store_entities([witch], "notes")
    try:
        assert await names(library, name="the reed witch") == ["The Reed Witch's Hut", "Oda Reedmother"]
        assert await names(library, name="reed") == ["Oda Reedmother", "The Reed Witch's Hut"]
        assert await names(library, name="the reed witch", limit=1, offset=1) == ["Oda Reedmother"]
    finally:
        await library.cache.delete_document("huts")


@pytest.mark.parametrize(
    ("query", "name", "section", "snippet"),
    [
        ("nettle tea", "Oda Reedmother", "", "nettle tea"),
        ("who held the bridge against the salt men", "Oda Reedmother", "Deeds > In the war", "three nights"),
        ("the ferryman's toll for a cart", "Tallow Bridge", "Toll", "Three candles"),
        ("silver candle snuffer", "The Broken Toll", "Loot", "candle snuffer"),
        ("the reed witch", "Oda Reedmother", "", "Reed Witch"),
        ("who is Oda", "Oda Reedmother", "", "She lives in a hut"),
        ("what do we know about the Reedmother", "Oda Reedmother", "", "She lives in a hut"),
        ("tell me more about the tallow bridge", "Tallow Bridge", "", "black timber"),
    ],
)
@pytest.mark.parametrize("tool", ["lookup_note", "search_lore"])
async def test_the_section_that_answers_is_named_and_quoted(library, tool, query, name, section, snippet):
    arguments = {"semantic_query": query} if tool == "lookup_note" else {"query": query, "types": ["notes"]}
    first = (await call(library, tool, **arguments)).structured["results"][0]
    assert (first["name"], first["section"]) == (name, section)
    assert snippet in first["snippet"]


async def test_a_part_of_the_names_of_few_notes_names_them_and_one_of_many_names_none(library):
    def found(page: Answer) -> list[tuple[str, str]]:
        return [(result["name"], result["match"]) for result in page.structured["results"]]

    titles = ["Aster Lane", "Aster Lane, Early Years", "Haste", "Astri"]
    numbered = [f"Note {n} of the Lake" for n in range(MAX_PARTIAL_NAMES + 1)]
    others = [make(f"{t}.md", f"{t} writes.", type="notes", name=t, document="few") for t in (*titles, *numbered)]
    await library.cache.store_entities(others, "notes")
    try:
        asters = found(await call(library, semantic_query="who is Aster"))
        assert asters[:2] == [("Aster Lane", "name"), ("Aster Lane, Early Years", "name")]
        assert "name" not in {match for _, match in found(await call(library, semantic_query="tell me about the lake"))}
    finally:
        await library.cache.delete_document("few")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what did we do in session 9", ["Nine"]),
        ("recap of session ten, please", ["Ten"]),
        ("what did they refuse in the first session", ["The Broken Toll"]),
        ("what happened in our 10th session", ["Ten"]),
        ("what happened last session?", ["Ten"]),
        ("where were we last time", ["Ten"]),
        ("the last time it burned", []),
        ("what happened in session 4", []),
        ("a session of music", []),
    ],
)
async def test_a_question_that_names_a_session_finds_its_notes(library, query, expected):
    results = (await call(library, semantic_query=query)).structured["results"]
    named = [result["name"] for result in results if result["match"] == "name"]
    assert named == expected == [result["name"] for result in results][: len(expected)]


async def test_the_last_session_comes_before_a_note_that_has_these_words_in_its_name(library):
    worded = make("first.md", "We met.", type="notes", name="Session 1 - Last Light", document="worded")
    await library.cache.store_entities([worded], "notes")
    try:
        results = (await call(library, semantic_query="last session")).structured["results"]
        assert [result["name"] for result in results][:2] == ["Ten", "Session 1 - Last Light"]
    finally:
        await library.cache.delete_document("worded")


async def test_the_session_of_a_filter_is_the_one_that_is_searched(library):
    results = (await call(library, semantic_query="what happened in session 9", session=10)).structured["results"]
    assert [result["name"] for result in results] == ["Ten"]


async def test_two_notes_of_one_name_are_two_results(library):
    for arguments in ({"name": "Bors"}, {"semantic_query": "Bors"}):
        results = (await call(library, **arguments)).structured["results"]
        assert {result["uri"] for result in results if result["name"] == "Bors"} == {
            f"lore://notes/{VAULT}/Ideas%2FBors.md",
            f"lore://notes/{VAULT}/People%2FBors.md",
        }


async def test_similar_notes_do_not_include_the_note_itself(library):
    results = (await call(library, similar_to=f"lore://notes/{VAULT}/World/Tallow Bridge.md")).structured["results"]
    assert results
    assert BRIDGE not in [result["uri"] for result in results]


async def test_a_page_says_where_a_note_stands_and_what_it_is_linked_with(library):
    page = (await call(library, "get_entity", uri=BRIDGE)).page
    assert page.startswith("# Tallow Bridge\n\n*Location · The Drowned Fens · World · changed 2026-11-02 · #fens*")
    assert "## Toll\n\nThree candles for a cart" in page
    linked = page.partition("## Linked from")[2]
    assert f"- [Oda Reedmother]({ODA})" in linked
    assert "[The Broken Toll](" in linked
    full = await call(library, name="tallow", detail="full")
    assert f"[Oda Reedmother]({ODA})" in full.text
    assert full.structured["results"][0]["entity"]["sections"][1]["name"] == "Toll"


async def test_a_note_that_nothing_links_to_is_not_taken_for_a_misspelt_link(library):
    answer = await call(library, links_to="Nine")
    assert answer.text == "No note links to 'nine'."
    assert "did you mean" in (await call(library, links_to="Tallow Brigde")).text


async def test_a_page_keeps_marks_and_names_the_notes_it_links_to(library):
    page = (await call(library, "get_entity", uri=ODA)).page
    assert "## Deeds\n\n### In the war\n\nShe held the bridge" in page
    assert "(secret: Secrets (GM only))" in page
    assert "Also called The Reed Witch." in page
    assert "- **Role** witch" in page
    assert f"## Links\n\n- [Tallow Bridge]({BRIDGE})" in page


async def test_notes_are_resources(library):
    assert "Tallow Bridge" in await resources.read(library, f"lore://notes/{VAULT}")
    assert "Three candles" in await resources.read(library, BRIDGE)
    assert "Three candles" in await resources.read(library, f"lore://notes/{VAULT}/World/Tallow%20Bridge.md")


@pytest.mark.parametrize("wanted", ["The Reed Witch", "reed witch", "Witch, the Reed"])
async def test_an_entry_is_found_by_its_alias(library, wanted):
    found = await find_entry(library.search, library.entities_at, wanted, ["notes"])
    assert found.entity.name == "Oda Reedmother"


async def test_dates_that_no_note_has_are_explained_as_dates(library):
    note = (await call(library, modified_after="2027-01-01")).structured["note"]
    assert note == "modified is never at least 2027-01-01: it ranges from 2026-11-01 01:00 to 2026-11-07 01:00."
    with pytest.raises(FilterError, match="modified_after must be a date, such as 2026-11-20"):
        await call(library, modified_after="tomorrow")


async def test_backlinks_are_counted_where_they_are_too_many(library):
    hub = make(
        "Hub.md", type="notes", name="Hub", document="wheel", data={"sections": [{"name": "", "desc": "Centre."}]}
    )
    rim = [
        make(f"Rim {n:03}.md", type="notes", document="wheel", data={"links": [{"to": "Hub.md"}]}, links=["Hub.md"])
        for n in range(60)
    ]
    namesake = make("x.md", type="notes", document="wheel", data={"links": [{"to": "In/Hub.md"}]}, links=["In/Hub.md"])
    await library.cache.store_entities([hub, *rim, namesake], "notes")
    try:
        page = (await call(library, "get_entity", uri=hub.uri)).page
        assert page.count("](lore://notes/wheel/Rim") == 50
        assert "- and 10 more" in page
        assert "x.md" not in page
    finally:
        await library.cache.delete_document("wheel")


async def test_a_note_may_have_thousands_of_links(library):
    links = [f"People/Person {n}.md" for n in range(MAX_LINKS)]
    note = make("Index.md", "All.", type="notes", document="long", links=links)
    await library.cache.store_entities([note], "notes")
    try:
        for wanted in (links[0], links[300], links[-1]):
            assert await names(library, links_to=wanted) == ["Index.md"]
    finally:
        await library.cache.delete_document("long")
    with pytest.raises(FilterError, match="at most 4096"):
        clean_fields("notes", {"links": [*links, "One more.md"]})


async def test_the_longest_paths_are_kept_found_and_told_apart(library):
    longest = COLLECTIONS["notes"].max_slug
    slugs = [f"{letter * 400}/{letter * (longest - 405)}{n}.md" for letter in ("x", "海", "😀") for n in (1, 2)]
    assert all(len(slug) <= longest for slug in slugs)
    named: dict[str, dict[str, Any]] = {slug: {"name": slug[:9], "folder": slug.rpartition("/")[0]} for slug in slugs}
    stored = [make(slug, "Text.", type="notes", document="深" * 200, **values) for slug, values in named.items()]
    await library.cache.store_entities(stored, "notes")
    try:
        found = await library.cache.load("notes", [entity.identity for entity in stored])
        assert [entity.slug for entity in found] == slugs
        answer = await call(library, "get_entity", uri=stored[3].uri)
        assert answer.structured["uri"] == stored[3].uri
        for entity in stored:
            assert matches(entity, parse_filters("notes", {"folder": entity.slug.rpartition("/")[0]}))
    finally:
        await library.cache.delete_document("深" * 200)


async def test_a_note_shows_what_it_says_in_so_many_words_and_a_session_what_happened(library):
    rota = Section("Rota", "- Who holds the lamp changes.\n- **Strength**: 40")
    oath = Section("Oath", "It takes strength: who runs at night is shut out of the stores.")
    hands = Section("Hands", "Ada trims wicks.\nJem runs the old stores.")
    talk, debts = Section("Talk", "What proof? No proof. What guild?"), Section("Debts", "The guild has proof of it.")
    watch = Note("Watch.md", "Watch", sections=(oath, rota, hands, talk, debts))
    dusk = Section("Dusk", "- A cold bell rang over the marsh.\n  - It cracked.")
    night = Note("N.md", "Night", kind="session", sections=(Section("Recap", "**Players**: Ana, Bo, Cy, Di"), dusk))
    notes = [note_entity(each, "watch", "Watch", 0, PATHS.get) for each in (watch, night)]
    await library.cache.store_entities(notes, "notes")
    try:
        for query, shown in (
            ("who runs the stores", "[Hands]"),
            ("strength of the watch", "[Rota]"),
            ("what proof has the guild", "[Debts]"),
        ):
            assert shown in (await call(library, semantic_query=query, documents=["watch"])).text
        told = (await call(library, name="Night", documents=["watch"])).text
        assert "Dusk: A cold bell rang over the marsh." in told
        assert "Players" not in told
    finally:
        await library.cache.delete_document("watch")


async def test_a_note_that_is_only_named_begins_with_what_it_says_in_sentences(tmp_path):
    parts = (
        Section(
            "Sources",
            "- **Book**: the first of three\n- **Songs**: all of them, " + "sung at the ford in the rain, " * 40,
        ),
        Section("Meaning", "The keepers swear it at dusk."),
    )
    oath = note_entity(Note("Oath.md", "Lantern Oath", sections=parts), VAULT, "Fens", 0.0, lambda _: None)
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([oath], "notes")
        named = await call(library, semantic_query="lantern oath")
        asked = await call(library, semantic_query="lantern oath sources")
    assert "The keepers swear it at dusk." in named.text
    assert "the first of three" not in named.text
    assert "the first of three" in asked.text


async def test_a_line_with_a_word_that_the_section_lacks_stands_below_it(tmp_path):
    debts = Section("Debts", "She owes the salt men for a boat, and for the boat before that.")
    parts = (debts, Section("Looks", "Tall, and seldom dry.\nHer ring is of horn.\n**Colors**: rust and bone"))
    wenna = note_entity(Note("Wenna.md", "Wenna", sections=parts), VAULT, "Fens", 0.0, lambda _: None)
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([wenna], "notes")
        asked = await call(library, semantic_query="for which boat does Wenna owe the salt men, and her ring")
        other = await call(library, semantic_query="for which boat does Wenna owe the salt men")
        spelt = await call(library, semantic_query="the salt men and the colours of Wenna")
    assert "boat before that.\n   [Looks]\n   Her ring is of horn.\n" in f"{asked.text}\n"
    assert "ring" not in other.text
    assert "rust and bone" in spelt.text


async def test_the_list_of_the_section_that_is_asked_about_is_shown_from_its_first_item(tmp_path):
    gifts = [f"- **Keeper {n}**: a lamp of {metal}, which burns by day too" for n, metal in enumerate(("tin", "lead"))]
    sections = (
        Section("Part I: The Feast at Reed's End", "The elders sat down with all, and everyone ate eels until dawn."),
        Section("Part II: Generous Rewards", "\n".join(["Holya kept her word.", "", *gifts, "- Others: far more"])),
    )
    feast = note_entity(Note("S.md", "Session 5", sections=sections), VAULT, "Fens", 0.0, lambda _: None)
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([feast], "notes")
        for asked in ("what gifts did we get in Reed's End", "rewards at Reed's End"):
            text = (await call(library, semantic_query=asked)).text
            assert "lamp of tin" in text, asked
            assert "lamp of lead" in text, asked
