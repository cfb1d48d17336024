"""Everything of 5etools without a type of its own, as rules: conditions, hazards, deities, vehicles, tables, cards, ...

The objects of these many kinds are alike: entries, and short values beside them. So all are read in one way: texts and numbers
are facts, what has entries of its own is a part under its name, and nothing is left out but keys of the site.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools import tables
from lorekeeper.normalize.fivetools.alignments import alignment
from lorekeeper.normalize.fivetools.requirements import prerequisite
from lorekeeper.normalize.fivetools.spells import SCHOOLS
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import (
    Object,
    listed,
    mapping,
    number,
    objects,
    sizes,
    text,
    texts,
    title,
    uid,
)
from lorekeeper.terms import ABILITY_OF

FEATURE_KINDS = {
    "EI": "invocation",
    "MM": "metamagic",
    "MV": "maneuver",
    "FS": "fighting style",
    "AI": "infusion",
    "ED": "elemental discipline",
    "PB": "pact boon",
    "AS": "arcane shot",
    "RN": "rune",
    "AF": "alchemical formula",
    "TT": "traveler's trick",
    "OTH": "optional feature",
}
"""Kinds of optional features by their codes, of which longer ones begin with these ("FS:F")."""

OPTION_TYPES = {
    "CS": "character secret",
    "DG": "dark gift",
    "OF": "optional feature",
    "RF": "replacement feature",
    "RF:B": "replacement feature: background",
    "SG": "supernatural gift",
}
"""Types of options for a character's creation by their codes."""

PARTS = ("entries", "intro", "outro", "footnotes", "entriesHigherLevel", "additionalEntries")
"""Keys of the text itself."""

TITLES = {
    "lairActions": "Lair actions",
    "regionalEffects": "Regional effects",
    "mythicEncounter": "Mythic encounter",
    "actionEntries": "Actions",
    "capCrew": "Crew",
    "capPassenger": "Passengers",
    "capCargo": "Cargo (tons)",
    "conditionImmune": "Condition immunities",
    "immune": "Damage immunities",
    "resist": "Damage resistances",
    "vulnerable": "Damage vulnerabilities",
    "hp": "Hit points",
    "ac": "Armor class",
    "signaturespells": "Signature spells",
    "altNames": "Other names",
    "trapHazType": "Complexity",
    "ruleType": "Use",
    "vehicleType": "Type",
    "objectType": "Type",
    "typicalSpeakers": "Typical speakers",
}
"""What keys are called that do not say it."""

CODES = {
    "SHIP": "ship",
    "SPELLJAMMER": "spelljammer",
    "INFWAR": "infernal war machine",
    "CREATURE": "creature",
    "OBJECT": "object",
    "SMPL": "simple",
    "CMPX": "complex",
    "HAZ": "hazard",
    "WTH": "weather",
    "ENV": "environmental",
    "MAG": "magical",
    "MECH": "mechanical",
    "GEN": "generic",
    "SW": "siege weapon",
    "U": "unknown",
    "D": "discipline",
    "T": "talent",
    "O": "optional",
    "V": "variant",
    "VO": "variant optional",
    "C": "core",
    "P": "optional",
}
"""What codes of types stand for."""

_ALWAYS_PARTS = frozenset("instructions ingredients trigger effect countermeasures goal cultists focus modes".split())
"""Keys of texts, however short they are."""

_CODED = frozenset({"vehicleType", "trapHazType", "objectType", "type", "ruleType"})

