"""Where requests are recorded: around the HTTP application, and around the handlers of MCP, over whatever transport.

An answer is held back until the recorders have its request. What cannot be recorded is not answered.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import mcp_types as types
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.server.exchange import CURRENT, Exchange, How, Recorder, RecordingError, record
from lorekeeper.server.notifications import CallNext
from lorekeeper.server.rest.problems import is_api, problem

logger = logging.getLogger(__name__)

EXCHANGE = "lorekeeper.exchange"
"""Where the scope of an HTTP request has its `Exchange`."""

MCP_PATH, REST_PATH, STATIC_PATH = "/mcp", "/api/", "/static/"

ROUTINE = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are asked every few seconds, and return no entries: recorded only if they are refused, or fail."""

UNASKED = "ping"
"""The method that some clients send all the time; it is not recorded either."""

LISTEN = "subscriptions/listen"
"""The method that lasts as long as its client likes: it is recorded when it begins."""

NOT_RECORDED = "This request cannot be recorded, so it is not answered; the log of the server says why."

ViewerOf = Callable[[Any], Viewer]
"""Who sends a request, by its context."""

MAX_BODY = 64 * 2**10
"""Largest body of a REST request, in bytes: twice what the longest query in four wordings takes."""


class Recording:
    """Records the requests of an ASGI application.

    MCP's requests are recorded by `RecordedCalls`, which knows what they are; here only those that do not get so far.

    Args:
        app: the application.
        recorders: get each request.
    """

    def __init__(self, app: ASGIApp, recorders: Sequence[Recorder]) -> None:
        self._app, self._recorders = app, recorders

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and record it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        recorded = _Recorded(scope, receive, send, self._recorders)
        try:
            await self._app(scope, recorded.receive, recorded.send)
        except Exception:
            if not recorded.failed:
                raise
        if recorded.failed:
            refusal = problem(scope, 503, NOT_RECORDED) if is_api(scope) else PlainTextResponse(NOT_RECORDED, 503)
            await refusal(scope, receive, send)


class _Recorded:
    """One HTTP request. The response is sent when the request has been recorded: of JSON, when all of it is there."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, recorders: Sequence[Recorder]) -> None:
        self._scope, self._receive, self._send, self._recorders = scope, receive, send, recorders
        self._exchange = scope[EXCHANGE] = Exchange(_how(scope["path"]), (scope.get("client") or ("",))[0])
        self._body = bytearray()
        self._held: list[Message] = []
        self._is_json = False
        self.failed = False
        """Whether it cannot be recorded; nothing has been sent then."""

    async def receive(self) -> Message:
        message = await self._receive()
        if self._exchange.how == "rest" and message["type"] == "http.request":
            self._body += message.get("body", b"")[: MAX_BODY - len(self._body)]
        return message

    async def send(self, message: Message) -> None:
        if self.failed:
            return
        if message["type"] == "http.response.start":
            self._exchange.responded(message["status"])
            self._is_json = b"json" in dict(message["headers"]).get(b"content-type", b"")
        self._held.append(message)
        complete = message["type"] == "http.response.body" and not message.get("more_body")
        if not complete and self._is_json and self._exchange.how != "mcp":
            return
        exchange = self._exchange
        if (exchange.how, self._scope["method"], exchange.outcome) != ("mcp", "POST", "answered"):
            await self._record()
        held, self._held = self._held, []
        for each in held:
            await self._send(each)

    async def _record(self) -> None:
        exchange = self._exchange
        path = self._scope["path"]
        is_routine = path in ROUTINE or path.startswith(STATIC_PATH)  # recorded if refused or failed, as files of pages
        if exchange.recorded or (is_routine and exchange.outcome == "answered"):
            return
        route = getattr(exchange.scope.get("route"), "path", "")
        exchange.name = exchange.name or (f"{self._scope['method']} {route}" if route else "")
        exchange.asked = exchange.asked or {
            "route": f"{self._scope['method']} {path}",
            "parameters": self._parameters(),
        }
        if self._is_json and exchange.outcome == "answered":
            exchange.returned(_json(b"".join(each.get("body", b"") for each in self._held)))
        try:
            await record(self._recorders, exchange)
        except RecordingError as error:
            logger.error("%s", error)
            self.failed = True
            raise

    def _parameters(self) -> Mapping[str, Any]:
        """The parameters of the address, several of a name as a list, and the body's."""
        parameters: dict[str, Any] = {}
        for name, value in parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True):
            parameters.setdefault(name, []).append(value)
        single = {name: values[0] if len(values) == 1 else values for name, values in parameters.items()}
        body = _json(bytes(self._body)) if self._body else {}
        return single | (body if isinstance(body, dict) else {"body": body})


def _how(path: str) -> How:
    if path == MCP_PATH:
        return "mcp"
    return "rest" if path.startswith(REST_PATH) else "page"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


class RecordedCalls:
    """Middleware of the MCP server that records its requests.

    Args:
        recorders: get each request.
        viewer_of: says who sends a request.
    """

    def __init__(self, recorders: Sequence[Recorder], viewer_of: ViewerOf) -> None:
        self._recorders, self._viewer_of = recorders, viewer_of

    async def __call__(self, context: Any, call_next: CallNext) -> Any:
        """Answer a request when it has been recorded; notifications and pings are not."""
        if not self._recorders or context.request_id is None or context.method == UNASKED:
            return await call_next(context)
        exchange = self._exchange(context)
        try:
            if exchange.lasting:
                await record(self._recorders, exchange)
            CURRENT.set(exchange)
            try:
                result = await call_next(context)
            except MCPError:
                exchange.outcome = "failed"
                await record(self._recorders, exchange)
                raise
            _take(exchange, result)
            await record(self._recorders, exchange)
        except RecordingError as error:
            logger.error("%s", error)
            raise MCPError(code=types.INTERNAL_ERROR, message=NOT_RECORDED) from error
        return result

    def _exchange(self, context: Any) -> Exchange:
        """The exchange of a request: that of its HTTP request, which belongs to one message."""
        scope = context.request.scope if context.request is not None else {}
        exchange: Exchange = scope.get(EXCHANGE) or Exchange("mcp")
        exchange.viewer = self._viewer_of(context)
        params = {name: value for name, value in (context.params or {}).items() if name != "_meta"}
        if context.method == "tools/call":
            exchange.name = str(params.get("name"))
            exchange.asked = {"tool": params.get("name"), "arguments": params.get("arguments") or {}}
        else:
            exchange.name, exchange.asked = context.method, {"method": context.method, **params}
        exchange.lasting = context.method == LISTEN
        return exchange


def _take(exchange: Exchange, result: Any) -> None:
    """What a handler returned."""
    content = result.model_dump(by_alias=True, exclude_none=True) if hasattr(result, "model_dump") else result
    if not isinstance(content, dict):
        return
    exchange.outcome = "failed" if content.get("isError") else "answered"
    exchange.returned(content if exchange.content is None else exchange.content)
