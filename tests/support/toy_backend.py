"""A cache backend of another package, as small as it can be: a JSON file, and vectors in memory."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from lorekeeper import COLLECTIONS, EmbeddingService, Entity, Hit, Settings, Statistics, select_entities

Documents = str | Sequence[str] | None
Progress = Callable[[int], None] | None


def toy_backend(_settings: Settings, embedding: EmbeddingService) -> ToyCache:
    """What the entry point names."""
    return ToyCache(Path(os.environ["TOY_FILE"]), embedding)


class ToyCache:
    """A `CacheProtocol`; it reads and writes the whole file with each call."""

    def __init__(self, file: Path, embedding: EmbeddingService) -> None:
        self._file, self._embedding = file, embedding

    def _all(self) -> dict[tuple[str, str, str], Entity]:
        rows = json.loads(self._file.read_text("utf-8")) if self._file.exists() else []
        return {(t, e.document, e.slug): e for t, e in ((row[0], Entity.from_record(*row)) for row in rows)}

    def _of(self, entity_type: str, document: Documents = None, filters: dict[str, Any] | None = None) -> list[Entity]:
        of_type = [e for (t, *_), e in self._all().items() if t == entity_type]
        return select_entities(of_type, entity_type, document, **(filters or {}))

    def _write(self, entities: dict[tuple[str, str, str], Entity]) -> None:
        self._file.write_text(json.dumps([[t, e.as_record()] for (t, *_), e in entities.items()]), "utf-8")

    async def store_entities(self, entities: Sequence[Entity], entity_type: str, progress: Progress = None) -> int:
        new = {(entity_type, e.document, e.slug): e for e in entities}
        self._write(self._all() | new)
        if progress:
            progress(len(new))
        return len(new)

    async def get_entities(
        self, entity_type: str, document: Documents = None, *, limit: int | None = None, offset: int = 0, **filters: Any
    ) -> list[Entity]:
        return self._of(entity_type, document, filters)[offset : None if limit is None else offset + limit]

    async def get_entity(self, entity_type: str, document: str, slug: str) -> Entity | None:
        return self._all().get((entity_type, document, slug))

    async def count_entities(self, entity_type: str, document: Documents = None, **filters: Any) -> int:
        return len(self._of(entity_type, document, filters))

    async def semantic_search(
        self, entity_type: str, query: str, limit: int = 20, document: Documents = None, **filters: Any
    ) -> list[Hit]:
        entities = self._of(entity_type, document, filters)
        texts = [self._embedding.get_searchable_text(e, entity_type) for e in entities]
        scores = await self._embedding.embed(texts) @ await self._embedding.embed_query(query)
        return [Hit(entities[i], float(scores[i]), texts[i]) for i in np.argsort(-scores)[:limit]]

    async def iterate(self, entity_type: str, batch_size: int = 256) -> AsyncIterator[list[Entity]]:
        entities = sorted(self._of(entity_type), key=lambda e: e.identity)
        for start in range(0, len(entities), batch_size):
            yield entities[start : start + batch_size]

    async def delete_document(self, document: str, entity_type: str | None = None) -> int:
        keys = [key for key in self._all() if key[1] == document and entity_type in (None, key[0])]
        return self._delete(keys)

    async def delete_entities(self, entity_type: str, identities: Iterable[tuple[str, str]]) -> int:
        return self._delete([(entity_type, *identity) for identity in identities])

    def _delete(self, keys: Sequence[tuple[str, str, str]]) -> int:
        entities = self._all()
        self._write({key: e for key, e in entities.items() if key not in keys})
        return sum(key in entities for key in keys)

    async def documents(self, types: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
        counts = Counter((document, t) for t, document, _ in self._all() if types is None or t in list(types))
        return {d: {t: n for (other, t), n in counts.items() if other == d} for d in sorted({d for d, _ in counts})}

    async def statistics(self) -> Statistics:
        kinds = {t: dict(Counter(e.kind for e in self._of(t))) for t in COLLECTIONS}
        counts = {t: sum(kinds[t].values()) for t in COLLECTIONS}
        return Statistics("toy", str(self._file), counts, kinds, counts, self._embedding.fingerprint or "none yet", {})

    async def reindex(self, progress: Progress = None) -> int:
        if progress:
            progress(len(self._all()))
        return len(self._all())  # vectors are computed when they are searched

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...
