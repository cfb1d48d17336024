"""What a tool is: its name, description, parameters, and the function that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lorekeeper.errors import LoreKeeperError
from lorekeeper.search.query import MAX_WORDINGS
from lorekeeper.server.answers import Answer, JsonObject
from lorekeeper.server.arguments import complaint, unknown_parameter
from lorekeeper.views.view import View

Arguments = Mapping[str, Any]
"""Arguments of a tool by name, checked."""

Parameter = tuple[object, Any]
"""A parameter as Pydantic declares it: its type, and its `Field`."""


class ToolError(LoreKeeperError):
    """A tool call that cannot be answered; the text tells the model what to do next."""


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: as clients call it.
        title: as clients show it.
        description: tells a model what it does, and when to use it.
        arguments: the parameters.
        run: answers checked arguments.
        output: JSON Schema of the structured content.
        entity_type: the type that it looks up, None if it is not a lookup.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[View, Arguments], Awaitable[Answer]]
    output: JsonObject
    entity_type: str | None = None

    @property
    def input_schema(self) -> JsonObject:
        """JSON Schema of the arguments, without what a model does not need."""
        schema = self.arguments.model_json_schema()
        required = {"required": schema["required"]} if "required" in schema else {}
        properties = {name: _lean(parameter) for name, parameter in schema["properties"].items()}
        return {"type": "object", "additionalProperties": False, "properties": properties, **required}

    def check(self, arguments: Mapping[str, object], *, strict: bool = False) -> Arguments:
        """The arguments that are given, checked; ToolError that names what is wrong and what is known.

        Null counts as not given, and so does an empty text where none is required: models fill in all parameters that they see.
        With ``strict`` values have to be of the declared types, and null only where it is declared; else "3" is 3.
        """
        present = {name: value for name, value in arguments.items() if strict or not self._is_left_out(name, value)}
        parameters = list(self.arguments.model_fields)
        for name in present:
            if name not in parameters:
                raise ToolError(unknown_parameter(name, parameters, self.name, self.entity_type))
        try:
            checked = self.arguments.model_validate(present, strict=strict).model_dump(exclude_unset=True)
        except ValidationError as error:
            raise ToolError(complaint(error)) from error
        return {name: value for name, value in checked.items() if value is not None}

    def _is_left_out(self, name: str, value: object) -> bool:
        field = self.arguments.model_fields.get(name)
        blank = isinstance(value, str) and not value.strip()
        return value is None or (blank and field is not None and not field.is_required())


def optional_text(description: str) -> Parameter:
    """An optional text."""
    return str | None, Field(None, description=description, min_length=1, max_length=500)


def model(name: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    """Parameters by name, and no others."""
    definitions: dict[str, Any] = dict(parameters)
    return create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)


def _lean(schema: JsonObject) -> JsonObject:
    """A parameter's schema without title, lengths, null, and 0 as default or least: half the size, the same to a model."""
    lean = {key: value for key, value in schema.items() if key not in ("title", "minLength", "maxLength", "anyOf")}
    if lean.get("maxItems", 0) > MAX_WORDINGS:
        del lean["maxItems"]  # nobody lists as many
    if "enum" in lean:
        del lean["type"]  # the values say it
    if not lean.get("default", True):
        del lean["default"]  # null or 0
    if lean.get("minimum") == 0:
        del lean["minimum"]
    if "enum" in lean and lean["enum"][:1] == [lean.get("default")]:
        del lean["default"]  # the first one
    alternatives = [_lean(option) for option in schema.get("anyOf", []) if option != {"type": "null"}]
    for alternative in alternatives:
        lean |= alternative
    if len(alternatives) > 1:
        lean["type"] = [alternative["type"] for alternative in alternatives]  # "items" says something of lists only
    return lean
