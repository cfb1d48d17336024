"""The store of a library on a Milvus server, and its companion on this machine. Blocking.

Structured questions are answered by the server: other machines may have written a moment ago. So are words, if it has BM25;
names are compared here, with a companion that follows the server now and then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from lorekeeper.cache.milvus.collections import Collections
from lorekeeper.cache.milvus.server import MilvusServer, rank_words
from lorekeeper.cache.milvus.store import Companion, MilvusStore
from lorekeeper.cache.protocol import Identity, type_of

COMPARE_SECONDS = 30.0
"""How long the companion is relied on before it is compared with what other machines have written."""

VERSION_SECONDS = 5.0
"""How long a type is taken to be unchanged if nothing on this machine has changed it."""

COMPARE_SHARE = 20
"""The same as a multiple of the time that a comparison takes, if that is longer."""


SERVED = frozenset({"find", "count", "count_by", "identities", "content_hashes", "load"})
"""What the server is asked for."""


class RemoteStore(MilvusStore):
    """A `lorekeeper.cache.store.Store` on a Milvus server.

    Args:
        uri: its address.
        token: its token, or ``user:password``.
        companion_path: file of the companion.
        types: the types of entity that it holds.
        index: see `MilvusServer`.
    """

    reads_in_turn = False

    def __init__(
        self,
        uri: str,
        token: str | None,
        companion_path: Path,
        types: Sequence[str] | None = None,
        index: str = "FLAT",
    ) -> None:
        self.server = MilvusServer(uri, token, index)
        renewed = f"run 'lorekeeper migrate {companion_path}'"
        self.server.renew = f"Choose another database of the server with LOREKEEPER_MILVUS_URI, and {renewed}"
        companion = Companion(companion_path, types)
        super().__init__(self.server, Collections(self.server), companion)
        self._next_comparison: dict[str, float] = {}

    def ask(self, name: str, empty: Callable[[], Any], *arguments: Any) -> Any:
        """By the server what it can answer; words if it has BM25, which has no phrases."""
        info = self._info(type_of(arguments[0]))
        if name in SERVED:
            return getattr(self.collections, name)(*arguments)
        if name == "rank_keyword" and info and info.words is not None and info.words == self.server.capabilities.words:
            selection, query, limit = arguments
            if not query.phrases:
                expression = self.collections.expression(selection, records=True)
                return rank_words(self.server, selection.entity_type, expression, query, limit)
        return super().ask(name, empty, *arguments)

    def version(self, entity_type: str) -> object:
        """That of the companion, and a new one every `VERSION_SECONDS`: other machines' writes are seen in the server only."""
        return super().version(entity_type), time.monotonic() // VERSION_SECONDS

    def details(self) -> dict[str, str]:
        remarks = self.server.capabilities.remarks
        return {"role": "remote", "keyword index": str(self.companion.path), "server": remarks}

    def _ready(self, entity_type: str, stale: Collection[Identity] = ()) -> bool:
        return super()._ready(entity_type, {*stale, *self._stale(entity_type)})

    def _stale(self, entity_type: str) -> set[Identity]:
        """Entities that other machines have added, changed or removed, if it is time to ask for them."""
        info, began = self._info(entity_type), time.monotonic()
        if info is None or self.companion.state(entity_type).store != info.store:
            return set()
        if began < self._next_comparison.get(entity_type, -math.inf):
            return set()
        stored, indexed = (
            self.collections.content_hashes(entity_type),
            self.companion.ask("content_hashes", dict, entity_type),
        )
        differing = stored.items() ^ indexed.items()
        ended = time.monotonic()
        self._next_comparison[entity_type] = ended + max(COMPARE_SECONDS, COMPARE_SHARE * (ended - began))
        return {identity for identity, _ in differing}
