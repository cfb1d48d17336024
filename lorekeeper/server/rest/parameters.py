"""Parameters as JSON Schemas: for a body, and for a query, where everything is text and lists are repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.server.models import JsonObject
from lorekeeper.server.rest.operations import Operation
from lorekeeper.server.tools import Tool

NULL: JsonObject = {"type": "null"}


def body_schemas(tool: Tool, limits: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The parameters of a tool in a JSON object, by name; those that are optional may be null."""
    properties: dict[str, Any] = tool.arguments.model_json_schema()["properties"]
    return {name: _limited(schema, limits.get(name)) for name, schema in properties.items()}


def _limited(schema: JsonObject, limit: JsonObject | None) -> JsonObject:
    """A schema without title and null as default, and with a narrower form if there is one."""
    kept = {key: value for key, value in schema.items() if key != "title" and (key, value) != ("default", None)}
    if limit is None:
        return kept
    optional = NULL in schema.get("anyOf", [])
    narrow = {"anyOf": [*limit.get("anyOf", [limit]), NULL]} if optional else limit
    return {**narrow, **{key: kept[key] for key in ("description",) if key in kept}}


def query_schemas(operation: Operation) -> dict[str, JsonObject]:
    """The parameters of an operation in a query or a path, by name; of all its forms together."""
    schemas: dict[str, JsonObject] = {}
    for tool in (operation.tool, *operation.forms.values()):
        for name, schema in body_schemas(tool, operation.limits).items():
            schemas.setdefault(name, _in_query(schema))
    return schemas


def _in_query(schema: JsonObject) -> JsonObject:
    """A list if a list is accepted, else one value; what may be a number or a text is a text there."""
    beside = {key: schema[key] for key in ("description", "default") if key in schema}
    options = [option for option in schema.get("anyOf", [schema]) if option != NULL]
    lists = [option for option in options if option.get("type") == "array"]
    if lists:
        return {**lists[0], "items": _in_query(lists[0]["items"]), **beside}
    return {**(options[0] if len(options) == 1 else {"type": "string"}), **beside}
