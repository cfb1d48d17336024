"""Classes and subclasses of 5etools, with their features by level and the columns of their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.requirements import proficiencies, spells_known
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import (
    Object,
    ability,
    capital,
    listed,
    mapping,
    number,
    objects,
    text,
    title,
)
from lorekeeper.terms import MAX_LEVEL

CASTERS = {"1/2": "half", "1/3": "third", "full": "full", "pact": "pact", "artificer": "half, from level 1"}
"""How much of a spellcaster a class is."""

Feature = dict[str, object]


def character_class(subject: Subject) -> Data:
    """A class: what it starts with, and its features."""
    obj = subject.obj
    start = mapping(obj.get("startingProficiencies"))
    features = list(_features(subject, "classFeature", obj.get("classFeatures")))
    return without_empty(
        {
            "desc": subject.fluff(),
            "primary_abilities": joined((title(ability(code)) for code in _primary(obj)), "or"),
            "hit_die": _hit_die(obj.get("hd")),
            "saving_throws": ", ".join(
                title(ability(code)) for code in listed(obj.get("proficiency")) if ability(code)
            ),
            **{f"prof_{key}": _proficiencies(subject, start.get(key)) for key in _PROFICIENCIES},
            "equipment": _equipment(subject),
            "multiclassing": _multiclassing(obj),
            **_casting(obj),
            "subtypes_name": subject.words("subclassTitle"),
            "features": [*features, *_columns(subject, "classTableGroups")],
        }
    )


_PROFICIENCIES = ("armor", "weapons", "tools", "skills")


def _proficiencies(subject: Subject, value: object) -> str:
    return capital(proficiencies(subject.reader, value).replace("; or ", ", "))


def _primary(obj: Object) -> list[str]:
    return [code for each in objects(obj.get("primaryAbility")) for code in each if ability(code)]


def _hit_die(value: object) -> str:
    faces = number(mapping(value).get("faces"))
    return f"d{text(faces)}" if faces else ""


def _equipment(subject: Subject) -> str:
    start = subject.value("startingEquipment")
    found = mapping(start)
    if not found:
        return subject.prose("startingEquipment")
    choices = "\n".join(f"- {line}" for each in listed(found.get("default")) if (line := subject.writer.line(each)))
    gold = subject.writer.line(found.get("goldAlternative"))
    told = subject.writer.markdown(found.get("entries"))
    return "\n\n".join(filter(None, (choices, told, f"Or {gold} gp to buy equipment with." if gold else "")))


def _multiclassing(obj: Object) -> str:
    """What multiclassing into it asks for."""
    required = mapping(mapping(obj.get("multiclassing")).get("requirements"))
    alternatives = objects(required.get("or"))
    scores = {code: score for each in (alternatives or [required]) for code, score in each.items() if ability(code)}
    return joined(
        (f"{title(ability(code))} {text(score)}" for code, score in scores.items()), "or" if alternatives else "and"
    )


def _casting(obj: Object) -> Data:
    code = text(obj.get("casterProgression"))
    return {
        "spellcasting_ability": title(ability(obj.get("spellcastingAbility"))),
        "caster_type": CASTERS.get(code, code),
    }


def subclass(subject: Subject) -> Data:
    """A subclass: its features."""
    obj = subject.obj
    features = list(_features(subject, "subclassFeature", obj.get("subclassFeatures")))
    return without_empty(
        {
            "subclass_of": subject.words("className"),
            "desc": "\n\n".join(filter(None, (subject.fluff(), subject.prose("entries")))),
            **_casting(obj),
            "spells": ", ".join(dict.fromkeys(spells_known(obj.get("additionalSpells")))),
            "features": [*features, *_columns(subject, "subclassTableGroups", with_bonus=False)],
        }
    )


# --- features --------------------------------------------------------------------------------------------------------


def _features(subject: Subject, kind: str, value: object) -> Iterator[Feature]:
    """Features, each with the level at which it is had: named by uid, or, in old files, nested in a list for each level."""
    for place, each in enumerate(listed(value), 1):
        if isinstance(each, list):
            yield from ({**subject.writer.named(old), "gained_at": [{"level": place}]} for old in objects(each))
        else:
            named = text(mapping(each).get(kind)) or text(each)
            if named:
                yield _feature(subject, kind, named)
            elif isinstance(each, Mapping):
                yield subject.writer.named(each)


def _feature(subject: Subject, kind: str, named: str) -> Feature:
    found = subject.feature(kind, named)
    name, *parts = named.split("|")
    at = 2 if kind == "classFeature" else 4
    level = number(parts[at]) if len(parts) > at else None
    if found is None:
        subject.tell(f"the text of its feature {name!r} is not in the files; only its name was stored")
        return without_empty({"name": subject.reader.plain(name), "gained_at": _at(level)})
    level = number(found.get("level")) if level is None else level
    return without_empty({**subject.writer.named(found), "gained_at": _at(level)})


def _at(level: float | None) -> list[dict[str, int]]:
    return [] if level is None else [{"level": int(level)}]


# --- the table -------------------------------------------------------------------------------------------------------


def _columns(subject: Subject, key: str, *, with_bonus: bool = True) -> list[Feature]:
    """The columns of the table of a class, with the values of each level."""
    columns = [column for group in objects(subject.value(key)) for column in _of_group(subject, group)]
    if with_bonus:
        columns.insert(
            0, _column("Proficiency Bonus", [f"+{2 + (level - 1) // 4}" for level in range(1, MAX_LEVEL + 1)])
        )
    return columns


def _of_group(subject: Subject, group: Object) -> Iterator[Feature]:
    labels = [subject.writer.line(label) for label in listed(group.get("colLabels"))]
    rows = [listed(row) for row in listed(group.get("rows") or group.get("rowsSpellProgression"))][:MAX_LEVEL]
    for place, label in enumerate(labels):
        cells = [subject.writer.line([row[place]]) if place < len(row) else "" for row in rows]
        yield _column(label, ["—" if cell in ("0", "") else cell for cell in cells])


def _column(name: str, cells: list[str]) -> Feature:
    """A column in the shape that class tables are kept in (that of Open5e)."""
    values = [{"level": level, "column_value": cell} for level, cell in enumerate(cells, 1)]
    return {"name": name, "feature_type": "COLUMN", "data_for_class_table": values}
