"""Opening, sharing and closing a store, whoever has it: this process, another one, or a server; and its errors as ours.

Milvus Lite lets one process into a library. The first process here owns the store and answers the others on a private
socket. When the owner ends, the next call of any other process takes its place.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from lorekeeper.addresses import shown_address
from lorekeeper.cache.milvus.recovery import RecoveredEngine
from lorekeeper.cache.milvus.schema import Abilities, Row
from lorekeeper.cache.milvus.sharing import Door, Guest, LostError
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError
from lorekeeper.system import keep_private, private_folder

logger = logging.getLogger(__name__)

OPEN_SECONDS = 10.0
"""How long to wait for a process that holds the store and does not answer yet."""

TRIES = 5
"""How often a call is made that is cut off by an owner's end: as many owners may end one after another."""

LOW_SPACE_BYTES = 64 * 2**20
"""Free space below which nothing more is written: Milvus Lite loses rows when the disk fills up during a flush."""

_SQLITE_MAGIC = b"SQLite format 3\0"


class Backend(Protocol):
    """Collections of rows with vectors. All calls may be made twice with no other effect; tests are Milvus expressions."""

    def list_collections(self) -> list[str]: ...
    def has_collection(self, name: str) -> bool: ...
    def description(self, name: str) -> str | None:
        """What was said of a collection when it was made."""
        ...

    def create_collection(self, name: str, columns: Sequence[Sequence[Any]], description: str) -> None:
        """Make and load a collection of `milvus_schema.Column`."""
        ...

    def load_collection(self, name: str) -> None: ...
    def release_collection(self, name: str) -> None: ...
    def drop_collection(self, name: str) -> None: ...
    def rename_collection(self, name: str, new_name: str) -> None: ...
    def flush(self, name: str) -> None:
        """Called after the last of several writes; what was written is safe, and seen by all, without it."""
        ...

    def search(self, name: str, vector: Any, test: str, limit: int, fields: Sequence[str]) -> list[Row]:
        """The nearest rows that pass a test, best first, with "pk" and cosine similarity "distance"."""
        ...

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """The rows of these keys that there are, with "pk"."""
        ...

    def query(self, name: str, test: str, fields: Sequence[str]) -> list[Row]:
        """All rows that pass a test, however many."""
        ...

    def count(self, name: str, test: str = "") -> int: ...
    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows; vectors are arrays of float32."""
        ...

    def delete(self, name: str, keys: Sequence[str]) -> None: ...
    def close(self) -> None: ...


class MilvusConnection:
    """A store that opens itself at first use, and again when the process that owned it is gone.

    Args:
        path: folder of an embedded library; None for a server.
        uri: address of a Milvus server; None for an embedded library.
        token: the server's token, or ``user:password``.
    """

    def __init__(self, path: Path | None = None, uri: str | None = None, token: str | None = None) -> None:
        self.path, self.uri = path, uri
        self._token = token
        self._lock = threading.RLock()
        self._backend: Backend | None = None
        self._door: Door | None = None
        self.generation = 0
        """Counts openings; what was learnt from the store under another number may be stale."""

    @property
    def location(self) -> str:
        """Path or address, for people: without the password that an address may hold."""
        return shown_address(self.uri) if self.uri else str(self.path)

    @property
    def abilities(self) -> Abilities:
        """What the place where the collections are can do."""
        if self.uri is None:
            return Abilities()
        from lorekeeper.cache.milvus.server import MilvusServer

        backend = self._opened()[0]
        assert isinstance(backend, MilvusServer)
        return backend.abilities

    @property
    def role(self) -> str:
        """ "owner" of an embedded store, "guest" of another process's, "server" for an address, "closed"."""
        if self._backend is None:
            return "closed"
        return "server" if self.uri else "guest" if isinstance(self._backend, Guest) else "owner"

    def open(self) -> int:
        """Open now, if it is not open; returns the generation."""
        return self._opened()[1]

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of `Backend`; a call that is cut off by the owner's end is made again."""
        for _ in range(TRIES):
            backend, generation = self._opened()
            try:
                return getattr(backend, method)(*args)
            except LostError as error:
                logger.info("the process that owned %s is gone (%s): opening it anew", self.path, error)
                self._reopen(generation)
            except Exception as error:
                raise self._translated(error) from error
        raise MilvusConnectionError(f"the processes that own the library {self.path} keep ending; try again")

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
            if self._door is not None:
                self._door.close()
                self._door = None
            if self._backend is not None:
                with contextlib.suppress(Exception):
                    self._backend.close()
                self._backend = None

    def _opened(self) -> tuple[Backend, int]:
        with self._lock:
            if self._backend is None:
                self._open()
            assert self._backend is not None
            return self._backend, self.generation

    def _open(self) -> None:
        if self.uri:
            from lorekeeper.cache.milvus.server import MilvusServer

            self._backend = MilvusServer(self.uri, self._token)
            self.generation += 1
            return
        assert self.path is not None
        self._backend = opened = self._open_embedded(self.path)
        self.generation += 1
        if not isinstance(opened, Guest):
            try:
                self._door = Door(self.path, opened)
            except BaseException:
                self.close()
                raise

    def _reopen(self, generation: int) -> None:
        with self._lock:
            if self.generation == generation:
                self.close()

    def _open_embedded(self, path: Path) -> Guest | RecoveredEngine:
        _check_place(path)
        deadline = time.monotonic() + OPEN_SECONDS
        while True:
            try:
                return Guest(path)
            except MilvusConnectionError as error:
                refusal = error
            from lorekeeper.cache.milvus.lite import Engine, StoreTakenError

            try:
                return RecoveredEngine(Engine(path), path)
            except StoreTakenError:
                if time.monotonic() > deadline:
                    raise refusal from None
            time.sleep(0.05)

    def _translated(self, error: Exception) -> CacheError:
        if self.uri:
            from lorekeeper.cache.milvus.server import translated

            return translated(error, self.location)
        reason = " ".join((str(error) or type(error).__name__).split())[:300]
        if "parquet" in reason.lower():
            return MilvusSchemaError(
                f"the library {self.path} is damaged: {reason} Run 'lorekeeper repair': it puts the library aside and keeps "
                "all that can still be read"
            )
        return CacheError(f"Milvus at {self.path} refused: {reason}")


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
        keep_private(private_folder(path))  # others can reach nothing in it, whatever the engine makes there
    except FileExistsError as error:
        raise MilvusConnectionError(
            f"a part of the path {path} is a file; set LOREKEEPER_MILVUS_DB_PATH anew"
        ) from error
    except OSError as error:
        raise MilvusConnectionError(f"the library folder {path} cannot be made: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise MilvusConnectionError(f"no permission to write the library {path}")
