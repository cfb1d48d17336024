"""Stat blocks as people write them in notes, in the keys of the plugin Fantasy Statblocks for Obsidian.

Every key may have a value of any shape: what can be read becomes the lines of a stat block, in the keys of Open5e's API v1,
and the rest is a problem with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import islice

from lorekeeper.normalize.reading import Words
from lorekeeper.printable import one_line, shown
from lorekeeper.records.values import first_number
from lorekeeper.terms import ABILITIES, SENSES

Feature = dict[str, str]
"""A trait or an action: ``{"name", "desc"}``."""

RUBRICS = (
    "traits",
    "actions",
    "bonus_actions",
    "reactions",
    "legendary_actions",
    "mythic_actions",
    "lair_actions",
    "regional_effects",
)
"""The lists of features."""

MAX_DEPTH = 6
"""Most levels of a value that are read: aliases of YAML can make a list contain itself."""

MAX_ITEMS = 500
"""Most items of a list, or keys of an object, that are read."""

LARGEST = 10**9
"""Largest number that a stat block may have."""

_LINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
"""A link to another note; what is shown of it is its group."""

_BRACKETS = re.compile(r"\d[\d,.]*\s*\(?([^()]*)\)?")
_DICE = re.compile(r"\d{1,4}d\d{1,4}(?: ?[+\u2212-] ?\d{1,5})?", re.IGNORECASE)
_BONUS = re.compile(r"(.*?)\s*([+-]?\d{1,9})")


@dataclass
class Block:
    """What a stat block says.

    Attributes:
        values: lines, numbers and lists of features, by key of Open5e's API v1.
        additions: features that come after those of the creature it changes, by rubric.
        spellcasting: the trait that its ``spells`` are, None without.
        problems: what could not be read: the key, and why.
    """

    values: dict[str, object] = field(default_factory=dict)
    additions: dict[str, list[Feature]] = field(default_factory=dict)
    spellcasting: Feature | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def touched(self) -> set[str]:
        """The keys that it says something about."""
        return {*self.values, *self.additions, *(["traits"] if self.spellcasting else [])}


Values = dict[str, object]

Reader = Callable[[object], Values]
"""Reads the value of a key; ValueError, with the reason, if that cannot be done."""


_OTHER_GAMES = re.compile(
    r"pathfinder|starfinder|pf ?[12]e?\b|path ?[12]e|daggerheart|13th age|shadowdark|draw steel", re.IGNORECASE
)


def of_other_game(values: Mapping[str, object]) -> str:
    """Why a stat block is of no game that is read, by its layout; "" if nothing says so."""
    layout = line(values.get("layout"))
    return (
        f"its layout {shown(layout, 60)} is of another game, which is not read" if _OTHER_GAMES.search(layout) else ""
    )


def read_block(values: Mapping[str, object]) -> Block:
    """What the values of a stat block say, by its keys; it never raises."""
    block = Block()
    for key, value in islice(values.items(), MAX_ITEMS):
        name = re.sub(r"[\s-]+", "_", str(key).strip().lower())
        if _is_empty(value) or name in IGNORED:
            continue
        try:
            _take(block, name, value)
        except ValueError as error:
            block.problems.append(f"{one_line(str(key), 50)}: {error}")
    return block


_SPELLS = re.compile(r"spells_?\d{0,2}")
"""Keys of lists of spells: whoever has several numbers them."""


def _take(block: Block, key: str, value: object) -> None:
    rubric = _RENAMED.get(key.removesuffix("+"), key.removesuffix("+"))
    if _SPELLS.fullmatch(key):
        told = [block.spellcasting["desc"]] if block.spellcasting else []
        block.spellcasting = {"name": "Spellcasting", "desc": "\n\n".join([*told, _spell_lines(value)])}
    elif rubric not in RUBRICS and not (key not in READERS and key not in RESERVED and _is_rubric(value)):
        block.values |= READERS.get(key, _other(key))(value)
    else:
        features, left_out = _features(value)
        (block.additions if key.endswith("+") else block.values)[rubric] = features
        if left_out:
            block.problems.append(f"{key}: {left_out} of its entries have neither name nor text")


# --- texts -----------------------------------------------------------------------------------------------------------


def line(value: object, depth: int = 0) -> str:
    """A value in one line: lists with commas, objects with their keys; "" for what says nothing."""
    match value:
        case bool():
            return "yes" if value else ""
        case str():
            return " ".join(one_line(_LINK.sub(r"\1", value)).split())
        case int() if abs(value) > LARGEST:
            return ""
        case int() | float() | date():
            return f"{value}"
        case _ if depth > MAX_DEPTH:
            return ""
        case Mapping():
            pairs = ((line(key, depth + 1), line(item, depth + 1)) for key, item in islice(value.items(), MAX_ITEMS))
            return ", ".join(f"{key} {item}".strip() for key, item in pairs if item)
    return ", ".join(part for part in (line(item, depth + 1) for item in _items(value)) if part)


def text(value: object) -> str:
    """A value as a text that may have several lines: the items of a list are paragraphs."""
    if isinstance(value, str):
        return _LINK.sub(r"\1", value).strip()
    if isinstance(value, (list, tuple)) and all(isinstance(item, (str, int, float)) for item in value):
        return "\n\n".join(filter(None, map(text, islice(value, MAX_ITEMS))))
    return line(value)


def _items(value: object) -> Iterator[object]:
    """The items of a list; a set's in order."""
    if isinstance(value, (list, tuple)):
        return islice(iter(value), MAX_ITEMS)
    return iter(sorted(value, key=str)) if isinstance(value, (set, frozenset)) else iter(())


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, (str, list, tuple, Mapping, set)) and not value)


