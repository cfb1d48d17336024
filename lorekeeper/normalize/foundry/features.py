"""The items of a creature as the features of its stat block: which section each belongs to, and what limits its use."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.foundry import rolls
from lorekeeper.normalize.foundry.enrich import described, line
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.sheets import NOBODY
from lorekeeper.normalize.foundry.values import (
    Data,
    Object,
    number,
    objects,
    paragraphs,
    spell_level,
    text,
    whole,
    word,
)
from lorekeeper.render.spell import ordinal

DEEDS = frozenset({"feat", "feature", "weapon", "talent"})
"""Types of items that are features of their creature; the others are what it carries."""

_HEADING = re.compile(r"(?:legendary|lair|mythic) actions?", re.IGNORECASE)
"""The item in whose text the legendary actions are introduced."""

_NUMBERED = re.compile(r"\(|/day|recharge", re.IGNORECASE)


def features(scope: Scope) -> tuple[list[Data], list[Data], str]:
    """The traits and the actions of a creature, as they were sorted, and what introduces its legendary actions."""
    traits: list[Data] = []
    actions: list[Data] = []
    introduction = ""
    for item in sorted(
        objects(scope.raw, "items"), key=lambda each: (not _is_multiattack(each), number(each, "sort") or 0)
    ):
        if text(item, "type") not in DEEDS or not text(item, "name"):
            continue
        own = scope.of_item(item)
        section = _section(own.doer)
        if section == "TRAIT" and _HEADING.fullmatch(text(item, "name")):
            introduction = described(own) or introduction
        elif feature := _feature(own, section):
            (actions if "action_type" in feature else traits).append(feature)
    return traits, actions, introduction


def _is_multiattack(item: Object) -> bool:
    return text(item, "name").lower().startswith("multiattack")


def _section(doer: Doer) -> str:
    """The section of a stat block that an item belongs to, as Open5e names it."""
    sections = (word("sections", activity.text("activation.type"), "") for activity in doer.activities)
    attacks = doer.activity("", "attack") is not None or doer.item.get("type") == "weapon" or _is_multiattack(doer.item)
    return next(filter(None, sections), "ACTION" if attacks else "TRAIT")


def _feature(scope: Scope, section: str) -> Data:
    doer = scope.doer
    desc = described(scope) or _from_activities(doer)
    if not desc:
        return {}
    name = line(scope.raw.get("name"), scope)
    costs = (whole(activity.at("activation.value")) for activity in doer.activities)
    return without_empty(
        {
            "name": name,
            "desc": desc,
            "action_type": "" if section == "TRAIT" else section,
            "usage_limits": {} if _NUMBERED.search(name) else _limits(doer),
            "legendary_action_cost": next(filter(None, costs), 1) if section == "LEGENDARY_ACTION" else None,
        }
    )


def _from_activities(doer: Doer) -> str:
    """The sentences of an attack that has no text."""
    attack = doer.activity("", "attack")
    if attack is None or doer.sheet is NOBODY:
        return ""
    told = rolls.damage_text(rolls.damage(doer, attack), with_average=True, capitals=doer.is_new)
    return f"{rolls.attack_sentence(doer, attack)}.{f' *Hit:* {told} damage.' if told else ''}"


def _limits(doer: Doer) -> Data:
    """How often something can be used, in the shape of Open5e."""
    most = whole(doer.system, "uses.max")
    for recovery in objects(doer.system, "uses.recovery"):
        period = text(recovery, "period")
        limit = word("uses", period, "")
        if period == "recharge":
            return {"type": "RECHARGE_ON_ROLL", "param": whole(recovery, "formula") or 6}
        if limit == "PER_DAY" and most:
            return {"type": limit, "param": most}
        if limit == "RECHARGE_AFTER_REST":
            return {"type": limit}
    return {"type": "PER_DAY", "param": most} if most and text(doer.system, "uses.per") in ("day", "lr") else {}


# --- spells ---------------------------------------------------------------------------------------------------------

_SPELLCASTING = re.compile(r"spellcasting|innate|psionic", re.IGNORECASE)

_SPELL = re.compile(r"@UUID\[Compendium\.[\w-]{1,60}\.[\w-]{0,60}spells[\w-]{0,60}\.[\w.]{1,80}\]\{([^{}\n]{1,80})\}")
"""A reference to a spell in the text of a feature."""

_REMARK = re.compile(r"(?<=\S) {0,3}\([^()\n]{0,80}\) {0,3}$")
"""How a creature casts a spell, after its name: "Invisibility (self only)"."""


def spellcasting(scope: Scope, named: Iterable[object]) -> Data:
    """A trait that lists the spells of a creature, if none of its features says what it casts."""
    by_level: dict[int, list[str]] = {}
    for item in objects(scope.raw, "items"):
        if item.get("type") == "spell" and text(item, "name"):
            by_level.setdefault(spell_level(item) or 0, []).append(text(item, "name"))
    if not by_level or any(_SPELLCASTING.search(text(name)) for name in named):
        return {}
    sheet = scope.doer.sheet
    lines = [
        f"- {_level(level, sheet.system)}: {', '.join(sorted(names))}" for level, names in sorted(by_level.items())
    ]
    dc, ability = sheet.spell_dc, sheet.casting
    lead = f"Its spellcasting ability is {ability.capitalize()} (spell save DC {dc})." if ability and dc else ""
    return {"name": "Spellcasting", "desc": paragraphs(lead, "\n".join(lines))}


def _level(level: int, system: Object) -> str:
    slots = whole(system, f"spells.spell{level}.value")
    shown = f" ({slots} {'slot' if slots == 1 else 'slots'})" if slots else ""
    return f"{ordinal(level)} level{shown}" if level else "Cantrips (at will)"


def spells_of(actor: Object) -> list[str]:
    """The names of the spells that a creature has, and of those that a feature casts."""
    found: list[str] = []
    for item in objects(actor, "items"):
        if item.get("type") == "spell":
            found.append(text(item, "name"))
        elif any(activity.get("type") == "cast" for activity in objects(item, "system.activities")):
            found += _SPELL.findall(text(item, "system.description.value"))
    return list(dict.fromkeys(_REMARK.sub("", name) for name in found if name))
