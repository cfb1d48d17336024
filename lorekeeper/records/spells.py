"""Spells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lorekeeper.records.parts import Area, Distance, Duration, Material
from lorekeeper.records.values import (
    Source,
    feet,
    flag,
    is_true,
    length,
    line,
    listed,
    local_key,
    mapping,
    names,
    number,
    stated,
)

COMPONENTS = {"verbal": "V", "somatic": "S", "material": "M"}

NO_CLASS = frozenset({"ritual caster"})
"""What API v1 lists among classes without being one."""

_SPELT = {"sorceror": "sorcerer"}

_LENGTH = re.compile(r"\b(?:feet|foot|ft|miles?|self|touch)\b|^\d+$", re.IGNORECASE)


@dataclass(frozen=True)
class Spell:
    """A spell, as its source says it. "" and None stand for what is not known.

    Attributes:
        level: 0 of a cantrip.
        level_text: the level of a source that has no number.
        school: "evocation".
        classes: those on whose lists it is.
        ritual: whether it can be cast as a ritual.
        casting_time: "1 action", "10 minutes"; with the trigger of a reaction, unless that is in `trigger`.
        trigger: when a reaction is cast.
        components: initials or names: "V".
        text: what it does.
        higher_levels: what it does when it is cast with a higher slot, or by a character of a higher level.
        figures: `text` in short lines, of the starter.
        saves, damage_types, conditions: what it forces, deals and inflicts, as the source lists it apart from the text.
    """

    level: int | None = None
    level_text: str = ""
    school: str = ""
    classes: tuple[str, ...] = ()
    ritual: bool | None = None
    casting_time: str = ""
    trigger: str = ""
    range: Distance = field(default_factory=Distance)
    area: Area = field(default_factory=Area)
    components: tuple[str, ...] = ()
    material: Material = field(default_factory=Material)
    duration: Duration = field(default_factory=Duration)
    text: str = ""
    higher_levels: str = ""
    figures: str = ""
    saves: tuple[str, ...] = ()
    damage_types: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()


def spell(source: Source) -> Spell:
    """A spell of any source."""
    level, school = source.value("level_int", "level"), source.value("school")
    rank, components = number(level), source.value("components")
    is_whole = rank is not None and rank.is_integer()
    return Spell(
        **stated(source, "spell"),
        level=int(rank) if rank is not None and is_whole else None,
        level_text="" if is_whole else line(level),
        school=(local_key(school) or "" if isinstance(school, str) else line(school)).lower(),
        classes=_classes(source),
        ritual=flag(source.raw("ritual")),
        range=range_of(source),
        area=Area(source.line("shape_type", "area"), source.number("shape_size", "area_size")),
        components=_components(source, components),
        material=Material(
            line(mapping(components).get("material-component"))
            or source.line("material_specified", "material_text")
            or _unless_flag(source.raw("material")),
            source.number("material_cost"),
            flag(source.raw("material_consumed")),
        ),
        duration=duration_of(source),
        saves=_stated(source, "saving_throw_ability", "saving_throw"),
        damage_types=_stated(source, "damage_types"),
        conditions=_stated(source, "conditions"),
    )


def _classes(source: Source) -> tuple[str, ...]:
    found = names(source.value("classes", "dnd_class", "spell_lists"))
    return tuple(_SPELT.get(name.lower(), name) for name in found if name.lower() not in NO_CLASS)


def _unless_flag(value: object) -> str:
    return "" if isinstance(value, bool) or is_true(value) else line(value)


def _stated(source: Source, *keys: str) -> tuple[str, ...]:
    """Values that are in the text too: they are listed where no page has another line for them."""
    return tuple(name.lower() for each in listed(source.peek(*keys)) if (name := local_key(each)))


def range_of(source: Source) -> Distance:
    """The range of a spell: for "Sight" Open5e has 2,020 feet or 0."""
    value, words = source.value("range"), source.line("range_text")
    said, stated = words or (value if isinstance(value, str) else ""), number(value)
    if said and not _LENGTH.search(said) and length(said) is None:
        return Distance(said, None, stated)
    return Distance(said, None if value is None else feet(value, source.peek("range_unit")), stated)


def _components(source: Source, value: object) -> tuple[str, ...]:
    chosen = mapping(value)
    if value and not chosen:
        return names(value)
    return tuple(letter for key, letter in COMPONENTS.items() if source.flag(key) or is_true(chosen.get(key)))


def duration_of(source: Source) -> Duration:
    """How long a spell lasts."""
    said = source.line("duration")
    stated = [flag(source.raw(key)) for key in ("concentration", "requires_concentration")]
    if "concentration" in said.casefold() or True in stated:
        return Duration(said, True)
    return Duration(said, False if False in stated else None)
