"""Actors of players as records of characters.

Foundry VTT works out much of a character as it is played: hit points from the classes, speeds and senses from the species, bonuses
from effects. The same is done here, from what the actor holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lorekeeper.normalize.characters import CHARACTER, Character, ClassLevel, Held, Spell, modifier, told, written_at
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.armor import armor_class
from lorekeeper.normalize.foundry.enrich import to_markdown
from lorekeeper.normalize.foundry.npcs import defended, languages_of, sense_ranges, speeds_of
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.sheets import Sheet
from lorekeeper.normalize.foundry.values import Object, at, mapping, number, objects, text, texts, whole
from lorekeeper.normalize.foundry.words import ABILITY_NAMES, COINS, SKILLS, spoken
from lorekeeper.terms import MOVEMENTS, PASSIVES, SENSES

NO_ITEMS = frozenset(
    {"class", "subclass", "race", "species", "lineage", "heritage", "background", "feat", "feature", "talent", "spell"}
)
"""Types of an actor's items that it does not carry."""

FEATURES = frozenset({"feat", "feature", "talent"})

ADD, DOWNGRADE, UPGRADE, OVERRIDE = 2, 3, 4, 5
"""What an effect does with a number; its keys are those of `CONST.ACTIVE_EFFECT_MODES`."""

MAX_MILLISECONDS = 4e12
"""Latest time that is taken for one, in the year 2096."""

ALWAYS = frozenset({"always", "innate", "atwill", "pact"})
"""Ways of having a spell without preparing it."""


def character(actor: Object, scope: Scope, name: str) -> Character:
    """The record of an actor of a player."""
    items = objects(actor, "items")
    classes = _classes(actor, items)
    level = sum(each.level or 0 for each in classes) or None
    system = _with_effects(_completed(actor, items), items)
    sheet = replace(Sheet.of(name, system, scope.doer.rules), rating=float(level or 1))
    actor = {**actor, "system": system}
    trained = [ABILITY_NAMES[key] for key, entry in _pairs(system.get("abilities")) if _is_trained(entry)]
    skills = {skill: number(sheet.skill_entry(skill), "value", "proficiency.multiplier") for skill in SKILLS.values()}
    known = any(value is not None for value in skills.values())
    bonuses = {skill: bonus for skill in skills if (bonus := sheet.skill(skill)) is not None} if known and level else {}
    armor = armor_class(actor, sheet)
    more = formulas.value(text(system, "attributes.ac.bonus"), sheet.at) or 0
    return Character(
        name=name,
        kind=CHARACTER,
        rules=scope.doer.rules or _rules(items),
        class_levels=classes,
        race=_named(items, "race", "species", "lineage") or _text_unless_id(at(system, "details.race")),
        background=_named(items, "background") or _text_unless_id(at(system, "details.background")),
        alignment=text(system, "details.alignment").lower(),
        armor_class=armor + more if armor is not None else None,
        hit_points=_hit_points(system, sheet, items, classes),
        hit_points_now=whole(system, "attributes.hp.value"),
        speeds=_speeds(system),
        senses=_senses(system, sheet),
        ability_scores=sheet.scores,
        trained_saves=trained,
        saving_throws={a: _save(sheet, system, a) for a in sheet.scores} if level and trained else {},
        skills=[skill for skill, value in skills.items() if (value or 0) >= 1] if known else None,
        expertise=[skill for skill, value in skills.items() if (value or 0) >= 2],
        skill_bonuses=bonuses,
        passives={s: v for s in PASSIVES if (v := sheet.passive(s)) is not None} if bonuses else {},
        languages=languages_of(system),
        resistant=defended(system, "dr"),
        immune=[*defended(system, "di"), *defended(system, "ci")],
        spells=[_spell(item) for item in items if item.get("type") == "spell"],
        features=list(dict.fromkeys(n for i in items if i.get("type") in FEATURES and (n := text(i, "name")))),
        scales=_scales(items),
        inventory=[_held(item) for item in items if item.get("type") not in NO_ITEMS and text(item, "name")],
        conditions=_conditions(actor, system),
        gold=_gold(system),
        desc=told(
            to_markdown(at(system, "details.biography.value") or at(system, "biography.backstory"), scope),
            {
                **mapping(system, "biography"),
                **mapping(system, "details.biography"),
                **mapping(system, "details"),
            },
            lambda written: to_markdown(written, scope),
        ),
        modified=_modified(actor),
        derived=("armor_class", "hit_points", "saving_throws", "skill_bonuses")
        if level and whole(system, "attributes.hp.max") is None
        else ("armor_class", "saving_throws", "skill_bonuses"),
    )


