"""MCP over stdin and stdout: every request of the client is answered, even an unreadable one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from typing import Any, BinaryIO

import mcp_types as types
import pydantic_core
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

MESSAGE_BYTES = 4 * 2**20
"""Longest message; the same as over HTTP."""

_PART_BYTES = 1 << 16

_ID_FIRST = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(?:(\d{1,15})|"([ !#-\[\]-~]{1,200})")\s*[,}]'
)
"""The id of a message that begins with it, however malformed the rest."""


async def serve(server: Server[Any]) -> None:
    """Serve one client on stdin and stdout until its end of input."""
    lines = _Lines(os.fdopen(os.dup(sys.stdin.fileno()), "rb"))  # the interpreter waits for its own stream when it ends
    stdin: Any = lines
    async with stdio_server(stdin=stdin) as (reader, writer):
        lines.writer = writer
        await server.run(reader, writer, server.create_initialization_options())


def refusal(line: bytes) -> types.JSONRPCError | None:
    """The error response to a line that is not a JSON-RPC message; None for one that is."""
    if len(line) > MESSAGE_BYTES:
        return _error(_id(line), types.INVALID_REQUEST, f"a message may have at most {MESSAGE_BYTES:,} bytes")
    try:
        content = pydantic_core.from_json(line)
    except ValueError as error:
        return _error(_id(line), types.PARSE_ERROR, f"the message is not valid JSON in UTF-8: {str(error)[:200]}")
    try:
        message = types.jsonrpc_message_adapter.validate_python(content, by_name=False)
    except ValueError:
        return _error(_id(line), types.INVALID_REQUEST, "the message is not a JSON-RPC 2.0 request")
    if isinstance(message, types.JSONRPCNotification) and "id" in content:
        return _error(None, types.INVALID_REQUEST, "the id of a request must be a string or an integer")
    return None


def _error(number: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=message))


def _id(line: bytes) -> types.RequestId | None:
    """The id of a malformed message, if it can be found."""
    try:
        content = json.loads(line.decode("utf-8", "replace"))  # accepts more than JSON allows, such as half a character
    except (ValueError, RecursionError):
        match = _ID_FIRST.match(line)
        if match is None:
            return None
        return int(match[1]) if match[1] else match[2].decode()
    number = content.get("id") if isinstance(content, dict) else None
    if isinstance(number, bool) or not isinstance(number, (int, str)) or "\\ud" in json.dumps(number):
        return None
    return number


class _Lines:
    """The lines of a stream that are messages; the others are answered here, with an error."""

    writer: Any = None
    """Where error responses go."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        """Read in a thread that does not keep the process alive: a terminal may wait for input for ever, and Ctrl-C ends it."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes] = asyncio.Queue(1)
        threading.Thread(target=self._read_all, args=(loop, lines), name="stdin", daemon=True).start()
        while line := await lines.get():
            refused = refusal(line) if line.strip() else None
            if refused is not None:
                await self.writer.send(SessionMessage(refused))
            elif line.strip():
                yield line.decode()

    def _read_all(self, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes]) -> None:
        """Hand over each line when the one before has been taken, b"" at the end."""
        line = b"."
        with contextlib.suppress(RuntimeError, CancelledError):  # the loop has ended, and nobody reads
            while line:
                line = self._read()
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    def _read(self) -> bytes:
        """The next line, b"" at the end; only the beginning of one that is too long."""
        line = part = self._stream.readline(MESSAGE_BYTES + 1)
        while len(line) > MESSAGE_BYTES and part and not part.endswith(b"\n"):
            part = self._stream.readline(_PART_BYTES)
        return line
