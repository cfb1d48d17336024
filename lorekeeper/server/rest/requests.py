"""What a request says: segments of its path, parameters of its query, and its body as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.types import Scope

from lorekeeper.entities import refuse_constant
from lorekeeper.printable import shown
from lorekeeper.server.models import JsonObject
from lorekeeper.server.recording import MAX_BODY
from lorekeeper.server.rest.problems import RefusedError, bad_request, path_of

MAX_PARAMETERS = 500
"""Most parameters of a query, repetitions included."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_FLAGS = {"true": True, "false": False}


def rest_of_path(scope: Scope, prefix: str) -> str:
    """What follows a prefix in a path, decoded.

    Raises:
        RefusedError: it is not UTF-8.
    """
    try:
        return unquote(path_of(scope).partition(prefix)[2], errors="strict")
    except UnicodeDecodeError as error:
        raise bad_request("the path is not valid UTF-8; percent-encode the bytes of its UTF-8 form") from error


def query_values(scope: Scope) -> dict[str, list[str]]:
    """The parameters of a query with their values, in order.

    Raises:
        RefusedError: it is not UTF-8, or there are too many.
    """
    try:
        text = scope["query_string"].decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except UnicodeDecodeError as error:
        raise bad_request("the query is not valid UTF-8; percent-encode the bytes of its UTF-8 form") from error
    except ValueError as error:
        raise bad_request(f"the query has more than {MAX_PARAMETERS} parameters") from error
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def typed(values: Mapping[str, list[str]], schemas: Mapping[str, JsonObject]) -> dict[str, object]:
    """The parameters of a query as their schemas say: numbers, flags, texts, and lists of what is repeated.

    What is of another type stays a text, and is refused when the arguments are checked.

    Raises:
        RefusedError: a parameter that takes one value is repeated.
    """
    arguments: dict[str, object] = {}
    for name, texts in values.items():
        schema = schemas.get(name, {})
        if len(texts) > 1 and schema.get("type", "array") != "array":
            raise bad_request(f"{name} is given {len(texts)} times; give it once")
        read = [_typed(text, schema.get("items", schema)) for text in texts]
        arguments[name] = read if len(read) > 1 else read[0]
    return arguments


def _typed(text: str, schema: JsonObject) -> object:
    if schema.get("type") == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    return _FLAGS.get(text, text) if schema.get("type") == "boolean" else text


async def body_object(request: Request) -> JsonObject:
    """The object that the body is.

    Raises:
        RefusedError: it is of another media type, too large, or not a JSON object.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if media_type != "application/json":
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send a JSON object, with Content-Type: application/json")
    try:
        content = json.loads(
            await _body(request),
            parse_constant=refuse_constant,
            parse_float=_number,
            object_pairs_hook=_object,
        )
    except RecursionError as error:
        raise bad_request("the body is nested too deeply; send one JSON object") from error
    except ValueError as error:
        raise bad_request(f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise bad_request("the body is not a JSON object; send one with the parameters")
    return content


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {MAX_BODY:,} bytes; send a shorter one"
            )
    return bytes(body)


def _number(text: str) -> int | float:
    """A JSON number with a fraction or an exponent: 3.0 and 3 are the same number."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{shown(text)} is too large a number")
    return int(number) if number.is_integer() else number


def _object(pairs: Iterable[tuple[str, Any]]) -> JsonObject:
    """An object whose names are unique."""
    content: JsonObject = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"{shown(name)} is given twice")
        content[name] = value
    return content
