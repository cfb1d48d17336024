"""Filter fields of creatures: what they are, resist, perceive, speak and do.

Structured values come first, in every shape of Open5e and of homebrew; the texts of the stat block say the rest. Where
both speak of the same thing, the text decides, since structured copies of it are often made by a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.folding import fold
from lorekeeper.normalize.effects import Feature, effects
from lorekeeper.normalize.spellcasting import spells_cast
from lorekeeper.records.values import feet, first_number, flag, local_key, local_keys
from lorekeeper.repairs.values import MEDIUM_OR_SMALL, believed, repaired_values
from lorekeeper.terms import CONDITIONS, DAMAGE_TYPES, MOVEMENTS, PHYSICAL, SENSES

Object = Mapping[str, Any]
Fields = dict[str, Any]

_SWARM_NAME = re.compile(r"^swarm\b|swarm\b(?! \w)|\bswarm of\b", re.IGNORECASE)

_SPEED = re.compile(
    r"(?:\b(walk|fly|swim|climb|burrow)(?:ing)?(?: speed)?(?: of)? )?(\d{1,4}) ?(?:ft|feet|foot|')", re.IGNORECASE
)

_RANGE = r"\b{0} \(?(\d{{1,4}}) ?(ft|feet|foot|miles?|')"
_SENSE_RANGES = {sense: re.compile(_RANGE.format(sense), re.IGNORECASE) for sense in (*SENSES, "telepathy")}
_PASSIVE = re.compile(r"\bpassive perception (\d{1,2})\b", re.IGNORECASE)

_NONMAGICAL = re.compile(r"\bnon-?magic", re.IGNORECASE)
_ALL_WEAPONS = re.compile(r"\bB/P/S\b|\bdamage from non-?magic\w*(?:,? non-\w+)* (?:weapons|attacks)", re.IGNORECASE)
_DAMAGE = re.compile(rf"\b({'|'.join(DAMAGE_TYPES)})\b", re.IGNORECASE)
_CONDITION = re.compile(rf"\b({'|'.join(CONDITIONS)}|exhausted|fatigue)\b", re.IGNORECASE)
_RESILIENCE = re.compile(r"\b(Resilience|Attributes|Resistances)$")
_STANCES = re.compile(r"\b(immune|resistant|vulnerable)\b")

_DEFENCES = {"immune": "immunities", "resistant": "resistances", "vulnerable": "vulnerabilities"}

_LANGUAGE_BREAK = re.compile(r"[,;()]|\b(?:and|or|plus|but|in|with|understands?|speaks|knows?|usually)\b")
_NOT_A_LANGUAGE = re.compile(
    r"\b(?:languages?|any|others?|more|most|it|them|they|those|who|its|their|the|creator\w*|life|knew|known?|spoke|speak|cant speak"
    r"|cannot|doesnt|not|bark|none|one|two|three|four|five|six|form|ft|feet|miles?|only|telepath\w*|shares?|up|via)\b|\d"
)
_ALL_LANGUAGES = re.compile(r"\ball languages\b(?! (?:it|they|she|he|known)\b)", re.IGNORECASE)


def creature_fields(o: Object) -> Fields:
    """The raw filter fields of a creature in a shape of Open5e, with its known faults repaired."""
    return repaired_fields(repaired_values("creatures", o))


def repaired_fields(o: Object) -> Fields:
    """The same of an object that is repaired: in any shape of API v2, or in that of v1."""
    features = list(features_of(o))
    return {
        "challenge_rating": _first(o, "cr", "challenge_rating_decimal", "challenge_rating"),
        "type": _types(o, features),
        "size": _sizes(o),
        "alignment": _first(o, "alignment"),
        "armor_class": o.get("armor_class"),
        "hit_points": o.get("hit_points"),
        "environments": local_keys(o.get("environments")),
        **readings(o),
        **_defences_of(o, features),
        **deeds(str(o.get("name") or ""), features),
    }


def deeds(name: str, features: list[Feature]) -> Fields:
    """What the features of a creature with that name say it does."""
    return {
        **effects(name, features),
        "spells": spells_cast(features),
        "legendary": _legendary(features),
        "lair": _lair(features),
    }


def own_values(o: Object) -> Fields:
    """A homebrew creature with its filter fields, also where it has the lines of a stat block in their place.

    "senses" may be such a line or a map of ranges, "languages" a line; "speed", "damage_immunities" and the like are read too.
    Fields that it sets itself are kept.
    """
    lines = {name: None for name, kinds in _LINES.items() if o.get(name) and isinstance(o[name], kinds)}
    set_by_itself = {name: value for name, value in o.items() if name not in lines}
    return lines | readings(o) | set_by_itself


_LINES: dict[str, tuple[type, ...]] = {"senses": (str, Mapping), "languages": (str,)}


def readings(o: Object) -> Fields:
    """The values of movement, senses and languages, from maps or from the lines of a stat block; the known ones only."""
    fields = {**_movement(o), **_senses(o), **_languages(o.get("languages")), **_defence_lines(o)}
    return {name: value for name, value in fields.items() if value is not None}


def _first(obj: Object, *keys: str) -> Any:
    return next((obj[k] for k in keys if obj.get(k) not in (None, "")), None)


# --- what it is ------------------------------------------------------------------------------------------------------


def _types(o: Object, features: list[Feature]) -> list[str] | None:
    """The type first, then "swarm", and the subtypes that API v1 names."""
    main = local_key(_first(o, "type"))
    if main is None:
        return None
    subtypes = [part for part in re.split(r",\s*", o.get("subtype") or "") if part.strip()]
    swarm = _SWARM_NAME.search(o.get("name") or "") or any(fold(f.name) == "swarm" for f in features)
    return [main, *subtypes, *(["swarm"] if swarm else [])]


def _sizes(o: Object) -> list[str] | None:
    """The size, or the two of "Medium or Small"."""
    size = local_key(_first(o, "size"))
    if size is None:
        return None
    return [size, "medium"] if o["size"] == MEDIUM_OR_SMALL else [size]


# --- movement, senses, languages -------------------------------------------------------------------------------------


def _movement(o: Object) -> Fields:
    """Speeds in feet, and whether it hovers. A speed of 0 counts only for walking, and beside another: alone it is a gap."""
    speeds = o.get("speed")
    if isinstance(speeds, str):
        return _movement_line(speeds)
    if not isinstance(speeds, Mapping):
        return {}
    unit = speeds.get("unit") or "feet"
    values = {f"speed_{kind}": feet(speeds[kind], unit) for kind in MOVEMENTS if _is_number(speeds.get(kind))}
    fields: Fields = {
        name: value for name, value in values.items() if value or (name == "speed_walk" and any(values.values()))
    }
    every = o.get("speed_all")
    hover = flag(speeds.get("hover"))
    return fields | {"hover": flag(every.get("hover")) if hover is None and isinstance(every, Mapping) else hover}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _movement_line(line: str) -> Fields:
    """Speeds of a line such as "30 ft., fly 60 ft. (hover)"; the first of each kind."""
    fields: Fields = {}
    for match in _SPEED.finditer(line):
        fields.setdefault(f"speed_{(match[1] or 'walk').lower()}", int(match[2]))
    return fields | ({"hover": "hover" in line.lower()} if fields else {})


def _senses(o: Object) -> Fields:
    """Ranges of the senses in feet, their names, and passive Perception."""
    senses = o.get("senses")
    line = senses if isinstance(senses, str) else ""
    ranges = {sense: _sense(o, senses, line, sense) for sense in SENSES}
    names = [sense for sense in SENSES if ranges[sense] or re.search(rf"\b{sense}\b", line, re.IGNORECASE)]
    passive = _PASSIVE.search(line)
    perception = o.get("passive_perception") if passive is None else int(passive[1])
    return {**ranges, **({"senses": names} if names else {}), "passive_perception": perception}


def _sense(o: Object, senses: object, line: str, sense: str) -> float | None:
    if isinstance(senses, Mapping):
        return believed(first_number(senses.get(sense)), o.get("passive_perception")) or None
    return first_number(_first(o, f"{sense}_range", sense)) or _reach(sense, line)


def _reach(sense: str, line: str) -> float | None:
    """The range after the name of a sense, in feet."""
    match = _SENSE_RANGES[sense].search(line)
    return feet(match[1], "feet" if match[2] == "'" else match[2]) if match else None


def _languages(languages: object) -> Fields:
    """The names in a line of languages, those included that it understands but cannot speak; and telepathy.

    "all" is a value of its own. What is named only by its number or its owner ("two more", "the languages it knew in
    life") gives none.
    """
    if isinstance(languages, Mapping):
        languages = languages.get("as_string") or ", ".join(local_keys(languages.get("data")) or [])
    if not isinstance(languages, str):
        return {}
    names = [name for name in map(fold, _LANGUAGE_BREAK.split(languages.lower())) if _is_language(name)]
    names += ["all"] if _ALL_LANGUAGES.search(languages) and "all" not in names else []
    telepathy = re.search(r"\btelepath(?:y|ic)\b", languages, re.IGNORECASE)
    names += ["telepathy"] if telepathy else []
    return {"languages": names or None, "telepathy": _reach("telepathy", languages)}


def _is_language(name: str) -> bool:
    """Whether a folded part of a line names a language; dashes and control characters alone do not."""
    return any(map(str.isalpha, name)) and len(name.split()) <= 3 and not _NOT_A_LANGUAGE.search(name)


# --- defences --------------------------------------------------------------------------------------------------------


def _defences_of(o: Object, features: list[Feature]) -> Fields:
    """Immunities, resistances and vulnerabilities of API v2, with those that traits as "Undead Resilience" name."""
    lines = o.get("resistances_and_immunities")
    found = _v2_defences(lines) if isinstance(lines, Mapping) else _defence_lines(o)
    for feature in features:
        if _RESILIENCE.search(feature.name):
            for stance, values in _resilience(feature.text).items():
                found[stance] = [*(found.get(stance) or []), *values]
    return {stance: values or None for stance, values in found.items()}


def _v2_defences(lines: Object) -> Fields:
    found: Fields = {}
    for stance, noun in _DEFENCES.items():
        line, keys = lines.get(f"damage_{noun}_display"), local_keys(lines.get(f"damage_{noun}")) or []
        found[stance] = _damages(line or "") or [key for key in keys if key in DAMAGE_TYPES]
        if stance == "immune":
            conditions = f"{lines.get('condition_immunities_display') or ''}, {line or ''}"
            found[stance] += _conditions(conditions) or local_keys(lines.get("condition_immunities")) or []
    return found


def _defence_lines(o: Object) -> Fields:
    """The defences of API v1 and of homebrew, which are lines of the stat block."""
    found: Fields = {}
    for stance, noun in _DEFENCES.items():
        line = o.get(f"damage_{noun}")
        values = _damages(line) if isinstance(line, str) else []
        if stance == "immune" and isinstance(o.get("condition_immunities"), str):
            values += _conditions(o["condition_immunities"])
        found[stance] = values or None
    return found


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


def _conditions(line: str) -> list[str]:
    """The conditions of a line; fatigue of Level Up is exhaustion."""
    names = (match[1].lower() for match in _CONDITION.finditer(line))
    return ["exhaustion" if name in ("fatigue", "exhausted") else name for name in names]


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

_V1_RUBRICS = {
    "special_abilities": "TRAIT",
    "bonus_actions": "BONUS_ACTION",
    "reactions": "REACTION",
    "legendary_actions": "LEGENDARY_ACTION",
}


def features_of(o: Object) -> Iterator[Feature]:
    """Traits and actions of a stat block of Open5e or OrcBrew: lists of objects with a name and a text."""
    for rubric, default in (("traits", "TRAIT"), ("actions", "ACTION"), *_V1_RUBRICS.items()):
        entries = o.get(rubric)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping):
                kind = str(_first(entry, "action_type", "type") or default).upper().replace("-", "_")
                text = str(_first(entry, "desc", "description") or "")
                yield Feature(str(entry.get("name") or ""), text, kind, _attack_types(entry))


def _attack_types(entry: Object) -> tuple[str, ...]:
    """Damage types of the structured attacks of an action."""
    attacks = entry.get("attacks")
    maps = [attack for attack in attacks if isinstance(attack, Mapping)] if isinstance(attacks, list) else []
    keys = (local_key(attack.get(name)) for attack in maps for name in ("damage_type", "extra_damage_type"))
    return tuple(key for key in keys if key in DAMAGE_TYPES)


_LEGENDARY = re.compile(r"\bcan take \w+ legendary actions?\b|\blegendary actions? it can take\b", re.IGNORECASE)


def _legendary(features: list[Feature]) -> bool | None:
    """Whether it has legendary actions; unknown if no action of any kind is listed, as in parts of some books."""
    kinds = {feature.kind for feature in features}
    if "LEGENDARY_ACTION" in kinds or any(_LEGENDARY.search(f.name) or _LEGENDARY.search(f.text) for f in features):
        return True
    return False if kinds - {"TRAIT"} else None


_LAIR = re.compile(
    r"\bin lair\)|\blair(?: actions?)?$|\btakes? a lair action\b|\bcan use lair actions\b|\bcreatures? in (?:its|the) lair\b",
    re.IGNORECASE,
)


def _lair(features: list[Feature]) -> bool | None:
    """True if a trait tells what it does in its lair; unknown otherwise, since few sources include lairs."""
    return any(_LAIR.search(f.name) or _LAIR.search(f.text) for f in features) or None
