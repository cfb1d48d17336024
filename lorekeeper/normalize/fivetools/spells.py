"""Spells of 5etools in the shape in which spells are kept, and the filter values of that shape."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lorekeeper.normalize import spells
from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import Object, listed, mapping, number, objects, text, texts, title
from lorekeeper.records.values import feet

SCHOOLS = {
    "A": "abjuration",
    "C": "conjuration",
    "D": "divination",
    "E": "enchantment",
    "V": "evocation",
    "I": "illusion",
    "N": "necromancy",
    "T": "transmutation",
    "P": "psionic",
}

TIMES = {"bonus": "bonus action"}
"""Units of casting times that have another name in the books."""

AREAS = ("radius", "sphere", "cone", "line", "cube", "hemisphere", "cylinder", "emanation")
"""Types of a range that is the caster's own place, with an area around it."""

DISTANCES = {
    "self": "Self",
    "touch": "Touch",
    "sight": "Sight",
    "unlimited": "Unlimited",
    "plane": "Unlimited on the same plane",
}

ENDS = {"dispel": "dispelled", "trigger": "triggered", "discharge": "discharged"}

_LENGTHS = ("feet", "miles", "yards")

_LENGTH = re.compile(r"\b(?:feet|foot|ft|miles?|self|touch)\b", re.IGNORECASE)
_SINGULAR = {"feet": "foot", "miles": "mile"}
_TEXT_COMPONENTS = re.compile(r"(?P<letters>[VSMRvsmr, ]+?)\s*(?:\((?P<material>.*)\))?", re.DOTALL)


def spell(subject: Subject) -> Data:
    """A spell in the shape in which spells are kept."""
    obj = subject.obj
    level = number(obj.get("level"))
    return without_empty(
        {
            "level": level if level is not None else subject.words("level"),
            "school": _school(subject),
            "subschools": [_school_name(subject, code) for code in texts(obj.get("subschools"))],
            **_times(subject),
            **_range(subject),
            **_components(subject),
            **_duration(subject),
            "ritual": _ritual(obj),
            "desc": "\n\n".join(filter(None, (subject.prose("entries"), subject.fluff()))),
            "higher_level": _higher(subject),
            **_classes(obj.get("classes")),
            "damage_types": texts(obj.get("damageInflict")),
            "saving_throw_ability": texts(obj.get("savingThrow")),
            "conditions": texts(obj.get("conditionInflict")),
        }
    )


def _ritual(obj: Object) -> bool | None:
    """Whether it is a ritual; unknown of a spell that lacks its casting time, and so perhaps more."""
    is_ritual = mapping(obj.get("meta")).get("ritual") is True
    return is_ritual if is_ritual or obj.get("time") else None


def _school(subject: Subject) -> str:
    return _school_name(subject, subject.words("school"))


def _school_name(subject: Subject, code: str) -> str:
    """The name of a school by its code in the file, its letter, or as it is."""
    return (subject.codes.schools.get(code) or SCHOOLS.get(code.upper()) or code).lower()


def _times(subject: Subject) -> Data:
    """The casting times, and the trigger of a reaction."""
    times = objects(subject.value("time"))
    if not times:
        return {"casting_time": subject.names("time")}
    condition = next((found for each in times if (found := subject.reader.plain(text(each.get("condition"))))), "")
    return {"casting_time": " or ".join(filter(None, map(_time, times))), "reaction_condition": condition}


def _time(time: Object) -> str:
    count, unit = number(time.get("number")) or 1, text(time.get("unit"))
    return f"{text(count)} {TIMES.get(unit, unit)}{'s' if count != 1 else ''}" if unit else ""


# --- range -----------------------------------------------------------------------------------------------------------


def _range(subject: Subject) -> Data:
    """The range in words, in feet where it has such a length, and the area around the caster."""
    value = subject.value("range")
    if not isinstance(value, Mapping):
        return {"range_text": subject.words("range")}
    kind, distance = text(value.get("type")), mapping(value.get("distance"))
    unit, amount = text(distance.get("type")), number(distance.get("amount"))
    named = subject.codes.units.get(unit, unit)
    if kind in AREAS:
        return _area(kind, named, amount)
    if kind in ("special", "") or not unit:
        return {"range_text": "Special" if kind == "special" else ""}
    if amount is None and named in _LENGTHS:
        return {"range_text": ""}
    if unit in DISTANCES:
        return {"range_text": DISTANCES[unit], "range": 0 if unit in ("self", "touch") else None}
    return {
        "range_text": f"{text(amount)} {_SINGULAR.get(named, named) if amount == 1 else named}"
        if amount is not None
        else named,
        "range": _feet(amount, named),
    }


def _feet(amount: float | None, unit: str) -> float | None:
    """A length in feet, None if it is none."""
    if amount is None:
        return None
    return amount * 3 if unit == "yards" else feet(text(amount), unit)


