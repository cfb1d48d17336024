"""One embedded store for several processes: its owner answers the others on a private socket.

A call and its answer are one line of JSON each, ``{"call": [method, argument, ...]}`` and ``{"answer": ...}`` or
``{"error": ...}``; vectors are packed. The first line each way is a greeting, ours with the owner's token, so that neither
side talks to a stranger. Who owns a library stands in a file that only this user can read.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

import lorekeeper
from lorekeeper.errors import MilvusConnectionError

logger = logging.getLogger(__name__)

PROTOCOL = 3
"""Version of how processes share a store."""

GREET_SECONDS = 2.0
"""How long a process on this machine may take to answer a greeting."""

ANSWER_SECONDS = 300.0
"""How long it may take to answer a call: reading all of a large library takes a while."""

GRACE_SECONDS = 1.0
"""How long an owner that closes waits for calls under way."""

METHODS = frozenset(
    "list_collections has_collection description create_collection load_collection release_collection drop_collection "
    "rename_collection flush search get query count upsert delete".split()
)
"""What a guest may ask for."""

_VECTOR = "float32"


class LostError(Exception):
    """The owner is gone: it ended, was killed, or closed the library."""


class RefusedError(Exception):
    """The owner's store refused a call; the text is its reason."""


class Guest:
    """A store that another process owns. `milvus_connection.Backend` says what its methods do.

    Safe to use from several threads: each call takes an idle line to the owner, or opens another.

    Raises:
        MilvusConnectionError: nobody owns it, or does not answer as this version does.
    """

    def __init__(self, path: Path) -> None:
        owner = read_owner(path)
        if owner is None or owner.get("protocol") != PROTOCOL:
            version = f"LoreKeeper {owner.get('version')}" if owner else "another program"
            raise MilvusConnectionError(
                f"{version} has the library {path} open and does not share it with this version "
                f"({lorekeeper.__version__}); close it, or set LOREKEEPER_MILVUS_DB_PATH to another library"
            )
        self._owner, self._path = owner, path
        self._idle = [self._line()]

    def __getattr__(self, method: str) -> Any:
        if method not in METHODS:
            raise AttributeError(method)
        return lambda *args: self._call(method, *args)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _call(self, method: str, *args: Any) -> Any:
        try:
            line = self._idle.pop() if self._idle else self._line()
            line.send({"call": [method, *args]})
            answer = line.receive()
        except TimeoutError as error:
            raise RefusedError(
                f"process {self._owner.get('pid')} has not answered for {ANSWER_SECONDS:.0f} s"
            ) from error
        except (OSError, EOFError, ValueError, MilvusConnectionError) as error:
            raise LostError(str(error) or type(error).__name__) from error
        self._idle.append(line)
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["answer"]

    def _line(self) -> Line:
        try:
            line = Line(_connected(self._owner["address"]))
            line.send({"token": self._owner["token"], "protocol": PROTOCOL})
            if line.receive().get("protocol") != PROTOCOL:
                raise ValueError("it is another program's")
        except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
            raise MilvusConnectionError(
                f"the process that has the library {self._path} open does not answer ({error or type(error).__name__}); "
                "end it and try again"
            ) from error
        line.patience(ANSWER_SECONDS)
        return line


