"""Prerequisites, ability scores and proficiencies in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivetools.tags import Reader
from lorekeeper.normalize.fivetools.values import (
    Object,
    ability,
    capital,
    coins,
    listed,
    mapping,
    number,
    objects,
    text,
    title,
    uid,
)
from lorekeeper.render.spell import ordinal

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}

MAX_NESTED = 6
"""Most levels of choices within choices."""


def counted(count: object, default: int = 1) -> str:
    """A number in a word, as far as people write it so."""
    value = number(count) or default
    return _COUNTS.get(int(value), text(value))


# --- prerequisites -----------------------------------------------------------------------------------------------------


def prerequisite(reader: Reader, value: object) -> str:
    """A list of alternatives, each with conditions that all hold: "4th level, Wisdom 13 or higher; or Alert"."""
    if isinstance(value, str):
        return reader.plain(value)
    rows = []
    for each in objects(value):
        parts = (_condition(reader, key, wanted) for key, wanted in each.items() if key not in ("choice", "note"))
        rows.append(", ".join(filter(None, [*parts, reader.plain(text(each.get("note")))])))
    return capital("; or ".join(filter(None, rows)))


def _condition(reader: Reader, key: str, wanted: object) -> str:
    if key in _FIXED:
        return _FIXED[key] if wanted else ""
    told = _CONDITIONS.get(key)
    if told:
        return joined((told(each) for each in listed(wanted)), "or")
    words = joined((_plain(reader, each) for each in listed(wanted)), "or")
    if key in _AS_THEY_ARE or not words:
        return words
    return f"{title(_CAMEL.sub(' ', key))}: {words}"


_FIXED = {
    "spellcasting": "the ability to cast at least one spell",
    "spellcasting2020": "Spellcasting or Pact Magic feature",
    "spellcastingFeature": "Spellcasting feature",
    "spellcastingPrepared": "Spellcasting feature from a class that prepares spells",
    "psionics": "Psionic Talent feature or Wild Talent feat",
}

_AS_THEY_ARE = (
    "other",
    "otherSummary",
    "feature",
    "item",
    "background",
    "alignment",
    "itemProperty",
    "culture",
    "membership",
)


def _plain(reader: Reader, value: object) -> str:
    found = mapping(value)
    told = found.get("entry") or found.get("displayEntry") or found.get("name") or found.get("entrySummary")
    return reader.plain(text(told) if found else text(value))


def _level(value: object) -> str:
    found = mapping(value)
    level = number(found.get("level") if found else value)
    parts = [text(mapping(found.get(key)).get("name")) for key in ("class", "subclass")]
    named = " ".join(part for part in parts if part)
    return f"{ordinal(int(level))} level{f' {named}' if named else ''}" if level is not None else named


def _scores(value: object) -> str:
    return joined(f"{title(ability(code))} {text(score)} or higher" for code, score in mapping(value).items())


def _lineage(value: object) -> str:
    found = mapping(value)
    name, kind = title(text(found.get("name")) or text(value)), text(found.get("subrace"))
    return f"{name} ({kind})" if kind else name


def _spell(value: object) -> str:
    found = mapping(value)
    if found:
        return text(found.get("entry"))
    name, _, kind = uid(value)[0].partition("#")
    return f"{name} {_SPELL_KINDS.get(kind, kind)}" if name else ""


_SPELL_KINDS = {"": "spell", "c": "cantrip", "x": "spell or a curse"}
"""What the letter behind a spell's name stands for."""


def _proficiency(value: object) -> str:
    return joined(
        f"proficiency with {text(what)} {'' if kind == 'weapon' else kind}".strip()
        for kind, what in mapping(value).items()
    )


def _feat(value: object) -> str:
    return title(uid(value)[0])


_CONDITIONS: Mapping[str, Callable[[object], str]] = {
    "level": _level,
    "ability": _scores,
    "race": _lineage,
    "spell": _spell,
    "feat": _feat,
    "proficiency": _proficiency,
    "pact": lambda value: f"Pact of the {text(value)}",
    "patron": lambda value: f"{text(value)} patron",
}


# --- ability scores ------------------------------------------------------------------------------------------------------


