"""Classes, subclasses, species, backgrounds and feats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lorekeeper.entities import Entity
from lorekeeper.records.values import Object, listed, mapping, number
from lorekeeper.render.page import Line, capital, italic, labelled, line, names, section
from lorekeeper.render.prose import table
from lorekeeper.render.source import Source, feature, feature_name, feature_text, features, title, words
from lorekeeper.terms import MAX_LEVEL

CASTERS = {"none": "none", "full": "full", "half": "half", "third": "one third", "pact": "pact magic"}

_AT_LEVEL = re.compile(
    r"\b(?:at|reach|from|(?:starting|beginning) (?:at|when you (?:reach|choose)))(?: this)? (\d{1,2})(?:st|nd|rd|th) level",
    re.IGNORECASE,
)
"""How a feature says from which level on it is had, if its source does not."""

_SPELL_LEVEL = re.compile(r"\d(?:st|nd|rd|th)")

_ONE_DIE = re.compile(r"^1?D(?=\d)")

FEATURE = "CLASS_LEVEL_FEATURE"


def character_class(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a class or subclass: table and features by level."""
    found = [mapping(value) for value in source.items("features", "traits")]
    yield italic(_class_kind(entity, source))
    yield labelled(source, CLASS_LINES)
    yield section("By Level", "\n".join(level_table(found)), source.prose("table"))
    yield section("Starting Equipment", source.prose("equipment"))
    yield source.prose("desc", "description")
    yield section("Features", *map(class_feature, _ordered(found)))
    archetypes = source.items("archetypes")
    yield section(source.words("subtypes_name") or "Subclasses", names(archetypes))


def _class_kind(entity: Entity, source: Source) -> str:
    parent = source.words("subclass_of", "class", "parent")
    return capital(f"{entity.kind} of {title(parent)}" if parent else entity.kind)


def _hit_die(source: Source) -> str:
    nested = source.mapping("hit_points")
    die = source.words("hit_dice", "hit_die")
    die = words(nested.get("hit_dice_name")) or (f"d{die}" if die.isdigit() else die)
    return _ONE_DIE.sub("d", die)


def _first_points(source: Source) -> str:
    return words(source.mapping("hit_points").get("hit_points_at_1st_level")) or source.words("hp_at_1st_level")


def _later_points(source: Source) -> str:
    return words(source.mapping("hit_points").get("hit_points_at_higher_levels")) or source.words("hp_at_higher_levels")


def _caster(source: Source) -> str:
    kind = source.words("caster_type")
    return CASTERS.get(kind.lower(), kind) if kind.upper() != "NONE" else ""


CLASS_LINES: tuple[Line, ...] = (
    line("Primary Ability", "primary_abilities"),
    ("Hit Die", _hit_die),
    ("Hit Points at 1st Level", _first_points),
    ("Hit Points at Higher Levels", _later_points),
    line("Saving Throws", "saving_throws", "prof_saving_throws"),
    line("Armor", "prof_armor"),
    line("Weapons", "prof_weapons"),
    line("Tools", "prof_tools"),
    line("Skills", "prof_skills"),
    line("Spellcasting Ability", "spellcasting_ability"),
    ("Spellcaster", _caster),
)


def level_table(found: Sequence[Object]) -> list[str]:
    """The table of a class: what each level brings; none if its source has no columns for it."""
    columns = {
        words(column.get("name")): _column(column) for column in sorted(found, key=_column_place) if _column(column)
    }
    if not columns:
        return []
    gained = {level: ", ".join(_gained_at(found, level)) for level in range(1, MAX_LEVEL + 1)}
    bonus = {name: values for name, values in columns.items() if "proficiency bonus" in name.casefold()}
    others = {name: values for name, values in columns.items() if name not in bonus}
    rows = [["Level", *bonus, "Features", *(_column_name(name) for name in others)]]
    for level, features_then in gained.items():
        before, after = ([column.get(level, "—") for column in part.values()] for part in (bonus, others))
        rows.append([str(level), *before, features_then or "—", *after])
    return table(rows)


def table_values(data: Object, level: int) -> dict[str, str]:
    """What the table of a class says for a level, by column, but for the proficiency bonus and spell slots."""
    columns = [mapping(each) for key in ("features", "traits") for each in listed(data.get(key))]
    named = {feature_name(each): _column(each).get(level, "") for each in columns if _column(each)}
    return {
        name: value
        for name, value in named.items()
        if value not in ("", "—", "-") and "proficiency bonus" not in name.casefold() and not _SPELL_LEVEL.match(name)
    }


def feature_names(data: Object) -> list[str]:
    """The names of the features of a class or subclass that have a text."""
    found = [mapping(each) for key in ("features", "traits") for each in listed(data.get(key))]
    return [feature_name(each) for each in found if feature_name(each) and feature_text(each)]


