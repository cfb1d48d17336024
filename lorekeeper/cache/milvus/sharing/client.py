"""The client: a `Backend` whose collections another process has open."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, cast

from lorekeeper.cache.formats import is_later
from lorekeeper.cache.milvus.backend import Backend, DamagedError, Operation, RefusedError, ServerLostError
from lorekeeper.cache.milvus.sharing.discovery import ServerRecord, library_format, read_server
from lorekeeper.cache.milvus.sharing.messages import PROTOCOL, Connection, Message
from lorekeeper.errors import MilvusConnectionError
from lorekeeper.private_sockets import connect
from lorekeeper.version import VERSION

T = TypeVar("T")

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
