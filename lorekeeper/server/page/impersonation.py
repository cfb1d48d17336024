"""Seeing the pages as players do: a switch of the game master, which only ever narrows what he sees.

The cookie counts for pages and their JSON twins, and for nobody else: what players send in it changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, quote, unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.errors import CacheError
from lorekeeper.people.person import Person
from lorekeeper.server.browsers import is_own, own_path
from lorekeeper.server.identity import VIEWER
from lorekeeper.server.page.site import SEEN, Page, Site, redirect
from lorekeeper.server.rest.problems import RefusedError

COOKIE = "lorekeeper_as"

ANY_PLAYER = "player"
"""The choice of what all players see."""

MAX_CHOICE, MAX_BODY = 200, 8000
"""Longest choice in characters, and longest form in bytes."""

Players = Callable[[], Sequence[Person]]
"""Gives the players at the table. Blocking."""


@dataclass(frozen=True)
class Seen:
    """What the game master has chosen to see.

    Attributes:
        chosen: "" for everything, `ANY_PLAYER`, or the name of a player.
        names: of the players at the table.
    """

    chosen: str
    names: Sequence[str]


class AsSeen:
    """Lets requests of the game master be those of whom he wants to see the pages as.

    Args:
        endpoint: answers.
        players: gives the players at the table.
    """

    def __init__(self, endpoint: ASGIApp, players: Players) -> None:
        self._endpoint, self._players = endpoint, players

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        viewer = scope.get(VIEWER)
        if isinstance(viewer, Viewer) and viewer.sees_all:
            scope = {**scope, **await self._narrowed(scope, viewer)}
        await self._endpoint(scope, receive, send)

    async def _narrowed(self, scope: Scope, viewer: Viewer) -> dict[str, object]:
        """Who looks, and what was chosen. A name that is not at the table any more is any player's."""
        try:
            present = await asyncio.to_thread(self._players)
        except CacheError:
            present = ()
        chosen = unquote(Request(scope).cookies.get(COOKIE, ""))[:MAX_CHOICE]
        named = next((person for person in present if person.name == chosen), None)
        if chosen:
            viewer = named.viewer if named else Viewer.player()
            chosen = named.name if named else ANY_PLAYER
        return {VIEWER: viewer, SEEN: Seen(chosen, [person.name for person in present])}


async def _choose(_: Site, request: Request) -> Response:
    if not is_own(request.scope):
        raise RefusedError(HTTPStatus.FORBIDDEN, "this form was sent from a page of another site")
    fields = parse_qs((await request.body())[:MAX_BODY].decode("utf-8", "replace"))
    chosen, next_ = (fields.get(name, [""])[0] for name in ("as", "next"))
    response = redirect(own_path(next_))
    secure = request.url.scheme == "https"
    if chosen:
        value = quote(chosen[:MAX_CHOICE], safe="")
        response.set_cookie(COOKIE, value, httponly=True, samesite="strict", secure=secure)
    else:
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=secure)
    return response


PAGES = (Page("/view", _choose, methods=("POST",)),)
