"""What all pages share: templates, headers, who looks, refusals as pages, and the JSON twin of each page."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import QueryParams
from starlette.requests import Request, empty_receive
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from lorekeeper.addresses import is_local
from lorekeeper.audience import Viewer
from lorekeeper.dates import written
from lorekeeper.editions import LABELS
from lorekeeper.entities import Entity, uri_of
from lorekeeper.library import Library
from lorekeeper.render.graph import kind_class
from lorekeeper.search.results import ResultPage
from lorekeeper.server.browsers import FOREIGN, SAFE, is_own, own_path
from lorekeeper.server.callers import CALLER, Caller
from lorekeeper.server.exchange import Exchange
from lorekeeper.server.identity import PROXIED, VIEWER, viewer_of
from lorekeeper.server.models import JsonObject
from lorekeeper.server.page.files import FOLDER, ICON, files, static
from lorekeeper.server.recording import EXCHANGE
from lorekeeper.server.rest.problems import RefusedError, bad_request, problem, respond
from lorekeeper.server.rest.routes import answered, tagged
from lorekeeper.server.tool import Tool
from lorekeeper.text.facts import facts
from lorekeeper.views.view import View

POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
"""Content-Security-Policy of every page: scripts, styles, images and requests of this server only, and nothing inline."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

PRIVATE = {"cache-control": "private, no-cache", "vary": "Cookie, Authorization, HX-Request, HX-Target"}
"""A page is for one person, and may be kept if it is compared before each use."""

Asked = tuple[Tool, JsonObject]
"""A tool and its arguments."""

SEEN = "lorekeeper.seen"
"""Where the scope of a request of the game master has as whom he wants to see the pages."""

THEME, THEMES = "lorekeeper_theme", ("dark", "light")
"""The cookie that the page's script sets, and its values."""

EDITION = "lorekeeper_edition"
"""The cookie with the edition that comes first."""

MAX_OFFSET = 100_000
"""The furthest result of a list."""

