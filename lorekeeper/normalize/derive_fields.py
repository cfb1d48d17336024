"""The filter values of a stored entity, derived again from the object that it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from lorekeeper.entities import AUDIENCE, Entity, Value
from lorekeeper.errors import FilterError
from lorekeeper.filters import collection_of
from lorekeeper.normalize import UnknownShapeError, characters, fivetools, normalize
from lorekeeper.normalize.book_tables import entry_of
from lorekeeper.normalize.build import own_error, readable
from lorekeeper.normalize.effects import with_effects
from lorekeeper.normalize.foundry import fields as foundry
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.normalize.notes import vault_audiences
from lorekeeper.normalize.open5e import ENDPOINTS
from lorekeeper.normalize.orcbrew import SOURCE as ORCBREW
from lorekeeper.normalize.orcbrew import TYPES

Object = Mapping[str, Any]

Read = Callable[[Object], dict[str, Any]]
"""Reads the filter values of an object, unchecked."""


def derive_fields(entity: Entity) -> Mapping[str, Value]:
    """The filter values that ``entity.data`` gives under the current rules.

    An object whose shape is no longer recognised gives the values that have the name and the type of a field. What is from a
    vault keeps its values: the vault itself is read again for others. Who may see an entry was said when it was imported, and
    stays so.
    """
    if entity.source_api == VAULT:
        audiences = None if entity.type == "documents" else vault_audiences(entity.data)
        return {**entity.fields, AUDIENCE: audiences} if audiences else entity.fields
    kept = {AUDIENCE: entity.fields[AUDIENCE]} if AUDIENCE in entity.fields else {}
    if entry_of(entity):
        return kept
    return {name: value for name, value in _derived(entity).items() if name != AUDIENCE} | kept


def _derived(entity: Entity) -> Mapping[str, Value]:
    """The filter values that an object gives."""
    if entity.type == "characters":
        return characters.fields_of(characters.completed(entity.data))
    reader = _READERS.get(entity.source_api)
    if reader is None:
        with suppress(UnknownShapeError):
            for normalized in normalize(entity.data, hint=hint_of(entity), document=entity.document):
                if normalized.type == entity.type:  # the first one is the object itself, the others are nested in it
                    return normalized.fields
    raw = by_name(entity.type, entity.data)
    with suppress(FilterError), own_error():
        raw = reader(entity) if reader else raw
    return readable(entity.type, with_effects(entity.type, entity.kind, entity.data, raw), lambda _: None)


def by_name(entity_type: str, data: Object, read: Read | None = None) -> dict[str, Any]:
    """The values of an object that have the name of a field, and those that a reader finds, before they are checked."""
    raw = {field.name: data.get(field.name) for field in collection_of(entity_type).fields}
    with suppress(FilterError), own_error():
        raw |= {name: value for name, value in (read(data) if read else {}).items() if value is not None}
    return raw


def _of_orcbrew(entity: Entity) -> dict[str, Any]:
    readers = (read for *key, read in TYPES.values() if key == [entity.type, entity.kind])
    return by_name(entity.type, entity.data, next(readers, None))


_READERS: dict[str, Callable[[Entity], dict[str, Any]]] = {
    fivetools.SOURCE: lambda entity: fivetools.fields_of(entity.type, entity.data),
    foundry.SOURCE: lambda entity: foundry.fields_of(entity.type, entity.kind, entity.data),
    ORCBREW: _of_orcbrew,
}
"""What reads the data of entries, for the sources whose readers shape these."""


def hint_of(entity: Entity) -> str:
    """The Open5e endpoint that lists entities of this type and kind, as far as it can be determined."""
    names = [name for name, endpoint in ENDPOINTS.items() if endpoint.type == entity.type]
    return next((name for name in names if ENDPOINTS[name].kind == entity.kind), names[0] if names else entity.type)
