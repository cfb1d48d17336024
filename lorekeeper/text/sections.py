"""The prose of an entry: cleaned, section by section, in reading order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lorekeeper.audience import GM_PART
from lorekeeper.entities import MAX_TEXT_LENGTH, Entity
from lorekeeper.text.cleaning import clean
from lorekeeper.text.notes import note_prose, said

TEXT_KEYS = (
    ("desc", ""),
    ("description", ""),
    ("descriptions", ""),
    ("content", ""),
    ("prerequisite", "Prerequisite"),
    ("higher_level", "At higher levels"),
    ("reaction_condition", "Reaction"),
    ("asi_desc", ""),
    ("speed_desc", ""),
    ("vision", ""),
    ("skill_proficiencies", "Skill proficiencies"),
    ("feature_desc", "Feature"),
    ("suggested_characteristics", ""),
    ("effects_desc", ""),
    ("special_abilities", ""),
    ("benefits", ""),
    ("features", ""),
    ("traits", ""),
    ("actions", ""),
    ("bonus_actions", ""),
    ("reactions", ""),
    ("legendary_desc", "Legendary actions"),
    ("legendary_actions", ""),
    ("weapon", ""),
    ("properties", ""),
    ("prepared", "Can cast"),
    (GM_PART, "For the game master"),
)
"""The keys under which sources keep prose, in reading order, and the heading if the source gives none."""


class Section(NamedTuple):
    """A stretch of an entry's prose under one heading ("" for its main text)."""

    heading: str
    text: str

    def __str__(self) -> str:
        return f"{self.heading}: {self.text}" if self.heading else self.text


def sections(entity: Entity) -> Iterator[Section]:
    """All prose of an entry, section by section, in reading order; empty sections are left out.

    A note begins with its aliases and facts; its headings are paths.
    """
    for heading, text in written(entity):
        if cleaned := clean(text):
            yield Section(heading, cleaned)


def written(entity: Entity) -> Iterator[Section]:
    """The same as it is written: with its markup, and sections that may be empty without it."""
    if entity.type == "notes":
        yield Section("", said(entity))
        yield from itertools.starmap(Section, note_prose(entity))
    declared = entity.collection.text
    if callable(declared):
        yield Section("", declared(entity.data))
        return
    for key, heading in _headed(declared) if declared else TEXT_KEYS:
        if value := entity.data.get(key):
            names = declared and isinstance(value, list) and all(isinstance(each, str) for each in value)
            yield from _sections_of(", ".join(value) if names else value, heading)
    for key, value in entity.data.items() if entity.type == "creatures" else ():
        if key not in _KNOWN and _is_rubric(value):
            yield from _sections_of(value, "")


_KNOWN = frozenset(key for key, _ in TEXT_KEYS)


def _is_rubric(value: object) -> bool:
    """Whether a value is a list of named texts, such as the lair actions of a creature, or a rubric of the author's own."""
    return isinstance(value, (list, tuple)) and any(
        isinstance(each, Mapping) and {"name", "desc"} <= each.keys() for each in value
    )


def _headed(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The keys that a type declares, each with a heading; the first one has the main text."""
    usual = dict(TEXT_KEYS)
    for place, key in enumerate(keys):
        yield key, "" if place == 0 else usual.get(key, key.replace("_", " ").capitalize())


def full_text(entity: Entity) -> str:
    """All prose of an entry in one string, a section a paragraph."""
    return "\n".join(map(str, sections(entity)))


def _sections_of(value: Any, heading: str) -> Iterator[Section]:
    """The sections in a value of an entry's JSON, which may have any shape."""
    match value:
        case str():
            yield Section(heading, value)
        case list() | tuple() if value and all(isinstance(item, str) for item in value):
            yield from _sections_of("\n".join(value), heading)
        case list() | tuple():
            for item in value:
                yield from _sections_of(item, heading)
        case Mapping():
            yield from _titled(value, heading)


def _titled(value: Mapping[str, Any], heading: str) -> Iterator[Section]:
    """The sections in an object: a trait, an action, or the property of a weapon, under its name."""
    nested = value.get("property")
    inner: Mapping[str, Any] = nested if isinstance(nested, Mapping) else value
    title = inner.get("name")
    if isinstance(title, str) and title:
        heading = clean(title[:MAX_TEXT_LENGTH])
    for key in ("desc", "description", "properties"):
        if part := inner.get(key):
            yield from _sections_of(part, heading)
