"""What browsers need beside tokens: a cookie, a page to sign in on, and that other sites change nothing in their name."""

from __future__ import annotations

import re
from html import escape
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Scope

from lorekeeper.server.callers import CALLER, Caller
from lorekeeper.server.protected_resource import METADATA_PATHS
from lorekeeper.server.recording import MCP_PATH, REST_PATH, ROUTINE, STATIC_PATH
from lorekeeper.server.rest.problems import path_of

SIGN_IN, SIGN_OUT, PROOF = "/sign-in", "/sign-out", "/sign-in/proof"

COOKIE, SECURE_COOKIE = "lorekeeper", "__Host-lorekeeper"
"""The cookie, and its name behind TLS, under which browsers take it from this server alone, with TLS and for all paths."""

SAFE = ("GET", "HEAD")
"""Methods that change nothing."""

MAX_NEXT = 2000
"""Longest address to continue at."""

_OWN_PATH = re.compile(r"/(?!/)[!-\[\]-~]*")
"""A path and a query: no other host, no backslash, which browsers take for a slash, nothing that is not printable."""

FOREIGN = "This request comes from another site, or from a program that does not state its origin."

AGAIN = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>LoreKeeper</title>'
"""A page that leads to another one."""


def is_page(path: str) -> bool:
    """Whether a path is a page's, rather than one of an interface for programs."""
    return path != MCP_PATH and not path.startswith(REST_PATH) and path not in ROUTINE and path not in METADATA_PATHS


def is_open(path: str) -> bool:
    """Whether everybody may ask for a page: it says nothing of the library."""
    return path in (SIGN_OUT, PROOF) or path.startswith(STATIC_PATH)


def own_path(text: str | None) -> str:
    """An address of ours to continue at; the first page if the text is none."""
    return text if text and len(text) <= MAX_NEXT and _OWN_PATH.fullmatch(text) else "/"


# --- the cookie ------------------------------------------------------------------------------------------------------


def session_key(scope: Scope) -> str:
    """The key in a request's cookie, "" if there is none, or if it does not count there: it does for pages, and for reading
    from the gateway."""
    path = scope["path"]
    if scope["type"] != "http" or not (is_page(path) or (path.startswith(REST_PATH) and scope["method"] in SAFE)):
        return ""
    header = Headers(scope=scope).get("cookie", "")
    return cookie_parser(header).get(_cookie(scope), "")


def remember(response: Response, scope: Scope, key: str, seconds: int) -> None:
    """Give the browser a key."""
    secure = _is_secure(scope)
    response.set_cookie(_cookie(scope), key, max_age=seconds, secure=secure, httponly=True, samesite="strict")


def forget(response: Response, scope: Scope) -> None:
    """Take the key from the browser, and what it has kept of pages: else going back would show them."""
    response.headers["clear-site-data"] = '"cache", "storage"'
    response.delete_cookie(_cookie(scope), secure=_is_secure(scope), httponly=True, samesite="strict")


def _cookie(scope: Scope) -> str:
    return SECURE_COOKIE if _is_secure(scope) else COOKIE


def _is_secure(scope: Scope) -> bool:
    return bool(scope.get("scheme") == "https")


# --- requests from elsewhere -----------------------------------------------------------------------------------------


def foreign_refusal(scope: Scope) -> Response | None:
    """The answer to a request that would change something, and does not come from a page of ours; None if it may be answered.

    Browsers send cookies along with what pages on other ports of this machine send; they never send tokens by themselves.
    """
    changes = scope["type"] == "http" and scope["method"] not in SAFE and is_page(scope["path"])
    if not changes or is_own(scope):
        return None
    return PlainTextResponse(FOREIGN, HTTPStatus.FORBIDDEN, {"Cache-Control": "no-store"})


def is_own(scope: Scope) -> bool:
    """Whether its sender has shown a token, or it comes from the same origin: browsers say so over TLS and on loopback, else
    name it."""
    caller, headers = scope.get(CALLER), Headers(scope=scope)
    if isinstance(caller, Caller) and caller.has_token:
        return True
    if site := headers.get("sec-fetch-site"):
        return site == "same-origin"
    return headers.get("origin", "").lower() == f"{scope['scheme']}://{headers.get('host', '')}".lower()


# --- the way to the page to sign in on -------------------------------------------------------------------------------


def to_sign_in(scope: Scope) -> Response | None:
    """The answer to a browser that asks for a page and has to sign in; None if it is no browser, or asks for no page."""
    headers = Headers(scope=scope)
    if not is_page(scope["path"]) or "authorization" in headers:
        return None
    if "hx-request" in headers:
        current = urlsplit(headers.get("hx-current-url", ""))
        where = _sign_in_address(f"{current.path}?{current.query}" if current.query else current.path)
        return PlainTextResponse("sign in", HTTPStatus.UNAUTHORIZED, {"HX-Redirect": where, **_UNKEPT})
    if scope["method"] not in SAFE or "text/html" not in headers.get("accept", ""):
        return None
    query = scope["query_string"].decode("latin-1")
    path = path_of(scope)
    return RedirectResponse(_sign_in_address(f"{path}?{query}" if query else path), HTTPStatus.SEE_OTHER, _UNKEPT)


def again(scope: Scope, path: str) -> Response | None:
    """Let a browser ask again for the page to sign in on, before it shows that; None if that would change nothing.

    A browser keeps a strict cookie back if the page of another site has a link here, but sends it where a page of ours leads.
    """
    parameters, site = QueryParams(scope["query_string"]), Headers(scope=scope).get("sec-fetch-site") or "cross-site"
    if site != "cross-site" or "again" in parameters:
        return None
    return HTMLResponse(AGAIN.format(escape(_sign_in_address(path, again="1"))), headers=_UNKEPT)


_UNKEPT = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"}


def _sign_in_address(path: str, **parameters: str) -> str:
    path = own_path(path)
    given = parameters if path == "/" else {"next": path, **parameters}
    return f"{SIGN_IN}?{urlencode(given)}" if given else SIGN_IN
