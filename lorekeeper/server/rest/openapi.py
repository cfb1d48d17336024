"""The description of the gateway, in OpenAPI 3.1, from the declarations of its operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic.json_schema import models_json_schema

from lorekeeper.server.models import JsonObject, Problem
from lorekeeper.server.rest.operations import OPERATIONS, SEARCH, Operation
from lorekeeper.server.rest.parameters import body_schemas, query_schemas
from lorekeeper.server.rest.problems import PROBLEM_TYPE
from lorekeeper.server.tools import Tool
from lorekeeper.version import VERSION

ROOT = "/api/v1"

PROBLEMS: Mapping[int, str] = {
    400: "The request is wrong: an unknown parameter, a value that is not accepted, or a path or query that is not UTF-8.",
    401: "A bearer token is missing, or is not valid any more.",
    403: "The request comes from a page of another site.",
    404: "There is nothing of that name, or nothing that you may see.",
    405: "The method is not one of those in Allow.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host header does not name this server.",
    429: "Too many requests: ask again after the seconds in Retry-After.",
    431: "Request header fields too large: send a shorter request line, or fewer headers.",
    500: "LoreKeeper failed; its log has the details.",
    503: "The library or the embedding model is not available now; the detail says what to do.",
}
"""What statuses other than success mean."""

BODY_ONLY = (413, 415)

HEADERS: Mapping[int, JsonObject] = {
    401: {"WWW-Authenticate": {"description": "how to authenticate", "schema": {"type": "string"}}},
    405: {"Allow": {"description": "the methods there are", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "seconds to wait", "schema": {"type": "string"}}},
}

EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "search": {"query": ["falling off a cliff"], "types": ["spells"], "level_max": 3, "class_key": ["wizard"]},
    "get_document": {"key": "srd-2014"},
    "get_entity": {"type": "spells", "document": "srd-2014", "slug": "fireball"},
    "gather_topic": {"q": "fire"},
    "list_recent": {"since": "30d"},
    "compare_entries": {"uris": ["lore://spells/srd-2014/fireball", "lore://spells/srd-2024/fireball"]},
}
"""Values of parameters, as somebody might ask, by operation."""

SAID: Mapping[str, str] = {
    "documents": "keys of the only documents to search",
    "types": "only entries of these types",
    "limit": "most results, or most lines of a part",
    "offset": "results to skip: next_offset of the page before",
    "detail": "full: whole entries, in the place of snippets",
    "seed": "repeats a random order",
}
"""What parameters are, where the tools leave it to the name."""

DESCRIPTION = (
    "Search over the books and campaign notes of a LoreKeeper library, with the words and shapes of its MCP tools. "
    "Answers depend on who asks: what a person may not see is answered as if it did not exist."
)


PLACE = "#/components/schemas/{model}"


def ref(name: str) -> JsonObject:
    """The model of that name."""
    return {"$ref": PLACE.format(model=name)}


def shapes() -> JsonObject:
    """The models of all answers, and what they are made of, as JSON Schemas by name."""
    models = {operation.tool.answer for operation in OPERATIONS} | {Problem}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema([(model, "validation") for model in ordered], ref_template=PLACE)
    found: JsonObject = schemas["$defs"]
    return found


def description() -> JsonObject:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "LoreKeeper", "version": VERSION, "description": DESCRIPTION},
        "servers": [{"url": ROOT}],
        "security": [{"bearer": []}, {}],
        "paths": {operation.path: _path(operation) for operation in OPERATIONS},
        "components": {
            "schemas": {**shapes(), **dict(_bodies(SEARCH))},
            "responses": dict(_problems()),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "a token of 'lorekeeper people add'; none is needed where the server has no people",
                }
            },
        },
    }


def _problems() -> Iterator[tuple[str, JsonObject]]:
    for status, meaning in PROBLEMS.items():
        headers = {"headers": HEADERS[status]} if status in HEADERS else {}
        yield (
            f"Problem{status}",
            {"description": meaning, "content": {PROBLEM_TYPE: {"schema": ref("Problem")}}, **headers},
        )


def _path(operation: Operation) -> JsonObject:
    return {method.lower(): _operation(operation, method) for method in operation.methods}


def _operation(operation: Operation, method: str) -> JsonObject:
    tool, posted = operation.tool, method == "POST"
    asked = _body(operation) if posted else {"parameters": list(_parameters(operation))}
    return {
        "operationId": f"{tool.name}_by_post" if posted else tool.name,
        "summary": tool.title,
        "description": tool.description,
        **asked,
        "responses": _responses(operation, posted=posted),
    }


def _responses(operation: Operation, *, posted: bool) -> JsonObject:
    headers = {"headers": {"ETag": {"description": "of this answer", "schema": {"type": "string"}}}}
    responses: JsonObject = {
        "200": {
            "description": "The answer.",
            "content": {"application/json": {"schema": ref(operation.tool.answer.__name__)}},
            **({} if posted else headers),
        }
    }
    if not posted:
        responses["304"] = {"description": "The answer is the one whose ETag If-None-Match has."}
    for status in PROBLEMS:
        if posted or status not in BODY_ONLY:
            responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    return responses


# --- parameters ------------------------------------------------------------------------------------------------------


def _parameters(operation: Operation) -> Iterator[JsonObject]:
    required, examples = _required(operation.tool), EXAMPLES.get(operation.tool.name, {})
    for name, schema in query_schemas(operation).items():
        said = schema.pop("description", SAID.get(name, ""))
        yield {
            "name": name,
            "in": "path" if name in operation.in_path else "query",
            "required": name in required and not operation.forms,  # a form may do without
            "description": _taken_by(operation, name) or said,
            "schema": schema,
            **({"example": examples[name]} if name in examples else {}),
        }


def _required(tool: Tool) -> list[str]:
    return [name for name, info in tool.arguments.model_fields.items() if info.is_required()]


def _taken_by(operation: Operation, name: str) -> str:
    """What a parameter is that only some types have, with these types; "" for the others."""
    if name in operation.tool.arguments.model_fields:
        return ""
    fields = {each: form.arguments.model_fields.get(name) for each, form in operation.forms.items()}
    return "; ".join(f"with types={each}: {info.description or name}" for each, info in fields.items() if info)


def _body(operation: Operation) -> JsonObject:
    forms = [ref(name) for name, _ in _bodies(operation)]
    example = EXAMPLES[operation.tool.name]
    content = {"application/json": {"schema": {"anyOf": forms}, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def _bodies(operation: Operation) -> Iterator[tuple[str, JsonObject]]:
    """The bodies of an operation: for all types, and for each."""
    yield "Search", _object(operation.tool, operation.limits)
    for name, form in operation.forms.items():
        only = {"type": "array", "items": {"type": "string", "enum": [name]}, "minItems": 1, "maxItems": 1}
        yield f"Search_{name}", _object(form, {**operation.limits, "types": only})


def _object(tool: Tool, limits: Mapping[str, JsonObject]) -> JsonObject:
    return {
        "type": "object",
        "properties": body_schemas(tool, limits),
        "required": _required(tool),
        "additionalProperties": False,
    }
