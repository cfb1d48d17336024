"""Creatures in the keys of Fantasy Statblocks, a plugin for Obsidian: its bestiary, and whatever is put into its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize.build import Origin, build
from lorekeeper.normalize.creatures import creature_fields
from lorekeeper.normalize.stat_block import line, of_other_game, read_block

SOURCE = "fantasy-statblocks"

SCORES = 6


def recognises(obj: Mapping[str, Any]) -> bool:
    """Whether an object is a creature of a bestiary: six ability scores in a list, as no other format has them."""
    stats = obj.get("stats")
    return isinstance(obj.get("name"), str) and isinstance(stats, list) and len(stats) == SCORES


def creature(values: Mapping[str, Any], origin: Origin) -> tuple[Entity, list[str]]:
    """The creature of a stat block, and what of it could not be read, each with its key and the reason.

    Args:
        values: of its keys, in any shape.
        origin: its source and document.

    Raises:
        FilterError: it cannot be stored, with every reason.
    """
    if reason := of_other_game(values):
        raise FilterError(reason)
    block = read_block(values)
    name = line(values.get("name"))
    data = {"name": name, **block.values}
    if block.spellcasting:
        traits = data.get("traits")
        data["traits"] = [*(traits if isinstance(traits, list) else []), block.spellcasting]
    problems = list(block.problems)
    if not block.touched:
        problems.append("it has no values of a creature")
    return build("creatures", data, origin, name=name, kind="creature", fields=creature_fields(data)), problems
