"""Problem details (RFC 9457): how every error below ``/api/`` is answered."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Scope, Send

from lorekeeper.errors import (
    CacheError,
    ConfigError,
    EmbeddingError,
    FilterError,
    LoreKeeperError,
    NotFoundError,
    SourceError,
    UpgradingError,
)
from lorekeeper.printable import json_text, one_line
from lorekeeper.server.models import UNEXPECTED

logger = logging.getLogger(__name__)

PROBLEM_TYPE = "application/problem+json"

MAX_DETAIL = 2000
"""Longest explanation of a problem, in characters."""

STATUSES: Mapping[type[LoreKeeperError], int] = {
    FilterError: HTTPStatus.BAD_REQUEST,
    NotFoundError: HTTPStatus.NOT_FOUND,
    CacheError: HTTPStatus.SERVICE_UNAVAILABLE,
    UpgradingError: HTTPStatus.SERVICE_UNAVAILABLE,
    ConfigError: HTTPStatus.SERVICE_UNAVAILABLE,
    EmbeddingError: HTTPStatus.SERVICE_UNAVAILABLE,
    SourceError: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""What is wrong with the request, and what with the library; errors that are not listed are unexpected."""


class RefusedError(Exception):
    """A request that is not answered as it was asked.

    Attributes:
        status: of the response.
        detail: what is wrong, and what to do next.
        headers: further headers of the response.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}


def bad_request(detail: str) -> RefusedError:
    """The refusal of a request that is wrong in itself."""
    return RefusedError(HTTPStatus.BAD_REQUEST, detail)


def status_of(error: LoreKeeperError) -> int:
    """The status that says what went wrong."""
    known = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return next(known, HTTPStatus.INTERNAL_SERVER_ERROR)


async def respond(
    request: Request, answer: Awaitable[Response], refusal: Callable[[int, str], Response], send: Send
) -> None:
    """Answer a request, or refuse it with what is wrong; what is unexpected is in the log."""
    try:
        response = await answer
    except RefusedError as refused:
        response = refusal(refused.status, refused.detail)
        response.headers.update(refused.headers)
    except LoreKeeperError as error:
        response = refusal(status_of(error), str(error))
    except ClientDisconnect:
        return
    except Exception:
        logger.exception("%s failed", getattr(request.scope.get("route"), "path", request.method))
        response = refusal(HTTPStatus.INTERNAL_SERVER_ERROR, UNEXPECTED)
    await response(request.scope, request.receive, send)


def problem(scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The response that describes a problem with the request of a scope."""
    fixed = {"cache-control": "no-store", "vary": "Authorization, Cookie", **(headers or {})}
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": one_line(detail, MAX_DETAIL),
        "instance": path_of(scope),
    }
    return Response(json_text(content), status, fixed, PROBLEM_TYPE)


def is_api(scope: Scope) -> bool:
    """Whether the errors of a request are described as problems."""
    return bool(scope["path"].startswith("/api/"))


def path_of(scope: Scope) -> str:
    """The path of a request, percent-encoded as the client sent it, without its query."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    return quote(raw, safe="/%:@!$&'()*+,;=~")
