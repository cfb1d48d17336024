"""Actors: creatures as stat blocks in the shape of Open5e; vehicles; lairs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.armor import UNARMORED, armor_class
from lorekeeper.normalize.foundry.enrich import to_markdown
from lorekeeper.normalize.foundry.features import Feature, features, spellcasting, spells_of
from lorekeeper.normalize.foundry.lookups import legendary
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.sheets import Sheet
from lorekeeper.normalize.foundry.values import (
    Object,
    at,
    commas,
    items,
    mapping,
    number,
    objects,
    paragraphs,
    text,
    texts,
    whole,
)
from lorekeeper.normalize.foundry.words import (
    BYPASSES,
    LANGUAGE_TAGS,
    LANGUAGES,
    LENGTHS,
    SIZES,
    SKILLS,
    plural,
    spoken,
)
from lorekeeper.terms import MOVEMENTS, PHYSICAL, SENSES

FEET_PER_METER = 10 / 3
"""The games count 1.5 m for 5 feet."""

_PLURALS = {"fey": "fey", "undead": "undead", "monstrosity": "monstrosities"}


def creature(actor: Object, scope: Scope) -> dict[str, object]:
    """The stat block of an actor, in the keys of Open5e."""
    system, sheet = mapping(actor, "system"), scope.doer.sheet
    return without_empty(
        {
            "desc": _biography(system, scope),
            **_kind(system),
            "armor_class": armor_class(actor, sheet),
            "armor_detail": _armor_detail(system, sheet),
            "hit_points": whole(system, "attributes.hp.max"),
            "hit_dice": text(system, "attributes.hp.formula"),
            "challenge_rating": sheet.rating,
            "speed": speeds_of(system),
            **_abilities(sheet, system),
            **sense_ranges(system, sheet),
            "languages": _languages(system),
            "resistances_and_immunities": _defences(system),
            "environments": _environments(system),
            "gear": _gear(actor),
            **_deeds(actor, scope),
            "spell_list": spells_of(actor),
        }
    )


def _biography(system: Object, scope: Scope) -> str:
    """What everybody knows of a creature; what only the game master does goes to the secrets."""
    biography = mapping(system, "details.biography", "biography")
    secret = to_markdown(biography.get("value"), scope)
    scope.secrets[:0] = [secret] if secret else []
    return to_markdown(biography.get("public"), scope)


def _deeds(actor: Object, scope: Scope) -> dict[str, object]:
    """Traits and actions, with the spells of a creature whose features do not list them."""
    system = mapping(actor, "system")
    traits, actions, introduction = features(actor, scope)
    _with_resistances(traits, system)
    casting = spellcasting(actor, scope, [feature["name"] for feature in (*traits, *actions)])
    has_legendary = any(action.get("action_type") == "LEGENDARY_ACTION" for action in actions)
    return {
        "traits": [*traits, *([casting] if casting else [])],
        "actions": actions,
        "legendary_desc": (introduction or _introduction(system, scope)) if has_legendary else "",
    }


def _armor_detail(system: Object, sheet: Sheet) -> str:
    """What the sheet calls it; natural armor, unless the armor class is that of a creature without any."""
    if told := text(system, "attributes.ac.customLabel"):
        return told
    unarmored = UNARMORED + sheet.modifiers.get("dexterity", 0)
    flat = whole(system, "attributes.ac.flat") or unarmored
    return "natural armor" if at(system, "attributes.ac.calc") == "natural" and flat != unarmored else ""


def _kind(system: Object) -> dict[str, object]:
    kind = mapping(system, "details.type", "traits.type")
    size = text(system, "traits.size")
    name = text(kind, "value")
    name = text(kind, "custom") if name in ("", "custom") else name
    swarm = text(kind, "swarm")
    subtype = text(kind, "subtype") or ", ".join(map(spoken, texts(kind, "tags")))
    subtype = "" if subtype.lower().startswith("any ") else subtype
    return {
        "size": SIZES.get(size, size),
        "type": f"swarm of {SIZES.get(swarm, swarm)} {_PLURALS.get(name, f'{name}s')}"
        if swarm and name
        else spoken(name),
        "subtype": subtype.lower() if subtype else "",
        "alignment": text(system, "details.alignment").lower(),
    }


def _with_resistances(traits: list[Feature], system: Object) -> None:
    """Add to Legendary Resistance how often it is used a day, which the actor counts."""
    most = whole(system, "resources.legres.max")
    for trait in traits:
        if trait["name"] == "Legendary Resistance" and most and "usage_limits" not in trait:
            trait["usage_limits"] = {"type": "PER_DAY", "param": most}


def _introduction(system: Object, scope: Scope) -> str:
    return to_markdown(at(system, "biography.legendary"), scope) or legendary(system)


# --- numbers --------------------------------------------------------------------------------------------------------


def speeds_of(system: Object) -> dict[str, object]:
    """Speeds in feet by kind of movement, in the shape of Open5e."""
    movement = mapping(system, "attributes.movement", "traits.movement")
    base = number(movement, "base")
    unit = LENGTHS.get(text(movement, "units") or "ft", "")
    by_kind = mapping(movement, "types") or movement
    values: dict[str, object] = {}
    for kind in MOVEMENTS:
        found = formulas.value(text(by_kind.get(kind)), lambda path: base if path == "base" else None)
        if found or (found == 0 and kind == "walk"):
            values[kind] = _feet(found, unit)
    hover = movement.get("hover") is True or "hover" in texts(movement, "tags")
    if not any(values.values()):
        return {}
    return {**values, "unit": "feet", **({"hover": True} if hover else {})}


def _feet(found: float, unit: str) -> float | int | None:
    if unit == "foot":
        return found
    return round(found * FEET_PER_METER) if unit == "meter" else None


def _abilities(sheet: Sheet, system: Object) -> dict[str, object]:
    """Scores or modifiers, and what follows from them: saves, skills, passive Perception."""
    saves = {} if not sheet.scores else {a: bonus for a in sheet.scores if (bonus := sheet.save(a)) is not None}
    skills = {
        name: bonus
        for name in SKILLS.values()
        if (number(sheet.skill_entry(name), "value") or 0) > 0 and (bonus := sheet.skill(name)) is not None
    }
    stated = whole(system, "attributes.perception")
    bonus = formulas.value(text(system, "attributes.init.bonus") or "0", sheet.at) or 0
    initiative = (
        sheet.modifiers["dexterity"] + bonus if sheet.rules == "2024" and "dexterity" in sheet.modifiers else None
    )
    return {
        "ability_scores": sheet.scores,
        "modifiers": {} if sheet.scores else _printed(sheet),
        "saving_throws": saves,
        "skill_bonuses": skills,
        "passive_perception": stated or sheet.passive("perception"),
        "stealth": whole(system, "attributes.stealth"),
        "initiative_bonus": initiative,
    }


def _printed(sheet: Sheet) -> dict[str, int]:
    """The modifiers of Black Flag's stat blocks: those of saves."""
    return {ability: sheet.save(ability) or modifier for ability, modifier in sheet.modifiers.items()}


