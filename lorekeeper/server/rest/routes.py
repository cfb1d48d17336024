"""The routes of the gateway: requests to operations, answers to responses, and everything else to problems."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lorekeeper.library import Library
from lorekeeper.printable import json_text
from lorekeeper.server.identity import viewer_of
from lorekeeper.server.models import JsonObject
from lorekeeper.server.rest.openapi import description, in_query, methods
from lorekeeper.server.rest.operations import IN_PATH, OPERATIONS, ROOT
from lorekeeper.server.rest.problems import RefusedError, bad_request, problem, respond
from lorekeeper.server.rest.requests import body_object, query_values, rest_of_path, typed
from lorekeeper.server.tool import Arguments, Tool

Answering = Callable[[Request], Awaitable[Response]]

JSON_TYPE = "application/json"

PRIVATE = {"cache-control": "private, no-cache", "vary": "Authorization, Cookie"}
"""Headers of answers: they are for one person, and may be kept if they are compared before each use."""


class _Rest(Convertor[str]):
    """What is left of a path, with line breaks, which Starlette's own convertor of paths does not take."""

    regex = r"(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("rest", _Rest())


def routes(library: Library) -> list[Route]:
    """The gateway over a library, its description, and what monitors ask."""
    operations = [
        Route(
            ROOT + path.replace("}", ":rest}"), _Resource(dict.fromkeys(methods(path), _Answers(library, path, tool)))
        )
        for path, tool in OPERATIONS.items()
    ]
    return [
        *operations,
        Route(f"{ROOT}/openapi.json", _Resource({"GET": _describe})),
        Route("/api/{path:rest}", _Resource({})),
        Route("/healthz", _Resource({"GET": partial(_status, "alive")})),
        Route("/readyz", _Resource({"GET": partial(_ready, library)})),
    ]


class _Resource:
    """What is at a path: answers by the methods it has, and describes what goes wrong.

    Args:
        methods: what answers, by method; HEAD is answered as GET is. Nothing if there is nothing at the path.
    """

    def __init__(self, methods: Mapping[str, Answering]) -> None:
        self._methods = {**methods, **({"HEAD": methods["GET"]} if "GET" in methods else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        await respond(request, self._response(request), partial(problem, scope), send)

    async def _response(self, request: Request) -> Response:
        if not self._methods:
            raise RefusedError(
                HTTPStatus.NOT_FOUND, f"there is nothing at this path; {ROOT}/openapi.json describes what there is"
            )
        allowed = {"allow": ", ".join([*self._methods, "OPTIONS"])}
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=allowed)
        if request.method not in self._methods:
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"use {allowed['allow']}", allowed)
        return await self._methods[request.method](request)


# --- answers ---------------------------------------------------------------------------------------------------------


class _Answers:
    """Answers with a tool from a library.

    Args:
        library: answers, as far as the sender of the request may see it.
        path: of the operation.
        tool: what is asked.
    """

    def __init__(self, library: Library, path: str, tool: Tool) -> None:
        self._library, self._tool = library, tool
        self._prefix, self._has_rest, _ = path.partition("{")
        properties = tool.arguments.model_json_schema()["properties"]
        self._schemas = {name: in_query(schema) for name, schema in properties.items()}

    async def __call__(self, request: Request) -> Response:
        arguments = self._tool.check(await self._arguments(request), strict=True)
        return await answered(request, self._library, self._tool, arguments)

    async def _arguments(self, request: Request) -> JsonObject:
        """The parameters in the path, and in the query or the body."""
        asked = typed(query_values(request.scope), self._schemas)
        if request.method == "POST":
            if asked:
                raise bad_request("a POST request has its parameters in the body; leave the query out")
            return await body_object(request)
        if not self._has_rest:
            return asked
        if IN_PATH in asked:
            raise bad_request(f"{IN_PATH} is a part of the path; leave it out of the query")
        return {IN_PATH: rest_of_path(request.scope, ROOT + self._prefix), **asked}


async def answered(request: Request, library: Library, tool: Tool, arguments: Arguments) -> Response:
    """The answer of a tool to the sender of a request; ``arguments`` are checked."""
    with library.questions.one():
        answer = await tool.run(library.view(viewer_of(request.scope)), arguments)
    return json_response(request, answer.structured)


def json_response(request: Request, content: JsonObject | None) -> Response:
    """The answer as JSON; see `tagged`."""
    return tagged(request, json_text(content).encode(), PRIVATE, JSON_TYPE)


def tagged(
    request: Request, body: bytes, headers: Mapping[str, str], media_type: str, status: int = HTTPStatus.OK
) -> Response:
    """A response; to who reads with its tag, and only that it is still the same, if the client has it already."""
    if request.method == "POST":
        return Response(body, status, headers, media_type)
    tag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    headers = {**headers, "etag": tag}
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, status, headers, media_type)


async def _describe(request: Request) -> Response:
    return json_response(request, description())


# --- monitoring ------------------------------------------------------------------------------------------------------


async def _status(word: str, _: Request) -> Response:
    """That the event loop answers, as a word."""
    return Response(json_text({"status": word}).encode(), headers={"cache-control": "no-store"}, media_type=JSON_TYPE)


async def _ready(library: Library, request: Request) -> Response:
    """Whether the library is open and the model is loaded; nothing is opened or loaded for the answer."""
    if not library.ready:
        raise RefusedError(
            HTTPStatus.SERVICE_UNAVAILABLE, "the library or the embedding model is not open yet; ask again soon"
        )
    return await _status("ready", request)
