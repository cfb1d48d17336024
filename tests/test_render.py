"""Entries as pages: complete, in the order of the books, safe, and a lean copy of each."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.differences import differences
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.records import Source, option
from lorekeeper.render import lean, markdown
from lorekeeper.render.creature import defences
from lorekeeper.render.lean import MAX_RATIO
from lorekeeper.render.prose import inline, prose
from lorekeeper.repairs import repaired
from lorekeeper.text.facts import facts
from tests.support.corpus import corpus_entries


def entry(entity_type: str, kind: str, data: Mapping[str, Any], name: str = "Gloom Heron") -> Entity:
    return Entity(entity_type, "gloom-heron", name, kind, "own", "open5e-v2", data)


def ref(name: str) -> dict[str, str]:
    return {"name": name, "key": name.lower()}


# --- complete entries ------------------------------------------------------------------------------------------------

HERON = {
    "key": "own_gloom-heron",
    "name": "Gloom Heron",
    "document": {"name": "Own", "key": "own", "gamesystem": {"key": "5e-2014"}},
    "size": ref("Huge"), "type": ref("Monstrosity"), "subtype": "bird", "alignment": "neutral evil",
    "armor_class": 16, "armor_detail": "scaly plumes",
    "hit_points": 114, "hit_dice": "12d12+36",
    "speed": {"walk": 35, "fly": 70, "hover": True, "unit": "feet"},
    "ability_scores": {"strength": 19, "dexterity": 13, "constitution": 17, "intelligence": 6, "wisdom": 15, "charisma": 9},
    "saving_throws": {"charisma": 2, "dexterity": 4, "wisdom": 5},
    "skill_bonuses": {"sleight_of_hand": 4, "perception": 8},
    "resistances_and_immunities": {
        "damage_vulnerabilities_display": "radiant", "damage_resistances_display": "cold; slashing from nonmagical attacks",
        "damage_immunities": [ref("Necrotic")], "condition_immunities_display": "prone",
    },
    "darkvision_range": 90, "passive_perception": 18,
    "languages": {"as_string": "Auran, telepathy 55 ft.", "data": []},
    "challenge_rating": 7.0, "experience_points": 2900,
    "traits": [{"name": "Reed Stillness", "desc": "Among reeds it cannot be seen."}],
    "actions": [
        {"name": "Gulp", "desc": "It swallows a frog.", "action_type": "ACTION", "order_in_statblock": 2,
         "usage_limits": {"type": "RECHARGE_ON_ROLL", "param": 5}},
        {"name": "Beak", "action_type": "ACTION", "order_in_statblock": 1,
         "desc": "Melee Weapon Attack: +7 to hit, reach 15 ft. Hit: 17 (3d8 + 4) piercing damage plus 7 (2d6) cold damage.",
         "attacks": [{"name": "Beak attack", "attack_type": "WEAPON", "to_hit_mod": 7, "reach": 15, "damage_die_count": 3,
                      "damage_die_type": "D8", "damage_type": ref("Thunder"), "extra_damage_type": ref("Thunder")}]},
        {"name": "Hop", "desc": "It hops aside.", "action_type": "BONUS_ACTION",
         "usage_limits": {"type": "PER_DAY", "param": 3}},
        {"name": "Duck", "desc": "It adds 3 to its Armor Class.", "action_type": "REACTION"},
        {"name": "Wingbeat", "desc": "Leaves are blown away.", "action_type": "LEGENDARY_ACTION", "legendary_action_cost": 2},
        {"name": "Fog", "desc": "Fog rises from the pond.", "action_type": "LAIR_ACTION"},
    ],
    "environments": [ref("Marsh"), ref("Lake")],
    "illustration": {"file_url": "/static/heron.png"}, "crossreferences": {"to": []},
}  # fmt: skip

COMPLETE: list[tuple[str, str, dict[str, Any], list[str]]] = [
    (
        "creatures", "creature", HERON,
        ["*Huge monstrosity (bird), neutral evil*", "**Armor Class** 16 (scaly plumes)", "114 (12d12 + 36)",
         "35 ft., fly 70 ft. (hover)", "| STR | DEX |", "19 (+4) | 13 (+1)", "9 (-1)", "Dex +4, Wis +5, Cha +2",
         "Sleight of Hand +4, Perception +8", "**Damage Vulnerabilities** radiant", "slashing from nonmagical",
         "**Damage Immunities** Necrotic", "**Condition Immunities** prone", "darkvision 90 ft., passive Perception 18",
         "Auran, telepathy 55 ft.", "**Challenge** 7 (2,900 XP; proficiency bonus +3)", "**Reed Stillness.** Among reeds",
         "**Gulp (Recharge 5–6).**", "**Hop (3/Day).**", "**Duck.**", "**Wingbeat (Costs 2 Actions).**", "Marsh, Lake"],
    ),
    (
        "spells", "spell",
        {"level": 3, "school": ref("Evocation"), "ritual": True, "casting_time": "reaction",
         "reaction_condition": "which you take when it rains", "range_text": "90 feet", "range": 90, "verbal": True,
         "somatic": True, "material": True, "material_specified": "a drop of ink", "material_cost": "50.00",
         "duration": "10 minutes", "concentration": True, "shape_type": "cone", "shape_size": 30,
         "classes": [ref("Bard"), ref("Wizard")], "desc": "Ink rains.", "higher_level": "More ink rains."},
        ["*3rd-level evocation (ritual)*", "**Casting Time** 1 reaction, which you take when it rains", "90 feet",
         "V, S, M (a drop of ink; worth 50 gp)", "**Duration** Concentration, up to 10 minutes", "30-foot cone",
         "Bard, Wizard", "Ink rains.", "**At Higher Levels.** More ink rains."],
    ),
    (
        "equipment", "weapon",
        {"category": ref("Weapon"), "desc": "It hums.", "cost": "0.50", "weight": "3.500", "weight_unit": "lb",
         "rarity": {**ref("Rare"), "rank": 3}, "requires_attunement": True, "attunement_detail": "Requires Attunement by a Bard",
         "weapon": {"name": "Hook", "damage_dice": "2d4", "damage_type": ref("Piercing"), "range": 20, "long_range": 60,
                    "is_simple": False, "properties": [
                        {"property": {"name": "Versatile", "type": None, "desc": "In one or two hands."}, "detail": "2d6"},
                        {"property": {"name": "Sap", "type": "Mastery", "desc": "It tires."}, "detail": None}]}},
        ["*Martial weapon (hook), rare (requires Attunement by a Bard)*", "2d4 piercing", "20/60 ft.",
         "Versatile (2d6), Sap (mastery)", "**Cost** 5 sp", "**Weight** 3.5 lb.", "It hums.", "**Sap.** It tires."],
    ),
    (
        "equipment", "armor",
        {"category": ref("Armor"), "cost": "1200.00", "armor": {
            "category": "medium", "ac_base": 14, "ac_display": "14 + Dex modifier (max 2)", "ac_cap_dexmod": 2,
            "ac_add_dexmod": True, "grants_stealth_disadvantage": True, "strength_score_required": 13}},
        ["*Armor (medium)*", "14 + Dex modifier (max 2)", "**Strength** 13", "**Stealth** disadvantage", "1,200 gp"],
    ),
    (
        "character_options", "class",
        {"hit_dice": "D8", "saving_throws": [{"name": "Wisdom"}],
         "hit_points": {"hit_dice_name": "1D8 per Fowler level", "hit_points_at_1st_level": "8 + your modifier",
                        "hit_points_at_higher_levels": "1d8 (or 5)"},
         "features": [
             {"name": "Snare", "desc": "You catch birds.", "feature_type": "CLASS_LEVEL_FEATURE",
              "gained_at": [{"level": 2, "detail": "one use"}, {"level": 6, "detail": "two uses"}]},
             {"name": "Lure", "desc": "You call birds.", "feature_type": "CLASS_LEVEL_FEATURE",
              "gained_at": [{"level": 1, "detail": None}]},
             {"name": "Nets", "desc": "[Column data]", "feature_type": "CLASS_TABLE_DATA", "gained_at": [],
              "data_for_class_table": [{"level": 1, "column_value": "4"}, {"level": 6, "column_value": "9"}]},
             {"name": "Proficiency Bonus", "desc": "", "feature_type": "PROFICIENCY_BONUS", "gained_at": [],
              "data_for_class_table": [{"level": n, "column_value": f"+{2 + n // 5}"} for n in range(1, 21)]}]},
        ["d8 per Fowler level", "8 + your modifier", "1d8 (or 5)", "**Saving Throws** Wisdom",
         "| Level | Proficiency Bonus | Features | Nets |", "| 1 | +2 | Lure | 4 |", "| 6 | +3 | Snare (two uses) | 9 |",
         "### Level 1: Lure", "### Level 2: Snare", "one use; again at level 6 (two uses)"],
    ),
    (
        "character_options", "subclass", {"subclass_of": ref("Fowler"), "desc": "You prefer ducks."},
        ["*Subclass of Fowler*", "You prefer ducks."],
    ),
    (
        "character_options", "subrace",
        {"subspecies_of": "own_heronfolk", "traits": [{"name": "Long Legs", "desc": "**_Long Legs._** You wade."}]},
        ["*Subrace of Heronfolk*", "**Long Legs.** You wade."],
    ),
    (
        "character_options", "background", {"benefits": [{"name": "Equipment", "desc": "A net", "type": "equipment"}]},
        ["**Equipment.** A net"],
    ),
    (
        "character_options", "feat",
        {"type": "GENERAL", "prerequisite": "Wisdom 13", "desc": "You know birds.", "benefits": [{"desc": "You whistle."}]},
        ["*General feat*", "**Prerequisite** Wisdom 13", "You know birds.", "- You whistle."],
    ),
    (
        "rules", "condition",
        {"descriptions": [{"desc": "You drip.", "gamesystem": "5e-2014"}, {"desc": "You squelch.", "gamesystem": "5e-2024"}]},
        ["*Condition*", "## 2014\n\nYou drip.", "## 2024\n\nYou squelch."],
    ),
    (
        "rules", "section", {"desc": "Wading.", "rules": [
            {"name": "Deep", "desc": "To the neck.", "index": 2}, {"name": "Shallow", "desc": "To the knee.", "index": 1}]},
        ["Wading.\n\n## Shallow\n\nTo the knee.\n\n## Deep\n\nTo the neck."],
    ),
    (
        "documents", "document",
        {"publisher": ref("Reed Press"), "author": "A. Wader", "licenses": [{"name": "CC0", "key": "cc0"}],
         "gamesystem": ref("5e"), "publication_date": "2025-03-01T00:00:00", "permalink": "https://example.org/herons",
         "attribution": "By the waders."},
        ["Reed Press", "A. Wader", "CC0", "2025-03-01", "https://example.org/herons", "By the waders."],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("entity_type", "kind", "data", "told"), COMPLETE, ids=[case[1] for case in COMPLETE])
def test_every_field_of_a_complete_entry_is_on_its_page(entity_type, kind, data, told):
    page = markdown(entry(entity_type, kind, data))
    assert [text for text in told if text not in page] == []


SKILLS = [
    {"key": "wading", "name": "Wading", "descriptions": [
        {"desc": "Their wading.", "document": "other"}, {"desc": "Our wading.", "document": "own"}]},
    {"key": "other_fishing", "name": "Fishing", "descriptions": [{"desc": "Their fishing.", "document": "other"}]},
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "told", "names"),
    [
        ("own", ["**Wading.** Our wading."], ["Wading"]),
        ("other", ["**Wading.** Their wading.", "**Fishing.** Their fishing."], ["Wading", "Fishing"]),
        ("third", ["**Wading.** Their wading.", "**Fishing.** Their fishing."], ["Wading", "Fishing"]),
    ],
)
def test_an_ability_has_the_skills_of_its_document_in_the_words_of_that(document, told, names):
    ability = entry("rules", "ability", {"desc": "It is calm.", "document": document, "skills": SKILLS})
    assert markdown(ability).split("## Skills\n\n")[1].strip().split("\n\n") == told
    assert lean(ability)["skills"] == names


def test_a_stat_block_has_its_sections_in_the_order_of_the_books():
    headings = re.findall(r"^## (.*)$", markdown(entry("creatures", "creature", HERON)), re.MULTILINE)
    assert headings == ["Actions", "Bonus Actions", "Reactions", "Legendary Actions", "Lair Actions"]
    page = markdown(entry("creatures", "creature", HERON))
    assert page.index("**Beak.**") < page.index("**Gulp")


V1 = {
    "slug": "gloom-heron", "name": "Gloom Heron", "size": "Huge", "type": "Monstrosity", "armor_class": 16,
    "armor_desc": "plumes", "strength": 19, "dexterity": 13, "wisdom_save": 5, "skills": {"perception": 8},
    "senses": "darkvision 90 ft., passive Perception 18", "damage_immunities": "necrotic", "challenge_rating": "1/4", "cr": 0.25,
    "special_abilities": [{"name": "Stillness", "desc": "It is still."}], "actions": [{"name": "Beak", "desc": "It pecks."}],
    "reactions": None, "legendary_desc": "It has two.", "legendary_actions": [{"name": "Wingbeat", "desc": "Leaves fly."}],
    "speed": {"walk": 35},
}  # fmt: skip
ORCBREW = {
    "size": "huge", "type": "monstrosity", "armor-class": 16, "hit-points": {"die": 12, "die-count": 12, "modifier": 36},
    "str": 19, "dex": 13, "speed": "walk 35 ft.", "challenge": 0.25,
    "traits": [{"name": "Stillness", "description": "It is still."},
               {"name": "Beak", "type": "action", "description": "It pecks."},
               {"name": "Wingbeat", "type": "legendary-action", "description": "Leaves fly."}],
}  # fmt: skip


@pytest.mark.parametrize("data", [V1, ORCBREW], ids=["v1", "orcbrew"])
def test_other_shapes_give_the_same_block(data):
    page = markdown(entry("creatures", "creature", data))
    for told in (
        "**Armor Class** 16",
        "**Speed** 35 ft.",
        "19 (+4) | 13 (+1) | —",
        "1/4 (50 XP; proficiency bonus +2)",
    ):
        assert told in page
    assert (
        page.index("## Traits\n\n**Stillness.**") < page.index("## Actions\n\n**Beak.**") < page.index("**Wingbeat.**")
    )


def test_filter_fields_of_our_own_shape_read_as_the_lines_of_a_book():
    page = markdown(
        entry("creatures", "creature", {"saves": ["wisdom"], "senses": ["darkvision", "keen smell"], "darkvision": 60})
    )
    assert "- **Forces Saves** wisdom" in page
    assert "Saving Throws" not in page
    assert "- **Senses** darkvision 60 ft., keen smell" in page
    full = {"saves": ["constitution"], "actions": [{"name": "Bite", "desc": "It bites."}]}
    assert "- **Forces Saves** constitution" in markdown(entry("creatures", "creature", full))
    assert "saves" not in defences(entry("creatures", "creature", full))
    assert "saves Dex +5" in defences(entry("creatures", "creature", {**full, "saves": ["Dex +5"]}))
    net = {"category": ["weapon", "martial weapon", "ranged weapon"], "damage": 2.5, "damage_type": "piercing"}
    page = markdown(entry("equipment", "weapon", net))
    assert "*Martial weapon, ranged weapon*" in page
    assert "- **Damage** 2.5 piercing" in page


def test_saving_throws_with_their_bonuses_are_its_own():
    assert "- **Saving Throws** Dex +4" in markdown(entry("creatures", "creature", {"saves": {"dexterity": 4}}))


def test_keys_that_no_renderer_knows_are_shown_too():
    page = markdown(
        entry("spells", "spell", {"description": "Ink.", "smell": "of tar", "verses": [{"name": "I", "desc": "O"}]})
    )
    assert "- **Smell** of tar" in page
    assert "#### Verses\n\n**I.** O" in page


def test_an_option_is_one_record_in_the_words_of_every_source():
    column = {"name": "Tides", "desc": "[Column data]", "data_for_class_table": [{"level": 2, "column_value": "3"}]}
    gained = [{"level": 5, "detail": None}, {"level": 2, "detail": "one shell"}]
    call = {"name": "Call", "desc": "It calls.", "gained_at": gained, "feature_type": "CLASS_LEVEL_FEATURE"}
    newer = {"hit_points": {"hit_dice_name": "1D8"}, "saving_throws": [{"name": "Wisdom"}], "features": [call, column]}
    older = {"hit_dice": "1d8", "prof_saving_throws": "Wisdom", "traits": [call, column]}
    read, same = (option(Source(each), "class") for each in (newer, older))
    assert replace(read, hit_dice="") == replace(same, hit_dice="")
    assert [(each.name, each.kind, each.levels, each.column) for each in read.features] == [
        ("Call", "", ((2, "one shell"), (5, "")), {}),
        ("Tides", "column", (), {2: "3"}),
    ]
    assert (read.hit_dice, read.saves, option(Source({"hit-die": 8}), "class").hit_dice) == ("d8", "Wisdom", "d8")


def test_a_class_names_its_subclasses():
    page = markdown(entry("character_options", "class", {"desc": "You catch birds."}), subclasses=["Netter", "Piper"])
    assert page.endswith("## Subclasses\n\nNetter, Piper")


def test_a_price_of_nothing_is_no_price():
    assert "Cost" not in markdown(entry("equipment", "magic-item", {"cost": "0.00", "desc": "It hums."}))


# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (r"One.\nTwo.", "One.\n\nTwo."),
        (r"|A|B|\n|---|---|\n|1|2|", "| A | B |\n|---|---|\n| 1 | 2 |"),
        ("|A|B|\n|1|2|\n|3|", "| A | B |\n|---|---|\n| 1 | 2 |\n| 3 |  |"),
        ("<table><tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td>2<br>3</td></tr></table>", "| A | B |\n|---|---|\n| 1 | 2; 3 |"),
        ("See [prone](srd:prone) and srd:two-words.", "See prone and two words."),
        ("![img](x.png) [a](b)(c)", "img a(c)"),
        ("&emsp;A &amp; B<br>C", "A & B\n\nC".replace("\n\n", "\n")),
        ("( a ) a net or (*b*) a line", "(a) a net or (*b*) a line"),
        ("[No description provided]", ""),
        ("# Big\ntext\n### Small\ntext", "#### Big\n\ntext\n\n##### Small\n\ntext"),
        ("Title\n=====\ntext", "Title\n\ntext"),
        ("```\n## not ours\n```", "#### not ours"),
        ("* one\n* two\n*three", "- one\n- two\n- three"),
        ("soft\u00adhyphen", "softhyphen"),
        ('|A|B|\n|---|---|\n|1|2|"', "| A | B |\n|---|---|\n| 1 | 2 |"),
    ],
)  # fmt: skip
def test_texts_are_made_readable(text, page):
    assert prose(text) == page


@pytest.mark.parametrize(
    "piece", ["|", "<", "[", "](", "( a", "#", "*", "&", "\\n", "- ", "srd:a-", "<td ", "| a |\n|-|\n", " "]
)
def test_long_runs_take_linear_time(piece):
    """Where the time is not linear it is minutes, and the test's own limit ends it."""
    assert isinstance(prose(piece * (300_000 // len(piece))), str)
    assert isinstance(inline(piece * (300_000 // len(piece))), str)


def test_wide_tables_are_not_filled_to_more_than_there_is():
    wide = prose("|a" * 4_000 + "\n" + "|-" * 4_000 + "\n" + "|1\n" * 4_000)
    assert wide.count("|---") == 4_000
    assert wide.count("\n| 1 |") == 4_000
    assert wide.count("|") < 500_000
    assert prose("| a |\n|-|\n| 1 " + "| " * 150_000) == "| a |\n|---|\n| 1 |"


def test_headings_of_the_text_stay_if_nothing_follows_them():
    page = markdown(entry("rules", "rule", {"desc": "text\n## Empty\n## Full\nmore\n### End"}))
    assert page == "# Gloom Heron\n\n*Rule*\n\ntext\n\n#### Empty\n\n#### Full\n\nmore\n\n##### End"


# --- hostile objects -------------------------------------------------------------------------------------------------

OURS = re.compile(r"#{1,3} ")
POISON = "\n# Actions\n## Reactions\r\n### Level 1: X\n\x1b[2J\u202e[x](http://evil)\n---\n"
KEYS = sorted({key for _, _, data, _ in COMPLETE for key in data} | V1.keys() | ORCBREW.keys())


def anything(chance: random.Random, depth: int = 3) -> Any:
    """A JSON value of any shape, with texts that would pose as headings of a page."""
    scalars = [None, True, False, 0, -1, 3.5, 10**15, 1e300, "", "7", "D8", "text", POISON]
    kind = chance.randrange(4 if depth else 2)
    if kind < 2:
        return chance.choice(scalars)
    if kind == 2:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(4))]
    names = chance.sample([*KEYS, "level", "gained_at", "data_for_class_table", "param", "property", "index"], 4)
    return {name: anything(chance, depth - 1) for name in names}


def test_no_object_breaks_a_page_or_poses_as_our_own_headings(seed):
    chance = random.Random(f"{seed} render")
    for number in range(600):
        data = {key: anything(chance) for key in chance.sample(KEYS, 12)}
        entity_type = chance.choice(list(COLLECTIONS))
        kind = chance.choice(COLLECTIONS[entity_type].kinds)
        made = entry(entity_type, kind, data, name=POISON)
        page = markdown(made)
        where = f"seed {seed}, object {number}: {data}"
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", page), where
        assert "](http" not in page, where
        ours = [line for line in page.split("\n") if OURS.match(line)]
        assert not [line for line in ours[1:] if "evil" in line or line in ("# Actions", "## X")], where
        assert len(json.dumps(lean(made))) > 0


def test_text_of_an_entry_cannot_begin_a_section():
    page = markdown(entry("spells", "spell", {"desc": f"Ink.{POISON}Blots."}))
    assert [line for line in page.split("\n") if OURS.match(line)] == ["# Gloom Heron"]


# --- the lean copy ---------------------------------------------------------------------------------------------------


def values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a JSON object that are not objects or lists, with the keys that lead there."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from values(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from values(inner, path)
    else:
        yield path, value


def test_the_lean_copy_has_no_empty_values_and_no_keys_of_the_source():
    copy = lean(entry("creatures", "creature", HERON))
    assert [path for path, value in values(copy) if value is None or value == ""] == []
    assert not copy.keys() & {"key", "document", "illustration", "crossreferences"}
    assert (copy["type"], copy["environments"], copy["languages"]) == (
        "Monstrosity",
        ["Marsh", "Lake"],
        "Auran, telepathy 55 ft.",
    )


def test_the_text_of_an_attack_decides_its_damage():
    beak = next(action for action in lean(entry("creatures", "creature", HERON))["actions"] if action["name"] == "Beak")  # type: ignore[attr-defined]
    assert beak["attacks"] == [{"to_hit": 7, "reach": 15, "damage": ["3d8 piercing", "2d6 cold"]}]
    assert "hunder" not in json.dumps(lean(entry("creatures", "creature", HERON)))


def test_what_the_text_of_a_spell_does_not_say_is_left_out():
    copy = lean(entry("spells", "spell", {
        "desc": "Ink deals 2d6 cold damage. A Dexterity saving throw halves it. It stings those who are near to the water, "
        "and goes on to sting them until they have left it and dried.",
        "damage_roll": "9d9", "damage_types": ["cold", "fire"], "saving_throw_ability": "dexterity"}))  # fmt: skip
    assert (copy.get("damage_roll"), copy["damage_types"], copy["saving_throw_ability"]) == (
        None,
        ["cold"],
        "dexterity",
    )


@pytest.mark.parametrize(("entity_type", "kind"), [("spells", "spell"), ("equipment", "magic-item")])
def test_what_a_note_describes_is_printed_with_a_link_to_the_note(entity_type, kind):
    place = {"note": "lore://notes/fens/Witch.md", "note_name": "Witch", "note_section": "Spells"}
    page = markdown(entry(entity_type, kind, {"desc": "It rains.", **place}))
    assert "- **From the note** Witch > Spells (lore://notes/fens/Witch.md)" in page
    assert "Note Name" not in page


def test_the_copy_of_a_short_entry_is_its_page_or_its_name():
    assert lean(entry("rules", "environment", {"aquatic": False})) == {"name": "Gloom Heron"}
    long_keys = {f"a_very_long_key_of_its_own_{n}": "x" for n in range(9)}
    copy = lean(entry("rules", "rule", {"option_pack": long_keys, "desc": "It rains."}))
    assert len(json.dumps(copy)) <= MAX_RATIO * len(markdown(entry("rules", "rule", {"desc": "It rains."})))


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def entries(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Entity]:
    """Every entry of the corpus."""
    return corpus_entries(corpus, tmp_path_factory)


NOT_SHOWN = set(
    "key url document crossreferences illustration icon creaturesets speed_all modifiers saving_throws_all skill_bonuses_all "
    "normal_sight_range unit weight_unit distance_unit range_unit shape_size_unit attacks order_in_statblock index order "
    "initialHeaderLevel ruleset casting_options target_type target_count feature_type rank category_key gamesystem "
    "display_name publication_date".split()
)
"""Keys of the source's own, those made from others, and those that the text of the entry has in another form."""

OTHERWISE = {
    ("creatures", "category"), ("creatures", "armor_detail"), ("creatures", "languages.data.desc"),
    ("creatures", "actions.usage_limits.type"), ("creatures", "actions.legendary_action_cost"),
    ("equipment", "size.name"), ("spells", "range"), ("character_options", "caster_type"), ("character_options", "benefits.type"),
    ("character_options", "traits.type"), ("character_options", "subspecies_of"), ("equipment", "desc"),
    ("rules", "descriptions.document"), ("rules", "skills.descriptions.document"),
}  # fmt: skip
"""What is left out with a reason: filler values, and what is said in other words."""

WRONG_AT_THE_SOURCE = {"lore://spells/srd-2024/freedom-of-movement", "lore://creatures/srd-2014/xorn"}


def plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", prose(text).casefold()))


def own_words(value: Any, document: str) -> Any:
    """A JSON value without the descriptions in it that are another document's, and what only others describe."""
    if isinstance(value, list):
        return [own_words(item, document) for item in value if not of_others(item, document)]
    return {key: own_words(inner, document) for key, inner in value.items()} if isinstance(value, Mapping) else value


def of_others(item: Any, document: str) -> bool:
    if not isinstance(item, Mapping):
        return False
    descriptions = item.get("descriptions") or ([item] if "gamesystem" in item else [])
    return bool(descriptions) and all(description["document"] != document for description in descriptions)


def numbers(text: str) -> set[float]:
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text.replace(",", ""))} | {0.0}


@pytest.mark.corpus
@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", ["srd-2014", "srd-2024"])
def test_every_structured_field_of_the_reference_documents_is_on_the_page(entries, document):
    missing = []
    for each in entries:
        if each.document != document or each.uri in WRONG_AT_THE_SOURCE:
            continue
        page = markdown(each)
        text, shown = f" {plain(page)} ", numbers(page)
        for path, value in values(own_words(repaired(each), document)):
            if NOT_SHOWN & set(path) or (each.type, ".".join(path)) in OTHERWISE or isinstance(value, bool | None):
                continue
            if path[0] == "hit_points" and each.fields.get("parent"):
                continue  # which a subclass has from its class
            if path[-1] == "hit_dice_name":
                value = str(value).replace("1D", "d")
            if path == ("armor", "category") and each.data["armor"]["name"] == "Shield":
                value = "shield"  # which the source takes for heavy armor
            coins = path[-1] == "cost" and {round(float(value) * worth, 6) for worth in (1, 10, 100)} & shown
            if not coins and not on_page(value, text, shown):
                missing.append((each.uri, ".".join(path), value))
    assert missing == []


def on_page(value: Any, text: str, shown: set[float]) -> bool:
    if isinstance(value, str) and not re.fullmatch(r"\d+\.\d+", value):
        spaced = re.sub(r"(?<=\d)(?=minute|hour|week|day)", " ", plain(value)) if len(value) < 12 else plain(value)
        return spaced.replace("5e 2014", "") in text
    return abs(float(value)) in shown or value in (0.125, 0.25, 0.5)


# --- editions --------------------------------------------------------------------------------------------------------


def page_of(entity_type: str, kind: str, data: Mapping[str, Any]) -> str:
    return markdown(entry(entity_type, kind, data))


def of_rules(key: str, document: str = "tide-atlas") -> dict[str, Any]:
    return {"key": document, "name": document, "gamesystem": {"key": key}}


def test_a_stat_block_of_2014_has_no_initiative_and_no_heading_of_traits():
    page = page_of("creatures", "creature", {**HERON, "initiative_bonus": 3, "document": of_rules("5e-2014")})
    assert "Initiative" not in page
    assert "## Traits" not in page
    assert page.index("**Challenge**") < page.index("**Reed Stillness.**") < page.index("## Actions")
    later = page_of("creatures", "creature", {**HERON, "initiative_bonus": 3, "document": of_rules("5e-2024")})
    assert "- **Initiative** +3 (13)" in later
    assert "## Traits\n\n**Reed Stillness.**" in later


@pytest.mark.parametrize(
    ("system", "document", "sentence"),
    [
        ("5e-2014", "srd-2014", "It can take 3 legendary actions"),
        ("5e-2024", "srd-2024", "*Legendary Action Uses: 3 (4 in Lair)."),
    ],
)
def test_legendary_actions_say_how_they_are_used(system, document, sentence):
    traits = [{"name": "Legendary Resistance (3/Day, or 4/Day in Lair)", "desc": "It succeeds."}]
    page = page_of("creatures", "creature", {**HERON, "traits": traits, "document": of_rules(system, document)})
    assert f"## Legendary Actions\n\n{sentence}" in page
    assert sentence not in page_of("creatures", "creature", {**HERON, "traits": traits, "document": of_rules(system)})


def test_a_spell_of_2024_is_printed_as_its_book_does():
    spell = {
        "level": 3,
        "school": ref("Evocation"),
        "casting_time": "action",
        "desc": "Ink rains.",
        "higher_level": "More.",
    }
    page = page_of("spells", "spell", {**spell, "document": of_rules("5e-2024")})
    assert "*Level 3 Evocation*" in page
    assert "**Casting Time** Action" in page
    assert "**Using a Higher-Level Spell Slot.** More." in page
    cantrip = page_of("spells", "spell", {**spell, "level": 0, "document": of_rules("5e-2024")})
    assert "**Cantrip Upgrade.** More." in cantrip
    earlier = page_of("spells", "spell", {**spell, "document": of_rules("5e-2014")})
    assert "*3rd-level evocation*" in earlier
    assert "**At Higher Levels.** More." in earlier


def test_a_comparison_of_editions_does_not_compare_their_style():
    spell = {
        "level": 3,
        "school": ref("Evocation"),
        "casting_time": "action",
        "desc": "Ink rains.",
        "higher_level": "More.",
    }
    both = [
        replace(entry("spells", "spell", {**spell, "document": of_rules(system)}), document=system)
        for system in ("5e-2014", "5e-2024")
    ]
    assert not any(fact.differs for fact in differences(both).facts)


# --- facts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("feat", {"type": "Epic Boon", "prerequisite": "Level 19+"}, "epic boon feat · level 19+"),
        ("feat", {"type": "GENERAL", "prerequisite": "Strength 13 or higher"}, "feat · Strength 13 or higher"),
        (
            "race",
            {
                "traits": [
                    {"name": "Size", "desc": "Medium (5 feet) or Small (3 feet), chosen at the start"},
                    {"name": "Speed", "desc": "Your base walking speed is 35 feet."},
                    {"name": "Superior Darkvision", "desc": "You see 120 feet far in the dark."},
                    {"name": "Age", "desc": "Old."},
                    {"name": "Wading", "desc": "Mud does not slow you."},
                ]
            },
            "medium or small · speed 35 ft · darkvision 120 ft · Wading",
        ),
        (
            "background",
            {
                "benefits": [
                    {"type": "skill_proficiency", "desc": "Insight and Religion"},
                    {"type": "feat", "desc": "Wader"},
                    {"type": "equipment", "desc": "A net"},
                ]
            },
            "background · Insight and Religion · Wader",
        ),
        (
            "class",
            {"hit_dice": "D8", "saving_throws": [{"name": "Wisdom"}, {"name": "Charisma"}]},
            "saves wisdom, charisma",
        ),
    ],
)
def test_the_facts_of_an_option_say_what_decides(kind, data, line):
    assert line in facts(entry("character_options", kind, data))
