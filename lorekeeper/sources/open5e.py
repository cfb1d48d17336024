"""A client of the Open5e API, versions 1 and 2: its lists, page by page. The one that asks is polite and trusts nothing.

Requests go to the configured origin only, a few at a time; what passes (a busy server, a broken line) is tried again
with growing pauses, and answers that are too large, go in circles or are no lists are refused.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx
import stamina

import lorekeeper
from lorekeeper.errors import SourceError, SourceUnavailableError

logger = logging.getLogger(__name__)

PAGE_SIZE = 100
"""Objects a page: a page of creatures has about a megabyte then."""

CONCURRENCY = 4
"""Requests at a time."""

MAX_BODY_BYTES = 50 << 20
"""Largest answer that is read, unpacked."""

MAX_REDIRECTS = 3

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
REQUEST_SECONDS = 120.0
"""Longest pause between two pieces of an answer, and longest time for one answer."""

ATTEMPTS = 6
LONGEST_PAUSE = 60.0
"""A server that asks to be left alone for longer, in seconds, is not waited for."""

_PASSING = frozenset({429, 500, 501, 502, 503, 504, 524})


@dataclass(frozen=True)
class Page:
    """One page of a list.

    Attributes:
        count: objects in the whole list.
        objects: those on this page, as the server wrote them.
        following: the query of the next page, None on the last one.
    """

    count: int
    objects: list[Any]
    following: str | None


class _Passing(Exception):  # noqa: N818  # a reason to try again, never seen outside
    """An answer that may be better next time; ``pause`` is what the server asked for, in seconds."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Open5eClient:
    """Reads lists of one Open5e server. Use it as an async context manager.

    Args:
        base_url: its address, without the version, as in ``https://api.open5e.com``.
        attempts: how often a request is made before it counts as failed.
        connect_seconds: longest wait for a connection.
        max_bytes: largest answer that is read, unpacked.
        patient: try to connect again where nobody answers.
    """

    def __init__(
        self,
        base_url: str,
        *,
        attempts: int = ATTEMPTS,
        connect_seconds: float = CONNECT_SECONDS,
        max_bytes: int = MAX_BODY_BYTES,
        patient: bool = True,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.requests = 0
        """Requests made so far."""
        self.reached = False
        """Whether the server has answered anything yet."""
        self._attempts = attempts
        self._patient = patient
        self._max_bytes = max_bytes
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._client = httpx.AsyncClient(
            headers={"Accept": "application/json", "User-Agent": f"lorekeeper/{lorekeeper.__version__}"},
            timeout=httpx.Timeout(READ_SECONDS, connect=connect_seconds),
            limits=httpx.Limits(max_connections=CONCURRENCY),
        )

    async def pages(self, path: str, query: str, done: int = 0) -> AsyncGenerator[Page, None]:
        """The pages of a list, each asked for while the one before it is being used.

        Args:
            path: of the list, as in ``v2/spells``.
            query: of the first page wanted, as in ``limit=100``.
            done: objects on the pages before it.

        Raises:
            SourceError: a page is no page, or the list has no end.
            SourceUnavailableError: a page cannot be had now.
        """
        following: str | None = query
        seen: set[str] = set()
        coming = asyncio.create_task(self.page(path, query))
        try:
            while following is not None:
                page = await coming
                seen.add(following)
                done += len(page.objects)
                following = page.following
                if following is not None:
                    if following in seen or not page.objects or done >= page.count:
                        raise self._wrong(path, f"a list of {page.count} objects whose pages do not end")
                    coming = asyncio.create_task(self.page(path, following))
                yield page
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def page(self, path: str, query: str) -> Page:
        """One page of a list; SourceError where it cannot be had."""
        body = await self._get(path, query)
        try:
            count, objects, following = int(body["count"]), body["results"], body["next"]
            if not isinstance(objects, list) or not isinstance(following, str | None):
                raise TypeError
            return Page(count, objects, following and _own_query(following))
        except (KeyError, TypeError, ValueError) as error:
            raise self._wrong(path, "something that is no page of a list") from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _get(self, path: str, query: str) -> Any:
        """The JSON value at a path, tried again while that may help."""
        url = f"{self.base_url}/{path}/?{query}"
        try:
            async with self._slots:
                async for attempt in stamina.retry_context(
                    on=self._pause,
                    attempts=self._attempts,
                    timeout=None,
                    wait_initial=0.2,
                    wait_max=20.0,
                    wait_jitter=0.5,
                ):
                    with attempt:
                        return await self._once(url)
        except _Passing as error:
            raise SourceUnavailableError(
                f"{self.base_url} could not answer for {path}: {error}; try again later"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise SourceUnavailableError(
                f"{self.base_url} cannot be reached ({type(error).__name__}); check your connection and "
                "LOREKEEPER_OPEN5E_BASE_URL, then run the same command again"
            ) from error
        raise AssertionError("stamina raises the last error")

    async def _once(self, url: str) -> Any:
        for _ in range(MAX_REDIRECTS):
            self.requests += 1
            async with asyncio.timeout(REQUEST_SECONDS), self._client.stream("GET", url) as response:
                self.reached = True
                if not response.is_redirect:
                    return await self._value(response)
                target = urljoin(url, response.headers.get("Location", ""))
            if _origin(target) != _origin(url):
                raise SourceError(
                    f"{url} sends us to {target}, on another server, which is not followed; if that is the right "
                    "address now, set LOREKEEPER_OPEN5E_BASE_URL"
                )
            url = target
        raise SourceError(f"{url} sends us in circles")

    async def _value(self, response: httpx.Response) -> Any:
        """The JSON value of an answer."""
        path, status = response.url.path, response.status_code
        if status in _PASSING:
            raise _Passing(f"status {status}", _asked_pause(response))
        if status != httpx.codes.OK:
            raise self._wrong(path, f"status {status}")
        if "json" not in response.headers.get("Content-Type", ""):
            raise self._wrong(path, f"{response.headers.get('Content-Type', 'nothing that is')} instead of JSON")
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > self._max_bytes:
                raise self._wrong(path, f"more than {self._max_bytes / 2**20:g} MB at once")
        try:
            return await asyncio.to_thread(json.loads, content)
        except (ValueError, RecursionError) as error:
            raise _Passing("its answer is no whole JSON") from error

    def _pause(self, error: Exception) -> bool | float:
        """Whether to try again after an error, or after how many seconds where the server says so."""
        if isinstance(error, _Passing):
            return True if error.pause is None else error.pause if error.pause <= LONGEST_PAUSE else False
        logger.info("%s: %s", type(error).__name__, error)
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) and not self._patient:
            return False
        passing = (httpx.TransportError, httpx.DecodingError, TimeoutError)
        return isinstance(error, passing) and not isinstance(error, httpx.UnsupportedProtocol)

    def _wrong(self, path: str, what: str) -> SourceError:
        return SourceError(
            f"{self.base_url} answered for {path} with {what}; is LOREKEEPER_OPEN5E_BASE_URL an Open5e server?"
        )


def list_query(documents: Sequence[str] | None, version: int | None, **filters: str) -> str:
    """The query of a list's first page; of some documents only where they are named."""
    own = {} if documents is None else {f"document__{'slug' if version == 1 else 'key'}__in": ",".join(documents)}
    return urlencode({"limit": str(PAGE_SIZE), **own, **filters}, safe=",")


def _own_query(link: str) -> str:
    """The query of a link to the next page: all that is used of it. Built from a Host header, it may name any server."""
    return urlencode(parse_qsl(urlsplit(link).query, keep_blank_values=True), safe=",")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _asked_pause(response: httpx.Response) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date."""
    value = str(response.headers.get("Retry-After", "")).strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None
