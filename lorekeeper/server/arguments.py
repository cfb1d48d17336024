"""What parameters of tools accept, and what is wrong with arguments, in words of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from lorekeeper.entities import COLLECTIONS, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.filters import named_field, parse_filters, unknown_name, without_bound
from lorekeeper.printable import shown
from lorekeeper.search.query import MAX_QUERY_CHARS, MAX_WORDINGS

NOT_GIVEN = "null"
"""What some hosts send for a parameter that is not given."""


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _separated(value: object) -> object:
    """The values of a text with commas."""
    parts = [part for each in value.split(",") if (part := each.strip())] if isinstance(value, str) else []
    return parts if len(parts) > 1 else value


_LISTED = BeforeValidator(_listed, json_schema_input_type=list[str] | str)

Texts = Annotated[list[str], _LISTED]
"""A list of texts; a single text counts as a list of one."""

Keys = Annotated[list[str], _LISTED, BeforeValidator(_separated, json_schema_input_type=list[str] | str)]
"""A list of keys, or one text with commas."""

_Wording = Annotated[str, Field(max_length=MAX_QUERY_CHARS * 10)]
_SomeWordings = Annotated[list[_Wording], Field(min_length=1, max_length=MAX_WORDINGS * 10)]

Wordings = _Wording | _SomeWordings
"""One query in one wording or several; `search.query.check` says what is wrong with them."""

WORDINGS = "wordings"
"""The parameter for further wordings of a query."""

FurtherWordings = Annotated[_SomeWordings, BeforeValidator(_listed, json_schema_input_type=_SomeWordings | str)]

_ONE: dict[FieldType, object] = {
    FieldType.INTEGER: int | None,
    FieldType.DECIMAL: float | str | None,
    FieldType.FLAG: bool | None,
}

_ONE_OR_MORE: dict[FieldType, object] = {
    FieldType.INTEGER: int | list[int],
    FieldType.DECIMAL: str | float | list[float | str],
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


Names = str | list[str]
"""A name, which may have commas, or a list of names."""


def accepted(kind: FieldType, *, several: bool) -> object:
    """The type of an optional parameter for a field: one value, or if ``several`` more of them, any of which match.

    Several are a list, or one text with commas. The first type of a union is the one that a tool lists: see `Tool.input_schema`.
    """
    if several and kind is not FieldType.FLAG:
        return Annotated[_ONE_OR_MORE.get(kind, str | list[str]), BeforeValidator(_separated)] | None
    return _ONE.get(kind, str | None)


def given(value: object) -> object:
    """What a caller means by a value: None where it says that nothing is given, and without a list around a single value.

    A text that is a list in JSON, as some hosts send lists, is that list.
    """
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("[") and text.endswith("]"):
            try:
                return given(json.loads(text))
            except (ValueError, RecursionError):
                return value
        return None if text.casefold() in ("", NOT_GIVEN) else value
    if isinstance(value, list):
        values = [kept for each in value if (kept := given(each)) is not None]
        return values if len(values) > 1 or not value else next(iter(values), None)
    return value


def wordings_of(arguments: Mapping[str, Any], name: str) -> list[str]:
    """The query in a parameter, which may be given in several wordings, and the further ones."""
    asked = arguments.get(name, [])
    return list(dict.fromkeys([*([asked] if isinstance(asked, str) else asked), *arguments.get(WORDINGS, [])]))


def filters_of(entity_type: str, targets: Mapping[str, str], arguments: Mapping[str, Any]) -> dict[str, object]:
    """The filters that arguments set, by the filter that each parameter stands for.

    Raises:
        FilterError: a value is wrong; the message names the parameter, which may be called otherwise than the field.
    """
    filters = {}
    for name, target in targets.items():
        if name not in arguments:
            continue
        filters[target] = arguments[name]
        try:
            parse_filters(entity_type, {target: arguments[name]})
        except FilterError as error:
            subject, _, wrong = str(error).partition(" ")
            raise FilterError(f"{name if subject in (target, without_bound(target)) else subject} {wrong}") from error
    return filters


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
