"""Weapons, armor, magic items and gear."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.records.parts import ArmorClass, Cost, Damage, Distance, Figure, Property, Weight
from lorekeeper.records.values import (
    Source,
    first_number,
    flag,
    gold,
    line,
    listed,
    local_key,
    mapping,
    number,
    ref_key,
    stated,
    text_of,
)

NESTED = ("weapon", "armor")
"""Keys under which an item has the object of the weapon or armor that it is."""

DERIVED = ("ac_add_dexmod", "ac_cap_dexmod", "ac_base", "plus_dex_mod", "plus_flat_mod", "plus_max")
"""Keys of armor whose values are in others."""

FILLER_SIZE = "tiny"
"""The size that Open5e gives to everything from rings to plate armor."""

SHIELD = "shield"


@dataclass(frozen=True)
class Item:
    """A weapon, armor, a magic item or other equipment, as its source says it. "" and None stand for what is not known.

    Attributes:
        category: as it is printed, without groups that a narrower one belongs to: "martial melee weapon".
        categories: the same by their keys.
        forms: "weapon" and "armor", where the source has what it does as such apart.
        base: the weapon or armor that a magic one is a kind of.
        armor: what kind of armor that is: "medium", "shield".
        rarity: "rare", or several with "or".
        attunement: whether it must be attuned to.
        attuned_by: the same in words: "requires attunement by a wizard".
        training: "simple" or "martial".
        improvised: whether it is made for something else.
        damage: of a weapon.
        range, long_range: of a weapon.
        strength: the score without which armor slows down.
        loud: whether it gives disadvantage on Stealth.
        bonus, charges: as the source has them apart from the text.
        cursed: whether it curses its owner, as the source says apart from the text.
        unit: what is paid for: "1 day".
        variants: names of its forms.
    """

    name: str = ""
    category: str = ""
    categories: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    base: str = ""
    armor: str = ""
    rarity: str = ""
    size: str = ""
    attunement: bool | None = None
    attuned_by: str = ""
    text: str = ""
    training: str = ""
    improvised: bool = False
    damage: Damage = field(default_factory=Damage)
    range: Distance = field(default_factory=Distance)
    long_range: float | None = None
    properties: tuple[Property, ...] = ()
    armor_class: ArmorClass = field(default_factory=ArmorClass)
    strength: float | None = None
    loud: bool = False
    bonus: Figure = field(default_factory=Figure)
    charges: Figure = field(default_factory=Figure)
    cursed: bool | None = None
    cost: Cost = field(default_factory=Cost)
    weight: Weight = field(default_factory=Weight)
    unit: str = ""
    variants: str = ""


def item(source: Source) -> Item:
    """An item of any source."""
    forms = tuple(key for key in NESTED if source.value(key))
    parts = source.unfolded("armor", "weapon")
    suit, weapon = (mapping(source.value(form)) for form in ("armor", "weapon"))
    category, asked = source.value("category", "type"), source.raw("requires_attunement")
    attuned_by = asked if isinstance(asked, str) else ""
    return Item(
        **stated(source, "item"),
        **stated(parts, "weapon or armor"),
        name=line(source.peek("name")),
        category=line(_narrowest(category)),
        categories=tuple(_categories(category)),
        forms=forms,
        base=line(weapon.get("name")) or line(suit.get("name")),
        armor=SHIELD if line(suit.get("name")).casefold() == SHIELD else line(suit.get("category")),
        rarity=_rarity(source),
        size=source.line("size").lower().replace(FILLER_SIZE, ""),
        attunement="attunement" in attuned_by.lower() if isinstance(asked, str) else flag(asked),
        attuned_by=source.line("attunement_detail") or line(attuned_by),
        training=_TRAINING.get(str(parts.raw("is_simple")), ""),
        damage=Damage(parts.line("damage_dice"), _key_of(parts.value("damage_type")), parts.number("damage")),
        range=_range(parts),
        properties=tuple(_property(each) for each in parts.items("properties")),
        armor_class=_armor_class(parts, suit, line(source.peek("name"))),
        bonus=_figure(source.value("bonus")),
        charges=_figure(source.value("charges")),
        cursed=flag(source.peek("cursed")),
        cost=_cost(source.value("cost")),
        weight=_weight(source),
    )


_NAMED_BONUS = re.compile(r"\+([1-9])\b")
_TRAINING = {"True": "simple", "False": "martial"}


def _narrowest(categories: object) -> object:
    """A list of categories without those that others belong to: "weapon" next to "martial weapon"."""
    if not isinstance(categories, list):
        return categories
    names = [name for name in categories if isinstance(name, str)]
    return [entry for entry in categories if not any(other.endswith(f" {entry}") for other in names)]


def _categories(value: object) -> Iterator[str]:
    for each in listed(value):
        key = local_key(each) or ""
        yield key.partition("(")[0].rstrip()


def _key_of(value: object) -> str:
    """A key without its document, or words."""
    return local_key(value) or ""


def _rarity(source: Source) -> str:
    value = source.value("rarity", "rarities")
    found = (_key_of(each) if isinstance(each, str) else line(each) for each in listed(value))
    return " or ".join(filter(None, found)).lower()


def _range(source: Source) -> Distance:
    value = source.value("range")
    near = number(value)
    return Distance("" if near is not None else line(value), near, near)


def _property(value: object) -> Property:
    """A property in any shape: a name, a reference, or one with its text and a detail of its own."""
    nested = mapping(value)
    inner = mapping(nested.get("property")) or nested
    name = line(inner.get("name")) if inner else ref_key(nested.get("property") or value) or ""
    return Property(name, line(nested.get("detail")), line(inner.get("type")).lower(), text_of(inner))


def _armor_class(source: Source, suit: Mapping[str, Any], name: str) -> ArmorClass:
    """What a suit or shield gives; of a magic one that is described by its kind, with the bonus that its name has."""
    stated = source.line("ac_display", "ac_string", "armor_class", "ac_base", "base_ac")
    bonus = _NAMED_BONUS.search(name) if suit and stated else None
    stated = f"{stated} + {bonus[1]}" if bonus else stated
    base = first_number(source.value("ac_base", "base_ac", "armor_class"))
    return ArmorClass(stated, base, first_number(source.value("plus_flat_mod", "armor_class")))


def _figure(value: object) -> Figure:
    return Figure(number(value), line(value))


def _cost(value: object) -> Cost:
    price = number(value)
    return Cost(line(value), gold(value)) if price is None else Cost("", price)


def _weight(source: Source) -> Weight:
    value, unit = source.value("weight"), source.line("weight_unit") or "lb"
    pounds = number(value)
    return Weight(line(value) if pounds is None else "", first_number(value), unit.rstrip("."))
