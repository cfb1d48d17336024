"""Classes, subclasses, species, backgrounds and feats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lorekeeper.records.parts import Feature
from lorekeeper.records.values import Object, Source, is_empty, line, listed, mapping, named_text, number, stated, title

COLUMN = "column"
"""The kind of a feature that is no more than a column of the table of its class, or a name in its column of features."""

OF_SUBCLASS = "feature"
"""What is special at a level at which a class has a feature of its subclass."""

_CHOICE = re.compile(r"^.* (?=Subclass$)")

_FEATURE = "CLASS_LEVEL_FEATURE"

_ONE_DIE = re.compile(r"^1?D(?=\d)")

_TOLD = ("asi_desc", "age", "alignment", "size", "speed_desc", "languages", "vision")
"""Keys of what is told of a species apart from its traits, in the order of the books."""


@dataclass(frozen=True)
class Option:
    """What a player chooses for a character, as its source says it. "" stands for what is not known.

    Attributes:
        parent: the class of a subclass, the species of a subspecies.
        type: of a feat: "ORIGIN".
        prerequisite: what a feat asks for.
        text: what is told of it.
        hit_dice: "d10 per fighter level", or "d10".
        first_points, later_points: hit points at level 1, and at each level after it.
        primary_abilities, saves, armor, weapons, tools, skills, languages, equipment: what it gives, in words.
        spellcasting_ability, caster: of a class; caster is "full", "half", ...
        table: by level, as Markdown, of a source that has it so.
        features: of a class; traits of a species; benefits of a background or feat.
        told: what is told of a species apart from its traits, as features.
        feature: of a background, apart from its benefits.
        characteristics: those that a background suggests.
        branches: names of its subclasses or subspecies.
        branches_called: what a class calls them.
    """

    parent: str = ""
    type: str = ""
    prerequisite: str = ""
    text: str = ""
    hit_dice: str = ""
    first_points: str = ""
    later_points: str = ""
    primary_abilities: str = ""
    saves: str = ""
    armor: str = ""
    weapons: str = ""
    tools: str = ""
    skills: str = ""
    languages: str = ""
    equipment: str = ""
    spellcasting_ability: str = ""
    caster: str = ""
    table: str = ""
    features: tuple[Feature, ...] = ()
    told: tuple[Feature, ...] = ()
    feature: Feature | None = None
    characteristics: str = ""
    branches: tuple[str, ...] = ()
    branches_called: str = ""


def character_class(source: Source) -> Option:
    """A class or subclass."""
    points = source.mapping("hit_points")
    die = source.line("hit_dice", "hit_die")
    return Option(
        **stated(source, "class"),
        hit_dice=_ONE_DIE.sub("d", line(points.get("hit_dice_name")) or (f"d{die}" if die.isdigit() else die)),
        first_points=line(points.get("hit_points_at_1st_level")) or source.line("hp_at_1st_level"),
        later_points=line(points.get("hit_points_at_higher_levels")) or source.line("hp_at_higher_levels"),
        features=tuple(each for own in _features(source, "features", "traits") for each in _of_subclass(own)),
        branches=_names(source, "archetypes"),
    )


def species(source: Source) -> Option:
    """A species or race."""
    source.skip("is_subspecies", "is_subrace", "asi", "size_raw", *(["speed"] if source.value("speed_desc") else []))
    told = ((title(key), source.text(key)) for key in _TOLD)
    return Option(
        **stated(source, "option"),
        parent=source.line("subspecies_of", "subrace_of", "race", "parent").rpartition("_")[2],
        told=tuple(Feature(name, words) for name, words in told if words),
        features=_features(source, "traits"),
        branches=_names(source, "subraces"),
    )


def background(source: Source) -> Option:
    """A background."""
    name, words = source.line("feature", "feature_name"), source.text("feature_desc")
    return Option(
        **stated(source, "background"),
        features=_features(source, "benefits", "traits"),
        feature=Feature(name, words) if words else None,
    )


def feat(source: Source) -> Option:
    """A feat; one may say that it asks for nothing."""
    source.skip("has_prerequisite")
    asked = source.line("prerequisite")
    return Option(
        **stated(source, "feat"),
        prerequisite="" if asked.strip("*_ .").casefold() in ("n/a", "none") else asked,
        features=_features(source, "benefits", "effects_desc"),
    )


OPTIONS: dict[str, Callable[[Source], Option]] = {
    "class": character_class,
    "subclass": character_class,
    "race": species,
    "subrace": species,
    "background": background,
    "feat": feat,
}
"""The reader of each kind."""


def option(source: Source, kind: str) -> Option:
    """An option of any source; of a kind that nobody knows its text alone."""
    return OPTIONS[kind](source) if kind in OPTIONS else Option(**stated(source, "option"))


def _names(source: Source, key: str) -> tuple[str, ...]:
    return tuple(line(mapping(each).get("name") or each) for each in source.items(key))


def _features(source: Source, *keys: str) -> tuple[Feature, ...]:
    return tuple(map(_feature, source.items(*keys)))


def _feature(value: object) -> Feature:
    """A feature of any shape, with its column of the table of a class."""
    found, (name, told) = mapping(value), named_text(value)
    own = found.get("feature_type") == _FEATURE
    cells = map(mapping, listed(found.get("data_for_class_table")))
    column = {
        int(level): line(cell.get("column_value")) for cell in cells if (level := number(cell.get("level"))) is not None
    }
    is_column = bool(column) and not (own and told)
    is_bare = not is_empty(found.get("data_for_class_table")) and not own
    return Feature(
        name=name,
        text=told,
        kind=COLUMN if is_column else line(found.get("type")),
        levels=() if is_bare else tuple(_levels(found)),
        column=column,
    )


def _of_subclass(found: Feature) -> Iterator[Feature]:
    """A feature, and apart from it the levels at which not it is had again, but something of the subclass that it chooses."""
    later = tuple((level, "") for level, detail in found.levels if detail == OF_SUBCLASS)
    yield replace(found, levels=tuple(each for each in found.levels if each[1] != OF_SUBCLASS)) if later else found
    if later:
        yield Feature(f"{_CHOICE.sub('', found.name)} feature", kind=COLUMN, levels=later)


def _levels(found: Object) -> Iterator[tuple[int, str]]:
    """The levels at which a feature is had, each with what is special then."""
    gained = map(mapping, listed(found.get("gained_at")))
    levels = {(int(level), line(g.get("detail"))) for g in gained if (level := number(g.get("level"))) is not None}
    own = number(found.get("level"))
    yield from sorted(levels) or ([(int(own), "")] if own is not None else [])
