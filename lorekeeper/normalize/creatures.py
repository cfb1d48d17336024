"""Filter fields of creatures: what they are, resist, perceive, speak and do.

Structured values come first; the texts of the stat block say the rest. Where both speak of the same thing, the text decides,
since structured copies of it are often made by a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize.spellcasting import spells_cast
from lorekeeper.records import Creature, Feature, Source, creature, effects
from lorekeeper.records.creatures import LEGENDARY, TRAIT, reach
from lorekeeper.records.grammar import plain
from lorekeeper.records.parts import SENTENCE
from lorekeeper.repairs.values import repaired_values
from lorekeeper.terms import CONDITION_NAMES, CONDITIONS, DAMAGE_TYPES, MOVEMENTS, PHYSICAL, SENSES

Object = Mapping[str, Any]
Fields = dict[str, Any]

_NONMAGICAL = re.compile(r"\bnon-?magic", re.IGNORECASE)
_ALL_WEAPONS = re.compile(r"\bB/P/S\b|\bdamage from non-?magic\w*(?:,? non-\w+)* (?:weapons|attacks)", re.IGNORECASE)
_DAMAGE = re.compile(rf"\b({'|'.join(DAMAGE_TYPES)})\b", re.IGNORECASE)
_CONDITION = re.compile(rf"\b({'|'.join(CONDITIONS)}|exhausted|fatigued?)\b", re.IGNORECASE)
_CONDITION_NAME = re.compile(rf"\b({'|'.join(sorted(CONDITION_NAMES, key=len, reverse=True))})\b", re.IGNORECASE)
_RESILIENCE = re.compile(r"\b(Resilience|Attributes|Resistances)$")
_STANCES = re.compile(r"\b(immune|resistant|vulnerable)\b")

_LANGUAGE_BREAK = re.compile(r"[,;()]|\b(?:and|or|plus|but|in|with|understands?|speaks|knows?|usually)\b")
_NOT_A_LANGUAGE = re.compile(
    r"\b(?:languages?|any|others?|more|most|it|them|they|those|who|its|their|the|creator\w*|life|knew|known?|spoke|speak|cant speak"
    r"|cannot|doesnt|not|bark|none|one|two|three|four|five|six|form|ft|feet|miles?|only|telepath\w*|shares?|up|via)\b|\d"
)
_ALL_LANGUAGES = re.compile(r"\ball languages\b(?! (?:it|they|she|he|known)\b)", re.IGNORECASE)


_WHOLE = {"elf-drow": "drow", "gnome-deep-svirfneblin": "deep-gnome-svirfneblin", "donkey": "mule"}
"""Slugs of creatures that Open5e lists a second time, under another name and with half of their values."""


def whole_slug(slug: str) -> str:
    """The slug under which Open5e has the same creature whole."""
    return _WHOLE.get(slug, slug)


def is_stub(entity: Entity) -> bool:
    """Whether an entry is such a second one. It is used only where the whole one is missing."""
    key = str(entity.data.get("key")).partition("_")[2]
    return entity.type == "creatures" and entity.source_api == "open5e-v2" and key in _WHOLE


def creature_fields(obj: Object) -> Fields:
    """The raw filter fields of a creature in the shape of any source, with its known faults repaired."""
    return read(repaired_values("creatures", obj))


def read(obj: Object) -> Fields:
    """The same of an object that is repaired; None where nothing is known."""
    return fields(creature(Source(obj)))


def fields(creature: Creature) -> Fields:
    """The filter values of a creature."""
    return {
        "challenge_rating": creature.rating.stated,
        "type": list(creature.types) or None,
        "size": list(creature.sizes) or None,
        "alignment": creature.alignment or None,
        "armor_class": creature.armor_class.stated,
        "hit_points": creature.hit_points.stated,
        "environments": creature.environments,
        **_perceived(creature),
        **_defences(creature, creature.deeds),
        **_effects(creature),
        "spells": spells_cast(creature.deeds, creature.name),
        "legendary": _legendary(creature.deeds),
        "lair": any(_LAIR.search(each.name) or _LAIR.search(each.text) for each in creature.deeds) or None,
    }


def own_values(obj: Object) -> Fields:
    """A homebrew creature with its filter fields, also where it has the lines of a stat block in their place.

    "senses" may be such a line or a map of ranges, "languages" a line; "speed", "damage_immunities" and the like are read too.
    Fields that it sets itself are kept.
    """
    lines = {name: None for name, kinds in _LINES.items() if obj.get(name) and isinstance(obj[name], kinds)}
    set_by_itself = {name: value for name, value in obj.items() if name not in lines}
    return lines | readings(obj) | set_by_itself


_LINES: dict[str, tuple[type, ...]] = {"senses": (str, Mapping), "languages": (str,)}


def readings(obj: Object) -> Fields:
    """The values of movement, senses, languages and defences, from maps or from the lines of a stat block; the known ones only."""
    found = creature(Source(obj))
    return {name: value for name, value in {**_perceived(found), **_defences(found)}.items() if value is not None}


_SENSES = {sense: re.compile(rf"\b{sense}\b", re.IGNORECASE) for sense in SENSES}


def _perceived(creature: Creature) -> Fields:
    """Movement, senses and languages."""
    speed, senses = creature.speed, creature.senses
    named = [s for s in SENSES if s in senses.feet or _SENSES[s].search(senses.text)]
    return {
        **{f"speed_{mode}": speed.feet[mode] for mode in MOVEMENTS if mode in speed.feet},
        "hover": speed.hover,
        **senses.feet,
        **({"senses": named} if named else {}),
        "passive_perception": senses.passive.stated,
        **_languages(creature.languages),
    }


def _languages(line: str) -> Fields:
    """The names in a line of languages, those included that it understands but cannot speak; and telepathy.

    "all" is a value of its own. What is named only by its number or its owner ("two more", "the languages it knew in
    life") gives none.
    """
    names = [name for name in map(fold, _LANGUAGE_BREAK.split(line.lower())) if _is_language(name)]
    names += ["all"] if _ALL_LANGUAGES.search(line) and "all" not in names else []
    names += ["telepathy"] if re.search(r"\btelepath(?:y|ic)\b", line, re.IGNORECASE) else []
    return {"languages": names or None, "telepathy": reach("telepathy", line)}


def _is_language(name: str) -> bool:
    """Whether a folded part of a line names a language; dashes and control characters alone do not."""
    return any(map(str.isalpha, name)) and len(name.split()) <= 3 and not _NOT_A_LANGUAGE.search(name)


# --- what it does to others ------------------------------------------------------------------------------------------

_OWN_HARM = re.compile(
    r"weakness|suscept|hypersens|vulnerab|harmed by|aversion|absorption|undead fortitude|fortitude$|rejuvenat|\bstake|resistan"
    r"|resilience|immun|incorporeal movement|malfunction|misty escape|wolfsbane|tippable|catching$"
)
"""Names, in lower case, of features that say what happens to the creature itself."""


def _effects(creature: Creature) -> Fields:
    """Damage types, conditions and saving throws of its own features."""
    found: dict[str, list[str]] = {"damage_types": [], "conditions": [], "saves": []}
    for feature in creature.deeds:
        if not _OWN_HARM.search(feature.name.lower()):
            text = f"{feature.name}. {feature.text}" if SENTENCE.search(feature.name) else feature.text
            told = effects(plain(text), creature.name)
            listed = () if " damage" in feature.text.lower() else _attack_types(feature)
            found["damage_types"] += told.damage_types or listed
            found["conditions"] += told.conditions
            found["saves"] += told.saves
    return {field: list(dict.fromkeys(values)) or None for field, values in found.items()}


def _attack_types(feature: Feature) -> Iterator[str]:
    """Damage types of the attacks that a source lists apart from the text."""
    types = (damage.type for attack in feature.attacks for damage in (attack.damage, attack.extra_damage))
    return (kind for kind in types if kind in DAMAGE_TYPES)


# --- defences --------------------------------------------------------------------------------------------------------


def _defences(creature: Creature, features: Iterable[Feature] = ()) -> Fields:
    """Immunities, resistances and vulnerabilities, with those that traits as "Undead Resilience" name."""
    damage = {"immune": creature.immunities, "resistant": creature.resistances, "vulnerable": creature.vulnerabilities}
    found = {stance: _damages(line) for stance, line in damage.items()}
    misplaced = [kind for kind in _damages(creature.condition_immunities) if kind not in CONDITION_NAMES]
    found["immune"] += misplaced + _conditions(creature.condition_immunities, _CONDITION_NAME)
    found["immune"] += _conditions(creature.immunities)
    for feature in features:
        if _RESILIENCE.search(feature.name):
            for stance, values in _resilience(feature.text).items():
                found[stance] += values
    return {stance: values or None for stance, values in found.items()}


def _damages(line: str) -> list[str]:
    """The damage types of a line of defences.

    In a part about nonmagical attacks, the types of weapons are nonmagical, and "nonmagical" itself is a value.
    """
    found: list[str] = []
    for part in line.split(";"):
        types = [match[1].lower() for match in _DAMAGE.finditer(part)]
        if _ALL_WEAPONS.search(part) and not set(types) & set(PHYSICAL):
            types += PHYSICAL
        weapons = [kind for kind in types if kind in PHYSICAL]
        if weapons and _NONMAGICAL.search(part):
            types = [*(kind for kind in types if kind not in PHYSICAL), *(f"nonmagical {kind}" for kind in weapons)]
            types.append("nonmagical")
        found += types
    return list(dict.fromkeys(found))


def _conditions(line: str, names: re.Pattern[str] = _CONDITION) -> list[str]:
    """The conditions of a line, by their names: in a line of conditions alone, by all that are in use."""
    return [CONDITION_NAMES[match[1].lower()] for match in names.finditer(line)]


def _resilience(text: str) -> dict[str, list[str]]:
    """What a sentence such as "is immune to poison damage and the poisoned condition, and resistant to cold" says."""
    found: dict[str, list[str]] = {}
    pieces = _STANCES.split(text)
    for stance, clause in zip(pieces[1::2], pieces[2::2], strict=True):
        values = _damages(re.split(r"\badvantage\b", clause)[0].replace(". ", "; "))
        values += _conditions(clause) if stance == "immune" else []
        found[stance] = [*found.get(stance, []), *values]
    return found


# --- what it does ----------------------------------------------------------------------------------------------------

_LEGENDARY = re.compile(r"\bcan take \w+ legendary actions?\b|\blegendary actions? it can take\b", re.IGNORECASE)


def _legendary(features: Iterable[Feature]) -> bool | None:
    """Whether it has legendary actions; unknown if no action of any kind is listed, as in parts of some books."""
    kinds = {feature.kind for feature in features}
    if LEGENDARY in kinds or any(_LEGENDARY.search(f.name) or _LEGENDARY.search(f.text) for f in features):
        return True
    return False if kinds - {TRAIT} else None


_LAIR = re.compile(
    r"\bin lair\)|\blair(?: actions?)?$|\btakes? a lair action\b|\bcan use lair actions\b|\bcreatures? in (?:its|the) lair\b",
    re.IGNORECASE,
)
"""A trait that tells what a creature does in its lair; of one without nothing is known, since few sources include lairs."""
