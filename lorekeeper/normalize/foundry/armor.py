"""The armor class of a creature, by the rule of its calculation (SRD 5.1, "Armor")."""

from __future__ import annotations

from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.features import carried
from lorekeeper.normalize.foundry.sheets import Sheet
from lorekeeper.normalize.foundry.values import Object, at, number, objects, text, whole
from lorekeeper.normalize.foundry.words import ARMOR_WEIGHTS

UNARMORED = 10
SHIELD = 2
MEDIUM_LIMIT = 2
"""Most of the Dexterity modifier that counts in medium armour."""

_FORMULAS = {
    "mage": "13 + @abilities.dex.mod",
    "draconic": "10 + @abilities.dex.mod + @abilities.cha.mod",
    "unarmoredMonk": "10 + @abilities.dex.mod + @abilities.wis.mod",
    "unarmoredBarb": "10 + @abilities.dex.mod + @abilities.con.mod",
    "unarmoredBard": "10 + @abilities.dex.mod + @abilities.cha.mod",
}

_WORKED_OUT = frozenset({"default", "custom", *_FORMULAS})
"""Calculations that take no notice of a ``flat`` value, which is a leftover there."""


def armor_class(actor: Object, sheet: Sheet) -> int | None:
    """The armor class of an actor; None if it has neither one nor abilities from which it follows.

    A ``flat`` value counts for the calculations that say so, and for unknown ones. A shield adds to natural armour.
    """
    stated = at(actor, "system.attributes.ac")
    way = _by_effect(actor) or text(stated, "calc")
    override = whole(stated, "override")
    flat = whole(stated, "flat") if stated else whole(actor, "system.attributes.ac")
    if override:
        return override
    if flat and way not in _WORKED_OUT:  # "" is of Black Flag
        return flat + (_shield(actor) if way in ("natural", "") else 0)
    formula = text(stated, "formula") if way == "custom" else _FORMULAS.get(way, "")
    counted = formulas.value(formula, sheet.at) if formula else None
    if counted is not None:
        return counted + _shield(actor)
    return _worn(actor, sheet) if sheet.modifiers else None


_CALCULATION = "system.attributes.ac.calc"


def _by_effect(actor: Object) -> str:
    """The calculation that an effect on the actor sets, as Mage Armor does; "" for none."""
    effects = [effect for effect in objects(actor, "effects") if effect.get("disabled") is not True]
    changes = [change for effect in effects for change in objects(effect, "changes")]
    return next((text(c, "value") for c in changes if c.get("key") == _CALCULATION), "")


def _worn(actor: Object, sheet: Sheet) -> int:
    """The best armour that is worn, or none, and a shield."""
    dexterity = sheet.modifiers.get("dexterity", 0)
    if not sheet.scores:  # Black Flag counts the modifier that it prints, which may have the proficiency bonus in it
        dexterity = sheet.save("dexterity") or dexterity
    suits = [_suit(item, dexterity) for item in carried(actor) if _weight(item) in ARMOR_WEIGHTS]
    return max(suits or [UNARMORED + dexterity]) + _shield(actor)


def _suit(item: Object, dexterity: int) -> int:
    weight = _weight(item)
    own = (whole(number(item, "system.armor.value")) or UNARMORED) + _magical(item)
    if weight == "heavy":  # it neither adds the modifier nor, where that is negative, takes it off
        return own
    limit = whole(item, "system.armor.dex")
    limit = MEDIUM_LIMIT if limit is None and weight == "medium" else limit
    return own + (dexterity if limit is None else min(dexterity, limit))


def _shield(actor: Object) -> int:
    shields = [item for item in carried(actor) if _weight(item) == "shield"]
    return max(((whole(i, "system.armor.value") or SHIELD) + _magical(i) for i in shields), default=0)


def _weight(item: Object) -> str:
    """The weight of armour, or "shield"; "" for anything else."""
    if text(item, "type") not in ("equipment", "armor"):
        return ""
    kind = text(item, "system.type.category", "system.type.value", "system.armor.type")
    return kind if kind in ARMOR_WEIGHTS or kind == "shield" else ""


def _magical(item: Object) -> int:
    return formulas.value(text(item, "system.magicalBonus", "system.armor.magicalBonus")) or 0
