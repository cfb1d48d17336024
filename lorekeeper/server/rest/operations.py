"""The operations of the gateway: each is a tool at a path.

The parameters are those of the MCP tools, from the same declarations. `SEARCH` takes the parameters of `search_lore`, and,
where exactly one type is asked for, the filters of that type's lookup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from lorekeeper.differences import MAX_ENTRIES
from lorekeeper.entities import COLLECTIONS, MAX_KEY_LENGTH, MAX_URI_LENGTH, SEARCHED, Collection, uri_of
from lorekeeper.errors import NotFoundError
from lorekeeper.filters import unknown_name
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.search.query import MAX_LIMIT, MAX_QUERY_CHARS
from lorekeeper.search.sorting import recent_notes
from lorekeeper.server import models
from lorekeeper.server.answers import Answer, document_list, entity_answer
from lorekeeper.server.arguments import Texts
from lorekeeper.server.comparisons import COMPARE_ENTRIES
from lorekeeper.server.models import JsonObject
from lorekeeper.server.rolls import with_rolls
from lorekeeper.server.tools import (
    GATHER_TOPIC,
    LIST_DOCUMENTS,
    SEARCH_LORE,
    Arguments,
    Tool,
    ToolError,
    all_tools,
)
from lorekeeper.views.view import View

Fields = Mapping[str, FieldInfo]
"""Parameters by name, as Pydantic declares them."""

LOOKUPS = {tool.entity_type: tool for tool in all_tools() if tool.entity_type}
"""The lookup tools by the type that they look up."""


@dataclass(frozen=True)
class Operation:
    """What can be asked at a path.

    Attributes:
        path: below ``/api/v1``, with the names of those parameters in it that are segments of it.
        tool: has the parameters, and answers.
        forms: the tools that answer instead where exactly one type is asked for, by type.
        limits: schemas of parameters whose values are checked where they are used, which models need not read.
        methods: by which it is asked: GET with a query, POST with a body.
    """

    path: str
    tool: Tool
    forms: Mapping[str, Tool] = field(default_factory=dict)
    limits: Mapping[str, JsonObject] = field(default_factory=dict)
    methods: Sequence[str] = ("GET",)

    @property
    def in_path(self) -> list[str]:
        """The names of the parameters that are segments of the path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def prefix(self) -> str:
        """The path before the first of these."""
        return self.path.partition("{")[0]

    def check(self, arguments: Mapping[str, object]) -> tuple[Tool, Arguments]:
        """The tool that answers, and its checked arguments; ToolError that says what is wrong."""
        types = arguments.get("types")
        tool = self._form([types] if isinstance(types, str) else types)
        for name in arguments if tool is self.tool else ():
            taking = [each for each, form in self.forms.items() if name in form.arguments.model_fields]
            if taking and name not in tool.arguments.model_fields:
                raise ToolError(
                    f"{name} needs exactly one of types: {', '.join(taking)}, for example types={taking[0]}"
                )
        return tool, tool.check(arguments, strict=True)

    def _form(self, types: object) -> Tool:
        names = [name for name in types if isinstance(name, str)] if isinstance(types, list) else []
        for name in names if self.forms else ():
            if name not in SEARCHED:
                raise ToolError(unknown_name(name, SEARCHED, "type"))
        return self.forms.get(names[0], self.tool) if len(names) == 1 else self.tool


def _model(name: str, fields: Fields) -> type[BaseModel]:
    definitions: dict[str, Any] = {each: (info.annotation, info) for each, info in fields.items()}
    return create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)


def _declared(**parameters: tuple[object, Any]) -> Fields:
    """Parameters that no tool has."""
    definitions: dict[str, Any] = parameters
    return dict(create_model("declared", **definitions).model_fields)


def _fields(tool: Tool) -> dict[str, FieldInfo]:
    return dict(tool.arguments.model_fields)


_WORDING: JsonObject = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS, "pattern": r"\S"}

