"""The store of an embedded library: Milvus Lite in a folder, and its companion in a SQLite file beside it. Blocking.

Structured questions are answered by the companion, ten times sooner than by Milvus Lite, and entities are read from it in half
the time. Each of the two copies can rebuild the other, so what the companion knows of a collection is compared with it before
the collection is used.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from zipfile import ZipFile

from lorekeeper.cache.formats import Normalized
from lorekeeper.cache.milvus.backend import damaged
from lorekeeper.cache.milvus.collections import Collections
from lorekeeper.cache.milvus.companion import Companion
from lorekeeper.cache.milvus.description import CollectionInfo
from lorekeeper.cache.milvus.expressions import RECORDS
from lorekeeper.cache.milvus.sharing.discovery import read_server
from lorekeeper.cache.milvus.store import MilvusStore
from lorekeeper.cache.milvus.takeover import EmbeddedBackend
from lorekeeper.cache.protocol import Identity, Ranked, Statistics
from lorekeeper.cache.store import Chunked
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.order import BY_NAME, Order
from lorekeeper.text.keywords import KeywordQuery

LOOK_AGAIN_SECONDS = (0.05, 0.2, 0.8, 0.0)
"""Pauses between looks at a collection that seems to lack entities: while another thread or process flushes it, or puts an
upgraded one in its place, it does for a moment."""

LOW_SPACE_BYTES = 64 * 2**20
"""Free space below which nothing more is written: Milvus Lite loses rows when the disk fills up during a flush."""


class EmbeddedStore(MilvusStore):
    """A `lorekeeper.cache.store.Store` on this machine.

    Args:
        path: folder of the library.
        companion_path: file of its companion.
        normalized: gives the filter values that follow from an entity's data, for an upgrade.
        types: the types of entity that it holds.
    """

    def __init__(
        self, path: Path, companion_path: Path, normalized: Normalized, types: Sequence[str] | None = None
    ) -> None:
        self.path = path
        self.embedded = EmbeddedBackend(path)
        collections = Collections(self.embedded, self.verify)
        self._differences: dict[str, str | None] = {}  # those that lasted, so that nobody waits for them again
        companion = Companion(companion_path, types)
        super().__init__(self.embedded, collections, companion, normalized)

    # --- beginning -------------------------------------------------------------------------------------------------

    def is_new(self) -> bool:
        return not self.path.exists() and not self.companion.path.exists()

    def unpack(self, archive: ZipFile) -> bool:
        from lorekeeper.cache.milvus.ready import unpack

        with self.closed_lock():
            return self.is_new() and self.embedded.create(lambda: unpack(archive, self.path))

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entity_type: str, chunked: Chunked, vectors: Vectors, embedding: str) -> None:
        self._require_space()
        super().write(entity_type, chunked, vectors, embedding)

    def flush(self, entity_type: str) -> None:
        self._require_space()
        with self.write_lock():
            self.collections.flush(entity_type)
            self._note_rows(entity_type)

    def end_rebuild(self, entity_type: str) -> None:
        super().end_rebuild(entity_type)
        self._note_rows(entity_type)

    def _remove(self, entity_type: str, identities: Sequence[Identity]) -> int:
        removed = super()._remove(entity_type, identities)
        if removed:
            self._note_rows(entity_type)
        return removed

    def _upgrade_collection(self, entity_type: str) -> None:
        try:
            super()._upgrade_collection(entity_type)
        except CacheError:
            self.collections.drop_upgraded(entity_type)  # which gives back the space that it took
            raise
        self._note_rows(entity_type)

    def _note_rows(self, entity_type: str) -> None:
        """Note how many rows there are: to compare that on opening takes a hundredth of the time of counting entities."""
        self.companion.note_rows(entity_type, self.collections.count_rows(entity_type))

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

    def find(self, selection: Selection, limit: int | None, offset: int, order: Order = BY_NAME) -> list[Identity]:
        ready = self._companion_ready(selection.entity_type)
        return self.companion.find(selection, limit, offset, order) if ready else []

    def count(self, selection: Selection) -> int:
        return self.companion.count(selection) if self._companion_ready(selection.entity_type) else 0

    def count_by(self, entity_type: str, column: str) -> dict[str, int]:
        return self.companion.count_by(entity_type, column) if self._companion_ready(entity_type) else {}

    def load(self, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        info = self._info(entity_type)
        copies = self.companion.copies(entity_type, info.store, identities) if info else []
        if copies is None or len(copies) < len(identities):
            return self.collections.load(entity_type, identities)
        return copies

    def rank_keyword(self, selection: Selection, query: KeywordQuery, limit: int) -> list[Ranked]:
        ready = self._companion_ready(selection.entity_type)
        return self.companion.rank_keyword(selection, query, limit) if ready else []

    def statistics(self) -> Statistics:
        kinds = {entity_type: self.count_by(entity_type, "kind_name") for entity_type in self.types}
        details = {"role": self.embedded.role, "keyword index": str(self.companion.path)}
        if self.embedded.role == "server":
            from lorekeeper.cache.milvus.lite import status

            details["Milvus Lite"] = status()
        server = read_server(self.path)
        if server:
            details["served by"] = f"process {server.pid}, LoreKeeper {server.version}"
        return self._statistics(kinds, details)

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
        before = self.companion.version_mark(entity_type)
        store, finished = self.companion.state(entity_type)
        if store is None or not finished or (info and info.store != store):
            return None
        if info and self.companion.rows(entity_type) == self.backend.count(entity_type):
            return None
        expected = self.companion.count(Selection(entity_type))
        created = self.backend.has_collection(entity_type)  # perhaps since its description was read
        entities = self.backend.count(entity_type, RECORDS) if created else 0
        if entities == expected or self.companion.version_mark(entity_type) != before:
            return None
        return f"it has {entities:,} of the {expected:,} entries that were stored"

    def _sync_companion(self, entity_type: str, stale: Collection[Identity] = ()) -> None:
        _, finished = self.companion.state(entity_type)
        super()._sync_companion(entity_type, stale)
        if not finished:
            self.verify(entity_type, self.collections.info(entity_type))
