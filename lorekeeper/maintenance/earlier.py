"""Entities of archives and library files of earlier versions, with the currently declared fields."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.cache.formats import declared, names, upgraded
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.filters import collection_of
from lorekeeper.normalize.build import checked
from lorekeeper.normalize.derive_fields import derive_fields


def current_entity(entity_type: str, record: object, declaration: str) -> Entity:
    """The entity of a record, checked like all that is imported (`lorekeeper.normalize.build.checked`).

    Args:
        entity_type: its type.
        record: as written by `Entity.as_record`, possibly with other fields declared.
        declaration: the fields that were declared then, as `lorekeeper.cache.formats.declared` writes them.

    Raises:
        FilterError: it is not a record, or not one that an import would accept.
    """
    if declaration == declared(collection_of(entity_type)):
        return checked(entity_type, record)
    return upgraded(
        checked(entity_type, _without_changed(entity_type, record, declaration)), declaration, derive_fields
    )


def _without_changed(entity_type: str, record: object, declaration: str) -> object:
    """A record without the fields that were declared then and are now declared with another type, or not at all."""
    fields = record.get("fields") if isinstance(record, Mapping) else None
    if not isinstance(record, Mapping) or not isinstance(fields, Mapping):
        return record
    current = names(declared(COLLECTIONS[entity_type]))
    changed = {name for name, column in names(declaration).items() if _type(column) != _type(current.get(name, ""))}
    return {**record, "fields": {name: value for name, value in fields.items() if name not in changed}}


def _type(column: str) -> str:
    return ":".join(column.split(":")[:2])
