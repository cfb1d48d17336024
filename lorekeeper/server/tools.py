"""The MCP tools: parameters from the declarations in `entities`, answers as structured content and as text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lorekeeper.attribution import Attribution, attribution
from lorekeeper.entities import COLLECTIONS, MAX_URI_LENGTH, Collection, Entity, FieldType, parse_uri
from lorekeeper.errors import FilterError, LoreKeeperError
from lorekeeper.filters import unknown_name
from lorekeeper.library import Library
from lorekeeper.printable import MAX_SHOWN, lines, one_line
from lorekeeper.search.pipeline import MAX_LIMIT, MAX_QUERY_CHARS, Query
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.text.facts import facts
from lorekeeper.text.sections import full_text

SEARCHED = [name for name, c in COLLECTIONS.items() if c.tool]

MAX_FACTS = 90
"""Characters of facts in a concise result."""


class ToolError(LoreKeeperError):
    """A tool call that cannot be answered; the text tells the model what to do next."""


@dataclass(frozen=True)
class Answer:
    """What a tool gives back: the same essentials twice, since clients show a model one or the other."""

    structured: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Tool:
    """One tool: what it is called, what it takes, what it does."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Library, Mapping[str, Any]], Awaitable[Answer]]
    output: dict[str, Any]

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without the words a model does not need."""
        schema = _lean(self.arguments.model_json_schema())
        return {"type": "object", "additionalProperties": False, **schema}

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that were given, checked; ToolError that names what is wrong and what is known."""
        given = {k: v for k, v in arguments.items() if v is not None}
        for name in given:
            if name not in self.arguments.model_fields:
                raise ToolError(unknown_name(name, list(self.arguments.model_fields), f"parameter of {self.name}"))
        try:
            return self.arguments.model_validate(given).model_dump(exclude_unset=True)
        except ValidationError as error:
            wrong = {".".join(map(str, e["loc"][:1])): e["msg"] for e in error.errors()}
            raise ToolError("; ".join(f"{name}: {message}" for name, message in wrong.items())) from error


def all_tools() -> list[Tool]:
    """Every tool, in the order in which they are listed."""
    lookups = [_lookup(c) for c in COLLECTIONS.values() if c.tool]
    return [*lookups, SEARCH_LORE, GET_ENTITY, LIST_DOCUMENTS]


# --- lookups ---------------------------------------------------------------------------------------------------------


def _lookup(collection: Collection) -> Tool:
    """The lookup tool of a collection."""
    assert collection.tool is not None
    parameters: dict[str, Any] = {"name": _text("name, or part of it")}
    targets: dict[str, str] = {"name": "name"}
    if len(collection.kinds) > 1 or collection.open_kinds:
        kinds = ", ".join(collection.kinds) + (", ..." if collection.open_kinds else "")
        parameters["kind"], targets["kind"] = _text(kinds), "kind"
    for field in collection.fields:
        for parameter in field.tool:
            bound = parameter[-4:] if parameter.endswith(("_min", "_max")) and field.type.ordered else ""
            targets[parameter] = field.name + bound
            words = {"": field.help, "_min": "at least", "_max": "at most"}[bound]
            parameters[parameter] = _typed(
                field.type,
                words if bound and len(field.tool) > 1 else f"{words} {field.help}".strip() if bound else words,
            )
    parameters["semantic_query"] = _query("what it should do, mean or look like, in plain words; ranks by relevance")

    async def run(library: Library, arguments: Mapping[str, Any]) -> Answer:
        filters = {targets[name]: value for name, value in arguments.items() if name in targets}
        return await _search(library, arguments, [collection.name], arguments.get("semantic_query"), filters)

    label = collection.label
    return Tool(
        name=collection.tool,
        title=f"Look up {label}s",
        description=f"Find {label}s on the user's shelf by name, exact filters, or meaning (semantic_query). Filters always hold.",
        arguments=_model(collection.tool, parameters | _PAGING),
        run=run,
        output=_RESULTS,
    )


async def _search_lore(library: Library, arguments: Mapping[str, Any]) -> Answer:
    types = arguments.get("types") or SEARCHED
    for name in types:
        if name not in SEARCHED:
            raise ToolError(unknown_name(name, SEARCHED, "type"))
    return await _search(library, arguments, types, arguments["query"], {})


async def _search(
    library: Library, arguments: Mapping[str, Any], types: list[str], text: str | None, filters: dict[str, Any]
) -> Answer:
    page = await library.search(
        Query(
            types=types,
            text=text,
            filters=filters,
            documents=arguments.get("documents"),
            limit=arguments.get("limit", 10),
            offset=arguments.get("offset", 0),
        )
    )
    full = arguments.get("detail") == "full"
    return Answer(page_content(page, full=full), page_text(page, full=full))


