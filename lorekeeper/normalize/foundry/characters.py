"""Actors of players as records of characters.

Foundry VTT works out much of a character as it is played: hit points from the classes, speeds and senses from the species, bonuses
from effects. The same is done here, from what the actor holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lorekeeper.normalize.characters import (
    CHARACTER,
    Character,
    ClassLevel,
    Held,
    Spell,
    gold_of,
    told,
    written_at,
)
from lorekeeper.normalize.formulas import modifier
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.enrich import to_markdown
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.npcs import defended, languages_of, sense_ranges, speeds_of
from lorekeeper.normalize.foundry.sheets import Sheet, armor_class, effects_on
from lorekeeper.normalize.foundry.values import (
    ABILITY_NAMES,
    Object,
    at,
    mapping,
    number,
    objects,
    pairs,
    spell_level,
    spoken,
    text,
    texts,
    whole,
)
from lorekeeper.terms import MOVEMENTS, PASSIVES, SENSES, SKILL_ABILITIES

SPECIES = ("race", "species", "lineage")
"""Types of an actor's items that it is born with."""

FEATURES = ("feat", "feature", "talent")

NO_ITEMS = frozenset({*SPECIES, *FEATURES, "class", "subclass", "heritage", "background", "spell"})
"""Types of an actor's items that it does not carry."""

ADD, DOWNGRADE, UPGRADE, OVERRIDE = 2, 3, 4, 5
"""What an effect does with a number; its keys are those of `CONST.ACTIVE_EFFECT_MODES`."""

MAX_MILLISECONDS = 4e12
"""Latest time that is taken for one, in the year 2096."""

ALWAYS = frozenset({"always", "innate", "atwill", "pact"})
"""Ways of having a spell without preparing it."""


class Items:
    """What an actor of a player has, by type."""

    def __init__(self, actor: Object) -> None:
        self.all = objects(actor, "items")

    def of(self, *types: str) -> list[Object]:
        """Those of some types that have a name."""
        return [item for item in self.all if item.get("type") in types and text(item, "name")]

    def name(self, *types: str) -> str:
        """The name of the first of these types."""
        return next((text(item, "name") for item in self.of(*types)), "")


def character(scope: Scope, name: str) -> Character:
    """The record of an actor of a player."""
    actor, items = scope.raw, Items(scope.raw)
    classes = _classes(actor, items)
    level = sum(each.level or 0 for each in classes) or None
    system = _with_effects(_completed(actor, items), items)
    sheet = replace(Sheet.of(name, system, scope.doer.rules), rating=float(level or 1))
    actor = {**actor, "system": system}
    given = {ability: entry for key, entry in pairs(system["abilities"]) if (ability := ABILITY_NAMES.get(key))}
    trained = [
        a for a, entry in given.items() if (number(entry, "proficient", "save.proficiency.multiplier") or 0) >= 1
    ]
    skills = {s: number(sheet.skill_entry(s), "value", "proficiency.multiplier") for s in SKILL_ABILITIES}
    known = any(value is not None for value in skills.values())
    bonuses = {skill: bonus for skill in skills if (bonus := sheet.skill(skill)) is not None} if known and level else {}
    armor, senses, speeds = armor_class(actor, sheet), sense_ranges(sheet), speeds_of(system)
    biography, details = (mapping(at(system, path)) for path in ("details.biography", "details"))
    everywhere = sheet.bonus(system, "bonuses.abilities.save")
    own = {ability: sheet.save(ability) for ability in sheet.scores}
    saves = {a: everywhere + (modifier(sheet.scores[a]) if bonus is None else bonus) for a, bonus in own.items()}
    derived = ("armor_class", "hit_points", "saving_throws", "skill_bonuses")
    is_worked_out = bool(level) and whole(system, "attributes.hp.max") is None
    return Character(
        name=name,
        kind=CHARACTER,
        rules=scope.doer.rules or next(filter(None, (text(i, "system.source.rules") for i in items.of("class"))), ""),
        class_levels=classes,
        race=items.name(*SPECIES) or _text_unless_id(details.get("race")),
        background=items.name("background") or _text_unless_id(details.get("background")),
        alignment=text(details, "alignment").lower(),
        armor_class=armor + sheet.bonus(system, "attributes.ac.bonus") if armor is not None else None,
        hit_points=_hit_points(system, sheet, items, level or 0),
        hit_points_now=whole(system, "attributes.hp.value"),
        speeds={kind: found for kind in MOVEMENTS if (found := number(speeds, kind))},
        senses={sense: found for sense in SENSES if (found := number(senses, f"{sense}_range"))},
        ability_scores=sheet.scores,
        trained_saves=trained,
        saving_throws=saves if level and trained else {},
        skills=[skill for skill, value in skills.items() if (value or 0) >= 1] if known else None,
        expertise=[skill for skill, value in skills.items() if (value or 0) >= 2],
        skill_bonuses=bonuses,
        passives={s: v for s in PASSIVES if (v := sheet.passive(s)) is not None} if bonuses else {},
        languages=[named for each in languages_of(system).split(",") if (named := each.strip())],
        resistant=defended(system, "damage_resistances"),
        immune=[*defended(system, "damage_immunities"), *defended(system, "condition_immunities")],
        spells=[_spell(item) for item in items.all if item.get("type") == "spell"],
        features=list(dict.fromkeys(text(item, "name") for item in items.of(*FEATURES))),
        scales=_scales(items),
        inventory=[_held(item) for item in items.all if text(item, "type") not in NO_ITEMS and text(item, "name")],
        conditions=_conditions(actor, system),
        gold=gold_of(mapping(system, "currency")),
        desc=told(
            to_markdown(biography.get("value") or at(system, "biography.backstory"), scope),
            {**mapping(system, "biography"), **biography, **details},
            lambda written: to_markdown(written, scope),
        ),
        modified=_modified(actor),
        derived=derived if is_worked_out else tuple(each for each in derived if each != "hit_points"),
    )


