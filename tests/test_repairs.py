"""What Open5e gets wrong is printed nowhere: page, facts, object and filters agree on the repaired value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lorekeeper.cache.formats import declared, upgraded
from lorekeeper.differences import differences
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.maintenance.repair import data_repairs
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.render.lean import lean
from lorekeeper.render.pages import markdown
from lorekeeper.repairs import changes
from lorekeeper.repairs.entries import EntryRepair, entry_repairs, repaired_entry
from lorekeeper.rolling.tables import tables_of
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


@pytest.mark.parametrize("book", ["a5e-mm", "bfrd"])
def test_an_invented_alignment_is_shown_nowhere(book):
    made = creature(book, alignment="chaotic evil")
    assert "chaotic" not in everywhere(made)
    assert "*Large fey*" in markdown(made)


@pytest.mark.parametrize(("book", "alignment"), [("srd-2014", "chaotic evil"), ("a5e-mm", "lawful good")])
def test_an_alignment_that_a_source_may_know_is_shown(book, alignment):
    made = creature(book, alignment=alignment)
    assert f"*Large fey, {alignment}*" in markdown(made)
    assert alignment in facts(made)
    assert lean(made)["alignment"] == alignment


def test_the_rest_of_a_type_line_is_no_alignment():
    assert "Shapechanger)" not in everywhere(creature(alignment="Shapechanger)"))


def test_a_comparison_does_not_compare_invented_alignments():
    compared = differences([creature("bfrd", alignment="chaotic evil"), creature("srd-2014", alignment="unaligned")])
    assert "chaotic" not in repr(compared.facts)


def test_bonuses_that_are_all_listed_as_zero_are_not_printed_unless_the_scores_say_so():
    scores = dict.fromkeys(("strength", "dexterity", "constitution", "intelligence", "wisdom", "charisma"), 10)
    zero = {
        "saving_throws": dict.fromkeys(scores, 0),
        "skill_bonuses": dict.fromkeys(("arcana", "stealth", *scores), 0),
    }
    horse = everywhere(creature(ability_scores=scores | {"strength": 16}, **zero))
    assert "16 (+3)" in horse
    assert not any(word in horse for word in ("Saving Throws", "Skills", "Arcana"))
    assert "Saving Throws" in everywhere(creature(ability_scores=scores, **zero))
    stated = {"saving_throws": {"dexterity": 2}, "skill_bonuses": {"stealth": 4}}
    assert "Dex +2" in everywhere(creature(ability_scores=scores | {"strength": 16}, **stated))


def test_a_table_in_one_line_is_a_table_that_can_be_rolled_on():
    rows = "| d4 | What it does | |----|:---| | 1 | It runs: 1, north; or 2, south.| | 2–4 | It waits. |"
    text = f"It rolls as below. {rows} Then it ends."
    assert len(tables_of(creature(actions=[action(text)]))) == 1
    apart = markdown(creature(actions=[action(text)]))
    assert "| 1 | It runs: 1, north; or 2, south. |\n| 2–4 | It waits. |" in apart
    assert "Then it ends." in apart


def test_medium_or_small_is_said_whole_and_found_as_both():
    made = creature(OF_2024, size={"name": "Small", "key": "small"}, hit_dice="6d8 + 6", alignment="neutral")
    assert "*Medium or small fey, neutral*" in markdown(made)
    assert "medium or small fey" in facts(made)
    assert lean(made)["size"] == "Medium or Small"
    assert made.fields["size"] == ("small", "medium")


@pytest.mark.parametrize(
    ("document", "size", "dice"), [(OF_2024, "small", "6d6"), ("srd-2014", "small", "6d8"), (OF_2024, "medium", "6d8")]
)
def test_other_sizes_are_as_the_source_has_them(document, size, dice):
    made = creature(document, size={"name": size.title(), "key": size}, hit_dice=dice)
    assert f"*{size.capitalize()} fey*" in markdown(made)


def test_a_list_of_every_environment_is_printed_nowhere():
    places = [{"name": f"Place {n}", "key": f"place-{n}"} for n in range(31)]
    assert "Place" not in everywhere(creature("tob", environments=places))
    assert "Place 3" in markdown(creature("tob", environments=places[:4]))


@pytest.mark.parametrize(
    ("printed", "passive", "feet"),
    [(3010, 13, 30), (14120, 14, 120), (6018, 18, 60), (1208, 8, 120), (99999, 12, None), (1234, 12, None)],
)
def test_senses_that_no_creature_has_are_read_by_their_digits_or_left_out(printed, passive, feet):
    made = creature(blindsight_range=printed, passive_perception=passive)
    assert made.fields.get("blindsight") == feet
    assert (f"blindsight {feet} ft." in markdown(made)) == (feet is not None)
    assert f"{printed:,}" not in everywhere(made)
    assert str(printed) not in str(lean(made))


def test_two_senses_with_one_number_have_a_range_each():
    made = creature(blindsight_range=30120, darkvision_range=30120, passive_perception=19)
    assert (made.fields["blindsight"], made.fields["darkvision"]) == (30, 120)
    assert "blindsight 30 ft., darkvision 120 ft., passive Perception 19" in markdown(made)


def test_far_senses_that_creatures_have_stay():
    made = creature(truesight_range=360.0)
    assert made.fields["truesight"] == 360
    assert "truesight 360 ft." in markdown(made)


@pytest.mark.parametrize(
    "values", [{"speed": {"walk": 30, "fly": 3060}}, {"armor_class": 1315}, {"hit_points": 22_000}], ids=str
)
def test_other_numbers_that_no_creature_has_are_left_out(values):
    made = creature(**values)
    (number,) = (n for v in values.values() for n in (v.values() if isinstance(v, dict) else [v]) if n > 1000)
    assert f"{number:,}" not in markdown(made)
    assert number not in made.fields.values()


LONGSWORD = {
    "name": "Longsword",
    "damage_dice": "1d8",
    "damage_type": {"name": "Slashing", "key": "slashing"},
    "properties": [],
}


@pytest.mark.parametrize(
    ("text", "dice", "shown"),
    [
        (
            "The blade gleams. It is a weapon which deals Radiant damage instead of Slashing damage.",
            "1d8",
            "1d8 radiant",
        ),
        ("While it burns, it deals fire damage instead of slashing damage.", "1d8", "1d8 slashing"),
        ("You can choose that it deals force damage instead of slashing damage.", "1d8", "1d8 slashing"),
        ("It gleams.", "1d8", "1d8 slashing"),
        ("It entangles.", "0", ""),
    ],
)
def test_a_weapon_has_the_damage_that_its_text_gives_it_for_always(text, dice, shown):
    entity = normalize(
        {
            "key": "x_dawn",
            "name": "Dawn",
            "document": OF_2024,
            "category": {"key": "weapon"},
            "rarity": {"key": "rare"},
            "requires_attunement": False,
            "armor": None,
            "weapon": {**LONGSWORD, "damage_dice": dice},
            "desc": text,
        }
    )[0]
    assert entity.fields.get("damage_type") == (shown.partition(" ")[2] or None)
    assert ("1d8" in facts(entity)) == bool(shown)
    assert shown in facts(entity)
    assert (f"**Damage** {shown}" in markdown(entity)) == bool(shown)


def test_what_a_person_has_written_is_not_repaired():
    own = {"collection": "creatures", "name": "Bell Titan", "document": "own", "senses": {"truesight": 2000}}
    (made,) = normalize({**own, "alignment": "chaotic evil", "traits": [{"name": "Deaf", "desc": "Hitom it doesnt."}]})
    page = markdown(made)
    assert "truesight 2,000 ft." in page
    assert "chaotic evil" in page
    assert "Hitom it doesnt." in page


def test_an_item_whose_text_asks_for_attunement_says_so():
    (made,) = normalize(
        {
            "key": "x_reed-crown",
            "name": "Reed Crown",
            "desc": "While attuned to this crown you hear the bells.",
            "document": {"key": "x"},
            "category": {"name": "Wondrous Item", "key": "wondrous-item"},
            "rarity": {"name": "Rare", "key": "rare"},
            "requires_attunement": False,
            "weight": "0.000",
        }
    )
    assert made.fields["requires_attunement"] is True
    assert "requires attunement" in markdown(made)
    assert lean(made)["requires_attunement"] is True
    assert "weight" not in made.fields, "0 means that the source has no weight"


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


def test_a_line_is_as_long_as_its_text_says_not_as_it_is_wide():
    made = spell(shape_type="line", shape_size=5)
    assert "- **Area** 100-foot line" in markdown(made)
    assert lean(made)["shape_size"] == made.fields["area_size"] == 100


@pytest.mark.parametrize(
    ("feet", "shown"),
    [
        (5280, "1 mile"),
        (26_400, "5 miles"),
        (2_640_000, "500 miles"),
        (600, "600 ft"),
        (2640, "2,640 ft"),
        (7.5, "7.5 ft"),
    ],
)
def test_far_ranges_are_in_miles(feet, shown):
    line = facts(spell(range=feet, range_unit="feet"))
    assert f" · {shown} · " in line


def test_a_price_that_the_material_says_is_said_once():
    made = spell(material=True, material_specified="Bronze worth at least 400gp", material_cost="400.00")
    assert "worth 400 gp" not in markdown(made)


def test_a_spell_whose_duration_says_concentration_needs_it():
    assert spell(duration="Concentration + 1 round", concentration=False).fields["concentration"] is True


# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Melee Attack Roll: +10, reach 5 ft. 14 (2d8 + 5) Piercing damage.", "reach 5 ft. Hit: 14 (2d8 + 5)"),
        ("Ranged Attack Roll: +4, range 30/120 ft. 5 (1d6 + 2) damage.", "range 30/120 ft. Hit: 5"),
        ("Melee Attack Roll: +4, reach 5 ft. Hit: 1 damage.", "reach 5 ft. Hit: 1 damage"),
        ("in a 20-foot-radius Sphere [Area of Effect]|XPHB|Sphere centered there", "radius Sphere centered"),
        ("it has Cover|XPHB|Total Cover against attacks", "It has Total Cover against"),
        ("It finishes a Short Rest|XPHB|Short or Long Rest.", "finishes a Short or Long Rest."),
        ("7 (2d6) damage. HitomThe spear returns.", "damage. Hit or Miss: The spear returns."),
    ],
)
def test_debris_of_other_formats_is_not_printed(text, shown):
    made = creature(OF_2024, actions=[action(text)])
    assert shown in markdown(made)
    assert shown in evidence(made, "spear sphere rest cover damage attack").text + markdown(made)
    assert "XPHB" not in everywhere(made)


def test_an_empty_list_of_spells_is_not_printed():
    made = creature(OF_2024, actions=[action("It casts:\n\n- **At Will:**\n- **1/Day Each:** Mirk")])
    assert "At Will" not in markdown(made)
    assert "- **1/Day Each:** Mirk" in markdown(made)


def test_a_legendary_action_stands_once():
    sweep = "The hart sweeps its horn over the reeds."
    doubled = action(sweep, name="Sweep (Costs 2 Actions)")
    legendary = action(sweep, name="Sweep", action_type="LEGENDARY_ACTION", legendary_action_cost=2)
    page = markdown(creature(actions=[action("It gores."), doubled, legendary]))
    assert page.count(sweep) == 1
    assert page.index("## Legendary Actions") < page.index(sweep)
    other = markdown(creature(actions=[{**doubled, "desc": "Something else."}, legendary]))
    assert "Something else." in other


def test_lists_have_a_blank_after_each_comma():
    page = markdown(
        creature(
            languages={"as_string": "Aquan,Common,1,000 more"},
            resistances_and_immunities={
                "damage_immunities_display": "poison,Undead Resilience",
                "damage_immunities": [],
            },
        )
    )
    assert "- **Languages** Aquan, Common,1,000 more" in page
    assert "- **Immunities** poison, Undead Resilience" in page


@pytest.mark.parametrize(
    ("book", "text", "shown"),
    [
        ("a5e-mm", "It doesnt stop. On a failure  it sinks.", "It doesn't stop. On a failure, it sinks."),
        ("a5e-mm", "It speaks thieves cant.", "It speaks thieves cant."),
        ("tide-atlas", "The doesnt stays.", "The doesnt stays."),
        ("srd-2014", "TheDay of theday, 10 feeton foot, itsConstitution", "The Day of the day, 10 feet on foot, its Constitution"),
        ("tide-atlas", "The god Theday", "The god Theday"),
        ("srd-2024", "half your move- ment", "Half your movement"),
        ("tide-atlas", "in a 30- foot cone, 5- to 20-foot", "In a 30-foot cone, 5- to 20-foot"),
    ],
)  # fmt: skip
def test_lost_and_stray_characters_are_put_right_in_the_books_that_have_them(book, text, shown):
    assert shown in markdown(creature(book, actions=[action(text)]))


def test_repairs_do_not_change_what_is_embedded():
    made = creature(OF_2024, actions=[action("Melee Attack Roll: +1, reach 5 ft. 3 (1d6) Cold damage. HitomIt flees.")])
    assert "HitomIt" in " ".join(passage.embedded for passage in passages(made))


# --- what is not there -----------------------------------------------------------------------------------------------


def test_a_creature_without_actions_says_so():
    assert "*The source lists no actions for this creature.*" in markdown(creature(actions=[]))
    assert "lists no actions" not in markdown(creature())
    legendary = action("It leaps.", action_type="LEGENDARY_ACTION")
    assert "lists no actions" not in markdown(creature(actions=[legendary]))


def test_a_creature_described_in_words_has_no_lists_that_could_be_empty():
    own = {"collection": "creatures", "name": "Mud Hen", "document": "own", "description": "It pecks."}
    assert "lists no actions" not in markdown(normalize(own)[0])


def test_an_entry_without_text_says_so():
    assert "*The source has no text for this entry.*" in markdown(spell(desc=""))
    assert "has no text" not in markdown(spell())


def test_no_text_below_marks_of_headings_is_lost():
    stages = [
        f"The victim loses its {part}, and cannot speak of it to anybody." for part in ("voice", "name", "shadow")
    ]
    made = creature(traits=[{"name": "Rot", "desc": "In this order:\n" + "\n".join(f"# {stage} " for stage in stages)}])
    assert [f"- {stage}" for stage in stages] == [line for line in markdown(made).split("\n") if "The victim" in line]


def test_a_heading_without_a_blank_is_a_heading():
    (made,) = normalize({"key": "x_reed", "name": "Reed", "desc": "Text.\n###Cantrips\nMore. #tag", "document": "x"})
    assert "##### Cantrips" in markdown(made)
    assert "\\#" not in markdown(made)


def test_a_table_without_headings_is_a_list():
    text = "| | |\n|---|---|\n| **Primary Ability** | Wisdom |\n| Die | D8 |"
    (made,) = normalize({"key": "x_reed", "name": "Reed", "desc": text, "document": "x"})
    assert "- **Primary Ability** Wisdom\n- **Die** D8" in markdown(made)


def test_columns_of_a_class_table_are_no_features():
    column = {"name": "Rages", "desc": "[Column data]", "feature_type": "CLASS_LEVEL_FEATURE", "gained_at": []}
    cells = [{"level": 1, "column_value": "2"}]
    (made,) = normalize(
        {
            "key": "x_reaver",
            "name": "Reaver",
            "document": {"key": "x"},
            "hit_dice": "1D12",
            "features": [
                {**column, "data_for_class_table": cells},
                {
                    "name": "Rage",
                    "desc": "You rage.",
                    "feature_type": "CLASS_LEVEL_FEATURE",
                    "gained_at": [{"level": 1}],
                },
            ],
        }
    )
    page = markdown(made)
    assert "**Rages.**" not in page
    assert "| Rages |" in page
    assert "- **Hit Die** d12" in page


def test_items_of_a_pack_are_a_list():
    items = [
        {"name": name, "key": name, "url": "x"}
        for name in ("Rope", "Lamp", *(f"Candle of the {n}th bell" for n in range(9)))
    ]
    (made,) = normalize({"key": "pack", "name": "Pack", "desc": "", "items": items, "document": "x"}, hint="itemsets")
    assert "- Rope\n- Lamp" in markdown(made)


# --- libraries -------------------------------------------------------------------------------------------------------


def test_stored_values_are_renewed_when_a_library_is_opened():
    made = creature(blindsight_range=3010, passive_perception=13)
    stored = replace(made, fields={**made.fields, "blindsight": 3010.0})
    earlier = declared(COLLECTIONS["creatures"]).replace("blindsight:decimal:fold:2", "blindsight:decimal:fold:1")
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


# --- single entries --------------------------------------------------------------------------------------------------


def test_a_vulnerability_that_the_source_leaves_out_is_shown_and_filtered_by():
    none = {f"damage_{kind}_display": "" for kind in ("vulnerabilities", "resistances", "immunities")}
    made = creature(OF_2024, key="srd-2024_skeleton", resistances_and_immunities=none)
    assert "**Damage Vulnerabilities** bludgeoning" in markdown(made)
    assert made.fields["vulnerable"] == ("bludgeoning",)
    assert changes(made) == {
        "all vulnerabilities left out": "resistances_and_immunities/damage_vulnerabilities_display"
    }


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
    for answer in answers:
        assert "saves dexterity, strength" in answer.text
        assert "**Saving Throws** Dexterity, Strength" in answer.text
        assert "Wisdom" not in answer.text


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


@pytest.mark.parametrize(
    ("material", "consumed"), [("a bell worth 9 gp", False), ("a bell worth 9 gp, used up in the casting", True)]
)
@pytest.mark.parametrize("stated", [False, True])
def test_page_copy_facts_and_filter_agree_on_whether_components_are_consumed(material, consumed, stated):
    made = spell(verbal=True, material=True, material_specified=material, material_consumed=stated)
    assert ("; consumed)" in markdown(made)) is consumed
    assert (", consumed" in facts(made)) is consumed
    assert made.fields["material_consumed"] is consumed
    assert lean(made).get("material_consumed", False) is consumed  # what is false is left out


def test_a_name_of_the_table_is_the_name_of_the_entry_and_of_its_part():
    rule = {"key": "srd_environment_darkvision", "name": "Blindsight", "desc": "It sees.", "document": "srd-2014"}
    (made,) = normalize({**rule, "ruleset": "srd_environment", "initialHeaderLevel": 3})
    assert (made.name, made.slug) == ("Darkvision", "environment_darkvision")
    assert markdown(made).startswith("# Darkvision")
    chapter = {"key": "srd_environment", "name": "Environment", "rules": [rule]}
    assert repaired_entry(chapter)["rules"][0]["name"] == "Darkvision"


def test_values_of_another_spell_are_shown_nowhere():
    values = {"damage_roll": "10d6", "damage_types": ["cold"], "saving_throw_ability": "constitution"}
    area = {"shape_type": "sphere", "shape_size": 60}
    made = spell(document=OF_2024, key="srd-2024_freedom-of-movement", desc="It moves.", **values, **area)
    assert not {"damage_types", "saves", "area", "area_size"} & made.fields.keys()
    assert not any(word in everywhere(made) for word in ("cold", "10d6", "onstitution", "sphere", "60"))


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
    repair = EntryRepair("x", "actions/Horn/desc~", {"find": r" Roar \(.*", "put": ""}, "the next action")
    data = {"actions": [action("The hart gores. Roar (1/Day). It roars."), action("It rests.", name="Rest")]}
    once = repair.applied(data)
    assert [each["desc"] for each in once["actions"]] == ["The hart gores.", "It rests."]
    assert repair.applied(once) is once


# --- what was found by eye -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Until the end of the harts next turn.", "the hart's next turn"),
        ("It enters a creatures space.", "a creature's space"),
        ("The grim harts Heavy Horn hits.", "The grim hart's Heavy Horn"),
        ("It ends at the end of each of its turns.", "each of its turns"),
        ("The hart uses Heavy Horn.", "The hart uses Heavy Horn"),
        ("It takes a bonus action.", "a bonus action"),
    ],
)
def test_a_possessor_gets_its_apostrophe_back(text, shown):
    assert shown in markdown(creature("a5e-mm", actions=[action(text)]))
    assert "hart's" not in markdown(creature("tide-atlas", actions=[action(text)]))


@pytest.mark.parametrize(
    ("book", "text", "shown"),
    [
        (
            "tob3",
            "It moves with o squeezing, with or with o a start.",
            "It moves without squeezing, with or without a start.",
        ),
        ("tide-atlas", "It has reach 5ft.", "It has reach 5 ft."),
        ("a5e-ag", "A d6\\. It costs 25, 000 gold.", "A d6. It costs 25,000 gold."),
        (
            "a5e-mm",
            "It is pushed (harts choice). The harts spellcasting is grim.",
            "(hart's choice). The hart's spellcasting",
        ),
    ],
)
def test_what_conversions_have_left_is_put_right(book, text, shown):
    assert shown in markdown(creature(book, actions=[action(text)]))


def test_a_sentence_in_the_place_of_a_name_is_printed_as_one():
    told = [action("Only one can be used at a time.", name="The hart can take 2 legendary actions")]
    assert "\n\nThe hart can take 2 legendary actions. Only one" in markdown(creature(actions=told))
    assert "**Rise of the Tide.** It rises." in markdown(
        creature(actions=[action("It rises.", name="Rise of the Tide")])
    )


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("It casts:\nAt will: fog cloud\n1/day each: sleep", "- **1/Day Each:** sleep"),
        ("It casts:\n\n- **At Will:** fog cloud<br>1/day: sleep", "- **1/Day:** sleep"),
        ("It casts:\n\n* Cantrips (at will): light\n* 1st level (3 slots): web", "- **Cantrips** (at will): light"),
        ("It casts:\n\n* Cantrips (at will): light\n* 1st level (3 slots): web", "- **1st Level** (3 slots): web"),
        (
            "- **4th Level** (3 slots): blight, wall of fire 5th level (1 slot): cloudkill",
            "- **5th Level** (1 slot): cloudkill",
        ),
    ],
)
def test_lines_of_spells_are_items_of_a_list(text, item):
    assert item in markdown(creature(actions=[action(text)])).split("\n")


SCORES = dict.fromkeys(("strength", "dexterity", "constitution", "intelligence", "wisdom", "charisma"), 22)


@pytest.mark.parametrize(
    ("bonus", "rating", "shown"), [(1, 13.0, "Wis +11"), (11, 13.0, "Wis +11"), (1, 0.5, "Wis +1"), (7, 13.0, "Wis +7")]
)
def test_a_save_cut_to_its_first_digit_is_whole_again(bonus, rating, shown):
    made = creature(ability_scores=SCORES, challenge_rating=rating, saving_throws={"wisdom": bonus})
    assert f"- **Saving Throws** {shown}\n" in markdown(made)


@pytest.mark.parametrize(
    ("book", "passive", "line"), [("tob3", 21, "+11"), ("tob3", 16, None), ("tide-atlas", 21, "+6")]
)
def test_perception_is_what_passive_perception_says_in_the_book_that_has_modifiers(book, passive, line):
    made = creature(book, ability_scores=SCORES, skill_bonuses={"perception": 6}, passive_perception=passive)
    assert ("**Skills**" in markdown(made)) == (line is not None)
    assert line is None or f"- **Skills** Perception {line}" in markdown(made)


def test_conditions_among_immunities_are_not_called_damage():
    told = {"damage_immunities_display": "necrotic,charmed", "damage_resistances_display": "cold"}
    page = markdown(creature(resistances_and_immunities=told))
    assert "- **Immunities** necrotic, charmed" in page
    assert "- **Damage Resistances** cold" in page


def test_further_properties_of_an_item_have_paragraphs():
    text = "You gain a +1 bonus. Tide Call. While holding it, you call the tide. He is Mr. Oar. The end."
    data = {"key": "vom_oar", "name": "Oar", "desc": text, "rarity": "rare", "requires_attunement": False}
    (made,) = normalize({**data, "document": {"key": "vom", "name": "Vault"}})
    assert "bonus.\n\n**Tide Call.** While holding it" in markdown(made)
    (made,) = normalize({**data, "desc": "There are two. Reed Oar (Rare). This oar rows.\nTide Oar. When you row, it sings.",
                         "document": {"key": "vom", "name": "Vault"}})  # fmt: skip
    assert "two.\n\n**Reed Oar (Rare).** This oar rows.\n\n**Tide Oar.** When you row" in markdown(made)


def test_the_label_of_a_spell_is_apart_from_its_text():
    data = {"key": "kp_tide", "name": "Tide", "level": 1, "school": {"key": "evocation"}, "casting_time": "action"}
    (made,) = normalize(
        {**data, "desc": "Deep Magic: ley line You call the tide.", "document": {"key": "kp", "name": "Kobolds"}}
    )
    assert "*Deep Magic: ley line*\n\nYou call the tide." in markdown(made)


def test_a_title_is_printed_without_the_word_for_a_table():
    (made,) = normalize({"key": "x_tides", "name": "Tides", "desc": "**Tides (table)**\n\n| a | b |\n|—|—|\n| 1 | 2 |",
                         "ruleset": "x", "initialHeaderLevel": 2, "document": "x"})  # fmt: skip
    assert "**Tides**\n\n| a | b |\n|---|---|\n| 1 | 2 |" in markdown(made)
