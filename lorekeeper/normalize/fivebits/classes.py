"""Classes and subclasses of 5e-bits, with their levels and features, in the shape of Open5e."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivebits.texts import (
    Object,
    index_of,
    name_of,
    names,
    objects,
    paragraphs,
    prose,
    text_of,
    titled,
)
from lorekeeper.records.options import OF_SUBCLASS
from lorekeeper.terms import ABILITY_OF

_DETAIL = re.compile(r" \(([^()]{1,80})\)$")
_SKILL = re.compile(r"^(?:Skill|Tool|Saving Throw): ")
_SLOTS = re.compile(r"spell_slots_level_(\d)$")
_ORDINALS = ("", "1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th")

_LATER = re.compile(r"-improvement-\d+$")
"""The end of the key of what a feature gives at a later level, such as the second feature of a subclass."""

Tables = Mapping[str, Sequence[Object]]
"""The objects of a source by the name of their list."""


def character_class(o: Object, tables: Tables, columns: Mapping[str, str]) -> dict[str, Any]:
    """A class with the table of its levels; ``columns`` has the titles that books give to values of a level."""
    mine, name = index_of(o), str(o.get("name"))
    levels = [each for each in _of(tables, "levels", mine) if not each.get("subclass")]
    found = [each for each in _of(tables, "features", mine) if not each.get("subclass")]
    features = [*_features(found, levels, o), *_columns(levels, columns)]
    die = o.get("hit_die")
    return {
        "name": name,
        "desc": text_of(o),
        "hit_dice": f"D{die}",
        "hit_points": {
            "hit_dice": f"D{die}",
            "hit_dice_name": f"1D{die} per {name} level",
            "hit_points_at_1st_level": f"{die} + your Constitution modifier",
            "hit_points_at_higher_levels": f"1D{die} (or {int(die or 0) // 2 + 1}) + your Constitution modifier per "
            f"{name.lower()} level after 1st",
        },
        "subclass_of": None,
        "primary_abilities": _primary(o.get("primary_ability")),
        "saving_throws": [{"name": _ability(each)} for each in objects(o.get("saving_throws"))],
        "caster_type": _caster(levels),
        **_proficiencies(o, tables),
        "equipment": _equipment(o),
        "features": features,
    }


def subclass(o: Object, tables: Tables) -> dict[str, Any]:
    """A subclass, whose features are in the list of all features, in 2024 also in itself."""
    mine, owner = index_of(o), o.get("class")
    levels = [each for each in _of(tables, "levels", index_of(owner)) if index_of(each.get("subclass")) == mine]
    listed = [each for each in tables.get("features", ()) if index_of(each.get("subclass")) == mine]
    features = _features(listed, levels, o)
    known = {str(each["name"]).casefold() for each in features}
    own = [each for each in objects(o.get("features")) if str(each.get("name")).casefold() not in known]
    features += [_feature(each, {(int(each.get("level") or 0), "")}, text_of(each)) for each in own]
    return {
        "name": o.get("name"),
        "desc": paragraphs(f"*{o['summary']}*" if o.get("summary") else "", text_of(o), _spells(o)),
        "subclass_of": {"name": name_of(owner), "key": f"srd_{index_of(owner)}"},
        "features": features,
        **({"subclass_flavor": o["subclass_flavor"]} if o.get("subclass_flavor") else {}),
    }


def _of(tables: Tables, table: str, owner: str) -> list[Object]:
    return [each for each in tables.get(table, ()) if index_of(each.get("class")) == owner]


# --- features --------------------------------------------------------------------------------------------------------


def _features(found: Sequence[Object], levels: Sequence[Object], owner: Object) -> list[dict[str, Any]]:
    """The features, each once, with all levels at which it is had, and with those that it lets one choose from."""
    children: dict[str, list[Object]] = defaultdict(list)
    for each in found:
        children[index_of(each.get("parent"))].append(each)
    whole = {index_of(each) for each in found}
    tops = [each for each in found if index_of(each.get("parent")) not in whole]
    by_name: dict[str, list[Object]] = defaultdict(list)
    own = {index_of(each): _DETAIL.sub("", _own_name(each)) for each in tops}
    for each in tops:
        by_name[own.get(_LATER.sub("", index_of(each)), own[index_of(each)])].append(each)
    made = []
    for name, same in by_name.items():
        gained = {level for each in same for level in _gained(each, levels)}
        texts = dict.fromkeys(filter(None, (_told(each, children, name, owner) for each in same)))
        made.append(_feature({"name": name, "index": index_of(same[0])}, gained, paragraphs(*_different(texts))))
    if multi := _multiclassing(owner):
        made.append(_feature({"name": "Multiclassing", "index": "multiclassing"}, (), multi))
    return made


def _own_name(feature: Object) -> str:
    return "Spellcasting" if str(feature.get("name")).startswith("Spellcasting:") else str(feature.get("name"))


def _different(texts: Iterable[str]) -> Iterator[str]:
    """Texts without those that stand in another one."""
    every = list(texts)
    for place, text in enumerate(every):
        if not any(text in other for at, other in enumerate(every) if at != place and len(other) > len(text)):
            yield text


def _told(feature: Object, children: Mapping[str, Sequence[Object]], name: str, owner: Object) -> str:
    """Its text, with what is cast and what can be chosen."""
    casting = owner.get("spellcasting") if name in ("Spellcasting", "Pact Magic") else None
    info = objects(casting.get("info")) if isinstance(casting, Mapping) else []
    parts = [titled(str(each.get("name")), prose(each.get("desc"))) for each in info]
    options = [_option(each, name) for each in children.get(index_of(feature), ())]
    return paragraphs(text_of(feature), *parts, *options)


def _option(o: Object, of: str) -> str:
    name = str(o.get("name")).removeprefix(f"{of}: ").removeprefix("Eldritch Invocation: ")
    asked = [_asked(each) for each in objects(o.get("prerequisites"))]
    needs = f"*Prerequisite: {joined(asked)}*" if asked else ""
    return paragraphs(titled(name, " ".join(filter(None, (needs, text_of(o))))))


def _asked(o: Object) -> str:
    """What an option asks for: a level, a feature or a spell, of which it has the address."""
    named = str(o.get("spell") or o.get("feature") or "").rpartition("/")[2].replace("-", " ")
    return named or f"level {o.get('level')}"


def _gained(feature: Object, levels: Sequence[Object]) -> Iterator[tuple[int, str]]:
    """Each level at which it is had, with what is special then: "2 dice"."""
    named = str(feature.get("name"))
    detail = found[1] if (found := _DETAIL.search(named)) else ""
    level = feature.get("level")
    own = int((index_of(level).rpartition("-")[2] if isinstance(level, Mapping) else level) or 0)
    mine = {int(each["level"]) for each in levels if index_of(feature) in map(index_of, objects(each.get("features")))}
    choice = f"{name_of(feature.get('class'))} Subclass"
    for each in mine or {own}:
        is_later = named.endswith(" feature") or (named == choice and each > own)
        yield each, OF_SUBCLASS if is_later else detail


def _feature(o: Object, levels: Iterable[tuple[int, str]], text: str) -> dict[str, Any]:
    return {
        "key": index_of(o),
        "name": o.get("name"),
        "desc": text,
        "feature_type": "CLASS_LEVEL_FEATURE",
        "gained_at": [{"level": level, "detail": detail or None} for level, detail in sorted(levels) if level],
        "data_for_class_table": [],
    }


# --- the table -------------------------------------------------------------------------------------------------------


def _columns(levels: Sequence[Object], titles: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The columns of the table of a class."""
    bonus = {n: f"+{each['prof_bonus']}" for n, each in _by_level(levels) if "prof_bonus" in each}
    yield _column("Proficiency Bonus", bonus, "PROFICIENCY_BONUS")
    if _caster(levels) == PACT:
        yield from _pact(levels)
    for group in ("class_specific", "spellcasting"):
        keys = dict.fromkeys(key for each in levels for key in each.get(group) or {})
        for key in keys:
            values = {n: (each.get(group) or {}).get(key) for n, each in _by_level(levels)}
            shown = {n: text for n, value in values.items() if (text := _cell(key, value))}
            slots = _SLOTS.match(key)
            name = titles.get(key, key.replace("_", " ").title())
            if slots and _caster(levels) == PACT:
                continue
            if slots and shown:
                yield _column(_ORDINALS[int(slots[1])], shown, "SPELL_SLOTS")
            elif name and shown:
                yield _column(name, shown)