def _modified(actor: Object) -> str:
    """When Foundry VTT saved the actor last: it counts milliseconds."""
    found = number(actor, "_stats.modifiedTime")
    return written_at(found / 1000) if found and 0 < found < MAX_MILLISECONDS else ""


def _pairs(value: object) -> Iterator[tuple[str, Object]]:
    return ((key, mapping(entry)) for key, entry in mapping(value).items() if key in ABILITY_NAMES)


# --- what the actor holds ---------------------------------------------------------------------------------------------


def _completed(actor: Object, items: list[Object]) -> dict[str, Any]:
    """The system's data of an actor, with the speeds and senses of its species, and Black Flag's scores as values."""
    system = dict(mapping(actor, "system"))
    species = next((i for i in items if i.get("type") in ("race", "species", "lineage")), {})
    attributes = dict(mapping(system, "attributes"))
    for part in ("movement", "senses"):
        given = mapping(species, f"system.{part}")
        own = {key: value for key, value in mapping(attributes.get(part)).items() if value not in (None, "")}
        if given:
            attributes[part] = {**given, **own}
    system["attributes"] = attributes
    system["abilities"] = {
        key: {**entry, "value": entry.get("base")} if "base" in entry and "value" not in entry else entry
        for key, entry in ((key, mapping(entry)) for key, entry in mapping(system, "abilities").items())
    }
    return system


def _with_effects(system: dict[str, Any], items: list[Object]) -> dict[str, Any]:
    """The system's data with what effects of features and of worn items change; those of spells apply to others."""
    for item in items:
        if item.get("type") == "spell" or not _counts(item):
            continue
        for effect in objects(item, "effects"):
            if effect.get("disabled") is True or effect.get("transfer") is not True:
                continue
            for change in objects(effect, "changes"):
                path = text(change, "key")
                if path.startswith("system."):
                    _change(system, path.split(".")[1:], whole(change, "mode"), text(change, "value"))
    return system


def _counts(item: Object) -> bool:
    """Whether an item's effects hold: it is worn, and attuned to if it must be."""
    needs = text(item, "system.attunement")
    worn = at(item, "system.equipped") is not False or item.get("type") in FEATURES
    return worn and (needs != "required" or at(item, "system.attuned") is True)


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


def _classes(actor: Object, items: list[Object]) -> list[ClassLevel]:
    """The classes, that of the first level first."""
    subclasses = {
        text(item, "system.classIdentifier", "system.identifier.class"): text(item, "name")
        for item in items
        if item.get("type") == "subclass"
    }
    gained = [text(each, "class") for each in mapping(actor, "system.progression.levels").values()]
    first = text(actor, "system.details.originalClass") or next(iter(gained), "")
    found = [item for item in items if item.get("type") == "class" and text(item, "name")]
    found.sort(key=lambda item: text(item, "_id") != first)
    return [
        ClassLevel(
            text(item, "name"),
            whole(item, "system.levels") or gained.count(text(item, "_id")) or None,
            subclasses.get(text(item, "system.identifier", "system.identifier.value"))
            or (next(iter(subclasses.values()), "") if len(found) == 1 else ""),
        )
        for item in found
    ]


def _scales(items: list[Object]) -> dict[str, str]:
    """What classes and subclasses give at the character's levels: the dice of Sneak Attack, the number of rages."""
    levels = {text(i, "system.identifier"): whole(i, "system.levels") or 0 for i in items if i.get("type") == "class"}
    found: dict[str, str] = {}
    for item in items:
        key = "system.identifier" if item.get("type") == "class" else "system.classIdentifier"
        level = levels.get(text(item, key), 0) if item.get("type") in ("class", "subclass") else 0
        for each in objects(item, "system.advancement") if level else ():
            scale = mapping(each, "configuration.scale")
            reached = [int(k) for k in scale if k.isdigit() and int(k) <= level]
            name = text(each, "title") or spoken(text(each, "configuration.identifier")).replace("-", " ").title()
            if each.get("type") == "ScaleValue" and reached and name:
                found[name] = _scale(mapping(scale[str(max(reached))]))
    return {name: value for name, value in found.items() if value}


def _scale(value: Object) -> str:
    """Dice or a number, as "3d6"."""
    faces = whole(value, "faces")
    return f"{whole(value, 'number') or 1}d{faces}" if faces else text(value, "value")