def _area(shape: str, unit: str, size: float | None) -> Data:
    """A range that is an area around the caster: "Self (60-foot cone)"."""
    told = f"{text(size)}-{_SINGULAR.get(unit, unit)}" if size is not None else ""
    is_length = unit in _LENGTHS
    return {
        "range_text": f"Self ({f'{told} ' if told else ''}{shape})",
        "range": 0,
        "shape_type": {"radius": "sphere"}.get(shape, shape),
        "shape_size": _feet(size, unit) if is_length else None,
    }


# --- components ------------------------------------------------------------------------------------------------------


def _components(subject: Subject) -> Data:
    value = subject.value("components")
    if isinstance(value, str):
        return _components_of_text(value)
    found = mapping(value)
    if not found:
        return {}
    material = found.get("m")
    details = mapping(material)
    words = subject.reader.plain(text(details.get("text")) if details else text(material))
    copper = number(details.get("cost"))
    consume = details.get("consume")
    return {
        "verbal": found.get("v") is True,
        "somatic": found.get("s") is True,
        "material": material is not None and material is not False,
        "royalty": True if found.get("r") else None,
        "material_specified": words,
        "material_cost": None if copper is None else copper / 100,
        "material_consumed": consume if isinstance(consume, bool) else None,
        "material_may_be_consumed": True if consume == "optional" else None,
    }


def _components_of_text(value: str) -> Data:
    match = _TEXT_COMPONENTS.fullmatch(value.strip())
    letters = match["letters"].upper() if match else ""
    flags = {name: name[0].upper() in letters for name in ("verbal", "somatic", "material")} if letters else {}
    return {**flags, "material_specified": (match["material"] or "") if match else value}


# --- duration --------------------------------------------------------------------------------------------------------


def _duration(subject: Subject) -> Data:
    durations = objects(subject.value("duration"))
    if not durations:
        words = subject.names("duration")
        return {"duration": words, "concentration": "concentration" in words.lower() if words else None}
    concentration = any(each.get("concentration") is True for each in durations)
    words = " or ".join(filter(None, map(_one_duration, durations)))
    return {"duration": words, "concentration": concentration}


def _one_duration(duration: Object) -> str:
    kind, length = text(duration.get("type")), mapping(duration.get("duration"))
    ends = [ENDS.get(each, each) for each in texts(duration.get("ends"))]
    if kind == "permanent":
        return f"until {joined(ends, 'or')}" if ends else "permanent"
    if kind != "timed":
        return {"instant": "instantaneous"}.get(kind, kind)
    amount, unit = number(length.get("amount")), text(length.get("type"))
    if amount is None:
        return ""
    plural = "s" if amount != 1 and not unit.endswith("s") else ""
    told = f"{text(amount)} {unit}{plural}".strip()
    return f"up to {told}" if duration.get("concentration") is True or length.get("upTo") is True else told


# --- text and classes ------------------------------------------------------------------------------------------------


def _higher(subject: Subject) -> str:
    """What it does at higher levels: its text, else the dice that its damage grows to."""
    told = re.sub(r"^\*\*At Higher Levels\.?\*\*\s*", "", subject.prose("entriesHigherLevel"))
    if told:
        return told
    rows = []
    for scaling in objects(subject.value("scalingLevelDice")):
        steps = ", ".join(f"{text(dice)} at level {level}" for level, dice in mapping(scaling.get("scaling")).items())
        label = text(scaling.get("label"))
        rows.append(f"{label[:1].upper()}{label[1:]}: {steps}." if label else f"{steps}.")
    return "\n\n".join(row for row in rows if len(row) > 1)


def _classes(value: object) -> Data:
    """Classes that have it on their list, and subclasses that have it besides."""
    if isinstance(value, str):
        return {"classes": [name.strip() for name in value.split(",") if name.strip()]}
    found = mapping(value)
    names = [name for key in ("fromClassList", "fromClassListVariant") for name in _names(found.get(key))]
    subclasses = []
    for each in objects(found.get("fromSubclass")):
        parent, child = mapping(each.get("class")), mapping(each.get("subclass"))
        subclasses.append(
            f"{title(text(parent.get('name')))} ({text(child.get('name')) or text(child.get('shortName'))})"
        )
    return {"classes": list(dict.fromkeys(names)), "archetype": ", ".join(dict.fromkeys(subclasses))}


def _names(value: object) -> list[str]:
    return [name for each in listed(value) if (name := text(mapping(each).get("name")) or text(each))]


# --- fields ----------------------------------------------------------------------------------------------------------


def fields(data: Object) -> dict[str, object]:
    """The raw filter values of a spell that `spell` has made. What the file lists beside its text counts."""
    derived = spells.read(data)
    stated, told = data.get("material_consumed"), text(data.get("range_text"))
    consumed = stated if isinstance(stated, bool) else derived["material_consumed"]
    return {
        **derived,
        "material_consumed": None if data.get("material_may_be_consumed") else consumed,
        "range": feet(told) if derived["range"] is None and _LENGTH.search(told) else derived["range"],
        "level": derived["level"] if isinstance(derived["level"], int) else None,
    }