PACT = "PACT"
"""The casting of a class whose slots are all of one level."""


def _pact(levels: Sequence[Object]) -> Iterator[dict[str, Any]]:
    """The two columns of a class whose slots are all of one level."""
    numbers, ranks = dict[int, str](), dict[int, str]()
    for level, each in _by_level(levels):
        for key, value in (each.get("spellcasting") or {}).items():
            if (slots := _SLOTS.match(key)) and value:
                numbers[level], ranks[level] = f"{value}", _ORDINALS[int(slots[1])]
    yield _column("Spell Slots", numbers)
    yield _column("Slot Level", ranks)


def _by_level(levels: Sequence[Object]) -> Iterator[tuple[int, Object]]:
    return ((int(each["level"]), each) for each in levels)


def _cell(key: str, value: object) -> str:
    """A value of a level as the table prints it; "" for none."""
    if isinstance(value, Mapping):
        return f"{value.get('dice_count')}d{value.get('dice_value')}" if value.get("dice_count") else ""
    if value is True:
        return "yes"
    if not value or not isinstance(value, (int, float)):
        return ""
    if value == _UNLIMITED:
        return "Unlimited"
    if "cr" in key.split("_"):
        return _FRACTIONS.get(float(value), f"{value:g}")
    return next((form for end, form in _FORMS.items() if key.endswith(end)), "{:g}").format(value)


