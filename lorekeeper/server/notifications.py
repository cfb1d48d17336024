"""The clients that are connected, and what they are told when the library changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lorekeeper.errors import LoreKeeperError
from lorekeeper.server.resources import read
from lorekeeper.system import all_of
from lorekeeper.views.view import View

logger = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
"""How often the library is examined for changes: a count by document, about 2 ms."""

ACTIVE_SECONDS = 600.0
"""How long after the last message it is; a server without anything to do sleeps until the next one."""

MAX_CLIENTS = 100
"""Most clients that are told: those that said something last. An HTTP server has no more sessions."""

MAX_FOLLOWED = 100
"""Most resources that a client may subscribe to, and that all subscriptions of later protocols follow."""

SEND_SECONDS = 5.0
"""How long a client may take to accept a notification; one that takes longer goes without it, and holds up nobody else."""

CallNext = Callable[[Any], Awaitable[Any]]
"""Answers a message, for what stands around that (`mcp.server.context.CallNext`)."""


async def send(sessions: Iterable[ServerSession], notification: types.ServerNotification) -> None:
    """Send a notification to clients, to all at once."""
    await all_of(_send(session, notification) for session in sessions)


async def _send(session: ServerSession, notification: types.ServerNotification) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SEND_SECONDS):
            await session.send_notification(notification)


class Clients:
    """The clients of the handshake protocol that are connected; those of later ones subscribe on the bus.

    A session object lives for one request only, so clients are told apart by what they said when they connected.
    """

    def __init__(self) -> None:
        self._sessions: dict[int, ServerSession] = {}
        self._uris: dict[int, set[str]] = {}

    def met(self, session: ServerSession) -> None:
        """Remember a client that has sent a message; forget the one that has been silent longest if there are too many."""
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS or session.client_params is None:
            return
        number = id(session.client_params)
        self._sessions.pop(number, None)
        self._sessions[number] = session
        if len(self._sessions) > MAX_CLIENTS:
            oldest = next(iter(self._sessions))
            for known in (self._sessions, self._uris):
                known.pop(oldest, None)

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Tell this client when a resource changes; MCPError if it follows `MAX_FOLLOWED` others already."""
        uris = self._uris.setdefault(id(session.client_params), set())
        if len(uris) >= MAX_FOLLOWED and uri not in uris:
            raise MCPError(code=types.INVALID_PARAMS, message=f"at most {MAX_FOLLOWED} resources can be subscribed to")
        uris.add(uri)

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        """Tell this client no more of a resource."""
        self._uris.get(id(session.client_params), set()).discard(uri)

    def followers(self) -> dict[str, list[ServerSession]]:
        """The clients that follow a resource, by its uri."""
        followers: dict[str, list[ServerSession]] = {}
        for number, uris in self._uris.items():
            for uri in uris if number in self._sessions else ():
                followers.setdefault(uri, []).append(self._sessions[number])
        return followers

    def everyone(self) -> list[ServerSession]:
        """All of them."""
        return list(self._sessions.values())


class Watch:
    """Tells the clients what has changed in the library, whoever has written it.

    The list of resources changes when documents, or their first entries of a type, come or go. A resource that is subscribed
    to changes when it reads otherwise.

    Args:
        view: what the clients see of the library; counted once it is open, then every `PERIOD_SECONDS` as long as they say
            something.
        clients: are told.
        changed: called with the watch's first count, and after every change; None for nothing.
    """

    def __init__(self, view: View, clients: Clients, changed: Callable[[], Awaitable[None]] | None) -> None:
        self._bus = InMemorySubscriptionBus()
        self._listener = ListenHandler(self._bus)
        self._listened: Counter[str] = Counter()
        self._texts: dict[str, int | None] = {}
        self._view = view
        self._clients = clients
        self._changed = changed
        self._known: frozenset[tuple[str, str]] | None = None
        self._checking = asyncio.Lock()
        self._last_message = 0.0
        self._open = False
        self._task: asyncio.Task[None] | None = None

    async def listen(self, context: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        """Serve a subscription of the later protocols until its client ends it."""
        uris = params.notifications.resource_subscriptions or []
        self._listened.update(uris)
        try:
            await self.begin()
            await self._remember(uris[:MAX_FOLLOWED])
            return await self._listener(context, params)
        finally:
            self._listened -= Counter(uris)

    def end_subscriptions(self) -> None:
        """End those of the later protocols."""
        self._listener.close()

    async def follow(self, session: ServerSession, uri: str) -> None:
        """Tell a client of the handshake protocol when a resource changes."""
        self._clients.subscribe(session, uri)
        await self._remember([uri])

    def opened(self) -> None:
        """The library is open; from now on counting opens nothing."""
        self._open = True
        self.message()

    def message(self) -> None:
        """A client has said something."""
        self._last_message = time.monotonic()
        if self._open and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Count no more."""
        self._open = False
        if self._task:
            self._task.cancel()

    async def check(self) -> None:
        """Compare the library with what it was before, and tell the clients; CacheError if it cannot be read."""
        async with self._checking:
            counts = await self._view.cache.documents()
            await self._compare()
            present = frozenset((key, name) for key, by_type in counts.items() for name in by_type)
            if present == self._known:
                return
            self._view.searcher.documents.forget()
            if self._changed:
                await self._changed()
            if self._known is not None:
                await send(self._clients.everyone(), types.ResourceListChangedNotification())
                await self._bus.publish(ResourcesListChanged())
            self._known = present

    async def _compare(self) -> None:
        """Tell of the resources that read otherwise than before."""
        texts = {uri: await self._text(uri) for uri in self._followed()}
        changed = [uri for uri, text in texts.items() if self._texts.get(uri, text) != text]
        known = self._texts | texts
        self._texts = {uri: known[uri] for uri in self._followed() if uri in known}
        followers = self._clients.followers()
        for uri in changed:
            updated = types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=uri))
            await send(followers.get(uri, []), updated)
            await self._bus.publish(ResourceUpdated(uri))

    def _followed(self) -> set[str]:
        """The resources that somebody follows."""
        return {*self._clients.followers(), *list(+self._listened)[:MAX_FOLLOWED]}

    async def begin(self) -> None:
        """Count before a client has its first answer, unless that was done: it hears of every change from then on."""
        if self._known is None:
            with contextlib.suppress(LoreKeeperError):
                await self.check()

    async def _remember(self, uris: Iterable[str]) -> None:
        """Read what somebody begins to follow, so that its next change is told."""
        for uri in uris:
            if uri not in self._texts:
                self._texts[uri] = await self._text(uri)

    async def _text(self, uri: str) -> int | None:
        """The hash of a resource's text, None if there is no such resource."""
        with contextlib.suppress(MCPError, LoreKeeperError):
            return hash(await read(self._view, uri))
        return None

    async def _run(self) -> None:
        while time.monotonic() - self._last_message < ACTIVE_SECONDS:
            try:
                await self.check()
            except LoreKeeperError as error:
                logger.debug("changes of the library are not known: %s", error)
            await asyncio.sleep(PERIOD_SECONDS)
