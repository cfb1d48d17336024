"""What items and character options do, as filter values: read by the grammar that reads spells."""

from __future__ import annotations

from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.filters import matches, parse_filters
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.records import effects
from lorekeeper.records.grammar import plain

BOOK = {"key": "tide-atlas", "name": "The Tide Atlas"}


def item(text: str, **values: Any) -> Entity:
    """A magic item as Open5e sends it."""
    (made,) = normalize({"key": "x_oar", "name": "Oar", "desc": text, "rarity": "rare", "requires_attunement": False,
                         "document": BOOK, **values})  # fmt: skip
    return made


def does(entity: Entity, where: str) -> bool:
    return matches(entity, parse_filters(entity.type, {"where": where}))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Each creature in a 20-foot cone must make a DC 15 Dexterity saving throw, taking 4d6 cold damage on a failed save.",
         {"damage_types": ("cold",), "saves": ("dexterity",), "area": "cone", "area_size": 20.0}),
        ("The target must succeed on a DC 13 Wisdom saving throw or be frightened for 1 minute.",
         {"saves": ("wisdom",), "conditions": ("frightened",)}),
        ("You drink it and regain 2d4 + 2 hit points.", {"heals": True}),
        ("You can summon a tide spirit that obeys you.", {"summons": True}),
        ("While you wear it, you have resistance to fire damage.", {}),
        ("You have advantage on saving throws against being charmed.", {}),
        ("The oar has 5 charges.", {}),
    ],
)  # fmt: skip
def test_an_item_has_the_effects_of_its_text(text, fields):
    names = ("damage_types", "saves", "conditions", "heals", "summons", "area", "area_size", "charge_cost")
    assert {name: value for name, value in item(text).fields.items() if name in names} == fields


@pytest.mark.parametrize(
    ("text", "charges"),
    [
        ("You can expend 2 charges to row faster.", (2,)),
        ("You spend 1 or more of its charges.", (1,)),
        ("You cast one of these: fog cloud (three charges), gust of wind (only at sea, 2 charges).", (3, 2)),
        ("It has 7 charges and regains 1d6 expended charges at dawn.", ()),
        ("If you expend the last charge, it breaks.", ()),
    ],
)
def test_what_a_use_takes_of_the_charges_is_read(text, charges):
    assert effects(plain(text)).charges == charges


def test_a_weapon_deals_its_own_damage_and_that_of_its_text():
    made = item(
        "A hit deals an extra 1d6 fire damage.", weapon={"damage_dice": "1d8", "damage_type": {"key": "slashing"}}
    )
    assert made.fields["damage_types"] == ("slashing", "fire")
    assert does(made, "damage:fire")
    assert does(made, "damage>=4")
    assert not does(made, "damage:cold")


def test_what_does_not_heal_is_found_by_that():
    assert does(item("It glows."), "-heals")
    assert does(item("It glows."), "heals:false")
    assert not does(item("You regain 1d8 hit points."), "-heals")


def test_a_class_and_a_feat_have_the_effects_of_their_features():
    (feat,) = normalize({"key": "x_gust", "name": "Gust", "has_prerequisite": False, "document": BOOK, "benefits": [
        {"desc": "A creature that you hit must succeed on a Strength saving throw or be knocked prone."}]})  # fmt: skip
    (own,) = normalize({"collection": "character_options", "kind": "class", "name": "Stormer",
                        "features": [{"name": "Bolt", "desc": "The target takes 2d8 lightning damage."}]})  # fmt: skip
    assert (feat.fields["saves"], feat.fields["conditions"]) == (("strength",), ("prone",))
    assert own.fields["damage_types"] == ("lightning",)


def test_what_an_entry_states_itself_stays():
    (own,) = normalize({"collection": "equipment", "kind": "gear", "name": "Jar", "description": "2d6 acid damage.",
                        "damage_types": ["poison"]})  # fmt: skip
    assert own.fields["damage_types"] == ("poison",)


@pytest.mark.parametrize("source", ["orcbrew", "5etools", "foundry"])
def test_stored_entries_of_any_source_gain_the_effects(source):
    data = {
        "name": "Tide Feat",
        "desc": "The target takes 2d8 cold damage.",
        "description": "The target takes 2d8 cold damage.",
    }
    stored = Entity("character_options", "tide-feat", "Tide Feat", "feat", "homebrew", source, data)
    assert derive_fields(stored)["damage_types"] == ("cold",)