_SITE = frozenset(
    "name source page srd srd52 basicRules basicRules2024 freeRules2024 otherSources additionalSources reprintedAs edition alias"
    " hasFluff hasFluffImages hasToken token tokenUrl tokenCredit tokenCustom fluff images face back data colStyles colLabels"
    " rows rowLabels caption colLabelRows id uid foundrySystem foundryFlags foundryImg isReprinted"
    " color symbolImg nameSort seeAlso miscTags raceName raceSource classSource subclassSource header abbreviation"
    " currencyConversion published contents cover ordinal".split()
)
"""Keys of the site that say nothing about the thing itself, and keys that are read elsewhere."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

MAX_NESTED = 8
"""Most levels of values within values."""


def rule(subject: Subject) -> Data:
    """An object of any kind as a rule: its text, its facts and its parts."""
    facts, parts = _facts_and_parts(subject)
    desc = "\n\n".join(filter(None, (subject.fluff(), subject.prose(*PARTS, headings=2))))
    told = "\n".join(f"- **{name}** {words}" for name, words in facts.items())
    return without_empty(
        {
            "parent": _parent(subject.obj),
            "desc": "\n\n".join(filter(None, (told, desc))),
            "traits": parts,
        }
    )


def _parent(obj: Object) -> str:
    """What it belongs to: the pantheon of a deity, the deck of a card, the class of a feature."""
    return next((text(obj[key]) for key in ("pantheon", "set", "className", "order") if text(obj.get(key))), "")


def _facts_and_parts(subject: Subject) -> tuple[dict[str, str], list[object]]:
    """Short values by name, and what has entries of its own."""
    facts: dict[str, str] = {}
    parts: list[object] = []
    for key, value in subject.obj.items():
        if key.startswith(("_", "foundry", "roll20")) or key in _SITE or key in PARTS:
            continue
        name = TITLES.get(key) or title(_CAMEL.sub(" ", key).lower()).capitalize()
        if key in _READ:
            facts |= _READ[key](subject)
        elif key in _ALWAYS_PARTS or _has_entries(value):
            parts += _parts(subject, name, value)
        elif words := _words(subject, value, 0):
            facts[name] = CODES.get(words, words) if key in _CODED else words
    return {name: words for name, words in facts.items() if words}, parts


def _has_entries(value: object) -> bool:
    """Whether a value is a text of several sentences, or has entries."""
    for each in listed(value):
        if isinstance(each, Mapping) and any(key in each for key in ("entries", "entry", "locomotion", "speed")):
            return True
        if isinstance(each, str) and len(each) > 100:
            return True
    return isinstance(value, list) and any(isinstance(each, Mapping) and each.get("type") for each in value)


def _parts(subject: Subject, name: str, value: object) -> list[object]:
    """Parts under their names; what has none is one part under the name of its key."""
    named: list[object] = []
    others: list[object] = []
    for each in listed(value):
        found = mapping(each)
        if text(found.get("name")):
            facts = {k: v for k, v in found.items() if k not in ("name", "type", "page", "source", *PARTS)}
            more = _words(subject, {k: v for k, v in facts.items() if not _has_entries(v)}, 0)
            nested = [v for v in facts.values() if _has_entries(v)]
            told = subject.writer.named(
                {"name": found["name"], "entries": [more, *listed(found.get("entries")), *nested]}
            )
            named.append(told)
        else:
            others.append(each)
    words = subject.writer.markdown(others)
    return [*([{"name": name, "desc": words}] if words else []), *named]


def _words(subject: Subject, value: object, level: int) -> str:
    """A value in one line: "AC 10, HP 35"."""
    if level > MAX_NESTED:
        return ""
    if isinstance(value, Mapping):
        parts = [(_label(key), each, _words(subject, each, level + 1)) for key, each in value.items()]
        return ", ".join(name if each is True else f"{name} {words}" for name, each, words in parts if words)
    if isinstance(value, list):
        return ", ".join(filter(None, (_words(subject, each, level + 1) for each in value)))
    if isinstance(value, bool):
        return "yes" if value else ""
    return subject.reader.plain(text(value))


def _label(key: str) -> str:
    """A key within a value as a label: "AC", "Control" of "isControl"."""
    return key.upper() if len(key) == 2 else title(_CAMEL.sub(" ", key).removeprefix("is "))


# --- values that need more ---------------------------------------------------------------------------------------------


def _scores(subject: Subject) -> dict[str, str]:
    """Ability scores, those of 0 left out, which mean none."""
    found = ((code, number(subject.value(code))) for code in ABILITY_OF)
    return {"Abilities": ", ".join(f"{code.capitalize()} {text(score)}" for code, score in found if score)}


def _ability(subject: Subject) -> dict[str, str]:
    value = subject.value("ability")
    return {
        "Ability": subject.writer.line(mapping(value).get("entry"))
        if isinstance(value, Mapping)
        else subject.words("ability")
    }


def _times(subject: Subject) -> dict[str, str]:
    found = [f"{text(number(each.get('number')))} {text(each.get('unit'))}" for each in objects(subject.value("time"))]
    return {"Time": joined(found, "or") or subject.names("time")}


def _speed(subject: Subject) -> dict[str, str]:
    value = subject.value("speed")
    if not isinstance(value, Mapping):
        return {"Speed": f"{subject.words('speed')} ft." if number(value) is not None else subject.words("speed")}
    return {"Speed": ", ".join(f"{mode} {text(number(feet))} ft." for mode, feet in value.items() if number(feet))}


def _cards(subject: Subject) -> dict[str, str]:
    told = []
    for each in listed(subject.value("cards")):
        count = number(mapping(each).get("count")) or 1
        name = uid(mapping(each).get("uid") or each)[0]
        told.append(f"{name} ({text(count)})" if count > 1 else name)
    return {"Cards": ", ".join(filter(None, told))}


def _levels(subject: Subject) -> dict[str, str]:
    found = mapping(subject.value("level"))
    if not found:
        return {"Level": subject.words("level")}
    ends = [text(found.get(key)) for key in ("start", "end") if text(found.get(key))]
    return {"Level": "–".join(ends) or text(found.get("custom"))}


def _named_values(subject: Subject) -> dict[str, str]:
    """Values under names of the author's own."""
    return {str(name): _words(subject, value, 0) for name, value in mapping(subject.value("customProperties")).items()}


