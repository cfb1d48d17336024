"""The MCP server: tools, prompts, resources and notifications, over stdio or HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from lorekeeper.audience import Viewer
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import ConfigError, EmbeddingError, LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.server import apps, stdio
from lorekeeper.server.exchange import Recorder
from lorekeeper.server.handlers import Handlers
from lorekeeper.server.icons import icon
from lorekeeper.server.instructions import books_of, instructions, remember, remembered
from lorekeeper.server.notifications import CallNext, Clients, Watch
from lorekeeper.server.recording import RecordedCalls, ViewerOf
from lorekeeper.settings import Settings
from lorekeeper.system import collector_paused, ended
from lorekeeper.version import VERSION
from lorekeeper.views.view import View

if TYPE_CHECKING:
    from lorekeeper.people.registry import People
    from lorekeeper.server.guard import Limits

logger = logging.getLogger(__name__)

ANYBODY = (
    "LOREKEEPER_HTTP_TOKEN is not set, and there are no people ('lorekeeper people add'): every user of this machine can "
    "search the library."
)

NO_QUESTIONS = ("subscriptions/listen", "ping")
"""Requests that nobody waits for: the first lasts as long as its client likes, and some clients send the second all the time."""


SERVER: dict[str, Any] = {"version": VERSION, "title": "LoreKeeper", "icons": [icon("book")]}
"""What clients show of the server."""

STEADY = CacheHint(ttl_ms=5 * 60 * 1000)
"""For lists that the program itself declares: they stay the same until another version is started. What a client can show
decides on a part of the tools' list, so that no two clients share an answer."""

CACHED: dict[CacheableMethod, CacheHint] = {
    "tools/list": STEADY,
    "prompts/list": STEADY,
    "resources/templates/list": STEADY,
}
"""How long clients may use an answer without asking again, by method; not at all where nothing is stated."""

BEFORE_QUESTIONS = ("initialize", *NO_QUESTIONS)
"""Requests that are answered without any entry."""


def build_server(
    library: Library,
    viewer_of: ViewerOf | None = None,
    greeted: Viewer | None = None,
    recorders: Sequence[Recorder] = (),
) -> Server[Any]:
    """An MCP server over a library, which it opens in the background once a client is connected.

    Args:
        library: is served.
        viewer_of: says who sends a request; by default who the library's settings say.
        greeted: whose books every client is told of when it connects, before it is known who it is; the same by default.
        recorders: get every request before its answer is sent.
    """
    return _LoreServer(library, viewer_of or (lambda _: library.asks), library.view(greeted), recorders)


async def serve_stdio(library: Library, audit_log: Path | None = None) -> None:
    """Serve one client on stdin and stdout until its end of input, and record its requests if there is a file for that."""
    if audit_log is None:
        await stdio.serve(build_server(library))
        return
    from lorekeeper.server.audit import AuditLog

    with closing(AuditLog(audit_log)) as audit:
        await stdio.serve(build_server(library, recorders=[audit]))


