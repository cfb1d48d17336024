"""Stat blocks in notes: creatures of their vault, in any shape that people write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.entities import MAX_KEY_LENGTH, Entity
from lorekeeper.filters import matches, parse_filters
from lorekeeper.normalize import normalize
from lorekeeper.normalize.build import checked
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.note_creatures import Creatures, creatures_of
from lorekeeper.normalize.stat_block import READERS, RUBRICS
from lorekeeper.notes.note import Note, StatBlock
from lorekeeper.render.pages import markdown
from lorekeeper.text.passages import passages
from lorekeeper.text.sections import sections
from tests.support.vaults import vault_library

FEN_WYRM: dict[str, Any] = {
    "name": "Fen Wyrm",
    "size": "Huge",
    "type": "dragon",
    "subtype": "shapechanger",
    "alignment": "chaotic evil",
    "ac": "17 (mossy scales)",
    "hp": 126,
    "hit_dice": "11d12 + 55",
    "speed": "30 ft., swim 60 ft.",
    "stats": [22, "9", 20, 8, 13, 10],
    "saves": [{"constitution": 8}, {"wisdom": 4}],
    "skillsaves": [{"name": "stealth", "desc": "+5"}],
    "damage_resistances": "cold; slashing from nonmagical attacks",
    "damage_immunities": ["poison"],
    "condition_immunities": "poisoned, prone",
    "senses": "blindsight 30 ft., darkvision 120 ft., passive Perception 14",
    "languages": "Draconic, telepathy 60 ft.",
    "cr": "9",
    "traits": [{"name": "Amphibious", "desc": "It breathes air and [[Black Water|water]]."}],
    "actions": [
        ["Multiattack", "It bites and lashes."],
        {
            "name": "Bite",
            "desc": "*Melee Weapon Attack:* +10 to hit. *Hit:* 17 (2d10 + 6) piercing damage, and the target must succeed "
            "on a DC 17 Constitution saving throw or be poisoned for 1 minute.",
        },
    ],
    "legendary_actions": [{"name": "Tail", "desc": "It lashes with its tail."}],
    "spells": ["The wyrm needs no components:", {"1/day each": "fog cloud, [[Entangle]]"}],
    "lair": "a drowned chapel",
    "layout": "Basic 5e Layout",
}

ACOLYTE_V2 = {
    "key": "ta_acolyte",
    "name": "Acolyte",
    "document": {"key": "tide-atlas"},
    "type": {"name": "Humanoid", "key": "humanoid"},
    "size": {"name": "Medium", "key": "medium"},
    "challenge_rating": 0.25,
    "armor_class": 10,
    "hit_points": 9,
    "hit_dice": "2d8",
    "speed": {"walk": 30, "unit": "feet"},
    "speed_all": {"walk": 30, "fly": 0, "hover": False},
    "ability_scores": {
        "strength": 10,
        "dexterity": 10,
        "constitution": 10,
        "intelligence": 10,
        "wisdom": 14,
        "charisma": 11,
    },
    "resistances_and_immunities": {"damage_immunities_display": "", "damage_immunities": []},
    "languages": {"as_string": "Common", "data": [{"name": "Common", "key": "common"}]},
    "darkvision_range": 60,
    "passive_perception": 12,
    "traits": [
        {"name": "Spellcasting", "desc": "It casts:\n\n* At will: light\n* 1/day: bless"},
        {"name": "Devout", "desc": "Prays."},
    ],
    "actions": [
        {"name": "Club", "desc": "Hit: 2 (1d4) bludgeoning damage.", "action_type": "ACTION"},
        {"name": "Flinch", "desc": "It ducks.", "action_type": "REACTION"},
    ],
}

ACOLYTE_V1 = {
    "slug": "acolyte",
    "document__slug": "wotc-srd",
    "name": "Acolyte",
    "type": "humanoid",
    "size": "Medium",
    "alignment": "any alignment",
    "challenge_rating": "1/4",
    "cr": 0.25,
    "armor_class": 10,
    "hit_points": 9,
    "hit_dice": "2d8",
    "speed": {"walk": 30},
    "strength": 10,
    "wisdom": 14,
    "senses": "darkvision 60 ft., passive Perception 12",
    "languages": "Common",
    "special_abilities": [{"name": "Spellcasting", "desc": "It casts:\n\n* At will: light\n* 1/day: bless"}],
    "actions": [{"name": "Club", "desc": "Hit: 2 (1d4) bludgeoning damage."}],
    "reactions": [{"name": "Flinch", "desc": "It ducks."}],
}

ACOLYTE_OWN = {
    "collection": "creatures",
    "name": "Acolyte",
    "type": "humanoid",
    "size": "medium",
    "challenge_rating": 0.25,
    "armor_class": 10,
    "hit_points": 9,
    "speed": {"walk": 30},
    "senses": ["darkvision"],
    "darkvision": 60,
    "passive_perception": 12,
    "languages": "Common",
    "damage_types": ["bludgeoning"],
    "spells": ["light", "bless"],
    "asked_as": ["a junior priest"],
}


def read(*blocks: StatBlock | Mapping[str, object], base: Entity | None = None, **note: Any) -> Creatures:
    """The creatures of a note with these stat blocks; ``base`` is the only one that the library has."""
    stat_blocks = [block if isinstance(block, StatBlock) else StatBlock(block) for block in blocks]
    whole = Note(
        **{"path": "Foes/Fens.md", "name": "Foes of the Fens", "kind": "location", "stat_blocks": stat_blocks} | note
    )
    return creatures_of(whole, "fens", "The Fens", lambda name: base if base and name == base.name else None)


def only(result: Creatures) -> Entity:
    """The creature of a note that has one, and no problem."""
    assert result.problems == []
    (entity,) = result.entities
    return entity


def found(entity: Entity, **filters: object) -> bool:
    return matches(entity, parse_filters("creatures", filters))


# --- a whole stat block ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "filters",
    [
        {"challenge_rating": 9},
        {"type": "dragon"},
        {"type": "shapechanger"},
        {"size": "huge"},
        {"alignment": "evil"},
        {"armor_class_min": 17, "armor_class_max": 17},
        {"hit_points_min": 126, "hit_points_max": 126},
        {"speed_swim_min": 60, "speed_walk": 30},
        {"immune": "poison"},
        {"immune": "prone"},
        {"resistant": "nonmagical slashing"},
        {"darkvision_min": 120, "blindsight": 30},
        {"passive_perception": 14},
        {"languages": "draconic", "telepathy": 60},
        {"damage_types": "piercing", "conditions": "poisoned", "saves": "constitution"},
        {"spells": "entangle"},
        {"legendary": True},
    ],
    ids=lambda filters: " ".join(filters),
)
def test_a_stat_block_is_found_by_all_it_says(filters):
    assert found(only(read(FEN_WYRM)), **filters)


def test_a_stat_block_is_a_creature_of_its_vault():
    entity = only(read(StatBlock(FEN_WYRM, section="Deep water")))
    assert (entity.type, entity.kind, entity.name) == ("creatures", "creature", "Fen Wyrm")
    assert (entity.document, entity.document_name, entity.source_api) == ("fens", "The Fens", "vault")
    assert checked("creatures", entity.as_record()) == entity
    assert derive_fields(entity) == entity.fields
    assert any("breathes air and water" in passage.text for passage in passages(entity))


def test_its_page_is_that_of_a_stat_block_and_names_its_note():
    page = markdown(only(read(StatBlock(FEN_WYRM, section="Deep water", mark="> [!dm]", audience="dm"))))
    for part in (
        "*Huge dragon (shapechanger), chaotic evil*",
        "- **Armor Class** 17 (mossy scales)",
        "- **Hit Points** 126 (11d12 + 55)",
        "| 22 (+6) | 9 (-1) | 20 (+5) | 8 (-1) | 13 (+1) | 10 (+0) |",
        "- **Saving Throws** Con +8, Wis +4",
        "- **Skills** Stealth +5",
        "- **Challenge** 9 (5,000 XP; proficiency bonus +4)",
        "**Amphibious.** It breathes air and water.",
        "**Multiattack.** It bites and lashes.",
        "- **1/Day Each:** fog cloud, Entangle",
        "## Legendary Actions\n\n**Tail.** It lashes with its tail.",
        "- **From the note** Foes of the Fens > Deep water (lore://notes/fens/Foes",
        "- **Marked** > [!dm]",
        "- **Shown to** dm",
        "- **Lair** a drowned chapel",
    ):
        assert part in page
    assert "Layout" not in page


def test_a_creature_keeps_the_marks_of_its_block_and_of_its_note():
    block = StatBlock(FEN_WYRM, mark="> [!ana]", audience=("ana",))
    data = only(read(block, mark="publish: true", audience="players")).data
    assert (data["mark"], data["audience"]) == ("> [!ana]", ["ana"])
    assert (data["note_mark"], data["note_audience"]) == ("publish: true", "players")
    assert data["note"].startswith("lore://notes/fens/")


# --- shapes of values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "filters"),
    [
        ({"ac": 15}, {"armor_class": 15}),
        ({"ac": [{"value": 15}]}, {"armor_class": 15}),
        ({"ac": "15 natural armor"}, {"armor_class": 15}),
        ({"hp": "45 (6d10 + 12)"}, {"hit_points": 45}),
        ({"cr": "1/2 (100 XP)"}, {"challenge_rating": "1/2"}),
        ({"cr": 0.125}, {"challenge_rating": "1/8"}),
        ({"speed": 30}, {"speed_walk": 30}),
        ({"speed": "40"}, {"speed_walk": 40}),
        ({"speed": ["30 ft.", "climb 20 ft."]}, {"speed_climb": 20}),
        ({"speed": {"fly": 60, "walk": 10, "hover": True}}, {"speed_fly": 60, "hover": True, "speed_walk": 10}),
        ({"speed": {"walk": "30 ft."}}, {"speed_walk": 30}),
        ({"senses": {"darkvision": 60, "passive_perception": 13}}, {"darkvision": 60, "passive_perception": 13}),
        ({"senses": ["truesight 10 ft."]}, {"truesight": 10}),
        ({"damage_immunities": ["[[Fire]]", "cold"]}, {"immune": "fire"}),
        ({"damage_vulnerabilities": [["Fire"]]}, {"vulnerable": "fire"}),
        ({"languages": ["Common", "Elvish"]}, {"languages": "elvish"}),
        ({"environment": "swamp, forest"}, {"environments": "forest"}),
        ({"Condition Immunities": "charmed"}, {"immune": "charmed"}),
        ({"actions": {"Spark": "It deals 4 (1d8) lightning damage."}}, {"damage_types": "lightning"}),
        ({"actions": "It deals 4 (1d8) lightning damage."}, {"damage_types": "lightning"}),
        ({"actions": [{"Spark": "It deals 4 (1d8) lightning damage."}]}, {"damage_types": "lightning"}),
        (
            {"special_abilities": [{"name": "Aura", "text": ["It deals", "4 (1d8) fire damage."]}]},
            {"damage_types": "fire"},
        ),
        ({"spells": {"At will": ["light", "fly"]}}, {"spells": "fly"}),
    ],
    ids=str,
)
def test_a_value_may_be_written_in_several_ways(values, filters):
    assert found(only(read({"name": "Thing", **values})), **filters)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"stats": {"str": 18, "Dexterity": "12"}}, "| 18 (+4) | 12 (+1) | — |"),
        ({"stats": "10, 11, 12, 13, 14, 15"}, "| 10 (+0) | 11 (+0) | 12 (+1) |"),
        ({"stats": [10, "—", 12, 1, 1, 1]}, "| 10 (+0) | — | 12 (+1) |"),
        ({"saves": "Dex +5"}, "- **Saving Throws** Dex +5"),
        ({"saves": ["Dex +5", "Con -1"]}, "- **Saving Throws** Dex +5, Con -1"),
        ({"skillsaves": {"sleight of hand": 3}}, "- **Skills** Sleight of Hand +3"),
        ({"hp": "6d10 + 12"}, "- **Hit Points** 6d10 + 12"),
        ({"ac": 13, "ac_class": "hide"}, "- **Armor Class** 13 (hide)"),
        ({"born": date(2026, 1, 2)}, "- **Born** 2026-01-02"),
    ],
    ids=str,
)
def test_a_page_shows_what_was_written(values, shown):
    assert shown in markdown(only(read({"name": "Thing", **values})))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"ac": "natural"}, "ac: there is no number in 'natural'"),
        ({"hp": 12.5}, "hp: 12.5 is not a whole number"),
        ({"hp": 10**400}, "hp: there is no number"),
        ({"cr": "—"}, "cr: there is no number in '—'"),
        ({"cr": float("nan")}, "cr: there is no number in nan"),
        ({"stats": [1, 2, 3]}, "stats: it must be six numbers, not [1, 2, 3]"),
        ({"type": "x" * 501}, "type must"),
        ({"actions": [{"desc": ""}, {"name": "Bite"}]}, "actions: 1 of its entries"),
        ({"size": [[]]}, "size: [[]] is not a text"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_that_cannot_be_read_costs_no_other(values, reason):
    result = read({"name": "Thing", "alignment": "lawful good", **values})
    assert [problem for problem in result.problems if reason in problem]
    assert found(result.entities[0], alignment="lawful good")


def test_a_block_that_cannot_be_a_creature_is_a_problem():
    result = read({"name": "Thing", "layout": "own"}, {"name": "x" * 501, "ac": 3})
    assert result.entities == []
    assert "has no values of a creature" in result.problems[0]
    assert "at most 500 characters" in result.problems[1]


# --- names and slugs -------------------------------------------------------------------------------------------------


def test_a_block_without_a_name_has_that_of_the_note_it_describes():
    assert only(read({"ac": 12}, kind="npc", name="Mara")).name == "Mara"


def test_slugs_differ_and_stay_the_same_when_a_block_is_edited():
    guard, other = {"name": "Guard", "ac": 12}, {"name": "Guard", "ac": 14}
    first = [entity.slug for entity in read(guard, other, FEN_WYRM).entities]
    assert len(set(first)) == 3
    assert [entity.slug for entity in read({**guard, "hp": 3}, other, {**FEN_WYRM, "cr": 2}).entities] == first
    assert not {entity.slug for entity in read(guard, other, path="Foes/Fens 2.md").entities} & set(first)


@pytest.mark.parametrize("name", ["x" * 500, "龍" * 300, "!?", "ﷺ" * 20])
def test_a_slug_of_any_name_is_short_enough(name):
    slug = only(read({"name": name, "ac": 12})).slug
    assert 0 < len(slug) <= MAX_KEY_LENGTH


# --- changes of another creature -------------------------------------------------------------------------------------

BASES = {"v2": ACOLYTE_V2, "v1": ACOLYTE_V1, "own": ACOLYTE_OWN}


def base_of(shape: str) -> Entity:
    (entity,) = normalize(BASES[shape])
    return entity


def changed(shape: str, **values: Any) -> Entity:
    return only(read(StatBlock({"name": "Tam", **values}, base="Acolyte"), base=base_of(shape)))


@pytest.mark.parametrize("shape", BASES)
def test_a_creature_with_another_name_is_otherwise_its_base(shape):
    base, entity = base_of(shape), changed(shape)
    assert entity.fields == {**base.fields, "audience": ("dm",)}
    assert (entity.name, entity.data["base"]) == ("Tam", base.uri)
    assert f"- **Changed from** Acolyte ({base.uri})" in markdown(entity)
    assert "asked_as" not in entity.data


@pytest.mark.parametrize("shape", BASES)
@pytest.mark.parametrize(
    ("values", "finds", "misses", "page", "gone"),
    [
        ({"ac": 13}, {"armor_class": 13}, {"armor_class": 10}, "**Armor Class** 13", "**Armor Class** 10"),
        ({"hp": 20}, {"hit_points": 20}, {"hit_points": 9}, "**Hit Points** 20", "2d8"),
        ({"cr": 3}, {"challenge_rating": 3}, {"challenge_rating": 0.25}, "**Challenge** 3 (700 XP", "1/4"),
        ({"type": "undead"}, {"type": "undead"}, {"type": "humanoid"}, "undead", "umanoid"),
        ({"speed": "20 ft., fly 40 ft."}, {"speed_fly": 40}, {"speed_walk": 30}, "fly 40 ft.", "30 ft."),
        ({"damage_immunities": "fire"}, {"immune": "fire"}, {"immune": "cold"}, "**Damage Immunities** fire", "[]"),
        ({"senses": "truesight 30 ft."}, {"truesight": 30}, {"darkvision": 60}, "truesight 30 ft.", "arkvision"),
        ({"languages": "Giant"}, {"languages": "giant"}, {"languages": "common"}, "**Languages** Giant", "Common"),
        (
            {"actions": [{"name": "Zap", "desc": "It deals 4 (1d8) lightning damage."}]},
            {"damage_types": "lightning"},
            {"damage_types": "bludgeoning"},
            "**Zap.**",
            "Club",
        ),
        (
            {"traits+": [{"name": "Smoke", "desc": "It deals 4 (1d8) fire damage."}]},
            {"damage_types": "fire", "spells": "bless"},
            {"damage_types": "cold"},
            "**Smoke.**",
            "cold",
        ),
        (
            {"spells": [{"At will": "shield"}]},
            {"spells": "shield"},
            {"spells": "bless"},
            "**At Will:** shield",
            "bless",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_values_of_a_block_take_the_place_of_its_base(shape, values, finds, misses, page, gone):
    entity = changed(shape, **values)
    text = markdown(entity)
    assert found(entity, **finds)
    assert not found(entity, **misses)
    assert page in text
    assert gone not in text
    assert found(entity, size="medium")


@pytest.mark.parametrize("shape", ["v1", "v2"])
def test_lists_of_a_base_are_replaced_one_by_one(shape):
    page = markdown(changed(shape, actions=[{"name": "Zap", "desc": "Hot."}], **{"reactions+": [{"name": "Duck"}]}))
    assert "## Actions\n\n**Zap.** Hot.\n" in page
    assert "**Flinch.** It ducks.\n\n**Duck.**" in page
    assert "**At Will:** light" in page


def test_some_ability_scores_may_change():
    page = markdown(changed("v2", stats={"wis": 18}))
    assert "| 10 (+0) | 10 (+0) | 10 (+0) | 10 (+0) | 18 (+4) | 11 (+0) |" in page


def test_a_base_may_be_named_by_any_of_the_keys_of_the_plugin():
    for key in ("monster", "creature", "extends"):
        result = read({key: "Acolyte", "name": "Tam"}, base=base_of("v1"))
        assert only(result).fields["hit_points"] == 9
        assert result.bases == ["Acolyte"]


def test_an_npc_whose_block_only_names_a_creature_is_that_creature_with_the_name_of_the_note():
    entity = only(read({"monster": "Acolyte"}, base=base_of("v1"), name="Brother Tam", kind="npc"))
    assert (entity.name, entity.fields["hit_points"]) == ("Brother Tam", 9)


def test_a_block_that_only_mentions_a_creature_gives_nothing():
    result = read({"monster": "Acolyte"}, {"creature": "Acolyte", "layout": "own"}, base=base_of("v1"), kind="session")
    assert (result.entities, result.problems) == ([], [])


def test_a_base_that_is_not_there_is_a_problem_and_the_rest_is_read():
    result = read({"monster": "Nobody", "ac": 12}, {"monster": "Nobody"})
    assert [entity.name for entity in result.entities] == ["Nobody"]
    assert result.entities[0].fields == {"armor_class": 12, "audience": ("dm",)}
    assert ["there is no creature 'Nobody'" in problem for problem in result.problems] == [True, True]


# --- anything --------------------------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.dates(),
    st.binary(max_size=3),
    st.sampled_from(
        ["15 (plate)", "1/4", "[[Mara|her]]", "darkvision 60 ft.", "half \ud800", "\u2028\x00", "9" * 400, "1d8"]
    ),
)
KEYS = st.one_of(
    st.sampled_from(
        [*READERS, *RUBRICS, *(f"{rubric}+" for rubric in RUBRICS), "spells", "name", "monster", "base", "document"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.tuples(inner, inner),
        st.dictionaries(
            st.one_of(st.sampled_from(["name", "desc", "walk", "hover", "str"]), SCALARS), inner, max_size=4
        ),
        st.sets(st.text(max_size=3), max_size=3),
    ),
    max_leaves=12,
)
BLOCKS = st.dictionaries(KEYS, VALUES, max_size=8)


@given(st.lists(BLOCKS, max_size=3), st.sampled_from([None, *BASES]))
def test_values_of_any_shape_give_creatures_or_reasons(blocks: Sequence[dict[str, Any]], shape: str | None):
    base = base_of(shape) if shape else None
    result = read(*(StatBlock(block, base="Acolyte" if base else "") for block in blocks), base=base)
    assert len(result.entities) <= len(blocks)
    assert len({entity.slug for entity in result.entities}) == len(result.entities)
    for entity in result.entities:
        assert checked("creatures", entity.as_record()) == entity
        assert markdown(entity).startswith("# ")
        assert passages(entity)


def test_a_value_that_contains_itself_ends():
    endless: list[Any] = []
    endless.append(endless)
    result = read({"name": "Ring", "ac": 12, **dict.fromkeys([*READERS, *RUBRICS, "spells", "more"], endless)})
    assert len(result.problems) > 10


CAPTAIN = """---
statblock: true
name: Fen Captain
ac: 15
hp: 40
spells:
  - "At will: light"
spells2:
  - "1/day: hold person"
villain_actions:
  - { name: Rally the Reeds, desc: All allies stand up. }
gm notes:
  - { name: Weakness, desc: The captain cannot swim at all. }
---
The captain waits.
"""


@pytest.mark.store
async def test_rubrics_of_ones_own_are_sections_and_secret_ones_stay_out(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Captain.md").write_text(CAPTAIN, "utf-8")
    async with vault_library(tmp_path, [tmp_path / "vault"], backend="sqlite") as library:
        await library.vaults.sync()
        (captain,) = await library.cache.get_entities("creatures")
        (named,) = await library.cache.get_entities("creatures", spells=["hold person"])
    page = markdown(captain)
    assert named.uri == captain.uri
    assert "#### Villain Actions\n\n**Rally the Reeds.** All allies stand up." in page
    assert ("Rally the Reeds", "All allies stand up.") in list(sections(captain))
    assert "cannot swim" not in page
