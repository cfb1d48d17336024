"""Prerequisites, ability scores and proficiencies in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivetools.tags import Reader
from lorekeeper.normalize.fivetools.values import (
    Object,
    abilities,
    at,
    capital,
    coins,
    commas,
    counted_name,
    listed,
    mapping,
    number,
    objects,
    spaced,
    text,
    title,
    uid,
    word,
)
from lorekeeper.render.spell import ordinal

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CAPITAL = re.compile(r"(?=[A-Z])")

MAX_NESTED = 6
"""Most levels of choices within choices."""


def counted(count: object) -> str:
    """A number in a word, as far as people write it so."""
    value = text(number(count) or 1)
    return {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five"}.get(value, value)


def _or(rows: Iterator[str]) -> str:
    return "; or ".join(filter(None, rows))


# --- prerequisites -----------------------------------------------------------------------------------------------------


def prerequisite(reader: Reader, value: object) -> str:
    """A list of alternatives, each with conditions that all hold: "4th level, Wisdom 13 or higher; or Alert"."""
    if isinstance(value, str):
        return reader.plain(value)
    rows = (
        commas(
            *(_condition(reader, key, wanted) for key, wanted in each.items() if key not in ("choice", "note")),
            reader.plain(text(each, "note")),
        )
        for each in objects(value)
    )
    return capital(_or(rows))


def _condition(reader: Reader, key: str, wanted: object) -> str:
    if key in word["prerequisites"]:
        return word("prerequisites", key) if wanted else ""
    if told := _CONDITIONS.get(key):
        return joined((told(each) for each in listed(wanted)), "or")
    texts = (text(each, "entry", "displayEntry", "name", "entrySummary") or text(each) for each in listed(wanted))
    words = joined(map(reader.plain, texts), "or")
    return words if key in _AS_THEY_ARE or not words else f"{title(_CAMEL.sub(' ', key))}: {words}"


_AS_THEY_ARE = frozenset("other otherSummary feature item background alignment itemProperty culture membership".split())
"""Prerequisites whose words need no label."""


def _level(value: object) -> str:
    level = number(value, "level") if isinstance(value, Mapping) else number(value)
    ranked = f"{ordinal(int(level))} level" if level is not None else ""
    return spaced(ranked, text(value, "class.name"), text(value, "subclass.name"))


def _scores(value: object) -> str:
    scores = mapping(value).items()
    return joined(f"{''.join(abilities(code))} {text(score)} or higher" for code, score in scores)


def _lineage(value: object) -> str:
    name, kind = title(text(value, "name") or text(value)), text(value, "subrace")
    return f"{name} ({kind})" if kind else name


def _spell(value: object) -> str:
    name, _, kind = uid(value)[0].partition("#")
    return f"{name} {word('spell kinds', kind)}" if name else text(value, "entry")


def _proficiency(value: object) -> str:
    kinds = mapping(value).items()
    return joined(f"proficiency with {text(what)} {'' if kind == 'weapon' else kind}".strip() for kind, what in kinds)


_CONDITIONS: Mapping[str, Callable[[object], str]] = {
    "level": _level,
    "ability": _scores,
    "race": _lineage,
    "spell": _spell,
    "feat": lambda value: title(uid(value)[0]),
    "proficiency": _proficiency,
    "pact": lambda value: f"Pact of the {text(value)}",
    "patron": lambda value: f"{text(value)} patron",
}


# --- ability scores ------------------------------------------------------------------------------------------------------


def ability_scores(value: object) -> str:
    """Changes of ability scores, alternatives with "or": "Dexterity +2, Wisdom +1; or ..."."""
    return _or(commas(*_changes(each)) for each in objects(value))


def _changes(changes: Object) -> Iterator[str]:
    for code, value in changes.items():
        if code != "choose":
            change = number(value)
            yield from (f"{name} {change:+g}" for name in abilities(code) if change is not None)
            continue
        weights = ", ".join(f"{number(each) or 0:+g}" for each in listed(value, "weighted.weights"))
        how = f"{weights} to different ones" if mapping(value, "weighted") else ""
        how = how or f"+{text(value, 'amount') or 1} to {counted(at(value, 'count'))}"
        yield f"{how} of {joined(abilities(listed(value, 'weighted.from', 'from'))) or 'your choice'}"


# --- proficiencies -------------------------------------------------------------------------------------------------------


def proficiencies(reader: Reader, value: object) -> str:
    """What one is proficient with, alternatives with "or": "History, and one of Insight or Persuasion"."""
    return _or(_proficiencies(reader, each, 0) for each in listed(value))


def _proficiencies(reader: Reader, value: object, level: int) -> str:
    if not isinstance(value, Mapping):
        return capital(reader.plain(text(value)))
    told = []
    for name, amount in value.items() if level <= MAX_NESTED else ():
        if name == "choose":
            options = (title(_proficiencies(reader, each, level + 1)) for each in listed(amount, "from"))
            count = counted(at(amount, "count") or at(amount, "amount"))
            told.append(f"{count} of {joined(options, 'or') or 'your choice'}")
        elif name.startswith("any"):  # "anyStandard" is "standard language of your choice"
            kind = " ".join(_CAPITAL.split(name.removeprefix("any"))).lower()
            told.append(spaced(counted(amount), kind.strip(), "of your choice"))
        elif name in ("full", "proficiency"):
            told.append(f"{reader.plain(text(amount))}{' (optional)' if value.get('optional') is True else ''}")
        elif amount and name != "optional":
            told.append(title(uid(name)[0]))
    return commas(*told)


# --- equipment -------------------------------------------------------------------------------------------------------------


def equipment(reader: Reader, value: object) -> str:
    """Starting equipment: "(a) hammer, 8 gp or (b) 50 gp; common clothes"."""
    rows = []
    for group in objects(value):
        options = {key: commas(*(_thing(reader, each) for each in listed(things))) for key, things in group.items()}
        told = (f"{'' if key == '_' else f'({key.lower()}) '}{words}" for key, words in options.items() if words)
        rows.append(" or ".join(told))
    return "; ".join(filter(None, rows))


def _thing(reader: Reader, value: object) -> str:
    name = uid(at(value, "item") or value)[0] or reader.plain(text(value, "special", "displayName"))
    told = counted_name(name or title(text(value, "equipmentType")), at(value, "quantity"))
    inside = coins(at(value, "containsValue"))
    return f"{told} with {inside}" if inside and told else told or coins(at(value, "value"))
