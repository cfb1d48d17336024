"""What a tool is: its name, description, parameters, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lorekeeper.errors import FilterError
from lorekeeper.server.answers import Answer
from lorekeeper.server.arguments import complaint, given, unknown_parameter
from lorekeeper.server.models import JsonObject, Model
from lorekeeper.views.view import View

Arguments = Mapping[str, Any]
"""Arguments of a tool by name, checked."""

Parameter = tuple[object, Any]
"""A parameter as Pydantic declares it: its type, and its `Field`."""


class ToolError(FilterError):
    """A tool call that cannot be answered; the text tells the model what to do next."""


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: as clients call it.
        title: as clients show it.
        description: tells a model what it does, and when to use it.
        arguments: the parameters.
        function: answers checked arguments.
        answer: the model of its answers.
        listed: what models read of the parameters: the names, with a few words where a name says too little. The others work too.
        entity_type: the type that it looks up, None if it is not a lookup.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    function: Callable[[View, Arguments], Coroutine[Any, Any, Answer]]
    answer: type[Model]
    listed: Mapping[str, str] = field(default_factory=dict)
    entity_type: str | None = None

    @property
    def input_schema(self) -> JsonObject:
        """JSON Schema of the arguments that are listed, in the words that every host takes, without what a model does not need.

        Gemini's declarations take one type for a parameter and no ``additionalProperties``; OpenAI's strict mode takes no defaults;
        Cursor refuses a value unless its type is all that is listed. `check` understands more than is listed.
        """
        schema = self.arguments.model_json_schema()
        required = {"required": schema["required"]} if "required" in schema else {}
        known = schema["properties"]
        properties = {name: _lean(known[name], said) for name, said in self.listed.items()}
        return {"type": "object", "properties": properties, **required}

    async def run(self, view: View, arguments: Arguments) -> Answer:
        """The answer to checked arguments, from one snapshot; what became secret before is kept back, whatever the tool reads."""
        return await view.reading(lambda: self.function(view, arguments))

    def check(self, arguments: Mapping[str, object], *, strict: bool = False) -> Arguments:
        """The arguments that are given, checked; ToolError that names what is wrong and what is known.

        Null counts as not given, and so do an empty text and the word "null" where none is required: models fill in all parameters
        that they see. With ``strict`` values have to be of the declared types, and null only where it is declared; else "3" is 3.
        """
        present = dict(arguments) if strict else self._present(arguments)
        parameters = list(self.arguments.model_fields)
        for name in present:
            if name not in parameters:
                raise ToolError(unknown_parameter(name, parameters, self.name, self.entity_type))
        try:
            checked = self.arguments.model_validate(present, strict=strict).model_dump(exclude_unset=True)
        except ValidationError as error:
            raise ToolError(complaint(error)) from error
        return {name: value for name, value in checked.items() if value is not None}

    def _present(self, arguments: Mapping[str, object]) -> Arguments:
        """The arguments that are given, as they are meant; a required one that says nothing is left for the check to refuse."""
        meant = {name: given(value) for name, value in arguments.items()}
        fields = self.arguments.model_fields
        required = [name for name in meant if name in fields and fields[name].is_required()]
        meant |= {name: arguments[name] for name in required if meant[name] is None}
        return {name: value for name, value in meant.items() if value is not None}


def optional_text(description: str | None = None) -> Parameter:
    """An optional text; ``description`` is for the REST interface."""
    return str | None, Field(None, description=description, min_length=1, max_length=500)


DETAIL: Parameter = (
    Literal["concise", "full", "json"],
    Field("concise", description="full: whole entries; json: for programs"),
)
"""How an answer is given."""


def model(name: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    """Parameters by name, and no others but how the answer is given."""
    definitions: dict[str, Any] = {**parameters, "detail": DETAIL}
    return create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)


def _lean(schema: JsonObject, said: str = "") -> JsonObject:
    """A parameter's schema as the first type that it is understood as, with a few words, without what a model need not read."""
    first: JsonObject = schema.get("anyOf", [schema])[0]
    lean = {key: value for key, value in {**schema, **first}.items() if key in LISTED}
    if "items" in lean:
        lean["items"] = _lean(lean["items"])
    return lean | ({"description": said} if said else {})


LISTED = ("type", "enum", "items")
"""The words of a parameter's schema that are listed."""
