"""Log messages for the clients that ask for them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lorekeeper.addresses import without_secrets
from lorekeeper.printable import one_line
from lorekeeper.server.notifications import LEVELS, Clients, send

MAX_MESSAGE = 2000
"""Longest message sent to a client, in characters."""

_OURS = "lorekeeper"

_PYTHON_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}
"""The levels of the protocol in Python's logging; all others are errors or worse."""


@dataclass(frozen=True)
class _Asked:
    """A request that asks for log messages of a level and above, and who sends them."""

    sender: logging.Handler
    session: ServerSession
    request: types.RequestId
    level: str


_answering: ContextVar[_Asked | None] = ContextVar("answering", default=None)
"""The request that is being answered, if it asks for log messages; threads that work for it see it too."""


def level_of(record: logging.LogRecord) -> types.LoggingLevel:
    """The protocol's level of a log record."""
    if record.levelno >= logging.CRITICAL:
        return "critical"
    if record.levelno >= logging.ERROR:
        return "error"
    if record.levelno >= logging.WARNING:
        return "warning"
    return "info" if record.levelno >= logging.INFO else "debug"


class LogToClients(logging.Handler):
    """Sends our log records, from any thread, to the clients that have asked for their level."""

    def __init__(self, clients: Clients) -> None:
        super().__init__()
        self._clients = clients
        self._loop = asyncio.get_running_loop()
        self._sending: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        """Receive records; afterwards logging is as it was before."""
        ours, root = logging.getLogger(_OURS), logging.getLogger()
        level, levels = ours.level, [(handler, handler.level) for handler in root.handlers]
        ours.addHandler(self)
        try:
            yield
        finally:
            ours.removeHandler(self)
            ours.setLevel(level)
            for handler, before in levels:
                handler.setLevel(before)

    def lower_to(self, level: str) -> None:
        """Let records of a level through; the handlers there were before, such as that of stderr, keep to theirs."""
        wanted, ours = _PYTHON_LEVELS.get(level, logging.ERROR), logging.getLogger(_OURS)
        before = ours.getEffectiveLevel()
        if before > wanted:
            for handler in logging.getLogger().handlers:
                handler.setLevel(max(handler.level, before))
            ours.setLevel(wanted)

    @contextlib.contextmanager
    def answering(self, context: Any) -> Iterator[None]:
        """While a request is answered: send it its own log messages if its ``_meta`` asks for them."""
        level = (context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern or level not in LEVELS or context.request_id is None:
            yield
            return
        self.lower_to(level)
        token = _answering.set(_Asked(self, context.session, context.request_id, level))
        try:
            yield
        finally:
            _answering.reset(token)

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record; what is no longer connected is left out."""
        level = level_of(record)
        message = types.LoggingMessageNotification(
            params=types.LoggingMessageNotificationParams(
                level=level, logger=record.name, data=one_line(without_secrets(record.getMessage()), MAX_MESSAGE)
            )
        )
        asked = _answering.get()
        wants = asked is not None and asked.sender is self and LEVELS.index(asked.level) <= LEVELS.index(level)
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it the connections
            self._loop.call_soon_threadsafe(self._start, message, asked if wants else None)

    def _start(self, message: types.LoggingMessageNotification, asked: _Asked | None) -> None:
        task = self._loop.create_task(self._send(message, asked))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, message: types.LoggingMessageNotification, asked: _Asked | None) -> None:
        if asked:
            await asked.session.send_notification(message, related_request_id=asked.request)
        await send(self._clients.listening(message.params.level), message)
