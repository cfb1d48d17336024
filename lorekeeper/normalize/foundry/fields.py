"""The filter values of entries that this package has shaped: they have the shape of Open5e, and are read as Open5e's are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.normalize import characters
from lorekeeper.normalize.foundry.values import texts, word
from lorekeeper.normalize.open5e import ENDPOINTS

SOURCE = "foundry"
"""The origin of these entries."""


def fields_of(entity_type: str, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The raw filter values of an entry."""
    if entity_type == "characters":
        return characters.fields_of(data)
    name = word("endpoints", f"{entity_type} {kind}", word("endpoints", entity_type, ""))
    found = dict(ENDPOINTS[name].fields(data)) if name else {}
    if entity_type == "creatures":
        names = [*(found.get("spells") or ()), *texts(data, "spell_list")]
        found["spells"] = list(dict.fromkeys(names)) or None
    elif entity_type == "rules":
        found["parent"] = data.get("parent")
    return found
