"""The character of D&D Beyond, as a JSON file that its player has saved. Nothing is fetched from there.

The file has what was chosen: base scores, and modifiers that species, classes, feats and items grant. Scores, saves, skills and the
armor class follow from these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize.build import Origin
from lorekeeper.normalize.characters import (
    DOCUMENT,
    DOCUMENT_NAME,
    Character,
    ClassLevel,
    Held,
    Spell,
    entity,
    gold_of,
    told,
)
from lorekeeper.normalize.formulas import modifier, proficiency
from lorekeeper.normalize.foundry.values import Object, at, mapping, objects, text, whole
from lorekeeper.normalize.reading import Words
from lorekeeper.terms import ABILITIES, CONDITIONS, DAMAGE_TYPES, MOVEMENTS, PASSIVES, SENSES, SKILL_ABILITIES

SOURCE = "dnd-beyond"

word = Words(__file__)

LIGHT, MEDIUM, HEAVY, SHIELD = 1, 2, 3, 4
"""Kinds of armour by their ids."""

_ARMOR_INSTEAD = 1
"""Id of an armor class that the player has set by hand."""

_STRUCTURE = re.compile(
    r"(?:hit points|proficiencies|equipment|core .{1,40} traits|ability score (?:improvement|increases?)|.{1,40} subclass|"
    r"languages?|size|speed|age|alignment|creature type)",
    re.IGNORECASE,
)
"""Headings of a class or species that are listed among its features."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")

_MARKUP = re.compile(r"<[^<>]{0,2000}>")


def recognises(obj: Mapping[str, Any]) -> bool:
    """Whether an object is a character of D&D Beyond, as the page of its sheet receives it or without the cover."""
    inner = _sheet(obj)
    return isinstance(inner.get("stats"), list) and isinstance(inner.get("classes"), list) and "baseHitPoints" in inner


def _sheet(obj: Object) -> Object:
    inner = obj.get("data") or obj.get("character")
    return inner if isinstance(inner, Mapping) else obj


def character_entity(obj: Mapping[str, Any], document: str | None) -> Entity:
    """The entity of a character; FilterError if it cannot be stored."""
    made = character(_sheet(obj))
    return entity(made, Origin(SOURCE, document or DOCUMENT, None if document else DOCUMENT_NAME))


@dataclass(frozen=True)
class Granted:
    """The modifiers that a character has: those of items as far as they are worn, and attuned to if they must be."""

    modifiers: Sequence[Object]

    def of(self, kind: str, *subjects: str) -> list[Object]:
        """Those of a kind on one of these subjects, on any without."""
        return [m for m in self.modifiers if m.get("type") == kind and (not subjects or m.get("subType") in subjects)]

    def has(self, kind: str, *subjects: str) -> bool:
        """Whether there is one."""
        return bool(self.of(kind, *subjects))

    def total(self, kind: str, *subjects: str) -> int:
        """The sum of their values."""
        return sum(whole(m, "value") or whole(m, "fixedValue") or 0 for m in self.of(kind, *subjects))

    def most(self, kind: str, *subjects: str) -> int | None:
        """The highest of their values."""
        return max((v for m in self.of(kind, *subjects) if (v := whole(m, "value")) is not None), default=None)

    def names(self, kind: str) -> list[str]:
        """What they are about, in words."""
        said = (text(m, "friendlySubtypeName") or text(m, "subType").replace("-", " ") for m in self.of(kind))
        return list(dict.fromkeys(name for name in said if name))


