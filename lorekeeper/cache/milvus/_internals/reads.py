"""Reads of flushed rows that repeat only what has changed since the last read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from lorekeeper.cache.milvus._internals.indexes import ExactIndex, nearest
from lorekeeper.cache.milvus._internals.names import COLLECTION, FILTER, lookup, lookup_class
from lorekeeper.cache.milvus._internals.segments import VECTOR, LazySegment
from lorekeeper.cache.milvus.schema import Row

K = TypeVar("K")

V = TypeVar("V")

KEY = "pk"

NOT_IN_MEMORY = {VECTOR, "*"}
"""Fields that are not read here."""

Mask = npt.NDArray[np.bool_]
"""Some rows of a segment, shape (rows,)."""

KEPT_FILTERS, KEPT_COLUMNS = 64, 16
"""Most filters whose rows are kept, and most sets of columns whose different rows are."""

ROW_BY_ROW = "array_contains"
"""What is in the filters that Milvus Lite tests row by row, in Python."""

Place = tuple[int, int]
"""Number of a segment, and row in it."""


@dataclass(frozen=True)
class Distinct:
    """The different rows that a table has.

    Attributes:
        rows: one of each.
        codes: which of them each row of the table is like, shape (rows of the table,).
    """

    rows: pyarrow.Table
    codes: npt.NDArray[np.int32]

    @classmethod
    def of(cls, table: pyarrow.Table) -> Distinct:
        """Those of a table, compared by all its columns."""
        first: dict[str, int] = {}
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        codes = np.array([first.setdefault(repr(row), len(first)) for row in rows], np.int32)
        _, places = np.unique(codes, return_index=True)
        return cls(table.take(places), codes)


@dataclass(frozen=True)
class Snapshot:
    """The segments of a collection after one write.

    Attributes:
        write: the collection's last write.
        segments: their rows never change.
        live: for each segment which rows are neither deleted nor written again since; None if all are.
        passed: the rows of segments, by their number and the filter that they pass: who types asks again and again.
        distinct: the distinct rows of segments, by their number and the columns that were compared.
    """

    write: object
    segments: tuple[Any, ...]
    live: list[Mask | None]
    passed: dict[tuple[int, str], Mask] = field(default_factory=dict)
    distinct: dict[tuple[int, tuple[str, ...]], Distinct] = field(default_factory=dict)

    def place(self, key: str) -> Place | None:
        """Place of the live row of a key, None if there is none."""
        for number, segment in enumerate(self.segments):
            row, live = segment.find_row(key), self.live[number]
            if row is not None and (live is None or live[row]):
                return number, row
        return None

    def rows(self, places: Sequence[Place], fields: Sequence[str]) -> list[Row]:
        """Columns of rows, in the order of their places; with "pk"."""
        columns = list(dict.fromkeys([*fields, KEY]))
        rows: list[Row] = [{}] * len(places)
        for number, segment in enumerate(self.segments):
            positions = [position for position, (at, _) in enumerate(places) if at == number]
            if positions:
                table = segment.table.select(columns).take([places[position][1] for position in positions])
                _forget_pages(segment)
                values = zip(*map(_values, table.columns), strict=True)
                for position, row in zip(positions, values, strict=True):
                    rows[position] = dict(zip(columns, row, strict=True))
        return rows


def _values(column: pyarrow.ChunkedArray) -> list[Any]:
    """The values of a column; texts by way of NumPy, which takes a tenth of the time."""
    if pyarrow.types.is_string(column.type):
        texts: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return texts
    values: list[Any] = column.to_pylist()
    return values


class FastReads(lookup_class(COLLECTION)):  # type: ignore[misc]
    """A collection that reads flushed rows by itself, and leaves the rest to Milvus Lite. Safe in several threads.

    The methods take the arguments that `lite.Engine` passes. Milvus Lite begins to flush by emptying its memory; until the
    segment is there, which waits for a lock, its readers miss the rows. Here writers hold that lock from the beginning, and
    so do readers of the memory.
    """

    _write: object = None
    _latest: Snapshot | None = None

    def search(self, query_vectors: Any, *, output_fields: list[str], **options: Any) -> list[list[Row]]:
        """The nearest rows to one vector that pass a filter, best first."""
        snapshot = self._snapshot(output_fields)
        if snapshot is None or any(VECTOR not in segment.indexes for segment in snapshot.segments):
            with self._maintenance_lock:
                hits: list[list[Row]] = super().search(query_vectors, output_fields=output_fields, **options)
            return hits
        nearest = self._nearest(snapshot, query_vectors, options)
        rows = snapshot.rows([place for _, place in nearest], output_fields)
        pairs = zip(nearest, rows, strict=True)
        return [[{"id": row[KEY], "distance": 1.0 - distance, "entity": row} for (distance, _), row in pairs]]

    def get(self, pks: list[str], *, output_fields: list[str]) -> list[Row]:
        """The rows of these keys."""
        snapshot = self._snapshot(output_fields)
        if snapshot is None:
            with self._maintenance_lock:
                rows: list[Row] = super().get(pks, output_fields=output_fields)
            return rows
        places = [place for place in map(snapshot.place, pks) if place is not None]
        return snapshot.rows(places, output_fields)

    def query(self, expr: str | None, *, output_fields: list[str]) -> list[Row]:
        """All rows that pass a filter."""
        snapshot = self._snapshot(output_fields)
        if snapshot is None:
            with self._maintenance_lock:
                rows: list[Row] = super().query(expr, output_fields=output_fields)
            return rows
        places: list[Place] = []
        for number, segment in enumerate(snapshot.segments):
            mask = self._passing(snapshot, number, expr)
            indices = range(segment.num_rows) if mask is None else np.flatnonzero(mask).tolist()
            places += [(number, index) for index in indices]
        return snapshot.rows(places, output_fields)

    @property
    def num_entities(self) -> int:
        """Number of rows."""
        snapshot = self._snapshot([])
        if snapshot is None:
            with self._maintenance_lock:
                return int(super().num_entities)
        pairs = zip(snapshot.segments, snapshot.live, strict=True)
        return sum(segment.num_rows if live is None else int(live.sum()) for segment, live in pairs)

    def upsert(self, records: list[Row]) -> Any:
        return self._written(super().upsert, records)

    def delete(self, pks: list[str]) -> Any:
        return self._written(super().delete, pks)

    def flush(self) -> None:
        self._written(super().flush)

    def _written(self, write: Callable[..., Any], *arguments: Any) -> Any:
        """Write, after which no earlier snapshot holds."""
        with self._maintenance_lock:
            try:
                return write(*arguments)
            finally:
                self._write = object()

    def _snapshot(self, fields: Sequence[str]) -> Snapshot | None:
        """The segments as they are now; None while rows are in memory, or if the segments lack a field."""
        write, latest = self._write, self._latest
        if NOT_IN_MEMORY.intersection(fields) or self.count() or self.load_state != "loaded":
            return None
        segments, deletions = self._read_snapshot()
        if latest is None or latest.write is not write or latest.segments != segments:
            latest = self._latest = Snapshot(write, segments, _live_rows(segments, deletions))
            for segment in segments:
                if isinstance(segment, LazySegment):
                    segment.forget()
        return latest

    def _nearest(self, snapshot: Snapshot, vectors: Any, options: Row) -> list[tuple[float, Place]]:
        """Cosine distance and place of the nearest rows, best first."""
        query, limit, params = np.asarray(vectors[0], np.float32), options["top_k"], options["search_params"]
        masks = [self._passing(snapshot, number, options["expr"]) for number in range(len(snapshot.segments))]
        searched = [number for number, mask in enumerate(masks) if mask is None or mask.any()]
        indexes = [(snapshot.segments[number].indexes[VECTOR], masks[number]) for number in searched]
        if searched and all(isinstance(index, ExactIndex) for index, _ in indexes):
            found = nearest(indexes, query, limit, params)
            return [(distance, (searched[place], row)) for distance, place, row in found]
        found = []
        for number, (index, mask) in zip(searched, indexes, strict=True):
            rows, distances = index.search(query[np.newaxis], limit, valid_mask=mask, params=params)
            pairs = zip(distances[0].tolist(), rows[0].tolist(), strict=True)
            found += [(distance, number, row) for distance, row in pairs if row >= 0]
        return [(distance, (number, row)) for distance, number, row in sorted(found)[:limit]]

    def _passing(self, snapshot: Snapshot, number: int, expr: str | None) -> Mask | None:
        """The live rows of a segment that pass a filter; None if all rows do."""
        live = snapshot.live[number]
        if expr is None:
            return live
        passing = snapshot.passed.get((number, expr))
        if passing is None:
            passing = self._tested(snapshot, number, expr)
            _forget_pages(snapshot.segments[number])
            _keep(snapshot.passed, (number, expr), passing, KEPT_FILTERS)
        return passing if live is None else passing & live

    def _tested(self, snapshot: Snapshot, number: int, expr: str) -> Mask:
        """The rows of a segment that pass a filter; where Milvus Lite looks at each, only at different ones."""
        evaluate, compiled, table = (
            lookup(FILTER, "evaluate"),
            self._compile_filter(expr),
            snapshot.segments[number].table,
        )
        columns = tuple(name for name in table.column_names if name in expr)
        if ROW_BY_ROW not in expr:
            return _mask(evaluate(compiled, table.select(columns)))
        distinct = snapshot.distinct.get((number, columns))
        if distinct is None:
            distinct = Distinct.of(table.select(columns))
            _keep(snapshot.distinct, (number, columns), distinct, KEPT_COLUMNS)
        return _mask(evaluate(compiled, distinct.rows))[distinct.codes]


def _keep(kept: dict[K, V], key: K, value: V, most: int) -> None:
    """Keep a value, and of earlier ones so many that there are not more than that."""
    kept[key] = value
    while len(kept) > most:
        kept.pop(next(iter(kept)), None)


def _mask(values: Any) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False).astype(bool, copy=False)
    return mask


def _forget_pages(segment: Any) -> None:
    """Return the pages that a read has touched; segments of Milvus Lite's own class hold their rows in memory."""
    if isinstance(segment, LazySegment):
        segment.forget_pages()


