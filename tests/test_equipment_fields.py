"""Filter values of equipment: categories, armour class, damage, bonus, charges, curses, prices; rows of tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lorekeeper.normalize import equipment, normalize
from lorekeeper.records import Source, item
from tests.support.libraries import open_library

DOC = {"key": "tide-atlas", "name": "The Tide Atlas"}

ITEM = {"key": "ta_thing", "name": "Thing", "document": DOC, "weapon": None, "armor": None, "category": {"key": "ring"}}

MAGIC = {**ITEM, "rarity": {"key": "rare"}, "requires_attunement": False, "desc": "It glows."}


def fields(**values: object) -> dict[str, object]:
    return dict(normalize({**MAGIC, **values})[0].fields)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("Martial Melee Weapons",
         ["martial melee weapons", "martial melee weapon", "martial weapon", "melee weapon", "weapon"]),
        ("Light Armor", ["light armor", "armor"]),
        ("shield", ["shield", "armor"]),
        ("trade-good", ["trade good"]),
        ("tools", ["tools", "tool"]),
        ("Wondrous Item", ["wondrous item"]),
        (None, None),
    ],
)  # fmt: skip
def test_an_item_is_in_every_category_that_its_own_belongs_to(source, found):
    assert equipment.categories(source) == found


def test_a_weapon_is_simple_or_martial_and_melee_or_ranged():
    bow = {
        "name": "Gull Bow",
        "is_simple": False,
        "properties": [{"property": {"name": "Ammunition"}}],
        "damage_dice": "1d8",
    }
    found = fields(category={"key": "weapon"}, weapon=bow)
    assert found["category"] == ("weapon", "martial weapon", "ranged weapon")
    assert found["damage"] == 4.5
    without_ammunition = {**bow, "name": "Crossbow, heavy", "properties": []}
    assert fields(category={"key": "weapon"}, weapon=without_ammunition)["category"] == found["category"]


def test_armor_has_a_base_class_and_a_shield_its_bonus():
    mail = {"name": "Kelp Mail", "category": "medium", "ac_base": 14}
    assert fields(category={"key": "armor"}, armor=mail)["armor_class"] == 14
    assert fields(category={"key": "armor"}, armor=mail)["category"] == ("armor", "medium armor")
    assert fields(category={"key": "shield"})["armor_class"] == 2
    assert fields(category={"key": "armor"}, armor={"name": "Shield", "category": "heavy", "ac_base": 2})["category"] == (
        "armor", "shield",
    )  # fmt: skip
    assert "armor_class" not in fields()


def test_a_magic_suit_is_the_armor_of_its_name():
    suit = fields(name="Half Plate of the Reef (+1)", category={"key": "armor"})
    assert (suit["armor_class"], suit["category"]) == (15, ("armor", "medium armor"))
    assert fields(name="Returning Shield", category={"key": "armor"})["armor_class"] == 2
    assert "armor_class" not in fields(name="Armor of the Reef", category={"key": "armor"})
    assert "armor_class" not in fields(name="Half Plate Brooch")


@pytest.mark.parametrize(
    ("dice", "average"),
    [("2d6", 7), ("1d4", 2.5), ("1", 1), ("1d6 + 2", 5.5), ("0", None), ("", None), ("special", None)],
)
def test_damage_is_the_average_of_the_dice(dice, average):
    assert equipment.damage(dice) == average


@pytest.mark.parametrize(
    ("name", "text", "bonus"),
    [
        ("Oar (+2)", "It rows.", 2),
        ("Oar", "You gain a +1 bonus to attack and damage rolls made with it.", 1),
        ("Cloak", "While you wear it, you have a +3 bonus to AC.", 3),
        ("Oar (+1, +2, or +3)", "It rows.", None),
        ("Hat", "You have a +1 bonus to Charisma (Persuasion) checks.", None),
    ],
)
def test_the_bonus_is_that_of_the_name_or_of_attacks_and_armor(name, text, bonus):
    assert fields(name=name, desc=text).get("bonus") == bonus


@pytest.mark.parametrize(
    ("text", "charges"),
    [
        ("This wand has 7 charges.", 7), ("The shell has 1d8 + 1 charges.", 9), ("It holds three charges.", 3),
        ("It charges at the reef.", None), ("You expend 2 charges.", None),
    ],
)  # fmt: skip
def test_charges_are_the_most_there_can_be(text, charges):
    assert fields(desc=text).get("charges") == charges


@pytest.mark.parametrize(
    ("text", "cursed"),
    [
        ("**Curse.** You cannot let go of it.", True),
        ("This oar is cursed.", True),
        ("It ends with a remove curse spell.", False),
        ("It gleams.", False),
    ],
)
def test_a_cursed_item_curses_its_owner(text, cursed):
    assert fields(desc=text)["cursed"] is cursed


def test_the_text_may_ask_for_attunement():
    assert fields(desc="When you attune to the ring, it hums.")["requires_attunement"] is True
    assert fields(desc="A friend attuned to a pearl hears it.")["requires_attunement"] is False


@pytest.mark.parametrize(
    ("words", "rarity"),
    [
        ("Very Rare", "very rare"), ("uncommon (+1), rare (+2), or very rare (+3)", "varies"), ("rarity varies", "varies"),
        ("very rare or legendary", "varies"), ("unheard of", "unheard of"),
    ],
)  # fmt: skip
def test_a_rarity_is_one_or_varies(words, rarity):
    assert fields(rarity=words)["rarity"] == rarity


def test_a_price_of_nothing_is_none():
    assert "cost" not in fields(cost="0.00")
    assert fields(cost="0.05")["cost"] == 0.05


def test_homebrew_may_state_an_armor_class_in_words():
    mail = {"collection": "equipment", "kind": "armor", "name": "Kelp Mail", "category": "armor"}
    stated = {"armor_class": "14 + Dex modifier (max 2)", "properties": ["medium armor"], "damage_dice": "1d6"}
    (entity,) = normalize({**mail, **stated})
    assert (entity.fields["armor_class"], entity.fields["damage"]) == (14, 3.5)
    assert entity.fields["category"] == ("armor", "medium armor")


def test_an_item_is_one_record_in_the_words_of_every_source():
    nested = {"name": "Reef Fork", "weapon": {"damage_dice": "1d8", "damage_type": {"name": "Piercing", "key": "piercing"},
              "range": 20, "long_range": 60, "is_simple": False}, "cost": "5.00", "weight": "4.000"}  # fmt: skip
    flat = {"name": "Reef Fork", "damage_dice": "1d8", "damage_type": "piercing", "range": 20, "long_range": 60,
            "is_simple": False, "cost": 5, "weight": 4}  # fmt: skip
    read, same = (item(Source(each)) for each in (nested, flat))
    assert replace(read, forms=()) == same
    assert (read.training, read.damage.dice, read.range.feet, read.long_range) == ("martial", "1d8", 20, 60)
    assert (read.cost.gold, read.weight.number, read.attunement, read.armor_class.base) == (5, 4, None, None)


# --- rows of the tables of weapons and armour ------------------------------------------------------------------------

ROW = {"key": "ta_leather", "name": "Leather", "document": DOC, "category": "light", "ac_base": 11}

WHOLE = {
    **ITEM, "key": "ta_leather-armor", "name": "Leather Armor", "desc": "Boiled kelp.", "category": {"key": "armor"},
    "armor": {k: ROW[k] for k in ("name", "category", "ac_base")}, "cost": "10.00",
}  # fmt: skip


@pytest.mark.store
@pytest.mark.parametrize("order", [("row", "whole"), ("whole", "row"), ("whole", "row", "row")])
@pytest.mark.parametrize("together", [True, False])
async def test_a_row_never_stands_beside_the_whole_or_replaces_it(tmp_path, order, together):
    objects = {"row": ROW, "whole": WHOLE}
    files = [_file(tmp_path / f"{n}.jsonl", objects[name]) for n, name in enumerate(order)]
    async with open_library(tmp_path / "library") as library:
        for paths in [files] if together else [[file] for file in files]:
            report = await library.import_paths(paths)
            assert (report.failed, report.warnings) == ([], [])
        (entity,) = await library.cache.get_entities("equipment")
    assert (entity.slug, entity.name, entity.fields["cost"]) == ("leather-armor", "Leather Armor", 10.0)


@pytest.mark.store
async def test_rows_alone_are_kept(tmp_path):
    async with open_library(tmp_path / "library") as library:
        await library.import_paths([_file(tmp_path / "armor.jsonl", ROW)])
        (entity,) = await library.cache.get_entities("equipment")
    assert (entity.slug, entity.fields["armor_class"]) == ("leather-armor", 11)


def _file(path: Path, obj: object) -> Path:
    path.write_text(json.dumps(obj) + "\n", encoding="utf-8")
    return path


FIGURINES = """Some figurines have charges.
Coral Eel (Rare). It swims for 6 hours.
**Lapis Heron** (Rare). It has 24 charges, and each hour costs one.
It flies.
Tin Frog (Common). It is cursed: the frog curses whoever holds it. Curse. You croak."""


@pytest.mark.parametrize(
    ("name", "charges", "cursed"),
    [
        ("Figurine (Coral Eel)", None, False),
        ("Figurine (Lapis Heron)", 24, False),
        ("Figurine (Tin Frog)", None, True),
        ("Figurine (Bone Crab)", 24, True),
        ("Figurine", 24, True),
    ],
)
def test_a_text_that_several_items_share_says_of_each_what_its_own_part_says(name, charges, cursed):
    found = fields(name=name, desc=FIGURINES)
    assert (found.get("charges"), found.get("cursed")) == (charges, cursed)
