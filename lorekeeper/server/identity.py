"""Identity over HTTP: every request has a viewer, or is refused.

The middleware puts the viewer into the scope of the request, where routes find it with `viewer_of`, and handlers of MCP with
`viewer_of_context`. Both fail where there is none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import nullcontext
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.errors import LoreKeeperError, StrangerError, TokenError
from lorekeeper.printable import one_line
from lorekeeper.server.browsers import SIGN_IN, foreign_refusal, forget, is_open, session_key, to_sign_in
from lorekeeper.server.callers import CALLER, Caller, Callers, NoCredentialsError
from lorekeeper.server.failures import RETRY_SECONDS as GUESSING_SECONDS
from lorekeeper.server.failures import GuessingError
from lorekeeper.server.protected_resource import METADATA_PATHS, ProtectedResource
from lorekeeper.server.rest.problems import is_api, problem

logger = logging.getLogger(__name__)

VIEWER = "lorekeeper.viewer"
"""Where the scope of a request has its viewer."""

PROXIED = "lorekeeper.proxied"
"""Where it says whether the request comes from a trusted proxy."""

CALLERS = "lorekeeper.callers"
"""Where it has who says who sends a request, for the page to sign in on."""

OPEN_PATHS = frozenset({"/healthz", "/readyz", *METADATA_PATHS})
"""What everybody may ask, without a viewer: these say nothing of the library."""

RECHECK_SECONDS = 1.0
"""How long what a stream sends may rely on the last look at its token."""

RETRY_SECONDS = 10
"""When to try again if it cannot be said who somebody is."""

DETAILS = {
    401: "a valid bearer token is needed",
    403: "you are logged in, but not on this library's list of people: ask the game master to add you",
    429: "too many wrong tokens were sent from your address: this one was not checked; try again later",
    503: "your identity cannot be verified right now",
}

MAX_PATH = 200
"""Most characters of a path in the log."""


class IdentityError(Exception):
    """A request has reached what needs a viewer, and has none: a mistake in how the application is put together."""


def viewer_of(scope: Scope) -> Viewer:
    """Who sends a request; IdentityError if the request has not passed `Identity`."""
    viewer = scope.get(VIEWER)
    if not isinstance(viewer, Viewer):
        raise IdentityError(f"a request to {one_line(str(scope.get('path')), MAX_PATH)} has no viewer")
    return viewer


def callers_of(scope: Scope) -> Callers:
    """Who says who sends a request; IdentityError if the request has not passed `Identity`."""
    callers = scope.get(CALLERS)
    if not isinstance(callers, Callers):
        raise IdentityError("a request has not passed the check of identity")
    return callers


def viewer_of_context(context: Any, own: Viewer | None = None) -> Viewer:
    """Who sends an MCP message.

    Args:
        context: of the message, as the SDK hands it to a handler. Over HTTP it has the request that brought the message, in
            both eras of the protocol: a session's later messages have requests, and so viewers, of their own.
        own: the viewer of the only client, over stdio; None over HTTP.

    Raises:
        IdentityError: there is neither.
    """
    if context.request is not None:
        return viewer_of(context.request.scope)
    if own is None:
        raise IdentityError("a message over HTTP has come without its request")
    return own


class Identity:
    """An ASGI application that lets only those through to another one of whom it is known who they are.

    Args:
        app: the other application.
        callers: says who sends a request.
        resource: says where to log in; None if there is no issuer.
    """

    def __init__(self, app: ASGIApp, callers: Callers, resource: ProtectedResource | None = None) -> None:
        self._app = app
        self._callers = callers
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[CALLERS] = self._callers
        if _is_for_everybody(scope):
            await (foreign_refusal(scope) or self._app)(scope, receive, send)
            return
        try:
            looking = self._callers.failures.looking(_address(scope)) if _has_token(scope) else nullcontext()
            async with looking:
                caller = await self._caller(scope)
        except LoreKeeperError as error:
            may_sign_in = scope["path"] == SIGN_IN and not _has_token(scope)
            door = (foreign_refusal(scope) or self._app) if may_sign_in else await self._refusal(scope, error)
            await door(scope, receive, send)
            return
        scope[VIEWER], scope[CALLER] = caller.viewer, caller
        if caller.credential:
            # the form in which the SDK remembers whom a session belongs to: others get "Session not found"
            token = AccessToken(token="", client_id=caller.credential, scopes=[], subject=caller.viewer.person)
            scope["user"] = AuthenticatedUser(token)
        await self._answer(foreign_refusal(scope) or self._app, caller, scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        headers, proxied = Headers(scope=scope), bool(scope.get(PROXIED))
        return await self._callers.caller(headers, proxied=proxied, session=session_key(scope))

    async def _answer(self, app: ASGIApp, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer as long as the caller stays who it is: what has been revoked gets no more of a stream."""
        task, checked, ended = asyncio.current_task(), time.monotonic(), False

        async def send_if_valid(message: Message) -> None:
            nonlocal checked, ended
            if message.get("more_body") and time.monotonic() - checked >= RECHECK_SECONDS:
                checked = time.monotonic()
                if not await self._is_still(caller, scope):
                    ended = True
            if not ended:
                await send(message)
            elif task is not None and not task.cancelling():
                task.cancel()

        try:
            await app(scope, receive, send_if_valid)
        except asyncio.CancelledError:
            if not ended or task is None:
                raise
            task.uncancel()
        if ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _is_still(self, caller: Caller, scope: Scope) -> bool:
        try:
            return await self._caller(scope) == caller
        except LoreKeeperError:
            return False

    async def _refusal(self, scope: Scope, error: LoreKeeperError) -> Response:
        """The answer to a request that is refused, which says nothing of why, but to somebody who has logged in.

        A valid login of a stranger is 403: the credentials are right, and logging in again, which clients do upon 401, would
        bring the same ones.
        """
        address = _address(scope)
        level = logging.INFO if isinstance(error, NoCredentialsError) else logging.WARNING
        logger.log(level, "refused %s, %s: %s", address, one_line(scope["path"], MAX_PATH), error)
        if isinstance(error, GuessingError):
            return _problem(scope, 429, {"Retry-After": str(GUESSING_SECONDS)})
        if isinstance(error, StrangerError):
            return _problem(scope, 403, {})
        if not isinstance(error, TokenError):
            return _problem(scope, 503, {"Retry-After": str(RETRY_SECONDS)})
        shown = not isinstance(error, NoCredentialsError)
        if shown:
            await self._callers.failures.pause(address)
        entrance = to_sign_in(scope) if scope["type"] == "http" else None
        if entrance:
            if session_key(scope):  # a browser may have one that counts, and not have sent it
                forget(entrance, scope)
            return entrance
        return _problem(scope, 401, {"WWW-Authenticate": self._challenge(scope, shown=shown)})

    def _challenge(self, scope: Scope, *, shown: bool) -> str:
        """What a client needs (RFC 6750), and where it can log in (RFC 9728); ``error`` only if it has shown something."""
        parts = ['error="invalid_token"'] if shown else []
        if self._resource:
            parts.append(f'resource_metadata="{self._resource.metadata_address(scope)}"')
        return " ".join(filter(None, ["Bearer", ", ".join(parts)]))


def _has_token(scope: Scope) -> bool:
    return "authorization" in Headers(scope=scope)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return one_line(client[0], MAX_PATH) if client else ""


def _is_for_everybody(scope: Scope) -> bool:
    if scope["type"] != "http":
        return bool(scope["type"] == "lifespan")
    return scope["path"] in OPEN_PATHS or is_open(scope["path"])


def _problem(scope: Scope, status: int, headers: dict[str, str]) -> Response:
    """A refusal: problem details (RFC 9457) where the REST interface is, elsewhere a line of text."""
    if is_api(scope):
        return problem(scope, status, DETAILS[status], headers)
    return PlainTextResponse(DETAILS[status], status, {"Cache-Control": "no-store", **headers})
