"""The command that shows the library in the browser: open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.cli.command import DONE, Call, Commands, argument
from lorekeeper.cli.serving import HTTP, over_http
from lorekeeper.cli.terminal import say
from lorekeeper.system import private_file

if TYPE_CHECKING:
    from lorekeeper.people.sessions import Sessions

commands = Commands()

WAIT_SECONDS = 10.0
"""How long a browser may take to open a link before the file that leads there is removed."""

POLL_SECONDS = 0.1

SIGNS_IN = "The link below signs you in as the game master, once, within five minutes."

NO_BROWSER = "No browser found. Open the link above yourself."

NOT_OPENED = "The browser did not open. Use the link above."

ENDS = "Press Ctrl-C to end the server."

HANDOVER = """<!doctype html><meta charset="utf-8"><title>LoreKeeper</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={link}">
<a href="{link}">Open LoreKeeper</a>
"""
"""A private file that leads a browser to a link: in its own arguments, other users of the machine could read the key."""


@commands.add(
    "open",
    "open the library in your browser; starts a server if needed, until Ctrl-C",
    *HTTP,
    argument("--no-browser", action="store_true", help="only print the link"),
    examples=("lorekeeper open", "lorekeeper open --no-browser"),
)
async def open_(call: Call) -> int:
    """Open the page of a server that runs, or of one that is started for it."""
    from lorekeeper.cli.running import server_at
    from lorekeeper.composition import people_of
    from lorekeeper.people.sessions import Sessions

    sessions = Sessions(people_of(call.settings))
    key = await asyncio.to_thread(sessions.link)
    page = _Page(sessions, key, is_master=call.settings.viewer.sees_all, browser=not call.arguments.no_browser)
    host, port = call.arguments.host, call.arguments.port

    async def find() -> str | None:
        return await asyncio.to_thread(server_at, host, port, key)

    if address := await find():
        await page.show(address)
        return DONE
    showing = asyncio.ensure_future(page.show_when(find))
    try:
        return await over_http(call)
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing


class _Page:
    """The page of a server, and the link that leads there.

    Args:
        sessions: have the link.
        key: of the link.
        is_master: whether it may sign in the game master.
        browser: whether it is to be opened.
    """

    def __init__(self, sessions: Sessions, key: str, *, is_master: bool, browser: bool) -> None:
        self._sessions, self._key = sessions, key
        self._is_master, self._browser = is_master, browser

    async def show_when(self, find: Callable[[], Awaitable[str | None]]) -> None:
        """Show it as soon as there is a server."""
        address = await find()
        while address is None:
            await asyncio.sleep(POLL_SECONDS)
            address = await find()
        await self.show(address, starts=True)

    async def show(self, address: str, *, starts: bool = False) -> None:
        """Print the link, last and on a line of its own, and open it; with a key only where one is needed.

        Args:
            address: of the server.
            starts: whether the server was started for this.
        """
        from lorekeeper.cli.running import is_open

        if not self._is_master or await asyncio.to_thread(is_open, address):
            await asyncio.to_thread(self._sessions.end, self._key.encode())
            if starts:
                say(ENDS)
            print(f"{address}/", flush=True)
            if self._browser:
                await asyncio.to_thread(_open, f"{address}/")
            return
        link = f"{address}/sign-in?key={self._key}"
        say(f"{SIGNS_IN} {ENDS}" if starts else SIGNS_IN)
        print(link, flush=True)
        if self._browser:
            await self._hand_over(link)

    async def _hand_over(self, link: str) -> None:
        """Open a link that nobody else may know of."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="lorekeeper-") as folder:
            file = private_file(Path(folder) / "open.html")
            file.write_text(HANDOVER.format(link=escape(link)), "utf-8")
            if not await asyncio.to_thread(_open, file.as_uri()):
                return
            end = time.monotonic() + WAIT_SECONDS
            while await asyncio.to_thread(self._sessions.waits, self._key):
                if time.monotonic() > end:
                    say(NOT_OPENED)
                    return
                await asyncio.sleep(POLL_SECONDS)


def _open(address: str) -> bool:
    """Open an address in the browser; whether that could be done. Blocking."""
    import webbrowser

    try:
        opened = webbrowser.open(address)
    except (OSError, webbrowser.Error):
        opened = False
    if not opened:
        say(NO_BROWSER)
    return opened
