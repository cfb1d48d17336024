"""Spells, in the keys of Open5e."""

from __future__ import annotations

import re

from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.enrich import described
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.rolls import Doer, save_abilities
from lorekeeper.normalize.foundry.values import (
    Data,
    Object,
    feet,
    items,
    length,
    mapping,
    number,
    objects,
    plural,
    spell_level,
    spoken,
    text,
    texts,
    word,
)
from lorekeeper.terms import DAMAGE_TYPES

_HIGHER = re.compile(
    r"\n\n\*{1,3}(?:(?:at )?higher (?:levels?|circles?)|using a higher-level spell slot|cantrip upgrade)[.:]?\*{1,3}"
    r"[.:]?\s*",
    re.IGNORECASE,
)
"""How the paragraph about higher levels begins."""


_COIN = re.compile(r"(?<=\d)gp\b")
_PRICE = re.compile(r"\d\+? ?(?:gp|gold)", re.IGNORECASE)
"""A price in the words of a material, which the structured one contradicts now and then."""


def spell(scope: Scope) -> Data:
    """A spell."""
    system = scope.system
    told, higher = _divided(described(scope))
    casting = mapping(system, "activation", "casting")
    properties = [*texts(system, "properties"), *texts(system, "tags")]
    school = text(system, "school")
    return {
        "level": spell_level(scope.raw),
        "school": word("schools", school, spoken(school)),
        "casting_time": _casting_time(casting),
        "reaction_condition": text(casting, "condition") if casting.get("type") == "reaction" else "",
        **_range(mapping(system, "range")),
        **_components(system),
        "duration": _duration(mapping(system, "duration")),
        "classes": sorted(scope.index.classes.get(scope.document.id, ())),
        "spell_sources": texts(system, "source") if isinstance(system.get("source"), list) else [],
        **_area(mapping(system, "target.template")),
        **_effects(scope.doer),
        "desc": told,
        "higher_level": higher,
        "ritual": "ritual" in properties,
        "concentration": "concentration" in properties,
    }


def _divided(told: str) -> tuple[str, str]:
    """A text without what the spell does at higher levels, and that."""
    match = _HIGHER.search(told)
    if match is None:
        return told, ""
    higher, _, after = told[match.end() :].partition("\n\n")
    return f"{told[: match.start()]}\n\n{after}".strip(), higher.strip()


def _casting_time(casting: Object) -> str:
    key = text(casting, "type")
    kind, value = word("activations", key, spoken(key)), number(casting, "value") or number(casting, "cost") or 1
    return f"{value} {plural(kind, value)}" if kind in ("minute", "hour", "day") else kind


def _range(given: Object) -> Data:
    unit = text(given, "units")
    if unit in word["ranges"]:
        near = {"range": 0} if unit in ("self", "touch") else {}
        return {"range_text": text(given, "special") or word("ranges", unit), **near}
    value = formulas.value(text(given, "value"))
    if not value or unit not in word["lengths"]:
        return {}
    return {"range_text": length(value, unit), "range": feet(value, unit), "range_unit": "feet"}


def _components(system: Object) -> Data:
    """The components, each true or false where the spell lists any; the material in words."""
    keys = [
        word("components", key, "") for key in (*texts(system, "properties"), *texts(system, "components.required"))
    ]
    material = mapping(system, "materials", "components.material")
    told, cost = text(material, "value", "description"), number(material, "cost")
    worth = word["coins"].get(text(material, "denomination") or "gp", 1.0)
    found: Data = {name: name in keys for name in ("verbal", "somatic", "material")} if any(keys) else {}
    if "material" in keys:
        found["material_specified"] = _COIN.sub(" gp", told)
        found["material_cost"] = number(cost * worth) if cost and not _PRICE.search(told) else None
        found["material_consumed"] = material.get("consumed") is True or None
    return found


def _duration(given: Object) -> str:
    unit, told = text(given, "units"), text(given, "value")
    endless = word("endless", unit, "")
    if endless or not unit:
        return (text(given, "special") if endless == "special" else "") or endless
    value, dice = formulas.value(told), re.match(r"\d{1,4}", told)
    value = int(dice[0]) if value is None and dice else value
    return f"{value} {plural(spoken(unit), value)}" if value else ""


def _area(template: Object) -> Data:
    shape, size = text(template, "type"), formulas.value(text(template, "size"))
    reach = feet(size, text(template, "units"))
    if not shape or not reach:
        return {}
    return {"shape_type": word("shapes", shape, spoken(shape)), "shape_size": reach, "shape_size_unit": "feet"}


def _effects(doer: Doer) -> Data:
    """Saving throw, attack and damage types of a spell's activities."""
    activities = doer.activities
    saves = [name for each in activities if each.type.startswith("sav") for name in save_abilities(each)]
    parts = [part for activity in activities for part in objects(activity.at("damage.parts"))]
    types = [text(key).lower() for part in parts for key in (part.get("type"), *items(part, "types"))]
    return {
        "saving_throw_ability": next(iter(saves), ""),
        "attack_roll": any(each.type == "attack" for each in activities) or None,
        "damage_types": list(dict.fromkeys(name for name in types if name in DAMAGE_TYPES)),
    }
