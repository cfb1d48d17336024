"""JSON Schemas of what the tools return: every field with its type and what it says.

The fields of a result are described with `search_lore` and named with each lookup: a model has to read all of this.
"""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.server.answers import JsonObject

RESULT = {
    "uri": ("string", "for get_entity"),
    "name": ("string", ""),
    "type": ("string", "as in types"),
    "kind": ("string", "within its type"),
    "document": ("string", "key"),
    "document_name": ("string", "title"),
    "edition": ("string", ""),
    "score": ("number", "higher is better"),
    "match": ("string", "semantic, keyword, name"),
    "section": ("string", "heading of the snippet"),
    "facts": ("string", "key facts"),
    "snippet": ("string", "best passage"),
    "entity": ("object", "all of it, if detail=full"),
    "variants": ("string", "not listed one by one"),
    "entries": ("integer", "with variants"),
    "wording": ("string", "that found it"),
}
"""Fields of a result: their types, and what they say if the name does not."""

PAGE = {
    "total": ("integer", "all that match"),
    "mode": ("string", "structured, semantic, hybrid, keyword"),
    "next_offset": (["integer", "null"], "null on the last page"),
    "note": (["string", "null"], "to be passed on"),
}
"""Fields of a page beside its results."""


def _object(fields: Mapping[str, tuple[object, str]]) -> JsonObject:
    properties = {
        name: {"type": kind, "description": description} if description else {"type": kind}
        for name, (kind, description) in fields.items()
    }
    return {"type": "object", "properties": properties}


def _of(name: str, items: JsonObject, **further: JsonObject) -> JsonObject:
    """An object with an array of that name."""
    return {"type": "object", "properties": {name: {"type": "array", "items": items}, **further}}


FOUND: JsonObject = _of("results", _object(RESULT), **_object(PAGE)["properties"])
"""Of `search_lore`."""

LOOKED_UP: JsonObject = _of("results", {"type": "object"}) | {"description": "as of search_lore"}
"""Of the lookups."""

ENTRY: JsonObject = {
    "type": "object",
    "description": (
        "uri to facts as of search_lore; licenses; attribution (give it when you quote); entity (all of it); note (other "
        "books that have it)"
    ),
    "properties": {"uri": {"type": "string"}, "entity": {"type": "object"}},
}
"""Of `get_entity`."""

DOCUMENTS: JsonObject = _of(
    "documents",
    {
        "type": "object",
        "description": "key, name, publisher, author, game_system, licenses, url, counts (entries by type)",
    },
)
"""Of `list_documents`."""
