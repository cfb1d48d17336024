"""Creatures in the keys of Fantasy Statblocks, a plugin for Obsidian: its bestiary, and whatever is put into its form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize.build import Origin, build
from lorekeeper.normalize.creatures import creature_fields
from lorekeeper.normalize.stat_block import line, of_other_game, read_block, text
from lorekeeper.records.printed import type_line
from lorekeeper.records.values import first_number, mapping, objects

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


# --- stores of programs -----------------------------------------------------------------------------------------------
# That of the plugin Fantasy Statblocks, and exports of Improved Initiative, whose creatures are put into the keys of the plugin.


INITIATIVE = "improved-initiative"

_LINES = (
    "damage_vulnerabilities damage_resistances damage_immunities condition_immunities senses languages speed".split()
)
_RUBRICS = "traits actions bonus_actions reactions legendary_actions mythic_actions".split()
"""Keys of Fantasy Statblocks that Improved Initiative writes without underscores, each word with a capital."""


def _camel(key: str) -> str:
    return key.title().replace("_", "")


def stored(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The source and the stat block of each creature in a store of a program: the plugin's data, Improved Initiative's export."""
    if isinstance(value, Mapping) and isinstance(value.get("monsters"), list):
        pairs = [pair for pair in value["monsters"] if isinstance(pair, list) and len(pair) > 1]
        yield from ((SOURCE, pair[1]) for pair in pairs if isinstance(pair[1], Mapping))
        return
    parts = list(value) if isinstance(value, list) else []
    parts += [value, *value.values()] if isinstance(value, Mapping) else []
    yield from (
        (INITIATIVE, of_initiative(each)) for each in parts if isinstance(each, Mapping) and "Abilities" in each
    )


def stored_spells(value: object) -> Iterator[Mapping[str, Any]]:
    """The spells in an export or a list of Improved Initiative, as `lined.spell` takes them."""
    parts = list(value.values()) if isinstance(value, Mapping) else value
    for each in parts if isinstance(parts, list) else ():
        if isinstance(each, Mapping) and {"Name", "CastingTime", "School"} <= each.keys():
            level = each.get("Level")
            yield {
                **{key: line(each.get(_camel(key))) for key in ("name", "range", "components", "duration")},
                "time": line(each["CastingTime"]),
                "level": level if isinstance(level, int) else first_number(level),
                "school": line(each["School"]).lower(),
                "ritual": each.get("Ritual") is True,
                "classes": [line(name) for name in each.get("Classes") or () if line(name)],
                "text": text(each.get("Description")),
                "book": line(each.get("Source")),
            }


def of_initiative(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A creature of Improved Initiative in the keys of Fantasy Statblocks."""

    def amount(key: str) -> str:
        found = mapping(obj.get(key))
        return f"{line(found.get('Value'))} {line(found.get('Notes'))}".strip()

    return {
        "name": obj.get("Name"),
        **(type_line(line(obj.get("Type"))) or {"type": line(obj.get("Type"))}),
        "ac": amount("AC"),
        "hp": amount("HP"),
        "stats": obj.get("Abilities"),
        "cr": line(obj.get("Challenge")),
        "desc": line(obj.get("Description")),
        **{
            key: [{line(each.get("Name")): each.get("Modifier")} for each in objects(obj.get(name))]
            for key, name in (("saves", "Saves"), ("skillsaves", "Skills"))
        },
        "book": line(obj.get("Source")),
        **{key: line(obj.get(_camel(key))) for key in _LINES},
        **{
            key: [{"name": each.get("Name"), "desc": each.get("Content")} for each in objects(obj.get(_camel(key)))]
            for key in _RUBRICS
        },
    }
