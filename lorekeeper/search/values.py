"""The values that fields have in a library: how often each occurs, and which one a misspelt value stands for."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lorekeeper.cache.protocol import Documents, SearchCache, ValueCounts
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN

MAX_AGE_SECONDS = 10.0
"""How long counts are used before they are taken again."""

MAX_KEPT = 64
"""Most counts that are kept: all fields of a library over all documents are fewer, and scopes of documents come and go."""

SIMILAR = 0.6
"""Least similarity (difflib's ratio, 0 to 1) at which a value is taken for a misspelling of another."""


async def known_values(cache: SearchCache, entity_type: str, field: str, document: Documents = None) -> ValueCounts:
    """The values of a filter field of a type, within documents if some are given.

    Raises:
        FilterError: the type has no such field.
        CacheError: the library cannot be read.
    """
    return await cache.count_values(entity_type, field, document)


def nearest(value: object, known: Iterable[object]) -> str | None:
    """The known text that a value is probably a misspelling of, None if none is similar.

    A known value that contains the words of the other, or whose words are among the other's, counts as similar:
    "light armor" is near to "light".
    """
    wanted = fold(str(value))[:MAX_SHOWN]
    folded = {fold(str(other)): str(other) for other in known if isinstance(other, str)}
    close = difflib.get_close_matches(wanted, folded, n=1, cutoff=SIMILAR)
    if close:
        return folded[close[0]]
    words = set(wanted.split())
    shared = [other for other in folded if words and (words <= set(other.split()) or set(other.split()) <= words)]
    return folded[min(shared, key=len)] if shared else None


@dataclass(frozen=True)
class _Counted:
    """Counts, and when they were taken on the monotonic clock."""

    counts: ValueCounts
    taken_at: float


class ValueRegistry:
    """`known_values` of one cache, each kept for `MAX_AGE_SECONDS`, the latest `MAX_KEPT` of them."""

    def __init__(self, cache: SearchCache) -> None:
        self._cache = cache
        self._counted: dict[tuple[str, str, tuple[str, ...] | None], _Counted] = {}
        self._lock = asyncio.Lock()

    async def known(self, entity_type: str, field: str, documents: Sequence[str] | None = None) -> ValueCounts:
        """The values of a field over documents, by default all; see `known_values`."""
        key = (entity_type, field, None if documents is None else tuple(documents))
        async with self._lock:
            counted = self._counted.get(key)
            if counted is None or time.monotonic() - counted.taken_at > MAX_AGE_SECONDS:
                counts = await known_values(self._cache, entity_type, field, documents)
                self._counted.pop(key, None)
                counted = self._counted[key] = _Counted(counts, time.monotonic())
                if len(self._counted) > MAX_KEPT:
                    del self._counted[next(iter(self._counted))]
            return counted.counts
