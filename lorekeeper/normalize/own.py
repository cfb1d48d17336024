"""Our own JSON shape, for homebrew and for the starter compendium.

    {"collection": "spells", "name": "Frost Step", "document": "my-world", "level": 2, "school": "conjuration",
     "description": "...", "asked_as": ["get away over ice"]}

``collection`` and ``name`` are required; ``slug``, ``kind``, ``document`` and the filter fields of the collection are
optional, and every other key is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import unknown_name
from lorekeeper.normalize.build import build

DEFAULT_DOCUMENT = "homebrew"


def recognises(obj: Mapping[str, Any]) -> bool:
    """Whether the object says which collection it belongs to."""
    return "collection" in obj


def entity(obj: Mapping[str, Any], document: str | None) -> Entity:
    """One entity from our own shape; FilterError with the reason where it cannot be one."""
    name = obj["collection"]
    if not isinstance(name, str) or name not in COLLECTIONS:
        raise FilterError(unknown_name(str(name), list(COLLECTIONS), "collection"))
    collection = COLLECTIONS[name]
    kind = obj.get("kind") or (collection.kinds[0] if len(collection.kinds) == 1 else None)
    if not isinstance(kind, str) or (kind not in collection.kinds and not collection.open_kinds):
        raise FilterError(f"'kind' of {name} must be one of {', '.join(collection.kinds)}, not {kind!r}")
    return build(
        name,
        obj,
        name=obj["name"],
        kind=kind,
        slug=obj.get("slug"),
        document=document or obj.get("document") or DEFAULT_DOCUMENT,
        document_name=obj.get("document_name"),
        source_api="lorekeeper",
        **{f.name: obj.get(f.name) for f in collection.fields},
    )
