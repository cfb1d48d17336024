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


@each_row("source", ["orcbrew", "5etools", "foundry"])
def test_stored_entries_of_any_source_gain_the_effects(source):
    data = {
        "name": "Tide Feat",
        "desc": "The target takes 2d8 cold damage.",
        "description": "The target takes 2d8 cold damage.",
    }
    stored = Entity("character_options", "tide-feat", "Tide Feat", "feat", "homebrew", source, data)
    assert derive_fields(stored)["damage_types"] == ("cold",)