def sense_ranges(system: Object, sheet: Sheet) -> dict[str, object]:
    """Ranges in feet."""
    senses = mapping(system, "attributes.senses", "traits.senses")
    ranges = mapping(senses, "ranges", "types") or senses
    unit = LENGTHS.get(text(senses, "units") or "ft", "")
    found: dict[str, object] = {}
    for sense in (*SENSES, "keensense"):
        distance = formulas.value(text(ranges.get(sense)), sheet.at)
        if distance:
            found[f"{sense}_range" if sense in SENSES else sense] = _feet(distance, unit)
    special = text(senses, "special")
    return {**found, **({"special_senses": special} if special else {})}


# --- words ----------------------------------------------------------------------------------------------------------


EVERY_LANGUAGE = frozenset({"standard", "exotic"})
"""The groups that together are all languages."""


def _languages(system: Object) -> dict[str, object]:
    """The line of languages, in the shape of Open5e."""
    languages = mapping(system, "traits.languages", "proficiencies.languages")
    named = [key for key in texts(languages, "value") if key != "custom"]
    if set(named) >= EVERY_LANGUAGE:
        named = ["ALL", *(key for key in named if key not in EVERY_LANGUAGE)]
    names = [LANGUAGES.get(key, spoken(key)).title().replace("'S", "'s") for key in named]
    custom = texts(languages, "custom")
    names = [name for name in names if not any(said.lower().startswith(f"{name.lower()} ") for said in custom)] + custom
    tags = texts(languages, "tags")
    names += [LANGUAGE_TAGS[tag] for tag in tags if tag in LANGUAGE_TAGS and tag != "cantSpeak"]
    told_ = ", ".join(names)
    if "cantSpeak" in tags and told_:
        told_ = f"understands {told_} but can't speak"
    telepathy = number(languages, "communication.telepathy.value", "communication.telepathy.range")
    unit = LENGTHS.get(text(languages, "communication.telepathy.units") or "ft", "")
    if telepathy and unit:
        reach = f"telepathy {telepathy} {'ft.' if unit == 'foot' else plural(unit, telepathy)}"
        told_ = commas(told_, reach)
    return {"as_string": told_} if told_ else {}


