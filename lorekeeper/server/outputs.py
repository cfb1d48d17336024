"""JSON Schemas of what the tools return: every field with its type and what it says.

The fields of a result are described with `search_lore` and named with each lookup: a model has to read all of this.
"""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.server.answers import JsonObject

RESULT = {
    "uri": ("string", "for get_entity"),
    "name": ("string", ""),
    "type": ("string", ""),
    "kind": ("string", ""),
    "document": ("string", "key"),
    "document_name": ("string", "title"),
    "edition": ("string", ""),
    "score": ("number", ""),
    "match": ("string", "semantic, keyword, name"),
    "section": ("string", "of the snippet"),
    "facts": ("string", ""),
    "snippet": ("string", ""),
    "entity": ("object", "all of it, if detail=full"),
    "variants": ("string", ""),
    "entries": ("integer", ""),
    "differs": ("string", ""),
    "wording": ("integer", ""),
    "secret": ("boolean", ""),
}
"""Fields of a result: their types, and what they say if the name does not."""

PAGE = {
    "total": ("integer", ""),
    "mode": ("string", "structured, semantic, hybrid, keyword"),
    "next_offset": (["integer", "null"], "null on the last page"),
    "note": (["string", "null"], ""),
}
"""Fields of a page beside its results."""


def _object(fields: Mapping[str, tuple[object, str]]) -> JsonObject:
    properties = {name: _property(kind, description) for name, (kind, description) in fields.items()}
    return {"type": "object", "properties": properties}


def _property(kind: object, description: str) -> JsonObject:
    """A field without what goes without saying: that it is a string."""
    said: JsonObject = {} if kind == "string" else {"type": kind}
    return said | {"description": description} if description else said


def _of(name: str, items: JsonObject, **further: JsonObject) -> JsonObject:
    """An object with an array of that name."""
    return {"type": "object", "properties": {name: {"type": "array", "items": items}, **further}}


FOUND: JsonObject = _of(
    "results",
    _object(RESULT),
    **_object(PAGE)["properties"],
)
"""Of `search_lore`."""

LOOKED_UP: JsonObject = {"type": "object"}
"""Of the lookups: as of `search_lore`, which is not said seven times."""

ENTRY: JsonObject = {
    "type": "object",
    "description": (
        "uri to facts as of search_lore; licenses; attribution (give it when quoting); entity; note (other books that have it)"
    ),
}
"""Of `get_entity`."""

DOCUMENTS: JsonObject = {
    "type": "object",
    "description": "documents: key, name, publisher, author, game_system, licenses, url, counts (entries by type), searched_with",
}
"""Of `list_documents`."""

TOPIC: JsonObject = {
    "type": "object",
    "description": (
        "topic, uri, note, parts: title, lines, left_out, more (uri). A line: uri, name, section, session, date, relation "
        "(about, link, rule ...), text, mark (secret)"
    ),
}
"""Of `gather_topic`."""
