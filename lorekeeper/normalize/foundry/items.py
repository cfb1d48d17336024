"""Weapons, armor, magic items and gear, in the shape of Open5e's items."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.enrich import described
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.rolls import two_handed
from lorekeeper.normalize.foundry.values import (
    Data,
    Object,
    armor_weight,
    at,
    mapping,
    number,
    spoken,
    text,
    texts,
    whole,
    word,
)

HIDDEN_PROPERTIES = frozenset("mgc magical gear stealthDisadvantage noisy naturalMaterials cumbersome".split())
"""Properties that an entry shows elsewhere, or that mean something to the program only."""

_SUBTITLE = re.compile(r"\*{1,2}([^*\n]{3,200})\*{1,2}(?:\n\n|$)")
"""A first line in italics: "Ring, Rare (Requires Attunement)"."""

_IS_SUBTITLE = re.compile(
    r"\battunement\b|\b(?:common|uncommon|rare|legendary|artifact)\b|^wondrous item$", re.IGNORECASE
)
_BY_WHOM = re.compile(r"requires attunement( by [^()]{3,120})", re.IGNORECASE)

_STAFF = re.compile(r"\bstaff\b", re.IGNORECASE)


def kind_of(scope: Scope) -> str:
    """The kind of an item: magic-item, weapon, armor or gear."""
    if text(scope.system, "rarity") or scope.doer.has("mgc", "magical"):
        return "magic-item"
    if scope.raw.get("type") == "weapon":
        return "weapon"
    return "armor" if armor_weight(scope.raw) else "gear"


def item(scope: Scope) -> Data:
    """An item: with charges only if it regains them, and no price or weight of 0, which the program has for none."""
    system, desc = scope.system, described(scope)
    subtitle = _SUBTITLE.match(desc)
    told = subtitle[1] if subtitle and _IS_SUBTITLE.search(subtitle[1]) else ""
    by_whom = _BY_WHOM.search(told)
    attuned = _attunement(system, is_magic=kind_of(scope) == "magic-item")
    charges = formulas.value(text(system, "uses.max")) or 0
    regains = bool(at(system, "uses.recovery")) or text(system, "uses.per") == "charges"
    return {
        "desc": desc[subtitle.end() :] if subtitle and told else desc,
        "category": _category(scope),
        "rarity": spoken(text(system, "rarity")),
        "attunement_detail": f"requires attunement{by_whom[1].rstrip()}" if by_whom and attuned else "",
        "weapon": _weapon(scope) if scope.raw.get("type") == "weapon" else {},
        "armor": _armor(scope),
        "cost": _measured(system.get("price"), "denomination", "gp", "coins"),
        "weight": _measured(system.get("weight"), "units", "lb", "pounds"),
        "bonus": formulas.value(text(system, "magicalBonus", "armor.magicalBonus")),
        "charges": charges if charges > 1 and regains else None,
        "requires_attunement": attuned,
    }


def _attunement(system: Object, *, is_magic: bool) -> bool | None:
    """Whether it must be attuned to; None if nothing is said, or if it is not magical."""
    given = system.get("attunement")
    given = given.get("value") if isinstance(given, dict) else given
    if given in ("required", 1, 2):
        return True
    return False if is_magic and given in ("", "optional", 0) else None


def _category(scope: Scope) -> str:
    raw, kind = scope.raw, text(scope.raw, "type")
    key = text(scope.system, "type.category", "type.value", "weaponType", "armor.type", "consumableType", "toolType")
    if kind == "weapon":
        return "staff" if text(scope.system, "rarity") and _STAFF.search(text(raw, "name")) else "weapon"
    if armor_weight(raw):
        return "shield" if key == "shield" else "armor"
    return word("categories", key, spoken(key)) or word("documents", kind, "")


# --- weapons and armor ----------------------------------------------------------------------------------------------


def _weapon(scope: Scope) -> Data:
    """What a weapon does; {} for one that can be any."""
    system, damage = scope.system, mapping(scope.system, "damage")
    key = text(system, "type.value", "weaponType")
    training, manner = word["weapons"].get(key, (text(system, "type.category"), key))
    base = mapping(damage, "base") or damage
    dice = _dice(base) or _old_dice(damage.get("parts"))
    if not dice and not training:
        return {}
    distance = number(system, "range.value", "range.short")
    is_trained = training in ("simple", "martial")
    return without_empty(
        {
            "damage_dice": dice,
            "damage_type": next(filter(None, (text(base, "type"), *texts(base, "types"))), ""),
            "properties": [*_properties(scope, base)],
            "range": distance if distance and not (manner == "melee" and distance == 5) else None,
            "long_range": number(system, "range.long") if distance else None,
            "is_simple": training == "simple" if is_trained else None,
            "is_ranged": manner == "ranged" if is_trained else None,
        }
    )


def _dice(base: Object) -> str:
    count, sides = whole(base, "number"), whole(base, "denomination")
    custom = text(base, "custom.formula") if at(base, "custom.enabled") is True else ""
    return f"{count}d{sides}" if count and sides else custom


def _old_dice(parts: object) -> str:
    """The dice of an item of version 9, which had the modifier in them."""
    first = parts[0] if isinstance(parts, list) and parts else None
    match = re.match(r"\d{1,2}d\d{1,3}", text(first[0])) if isinstance(first, list) and first else None
    return match[0] if match else ""


def _properties(scope: Scope, base: Object) -> Iterator[Data]:
    """Names of properties with their details: ``{"property": {"name": "Versatile"}, "detail": "1d10"}``."""
    near, far = number(scope.system, "range.value", "range.short"), number(scope.system, "range.long")
    for key in texts(scope.system, "properties"):
        name, detail = word("properties", key, spoken(key)), ""
        if name in ("thrown", "ammunition") and near:
            detail = f"range {near}{f'/{far}' if far else ''}"
        elif name == "versatile" and (two := two_handed(scope.doer)):
            detail = _dice({**base, **two})
        if key not in HIDDEN_PROPERTIES:
            yield {"property": {"name": name.title()}, **({"detail": detail} if detail else {})}
    if mastery := text(scope.system, "mastery"):
        yield {"property": {"name": mastery.title(), "type": "Mastery"}}


def _armor(scope: Scope) -> Data:
    weight, system, value = armor_weight(scope.raw), scope.system, whole(scope.system, "armor.value")
    is_shield, limit = weight == "shield", whole(scope.system, "armor.dex")
    if not weight or (not value and not is_shield):
        return {}
    base = value or 2
    capped = f" + Dex modifier (max {limit})" if limit else ""
    return without_empty(
        {
            "name": text(scope.raw, "name") if is_shield else "",
            "category": "" if is_shield else weight,
            "ac_base": base,
            "plus_flat_mod": base if is_shield else None,
            "ac_display": f"+{base}" if is_shield else f"{base}{word('armor', weight) if limit is None else capped}",
            "grants_stealth_disadvantage": True if scope.doer.has("stealthDisadvantage", "noisy") else None,
            "strength_score_required": whole(system, "strength") or whole(system, "armor.requiredStrength") or None,
        }
    )


def _measured(found: object, key: str, usual: str, table: str) -> float | None:
    """A number, which may have its unit beside it, in the usual unit; None for 0, and for a unit without a known worth."""
    value = number(found, "value") if isinstance(found, dict) else number(found)
    worth = word[table].get(text(found, key) or usual)
    return number(round(value * worth, 4)) if value and worth else None
