"""Limits on how much one person may ask, and on the size of what is sent.

Who has shown who they are is limited by name, wherever the requests come from; people who share an address do not share a limit.
A page asks while somebody types, and for its parts one by one: pages are counted apart, and may be asked for more often.
Where nobody has to show anything, nobody is limited: such a server can be reached from its own machine only, by the user whose
files the library is in, and a program that asks much for that user is no attack. Wrong credentials are slowed down elsewhere.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerSecond, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.folding import fold
from lorekeeper.server.browsers import is_page
from lorekeeper.server.exchange import Exchange
from lorekeeper.server.recording import EXCHANGE, MAX_BODY, MCP_PATH, ROUTINE
from lorekeeper.server.rest.problems import is_api, problem

VIEWER = "lorekeeper.viewer"
"""Where the scope of a request has its viewer."""

USER = "user"
"""Where it has what its client has shown, if anything was needed."""

PAGE_FACTOR = 10
"""How many times as many requests of pages there may be, in the period and in a burst: ten letters a second, and what they load."""


class RateLimit:
    """Limits how often each person may ask.

    A request beyond the rate is refused with 429. A burst is not: what exceeds it waits for its turn, a few seconds at most,
    since the rate limits how much can wait.

    Args:
        app: the application; its scopes have a viewer, and a user where something had to be shown.
        rate: requests in a period, such as "100/minute"; "0" for any number.
        burst: most requests that are let through in a second, unless the rate itself allows more; 0 for any number.
    """

    def __init__(self, app: ASGIApp, rate: str, burst: int) -> None:
        self._app = app
        self._others = _Rates.of(rate, burst)
        self._pages = _Rates.of(rate, burst, PAGE_FACTOR)
        self._window = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, now or later, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        viewer, exchange = scope.get(VIEWER), scope.get(EXCHANGE)
        if isinstance(exchange, Exchange):
            exchange.viewer, exchange.scope = viewer, scope
        # the JSON of a page is what the gateway answers, and counted as that
        rates = self._pages if is_page(scope["path"]) and not scope["path"].endswith(".json") else self._others
        if rates and isinstance(viewer, Viewer) and scope.get(USER) and scope["path"] not in ROUTINE:
            key = rates.name, viewer.role, fold(viewer.person)
            if not self._window.hit(rates.rate, *key):
                reset = self._window.get_window_stats(rates.rate, *key).reset_time
                await refusal(scope, rates.rate, reset - time.time())(scope, receive, send)
                return
            await self._turn(rates.burst, key)
        await self._app(scope, receive, send)

    async def _turn(self, burst: RateLimitItem | None, key: tuple[str, ...]) -> None:
        """Wait until a request fits into the burst."""
        while burst and not self._window.hit(burst, *key):
            reset = self._window.get_window_stats(burst, *key).reset_time
            await asyncio.sleep(max(reset - time.time(), 0.01))


@dataclass(frozen=True)
class _Rates:
    """How often a person may ask: in a period, and at once."""

    name: str
    rate: RateLimitItem
    burst: RateLimitItem | None

    @classmethod
    def of(cls, rate: str, burst: int, factor: int = 1) -> _Rates | None:
        """So many times a rate and its burst; None for any number."""
        if rate == "0":
            return None
        single = parse(rate)
        allowed = type(single)(single.amount * factor, single.multiples)
        at_once = max(burst * factor, math.ceil(allowed.amount / allowed.get_expiry()))
        return cls(f"times {factor}", allowed, RateLimitItemPerSecond(at_once) if burst else None)


class BodyLimit:
    """Refuses bodies that are too large with 413, whether they say their length or not.

    Args:
        app: the application. MCP has a limit of its own, 4 MiB, and the gateway describes its refusals itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._limited = app, RequestBodyLimitMiddleware(app, MAX_BODY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        limits_itself = scope["type"] != "http" or scope["path"] == MCP_PATH or is_api(scope)
        await (self._app if limits_itself else self._limited)(scope, receive, send)


def refusal(scope: Scope, rate: RateLimitItem, seconds: float) -> Response:
    """The response to a request beyond a rate that may be repeated in so many seconds, wherever it is sent.

    Its fields are those of draft-ietf-httpapi-ratelimit-headers.
    """
    wait, period = max(math.ceil(seconds), 1), int(rate.get_expiry())
    detail = f"At most {rate.amount} requests in {period} seconds; ask again in {wait} seconds."
    headers = {
        "Retry-After": str(wait),
        "RateLimit-Policy": f'"default";q={rate.amount};w={period}',
        "RateLimit": f'"default";r=0;t={wait}',
    }
    return problem(scope, 429, detail, headers)