def _modified(actor: Object) -> str:
    """When Foundry VTT saved the actor last: it counts milliseconds."""
    found = number(actor, "_stats.modifiedTime")
    return written_at(found / 1000) if found and 0 < found < MAX_MILLISECONDS else ""


# --- what the actor holds ---------------------------------------------------------------------------------------------


def _completed(actor: Object, items: Items) -> dict[str, Any]:
    """The system's data of an actor, with the speeds and senses of its species, and Black Flag's scores as values."""
    system = dict(mapping(actor, "system"))
    species = next(iter(items.of(*SPECIES)), {})
    attributes = dict(mapping(system, "attributes"))
    for part in ("movement", "senses"):
        own = {key: value for key, value in mapping(attributes, part).items() if value not in (None, "")}
        if given := mapping(species, f"system.{part}"):
            attributes[part] = {**given, **own}
    scores = {key: mapping(entry) for key, entry in mapping(system, "abilities").items()}
    abilities = {key: {"value": each["base"], **each} if "base" in each else each for key, each in scores.items()}
    return {**system, "attributes": attributes, "abilities": abilities}


def _with_effects(system: dict[str, Any], items: Items) -> dict[str, Any]:
    """The system's data with what effects of features and of worn items change; those of spells apply to others."""
    counting = (item for item in items.all if item.get("type") != "spell" and _counts(item))
    for effect in (effect for item in counting for effect in objects(item, "effects")):
        is_on = effect.get("disabled") is not True and effect.get("transfer") is True
        for change in objects(effect, "changes") if is_on else ():
            head, *path = text(change, "key").split(".")
            if head == "system" and path:
                _change(system, path, whole(change, "mode"), text(change, "value"))
    return system


def _counts(item: Object) -> bool:
    """Whether an item's effects hold: it is worn, and attuned to if it must be."""
    worn = at(item, "system.equipped") is not False or item.get("type") in FEATURES
    return worn and (text(item, "system.attunement") != "required" or at(item, "system.attuned") is True)


def _change(system: dict[str, Any], path: list[str], mode: int | None, said: str) -> None:
    """Change a number at a path, by itself or into a formula; other values are set, or added to a list."""
    parent = system
    for key in path[:-1]:
        below = parent.get(key)
        if below is not None and not isinstance(below, Mapping):
            return
        parent[key] = dict(below or {})
        parent = parent[key]
    before, new = parent.get(path[-1]), number(said)
    if isinstance(before, list):
        parent[path[-1]] = [*before, said] if mode == ADD else before
    elif mode == ADD:
        parent[path[-1]] = f"{before} + {said}" if text(before) else said
    elif mode in (UPGRADE, DOWNGRADE) and new is not None:
        old = number(before)
        better = max if mode == UPGRADE else min
        parent[path[-1]] = new if old is None else better(old, new)
    elif mode == OVERRIDE:
        parent[path[-1]] = said if new is None else new


def _classes(actor: Object, items: Items) -> list[ClassLevel]:
    """The classes, that of the first level first."""
    subclasses = {
        text(item, "system.classIdentifier", "system.identifier.class"): text(item, "name")
        for item in items.of("subclass")
    }
    gained = [text(each, "class") for each in mapping(actor, "system.progression.levels").values()]
    first = text(actor, "system.details.originalClass") or next(iter(gained), "")
    found = sorted(items.of("class"), key=lambda item: text(item, "_id") != first)
    only = next(iter(subclasses.values()), "") if len(found) == 1 else ""
    return [
        ClassLevel(
            text(item, "name"),
            whole(item, "system.levels") or gained.count(text(item, "_id")) or None,
            subclasses.get(text(item, "system.identifier", "system.identifier.value")) or only,
        )
        for item in found
    ]


