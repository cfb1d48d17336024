"""What Open5e is known to get wrong, and the object of an entry without it.

Stored entries keep the object that their source wrote; whatever prints or reads one asks here for the repaired object. So a
new repair needs no download, and no text is embedded again: passages are made of the stored object.

`open5e.toml` is the table of single values of entries, which `entries` applies; `values` has the rules for creatures, `texts`
those for the prose of all entries. Each has its reason, and `changes` says which apply to an entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.entities import Entity, remembered
from lorekeeper.repairs.entries import repairs_of
from lorekeeper.repairs.texts import repaired_line, repaired_texts, text_changes
from lorekeeper.repairs.values import repaired_values, value_changes

__all__ = ["changes", "repaired", "repaired_excerpt", "with_values"]

OPEN5E = "open5e"
"""How `Entity.source_api` begins for objects of Open5e. Other sources are printed as they are."""


def repaired_excerpt(entity: Entity, text: str) -> str:
    """Some words of an entry, repaired as its whole text is."""
    return repaired_line(entity.document, text) if entity.source_api.startswith(OPEN5E) else text


@remembered
def with_values(entity: Entity) -> Mapping[str, Any]:
    """The object of an entry with repaired values, its texts as they are."""
    is_open5e = entity.source_api.startswith(OPEN5E)
    return repaired_values(entity.type, entity.data) if is_open5e else entity.data


def repaired(entity: Entity) -> Mapping[str, Any]:
    """The object of an entry with repaired values and texts; the same object if there is nothing to repair."""
    if not entity.source_api.startswith(OPEN5E):
        return entity.data
    data = repaired_texts(entity.document, with_values(entity))
    changes = _as_read(entity, data)
    return {**data, **changes} if changes else data


def changes(entity: Entity) -> dict[str, str]:
    """What is repaired in an entry: the reason of each repair, and where it is made."""
    if not entity.source_api.startswith(OPEN5E):
        return {}
    data, found = entity.data, {}
    for repair in repairs_of(data):
        changed = repair.applied(data)
        if changed is not data:
            found[repair.reason] = repair.path
        data = changed
    found |= {reason: key for reason, key, _ in value_changes(entity.type, data)}
    found |= dict.fromkeys(text_changes(entity.document, with_values(entity)), "text")
    read = ", ".join(_as_read(entity, data))
    return found | ({"values that contradict the text": read} if read else {})


def _as_read(entity: Entity, data: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the filters know better than the source, since they are read in the text or in the lists of classes."""
    fields = entity.fields
    if entity.type == "equipment":
        stated = data.get("requires_attunement") is False and fields.get("requires_attunement") is True
        return {"requires_attunement": True} if stated else {}
    if entity.type != "spells":
        return {}
    changes: dict[str, Any] = {}
    if data.get("shape_type") and fields.get("area") and fields.get("area_size"):
        changes |= {"shape_type": fields["area"], "shape_size": fields["area_size"]}
    if classes := fields.get("classes"):
        changes["classes"] = list(classes) if isinstance(classes, tuple) else [classes]
    if data.get("material_consumed") is not None and "material_consumed" in fields:
        changes["material_consumed"] = fields["material_consumed"]
    return {key: value for key, value in changes.items() if data.get(key) != value}
