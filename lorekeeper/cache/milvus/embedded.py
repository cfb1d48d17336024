"""The store of an embedded library: Milvus Lite in a folder, and its companion in an SQLite file next to it. Blocking.

The collections are the library. Reads are answered by the companion: filters, keywords and entities, and searches by meaning
from its copy of the vectors, which take a twentieth of Milvus Lite's time. If it has no current copy, Milvus Lite searches, with
the same results.

Each of the two can rebuild the other, so what the companion knows of a collection is compared with it before the collection is
used. That needs the collection in memory, so it is not repeated while the files of the collection hold what they held when it
was compared last: such a type is sealed, and Milvus Lite opens it only to write. A copy of a library is sealed as the library is.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from lorekeeper.cache.formats import OlderLibraryError, at_most, reported
from lorekeeper.cache.milvus import bundled_library
from lorekeeper.cache.milvus.backend import UnwritableError, damaged
from lorekeeper.cache.milvus.collections import Collections, Passages
from lorekeeper.cache.milvus.failover import EmbeddedBackend
from lorekeeper.cache.milvus.rows import FORMAT, REBUILT, RECORDS, CollectionInfo
from lorekeeper.cache.milvus.sharing import read_server
from lorekeeper.cache.milvus.store import Companion, MilvusStore, TypeState
from lorekeeper.cache.protocol import Identity, Progress, Ranked
from lorekeeper.cache.snapshot import once
from lorekeeper.cache.store import Chunked, require_model
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import CacheError, MilvusConnectionError, UpgradingError
from lorekeeper.filters import Selection
from lorekeeper.system import return_memory

LOOK_AGAIN_SECONDS = (0.05, 0.2, 0.8, 0.0)
"""Pauses between looks at a collection that seems to lack entities: while another thread or process flushes it, or puts a
rebuilt one in its place, it does for a moment."""

SETTLE_SECONDS, BULK_ROWS = 60.0, 128
"""How long Milvus Lite stays open after the last write, and after how many rows it is closed before another type is written: it
has all rows of the types that were written in memory."""

GRACE_SECONDS = 2.0
"""How long questions wait, all in all, until types that are compared are read as they were left."""

COPY_AGAIN_SECONDS = 60.0
"""How long nobody tries again to copy the vectors of a type after that failed."""

LOW_SPACE_BYTES = 64 * 2**20
"""Free space below which nothing more is written: Milvus Lite loses rows when the disk fills up during a flush."""


CHECKED = "checked, since its files are not as they were when it was closed last"
"""What is done with the library while types are compared, as in "the library is being opened"."""

_OPEN = {
    "server": "open in this process, which shares it",
    "alone": "open in this process, which does not share it",
    "client": "open in another process, which shares it",
    "closed": "not needed to read, and closed",
}
"""What Milvus Lite does, by the role of this process."""

END_BYTES = 2**14
"""So much of the end of a file says whether it is another one: it has all of a manifest, and what Parquet says of its columns."""

logger = logging.getLogger(__name__)


class EmbeddedStore(MilvusStore):
    """A `lorekeeper.cache.store.Store` on this machine.

    Args:
        path: folder of the library.
        companion_path: file of its companion.
        types: the types of entity that it holds.
        shared: whether other processes are served while this one has it open.
        searches_itself: whether Milvus Lite searches by meaning. Then the companion gets no copy of the vectors, and Milvus Lite
            stays open.
    """

    def __init__(
        self,
        path: Path,
        companion_path: Path,
        types: Sequence[str] | None = None,
        *,
        shared: bool = True,
        searches_itself: bool = False,
    ) -> None:
        self.path, self.searches_itself = path, searches_itself
        companion = Companion(companion_path, types)
        self.embedded = EmbeddedBackend(path, self._settle_later, shared=shared)
        collections = Collections(self.embedded, self.verify)
        self._differences: dict[str, str | None] = {}  # those that lasted, so that nobody waits for them again
        self._unusable = set[str]()
        self._described: dict[str, tuple[str, CollectionInfo]] = {}
        self._copy_after: dict[str, float] = {}
        self._grace = GRACE_SECONDS
        self._unchecked = ""
        self._written = "", BULK_ROWS + 1  # comparing may have opened all
        self._settling: threading.Timer | None = None
        super().__init__(self.embedded, collections, companion)

    # --- beginning -------------------------------------------------------------------------------------------------

    def is_new(self) -> bool:
        try:
            return not self.path.exists() and not self.companion.path.exists()
        except OSError as error:
            raise MilvusConnectionError(
                f"the library {self.path} cannot be used: {error.strerror}; check the permissions of the folders that it is in"
            ) from error

    def unpack(self, archive: ZipFile) -> bool:
        with self.closed_lock():
            return self.is_new() and self.embedded.create(lambda: bundled_library.unpack(archive, self.path))

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entity_type: str, chunked: Chunked, vectors: Vectors, embedding: str) -> None:
        last, rows = self._written
        if last != entity_type and rows > BULK_ROWS:
            self._settle()
            return_memory()
            rows = 0
        self._written = entity_type, rows + len(vectors)
        super().write(entity_type, chunked, vectors, embedding)

    def flush(self, entity_type: str) -> None:
        super().flush(entity_type)
        self._settle_later()

    def end_rebuild(self, entity_type: str) -> None:
        super().end_rebuild(entity_type)
        info = self.collections.info(entity_type)
        if info is not None and self.searches_itself:
            self.companion.seal({entity_type: (info.as_text(), "")})
        elif info is not None:
            self._copy_vectors(entity_type, info)

    def _collection(self, entity_type: str, vectors: Vectors, embedding: str) -> CollectionInfo:
        is_new = self.collections.info(entity_type) is None
        info = super()._collection(entity_type, vectors, embedding)
        if is_new and not self.searches_itself:
            self.companion.copy_vectors(entity_type, info, list)
        return info

    def _require_space(self) -> None:
        """CacheError if the disk is nearly full."""
        self.backend.open()
        free = shutil.disk_usage(self.path).free
        if free < LOW_SPACE_BYTES:
            raise CacheError(
                f"only {free // 2**20} MB are free on the disk of {self.path}; nothing was written. Free at least "
                f"{LOW_SPACE_BYTES // 2**20} MB and try again"
            )

    # --- reading ---------------------------------------------------------------------------------------------------

    def ask(self, name: str, empty: Callable[[], Any], *arguments: Any) -> Any:
        """By the companion; entries that it lacks, or has while they are written, by the collection."""
        answer = super().ask(name, empty, *arguments)
        if name == "load" and (len(answer) < len(arguments[1]) or not self.companion.state(arguments[0]).finished):
            self._openings[arguments[0]].wait()
            return self.collections.load(*arguments)
        return answer

    def rank_semantic(self, selection: Selection, vector: Vectors, limit: int, embedding: str) -> list[Ranked]:
        entity_type = selection.entity_type
        info = self._info(entity_type)
        if info is None:
            return []
        require_model(info.embedding, embedding)
        if self._ready(entity_type) and self._vectors_ready(entity_type, info, vector):
            ranking: list[Ranked] | None = self.companion.ask("rank_semantic", list, selection, vector, limit, info)
            if ranking is not None:
                return ranking
        self._openings[entity_type].wait()
        return self.collections.nearest(selection, vector, limit)

    def open(self, types: Iterable[str]) -> None:
        """Open these types, and read their vectors. Milvus Lite is opened if one of them is not sealed, and closed again."""
        if self.is_new():
            self.backend.open()
        for entity_type in types:
            info = self._info(entity_type) if self._ready(entity_type) else None
            if info is not None and self.searches_itself:
                self.backend.load_collection(entity_type)
            elif info is not None and self._vectors_ready(entity_type, info):
                self.companion.ask("matrix", list, entity_type)
        self.companion.store_matrices()
        if not self.searches_itself:
            self._settle()

    def close(self) -> None:
        self._settle()
        if self._settling:
            self._settling.cancel()
        self.companion.store_matrices()
        super().close()
        self._grace = GRACE_SECONDS

    def undeclared(self) -> dict[str, int]:
        return {} if self.is_new() else super().undeclared()

    def details(self) -> dict[str, str]:
        infos = {entity_type: self._info(entity_type) for entity_type in self.types}
        missing = [t for t, info in infos.items() if info is not None and not self.companion.has_vectors(t, info)]
        copied = f"not copied yet for {', '.join(missing)}, which Milvus Lite searches" if missing else "current"
        details = {
            "role": self.embedded.role,
            "keyword index": str(self.companion.path),
            "Milvus Lite": f"{importlib.metadata.version('milvus-lite')}, {_OPEN[self.embedded.role]}",
            "vectors": "searched by Milvus Lite, as LOREKEEPER_MILVUS_SEARCH says" if self.searches_itself else copied,
        }
        server = read_server(self.path)
        if server and self.embedded.role in ("server", "client"):
            details["served by"] = f"process {server.pid}, LoreKeeper {server.version}"
        return details

    def count_passages(self, entity_type: str) -> int:
        info = self._info(entity_type) if self._ready(entity_type) else None
        if info is None or self.companion.has_vectors(entity_type, info):
            return self.companion.count_passages(entity_type) if info else 0
        return super().count_passages(entity_type)

    # --- vectors ---------------------------------------------------------------------------------------------------

    def _vectors_ready(self, entity_type: str, info: CollectionInfo, vector: Vectors | None = None) -> bool:
        """Whether the companion has the vectors of a collection, which are copied if need be; else Milvus Lite searches."""
        if self.searches_itself or (vector is not None and len(vector) != info.dimension):
            return False
        if self.companion.has_vectors(entity_type, info):
            return True
        if info.format != FORMAT or time.monotonic() < self._copy_after.get(entity_type, 0.0):
            return False
        if self._openings[entity_type].pending:
            return False
        try:
            with self.write_lock(wait=0):
                if not self.companion.has_vectors(entity_type, info):
                    number = self.companion.ask("count", int, Selection(entity_type))
                    with reported("copying", f"the vectors of {entity_type}", number) as progress:
                        self._copy_vectors(entity_type, info, progress)
        except CacheError as error:
            logger.info("Milvus Lite searches the vectors of %s: %s", entity_type, error)
            self._copy_after[entity_type] = time.monotonic() + COPY_AGAIN_SECONDS
            return False
        return True

    def _copy_vectors(self, entity_type: str, info: CollectionInfo, progress: Progress | None = None) -> None:
        """Copy the vectors of a type from its collection. The caller holds the write lock."""
        self._require_space()
        identities = self.companion.ask("identities", list, entity_type)

        def batches() -> Iterator[Passages]:
            for batch in self.collections.passages(entity_type, identities):
                yield batch
                if progress:
                    progress(len(batch))

        self.companion.copy_vectors(entity_type, info, batches)

    # --- types that are being compared -----------------------------------------------------------------------------

    def _info(self, entity_type: str) -> CollectionInfo | None:
        return once((self, "info", entity_type), partial(self._info_now, entity_type))

    def _info_now(self, entity_type: str) -> CollectionInfo | None:
        """The description of a type's collection, as the companion has it, once the two have been compared.

        Meanwhile a question gets the one that was there when they agreed last.
        """
        if self._openings[entity_type].pending:
            if self.is_new():  # nothing is stored, and reading makes nothing
                self.embedded.require_place()
                return None
            if left := self._compared(entity_type):
                return left
        state = self.companion.state(entity_type)
        if state.sealed is None or entity_type in self._unusable:
            return self.collections.info(entity_type)
        return self._recorded(entity_type, state)

    def _compared(self, entity_type: str) -> CollectionInfo | None:
        """Open a type; if that takes longer than a question waits, or cannot be done, the description that was there before."""
        left, began = self._left(entity_type), time.monotonic()
        try:
            with at_most(self._grace) if left else contextlib.nullcontext():
                self._companion_opening.wait()
                self._openings[entity_type].wait()
            self._unchecked = ""
        except UpgradingError:
            if left is None:
                raise
        except UnwritableError as error:
            if left is None:
                raise
            self._unchecked = str(error)
        else:
            return None
        finally:
            self._grace = max(0.0, self._grace - (time.monotonic() - began))
        return left

    def _recorded(self, entity_type: str, state: TypeState) -> CollectionInfo | None:
        """The description of a type's collection that the companion has; None if there is none."""
        text = state.sealed[0] if state.sealed else ""
        if not text:
            return None
        if self._described.get(entity_type, ("",))[0] != text:
            where = f"the collection {entity_type} at {self.path}"
            self._described[entity_type] = text, CollectionInfo.parse(entity_type, text, where)
        return self._described[entity_type][1]

    def _left(self, entity_type: str) -> CollectionInfo | None:
        """The description of a collection as it was when it was sealed last, if the companion has all of it."""
        if not self.path.is_dir() or not self.companion.path.exists():
            return None
        self._companion_opening.wait()
        state = self.companion.state(entity_type)
        info = self._recorded(entity_type, state) if state.finished else None
        if info is None or info.store != state.store or not info.is_current(entity_type, FORMAT):
            return None
        return info if self.searches_itself or self.companion.has_vectors(entity_type, info) else None

    def _examine(self, entity_type: str) -> None:
        if self._is_sealed(entity_type):
            info = self._recorded(entity_type, self.companion.state(entity_type))
            if info:
                info.require_current(entity_type, FORMAT, f"the collection {entity_type} at {self.path}")
            return
        super()._examine(entity_type)
        self._unusable.discard(entity_type)
        sealed = self.companion.state(entity_type).sealed  # before the collection is looked for, as it may be created
        try:
            info = self.collections.info(entity_type)
        except UnwritableError:
            raise
        except CacheError as error:  # whoever uses the collection gets it
            logger.debug("%s cannot be used: %s", entity_type, error)
            self._unusable.add(entity_type)
            return
        if sealed and sealed[0] != (text := info.as_text() if info else ""):
            self.companion.seal_again(entity_type, sealed, text)

    def _opening(self, entity_type: str) -> str:
        return self._comparing(entity_type) or super()._opening(entity_type)

    def _comparing(self, entity_type: str = "") -> str:
        """How far comparing the types that are not sealed has got, that one or the next one included; "" if none is left."""
        with contextlib.suppress(CacheError):
            stored = [name for name in self.types if self.companion.state(name).store is not None]
            unsealed = [name for name in stored if not self._is_sealed(name)]
            left = [name for name in unsealed if self._openings[name].pending]
            if left:
                part = entity_type if entity_type in left else left[0]
                return f"{CHECKED}: {part}, {len(unsealed) - len(left) + 1} of {len(unsealed)}"
        return ""

    def pending(self) -> str:
        if self._unchecked:
            return f"The library could not be checked: {self._unchecked}. Its keyword index answers."
        comparing = self._comparing() if any(opening.under_way for opening in self._openings.values()) else ""
        return f"The library is being {comparing}. Until that is done, its keyword index answers." if comparing else ""

    # --- the state of Milvus Lite's files --------------------------------------------------------------------------

    def _is_sealed(self, entity_type: str) -> bool:
        """Whether the files of a type's collection are as they were when it and the companion agreed."""
        if not self.path.is_dir() or not self.companion.path.exists():
            return False
        try:
            sealed = self.companion.state(entity_type).sealed
        except OlderLibraryError:  # it is examined before it is used
            return False
        return sealed is not None and sealed[1] == files_state(self.path, entity_type)

    def _settle(self) -> None:
        """Compare the types that were opened here, close Milvus Lite, and seal the types that agree.

        Nothing happens while another process writes, or another thread uses it: it is tried again later, or the next process
        compares them.
        """
        if self._settling:
            self._settling.cancel()
        if self.embedded.role not in ("server", "alone"):
            return
        self._settle_later()
        if self.embedded.in_use:
            return
        with contextlib.suppress(CacheError, OSError), self._lock.hold(wait=0):
            sealed = {t: info.as_text() for t, info in self.collections.opened().items() if self._agrees(t, info)}
            for entity_type in self.types:  # of which nothing was ever stored, as both copies say
                if self.companion.state(entity_type).store is None and not self.backend.has_collection(entity_type):
                    sealed[entity_type] = ""
            self.backend.close()
            if self._settling:
                self._settling.cancel()
            states = {entity_type: files_state(self.path, entity_type) for entity_type in sealed}
            self.companion.seal({t: (sealed[t], state) for t, state in states.items() if state})
            self.collections.forget()

    def _settle_later(self) -> None:
        """Close Milvus Lite after a while; if it is used then, it is opened again."""
        if self._settling:
            self._settling.cancel()
        if self.searches_itself:
            return
        self._settling = threading.Timer(SETTLE_SECONDS, partial(copy_context().run, self._settle))
        self._settling.daemon = True
        self._settling.start()

    def _agrees(self, entity_type: str, info: CollectionInfo) -> bool:
        """Whether the companion has all that a collection has, and the next opening finishes and removes nothing."""
        state = self.companion.state(entity_type)
        finished = (state.store, state.finished) == (info.store, True)
        leftover = self.backend.has_collection(entity_type + REBUILT)
        return finished and not leftover and self._difference(entity_type, info) is None

    # --- the two copies --------------------------------------------------------------------------------------------

    def verify(self, entity_type: str, info: CollectionInfo | None) -> None:
        """MilvusSchemaError if a collection has lost entities, or got back deleted ones, as the companion shows."""
        known = self._differences.pop(entity_type, None)
        for pause in LOOK_AGAIN_SECONDS:
            difference = self._difference(entity_type, info)
            if difference is None:
                return
            if difference == known:
                break
            time.sleep(pause)
        self._differences[entity_type] = difference
        raise damaged(self.backend.location, entity_type, difference)

    def _difference(self, entity_type: str, info: CollectionInfo | None) -> str | None:
        """How a collection differs from what its companion has, in words; None if it does not."""
        before = self.companion.state(entity_type)
        if before.store is None or not before.finished or (info and info.store != before.store):
            return None
        created = self.backend.has_collection(entity_type)  # perhaps since its description was read
        copied = (
            self.companion.count_passages(entity_type) if info and self.companion.has_vectors(entity_type, info) else 0
        )
        if copied and created and self.backend.count(entity_type) == copied:
            return None  # of all rows Milvus Lite counts the keys; of those under an expression it reads each with its vector
        expected = self.companion.ask("count", int, Selection(entity_type))
        entities = self.backend.count(entity_type, RECORDS) if created else 0
        if entities == expected or self.companion.state(entity_type)[:3] != before[:3]:
            return None
        return f"it has {entities:,} of the {expected:,} entries that were stored"

    def sync_companion(self, entity_type: str, stale: Collection[Identity] = ()) -> None:
        finished = self.companion.state(entity_type).finished
        super().sync_companion(entity_type, stale)
        if not finished:
            self.verify(entity_type, self.collections.info(entity_type))