def _named(items: list[Object], *types: str) -> str:
    return next((text(item, "name") for item in items if item.get("type") in types), "")


def _text_unless_id(value: object) -> str:
    """A text that is no id of an item that the actor no longer has."""
    said = text(value)
    return "" if len(said) == 16 and said.isalnum() and not said.isalpha() else said


def _rules(items: list[Object]) -> str:
    """The edition of the first class that says it."""
    return next((said for i in items if i.get("type") == "class" and (said := text(i, "system.source.rules"))), "")


# --- numbers ----------------------------------------------------------------------------------------------------------


def _hit_points(system: Object, sheet: Sheet, items: list[Object], classes: list[ClassLevel]) -> int | None:
    """The maximum: as stated, else the hit dice as they were rolled, with Constitution and what is added each level."""
    stated = whole(number(system, "attributes.hp.max", "attributes.hp.override"))
    if stated:
        return stated
    rolled, constitution = 0, sheet.modifiers.get("constitution")
    if constitution is None or not classes:
        return None
    for item in items:
        if item.get("type") != "class":
            continue
        points = _rolled(item)
        if points is None:
            return None
        rolled += points
    level = sum(each.level or 0 for each in classes)
    names = {levels_path(i): whole(i, "system.levels") for i in items if i.get("type") == "class"}

    def at_path(path: str) -> float | None:
        known = {**names, "details.level": level}
        return known[path] if path in known else sheet.at(path)

    each_level = formulas.value(text(system, "attributes.hp.bonuses.level") or "0", at_path)
    overall = formulas.value(text(system, "attributes.hp.bonuses.overall") or "0", at_path)
    if each_level is None or overall is None:
        return None
    return rolled + level * (constitution + each_level) + overall


def levels_path(item: Object) -> str:
    """The path under which formulas know the levels of a class."""
    return f"classes.{text(item, 'system.identifier')}.levels"


def _rolled(item: Object) -> int | None:
    """The hit points of a class without Constitution, as its advancement has them; None if it does not say."""
    die = whole(text(item, "system.hd.denomination", "system.hitDice").lstrip("d"))
    levels = whole(item, "system.levels")
    advancement = next((a for a in objects(item, "system.advancement") if a.get("type") == "HitPoints"), {})
    values = mapping(advancement, "value")
    if not die or not levels:
        return None
    total = 0
    for level in range(1, levels + 1):
        value = values.get(str(level))
        found = {"max": die, "avg": die // 2 + 1}.get(text(value), whole(value))
        if found is None:
            return None
        total += found
    return total


def _is_trained(entry: Object) -> bool:
    return (number(entry, "proficient", "save.proficiency.multiplier") or 0) >= 1


def _save(sheet: Sheet, system: Object, ability: str) -> int:
    bonus = formulas.value(text(system, "bonuses.abilities.save"), sheet.at) or 0
    own = sheet.save(ability)
    return bonus + (modifier(sheet.scores[ability]) if own is None else own)


def _speeds(system: Object) -> dict[str, float]:
    given = speeds_of(system)
    return {kind: found for kind in MOVEMENTS if (found := number(given.get(kind)))}


def _senses(system: Object, sheet: Sheet) -> dict[str, float]:
    given = sense_ranges(system, sheet)
    return {sense: found for sense in SENSES if (found := number(given.get(f"{sense}_range")))}


def _gold(system: Object) -> float | None:
    coins = mapping(system, "currency")
    counted = {coin: found for coin in COINS if (found := number(coins.get(coin))) is not None}
    return round(sum(COINS[coin] * found for coin, found in counted.items()), 2) if counted else None


# --- lists ------------------------------------------------------------------------------------------------------------


def _spell(item: Object) -> Spell:
    system = mapping(item, "system")
    level = whole(number(system, "level", "circle.base"))
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
    attuned = system.get("attuned")
    attuned = whole(system, "attunement") == 2 if attuned is None else attuned
    equipped = system.get("equipped")
    return Held(
        text(item, "name"),
        whole(system, "quantity"),
        equipped if isinstance(equipped, bool) else None,
        attuned if isinstance(attuned, bool) else None,
    )


def _conditions(actor: Object, system: Object) -> list[str]:
    statuses = [
        spoken(s) for e in objects(actor, "effects") if e.get("disabled") is not True for s in texts(e, "statuses")
    ]
    exhausted = whole(system, "attributes.exhaustion") or 0
    return list(dict.fromkeys([*statuses, *(["exhaustion"] if exhausted else [])]))
