"""Format 1, of embedded libraries of version 0.1.0 and its first collections on servers: read, never written.

An entity is spread over the columns of its record. Its fields are read from the filter columns that were declared then.
Otherwise it equals format 3, `lorekeeper.cache.milvus.schema`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lorekeeper.cache.formats import FIRST_DECLARATIONS, names
from lorekeeper.cache.milvus import schema as ms
from lorekeeper.cache.milvus.schema import PASSAGES, Get, expression
from lorekeeper.cache.protocol import Identity
from lorekeeper.entities import Entity, Value
from lorekeeper.filters import SCALE

__all__ = ["FORMAT", "PASSAGES", "entities", "expression"]

FORMAT = 1

_COLUMNS = ["name", "kind_name", "document", "slug", "source_api_name", "document_name", "entity"]


def entities(entity_type: str, identities: Sequence[Identity], get: Get) -> dict[Identity, Entity]:
    """The entities that exist, of these identities; ValueError, KeyError or TypeError if one is damaged."""
    fields = names(FIRST_DECLARATIONS[entity_type])
    rows = get([ms.primary_key(*i) for i in identities], [*_COLUMNS, *fields])
    return {ms.identity(row): _entity(entity_type, row, fields) for row in rows}


def _entity(entity_type: str, row: Mapping[str, Any], fields: Mapping[str, str]) -> Entity:
    data = row["entity"]
    return Entity(
        type=entity_type,
        slug=row["slug"],
        name=row["name"],
        kind=row["kind_name"],
        document=row["document"],
        source_api=row["source_api_name"],
        data=json.loads(data) if isinstance(data, (str, bytes)) else data,
        fields={name: _value(column, row[name]) for name, column in fields.items() if row.get(name) is not None},
        document_name=row.get("document_name"),
    )


def _value(column: str, value: Any) -> Value:
    """The value of a filter column: decimals are whole thousandths there, and texts lists."""
    kind = column.split(":")[1]
    if kind == "decimal":
        return int(value) / SCALE
    return tuple(value) if kind == "texts" else value