_FURTHER: JsonObject = {"type": "array", "items": _WORDING, "minItems": 1}

_WORDINGS: JsonObject = {"anyOf": [_WORDING, _FURTHER]}

_SEARCHED: JsonObject = {"type": "array", "items": {"type": "string", "enum": SEARCHED}}

_SINCE: JsonObject = {"type": "string", "pattern": r"^\s*(\d{4}-\d{2}-\d{2}.*|\d{1,5}\s*[hdwHDW]|-?\d{5,12})\s*$"}
"""The form of a date or of a time ago. Not everything of that form is in a calendar."""

_ONE_TYPE: JsonObject = {"type": "string", "enum": list(COLLECTIONS)}


# --- search ----------------------------------------------------------------------------------------------------------


_TYPES = _declared(types=(Texts, Field(description="the one type that the filters are of")))


def _search_of(lookup: Tool) -> Tool:
    """A lookup as a search of one type: what it calls ``semantic_query`` is the ``query``."""
    fields = _fields(lookup)
    query = fields.pop("semantic_query")

    async def run(view: View, arguments: Arguments) -> Answer:
        renamed = {"semantic_query" if name == "query" else name: arguments[name] for name in arguments}
        del renamed["types"]
        return await lookup.run(view, renamed)

    model = _model(f"search_{lookup.entity_type}", {"query": query, **_TYPES, **fields})
    return replace(lookup, name="search", arguments=model, run=run, answer=models.Page)


SEARCH = Operation(
    "/search",
    replace(
        SEARCH_LORE,
        name="search",
        title="Search",
        description=(
            "Search all kinds of entries at once, by meaning and keywords. With exactly one of types, the filters of that type "
            "can be given too, and query may be missing: then the entries are listed that meet the filters."
        ),
        answer=models.Page,
    ),
    {name: _search_of(tool) for name, tool in LOOKUPS.items()},
    {"query": _WORDINGS, "wordings": _FURTHER, "types": _SEARCHED},
    ("GET", "POST"),
)


# --- types and documents ---------------------------------------------------------------------------------------------


async def _list_types(view: View, _: Arguments) -> Answer:
    counts = await view.cache.documents()
    found = [_type(name, sum(by_type.get(name, 0) for by_type in counts.values())) for name in SEARCHED]
    return Answer(models.Types(types=found), "")


def _type(name: str, entries: int) -> models.Type:
    collection: Collection = COLLECTIONS[name]
    return models.Type(
        name=name,
        label=collection.label,
        entries=entries,
        kinds=list(collection.kinds),
        more_kinds=collection.open_kinds,
        filters=[each for each in SEARCH.forms[name].arguments.model_fields if each not in _fields(SEARCH.tool)],
    )


async def _get_document(view: View, arguments: Arguments) -> Answer:
    for document in await document_list(view):
        if document["key"] == arguments["key"]:
            return Answer(models.Document.model_validate(document), "")
    raise NotFoundError(f"there is no document {shown(arguments['key'])}; GET /api/v1/documents lists all")


_KEY = _declared(key=(str, Field(description="key of the document", min_length=1, max_length=MAX_KEY_LENGTH)))

TYPES = Operation(
    "/types",
    Tool(
        name="list_types",
        title="List entity types",
        description="List the types of entries with their numbers, kinds, and the filters that search takes for each.",
        arguments=_model("list_types", {}),
        run=_list_types,
        answer=models.Types,
    ),
)

DOCUMENTS = Operation("/documents", replace(LIST_DOCUMENTS, answer=models.Documents), limits={"type": _ONE_TYPE})

DOCUMENT = Operation(
    "/documents/{key}",
    Tool(
        name="get_document",
        title="Read about one document",
        description="A book or vault: title, publisher, licences, and how many entries of each type it has.",
        arguments=_model("get_document", _KEY),
        run=_get_document,
        answer=models.Document,
    ),
)


