"""What a backend does in threads: the blocking half of a cache. `ThreadedCache` makes a cache of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol
from zipfile import ZipFile

from filelock import FileLock, Timeout

from lorekeeper.cache.protocol import Identity, Ranked, Statistics
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, EmbeddingError
from lorekeeper.filters import Selection
from lorekeeper.system import PRIVATE_FILE, keep_private, private_folder
from lorekeeper.text.passages import Passage

Chunked = list[tuple[Entity, list[Passage]]]
"""Entities with their passages."""

WRITE_WAIT_SECONDS = 600.0


class Store(Protocol):
    """One library. All methods block; each may raise CacheError, and is safe in several threads and processes.

    ``embedding`` is the fingerprint of model and chunker that vectors were made with.
    """

    backend_name: str
    """As in the setting."""

    types: Sequence[str]
    """The types of entity that it holds."""

    reads_in_turn: bool = True
    """Whether reads wait for each other, so that threads of their own gain them nothing."""

    _lock: WriteLock

    def embedding_of(self, entity_type: str) -> str | None:
        """What a type's vectors were made with, None if nothing was stored yet."""
        ...

    def version(self, entity_type: str) -> object:
        """A value that changes whenever a type has changed; of a server some seconds later if another machine wrote."""
        ...

    def write_lock(self, wait: float = WRITE_WAIT_SECONDS) -> AbstractContextManager[None]:
        """One writer at a time, over all threads and processes; CacheError after ``wait`` seconds."""
        ...

    def settle(self) -> None:
        """Open the library now; from then on it is used as it is, even if it is damaged or of an earlier format.

        Raises:
            NewerLibraryError: it is of a later one.
        """
        return

    def closed_lock(self) -> AbstractContextManager[None]:
        """The same lock, without opening the library: for the repair of one that cannot be opened."""
        return self._lock.hold()

    def is_new(self) -> bool:
        """Whether there is no library yet, and `unpack` can make it; opens nothing."""
        return False

    def unpack(self, _archive: ZipFile) -> bool:
        """Make the library from the archive of a ready one, unless there is one by now; whether it did.

        Raises:
            OSError: it cannot be written; there is none then.
            CacheError: another process is writing to it.
        """
        return False

    def write(self, entity_type: str, chunked: Chunked, vectors: Vectors, embedding: str) -> None:
        """Store entities with the vectors of all their passages, in order; EmbeddingError for another model's."""
        ...

    def flush(self, entity_type: str) -> None:  # noqa: ARG002
        """Called after the last of several writes; nothing to do where each is durable when it returns."""
        return

    def delete_document(self, entity_type: str, document: str) -> int:
        """Remove a document's entities; returns how many."""
        ...

    def delete_entities(self, entity_type: str, identities: Sequence[Identity]) -> int:
        """Remove entities by identity; returns how many there were."""
        ...

    def begin_rebuild(self, entity_type: str, embedding: str, dimension: int) -> bool:
        """Begin to rebuild all vectors of a type beside the old ones; False if it has none. The caller holds the lock."""
        ...

    def rebuild(self, entity_type: str, chunked: Chunked, vectors: Vectors) -> None:
        """Add new vectors to those of the rebuild."""
        ...

    def end_rebuild(self, entity_type: str) -> None:
        """Replace the old vectors by the new ones."""
        ...

    # --- reading ----------------------------------------------------------------------------------------------------

    def ask(self, name: str, empty: Callable[[], Any], *arguments: Any) -> Any:
        """What the method of a name of `sqlite.catalogue.Catalogue` answers; ``empty`` makes it of a type without entities.

        The first of the arguments says which type: its name, or a selection.
        """
        ...

    def rank_semantic(self, selection: Selection, vector: Vectors, limit: int, embedding: str) -> list[Ranked]:
        """The entities whose best passage is nearest to a vector; EmbeddingError for another model's."""
        ...

    def count_passages(self, entity_type: str) -> int:
        """Number of passages of a type."""
        ...

    def details(self) -> dict[str, str]:
        """Further facts for people, by label."""
        ...

    def pending(self) -> str:
        """What is still done with the library, and answers meanwhile, as a sentence for people; "" if nothing is."""
        return ""

    def statistics(self) -> Statistics:
        """Counts, sizes, model."""
        kinds = {entity_type: self.ask("count_by", dict, entity_type, "kind_name") for entity_type in self.types}
        return Statistics(
            backend=self.backend_name,
            location=self._lock.location,
            counts={entity_type: sum(kinds[entity_type].values()) for entity_type in self.types},
            kinds=kinds,
            passages={entity_type: self.count_passages(entity_type) for entity_type in self.types},
            embedding=", ".join(sorted(set(filter(None, map(self.embedding_of, self.types))))) or None,
            details=self.details(),
        )

    def undeclared(self) -> dict[str, int]:
        """How many entities there are of types that only another program declares, by type; nothing else here touches them."""
        ...

    def open(self, types: Iterable[str]) -> None:
        """Open the store and these types now; else each opens at first use."""
        ...

    def packed_vectors(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Vectors that the library can give to the embedding cache: rows of `VectorCache.add`, in batches."""
        return iter(())

    def close(self) -> None:
        """Release everything; the next use opens it again."""
        ...


class WriteLock:
    """One writer at a time, over all threads and processes of a machine.

    Args:
        path: the lock's file.
        location: what is locked, for messages.
    """

    def __init__(self, path: Path, location: str) -> None:
        self._path, self.location = path, location
        self._threads = threading.Lock()
        self._file = FileLock(path, mode=PRIVATE_FILE, thread_local=False)

    @contextmanager
    def hold(self, wait: float = WRITE_WAIT_SECONDS) -> Iterator[None]:
        """Wait for the others; CacheError after ``wait`` seconds, or if nothing can be written there."""
        busy = CacheError(
            f"timed out after {wait:.0f} s: another process is writing to {self.location}; wait for it to finish, or end it"
        )
        if not self._threads.acquire(timeout=wait):
            raise busy
        try:
            try:
                private_folder(self._path.parent)
                keep_private(self._path)
                self._file.acquire(timeout=wait)
            except Timeout as error:
                raise busy from error
            except OSError as error:
                raise CacheError(
                    f"{self.location} cannot be written: {error.strerror or error}; free space, or make its folder writable"
                ) from error
            try:
                yield
            finally:
                self._file.release()
        finally:
            self._threads.release()


def require_model(made_with: str | None, embedding: str) -> None:
    """EmbeddingError if vectors were made with another model than the current one."""
    if made_with not in (None, embedding):
        raise EmbeddingError(
            f"this library's vectors were made with {made_with}, but the current model is {embedding}. "
            "Run 'lorekeeper reindex' to embed everything again, or set LOREKEEPER_EMBEDDING_MODEL back"
        )


def require_dimension(stored: int | None, vectors: Vectors) -> None:
    """EmbeddingError if vectors have another dimension than those of the library: they could not be compared."""
    if stored not in (None, vectors.shape[1]):
        raise EmbeddingError(
            f"this library's vectors have {stored} numbers, but the current model makes {vectors.shape[1]}. "
            "Run 'lorekeeper reindex' to embed everything again, or set LOREKEEPER_EMBEDDING_MODEL back"
        )
