"""One embedded library for several processes: the first that opens it serves the others on a private socket.

Messages are JSON objects, one per line, with limits on their size and on waiting. The first each way is a handshake:
``{"token", "protocol"}`` from the client, ``{"protocol", "version"}`` from the server. Then come calls,
``{"call": [operation, argument, ...]}``, and their answers, ``{"answer": ...}``, or ``{"error": reason}`` with ``"damaged": true``
if files of the library cannot be read. Vectors are packed as base64.

The standard library's `multiprocessing.connection` has no timeouts, and completes one handshake before it accepts the next:
a stranger who says nothing would keep everybody else out.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from filelock import FileLock, Timeout

from lorekeeper.cache.formats import fingerprint, is_later
from lorekeeper.cache.milvus.backend import (
    OPERATIONS,
    Backend,
    DamagedError,
    Operation,
    RefusedError,
    ServerLostError,
    refusal,
)
from lorekeeper.cache.milvus.rows import FORMAT
from lorekeeper.errors import MilvusConnectionError
from lorekeeper.private_sockets import MeetingPoint, connect, forget
from lorekeeper.system import PRIVATE_FILE, descriptor_share
from lorekeeper.version import VERSION

logger = logging.getLogger(__name__)

T = TypeVar("T")

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


# --- who serves a library, and where ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ServerRecord:
    """The record of a process that serves a library.

    Every version of LoreKeeper reads and writes these keys, if not said otherwise.

    Attributes:
        pid: its process id.
        version: of LoreKeeper.
        protocol: version of how it shares the library.
        path: the library.
        address: path of its socket; on Windows host and port.
        token: secret that a client must send.
        format: fingerprint of the library's format; missing in version 0.1.0.
    """

    pid: int
    version: str
    protocol: int
    path: str
    address: str
    token: str
    format: str = ""


def library_format() -> str:
    """Fingerprint of this version's library format; processes with another one cannot share a library with it."""
    return fingerprint(FORMAT)


def read_server(path: Path) -> ServerRecord | None:
    """The process that serves the library, or did until it was killed; None if there is no record."""
    record = MeetingPoint(path).published() or {}
    try:
        return ServerRecord(**{name: record[name] for name in ServerRecord.__dataclass_fields__ if name in record})
    except TypeError:  # a key is missing
        return None


def serving_process(path: Path) -> int | None:
    """Id of the process that serves the library and can be reached; None if there is none."""
    server = read_server(path)
    if server is None:
        return None
    try:
        connect(server.address).close()
    except (OSError, ValueError):
        return None
    return server.pid


class Claim:
    """The right to open a library, which one process has until it has closed it; the system ends it with the process.

    Who has it says so, opens the library, and then says where it can be reached.

    Args:
        path: the library.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._point = path, MeetingPoint(path, "claim")
        self._lock: FileLock | None = None

    def take(self) -> bool:
        """Claim the library; False if another process has done so. OSError if no folder is usable."""
        lock = FileLock(self._point.lock, mode=PRIVATE_FILE, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return False
        self._lock = lock
        try:
            self._say(serves=False)
        except BaseException:
            self.give_up()
            raise
        return True

    def announce(self, address: str, token: str) -> None:
        """Record that this process serves the library."""
        record = ServerRecord(os.getpid(), VERSION, PROTOCOL, str(self._path), address, token, library_format())
        MeetingPoint(self._path).publish(asdict(record))
        self._say(serves=True)

    def keep(self) -> None:
        """Record that this process has opened the library, and serves nobody."""
        self._say(serves=None)

    def is_kept(self) -> bool:
        """Whether the process that has the claim, if one has, serves nobody."""
        return (self._point.published() or {"serves": True}).get("serves", True) is None

    def is_opening(self) -> bool:
        """Whether the process that has the claim, if one has, does not serve the library yet."""
        return (self._point.published() or {}).get("serves") is False

    def give_up(self) -> None:
        """End the claim, if this has it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _say(self, *, serves: bool | None) -> None:
        self._point.publish({"pid": os.getpid(), "address": "", "serves": serves})


# --- the client ------------------------------------------------------------------------------------------------------

ANSWER_SECONDS = 300.0
"""How long a server may take to answer a call: reading all of a large library takes a while."""

IDLE_CONNECTIONS = 8
"""Most connections that a client keeps between its calls."""


