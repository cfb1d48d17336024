"""Which process serves a library, and at which address."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from lorekeeper.cache.formats import fingerprint
from lorekeeper.cache.milvus.layout_v3 import FORMAT
from lorekeeper.cache.milvus.sharing.messages import PROTOCOL
from lorekeeper.private_sockets import MeetingPoint, connect
from lorekeeper.version import VERSION


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


def announce(path: Path, address: str, token: str) -> None:
    """Record that this process serves the library."""
    record = ServerRecord(os.getpid(), VERSION, PROTOCOL, str(path), address, token, library_format())
    MeetingPoint(path).publish(asdict(record))
