"""How much one person may ask: the rate, bursts, and bodies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.errors import ConfigError
from lorekeeper.server.limits import USER, VIEWER, BodyLimit, RateLimit
from lorekeeper.server.recording import MAX_BODY
from tests.support.libraries import settings
from tests.support.tables import each_row


async def length(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with the size of the body."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(str(len(body)))(scope, receive, send)


def identified(app: Any) -> Callable[..., Any]:
    """An application whose clients say who they are by a field; 401 for the others."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        who = dict(scope["headers"]).get(b"x-who", b"").decode()
        if not who:
            await Response(status_code=401)(scope, receive, send)
            return
        scope[VIEWER], scope[USER] = GAME_MASTER if who == "dm" else Viewer.player(who), "token"
        await app(scope, receive, send)

    return answer


def client(app: Any, address: str = "192.0.2.7") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 1)), base_url="http://library")


async def statuses(asking: httpx.AsyncClient, number: int, who: str, path: str = "/mcp") -> list[int]:
    return [(await asking.get(path, headers={"x-who": who})).status_code for _ in range(number)]


async def test_the_101st_request_of_a_minute_is_refused_and_nobody_else_notices() -> None:
    async with client(identified(RateLimit(length, "100/minute", 0))) as asking:
        assert await statuses(asking, 100, "Ana") == [200] * 100
        refused = await asking.get("/mcp", headers={"x-who": "ANA"})
        assert (await asking.get("/mcp", headers={"x-who": "bo"})).status_code == 200
        assert (await asking.get("/mcp", headers={"x-who": "dm"})).status_code == 200
        assert (await asking.get("/healthz", headers={"x-who": "ana"})).status_code == 200
    wait = int(refused.headers["retry-after"])
    assert refused.status_code == 429
    assert 55 <= wait <= 60
    assert refused.headers["ratelimit-policy"] == '"default";q=100;w=60'
    assert refused.headers["ratelimit"] == f'"default";r=0;t={wait}'
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json().keys() == {"type", "title", "status", "detail", "instance"}
    assert refused.json()["status"] == 429


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still but while somebody sleeps."""
    now, pause = [time.time()], asyncio.sleep

    async def sleep(seconds: float) -> None:
        due = now[0] + seconds
        await pause(0)
        now[0] = max(now[0], due)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


async def test_what_exceeds_a_burst_waits_and_is_answered(clock: list[float]) -> None:
    async with client(identified(RateLimit(length, "30/minute", 20))) as asking:
        began = clock[0]
        ends: list[float] = []

        async def ask() -> int:
            response = await asking.get("/mcp", headers={"x-who": "ana"})
            ends.append(clock[0] - began)
            return response.status_code

        answers = await asyncio.gather(*(ask() for _ in range(25)))
    assert answers == [200] * 25
    assert sum(end < 0.9 for end in ends) == 20
    assert 0.9 < max(ends) < 1.5


async def test_zero_is_no_limit() -> None:
    async with client(identified(RateLimit(length, "0", 20))) as asking:
        assert await statuses(asking, 150, "ana") == [200] * 150


async def test_nobody_is_limited_where_nothing_has_to_be_shown() -> None:
    app = RateLimit(length, "3/minute", 1)

    async def opened(scope: Any, receive: Any, send: Any) -> None:
        await app(scope | {VIEWER: GAME_MASTER}, receive, send)

    async with client(opened) as asking:
        assert await statuses(asking, 20, "") == [200] * 20


async def chunks(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 1024):
        yield b"x" * 1024


async def test_a_body_that_is_too_large_is_refused_with_and_without_its_length() -> None:
    async with client(BodyLimit(length)) as asking:
        assert (await asking.post("/page", content=b"x" * MAX_BODY)).text == str(MAX_BODY)
        assert (await asking.post("/page", content=chunks(MAX_BODY))).text == str(MAX_BODY)
        assert (await asking.post("/page", content=b"x" * (MAX_BODY + 1))).status_code == 413
        assert (await asking.post("/page", content=chunks(2 * MAX_BODY))).status_code == 413
        for path in ("/mcp", "/api/v1/search_lore"):
            assert (await asking.post(path, content=chunks(2 * MAX_BODY))).status_code == 200, "it limits itself"


@each_row("rate", ["100/minute", "1 / second", "5000/hour", "0"])
def test_a_rate_can_be_set(rate: str) -> None:
    RateLimit(length, settings(rate_limit=rate).rate_limit, 20)


@each_row("rate", ["100", "-1/minute", "0/minute", "many", "100/fortnight", "1e3/minute"])
def test_a_rate_that_is_none_is_an_error_that_shows_one(rate: str) -> None:
    with pytest.raises(ConfigError, match=r"LOREKEEPER_RATE_LIMIT.*100/minute"):
        settings(rate_limit=rate)
