"""Actors: creatures as stat blocks in the shape of Open5e; vehicles; lairs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.foundry import formulas, rolls
from lorekeeper.normalize.foundry.enrich import described, line, to_markdown
from lorekeeper.normalize.foundry.marks import Scope, legendary
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.sheets import NOBODY, UNARMORED, Sheet, armor_class
from lorekeeper.normalize.foundry.values import (
    Data,
    Object,
    at,
    feet,
    mapping,
    number,
    objects,
    paragraphs,
    plural,
    spell_level,
    spoken,
    text,
    texts,
    whole,
    word,
)
from lorekeeper.render.spell import ordinal
from lorekeeper.terms import MOVEMENTS, PHYSICAL, SENSES, SKILL_ABILITIES


def creature(scope: Scope) -> Data:
    """The stat block of an actor, in the keys of Open5e."""
    actor, system, sheet = scope.raw, scope.system, scope.doer.sheet
    kind = mapping(system, "details.type", "traits.type")
    name = spoken(text(kind, "custom") if text(kind, "value") in ("", "custom") else text(kind, "value"))
    swarm = text(kind, "swarm")
    subtype = text(kind, "subtype") or ", ".join(map(spoken, texts(kind, "tags")))
    return {
        "desc": _biography(scope),
        "size": _size(system),
        "type": f"swarm of {word('sizes', swarm)} {plural(name, 2)}" if swarm and name else name,
        "subtype": "" if subtype.lower().startswith("any ") else subtype.lower(),
        "alignment": text(system, "details.alignment").lower(),
        "armor_class": armor_class(actor, sheet),
        "armor_detail": _armor_detail(sheet),
        "hit_points": whole(system, "attributes.hp.max"),
        "hit_dice": text(system, "attributes.hp.formula"),
        "challenge_rating": sheet.rating,
        "speed": speeds_of(system),
        **_abilities(sheet),
        **sense_ranges(sheet),
        "languages": {"as_string": told} if (told := languages_of(system)) else {},
        "resistances_and_immunities": _defences(system),
        "environments": _environments(system),
        "gear": [text(i, "name") for i in objects(actor, "items") if "gear" in texts(i, "system.properties")],
        **_deeds(scope),
        "spell_list": spells_of(actor),
    }


def _size(system: Object) -> str:
    return word("sizes", text(system, "traits.size"))


def _biography(scope: Scope) -> str:
    """What everybody knows of a creature; what only the game master does goes to the secrets."""
    biography = mapping(scope.system, "details.biography", "biography")
    secret = to_markdown(biography.get("value"), scope)
    scope.secrets[:0] = [secret] if secret else []
    return to_markdown(biography.get("public"), scope)


def _deeds(scope: Scope) -> Data:
    """Traits and actions, with the spells of a creature whose features do not list them."""
    traits, actions, introduction = features(scope)
    most = whole(scope.system, "resources.legres.max")
    for trait in traits:  # the actor counts how often it is used a day
        if trait["name"] == "Legendary Resistance" and most:
            trait.setdefault("usage_limits", {"type": "PER_DAY", "param": most})
    casting = spellcasting(scope, [feature["name"] for feature in (*traits, *actions)])
    introduction = (
        introduction or to_markdown(at(scope.system, "biography.legendary"), scope) or legendary(scope.system)
    )
    has_legendary = any(action["action_type"] == "LEGENDARY_ACTION" for action in actions)
    return {
        "traits": [*traits, casting] if casting else traits,
        "actions": actions,
        "legendary_desc": introduction if has_legendary else "",
    }


def _armor_detail(sheet: Sheet) -> str:
    """What the sheet calls it; natural armor, unless the armor class is that of a creature without any."""
    stated, unarmored = mapping(sheet.system, "attributes.ac"), UNARMORED + sheet.modifiers.get("dexterity", 0)
    is_natural = stated.get("calc") == "natural" and (whole(stated, "flat") or unarmored) != unarmored
    return text(stated, "customLabel") or ("natural armor" if is_natural else "")


# --- numbers --------------------------------------------------------------------------------------------------------


def speeds_of(system: Object) -> Data:
    """Speeds in feet by kind of movement, in the shape of Open5e."""
    movement = mapping(system, "attributes.movement", "traits.movement")
    base, by_kind = number(movement, "base"), mapping(movement, "types") or movement
    found = {
        kind: formulas.value(text(by_kind, kind), lambda path: base if path == "base" else None) for kind in MOVEMENTS
    }
    units = text(movement, "units")
    speeds = {kind: feet(speed, units) for kind, speed in found.items() if speed or (speed == 0 and kind == "walk")}
    hover = movement.get("hover") is True or "hover" in texts(movement, "tags")
    return {**speeds, "unit": "feet", **({"hover": True} if hover else {})} if any(speeds.values()) else {}


def _abilities(sheet: Sheet) -> Data:
    """Scores or modifiers, and what follows from them: saves, skills, passive Perception. Black Flag prints saves."""
    trained = [name for name in SKILL_ABILITIES if (number(sheet.skill_entry(name), "value") or 0) > 0]
    dexterity = sheet.modifiers.get("dexterity") if sheet.rules == "2024" else None
    initiative = None if dexterity is None else dexterity + sheet.bonus(sheet.system, "attributes.init.bonus")
    printed = {ability: sheet.save(ability) or modifier for ability, modifier in sheet.modifiers.items()}
    return {
        "ability_scores": sheet.scores,
        "modifiers": {} if sheet.scores else printed,
        "saving_throws": {ability: bonus for ability in sheet.scores if (bonus := sheet.save(ability)) is not None},
        "skill_bonuses": {name: bonus for name in trained if (bonus := sheet.skill(name)) is not None},
        "passive_perception": whole(sheet.system, "attributes.perception") or sheet.passive("perception"),
        "stealth": whole(sheet.system, "attributes.stealth"),
        "initiative_bonus": initiative,
    }


def sense_ranges(sheet: Sheet) -> Data:
    """Ranges in feet."""
    senses = mapping(sheet.system, "attributes.senses", "traits.senses")
    ranges = mapping(senses, "ranges", "types") or senses
    found: Data = {}
    for sense in (*SENSES, "keensense"):
        if distance := sheet.bonus(ranges, sense):
            found[f"{sense}_range" if sense in SENSES else sense] = feet(distance, text(senses, "units"))
    special = text(senses, "special")
    return {**found, **({"special_senses": special} if special else {})}


# --- words ----------------------------------------------------------------------------------------------------------


EVERY_LANGUAGE = frozenset({"standard", "exotic"})
"""The groups that together are all languages."""


def languages_of(system: Object) -> str:
    """The line of languages."""
    languages = mapping(system, "traits.languages", "proficiencies.languages")
    named, custom, tags = (texts(languages, key) for key in ("value", "custom", "tags"))
    if set(named) >= EVERY_LANGUAGE:
        named = ["ALL", *(key for key in named if key not in EVERY_LANGUAGE)]
    names = [word("languages", key, spoken(key)).title().replace("'S", "'s") for key in named if key != "custom"]
    names = [name for name in names if not any(said.lower().startswith(f"{name.lower()} ") for said in custom)]
    told = ", ".join([*names, *custom, *(word("language tags", tag) for tag in tags if tag in word["language tags"])])
    told = f"understands {told} but can't speak" if "cantSpeak" in tags and told else told
    spoken_far = mapping(languages, "communication.telepathy")
    distance, unit = number(spoken_far, "value", "range"), word("lengths", text(spoken_far, "units") or "ft", "")
    if not (distance and unit):
        return told
    reach = f"telepathy {distance} {'ft.' if unit == 'foot' else plural(unit, distance)}"
    return f"{told}, {reach}" if told else reach


def defended(system: Object, line: str) -> list[str]:
    """What one is immune or resistant to, by the name of the line: damage types, or conditions."""
    own = mapping(system, *word["defences"][line])
    return [*map(spoken, texts(own, "value")), *texts(own, "custom")]


def _defences(system: Object) -> Data:
    """The lines of immunities, resistances and vulnerabilities, in the shape of Open5e."""
    lines = {
        line: ", ".join(defended(system, line))
        if line.startswith("condition")
        else _damage_line(mapping(system, *paths))
        for line, paths in word["defences"].items()
    }
    return {f"{line}_display": told for line, told in lines.items() if told}


def _damage_line(own: Object) -> str:
    """ "cold, fire; bludgeoning, piercing, slashing from nonmagical attacks"."""
    types, nonmagical = texts(own, "value"), texts(own, "nonmagical")
    bypasses = [word("bypasses", key) for key in texts(own, "bypasses") if key in word["bypasses"]]
    weapons = [key for key in types if key in PHYSICAL] if bypasses else []
    weapons += [key for key in nonmagical if key not in weapons]
    told = [", ".join(spoken(key) for key in types if key not in weapons), *texts(own, "custom")]
    if weapons:
        materials = " and ".join(each for each in bypasses if each.startswith("not "))
        attacks = "nonmagical attacks" if "nonmagical" in bypasses or own.get("nonmagical") else "attacks"
        told.append(f"{', '.join(weapons)} from {attacks}{f' that are {materials}' if materials else ''}")
    return "; ".join(filter(None, told))


def _environments(system: Object) -> list[str]:
    """Where it is met."""
    named = re.split(r"[,;/]", text(system, "details.environment"))
    named += [text(habitat, "subtype", "type") for habitat in objects(system, "details.habitat.value")]
    names = (name.strip().lower() for name in [*named, *texts(system, "details.habitat.custom")])
    return list(dict.fromkeys(name for name in names if name and name != "any"))


# --- vehicles and lairs ---------------------------------------------------------------------------------------------


def vehicle(scope: Scope) -> Data:
    """A vehicle, as a piece of equipment."""
    system = scope.system
    traits, actions, _ = features(scope)
    public = _biography(scope)
    kinds = ((kind, feet) for kind, feet in speeds_of(system).items() if kind in MOVEMENTS and feet)
    cargo = number(system, "attributes.cargo.max", "attributes.capacity.cargo")
    unit = text(system, "attributes.cargo.units") or "ton"
    return {
        "desc": paragraphs(
            to_markdown(at(system, "description.value"), scope) or public,
            to_markdown(at(system, "description.actions"), scope),
        ),
        "category": "vehicle",
        "vehicle_type": spoken(text(system, "vehicleType", "traits.type.value", "details.type")),
        "size": _size(system),
        "hit_points": whole(system, "attributes.hp.max"),
        "damage_threshold": whole(system, "attributes.ac.threshold") or whole(system, "attributes.hp.dt"),
        "vehicle_armor_class": whole(system, "attributes.ac.value") or whole(system, "attributes.ac.flat"),
        "speed": ", ".join(f"{'' if kind == 'walk' else f'{kind} '}{feet} ft." for kind, feet in kinds),
        "crew": number(system, "attributes.crew.required", "attributes.actions.stations"),
        "passengers": number(system, "attributes.passengers.max"),
        "capacity": f"{cargo:,} {plural(unit, cargo)}" if cargo else "",
        "traits": [*traits, *actions],
    }


def lair(scope: Scope) -> Data:
    """A lair: what it does, and how it changes the region around it."""
    description = mapping(scope.system, "description")
    traits, actions, _ = features(scope)
    desc = [to_markdown(description.get("value"), scope)]
    for key, heading, found in (
        ("lairActions", "Lair Actions", actions),
        ("regionalEffects", "Regional Effects", traits),
    ):
        listed = "\n".join(f"- **{each['name']}.** {' '.join(str(each['desc']).split())}" for each in found)
        body = paragraphs(to_markdown(description.get(key), scope), listed)
        desc.append(f"## {heading}\n\n{body}" if body else "")
    return {"desc": paragraphs(*desc, to_markdown(description.get("conclusion"), scope))}


# --- features -------------------------------------------------------------------------------------------------------

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
    told = rolls.damage_text(rolls.damage(attack), with_average=True, capitals=doer.is_new)
    return f"{rolls.attack_sentence(attack)}.{f' *Hit:* {told} damage.' if told else ''}"


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
