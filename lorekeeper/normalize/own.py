"""Our own JSON shape, of homebrew and the rules of 2024.

    {"collection": "spells", "name": "Frost Step", "document": "my-world", "level": 2, "school": "conjuration",
     "description": "...", "asked_as": ["get away over ice"]}

``collection`` and ``name`` are required; ``slug``, ``kind``, ``document`` and the filter fields of the collection are
optional, and every other key is kept. ``audience`` says who may see the entry, in the words of front matter: "dm", "players"
(the default), a name or a list of names. `schema` says the same as a JSON Schema, limits included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lorekeeper.audience import listed
from lorekeeper.entities import (
    AUDIENCE,
    COLLECTIONS,
    MAX_KEY_LENGTH,
    MAX_MANY,
    MAX_RECORD_BYTES,
    MAX_TEXT_LENGTH,
    Collection,
    Entity,
    FieldType,
)
from lorekeeper.errors import FilterError
from lorekeeper.filters import stored, unknown_name
from lorekeeper.normalize import characters, equipment, options, spells
from lorekeeper.normalize.build import MAX_DEPTH, Origin, build
from lorekeeper.normalize.creatures import own_values
from lorekeeper.normalize.reading import Words
from lorekeeper.printable import FORBIDDEN, has_controls, shown

word = Words(__file__)

SOURCE = "lorekeeper"

DEFAULT_DOCUMENT = "homebrew"

VECTORS = "vectors"
"""Key of the vectors that come with an entry: see `lorekeeper.cache.supplied_vectors`."""

_APART = frozenset({AUDIENCE, VECTORS})
"""Keys that are no part of what the entry tells."""


def recognises(obj: Mapping[str, Any]) -> bool:
    """Whether the object says which collection it belongs to."""
    return "collection" in obj


def entity(obj: Mapping[str, Any], document: str | None) -> Entity:
    """The entity of an object in our own shape; FilterError, with every reason, if it cannot be one."""
    name = obj["collection"]
    if not isinstance(name, str) or name not in COLLECTIONS:
        raise FilterError(unknown_name(str(name), list(COLLECTIONS), "collection"))
    collection = COLLECTIONS[name]
    values = _values(name, obj)
    kind = obj.get("kind") or (collection.kinds[0] if len(collection.kinds) == 1 else "")
    reasons = [*_wrong_kind(collection, kind, obj), *_wrong_texts(obj), *_wrong_fields(collection, values)]
    if reasons:
        raise FilterError("; ".join(reasons))
    return build(
        name,
        {key: value for key, value in (values if name == "characters" else obj).items() if key not in _APART},
        Origin(SOURCE, document or obj.get("document") or DEFAULT_DOCUMENT, obj.get("document_name")),
        name=obj["name"],
        kind=kind,
        slug=obj.get("slug"),
        fields={**values, AUDIENCE: _audiences(obj.get(AUDIENCE)) or _default_audience(name, values)},
    )


def _default_audience(collection: str, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Who may see an entry that says nothing of it: everybody, but of a character its player alone."""
    if collection != "characters" or values.get(AUDIENCE) is not None:
        return None
    return characters.audience_of(values, str(values["name"]))


