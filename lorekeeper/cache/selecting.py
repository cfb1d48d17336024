"""Filters on entities in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lorekeeper.cache.protocol import Documents
from lorekeeper.entities import Entity
from lorekeeper.filters import matches, name_rank, parse_filters
from lorekeeper.folding import fold


def select_entities(
    entities: Iterable[Entity],
    entity_type: str,
    document: Documents = None,
    *,
    limit: int | None = None,
    offset: int = 0,
    **filters: Any,
) -> list[Entity]:
    """What `CacheProtocol.get_entities` answers with these arguments of some entities of a type, for backends without queries.

    Raises:
        FilterError: an unknown type or field, or a value of the wrong type.
    """
    conditions = parse_filters(entity_type, filters)
    keys = [document] if isinstance(document, str) else document
    found = [e for e in entities if (keys is None or e.document in keys) and matches(e, conditions)]
    wanted = next((str(c.values[0]) for c in conditions if c.op == "name" and not c.negate), "")

    def place(entity: Entity) -> tuple[object, ...]:
        name = fold(entity.name)
        return name_rank(name, wanted), name, *entity.identity

    return sorted(found, key=place)[offset : None if limit is None else offset + limit]
