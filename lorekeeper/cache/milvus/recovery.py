"""Crash recovery for the embedded store, per collection, on first access."""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lorekeeper.cache.milvus.backend import Backend, Known, Operation, perform
from lorekeeper.cache.milvus.schema import REBUILT, UPGRADED, type_of

if TYPE_CHECKING:
    from lorekeeper.cache.milvus.lite import Engine

logger = logging.getLogger(__name__)

T = TypeVar("T")

ROWS_PER_CALL = 128
"""Most rows that are rewritten at once."""


class RecoveredEngine(Backend):
    """An engine whose collections are recovered and loaded when they are first used, each under a lock of its own.

    A collection that cannot be read is left alone: the call that needs it fails.

    Args:
        engine: the store that this process owns; no other process can write to it meanwhile.
        known: what is known of the collections before they are opened.
    """

    def __init__(self, engine: Engine, known: Known) -> None:
        self._engine = engine
        self._known = known
        self._recovering = defaultdict[str, threading.Lock](threading.Lock)
        self._recovered: set[str] = set()

    def call(self, operation: Operation[T], *arguments: object) -> T:
        """Perform an operation, once the type of the collection that it is about is recovered."""
        if arguments:
            self._recover(type_of(str(arguments[0])))
        return perform(self._engine, operation, arguments)

    def close(self) -> None:
        self._engine.close()

    def _recover(self, entity_type: str) -> None:
        if entity_type in self._recovered:
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
        """Finish or undo an interrupted rebuild; an interrupted upgrade continues from the rows that are copied."""
        for suffix in (REBUILT, UPGRADED):
            replacement = entity_type + suffix
            if self._engine.has_collection(replacement):
                if not self._engine.has_collection(entity_type):
                    self._engine.rename_collection(replacement, entity_type)
                elif suffix == REBUILT:
                    self._engine.drop_collection(replacement)

    def _open(self, entity_type: str) -> None:
        """Load a collection; if the last process did not close it, flush what that has left."""
        unchanged, rows = self._known.unchanged(entity_type), self._known.rows(entity_type)
        self._engine.load_collection(entity_type)
        if not unchanged:
            self._engine.flush(entity_type)
            if rows != self._engine.count(entity_type):
                self._remove_duplicates(entity_type)

    def _remove_duplicates(self, entity_type: str) -> None:
        """Rewrite rows that are stored twice, which replaces both.

        Milvus Lite reads its log again if the last process was killed between the end of a flush and the end of its log. It
        recognizes rows that it has already by their number, but not if a compaction has moved them to another file meanwhile.
        """
        keys = Counter(row["pk"] for row in self._engine.query(entity_type, "", ["pk"]))
        duplicates = [key for key, number in keys.items() if number > 1]
        fields = self._engine.columns(entity_type)
        for start in range(0, len(duplicates), ROWS_PER_CALL):
            rows = self._engine.get(entity_type, duplicates[start : start + ROWS_PER_CALL], fields)
            latest = {row["pk"]: {**row, "vector": np.asarray(row["vector"], dtype=np.float32)} for row in rows}
            self._engine.upsert(entity_type, list(latest.values()))
        if duplicates:
            logger.info("%d rows of %s were stored twice", len(duplicates), entity_type)
            self._engine.flush(entity_type)
