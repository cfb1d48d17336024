"""The description of the gateway, in OpenAPI 3.1, from the models of the tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Literal

from pydantic.json_schema import models_json_schema

from lorekeeper.server.models import JsonObject, Problem
from lorekeeper.server.rest.operations import OPERATIONS, ROOT
from lorekeeper.server.rest.problems import PROBLEM_TYPE
from lorekeeper.server.tool import Tool
from lorekeeper.version import VERSION

MODE: Literal["validation"] = "validation"

NULL: JsonObject = {"type": "null"}

PROBLEMS: Mapping[int, str] = {
    400: "The request is wrong: an unknown parameter, a value that is not accepted, or a path or query that is not UTF-8; as plain "
    "text, that its head is too large or no HTTP.",
    401: "A bearer token is missing, or is not valid any more.",
    403: "The request comes from a page of another site.",
    404: "There is nothing of that name, or nothing that you may see.",
    405: "The method is not one of those in Allow.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host header does not name this server.",
    429: "Too many requests: ask again after the seconds in Retry-After.",
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

DESCRIPTION = (
    "Search over the books and campaign notes of a LoreKeeper library, with the words and shapes of its MCP tools. "
    "Answers depend on who asks: what a person may not see is answered as if it did not exist."
)


PLACE = "#/components/schemas/{model}"


def ref(name: str) -> JsonObject:
    """The model of that name."""
    return {"$ref": PLACE.format(model=name)}


@cache
def description() -> JsonObject:
    """The whole description."""
    models = {model for tool in OPERATIONS.values() for model in (tool.arguments, tool.answer)} | {Problem}
    named = [(model, MODE) for model in sorted(models, key=lambda model: model.__name__)]
    _, schemas = models_json_schema(named, ref_template=PLACE)
    return {
        "openapi": "3.1.0",
        "info": {"title": "LoreKeeper", "version": VERSION, "description": DESCRIPTION},
        "servers": [{"url": ROOT}],
        "security": [{"bearer": []}, {}],
        "paths": {
            path: {
                method.lower(): _operation(tool, path, posted=method == "POST", schemas=schemas["$defs"])
                for method in methods(path)
            }
            for path, tool in OPERATIONS.items()
        },
        "components": {
            "schemas": schemas["$defs"],
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


def methods(path: str) -> tuple[str, ...]:
    """By which an operation is asked: GET with a query, POST with a body where no parameter is in the path."""
    return ("GET",) if "{" in path else ("GET", "POST")


def _problems() -> Iterator[tuple[str, JsonObject]]:
    for status, meaning in PROBLEMS.items():
        headers = {"headers": HEADERS[status]} if status in HEADERS else {}
        content = {PROBLEM_TYPE: {"schema": ref("Problem")}}
        if status == HTTPStatus.BAD_REQUEST:  # what is no HTTP gets this before an application sees it
            content["text/plain"] = {"schema": {"type": "string"}}
        yield f"Problem{status}", {"description": meaning, "content": content, **headers}


def _operation(tool: Tool, path: str, *, posted: bool, schemas: Mapping[str, JsonObject]) -> JsonObject:
    body = {"required": True, "content": {"application/json": {"schema": ref(tool.arguments.__name__)}}}
    asked = {"requestBody": body} if posted else {"parameters": list(_parameters(tool, path, schemas))}
    return {
        "operationId": f"{tool.name}_by_post" if posted else tool.name,
        "summary": tool.title,
        "description": tool.description,
        **asked,
        "responses": _responses(tool, posted=posted),
    }


def _responses(tool: Tool, *, posted: bool) -> JsonObject:
    headers = {"headers": {"ETag": {"description": "of this answer", "schema": {"type": "string"}}}}
    responses: JsonObject = {
        "200": {
            "description": "The answer.",
            "content": {"application/json": {"schema": ref(tool.answer.__name__)}},
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


def _parameters(tool: Tool, path: str, schemas: Mapping[str, JsonObject]) -> Iterator[JsonObject]:
    declared = schemas[tool.arguments.__name__]
    for name, schema in declared["properties"].items():
        yield {
            "name": name,
            "in": "path" if f"{{{name}}}" in path else "query",
            "required": name in declared.get("required", ()),
            "description": schema.get("description") or tool.listed.get(name) or name,
            "schema": in_query(schema),
        }


def in_query(schema: JsonObject) -> JsonObject:
    """A parameter where everything is text: a list if one is accepted, else one value, which is a text if it may be one."""
    beside = {"default": schema["default"]} if schema.get("default") is not None else {}
    options = [option for option in schema.get("anyOf", [schema]) if option != NULL]
    lists = [option for option in options if option.get("type") == "array"]
    if lists:
        return {**lists[0], "items": in_query(lists[0]["items"]), **beside}
    one = options[0] if len(options) == 1 else {"type": "string"}
    return {key: value for key, value in one.items() if key not in ("title", "description", "default")} | beside
