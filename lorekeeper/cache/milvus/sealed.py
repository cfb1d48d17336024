"""The sealed rows of an embedded collection, read without what makes Milvus Lite's own reading slow.

For every search Milvus Lite looks through all keys of a collection, in Python, for rows that were written again, and it
decodes every column of every row it gives, the vector too. Here the first is remembered until something is written, and
only the columns asked for are decoded, never the vector. Segments, filters and the IVF_FLAT index are Milvus Lite's own, of
the version this project pins; a test holds the answers against those of its public search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lorekeeper.cache.milvus.schema import INDEX, SEARCH_PARAMS, Row

VECTOR = INDEX[0]

ELSEWHERE = {VECTOR, "*"}
"""Fields that are not all in memory."""


@dataclass(frozen=True)
class Generation:
    """The segments of a collection at one moment, and what was known of them.

    Attributes:
        number: of the collection's last write.
        segments: Milvus Lite's sealed segments; their rows never change.
        in_force: for each segment which rows are neither deleted nor written again since; None where all are.
    """

    number: int
    segments: tuple[Any, ...]
    in_force: list[Any]


class SealedRows:
    """What one collection has sealed. Its methods give None where the collection has to be asked itself: while rows are
    not sealed yet, or a segment's index is still being made, or for vectors. Safe in several threads."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection
        self._known: Generation | None = None

    def search(self, vector: Any, test: str, limit: int, fields: Sequence[str]) -> list[Row] | None:
        """The nearest rows that pass a test, best first, with "pk" and cosine similarity "distance"."""
        generation = self._generation(fields)
        if generation is None or any(VECTOR not in segment.indexes for segment in generation.segments):
            return None
        query = np.asarray([vector], dtype=np.float32)
        nearest: list[tuple[float, int, int]] = []
        for number, segment in enumerate(generation.segments):
            mask = self._mask(generation, number, test)
            if mask is None or mask.any():
                index, params = segment.indexes[VECTOR], SEARCH_PARAMS["params"]
                rows, distances = index.search(query, limit, valid_mask=mask, params=params)
                nearest += [
                    (distance, number, row)
                    for distance, row in zip(distances[0].tolist(), rows[0].tolist(), strict=True)
                    if row >= 0
                ]
        nearest.sort()
        places = [(number, row) for _, number, row in nearest[:limit]]
        found = self._read(generation, places, fields)
        for row, (distance, _, _) in zip(found, nearest, strict=False):
            row["distance"] = 1.0 - distance
        return found

    def get(self, keys: Sequence[str], fields: Sequence[str]) -> list[Row] | None:
        """The rows of these keys that there are, with "pk"."""
        generation = self._generation(fields)
        if generation is None:
            return None
        places = []
        for key in keys:
            for number, segment in enumerate(generation.segments):
                row, mask = segment.find_row(key), generation.in_force[number]
                if row is not None and (mask is None or mask[row]):
                    places.append((number, row))
                    break
        return self._read(generation, places, fields)

    def query(self, test: str, fields: Sequence[str]) -> list[Row] | None:
        """All rows that pass a test, with "pk"."""
        generation = self._generation(fields)
        if generation is None:
            return None
        places: list[tuple[int, int]] = []
        for number, segment in enumerate(generation.segments):
            mask = self._mask(generation, number, test)
            rows = range(segment.num_rows) if mask is None else np.flatnonzero(mask).tolist()
            places += [(number, row) for row in rows]
        return self._read(generation, places, fields)

    def _generation(self, fields: Sequence[str]) -> Generation | None:
        """The segments as they are now; None while there are rows that are not sealed, and where they lack a field."""
        number = self.collection._next_seq
        if ELSEWHERE.intersection(fields) or self.collection._memtable.size() or self.collection.load_state != "loaded":
            return None
        segments, deleted = self.collection._read_snapshot()
        known = self._known
        if known is None or known.number != number or known.segments != segments:
            known = self._known = Generation(number, segments, _in_force(segments, deleted))
            for segment in segments:
                segment.forget_vectors()
        return known

    def _mask(self, generation: Generation, number: int, test: str) -> Any:
        """The rows of a segment that are in force and pass a test; None where all do."""
        mask = generation.in_force[number]
        if not test:
            return mask
        from milvus_lite.search.filter import evaluate_mask

        passed = evaluate_mask(self.collection._compile_filter(test), generation.segments[number].table)
        passed = passed.astype(bool, copy=False)
        return passed if mask is None else passed & mask

    def _read(self, generation: Generation, places: Sequence[tuple[int, int]], fields: Sequence[str]) -> list[Row]:
        """The wanted columns of rows, in order."""
        wanted = list(dict.fromkeys([*fields, "pk"]))
        rows: dict[tuple[int, int], Row] = {}
        for number, segment in enumerate(generation.segments):
            own = [row for at, row in places if at == number]
            if own:
                read = segment.table.select(wanted).take(own).to_pylist()
                rows |= {(number, row): found for row, found in zip(own, read, strict=True)}
        return [rows[place] for place in places]


def _in_force(segments: Sequence[Any], deleted: Any) -> list[Any]:
    latest: dict[str, int] = {}
    for segment in segments:
        for key, written in zip(segment.pks, segment.seqs.tolist(), strict=True):
            latest[key] = max(written, latest.get(key, -1))
    masks = []
    for segment in segments:
        pairs = zip(segment.pks, segment.seqs.tolist(), strict=True)
        mask = np.fromiter((latest[k] == n and not deleted.is_deleted(k, n) for k, n in pairs), bool, segment.num_rows)
        masks.append(None if mask.all() else mask)
    return masks
