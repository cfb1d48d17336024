"""The filter values of entries that this package has shaped: they have the shape of Open5e, and are read as Open5e's are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.normalize import characters
from lorekeeper.normalize.open5e import ENDPOINTS

SOURCE = "foundry"
"""The origin of these entries."""

_ENDPOINTS = {
    ("spells", "spell"): "spells",
    ("creatures", "creature"): "creatures",
    ("equipment", "magic-item"): "magicitems",
    ("character_options", "class"): "classes",
    ("character_options", "subclass"): "classes",
    ("character_options", "race"): "species",
    ("character_options", "subrace"): "species",
    ("character_options", "background"): "backgrounds",
    ("character_options", "feat"): "feats",
    ("documents", "document"): "documents",
}
"""The endpoint of Open5e whose objects have the shape of a type and kind."""

_OTHERS = {"equipment": "items", "rules": "rules"}


def fields_of(entity_type: str, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The raw filter values of an entry."""
    if entity_type == "characters":
        return characters.fields_of(data)
    name = _ENDPOINTS.get((entity_type, kind)) or _OTHERS.get(entity_type)
    found = dict(ENDPOINTS[name].fields(data)) if name else {}
    if entity_type == "creatures":
        found["spells"] = _merged(found.get("spells"), data.get("spell_list"))
    elif entity_type == "rules":
        found["parent"] = data.get("parent")
    return found


def _merged(one: object, other: object) -> list[str] | None:
    names = [name for names in (one, other) if isinstance(names, (list, tuple)) for name in names]
    return list(dict.fromkeys(names)) or None
