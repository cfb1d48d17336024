"""Which process serves a library, and at which address: a file that only this user can read, beside the private socket."""

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
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lorekeeper.cache.formats import fingerprint
from lorekeeper.cache.milvus.schema import FORMAT
from lorekeeper.cache.milvus.sharing.messages import HANDSHAKE_SECONDS, PROTOCOL
from lorekeeper.errors import MilvusConnectionError
from lorekeeper.regular_files import read_regular
from lorekeeper.system import private_file, private_folder
from lorekeeper.version import VERSION

ADDRESS_BYTES = 103
"""Longest path of a socket on macOS; Linux allows four more."""

RECORD_BYTES = 1 << 16
"""Largest record that is read."""

_NAME_BYTES = 1 + 16 + 1 + 8


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
    try:
        record = json.loads(read_regular(_runtime_folder() / f"{_name(path)}.json", RECORD_BYTES))
        return ServerRecord(**{name: record[name] for name in ServerRecord.__dataclass_fields__ if name in record})
    except (OSError, ValueError, LookupError, TypeError):
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
    """Record that this process serves the library, and remove the sockets of processes that were killed."""
    folder, name = _runtime_folder(), _name(path)
    for abandoned in folder.glob(f"{name}-*"):
        if str(abandoned) != address:
            abandoned.unlink(missing_ok=True)
    record = ServerRecord(os.getpid(), VERSION, PROTOCOL, str(path), address, token, library_format())
    unfinished = folder / f"{name}.{os.getpid()}"
    private_file(unfinished).write_text(json.dumps(asdict(record)), "utf-8")
    unfinished.replace(folder / f"{name}.json")


def listen(path: Path) -> tuple[socket.socket, str]:
    """A listening socket of its own for every opening, and its address; on Windows a free loopback port."""
    if sys.platform == "win32":
        listener = socket.create_server(("127.0.0.1", 0))
        return listener, f"127.0.0.1:{listener.getsockname()[1]}"
    address = str(_runtime_folder() / f"{_name(path)}-{secrets.token_hex(4)}")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener, address


def connect(address: str) -> socket.socket:
    """A socket that is connected to an address; OSError if no process listens there."""
    host, _, port = address.rpartition(":")
    if sys.platform == "win32":
        return socket.create_connection((host, int(port)), timeout=HANDSHAKE_SECONDS)
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(HANDSHAKE_SECONDS)
    try:
        connected.connect(address)
    except OSError:
        connected.close()
        raise
    return connected


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
    raise MilvusConnectionError(
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


def _name(path: Path) -> str:
    return hashlib.blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
