"""A command asks a running server of the same library and settings, which has the model in memory.

They meet at a `MeetingPoint` of the library. The server greets a client with a line of JSON; the client sends the token of the
record with its question, and gets one answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from lorekeeper import errors
from lorekeeper.cli.command import ANSWERS, Answering, JsonObject
from lorekeeper.errors import LoreKeeperError
from lorekeeper.private_sockets import MeetingPoint, connect, forget
from lorekeeper.settings import Settings
from lorekeeper.version import VERSION

if TYPE_CHECKING:
    from lorekeeper.library import Library

logger = logging.getLogger(__name__)

PURPOSE = "answers"
"""Of the meeting point; another one is for sharing an embedded library."""

MAX_BYTES = 16 * 2**20
"""Longest question, and longest answer."""

GREETING_SECONDS = 2.0
"""How long a server may take to greet a client, and a client to ask."""

IRRELEVANT = {
    "http_token",
    "oauth_issuer",
    "oauth_audience",
    "oauth_trust_email",
    "trusted_proxies",
    "public_hosts",
    "rate_limit",
    "rate_burst",
    "audit_log",
    "background_sync",
    "log_level",
    "env_file",
}
"""Settings on which no answer depends: a server may have others than the command."""


async def answered(settings: Settings, answer: Answering, question: JsonObject) -> JsonObject | None:
    """The answer of a running server; None if there is none with these settings, or it ends before it has answered.

    Raises:
        LoreKeeperError: the server's answer is this error.
    """
    try:
        record = await asyncio.to_thread(_meeting_point(settings).published)
        if record is None or record["settings"] != _digest(settings):
            return None
        connected = await asyncio.to_thread(connect, record["address"])
        async with asyncio.timeout(GREETING_SECONDS):
            reader, writer = await asyncio.open_connection(sock=connected, limit=MAX_BYTES)
            await reader.readuntil()
    except (OSError, EOFError, ValueError, LookupError, TypeError, TimeoutError):
        return None
    try:
        writer.write(_line({"token": record["token"], "ask": answer.__name__, "question": question}))
        reply = json.loads(await reader.readuntil())
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        return None
    finally:
        writer.close()
    if "error" in reply:
        raise getattr(errors, reply["error"])(reply["message"])
    content: JsonObject = reply["answer"]
    return content


@contextlib.asynccontextmanager
async def answering(library: Library, settings: Settings) -> AsyncIterator[None]:
    """Answer the commands of this user in the body. Where that is impossible, they open the library themselves."""
    token, meeting_point = secrets.token_hex(16), _meeting_point(settings)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError, LookupError, TypeError, asyncio.LimitOverrunError):
            writer.write(_line({"version": VERSION}))
            async with asyncio.timeout(GREETING_SECONDS):
                asked = json.loads(await reader.readuntil())
            if hmac.compare_digest(str(asked["token"]).encode(), token.encode()):
                writer.write(await _reply(library, ANSWERS[asked["ask"]], asked["question"]))
                await writer.drain()
        writer.close()

    with contextlib.ExitStack() as stack:
        try:
            listener, address = await asyncio.to_thread(meeting_point.listen)
            stack.callback(forget, address)
            server = await asyncio.start_server(answer, sock=listener, limit=MAX_BYTES)
            stack.callback(server.close)
            record = {"address": address, "token": token, "settings": _digest(settings)}
            await asyncio.to_thread(meeting_point.publish, record)
            stack.callback(meeting_point.withdraw, record)
        except OSError as error:
            logger.info("commands are not answered by this server: %s", error)
        yield


async def _reply(library: Library, answer: Answering, question: JsonObject) -> bytes:
    """A line with the answer, or with the nearest error of `lorekeeper.errors`."""
    try:
        with library.questions.one():
            return _line({"answer": await answer(library, question)})
    except LoreKeeperError as error:
        known = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        return _line({"error": known.__name__, "message": str(error)})


def _meeting_point(settings: Settings) -> MeetingPoint:
    return MeetingPoint(settings.library_path, PURPOSE)


def _digest(settings: Settings) -> str:
    """Equal for a server and a command whose answers are the same."""
    relevant = [VERSION, settings.model_dump(mode="json", exclude=IRRELEVANT)]
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def _line(message: JsonObject) -> bytes:
    return json.dumps(message).encode() + b"\n"
