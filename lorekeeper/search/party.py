"""The players' characters of a library: which copy of one is the newest, and its level."""

from __future__ import annotations

from collections.abc import Iterable

from lorekeeper.entities import Entity
from lorekeeper.folding import fold_person
from lorekeeper.terms import MAX_LEVEL

CHARACTERS = "characters"


def current(characters: Iterable[Entity]) -> list[Entity]:
    """The characters by name; of one that is there twice, as with last month's sheet, the newest."""
    found = {fold_person(each.name): each for each in sorted(characters, key=age)}
    return [found[name] for name in sorted(found)]


def age(character: Entity) -> tuple[bool, int, str, str]:
    """What orders the copies of one character, the newest last: a sheet with ability scores stands for notes without any.

    Of two sheets, a higher level is newer, then a later change.
    """
    is_sheet = bool(character.data.get("ability_scores"))
    return is_sheet, level_of(character), str(character.data.get("modified") or ""), character.uri


def level_of(character: Entity) -> int:
    """The level of a character, 0 if it is unknown or none that the rules have."""
    level = character.fields.get("level")
    return level if isinstance(level, int) and 1 <= level <= MAX_LEVEL else 0
