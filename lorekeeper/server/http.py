"""The HTTP application, with limits on connections, time, sessions and the log: no client can shut out the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from operator import attrgetter
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from lorekeeper.library import Library
from lorekeeper.server.callers import Callers
from lorekeeper.server.guard import Guard
from lorekeeper.server.identity import PROXIED, Identity
from lorekeeper.server.limits import BodyLimit, RateLimit
from lorekeeper.server.page.routes import not_found
from lorekeeper.server.page.routes import routes as pages
from lorekeeper.server.page.site import HEADERS
from lorekeeper.server.protected_resource import ProtectedResource
from lorekeeper.server.recording import Recording
from lorekeeper.server.rest.problems import is_api, problem
from lorekeeper.server.rest.routes import routes as gateway
from lorekeeper.settings import Settings
from lorekeeper.system import descriptor_share

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")

MAX_CONNECTIONS = 256
"""Most connections; fewer if the process has few file descriptors."""

ACCEPTED_AT_ONCE = 16
"""Connections accepted at a time: few, so that none is closed to make room before it could send a request."""

QUEUE = 4096
"""Connections that may wait to be accepted; what exceeds the queue is retried by the client's system a second later."""

REQUEST_SECONDS = 10.0
"""Longest time from the connection, or from the previous response, to the end of a request."""

HEADER_BYTES = 16 * 2**10
"""Most bytes of a request line with headers that may wait for their end."""

IDLE_SECONDS = 5
"""How long an idle connection is kept after a response."""

UNREAD_SECONDS = 60.0
"""Longest time that a client may leave a response unread."""

CLOSING_SECONDS = 5
"""How long running requests may continue at shutdown."""

ANY_METHOD = ("GET", "POST", "DELETE")
"""What is asked of routes that take any method."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that end the server."""

MAX_SESSIONS = 100
"""Most sessions; each takes about 55 kB."""

MESSAGES, MESSAGE_CHARS, MINUTE = 10, 500, 60.0
"""Most messages per minute from one place in the code, and the longest text of each."""


async def serve(
    server: Server[Any], library: Library, settings: Settings, callers: Callers, host: str, port: int, guard: Guard
) -> None:
    """Serve clients at ``http://host:port/mcp``, and at ``/api/v1``, until the process is told to end.

    Args:
        server: answers the messages.
        library: answers the gateway's requests.
        settings: say where people log in, and which proxies are trusted.
        callers: says who sends a request.
        host: address to listen on. Host and Origin headers are checked unless it is the wildcard address.
        port: to listen on.
        guard: what stands around the application.
    """
    for handler in logging.getLogger().handlers:
        handler.addFilter(LogThrottle())
    app, sessions = application(server, library, settings, callers, host, guard)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=_Connection,
        ws="none",
        lifespan="on",  # without it there are no sessions
        log_config=None,
        log_level="warning",
        backlog=ACCEPTED_AT_ONCE,
        limit_concurrency=2 * MAX_CONNECTIONS,  # connections, and requests whose clients have disconnected
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=CLOSING_SECONDS,
        h11_max_incomplete_event_size=HEADER_BYTES,
        proxy_headers=False,  # `_Peer` reads them, and from trusted proxies only
        ssl_context_factory=(lambda *_: guard.tls) if guard.tls else None,
    )
    AppStatus.enable_automatic_graceful_drain = False  # it would cut off answers too
    with guard.on():
        await _Uvicorn(config, sessions).serve()


def application(
    server: Server[Any], library: Library, settings: Settings, callers: Callers, host: str, guard: Guard
) -> tuple[ASGIApp, _Sessions]:
    """The application: who sends a request, from where, and the routes; and its sessions."""
    issuer, audience = settings.oauth_issuer, settings.oauth_audience
    resource = ProtectedResource(issuer, audience) if issuer and audience else None
    sessions = _Sessions(server, max_sessions=MAX_SESSIONS)
    mcp = Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions))
    routes = [
        mcp,
        *gateway(library),
        *(resource.routes() if resource else []),
        *guard.routes,
        *pages(library, callers.players),
    ]
    guard.metrics.declare(f"{method} {route.path}" for route in routes for method in route.methods or ANY_METHOD)
    missing = {HTTPStatus.NOT_FOUND: not_found(library)}
    app = Starlette(routes=routes, exception_handlers=missing, lifespan=lambda _: sessions.run())
    limited = RateLimit(BodyLimit(_HostCheck(app, host, settings)), guard.limits.rate, guard.limits.burst)
    identity = Identity(limited, callers, resource)
    return _Peer(Recording(_with_headers(identity), guard.recorders), settings.trusted_proxies), sessions


class _Peer:
    """Notes whether a request comes from a trusted proxy; only then its client is whom the proxy's headers name.

    Args:
        app: the application.
        proxies: addresses and networks.
    """

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        self._app = ProxyHeadersMiddleware(app, list(proxies))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        scope[PROXIED] = client is not None and client[0] in self._app.trusted_hosts
        await self._app(scope, receive, send)


