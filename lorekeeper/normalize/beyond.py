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
    modifier,
    proficiency,
    told,
)
from lorekeeper.normalize.foundry.values import Object, at, mapping, number, objects, text, whole
from lorekeeper.records.values import COINS
from lorekeeper.terms import ABILITIES, CONDITIONS, DAMAGE_TYPES, MOVEMENTS, PASSIVES, SENSES, SKILL_ABILITIES

SOURCE = "dnd-beyond"

ALIGNMENTS = dict(
    enumerate((f"{law} {good}" for good in ("good", "neutral", "evil") for law in ("lawful", "neutral", "chaotic")), 1)
)

LIGHT, MEDIUM, HEAVY, SHIELD = 1, 2, 3, 4
"""Kinds of armour by their ids."""

_CONDITION_IDS = dict(
    enumerate(
        "blinded charmed deafened exhaustion frightened grappled incapacitated invisible paralyzed petrified poisoned prone "
        "restrained stunned unconscious".split(),
        1,
    )
)

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
        return sum(whole(m.get("value")) or whole(m.get("fixedValue")) or 0 for m in self.of(kind, *subjects))

    def most(self, kind: str, *subjects: str) -> int | None:
        """The highest of their values."""
        return max((v for m in self.of(kind, *subjects) if (v := whole(m.get("value"))) is not None), default=None)

    def names(self, kind: str) -> list[str]:
        """What they are about, in words."""
        said = (text(m.get("friendlySubtypeName")) or text(m.get("subType")).replace("-", " ") for m in self.of(kind))
        return list(dict.fromkeys(name for name in said if name))


def character(sheet: Object) -> Character:
    """The record of a character."""
    granted = _granted(sheet)
    classes = [_class(each) for each in objects(sheet.get("classes"))]
    level = sum(each.level or 0 for each in classes)
    scores = _scores(sheet, granted)
    bonus = proficiency(level) if level else 0
    skills = {skill: _times(granted, skill) for skill in SKILL_ABILITIES}
    bonuses = {
        skill: modifier(scores[ability])
        + int(bonus * skills[skill])
        + granted.total("bonus", _slug(skill), "ability-checks")
        for skill, ability in SKILL_ABILITIES.items()
        if ability in scores and level
    }
    trained = [
        ability for ability in ABILITIES if granted.has("proficiency", f"{ability}-saving-throws", "saving-throws")
    ]
    spells = list(_spells(sheet))
    return Character(
        name=text(sheet.get("name")),
        modified=_modified(sheet),
        rules=_rules(sheet),
        class_levels=classes,
        race=text(sheet, "race.fullName", "race.baseName"),
        background=text(sheet, "background.definition.name", "background.customBackground.name"),
        alignment=ALIGNMENTS.get(whole(sheet.get("alignmentId")) or 0, ""),
        armor_class=_armor_class(sheet, granted, scores),
        hit_points=(maximum := _hit_points(sheet, granted, scores, level)),
        hit_points_now=None if maximum is None else max(0, maximum - (whole(sheet.get("removedHitPoints")) or 0)),
        speeds=_speeds(sheet, granted),
        senses={s: float(v) for s in SENSES if (v := granted.most("set-base", s) or granted.most("sense", s))},
        ability_scores=scores,
        trained_saves=trained,
        saving_throws={
            a: modifier(s)
            + (bonus if a in trained else 0)
            + granted.total("bonus", "saving-throws", f"{a}-saving-throws")
            for a, s in scores.items()
            if level
        },
        skills=[skill for skill, times in skills.items() if times >= 1],
        expertise=[skill for skill, times in skills.items() if times > 1],
        skill_bonuses=bonuses,
        passives={s: 10 + bonuses[s] + granted.total("bonus", f"passive-{s}") for s in PASSIVES if s in bonuses},
        languages=granted.names("language"),
        resistant=granted.names("resistance"),
        immune=[name for name in granted.names("immunity") if fold(name) in (*DAMAGE_TYPES, *CONDITIONS)],
        spells=spells,
        features=list(_features(sheet)),
        scales={
            text(feature, "definition.name"): said
            for each in objects(sheet.get("classes"))
            for feature in objects(each.get("classFeatures"))
            if (said := text(feature, "levelScale.dice.diceString", "levelScale.fixedValue"))
            and (whole(at(feature, "definition.requiredLevel")) or 0) <= (whole(each.get("level")) or 0)
        },
        inventory=[
            *(_held(item) for item in objects(sheet.get("inventory")) if text(item, "definition.name")),
            *(
                Held(text(own.get("name")), whole(own.get("quantity")))
                for own in objects(sheet.get("customItems"))
                if own.get("name")
            ),
        ],
        conditions=[
            named for c in objects(sheet.get("conditions")) if (named := _CONDITION_IDS.get(whole(c.get("id")) or 0))
        ],
        gold=_gold(sheet),
        desc=told(
            _plain(text(sheet, "notes.backstory")),
            {**sheet, **mapping(sheet.get("traits")), **mapping(sheet.get("notes"))},
            _plain,
        ),
        derived=("armor_class", "hit_points", "ability_scores", "saving_throws", "skill_bonuses"),
    )