def _live_rows(segments: Sequence[Any], deletions: Any) -> list[Mask | None]:
    """For each segment the rows that are neither deleted nor written again; None if all are live."""
    keys = [segment.table.column(KEY) for segment in segments]
    doubtful = _doubtful_keys(
        pyarrow.chunked_array([chunk for column in keys for chunk in column.chunks], "string"), deletions
    )
    if not len(doubtful):
        return [None] * len(segments)
    found = [np.flatnonzero(pyarrow.compute.is_in(column, value_set=doubtful)) for column in keys]
    writes = [
        list(zip(rows.tolist(), column.take(rows).to_pylist(), segment.seqs[rows].tolist(), strict=True))
        for rows, column, segment in zip(found, keys, segments, strict=True)
    ]
    latest: dict[str, int] = {}
    for _, key, write in itertools.chain(*writes):
        latest[key] = max(write, latest.get(key, -1))
    masks: list[Mask | None] = []
    for segment, rows in zip(segments, writes, strict=True):
        mask = np.ones(segment.num_rows, bool)
        for row, key, write in rows:
            mask[row] = latest[key] == write and not deletions.is_deleted(key, write)
        masks.append(None if mask.all() else mask)
    return masks


def _doubtful_keys(keys: Any, deletions: Any) -> Any:
    """Those of the keys of all rows that were deleted once, or that several rows have."""
    deleted = pyarrow.array(list(deletions.snapshot), keys.type)
    if not len(deleted) and pyarrow.compute.count_distinct(keys).as_py() == len(keys):
        return deleted
    counts = pyarrow.compute.value_counts(keys)
    repeated = counts.field("values").filter(pyarrow.compute.greater(counts.field("counts"), 1))
    return pyarrow.concat_arrays([deleted, repeated])