def _with_headers(app: ASGIApp) -> ASGIApp:
    """Gives every response the headers of pages that it has not got itself: refusals, and what programs read, are no pages."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_with_headers)

    return answer


class _HostCheck:
    """Refuses pages of other sites, which reach a server on this machine if their names lead here (DNS rebinding).

    Requests of trusted proxies are checked too: a browser on the machine of the proxy has the same address. Of all headers, `Host`
    is the one that a page cannot choose.

    Args:
        app: the application.
        host: address to listen on; under the wildcard address this machine is reached under any name, and a token protects.
        settings: have the public names, and the public address as the audience of tokens.
    """

    def __init__(self, app: ASGIApp, host: str, settings: Settings) -> None:
        public = urlsplit(settings.oauth_audience or "").hostname
        known = (host, *LOOPBACK, public, *settings.public_hosts)
        names = [f"{name}{port}" for name in known if name for port in ("", ":*")]
        self._app = app
        self._checks = TransportSecurityMiddleware(
            TransportSecuritySettings(
                enable_dns_rebinding_protection=host not in ("0.0.0.0", "::"),  # noqa: S104
                allowed_hosts=names,
                allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names],
            )
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._checks.validate_request(Request(scope)) if scope["type"] == "http" else None
        if refusal and is_api(scope):
            refusal = problem(scope, refusal.status_code, bytes(refusal.body).decode())
        await (refusal or self._app)(scope, receive, send)


class _Uvicorn(uvicorn.Server):  # type: ignore[misc]  # the library has no types
    """A server that ends as it is told to.

    Uvicorn has one setting for the queue of connections and for how many are accepted at once; here they differ. It lasts until
    streams end, and raises the signal again that ended it; here streams are closed, and a server that was told to end has done so.
    """

    should_exit: bool

    def __init__(self, config: uvicorn.Config, sessions: _Sessions) -> None:
        super().__init__(config)
        self._sessions = sessions

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in (listener for server in self.servers for listener in server.sockets):
            with listener.dup() as duplicate:
                duplicate.listen(QUEUE)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._sessions.end_streams()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        former = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, _: FrameType | None) -> None:
        """End; at the second signal at once, as any process does."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


class _Connection(H11Protocol):  # type: ignore[misc]
    """A connection that is closed if its request, or the reading of its response, takes too long, or to make room."""

    transport: asyncio.Transport
    order: tuple[bool, float]
    """(Whether a request is being answered, since when): the connection with the least is closed to make room."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._watch()
        others = [c for c in self.connections if not c.transport.is_closing()]
        if len(others) > descriptor_share(MAX_CONNECTIONS):
            min(others, key=attrgetter("order")).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(self._deadline)
        self._stop(self._unread)
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Run the timer of `REQUEST_SECONDS` while a request is awaited or incomplete."""
        waiting = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if waiting == (self._deadline is not None):
            return
        self.order = (not waiting, self.loop.time())
        if waiting:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        else:
            self._stop(self._deadline)
            self._deadline = None

    def _stop(self, timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


class _Sessions(StreamableHTTPSessionManager):  # type: ignore[misc]
    """Sessions: if there are too many, the one that has been idle longest ends, and its client starts another one."""

    def end_streams(self) -> None:
        """End what would last as long as clients like: streams of notifications, and subscriptions."""
        for transport in self._server_instances.values():
            transport.close_standalone_sse_stream()
        self.app.end_subscriptions()

    def _admit_session(self, requestor: Any) -> Any:
        if len(self._server_instances) >= MAX_SESSIONS:
            scopes = {key: t.idle_scope for key, t in self._server_instances.items() if t.idle_scope is not None}
            oldest = min(scopes, key=lambda key: scopes[key].deadline, default="")  # no deadline while it is in use
            if oldest and scopes[oldest].deadline < float("inf"):
                del self._server_instances[oldest]
                scopes[oldest].cancel()
        return super()._admit_session(requestor)


class LogThrottle(logging.Filter):
    """Lets at most `MESSAGES` a minute pass from one place in the code, each truncated to `MESSAGE_CHARS`."""

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message passes; the last one says that more are suppressed."""
        place, now = (record.pathname, record.lineno), time.monotonic()
        since, passed = self._passed.get(place, (now, 0))
        if now - since > MINUTE:
            since, passed = now, 0
        self._passed[place] = since, passed + 1
        text = record.getMessage()
        if len(text) > MESSAGE_CHARS:
            record.msg, record.args = f"{text[:MESSAGE_CHARS]} ...", None
        if passed == MESSAGES - 1:
            record.msg, record.args = f"{record.getMessage()} (more of these are not logged for a minute)", None
        return passed < MESSAGES