Handler = Callable[["Visit"], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class Page:
    """What is at a path.

    Attributes:
        path: for Starlette.
        handler: answers.
        twin: answers in JSON at ``twin_path``; None for a page without such a twin.
        methods: by which it is asked for.
    """

    path: str
    handler: Handler
    twin: Handler | None = None
    methods: Sequence[str] = field(default=("GET",))

    @property
    def twin_path(self) -> str:
        """The same path with ``.json`` behind it; the first page's is called after what it does."""
        return "/search.json" if self.path == "/" else f"{self.path}.json"


class Visit(Request):
    """A request for a page, and the library that it is of."""

    def __init__(self, library: Library, scope: Scope, receive: Receive = empty_receive) -> None:
        super().__init__(scope, receive)
        self.library = library

    @property
    def view(self) -> View:
        """What the sender sees of the library."""
        return self.library.view(viewer_of(self.scope))

    def page(self, template: str, status: int = HTTPStatus.OK, /, **values: object) -> Response:
        """A template as a response; only that it is still the same, if the browser has it already."""
        theme = self.cookies.get(THEME, "")
        shared = {
            "request": self,
            "viewer": self.scope.get(VIEWER),
            "partial": is_partial(self),
            "seen": self.scope.get(SEEN),
            "signed_in": _signed_in(self),
            "theme": theme if theme in THEMES else "",
            "editions": LABELS,
            "edition": self.cookies.get(EDITION, ""),
            "may_add": may_add(self),
        }
        content = templates().get_template(template).render(**shared, **values)
        exchange, page = self.scope.get(EXCHANGE), values.get("page")
        if isinstance(exchange, Exchange):
            listed = {"page": None, "results": page.results, "mode": page.mode} if isinstance(page, ResultPage) else {}
            exchange.returned(values | listed)
        return tagged(self, content.encode(), {**HEADERS, **PRIVATE}, "text/html", status)

    def refusal(self, status: int, detail: str, near: Sequence[Entity] = (), hidden: str = "") -> Response:
        """A page that says what is wrong; without the rest of the page for a part of one.

        Args:
            status: of the response.
            detail: what is wrong.
            near: entries that may be meant.
            hidden: uri of the entry that the player does not see as whom the game master looks.
        """
        title = HTTPStatus(status).phrase
        return self.page("refusal.html", status, title=title, detail=detail, near=near, hidden=hidden)


@cache
def templates() -> Environment:
    """The templates of all pages."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["time"] = lambda seconds: written(seconds)[:16].replace("T", " ")
    environment.filters["kind"] = lambda kind: f"k-{kind_class(kind)}"
    environment.filters["breakable"] = lambda path: escape(path).replace("/", Markup("/<wbr>"))
    environment.filters["facts"] = facts
    icon = trusted(files()[ICON].content.decode())
    icons = set(re.findall(r'id="(.+?)"', files()["icons.svg"].content.decode()))
    environment.globals |= {
        "static": static,
        "icons": icons,
        "icon": icon,
        "address": address,
        "entry_address": entry_address,
    }
    return environment


class Endpoint:
    """A page as an ASGI application.

    Args:
        library: whose page it is.
        page: which one.
        is_twin: whether its JSON twin is meant.
    """

    def __init__(self, library: Library, page: Page, *, is_twin: bool = False) -> None:
        self._library, self._is_twin = library, is_twin
        self._handler = page.twin if is_twin and page.twin else page.handler
        self._methods = ("GET",) if is_twin else page.methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit(self._library, scope, receive)
        await respond(visit, self._response(visit), partial(problem, scope) if self._is_twin else visit.refusal, send)

    async def _response(self, visit: Visit) -> Response:
        if visit.method not in (*self._methods, *(["HEAD"] if "GET" in self._methods else [])):
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"use {', '.join(self._methods)}")
        if visit.method not in SAFE and not is_own(visit.scope):
            raise RefusedError(HTTPStatus.FORBIDDEN, FOREIGN)
        return await self._handler(visit)


def reading(handler: Handler) -> Handler:
    """The same page from one snapshot, as tools answer (see `View.reading`)."""

    async def answer(visit: Visit) -> Response:
        return await visit.view.reading(lambda: handler(visit))

    return answer


def twin(ask: Callable[[Request], Asked]) -> Handler:
    """The twin of a page to which a tool has an answer.

    Args:
        ask: the tool and its arguments.
    """

    async def answer(visit: Visit) -> Response:
        tool, arguments = ask(visit)
        return await answered(visit, visit.library, tool, tool.check(arguments, strict=True))

    return answer


def may_add(request: Request) -> bool:
    """Whether the sender may store entries: the game master, as long as he sees the page as himself, on this machine."""
    host = request.client.host if request.client else ""
    local = is_local(f"http://[{host}]" if ":" in host else f"http://{host}")
    viewer = request.scope.get(VIEWER)
    return isinstance(viewer, Viewer) and viewer.sees_all and local and not request.scope.get(PROXIED)


def trusted(html: str) -> Markup:
    """HTML or SVG that our own code has made of escaped text."""
    return Markup(html)  # noqa: S704


def _signed_in(request: Request) -> str:
    """Who has signed in on the page, whoever the page is shown as; "" for nobody."""
    caller = request.scope.get(CALLER)
    return caller.viewer.person or "Game master" if isinstance(caller, Caller) and caller.has_session else ""


def is_partial(request: Request) -> bool:
    """Whether a request is for a part of a page; going back in the history is for the whole of it."""
    return "hx-request" in request.headers and "hx-history-restore-request" not in request.headers


def target(request: Request) -> str:
    """The id of the element that a part of a page is for, "" for whole pages."""
    return request.headers.get("hx-target", "") if is_partial(request) else ""


def address(path: str, **parameters: object) -> str:
    """A path with parameters; those that are None, "" or 0 are left out."""
    given = {name: value for name, value in parameters.items() if value}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def entry_address(uri: str) -> str:
    """The address of the page of an entry: what follows ``lore://`` in its uri is its path."""
    return f"/entries/{uri.removeprefix('lore://')}"


def entry_uri(request: Request) -> str:
    """The uri of the entry whose page is asked for."""
    values = request.path_params
    return uri_of(values["type"], values["document"], values["slug"])


def offset_of(request: Request) -> int:
    """How many results of a list are left out before those that are shown."""
    text = request.query_params.get("offset", "0")
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and int(text) <= MAX_OFFSET):
        raise bad_request(f"offset is a number up to {MAX_OFFSET:,}")
    return int(text)


async def form(request: Request) -> QueryParams:
    """The fields of a form that was sent."""
    return QueryParams((await request.body()).decode("utf-8", "replace"))


def remembering(request: Request, cookie: str, value: str, path: str | None, max_age: int | None = None) -> Response:
    """See another page, with a choice in a cookie that no script reads; without one it is forgotten."""
    response, secure = redirect(own_path(path)), request.url.scheme == "https"
    age = max_age if value else 0
    response.set_cookie(cookie, value, age, httponly=True, samesite="strict", secure=secure)
    return response


def redirect(path: str) -> Response:
    """See another page."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER, HEADERS)
