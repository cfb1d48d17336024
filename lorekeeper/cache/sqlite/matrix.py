"""The vectors of a type in memory, and how near their passages are to a query."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lorekeeper.cache.protocol import LOOKED, SCORE_DIGITS, Identity, Ranked, nearest_sections
from lorekeeper.embedding.protocol import Vectors


@dataclass(frozen=True)
class Matrix:
    """All vectors of a type, grouped by entity.

    Attributes:
        vectors: shape (passages, dimension) float32.
        parts: number of each passage within its entity, shape (passages,).
        entities: row ids of the entities, shape (entities,).
        starts: where the passages of each begin, shape (entities,).
    """

    vectors: Vectors
    parts: Any
    entities: Any
    starts: Any

    @classmethod
    def of(cls, vectors: Sequence[Vectors], parts: Sequence[int], row_ids: Sequence[int]) -> Matrix:
        """The matrix of passages that are sorted by the row ids of their entities; at least one."""
        entities, starts = np.unique(np.array(row_ids, dtype=np.int64), return_index=True)
        return cls(np.stack(vectors), np.array(parts), entities, starts)

    def best(self, scores: Any) -> tuple[Any, Any]:
        """Best score of each entity's passages, and which passage has it."""
        ends = np.append(self.starts[1:], len(scores))
        best = np.maximum.reduceat(scores, self.starts)
        return best, lambda i: int(self.parts[self.starts[i] + np.argmax(scores[self.starts[i] : ends[i]])])

    def second(self, scores: Any, number: int) -> float | None:
        """The second best score among the passages of one entity; None if it has one passage only."""
        start = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(scores)
        return float(np.partition(scores[start:end], -2)[-2]) if end - start > 1 else None

    def nearest(self, scores: Any, among: Any, number: int) -> list[tuple[int, int, float]]:
        """Row ids and parts of the best passages of some entities with their scores, best first.

        Args:
            scores: of all passages.
            among: places of the entities.
            number: of passages.
        """
        owners = np.repeat(np.arange(len(self.entities)), np.diff(np.append(self.starts, len(scores))))
        places = np.flatnonzero(np.isin(owners, among))
        best = places[np.argsort(-scores[places], kind="stable")[:number]]
        return [(int(self.entities[owners[i]]), int(self.parts[i]), float(scores[i])) for i in best]


def with_sections(
    c: sqlite3.Connection, matrix: Matrix, scores: Any, among: Any, entity_type: str, hits: Sequence[Ranked]
) -> list[Ranked]:
    """Hits with their `Ranked.near`, of a type that is `SECTIONED`; the other arguments are those of `Matrix.nearest`."""
    sql = (
        f"SELECT document, slug, section FROM {entity_type}_passages JOIN {entity_type} ON id = entity "
        "WHERE entity = ? AND part = ?"
    )
    passages: list[tuple[Identity, str, float]] = []
    for entity, part, score in matrix.nearest(scores, among, LOOKED):
        for document, slug, section in c.execute(sql, (entity, part)):
            passages.append(((document, slug), section, round(score, SCORE_DIGITS)))
    near = nearest_sections(passages)
    return [hit._replace(near=near.get(hit.identity, ())) for hit in hits]
