"""Everything of 5etools without a type of its own, as rules: conditions, hazards, deities, vehicles, tables, cards, ...

The objects of these many kinds are alike: entries, and short values beside them. So all are read in one way: texts and numbers
are facts, what has entries of its own is a part under its name, and nothing is left out but keys of the site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.creatures import alignment
from lorekeeper.normalize.fivetools.entries import CHILDREN, table_of
from lorekeeper.normalize.fivetools.options import prerequisite, thing
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import (
    Data,
    Object,
    commas,
    listed,
    mapping,
    number,
    objects,
    paragraphs,
    sizes,
    text,
    texts,
    title,
    word,
)
from lorekeeper.terms import ABILITY_OF

PARTS = ("entries", "intro", "outro", "footnotes", "entriesHigherLevel", "additionalEntries")
"""Keys of the text itself."""

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
    told = "\n".join(f"- **{name}** {words}" for name, words in facts.items() if words)
    desc = paragraphs(told, subject.fluff(), subject.prose(*PARTS, headings=2))
    parent = text(subject.obj, "pantheon", "set", "className", "order")
    return {"parent": parent, "desc": desc, "traits": parts}


def _facts_and_parts(subject: Subject) -> tuple[dict[str, str], list[object]]:
    """Short values by name, and what has entries of its own."""
    facts: dict[str, str] = {}
    parts: list[object] = []
    for key, value in subject.obj.items():
        if key.startswith(("_", "foundry", "roll20")) or key in _SITE or key in PARTS:
            continue
        name = word("titles", key, title(_CAMEL.sub(" ", key).lower()).capitalize())
        if key in ABILITY_OF:
            facts["Abilities"] = commas(*map(partial(_score, subject), ABILITY_OF))
        elif key in _READ:
            name, read = _READ[key]
            facts[name] = read(subject, value)
        elif key == "customProperties":
            facts |= {str(name): _words(subject, each, 0) for name, each in mapping(value).items()}
        elif key in _ALWAYS_PARTS or _has_entries(value):
            parts += _parts(subject, name, value)
        elif words := _words(subject, value, 0):
            facts[name] = word("rule types", words) if key in _CODED else words
    return facts, parts


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
        if text(found, "name"):
            facts = {k: v for k, v in found.items() if k not in ("name", "type", "page", "source", *PARTS)}
            more = _words(subject, {k: v for k, v in facts.items() if not _has_entries(v)}, 0)
            nested = [v for v in facts.values() if _has_entries(v)]
            told = subject.writer.named({"name": found["name"], "entries": [more, *listed(found, "entries"), *nested]})
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
        return commas(*(_words(subject, each, level + 1) for each in value))
    if isinstance(value, bool):
        return "yes" if value else ""
    return subject.reader.plain(value)


def _label(key: str) -> str:
    """A key within a value as a label: "AC", "Control" of "isControl"."""
    return key.upper() if len(key) == 2 else title(_CAMEL.sub(" ", key).removeprefix("is "))


# --- values that need more ---------------------------------------------------------------------------------------------


def _score(subject: Subject, code: str) -> str:
    """An ability score; those of 0 are none."""
    return f"{code.capitalize()} {text(score)}" if (score := number(subject.obj, code)) else ""


def _ability(subject: Subject, value: object) -> str:
    return subject.writer.line(value.get("entry")) if isinstance(value, Mapping) else subject.words("ability")


def _time(subject: Subject, value: object) -> str:
    found = [f"{text(number(each, 'number'))} {text(each, 'unit')}" for each in objects(value)]
    return joined(found, "or") or subject.names("time")


def _speed(subject: Subject, value: object) -> str:
    if not isinstance(value, Mapping):
        return f"{subject.words('speed')}{' ft.' if number(value) is not None else ''}"
    return ", ".join(f"{mode} {text(number(feet))} ft." for mode, feet in value.items() if number(feet))


def _level(subject: Subject, value: object) -> str:
    ends = "–".join(filter(None, (text(value, "start"), text(value, "end"))))
    return ends or text(value, "custom") if mapping(value) else subject.words("level")


_READ: Mapping[str, tuple[str, Callable[[Subject, object], str]]] = {
    "ability": ("Ability", _ability),
    "alignment": ("Alignment", lambda _, value: alignment(value)),
    "prerequisite": ("Prerequisite", lambda subject, value: prerequisite(subject.reader, value)),
    "size": ("Size", lambda _, value: joined(sizes(value), "or")),
    "featureType": ("Type", lambda subject, _: joined(feature_kinds(subject))),
    "optionType": ("Type", lambda _, value: ", ".join(word("options", code) for code in texts(value))),
    "school": ("School", lambda subject, _: word("schools", subject.words("school"))),
    "time": ("Time", _time),
    "speed": ("Speed", _speed),
    "cards": ("Cards", lambda subject, value: commas(*(thing(subject.reader, each) for each in listed(value)))),
    "level": ("Level", _level),
}
"""What values of some keys are called, and how they are read, that the general way would not get right."""


def feature_kinds(subject: Subject) -> list[str]:
    """The kinds of an optional feature by the codes of its type: "invocation", or as its file calls it."""
    found = (
        subject.codes["features"].get(code) or word("features", code, word("features", code.partition(":")[0], ""))
        for code in texts(subject.obj, "featureType")
    )
    return [kind.lower() for kind in found if kind]


# --- tables ------------------------------------------------------------------------------------------------------------


def table(subject: Subject) -> Data:
    """A table: its rows in a regular shape (see `tables`), and as text."""
    obj = subject.obj
    found = table_of(obj, subject.writer.line)
    caption = "" if text(obj, "caption").strip() == subject.name else obj.get("caption")
    desc = subject.writer.markdown([{**obj, "type": "table", "caption": caption}])
    return {"parent": text(obj, "_group"), "desc": desc, "table": dict(found)}


def tables_of_group(obj: Object) -> list[Object]:
    """The tables of a group, each under the name of the group and its own."""
    group = text(obj, "name")
    found: list[Object] = []
    for place, each in enumerate(objects(obj, "tables"), 1):
        name = f"{group}: {text(each, 'caption', 'name') or place}"
        common = {key: obj[key] for key in ("source", "page") if key in obj}
        found.append({**common, **each, **_of_results(each), "name": name, "caption": "", "_group": group})
    return found


def _of_results(table: Object) -> dict[str, object]:
    """The columns and rows of a table of random encounters, which is a list of results with their rolls."""
    results = objects(table, "table")
    if not results:
        return {}
    rolls = ({"type": "cell", "roll": {key: each.get(key) for key in ("min", "max")}} for each in results)
    rows = [[roll, each.get("result")] for roll, each in zip(rolls, results, strict=True)]
    return {"colLabels": [text(table, "diceExpression"), "Result"], "rows": rows}


# --- adventures and books -------------------------------------------------------------------------------------------

LONG_SECTION = 12_000
"""A section whose text has more characters is divided into those within it."""

MAX_DIVISIONS = 5
"""Most times that a section is divided into smaller ones."""

MAX_LEVELS = 60
"""Most levels of entries in which texts to read aloud are looked for."""

READ_ALOUD = "insetReadaloud"


@dataclass(frozen=True)
class Chapter:
    """A part of an adventure or a book.

    Attributes:
        kind: of the entry: "section" or "read-aloud".
        name: its heading.
        path: names of the adventure and of the sections that it is in, its own included.
        data: of the entry.
        is_secret: whether it is for the game master only.
    """

    kind: str
    name: str
    path: tuple[str, ...]
    data: Data
    is_secret: bool = True


def overview(subject: Subject) -> Data:
    """What the index of an adventure or a book says."""
    level = mapping(subject.obj, "level")
    ends = [text(level.get(key)) for key in ("start", "end") if text(level.get(key))]
    chapters = [
        f"- {name}" for each in objects(subject.obj, "contents") if (name := subject.reader.plain(each, "name"))
    ]
    return {
        "desc": "\n".join(chapters),
        "storyline": subject.words("storyline"),
        "levels": "–".join(ends),
        **subject.stated("values of adventures"),
    }


def chapters(subject: Subject, entries: object) -> Iterator[Chapter]:
    """The sections of an adventure or a book, and the texts in it that are read aloud."""
    spoken = 0
    for place, entry in enumerate(listed(entries), 1):
        section = mapping(entry) or {"entries": [entry]}
        yield from _sections(subject, section, place, (subject.name,), 0)
        for found in _read_aloud(section, 0):
            spoken += 1
            own = subject.reader.plain(found, "name")
            name = own or f"Read-aloud text {spoken}"
            desc = subject.writer.markdown([found.get("entries")])
            data = without_empty({"parent": subject.name, "desc": desc})
            if desc:
                yield Chapter(
                    "read-aloud", name, (subject.name, f"{name} {spoken}" if own else name), data, is_secret=False
                )


def _sections(subject: Subject, section: Object, place: int, path: tuple[str, ...], level: int) -> Iterator[Chapter]:
    """A section as one entry; a long one as an entry for each named part, and one for what stands before them."""
    name = subject.reader.plain(section, "name") or f"Part {place}"
    own_path = (*path, name)
    children = [each for key in CHILDREN for each in listed(section.get(key))]
    words = subject.writer.markdown(children, headings=2)
    inner = [
        each for each in children if isinstance(each, Mapping) and each.get("name") and each.get("type") in _DIVIDED
    ]
    if len(words) > LONG_SECTION and inner and level < MAX_DIVISIONS:
        divided = set(map(id, inner))
        words = subject.writer.markdown([each for each in children if id(each) not in divided], headings=2)
        for number, part in enumerate(inner, 1):
            yield from _sections(subject, part, number, own_path, level + 1)
    if words:
        yield Chapter("section", name, own_path, {"parent": " > ".join(path), "desc": words})


_DIVIDED = ("section", "entries")


def _read_aloud(entry: object, level: int) -> Iterator[Object]:
    """The texts to read aloud in an entry."""
    if level > MAX_LEVELS:
        return
    if isinstance(entry, list):
        for each in entry:
            yield from _read_aloud(each, level + 1)
    elif isinstance(entry, Mapping):
        if entry.get("type") == READ_ALOUD:
            yield entry
            return
        for key in (*CHILDREN, "rows", "tables"):
            yield from _read_aloud(entry.get(key), level + 1)
