"""The text of an entity that is searched by meaning, as a whole."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lorekeeper.entities import Entity, Value
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields, collection_of
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.text.facts import indexed_facts
from lorekeeper.text.sections import full_text

logger = logging.getLogger(__name__)

SHORT_TEXT = 20
"""An entity with fewer characters of prose is found by its name, kind and facts alone, which is worth a warning."""


def searchable_text(entity: Mapping[str, Any] | Entity, entity_type: str) -> str:
    """The name and the prose of an entity, a section a line; the kind and the facts of one with hardly any prose.

    Raises:
        FilterError: there is no such type.
    """
    whole = entity if isinstance(entity, Entity) else _of_plain(entity, entity_type)
    prose = full_text(whole)
    if len(prose) >= SHORT_TEXT:
        return f"{whole.name}\n{prose}".strip()
    logger.warning(
        "%s has only %d characters of text, and is embedded by name, kind and facts; is its text under a key of its own? It has "
        "the keys %s",
        one_line(whole.name, MAX_SHOWN) or "an entity without a name",
        len(prose),
        ", ".join(map(str, whole.data)),
    )
    line, kind = indexed_facts(whole), whole.kind.replace("-", " ")
    return "\n".join(filter(None, [whole.name, line if kind in line else f"{kind} {line}".strip(), prose]))


def is_short(entity: Entity) -> bool:
    """Whether an entity has hardly any prose."""
    return len(full_text(entity)) < SHORT_TEXT


def _of_plain(obj: Mapping[str, Any], entity_type: str) -> Entity:
    """A plain object as an entity to read, which need not be one that can be stored."""
    collection = collection_of(entity_type)
    fields: dict[str, Value] = {}
    for field in collection.fields:
        with suppress(FilterError):
            fields |= clean_fields(entity_type, {field.name: obj.get(field.name)})
    name = next((str(obj[key]) for key in ("name", "title", "slug", "key") if obj.get(key)), "")
    return Entity(entity_type, "", name, str(obj.get("kind") or collection.kinds[0]), "", "", obj, fields)