def _plain(written: str) -> str:
    return _MARKUP.sub("", written)


def _granted(sheet: Object) -> Granted:
    items = objects(sheet.get("inventory"))
    idle = {
        whole(at(item, "definition.id"))
        for item in items
        if item.get("equipped") is False
        or (at(item, "definition.canAttune") is True and item.get("isAttuned") is not True)
    }
    worn = {whole(at(item, "definition.id")) for item in items} - idle
    found = []
    for group, listed in mapping(sheet.get("modifiers")).items():
        found += [each for each in objects(listed) if group != "item" or whole(each.get("componentId")) in worn]
    return Granted([*found, *_by_hand(sheet)])


def _by_hand(sheet: Object) -> Iterator[Object]:
    """What the player has changed by hand on the sheet, as modifiers."""
    for each in objects(sheet.get("characterValues")):
        kind, value, about = (whole(number(each.get(key))) for key in ("typeId", "value", "valueId"))
        skill, ability = (
            _SKILL_IDS.get(about or 0, ""),
            ABILITIES[about - 1] if about and about <= len(ABILITIES) else "",
        )
        if kind in _ADDED_ARMOR:
            yield {"type": "bonus", "subType": "armor-class", "value": value}
        elif kind in _ADDED_SKILL and skill:
            yield {"type": "bonus", "subType": skill, "value": value}
        elif kind in _ADDED_SAVE and ability:
            yield {"type": "bonus", "subType": f"{ability}-saving-throws", "value": value}
        elif kind in (_TRAINED_SKILL, _TRAINED_SAVE) and value in _TIMES:
            subject = skill if kind == _TRAINED_SKILL else f"{ability}-saving-throws"
            yield {"type": _TIMES[value], "subType": subject}


_ARMOR_INSTEAD, _ADDED_ARMOR, _ADDED_SKILL, _ADDED_SAVE = 1, (2, 3), (24, 25), (39, 40)
_TRAINED_SKILL, _TRAINED_SAVE = 26, 41
"""Ids of what is changed by hand: the armor class, what is added to it, to skills and saves, and proficiency in these."""

_TIMES = {2: "half-proficiency", 3: "proficiency", 4: "expertise"}

_SKILL_IDS = {
    2: "athletics", 3: "acrobatics", 4: "sleight-of-hand", 5: "stealth", 6: "arcana", 7: "history", 8: "investigation",
    9: "nature", 10: "religion", 11: "animal-handling", 12: "insight", 13: "medicine", 14: "perception", 15: "survival",
    16: "deception", 17: "intimidation", 18: "performance", 19: "persuasion",
}  # fmt: skip
"""Skills by their ids."""


def _scores(sheet: Object, granted: Granted) -> dict[str, int]:
    """Base scores with what is added to them; what sets a score, or overrides it."""

    def listed(key: str) -> dict[int, int]:
        return {
            i: v
            for e in objects(sheet.get(key))
            if (i := whole(e.get("id"))) and (v := whole(e.get("value"))) is not None
        }

    base, more, instead = listed("stats"), listed("bonusStats"), listed("overrideStats")
    found = {}
    for number_, ability in enumerate(ABILITIES, 1):
        if number_ in instead:
            found[ability] = instead[number_]
        elif number_ in base:
            score = base[number_] + more.get(number_, 0) + granted.total("bonus", f"{ability}-score")
            found[ability] = max(score, granted.most("set", f"{ability}-score") or 0)
    return found


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _times(granted: Granted, skill: str) -> float:
    """How often the proficiency bonus counts for a skill."""
    if granted.has("expertise", _slug(skill)):
        return 2
    if granted.has("proficiency", _slug(skill)):
        return 1
    return 0.5 if granted.has("half-proficiency", _slug(skill), "ability-checks") else 0


def _class(each: Object) -> ClassLevel:
    named = text(each, "definition.name")
    return ClassLevel(named, whole(each.get("level")), text(each, "subclassDefinition.name"))


def _modified(sheet: Object) -> str:
    """When its player changed it last."""
    found = _TIME.match(text(sheet.get("dateModified")))
    return f"{found[0]}Z" if found else ""


def _rules(sheet: Object) -> str:
    """The edition of the first class, by whether it is marked as of the older rules."""
    first = next(iter(objects(sheet.get("classes"))), {})
    legacy = at(first, "definition.isLegacy")
    sources = {whole(each.get("sourceId")) for each in objects(at(first, "definition.sources"))}
    if legacy is True or sources & _BOOKS_OF_2014:
        return "2014"
    return "2024" if sources & _BOOKS_OF_2024 else ""


_BOOKS_OF_2014, _BOOKS_OF_2024 = frozenset({1, 2, 27, 67}), frozenset({145, 146, 148})
"""Ids of the Basic Rules, Player's Handbook and supplements with classes, by edition."""


