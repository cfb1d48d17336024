"""Spells, in the keys of Open5e."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.enrich import described
from lorekeeper.normalize.foundry.rolls import Doer, length, save_abilities
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.values import Object, items, mapping, number, objects, text, texts, whole
from lorekeeper.normalize.foundry.words import (
    ACTIVATIONS,
    COINS,
    COMPONENTS,
    DURATIONS,
    ENDLESS,
    LENGTHS,
    RANGES,
    SCHOOLS,
    plural,
    spoken,
)
from lorekeeper.records.values import LENGTHS as FEET
from lorekeeper.terms import DAMAGE_TYPES

_SHAPES = {"radius": "emanation", "circle": "cylinder"}

_HIGHER = re.compile(
    r"\n\n\*{1,3}(?:(?:at )?higher (?:levels?|circles?)|using a higher-level spell slot|cantrip upgrade)[.:]?\*{1,3}"
    r"[.:]?\s*",
    re.IGNORECASE,
)
"""How the paragraph about higher levels begins."""


_COIN = re.compile(r"(?<=\d)gp\b")
_PRICE = re.compile(r"\d\+? ?(?:gp|gold)", re.IGNORECASE)
"""A price in the words of a material, which the structured one contradicts now and then."""


def spell(item: Object, scope: Scope, classes: Iterable[str] = ()) -> dict[str, object]:
    """A spell; ``classes`` are those whose spell list in this import has it."""
    system = mapping(item, "system")
    text_, higher = _divided(described(item, scope))
    casting = mapping(system, "activation", "casting")
    properties = [*texts(system, "properties"), *texts(system, "tags")]
    level = number(system, "level", "circle.base")
    school = text(system, "school")
    return without_empty(
        {
            "level": level,
            "school": SCHOOLS.get(school, spoken(school)),
            "casting_time": _casting_time(casting),
            "reaction_condition": text(casting, "condition") if casting.get("type") == "reaction" else "",
            **_range(system),
            **_components(system),
            "duration": _duration(mapping(system, "duration")),
            "classes": list(classes),
            "spell_sources": texts(system, "source") if isinstance(system.get("source"), list) else [],
            **_area(system),
            **_effects(scope.doer),
            "desc": text_,
            "higher_level": higher,
        }
    ) | {"ritual": "ritual" in properties, "concentration": "concentration" in properties}


def _divided(text_: str) -> tuple[str, str]:
    """A text without what the spell does at higher levels, and that."""
    match = _HIGHER.search(text_)
    if match is None:
        return text_, ""
    higher, _, after = text_[match.end() :].partition("\n\n")
    return f"{text_[: match.start()]}\n\n{after}".strip(), higher.strip()


def _casting_time(casting: Object) -> str:
    kind = ACTIVATIONS.get(text(casting, "type"), spoken(text(casting, "type")))
    value = number(casting, "value") or number(casting, "cost") or 1
    if kind in ("minute", "hour", "day"):
        return f"{value} {plural(kind, value)}"
    return "" if kind == "none" else kind


def _range(system: Object) -> dict[str, object]:
    given = mapping(system, "range")
    unit = text(given, "units")
    if unit in RANGES:
        special = text(given, "special")
        feet = {"range": 0} if unit in ("self", "touch") else {}
        return {"range_text": special or RANGES[unit], **feet}
    value = formulas.value(text(given, "value"))
    name = LENGTHS.get(unit)
    if not value or not name:
        return {}
    return {"range_text": length(value, unit), "range": round(value * FEET[name]), "range_unit": "feet"}


def _components(system: Object) -> dict[str, object]:
    """The components, each true or false where the spell lists any; the material in words."""
    keys = [COMPONENTS[key] for key in texts(system, "properties") if key in COMPONENTS]
    keys += [COMPONENTS[key] for key in texts(system, "components.required") if key in COMPONENTS]
    material = mapping(system, "materials", "components.material")
    told = text(material, "value", "description")
    cost = number(material, "cost")
    worth = COINS.get(text(material, "denomination") or "gp", 1.0)
    found: dict[str, object] = {name: name in keys for name in ("verbal", "somatic", "material")} if keys else {}
    if "material" in keys:
        found["material_specified"] = _COIN.sub(" gp", told)
        found["material_cost"] = number(cost * worth) if cost and not _PRICE.search(told) else None
        found["material_consumed"] = True if material.get("consumed") is True else None
    return found


def _duration(given: Object) -> str:
    unit = text(given, "units")
    name = DURATIONS.get(unit, spoken(unit))
    if name in ENDLESS or not name:
        return text(given, "special") if name == "special" and given.get("special") else name
    value = formulas.value(text(given, "value"))
    if value is None:
        dice = re.match(r"\d{1,4}", text(given, "value"))
        value = int(dice[0]) if dice else None
    return f"{value} {plural(name, value)}" if value else ""


def _area(system: Object) -> dict[str, object]:
    template = mapping(system, "target.template")
    shape = text(template, "type")
    size = formulas.value(text(template, "size"))
    unit = LENGTHS.get(text(template, "units") or "ft", "")
    if not shape or not size or unit not in FEET:
        return {}
    feet = round(size * FEET[unit])
    return {"shape_type": _SHAPES.get(shape, spoken(shape)), "shape_size": feet, "shape_size_unit": "feet"}


def _effects(doer: Doer) -> dict[str, object]:
    """Saving throw, attack and damage types of a spell's activities."""
    activities = doer.activities
    saves = [
        ability for activity in activities for ability in save_abilities(activity) if activity.type.startswith("sav")
    ]
    parts = [part for activity in activities for part in objects(activity.at("damage.parts"))]
    types = [text(key).lower() for part in parts for key in (part.get("type"), *items(part, "types"))]
    attacks = [a for a in activities if a.type == "attack"]
    return {
        "saving_throw_ability": next(iter(saves), ""),
        "attack_roll": True if attacks else None,
        "damage_types": list(dict.fromkeys(name for name in types if name in DAMAGE_TYPES)),
    }


def level_of(item: Object) -> int | None:
    """The level of a spell."""
    return whole(number(item, "system.level", "system.circle.base"))