# --- entries ---------------------------------------------------------------------------------------------------------


async def _get_entity(view: View, arguments: Arguments) -> Answer:
    entity_type, document, slug = arguments["type"], arguments["document"], arguments["slug"]
    if entity_type not in COLLECTIONS:
        raise NotFoundError(unknown_name(entity_type, list(COLLECTIONS), "type"))
    found = await view.entities_at(entity_type, document, slug)
    if not found:
        uri = one_line(uri_of(entity_type, document, slug), MAX_SHOWN)
        raise NotFoundError(f"there is no {uri} in the library; take an address from an answer")
    answer = await entity_answer(view, *found)
    return with_rolls(answer, found[0]) if arguments.get("roll") else answer


_IDENTITY = _declared(
    roll=(bool | None, Field(None, description="roll on its tables")),
    type=(str, Field(description="type of the entry")),
    document=(str, Field(description="key of its document", min_length=1, max_length=MAX_KEY_LENGTH)),
    slug=(
        str,
        Field(
            description="the rest of its uri; a slash in it, for example in paths of notes, may be encoded (%2F) or not",
            min_length=1,
            max_length=MAX_URI_LENGTH,
        ),
    ),
)

ENTITY = Operation(
    "/entities/{type}/{document}/{slug}",
    Tool(
        name="get_entity",
        title="Read one entry",
        description="A whole entry, with source and licence: what follows lore:// in its uri is its path here.",
        arguments=_model("get_entity", _IDENTITY),
        run=_get_entity,
        answer=models.Entry,
    ),
    limits={"type": _ONE_TYPE},
)


# --- what belongs together -------------------------------------------------------------------------------------------


async def _gather_topic(view: View, arguments: Arguments) -> Answer:
    renamed = {"topic" if name == "q" else name: arguments[name] for name in arguments}
    return await GATHER_TOPIC.run(view, renamed)


async def _list_recent(view: View, arguments: Arguments) -> Answer:
    notes = await recent_notes(view.cache, arguments.get("since"), arguments.get("limit", 10))
    return Answer(models.Recent(results=[models.Note.model_validate(each.content()) for each in notes]), "")


TOPICS = Operation(
    "/topics",
    replace(
        GATHER_TOPIC,
        arguments=_model("topics", {"q" if name == "topic" else name: f for name, f in _fields(GATHER_TOPIC).items()}),
        run=_gather_topic,
        answer=models.Topic,
    ),
    limits={"q": _WORDING, "types": _SEARCHED},
)

RECENT = Operation(
    "/recent",
    Tool(
        name="list_recent",
        title="List the newest notes",
        description="The newest notes first: by the date of their session, else by when they were changed.",
        arguments=_model(
            "recent",
            _declared(
                since=(str | None, Field(None, description="only from that date on: 2026-11-20, or 24h, 7d, 2w ago")),
                limit=(int, Field(10, ge=1, le=MAX_LIMIT)),
            ),
        ),
        run=_list_recent,
        answer=models.Recent,
    ),
    limits={"since": _SINCE},
)

_URIS: JsonObject = {
    "type": "array",
    "items": {"type": "string", "pattern": rf"^lore://({'|'.join(COLLECTIONS)})/[^/\s]+/\S+$"},
    "minItems": 2,
    "maxItems": MAX_ENTRIES,
    "uniqueItems": True,
}

COMPARISONS = Operation(
    "/comparisons",
    replace(
        COMPARE_ENTRIES,
        arguments=_model("comparisons", _declared(uris=(Texts, Field(description=f"of two to {MAX_ENTRIES} entries")))),
        answer=models.Comparison,
    ),
    limits={"uris": _URIS},
)

OPERATIONS = (SEARCH, TYPES, DOCUMENTS, DOCUMENT, ENTITY, TOPICS, RECENT, COMPARISONS)
"""Every operation, in the order in which they are described."""
