"""Answers that would fill a model's context: cut over MCP with how to read on, whole everywhere else."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client

from lorekeeper.audience import Viewer
from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.library import Library
from lorekeeper.server.cutting import MAX_CHARS, cut_text
from lorekeeper.server.mcp import build_server
from lorekeeper.server.parts import outline, part
from lorekeeper.server.tools import all_tools
from tests.support.asking import asked
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tools import call
from tests.support.vaults import open_marked, vault_library, write

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
    text = result.content[0].text
    assert not result.is_error
    assert len(text) < ROOM
    if name != "gather_topic":  # a dossier is short by itself
        further, named = {
            "get_entity": ("To read on, call get_entity", "Sections, for section: Chamber 0;"),
            "compare_entries": ("further passages also differ; get_entity with section reads one", "; Chamber "),
        }.get(name, ("To read on, call get_entity", "Left out, among others: Chamber"))
        assert further in text
        assert named in text
        assert "halls" in text[:2_000], "the source stands before what is cut"


async def test_a_long_entry_that_is_named_and_asked_about_answers(halls):
    named = await call(halls, "lookup_rule", name="Hall North")
    about = await call(halls, "lookup_rule", name="Hall North", semantic_query="chamber 42 dust")
    assert "Sections: " in named.text
    assert "lies 42 deep" in about.text
    assert "Sections: " not in about.text


async def test_a_long_entry_is_read_to_its_end_by_the_offsets_that_it_names(halls):
    whole, offset, calls = "", "0", 0
    async with Client(build_server(halls)) as client:
        while offset:
            result = await client.call_tool("get_entity", {"uri": NORTH, "offset": int(offset)})
            text = result.content[0].text
            whole += " ".join(text.split())
            offset, calls = (re.findall(r"offset=(\d+)", text.rpartition("To read on")[2]) or [""])[0], calls + 1
    assert 3 < calls < 8
    assert [n for n in range(60) if f"lies {n + 109} deep" not in whole or f"Chamber {n} " not in whole] == []
    assert re.search(r"\(Chamber \d+, continued\)", whole)


def tolls(*tables: tuple[str, int]) -> Entity:
    """A rule with tables, each with a row a ware, and so much text that no answer has all of it."""
    prose = " ".join(f"Of ferry {each} it is said that nobody has ever crossed without a coin." for each in range(20))
    parts = [
        f"{prose}\n\n**{of}**\n\n| Ware | Toll |\n|---|---|\n"
        + "\n".join(f"| {of} ware {each} | {each} copper pieces |" for each in range(1, rows + 1))
        for of, rows in tables
    ]
    return make("tolls", document="halls", name="Tolls", type="rules", kind="rule", data={"desc": "\n\n".join(parts)})


async def test_rows_and_lines_that_a_passage_leaves_out_are_marked_where_they_were(halls):
    await halls.cache.store_entities([tolls(("Salt", 3), ("Reed", 60))], "rules")
    async with Client(build_server(halls)) as client:
        answer = await client.call_tool("lookup_rule", {"semantic_query": "toll of reed ware 41"})
    lines = [line.strip() for line in answer.content[0].text.splitlines()]
    first = lines.index("| Reed ware 41 | 41 copper pieces |")
    head = max(number for number, line in enumerate(lines[:first]) if line == "| Ware | Toll |")
    rows = [line for line in lines[head + 2 :] if line.startswith("|")]
    for before, after in zip(["| Reed ware 0 |", *rows], [*rows, "| Reed ware 61 |"], strict=True):
        numbers = [int(found[1]) for row in (before, after) if (found := re.search(r"ware (\d+)", row))]
        assert "…" in before + after or numbers[1] == numbers[0] + 1, (before, after)
    # no head stands without a row of its table
    heads = [number for number, line in enumerate(lines) if line.startswith("|---")]
    assert all(lines[number + 1].startswith("| ") for number in heads)


async def test_of_the_rows_below_a_caption_that_answers_the_one_that_is_asked_for_is_shown(halls):
    rows = "\n".join(f"| {number}th | {' | '.join(['1 of the reeds'] * 4)} |" for number in range(4, 21))
    table = f"**Reed Binder: Knots per Level**\n\n| Level | a | b | c | d |\n|---|---|---|---|---|\n{rows}"
    text = f"{'Whoever binds reeds needs patience. ' * 40}\n\n{table}"
    await halls.cache.store_entities(
        [make("reeds", document="halls", name="Reeds", type="rules", kind="rule", data={"desc": text})], "rules"
    )
    answer = (await call(halls, "lookup_rule", semantic_query="reed binder knots level 19")).text
    assert "| 19th | 1 of the reeds" in answer


async def test_the_point_of_a_list_is_shown_that_begins_with_the_number_that_is_asked_for(halls):
    points = "\n\n".join(
        f"{number} - {what}" for number, what in enumerate(["Dry", "Damp", "Wet", "Soaked", "Gone"], 1)
    )
    text = f"Whoever wades takes on levels of silt. {'The fens are wide. ' * 60}\n\n{points}"
    silt = make("silt", document="halls", name="Silt", type="rules", kind="rule", data={"desc": text})
    await halls.cache.store_entities([silt], "rules")
    answer = (await call(halls, "lookup_rule", semantic_query="what does silt lvl 4 do")).text
    assert "4 - Soaked" in answer
    assert "3 - Wet" not in answer


async def test_a_section_of_a_long_entry_is_read_by_its_heading(halls):
    async with Client(build_server(halls)) as client:
        first = await client.call_tool("get_entity", {"uri": NORTH})
        result = await client.call_tool("get_entity", {"uri": NORTH, "section": "chamber 42"})
        offset = int(re.findall(r'section="chamber 42" and offset=(\d+)', result.content[0].text)[0])
        rest = await client.call_tool("get_entity", {"uri": NORTH, "section": "chamber 42", "offset": offset})
        none = await client.call_tool("get_entity", {"uri": NORTH, "section": "Attic"})
        far = await client.call_tool("get_entity", {"uri": NORTH, "offset": 999_999})
        entity = (await asked(client, "get_entity", uri=NORTH, section="chamber 42"))["entity"]
    assert "Sections, for section: Chamber 0; Chamber 1;" in first.content[0].text[:300]
    text = result.content[0].text
    assert "Chamber 42" in text
    assert "lies 90 deep" in text
    assert "lies 151 deep" in rest.content[0].text
    assert max(len(text), len(rest.content[0].text)) < 3_200, "some 800 tokens"
    assert not any(f"Chamber {n}\n" in text for n in (4, 41, 43))
    assert entity["section"] == "Chamber 42"
    assert entity["text"] in text.replace("\n   ", "\n")
    assert "Source: halls" in text
    assert none.is_error
    assert "no section is called 'Attic'; the entry's sections: Chamber 0" in none.content[0].text
    assert far.is_error
    assert "none from offset=999999 on" in far.content[0].text


async def test_lines_that_each_point_back_are_answered_however_many_there_are(halls):
    burning = "\n".join(f"It burns the reed number {number}." for number in range(1_500))
    long = make("pyre", document="halls", name="Pyre", type="rules", kind="rule", data={"desc": burning})
    await halls.cache.store_entities([long], "rules")
    answer = await call(halls, "lookup_rule", semantic_query="pyre: what burns the reed number 1200")
    assert answer.text.startswith("- Pyre, halls (")


async def test_a_name_of_two_things_means_the_one_that_has_the_section(halls):
    """A druid is a creature, and a class of the same book."""
    texts = {
        "creatures": "## Actions\n\nIt reaps.\n\n| Card | Name |\n|---|---|\n| King | Mow |\n\n***Mow.*** It mows the reeds.",
        "character_options": "## Reed Shape\n\nYou become a reed.",
    }
    for kind, text in texts.items():
        await halls.cache.store_entities(
            [make("reaper", document="halls", name="Reaper", type=kind, data={"desc": text})], kind
        )
    for section, said in (("Reed Shape", "You become a reed"), ("actions", "It reaps"), ("mow", "It mows the reeds.")):
        answer = await call(halls, "get_entity", uri="Reaper, halls", section=section)
        assert said in answer.text
    with pytest.raises(NotFoundError, match="no section is called 'Attic'"):
        await call(halls, "get_entity", uri="Reaper, halls", section="Attic")


async def test_a_name_that_one_book_has_alone_is_refused_with_what_other_books_have_like_it(halls):
    for document, name in (("old", "Reedling"), ("new", "Reedling Boss"), ("new", "Marsh Hag")):
        entry = make(name.lower().replace(" ", "-"), "It hides.", document=document, name=name, type="creatures")
        await halls.cache.store_entities([entry], "creatures")
    with pytest.raises(NotFoundError, match=r"Other books have lore://creatures/new/reedling-boss\.$"):
        await call(halls, "compare_entries", name="Reedling")


LONG_NOTE = (
    "---\nvisibility: players\n---\n# Chronicle\n\n"
    + "".join(f"## Day {n}\n\n### Road\n\n" + f"Rain fell on day {n}. " * 250 + "\n\n" for n in range(12))
    + "## GM Notes\n\n"
    + "The zqtraitor rode along. " * 2_000
    + "\n\n## Inn\n\n```\n# no heading\n```\n\nThe last bed."
)


async def test_a_long_note_is_read_by_section_and_only_the_game_master_reads_its_secrets(tmp_path):
    async with vault_library(tmp_path, [write(tmp_path / "saga", {"Chronicle.md": LONG_NOTE})], "sqlite") as library:
        await open_marked(library)

        async def read(viewer: Viewer, **asked: object) -> str:
            tool = next(tool for tool in all_tools() if tool.name == "get_entity")
            uri = "lore://notes/saga/Chronicle.md"
            return (await tool.run(library.view(viewer), tool.check({"uri": uri, **asked}))).text

        master, player = library.asks, Viewer.player()
        assert "Day 11 > Road; GM Notes; Inn" in (await read(master))[:2_000]
        assert "Day 7" in await read(master, section="Day 7 > Road")
        assert "The last bed." in await read(master, section="Inn")
        assert (await read(master, section="Road")).count("### Road") == 8, "as many as one answer has room for"
        rest = await read(master, section="GM Notes", offset=45_000)
        assert "(GM Notes, continued)\n\n   (secret: GM Notes)" in rest
        assert "zqtraitor" in rest
        with pytest.raises(NotFoundError, match="Inn") as refused:
            await read(player, section="GM Notes")
        assert "GM Notes" not in str(refused.value).partition("; ")[2]
        assert "zqtraitor" not in await read(player, offset=40_000)


async def test_a_resource_is_cut_too(halls):
    async with Client(build_server(halls)) as client:
        text = (await client.read_resource(NORTH)).contents[0].text
    assert len(text) < ROOM
    assert "To read on" in text


def test_a_text_is_cut_after_a_line_so_that_marks_stay_before_what_they_mark():
    text = "(secret: GM Notes)\n" + "one line of it\n" * (MAX_CHARS // 10)
    kept = cut_text(text).partition("\n\nThis answer was cut")[0]
    assert text.startswith(kept)
    assert kept.endswith("one line of it")
    assert cut_text("short") == "short"


CLERK = """# Clerk