def files_state(library: Path, name: str) -> str | None:
    """A text that changes with any file of a collection, or of one that is to replace it, and is the same for a copy of them.

    It is made of the names, the sizes and the ends of the files. Milvus Lite never changes the files with rows: new rows are in
    new ones, with the numbers of their changes in the names, and how many changes there were is at the end of its manifest.
    Built indexes do not count. None if it cannot be determined.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        with os.scandir(library / bundled_library.COLLECTIONS) as collections:
            own = [each for each in collections if each.name.partition("__")[0] == name and each.is_dir()]
        for path, file in sorted(
            item for collection in own for item in _files(collection, (bundled_library.COLLECTIONS,))
        ):
            with Path(file).open("rb", buffering=0) as content:
                size = content.seek(0, os.SEEK_END)
                content.seek(max(0, size - END_BYTES))
                end = hashlib.blake2b(content.read(), digest_size=16).hexdigest()
            digest.update(f"{'/'.join(path)}|{size}|{end}\n".encode(errors="surrogateescape"))
    except OSError:  # there is no such folder, or a file was removed meanwhile
        return None
    return digest.hexdigest()


def _files(folder: os.DirEntry[str], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The files within a folder, each by its names below the library, with its path; without built indexes."""
    path = (*above, folder.name)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry, path)
            elif folder.name != bundled_library.INDEXES and entry.is_file():
                yield (*path, entry.name), entry.path
