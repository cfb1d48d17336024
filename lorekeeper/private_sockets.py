"""Sockets that only this user can reach, and the private records that say where they are and hold a token.

A `MeetingPoint` stands for one purpose of one library. The process that listens there publishes a record; the others read the
record and connect to its address. Both lie in a folder that no other user can enter, and so does a file whose lock says that
there is such a process: it ends with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lorekeeper.regular_files import read_regular
from lorekeeper.system import private_file, private_folder

ADDRESS_BYTES = 103
"""Longest path of a socket on macOS; Linux allows four more."""

RECORD_BYTES = 1 << 16
"""Largest record that is read."""

CONNECT_SECONDS = 2.0
"""How long connecting may take."""

_NAME_BYTES = 1 + 16 + 1 + 8


class MeetingPoint:
    """Where the processes of one user find the one that serves a library.

    Args:
        path: the library.
        purpose: what is served there; a library has one meeting point for each.
    """

    def __init__(self, path: Path, purpose: str = "") -> None:
        self._name = hashlib.blake2b(str(path.resolve()).encode(), digest_size=8, person=purpose.encode()).hexdigest()

    def listen(self) -> tuple[socket.socket, str]:
        """A listening socket, another one for each call, and its address; on Windows a free loopback port.

        Raises:
            OSError: no folder is usable.
        """
        if sys.platform == "win32":
            listener = socket.create_server(("127.0.0.1", 0))
            return listener, f"127.0.0.1:{listener.getsockname()[1]}"
        address = str(_runtime_folder() / f"{self._name}-{secrets.token_hex(4)}")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        return listener, address

    def publish(self, record: Mapping[str, Any]) -> None:
        """Replace the record, and remove the sockets of processes that were killed. Its ``address`` is the one to connect to."""
        folder = _runtime_folder()
        for abandoned in folder.glob(f"{self._name}-*"):
            if str(abandoned) != record["address"]:
                abandoned.unlink(missing_ok=True)
        unfinished = folder / f"{self._name}.{os.getpid()}"
        private_file(unfinished).write_text(json.dumps(record), "utf-8")
        unfinished.replace(self._record)

    def published(self) -> dict[str, Any] | None:
        """The record of the process that serves the library, or did until it was killed; None if there is none."""
        try:
            record = json.loads(read_regular(self._record, RECORD_BYTES))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def withdraw(self, record: Mapping[str, Any]) -> None:
        """Remove the record, unless another process has replaced it."""
        with contextlib.suppress(OSError):
            if self.published() == record:
                self._record.unlink()

    @property
    def lock(self) -> Path:
        """The file that the process which serves the library holds a lock on; OSError if no folder is usable."""
        return _runtime_folder() / f"{self._name}.lock"

    @property
    def _record(self) -> Path:
        return _runtime_folder() / f"{self._name}.json"


def connect(address: str) -> socket.socket:
    """A socket that is connected to an address; OSError if no process listens there, ValueError if it is no address."""
    if sys.platform == "win32":
        host, _, port = address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS)
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(CONNECT_SECONDS)
    try:
        connected.connect(address)
    except BaseException:
        connected.close()
        raise
    return connected


def forget(address: str) -> None:
    """Remove what a socket that listens no more has left behind."""
    if sys.platform != "win32":
        Path(address).unlink(missing_ok=True)


def _runtime_folder() -> Path:
    """A folder that only this user can enter: the system's for such things, or one in the home folder.

    In a temporary folder that all users share, another user may have taken the name.
    """
    refused: list[str] = []
    for folder in _runtime_folders():
        try:
            return _private(folder)
        except OSError as error:
            refused.append(f"{folder}: {error.strerror or error}")
    raise OSError(
        f"no usable folder for the socket through which processes share a library ({'; '.join(refused)}); set XDG_RUNTIME_DIR to "
        "a folder of your own with a short path"
    )


def _runtime_folders() -> Iterator[Path]:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"lorekeeper-{user}"
    with contextlib.suppress(RuntimeError):  # a user without a home folder
        yield Path.home() / ".lorekeeper" / "run"


def _private(folder: Path) -> Path:
    """The folder, created if need be; OSError if others can use it too, or its path is too long for a socket."""
    state = private_folder(folder).lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise OSError("it is a link")
    if hasattr(os, "getuid") and state.st_uid != os.getuid():
        raise OSError("it belongs to another user")
    if len(os.fsencode(folder)) + _NAME_BYTES > ADDRESS_BYTES:
        raise OSError("its path is too long")
    folder.chmod(0o700)
    return folder