def _audiences(written: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The filter value of who may see an entry; None if everybody may."""
    if written is None:
        return None
    from lorekeeper.notes.marks import people_or_all
    from lorekeeper.notes.properties import listed as listed_texts

    texts = [written] if isinstance(written, str) else list(written)
    return listed([people_or_all(listed_texts(texts))]) or None


def _values(collection: str, obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with the values of fields that follow from its texts; what it states itself stays.

    A "no" does not follow from a text, since that of homebrew need not be complete.
    """
    if collection == "creatures":
        return own_values(obj)
    if collection == "characters":
        return characters.completed(obj)
    if collection not in _READERS:
        return obj
    derived, restated = (read(obj) for read in _READERS[collection])
    return {**{name: value for name, value in derived.items() if value not in (None, False)}, **obj, **restated}


_READERS = {
    "spells": (spells.read, spells.restated),
    "equipment": (equipment.own_fields, equipment.restated),
    "character_options": (options.read, options.restated),
}
"""For each collection: what follows from the rest of an object, and its values in words as fields have them."""

NUMBERS_IN_WORDS = frozenset({("spells", "duration"), ("equipment", "armor_class")})
"""Numbers that may be given in words, such as "8 hours" or "14 + Dex modifier"; what cannot be read is left out."""


def schema(collection: Collection) -> dict[str, Any]:
    """JSON Schema (2020-12) of our own shape for the entries of a collection, from its declaration."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"LoreKeeper {collection.label}",
        "description": "One entry. A file holds one, a list of them, or one per line. Other keys are stored too. An entry has at "
        f"most {MAX_RECORD_BYTES:,} bytes as JSON in UTF-8, {MAX_DEPTH} levels of lists and objects, and no lone surrogates.",
        "type": "object",
        "required": ["collection", "name", *(["kind"] if len(collection.kinds) > 1 else [])],
        "properties": _properties(collection),
    }


def _properties(collection: Collection) -> dict[str, Any]:
    """The keys of an entry, and what may be there."""
    plain = {"type": "string", "maxLength": MAX_TEXT_LENGTH, "pattern": _PLAIN}
    key = plain | {"maxLength": MAX_KEY_LENGTH}
    kinds = plain | {"examples": list(collection.kinds)} if collection.open_kinds else {"enum": list(collection.kinds)}
    properties: dict[str, Any] = {
        "collection": {"const": collection.name},
        "name": plain,
        "kind": kinds | {"description": f"what kind of {collection.label} it is"},
        "slug": key
        | {"maxLength": collection.max_slug}
        | {"description": "its key within the document; made from the name by default"},
        "document": key | {"description": "key of the book it is from", "default": DEFAULT_DOCUMENT},
        "document_name": plain | {"description": "title of that book"},
        **word["own keys"],
    }
    types = word["own types"] | {"text": _TEXT, "texts": _TEXTS}
    for declared in collection.fields:
        json_type = types[declared.type.name.lower()] | {"description": declared.help}
        if declared.most != MAX_MANY:
            json_type |= {"maxItems": declared.most}
        if (collection.name, declared.name) in NUMBERS_IN_WORDS:
            json_type |= {"type": [_NUMBERS[declared.type], "string", "null"], "pattern": ""}
        properties[declared.name] = json_type
    properties[AUDIENCE] |= {"description": "who may see it: dm, players (the default), a name, or names"}
    return properties


_PLAIN = rf"^(?![\s\S]*[{FORBIDDEN}])[\s\S]*\S"
"""A text that is not empty and has no control characters."""

_TEXT = {"type": ["string", "null"], "maxLength": MAX_TEXT_LENGTH, "pattern": _PLAIN}

_TEXTS = _TEXT | {"type": ["array", "string", "null"], "items": _TEXT | {"type": "string"}, "maxItems": MAX_MANY}

_NUMBERS = {FieldType.INTEGER: "integer", FieldType.DECIMAL: "number"}


def _wrong_kind(collection: Collection, kind: object, obj: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the kind."""
    accepted = collection.open_kinds and isinstance(kind, str) and kind.strip()
    if kind not in collection.kinds and not accepted:
        allowed = ", ".join(collection.kinds)
        yield f"'kind' of {collection.name} must be one of {allowed}, not {shown(obj.get('kind'))}"


def _wrong_texts(obj: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the texts that every entry has."""
    for name in ("name", "slug", "kind", "document", "document_name"):
        value = obj.get(name)
        if isinstance(value, str) and has_controls(value):
            yield f"{name} must have no control characters, such as line breaks and tabs (it is {shown(value)})"
        elif name == "kind" or (value is None and name != "name"):
            continue
        elif not isinstance(value, str) or not value.strip():
            lacking = "it has no name: " if name == "name" else ""
            yield f"{lacking}{name} must be a non-empty text, not {shown(value)}"


def _wrong_fields(collection: Collection, obj: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the filter fields, each with its value and what is allowed."""
    for declared in collection.fields:
        value = obj.get(declared.name)
        if value is None:
            continue
        try:
            stored(declared, value)
        except FilterError as error:
            reason = str(error)
            yield reason if shown(value) in reason else f"{reason} (it is {shown(value)})"
            continue
        texts = value if isinstance(value, list) else [value]
        if declared.type in (FieldType.TEXT, FieldType.TEXTS) and any(map(has_controls, texts)):
            yield f"{declared.name} must have no control characters (it is {shown(value)})"
