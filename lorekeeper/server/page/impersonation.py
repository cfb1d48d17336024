"""Seeing the pages as players do: a switch of the game master, which only ever narrows what he sees.

The cookie counts for pages and their JSON twins, and for nobody else: what players send in it changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.errors import CacheError
from lorekeeper.people.person import Person
from lorekeeper.server.identity import VIEWER
from lorekeeper.server.page.site import SEEN, Page, Visit, form, is_partial, remembering

COOKIE = "lorekeeper_as"

ANY_PLAYER = "player"
"""The choice of what all players see."""

MAX_CHOICE = 200
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
        chosen = unquote((request := Request(scope)).cookies.get(COOKIE, ""))[:MAX_CHOICE]
        try:  # a part of a page has no list of them
            present = await asyncio.to_thread(self._players) if chosen or not is_partial(request) else ()
        except CacheError:
            present = ()
        named = next((person for person in present if person.name == chosen), None)
        if chosen:
            viewer = named.viewer if named else Viewer.player()
            chosen = named.name if named else ANY_PLAYER
        return {VIEWER: viewer, SEEN: Seen(chosen, [person.name for person in present])}


async def _choose(visit: Visit) -> Response:
    fields = await form(visit)
    return remembering(visit, COOKIE, quote(fields.get("as", "")[:MAX_CHOICE], safe=""), fields.get("next"))


PAGES = (Page("/view", _choose, methods=("POST",)),)