def page_content(page: ResultPage, *, full: bool = False) -> dict[str, Any]:
    """A page as structured content: ``{"results", "total", "mode", "next_offset", "note"}``."""
    return {
        "results": [_content(r, full=full) for r in page.results],
        "total": page.total,
        "mode": page.mode,
        "next_offset": page.next_offset,
        "note": page.note and one_line(page.note),
    }


def page_text(page: ResultPage, *, full: bool = False) -> str:
    """A page as text: a numbered list with facts, source and uri. What the entries say is indented, and nothing else is."""
    found = [f"{len(page.results)} of {page.total} found ({page.mode})" if page.results else "Nothing found."]
    if page.note:
        found.append(f"Note: {one_line(page.note)}")
    for number, r in enumerate(page.results, 1):
        shown = _content(r, full=False)
        found.append(f"{number}. {shown['name']} ({shown['facts']}) from {shown['document_name']} | {shown['uri']}")
        found.append(_quoted(full_text(r.entity) if full else shown["snippet"]))
    if page.next_offset is not None:
        found.append(f"More: offset={page.next_offset}")
    return "\n".join(found)


def _content(r: Result, *, full: bool) -> dict[str, Any]:
    return {
        "uri": r.entity.uri,
        "name": one_line(r.entity.name),
        "type": r.entity.type,
        "kind": one_line(r.entity.kind),
        "document": r.entity.document,
        "document_name": one_line(r.document_name),
        "score": r.score,
        "match": r.match,
        "facts": _short(one_line(r.facts)),
        "snippet": one_line(r.snippet),
        **({"entity": dict(r.entity.data)} if full else {}),
    }


def _quoted(text: str) -> str:
    """What an entry says, indented: a line of it is never taken for one of ours."""
    return textwrap.indent(lines(text), "   ")


def _short(line: str) -> str:
    return line if len(line) <= MAX_FACTS else line[: MAX_FACTS - 1].rstrip(" ,·") + "…"


# --- one entry, all documents ----------------------------------------------------------------------------------------


async def _get_entity(library: Library, arguments: Mapping[str, Any]) -> Answer:
    try:
        entity_type, document, slug = parse_uri(arguments["uri"])
    except ValueError as error:
        raise ToolError(str(error)) from error
    entity = await library.cache.get_entity(entity_type, document, slug)
    if entity is None:
        raise ToolError(
            f"there is no {one_line(arguments['uri'], MAX_SHOWN)} in the library; take uris from search results, "
            f"or look it up by name with {COLLECTIONS[entity_type].tool or 'list_documents'}"
        )
    names = await library.searcher.documents.titles()
    source = await library.cache.get_entity("documents", document, document)
    said = attribution(source, entity)
    content = {
        "uri": entity.uri,
        "name": one_line(entity.name),
        "type": entity.type,
        "kind": one_line(entity.kind),
        "document": document,
        "document_name": one_line(names.get(document) or entity.document_name or document),
        "licenses": [one_line(licence) for licence in said.licenses],
        "attribution": one_line(said.line) or None,
        "facts": one_line(facts(entity)),
        "entity": dict(entity.data),
    }
    whose = f", {content['attribution']}" if content["attribution"] else ""
    head = (
        f"{content['name']} ({content['facts']})\n"
        f"Source: {content['document_name']} [{one_line(document)}]{whose}\n{entity.uri}"
    )
    return Answer(content, f"{head}\n\n{_quoted(full_text(entity))}".rstrip())


async def _list_documents(library: Library, arguments: Mapping[str, Any]) -> Answer:
    documents = await document_list(library, arguments.get("type"))
    listed = [f"{len(documents)} documents"]
    for d in documents:
        counts = ", ".join(f"{n} {t}" for t, n in d["counts"].items()) or "no entries"
        licences = f" [{', '.join(d['licenses'])}]" if d["licenses"] else ""
        people = f" by {d['publisher'] or d['author']}" if d["publisher"] or d["author"] else ""
        listed.append(f"{one_line(d['key'])}: {d['name']}{people}{licences}: {counts}")
    return Answer({"documents": documents}, "\n".join(listed))


