"""The operations on collections, declared once, for Milvus Lite, the layers around it, and a Milvus server."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Any, Generic, TypeVar, cast

from lorekeeper.cache.formats import RENEW
from lorekeeper.cache.milvus.rows import FORMAT, Column, Row
from lorekeeper.cache.repair import ADVICE
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import MilvusConnectionError, MilvusSchemaError
from lorekeeper.printable import MAX_SHOWN, one_line

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


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


def _operation(answer: type[object] | tuple[type[object], ...] = object, *, examines: bool = False) -> Callable[[F], F]:
    """Declares a method of `Backend` to be an operation, which `call` performs; see `Operation`."""

    def declared(method: F) -> F:
        operation: Operation[Any] = Operation(method.__name__, answer, examines)
        OPERATIONS[operation.name] = operation

        @wraps(method)
        def called(backend: Backend, *arguments: object) -> Any:
            return backend.call(operation, *arguments)

        return cast(F, called)

    return declared


class Backend:
    """Collections of rows with vectors. Blocking, and safe to use from several threads.

    A layer over another backend, as sharing is, overrides `call` alone; a store overrides the methods. Every operation
    may be repeated without further effect. Expressions are Milvus filter expressions, "" for all rows.
    """

    def call(self, operation: Operation[T], *arguments: object) -> T:
        """The answer to an operation, which a layer gets from the backend below, a store by its method of that name."""
        answer: T = getattr(self, operation.name)(*arguments)
        return answer

    @_operation(list)
    def list_collections(self) -> list[str]:
        """Names of all collections."""
        raise NotImplementedError

    @_operation(bool, examines=True)
    def has_collection(self, name: str) -> bool:
        """Whether there is a collection of that name."""
        raise NotImplementedError

    @_operation((str, NoneType), examines=True)
    def description(self, name: str) -> str | None:
        """The description that a collection was created with."""
        raise NotImplementedError

    @_operation()
    def create_collection(self, name: str, columns: Sequence[Column], description: str) -> None:
        """Create and load a collection; columns may come as sequences of their attributes, from other processes."""
        raise NotImplementedError

    @_operation(examines=True)
    def load_collection(self, name: str) -> None:
        """Make a collection ready to be read; an error of an embedded library means that it is damaged."""
        raise NotImplementedError

    @_operation()
    def release_collection(self, name: str) -> None:
        """Undo `load_collection`."""
        raise NotImplementedError

    @_operation()
    def drop_collection(self, name: str) -> None:
        """Delete a collection with all its rows."""
        raise NotImplementedError

    @_operation()
    def rename_collection(self, name: str, new_name: str) -> None:
        """Rename a released collection."""
        raise NotImplementedError

    @_operation()
    def flush(self, name: str) -> None:
        """Called after the last of several writes, which are durable and visible even without it."""
        raise NotImplementedError

    @_operation(list)
    def search(self, name: str, vector: Vectors, expression: str, limit: int, fields: Sequence[str]) -> list[Row]:
        """The rows nearest to a vector `(dim,) float32` under an expression, best first.

        Each has its "pk", its cosine similarity (-1 to 1) as "distance", and the fields.
        """
        raise NotImplementedError

    @_operation(list)
    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """The rows of those keys that exist, each with its "pk" and the fields."""
        raise NotImplementedError

    @_operation(list)
    def query(self, name: str, expression: str, fields: Sequence[str]) -> list[Row]:
        """All rows under an expression, however many."""
        raise NotImplementedError

    @_operation(int)
    def count(self, name: str, expression: str = "") -> int:
        """Number of rows under an expression."""
        raise NotImplementedError

    @_operation()
    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows, replacing those of equal "pk"; vectors are `(dim,) float32`."""
        raise NotImplementedError

    @_operation()
    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Delete the rows of these keys."""
        raise NotImplementedError

    def close(self) -> None:
        """Release all files and connections."""
        raise NotImplementedError


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