def not_shared(path: Path) -> MilvusConnectionError:
    """The error for a library that another program has open and does not share."""
    return MilvusConnectionError(
        f"another program has the library {path} open and does not share it; close that program, or set "
        "LOREKEEPER_MILVUS_DB_PATH to another library"
    )


class OtherVersionError(MilvusConnectionError):
    """Another version of LoreKeeper serves the library, or did."""


class Client(Backend):
    """A library that another process serves. Each call takes an idle connection to that process, or opens another.

    Raises:
        MilvusConnectionError: no process serves it, or not as this version does.
    """

    def __init__(self, path: Path) -> None:
        self._server, self._path = _server_of(path), path
        self._idle = [self._connection()]

    def call(self, operation: Operation[T], *arguments: object) -> T:
        """The answer of the server; ServerLostError if the server is gone, RefusedError if it refuses the operation."""
        answer = self._answered(operation.name, arguments)
        if "error" in answer:
            raise (DamagedError if answer.get("damaged") else RefusedError)(answer["error"])
        result = answer.get("answer")
        if not isinstance(result, operation.answer):
            raise RefusedError(f"process {self._server.pid} answered {operation.name} with {type(result).__name__}")
        return cast("T", result)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _answered(self, operation: str, arguments: Sequence[object]) -> Message:
        with contextlib.suppress(ServerLostError, IndexError):  # a server closes idle connections when it has too many
            return self._exchanged(self._idle.pop(), operation, arguments)
        try:
            connection = self._connection()
        except MilvusConnectionError as error:
            raise ServerLostError(str(error)) from error
        return self._exchanged(connection, operation, arguments)

    def _exchanged(self, connection: Connection, operation: str, arguments: Sequence[object]) -> Message:
        """One call over one connection, which stays open for the next call."""
        try:
            connection.send({"call": [operation, *arguments]})
            answer = connection.receive()
        except TimeoutError as error:
            connection.close()
            raise RefusedError(
                f"timed out after {ANSWER_SECONDS:.0f} s: process {self._server.pid} has not answered"
            ) from error
        except (OSError, EOFError, ValueError) as error:
            connection.close()
            raise ServerLostError(str(error) or type(error).__name__) from error
        if len(self._idle) < IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _connection(self) -> Connection:
        connection: Connection | None = None
        try:
            connection = Connection(connect(self._server.address))
            connection.send({"token": self._server.token, "protocol": PROTOCOL})
            if connection.receive().get("protocol") != PROTOCOL:
                raise ValueError("it is another program, or another version of LoreKeeper")
        except (OSError, EOFError, ValueError, TypeError, AttributeError) as error:
            if connection is not None:
                connection.close()
            raise MilvusConnectionError(
                f"the process that has the library {self._path} open does not answer ({error or type(error).__name__}); "
                "end it and try again"
            ) from error
        connection.established(ANSWER_SECONDS)
        return connection


def _server_of(path: Path) -> ServerRecord:
    """The process that serves a library; MilvusConnectionError if there is none, or it runs another version."""
    server = read_server(path)
    if server is None:
        raise not_shared(path)
    if (server.protocol, server.format) != (PROTOCOL, library_format()):
        raise OtherVersionError(
            f"process {server.pid} has the library {path} open with LoreKeeper {server.version} (sharing protocol "
            f"{server.protocol}, format {server.format or 1}) and cannot share it with this LoreKeeper "
            f"{VERSION} (protocol {PROTOCOL}, format {library_format()}); "
            f"{_remedy(server)}, or set LOREKEEPER_MILVUS_DB_PATH to another library"
        )
    return server


def _remedy(server: ServerRecord) -> str:
    if server.protocol < PROTOCOL or (server.protocol == PROTOCOL and not is_later(server.version)):
        return f"restart process {server.pid}, which is older, with this version"
    return f"restart this program, which is older, with LoreKeeper {server.version}"


# --- the server ------------------------------------------------------------------------------------------------------

GRACE_SECONDS = 1.0
"""How long a server that closes waits for calls in progress."""

MAX_CONNECTIONS = 128
"""Most connections that a server keeps; one beyond that replaces the one that has been idle for longest."""

RETRY_SECONDS = 0.1
"""How long to wait for descriptors, threads or memory before the next connection is accepted."""

QUIET_SECONDS = 60.0
"""How long to log nothing more about that."""