def languages_of(system: Object) -> list[str]:
    """The languages of a character, one by one."""
    return [named for each in str(_languages(system).get("as_string", "")).split(",") if (named := each.strip())]


def defended(system: Object, short: str) -> list[str]:
    """What a character is immune or resistant to, by the key of the list: damage types, or conditions."""
    long = {"dr": "damage.resistances", "di": "damage.immunities", "ci": "condition.immunities"}[short]
    own = mapping(system, f"traits.{short}") or mapping(system, f"traits.{long}")
    return [*map(spoken, texts(own, "value")), *texts(own, "custom")]


_DAMAGE = {"damage_immunities": "di", "damage_resistances": "dr", "damage_vulnerabilities": "dv"}


def _defences(system: Object) -> dict[str, object]:
    """The lines of immunities, resistances and vulnerabilities, in the shape of Open5e."""
    found: dict[str, object] = {}
    for name, short in _DAMAGE.items():
        own = mapping(system, f"traits.{short}") or mapping(system, f"traits.damage.{name.partition('_')[2]}")
        found[f"{name}_display"] = _damage_line(own)
    conditions = mapping(system, "traits.ci", "traits.condition.immunities")
    names = [spoken(key) for key in texts(conditions, "value")] + texts(conditions, "custom")
    found["condition_immunities_display"] = ", ".join(names)
    return {name: value for name, value in found.items() if value}


def _damage_line(own: Object) -> str:
    """ "cold, fire; bludgeoning, piercing, slashing from nonmagical attacks"."""
    types = [key for key in texts(own, "value") if key]
    bypasses = [BYPASSES[key] for key in texts(own, "bypasses") if key in BYPASSES]
    weapons = [key for key in types if key in PHYSICAL] if bypasses else []
    weapons += [key for key in texts(own, "nonmagical") if key not in weapons]
    told_ = ", ".join(spoken(key) for key in types if key not in weapons)
    told_ = "; ".join(filter(None, (told_, *texts(own, "custom"))))
    if not weapons:
        return told_
    materials = [word for word in bypasses if word.startswith("not ")]
    attacks = "nonmagical attacks" if "nonmagical" in bypasses or own.get("nonmagical") else "attacks"
    details = f" that are {' and '.join(materials)}" if materials else ""
    rest = f"{', '.join(weapons)} from {attacks}{details}"
    return "; ".join(filter(None, (told_, rest)))