def character(sheet: Object) -> Character:
    """The record of a character."""
    granted, classes = _granted(sheet), objects(sheet, "classes")
    levels = [
        ClassLevel(text(each, "definition.name"), whole(each, "level"), text(each, "subclassDefinition.name"))
        for each in classes
    ]
    level = sum(each.level or 0 for each in levels)
    scores = _scores(sheet, granted)
    modifiers = {ability: modifier(score) for ability, score in scores.items()}
    bonus = proficiency(level) if level else 0
    skills = {skill: _times(granted, _slug(skill)) for skill in SKILL_ABILITIES}
    bonuses = {
        skill: modifiers[ability] + int(bonus * skills[skill]) + granted.total("bonus", _slug(skill), "ability-checks")
        for skill, ability in SKILL_ABILITIES.items()
        if ability in scores and level
    }
    saves = {ability: f"{ability}-saving-throws" for ability in ABILITIES}
    trained = [ability for ability, key in saves.items() if granted.has("proficiency", key, "saving-throws")]
    maximum = _hit_points(sheet, granted, modifiers, level)
    return Character(
        name=text(sheet, "name"),
        modified=f"{found[0]}Z" if (found := _TIME.match(text(sheet, "dateModified"))) else "",
        rules=_rules(sheet),
        class_levels=levels,
        race=text(sheet, "race.fullName", "race.baseName"),
        background=text(sheet, "background.definition.name", "background.customBackground.name"),
        alignment=word("alignments", text(sheet, "alignmentId"), ""),
        armor_class=_armor_class(sheet, granted, modifiers),
        hit_points=maximum,
        hit_points_now=None if maximum is None else max(0, maximum - (whole(sheet, "removedHitPoints") or 0)),
        speeds=_speeds(sheet, granted),
        senses={s: float(v) for s in SENSES if (v := granted.most("set-base", s) or granted.most("sense", s))},
        ability_scores=scores,
        trained_saves=trained,
        saving_throws={
            ability: own + bonus * (ability in trained) + granted.total("bonus", "saving-throws", saves[ability])
            for ability, own in modifiers.items()
            if level
        },
        skills=[skill for skill, times in skills.items() if times >= 1],
        expertise=[skill for skill, times in skills.items() if times > 1],
        skill_bonuses=bonuses,
        passives={s: 10 + bonuses[s] + granted.total("bonus", f"passive-{s}") for s in PASSIVES if s in bonuses},
        languages=granted.names("language"),
        resistant=granted.names("resistance"),
        immune=[name for name in granted.names("immunity") if fold(name) in (*DAMAGE_TYPES, *CONDITIONS)],
        spells=_spells(sheet),
        features=_features(sheet),
        scales={
            text(feature, "definition.name"): said
            for feature in _gained(classes)
            if (said := text(feature, "levelScale.dice.diceString", "levelScale.fixedValue"))
        },
        inventory=[
            *(_held(item) for item in objects(sheet, "inventory") if text(item, "definition.name")),
            *(
                Held(text(own, "name"), whole(own, "quantity"))
                for own in objects(sheet, "customItems")
                if own.get("name")
            ),
        ],
        conditions=[
            named for each in objects(sheet, "conditions") if (named := word("conditions", text(each, "id"), ""))
        ],
        gold=gold_of(mapping(sheet, "currencies")),
        desc=told(
            _plain(text(sheet, "notes.backstory")),
            {**sheet, **mapping(sheet, "traits"), **mapping(sheet, "notes")},
            _plain,
        ),
        derived=("armor_class", "hit_points", "ability_scores", "saving_throws", "skill_bonuses"),
    )


def _plain(written: str) -> str:
    return _MARKUP.sub("", written)


def _granted(sheet: Object) -> Granted:
    items = objects(sheet, "inventory")
    idle = {
        whole(item, "definition.id")
        for item in items
        if item.get("equipped") is False
        or (at(item, "definition.canAttune") is True and item.get("isAttuned") is not True)
    }
    worn = {whole(item, "definition.id") for item in items} - idle
    found = []
    for group, listed in mapping(sheet, "modifiers").items():
        found += [each for each in objects(listed) if group != "item" or whole(each, "componentId") in worn]
    return Granted([*found, *_by_hand(sheet)])


def _by_hand(sheet: Object) -> Iterator[Object]:
    """What the player has changed by hand on the sheet, as modifiers."""
    for each in objects(sheet, "characterValues"):
        about = whole(each, "valueId") or 0
        said = {
            "skill": word("skills", str(about), ""),
            "ability": ABILITIES[about - 1] if 0 < about <= len(ABILITIES) else "",
            "trained": word("trained", text(each, "value"), ""),
        }
        if parts := word["by hand"].get(text(each, "typeId")):
            kind, subject = (part.format(**said) for part in parts)
            yield {"type": kind, "subType": subject, "value": each.get("value")}


def _scores(sheet: Object, granted: Granted) -> dict[str, int]:
    """Base scores with what is added to them; what sets a score, or overrides it."""
    base, more, instead = (
        {whole(each, "id"): whole(each, "value") for each in objects(sheet, key)}
        for key in ("stats", "bonusStats", "overrideStats")
    )
    found = {}
    for place, ability in enumerate(ABILITIES, 1):
        score, stated = base.get(place), instead.get(place)
        if stated is None and score is not None:
            score += (more.get(place) or 0) + granted.total("bonus", f"{ability}-score")
            stated = max(score, granted.most("set", f"{ability}-score") or 0)
        if stated is not None:
            found[ability] = stated
    return found


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _times(granted: Granted, skill: str) -> float:
    """How often the proficiency bonus counts for a skill."""
    if granted.has("expertise", skill):
        return 2
    if granted.has("proficiency", skill):
        return 1
    return 0.5 if granted.has("half-proficiency", skill, "ability-checks") else 0


def _rules(sheet: Object) -> str:
    """The edition of the first class, by whether it is marked as of the older rules."""
    first = next(iter(objects(sheet, "classes")), {})
    books = {word("rules", text(each, "sourceId"), "") for each in objects(first, "definition.sources")}
    if at(first, "definition.isLegacy") is True or "2014" in books:
        return "2014"
    return "2024" if "2024" in books else ""


