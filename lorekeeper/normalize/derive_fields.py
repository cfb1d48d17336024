"""The filter values of a stored entity, derived again from the object that it came from."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from lorekeeper.entities import AUDIENCE, Entity, Value
from lorekeeper.errors import FilterError
from lorekeeper.normalize import UnknownShapeError, characters, fivetools, normalize
from lorekeeper.normalize.book_tables import entry_of
from lorekeeper.normalize.build import readable
from lorekeeper.normalize.effects import with_effects
from lorekeeper.normalize.foundry import fields as foundry
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.normalize.notes import vault_audiences
from lorekeeper.normalize.open5e import ENDPOINTS
from lorekeeper.normalize.orcbrew import TYPES


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
    if entity.source_api not in ("orcbrew", fivetools.SOURCE, foundry.SOURCE):
        with contextlib.suppress(UnknownShapeError):
            for normalized in normalize(entity.data, hint=hint_of(entity), document=entity.document):
                if normalized.type == entity.type:  # the first one is the object itself, the others are nested in it
                    return normalized.fields
    return readable(entity.type, with_effects(entity.type, entity.kind, entity.data, _raw(entity)), lambda _: None)


def _raw(entity: Entity) -> dict[str, Any]:
    """The values before they are checked."""
    if entity.source_api == fivetools.SOURCE:
        return fivetools.fields_of(entity.type, entity.data)
    if entity.source_api == foundry.SOURCE:
        with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError):
            return foundry.fields_of(entity.type, entity.kind, entity.data)
    return _by_name(entity)


def _by_name(entity: Entity) -> dict[str, Any]:
    """The values that have the name of a field, and those of OrcBrew."""
    raw: dict[str, Any] = {field.name: entity.data.get(field.name) for field in entity.collection.fields}
    with contextlib.suppress(FilterError, TypeError, ValueError, AttributeError, KeyError):
        raw |= {name: value for name, value in _orcbrew_fields(entity).items() if value is not None}
    return raw


def hint_of(entity: Entity) -> str:
    """The Open5e endpoint that lists entities of this type and kind, as far as it can be determined."""
    names = [name for name, endpoint in ENDPOINTS.items() if endpoint.type == entity.type]
    return next((name for name in names if ENDPOINTS[name].kind == entity.kind), names[0] if names else entity.type)


def _orcbrew_fields(entity: Entity) -> dict[str, Any]:
    if entity.source_api == "orcbrew":
        for entity_type, kind, fields_of in TYPES.values():
            if (entity_type, kind) == (entity.type, entity.kind):
                return fields_of(entity.data)
    return {}
