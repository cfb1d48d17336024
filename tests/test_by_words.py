"""Lookups by a name that is misspelt, foreign, or nowhere in a title: what is shown in its place, and what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import SEARCHED
from lorekeeper.errors import NotFoundError
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.server.answers import Answer
from lorekeeper.server.tools import all_tools
from tests.support.entities import make
from tests.support.libraries import open_library

TOOLS = {tool.name: tool for tool in all_tools()}

BANES = """Banes are sold in vials.

| Bane | Price | DC |
|---|---|---|
| Gull Bane | 100 gp | 11 |
| Burnt Reed Fumes | 500 gp | 13 |
| Silt Paste | 40 gp | 15 |
"""

MARCH = (
    "The pace is slow in mud.\n\n**Forced March.** Each hour beyond eight asks for a save, DC 10.\n\nBoats are faster."
)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    spells = [
        make("grim-laughter", "It laughs without end.", name="Grim Laughter", document=document, level=1)
        for document in ("srd-2014", "srd-2024")
    ]
    rules = [
        make("banes", BANES, type="rules", kind="rule", name="Sample Banes", document="srd-2014"),
        make("pace", MARCH, type="rules", kind="rule", name="Pace", document="srd-2014"),
        make("pace-2024", "The pace is slow in mud.", type="rules", kind="rule", name="Pace", document="srd-2024"),
    ]
    async with open_library(tmp_path, backend="sqlite") as opened:
        await opened.cache.store_entities(spells, "spells")
        await opened.cache.store_entities(rules, "rules")
        yield opened


async def call(library: Library, tool: str, **arguments: Any) -> Answer:
    return await TOOLS[tool].run(library, TOOLS[tool].check(arguments))


@pytest.mark.parametrize(
    ("name", "entry", "shown", "not_shown"),
    [
        ("forced march", "Pace", "Each hour beyond eight asks for a save", "slow in mud"),
        ("burnt reed fumes", "Sample Banes", "Bane | Price | DC / Burnt Reed Fumes | 500 gp | 13", "Gull Bane"),
        ("silt paste vials", "Sample Banes", "Silt Paste", "Boats"),
    ],
)
async def test_a_name_that_no_title_has_gives_the_part_that_has_its_words(library, name, entry, shown, not_shown):
    text = (await call(library, "lookup_rule", name=name)).text
    asked = (await call(library, "lookup_rule", name=name, semantic_query="what does it cost, and which save")).text
    assert f"- {entry}, srd-2014 (rule; " in asked, "a question beside the name hides nothing"
    part = name in ("forced march", "burnt reed fumes")
    assert (f"'{name}' is part of:" if part else f"No rule has '{name}' in its name. A text has its words:") in text
    assert ("in its name" in text) is not part
    assert f"- {entry}, srd-2014 (rule; " in text
    assert shown in text
    assert not_shown not in text


CIRCLE = """## Features

### Level 3: Reed Aid

*again at level 9*

A use of Tidal Shape calms the silt around you.

### Level 6: Reed Ward