def ability_scores(value: object) -> str:
    """Changes of ability scores, alternatives with "or": "Dexterity +2, Wisdom +1; or ..."."""
    return "; or ".join(filter(None, map(_changes, objects(value))))


def _changes(changes: Object) -> str:
    told = []
    for code, value in changes.items():
        found = mapping(value)
        weighted = mapping(found.get("weighted"))
        if code != "choose":
            told.append(
                f"{title(ability(code))} {number(value):+g}" if ability(code) and number(value) is not None else ""
            )
        elif weighted:
            by = ", ".join(f"{number(weight) or 0:+g}" for weight in listed(weighted.get("weights")))
            told.append(f"{by} to different ones of {_names(weighted.get('from'))}")
        else:
            told.append(
                f"+{text(found.get('amount')) or 1} to {counted(found.get('count'))} of {_names(found.get('from'))}"
            )
    return ", ".join(filter(None, told))


def _names(codes: object) -> str:
    return joined(title(ability(code)) for code in listed(codes)) or "your choice"


# --- proficiencies -------------------------------------------------------------------------------------------------------


def proficiencies(reader: Reader, value: object) -> str:
    """What one is proficient with, alternatives with "or": "History, and one of Insight or Persuasion"."""
    return "; or ".join(filter(None, (_proficiencies(reader, each, 0) for each in listed(value))))


def _proficiencies(reader: Reader, value: object, level: int) -> str:
    if not isinstance(value, Mapping):
        return capital(reader.plain(text(value)))
    if level > MAX_NESTED:
        return ""
    told = []
    for name, amount in value.items():
        if name == "choose":
            told.append(_choice(reader, mapping(amount), level))
        elif name.startswith("any"):
            told.append(f"{counted(amount)} {_any(name)}")
        elif name in ("full", "proficiency"):
            told.append(f"{reader.plain(text(amount))}{' (optional)' if value.get('optional') is True else ''}")
        elif name == "optional":
            continue
        elif amount:
            told.append(title(uid(name)[0]))
    return ", ".join(filter(None, told))


def _choice(reader: Reader, choice: Object, level: int) -> str:
    options = [_proficiencies(reader, each, level + 1) for each in listed(choice.get("from"))]
    titled = [title(each) if each else "" for each in options]
    return f"{counted(choice.get('count') or choice.get('amount'))} of {joined(titled, 'or') or 'your choice'}"


def _any(name: str) -> str:
    """ "standard language of your choice" of "anyStandard"."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name.removeprefix("any")).strip()
    return f"{words} of your choice" if words else "of your choice"


# --- equipment -------------------------------------------------------------------------------------------------------------


def equipment(reader: Reader, value: object) -> str:
    """Starting equipment: "(a) hammer, 8 gp or (b) 50 gp; common clothes"."""
    rows = []
    for group in objects(value):
        options = {
            key: ", ".join(filter(None, (_thing(reader, each) for each in listed(things))))
            for key, things in group.items()
        }
        rows.append(
            " or ".join(words if key == "_" else f"({key.lower()}) {words}" for key, words in options.items() if words)
        )
    return "; ".join(filter(None, rows))


def _thing(reader: Reader, value: object) -> str:
    found = mapping(value)
    name = uid(found.get("item") or value)[0] or reader.plain(
        text(found.get("special")) or text(found.get("displayName"))
    )
    name = name or title(text(found.get("equipmentType")))
    inside = coins(found.get("containsValue"))
    count = number(found.get("quantity")) or 1
    told = f"{name} ({text(count)})" if count > 1 and name else name
    return f"{told} with {inside}" if inside and told else told or coins(found.get("value"))


def spells_known(value: object, level: int = 0) -> list[str]:
    """The names of spells in an object of lists by level and frequency."""
    if level > MAX_NESTED:
        return []
    if isinstance(value, Mapping):
        kept = [each for key, each in value.items() if key not in ("ability", "name", "resourceName", "choose", "all")]
        return [name for each in kept for name in spells_known(each, level + 1)]
    if isinstance(value, list):
        return [name for each in value for name in spells_known(each, level + 1)]
    name = uid(value)[0].partition("#")[0]
    return [name] if name and "=" not in name else []
