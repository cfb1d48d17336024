"""Sample entries in LoreKeeper's own JSON: two invented books, every type, values missing here and there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ATLAS, ALMANAC = "tidewatch-atlas", "ember-almanac"

TITLES = {ATLAS: "The Tidewatch Atlas", ALMANAC: "Ember Almanac"}


def _entry(collection: str, document: str, name: str, description: str, **fields: Any) -> dict[str, Any]:
    return {"collection": collection, "document": document, "name": name, "description": description, **fields}


SAMPLES: list[dict[str, Any]] = [
    _entry(
        "documents", ATLAS, TITLES[ATLAS], "Coasts, crews and what the tide brings in.",
        slug=ATLAS, publisher="Gull and Anchor", game_system="5e", licenses=["CC-BY-4.0"],
    ),
    _entry(
        "documents", ALMANAC, TITLES[ALMANAC], "A year among the ash hills.",
        slug=ALMANAC, publisher="Cinder Press", game_system="5e", licenses=["CC0"],
    ),
    _entry(
        "spells", ATLAS, "Tide Lance", "A spear of freezing sea water strikes one target and pushes it away.",
        level=2, school="Evocation", classes=["wizard", "druid"], ritual=False, concentration=False,
        casting_time="1 action", damage_types=["cold"], range=60,
    ),
    _entry(
        "spells", ATLAS, "Lantern of Hush", "No sound leaves the circle of light around the lantern.",
        level=1, school="abjuration", classes=["bard", "cleric"], ritual=True, concentration=True,
        casting_time="10 minutes", range=30,
    ),
    _entry(
        "spells", ATLAS, "Soft Landing", "You and your friends fall slowly, like feathers, and land without harm.",
        level=1, school="transmutation", classes=["wizard", "sorcerer"], ritual=False, concentration=False,
        casting_time="reaction", range=60,
    ),
    _entry(
        "spells", ALMANAC, "Soft Landing", "One creature that drops from a height lands on a cushion of warm air.",
        level=2, school="transmutation", classes=["srd-2024_wizard"], ritual=False, concentration=False,
        casting_time="reaction", range=30,
    ),
    _entry(
        "spells", ALMANAC, "Ember Whisper", "A spark carries your words to somebody you can see.",
        level=0, school="illusion", classes=["bard"], ritual=False, concentration=False, casting_time="action",
    ),
    _entry(
        "spells", ALMANAC, "Ash Storm", "Burning ash fills the air and hides everybody inside.",
        level=3, school="conjuration", classes=["druid", "sorcerer"], concentration=True, casting_time="1 action",
        damage_types=["fire"], range=120,
    ),
    _entry("spells", ALMANAC, "Nameless Verse", "Half a page is torn away; what it does is not known."),
    _entry(
        "creatures", ATLAS, "Brine Hound", "A lean dog of the salt flats that hunts along the tide line.",
        challenge_rating=0.25, type="beast", size="medium", alignment="unaligned", armor_class=12, hit_points=11,
        environments=["coast", "swamp"],
    ),
    _entry(
        "creatures", ATLAS, "Mire Hulk", "It lives in the swamp, and its wounds close again unless fire burns them.",
        challenge_rating=5, type="giant", size="large", alignment="chaotic evil", armor_class=15, hit_points=84,
        environments=["swamp"],
    ),
    _entry(
        "creatures", ATLAS, "Half-Elf Courier", "A messenger who knows every path between the harbour towns.",
        challenge_rating=0.125, type="humanoid", size="medium", alignment="neutral good", armor_class=12,
        hit_points=9, environments=["coast", "urban"],
    ),
    _entry(
        "creatures", ALMANAC, "Lamp Wight", "The walking corpse of a miner, with a cold blue lamp in its chest.",
        challenge_rating=0.25, type="undead", size="medium", alignment="neutral evil", armor_class=8, hit_points=22,
    ),
    _entry(
        "creatures", ALMANAC, "Ash Drake", "A grey dragon that breathes cinders and sleeps in craters.",
        challenge_rating=8, type="dragon", size="huge", alignment="chaotic evil", armor_class=17, hit_points=136,
        environments=["mountain"],
    ),
    _entry("creatures", ALMANAC, "Unmeasured Thing", "Nobody who saw it has come back with numbers."),
    _entry(
        "equipment", ATLAS, "Gullfeather Bow", "A long bow, strung with whale sinew.", kind="weapon",
        category="martial ranged", cost=50, weight=2, damage_type="piercing", properties=["two-handed", "ammunition"],
    ),
    _entry(
        "equipment", ATLAS, "Driftwood Shield", "Planks of a wreck, bound with rope.", kind="armor",
        category="shield", cost=8, weight=6.5,
    ),
    _entry(
        "equipment", ATLAS, "Bottomless Satchel", "This bag is far bigger on the inside than on the outside.",
        kind="magic-item", category="wondrous item", rarity="uncommon", requires_attunement=False, weight=5,
    ),
    _entry(
        "equipment", ALMANAC, "Ring of Warm Hands", "Its wearer does not feel the cold of winter.",
        kind="magic-item", category="ring", rarity="very rare", requires_attunement=True,
    ),
    _entry(
        "equipment", ALMANAC, "Tar Lamp", "Burns for six hours and smells for twelve.", kind="gear",
        category="adventuring gear", cost=0.5, weight=1,
    ),
    _entry("character_options", ATLAS, "Tidecaller", "Asks the sea, and the sea answers.", kind="class", hit_die="d8"),
    _entry(
        "character_options", ATLAS, "Oath of the Storm", "Lightning comes when you call.", kind="subclass",
        parent="tidecaller",
    ),
    _entry("character_options", ATLAS, "Deep Breath", "You can stay under water for an hour.", kind="feat"),
    _entry("character_options", ALMANAC, "Cinderborn", "Your folk grew up beside the craters.", kind="race"),
    _entry(
        "character_options", ALMANAC, "Lamp Keeper", "You kept the lamps of the mine burning.", kind="background"
    ),
    _entry("rules", ATLAS, "Becalmed", "A becalmed creature cannot move on its own.", kind="condition"),
    _entry(
        "rules", ATLAS, "Parting Blow", "When an enemy walks away from you, you may strike it once.", kind="rule",
        parent="combat",
    ),
    _entry("rules", ALMANAC, "Ash Weather", "How to travel while ash is falling.", kind="section", parent="travel"),
]  # fmt: skip


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]] = SAMPLES) -> Path:
    """A JSON lines file."""
    path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
    return path