async def document_list(library: Library, entity_type: str | None = None) -> list[dict[str, Any]]:
    """Every document with its title, attribution, game system and counts; of one type where one is named."""
    if entity_type is not None and entity_type not in COLLECTIONS:
        raise FilterError(unknown_name(entity_type, list(COLLECTIONS), "type"))
    counts = await library.cache.documents()
    described = {e.document: e for e in await library.cache.get_entities("documents")}
    documents = []
    for key in sorted(counts.keys() | described.keys()):
        own = {t: n for t, n in counts.get(key, {}).items() if t != "documents" and entity_type in (None, t)}
        if entity_type is not None and not own:
            continue
        said = await _attribution(library, key, counts.get(key, {}), described.get(key))
        documents.append(
            {
                "key": key,
                "name": one_line(said.title or key),
                "publisher": said.publisher and one_line(said.publisher),
                "author": said.author and one_line(said.author),
                "game_system": said.game_system and one_line(said.game_system),
                "licenses": [one_line(name) for name in said.licenses],
                "url": said.url and one_line(said.url),
                "counts": own,
            }
        )
    return documents


async def _attribution(library: Library, key: str, held: Mapping[str, int], described: Entity | None) -> Attribution:
    """What is known of a document; from one of its entries where nothing describes it."""
    for entity_type in held if described is None else ():
        (entry,) = await library.cache.get_entities(entity_type, key, limit=1) or (None,)
        if entry is not None:
            return attribution(None, entry)
    return attribution(described)


# --- parameters and schemas ------------------------------------------------------------------------------------------


def _text(description: str) -> Any:
    return (str | None, Field(None, description=description, min_length=1, max_length=500))


def _query(description: str) -> Any:
    return (str | None, Field(None, description=description, max_length=MAX_QUERY_CHARS * 10))


def _typed(kind: FieldType, description: str) -> Any:
    python: Any = {FieldType.INTEGER: int, FieldType.DECIMAL: float | str, FieldType.FLAG: bool}.get(kind, str)
    return (python | None, Field(None, description=description))


_DOCUMENTS = (list[str] | None, Field(None, description="only these document keys (see list_documents)"))

_PAGING: dict[str, Any] = {
    "documents": _DOCUMENTS,
    "limit": (int, Field(10, ge=1, le=MAX_LIMIT)),
    "offset": (int, Field(0, ge=0)),
    "detail": (Literal["concise", "full"], Field("concise")),
}

_RESULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "results": {"type": "array", "items": {"type": "object"}},
        "total": {"type": "integer"},
        "mode": {"enum": ["structured", "semantic", "hybrid", "keyword"]},
        "next_offset": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["results", "total", "mode", "next_offset", "note"],
}


def _model(name: str, parameters: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __config__=ConfigDict(extra="forbid"), **parameters)


def _lean(schema: Any) -> Any:
    """A schema without titles, null alternatives and default nulls: half the size, the same to a model."""
    if isinstance(schema, list):
        return [_lean(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    lean = {k: _lean(v) if k != "properties" else {n: _lean(p) for n, p in v.items()} for k, v in schema.items()}
    options = [o for o in lean.pop("anyOf", []) if o != {"type": "null"}]
    if len(options) == 1:
        lean |= options[0]
    elif options:
        lean["anyOf"] = options
    dropped = ("title", "minLength", "maxLength", *(("default",) if lean.get("default", 0) is None else ()))
    return {k: v for k, v in lean.items() if k not in dropped or not isinstance(v, (str, int, type(None)))}


SEARCH_LORE = Tool(
    name="search_lore",
    title="Search all lore",
    description="Search every kind of entry at once, by meaning and keywords. Use it when the kind of entry is not clear.",
    arguments=_model(
        "search_lore",
        {
            "query": (
                str,
                Field(
                    description="what to find, in plain words, or a name; a lore:// uri finds entries like it",
                    max_length=MAX_QUERY_CHARS * 10,
                ),
            ),
            "types": (list[str] | None, Field(None, description=f"only these: {', '.join(SEARCHED)}")),
            **_PAGING,
        },
    ),
    run=_search_lore,
    output=_RESULTS,
)

GET_ENTITY = Tool(
    name="get_entity",
    title="Read one entry",
    description="The whole entry behind a uri from a search result, with its source and licence.",
    arguments=_model(
        "get_entity",
        {"uri": (str, Field(description="as in lore://spells/srd-2014/fireball", max_length=MAX_URI_LENGTH))},
    ),
    run=_get_entity,
    output={"type": "object", "properties": {"uri": {"type": "string"}, "entity": {"type": "object"}}},
)

LIST_DOCUMENTS = Tool(
    name="list_documents",
    title="List source documents",
    description="The books and collections on the shelf: key, title, publisher, licence, number of entries.",
    arguments=_model("list_documents", {"type": _text("only documents that have entries of this type")}),
    run=_list_documents,
    output={"type": "object", "properties": {"documents": {"type": "array", "items": {"type": "object"}}}},
)


def dump(answer: Answer) -> str:
    """An answer's structured content as JSON text."""
    return json.dumps(answer.structured, ensure_ascii=False)
