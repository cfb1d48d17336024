"""Weapons, armour, magic items and gear, in the shape of Open5e's items."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.enrich import described
from lorekeeper.normalize.foundry.rolls import Doer, two_handed
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.values import Object, at, mapping, number, text, texts, whole
from lorekeeper.normalize.foundry.words import (
    ARMOR_WEIGHTS,
    COINS,
    HIDDEN_PROPERTIES,
    POUNDS,
    PROPERTIES,
    RARITIES,
    WEAPON_TYPES,
    spoken,
)

MAGIC = frozenset({"mgc", "magical"})
NOISY = frozenset({"stealthDisadvantage", "noisy"})

_CATEGORIES = {
    "trinket": "wondrous item", "wondrous": "wondrous item", "ammo": "ammunition", "art": "artisan's tools",
    "game": "gaming set", "music": "musical instrument", "trade": "trade goods", "treasure": "treasure", "vehicle": "vehicle",
    "wondrousItem": "wondrous item", "clothing": "clothing",
}  # fmt: skip
"""The category of an item by the key of its type, where that has another name."""

_OF_TYPE = {
    "tool": "tool",
    "container": "container",
    "consumable": "consumable",
    "loot": "treasure",
    "ammunition": "ammunition",
}
"""The category by the type of the document, where it has none of its own."""

_SUBTITLE = re.compile(r"\*{1,2}([^*\n]{3,200})\*{1,2}(?:\n\n|$)")
"""A first line in italics: "Ring, Rare (Requires Attunement)"."""

_IS_SUBTITLE = re.compile(
    r"\battunement\b|\b(?:common|uncommon|rare|legendary|artifact)\b|^wondrous item$", re.IGNORECASE
)
_BY_WHOM = re.compile(r"requires attunement( by [^()]{3,120})", re.IGNORECASE)

_STAFF = re.compile(r"\bstaff\b", re.IGNORECASE)

ARMOR_DEXTERITY = {"light": " + Dex modifier", "medium": " + Dex modifier (max 2)", "heavy": ""}


def kind_of(item: Object) -> str:
    """The kind of an item: magic-item, weapon, armor or gear."""
    system = mapping(item, "system")
    if _rarity(system) or not MAGIC.isdisjoint(texts(system, "properties")):
        return "magic-item"
    if item.get("type") == "weapon":
        return "weapon"
    return "armor" if _armor_weight(item) else "gear"


def item(raw: Object, scope: Scope) -> dict[str, object]:
    """An item."""
    system = mapping(raw, "system")
    desc, by_whom = _without_subtitle(described(raw, scope))
    magical = kind_of(raw) == "magic-item"
    attuned = _attunement(system, magical=magical)
    data = without_empty(
        {
            "desc": desc,
            "category": _category(raw),
            "rarity": _rarity(system),
            "attunement_detail": f"requires attunement{by_whom}" if by_whom and attuned else "",
            "weapon": _weapon(raw) if raw.get("type") == "weapon" else {},
            "armor": _armor(raw),
            "cost": _cost(system),
            "weight": _weight(system),
            "bonus": formulas.value(text(system, "magicalBonus", "armor.magicalBonus")),
            "charges": _charges(system),
            "contents": [],
        }
    )
    return data if attuned is None else {**data, "requires_attunement": attuned}


def _without_subtitle(desc: str) -> tuple[str, str]:
    """A text without its first line in italics, which the entry says by itself; and by whom the item can be attuned to."""
    match = _SUBTITLE.match(desc)
    if match is None or not _IS_SUBTITLE.search(match[1]):
        return desc, ""
    by_whom = _BY_WHOM.search(match[1])
    return desc[match.end() :], by_whom[1].rstrip() if by_whom else ""


def _rarity(system: Object) -> str:
    found = text(system, "rarity")
    return RARITIES.get(found, spoken(found))


def _attunement(system: Object, *, magical: bool) -> bool | None:
    """Whether it must be attuned to; None if nothing is said, or if it is not magical."""
    given = system.get("attunement")
    given = at(given, "value") if isinstance(given, dict) else given
    if given in ("required", 1, 2):
        return True
    return False if magical and given in ("", "optional", 0) else None


def _category(raw: Object) -> str:
    system, kind = mapping(raw, "system"), text(raw, "type")
    key = text(system, "type.category", "type.value", "weaponType", "armor.type")
    key = key or text(system, "consumableType", "toolType")
    if kind == "weapon":
        return "staff" if _rarity(system) and _STAFF.search(text(raw, "name")) else "weapon"
    if _armor_weight(raw):
        return "shield" if key == "shield" else "armor"
    return _CATEGORIES.get(key, spoken(key)) or _OF_TYPE.get(kind, "")


# --- weapons and armour ---------------------------------------------------------------------------------------------


def _weapon(raw: Object) -> dict[str, object]:
    """What a weapon does; {} for one that can be any."""
    system = mapping(raw, "system")
    key = text(system, "type.value", "weaponType")
    training, manner = WEAPON_TYPES.get(key, (text(system, "type.category"), key))
    damage = mapping(system, "damage")
    base = mapping(damage, "base") or damage
    dice = _dice(base) or _old_dice(system)
    if not dice and not training:
        return {}
    distance = number(system, "range.value", "range.short")
    reach = number(system, "range.value") if manner == "melee" and distance == 5 else None
    found = {
        "damage_dice": dice,
        "damage_type": next(iter(_types(base)), ""),
        "properties": _properties(raw, base, damage),
        "range": distance if distance and not reach else None,
        "long_range": number(system, "range.long") if distance else None,
    }
    if training in ("simple", "martial"):
        found |= {"is_simple": training == "simple", "is_ranged": manner == "ranged"}
    return {key: value for key, value in found.items() if value not in (None, "", [])}


def _types(base: Object) -> list[str]:
    return [key for key in (text(base, "type"), *texts(base, "types")) if key]


def _dice(base: Object) -> str:
    count, sides = whole(base, "number"), whole(base, "denomination")
    if count and sides:
        return f"{count}d{sides}"
    return text(base, "custom.formula") if at(base, "custom.enabled") is True else ""


def _old_dice(system: Object) -> str:
    """The dice of an item of version 9, which had the modifier in them."""
    parts = at(system, "damage.parts")
    first = parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], list) and parts[0] else [""]
    match = re.match(r"\d{1,2}d\d{1,3}", text(first[0]))
    return match[0] if match else ""


def _properties(raw: Object, base: Object, damage: Object) -> list[object]:
    """Names of properties with their details: ``{"property": {"name": "Versatile"}, "detail": "1d10"}``."""
    system = mapping(raw, "system")
    keys = Doer(raw).properties
    distance = _distances(system)
    found: list[object] = []
    for key in texts(system, "properties"):
        if key in HIDDEN_PROPERTIES:
            continue
        name = PROPERTIES.get(key, spoken(key))
        detail = distance if name in ("thrown", "ammunition") else ""
        if name == "versatile":
            two = two_handed(base, damage, keys)
            detail = _dice({**base, **two}) if two else ""
        found.append({"property": {"name": name.title()}, **({"detail": detail} if detail else {})})
    mastery = text(system, "mastery")
    return [*found, *([{"property": {"name": mastery.title(), "type": "Mastery"}}] if mastery else [])]


def _distances(system: Object) -> str:
    near, far = number(system, "range.value", "range.short"), number(system, "range.long")
    if not near:
        return ""
    return f"range {near}/{far}" if far else f"range {near}"


def _armor_weight(raw: Object) -> str:
    if text(raw, "type") not in ("equipment", "armor"):
        return ""
    system = mapping(raw, "system")
    key = text(system, "type.category", "type.value", "armor.type")
    return key if key in ARMOR_WEIGHTS or key == "shield" else ""


def _armor(raw: Object) -> dict[str, object]:
    weight = _armor_weight(raw)
    system = mapping(raw, "system")
    value = whole(number(system, "armor.value"))
    if not weight or (not value and weight != "shield"):
        return {}
    base = value or 2
    shown = f"+{base}" if weight == "shield" else f"{base}{_dexterity(system, weight)}"
    return without_empty(
        {
            "name": text(raw, "name") if weight == "shield" else "",
            "category": "" if weight == "shield" else weight,
            "ac_base": base,
            "plus_flat_mod": base if weight == "shield" else None,
            "ac_display": shown,
            "grants_stealth_disadvantage": True if not NOISY.isdisjoint(texts(system, "properties")) else None,
            "strength_score_required": whole(system, "strength") or whole(system, "armor.requiredStrength") or None,
        }
    )


def _dexterity(system: Object, weight: str) -> str:
    limit = whole(system, "armor.dex")
    if limit is None:
        return ARMOR_DEXTERITY.get(weight, "")
    return f" + Dex modifier (max {limit})" if limit else ""


# --- price, weight, charges -----------------------------------------------------------------------------------------


def _cost(system: Object) -> object:
    """The price in gp; None for 0, with which the program says that there is none."""
    return _measured(system.get("price"), "denomination", "gp", COINS)


def _weight(system: Object) -> object:
    """The weight in pounds."""
    return _measured(system.get("weight"), "units", "lb", POUNDS)


def _measured(found: object, key: str, usual: str, worth: Mapping[str, float]) -> object:
    """A number, which may have its unit beside it, in the usual unit; None for 0, and for a unit without a known worth."""
    value = number(found, "value") if isinstance(found, dict) else number(found)
    unit = text(mapping(found).get(key)) or usual
    return number(round(value * worth[unit], 4)) if value and unit in worth else None


def _charges(system: Object) -> int | None:
    """The most charges of an item that regains them."""
    most = formulas.value(text(system, "uses.max"))
    regains = bool(at(system, "uses.recovery")) or text(system, "uses.per") == "charges"
    return most if most and most > 1 and regains else None