def _said(value: object, told: str) -> str:
    if not told:
        raise ValueError(f"{shown(value)} is not a text")
    return told


def _line_of(key: str) -> Reader:
    return lambda value: {key: _said(value, line(value))}


def _text_of(key: str) -> Reader:
    return lambda value: {key: _said(value, text(value))}


def _other(key: str) -> Reader:
    """A key that the plugin does not know, such as one of a layout of the user's own."""
    return _line_of(key) if re.fullmatch(r"\w{1,60}", key) and key not in RESERVED else lambda _: {}


# --- numbers ---------------------------------------------------------------------------------------------------------


def _number(value: object) -> float:
    found = first_number(value) if isinstance(value, (int, float, str)) else first_number(line(value))
    if found is None or not abs(found) <= LARGEST:  # neither is "not a number"
        raise ValueError(f"there is no number in {shown(value)}")
    return int(found) if found == int(found) else found


def _whole(value: object) -> int:
    found = _number(value)
    if isinstance(found, float):
        raise ValueError(f"{shown(value)} is not a whole number")
    return int(found)


def _armor_class(value: object) -> Values:
    """ "15 (natural armor)" is 15, with what it comes from."""
    detail = _BRACKETS.search(line(value))
    told = detail[1].strip() if detail else ""
    return {"armor_class": _whole(value), **({"armor_desc": told} if told else {})}


def _hit_points(value: object) -> Values:
    """ "45 (6d10 + 12)" is 45, with its dice; dice alone have no points."""
    told = line(value)
    dice = _DICE.search(told)
    points = {} if dice and told.lstrip("(").startswith(dice[0]) else {"hit_points": _whole(value)}
    return {**points, **({"hit_dice": dice[0].replace("\u2212", "-")} if dice else {})}


def _scores(value: object) -> Values:
    """Six scores in the order of the rules, or some by their names; a dash is one that is not known."""
    if isinstance(value, Mapping):
        named = {str(key)[:3].lower(): score for key, score in value.items()}
        given = [(ability, named.get(ability[:3])) for ability in ABILITIES]
    else:
        scores = list(_items(value)) or re.split(r"[,/\s]+", line(value))
        if len(scores) != len(ABILITIES):
            raise ValueError(f"it must be six numbers, not {shown(value)}")
        given = list(zip(ABILITIES, scores, strict=True))
    known = {ability: _whole(score) for ability, score in given if line(score) not in ("", "-", "–", "—")}
    return {"ability_scores": known} if known else {}


def _bonuses(key: str) -> Reader:
    """Names with bonuses: a text, an object, or a list of objects with one key each, or with a name and a text."""

    def read(value: object) -> Values:
        pairs = dict(_pairs(value))
        return {key: {name: _whole(bonus) for name, bonus in pairs.items()} if pairs else _said(value, line(value))}

    return read


