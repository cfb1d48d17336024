"""The routes of the pages: the tables of their modules, the JSON twins, and the files that they load."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lorekeeper.errors import NotFoundError
from lorekeeper.library import Library
from lorekeeper.server.page import (
    books,
    editions,
    entries,
    fights,
    impersonation,
    importing,
    party,
    paste,
    printing,
    rolls,
    search,
    sessions,
    sharing,
    sign_in,
    spells,
    topics,
)
from lorekeeper.server.page.files import files
from lorekeeper.server.page.impersonation import AsSeen, Players
from lorekeeper.server.page.site import HEADERS, Endpoint, Page, Visit

KEPT = "public, max-age=31536000, immutable"
"""How long files may be kept whose addresses change with their contents."""


async def _static(visit: Visit) -> Response:
    file = files().get(visit.path_params["name"])
    if file is None:
        raise NotFoundError("there is no such file")
    headers = {**HEADERS, "cache-control": KEPT, "vary": "Accept-Encoding"}
    if "gzip" in visit.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**headers, "content-encoding": "gzip"}, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)


MODULES = (
    search,
    entries,
    fights,
    printing,
    party,
    books,
    sessions,
    topics,
    spells,
    rolls,
    sign_in,
    editions,
    impersonation,
    sharing,
    paste,
    importing,
)
"""Those that have pages."""

PAGES = (*(page for module in MODULES for page in module.PAGES), Page("/static/{name}", _static))


def routes(library: Library, players: Players = tuple) -> list[Route]:
    """The pages over a library. What belongs to no page is a page that says so.

    Args:
        library: the library.
        players: gives the players at the table, as whom the game master may want to see the pages. Blocking.
    """

    def route(page: Page, *, is_twin: bool = False) -> Route:
        endpoint = AsSeen(Endpoint(library, page, is_twin=is_twin), players)
        return Route(page.twin_path if is_twin else page.path, endpoint)

    return [
        *(route(page, is_twin=True) for page in PAGES if page.twin),
        *(route(page) for page in PAGES),
        route(Page("/{path:rest}", _nothing)),
    ]


async def _nothing(visit: Visit) -> Response:
    return visit.refusal(HTTPStatus.NOT_FOUND, "There is no such page.")


def not_found(library: Library) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What answers where other routes say that there is nothing: what is forbidden looks like what does not exist."""

    async def answer(request: Request, _: Exception) -> Response:
        return await _nothing(Visit(library, request.scope))

    return answer