def _scales(items: Items) -> dict[str, str]:
    """What classes and subclasses give at the character's levels: the dice of Sneak Attack, the number of rages."""
    levels = {text(item, "system.identifier"): whole(item, "system.levels") or 0 for item in items.of("class")}
    found: dict[str, str] = {}
    for item in items.of("class", "subclass"):
        key = "identifier" if item.get("type") == "class" else "classIdentifier"
        level = levels.get(text(item, f"system.{key}"), 0)
        for each in objects(item, "system.advancement"):
            scale = mapping(each, "configuration.scale")
            reached = [int(step) for step in scale if step.isdigit() and int(step) <= level]
            name = text(each, "title") or spoken(text(each, "configuration.identifier")).title()
            if each.get("type") == "ScaleValue" and reached and name:
                found[name] = _scale(scale[str(max(reached))])
    return {name: value for name, value in found.items() if value}


def _scale(value: object) -> str:
    """Dice or a number, as "3d6"."""
    faces = whole(value, "faces")
    return f"{whole(value, 'number') or 1}d{faces}" if faces else text(value, "value")


def _text_unless_id(value: object) -> str:
    """A text that is no id of an item that the actor no longer has."""
    said = text(value)
    return "" if len(said) == 16 and said.isalnum() and not said.isalpha() else said


# --- numbers ----------------------------------------------------------------------------------------------------------


def _hit_points(system: Object, sheet: Sheet, items: Items, level: int) -> int | None:
    """The maximum: as stated, else the hit dice as they were rolled, with Constitution and what is added each level."""
    stated = whole(system, "attributes.hp.max", "attributes.hp.override")
    rolled, constitution = [_rolled(item) for item in items.of("class")], sheet.modifiers.get("constitution")
    if stated or constitution is None or not rolled or None in rolled:
        return stated or None
    known: dict[str, float | None] = {
        f"classes.{text(item, 'system.identifier')}.levels": whole(item, "system.levels") for item in items.of("class")
    }
    known["details.level"] = level
    each_level, overall = (
        formulas.value(
            text(system, f"attributes.hp.bonuses.{which}") or "0",
            lambda path: known[path] if path in known else sheet.at(path),
        )
        for which in ("level", "overall")
    )
    if each_level is None or overall is None:
        return None
    return sum(points or 0 for points in rolled) + level * (constitution + each_level) + overall


def _rolled(item: Object) -> int | None:
    """The hit points of a class without Constitution, as its advancement has them; None if it does not say."""
    die = whole(text(item, "system.hd.denomination", "system.hitDice").lstrip("d"))
    levels = whole(item, "system.levels")
    steps = (each for each in objects(item, "system.advancement") if each.get("type") == "HitPoints")
    values = mapping(next(steps, {}), "value")
    if not die or not levels:
        return None
    found = [values.get(str(level)) for level in range(1, levels + 1)]
    points = [{"max": die, "avg": die // 2 + 1}.get(text(value), whole(value)) for value in found]
    return None if None in points else sum(each or 0 for each in points)


# --- lists ------------------------------------------------------------------------------------------------------------


def _spell(item: Object) -> Spell:
    system, level = mapping(item, "system"), spell_level(item)
    how = text(system, "preparation.mode", "method", "preparation.method")
    said = at(system, "preparation.prepared") if "preparation" in system else system.get("prepared")
    granted = how in ALWAYS or (said is not True and (whole(said) or 0) > 1)
    ready = granted or said is True or whole(said) == 1
    kind, _, source = text(system, "sourceItem").partition(":")
    caster = text(system, "sourceClass") or (source if kind == "class" else "")
    told = (ready or level == 0) if how or said is not None else None
    return Spell(text(item, "name"), level, told, caster, granted or None)


def _held(item: Object) -> Held:
    system = mapping(item, "system")
    attuned = whole(system, "attunement") == 2 if system.get("attuned") is None else system["attuned"]
    flags = (each if isinstance(each, bool) else None for each in (system.get("equipped"), attuned))
    return Held(text(item, "name"), whole(system, "quantity"), *flags)


def _conditions(actor: Object, system: Object) -> list[str]:
    statuses = [spoken(status) for effect in effects_on(actor) for status in texts(effect, "statuses")]
    return list(dict.fromkeys([*statuses, *(["exhaustion"] if whole(system, "attributes.exhaustion") else [])]))