_READ = {
    **dict.fromkeys(ABILITY_OF, _scores),
    "ability": _ability,
    "alignment": lambda subject: {"Alignment": alignment(subject.value("alignment"))},
    "prerequisite": lambda subject: {"Prerequisite": prerequisite(subject.reader, subject.value("prerequisite"))},
    "size": lambda subject: {"Size": joined(sizes(subject.value("size")), "or")},
    "featureType": lambda subject: {
        "Type": joined(kind for code in texts(subject.value("featureType")) if (kind := feature_kind(subject, code)))
    },
    "optionType": lambda subject: {
        "Type": ", ".join(OPTION_TYPES.get(code, code) for code in texts(subject.value("optionType")))
    },
    "school": lambda subject: {"School": SCHOOLS.get(subject.words("school"), subject.words("school"))},
    "time": _times,
    "speed": _speed,
    "cards": _cards,
    "level": _levels,
    "customProperties": _named_values,
}
"""How values of some keys are read that the general way would not get right."""


def feature_kind(subject: Subject, code: str) -> str:
    """The kind of an optional feature by the code of its type: "invocation", or as its file calls it."""
    named = subject.codes.feature_types.get(code)
    return (named or FEATURE_KINDS.get(code) or FEATURE_KINDS.get(code.partition(":")[0]) or "").lower()


# --- tables ------------------------------------------------------------------------------------------------------------


def table(subject: Subject) -> Data:
    """A table: its rows in a regular shape (see `tables`), and as text."""
    obj = subject.obj
    found = tables.table_of(obj, subject.writer.line)
    caption = "" if text(obj.get("caption")).strip() == subject.name else obj.get("caption")
    desc = subject.writer.markdown([{**obj, "type": "table", "caption": caption}])
    return without_empty({"parent": text(obj.get("_group")), "desc": desc, "table": dict(found)})


def tables_of_group(obj: Object) -> list[Object]:
    """The tables of a group, each under the name of the group and its own."""
    group = text(obj.get("name"))
    found: list[Object] = []
    for place, each in enumerate(objects(obj.get("tables")), 1):
        name = f"{group}: {text(each.get('caption')) or text(each.get('name')) or place}"
        common = {key: obj[key] for key in ("source", "page") if key in obj}
        found.append({**common, **each, **_of_results(each), "name": name, "caption": "", "_group": group})
    return found


def _of_results(table: Object) -> dict[str, object]:
    """The columns and rows of a table of random encounters, which is a list of results with their rolls."""
    results = objects(table.get("table"))
    if not results:
        return {}
    rolls = ({"type": "cell", "roll": {key: each.get(key) for key in ("min", "max")}} for each in results)
    rows = [[roll, each.get("result")] for roll, each in zip(rolls, results, strict=True)]
    return {"colLabels": [text(table.get("diceExpression")), "Result"], "rows": rows}


def fields(data: Object) -> dict[str, object]:
    """The raw filter values of a rule."""
    return {"parent": text(data.get("parent")) or None}