A use of Tidal Shape hardens the reeds.
"""


async def test_what_is_part_of_an_entry_is_not_denied_and_paragraphs_keep_their_headings(library):
    reach = "### Level 1: Reach\n\n**Tidal Shape Reach.** It is 30 feet.\n\n"
    shaper = f"{reach}### Level 2: Tidal Shape\n\n*again at level 4, 8*\n\nYou flow as water does."
    entries = [("shaper", "class", "Shaper", shaper), ("reeds", "subclass", "Circle of Reeds", CIRCLE)]
    await library.cache.store_entities(
        [make(key, text, type="character_options", kind=kind, name=name) for key, kind, name, text in entries],
        "character_options",
    )
    text = (await call(library, "lookup_character_option", name="tidal shape")).text
    assert "'tidal shape' is part of:" in text
    assert "sync" not in text
    assert "in its name" not in text
    assert "Level 2: Tidal Shape. again at level 4, 8. You flow" in " ".join(text.split())
    assert "Circle of Reeds" not in text
    text = (await call(library, "lookup_character_option", name="use of tidal shape")).text
    assert "No character option has 'use of tidal shape' in its name." in text
    assert "Level 3: Reed Aid. A use of Tidal Shape calms" in " ".join(text.split())
    assert "Level 6: Reed Ward. A use of Tidal Shape hardens" in " ".join(text.split())


@pytest.mark.parametrize("what", ["wild magic surge", "roll on the wild magic surge table", "wild magic", "beholder"])
async def test_a_roll_on_what_is_not_open_says_so_and_suggests_nothing(library, what):
    with pytest.raises(NotFoundError, match=r"is not open content: no open book has it\.$"):
        await call(library, "roll", what=what)


async def test_only_names_with_half_of_the_words_are_suggested(library):
    await library.cache.store_entities([make("din", "Grim reeds.", name="Din")], "spells")
    with pytest.raises(NotFoundError, match=r"'grim barge'; did you mean Grim Laughter\?$"):
        await call(library, "get_entity", uri="grim barge")
    with pytest.raises(NotFoundError, match=r"'reeds in mud'; a search finds entries by meaning$"):
        await call(library, "get_entity", uri="reeds in mud")


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("firebll", "No spell is called 'firebll'; showing the nearest name: Fireball."),
        ("Feuerball", "Feuerball is Fireball in German."),
    ],
)
async def test_a_misspelt_or_translated_name_gives_the_whole_as_the_right_one_does(library, name, note):
    fires = [make(f"fire-{year}", "It burns. " * 99, name="Fireball", document=f"srd-{year}") for year in (2014, 2024)]
    await library.cache.store_entities(fires, "spells")
    whole = (await call(library, "lookup_spell", name="fireball", limit=1)).text
    assert "It burns. " * 98 in whole
    assert (await call(library, "lookup_spell", name=name, limit=1)).text == f"Note: {note}\n{whole}"


async def test_a_name_of_which_some_words_are_known_gives_the_nearest_with_a_note(library):
    text = (await call(library, "lookup_spell", name="tessas laughing spell")).text
    assert "No spell has 'tessas laughing spell' in its name." in text
    assert "The nearest in meaning:" in text
    assert "- Grim Laughter, srd-2024 (" in text


@pytest.mark.parametrize(
    ("name", "said", "shown", "not_shown"),
    [
        (
            "+2 reed bow",
            "showing what has its number; Reed Bow is another thing.",
            ["- Weapon, +1 or +2, "],
            "- Reed Bow, ",
        ),
        ("gull scroll level 3", "Gull Scroll, Level 1 is another thing", ["- Gull Scroll (3rd), "], "Level 1, srd"),
        ("gull scroll level 4", "No item has 'gull scroll level 4' in its name.", [], "nearest name"),
        (
            "gul scroll level 1",
            "showing the nearest name: Gull Scroll, Level 1.",
            ["- Gull Scroll, Level 1, "],
            "(3rd)",
        ),
    ],
)
async def test_what_has_other_numbers_in_its_name_is_another_thing(library, name, said, shown, not_shown):
    named = {
        "Reed Bow": "weapon",
        "Weapon, +1 or +2": "magic-item",
        "Gull Scroll, Level 1": "gear",
        "Gull Scroll (3rd)": "gear",
    }
    items = [
        make(f"item-{n}", f"Text {n}.", type="equipment", kind=kind, name=each, document="srd-2014")
        for n, (each, kind) in enumerate(named.items())
    ]
    await library.cache.store_entities(items, "equipment")
    text = (await call(library, "lookup_equipment", name=name)).text
    assert said in text
    assert all(each in text for each in shown)
    assert not_shown not in text


async def test_what_a_filter_of_the_question_leaves_out_for_want_of_a_value_is_counted(library):
    rings = [
        make(f"ring-{n}", "It glows.", type="equipment", kind="magic-item", name=f"Reed Ring {n}", document="x")
        for n in range(10)
    ]
    priced = make("band", "It glows.", type="equipment", kind="magic-item", name="Band", document="x", cost=100)
    await library.cache.store_entities(rings, "equipment")
    text = (await call(library, "lookup_equipment", semantic_query="glowing ring under 500 gp")).text
    assert "Nothing is known to meet where='cost<500', which your question asks for." in text
    await library.cache.store_entities([priced], "equipment")
    text = (await call(library, "lookup_equipment", semantic_query="glowing ring under 500 gp")).text
    assert "where='cost<500'" in text
    assert "The library knows the cost of only 1 of 11 items; the other 10 were left out." in text


async def test_a_long_entry_that_is_named_begins_and_says_what_else_it_has(library):
    deeds = [{"name": name, "desc": "It waits. " * 300} for name in ("Drag Under", "Hail of Silt")]
    data = {"name": "Mire Lord", "desc": "", "actions": deeds, "armor_class": 15, "languages_desc": "Marsh"}
    lord = make("lord", type="creatures", name="Mire Lord", document="x", data=data)
    await library.cache.store_entities([lord], "creatures")
    text = (await call(library, "lookup_creature", name="mire lord")).text
    assert "**Armor Class** 15" in text
    assert text.endswith("Sections: Actions; Details")
    text = (await call(library, "lookup_creature", semantic_query="noble of the fen", limit=1)).text
    assert "Drag Under; Hail of Silt" in text


async def test_a_table_in_a_snippet_keeps_its_rows_and_cells(library):
    answer = await call(library, "lookup_rule", semantic_query="price of silt paste and of gull bane")
    row = "Gull Bane | 100 gp | 11 / Burnt Reed Fumes | 500 gp | 13 / Silt Paste | 40 gp | 15"
    assert "| Gull Bane | 100 gp | 11 |" in answer.text
    assert row in answer.structured["results"][0]["snippet"]
    page = await library.search(Query(["rules"], "banes are sold in vials"))
    assert "Bane | Price | DC / Gull Bane | 100 gp" in page.results[0].snippet
    ends = make("mud", f"Mud is deep.\n\n{BANES}\nThe rest is silt.", type="rules", name="Mud Prices", document="x")
    await library.cache.store_entities([ends], "rules")
    page = await library.search(Query(["rules"], "mud deep prices", documents=["x"]))
    assert page.results[0].snippet.endswith("40 gp | 15 / The rest is silt.")


async def test_a_table_that_is_not_there_is_not_denied_of_an_entry_with_another_name(library):
    with pytest.raises(
        NotFoundError, match="no entry with a table is called 'grim laugter'; what was found, Grim Laughter"
    ):
        await call(library, "roll", what="grim laugter")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "zzqx"}, "No rule has 'zzqx' in its name."),
        ({"name": "beholder"}, "No rule has 'beholder' in its name. It is not open content: no open book has it."),
        ({"name": "flanking"}, "No rule has 'flanking' in its name. It is not open content: no open book has it."),
        ({"name": "pace", "kind": "table"}, "Nothing found. kind is never 'table'. Known: rule."),
    ],
)
async def test_what_nothing_has_or_other_filters_leave_out_is_still_denied(library, arguments, said):
    assert (await call(library, "lookup_rule", **arguments)).text.startswith(said)


async def test_a_question_in_another_language_lists_nothing_but_what_it_names(library):
    for query, shown in [
        ("was macht der Zauber in dem Moor und wo ist er", []),
        ("was macht der Grim Laughter in dem Moor und wo ist er", ["Grim Laughter"]),
    ]:
        page = await library.search(Query(["spells", "rules"], query, unsure_limit=20))
        assert [result.entity.name for result in page.results] == shown
        assert (page.total, page.next_offset) == (len(shown), None)
        assert (page.note or "").startswith("The books are in English")
        assert "close enough" not in (page.note or "")


async def test_an_english_question_of_the_party_also_shows_notes_in_another_language_and_says_so(library):
    told = (
        "La compañía que llegó al puerto con sus caballos compró una olla de hierro, pero el capitán no les dijo nada."
    )
    for name in ("Olla", "Puerto"):
        note = make(name.lower(), f"{told} {name}.", type="notes", name=name, document="saga", kind="session")
        await library.cache.store_entities([note], "notes")
    asked = "which bane did we sell in vials"
    page = await library.search(Query(["rules", "notes"], asked, limit=1))
    assert "notes" in {result.entity.type for result in page.results}
    assert (page.note or "").endswith("The nearest notes are in Spanish: ask about them in Spanish, or by their names.")
    plain = await library.search(Query(["rules", "notes"], "which bane is sold in vials", limit=1))
    assert "Spanish" not in (plain.note or "")


async def test_what_is_alone_under_the_filters_is_not_sure_for_that(library):
    feat = make("wrestler", "Hold on tight.", type="character_options", kind="feat", name="Wrestler", document="x")
    await library.cache.store_entities([feat], "character_options")
    for query, sure in [("bonus on the order of turns", False), ("hold on tight", True), ("wrestler", True)]:
        page = await library.search(Query(["character_options"], query, filters={"kind": "feat"}))
        assert [result.sure for result in page.results] == [sure]
        assert bool(page.note) is not sure


async def test_an_entry_with_all_words_of_a_question_is_not_doubted_and_comes_first(tmp_path):
    others = [
        make(f"mud-{n}", f"Mud number {n} is deep.", type="rules", name=f"Mud {n}", document="x") for n in range(300)
    ]
    loud = make("reed", "Reed reed reed, and reed again: reed.", type="rules", name="Loudness", document="x")
    text = "Who hides behind a barge has half of its bonus, as a lantern in the reed shows. " + "Silt is grey. " * 40
    answer = make("toll", text, type="rules", name="Hiding", document="x")
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([*others, loud, answer], "rules")
        page = await library.search(Query(["rules"], "how is reed of a lantern with barge bonus"))
        assert page.results[0].entity.name == "Hiding"
        assert page.results[0].sure
        assert "for sure" not in (page.note or "")
        page = await library.search(Query(["rules"], "reed barge lantern zither"))
        assert not any(result.sure for result in page.results)
        assert page.note


async def test_a_name_that_is_not_open_is_not_taken_for_a_misspelt_one(library):
    actions = make("actions", "What a beast does.", name="Actions", type="rules", kind="rule", document="srd-2014")
    await library.cache.store_entities([actions], "rules")
    told = await call(library, "lookup_rule", name="bastions")
    assert "not open content" in told.text
    assert "Actions" not in told.text


async def test_a_section_of_which_the_page_has_half_of_the_words_is_denied(library):
    with pytest.raises(NotFoundError, match="no section is called 'regional pace'"):
        await call(library, "get_entity", uri="lore://rules/srd-2014/pace", section="regional pace")


async def test_a_row_of_one_edition_does_not_hide_that_of_another(library):
    rows = "| Bane | DC |\n|---|---|\n| Kelp Venom | 14 |\n| Eel Venom | 12 |"
    told = make("sample-venoms", rows, name="Sample Venoms", type="rules", kind="rule", document="srd-2024")
    older = "**Kelp Venom.** A creature must make a DC 11 Constitution saving throw."
    other = make("venoms", older, name="Venoms of Old", type="rules", kind="rule", document="srd-2014")
    await library.cache.store_entities([told, other], "rules")
    library.searcher.documents.forget()
    text = (await call(library, "lookup_rule", name="kelp venom")).text
    assert "Kelp Venom | 14" in text
    assert "DC 11 Constitution" in text


@pytest.mark.parametrize(
    ("question", "where", "found"),
    [
        ("undead of the swamp", "type:undead environments:swamp", ["Bog Gaunt"]),
        ("undead not of the swamp", "", []),
        ("fire damage at level 3", "damage_types:fire level:3", ["Ember Rain"]),
        ("frost damage cantrips", "", []),
        ("cold damage cantrips", "level:0 damage_types:cold", ["Rime Dart"]),
        ("2nd level rituals", "ritual level:2", ["Reed Rite"]),
        ("wizard level 3", "", []),
        ("very rare rings", 'rarity:"very rare" category:ring', ["Silt Ring"]),
        ("ember rain", "", []),
    ],
)
async def test_a_question_that_only_names_values_lists_what_has_them(library, question, where, found):
    swamp: dict[str, Any] = {"type": "creatures", "document": "x", "environments": ["swamp"]}
    kinds = {"Bog Gaunt": swamp, "Barrow Gaunt": {**swamp, "environments": ["hill"]}}
    gaunts = [
        make(name, "It waits.", name=name, data={"name": name, "type": "undead"}, **of) for name, of in kinds.items()
    ]
    gaunts = [replace(each, fields={**each.fields, "type": ("undead",)}) for each in gaunts]
    spells = [
        make("ember-rain", "It burns.", name="Ember Rain", level=3, damage_types=["fire"], classes=["wizard"]),
        make("ember-dart", "It burns.", name="Ember Dart", level=0, damage_types=["fire"], classes=["wizard"]),
        make("rime-dart", "It bites.", name="Rime Dart", level=0, damage_types=["cold"], classes=["wizard"]),
        make("reed-rite", "It sings.", name="Reed Rite", level=2, ritual=True, classes=["druid"]),
        make("silt-rite", "It sings.", name="Silt Rite", level=1, ritual=True, classes=["druid"]),
    ]
    ring: dict[str, Any] = {"type": "equipment", "kind": "magic-item", "category": "ring"}
    rings = [make("silt", "It glows.", name="Silt Ring", rarity="very rare", **ring)]
    rings += [make("reed", "It glows.", name="Reed Ring", rarity="rare", **ring)]
    for name, entries in {"creatures": gaunts, "spells": spells, "equipment": rings}.items():
        await library.cache.store_entities(entries, name)
    page = await library.search(Query(list(SEARCHED), question))
    assert (f"where='{where}'" in (page.note or "")) == bool(where)
    assert not found or sorted(each.entity.name for each in page.results) == sorted(found)
