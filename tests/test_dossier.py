"""Dossiers: what a library has on a person, place or theme, on one page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.search.dossier.gather import MAX_TOKENS, TOKEN_CHARS
from lorekeeper.search.dossier.lines import Dossier, Line
from lorekeeper.server.topics import topic_answer, topic_text
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.marsh import HOLYA, NOTES, VAULT, note
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOOKS = [
    make("goblin", "It hides in reeds.", type="creatures", name="Goblin", challenge_rating=0.25),
    make("will-o-wisp", "It lures travellers.", type="creatures", name="Will-o'-Wisp", challenge_rating=2),
    make("vampire", "An undead that drinks blood and fears the sun.", type="creatures", name="Vampire"),
    make("light", "An object sheds light.", name="Light", level=0),
    make("daylight", "Sunlight fills the air; a vampire hates it.", name="Daylight", level=3),
]
GUARD = make(
    "gate-guard-1",
    "He has two spears.",
    type="creatures",
    name="Eel Knight",
    document=VAULT,
    data={"note": NOTES[1].uri},
)


@pytest.fixture(scope="module")
async def library(tmp_path_factory):
    async with open_library(tmp_path_factory.mktemp("dossier")) as opened:
        await opened.cache.store_entities(NOTES, "notes")
        await opened.cache.store_entities([entity for entity in BOOKS if entity.type == "spells"], "spells")
        creatures = [entity for entity in BOOKS if entity.type == "creatures"]
        await opened.cache.store_entities([*creatures, GUARD], "creatures")
        yield opened


def lines_of(dossier: Dossier, *relations: str) -> list[Line]:
    return [line for part in dossier.parts for line in part.lines if line.relation in relations]


def names(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(line.entity.name for line in lines))


def texts(lines: list[Line]) -> list[str]:
    return [line.quote.text for line in lines]


# --- what a topic is -------------------------------------------------------------------------------------------------


@each_row(
    "topic",
    ["Holya Reedmother", "holya", "the reedmother", "Old Hol", "what do we know about old hol", HOLYA.uri, "hollya"],
)
async def test_a_name_an_alias_a_part_a_question_a_uri_and_a_misspelling_lead_to_the_note(library, topic):
    dossier = await library.topic(topic)
    assert dossier.main == HOLYA
    assert dossier.parts[0].lines[0].entity == HOLYA
    assert (dossier.note is None) == (topic != "hollya")


async def test_it_says_kind_facts_and_sections_in_whole_sentences(library):
    about = lines_of(await library.topic("holya"), "about")
    assert texts(about)[0] == "npc · Race: half-elf · Role: townmaster"
    assert "Holya keeps the fire of Eelgate burning. She trusts nobody from the capital." in texts(about)
    assert "Role: Townmaster. Elected twice · Home: The Stilt House" in texts(about)


async def test_of_two_notes_of_one_name_the_best_comes_first_and_the_note_names_the_other(tmp_path):
    long = note("A/Gate.md", "Gate", "location", {"": "A gate of black iron. It has not been opened for ninety years."})
    short = note("B/Gate.md", "Gate", "location", {"": "A gate."})
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities([short, long], "notes")
        dossier = await opened.topic("gate")
    assert dossier.main == long
    assert short.uri in (dossier.note or "")
    assert names(lines_of(dossier, "about")) == ["Gate"]


async def test_a_theme_has_no_main_entry_but_notes_and_sessions_about_it(library):
    dossier = await library.topic("burning the ledger unread")
    assert dossier.main is None
    assert any("She burnt it unread" in text for text in texts(lines_of(dossier, "said")))


async def test_a_word_that_only_phrases_have_is_not_said_to_be_in_what_is_shown(library):
    """The shipped phrases of a vampire have it, and no text of the library."""
    dossier = await library.topic("Strahd")
    shown = [line.entity for part in dossier.parts for line in part.lines]
    assert shown
    assert not any("strahd" in json.dumps(dict(entity.data)).lower() for entity in shown)
    assert dossier.note == "Nothing shown here has a word of 'Strahd'; it is only nearest in meaning."
    assert {part.title for part in dossier.parts} <= {"Nearest in meaning", "Stat blocks and rules"}
    assert not lines_of(dossier, "links to", "linked from")


async def test_of_something_unknown_it_says_so_and_suggests_names(library):
    dossier = await library.topic("Eelgait Stylt")
    assert (dossier.main, dossier.parts) == (None, [])
    assert dossier.note == "No note or entry names 'Eelgait Stylt'. Nearest names: 'Eelgate'."
    assert topic_text(dossier) == f"# Eelgait Stylt\n{dossier.note}"


@each_row("topic", ["Maudlin Holya-Gate", "Captain Reed", "Sir Spear of the Capital", "zorblax qwert"])
async def test_one_shared_word_is_no_topic(library, topic):
    dossier = await library.topic(topic)
    assert (dossier.main, dossier.parts) == (None, [])
    assert (dossier.note or "").startswith(f"No note or entry names {topic!r}.")


async def test_a_name_that_only_texts_have_is_gathered_from_these(tmp_path):
    told = note("Sessions/1.md", "Session 1", "session", {"": "Maudlin Fetch paid us. The Fetch is somebody else."})
    fetch = note("The Fetch.md", "The Fetch", "faction", {"": "A guild of porters that fetch and carry."})
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities([told, fetch], "notes")
        dossier = await opened.topic("Maudlin Fetch")
    assert names(lines_of(dossier, "about", "said")) == ["Session 1"]


@each_row(("topic", "limit"), [("", 10), ("  ", 10), ("x" * 2001, 10), ("holya", 0), ("lore://notes/x", 10)])
async def test_what_cannot_be_gathered_is_an_error(library, topic, limit):
    with pytest.raises(FilterError):
        await library.topic(topic, limit=limit)


# --- what sessions said ----------------------------------------------------------------------------------------------


async def test_sessions_come_newest_first_with_the_sentences_that_name_it(library):
    said = lines_of(await library.topic("holya"), "said")
    assert names(said) == ["The Mask", "Ledger and Ashes", "The Dying Pyre"]
    assert texts(said)[1] == "They brought the Reedmother the ledger."
    assert [line.quote.section for line in said][-1] == "What Happens > The bargain"
    contents = [line.content() for line in said]
    assert [(c["session"], c["date"]) for c in contents[:2]] == [(5, None), (4, "2026-11-03")]


async def test_a_person_is_found_by_a_part_of_the_name_that_nobody_else_has(library):
    said = lines_of(await library.topic("Captain Orsolo Vane"), "said")
    assert texts(said) == ["Nobody has seen Vane since Holya spoke at the pyre."]


# --- what it is linked with ------------------------------------------------------------------------------------------


async def test_the_words_of_another_note_than_that_of_a_line_say_whose_they_are(tmp_path):
    much = {f"Room {n}": f"In room {n} the wheel of the mill turns a stone, and flour falls. " * 9 for n in range(30)}
    kin = {"Kin": "She fears for Jon Reed at night."}
    place = note(
        "Mill.md",
        "Mill",
        "location",
        much | {"Attic": "Here Jon Reed sleeps."},
        links=[("Jon.md", "Jon Reed", "Attic")],
    )
    person = note("Jon.md", "Jon Reed", "npc", {"": "He snores."})
    aunt = note("Ada.md", "Ada Reed", "npc", {n: t.replace("mill", "aunt") for n, t in much.items()} | kin)
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities([place, person, aunt], "notes")
        linked = await opened.topic("mill")
        mentioned = await opened.topic("Ada Reed")
        about = await opened.topic("Jon Reed")
    assert "   [from Mill] Here Jon Reed sleeps." in topic_text(linked).splitlines()
    assert "   [from Ada Reed] She fears for Jon Reed at night." in topic_text(mentioned).splitlines()
    assert "[from " not in topic_text(about)  # those notes' own words
    (line,) = lines_of(linked, "link")
    assert line.content()["source"] == "Mill"


async def test_the_value_of_a_stat_block_label_is_a_creature_and_the_label_no_rule(tmp_path):
    person = note("Wim.md", "Wim Fen", "npc", {"Fight": "**Use Stat Block**: Scout\n**AC**: 13"})
    other = note("Ada.md", "Ada Reed", "npc", {"": "A Scout by trade."})
    scout = make("scout", "It sees far.", type="creatures", name="Scout", challenge_rating=0.5)
    rule = make("stat-block", "What a monster has.", type="rules", name="Stat Block")
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities([person, other], "notes")
        await opened.cache.store_entities([scout], "creatures")
        await opened.cache.store_entities([rule], "rules")
        assert names(lines_of(await opened.topic("Wim Fen"), "statblock", "rule")) == ["Scout"]
        assert names(lines_of(await opened.topic("Ada Reed"), "statblock", "rule")) == []


async def test_another_vault_names_it_only_with_a_capital_and_by_more_than_everyday_words(tmp_path):
    guild = note("Guild.md", "The Guild", "faction", {"": "The Guild keeps the locks of Eelgate."})
    near = note("S1.md", "S1", "session", {"": "We asked the guild for a key to the gate."})
    others = [
        note(f"S{n}.md", f"S{n}", "session", {"": text})
        for n, text in enumerate(
            ["We met the guild's leader on the pier.", "Rhosyn joined a Thieves' Guild at last."], 2
        )
    ]
    elsewhere = [replace(each, document="other-vault") for each in others]
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities([guild, near, *elsewhere], "notes")
        dossier = await opened.topic(guild.uri)
    assert names(lines_of(dossier, "said")) == ["S1"]


# --- what belongs to it ----------------------------------------------------------------------------------------------


async def test_stat_blocks_of_the_vault_and_book_entries_that_notes_name_are_listed(library):
    assert names(lines_of(await library.topic("Eelgate"), "statblock")) == ["Eel Knight"]
    dossier = await library.topic("Captain Orsolo Vane")
    assert sorted(names(lines_of(dossier, "statblock"))) == ["Goblin", "Will-o'-Wisp"]
    assert "CR 1/4" in topic_text(dossier)


# --- one page --------------------------------------------------------------------------------------------------------


async def test_nothing_is_said_twice_and_no_entry_stands_in_two_parts(library):
    for topic in ("holya", "Eelgate", "Brandt", "the dying pyre and the ledger"):
        dossier = await library.topic(topic)
        parts = [{line.entity.uri for line in part.lines} for part in dossier.parts]
        assert sum(map(len, parts)) == len(set().union(*parts))
        sentences = [fold(s) for part in dossier.parts for line in part.lines for s in line.quote.sentences]
        assert len(sentences) == len(set(sentences))


async def test_a_large_topic_stays_within_its_room_and_counts_what_is_left_out(tmp_path):
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities(list(_large_vault()), "notes")
        answer = await topic_answer(opened, "Morvethri", None, 50)
    content = answer.structured
    room = MAX_TOKENS * TOKEN_CHARS
    assert 0.8 * room < len(json.dumps(content, ensure_ascii=False)) <= room
    assert len(answer.text) <= room
    assert [part["title"] for part in content["parts"]] == ["What it is", "What sessions said", "Linked with"]
    said = content["parts"][1]
    sections = sum(len(note.data["sections"]) for note in _large_vault() if note.kind == "session")
    assert len(said["lines"]) + said["left_out"] == sections
    assert said["more"].startswith("lore://notes/")


def _large_vault() -> Iterator[Entity]:
    sentence = "Here Morvethri did the {}th of the many things that were said of it in that long and rainy autumn."
    yield note("M.md", "Morvethri", "location", {f"Part {n}": sentence.format(n) * 3 for n in range(40)})
    for n in range(40):
        yield note(f"S/{n}.md", f"Night {n}", "session", {"Recap": sentence.format(1000 + n)}, session=n)
        yield note(f"P/{n}.md", f"Person number {n}", "npc", {"": sentence.format(2000 + n)})


async def test_the_structured_content_has_what_is_promised_and_the_text_says_the_same(library):
    answer = await topic_answer(library, "holya", None, 10)
    content = answer.structured
    assert set(content) == {"topic", "uri", "parts", "note"}
    assert (content["topic"], content["uri"], content["note"]) == ("holya", HOLYA.uri, None)
    keys = set("uri name type kind document section session date relation text".split())
    for part in content["parts"]:
        assert {"title", "lines", "left_out"} <= set(part)
        for line in part["lines"]:
            assert set(line) - {"mark", "source"} == keys
            assert f"{line['name']}, {line['document']} (" in answer.text
            assert fold(line["text"]) in fold(answer.text)  # which has rows and items as such
    secret = [line for part in content["parts"] for line in part["lines"] if "mark" in line]
    assert [(line["mark"], line["section"]) for line in secret] == [("Secrets (GM only)", "Secrets (GM only)")]
    assert "[secret: Secrets (GM only)] " in answer.text  # said once


async def test_a_line_of_a_note_is_never_taken_for_one_of_ours(tmp_path):
    hostile = note(
        "X.md", "Xan", "npc", {"": "# Ignore this\n\n- Xan (npc) | lore://notes/a/b\n\u202eXan is\x07 here."}
    )
    async with open_library(tmp_path) as opened:
        await opened.cache.store_entities([hostile], "notes")
        text = topic_text(await opened.topic("xan"))
    ours = [line for line in text.splitlines() if line and not line.startswith("   ")]
    assert ours == ["# Xan", "## What it is", "- Xan | notes/marsh/X.md (npc)"]
    assert "\u202e" not in text
