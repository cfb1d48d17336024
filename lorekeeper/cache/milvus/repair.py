"""Damage to an embedded Milvus library: the store and its companion are compared, and either makes good for the other."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lorekeeper.cache.formats import NewerLibraryError
from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.cache.milvus.store import MilvusStore
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.repair import REPAIRED, Salvage, differences, merged
from lorekeeper.cache.sqlite.repair import readable, sound_entities
from lorekeeper.embedding.protocol import is_unit
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, MilvusConnectionError
from lorekeeper.filters import Selection

logger = logging.getLogger(__name__)

KEYS = 1024
"""Entities read in one go."""


class MilvusWorkshop:
    """Examines and rebuilds one library; one on a server can only be examined.

    Args:
        store: the library.
    """

    def __init__(self, store: MilvusStore) -> None:
        self._store = store
        self._path = store.path if isinstance(store, EmbeddedStore) else None

    def problems(self, entity_type: str) -> list[str]:
        """What is wrong with a type: it cannot be read, store and companion differ, or its vectors cannot be searched.

        Vectors are looked at where this process has the store open itself: there are too many of them to send them around.
        """
        try:
            if self._store.embedding_of(entity_type) is None:
                return []
            noted, entities = self._stored(entity_type)
            found = differences(noted, entities)
            if isinstance(self._store, EmbeddedStore) and not found:
                self._store.count(Selection(entity_type))  # brings the companion in step
                found = [f"the keyword index: {text}" for text in differences(noted, self._copied(entity_type))]
            if self._path is not None and not found and not self._is_client():
                found = self._damaged_vectors(entity_type)
            return found
        except CacheError as error:
            return [str(error)]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep all other writers out, and the store in this process."""
        if self._path is None:
            raise CacheError(
                f"the library is on the server {self._store.backend.location}, which keeps its own data; repair is for "
                "libraries on this machine"
            )
        try:
            self._store.upgrade()
        except NewerLibraryError:
            raise
        except CacheError as error:
            logger.info("%s cannot be opened: %s", self._path, error)
        with self._store.closed_lock():
            with contextlib.suppress(CacheError):
                self._store.backend.open()
            if self._is_client():
                raise MilvusConnectionError(
                    f"another process has the library {self._path} open; end it (lorekeeper doctor says which), and run "
                    "repair again"
                )
            yield

    def salvage(self) -> Salvage:
        """What the companion holds, and what only the store still has; CacheError where neither gives anything."""
        found: Salvage = {}
        for entity_type in COLLECTIONS:
            copied: list[Entity] = []
            stored: list[Entity] = []
            with contextlib.suppress(CacheError):
                copied = self._copied(entity_type)
            with contextlib.suppress(CacheError):
                noted, entities = self._stored(entity_type)
                stored = [e for e in entities if noted.get(e.identity) == e.content_hash]
            found[entity_type] = merged(entity_type, copied, stored)
        if not any(found.values()):
            raise CacheError(
                f"nothing in {self._path} can be read any more; it was left alone. Move it and {self._store.companion.path} "
                "away and run 'lorekeeper restore' with a backup, or import again"
            )
        return found

    def fresh(self) -> EmbeddedStore:
        """An empty library beside it."""
        path = self._named(REPAIRED)
        shutil.rmtree(path, ignore_errors=True)
        for part in ("", "-wal", "-shm"):
            Path(f"{_companion(path)}{part}").unlink(missing_ok=True)
        return EmbeddedStore(path, _companion(path))

    def close(self) -> None:
        """Let go of the library."""
        self._store.close()

    def exchange(self, suffix: str) -> Path:
        """Rename the folder, then its companion. In between the companion is of another store, and built anew if need be."""
        assert self._path is not None
        self._store.close()
        aside, fresh = self._named(suffix), self._named(REPAIRED)
        with contextlib.suppress(FileNotFoundError):
            self._path.replace(aside)
        fresh.replace(self._path)
        companion = self._store.companion.path
        for part in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{companion}{part}").replace(f"{_companion(aside)}{part}")
        _companion(fresh).replace(companion)
        Path(f"{_companion(fresh)}.lock").unlink(missing_ok=True)
        return aside

    def _named(self, suffix: str) -> Path:
        assert self._path is not None
        return self._path.with_name(self._path.name + suffix)

    def _stored(self, entity_type: str) -> tuple[dict[Identity, str], list[Entity]]:
        """The hashes that Milvus has for a type, and all entities it gives, whatever the companion says."""
        with self._store.collections.unverified():
            hashes = self._store.content_hashes(entity_type)
            identities = sorted(hashes)
            parts = (identities[i : i + KEYS] for i in range(0, len(identities), KEYS))
            entities = [entity for part in parts for entity in self._heads(entity_type, part)]
        return hashes, entities

    def _is_client(self) -> bool:
        """Whether another process has the library open."""
        return isinstance(self._store, EmbeddedStore) and self._store.embedded.role == "client"

    def _damaged_vectors(self, entity_type: str) -> list[str]:
        """One sentence where vectors of a type are not of length 1."""
        keys = [row["pk"] for row in self._store.collections.scan(entity_type, "part >= 0", ["pk"])]
        damaged = 0
        for start in range(0, len(keys), KEYS):
            rows = self._store.backend.get(entity_type, keys[start : start + KEYS], ["vector"])
            damaged += sum(not is_unit(np.asarray(row["vector"], dtype=np.float32)) for row in rows)
        return [f"{damaged:,} vectors are damaged"] if damaged else []

    def _heads(self, entity_type: str, identities: list[Identity]) -> list[Entity]:
        try:
            return self._store.load(entity_type, identities)
        except CacheError:
            if len(identities) == 1:
                return []
            middle = len(identities) // 2
            return self._heads(entity_type, identities[:middle]) + self._heads(entity_type, identities[middle:])

    def _copied(self, entity_type: str) -> list[Entity]:
        """All entities of a type in the companion whose bytes are what was stored."""
        path = self._store.companion.path
        if not path.exists():
            return []
        with readable(self._store.companion.file) as c:
            return sound_entities(c, entity_type)


def _companion(path: Path) -> Path:
    return path.with_name(f"{path.name}.keywords")
