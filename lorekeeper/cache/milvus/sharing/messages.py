"""Messages between processes: JSON objects over a socket, one per line, with limits on their size and on waiting.

The first message each way is a handshake: ``{"token", "protocol"}`` from the client, ``{"protocol", "version"}`` from the
server. Then come calls, ``{"call": [operation, argument, ...]}``, and their answers, ``{"answer": ...}``, or ``{"error": reason}``
with ``"damaged": true`` if files of the library cannot be read. Vectors are packed as base64.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import time

import numpy as np

from lorekeeper.cache.milvus.backend import RefusedError

PROTOCOL = 4
"""Version of how processes share a library. It changes with the messages, and whenever an earlier version of LoreKeeper could
not work on a library that this one has open."""

HANDSHAKE_SECONDS = 2.0
"""Longest time that a handshake takes."""

HANDSHAKE_BYTES = 4096
"""Longest message of a handshake."""

MESSAGE_BYTES = 256 * 2**20
"""Longest message after it: the keys of a million entities fit in one answer."""

_VECTOR = "float32"
_PART_BYTES = 1 << 18

Message = dict[str, object]


class Connection:
    """Messages over a socket; until `established` only short ones, all of them within `HANDSHAKE_SECONDS`."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._socket.settimeout(HANDSHAKE_SECONDS)
        self._received = bytearray()
        self._limit = HANDSHAKE_BYTES
        self._deadline: float | None = time.monotonic() + HANDSHAKE_SECONDS

    def send(self, message: object) -> None:
        """Send one message; OSError if the other side has disconnected, RefusedError if it is longer than `MESSAGE_BYTES`."""
        line = json.dumps(message, default=_packed).encode() + b"\n"
        if len(line) > MESSAGE_BYTES:
            raise RefusedError(f"a message of {len(line) // 2**20} MB is too large; request less at a time")
        self._socket.sendall(line)

    def receive(self) -> Message:
        """The next message; EOFError if the other side has disconnected, ValueError if it is not a JSON object."""
        line, end = self._received, self._received.find(b"\n")
        while end < 0:
            if len(line) > self._limit:
                raise ValueError(f"the message is longer than {self._limit:,} bytes")
            part = self._part()
            end = part.find(b"\n") + len(line) if b"\n" in part else -1
            line += part
        self._received = line[end + 1 :]
        del line[end:]
        return _parsed(line)

    def established(self, timeout: float | None) -> None:
        """The other side is authenticated: messages may now be long, and each part of one takes ``timeout`` seconds at most."""
        self._limit, self._deadline = MESSAGE_BYTES, None
        self._socket.settimeout(timeout)

    def close(self) -> None:
        """Disconnect."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._socket.close()

    def _part(self) -> bytes:
        if self._deadline is not None:
            self._socket.settimeout(max(self._deadline - time.monotonic(), 0.001))
        part = self._socket.recv(_PART_BYTES)
        if not part:
            raise EOFError("the connection was closed")
        return part


def _parsed(line: bytearray) -> Message:
    try:
        message = json.loads(line, object_hook=_unpacked)
    except RecursionError as error:
        raise ValueError("the message is nested too deeply") from error
    if not isinstance(message, dict):
        raise ValueError("the message is not an object")
    return message


def _packed(vector: object) -> dict[str, str]:
    return {_VECTOR: base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()}


def _unpacked(item: Message) -> object:
    packed = item.get(_VECTOR) if len(item) == 1 else None
    if isinstance(packed, str):
        return np.frombuffer(base64.b64decode(packed), dtype="<f4")
    return item