def _pairs(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        named = {"name", "desc"} <= value.keys()
        pairs = [(value["name"], value["desc"])] if named else list(value.items())
        yield from ((line(name), bonus) for name, bonus in islice(pairs, MAX_ITEMS) if line(name))
    for item in _items(value):
        if isinstance(item, Mapping):
            yield from _pairs(item)
        elif isinstance(item, str) and (match := _BONUS.fullmatch(line(item))) and match[1]:
            yield match[1], match[2]


# --- movement, senses ------------------------------------------------------------------------------------------------


_FEET = re.compile(r"(\d{1,4})(?: (walk|burrow|climb|fly|swim))?\b", re.IGNORECASE)
"""A speed that leaves out its unit."""


def _speed(value: object) -> Values:
    """A line such as "30 ft., fly 60 ft. (hover)", also of numbers by kind of movement."""
    if isinstance(value, Mapping):
        hover = " (hover)" if value.get("hover") else ""
        parts = [_one_speed(line(kind), speed, hover) for kind, speed in islice(value.items(), MAX_ITEMS)]
        return {"speed": _said(value, ", ".join(sorted(filter(None, parts), key=lambda part: not part[0].isdigit())))}
    told = line(value)
    moves = _FEET.finditer(told) if not _FEET.sub("", told).strip(" ,") else ()
    return {"speed": _said(value, ", ".join(f"{each[2] or ''} {each[1]} ft.".strip() for each in moves) or told)}


def _one_speed(kind: str, value: object, hover: str) -> str:
    if kind in ("hover", "unit", "") or _is_empty(value):
        return ""
    told = line(value)
    feet = f"{told} ft." if re.fullmatch(r"[\d.]{1,6}", told) else told
    return feet if kind == "walk" else f"{kind} {feet}{hover if kind == 'fly' else ''}"


def _senses(value: object) -> Values:
    """A line such as "darkvision 60 ft., passive Perception 12", also of numbers by sense."""
    if not isinstance(value, Mapping):
        return {"senses": _said(value, line(value))}
    parts = ((line(key).replace("_", " "), line(item)) for key, item in islice(value.items(), MAX_ITEMS))
    told = [f"{name} {item} ft." if item.isdigit() and name in SENSES else f"{name} {item}" for name, item in parts]
    return {"senses": _said(value, ", ".join(told))}


def _environments(value: object) -> Values:
    names = [line(item) for item in _items(value)] or line(value).split(",")
    return {"environments": [name.strip() for name in names if name.strip()]}


# --- features --------------------------------------------------------------------------------------------------------


def _features(value: object) -> tuple[list[Feature], int]:
    """The features of a list or an object, and how many of its entries are none."""
    entries = [value] if isinstance(value, str) or _is_feature(value) else list(_items(value))
    if isinstance(value, Mapping) and not entries:
        entries = [list(pair) for pair in islice(value.items(), MAX_ITEMS)]
    found = [feature for entry in entries for feature in _named_texts(entry)]
    features = [feature for feature in found if feature["name"] or feature["desc"]]
    return features, len(found) - len(features) + (not entries)


def _is_rubric(value: object) -> bool:
    """Whether a value is a list of named texts: a rubric, whatever its author calls it."""
    entries = list(_items(value))
    named = (isinstance(each, Mapping) and each.get("name") and any(key in each for key in _TEXTS) for each in entries)
    return bool(entries) and all(named)


_TEXTS = ("desc", "description", "text", "entries", "content")


def _is_feature(value: object) -> bool:
    return isinstance(value, Mapping) and ("name" in value or any(key in value for key in _TEXTS))


def _named_texts(entry: object) -> Iterator[Feature]:
    """The features of an entry: ``{"name", "desc"}``, ``[name, text]``, ``{name: text}`` or a text without a name."""
    if isinstance(entry, Mapping) and not _is_feature(entry):
        for name, value in islice(entry.items(), MAX_ITEMS):
            yield {"name": line(name), "desc": text(value)}
    elif isinstance(entry, Mapping):
        told = next((entry[key] for key in _TEXTS if not _is_empty(entry.get(key))), "")
        yield {"name": line(entry.get("name")), "desc": text(told)}
    elif isinstance(entry, (list, tuple)) and len(entry) > 1:
        yield {"name": line(entry[0]), "desc": text(list(entry[1:]))}
    else:
        yield {"name": "", "desc": text(entry)}


def _spell_lines(value: object) -> str:
    """The spells: texts, and lists of spells by what they cost, as ``{"1st level (4 slots)": "shield"}``."""
    entries = [value] if isinstance(value, Mapping) else list(_items(value)) or [value]
    rows: list[str] = []
    for entry in entries:
        if isinstance(entry, Mapping):
            rows += [f"- {line(label)}: {line(spells)}" for label, spells in islice(entry.items(), MAX_ITEMS)]
        else:
            rows.append(text(entry))
    return _said(value, "\n".join(row for row in rows if row))


# --- the keys --------------------------------------------------------------------------------------------------------

_READ: dict[str, Reader] = {
    "armor_class": _armor_class,
    "hit_points": _hit_points,
    "challenge_rating": lambda value: {"challenge_rating": _number(value)},
    "ability_scores": _scores,
    "saving_throws": _bonuses("saving_throws"),
    "skills": _bonuses("skills"),
    "speed": _speed,
    "senses": _senses,
    "environments": _environments,
    "desc": _text_of("desc"),
    "legendary_desc": _text_of("legendary_desc"),
}
"""How what is no line is read."""

READERS = {key: _READ.get(said, _line_of(said)) for key, said in Words(__file__)["keys of stat blocks"].items()}
"""How the value of each key is read."""

_RENAMED = {"special_abilities": "traits", "trait": "traits", "action": "actions"}
"""Rubrics under other names."""

IGNORED = frozenset(
    "name monster creature extends layout image columns columnwidth columnheight forcecolumns dice render statblock note "
    "aliases alias tags cssclass cssclasses bestiary publish visibility audience secret fage_stats".split()
)
"""Keys that say how a block is laid out, or what the note says besides."""

RESERVED = frozenset(
    "key slug document document_name collection kind source source_api source_api url uri base base_name note_name mark "
    "note_mark note_audience asked_as resistances_and_immunities abilities".split()
)
"""Keys with a meaning of their own in an entry of the library."""