def _column_place(column: Object) -> tuple[bool, str]:
    """Spell slots come last."""
    name = words(column.get("name"))
    return _SPELL_LEVEL.match(name) is not None, name


def _column_name(name: str) -> str:
    return f"{name} level slots" if _SPELL_LEVEL.fullmatch(name) else name


def _column(column: Object) -> dict[int, str]:
    """Values of a column by level."""
    cells = map(mapping, listed(column.get("data_for_class_table")))
    return {
        int(level): words(cell.get("column_value"))
        for cell in cells
        if (level := number(cell.get("level"))) is not None
    }


def _gained_at(found: Sequence[Object], wanted: int) -> Iterator[str]:
    for each in found:
        for level, detail in _levels(each):
            if level == wanted:
                name = feature_name(each)
                yield f"{name} ({detail})" if detail else name


def _levels(found: Object) -> list[tuple[int, str]]:
    """The levels at which a feature is had, each with what is special then."""
    if found.get("data_for_class_table") and found.get("feature_type") != FEATURE:
        return []
    gained = map(mapping, listed(found.get("gained_at")))
    levels = {(int(level), words(g.get("detail"))) for g in gained if (level := number(g.get("level"))) is not None}
    own = number(found.get("level"))
    return sorted(levels) or ([(int(own), "")] if own is not None else [])


def _ordered(found: Sequence[Object]) -> list[Object]:
    """Features in the order in which they are had, those without a level first; mere columns of the table are left out."""
    shown = [
        each
        for each in found
        if not (_column(each) and (each.get("feature_type") != FEATURE or not feature_text(each)))
    ]
    return sorted(shown, key=_first_level)


def _first_level(found: Object) -> int:
    levels = _levels(found)
    if levels:
        return levels[0][0]
    match = _AT_LEVEL.search(feature_text(found)[:300])
    return int(match[1]) if match else 0


def class_feature(found: Object) -> str:
    """A feature under a heading with its level, and the later levels at which it grows."""
    levels, text, name = _levels(found), feature_text(found), feature_name(found)
    if not name:
        return text
    heading = f"Level {levels[0][0]}: {name}" if levels else name
    first = levels[0][1] if levels else ""
    later = ", ".join(f"{level} ({detail})" if detail else str(level) for level, detail in levels[1:])
    again = italic(first, f"again at level {later}" if later else "", separator="; ")
    return section(heading, again, text, level=3) or f"**{heading}.**"


def species(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a species or race."""
    source.skip(
        "is_subspecies", "is_subrace", "asi", "size_raw", "speed" if source.value("speed_desc") else "is_subrace"
    )
    yield italic(_species_kind(entity, source))
    yield source.prose("desc", "description")
    for key in ("asi_desc", "age", "alignment", "size", "speed_desc", "languages", "vision"):
        text = source.prose(key)
        yield text if text.startswith("*") else feature({"name": title(key), "desc": text} if text else {})
    traits = source.value("traits")
    yield section("Traits", source.prose("traits") if isinstance(traits, str) else features(listed(traits)))
    subraces = source.items("subraces")
    yield section("Subraces", names(subraces))


def _species_kind(entity: Entity, source: Source) -> str:
    parent = source.words("subspecies_of", "subrace_of", "race", "parent")
    return capital(f"{entity.kind} of {title(parent.rpartition('_')[2])}" if parent else entity.kind)


def background(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a background."""
    yield italic(capital(entity.kind))
    yield source.prose("desc", "description")
    yield labelled(source, BACKGROUND_LINES)
    yield features(source.items("benefits", "traits"))
    name = source.words("feature", "feature_name")
    text = source.prose("feature_desc")
    yield feature({"name": f"Feature: {name}" if name else "Feature", "desc": text}) if text else ""
    yield section("Suggested Characteristics", source.prose("suggested_characteristics"))


BACKGROUND_LINES: tuple[Line, ...] = (
    line("Skill Proficiencies", "skill_proficiencies"),
    line("Tool Proficiencies", "tool_proficiencies"),
    line("Languages", "languages"),
    line("Equipment", "equipment"),
)


def feat(_: Entity, source: Source) -> Iterator[str]:
    """The blocks of a feat."""
    source.skip("has_prerequisite")
    yield italic(_feat_kind(source))
    yield labelled(source, (("Prerequisite", _prerequisite),))
    yield source.prose("desc", "description")
    benefits = source.items("benefits", "effects_desc")
    texts = [feature(value) for value in benefits]
    plain = [text for text in texts if text and "\n" not in text]
    yield "\n".join(f"- {text}" for text in plain) if len(plain) == len(texts) else "\n\n".join(filter(None, texts))


def _feat_kind(source: Source) -> str:
    kind = source.words("type")
    return f"{title(kind.lower())} feat" if kind else "Feat"


def _prerequisite(source: Source) -> str:
    return source.words("prerequisite").removeprefix("Prerequisite:").strip()