_UNLIMITED = 9999
_FRACTIONS = {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}
_FORMS = {
    "martial_arts_die": "1d{:g}",
    "unarmored_movement": "+{:g} ft.",
    "movement_bonus": "+{:g} ft.",
    "_die": "d{:g}",
    "_bonus": "+{:g}",
}
"""How values are printed, by the ends of their keys."""


def _column(name: str, values: Mapping[int, str], kind: str = "CLASS_TABLE_DATA") -> dict[str, Any]:
    cells = [{"level": level, "column_value": value} for level, value in values.items()]
    return {"name": name, "desc": "", "feature_type": kind, "gained_at": [], "data_for_class_table": cells}


def _caster(levels: Sequence[Object]) -> str | None:
    """How a class casts, by its slots: those of level 20, or of one level at a time."""
    last = next((each.get("spellcasting") or {} for each in levels if each.get("level") == 20), {})
    slots = [int(match[1]) for key, value in last.items() if value and (match := _SLOTS.match(key))]
    if not slots:
        return "NONE"
    if len(slots) == 1:
        return PACT
    return "FULL" if max(slots) == len(_ORDINALS) - 1 else "HALF"


# --- what a class begins with ----------------------------------------------------------------------------------------


def _ability(reference: object) -> str:
    return ABILITY_OF.get(index_of(reference), name_of(reference)).capitalize()


def _primary(value: object) -> list[dict[str, str]]:
    return [{"name": str(value.get("desc"))}] if isinstance(value, Mapping) and value.get("desc") else []


def _proficiencies(o: Object, tables: Tables) -> dict[str, str]:
    kinds = {index_of(each): str(each.get("type")) for each in tables.get("proficiencies", ())}
    found: dict[str, list[str]] = {f"prof_{kind}": [] for kind in ("armor", "weapons", "tools", "skills")}
    for each in objects(o.get("proficiencies")):
        if not index_of(each).startswith("saving-throw"):
            kind = kinds.get(index_of(each), "").split(" ")[0].lower()
            found[kind_key if (kind_key := f"prof_{kind}") in found else "prof_tools"].append(
                _SKILL.sub("", name_of(each))
            )
    for each in objects(o.get("proficiency_choices")):
        options = objects((each.get("from") or {}).get("options"))
        is_skill = any(index_of(option.get("item")).startswith("skill-") for option in options)
        found["prof_skills" if is_skill else "prof_tools"].append(str(each.get("desc") or ""))
    return {key: ", ".join(filter(None, values)) or "None" for key, values in found.items()}


def _equipment(o: Object) -> str:
    given = [
        f"{each.get('quantity')} × {name_of(each.get('equipment'))}" for each in objects(o.get("starting_equipment"))
    ]
    chosen = [str(each.get("desc")) for each in objects(o.get("starting_equipment_options"))]
    return "\n".join(f"- {each}" for each in (*chosen, *given))


def _multiclassing(o: Object) -> str:
    found = o.get("multi_classing")
    if not isinstance(found, Mapping):
        return ""
    scores = [_score(each) for each in objects(found.get("prerequisites"))]
    either = [
        _score(each) for each in objects(((found.get("prerequisite_options") or {}).get("from") or {}).get("options"))
    ]
    gained = [_SKILL.sub("", name) for name in names(found.get("proficiencies"))]
    gained += [_choice(each) for each in objects(found.get("proficiency_choices"))]
    return paragraphs(
        titled("Prerequisite", joined(scores) or joined(either, "or")),
        titled("Proficiencies Gained", ", ".join(gained)),
    )


def _choice(o: Object) -> str:
    options = objects((o.get("from") or {}).get("options"))
    named = joined((_SKILL.sub("", name_of(each.get("item"))) for each in options), "or")
    return f"{o.get('choose')} {o.get('desc') or f'of {named}'}"


def _score(o: Object) -> str:
    return f"{_ability(o.get('ability_score'))} {o.get('minimum_score')}"


def _spells(o: Object) -> str:
    """The spells that a subclass of 2014 brings, by the level of its class at which they are had."""
    by_level: dict[str, list[str]] = defaultdict(list)
    for each in objects(o.get("spells")):
        had = [name_of(asked) for asked in objects(each.get("prerequisites"))]
        by_level[joined(had)].append(name_of(each.get("spell")))
    if not by_level:
        return ""
    rows = [f"| {level} | {', '.join(found)} |" for level, found in by_level.items()]
    return "\n".join(["| Level | Spells |", "|---|---|", *rows])
