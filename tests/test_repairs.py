"""What Open5e gets wrong is printed nowhere: page, facts, object and filters agree on the repaired value."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lorekeeper.cache.formats import declared, upgraded
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.maintenance.repair import data_repairs
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.play.differences import differences
from lorekeeper.render.lean import lean
from lorekeeper.render.pages import markdown
from lorekeeper.repairs.entries import EntryRepair, entry_repairs, repaired_entry
from lorekeeper.server.answers import entity_answer
from lorekeeper.server.tools import all_tools
from lorekeeper.settings import load_settings
from lorekeeper.text.evidence import evidence
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.facts import facts
from lorekeeper.text.passages import passages
from tests.support.commands import variables
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.samples import write_lines
from tests.support.tools import call

TOOLS = {tool.name: tool for tool in all_tools()}

OF_2024 = {"key": "srd-2024", "name": "Rules of 2024", "gamesystem": {"key": "5e-2024"}}

BASE: dict[str, Any] = {
    "key": "x_gloom-hart",
    "name": "Gloom Hart",
    "type": {"name": "Fey", "key": "fey"},
    "size": {"name": "Large", "key": "large"},
    "challenge_rating": 3.0,
    "hit_points": 40,
    "armor_class": 13,
    "speed": {"walk": 40, "unit": "feet"},
    "actions": [{"name": "Horn", "desc": "The hart gores.", "action_type": "ACTION"}],
    "traits": [],
}


def creature(document: str | dict[str, Any] = "tide-atlas", **values: Any) -> Entity:
    """A creature as Open5e sends it."""
    source = document if isinstance(document, dict) else {"key": document, "name": document}
    (made,) = normalize({**BASE, "document": source, **values})
    return made


def action(text: str, **values: Any) -> dict[str, Any]:
    return {"name": "Horn", "desc": text, "action_type": "ACTION", **values}


def everywhere(entity: Entity) -> str:
    """All that is shown of an entry."""
    return f"{markdown(entity)}\n{facts(entity)}\n{lean(entity)}\n{evidence(entity, '').text}"


# --- values ----------------------------------------------------------------------------------------------------------


def test_a_comparison_does_not_compare_invented_alignments():
    compared = differences([creature("bfrd", alignment="chaotic evil"), creature("srd-2014", alignment="unaligned")])
    assert "chaotic" not in repr(compared.facts)


def test_a_list_of_every_environment_is_printed_nowhere():
    places = [{"name": f"Place {n}", "key": f"place-{n}"} for n in range(31)]
    assert "Place" not in everywhere(creature("tob", environments=places))
    assert "Place 3" in markdown(creature("tob", environments=places[:4]))


# --- spells ----------------------------------------------------------------------------------------------------------


def spell(**values: Any) -> Entity:
    (made,) = normalize(
        {
            "key": "x_bell-lance",
            "name": "Bell Lance",
            "document": {"key": "x"},
            "level": 3,
            "school": {"name": "Evocation", "key": "evocation"},
            "casting_time": "action",
            "duration": "instantaneous",
            "desc": "A line of sound 100 feet long and 5 feet wide bursts out.",
            **values,
        }
    )
    return made


# --- texts -----------------------------------------------------------------------------------------------------------


def test_repairs_do_not_change_what_is_embedded():
    made = creature(OF_2024, actions=[action("Melee Attack Roll: +1, reach 5 ft. 3 (1d6) Cold damage. HitomIt flees.")])
    assert "HitomIt" in " ".join(passage.embedded for passage in passages(made))


# --- libraries -------------------------------------------------------------------------------------------------------


def test_stored_values_are_renewed_when_a_library_is_opened():
    made = creature(blindsight_range=3010, passive_perception=13)
    stored = replace(made, fields={**made.fields, "blindsight": 3010.0})
    earlier = declared(COLLECTIONS["creatures"]).replace("blindsight:decimal:fold:3", "blindsight:decimal:fold:1")
    assert upgraded(stored, earlier, derive_fields).fields["blindsight"] == 30


def test_keys_of_other_entries_are_names_in_snippets():
    assert (
        snippet("See srd:unseen-attackers-and-targets, and (srd:web).")
        == "See unseen attackers and targets, and (web)."
    )


@pytest.mark.asyncio
async def test_an_entry_without_text_names_one_of_its_name_that_has_it(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        bare, other, told = (
            make("mirk", text, name="Mirk", document=document)
            for document, text in (("new", ""), ("middle", ""), ("old", "Darkness falls."))
        )
        await library.cache.store_entities([bare, other, told], "spells")
        answer = await entity_answer(library.view(), bare)
        assert answer.structured["note"] == "The source has no text for this entry. old has one: lore://spells/old/mirk"
        assert "note" not in (await entity_answer(library.view(), told)).structured
        none = {"name": "Wilds", "desc": "[None provided]"}
        await library.cache.store_entities(
            [make("wilds", "[None provided]", type="rules", kind="environment", name="Wilds", data=none)], "rules"
        )
        found = (await call(library, "search_lore", query="Wilds")).text
        assert "*The source has no text for this entry.*" in found


# --- single entries --------------------------------------------------------------------------------------------------


def test_an_object_with_the_right_value_is_left_as_it_is():
    data = {"key": "srd-2024_dart", "weight": "0.250"}
    assert repaired_entry(data) is data
    assert repaired_entry({"key": "srd-2024_dart", "weight": "1.000"})["weight"] == "0.250"
    assert repaired_entry({"key": "srd-2024_dart"}) == {"key": "srd-2024_dart"}  # the path leads to nothing


async def test_the_line_of_facts_and_the_page_have_a_repaired_value_and_say_the_same(tmp_path):
    data = {"key": "srd-2024_monk", "name": "Monk", "document": OF_2024, "hit_dice": "D8", "features": []}
    abilities = [{"name": "Dexterity"}, {"name": "Wisdom"}]
    async with open_library(tmp_path, backend="sqlite") as library:
        file = write_lines(tmp_path / "classes.jsonl", [{**data, "subclass_of": None, "saving_throws": abilities}])
        await library.import_paths([file])
        uri = "lore://character_options/srd-2024/monk"
        answers = [
            await TOOLS[tool].run(library, TOOLS[tool].check(arguments))
            for tool, arguments in (
                ("get_entity", {"uri": uri}),
                ("lookup_character_option", {"name": "monk", "detail": "full"}),
            )
        ]
    entry, page = (answer.structured for answer in answers)
    assert "saves dexterity, strength" in entry["facts"]
    assert entry["facts"] == page["results"][0]["facts"]
    for answer in answers:
        assert "**Saving Throw Proficiencies** Dexterity, Strength" in answer.text
        assert "Wisdom" not in answer.text


@pytest.mark.parametrize("denies", [True, False])
async def test_what_the_text_of_an_armor_says_that_it_has_not_is_no_fact_of_it(tmp_path, denies):
    text = (
        "If the armor normally imposes Disadvantage on Stealth checks or has a Strength requirement, this one doesn't."
    )
    armor = {"name": "Gull Mail", "key": "gull-mail", "category": "heavy", "ac_base": 16, "ac_display": "16"}
    data = {
        "key": "srd-2024_reed-armor",
        "name": "Reed Armor (Gull Mail)",
        "desc": text if denies else "If the armor gets wet, it doesn't rust. It is loud.",
        "document": OF_2024,
        "category": {"name": "Armor", "key": "armor"},
        "rarity": {"name": "Rare", "key": "rare"},
        "armor": {**armor, "grants_stealth_disadvantage": True, "strength_score_required": 13},
    }
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "magicitems.jsonl", [data])])
        tool = TOOLS["lookup_equipment"]
        page = await tool.run(library, tool.check({"where": 'property:"stealth disadvantage"'}))
        entry = await tool.run(library, tool.check({"name": "reed armor", "detail": "full"}))
    assert ("Reed Armor" not in page.text) is denies
    assert ("**Stealth** disadvantage" not in entry.text) is denies
    assert ("Str 13" not in entry.text and "**Strength**" not in entry.text) is denies


async def test_what_a_list_of_gear_has_is_magic_with_a_rarity_where_the_book_gives_it_one(tmp_path):
    potion = {
        "key": "srd-2024_potion-of-giant-strength",
        "name": "Potion of Giant Strength",
        "category": {"name": "Potion", "key": "potion"},
        "desc": "The kind of giant decides.",
        "document": OF_2024,
    }
    plain = {**potion, "key": "srd-2024_tidewine", "name": "Tidewine"}
    async with open_library(tmp_path, backend="sqlite") as library:
        rows = [{**each, "weapon": None, "armor": None, "cost": "0.00"} for each in (potion, plain)]
        await library.import_paths([write_lines(tmp_path / "items.jsonl", rows)])
        tool = TOOLS["lookup_equipment"]
        answers = [
            await tool.run(library, tool.check(arguments))
            for arguments in ({"name": "Potion of Giant Strength"}, {"kind": "magic-item", "rarity": "varies"})
        ]
        (gear,) = await library.cache.get_entities("equipment", kind="gear")
    assert "Potion, rarity varies" in answers[0].text
    assert "Potion of Giant Strength, srd-2024" in answers[1].text
    assert gear.name == "Tidewine"


def test_levels_of_a_class_are_added_where_they_are_missing():
    cells = [{"level": 4, "column_value": "3"}]
    data = {"key": "srd_bard", "features": [{"name": "2nd", "data_for_class_table": cells}, {"name": "1st"}]}
    repaired = repaired_entry(data)
    assert repaired["features"][0]["data_for_class_table"] == [*cells, {"level": 3, "column_value": "2"}]
    assert repaired["features"][1] is data["features"][1]
    assert repaired_entry(repaired) is repaired


def test_properties_of_a_weapon_are_added_and_removed_by_name():
    loading = {"property": {"name": "Loading"}, "detail": None}
    crossbow = repaired_entry({"key": "srd_crossbow-heavy", "properties": [loading]})
    assert [each["property"]["name"] for each in crossbow["properties"]] == ["Loading", "Ammunition", "Heavy"]
    hands = {"property": {"name": "Two-Handed"}, "detail": None}
    assert repaired_entry({"key": "srd_trident", "properties": [hands, loading]})["properties"] == [loading]


def test_lost_text_is_added_once():
    data = {"key": "srd-2024_greater-invisibility", "desc": ""}
    repaired = repaired_entry(data)
    assert repaired["desc"].startswith("A creature that you touch has the Invisible condition")
    assert repaired_entry(repaired) is repaired


def test_the_hit_dice_of_a_creature_of_2024_tell_its_size():
    for dice, size, shown in (
        ("3d4 + 3", ("tiny",), "*Tiny fey*"),
        ("6d8 + 6", ("small", "medium"), "*Medium or Small fey*"),
        ("3d6", ("small",), "*Small fey*"),
    ):
        called = creature(OF_2024, size={"name": "Small", "key": "small"}, hit_dice=dice, alignment="")
        of_2014 = creature("srd-2014", size={"name": "Small", "key": "small"}, hit_dice=dice, alignment="")
        assert (called.fields["size"], shown.lower() in markdown(called).lower()) == (size, True)
        assert of_2014.fields["size"] == ("small",)


async def test_a_second_entry_of_a_creature_with_half_of_its_values_gives_way_to_the_whole_one(tmp_path):
    srd = {"key": "srd-2014", "name": "SRD 5.1"}
    whole = {**BASE, "key": "srd_drow", "name": "Drow", "hit_dice": "3d8", "challenge_rating": 0.25, "document": srd}
    stub = {
        **whole,
        "key": "srd_elf-drow",
        "name": "Elf, Drow",
        "hit_dice": None,
        "speed": {"walk": 0},
        "challenge_rating": 0.0,
    }
    for order in ([whole, stub], [stub, whole]):
        async with open_library(tmp_path / order[0]["key"], backend="sqlite") as library:
            report = await library.import_paths([write_lines(tmp_path / "creatures.jsonl", order)])
            (stored,) = await library.cache.get_entities("creatures")
            assert (stored.name, stored.fields["challenge_rating"], report.warnings) == ("Drow", 0.25, [])
    (alone,) = normalize(stub)
    assert alone.fields.get("challenge_rating") is None
    assert "Challenge" not in markdown(alone)


def test_a_set_lists_the_items_of_its_own_book():
    items = [{"name": "Bow", "key": "srd_bow"}, {"name": "Musket", "key": "srd-2024_musket"}]
    base = {"key": "ranged", "name": "Ranged", "desc": "From afar.", "document": {"key": "srd-2014"}}
    (made,) = normalize({**base, "items": items})
    assert "Bow" in markdown(made)
    assert "Musket" not in markdown(made)
    (other,) = normalize({**base, "items": items[1:]})
    assert "Musket" in markdown(other)


def test_the_copy_of_an_object_has_the_repaired_values():
    small = creature(OF_2024, size={"name": "Small", "key": "small"}, hit_dice="6d8 + 6", alignment="neutral")
    assert lean(small)["size"] == "Medium or Small"
    assert "chaotic" not in json.dumps(lean(creature("bfrd", alignment="chaotic evil")))
    far = creature(blindsight_range=3010, passive_perception=13)
    assert "3010" not in json.dumps(lean(far))
    base: dict[str, Any] = {"key": "x_bell", "name": "Bell", "document": {"key": "x"}, "desc": "It tolls for 100 feet."}
    item = {
        **base,
        "desc": "While attuned to this crown you hear.",
        "rarity": {"key": "rare"},
        "requires_attunement": False,
    }
    line = {"level": 3, "school": {"name": "Evocation", "key": "evocation"}, "shape_type": "line", "shape_size": 5}
    bell = {
        "material": True,
        "material_specified": "a bell worth 9 gp, used up in the casting",
        "material_consumed": False,
    }
    spell = {**base, **line, **bell, "casting_time": "action", "desc": "A line of sound 100 feet long and 5 feet wide."}
    (crown,), (lance,) = normalize(item), normalize(spell)
    assert lean(crown)["requires_attunement"] is True
    assert (lean(lance)["shape_size"], lean(lance)["material_consumed"]) == (100, True)


def test_rows_that_a_source_has_left_out_stand_in_their_places_and_once():
    rows = "".join(f"\n|{n}|Thing {n}|" for n in (64, 66, 80, 82, 97, 99))
    trinkets = {"key": "srd-2024_trinkets", "name": "Trinkets", "desc": f"|1d100|Trinket|\n|---|---|{rows}"}
    whole = repaired_entry(trinkets)
    numbers = [line.split("|")[1] for line in whole["desc"].splitlines()[2:]]
    assert numbers == ["64", "65", "66", "80", "81", "82", "97", "98", "99"]
    assert repaired_entry(whole) is whole


MISNAMED = {
    "srd_environment_darkvision": ("Blindsight", "Darkvision"),
    "srd_spellcasting_reactions": ("Bonus Action", "Reactions (Casting Time)"),
    "srd_monsters_reactions": ("Ammunition", "Reactions (Monsters)"),
    "srd_magic-items_spells": ("Consumables", "Spells"),
    "srd_coins_exchange-rates": ("Training", "Standard Exchange Rates"),
    "srd_multiclassing_proficiency-bonus": ("Hit Points and Hit Dice", "Proficiency Bonus (Multiclassing)"),
    "srd_actions-in-combat_use-an-object": ("Search", "Use an Object"),
    "srd_attacking_ranged-attacks": ("Rnged Attacks", "Ranged Attacks"),
}


@pytest.mark.parametrize("key", MISNAMED)
def test_a_name_of_the_table_is_the_name_of_the_entry_and_of_its_part(key):
    wrong, right = MISNAMED[key]
    chapter = key.rpartition("_")[0]
    rule = {"key": key, "name": wrong, "desc": "It sees.", "document": "srd-2014"}
    (made,) = normalize({**rule, "ruleset": chapter, "initialHeaderLevel": 3})
    assert (made.name, made.slug) == (right, key.removeprefix("srd_"))
    assert markdown(made).startswith(f"# {right}")
    whole = {"key": chapter, "name": "Chapter", "desc": "On rules.", "document": "srd-2014", "rules": [rule]}
    (page,) = (each for each in normalize(whole) if each.slug == chapter.removeprefix("srd_"))
    assert right in markdown(page)
    assert wrong not in markdown(page)


def test_every_repair_of_the_table_has_a_reason_and_a_path():
    assert len(entry_repairs()) > 100
    for repairs in entry_repairs().values():
        assert all(repair.reason and repair.path for repair in repairs)


async def test_repair_data_lists_what_is_repaired(tmp_path):
    resistances = {"damage_resistances_display": "cold"}
    made = [
        creature("bfrd", alignment="chaotic evil"),
        creature(OF_2024, key="srd-2024_chain-devil", name="Chain Devil", resistances_and_immunities=resistances),
    ]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(made, "creatures")
    settings, _ = load_settings(variables(tmp_path, "sqlite"), tmp_path / "no-env-file")
    report = await data_repairs(settings)
    assert report.entries == 2
    assert report.repairs["an invented alignment, or the rest of a type line"] == {made[0].uri: "alignment"}
    (reason,) = (reason for reason in report.repairs if reason.startswith("resistances left out"))
    assert made[1].uri in report.repairs[reason]


def test_a_part_of_a_text_can_be_replaced():
    repair = EntryRepair("x", "actions/Horn/desc~", {r" Roar \(.*": "", "gores": "charges"}, "the next action")
    data = {"actions": [action("The hart gores. Roar (1/Day). It roars."), action("It rests.", name="Rest")]}
    once = repair.applied(data)
    assert [each["desc"] for each in once["actions"]] == ["The hart charges.", "It rests."]
    assert repair.applied(once) is once


async def test_a_magic_weapon_has_what_its_weapon_has_by_the_book(tmp_path):
    """A repair of an entry counts for the copy of it that stands in another."""

    def properties(*names: str) -> list[dict[str, Any]]:
        return [{"property": {"name": name, "desc": f"{name} as ever."}, "detail": None} for name in names]

    def magic(name: str, weapon: str, *names: str) -> dict[str, Any]:
        kept = {"name": weapon, "key": f"srd_{weapon.lower()}", "damage_dice": "1d8", "properties": properties(*names)}
        rare = {"rarity": {"name": "Rare", "key": "rare"}, "category": {"name": "Weapon", "key": "weapon"}}
        srd = {"key": "srd-2014", "name": "SRD 5.1"}
        return {"key": f"srd_{name.lower()}", "name": name, "desc": "It hums.", **rare, "weapon": kept, "document": srd}

    rows = [magic("Duskmaul", "Maul", "Two-Handed"), magic("Tidefork", "Trident", "Thrown", "Two-Handed")]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.import_paths([write_lines(tmp_path / "magicitems.jsonl", rows)])
        tool = TOOLS["lookup_equipment"]
        heavy = await tool.run(library, tool.check({"where": "property:heavy"}))
        fork = await tool.run(library, tool.check({"name": "tidefork", "detail": "full"}))
    assert ("Duskmaul" in heavy.text, "Tidefork" in heavy.text) == (True, False)
    assert "Thrown" in fork.text
    assert "Two-Handed" not in fork.text


def test_what_the_printed_page_has_otherwise_is_shown_as_it_has_it():
    swing = action("Melee Weapon Attack: +7 to hit, reach 5 ft. Hit: 3 piercing damage.", name="Bite")
    fiend = creature(
        {"key": "srd-2014"}, key="srd_chain-devil", challenge_rating=11, experience_points=7200, passive_perception=8
    )
    beast = creature({"key": "srd-2014"}, key="srd_kraken", actions=[swing])
    shown = everywhere(fiend)
    assert (fiend.fields["challenge_rating"], fiend.fields["passive_perception"]) == (8, 11)
    assert "8 (3,900 XP" in shown
    assert "7,200" not in shown
    assert "+17 to hit" in markdown(beast)
    assert "+7 to hit" not in json.dumps(lean(beast))
    gear = {"cost": "25.00", "weight": "1.0", "document": OF_2024, "weapon": None, "armor": None}
    (acid,) = normalize(
        {
            **gear,
            "key": "srd-2024_acid",
            "name": "Acid",
            "desc": "It burns.",
            "category": {"name": "W", "key": "weapon"},
        }
    )
    (lute,) = normalize(
        {
            **gear,
            "key": "srd-2024_musical-instrument-lute",
            "name": "Lute",
            "desc": "Ability: Charisma. Utilize: Identify a tune (DC 15)",
            "category": {"name": "Tools", "key": "tools"},
        }
    )
    assert acid.fields["category"] == ("adventuring gear",)
    assert "Play a known tune (DC 10)" in markdown(lute)
    assert "DC 15)" not in markdown(lute).replace("a song (DC 15)", "")
