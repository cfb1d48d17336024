"""What items and character options do, as filter values: read by the grammar that reads spells."""

from __future__ import annotations

from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.filters import matches, parse_filters
from lorekeeper.normalize import normalize
from lorekeeper.normalize.derive_fields import derive_fields
from tests.support.tables import each_row

BOOK = {"key": "tide-atlas", "name": "The Tide Atlas"}


def item(text: str, **values: Any) -> Entity:
    """A magic item as Open5e sends it."""
    (made,) = normalize({"key": "x_oar", "name": "Oar", "desc": text, "rarity": "rare", "requires_attunement": False,
                         "document": BOOK, **values})  # fmt: skip
    return made


def does(entity: Entity, where: str) -> bool:
    return matches(entity, parse_filters(entity.type, {"where": where}))


def test_what_does_not_heal_is_found_by_that():
    assert does(item("It glows."), "-heals")
    assert does(item("It glows."), "heals:false")
    assert not does(item("You regain 1d8 hit points."), "-heals")


@each_row(
    ("text", "found"),
    [
        ("After taking fire damage, the heron catches fire and takes 5 (1d10) fire damage.", ()),
        ("A thief that touches the heron burns and takes 5 (1d10) fire damage.", ("fire",)),
        ("The heron bites the thief and deals 5 (1d10) cold damage.", ("cold",)),
    ],
)
def test_the_damage_that_a_creature_takes_itself_is_none_that_it_deals(text, found):
    (heron,) = normalize({"key": "x_heron", "name": "Heron", "document": BOOK, "hit_points": 9, "armor_class": 12,
                          "challenge_rating": 1, "traits": [{"name": "Dry", "desc": text}]})  # fmt: skip
    assert heron.fields.get("damage_types", ()) == found


@each_row("source", ["orcbrew", "5etools", "foundry"])
def test_stored_entries_of_any_source_gain_the_effects(source):
    data = {
        "name": "Tide Feat",
        "desc": "The target takes 2d8 cold damage.",
        "description": "The target takes 2d8 cold damage.",
    }
    stored = Entity("character_options", "tide-feat", "Tide Feat", "feat", "homebrew", source, data)
    assert derive_fields(stored)["damage_types"] == ("cold",)


@each_row(
    ("text", "where"),
    [
        ("The net entangles the target, restraining it.", "condition:restrained"),
        ("A gaze that petrifies the thief.", "condition:petrified"),
        ("You shape reeds into a guardian, appearing in an unoccupied space.", "summons"),
        ("Each friend recovers 5 hit points.", "heals"),
    ],
)
def test_what_somebody_does_is_found_by_the_verb_as_well(text: str, where: str) -> None:
    assert does(item(text), where)


@each_row(
    ("text", "where"),
    [
        ("You have advantage on breaking chains restraining creatures.", "condition:restrained"),
        ("You have advantage on saves vs. being charmed.", "condition:charmed"),
        ("A mended sail is the only way to restore its hit points.", "heals"),
    ],
)
def test_what_is_only_told_of_is_not(text: str, where: str) -> None:
    assert not does(item(text), where)
