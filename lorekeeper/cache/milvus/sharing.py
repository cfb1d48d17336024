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
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lorekeeper
from lorekeeper.errors import MilvusConnectionError
from lorekeeper.system import descriptor_share, private_file, private_folder

logger = logging.getLogger(__name__)

PROTOCOL = 3
"""Version of how processes share a store."""

GREET_SECONDS = 2.0
"""How long a process on this machine may take to answer a greeting."""

ANSWER_SECONDS = 300.0
"""How long it may take to answer a call: reading all of a large library takes a while."""

GRACE_SECONDS = 1.0
"""How long an owner that closes waits for calls under way."""

GREETING_BYTES = 4096
"""How long a line may be before the other side has said who it is."""

LINE_BYTES = 256 * 2**20
"""How long it may be afterwards: the keys of a million entries fit in one answer."""

MAX_LINES = 128
"""How many lines an owner keeps at most; one that is wanted beyond that takes the place of the longest idle one."""

IDLE_LINES = 8
"""How many lines a guest keeps between its calls."""

PAUSE_SECONDS = 0.1
"""How long to wait for descriptors, threads or memory before the next line is accepted."""

QUIET_SECONDS = 60.0
"""How long nothing more is logged about that."""

ADDRESS_BYTES = 103
"""How long the path of a socket may be on macOS; Linux takes four more."""

METHODS = frozenset(
    "list_collections has_collection description create_collection load_collection release_collection drop_collection "
    "rename_collection flush search get query count upsert delete".split()
)
"""What a guest may ask for."""

