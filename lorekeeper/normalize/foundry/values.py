"""Reading objects of Foundry VTT, in which every value may be missing or of another type than expected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lorekeeper.normalize.reading import Words, by_path
from lorekeeper.normalize.reading import at as at
from lorekeeper.normalize.reading import commas as commas
from lorekeeper.normalize.reading import mapping as mapping
from lorekeeper.normalize.reading import paragraphs as paragraphs
from lorekeeper.normalize.reading import spaced as spaced
from lorekeeper.records import values
from lorekeeper.records.values import LENGTHS
from lorekeeper.terms import ABILITIES, ABILITY_OF

Object = Mapping[str, object]
Data = dict[str, object]

word = Words(__file__)
"""What abbreviations and keys stand for."""

ABILITY_NAMES = {**ABILITY_OF, **{name: name for name in ABILITIES}}
"""The six abilities by their keys, short in dnd5e and whole in Black Flag."""

ARMOR_WEIGHTS = frozenset({"light", "medium", "heavy"})

MAX_ITEMS = 2_000
"""Most items of a list, or keys of an object, that are read."""

LARGEST = 10**9
"""Largest number that is believed."""


@by_path
def items(value: object) -> list[object]:
    """The items of a list, or the values of an object."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return value[:MAX_ITEMS] if isinstance(value, list) else []


@by_path
def objects(value: object) -> list[Object]:
    """The objects in a list, or among the values of an object."""
    return [item for item in items(value) if isinstance(item, Mapping)]


@by_path
def number(value: object) -> float | None:
    """A number, also as a text; None for anything else, and for what is no number or too large."""
    found = values.whole(values.number(value))
    return found if found is not None and abs(found) <= LARGEST else None


@by_path
def whole(value: object) -> int | None:
    """A whole number, as `number`."""
    found = number(value)
    return found if isinstance(found, int) else None


@by_path
def text(value: object) -> str:
    """A text, or a number as one; "" for anything else."""
    if isinstance(value, str):
        return " ".join(value.replace("\u00ad", "").split())
    found = number(value)
    return "" if found is None else f"{found:g}"


@by_path
def texts(value: object) -> list[str]:
    """The texts of a list; the parts of one text that semicolons divide."""
    found = value.split(";") if isinstance(value, str) else items(value)
    return [told for item in found if (told := text(item))]


def pairs(value: object) -> Iterator[tuple[str, Object]]:
    """The objects in an object, by key."""
    for key, item in list(mapping(value).items())[:MAX_ITEMS]:
        if isinstance(item, Mapping):
            yield str(key), item


def abilities(keys: object) -> list[str]:
    """The names of some abilities by their keys, each once; of what is none, nothing."""
    return list(dict.fromkeys(ABILITY_NAMES[key] for key in texts(keys) if key in ABILITY_NAMES))


def spoken(key: str) -> str:
    """A key in words: "wondrous item" of ``wondrousItem``, "thieves tools" of ``thieves-tools``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).replace("-", " ").replace("_", " ").strip().lower()


def plural(name: str, count: float) -> str:
    """A unit after a number: "foot", "feet"."""
    return name if count == 1 else word("plurals", name, f"{name}s")


def skill_of(key: str) -> str:
    """The name of a skill by its key."""
    return word("skills", key, spoken(key))


def length(value: float, unit: str) -> str:
    """A distance: "60 feet", "1 mile"."""
    return f"{value} {plural(word('lengths', unit), value)}".strip()


def feet(value: float | None, unit: str) -> float | None:
    """A distance in feet, rounded if it is stated in another unit; None if that is no length."""
    name = word("lengths", unit or "ft", "")
    return None if value is None or name not in LENGTHS else values.whole(round(value * LENGTHS[name], 2))


def armor_weight(item: Object) -> str:
    """The weight of armor, or "shield"; "" for anything else."""
    kind = text(item, "system.type.category", "system.type.value", "system.armor.type")
    is_armor = text(item, "type") in ("equipment", "armor")
    return kind if is_armor and (kind in ARMOR_WEIGHTS or kind == "shield") else ""


def spell_level(item: object) -> int | None:
    """The level of a spell, which Black Flag calls its circle."""
    return whole(item, "system.level", "system.circle.base")
