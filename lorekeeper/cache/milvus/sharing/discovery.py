"""Which process serves a library, and at which address."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from lorekeeper.cache.formats import fingerprint
from lorekeeper.cache.milvus.layout_v3 import FORMAT
from lorekeeper.cache.milvus.sharing.messages import PROTOCOL
from lorekeeper.private_sockets import MeetingPoint, connect
from lorekeeper.system import PRIVATE_FILE
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