async def serve_http(
    library: Library, settings: Settings, people: People, host: str, port: int, limits: Limits | None = None
) -> None:
    """Serve clients over streamable HTTP at ``http://host:port/mcp``.

    Host and Origin headers are checked. Any address but loopback needs somebody at the table, a token or an issuer, and
    clients send a bearer token; so do they on loopback if there is one of these.

    Raises:
        ConfigError: there is none of these, and other machines can reach the address; or the issuer is on the network,
            which the settings forbid.
        CacheError: the people at the table cannot be read.
    """
    from lorekeeper.server import http
    from lorekeeper.server.callers import Callers
    from lorekeeper.server.guard import Guard, Limits
    from lorekeeper.server.identity import viewer_of_context

    settings.require_local("oauth_issuer")
    closed = bool(settings.http_token or settings.oauth_issuer or await asyncio.to_thread(people.everyone))
    if host not in http.LOOPBACK and not closed:
        raise ConfigError(
            f"other machines could connect to {host}: add people with 'lorekeeper people add', set LOREKEEPER_HTTP_TOKEN or "
            "LOREKEEPER_OAUTH_ISSUER, or use --host 127.0.0.1"
        )
    guard = Guard(library, limits or Limits())
    scheme = "https" if guard.tls else "http"
    print(f"LoreKeeper on {scheme}://{f'[{host}]' if ':' in host else host}:{port}/mcp", file=sys.stderr)
    if not closed and not settings.trusted_proxies:
        width = shutil.get_terminal_size().columns if sys.stderr.isatty() else len(ANYBODY)
        print(textwrap.fill(ANYBODY, width), file=sys.stderr)
    callers = Callers(people, settings, closed=closed)
    server = build_server(library, viewer_of_context, Viewer.player(), guard.recorders)
    opening = asyncio.create_task(_open(library))
    try:
        await http.serve(server, library, settings, callers, host, port, guard)
    finally:
        opening.cancel()


async def _open(library: Library) -> None:
    """Open a library before anybody asks: monitors wait for that, and the first answer does not. What fails is tried again."""
    try:
        await library.open()
    except LoreKeeperError as error:
        logger.info("not opened in advance: %s", error)


