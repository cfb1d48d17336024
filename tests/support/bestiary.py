"""Creatures of many challenge ratings in two editions, for encounters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.filters import clean_fields
from lorekeeper.play.encounters.proposals import rating_of
from tests.support.entities import make

RATINGS = (0, 0.125, 0.25, 0.5, *range(1, 31))
TYPES = ("undead", "beast", "fiend", "humanoid", "dragon")
PLACES = ("swamp", "forest", "hills", "desert")
NOUNS = ("reed", "ash", "salt", "bone", "fen", "gull", "thorn", "lamp")

KNOWN = 0.7
"""Share of the creatures whose environments are known."""

OLD, NEW = "tidewatch-2014", "tidewatch-2024"
"""Keys of the two books."""


def books() -> list[Entity]:
    """The records of both."""
    systems = {OLD: "5e 2014", NEW: "5e 2024"}
    return [make(key, type="documents", document=key, name=key, game_system=system) for key, system in systems.items()]


def bestiary(random: Random, number: int, document: str = OLD, **fixed: Any) -> list[Entity]:
    """So many random creatures; some have no environment."""
    return list(_creatures(random, number, document, fixed))


def _creatures(random: Random, number: int, document: str, fixed: dict[str, Any]) -> Iterator[Entity]:
    for place in range(number):
        noun, kind = random.choice(NOUNS), random.choice(TYPES)
        fields: dict[str, Any] = {"challenge_rating": random.choice(RATINGS), "type": kind}
        if random.random() < KNOWN:
            fields["environments"] = random.sample(PLACES, 2)
        yield creature(f"{noun} {kind} {place}".title(), document, **{**fields, **fixed})


def creature(name: str, document: str = OLD, **fields: Any) -> Entity:
    """A creature with these filter fields."""
    slug, text = name.lower().replace(" ", "-"), f"The {name} of the salt fens."
    made = make(slug, text, type="creatures", name=name, document=document)
    return replace(made, fields=clean_fields("creatures", fields))


def pools_of(creatures: Iterable[Entity]) -> dict[float, list[Entity]]:
    """Creatures by challenge rating."""
    pools: dict[float, list[Entity]] = {}
    for each in creatures:
        rating = rating_of(each)
        if rating is not None:
            pools.setdefault(rating, []).append(each)
    return pools
