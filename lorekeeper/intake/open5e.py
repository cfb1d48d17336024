"""A rate-limited client of the Open5e API, versions 1 and 2, which reads lists page by page and validates every response.

Requests go to the configured origin only, a few at a time; transient errors (a busy server, a lost connection) are retried
with growing pauses, and responses that are too large, too slow, endless or not lists are rejected.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx
import stamina

from lorekeeper.addresses import shown_address
from lorekeeper.errors import SourceError, SourceUnavailableError
from lorekeeper.intake.http_body import Body, DamagedBodyError, RefusedBodyError
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.system import AsyncClosing, ended
from lorekeeper.version import VERSION

logger = logging.getLogger(__name__)

PAGE_SIZE = 100
"""Objects per page: a page of creatures then has about a megabyte."""

CONCURRENCY = 4
"""Most requests at a time."""

MAX_QUERY_LENGTH = 8_000
"""Longest query of a link to the next page, in characters."""

MAX_REDIRECTS = 3

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
"""Longest wait for a connection, and between two parts of a response."""

ATTEMPTS = 6
LONGEST_PAUSE = 60.0
"""Longest Retry-After, in seconds, that is waited for."""

_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json", re.IGNORECASE)

_TRANSIENT = frozenset({429, 500, 501, 502, 503, 504, 524})


@dataclass(frozen=True)
class Limits:
    """How much a client accepts from a server before it gives up.

    Attributes:
        body_bytes: largest response, both as received and unpacked.
        total_bytes: of all responses together: forty times the size of Open5e.
        objects: in a list: thirty times the longest of Open5e.
        answer_seconds: for a response.
        page_seconds: for a page, with all attempts and the pauses between them.
        list_seconds: for all pages of a list. The time that the caller takes to process pages does not count.
    """

    body_bytes: int = 32 << 20
    total_bytes: int = 2 << 30
    objects: int = 100_000
    answer_seconds: float = 120.0
    page_seconds: float = 300.0
    list_seconds: float = 1800.0


DEFAULT_LIMITS = Limits()


Wait = Callable[[], Awaitable[None]]
"""Waits until a request may be sent."""


@dataclass
class _Allowance:
    """Seconds that the server may still take for the pages of a list."""

    seconds: float


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


class _TransientError(Exception):
    """A failure that a retry may cure; ``pause`` is the Retry-After of the server, in seconds. Never raised to callers."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Open5eClient(AsyncClosing):
    """Reads lists of one Open5e server. Use it as an async context manager.

    Args:
        base_url: its address, without the version, as in ``https://api.open5e.com``.
        attempts: at a request before it counts as failed.
        limits: of what is accepted from the server.
    """

    def __init__(
        self,
        base_url: str,
        *,
        attempts: int = ATTEMPTS,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.shown = shown_address(self.base_url)
        """The server's address, for messages."""
        self.requests = 0
        """Requests made so far."""
        self.reached = False
        """Whether the server has answered anything yet."""
        self.received = 0
        """Bytes of responses so far, unpacked."""
        self._attempts = attempts
        self._limits = limits
        self._client = _http_client()

    async def pages(self, path: str, query: str, done: int = 0, wait: Wait | None = None) -> AsyncGenerator[Page, None]:
        """The pages of a list; each is requested while the caller uses the one before.

        Args:
            path: of the list, as in ``v2/spells``.
            query: of the first page to read, as in ``limit=100``.
            done: objects on the pages before it.
            wait: until the next page may be requested, if not at once.

        Raises:
            SourceError: a page is invalid, or the list is endless, or has more objects than its count.
            SourceUnavailableError: a page is not available now, or the list takes too long.
        """
        following: str | None = query
        allowance = _Allowance(self._limits.list_seconds)

        async def request(query: str) -> Page:
            if wait:
                await wait()
            return await self.page(path, query, allowance)

        coming = asyncio.create_task(request(query))
        try:
            while following is not None:
                page = await coming
                following, done = page.following, done + len(page.objects)
                if following is None and done > page.count:
                    raise self._invalid(path, f"{done} objects in a list of {page.count}")
                if following is not None:
                    if not page.objects or done >= page.count:
                        raise self._invalid(path, f"a list of {page.count} objects whose pages do not end")
                    coming = asyncio.create_task(request(following))
                yield page
        finally:
            coming.cancel()
            await ended(coming)

    async def page(self, path: str, query: str, allowance: _Allowance | None = None) -> Page:
        """One page of a list; SourceError if it is invalid or not available."""
        body = await self._get(path, query, allowance or _Allowance(self._limits.list_seconds))
        try:
            count, objects, following = body["count"], body["results"], body["next"]
            if type(count) is not int or count < 0 or not isinstance(objects, list):
                raise TypeError
            page = Page(count, objects, None if following is None else _own_query(following))
        except (KeyError, TypeError, ValueError) as error:
            raise self._invalid(path, "something that is not a page of a list") from error
        if count > self._limits.objects:
            raise self._invalid(path, f"a list of more than {self._limits.objects:,} objects")
        return page

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _get(self, path: str, query: str, allowance: _Allowance) -> Any:
        """The JSON value at a path, with retries."""
        if self.received > self._limits.total_bytes:
            raise self._invalid(path, f"more than {self._limits.total_bytes / 2**30:g} GB in all")
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(self._limits.page_seconds, allowance.seconds)):
                return await self._tried(path, query)
        except _TransientError as error:
            raise self._unavailable(f"could not answer for {path}: {error}; try again later") from error
        except TimeoutError as error:
            raise self._unavailable(f"took too long to answer for {path}; try again later") from error
        except httpx.RemoteProtocolError as error:
            raise self._unavailable(f"ended its answer for {path} early; try again later") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unavailable(
                "cannot be reached; check your connection and "
                "LOREKEEPER_OPEN5E_BASE_URL, then run the same command again"
            ) from error
        finally:
            allowance.seconds -= time.monotonic() - began

    async def _tried(self, path: str, query: str) -> Any:
        async for attempt in stamina.retry_context(
            on=self._pause,
            attempts=self._attempts,
            timeout=None,
            wait_initial=0.2,
            wait_max=20.0,
            wait_jitter=0.5,
        ):
            with attempt:
                return await self._once(path, f"{self.base_url}/{path}/?{query}")
        raise AssertionError("stamina raises the last error")

    async def _once(self, path: str, url: str) -> Any:
        for _ in range(MAX_REDIRECTS):
            self.requests += 1
            async with (
                asyncio.timeout(self._limits.answer_seconds),
                self._client.stream("GET", url) as response,
            ):
                self.reached = True
                if not response.is_redirect:
                    return await self._value(path, response)
                target = response.headers.get("Location", "")
            try:
                following = urljoin(url, target)
                foreign = _origin(following) != _origin(url)
            except ValueError as error:
                raise self._invalid(path, f"a redirect to {shown(target)}, which is not a URL") from error
            if foreign:
                raise SourceError(
                    f"{self.shown} redirects {path} to {one_line(shown_address(target), MAX_SHOWN)}, on another server, "
                    "which is not followed; if that is its new address, set LOREKEEPER_OPEN5E_BASE_URL"
                )
            url = following
        raise SourceError(f"{self.shown} redirects {path} too often; is LOREKEEPER_OPEN5E_BASE_URL an Open5e server?")

    async def _value(self, path: str, response: httpx.Response) -> Any:
        """The JSON value of a response."""
        status, kind = response.status_code, response.headers.get("Content-Type", "")
        if status in _TRANSIENT:
            raise _TransientError(f"status {status}", _asked_pause(response))
        if status != httpx.codes.OK:
            raise self._invalid(path, f"status {status}")
        if not _JSON.fullmatch(kind.partition(";")[0].strip()):
            raise self._invalid(path, f"{one_line(kind, MAX_SHOWN) or 'nothing that is'} instead of JSON")
        try:
            body = Body(response.headers.get("Content-Encoding", ""), self._limits.body_bytes)
            try:
                async for received in response.aiter_raw():
                    body.add(received)
            finally:
                self.received += max(body.received, len(body.content))
            return await asyncio.to_thread(body.value)
        except RefusedBodyError as error:
            raise self._invalid(path, str(error)) from error
        except DamagedBodyError as error:
            raise _TransientError(str(error)) from error

    def _pause(self, error: Exception) -> bool | float:
        """Whether to retry after an error, or the seconds to wait for that if the server says so."""
        if isinstance(error, _TransientError):
            if error.pause is None:
                return True
            return error.pause if error.pause <= LONGEST_PAUSE else False
        logger.info("%s: %s", type(error).__name__, error)
        transient = (httpx.TransportError, TimeoutError)
        return isinstance(error, transient) and not isinstance(error, httpx.UnsupportedProtocol)

    def _unavailable(self, why: str) -> SourceUnavailableError:
        return SourceUnavailableError(f"{self.shown} {why}")

    def _invalid(self, path: str, what: str) -> SourceError:
        return SourceError(
            f"{self.shown} answered for {path} with {what}; is LOREKEEPER_OPEN5E_BASE_URL an Open5e server?"
        )


