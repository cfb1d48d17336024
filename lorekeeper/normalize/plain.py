"""Plain objects of any project to entities of a given type, for caches that other programs use.

An object keeps all its keys, and comes back as it was stored. Its identity is its document and its ``slug``, else its ``key``,
else its name. The filter fields of a type are read from the keys of their names; 5e types also understand Open5e's shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity
from lorekeeper.errors import EntityError, FilterError
from lorekeeper.filters import collection_of
from lorekeeper.folding import fold
from lorekeeper.normalize import UnknownShapeError, normalize_open5e, own
from lorekeeper.normalize.build import Origin, build, slugify
from lorekeeper.normalize.open5e import endpoint_of
from lorekeeper.printable import shown
from lorekeeper.records.values import ref_key

DOCUMENT = own.DEFAULT_DOCUMENT
"""The document of objects that do not name one."""

SOURCE = "plain"
"""``Entity.source_api`` of objects of no known source."""

_HINTS = {"spells": "spells", "creatures": "creatures", "rules": "rules", "documents": "documents"}
"""The types whose objects are read as those of one Open5e endpoint, also if they have only some of its keys."""


def plain_entity(obj: object, entity_type: str, default: str | None = None) -> Entity:
    """The entity of an object, of the document ``default``, else `DOCUMENT`, if it names none; an `Entity` is one already.

    Raises:
        EntityError: it cannot be one; the message says why.
        FilterError: there is no such type.
    """
    collection_of(entity_type)
    if isinstance(obj, Entity):
        return obj
    if not isinstance(obj, Mapping):
        raise EntityError(f"an entity is a dict or a lorekeeper.Entity, not {type(obj).__name__}")
    data: dict[str, Any] = {str(key): _json(value) for key, value in obj.items()}
    try:
        slug, document = _slug(data), _document(data, entity_type, default)
        entity = _built(data, entity_type, slug, document)
    except EntityError:
        raise
    except FilterError as error:
        raise EntityError(str(error)) from error
    return replace(entity, data=data)


def is_called(entity: Entity, key: str) -> bool:
    """Whether a key is what an entity was stored under: its slug or key, and its name only if it has neither."""
    obj = entity.data
    named = not any(obj.get(each) for each in ("slug", "key"))
    return key == entity.slug or key == obj.get("key") or (named and fold(key) == fold(entity.name))


def key_of(obj: Mapping[str, Any]) -> str:
    """The slug of an object; EntityError if it has nothing to make one of."""
    return _slug(obj)


def _json(value: Any) -> Any:
    """A value with its dates as texts, which JSON has none of."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _json(each) for key, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, list | tuple) else value


def _built(data: dict[str, Any], entity_type: str, slug: str, document: str) -> Entity:
    if entity_type not in COLLECTIONS:
        return _declared(data, entity_type, slug, document)
    if known := _of_open5e(data, entity_type, slug, document):
        return known if _has_open5e_key(data, document) else replace(known, slug=slug)
    collection = COLLECTIONS[entity_type]
    kind = data.get("kind") or collection.kinds[0 if collection.open_kinds else -1]
    shaped = {**data, "collection": entity_type, "kind": kind, "slug": slug, "document": document}
    return own.entity({"name": _name(data, slug), **shaped}, document)


def _of_open5e(data: dict[str, Any], entity_type: str, slug: str, document: str) -> Entity | None:
    """The entity of an object in a shape of Open5e; None if it has another one."""
    if own.recognises(data) or data.get(AUDIENCE) is not None:
        return None
    if not any(isinstance(data.get(key), str) for key in ("key", "slug")):
        data = {**data, "slug": slug}
    endpoint = endpoint_of({**data, "desc": None}, _HINTS.get(entity_type))
    if endpoint is None or endpoint.type != entity_type:
        return None
    try:
        hint = None if endpoint.signatures else endpoint.name
        whole = None if entity_type == "documents" else document
        return normalize_open5e(data, hint=hint or _HINTS.get(entity_type), document=whole)[0]
    except UnknownShapeError:
        return None


def _declared(data: dict[str, Any], entity_type: str, slug: str, document: str) -> Entity:
    """The entity of a type that a program has declared."""
    collection = collection_of(entity_type)
    kind = data.get("kind")
    return build(
        entity_type,
        data,
        Origin(SOURCE, document),
        name=_name(data, slug),
        kind=kind if isinstance(kind, str) and kind.strip() else collection.kinds[0],
        slug=slug,
        fields={field.name: data.get(field.name) for field in collection.fields},
    )


def _slug(obj: Mapping[str, Any]) -> str:
    for key in ("slug", "key"):
        value = obj.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    name = _title(obj)
    if name and (slug := slugify(name)):
        return slug
    raise EntityError(
        f"an entity needs a slug, a key or a name; this one has the keys {shown(', '.join(map(str, obj)))}"
    )


def _title(obj: Mapping[str, Any]) -> str | None:
    return next(
        (obj[key].strip() for key in ("name", "title") if isinstance(obj.get(key), str) and obj[key].strip()), None
    )


def _name(obj: Mapping[str, Any], slug: str) -> str:
    return _title(obj) or slug.replace("-", " ").replace("_", " ").title()


def _document(obj: Mapping[str, Any], entity_type: str, default: str | None) -> str:
    """The key of an object's document: as a text, or as Open5e writes references."""
    if entity_type == "documents":
        return _slug(obj)
    named = obj.get("document__slug") or obj.get("document")
    return ref_key(named) or default or DOCUMENT


def _has_open5e_key(obj: Mapping[str, Any], document: str) -> bool:
    """Whether the key of an object begins with that of its document, as in "srd-2014_fireball"."""
    key, reference = obj.get("key"), obj.get("document")
    return (
        isinstance(key, str)
        and "slug" not in obj
        and (isinstance(reference, Mapping) or key.startswith(f"{document}_"))
    )
