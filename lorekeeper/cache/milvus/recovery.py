"""Putting right what the last owner of an embedded store left behind: type by type, before anything else is asked of it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lorekeeper.cache.milvus.schema import columns
from lorekeeper.entities import COLLECTIONS

if TYPE_CHECKING:
    from lorekeeper.cache.milvus.lite import Engine

logger = logging.getLogger(__name__)

REBUILT = "__reindex"
"""Suffix of a collection that is being filled to take the place of the one without it."""

UNITED_ROWS = 128
"""Rows a call when rows are written again."""


class RecoveredEngine:
    """An engine whose collections are recovered and loaded when they are first asked for, each under a lock of its own.

    `milvus_connection.Backend` says what its methods do. A collection that cannot be read is left alone: whoever asks for it
    is told.

    Args:
        engine: the store that this process owns; nobody else can write to it meanwhile.
        path: its folder.
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._recovering = {entity_type: threading.Lock() for entity_type in COLLECTIONS}
        self._recovered: set[str] = set()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        asked = getattr(self._engine, method)

        def ask(name: str, *args: Any) -> Any:
            self._recover(name.removesuffix(REBUILT))
            return asked(name, *args)

        return ask

    def list_collections(self) -> list[str]:
        return self._engine.list_collections()

    def close(self) -> None:
        self._engine.close()

    def _recover(self, entity_type: str) -> None:
        if entity_type in self._recovered or entity_type not in COLLECTIONS:
            return
        with self._recovering[entity_type]:
            if entity_type not in self._recovered:
                try:
                    self._finish_swap(entity_type)
                    if self._engine.has_collection(entity_type):
                        self._open(entity_type)
                except Exception as error:  # the engine's errors have no common base
                    logger.info("%s cannot be opened: %s", entity_type, error)
                self._recovered.add(entity_type)

    def _finish_swap(self, entity_type: str) -> None:
        """Finish, or take back, what was being rebuilt."""
        fresh = entity_type + REBUILT
        if self._engine.has_collection(fresh):
            if self._engine.has_collection(entity_type):
                self._engine.drop_collection(fresh)
            else:
                self._engine.rename_collection(fresh, entity_type)

    def _open(self, entity_type: str) -> None:
        """Load a collection, and flush what the last owner had not."""
        log_left = any((self._path / "collections" / entity_type / "wal").glob("*"))
        try:
            self._engine.load_collection(entity_type)
        except Exception as error:  # an index file that was cut off while it was written is made anew from the rows
            logger.info("%s cannot be loaded, its index is made anew: %s", entity_type, error)
            for index in (self._path / "collections" / entity_type).rglob("*.idx"):
                index.unlink()
            self._engine.load_collection(entity_type)
        self._engine.flush(entity_type)
        if log_left:
            self._unite(entity_type)

    def _unite(self, entity_type: str) -> None:
        """Write rows again that are there twice, which replaces both.

        Milvus Lite reads its log again where an owner was killed between the end of a flush and the end of its log. It
        knows rows that it has already by their number, but not when a compaction has put them into another file meanwhile.
        """
        keys = Counter(row["pk"] for row in self._engine.query(entity_type, "", ["pk"]))
        twice = [key for key, number in keys.items() if number > 1]
        fields = [column.name for column in columns(COLLECTIONS[entity_type], 0)]
        for start in range(0, len(twice), UNITED_ROWS):
            rows = self._engine.get(entity_type, twice[start : start + UNITED_ROWS], fields)
            latest = {row["pk"]: {**row, "vector": np.asarray(row["vector"], dtype=np.float32)} for row in rows}
            self._engine.upsert(entity_type, list(latest.values()))
        if twice:
            logger.info("%d rows of %s were there twice", len(twice), entity_type)
            self._engine.flush(entity_type)
