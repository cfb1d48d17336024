"""The operations on collections, declared once, for Milvus Lite, the layers around it, and a Milvus server."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Generic, TypeVar

from lorekeeper.cache.formats import RENEW
from lorekeeper.cache.milvus.layout_v3 import FORMAT, Column, Row
from lorekeeper.cache.repair import ADVICE
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import MilvusConnectionError, MilvusSchemaError
from lorekeeper.printable import MAX_SHOWN, one_line

T = TypeVar("T")


class ServerLostError(Exception):
    """The process that served the library is gone: it ended, was killed, or closed the library."""


class UnwritableError(MilvusConnectionError):
    """Nothing can be written to the folder of an embedded library now, which Milvus Lite does even to read; nothing is damaged."""


class RefusedError(Exception):
    """A backend refused an operation; the text is its reason."""


class DamagedError(RefusedError):
    """A backend could not read its own files; the text is its reason."""


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do, and how collections are created there.

    Attributes:
        format: of new collections.
        words: version of the words that are ranked there by BM25; None if the companion on this machine ranks.
        infix: whether LIKE finds a text in the middle of another.
        flushed_by_client: whether written rows have to be flushed by us.
        remarks: which server it is, what it lacks and what replaces that, for people.
    """

    format: int = FORMAT
    words: int | None = None
    infix: bool = True
    flushed_by_client: bool = False
    remarks: str = ""


@dataclass(frozen=True)
class Operation(Generic[T]):
    """An operation on collections.

    Attributes:
        name: of the method.
        answer: the class of its answer, for answers that come from another process.
        examines: whether it reads nothing but what describes a collection, so that it fails only if files are damaged.
    """

    name: str
    answer: type[object] | tuple[type[object], ...] = object
    examines: bool = False


LEAST_BYTES = 2**20
"""Free space below which a disk is taken to be full: Milvus Lite then fails in many ways, and seldom says why."""

