"""Stores of creatures and spells in JSON: that of the plugin Fantasy Statblocks, and exports of Improved Initiative.

Creatures of both are given in the keys of Fantasy Statblocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.normalize.stat_block import line, text
from lorekeeper.normalize.statblocks import SOURCE
from lorekeeper.records.printed import type_line
from lorekeeper.records.values import first_number, mapping, objects

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
