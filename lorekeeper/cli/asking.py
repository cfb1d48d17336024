"""A command asks a running server of the same library and settings, which has the model in memory.

The server listens on a socket that only this user can reach. Its address and a random token are in a private file beside the
library. The server greets a client with a line of JSON; the client sends its token with the question, and gets one answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lorekeeper import errors
from lorekeeper.cli.command import ANSWERS, Answering, JsonObject
from lorekeeper.errors import LoreKeeperError
from lorekeeper.regular_files import read_regular
from lorekeeper.settings import Settings
from lorekeeper.system import private_file
from lorekeeper.version import VERSION

if TYPE_CHECKING:
    from lorekeeper.library import Library

logger = logging.getLogger(__name__)

SUFFIX = ".answers"
"""Suffix of the file with the address, beside the library."""

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
        record = json.loads(await asyncio.to_thread(read_regular, _file(settings)))
        if record["settings"] != _digest(settings):
            return None
        async with asyncio.timeout(GREETING_SECONDS):
            reader, writer = await _connected(record["address"])
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
    token, file = secrets.token_hex(16), _file(settings)

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
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lorekeeper-", ignore_cleanup_errors=True))
            server, address = await _listening(answer, Path(folder))
            stack.callback(server.close)
            record = {"address": address, "token": token, "settings": _digest(settings)}
            await asyncio.to_thread(_write, file, record)
            stack.callback(_remove, file, record)
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


async def _listening(answer: Any, folder: Path) -> tuple[asyncio.Server, str | int]:
    """A server and its address: a socket in a private folder; on Windows a free port of this machine."""
    if not hasattr(asyncio, "start_unix_server"):
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=MAX_BYTES)
        return server, server.sockets[0].getsockname()[1]
    address = str(folder / "answers")
    return await asyncio.start_unix_server(answer, address, limit=MAX_BYTES), address


async def _connected(address: str | int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(address, int):
        return await asyncio.open_connection("127.0.0.1", address, limit=MAX_BYTES)
    return await asyncio.open_unix_connection(address, limit=MAX_BYTES)


def _file(settings: Settings) -> Path:
    path = settings.library_path
    return path.with_name(path.name + SUFFIX)


def _write(file: Path, record: JsonObject) -> None:
    """Replace the file; the server that was started last answers."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    private_file(unfinished).write_text(json.dumps(record), "utf-8")
    unfinished.replace(file)


def _remove(file: Path, record: JsonObject) -> None:
    """Remove the file, unless another server has replaced it."""
    with contextlib.suppress(OSError, ValueError):
        if json.loads(read_regular(file)) == record:
            file.unlink()


def _digest(settings: Settings) -> str:
    """Equal for a server and a command whose answers are the same."""
    relevant = [VERSION, settings.model_dump(mode="json", exclude=IRRELEVANT)]
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def _line(message: JsonObject) -> bytes:
    return json.dumps(message).encode() + b"\n"