class Server:
    """Serves a library that this process has open to other processes of this user.

    Args:
        path: the library.
        backend: answers the calls.
        claim: under which this process has opened it.

    Raises:
        MilvusConnectionError: there is no folder for its socket.
    """

    def __init__(self, path: Path, backend: Backend, claim: Claim) -> None:
        self._backend = backend
        self._token = secrets.token_hex(16)
        self._connections: dict[Connection, threading.Lock] = {}
        self._most = descriptor_share(MAX_CONNECTIONS)
        self._closing = False
        try:
            self._listener, address = MeetingPoint(path).listen()
            claim.announce(address, self._token)
        except OSError as error:
            raise MilvusConnectionError(str(error)) from error
        self._address = address
        threading.Thread(target=self._accept, name="lorekeeper-listener", daemon=True).start()

    @property
    def is_answering(self) -> bool:
        """Whether a client waits for an answer."""
        return any(answering.locked() for answering in list(self._connections.values()))

    def close(self) -> None:
        """Accept no more clients, wait briefly for calls in progress, and disconnect."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends a waiting accept
        self._listener.close()
        forget(self._address)
        for connection, answering in list(self._connections.items()):
            waited = answering.acquire(timeout=GRACE_SECONDS)
            connection.close()
            if waited:
                answering.release()

    def _accept(self) -> None:
        """Accept clients until the server closes; if descriptors, threads or memory run out, wait and retry."""
        quiet_until = 0.0
        while not self._closing:
            try:
                self._admit(self._listener.accept()[0])
            except (OSError, RuntimeError, MemoryError) as error:
                if not self._closing and time.monotonic() > quiet_until:
                    logger.warning("another process that needs the library has to wait: %s", error)
                    quiet_until = time.monotonic() + QUIET_SECONDS
                time.sleep(RETRY_SECONDS)

    def _admit(self, accepted: socket.socket) -> None:
        connection = Connection(accepted)
        try:
            if len(self._connections) >= self._most:
                self._drop_idle()
            self._connections[connection] = threading.Lock()
            threading.Thread(target=self._serve, args=(connection,), name="lorekeeper-client", daemon=True).start()
        except BaseException:
            self._connections.pop(connection, None)
            connection.close()
            raise

    def _drop_idle(self) -> None:
        """Close the connection that has been idle for longest; its client opens another one when it needs it."""
        for connection, answering in list(self._connections.items()):
            if answering.acquire(blocking=False):
                self._connections.pop(connection, None)
                connection.close()
                answering.release()
                return
        raise RuntimeError(f"{self._most} calls are being answered")

    def _serve(self, connection: Connection) -> None:
        answering = self._connections[connection]
        try:
            if not self._greeted(connection):
                return
            while True:
                call = connection.receive()["call"]
                with answering:
                    self._reply(connection, call)
                self._connections[connection] = self._connections.pop(
                    connection
                )  # moved to the end: the first ones have been idle longest
        except Exception as error:  # whatever a client sends ends its own connection and nothing else
            logger.debug("a client of the library is gone: %s", error or type(error).__name__)
        finally:
            self._connections.pop(connection, None)
            connection.close()

    def _greeted(self, connection: Connection) -> bool:
        """Whether the client has the token and uses this protocol. A client with the token is sent the version."""
        greeting = connection.receive()
        if not hmac.compare_digest(str(greeting.get("token")).encode(), self._token.encode()):
            return False
        connection.send({"protocol": PROTOCOL, "version": VERSION})
        connection.established(None)
        return greeting.get("protocol") == PROTOCOL

    def _reply(self, connection: Connection, call: object) -> None:
        answer: Message
        try:
            answer = {"answer": self._answer(call)}
        except Exception as error:  # whatever the backend raises is sent to the client
            if self._closing:
                raise EOFError("the library is closed; the client connects to the next server") from error
            answer = _failure(error)
        try:
            connection.send(answer)
        except RefusedError as error:
            connection.send(_failure(error))

    def _answer(self, call: object) -> object:
        if not isinstance(call, Sequence) or not call or call[0] not in OPERATIONS:
            raise ValueError(f"unknown call {str(call)[:100]!r}")
        name, *arguments = call
        return self._backend.call(OPERATIONS[name], *arguments)


def _failure(error: Exception) -> Message:
    refused = refusal(error)
    return {"error": str(refused), "damaged": isinstance(refused, DamagedError)}
