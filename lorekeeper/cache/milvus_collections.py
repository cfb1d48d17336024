"""The collections of one library in Milvus: made, described, swapped and scanned. Blocking."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lorekeeper.cache import milvus_schema as ms
from lorekeeper.cache.milvus_connection import MilvusConnection
from lorekeeper.cache.milvus_schema import Row
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError

logger = logging.getLogger(__name__)

INFO_SECONDS = 5.0
"""How long what was read of a collection's description is relied on: another process may reindex."""

SWAP_SECONDS = 10.0
"""Longest time in which a rebuilt collection takes the place of the old one."""

UNITED_ROWS = 128
"""Rows a call when rows are written again."""

REBUILT = "__reindex"
"""Suffix of a collection that is being filled to take the place of the one without it."""


@dataclass(frozen=True)
class CollectionInfo:
    """What a collection says of itself.

    Attributes:
        store: random id, kept when the collection is rebuilt; ties the keyword index to it.
        embedding: fingerprint of the model and the chunker.
        dimension: of its vectors.
    """

    store: str
    embedding: str
    dimension: int


class MilvusCollections:
    """The collections behind one connection, loaded and ready."""

    def __init__(self, connection: MilvusConnection) -> None:
        self.connection = connection
        self._infos: dict[str, tuple[int, float, CollectionInfo]] = {}
        connection.when_owned = self._recover
        self.examine: Callable[[str, CollectionInfo | None], None] = lambda _entity_type, _info: None
        """Called with what was found of a type before it is relied on; raises where it cannot be."""

    def info(self, entity_type: str) -> CollectionInfo | None:
        """What the collection of a type says of itself, loaded; None where nothing was stored yet."""
        generation, now = self.connection.open(), time.monotonic()
        known = self._infos.get(entity_type)
        if known and known[0] == generation and now - known[1] < INFO_SECONDS:
            return known[2]
        try:
            info = self._described(entity_type) if self._exists(entity_type) else None
            if info is None:
                self.examine(entity_type, None)
                return None
            if known is None or known[0] != generation or known[2] != info:
                self._load(entity_type)
                self._infos[entity_type] = generation, now, info
                self.examine(entity_type, info)
        except CacheError as error:
            self._infos.pop(entity_type, None)
            if self.connection.path is None or isinstance(error, (MilvusConnectionError, MilvusSchemaError)):
                raise
            raise damaged(self.connection.location, entity_type, error) from error
        self._infos[entity_type] = generation, now, info
        return info

    def _exists(self, entity_type: str) -> bool:
        """Whether a type has a collection; waits while a rebuilt one takes its place."""
        deadline = time.monotonic() + SWAP_SECONDS
        while not self.connection.call("has_collection", entity_type):
            if time.monotonic() > deadline or not self.connection.call("has_collection", entity_type + REBUILT):
                return False
            time.sleep(0.05)
        return True

    def create(self, entity_type: str, embedding: str, dimension: int) -> CollectionInfo:
        """Make the collection of a type that has none."""
        info = CollectionInfo(uuid.uuid4().hex, embedding, dimension)
        self.make(entity_type, entity_type, info)
        return info

    def make(self, name: str, entity_type: str, info: CollectionInfo) -> None:
        """Create and load an empty collection; one of that name that was left half filled is dropped first."""
        if self.connection.call("has_collection", name):
            self.connection.call("drop_collection", name)
        said = json.dumps(
            {"format": ms.FORMAT, "store": info.store, "embedding": info.embedding, "dimension": info.dimension}
        )
        columns = ms.columns(COLLECTIONS[entity_type], info.dimension)
        self.connection.call("create_collection", name, columns, said)

    def swap(self, entity_type: str) -> None:
        """Let the rebuilt collection take the place of the old one; `_recover` finishes it if the process ends between."""
        fresh = entity_type + REBUILT
        self.connection.call("flush", fresh)
        self.connection.call("release_collection", fresh)
        self.connection.call("drop_collection", entity_type)
        self.connection.call("rename_collection", fresh, entity_type)
        self.connection.call("load_collection", entity_type)
        self._infos.pop(entity_type, None)

    def scan(self, entity_type: str, test: str, fields: list[str]) -> list[Row]:
        """All rows under a filter, however many."""
        if self.info(entity_type) is None:
            return []
        rows: list[Row] = self.connection.call("query", entity_type, test, fields)
        return rows

    def count(self, entity_type: str, test: str = "") -> int:
        """Number of rows under a filter."""
        return 0 if self.info(entity_type) is None else int(self.connection.call("count", entity_type, test))

    def _described(self, entity_type: str) -> CollectionInfo:
        location = self.connection.location
        try:
            said = json.loads(self.connection.call("description", entity_type))
            version, info = said["format"], CollectionInfo(said["store"], said["embedding"], said["dimension"])
        except (ValueError, KeyError, TypeError) as error:
            raise MilvusSchemaError(
                f"the collection {entity_type} at {location} was not made by LoreKeeper; use another database"
            ) from error
        if version != ms.FORMAT:
            raise MilvusSchemaError(
                f"the collection {entity_type} at {location} has format {version}, this version of LoreKeeper reads "
                f"{ms.FORMAT}; import again into a new library, or use the version that made it"
            )
        return info

    def _recover(self) -> None:
        """On becoming the owner: finish what a process that died left behind, load everything, flush what it had not.

        A collection that cannot be read is left alone: whoever asks for it is told.
        """
        for entity_type in COLLECTIONS:
            fresh = entity_type + REBUILT
            try:
                names = {name for name in (entity_type, fresh) if self.connection.call("has_collection", name)}
                if names == {fresh, entity_type}:
                    self.connection.call("drop_collection", fresh)
                elif fresh in names:
                    self.connection.call("rename_collection", fresh, entity_type)
                if names:
                    log_left = self._log_left(names)
                    self._load(entity_type)
                    self.connection.call("flush", entity_type)
                    if log_left:
                        self._unite(entity_type)
            except MilvusConnectionError:
                raise
            except CacheError as error:
                logger.info("%s cannot be opened: %s", entity_type, error)

    def _log_left(self, names: set[str]) -> bool:
        """Whether a collection's last owner left a log behind, as one does that was killed."""
        folder = self.connection.path
        return folder is not None and any(any((folder / "collections" / n / "wal").glob("*")) for n in names)

    def _unite(self, entity_type: str) -> None:
        """Write rows again that are there twice, which replaces both.

        Milvus Lite reads its log again where an owner was killed between the end of a flush and the end of its log. It
        knows rows that it has already by their number, but not when a compaction has put them into another file meanwhile.
        Nobody else can write yet: this process has only just become the owner.
        """
        keys = Counter(row["pk"] for row in self.connection.call("query", entity_type, "", ["pk"]))
        twice = [key for key, number in keys.items() if number > 1]
        info = self._described(entity_type)
        fields = [column.name for column in ms.columns(COLLECTIONS[entity_type], info.dimension)]
        for start in range(0, len(twice), UNITED_ROWS):
            rows = self.connection.call("get", entity_type, twice[start : start + UNITED_ROWS], fields)
            latest = {row["pk"]: {**row, "vector": np.asarray(row["vector"], dtype=np.float32)} for row in rows}
            self.connection.call("upsert", entity_type, list(latest.values()))
        if twice:
            logger.info("%d rows of %s were there twice", len(twice), entity_type)
            self.connection.call("flush", entity_type)

    def _load(self, entity_type: str) -> None:
        """Load a collection; an index file that was cut off while it was written is made anew from the rows."""
        try:
            self.connection.call("load_collection", entity_type)
        except MilvusConnectionError:
            raise
        except CacheError:
            if self.connection.path is None:
                raise
            for index in (self.connection.path / "collections" / entity_type).rglob("*.idx"):
                index.unlink()
            self.connection.call("load_collection", entity_type)


def damaged(location: str, entity_type: str, reason: object) -> MilvusSchemaError:
    """The error for a collection that cannot be read, or has lost entries."""
    return MilvusSchemaError(
        f"the library {location} is damaged: its {entity_type} cannot be relied on ({reason}). Run 'lorekeeper repair': "
        "it puts the library aside and keeps all that can still be read. Other types go on working"
    )
