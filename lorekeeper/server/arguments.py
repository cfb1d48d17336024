"""What parameters of tools accept, and what is wrong with arguments, in words of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema

from lorekeeper.entities import COLLECTIONS, FieldType
from lorekeeper.filters import named_field, unknown_name
from lorekeeper.printable import shown
from lorekeeper.search.query import MAX_QUERY_CHARS, MAX_WORDINGS


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_listed)]
"""A list of texts; a single text counts as a list of one."""

_Wording = Annotated[str, Field(max_length=MAX_QUERY_CHARS * 10)]

Wordings = Annotated[
    _Wording | Annotated[list[_Wording], Field(min_length=1, max_length=MAX_WORDINGS * 10)],
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}, "maxItems": MAX_WORDINGS}),
]
"""One query in one wording or several; `search.query.check` says what is wrong with them."""

_ONE: dict[FieldType, object] = {
    FieldType.INTEGER: int | None,
    FieldType.DECIMAL: float | str | None,
    FieldType.FLAG: bool | None,
}

_ONE_OR_MORE: dict[FieldType, object] = {
    FieldType.INTEGER: int | list[int] | None,
    FieldType.DECIMAL: float | str | list[float | str] | None,
}

_EXPECTED = {
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "string_too_short": "a non-empty text",
    "string_too_long": "a text of at most {max_length:,} characters",
    "string_type": "a text",
    "string_unicode": "valid Unicode",
    "literal_error": "{expected}",
    "list_type": "a list",
    "too_short": "a non-empty list",
    **dict.fromkeys(["int_type", "int_parsing", "int_parsing_size", "int_from_float"], "a whole number"),
    **dict.fromkeys(["float_type", "float_parsing", "finite_number"], "a number"),
    **dict.fromkeys(["bool_type", "bool_parsing"], "true or false"),
}
"""What Pydantic expected, by the type of its error."""

_QUERIES = frozenset({"query", "q", "text", "search", "search_query"})
"""What callers call a query where there is a name or a description to give."""


OneText = Annotated[str | list[str], WithJsonSchema({"type": "string"})]
"""A text; a list of texts does too, but is not what a model has to read of."""


def accepted(kind: FieldType, *, several: bool) -> object:
    """The type of an optional parameter for a field: one value, or if ``several`` a list of them too, any of which match."""
    if several and kind is not FieldType.FLAG:
        return _ONE_OR_MORE.get(kind, str | list[str] | None)
    return _ONE.get(kind, str | None)


def complaint(error: ValidationError) -> str:
    """What is wrong with arguments, one clause for each."""
    expected: dict[str, list[str]] = {}
    values: dict[str, object] = {}
    for problem in error.errors():
        name = str(problem["loc"][0])
        if problem["type"] == "missing":
            expected[name] = []
            continue
        words = _EXPECTED.get(problem["type"], "of another form").format_map(problem.get("ctx", {}))
        expected.setdefault(name, []).append(words)
        values.setdefault(name, problem["input"])
    return "; ".join(_clause(name, words, values) for name, words in expected.items())


def _clause(name: str, expected: Sequence[str], values: Mapping[str, object]) -> str:
    if not expected:
        return f"{name} is required"
    return f"{name} must be {' or '.join(dict.fromkeys(expected))}, not {shown(values[name])}"


def unknown_parameter(name: str, known: Sequence[str], tool: str, entity_type: str | None) -> str:
    """The message for a parameter that a tool does not have, and what to use instead.

    Args:
        name: what was given.
        known: the tool's parameters.
        tool: its name.
        entity_type: the type that it looks up, None if it is not a lookup.
    """
    if entity_type and name.casefold() in _QUERIES:
        meant = " or ".join(each for each in ("name", "query", "semantic_query") if each in known)
        return f"{name} is not a parameter of {tool}; use {meant}. Known: {', '.join(known)}"
    field = named_field(COLLECTIONS[entity_type], name) if entity_type else None
    if field and not set(field.tool) & set(known):
        return f"{name} is not a parameter of {tool}; use where, for example where='{field.name}:VALUE'. Known: {', '.join(known)}"
    return unknown_name(name, list(known), f"parameter of {tool}")
