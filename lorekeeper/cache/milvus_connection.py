"""The one door to pymilvus and milvus-lite: opening, sharing and closing a store, and its errors as ours.

Milvus Lite lets one process into a library. The first process here owns the store and serves it on a private Unix
socket; later ones connect to it. When the owner ends, the next call of any other process takes its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lorekeeper
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError

if TYPE_CHECKING:
    from pymilvus import MilvusClient

logger = logging.getLogger(__name__)

RETRY_TIMES = 3
"""Tries of one call before the owner counts as gone (0.01, 0.03, 0.09 s apart)."""

OPEN_SECONDS = 10.0
"""How long to wait for a process that holds the store and does not answer yet."""

CONNECT_SECONDS = 10.0

JOIN_SECONDS = 2.0
"""How long a process on this machine may take to answer before it is asked again."""

_openings = itertools.count(1)

PROTOCOL = 2
"""Version of how processes share a store."""

LOW_SPACE_BYTES = 64 * 2**20
"""Free space below which nothing more is written: Milvus Lite loses rows when the disk fills up during a flush."""

_GRPC_OPTIONS = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": False}
"""The driver's own keep-alive, every 10 s, makes Milvus Lite hang up on a process that embeds for a while."""

_SQLITE_MAGIC = b"SQLite format 3\0"


class MilvusConnection:
    """A Milvus client that opens itself at first use, and again when the process that owned the store is gone.

    Args:
        path: folder of an embedded library; None for a server.
        uri: address of a Milvus server; None for an embedded library.
        token: the server's token, or ``user:password``.
    """

    def __init__(self, path: Path | None = None, uri: str | None = None, token: str | None = None) -> None:
        self.path, self.uri = path, uri
        self._token = token
        self._lock = threading.RLock()
        self._client: MilvusClient | None = None
        self._server: tuple[Any, Any] | None = None
        self.when_owned: Callable[[], None] = lambda: None
        """Called whenever this process has become the owner, before anything else is asked of the store."""
        self.generation = 0
        """Counts openings; what was learnt from the store under another number may be stale."""

    @property
    def location(self) -> str:
        """Path or address, for people."""
        return self.uri or str(self.path)

    @property
    def role(self) -> str:
        """ "owner" of an embedded store, "guest" of another process's, "server" for an address, "closed"."""
        if self._client is None:
            return "closed"
        return "server" if self.uri else "owner" if self._server else "guest"

    def open(self) -> int:
        """Open now, if it is not open; returns the generation."""
        return self._opened()[1]

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the client; all methods used are idempotent, so a call cut off by the owner's end is made again."""
        client, generation = self._opened()
        try:
            return getattr(client, method)(*args, retry_times=RETRY_TIMES, **kwargs)
        except Exception as error:
            if self.uri or not _is_lost(error):
                raise _translated(error, self.location) from error
            logger.info("the process that owned %s is gone: opening it anew", self.path)
        self._reopen(generation)
        client, _ = self._opened()
        try:
            return getattr(client, method)(*args, retry_times=RETRY_TIMES, **kwargs)
        except Exception as error:
            raise _translated(error, self.location) from error

    def require_space(self) -> None:
        """CacheError where the disk is nearly full: Milvus Lite loses rows when it fills up during a flush."""
        if self.path is not None:
            free = shutil.disk_usage(self.path if self.path.exists() else self.path.parent).free
            if free < LOW_SPACE_BYTES:
                raise CacheError(
                    f"only {free // 2**20} MB are free on the disk of {self.path}; nothing was written. Free at least "
                    f"{LOW_SPACE_BYTES // 2**20} MB and try again"
                )

    def close(self) -> None:
        """Disconnect; an owner also stops serving and lets go of the store."""
        with self._lock:
            if self._client is not None:
                with contextlib.suppress(Exception):
                    self._client.close()
                self._client = None
            if self._server is not None:
                server, database = self._server
                self._server = None
                server.stop(grace=1).wait()
                database.close()

    def _opened(self) -> tuple[MilvusClient, int]:
        with self._lock:
            if self._client is None:
                self._client = self._connect(self.uri) if self.uri else self._open_embedded()
                self.generation += 1
                if self._server:
                    self.when_owned()
            return self._client, self.generation

    def _reopen(self, generation: int) -> None:
        with self._lock:
            if self.generation == generation:
                self.close()

    def _open_embedded(self) -> MilvusClient:
        assert self.path is not None
        _check_place(self.path)
        deadline = time.monotonic() + OPEN_SECONDS
        while True:
            self._try_to_own()
            try:
                return self._join()
            except MilvusConnectionError:
                self.close()  # a server of our own that cannot be reached is started anew
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _try_to_own(self) -> None:
        """Open the store and serve it, unless another process has it."""
        assert self.path is not None
        _quiet()
        from milvus_lite.adapter.grpc.server import start_server_in_thread
        from milvus_lite.exceptions import DataDirLockedError

        try:
            host, port = _bind_address(self.path)
            server, database, bound = start_server_in_thread(str(self.path), host=host, port=port)
        except DataDirLockedError:
            return
        except PermissionError as error:
            raise MilvusConnectionError(f"no permission to write the library {self.path}") from error
        except Exception as error:
            raise MilvusSchemaError(
                f"the library {self.path} is damaged or no Milvus Lite library ({error}). Restore a backup, or move it "
                "away and import again"
            ) from error
        self._server = (server, database)
        _announce(self.path, f"{host}:{bound}" if host.startswith("unix:") else f"http://{host}:{bound}")

    def _join(self) -> MilvusClient:
        """Connect to the process that owns the store: another one, or this."""
        assert self.path is not None
        owner = read_owner(self.path)
        if owner is None or owner.get("protocol") != PROTOCOL or not owner.get("address"):
            version = f"LoreKeeper {owner.get('version')}" if owner else "another program"
            raise MilvusConnectionError(
                f"{version} has the library {self.path} open and does not share it with this version "
                f"({lorekeeper.__version__}); close it, or set LOREKEEPER_MILVUS_DB_PATH to another library"
            )
        return self._connect(str(owner["address"]))

    def _connect(self, uri: str | None) -> MilvusClient:
        assert uri is not None
        try:
            _quiet()
            from pymilvus import MilvusClient

            return MilvusClient(
                uri,
                token=self._token or "",
                timeout=CONNECT_SECONDS if self.uri else JOIN_SECONDS,
                dedicated=True,
                grpc_options=_GRPC_OPTIONS,
            )
        except Exception as error:
            raise MilvusConnectionError(
                f"no Milvus answers at {self.location}: {_reason(error)}. Check LOREKEEPER_MILVUS_URI and "
                "LOREKEEPER_MILVUS_TOKEN, and that the server is running"
                if self.uri
                else f"the process that has the library {self.path} open does not answer ({_reason(error)}); end it and "
                "try again"
            ) from error


