"""JSON Schemas of the answers: what the tools' structured content has, with every field and when it is null or missing.

`server.outputs` describes the same for models, in fewer words; the fields of results and pages are declared there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from lorekeeper.entities import COLLECTIONS
from lorekeeper.search.dossier.lines import Relation
from lorekeeper.search.fusion import Retriever
from lorekeeper.search.results import Mode
from lorekeeper.server import outputs
from lorekeeper.server.answers import JsonObject

Shape = tuple[object, str]
"""Type of a field, a name of JSON Schema's, a list of names, or a schema; and what the field says."""

MAYBE_TEXT, MAYBE_INTEGER = ["string", "null"], ["integer", "null"]
TEXTS: JsonObject = {"type": "array", "items": {"type": "string"}}

MAYBE_TEXTS: JsonObject = {"type": "array", "items": {"type": MAYBE_TEXT}}


def _schema(kind: object, description: str) -> JsonObject:
    schema = kind if isinstance(kind, dict) else {"type": kind}
    return schema | {"description": description} if description else schema


def _object(fields: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> JsonObject:
    every = {**fields, **(optional or {})}
    properties = {name: _schema(kind, description) for name, (kind, description) in every.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def ref(name: str) -> JsonObject:
    """The shape of that name in `SHAPES`."""
    return {"$ref": f"#/components/schemas/{name}"}


def _list(name: str) -> JsonObject:
    return {"type": "array", "items": ref(name)}


def _enum(values: object, *, null: bool = False) -> JsonObject:
    names = list(get_args(values)) if not isinstance(values, list) else values
    return {"type": MAYBE_TEXT, "enum": [*names, None]} if null else {"type": "string", "enum": names}


_TYPE: Shape = (_enum(list(COLLECTIONS)), "type of the entry")

IDENTITY: dict[str, Shape] = {
    "uri": ("string", "lore://TYPE/DOCUMENT/SLUG; with /api/v1/entities/ for lore:// the path of the entry"),
    "name": ("string", "name of the entry"),
    "type": _TYPE,
    "kind": ("string", "what it is within its type"),
    "document": ("string", "key of its document"),
}

SOURCE: dict[str, Shape] = {
    "document_name": ("string", "title of its document"),
    "edition": ("string", "edition of its document, empty if it is unknown"),
}

SECRET: dict[str, Shape] = {"secret": ("boolean", "true where a game master sees what players do not")}

_SAID: dict[str, Shape] = {
    **IDENTITY,
    **SOURCE,
    "score": (["number", "null"], "0 to 1, comparable within one query; null without a query"),
    "match": (_enum(Retriever, null=True), "what found it; null without a query"),
    "section": ("string", "headings above the snippet, joined by ' > ', empty for the main text"),
    "facts": ("string", "key facts in one line"),
    "snippet": ("string", "the text that answers, or the beginning; empty with detail=full"),
    "entity": ("object", "all of it, with detail=full"),
    "variants": ("string", "names of the variants that are grouped under it"),
    "entries": ("integer", "number of entries that are grouped under it"),
    "differs": (
        "string",
        "the editions in which its name has another text, with their uris if the result is sure",
    ),
    "wording": ("integer", "number of the wording that found it, of several, from 1 on"),
    **SECRET,
}
"""What fields of a result are, where `outputs.RESULT` leaves it to the name."""

_SOMETIMES = frozenset({"entity", "variants", "entries", "differs", "wording", "secret"})
"""Fields that not every result has."""

_RESULT: dict[str, Shape] = {name: _SAID.get(name, shape) for name, shape in outputs.RESULT.items()}

_PAGE: dict[str, Shape] = {
    **outputs.PAGE,
    "total": ("integer", "number of results on all pages"),
    "mode": (_enum(Mode), "how it was searched"),
    "next_offset": (MAYBE_INTEGER, "offset of the next page, null on the last one"),
    "note": (MAYBE_TEXT, "what the reader should know"),
}

SHAPES: Mapping[str, JsonObject] = {
    "Page": _object({"results": (_list("Result"), "best first"), **_PAGE}),
    "Result": _object(
        {name: shape for name, shape in _RESULT.items() if name not in _SOMETIMES},
        {name: shape for name, shape in _RESULT.items() if name in _SOMETIMES},
    ),
    "Entry": _object(
        {
            **IDENTITY,
            **SOURCE,
            "licenses": (TEXTS, "licences of its document"),
            "attribution": (MAYBE_TEXT, "give it when quoting"),
            "facts": ("string", "key facts in one line"),
            "entity": ("object", "all of it, as its source has it"),
        },
        {
            "note": ("string", "other books that have the entry"),
            "rolls": ({"type": "array", "items": {"type": "object"}}, "what rolls on its tables gave, with roll=true"),
            **SECRET,
        },
    ),
    "Document": _object(
        {
            "key": ("string", "for the parameter documents"),
            "name": ("string", "title"),
            "publisher": (MAYBE_TEXT, ""),
            "author": (MAYBE_TEXT, ""),
            "game_system": (MAYBE_TEXT, ""),
            "licenses": (TEXTS, ""),
            "url": (MAYBE_TEXT, ""),
            "counts": ({"type": "object", "additionalProperties": {"type": "integer"}}, "number of entries by type"),
        },
        {"searched_with": (TEXTS, "keys of the other parts of the same book, which a search of one searches too")},
    ),
    "Documents": _object({"documents": (_list("Document"), "by key")}),
    "Type": _object(
        {
            "name": (_enum([name for name, c in COLLECTIONS.items() if c.tool]), "for the parameter types"),
            "label": ("string", "one of them, in words"),
            "entries": ("integer", "number of entries"),
            "kinds": (TEXTS, "what entries of the type are"),
            "more_kinds": ("boolean", "whether there may be other kinds"),
            "filters": (TEXTS, "parameters that search takes for this type besides"),
        }
    ),
    "Types": _object({"types": (_list("Type"), "")}),
    "Line": _object(
        {
            **IDENTITY,
            "section": ("string", "headings above the text, empty for the main text"),
            "session": (MAYBE_INTEGER, "number of the session"),
            "date": (MAYBE_TEXT, "date of the session, as 2026-11-20"),
            "relation": (_enum(Relation), "what the entry has to do with the topic"),
            "text": ("string", "what it says, in one line"),
        },
        {"mark": ("string", "what makes the text secret, as written")},
    ),
    "Part": _object(
        {"title": ("string", ""), "lines": (_list("Line"), ""), "left_out": ("integer", "lines that did not fit")},
        {"more": ("string", "uri at which to read on")},
    ),
    "Topic": _object(
        {
            "topic": ("string", "as it was asked for"),
            "uri": (MAYBE_TEXT, "the entry that is about it"),
            "parts": (_list("Part"), "those that have lines"),
            "note": (MAYBE_TEXT, "what the reader should know"),
        }
    ),
    "Note": _object(
        {
            **{name: IDENTITY[name] for name in ("uri", "name", "kind", "document")},
            "date": ("string", "of its session, else when it was changed, in UTC"),
            "session": (MAYBE_INTEGER, "number of the session"),
        }
    ),
    "Recent": _object({"results": (_list("Note"), "newest first")}),
    "Fact": _object({"label": ("string", ""), "values": (MAYBE_TEXTS, "of each entry, null for one without")}),
    "SharedFact": _object({"label": ("string", ""), "value": ("string", "")}),
    "Passage": _object(
        {
            "places": (MAYBE_TEXTS, "headings and name of each entry, null for one without"),
            "rows": ({"type": "array", "items": MAYBE_TEXTS}, "sentences that say the same, of each entry"),
        }
    ),
    "Compared": _object({**IDENTITY, **SOURCE}, SECRET),
    "Comparison": _object(
        {
            "entries": (_list("Compared"), "in the order of all values and texts"),
            "facts": (_list("Fact"), "those that differ; changed words are between double asterisks"),
            "shared": (_list("SharedFact"), "those that all have alike"),
            "texts": (_list("Passage"), "those that differ"),
            "same": (
                _object({"facts": ("integer", ""), "sentences": ("integer", "")}),
                "how much is alike",
            ),
            "note": (MAYBE_TEXT, "what the reader should know"),
        }
    ),
    "Problem": _object(
        {
            "type": ("string", "about:blank: the status says it all"),
            "title": ("string", "the status in words"),
            "status": ("integer", "the status"),
            "detail": ("string", "what is wrong, and what to do next"),
            "instance": ("string", "path of the request"),
        }
    ),
}
"""What is answered, by name."""