_FULL = {errno.ENOSPC, errno.EFBIG, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
"""What the system says of a full disk, of a file that may not grow, and of a quota."""

_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
"""What it says of a file or folder that this user may not write."""

OPERATIONS: dict[str, Operation[Any]] = {}
"""All operations, by name: what a process may ask the one that has the library open."""


def _declared(
    name: str, answer: type[object] | tuple[type[object], ...] = object, *, examines: bool = False
) -> Operation[Any]:
    OPERATIONS[name] = Operation(name, answer, examines)
    return OPERATIONS[name]


LIST_COLLECTIONS: Operation[list[str]] = _declared("list_collections", list)
HAS_COLLECTION: Operation[bool] = _declared("has_collection", bool, examines=True)
DESCRIPTION: Operation[str | None] = _declared("description", (str, NoneType), examines=True)
CREATE_COLLECTION: Operation[None] = _declared("create_collection")
LOAD_COLLECTION: Operation[None] = _declared("load_collection", examines=True)
RELEASE_COLLECTION: Operation[None] = _declared("release_collection")
DROP_COLLECTION: Operation[None] = _declared("drop_collection")
RENAME_COLLECTION: Operation[None] = _declared("rename_collection")
FLUSH: Operation[None] = _declared("flush")
SEARCH: Operation[list[Row]] = _declared("search", list)
GET: Operation[list[Row]] = _declared("get", list)
QUERY: Operation[list[Row]] = _declared("query", list)
COUNT: Operation[int] = _declared("count", int)
UPSERT: Operation[None] = _declared("upsert")
DELETE: Operation[None] = _declared("delete")


class Backend:
    """Collections of rows with vectors. Blocking, and safe to use from several threads.

    A layer over another backend, as recovery or sharing is, overrides `call` alone; a store overrides the methods. Every operation
    may be repeated without further effect. Expressions are Milvus filter expressions, "" for all rows.
    """

    def call(self, operation: Operation[T], *arguments: object) -> T:
        """The answer to an operation, which a layer gets from the backend below."""
        raise NotImplementedError

    def list_collections(self) -> list[str]:
        """Names of all collections."""
        return self.call(LIST_COLLECTIONS)

    def has_collection(self, name: str) -> bool:
        """Whether there is a collection of that name."""
        return self.call(HAS_COLLECTION, name)

    def description(self, name: str) -> str | None:
        """The description that a collection was created with."""
        return self.call(DESCRIPTION, name)

    def create_collection(self, name: str, columns: Sequence[Column], description: str) -> None:
        """Create and load a collection; columns may come as sequences of their attributes, from other processes."""
        self.call(CREATE_COLLECTION, name, columns, description)

    def load_collection(self, name: str) -> None:
        """Make a collection ready to be read; an error of an embedded library means that it is damaged."""
        self.call(LOAD_COLLECTION, name)

    def release_collection(self, name: str) -> None:
        """Undo `load_collection`."""
        self.call(RELEASE_COLLECTION, name)

    def drop_collection(self, name: str) -> None:
        """Delete a collection with all its rows."""
        self.call(DROP_COLLECTION, name)

    def rename_collection(self, name: str, new_name: str) -> None:
        """Rename a released collection."""
        self.call(RENAME_COLLECTION, name, new_name)

    def flush(self, name: str) -> None:
        """Called after the last of several writes, which are durable and visible even without it."""
        self.call(FLUSH, name)

    def search(self, name: str, vector: Vectors, expression: str, limit: int, fields: Sequence[str]) -> list[Row]:
        """The rows nearest to a vector `(dim,) float32` under an expression, best first.

        Each has its "pk", its cosine similarity (-1 to 1) as "distance", and the fields.
        """
        return self.call(SEARCH, name, vector, expression, limit, fields)

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """The rows of those keys that exist, each with its "pk" and the fields."""
        return self.call(GET, name, keys, fields)

    def query(self, name: str, expression: str, fields: Sequence[str]) -> list[Row]:
        """All rows under an expression, however many."""
        return self.call(QUERY, name, expression, fields)

    def count(self, name: str, expression: str = "") -> int:
        """Number of rows under an expression."""
        return self.call(COUNT, name, expression)

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows, replacing those of equal "pk"; vectors are `(dim,) float32`."""
        self.call(UPSERT, name, rows)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Delete the rows of these keys."""
        self.call(DELETE, name, keys)

    def close(self) -> None:
        """Release all files and connections."""
        raise NotImplementedError


def perform(backend: Backend, operation: Operation[T], arguments: Sequence[object]) -> T:
    """The answer of a backend to an operation."""
    answer: T = getattr(backend, operation.name)(*arguments)
    return answer


class LazyBackend(Backend):
    """A backend that opens itself at first use, and again after `close`. Its operations raise CacheError.

    Attributes:
        renew: how a library of an earlier format is made again, for people.
    """

    renew = RENEW

    @property
    def location(self) -> str:
        """Path or address, for messages: without the password that an address may contain."""
        raise NotImplementedError

    @property
    def capabilities(self) -> Capabilities:
        """What it can do; opens it."""
        raise NotImplementedError

    def open(self) -> int:
        """Open now, unless it is open; returns the number of this opening. What was read under an earlier one may be stale."""
        raise NotImplementedError


def refusal(error: Exception) -> RefusedError:
    """The error of an embedded engine as one of ours, with its reason in one line."""
    if isinstance(error, RefusedError):
        return error
    reason = one_line(" ".join(str(error).split()) or type(error).__name__, MAX_SHOWN)
    return DamagedError(reason) if any(map(_unreadable, _causes(error))) else RefusedError(reason)


def unwritable(path: Path, error: BaseException) -> UnwritableError | None:
    """The error if a library cannot be written, as an error of its engine shows, or the space that is left; else None."""
    numbers = {cause.errno for cause in _causes(error) if isinstance(cause, OSError)}
    if numbers & _FORBIDDEN:
        return UnwritableError(
            f"no permission to write the library {path}; make the folder and its files writable for this user"
        )
    try:
        full = bool(numbers & _FULL) or shutil.disk_usage(path).free < LEAST_BYTES
    except OSError:  # the folder is gone
        return None
    return UnwritableError(f"the disk of {path} is full; free some space and try again") if full else None


def damaged(location: str, entity_type: str, reason: object) -> MilvusSchemaError:
    """The error for a collection that cannot be read, or has lost entries."""
    return MilvusSchemaError(
        f"the library {location} is damaged: its {entity_type} are incomplete or corrupt ({reason}). {ADVICE}. Other types are "
        "not affected"
    )


def _unreadable(error: BaseException) -> bool:
    """Whether a file is missing, truncated or corrupt. Arrow raises its own errors, and OSErrors without a number."""
    if isinstance(error, OSError):
        return error.errno in (None, errno.ENOENT)
    return isinstance(error, EOFError) or type(error).__module__.partition(".")[0] == "pyarrow"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