def _hit_points(sheet: Object, granted: Granted, modifiers: Mapping[str, int], level: int) -> int | None:
    stated, base = whole(sheet, "overrideHitPoints"), whole(sheet, "baseHitPoints")
    if stated or base is None or "constitution" not in modifiers:
        return stated
    each_level = modifiers["constitution"] + granted.total("bonus", "hit-points-per-level")
    return base + (whole(sheet, "bonusHitPoints") or 0) + level * each_level + granted.total("bonus", "hit-points")


def _armor_class(sheet: Object, granted: Granted, modifiers: Mapping[str, int]) -> int | None:
    """The best armour that is worn or none, a shield, and what is added; or what the player has set by hand."""
    for each in objects(sheet, "characterValues"):
        if whole(each, "typeId") == _ARMOR_INSTEAD and (stated := whole(each, "value")) is not None:
            return stated
    if "dexterity" not in modifiers:
        return None
    dexterity = modifiers["dexterity"]
    worn = [mapping(item, "definition") for item in objects(sheet, "inventory") if item.get("equipped") is True]
    limits = {LIGHT: dexterity, MEDIUM: min(dexterity, 2), HEAVY: 0}
    kinds = [(whole(each, "armorTypeId") or 0, whole(each, "armorClass")) for each in worn]
    suits = [(armor or 10) + limits[kind] for kind, armor in kinds if kind in limits]
    shield = max((armor or 2 for kind, armor in kinds if kind == SHIELD), default=0)
    more = shield + granted.total("bonus", "armor-class")
    if suits:
        return max(suits) + more + granted.total("bonus", "armored-armor-class")
    own = [_of_ability(each, modifiers) for each in granted.of("set", "unarmored-armor-class")]
    return 10 + dexterity + max(own, default=0) + more + granted.total("bonus", "unarmored-armor-class")


def _of_ability(granted: Object, modifiers: Mapping[str, int]) -> int:
    """The value of a modifier, or the modifier of the ability that it names."""
    value, place = whole(granted, "value"), whole(granted, "statId") or 0
    if value is not None:
        return value
    return modifiers.get(ABILITIES[place - 1], 0) if 1 <= place <= len(ABILITIES) else 0


def _speeds(sheet: Object, granted: Granted) -> dict[str, float]:
    own, more = mapping(sheet, "race.weightSpeeds.normal"), granted.total("bonus", "speed")
    found: dict[str, float] = {}
    for kind, innate in zip(MOVEMENTS, ("walking", "flying", "swimming", "climbing", "burrowing"), strict=True):
        feet = max(whole(own, kind) or 0, granted.most("set", f"innate-speed-{innate}") or 0)
        if feet:
            found[kind] = float(feet + more + (granted.total("bonus", "unarmored-movement") if kind == "walk" else 0))
    return found


def _spells(sheet: Object) -> list[Spell]:
    """All spells, each once; those of features, species, feats and items are always ready, whatever their own flag says."""
    names = {each.get("id"): text(each, "definition.name") for each in objects(sheet, "classes")}
    only = next(iter(names.values())) if len(names) == 1 else ""
    lists = [
        (False, names.get(each.get("characterClassId"), only), each.get("spells"))
        for each in objects(sheet, "classSpells")
    ]
    found: dict[str, Spell] = {}
    for granted, caster, listed in (*lists, *((True, "", each) for each in mapping(sheet, "spells").values())):
        for each in objects(listed):
            name, level = text(each, "definition.name"), whole(each, "definition.level")
            always = granted or each.get("alwaysPrepared") is True
            ready = always or each.get("prepared") is True or level == 0
            found.setdefault(fold(name), Spell(name, level, ready, caster, always or None))
    return [each for each in found.values() if each.name]


def _gained(classes: Sequence[Object]) -> Iterator[Object]:
    """The features of classes up to their levels."""
    for each in classes:
        for feature in objects(each, "classFeatures"):
            if (whole(feature, "definition.requiredLevel") or 0) <= (whole(each, "level") or 0):
                yield feature


def _features(sheet: Object) -> list[str]:
    """The features of classes up to their levels, of species, feats, and options that were chosen, each once."""
    options = (f"options.{group}" for group in mapping(sheet, "options"))
    others = (each for path in ("race.racialTraits", "feats", *options) for each in objects(sheet, path))
    found = dict.fromkeys(text(each, "definition.name") for each in (*_gained(objects(sheet, "classes")), *others))
    return [name for name in found if name and not _STRUCTURE.fullmatch(name)]


def _held(item: Object) -> Held:
    equipped, attuned = item.get("equipped"), item.get("isAttuned")
    return Held(
        text(item, "definition.name"),
        whole(item, "quantity"),
        equipped if isinstance(equipped, bool) else None,
        attuned if isinstance(attuned, bool) and at(item, "definition.canAttune") is True else None,
    )