def read_owner(path: Path) -> dict[str, Any] | None:
    """What the owner of an embedded library said of itself: pid, version, protocol; None where nobody did."""
    try:
        owner = json.loads((_runtime_folder() / f"{_name(path)}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return owner if isinstance(owner, dict) else None


def _check_place(path: Path) -> None:
    """Name the real reason why a path cannot hold a library, before the engine hides it."""
    if path.is_file():
        with path.open("rb") as file:
            old = file.read(16) == _SQLITE_MAGIC
        what = "a Milvus Lite 2 file (or another SQLite file)" if old else "a plain file"
        raise MilvusConnectionError(
            f"{path} is {what}, not a library of this version; it was left alone. Set LOREKEEPER_MILVUS_DB_PATH to a new "
            "folder and import again"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise MilvusConnectionError(
            f"a part of the path {path} is a file; set LOREKEEPER_MILVUS_DB_PATH anew"
        ) from error
    except OSError as error:
        raise MilvusConnectionError(f"the library folder {path} cannot be made: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise MilvusConnectionError(f"no permission to write the library {path}")


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


def _bind_address(path: Path) -> tuple[str, int]:
    """Where to serve: a Unix socket of its own for every opening, on Windows a free loopback port.

    gRPC removes a socket some time after its server has stopped: one at a name that is used again would vanish.
    """
    if sys.platform == "win32":
        return "127.0.0.1", 0
    return f"unix:{_runtime_folder() / _name(path)}-{os.getpid()}-{next(_openings)}", 1


def _announce(path: Path, address: str) -> None:
    """Say who owns the library, for the others and for ``doctor``, and remove the sockets of owners that died."""
    folder, name = _runtime_folder(), _name(path)
    for socket in folder.glob(f"{name}-*:1"):
        if f"unix:{socket}" != address:
            socket.unlink(missing_ok=True)
    owner = {
        "pid": os.getpid(),
        "version": lorekeeper.__version__,
        "protocol": PROTOCOL,
        "path": str(path),
        "address": address,
    }
    fresh = folder / f"{name}.{os.getpid()}"
    fresh.write_text(json.dumps(owner), "utf-8")
    fresh.replace(folder / f"{name}.json")


def _quiet() -> None:
    """Silence the engines' own logs: what goes wrong reaches the caller as an exception.

    FAISS warns on stderr, from C, about every index with fewer than 39 vectors a list; its own switch for that is the
    clustering parameter set here.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # its handlers can stop all calls of a process that forks
    for name in ("pymilvus", "milvus_lite", "faiss"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    faiss: Any = importlib.import_module("faiss")
    make = faiss.IndexIVFFlat
    if isinstance(make, type):

        def make_quietly(*args: Any) -> Any:
            index = make(*args)
            index.cp.min_points_per_centroid = 1
            return index

        faiss.IndexIVFFlat = make_quietly


def _is_lost(error: Exception) -> bool:
    """Whether a call failed because nobody is at the other end."""
    import grpc

    code: Any = getattr(error, "code", None)
    code = code() if callable(code) else code
    if "Fail connecting to server" in str(error):
        return True
    return code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED) or "closed channel" in str(error)


def _translated(error: Exception, location: str) -> CacheError:
    """The driver's error as one of ours."""
    from pymilvus.exceptions import MilvusException

    if _is_lost(error):
        return MilvusConnectionError(f"Milvus at {location} does not answer any more: {_reason(error)}; try again")
    if "parquet" in str(error).lower():
        return MilvusSchemaError(
            f"the library {location} is damaged: {_reason(error)} Move it away and import again, or restore a copy of it"
        )
    if isinstance(error, MilvusException):
        return CacheError(f"Milvus at {location} refused: {_reason(error)}")
    return CacheError(f"Milvus at {location} failed: {_reason(error)}")


def _reason(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error or type(error).__name__)
    return " ".join(text.split())[:300]
