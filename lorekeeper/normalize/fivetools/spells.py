"""Spells of 5etools in the shape in which spells are kept, and the filter values of that shape."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lorekeeper.normalize import spells
from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import (
    Data,
    Object,
    at,
    capital,
    commas,
    listed,
    mapping,
    number,
    objects,
    paragraphs,
    text,
    texts,
    title,
    word,
)
from lorekeeper.records.values import feet

AREAS = frozenset("radius sphere cone line cube hemisphere cylinder emanation".split())
"""Types of a range that is the caster's own place, with an area around it."""

_LENGTHS = ("feet", "miles", "yards")

_LENGTH = re.compile(r"\b(?:feet|foot|ft|miles?|self|touch)\b", re.IGNORECASE)
_TEXT_COMPONENTS = re.compile(r"(?P<letters>[VSMRvsmr, ]+?)\s*(?:\((?P<material>.*)\))?", re.DOTALL)
_HEADED = re.compile(r"^\*\*At Higher Levels\.?\*\*\s*")


def spell(subject: Subject) -> Data:
    """A spell in the shape in which spells are kept."""
    obj = subject.obj
    level, times = number(obj, "level"), objects(obj, "time")
    is_ritual = at(obj, "meta.ritual") is True
    conditions = (subject.reader.plain(each, "condition") for each in times)
    durations = objects(obj, "duration")
    duration = " or ".join(filter(None, map(_duration, durations))) if durations else subject.names("duration")
    concentration = any(each.get("concentration") is True for each in durations) or "concentration" in duration.lower()
    return {
        "level": level if level is not None else subject.words("level"),
        "school": subject.word("schools", subject.words("school")).lower(),
        "subschools": [subject.word("schools", code).lower() for code in texts(obj, "subschools")],
        "casting_time": " or ".join(filter(None, map(_time, times))) if times else subject.names("time"),
        "reaction_condition": next(filter(None, conditions), ""),
        **_range(subject),
        **_components(subject),
        "duration": duration,
        "concentration": concentration if durations or duration else None,
        "ritual": is_ritual if is_ritual or obj.get("time") else None,  # it may lack more than its casting time
        "desc": paragraphs(subject.prose("entries"), subject.fluff()),
        "higher_level": _HEADED.sub("", subject.prose("entriesHigherLevel")) or _scaling(obj),
        **_classes(obj.get("classes")),
        **subject.stated("values of spells"),
    }


def _counted(count: float, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 or unit.endswith('s') else 's'}"


def _time(time: Object) -> str:
    unit = text(time, "unit")
    return _counted(number(time, "number") or 1, "bonus action" if unit == "bonus" else unit) if unit else ""


def _duration(duration: Object) -> str:
    kind, amount = text(duration, "type"), number(duration, "duration.amount")
    ends = joined((word("ends", each) for each in texts(duration, "ends")), "or")
    if kind == "permanent":
        return f"until {ends}" if ends else kind
    if kind != "timed" or amount is None:
        return "" if kind == "timed" else word("units", kind)
    is_most = duration.get("concentration") is True or at(duration, "duration.upTo") is True
    return f"{'up to ' if is_most else ''}{_counted(amount, text(duration, 'duration.type'))}"


def _range(subject: Subject) -> Data:
    """The range in words, in feet where it has such a length, and the area around the caster."""
    value = subject.obj.get("range")
    if not isinstance(value, Mapping):
        return {"range_text": subject.words("range")}
    kind, amount = text(value, "type"), number(value, "distance.amount")
    unit = subject.word("lengths", text(value, "distance.type"))
    length = None if amount is None else feet(f"{amount}", unit)
    if kind in AREAS:
        told = f"{amount}-{word('lengths', unit)} " if amount is not None else ""
        size = {
            "shape_type": "sphere" if kind == "radius" else kind,
            "shape_size": length if unit in _LENGTHS else None,
        }
        return {"range_text": f"Self ({told}{kind})", "range": 0, **size}
    if kind == "special" or not (kind and unit) or (amount is None and unit in _LENGTHS):
        return {"range_text": "Special" if kind == "special" else ""}
    if unit in word["distances"]:
        return {"range_text": word("distances", unit), "range": 0 if unit in ("self", "touch") else None}
    named = word("lengths", unit) if amount == 1 else unit
    return {"range_text": f"{text(amount)} {named}".strip(), "range": length}


def _components(subject: Subject) -> Data:
    value = subject.obj.get("components")
    if isinstance(value, str):
        match = _TEXT_COMPONENTS.fullmatch(value.strip())
        letters = match["letters"].upper() if match else ""
        flags = {name: name[0].upper() in letters for name in ("verbal", "somatic", "material")} if letters else {}
        return {**flags, "material_specified": (match["material"] or "") if match else value}
    found = mapping(value)
    if not found:
        return {}
    material, copper, consume = found.get("m"), number(value, "m.cost"), at(value, "m.consume")
    return {
        "verbal": found.get("v") is True,
        "somatic": found.get("s") is True,
        "material": material is not None and material is not False,
        "royalty": True if found.get("r") else None,
        "material_specified": subject.reader.plain(value, "m.text", "m"),
        "material_cost": None if copper is None else copper / 100,
        "material_consumed": consume if isinstance(consume, bool) else None,
        "material_may_be_consumed": consume == "optional" or None,
    }


def _scaling(obj: Object) -> str:
    """What a spell does at higher levels, by the dice that its damage grows to."""
    rows = []
    for scaling in objects(obj, "scalingLevelDice"):
        steps = ", ".join(f"{text(dice)} at level {level}" for level, dice in mapping(scaling, "scaling").items())
        label = capital(text(scaling, "label"))
        rows.append(f"{label}: {steps}." if label else f"{steps}.")
    return "\n\n".join(row for row in rows if len(row) > 1)


def _classes(value: object) -> Data:
    """Classes that have it on their list, and subclasses that have it besides."""
    if isinstance(value, str):
        return {"classes": [name.strip() for name in value.split(",") if name.strip()]}
    entries = (each for key in ("fromClassList", "fromClassListVariant") for each in listed(value, key))
    names = filter(None, (text(each, "name") or text(each) for each in entries))
    subclasses = (
        f"{title(text(each, 'class.name'))} ({text(each, 'subclass.name', 'subclass.shortName')})"
        for each in objects(value, "fromSubclass")
    )
    return {"classes": list(dict.fromkeys(names)), "archetype": commas(*dict.fromkeys(subclasses))}


def fields(data: Object) -> Data:
    """The raw filter values of a spell that `spell` has made. What the file lists beside its text counts."""
    derived = spells.read(data)
    stated, told = data.get("material_consumed"), text(data, "range_text")
    consumed = stated if isinstance(stated, bool) else derived["material_consumed"]
    return {
        **derived,
        "material_consumed": None if data.get("material_may_be_consumed") else consumed,
        "range": feet(told) if derived["range"] is None and _LENGTH.search(told) else derived["range"],
        "level": derived["level"] if isinstance(derived["level"], int) else None,
    }
