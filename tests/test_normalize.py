"""Foreign objects to entities. All names and texts are invented; the shapes are those of Open5e's two APIs."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper import terms
from lorekeeper.entities import COLLECTIONS, MAX_KEY_LENGTH, MAX_RECORD_BYTES, MAX_TEXT_LENGTH, Entity, canonical_json
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold_key
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.build import checked, slugify
from lorekeeper.normalize.equipment import is_table_row
from lorekeeper.normalize.open5e import ENDPOINTS
from lorekeeper.printable import has_controls
from lorekeeper.records.values import feet, first_number, gold
from lorekeeper.text.cleaning import sentences
from lorekeeper.text.facts import facts
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import STARTER
from lorekeeper.text.sections import full_text
from tests.support.corpus import imported_entries, statistics_of
from tests.support.examples import examples


def one(obj: Mapping[str, Any], **options: Any) -> Entity:
    (entity,) = normalize(obj, **options)
    return entity


# --- Open5e v2 in its three shapes ---------------------------------------------------------------------------------

API = "https://api.example.org/v2"


def reference(shape: str, endpoint: str, key: str, name: str) -> Any:
    """A reference as one of the three generations of the API writes it."""
    url = f"{API}/{endpoint}/{key}/"
    return {"now": {"name": name, "key": key}, "nested": {"name": name, "key": key, "url": url}, "urls": url}[shape]


def spell(shape: str) -> dict[str, Any]:
    document = reference(shape, "documents", "tide-atlas", "The Tide Atlas")
    obj: dict[str, Any] = {
        "key": "ta_tide-lance",
        "document": document,
        "school": reference(shape, "spellschools", "evocation", "Evocation"),
        "classes": [
            reference(shape, "classes", "ta_wizard", "Wizard"),
            reference(shape, "classes", "ta_sea-witch", "Sea Witch"),
        ],
        "name": "Tide Lance",
        "desc": "A spear of cold water strikes.",
        "higher_level": "It strikes once more.",
        "level": 2,
        "range_text": "60 feet",
        "range": 60,
        "range_unit": "feet",
        "ritual": False,
        "concentration": False,
        "casting_time": "bonus-action",
        "damage_types": ["cold"],
    }
    return obj if shape == "now" else {"url": f"{API}/spells/ta_tide-lance/", **obj}


SHAPES = ("now", "nested", "urls")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_spell_is_the_same_in_every_generation_of_the_api(shape):
    entity = one(spell(shape))
    assert (entity.type, entity.kind, entity.name) == ("spells", "spell", "Tide Lance")
    assert (entity.document, entity.slug) == ("tide-atlas", "tide-lance")
    assert entity.source_api == "open5e-v2"
    assert entity.fields == {
        "level": 2,
        "school": "evocation",
        "classes": ("wizard", "sea witch"),
        "ritual": False,
        "concentration": False,
        "casting_time": "bonus action",
        "damage_types": ("cold",),
        "range": 60.0,
        "heals": False,
        "summons": False,
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_the_original_object_is_kept_whole(shape):
    obj = spell(shape)
    assert one(copy.deepcopy(obj)).data == obj


def test_a_document_is_named_where_the_object_names_it():
    assert one(spell("nested")).document_name == "The Tide Atlas"
    assert one(spell("urls")).document_name is None
    titled = {**spell("now"), "document": {"key": "ta", "name": "The Tide Atlas", "display_name": "Atlas"}}
    assert one(titled).document_name == "Atlas"


def test_the_prefix_of_a_key_is_not_the_document():
    obj = {**spell("now"), "key": "srd_tide-lance", "document": {"key": "srd-2014", "name": "SRD"}}
    assert one(obj).identity == ("srd-2014", "tide-lance")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_creature_is_the_same_in_every_generation_of_the_api(shape):
    entity = one(
        {
            "key": "ta_brine-hound",
            "name": "Brine Hound",
            "document": reference(shape, "documents", "tide-atlas", "The Tide Atlas"),
            "type": reference(shape, "creaturetypes", "beast", "Beast"),
            "size": reference(shape, "sizes", "medium", "Medium"),
            "challenge_rating": 0.25,
            "alignment": "Unaligned",
            "armor_class": 12,
            "hit_points": 11,
            "environments": [reference(shape, "environments", "coast", "Coast")],
            "traits": [{"name": "Salt Nose", "desc": "It smells the sea."}],
            "actions": [{"name": "Bite", "desc": "It bites."}],
        }
    )
    assert (entity.type, entity.kind, entity.slug) == ("creatures", "creature", "brine-hound")
    assert entity.fields == {
        "challenge_rating": 0.25,
        "type": ("beast",),
        "size": ("medium",),
        "alignment": ("unaligned",),
        "armor_class": 12,
        "hit_points": 11,
        "environments": ("coast",),
        "legendary": False,
    }
    assert full_text(entity) == "Salt Nose: It smells the sea.\nBite: It bites."


DOC = {"name": "The Tide Atlas", "key": "tide-atlas"}

V2: dict[str, tuple[dict[str, Any], tuple[str, str], dict[str, Any]]] = {
    "magic item": (
        {
            "key": "ta_deep-bag", "name": "Deep Bag", "desc": "It holds much.", "document": DOC,
            "category": {"name": "Wondrous Item", "key": "wondrous-item"}, "rarity": {"name": "Very Rare", "key": "very-rare"},
            "weapon": None, "armor": None, "weight": "5.000", "cost": "750.50", "requires_attunement": True,
        },
        ("equipment", "magic-item"),
        {
            "category": ("wondrous item",), "rarity": "very rare", "requires_attunement": True, "weight": 5.0, "cost": 750.5,
            "cursed": False,
        },
    ),
    "weapon item": (
        {
            "key": "ta_gull-bow", "name": "Gull Bow", "desc": "A bow.", "document": DOC, "armor": None,
            "category": {"name": "Weapon", "key": "weapon"}, "weight": "2.000", "cost": "50.00",
            "weapon": {
                "key": "ta_gull-bow", "damage_type": {"key": "piercing", "name": "Piercing"}, "damage_dice": "1d8",
                "properties": [{"property": {"name": "Two-Handed", "desc": "Both hands."}, "detail": None}],
            },
        },
        ("equipment", "weapon"),
        {
            "category": ("weapon",), "weight": 2.0, "cost": 50.0, "damage_type": "piercing",
            "damage_types": ("piercing",), "damage": 4.5,
            "properties": ("two handed",),
        },
    ),
    "armor item": (
        {
            "key": "ta_kelp-mail", "name": "Kelp Mail", "desc": "Mail.", "document": DOC, "weapon": None,
            "category": {"name": "Armor", "key": "armor"}, "weight": None, "cost": None,
            "armor": {"category": "heavy", "ac_base": 15, "grants_stealth_disadvantage": True},
        },
        ("equipment", "armor"),
        {
            "category": ("armor", "heavy armor"), "properties": ("heavy armor", "stealth disadvantage"), "armor_class": 15,
        },
    ),
    "gear": (
        {
            "key": "ta_tar-lamp", "name": "Tar Lamp", "desc": "It burns.", "document": DOC, "weapon": None, "armor": None,
            "category": {"name": "Adventuring Gear", "key": "adventuring-gear"}, "weight": "1.000", "cost": "0.50",
        },
        ("equipment", "gear"),
        {"category": ("adventuring gear",), "weight": 1.0, "cost": 0.5},
    ),
    "weapon": (
        {
            "key": "ta_hook", "name": "Hook", "document": DOC, "damage_dice": "1d6", "range": 0, "is_simple": True,
            "damage_type": {"key": "slashing", "name": "Slashing"},
            "properties": [{"property": {"name": "Finesse", "type": None}, "detail": None}],
        },
        ("equipment", "weapon"),
        {
            "category": ("weapon", "simple weapon", "melee weapon"), "damage_type": "slashing",
            "damage_types": ("slashing",), "damage": 3.5,
            "properties": ("finesse",),
        },
    ),
    "armor": (
        {"key": "ta_kelp-mail", "name": "Kelp Mail", "document": DOC, "category": "heavy", "ac_base": 15},
        ("equipment", "armor"),
        {"category": ("armor", "heavy armor"), "properties": ("heavy armor",), "armor_class": 15},
    ),
    "class": (
        {
            "key": "ta_tidecaller", "name": "Tidecaller", "desc": "", "document": DOC, "hit_dice": "D8",
            "subclass_of": None, "features": [{"name": "Ebb", "desc": "The sea steps back."}],
        },
        ("character_options", "class"),
        {"hit_die": "d8"},
    ),
    "subclass": (
        {
            "key": "ta_storm-oath", "name": "Storm Oath", "desc": "Thunder.", "document": DOC, "hit_dice": None,
            "subclass_of": {"name": "Tidecaller", "key": "ta_tidecaller"}, "features": [],
        },
        ("character_options", "subclass"),
        {"parent": "tidecaller"},
    ),
    "species": (
        {
            "key": "ta_reefling", "name": "Reefling", "desc": "Coral folk.", "document": DOC, "is_subspecies": False,
            "subspecies_of": None, "traits": [{"name": "Gills", "desc": "You breathe water."}],
        },
        ("character_options", "race"),
        {},
    ),
    "subspecies": (
        {
            "key": "ta_deep-reefling", "name": "Deep Reefling", "desc": "Darker coral.", "document": DOC,
            "is_subspecies": True, "subspecies_of": "ta_reefling", "traits": [],
        },
        ("character_options", "subrace"),
        {"parent": "reefling"},
    ),
    "feat": (
        {
            "key": "ta_deep-breath", "name": "Deep Breath", "desc": "You swim.", "document": DOC,
            "has_prerequisite": False, "benefits": [{"desc": "An hour under water."}],
        },
        ("character_options", "feat"),
        {},
    ),
    "background": (
        {
            "key": "ta_lamp-keeper", "name": "Lamp Keeper", "desc": "", "document": DOC,
            "benefits": [{"name": "Feature", "desc": "You know the mine.", "type": "feature"}],
        },
        ("character_options", "background"),
        {},
    ),
    "condition": (
        {
            "key": "becalmed", "name": "Becalmed", "document": {"name": "The Tide Atlas", "key": "tide-atlas"}, "icon": None,
            "descriptions": [{"desc": "You cannot move.", "document": "tide-atlas", "gamesystem": "5e"}],
        },
        ("rules", "condition"),
        {},
    ),
    "rule": (
        {
            "key": "ta_sailing_wind", "name": "Wind", "desc": "It blows.", "document": "tide-atlas", "index": 1,
            "initialHeaderLevel": 2, "ruleset": "ta_sailing",
        },
        ("rules", "rule"),
        {"parent": "sailing"},
    ),
    "ruleset": (
        {"key": "ta_sailing", "name": "Sailing", "desc": "", "document": DOC, "rules": [{"name": "Wind", "desc": "It blows."}]},
        ("rules", "section"),
        {},
    ),
    "document": (
        {
            "key": "tide-atlas", "name": "The Tide Atlas", "desc": "Coasts.", "display_name": "Atlas",
            "publisher": {"name": "Gull and Anchor", "key": "gull"}, "gamesystem": {"name": "5th Edition", "key": "5e"},
            "licenses": [{"name": "CC0", "key": "cc0"}, {"name": "Open Licence", "key": "open"}],
        },
        ("documents", "document"),
        {"publisher": "gull and anchor", "game_system": "5th edition", "licenses": ("cc0", "open licence")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", V2)
def test_every_main_object_of_v2_is_known_by_its_own_keys(name):
    obj, (entity_type, kind), fields = V2[name]
    entity = one(obj)
    assert (entity.type, entity.kind, entity.source_api) == (entity_type, kind, "open5e-v2")
    assert entity.fields == fields
    assert entity.data == obj


@pytest.mark.parametrize("name", V2)
def test_an_object_of_v2_has_text_to_search_for(name):
    (passage, *_) = passages(one(V2[name][0]))
    assert V2[name][0]["name"] in passage.embedded


def test_a_row_of_a_table_is_the_item_of_the_same_key():
    row, item = one(V2["armor"][0]), one(V2["armor item"][0])
    assert (row.type, row.identity) == (item.type, item.identity)
    assert (is_table_row(row), is_table_row(item)) == (True, False)


def test_armor_that_the_list_of_items_calls_otherwise_has_the_slug_of_that_list():
    assert one({**V2["armor"][0], "key": "ta_studded-leather"}).slug == "studded-leather-armor"
    assert one({**V2["armor"][0], "key": "ta_leather-armor"}).slug == "leather-armor"


@pytest.mark.parametrize("parent", ["ta_reefling", {"key": "ta_reefling"}, f"{API}/races/ta_reefling/"])
def test_a_race_of_the_older_api_is_a_subrace_where_it_names_its_race(parent):
    obj = {
        "key": "ta_deep-reefling",
        "name": "Deep Reefling",
        "desc": "Coral.",
        "document": f"{API}/documents/tide-atlas/",
    }
    nested = one({**obj, "is_subrace": True, "subrace_of": parent, "traits": []})
    assert (nested.type, nested.kind, nested.fields) == ("character_options", "subrace", {"parent": "reefling"})
    assert one({**obj, "is_subrace": False, "subrace_of": None, "traits": []}).kind == "race"


@pytest.mark.parametrize(
    ("endpoint", "obj"),
    [
        ("sizes", {"key": "tiny", "name": "Tiny", "space_diameter": 2.5, "document": DOC}),
        ("licenses", {"key": "cc0", "name": "CC0", "desc": "Do as you like."}),
        ("publishers", {"key": "gull", "name": "Gull and Anchor"}),
        ("gamesystems", {"key": "5e", "name": "5th Edition", "content_prefix": "", "desc": ""}),
        ("itemrarities", {"key": "rare", "name": "Rare", "rank": 3}),
        ("images", {"key": "ta_map", "file_url": "/map.png", "alt_text": "A map", "document": DOC}),
    ],
)
def test_bookkeeping_objects_hold_no_lore(endpoint, obj):
    assert normalize(obj, hint=f"{endpoint}.jsonl") == []


@pytest.mark.parametrize(
    ("endpoint", "kind"),
    [
        ("languages", "language"),
        ("skills", "skill"),
        ("creaturetypes", "creature-type"),
        ("itemsets", "item-set"),
        ("planes", "plane"),
    ],
)
def test_small_reference_objects_are_filed_among_the_rules_by_the_name_of_their_file(endpoint, kind):
    entity = one(
        {"key": "tidal", "name": "Tidal", "desc": "Of the tide.", "document": DOC}, hint=f"{endpoint}.jsonl.gz"
    )
    assert (entity.type, entity.kind) == ("rules", kind)


def test_keys_outweigh_the_name_of_the_file():
    assert one(spell("now"), hint="creatures.json").type == "spells"


def test_an_object_with_a_key_and_a_text_is_at_least_a_rule():
    assert one({"key": "ta_ebb", "name": "Ebb", "desc": "The sea goes."}).type == "rules"


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS.values() if e.type], ids=lambda e: e.name)
def test_every_endpoint_files_into_a_declared_collection(endpoint):
    collection = COLLECTIONS[endpoint.type]
    assert callable(endpoint.kind) or endpoint.kind in collection.kinds or collection.open_kinds


# --- Open5e v1 -----------------------------------------------------------------------------------------------------

V1_DOC = {
    "document__slug": "tide-atlas",
    "document__title": "The Tide Atlas",
    "document__license_url": "",
    "document__url": "",
}

V1: dict[str, tuple[dict[str, Any], tuple[str, str], dict[str, Any]]] = {
    "spell": (
        {
            "slug": "tide-lance", "name": "Tide Lance", "desc": "Cold water strikes.", "higher_level": "", "range": "60 feet",
            "ritual": "no", "concentration": "yes", "casting_time": "1 bonus action", "level": "2nd-level", "level_int": 2,
            "school": "Evocation", "dnd_class": "Wizard, Sea Witch", "spell_lists": ["wizard", "sea-witch"],
        },
        ("spells", "spell"),
        {
            "level": 2, "school": "evocation", "classes": ("wizard", "sea witch"), "ritual": False, "concentration": True,
            "casting_time": "bonus action", "range": 60.0, "heals": False, "summons": False,
        },
    ),
    "monster": (
        {
            "slug": "brine-hound", "name": "Brine Hound", "desc": "", "size": "Medium", "type": "Beast", "subtype": "",
            "alignment": "unaligned", "armor_class": 12, "hit_points": 11, "challenge_rating": "1/4", "cr": 0.25,
            "actions": [{"name": "Bite", "desc": "It bites."}], "bonus_actions": None, "reactions": None,
            "legendary_desc": "", "legendary_actions": None, "special_abilities": [], "environments": ["Coast", "Sea Caves"],
        },
        ("creatures", "creature"),
        {
            "challenge_rating": 0.25, "type": ("beast",), "size": ("medium",), "alignment": ("unaligned",), "armor_class": 12,
            "hit_points": 11, "environments": ("coast", "sea caves"), "legendary": False,
        },
    ),
    "magic item": (
        {
            "slug": "warm-ring", "name": "Warm Ring", "type": "Ring", "desc": "Warm.", "rarity": "very rare",
            "requires_attunement": "requires attunement by a witch",
        },
        ("equipment", "magic-item"),
        {"category": ("ring",), "rarity": "very rare", "requires_attunement": True, "cursed": False},
    ),
    "weapon": (
        {
            "slug": "hook", "name": "Hook", "category": "Martial Melee Weapons", "cost": "5 sp", "damage_dice": "1d6",
            "damage_type": "slashing", "weight": "3 lb.", "properties": ["light", "thrown (range 20/60)"],
        },
        ("equipment", "weapon"),
        {
            "category": (
                "martial melee weapons", "martial melee weapon", "martial weapon", "melee weapon", "weapon",
            ),
            "cost": 0.5, "weight": 3.0, "damage_type": "slashing",
            "damage_types": ("slashing",), "damage": 3.5, "properties": ("light", "thrown"),
        },
    ),
    "armor": (
        {
            "slug": "kelp-mail", "name": "Kelp Mail", "category": "Medium Armor", "base_ac": 14, "cost": "1,400 gp",
            "weight": "", "stealth_disadvantage": True,
        },
        ("equipment", "armor"),
        {
            "category": ("medium armor", "armor"), "cost": 1400.0, "armor_class": 14,
            "properties": ("medium armor", "stealth disadvantage"),
        },
    ),
    "feat": (
        {"slug": "deep-breath", "name": "Deep Breath", "desc": "You swim.", "prerequisite": None, "effects_desc": ["An hour."]},
        ("character_options", "feat"),
        {},
    ),
    "background": (
        {
            "slug": "lamp-keeper", "name": "Lamp Keeper", "desc": "", "skill_proficiencies": "History", "languages": None,
            "feature": "Mine", "feature_desc": "You know it.", "suggested_characteristics": "",
        },
        ("character_options", "background"),
        {"skills": ("history",)},
    ),
    "section": (
        {"slug": "sailing", "name": "Sailing", "desc": "How ships move.", "parent": "Gameplay at Sea"},
        ("rules", "section"),
        {"parent": "gameplay at sea"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", V1)
def test_every_object_of_v1_is_known_by_its_own_keys(name):
    obj, (entity_type, kind), fields = V1[name]
    entity = one({**obj, **V1_DOC})
    assert (entity.type, entity.kind, entity.source_api) == (entity_type, kind, "open5e-v1")
    assert (entity.document, entity.document_name, entity.slug) == ("tide-atlas", "The Tide Atlas", obj["slug"])
    assert entity.fields == fields


def test_a_class_of_v1_brings_its_subclasses_along():
    base, own, foreign = normalize(
        {
            "slug": "tidecaller", "name": "Tidecaller", "desc": "Of the sea.", "hit_dice": "1d8", "hp_at_1st_level": "8",
            "archetypes": [
                {"slug": "storm-oath", "name": "Storm Oath", "desc": "Thunder."},
                {"slug": "fog-oath", "name": "Fog Oath", "desc": "Mist.", "document__slug": "fog-book", "document__title": "Fog"},
            ],
            **V1_DOC,
        }
    )  # fmt: skip
    assert (base.kind, base.fields) == ("class", {"hit_die": "d8"})
    assert (own.kind, own.identity, own.fields) == ("subclass", ("tide-atlas", "storm-oath"), {"parent": "tidecaller"})
    assert (foreign.kind, foreign.identity, foreign.document_name) == ("subclass", ("fog-book", "fog-oath"), "Fog")
    assert full_text(own) == "Thunder."


def test_a_race_of_v1_brings_its_subraces_along():
    base, nested = normalize(
        {
            "slug": "reefling", "name": "Reefling", "desc": "Coral folk.", "asi_desc": "**Strong.**", "asi": [], "traits": "Gills.",
            "subraces": [{"slug": "deep-reefling", "name": "Deep Reefling", "desc": "Darker.", "asi": [], "traits": ""}],
            **V1_DOC,
        }
    )  # fmt: skip
    assert (base.kind, base.slug) == ("race", "reefling")
    assert (nested.kind, nested.identity, nested.fields) == (
        "subrace",
        ("tide-atlas", "deep-reefling"),
        {"parent": "reefling"},
    )


def test_a_document_of_v1_goes_by_its_slug_and_title():
    entity = one(
        {
            "slug": "tide-atlas",
            "title": "The Tide Atlas",
            "desc": "",
            "license": "CC0",
            "organization": "Gull",
            "url": "x",
        }
    )
    assert (entity.type, entity.name, entity.identity) == ("documents", "The Tide Atlas", ("tide-atlas", "tide-atlas"))
    assert entity.fields == {"publisher": "gull", "licenses": ("cc0",)}


# --- what is not known ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", ["null", "missing", "empty"])
def test_what_a_spell_does_not_say_stays_unknown(absent):
    keys = ("level", "range", "school", "casting_time", "classes", "ritual", "concentration", "damage_types")
    obj = {k: v for k, v in spell("now").items() if k not in (*keys, "desc", "higher_level")}
    if absent != "missing":
        obj |= dict.fromkeys(keys, None if absent == "null" else "")
    entity = one(obj, hint="spells.json")
    assert (entity.type, dict(entity.fields)) == ("spells", {})
    assert "cantrip" not in facts(entity)


def test_zero_and_false_are_known_values():
    fields = one({**spell("now"), "level": 0, "range": 0, "ritual": False}).fields
    assert (fields["level"], fields["range"], fields["ritual"]) == (0, 0.0, False)


def test_a_creature_without_numbers_has_none():
    bare = {
        "key": "ta_thing",
        "name": "Thing",
        "document": DOC,
        "challenge_rating": None,
        "hit_points": None,
        "armor_class": None,
    }
    assert one(bare).fields == {}


def test_an_item_without_price_weight_or_rarity_has_none():
    fields = one(
        {**V2["magic item"][0], "cost": None, "weight": None, "rarity": None, "requires_attunement": None}
    ).fields
    assert fields == {"category": ("wondrous item",), "cursed": False}


def test_an_object_that_names_no_document_is_filed_where_it_is_told():
    obj = {k: v for k, v in spell("now").items() if k != "document"}
    assert one(obj, document="my-shelf").document == "my-shelf"
    assert one(obj).document == "open5e-unknown"


def test_a_stated_document_outweighs_the_objects_own():
    assert one(spell("now"), document="my-shelf").document == "my-shelf"


@pytest.mark.parametrize(
    ("spoken", "feet"),
    [
        ({"range": "120 feet"}, 120.0),
        ({"range": "1 mile"}, 5280.0),
        ({"range": "1/2 mile"}, 2640.0),
        ({"range": "Touch"}, 0.0),
        ({"range": "Self"}, 0.0),
        ({"range": "Sight"}, None),
        ({"range": 2, "range_unit": "miles"}, 10_560.0),
        ({"range": 60, "range_unit": "feet", "range_text": "60 feet"}, 60.0),
        ({"range": 0, "range_unit": "feet", "range_text": "Self (60 feet)"}, 0.0),
        ({"range": 0, "range_unit": "feet", "range_text": "Touch"}, 0.0),
        ({"range": 2020, "range_unit": "feet", "range_text": "Sight"}, None),
        ({"range": 0, "range_unit": "feet", "range_text": "Sight"}, None),
        ({"range": 0, "range_unit": "feet", "range_text": "Special"}, None),
        ({"range": 0, "range_unit": "feet", "range_text": "Unlimited"}, None),
    ],
)
def test_ranges_are_read_in_feet(spoken, feet):
    assert one({**spell("now"), "range_unit": None, **spoken}).fields.get("range") == feet


@pytest.mark.timeout(60)
@pytest.mark.parametrize("sign", [" ", "\n", "(", "[a](", "1,", "1_", "-"])
def test_b7_long_runs_of_a_sign_are_read_in_linear_time(sign):
    run = sign * (500_000 // len(sign))
    for read in (first_number, gold, sentences, fold_key):
        read(run)
    for field in ({"type": run}, {"weapon": {"properties": [{"name": run}], "damage_type": None}, "category": None}):
        refused = {"key": "ta_run", "name": "Run", "weapon": None, "armor": None, "category": None, **field}
        with suppress(UnknownShapeError):
            normalize(refused, hint="items")


@pytest.mark.parametrize("spoken", ["Self (30-foot radius)", "Self (60ft line)", "Self", "self (1 mile)", "Touch"])
def test_d3_a_spell_that_begins_with_its_caster_has_range_0(spoken):
    assert feet(spoken) == 0


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1/4 lb.", 0.25), ("3/4", 0.75), ("1 1/2", 1.5), ("1-1/2 lb", 1.5), ("½", 0.5), ("1½ lb", 1.5), ("2 ¼", 2.25),
        ("3 lb.", 3.0), ("2.50", 2.5), ("1,500", 1500.0), ("25,000.5 gp", 25000.5), ("-3", -3.0), ("-1/2", -0.5), (4, 4),
        ("20/60", 20.0), ("5/15 ft.", 5.0), ("1/0", 1.0), ("no weight", None), (None, None), (True, None),
    ],
)  # fmt: skip
def test_d2_numbers_may_be_fractions(written, value):
    assert first_number(written) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1/2 gp", 0.5),
        ("1 1/2 gp", 1.5),
        ("½ sp", 0.05),
        ("5 sp", 0.5),
        ("5sp", 0.5),
        ("1,000 gp", 1000.0),
        ("25.00", 25.0),
    ],
)
def test_d2_prices_may_be_fractions(written, value):
    assert gold(written) == pytest.approx(value)


def test_d1_a_creature_with_earlier_names_of_its_rating_is_known_by_its_keys():
    saved = {
        "key": "ta_brine-hound", "name": "Brine Hound", "document": {"key": "tide-atlas", "name": "The Tide Atlas"},
        "type": {"key": "beast", "name": "Beast"}, "size": {"key": "medium", "name": "Medium"}, "hit_points": 11,
        "challenge_rating_decimal": "0.250", "challenge_rating_text": "1/4", "armor_class": 12, "actions": [],
    }  # fmt: skip
    found = one(saved)
    assert (found.type, found.slug, found.fields["challenge_rating"]) == ("creatures", "brine-hound", 0.25)


@pytest.mark.parametrize(
    "obj",
    [
        {"key": "kobold-press", "name": "Kobold Press"},
        {"key": "ammunition", "name": "Ammunition", "document": {"key": "core", "name": "5e Core Concepts"}},
        {"key": "ammunition", "name": "Ammunition", "url": "https://example.org/v2/itemcategories/ammunition/"},
        {"key": "tiny", "name": "Tiny", "rank": 1, "space_diameter": 2.5},
        {"key": "5e", "name": "5e", "desc": "Rules.", "content_prefix": ""},
    ],
)
def test_bookkeeping_of_every_kind_is_passed_over(obj):
    assert normalize(obj) == []


# --- our own shape -------------------------------------------------------------------------------------------------


def test_our_own_shape_needs_a_collection_and_a_name():
    entity = one({"collection": "spells", "name": "Frost Step", "level": 2, "school": "Conjuration", "mood": "cold"})
    assert (entity.type, entity.kind, entity.slug, entity.document) == ("spells", "spell", "frost-step", "homebrew")
    assert entity.fields == {"level": 2, "school": "conjuration"}
    assert entity.data["mood"] == "cold"
    assert entity.source_api == "lorekeeper"


def test_our_own_shape_may_say_slug_kind_and_document():
    obj = {"collection": "equipment", "kind": "weapon", "name": "Hook", "slug": "big-hook", "document": "docks"}
    entity = one({**obj, "document_name": "The Docks"})
    assert (entity.kind, entity.identity, entity.document_name) == ("weapon", ("docks", "big-hook"), "The Docks")
    assert one(obj, document="my-shelf").document == "my-shelf"


def test_rules_may_be_of_a_kind_of_their_own():
    assert one({"collection": "rules", "kind": "house rule", "name": "No Splitting"}).kind == "house rule"


OWN = {"collection": "spells", "name": "Frost Step"}


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        ({"collection": "spell", "name": "x"}, "did you mean 'spells'"),
        ({"collection": "potions", "name": "x"}, "known: spells, creatures"),
        ({"collection": None, "name": "x"}, "collection"),
        ({"collection": 3, "name": "x"}, "collection"),
        ({"collection": ["spells"], "name": "x"}, "collection"),
        ({"collection": "spells"}, "name"),
        ({"collection": "spells", "name": ""}, "no name"),
        ({"collection": "spells", "name": ["x"]}, "no name"),
        ({"collection": "spells", "name": "x" * (MAX_TEXT_LENGTH + 1)}, "at most 500 characters"),
        ({"collection": "equipment", "name": "x"}, "'kind' of equipment must be one of weapon"),
        ({"collection": "equipment", "name": "x", "kind": "boat"}, "'kind' of equipment must be one of weapon"),
        ({**OWN, "level": "three"}, "level must be a number"),
        ({**OWN, "level": 2.5}, "level must be a whole number"),
        ({**OWN, "level": float("nan")}, "number"),
        ({**OWN, "odd": float("inf")}, "JSON"),
        ({**OWN, "odd": 2**64}, "64 bits"),
        ({**OWN, "odd": {"deep": [2**64]}}, "64 bits"),
        ({**OWN, "odd": "\ud800"}, "JSON"),
        ({**OWN, "ritual": "maybe"}, "ritual must be true or false"),
        ({**OWN, "classes": [1]}, "classes must be a non-empty text"),
        ({**OWN, "school": ""}, "school must be a non-empty text"),
        ({**OWN, "slug": "x" * (MAX_KEY_LENGTH + 1)}, "slug"),
        ({**OWN, "slug": "a\nb"}, "slug"),
        ({**OWN, "document": ["x"]}, "document"),
        ({**OWN, "document": "a\0b"}, "document"),
        ({**OWN, "document_name": 3}, "document_name"),
        ({"collection": "rules", "name": "x", "kind": "k" * (MAX_TEXT_LENGTH + 1)}, "kind"),
        ({"collection": "rules", "name": "x", "kind": "  "}, "kind"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_entity_is_refused_with_the_reason(obj, reason):
    with pytest.raises(UnknownShapeError) as refused:
        normalize(obj)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "obj", [{}, {"a": 1}, {"name": "Ash"}, {"key": "x"}, {"slug": 3, "desc": "x"}, {"key": None, "desc": "y"}]
)
def test_an_unknown_object_is_refused_and_told_what_is_known(obj):
    with pytest.raises(UnknownShapeError, match=r"of no format that LoreKeeper knows|an empty object"):
        normalize(obj)


@pytest.mark.parametrize("obj", [{"collection": [], "name": "x"}, {**V1["section"][0], "document__slug": ["x"]}])
def test_a_reason_is_said_in_words_of_the_game_and_not_of_the_program(obj):
    with pytest.raises(UnknownShapeError) as refused:
        normalize(obj)
    assert not any(word in str(refused.value) for word in ("unhashable", "NoneType", "attribute", "object is not"))


@pytest.mark.parametrize("archetypes", [3, [3], ["Storm Oath"], {"slug": "x"}])
def test_a_class_with_odd_subclasses_is_refused_in_plain_words(archetypes):
    obj = {**V1_DOC, "slug": "t", "name": "T", "desc": "", "hp_at_1st_level": "8", "archetypes": archetypes}
    with pytest.raises(UnknownShapeError) as refused:
        normalize(obj)
    assert "object is not" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Will-o'-Wisp", "will-o-wisp"), ("Éclair  (Greater)", "eclair-greater"), ("火球", "火球"), ("+1 Hook", "1-hook")],
)
def test_a_name_makes_a_readable_slug(name, slug):
    assert slugify(name) == slug


# --- laws ----------------------------------------------------------------------------------------------------------

KEYS = sorted(
    {key for obj, _, _ in (*V2.values(), *V1.values()) for key in obj}
    | {sign for e in ENDPOINTS.values() for keys in e.signatures for sign in keys}
    | {"collection", "kind", "document_name", "archetypes", "subraces", "document__slug", "document__title", "url"}
)
ANY_STRING = st.text(st.characters(), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_STRING
    | st.sampled_from(
        ["", " ", "1 gp", "9" * 400, "9" * 400 + " cp", "https://x/", "srd_", "spells", "rules", "3rd-level", "\0"]
    )
    | st.sampled_from([10**400, -(2**70), 1e308]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(ANY_STRING | st.sampled_from(["name", "key", "url", "property", "desc"]), inner, max_size=3)
    ),
    max_leaves=8,
)
EXAMPLES = [obj for obj, _, _ in V2.values()] + [{**obj, **V1_DOC} for obj, _, _ in V1.values()] + [OWN]


def check(entity: Entity) -> None:
    """What the rest of the program relies on in any entity."""
    collection = COLLECTIONS[entity.type]
    assert isinstance(entity.name, str)
    assert entity.name.strip()
    assert len(entity.name) <= MAX_TEXT_LENGTH
    assert isinstance(entity.kind, str)
    assert 0 < len(entity.kind) <= MAX_TEXT_LENGTH
    assert entity.kind in collection.kinds or collection.open_kinds
    assert all(isinstance(k, str) and 0 < len(k) <= MAX_KEY_LENGTH and k == k.strip() for k in entity.identity)
    assert entity.document_name is None or isinstance(entity.document_name, str)
    assert len(entity.document_name or "") <= MAX_TEXT_LENGTH
    assert clean_fields(entity.type, entity.fields) == entity.fields
    assert json.loads(canonical_json(entity.data)) == entity.data
    assert len(entity.content_hash) == 32
    assert passages(entity)
    assert isinstance(facts(entity), str)


def normalized_or_refused(obj: Mapping[str, Any], **options: Any) -> list[Entity]:
    try:
        return normalize(obj, **options)
    except UnknownShapeError as refused:
        assert str(refused)  # noqa: PT017
        return []


@given(
    st.dictionaries(st.sampled_from(KEYS) | ANY_STRING, JSON, max_size=12), st.none() | st.sampled_from(list(ENDPOINTS))
)
@examples(400)
def test_any_object_is_normalised_well_or_refused_as_unknown(obj, hint):
    for entity in normalized_or_refused(obj, hint=hint):
        check(entity)


@given(st.sampled_from(EXAMPLES), st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1, max_size=3))
@examples(400)
def test_a_real_object_with_some_odd_values_is_normalised_well_or_refused_as_unknown(obj, odd):
    for entity in normalized_or_refused({**obj, **odd}):
        check(entity)


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
@examples(100)
def test_normalising_does_not_change_its_input(obj):
    before = repr(obj)
    normalized_or_refused(obj)
    assert repr(obj) == before


# --- the corpus ----------------------------------------------------------------------------------------------------


async def read_without_failure(*paths: Path) -> list[Entity]:
    report = ImportReport()
    entities = [entity for entity, _ in Reader(paths, None, report).read()]
    assert [str(f) for f in report.failed] == []
    return entities


def endpoint_file(corpus: Path, endpoint: str) -> Path:
    return next((corpus / "entities").glob(f"{endpoint}.jsonl*"))


KINDS = {
    "spells": {"spell"},
    "creatures": {"creature"},
    "magicitems": {"magic-item"},
    "items": {"gear", "weapon", "armor"},
    "weapons": {"weapon"},
    "armor": {"armor"},
    "services": {"gear"},
    "classes": {"class", "subclass"},
    "species": {"race", "subrace"},
    "feats": {"feat"},
    "backgrounds": {"background"},
    "rules": {"rule"},
    "rulesets": {"section"},
    "sections_v1": {"section"},
    "conditions": {"condition"},
    "documents": {"document"},
    "planes_v1": {"plane"},
    "abilities": {"ability"},
    "skills": {"skill"},
    "languages": {"language"},
    "environments": {"environment"},
    "alignments": {"alignment"},
    "damagetypes": {"damage-type"},
    "creaturetypes": {"creature-type"},
    "spellschools": {"spell-school"},
    "weaponproperties": {"weapon-property"},
    "itemsets": {"item-set"},
}
NO_LORE = {"creaturesets", "gamesystems", "itemcategories", "itemrarities", "licenses", "publishers", "sizes"}


@pytest.mark.corpus
async def test_every_endpoint_of_the_corpus_gives_as_many_entities_as_it_has_objects(corpus):
    stats = statistics_of(corpus)
    assert stats.keys() == KINDS.keys() | NO_LORE
    for endpoint, stat in stats.items():
        found = await read_without_failure(endpoint_file(corpus, endpoint))
        assert len(found) == (0 if endpoint in NO_LORE else stat["count"]), endpoint
        assert {e.kind for e in found} == KINDS.get(endpoint, set()), endpoint
        by_document = {k: n for k, n in stat["by_document"].items() if found and endpoint != "documents"}
        assert Counter(e.document for e in found if by_document) == by_document, endpoint


@pytest.mark.corpus
async def test_no_identity_occurs_twice_in_the_corpus(corpus, tmp_path_factory):
    """The tables of weapons and armour list items again, under the identities of these."""
    found = imported_entries(corpus, tmp_path_factory)
    rows = await read_without_failure(*(endpoint_file(corpus, name) for name in ("weapons", "armor")))
    tables = Counter(e.uri for e in rows)
    others = Counter(e.uri for e in found) - tables
    assert others.total() > 9_000
    assert [uri for counts in (others, tables) for uri, count in counts.items() if count > 1] == []
    assert tables.keys() <= others.keys()


@pytest.mark.corpus
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_every_page_the_api_answered_is_read_without_failure(corpus, version):
    pages = sorted((corpus / "open5e" / version).glob("*/limit100/*.gz"))
    assert pages
    for page in pages:
        endpoint = page.parents[1].name
        name = endpoint if version == "v2" else f"{endpoint}_v1"
        assert normalized_page(page, name) or endpoint in NO_LORE | {"images", "spelllist"}, page


def normalized_page(page: Path, endpoint: str) -> list[Entity]:
    results = json.loads(gzip.decompress(page.read_bytes()))["results"]
    return [entity for obj in results for entity in normalize(obj, hint=f"{endpoint}.json")]


@pytest.mark.corpus
async def test_the_corpus_holds_the_figures_of_its_best_known_entries(corpus):
    found = {e.uri: e for e in await read_without_failure(*(endpoint_file(corpus, e) for e in ("spells", "creatures")))}
    assert found["lore://spells/srd-2014/fireball"].fields["level"] == 3
    assert found["lore://spells/srd-2024/fireball"].fields["school"] == "evocation"
    assert found["lore://creatures/srd-2014/aboleth"].fields["challenge_rating"] == 10.0


# --- records from elsewhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Wish\r\n2. Forged", "Wish 2. Forged"),
        ("  Two  words\t", "Two  words"),
        ("Fire\x1b[2Jball", "Fire[2Jball"),
        ("Fire\x9bball\u202e", "Fireball"),
        ("a\u2028b\u2029\u2066c", "a b c"),
        ("Évil 風 😀 \u200f", "Évil 風 😀 \u200f"),
    ],
    ids=ascii,
)
def test_b11_names_and_titles_of_real_sources_are_one_printable_line(name, kept):
    title = f"Book {name}"
    obj = spell("now") | {"name": name, "document": {"key": "tide-atlas", "name": title}}
    entity = one(obj)
    assert entity.name == kept
    assert entity.document_name is not None
    assert not has_controls(entity.document_name)
    assert entity.data == obj, "what its source wrote is kept"


RECORD = one({"collection": "spells", "name": "Frost Step", "level": 2, "classes": ["Wizard"]}).as_record()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": 5}, "no name"),
        ({"name": "x" * 501}, "name"),
        ({"name": "\x1b"}, "name"),
        ({"slug": None}, "slug"),
        ({"slug": ""}, "slug"),
        ({"slug": ["a"]}, "slug"),
        ({"slug": "a\x1bb"}, "slug"),
        ({"slug": "a\u202eb"}, "slug"),
        ({"slug": "s" * 1_000_000}, "slug"),
        ({"document": None}, "document"),
        ({"kind": None}, "kind"),
        ({"source_api": 3}, "source_api"),
        ({"document_name": ["x"]}, "document_name"),
        ({"data": [1]}, "JSON object"),
        ({"data": {"a": float("nan")}}, "JSON"),
        ({"data": {"a": "\ud800"}}, "surrogate"),
        ({"name": "a\udfff"}, "surrogate"),
        ({"data": {"a": 2**70}}, "64 bits"),
        ({"data": {"a": "x" * MAX_RECORD_BYTES}}, "bytes as JSON"),
        ({"fields": [1]}, "fields"),
        ({"fields": {"name": "x"}}, "fields"),
        ({"fields": {"level": "many"}}, "level must be a number"),
        ({"fields": {"classes": [["a"]]}}, "classes"),
        ({"fields": {"school": "\x1b]"}}, "school"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_b9_a_record_from_elsewhere_is_checked_as_an_import_is(change, reason):
    with pytest.raises(FilterError, match=reason):
        checked("spells", RECORD | change)


@pytest.mark.parametrize("record", [None, 3, [], "text", {}, {"slug": "a"}, {**RECORD, "data": None}], ids=str)
def test_b9_what_is_no_record_is_refused(record):
    with pytest.raises(FilterError):
        checked("spells", record)


def test_b9_deep_nesting_in_a_record_is_refused():
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(FilterError, match="deep"):
        checked("spells", RECORD | {"data": deep})


def test_b9_a_checked_record_of_a_good_entry_is_that_entry():
    """Its content hash is the same, so that a restore of what is there changes nothing."""
    lines = [line for file in sorted(STARTER.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    entities = [entity for line in lines for entity in normalize(json.loads(line))]
    assert entities
    for entity in entities:
        again = checked(entity.type, json.loads(json.dumps(entity.as_record())))
        assert again == entity
        assert again.content_hash == entity.content_hash


@pytest.mark.corpus
def test_b9_a_checked_record_of_an_entry_of_the_corpus_is_that_entry(corpus):
    number = 0
    for file in sorted((corpus / "entities").glob("[a-z]*.jsonl*")):
        packed = file.read_bytes()
        text = gzip.decompress(packed) if file.suffix == ".gz" else packed
        for line in text.splitlines():
            for entity in normalize(json.loads(line), hint=file.name):
                again = checked(entity.type, json.loads(json.dumps(entity.as_record())))
                assert (again, again.content_hash) == (entity, entity.content_hash)
                number += 1
    assert number > 9000


def benefit(kind: str, desc: str) -> dict[str, str]:
    return {"name": kind.title(), "desc": desc, "type": kind}


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (
            {"benefits": [benefit("skill_proficiency", "Stealth, and either Sleight of Hand or Persuasion.")]},
            {"skills": ("persuasion", "sleight of hand", "stealth")},
        ),
        ({"benefits": [benefit("skill_proficiency", "Two of your choice.")]}, {}),
        (
            {"benefits": [benefit("tool_proficiency", "One type of gaming set, thieves\u2019 tools.")]},
            {"tools": ("gaming set", "thieves tools")},
        ),
        ({"benefits": [benefit("tool_proficiency", "No additional tool proficiencies")]}, {}),
        ({"benefits": [benefit("ability_score", "+1 to Wisdom and one other ability score.")]}, {"ability": ("wisdom",)}),
        ({"benefits": [benefit("", "Increase your Strength or Dexterity score by 1.")]}, {"ability": ("strength", "dexterity")}),
        ({"benefits": [benefit("", "Your Strength or Dexterity score increases by 1, to a maximum of 20.")]},
         {"ability": ("strength", "dexterity")}),
        ({"benefits": [benefit("", "Increase one ability score of your choice by 2.")]}, {"ability": terms.ABILITIES}),
        ({"benefits": [benefit("", "You have advantage on Strength checks.")]}, {}),
        (
            {"prerequisite": "Level 4+, Strength or Dexterity 13+"},
            {"prerequisite": ("level 4", "strength", "strength 13", "dexterity", "dexterity 13")},
        ),
        ({"prerequisite": "*8th level or higher*"}, {"prerequisite": ("level 8",)}),
        (
            {"prerequisite": "Requires the ability to cast at least one spell of 1st level or higher"},
            {"prerequisite": ("spell",)},
        ),
        ({"prerequisite": "*N/A*"}, {}),
    ],
)  # fmt: skip
def test_what_backgrounds_and_feats_give_and_ask_for_are_fields(obj, fields):
    for whole in (
        {"key": "ta_x", "name": "X", "desc": "", "document": DOC, "benefits": [], "has_prerequisite": False, **obj},
        {"collection": "character_options", "kind": "feat", "name": "X", "description": "It is.", **obj},
    ):
        found = {name: set(value) if isinstance(value, tuple) else value for name, value in one(whole).fields.items()}
        assert {name: value for name, value in found.items() if value and name != "audience"} == {
            name: set(value) for name, value in fields.items()
        }
