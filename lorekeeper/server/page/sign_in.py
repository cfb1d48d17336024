"""Signing in on a page, with a token or a link that holds once, and signing out.

Chat apps and browsers ask for links that nobody has clicked, so the link of a player only shows a button. That of the game master
is made for the browser of this machine, which `lorekeeper open` leads to it: it signs in at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lorekeeper.errors import TokenError
from lorekeeper.people.sessions import Opened
from lorekeeper.printable import one_line
from lorekeeper.server.browsers import PROOF, SIGN_IN, SIGN_OUT, again, forget, own_path, remember, session_key
from lorekeeper.server.exchange import Exchange
from lorekeeper.server.failures import RETRY_SECONDS, GuessingError
from lorekeeper.server.identity import DETAILS, VIEWER, callers_of
from lorekeeper.server.page.site import Page, Visit, form, redirect
from lorekeeper.server.recording import EXCHANGE
from lorekeeper.server.rest.problems import RefusedError, bad_request

logger = logging.getLogger(__name__)

T = TypeVar("T")

WRONG = "This token is wrong or has expired. Paste the whole token; it usually begins with lk_."

USED = "This link has been used already, or has expired. Ask for a new one, or sign in with your token."

AHEAD = "Open this link yourself: it is not for previews, and not to be loaded ahead of time."

MAX_CHALLENGE = 100
"""Longest challenge, in characters."""


async def _sign_in(visit: Visit) -> Response:
    next_ = own_path(visit.query_params.get("next"))
    if visit.method == "POST":
        return await _sent(visit)
    key = visit.query_params.get("key")
    if key and visit.method == "GET":
        return await _linked(visit, key)
    if VIEWER in visit.scope:
        return redirect(next_)
    return again(visit.scope, next_) or _form(visit, next_)


async def _sent(visit: Visit) -> Response:
    fields = await form(visit)
    key, token, next_ = (fields.get(name, "").strip() for name in ("key", "token", "next"))
    return await (_with_link(visit, key) if key else _with_token(visit, token, next_))


async def _linked(visit: Visit, key: str) -> Response:
    """What a link leads to: a button, or for the game master the first page."""
    purpose = [visit.headers.get(name, "") for name in ("sec-purpose", "purpose", "x-moz")]
    if any("pre" in each for each in purpose) or visit.headers.get("sec-fetch-dest", "document") != "document":
        raise RefusedError(HTTPStatus.FORBIDDEN, AHEAD)
    try:
        person = await _looked(visit, callers_of(visit.scope).sessions.invited, key)
    except TokenError as error:
        await _failed(visit, error)
        return _form(visit, "/", USED)
    if person is None:
        return await _with_link(visit, key)
    return _form(visit, "/", invited=person.name, key=key)


async def _with_token(visit: Visit, token: str, next_: str) -> Response:
    try:
        opened = await _looked(visit, callers_of(visit.scope).sessions.sign_in, token)
    except TokenError as error:
        await _failed(visit, error)
        return _form(visit, own_path(next_), WRONG)
    return await _signed_in(visit, opened, own_path(next_))


async def _with_link(visit: Visit, key: str) -> Response:
    try:
        opened = await _looked(visit, callers_of(visit.scope).sessions.redeem, key)
    except TokenError as error:
        await _failed(visit, error)
        return _form(visit, "/", USED)
    return await _signed_in(visit, opened, "/")


async def _signed_in(request: Request, opened: Opened, next_: str) -> Response:
    """The response that gives the browser its key; the session it had before ends."""
    await _end(request)
    exchange = request.scope.get(EXCHANGE)
    if isinstance(exchange, Exchange):
        exchange.viewer = opened.viewer
    response = redirect(next_)
    response.headers["cache-control"] = "no-store"
    remember(response, request.scope, opened.key, opened.seconds)
    return response


async def _looked(request: Request, look: Callable[[bytes], T], credential: str) -> T:
    """What a token or the key of a link gives; RefusedError while too many wrong ones of the address wait for their answers."""
    try:
        async with callers_of(request.scope).failures.looking(_address(request)):
            return await asyncio.to_thread(look, credential.encode())
    except GuessingError as error:
        logger.warning("refused %s, %s: %s", _address(request), SIGN_IN, error)
        raise RefusedError(429, DETAILS[429], {"Retry-After": str(RETRY_SECONDS)}) from error


async def _failed(request: Request, error: TokenError) -> None:
    logger.warning("refused %s, %s: %s", _address(request), SIGN_IN, error)
    await callers_of(request.scope).failures.pause(_address(request))


def _address(request: Request) -> str:
    return one_line(request.client.host) if request.client else ""


def _form(visit: Visit, next_: str, problem: str = "", *, invited: str = "", key: str = "") -> Response:
    status = HTTPStatus.UNAUTHORIZED if problem else HTTPStatus.OK
    response = visit.page("sign-in.html", status, next=next_, problem=problem, invited=invited, key=key)
    response.headers["cache-control"] = "no-store"
    if problem:
        response.headers["www-authenticate"] = "Bearer"
    return response


async def _sign_out(visit: Visit) -> Response:
    await _end(visit)
    response = redirect(SIGN_IN)
    forget(response, visit.scope)
    return response


async def _end(request: Request) -> None:
    if key := session_key(request.scope):
        await asyncio.to_thread(callers_of(request.scope).sessions.end, key.encode("latin-1", "replace"))


async def _prove(visit: Visit) -> Response:
    """That this server reads the file with the links, and has been asked itself, at the address where it listens."""
    challenge = visit.query_params.get("challenge", "")
    if not 0 < len(challenge) <= MAX_CHALLENGE:
        raise bad_request(f"a challenge has at most {MAX_CHALLENGE} characters")
    host, port = visit.scope.get("server") or ("", 0)
    sessions = callers_of(visit.scope).sessions
    answers = await asyncio.to_thread(sessions.answers, f"{challenge} {host} {port}")
    return JSONResponse({"answers": answers}, headers={"cache-control": "no-store"})


PAGES = (
    Page(SIGN_IN, _sign_in, methods=("GET", "POST")),
    Page(SIGN_OUT, _sign_out, methods=("POST",)),
    Page(PROOF, _prove),
)