def _hit_points(sheet: Object, granted: Granted, scores: Mapping[str, int], level: int) -> int | None:
    stated = whole(sheet.get("overrideHitPoints"))
    base = whole(sheet.get("baseHitPoints"))
    if stated or base is None or "constitution" not in scores:
        return stated
    each_level = modifier(scores["constitution"]) + granted.total("bonus", "hit-points-per-level")
    return base + (whole(sheet.get("bonusHitPoints")) or 0) + level * each_level + granted.total("bonus", "hit-points")


def _armor_class(sheet: Object, granted: Granted, scores: Mapping[str, int]) -> int | None:
    """The best armour that is worn or none, a shield, and what is added; or what the player has set by hand."""
    for each in objects(sheet.get("characterValues")):
        if whole(each.get("typeId")) == _ARMOR_INSTEAD and (stated := whole(number(each.get("value")))) is not None:
            return stated
    if "dexterity" not in scores:
        return None
    dexterity = modifier(scores["dexterity"])
    worn = [mapping(item.get("definition")) for item in objects(sheet.get("inventory")) if item.get("equipped") is True]
    limits = {LIGHT: dexterity, MEDIUM: min(dexterity, 2), HEAVY: 0}
    suits = [
        (whole(each.get("armorClass")) or 10) + limits[kind]
        for each in worn
        if (kind := whole(each.get("armorTypeId")) or 0) in limits
    ]
    shields = [whole(each.get("armorClass")) or 2 for each in worn if whole(each.get("armorTypeId")) == SHIELD]
    more = granted.total("bonus", "armor-class") + (granted.total("bonus", "armored-armor-class") if suits else 0)
    if suits:
        return max(suits) + max(shields, default=0) + more
    own = [_of_ability(each, scores) for each in granted.of("set", "unarmored-armor-class")]
    more += granted.total("bonus", "unarmored-armor-class")
    return 10 + dexterity + max(own, default=0) + max(shields, default=0) + more


def _of_ability(granted: Object, scores: Mapping[str, int]) -> int:
    """The value of a modifier, or the modifier of the ability that it names."""
    value, number_ = whole(granted.get("value")), whole(granted.get("statId")) or 0
    ability = ABILITIES[number_ - 1] if 1 <= number_ <= len(ABILITIES) else ""
    if value is not None:
        return value
    return modifier(scores[ability]) if ability in scores else 0


def _speeds(sheet: Object, granted: Granted) -> dict[str, float]:
    own = mapping(at(sheet, "race.weightSpeeds.normal"))
    more = granted.total("bonus", "speed")
    found: dict[str, float] = {}
    for kind, innate in zip(MOVEMENTS, ("walking", "flying", "swimming", "climbing", "burrowing"), strict=True):
        feet = max(whole(own.get(kind)) or 0, granted.most("set", f"innate-speed-{innate}") or 0)
        if feet:
            found[kind] = float(feet + more + (granted.total("bonus", "unarmored-movement") if kind == "walk" else 0))
    return found


def _spells(sheet: Object) -> Iterator[Spell]:
    """All spells, each once; those of features, species, feats and items are always ready, whatever their own flag says."""
    seen: set[str] = set()
    names = {each.get("id"): _class(each).name for each in objects(sheet.get("classes"))}
    only = next(iter(names.values())) if len(names) == 1 else ""
    chosen = [
        (names.get(each.get("characterClassId"), only), objects(each.get("spells")))
        for each in objects(sheet.get("classSpells"))
    ]
    innate = [("", objects(listed)) for listed in mapping(sheet.get("spells")).values()]
    for granted, lists in ((False, chosen), (True, innate)):
        for caster, listed in lists:
            for each in listed:
                name, level = text(each, "definition.name"), whole(at(each, "definition.level"))
                if name and fold(name) not in seen:
                    seen.add(fold(name))
                    always = granted or each.get("alwaysPrepared") is True
                    yield Spell(
                        name, level, always or each.get("prepared") is True or level == 0, caster, always or None
                    )


def _features(sheet: Object) -> Iterator[str]:
    """The features of classes up to their levels, of species, feats, and options that were chosen, each once."""
    found: dict[str, None] = {}
    for each in objects(sheet.get("classes")):
        level = whole(each.get("level")) or 0
        for feature in objects(each.get("classFeatures")):
            if (whole(at(feature, "definition.requiredLevel")) or 0) <= level:
                found[text(feature, "definition.name")] = None
    options = (f"options.{group}" for group in mapping(sheet.get("options")))
    for path in ("race.racialTraits", "feats", *options):
        found |= {text(each, "definition.name"): None for each in objects(at(sheet, path))}
    return (name for name in found if name and not _STRUCTURE.fullmatch(name))


def _held(item: Object) -> Held:
    equipped, attuned = item.get("equipped"), item.get("isAttuned")
    return Held(
        text(item, "definition.name"),
        whole(item.get("quantity")),
        equipped if isinstance(equipped, bool) else None,
        attuned if isinstance(attuned, bool) and at(item, "definition.canAttune") is True else None,
    )


def _gold(sheet: Object) -> float | None:
    coins = mapping(sheet.get("currencies"))
    counted = {coin: found for coin in COINS if (found := number(coins.get(coin))) is not None}
    return round(sum(COINS[coin] * found for coin, found in counted.items()), 2) if counted else None
