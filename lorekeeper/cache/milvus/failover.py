"""The backend of an embedded library, opened by this process or served by another one.

Milvus Lite lets one process into a library. The first process here that claims it opens it, and serves the others on a private
socket; they wait while it opens, for as long as it has the claim. When that process ends, the next operation of any other process
takes over: it opens the library itself, and is repeated.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from lorekeeper.cache.milvus.backend import (
    Backend,
    Capabilities,
    DamagedError,
    LazyBackend,
    Operation,
    ServerLostError,
    UnwritableError,
    damaged,
    refusal,
    unwritable,
)
from lorekeeper.cache.milvus.rows import type_of
from lorekeeper.cache.milvus.sharing import Claim, Client, OtherVersionError, Server, not_shared, serving_process
from lorekeeper.cache.repair import ADVICE
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError
from lorekeeper.system import keep_private, private_folder

logger = logging.getLogger(__name__)

T = TypeVar("T")

OPEN_SECONDS = 10.0
"""How long to wait for another program to close the library: a process that was killed may let go of one lock after the other."""

SILENT_SECONDS = 60.0
"""How long to wait for a process that has opened the library and cannot be reached: it may have much to do."""

RETRY_SECONDS = 0.05
"""Pause between two such attempts."""

TRIES = 5
"""Attempts at an operation whose server ends: several servers may end one after another."""

_SQLITE_MAGIC = b"SQLite format 3\0"


class EmbeddedBackend(LazyBackend):
    """A backend on a folder of Milvus Lite.

    Args:
        path: the folder; it is created at first use.
        opened: called when this process opens it.
        shared: whether it serves other processes while it has it open; if not, they are refused.
    """

    def __init__(self, path: Path, opened: Callable[[], None] = lambda: None, *, shared: bool = True) -> None:
        self.path, self._notify, self._shared = path, opened, shared
        self._lock = threading.RLock()
        self._backend: Backend | None = None
        self._server: Server | None = None
        self._claim = Claim(path)
        self._openings = self._running = 0

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    @property
    def role(self) -> Literal["server", "alone", "client", "closed"]:
        """Whether this process has the library open and serves it or not, or is a client of the one that does."""
        if self._backend is None:
            return "closed"
        if isinstance(self._backend, Client):
            return "client"
        return "server" if self._server else "alone"

    @property
    def in_use(self) -> bool:
        """Whether an operation is being performed here, for this process or for others."""
        return self._running > 0 or (self._server is not None and self._server.is_answering)

    def open(self) -> int:
        return self._opened()[1]

    def require_place(self) -> None:
        """MilvusConnectionError if there is no place for a library at this path; makes the folder that it would be in."""
        _make_folder(self.path.parent, self.path)

    def create(self, make: Callable[[], None]) -> bool:
        """Make the folder by a function, unless there is one; whether it did. Nothing here opens it meanwhile."""
        with self._lock:
            if self._backend is not None or self.path.exists():
                return False
            make()
            return True

    def call(self, operation: Operation[T], *arguments: object) -> T:
        """Perform an operation; a failure of one that examines a collection means that its files cannot be read."""
        with self._lock:
            self._running += 1
        try:
            return self._attempt(operation, arguments)
        except (MilvusConnectionError, MilvusSchemaError):
            raise
        except CacheError as error:
            if not operation.examines:
                raise
            raise damaged(self.location, type_of(str(arguments[0])), error) from error
        finally:
            with self._lock:
                self._running -= 1

    def close(self) -> None:
        """Disconnect; a process that serves the library also stops serving, and releases it."""
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None
            if self._backend is not None:
                with contextlib.suppress(Exception):
                    self._backend.close()
                self._backend = None
            self._claim.give_up()

    def _attempt(self, operation: Operation[T], arguments: Sequence[object]) -> T:
        """Run an operation; if the process that serves it ends meanwhile, run it again on the next backend."""
        for _ in range(TRIES):
            backend, opening = self._opened()
            try:
                return backend.call(operation, *arguments)
            except ServerLostError as error:
                logger.info("the process that served %s is gone (%s): opening the library again", self.path, error)
                self._close(opening)
            except CacheError:
                raise
            except Exception as error:
                with self._lock:  # another thread may be closing it
                    closed = self._openings != opening or self._backend is not backend
                if not closed:
                    raise self._translated(error, opening) from error
                logger.debug("%s was closed during an operation: repeating it", self.path)
        raise MilvusConnectionError(f"every process that served the library {self.path} has ended; try again")

    def _translated(self, error: Exception, opening: int) -> CacheError:
        """Why an operation was refused. After a write that failed, the library is opened again: else rows would be lost."""
        if reason := unwritable(self.path, error):
            self._close(opening)
            return reason
        refused = refusal(error)
        if isinstance(refused, DamagedError):
            return MilvusSchemaError(f"the library {self.path} is damaged: {refused}. {ADVICE}")
        return CacheError(f"Milvus Lite refused an operation on {self.path}: {refused}")

    def _opened(self) -> tuple[Backend, int]:
        with self._lock:
            if self._backend is None:
                self._backend = self._connected()
                self._openings += 1
                self._serve(self._backend)
            return self._backend, self._openings

    def _serve(self, backend: Backend) -> None:
        if isinstance(backend, Client):
            return
        self._notify()
        try:
            if not self._shared:
                self._claim.keep()
                return
            self._server = Server(self.path, backend, self._claim)
        except BaseException:
            self.close()
            raise

    def _close(self, opening: int) -> None:
        """Close this opening, unless another thread has done so already."""
        with self._lock:
            if self._openings == opening:
                self.close()

    def _connected(self) -> Backend:
        """A client of the process that serves the library; if there is none, the library itself."""
        _require_folder(self.path)
        deadline: float | None = None
        while True:
            try:
                return Client(self.path)
            except MilvusConnectionError as error:
                refused = error
            if isinstance(refused, OtherVersionError) and serving_process(self.path) is not None:
                raise refused
            try:
                if self._claim.take():
                    return self._own(refused)
            except OSError as error:
                raise MilvusConnectionError(str(error)) from error
            if self._claim.is_kept():
                raise not_shared(self.path)
            now = time.monotonic()
            deadline = None if self._claim.is_opening() else deadline or now + SILENT_SECONDS
            if deadline and now > deadline:
                raise refused
            time.sleep(RETRY_SECONDS)

    def _own(self, refused: MilvusConnectionError) -> Backend:
        """The library itself, which this process has claimed; what is ``refused`` stands if a process has it without a claim."""
        from lorekeeper.cache.milvus.lite import Engine, StoreTakenError

        deadline = time.monotonic() + OPEN_SECONDS
        try:
            while True:
                try:
                    return Engine(self.path)
                except StoreTakenError:
                    if time.monotonic() > deadline:
                        raise refused from None
                except MilvusSchemaError as error:
                    if reason := unwritable(self.path, error):
                        raise reason from error
                    raise
                time.sleep(RETRY_SECONDS)
        except BaseException:
            self._claim.give_up()
            raise


def _require_folder(path: Path) -> None:
    """Create the folder of a library; MilvusConnectionError with the actual reason, which Milvus Lite would hide."""
    if path.is_file():
        raise MilvusConnectionError(
            f"{path} is {_file_kind(path)}, not a folder of Milvus Lite; it was not changed. Set LOREKEEPER_MILVUS_DB_PATH to "
            "a new folder"
        )
    keep_private(_make_folder(path, path))  # others can reach nothing in it, whatever Milvus Lite creates there
    if not os.access(path, os.W_OK | os.X_OK):
        raise UnwritableError(
            f"no permission to write the library {path}; check the owner and permissions of the folder"
        )


def _make_folder(folder: Path, path: Path) -> Path:
    """Make a folder for a library that is to be at a path; MilvusConnectionError if that is not possible."""
    try:
        return private_folder(folder)
    except FileExistsError as error:
        raise MilvusConnectionError(
            f"the path {path} has a file where a directory is needed; choose another LOREKEEPER_MILVUS_DB_PATH"
        ) from error
    except OSError as error:
        raise MilvusConnectionError(
            f"the library folder {path} cannot be created: {error.strerror}; choose another LOREKEEPER_MILVUS_DB_PATH"
        ) from error


def _file_kind(path: Path) -> str:
    with path.open("rb") as file:
        sqlite = file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    return "a Milvus Lite 2 file (or another SQLite file)" if sqlite else "a plain file"