def _http_client() -> httpx.AsyncClient:
    """A client that keeps no cookies."""
    return httpx.AsyncClient(
        headers={
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": f"lorekeeper/{VERSION}",
        },
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        limits=httpx.Limits(max_connections=CONCURRENCY),
    )


def list_query(documents: Sequence[str] | None, version: int | None, *, shared: bool = False) -> str:
    """The query of a list's first page; only of these documents if any are named.

    A list whose objects are ``shared`` by documents is read whole, since the server files them under a document of their own.
    """
    parameters = {"limit": str(PAGE_SIZE)}
    if documents is not None and not shared:
        parameters[f"document__{'slug' if version == 1 else 'key'}__in"] = ",".join(documents)
    return urlencode(parameters, safe=",")


def _own_query(link: object) -> str:
    """The query of a link to the next page. The rest is ignored: built from a Host header, it may name any server.

    Raises:
        TypeError: the link is not a text.
        ValueError: it has no query, or one that is too long.
    """
    if not isinstance(link, str):
        raise TypeError(f"a link of type {type(link).__name__}")
    if len(link) > MAX_QUERY_LENGTH:
        raise ValueError("a link that is too long")
    query = urlencode(parse_qsl(urlsplit(link).query, keep_blank_values=True), safe=",")
    if not query:
        raise ValueError("a link without a query")
    return query


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _asked_pause(response: httpx.Response) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date; None if there is none."""
    value = str(response.headers.get("Retry-After", "")).strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
