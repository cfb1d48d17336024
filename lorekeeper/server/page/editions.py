"""The edition that comes first on the pages: a switch in the header, remembered by the browser."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.editions import LABELS
from lorekeeper.server.browsers import is_own, own_path
from lorekeeper.server.page.site import EDITION, Page, Site, redirect
from lorekeeper.server.rest.problems import RefusedError

MAX_BODY = 8000
"""Longest form, in bytes."""

MAX_AGE = 365 * 24 * 3600
"""How long a browser remembers the choice, in seconds."""


def edition_of(request: Request) -> Sequence[str] | None:
    """What the browser has chosen; None for the library's own choice."""
    chosen = request.cookies.get(EDITION, "")
    return (chosen,) if chosen in LABELS else None


async def _choose(_: Site, request: Request) -> Response:
    if not is_own(request.scope):
        raise RefusedError(HTTPStatus.FORBIDDEN, "this form was sent from a page of another site")
    fields = parse_qs((await request.body())[:MAX_BODY].decode("utf-8", "replace"))
    chosen, next_ = (fields.get(name, [""])[0] for name in ("edition", "next"))
    response, secure = redirect(own_path(next_)), request.url.scheme == "https"
    if chosen in LABELS:
        response.set_cookie(EDITION, chosen, max_age=MAX_AGE, httponly=True, samesite="strict", secure=secure)
    else:
        response.delete_cookie(EDITION, httponly=True, samesite="strict", secure=secure)
    return response


PAGES = (Page("/edition", _choose, methods=("POST",)),)
"""The form of the switch."""
