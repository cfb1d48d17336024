"""The server: answers the other processes of this user from the backend that this process has open."""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from lorekeeper.cache.milvus.backend import OPERATIONS, Backend, DamagedError, RefusedError, perform, refusal
from lorekeeper.cache.milvus.sharing.discovery import Claim
from lorekeeper.cache.milvus.sharing.messages import PROTOCOL, Connection, Message
from lorekeeper.errors import MilvusConnectionError
from lorekeeper.private_sockets import MeetingPoint, forget
from lorekeeper.system import descriptor_share
from lorekeeper.version import VERSION

logger = logging.getLogger(__name__)

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
        return perform(self._backend, OPERATIONS[name], arguments)


def _failure(error: Exception) -> Message:
    refused = refusal(error)
    return {"error": str(refused), "damaged": isinstance(refused, DamagedError)}
