"""Our own JSON shape, for homebrew and for the starter compendium.

    {"collection": "spells", "name": "Frost Step", "document": "my-world", "level": 2, "school": "conjuration",
     "description": "...", "asked_as": ["get away over ice"]}

``collection`` and ``name`` are required; ``slug``, ``kind``, ``document`` and the filter fields of the collection are
optional, and every other key is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.entities import COLLECTIONS, MAX_KEY_LENGTH, MAX_TEXT_LENGTH, Collection, Entity, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.filters import MAX_MANY, stored, unknown_name
from lorekeeper.normalize.build import build
from lorekeeper.printable import shown

DEFAULT_DOCUMENT = "homebrew"


def recognises(obj: Mapping[str, Any]) -> bool:
    """Whether the object says which collection it belongs to."""
    return "collection" in obj


def entity(obj: Mapping[str, Any], document: str | None) -> Entity:
    """One entity from our own shape; FilterError with every reason where it cannot be one."""
    name = obj["collection"]
    if not isinstance(name, str) or name not in COLLECTIONS:
        raise FilterError(unknown_name(str(name), list(COLLECTIONS), "collection"))
    collection = COLLECTIONS[name]
    wrong = [reason for reason in (*_wrong_texts(obj), *_wrong_fields(collection, obj)) if reason]
    kind = obj.get("kind") or (collection.kinds[0] if len(collection.kinds) == 1 else "")
    if kind not in collection.kinds and not (collection.open_kinds and isinstance(kind, str) and kind.strip()):
        wrong.insert(0, f"'kind' of {name} must be one of {', '.join(collection.kinds)}, not {shown(obj.get('kind'))}")
    if wrong:
        raise FilterError("; ".join(wrong))
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


def schema(collection: Collection) -> dict[str, Any]:
    """JSON Schema (2020-12) of our own shape for the entries of a collection, from its declaration."""
    kinds: dict[str, Any] = {"type": "string", "examples": list(collection.kinds)}
    if not collection.open_kinds:
        kinds = {"enum": list(collection.kinds)}
    key = {
        "type": "string",
        "maxLength": MAX_KEY_LENGTH,
        "pattern": _PLAIN,
    }
    properties: dict[str, Any] = {
        "collection": {"const": collection.name},
        "name": {"type": "string", "maxLength": MAX_TEXT_LENGTH, "pattern": _PLAIN},
        "kind": kinds | {"description": f"what kind of {collection.label} it is"},
        "slug": key | {"description": "its key within the document; made from the name where it is not given"},
        "document": key | {"description": "key of the book it is from", "default": DEFAULT_DOCUMENT},
        "document_name": {"type": "string", "maxLength": MAX_TEXT_LENGTH, "description": "title of that book"},
        "description": {"type": "string", "description": "its text, plain or Markdown"},
        "asked_as": {
            "type": "array",
            "items": {"type": "string"},
            "description": "phrases in which people may ask for it",
        },
    }
    for declared in collection.fields:
        properties[declared.name] = _JSON_TYPES[declared.type] | {"description": declared.help}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"LoreKeeper {collection.label}",
        "description": "One entry. A file holds one, a list of them, or one a line. Keys beyond these are kept.",
        "type": "object",
        "required": ["collection", "name", *(["kind"] if len(collection.kinds) > 1 else [])],
        "properties": properties,
    }


_PLAIN = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
"""A text that is not empty and has no control characters."""

_TEXT = {"type": ["string", "null"], "maxLength": MAX_TEXT_LENGTH, "pattern": r"^[^\x00]*[^\x00\s][^\x00]*$"}

_JSON_TYPES: dict[FieldType, dict[str, Any]] = {
    FieldType.TEXT: _TEXT,
    FieldType.INTEGER: {"type": ["integer", "null"], "minimum": -(2**53), "maximum": 2**53},
    FieldType.DECIMAL: {
        "type": ["number", "string", "null"],
        "pattern": r"^\s*([+-]?\d{1,15}(\.\d{1,9})?|\d{1,6}/0*[1-9]\d{0,4})\s*$",
        "minimum": -(10**12),
        "maximum": 10**12,
    },
    FieldType.FLAG: {"type": ["boolean", "null"]},
    FieldType.TEXTS: {"type": ["array", "null"], "items": _TEXT | {"type": "string"}, "maxItems": MAX_MANY},
}


def _wrong_texts(obj: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the texts that every entry has."""
    for name in ("name", "slug", "document", "document_name"):
        value = obj.get(name)
        if (value is not None or name == "name") and (not isinstance(value, str) or not value.strip()):
            lacking = "it has no name: " if name == "name" else ""
            yield f"{lacking}{name} must be a text that is not empty, not {shown(value)}"


def _wrong_fields(collection: Collection, obj: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the filter fields, each with its value and what is allowed."""
    for declared in collection.fields:
        value = obj.get(declared.name)
        if value is not None:
            try:
                stored(declared, value)
            except FilterError as error:
                reason = str(error)
                yield reason if shown(value) in reason else f"{reason} (it is {shown(value)})"
