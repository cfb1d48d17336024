"""The items of a creature as the features of its stat block: which section each belongs to, and what limits its use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.foundry import rolls
from lorekeeper.normalize.foundry.enrich import described, line
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.sheets import NOBODY
from lorekeeper.normalize.foundry.values import Object, at, items, mapping, number, objects, paragraphs, text, whole
from lorekeeper.normalize.foundry.words import spoken
from lorekeeper.render.spell import ordinal

_SECTIONS = {
    "action": "ACTION",
    "minute": "ACTION",
    "hour": "ACTION",
    "bonus": "BONUS_ACTION",
    "reaction": "REACTION",
    "legendary": "LEGENDARY_ACTION",
    "mythic": "MYTHIC_ACTION",
    "lair": "LAIR_ACTION",
    "regional": "REGIONAL_EFFECT",
}
"""The section by the activation of an activity; everything else is a trait."""

_FEATURES = frozenset({"feat", "feature", "weapon", "talent"})
"""Types of items that are features of their creature; the others are what it carries."""

_ARMED = frozenset({"weapon"})

_USES = {
    "day": "per day",
    "lr": "per day",
    "longRest": "per day",
    "sr": "per rest",
    "shortRest": "per rest",
    "dawn": "per day",
}

_HEADING = re.compile(r"(?:legendary|lair|mythic) actions?", re.IGNORECASE)
"""The item in whose text the legendary actions are introduced."""

_NUMBERED = re.compile(r"\(|/day|recharge", re.IGNORECASE)

Feature = dict[str, object]


def features(actor: Object, scope: Scope) -> tuple[list[Feature], list[Feature], str]:
    """The traits and the actions of a creature, and what introduces its legendary actions."""
    traits: list[Feature] = []
    actions: list[Feature] = []
    introduction = ""
    for item in sorted(objects(actor, "items"), key=_place):
        if text(item, "type") not in _FEATURES or not text(item, "name"):
            continue
        doer = replace(scope.doer, item=item)
        section = section_of(doer)
        if section == "TRAIT" and _HEADING.fullmatch(text(item, "name")):
            introduction = described(item, replace(scope, doer=doer)) or introduction
            continue
        feature = _feature(doer, section, scope)
        if feature and section == "TRAIT":
            traits.append({key: value for key, value in feature.items() if key != "action_type"})
        elif feature:
            actions.append(feature)
    return traits, actions, introduction


def _place(item: Object) -> tuple[bool, float]:
    """Where an item comes: as it was sorted, Multiattack first."""
    return not _is_multiattack(item), number(item, "sort") or 0


def _is_multiattack(item: Object) -> bool:
    return text(item, "name").lower().startswith("multiattack")


def section_of(doer: Doer) -> str:
    """The section of a stat block that an item belongs to, as Open5e names it."""
    types = [activity.text("activation.type") for activity in doer.activities]
    found = next((_SECTIONS[kind] for kind in types if kind in _SECTIONS), None)
    if found:
        return found
    attacks = any(activity.type == "attack" for activity in doer.activities) or doer.item.get("type") in _ARMED
    return "ACTION" if attacks or _is_multiattack(doer.item) else "TRAIT"


def _feature(doer: Doer, section: str, scope: Scope) -> Feature:
    own = scope.of_item(doer.item)
    desc = described(doer.item, own) or _from_activities(doer)
    if not desc:
        return {}
    name = line(doer.item.get("name"), own)
    limits = {} if _NUMBERED.search(name) else _limits(doer)
    return without_empty(
        {
            "name": name,
            "desc": desc,
            "action_type": section,
            "usage_limits": limits,
            "legendary_action_cost": _cost(doer) if section == "LEGENDARY_ACTION" else None,
        }
    )


def _from_activities(doer: Doer) -> str:
    """The sentences of an attack that has no text."""
    attack = doer.activity("", "attack")
    if attack is None or doer.sheet is NOBODY:
        return ""
    told = rolls.damage_text(rolls.damage(doer, attack), with_average=True, capitals=doer.rules == "2024")
    sentence = f"{rolls.attack_sentence(doer, attack)}."
    return f"{sentence} *Hit:* {told} damage." if told else sentence


def _limits(doer: Doer) -> Object:
    """How often something can be used, in the shape of Open5e."""
    uses = mapping(doer.system, "uses")
    for recovery in objects(uses, "recovery"):
        period = text(recovery, "period")
        if period == "recharge":
            return {"type": "RECHARGE_ON_ROLL", "param": whole(recovery, "formula") or 6}
        most = whole(uses, "max")
        if _USES.get(period) == "per day" and most:
            return {"type": "PER_DAY", "param": most}
        if _USES.get(period) == "per rest":
            return {"type": "RECHARGE_AFTER_REST"}
    most = whole(uses, "max")
    return {"type": "PER_DAY", "param": most} if most and text(uses, "per") in ("day", "lr") else {}


def _cost(doer: Doer) -> int | None:
    costs = (whole(activity.at("activation.value")) for activity in doer.activities)
    return next((cost for cost in costs if cost), 1)


# --- spells ---------------------------------------------------------------------------------------------------------

_SPELLCASTING = re.compile(r"spellcasting|innate|psionic", re.IGNORECASE)


def spellcasting(actor: Object, scope: Scope, named: Iterable[object]) -> Feature:
    """A trait that lists the spells of a creature, if none of its features says what it casts."""
    spells = [item for item in objects(actor, "items") if item.get("type") == "spell" and text(item, "name")]
    if not spells or any(_SPELLCASTING.search(text(name)) for name in named):
        return {}
    by_level: dict[int, list[str]] = {}
    for spell in spells:
        level = number(spell, "system.level", "system.circle.base")
        by_level.setdefault(int(level or 0), []).append(text(spell, "name"))
    lines = [f"- {_level(level, scope)}: {', '.join(sorted(names))}" for level, names in sorted(by_level.items())]
    dc, ability = scope.doer.sheet.spell_dc, scope.doer.sheet.casting
    lead = f"Its spellcasting ability is {ability.capitalize()} (spell save DC {dc})." if ability and dc else ""
    return {"name": "Spellcasting", "desc": paragraphs(lead, "\n".join(lines))}


def _level(level: int, scope: Scope) -> str:
    if level == 0:
        return "Cantrips (at will)"
    slots = whole(scope.doer.sheet.system, f"spells.spell{level}.value")
    shown = f" ({slots} {'slot' if slots == 1 else 'slots'})" if slots else ""
    return f"{ordinal(level)} level{shown}"


_SPELL = re.compile(r"@UUID\[Compendium\.[\w-]{1,60}\.[\w-]{0,60}spells[\w-]{0,60}\.[\w.]{1,80}\]\{([^{}\n]{1,80})\}")
"""A reference to a spell in the text of a feature."""

_REMARK = re.compile(r"(?<=\S) {0,3}\([^()\n]{0,80}\) {0,3}$")
"""How a creature casts a spell, after its name: "Invisibility (self only)"."""


def spells_of(actor: Object) -> list[str]:
    """The names of the spells that a creature has, and of those that a feature casts."""
    found: list[str] = []
    for item in objects(actor, "items"):
        activities = objects(item, "system.activities")
        if item.get("type") == "spell":
            found.append(text(item, "name"))
        elif any(activity.get("type") == "cast" for activity in activities):
            found += _SPELL.findall(str(at(item, "system.description.value") or ""))
    return list(dict.fromkeys(_REMARK.sub("", name) for name in found if name))


def carried(actor: Object) -> Iterator[Object]:
    """What a creature wears or carries ready."""
    for item in objects(actor, "items"):
        if at(item, "system.equipped") is not False:
            yield item


def listed(values: object) -> str:
    """Keys as a line: "cold, fire"."""
    return joined([spoken(text(key)) for key in items(values) if text(key)])
