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
    sessions = callers_of(visit.scope).sessions
    if key:
        return await _let_in(visit, sessions.redeem, key, "/", USED)
    return await _let_in(visit, sessions.sign_in, token, own_path(next_), WRONG)


async def _linked(visit: Visit, key: str) -> Response:
    """What a link leads to: a button, or for the game master the first page."""
    purpose = [visit.headers.get(name, "") for name in ("sec-purpose", "purpose", "x-moz")]
    if any("pre" in each for each in purpose) or visit.headers.get("sec-fetch-dest", "document") != "document":
        raise RefusedError(HTTPStatus.FORBIDDEN, AHEAD)
    sessions = callers_of(visit.scope).sessions
    try:
        person = await _looked(visit, sessions.invited, key)
    except TokenError:
        return _form(visit, "/", USED)
    if person is None:
        return await _let_in(visit, sessions.redeem, key, "/", USED)
    return _form(visit, "/", invited=person.name, key=key)


async def _let_in(visit: Visit, look: Callable[[bytes], Opened], credential: str, next_: str, problem: str) -> Response:
    """The response that gives the browser its key, or the form with a problem; the session it had before ends."""
    try:
        opened = await _looked(visit, look, credential)
    except TokenError:
        return _form(visit, next_, problem)
    await _end(visit)
    exchange = visit.scope.get(EXCHANGE)
    if isinstance(exchange, Exchange):
        exchange.viewer = opened.viewer
    response = redirect(next_)
    response.headers["cache-control"] = "no-store"
    remember(response, visit.scope, opened.key, opened.seconds)
    return response


async def _looked(visit: Visit, look: Callable[[bytes], T], credential: str) -> T:
    """What a token or the key of a link gives.

    Raises:
        TokenError: it is wrong; the answer has waited.
        RefusedError: too many wrong ones of the address wait for their answers.
    """
    address, failures = one_line(visit.client.host) if visit.client else "", callers_of(visit.scope).failures
    try:
        async with failures.looking(address):
            return await asyncio.to_thread(look, credential.encode())
    except (GuessingError, TokenError) as error:
        logger.warning("refused %s, %s: %s", address, SIGN_IN, error)
        if isinstance(error, TokenError):
            await failures.pause(address)
            raise
        raise RefusedError(429, DETAILS[429], {"Retry-After": str(RETRY_SECONDS)}) from error


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


async def _end(visit: Visit) -> None:
    if key := session_key(visit.scope):
        await asyncio.to_thread(callers_of(visit.scope).sessions.end, key.encode("latin-1", "replace"))


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
