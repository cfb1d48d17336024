"""Classes, subclasses, species, backgrounds and feats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from lorekeeper.entities import Entity
from lorekeeper.records import Feature, Option, options
from lorekeeper.records.options import COLUMN
from lorekeeper.render.page import capital, italic, labelled, section
from lorekeeper.render.prose import inline, prose, table
from lorekeeper.render.source import OF_2024, Source, named, printed, printed_all, style_of, title, titled, told
from lorekeeper.terms import MAX_LEVEL

CASTERS = {"none": "", "full": "full", "half": "half", "third": "one third", "pact": "pact magic"}

_BEGINS = {
    "Primary Ability": "primary_abilities",
    "Hit Die": "hit_dice",
    "Hit Points at 1st Level": "first_points",
    "Hit Points at Higher Levels": "later_points",
    "Armor": "armor",
    "Weapons": "weapons",
    "Tools": "tools",
    "Saving Throws": "saves",
    "Skills": "skills",
    "Spellcasting Ability": "spellcasting_ability",
}
"""What a class begins with: the labels of its lines and their attributes, in the order of the books."""

_CORE_TRAITS = {
    "Primary Ability": "primary_abilities",
    "Hit Point Die": "hit_dice",
    "Saving Throw Proficiencies": "saves",
    "Skill Proficiencies": "skills",
    "Weapon Proficiencies": "weapons",
    "Tool Proficiencies": "tools",
    "Armor Training": "armor",
    "Starting Equipment": "equipment",
}
"""The same of the books of 2024, which have a table of these."""

_AT_LEVEL = re.compile(
    r"\b(?:at|reach|from|(?:starting|beginning) (?:at|when you (?:reach|choose)))(?: this)? (\d{1,2})(?:st|nd|rd|th) level",
    re.IGNORECASE,
)
"""How a feature says from which level on it is had, if its source does not."""

_SPELL_LEVEL = re.compile(r"\d(?:st|nd|rd|th)")


# --- classes ---------------------------------------------------------------------------------------------------------


def character_class(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a class or subclass: table and features by level."""
    read = options.character_class(source)
    yield _kind(entity, read)
    keys = _CORE_TRAITS if style_of(source) == OF_2024 and not read.parent else _BEGINS
    lines = {label: getattr(read, key) for label, key in keys.items() if not (read.parent and key.endswith("_points"))}
    lines["Spellcaster"] = CASTERS.get(read.caster.lower(), read.caster)
    yield labelled(source, ((label, inline(value.replace("1D", "1d"))) for label, value in lines.items()))
    yield section("Starting Equipment", "" if keys is _CORE_TRAITS else prose(read.equipment))
    yield prose(read.text)
    yield section("By Level", prose(read.table) or "\n".join(level_table(read.features)))
    yield section("Features", *map(class_feature, _ordered(read.features)))
    yield section(inline(read.branches_called) or "Subclasses", inline(", ".join(read.branches)))


def _kind(entity: Entity, read: Option) -> str:
    return italic(capital(f"{entity.kind} of {title(read.parent)}" if read.parent else entity.kind))


def level_table(found: Sequence[Feature]) -> list[str]:
    """The table of a class: what each level brings; none if its source has no columns for it."""
    columns = {inline(each.name): each.column for each in sorted(found, key=_column_place) if each.column}
    if not columns:
        return []
    gained = {level: ", ".join(_gained_at(found, level)) for level in range(1, MAX_LEVEL + 1)}
    bonus = {name: values for name, values in columns.items() if "proficiency bonus" in name.casefold()}
    others = {name: values for name, values in columns.items() if name not in bonus}
    rows = [["Level", *bonus, "Features", *(column_name(name) for name in others)]]
    for level, features_then in gained.items():
        before, after = ([inline(column.get(level, "—")) for column in part.values()] for part in (bonus, others))
        rows.append([str(level), *before, features_then or "—", *after])
    return table(rows)


def table_values(read: Option, level: int) -> dict[str, str]:
    """What the table of a class says for a level, by column, but for the proficiency bonus and spell slots."""
    values = {named(each): inline(each.column.get(level, "")) for each in read.features if each.column}
    return {
        name: value
        for name, value in values.items()
        if value not in ("", "—", "-") and "proficiency bonus" not in name.casefold() and not _SPELL_LEVEL.match(name)
    }


def feature_names(read: Option) -> list[str]:
    """The names of the features of a class or subclass that have a text."""
    return [named(each) for each in read.features if named(each) and each.text]


def _column_place(column: Feature) -> tuple[bool, str]:
    """Spell slots come last."""
    name = inline(column.name)
    return _SPELL_LEVEL.match(name) is not None, name


def column_name(name: str) -> str:
    """What the table of a class calls a column: slots of a level as such."""
    return f"{name} level slots" if _SPELL_LEVEL.fullmatch(name) else name


def _gained_at(found: Iterable[Feature], wanted: int) -> Iterator[str]:
    for each in found:
        for level, detail in each.levels:
            if level == wanted:
                yield f"{named(each)} ({inline(detail)})" if detail else named(each)


def _ordered(found: Iterable[Feature]) -> list[Feature]:
    """Features in the order in which they are had, those without a level first; mere columns of the table are left out."""
    return sorted((each for each in found if each.kind != COLUMN), key=_first_level)


def _first_level(found: Feature) -> int:
    if found.levels:
        return found.levels[0][0]
    match = _AT_LEVEL.search(told(found)[:300])
    return int(match[1]) if match else 0


def class_feature(found: Feature) -> str:
    """A feature under a heading with its level, and the later levels at which it grows."""
    levels, text, name = found.levels, told(found), named(found)
    if not name:
        return text
    heading = f"Level {levels[0][0]}: {name}" if levels else name
    first = inline(levels[0][1]) if levels else ""
    later = ", ".join(f"{level} ({inline(detail)})" if detail else str(level) for level, detail in levels[1:])
    again = italic(first, f"again at level {later}" if later else "", separator="; ")
    return section(heading, again, text, level=3) or f"**{heading}.**"


# --- species, backgrounds, feats -------------------------------------------------------------------------------------


def species(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a species or race."""
    read = options.species(source)
    yield _kind(entity, read)
    yield prose(read.text)
    for each in read.told:
        text = prose(each.text)
        yield text if text.startswith("*") else titled(each.name, text)
    yield section("Traits", printed_all(read.features))
    yield section("Subraces", inline(", ".join(read.branches)))


def background(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a background."""
    read = options.background(source)
    yield _kind(entity, read)
    yield prose(read.text)
    lines = (
        ("Skill Proficiencies", read.skills),
        ("Tool Proficiencies", read.tools),
        ("Languages", read.languages),
        ("Equipment", read.equipment),
    )
    yield labelled(source, ((label, inline(value)) for label, value in lines))
    yield printed_all(read.features)
    if read.feature:
        name = inline(read.feature.name)
        yield titled(f"Feature: {name}" if name else "Feature", prose(read.feature.text))
    yield section("Suggested Characteristics", prose(read.characteristics))


def feat(_: Entity, source: Source) -> Iterator[str]:
    """The blocks of a feat."""
    read = options.feat(source)
    yield italic(f"{title(read.type.lower())} feat" if read.type else "Feat")
    prerequisite = inline(read.prerequisite).removeprefix("Prerequisite:").strip()
    yield labelled(source, (("Prerequisite", prerequisite),))
    yield prose(read.text)
    texts = [printed(each) for each in read.features]
    plain = [text for text in texts if text and "\n" not in text]
    yield "\n".join(f"- {text}" for text in plain) if len(plain) == len(texts) else "\n\n".join(filter(None, texts))