class _LoreServer(Server[Any]):  # type: ignore[misc]  # the library has no types
    """The server of a library: its handlers, and what runs beside them as long as it is connected."""

    def __init__(self, library: Library, viewer_of: ViewerOf, greeting: View, recorders: Sequence[Recorder]) -> None:
        self._library, self._viewer_of, self._greeting = library, viewer_of, greeting
        self._groups: dict[View, _Group] = {}
        self._is_open = False
        self._freshening: asyncio.Task[None] | None = None
        handlers = Handlers(library, self._view_of)
        super().__init__(
            "lorekeeper",
            **SERVER,
            instructions=instructions(remembered(self._books_file)),
            lifespan=_LoreServer._running,
            cache_hints=CACHED,
            on_list_tools=handlers.list_tools,
            on_call_tool=handlers.call_tool,
            on_list_prompts=handlers.list_prompts,
            on_get_prompt=handlers.get_prompt,
            on_completion=handlers.complete,
            on_list_resources=handlers.list_resources,
            on_list_resource_templates=handlers.list_templates,
            on_read_resource=handlers.read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._subscriptions,
        )
        self.extensions[apps.EXTENSION] = {}  # a client uses an extension only if the server announces it too
        self.middleware += [
            _announced,
            RecordedCalls(recorders, viewer_of),
            self._listen,
            _Opening(library, self._opened),
        ]

    def end_subscriptions(self) -> None:
        """End the subscriptions of clients, which then know that the server ends."""
        for group in self._groups.values():
            group.watch.end_subscriptions()

    def create_initialization_options(self, *arguments: Any, **options: Any) -> InitializationOptions:
        """As declared, with changes of the resources."""
        return super().create_initialization_options(
            *(arguments or (NotificationOptions(resources_changed=True),)), **options
        )

    @contextlib.asynccontextmanager
    async def _running(self) -> AsyncIterator[dict[str, Any]]:
        """From the first connection to the end of the last."""
        try:
            async with self._library.vaults.watching():
                yield {}
        finally:
            for group in self._groups.values():
                group.watch.stop()
            if self._freshening:
                self._freshening.cancel()
                await ended(self._freshening)

    def _opened(self) -> None:
        """The library is open: watch it, and keep it fresh while nobody asks."""
        self._is_open = True
        for group in self._groups.values():
            group.watch.opened()
        self._freshening = asyncio.create_task(self._library.keep_fresh())

    def _view_of(self, context: Any) -> View:
        return self._library.view(self._viewer_of(context))

    def _group_of(self, context: Any) -> _Group:
        return self._group(self._view_of(context))

    def _group(self, view: View) -> _Group:
        """The clients that see the same, created at the first of them."""
        if view not in self._groups:
            self._groups[view] = _Group(view, self._know_books if view is self._greeting else None)
            if self._is_open:
                self._groups[view].watch.opened()
        return self._groups[view]

    async def _listen(self, context: Any, call_next: CallNext) -> Any:
        """Remember which client sends a message, and have a player's view brought up to date before a question."""
        group = self._group_of(context)
        if not group.view.viewer.sees_all and context.method not in BEFORE_QUESTIONS:
            await group.view.refresh()
        try:
            return await call_next(context)
        finally:
            if _lists(context):
                await group.watch.begin()
            group.clients.met(context.session)
            for each in (group, self._group(self._greeting)):
                each.watch.message()

    async def _subscribe(self, context: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await self._group_of(context).watch.follow(context.session, str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(self, context: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._group_of(context).clients.unsubscribe(context.session, str(params.uri))
        return types.EmptyResult()

    async def _subscriptions(self, context: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        return await self._group_of(context).watch.listen(context, params)

    async def _know_books(self) -> None:
        """Tell the next client which books there are."""
        books = await books_of(self._greeting)
        self.instructions = instructions(books)
        await asyncio.to_thread(remember, self._books_file, books)

    @property
    def _books_file(self) -> Path | None:
        """Where the books are remembered; those that a player sees are not."""
        return self._library.books_file if self._greeting is self._library else None


def _lists(context: Any) -> bool:
    """Whether a request names the documents of the library: its client shall hear of every change from then on."""
    tool = (context.params or {}).get("name") if context.method == "tools/call" else None
    return context.method == "resources/list" or tool == "list_documents"


async def _announced(context: Any, call_next: CallNext) -> Any:
    """Announce the extensions to clients of the handshake too: the SDK drops them, as that schema does not name them."""
    answer = await call_next(context)
    if context.method == "initialize" and isinstance(answer, dict):
        answer["capabilities"]["extensions"] = {apps.EXTENSION: {}}
    return answer


class _Group:
    """The clients that see the same of a library, and what tells them of changes."""

    def __init__(self, view: View, changed: Callable[[], Awaitable[None]] | None) -> None:
        self.view = view
        self.clients = Clients()
        self.watch = Watch(view, self.clients, changed)


class _Opening:
    """Opens the library in the background, from the first message after `initialize`, so that later calls need not wait.

    A call that arrives meanwhile waits only for what it needs. What cannot be opened is tried again by the first call that
    needs it, which reports the error.

    Args:
        library: is opened.
        opened: called when all of it is open.
    """

    def __init__(self, library: Library, opened: Callable[[], None]) -> None:
        self._library = library
        self._opened = opened
        self._task: asyncio.Task[None] | None = None
        self._calls = 0
        self._idle = asyncio.Event()

    async def __call__(self, context: Any, call_next: CallNext) -> Any:
        if context.method in NO_QUESTIONS:
            return await call_next(context)
        self._calls += 1
        self._idle.clear()
        try:
            with self._library.questions.one():
                return await call_next(context)
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()
            if self._task is None and context.method != "initialize":
                self._task = asyncio.create_task(self._open())

    async def _open(self) -> None:
        """Store and model first, then one type after the other; pending calls go before the next type."""
        complete = await self._open_types(())
        for entity_type in COLLECTIONS:
            await self._idle.wait()
            complete &= await self._open_types([entity_type])
        if complete:
            self._opened()

    async def _open_types(self, types: Sequence[str]) -> bool:
        """Whether they are open, with or without a model."""
        try:
            with collector_paused():
                await self._library.open(types)
        except EmbeddingError as error:  # an error of the store would have come first
            logger.info("the model is not loaded in advance: %s", error)
            return True
        except LoreKeeperError as error:
            logger.info("not opened in advance: %s", error)
        except Exception:
            logger.exception("opening the library failed")
        else:
            return True
        return False