## By Level

| Level | Features | Tricks |
|---|---|---|
| 1 | Filing | 2 |
| 2 | — | 3 |
| 3 | Stamps, Filing | 3 |
| 7 | Filing (three), Ink | 4 |

## Features

### Level 1: Filing

*again at level 3 (two), 7 (three)*

You file. From 3rd level on you file twice, and at level 7 three times.

**Tidy Mind.** You know where things are.

### Level 6: Ink

*again at level 7*

You never lack ink.

### Level 3: Stamps

You stamp what you filed.

**Blots (table)**

| d6 | Blot |
|---|---|
| 1-2 | Round |
| 3-6 | Like a heron |
"""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("level 3", "**Level 3:** Features Stamps, Filing; Tricks 3\n\n### Level 3: Stamps\n\nYou stamp"),
        ("3rd", "Again at level 3: Filing"),
        ("3rd", "Filing. From 3rd level on you file twice, and at level 7 three times."),
        ("level 7", "Again at level 7: Filing. From 3rd level on you file twice, and at level 7 three times."),
        ("level 7", "Again at level 7: Ink. You never lack ink."),
        ("2", "**Level 2:** Tricks 3\n\nNo feature comes with this level."),
        ("filing", "### Level 1: Filing\n\n*again at level 3 (two), 7 (three)*\n\nYou file. From"),
        ("tidy mind", "**Tidy Mind.** You know where things are."),
        ("Blots", "| d6 | Blot |\n|---|---|\n| 1-2 | Round |"),
        ("round", "| 1-2 | Round |"),
        ("5", "Like a heron"),
        ("tidy things", "**Tidy Mind.** You know where things are."),
    ],
)
def test_a_part_is_a_level_a_feature_a_table_a_row_or_what_has_the_words(asked, said):
    assert said in part(CLERK, asked).text


def test_what_no_part_is_called_names_those_that_there_are():
    with pytest.raises(NotFoundError, match=r"By Level; Features; .*Level 3: Stamps; Tidy Mind; Blots"):
        part(CLERK, "unicorn")


def test_the_outline_of_many_sections_counts_the_innermost():
    page = "# Rules\n\n" + "".join(f"## Part {n}\n\n" + "### A detail of it\n\nText.\n\n" * 40 for n in range(30))
    names = page.replace("### A detail of it", "### A detail {}").format(*range(1_200))
    assert outline(names).startswith("Part 0 (40 within); Part 1 (40 within); ")


async def test_a_line_of_another_feature_stands_below_the_name_of_that_feature(tmp_path):
    told = "The keeper turns the tide away from one boat that it can see, and the boat is dry until dawn. " * 5
    rest = "Who has done so cannot do it again before a long rest in the reeds."
    features = [
        {"name": "Tide Turning", "desc": told},
        {"name": "Reed Sleep", "desc": f"{'The keeper sleeps among reeds unseen. ' * 12}\n\n{rest}"},
    ]
    keeper = make(
        "keeper",
        type="character_options",
        kind="class",
        name="Keeper",
        data={"name": "Keeper", "features": features},
    )
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([keeper], "character_options")
        answer = await call(library, "search_lore", query="keeper tide turning boat how long")
    above, _, below = answer.text.partition("Tide Turning")[2].partition("Reed Sleep]")
    assert "one boat" in above
    assert rest not in above
    assert rest in below
