"""The end of a server: streams are closed at once, what else is being answered has time to finish."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lorekeeper.server.exchange import Exchange
from lorekeeper.server.recording import EXCHANGE, MCP_PATH


class Streams:
    """Closes the streams of an application: they would last as long as their clients like.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Close all streams, and those that would still begin."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a stream gets to know that its client has gone, when it is to be closed."""
        if scope["type"] != "http" or scope["path"] != MCP_PATH:
            await self._app(scope, receive, send)
            return
        response = _Response(send)

        async def received() -> Message:
            arriving = asyncio.ensure_future(receive())
            closing = asyncio.ensure_future(self._closing.wait())
            try:
                await asyncio.wait((arriving, closing), return_when=asyncio.FIRST_COMPLETED)
                if not arriving.done() and _is_lasting(scope):
                    return {"type": "http.disconnect"}
                return await arriving
            finally:
                arriving.cancel()
                closing.cancel()

        await self._app(scope, received, response.send)
        await response.complete()


class _Response:
    """A response that is completed even if its stream ends early."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open = False

    async def send(self, message: Message) -> None:
        self._open = message["type"] == "http.response.start" or bool(message.get("more_body"))
        await self._send(message)

    async def complete(self) -> None:
        if self._open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_lasting(scope: Scope) -> bool:
    exchange = scope.get(EXCHANGE)
    return scope["method"] == "GET" or (isinstance(exchange, Exchange) and exchange.lasting)
