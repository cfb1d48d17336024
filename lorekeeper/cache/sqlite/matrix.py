"""The vectors of a type in memory, in 8 bits, and the entries nearest to a query by their whole vectors, which stay in the file.

Numbers of 8 bits take a quarter of the memory and half of the time of whole ones. They say which passages may be near enough; these
are then compared exactly.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import LOOKED, SCORE_DIGITS, SECTIONED, Identity, Ranked, nearest_sections
from lorekeeper.cache.sqlite.columns import Rows
from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.cache.sqlite.ranking import described
from lorekeeper.cache.vectors import unpack_vectors
from lorekeeper.embedding.protocol import Vectors

LARGEST = 127
"""Largest magnitude of a number in 8 bits."""

READ = 1000
"""Vectors read from the file in one go."""

COMPARED = 1024
"""Passages that are compared with a query in one go: more would leave the processor's cache."""

ERROR = 2.0
"""How much the similarity of a passage in 8 bits may differ from the exact one, in its steps.

Roundings add up to 0.3 of these, as a standard deviation, and to no more than this where vectors have 16 numbers or fewer."""

Similarities = npt.NDArray[np.float32]
"""Of some passages or entities."""


class _Passage(NamedTuple):
    entity: int
    score: float
    section: str
    text: str


@dataclass(frozen=True)
class Matrix:
    """The vectors of all passages of a type, grouped by entity.

    Attributes:
        rounded: numbers of steps, shape (passages, dimension) int8.
        steps: between the numbers of each vector, shape (passages,) float32.
        parts: number of each passage within its entity, shape (passages,).
        entities: row ids of the entities, ascending, shape (entities,).
        starts: where the passages of each begin, shape (entities,).
    """

    rounded: npt.NDArray[np.int8]
    steps: Similarities
    parts: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    @classmethod
    def read(cls, c: sqlite3.Connection, entity_type: str) -> Self | None:
        """Those of a type; None if it has none.

        Raises:
            DamagedFileError: a vector cannot be searched, or has another dimension than the others.
        """
        rows = c.execute(f"SELECT entity, part, key, vector FROM {entity_type}_passages ORDER BY entity, part")
        rounded, steps, places = list[npt.NDArray[np.int8]](), list[Similarities](), list[npt.NDArray[np.int64]]()
        while batch := rows.fetchmany(READ):
            vectors = _unpacked(entity_type, [(key, blob) for _, _, key, blob in batch])
            if rounded and rounded[0].shape[1] != vectors.shape[1]:
                raise DamagedFileError(f"the vectors of {entity_type} are damaged")
            steps.append(np.abs(vectors).max(axis=1) / LARGEST)
            rounded.append(np.rint(vectors / steps[-1][:, np.newaxis]).astype(np.int8))
            places.append(np.array([(entity, part) for entity, part, _, _ in batch], np.int64))
        if not rounded:
            return None
        owners, parts = np.concatenate(places).T
        entities, starts = np.unique(owners, return_index=True)
        return cls(np.concatenate(rounded), np.concatenate(steps), parts, entities, starts)

    @property
    def dimension(self) -> int:
        """Numbers of each vector."""
        return int(self.rounded.shape[1])

    def nearest(
        self, c: sqlite3.Connection, entity_type: str, query: Vectors, limit: int, allowed: Rows | None
    ) -> list[Ranked]:
        """The entries with the nearest passages, best first, exactly.

        Args:
            c: reads the state that the matrix is of.
            entity_type: the type.
            query: shape (dimension,).
            limit: most entries, at least 1.
            allowed: the entities under the filters, shape (entities,); None for all.
        """
        looked = LOOKED if entity_type in SECTIONED else 0
        passages = self._exact(c, entity_type, query, self._near(query, limit, looked, allowed))
        own: dict[int, list[_Passage]] = {}
        for passage in passages:
            own.setdefault(passage.entity, []).append(passage)
        entries = dict(zip(own, described(c, entity_type, list(own)), strict=True))
        identities: dict[int, Identity] = {entity: (document, slug) for entity, (document, slug, _) in entries.items()}
        near = nearest_sections((identities[each.entity], each.section, each.score) for each in passages[:looked])
        best = sorted(own, key=lambda entity: (-own[entity][0].score, identities[entity]))[:limit]
        return [_ranked(identities[entity], entries[entity][2], own[entity], near) for entity in best]

    def _near(self, query: Vectors, limit: int, looked: int, allowed: Rows | None) -> npt.NDArray[np.int64]:
        """Places of the passages that may be the best ones of the nearest entities, or among those that are looked at."""
        similar = self._similarities(query)
        if allowed is not None:
            similar[np.repeat(~allowed, np.diff(self.starts, append=len(similar)))] = -np.inf
        error = ERROR * float(np.linalg.norm(query)) * self.steps + 10.0**-SCORE_DIGITS
        surely = similar - error
        least = min(_at(np.maximum.reduceat(surely, self.starts), limit), _at(surely, looked))
        return np.flatnonzero((similar + error >= least) & np.isfinite(similar))

    def _similarities(self, query: Vectors) -> Similarities:
        """Similarities of all passages in 8 bits to a query."""
        starts = range(0, len(self.rounded), COMPARED)
        parts = [self.rounded[start : start + COMPARED].astype(np.float32) @ query for start in starts]
        return np.concatenate(parts) * self.steps

    def _exact(
        self, c: sqlite3.Connection, entity_type: str, query: Vectors, places: npt.NDArray[np.int64]
    ) -> list[_Passage]:
        """The passages at some places, best first."""
        owners = self.entities[np.searchsorted(self.starts, places, "right") - 1]
        wanted = json.dumps(list(zip(owners.tolist(), self.parts[places].tolist(), strict=True)))
        rows = c.execute(
            "SELECT entity, section, passage, own.key, vector "
            f"FROM json_each(?) AS wanted CROSS JOIN {entity_type}_passages AS own "
            "ON entity = json_extract(wanted.value, '$[0]') AND part = json_extract(wanted.value, '$[1]')",
            (wanted,),
        )
        found: list[_Passage] = []
        while batch := rows.fetchmany(READ):
            vectors = _unpacked(entity_type, [(key, blob) for *_, key, blob in batch])
            scores = np.round(vectors.astype(np.float64) @ query.astype(np.float64), SCORE_DIGITS).tolist()
            found += [_Passage(row[0], score, row[1], row[2]) for row, score in zip(batch, scores, strict=True)]
        return sorted(found, key=lambda passage: -passage.score)  # stable: of equal ones the first of an entity


def _unpacked(entity_type: str, rows: Sequence[tuple[object, object]]) -> Vectors:
    """The vectors of some rows of keys and bytes, shape (rows, dimension); DamagedFileError if they cannot be searched."""
    vectors = unpack_vectors(rows)
    if vectors is None:
        raise DamagedFileError(f"the vectors of {entity_type} are damaged")
    return vectors


def _ranked(
    identity: Identity, name: str, passages: Sequence[_Passage], near: Mapping[Identity, tuple[tuple[str, float], ...]]
) -> Ranked:
    """An entry by its passages, best first."""
    best, second = passages[0], passages[1].score if len(passages) > 1 else None
    return Ranked(identity, name, best.score, best.text, best.section, second=second, near=near.get(identity, ()))


def _at(values: Any, place: int) -> float:
    """The value at a place, from 1, in descending order; -inf if there are not so many, and inf at place 0."""
    if not 0 < place <= len(values):
        return -np.inf if place else np.inf
    return float(np.partition(values, -place)[-place])
