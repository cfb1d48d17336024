"""The declared fields that pages have no line for, as further facts."""

from __future__ import annotations

from lorekeeper.entities import Entity, Value
from lorekeeper.records.values import amount
from lorekeeper.text.spelling import as_spelt

_DONE = {
    "saves": "Forces Saves",
    "damage_types": "Deals Damage",
    "conditions": "Inflicts",
    "heals": "Heals",
    "summons": "Summons",
}

UNPRINTED: dict[str, dict[str, str]] = {
    "spells": {
        **_DONE,
        "attack": "Spell Attack",
    },
    "creatures": {**_DONE, "legendary": "Legendary", "lair": "Lair"},
    "equipment": {"bonus": "Bonus", "charges": "Charges", "cursed": "Cursed", **_DONE},
    "character_options": _DONE,
}
"""Fields that are read out of the text, and their labels, by entity type. Every other one is in a line of the page."""


def declared(entity: Entity, printed: set[str]) -> list[tuple[str, str]]:
    """Labels and values of these fields, but for flags that are not set and labels that the page has."""
    fields = UNPRINTED.get(entity.type, {}).items()
    spelt = as_spelt(entity).fields
    said = [("Area", _area(entity)), *((label, _said(spelt.get(name))) for name, label in fields)]
    return [(label, value) for label, value in said if value and label not in printed]


def _area(entity: Entity) -> str:
    """The area of a spell, which some sources state in the text alone: "100-foot line"."""
    shape, size = entity.fields.get("area"), entity.fields.get("area_size")
    return f"{amount(size)}-foot {shape}" if isinstance(size, (int, float)) and shape else ""


def _said(value: Value | None) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case int() | float():
            return amount(value)
        case str():
            return value
    return ", ".join(value)