class Door:
    """Where other processes of this user reach a store that this process owns.

    Args:
        path: the library.
        engine: answers the calls.
    """

    def __init__(self, path: Path, engine: Any) -> None:
        self._engine = engine
        self._token = secrets.token_hex(16)
        self._socket, address = _listening(path)
        self._address = Path(address)
        self._lines: dict[Line, threading.Lock] = {}
        self._closing = False
        _announce(path, address, self._token)
        threading.Thread(target=self._accept, name="lorekeeper-door", daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more, wait a moment for calls under way, and hang up."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # ends a waiting accept
        self._socket.close()
        self._address.unlink(missing_ok=True)
        for line, answering in list(self._lines.items()):
            waited = answering.acquire(timeout=GRACE_SECONDS)
            line.close()
            if waited:
                answering.release()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="lorekeeper-guest", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(GREET_SECONDS)
        line, answering = Line(connection), threading.Lock()
        self._lines[line] = answering
        try:
            if not hmac.compare_digest(str(line.receive().get("token")), self._token):
                return
            line.send({"protocol": PROTOCOL, "version": lorekeeper.__version__})
            line.patience(None)
            while True:
                method, *args = line.receive()["call"]
                with answering:
                    line.send(self._answer(method, args))
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            logger.debug("a guest of the library is gone: %s", error)
        finally:
            del self._lines[line]
            line.close()

    def _answer(self, method: str, args: list[Any]) -> dict[str, Any]:
        try:
            if method not in METHODS:
                raise ValueError(f"there is no call {method!r}")
            return {"answer": getattr(self._engine, method)(*args)}
        except Exception as error:  # whatever the engine raises is told to the guest
            if self._closing:
                raise EOFError("the store is closed; the guest asks its next owner") from error
            return {"error": str(error) or type(error).__name__}


class Line:
    """Objects over a socket, as lines of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._file = connection.makefile("rwb")

    def send(self, item: Any) -> None:
        """Send one object; OSError where nobody listens."""
        self._file.write(json.dumps(item, default=_packed).encode() + b"\n")
        self._file.flush()

    def receive(self) -> Any:
        """The next object; EOFError where the other side has hung up, ValueError where it is none."""
        text = self._file.readline()
        if not text.endswith(b"\n"):
            raise EOFError("the line is cut")
        return json.loads(text, object_hook=_unpacked)

    def patience(self, seconds: float | None) -> None:
        """How long to wait for the other side."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._socket.close()


def read_owner(path: Path) -> dict[str, Any] | None:
    """What the owner of an embedded library said of itself: pid, version, protocol; None where nobody did."""
    try:
        owner = json.loads((_runtime_folder() / f"{_name(path)}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return owner if isinstance(owner, dict) else None


def _packed(item: Any) -> Any:
    return {_VECTOR: base64.b64encode(np.asarray(item, dtype="<f4").tobytes()).decode()}


def _unpacked(item: dict[str, Any]) -> Any:
    if len(item) == 1 and _VECTOR in item:
        return np.frombuffer(base64.b64decode(item[_VECTOR]), dtype="<f4")
    return item


def _runtime_folder() -> Path:
    """A folder that only this user can enter; short, since socket paths are limited to about 100 characters."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"lorekeeper-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if not folder.is_dir() or folder.is_symlink() or (hasattr(os, "getuid") and state.st_uid != os.getuid()):
        raise MilvusConnectionError(f"{folder} belongs to somebody else; set XDG_RUNTIME_DIR to a folder of your own")
    folder.chmod(0o700)
    return folder


def _name(path: Path) -> str:
    return hashlib.blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()


def _listening(path: Path) -> tuple[socket.socket, str]:
    """A listening socket of its own for every opening, and its address; on Windows a free loopback port."""
    if sys.platform == "win32":
        listening = socket.create_server(("127.0.0.1", 0))
        return listening, f"127.0.0.1:{listening.getsockname()[1]}"
    address = str(_runtime_folder() / f"{_name(path)}-{secrets.token_hex(4)}")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    return listening, address


def _connected(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    if sys.platform == "win32":
        return socket.create_connection((host, int(port)), timeout=GREET_SECONDS)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(GREET_SECONDS)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _announce(path: Path, address: str, token: str) -> None:
    """Say who owns the library, for the others and for ``doctor``, and remove the sockets of owners that died."""
    folder, name = _runtime_folder(), _name(path)
    for left in folder.glob(f"{name}-*"):
        if str(left) != address:
            left.unlink(missing_ok=True)
    owner = {
        "pid": os.getpid(),
        "version": lorekeeper.__version__,
        "protocol": PROTOCOL,
        "path": str(path),
        "address": address,
        "token": token,
    }
    fresh = folder / f"{name}.{os.getpid()}"
    fresh.write_text(json.dumps(owner), "utf-8")
    fresh.replace(folder / f"{name}.json")