_VECTOR = "float32"
_PART_BYTES = 1 << 18
_NAME_BYTES = 1 + 16 + 1 + 8


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
        with contextlib.suppress(LostError, IndexError):  # an owner hangs up on idle lines when it has too many
            return self._asked(self._idle.pop(), method, args)
        try:
            line = self._line()
        except MilvusConnectionError as error:
            raise LostError(str(error)) from error
        return self._asked(line, method, args)

    def _asked(self, line: Line, method: str, args: tuple[Any, ...]) -> Any:
        """The answer to one call over one line, which is kept for the next call."""
        try:
            line.send({"call": [method, *args]})
            answer = line.receive()
        except TimeoutError as error:
            line.close()
            raise RefusedError(
                f"process {self._owner.get('pid')} has not answered for {ANSWER_SECONDS:.0f} s"
            ) from error
        except (OSError, EOFError, ValueError) as error:
            line.close()
            raise LostError(str(error) or type(error).__name__) from error
        if len(self._idle) < IDLE_LINES:
            self._idle.append(line)
        else:
            line.close()
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["answer"]

    def _line(self) -> Line:
        line: Line | None = None
        try:
            line = Line(_connected(self._owner["address"]))
            line.send({"token": self._owner["token"], "protocol": PROTOCOL})
            if line.receive().get("protocol") != PROTOCOL:
                raise ValueError("it is another program's")
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            if line is not None:
                line.close()
            raise MilvusConnectionError(
                f"the process that has the library {self._path} open does not answer ({error or type(error).__name__}); "
                "end it and try again"
            ) from error
        line.greeted(ANSWER_SECONDS)
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
        self._most = descriptor_share(MAX_LINES)
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
        """Let guests in until the door is closed; a lack of descriptors, threads or memory passes."""
        quiet_until = 0.0
        while not self._closing:
            try:
                self._admit(self._socket.accept()[0])
            except (OSError, RuntimeError, MemoryError) as error:
                if not self._closing and time.monotonic() > quiet_until:
                    logger.warning("another process that asks for the library has to wait: %s", error)
                    quiet_until = time.monotonic() + QUIET_SECONDS
                time.sleep(PAUSE_SECONDS)

    def _admit(self, connection: socket.socket) -> None:
        line = Line(connection)
        try:
            if len(self._lines) >= self._most:
                self._release_one()
            self._lines[line] = threading.Lock()
            threading.Thread(target=self._serve, args=(line,), name="lorekeeper-guest", daemon=True).start()
        except BaseException:
            self._lines.pop(line, None)
            line.close()
            raise

    def _release_one(self) -> None:
        """Hang up on the line that has been idle for longest; its guest opens another one when it needs it."""
        for line, answering in list(self._lines.items()):
            if answering.acquire(blocking=False):
                self._lines.pop(line, None)
                line.close()
                answering.release()
                return
        raise RuntimeError(f"{self._most} calls are being answered")

    def _serve(self, line: Line) -> None:
        answering = self._lines[line]
        try:
            if not hmac.compare_digest(str(line.receive().get("token")).encode(), self._token.encode()):
                return
            line.send({"protocol": PROTOCOL, "version": lorekeeper.__version__})
            line.greeted(None)
            while True:
                method, *args = line.receive()["call"]
                with answering:
                    self._reply(line, method, args)
                self._lines[line] = self._lines.pop(line)  # to the end: the first ones are idle for longest
        except Exception as error:  # whatever a guest sends ends its own line and nothing else
            logger.debug("a guest of the library is gone: %s", error or type(error).__name__)
        finally:
            self._lines.pop(line, None)
            line.close()

    def _reply(self, line: Line, method: str, args: list[Any]) -> None:
        try:
            line.send(self._answer(method, args))
        except RefusedError as error:
            line.send({"error": str(error)})

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
    """Objects over a socket, as lines of JSON; until `greeted` only short ones, all of them within a moment."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.settimeout(GREET_SECONDS)
        self._received = bytearray()
        self._limit = GREETING_BYTES
        self._deadline: float | None = time.monotonic() + GREET_SECONDS

    def send(self, item: Any) -> None:
        """Send one object; OSError where nobody listens, RefusedError where it is longer than a line may be."""
        text = json.dumps(item, default=_packed).encode() + b"\n"
        if len(text) > LINE_BYTES:
            raise RefusedError(f"{len(text) // 2**20} MB are too many for one call; ask for less at a time")
        self._socket.sendall(text)

    def receive(self) -> Any:
        """The next object; EOFError where the other side has hung up, ValueError where it is none."""
        line, end = self._received, self._received.find(b"\n")
        while end < 0:
            if len(line) > self._limit:
                raise ValueError(f"the line is longer than {self._limit:,} bytes")
            part = self._part()
            end = part.find(b"\n") + len(line) if b"\n" in part else -1
            line += part
        self._received = line[end + 1 :]
        del line[end:]
        try:
            return json.loads(line, object_hook=_unpacked)
        except RecursionError as error:
            raise ValueError("the line is nested too deeply") from error

    def _part(self) -> bytes:
        if self._deadline is not None:
            self._socket.settimeout(max(self._deadline - time.monotonic(), 0.001))
        part = self._socket.recv(_PART_BYTES)
        if not part:
            raise EOFError("the line is cut")
        return part

    def greeted(self, seconds: float | None) -> None:
        """The other side is known: from now on lines may be long, and each part of one takes so long at most."""
        self._limit, self._deadline = LINE_BYTES, None
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
    """A folder that only this user can enter: the system's for such things, or one in the home folder.

    In a temporary folder that all users share, another user may have taken the name.
    """
    refused: list[str] = []
    for folder in _runtime_folders():
        try:
            return _checked(folder)
        except OSError as error:
            refused.append(f"{folder}: {error.strerror or error}")
    raise MilvusConnectionError(
        f"there is no folder for the socket by which processes share a library ({'; '.join(refused)}); set XDG_RUNTIME_DIR to "
        "a folder of your own with a short path"
    )


def _runtime_folders() -> Iterator[Path]:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"lorekeeper-{user}"
    with contextlib.suppress(RuntimeError):  # a user without a home folder
        yield Path.home() / ".lorekeeper" / "run"


def _checked(folder: Path) -> Path:
    """The folder, made if need be; OSError where it is not this user's alone, or too deep for a socket."""
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
    private_file(fresh).write_text(json.dumps(owner), "utf-8")
    fresh.replace(folder / f"{name}.json")