def _environments(system: Object) -> list[str]:
    """Where it is met."""
    named = re.split(r"[,;/]", text(system, "details.environment"))
    habitats = objects(system, "details.habitat.value")
    named += [text(habitat, "subtype", "type") for habitat in habitats]
    named += texts(system, "details.habitat.custom")
    return list(dict.fromkeys(name.strip().lower() for name in named if name.strip() and name != "any"))


def _gear(actor: Object) -> list[str]:
    """What it carries, as the stat blocks of 2024 list it."""
    return [text(i, "name") for i in objects(actor, "items") if "gear" in texts(i, "system.properties")]


# --- vehicles and lairs ---------------------------------------------------------------------------------------------


def vehicle(actor: Object, scope: Scope) -> dict[str, object]:
    """A vehicle, as a piece of equipment."""
    system = mapping(actor, "system")
    traits, actions, _ = features(actor, scope)
    biography = mapping(system, "details.biography")
    secret = to_markdown(biography.get("value"), scope)
    scope.secrets[:0] = [secret] if secret else []
    kind = text(system, "vehicleType", "traits.type.value", "details.type")
    size = text(system, "traits.size")
    return without_empty(
        {
            "desc": paragraphs(*_vehicle_texts(system, scope)),
            "category": "vehicle",
            "vehicle_type": spoken(kind),
            "size": SIZES.get(size, size),
            "hit_points": whole(system, "attributes.hp.max"),
            "damage_threshold": whole(system, "attributes.ac.threshold") or whole(system, "attributes.hp.dt"),
            "vehicle_armor_class": whole(system, "attributes.ac.value") or whole(system, "attributes.ac.flat"),
            "speed": _line_of_speed(speeds_of(system)),
            "crew": _amount(system, "attributes.crew.required", "attributes.actions.stations"),
            "passengers": _amount(system, "attributes.passengers.max"),
            "capacity": _capacity(system),
            "traits": [*traits, *actions],
        }
    )


def _vehicle_texts(system: Object, scope: Scope) -> list[str]:
    biography = mapping(system, "details.biography")
    described = to_markdown(at(system, "description.value") or biography.get("public"), scope)
    return [described, to_markdown(at(system, "description.actions"), scope)]


def _line_of_speed(speeds: Mapping[str, object]) -> str:
    kinds = [(kind, speeds[kind]) for kind in MOVEMENTS if speeds.get(kind)]
    return ", ".join(f"{'' if kind == 'walk' else f'{kind} '}{feet} ft." for kind, feet in kinds)


def _amount(system: Object, *paths: str) -> object:
    return number(system, *paths)


def _capacity(system: Object) -> str:
    most = number(system, "attributes.cargo.max", "attributes.capacity.cargo")
    unit = text(system, "attributes.cargo.units")
    return f"{most:,} {plural(unit or 'ton', most)}" if most else ""


_LAIR_TEXTS = {"lairActions": "Lair Actions", "regionalEffects": "Regional Effects"}


def lair(actor: Object, scope: Scope) -> dict[str, object]:
    """A lair: what it does, and how it changes the region around it."""
    description = mapping(actor, "system.description")
    traits, actions, _ = features(actor, scope)
    desc = [to_markdown(description.get("value"), scope)]
    effects = {"lairActions": actions, "regionalEffects": traits}
    for key, heading in _LAIR_TEXTS.items():
        listed = [f"- **{feature['name']}.** {' '.join(str(feature['desc']).split())}" for feature in effects[key]]
        body = paragraphs(to_markdown(description.get(key), scope), "\n".join(listed))
        desc.append(f"## {heading}\n\n{body}" if body else "")
    desc.append(to_markdown(description.get("conclusion"), scope))
    return without_empty({"desc": paragraphs(*desc)})


def is_empty(data: Mapping[str, object]) -> bool:
    """Whether a stat block says nothing about its creature."""
    return not any(items(data.get(key)) for key in ("traits", "actions")) and not {
        "hit_points",
        "challenge_rating",
        "armor_class",
        "desc",
        "ability_scores",
    } & set(data)
