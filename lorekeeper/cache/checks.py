"""What every cache requires of entities before it stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lorekeeper.entities import Entity
from lorekeeper.errors import EntityError
from lorekeeper.filters import collection_of, unknown_name
from lorekeeper.printable import shown


def require_storable(entities: Iterable[object], entity_type: str) -> None:
    """EntityError, which names the first one, if entities cannot be stored under a type."""
    for entity in entities:
        if not isinstance(entity, Entity):
            raise EntityError(
                f"this cache stores lorekeeper.Entity objects, not {type(entity).__name__}; MilvusCache and SqliteCache take dicts"
            )
        if reason := next(_wrong(entity, entity_type), None):
            raise EntityError(reason)


def _wrong(entity: Entity, entity_type: str) -> Iterator[str]:
    if entity.type != entity_type:
        yield f"{entity.uri} does not belong to {entity_type}; store it under {entity.type}"
    collection = collection_of(entity_type)
    for what in ("slug", "document"):
        value = getattr(entity, what)
        if not isinstance(value, str) or not value:
            yield f"{shown(entity.name)} of {entity_type} has an empty {what}, so that it cannot be found again; give it one"
            return
    if len(entity.slug) > collection.max_slug:
        yield f"the slug {shown(entity.slug)} has more than {collection.max_slug} characters"
    for name in entity.fields:
        if name not in collection.filters:
            yield f"{entity.name}: {unknown_name(name, [f.name for f in collection.fields], f'field of {entity_type}')}"
