"""Single values of Open5e that the books print otherwise: the table `open5e.toml`, by entry, and how it is applied.

A repair is applied where its path leads to; it changes nothing in an object that has no such part, or has the right value already.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("open5e.toml")

ADDED, REMOVED, REPLACED, LACKING = "+", "-", "~", "!"
"""The end of a path to a list or a text that a value is added to, of one to a list that what has a name is removed from, of one
to a text in which what regular expressions find is replaced, and of one to a value whose key the source leaves out."""


@dataclass(frozen=True)
class EntryRepair:
    """One value of one entry.

    Attributes:
        key: of the entry's object, such as "srd-2024_skeleton".
        path: from the object to the value, with "/": keys of objects, and names or keys of objects in lists.
        value: the right one. A table of levels is merged into a list of objects with a level.
        reason: what the source gets wrong.
    """

    key: str
    path: str
    value: Any
    reason: str

    def applied(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """An object with this value; the same object if there is nothing to change."""
        found: Mapping[str, Any] = _replaced(data, self.path.rstrip("+-~!").split("/"), self)
        return found


@cache
def entry_repairs() -> Mapping[str, Sequence[EntryRepair]]:
    """All repairs, by the key of the object that they repair."""
    found: dict[str, list[EntryRepair]] = {}
    for group in tomllib.loads(TABLE.read_text("utf-8"))["repairs"]:
        for key, value in group["values"].items():
            found.setdefault(key, []).append(EntryRepair(key, group["path"], value, group["reason"]))
    return found


def repairs_of(data: Mapping[str, Any]) -> Sequence[EntryRepair]:
    """What the table has for an object, and for the entries that stand in it: a magic sword has the weapon, a chapter its rules."""
    table = entry_repairs()
    found = [*table.get(str(data.get("key")), ())]
    for name, value in data.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping) and (key := str(part.get("key"))) in table:
                place = name if part is value else f"{name}/{key}"
                found += [replace(each, path=f"{place}/{each.path}") for each in table[key]]
    return found


def repaired_entry(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object with the values of the table; the same object if there is nothing to change."""
    for repair in repairs_of(data):
        data = repair.applied(data)
    return data


def _replaced(part: Any, path: Sequence[str], repair: EntryRepair) -> Any:
    """A part of an object with the repaired value in it; the same part if the path does not lead to one."""
    if not path:
        return _value(part, repair)
    step, rest = path[0], path[1:]
    match part:
        case Mapping() if step in part or (not rest and repair.path[-1] == LACKING):
            changed = _replaced(part.get(step), rest, repair)
            return part if changed is part.get(step) else {**part, step: changed}
        case list():
            parts = [_replaced(each, rest, repair) if _is_named(each, step) else each for each in part]
            return part if all(new is old for new, old in zip(parts, part, strict=True)) else parts
    return part


def _is_named(part: object, name: str) -> bool:
    """Whether a part of a list has this name or key, or is a property of a weapon that has it."""
    return isinstance(part, Mapping) and (
        name in (part.get("name"), part.get("key")) or _is_named(part.get("property"), name)
    )


def _value(old: Any, repair: EntryRepair) -> Any:
    value = repair.value
    if repair.path.endswith(REMOVED) and isinstance(old, list):
        rest = [each for each in old if not _is_named(each, value)]
        return rest if rest != old else old
    if repair.path.endswith(REPLACED) and isinstance(old, str):
        for find, put in value.items():
            old = re.sub(find, put, old)
        return old
    if not repair.path.endswith(ADDED):
        return old if old == value else value
    match old, value:
        case list(), Mapping():
            return _with_levels(old, value)
        case list(), list():
            missing = [
                each for each in value if not any(_is_named(had, each.get("property", each)["name"]) for had in old)
            ]
            return [*old, *missing] if missing else old
        case str(), str() if value not in old:
            return f"{old}\n\n{value}".strip()
    return old


def _with_levels(old: list[Any], levels: Mapping[str, str]) -> list[Any]:
    """A list of what a class has at its levels, with some added: the cells of a column, or when a feature is gained."""
    had = {each.get("level") for each in old if isinstance(each, Mapping)}
    column = any("column_value" in each for each in old if isinstance(each, Mapping))
    text = "column_value" if column else "detail"
    missing = [{"level": int(level), text: value} for level, value in levels.items() if int(level) not in had]
    return [*old, *missing] if missing else old
