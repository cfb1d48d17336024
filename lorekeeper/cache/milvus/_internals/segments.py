"""Segments of Milvus Lite whose data stay in their files until they are needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow
import pyarrow.parquet

from lorekeeper.cache.milvus._internals import row_files
from lorekeeper.cache.milvus._internals.indexes import EarlierIndexError, index_class, units
from lorekeeper.cache.milvus._internals.names import COLLECTION, SEGMENT, lookup, lookup_class, rebound
from lorekeeper.cache.milvus._internals.row_files import Rows
from lorekeeper.cache.milvus.schema import INDEX, Row
from lorekeeper.embedding.protocol import Vectors

VECTOR, SEQUENCE = INDEX[0], "_seq"

COMPARED = 64
"""Vectors that are compared together: what a block of at least `process.LARGE_BLOCK_BYTES` costs is a new mapping, page by page."""


class LazySegment(lookup_class(SEGMENT)):  # type: ignore[misc]
    """A data file and its index, which reads what is needed when it is needed. Safe in several threads.

    Searches of flushed rows need the index and the mapped files only. While rows are in memory, Milvus Lite searches by itself;
    keys are read for that, and vectors that are not mapped, and dropped by `forget` once all rows are flushed.
    """

    __slots__ = ("_file", "_key", "_keys", "_metadata", "_reading", "_rows", "_vectors", "_writes")

    def __init__(self, file: Any, metadata: Any, **values: Any) -> None:
        self._file, self._metadata, self._key = file, metadata, values["pk_field"]
        self._rows: Rows | None = None
        self._keys: list[str] | None = None
        self._vectors: Vectors | None = None
        self._writes: Any = None
        self._reading = threading.RLock()
        super().__init__(**values, pks=[], seqs=None, vectors=None, table=None)

    @classmethod
    def load(cls, file_path: str, partition: str, pk_field: str, vector_field: str) -> LazySegment:
        """Open a data file, which stays open: a compaction may remove it during a search."""
        file = pyarrow.OSFile(file_path) if row_files.REMOVABLE else pyarrow.BufferReader(Path(file_path).read_bytes())
        metadata = pyarrow.parquet.read_metadata(file)
        return cls(
            file, metadata, file_path=file_path, partition=partition, pk_field=pk_field, vector_field=vector_field
        )

    @property
    def num_rows(self) -> int:
        return int(self._metadata.num_rows)

    @property
    def _dimension(self) -> int:
        return int(self._metadata.schema.to_arrow_schema().field(VECTOR).type.list_size)

    @property
    def rows(self) -> Rows:
        """Every column but the vectors; mapped once the index is loaded, else in memory after the first use."""
        with self._reading:
            if self._rows is None:
                self._rows = Rows.of(self._read_rows(), self._key)
            return self._rows

    @property
    def table(self) -> Any:
        """The same as a table."""
        return self.rows.table

    @table.setter
    def table(self, _: None) -> None:
        """It is in the file."""

    @property
    def seqs(self) -> Any:
        """The write that each row is from, shape (rows,)."""
        with self._reading:
            if self._writes is None:
                self._writes = self.table.column(SEQUENCE).to_numpy().astype(np.uint64, copy=False)
            return self._writes

    @seqs.setter
    def seqs(self, _: None) -> None:
        """They are in the file."""

    @property
    def pks(self) -> list[str]:
        """The keys of all rows."""
        with self._reading:
            if self._keys is None:
                self._keys = self.table.column(self._key).to_pylist()
            return self._keys

    @pks.setter
    def pks(self, _: list[str]) -> None:
        """They are in the file."""

    @property
    def vectors(self) -> Any:
        """All vectors, shape (rows, dimension), float32."""
        with self._reading:
            if self._rows is not None and self._rows.vectors is not None:
                return self._rows.vectors
            if self._vectors is None:
                self._vectors = np.concatenate(list(self._read_vectors()))
            return self._vectors

    @vectors.setter
    def vectors(self, _: None) -> None:
        """They are in the file."""

    def vector_data(self, field_name: str) -> tuple[Any, None]:
        """The vectors, and that none of them is null."""
        assert field_name == VECTOR
        return self.vectors, None

    def forget(self) -> None:
        """Drop keys and vectors that were read."""
        with self._reading:
            self._keys, self._vectors = None, None
            self.forget_pages()

    def forget_pages(self) -> None:
        """Return the pages of mapped files that were read."""
        if self._rows is not None:
            self._rows.forget_pages()

    def find_row(self, pk_value: str) -> int | None:
        return self.rows.find(pk_value)

    def row_to_dict(self, row_idx: int) -> Row:
        return {**super().row_to_dict(row_idx), VECTOR: self.vectors[row_idx].tolist()}

    def _distances(self, query: Vectors, rows: Any) -> Any:
        """Cosine distances of rows to a vector, each as an index of whole vectors has it, whichever the others are."""
        unit = units(query[np.newaxis])
        parts = [rows[start : start + COMPARED] for start in range(0, max(len(rows), 1), COMPARED)]
        return np.concatenate([_cosine_distances(unit, units(self._vectors_of(part))) for part in parts])

    def _vectors_of(self, rows: Any) -> Vectors:
        """The vectors of some rows, shape (rows, dimension)."""
        read = None if self._rows is None else self._rows.vectors_of(rows)
        vectors: Vectors = self.vectors[rows] if read is None else read
        return vectors

    def build_or_load_index(self, spec: Any, index_dir: str) -> None:
        """Map the rows, and load the index, after building it from the vectors if there is no current file of it."""
        if VECTOR in self.indexes or not self.num_rows:
            return
        with self._reading:
            functions = self._read_rows, self._read_vectors
            data = row_files.DataFile(Path(self.file_path), self._key, self._dimension, *functions)
            self._rows = row_files.mapped(data, Path(index_dir))
        path = Path(self.index_file_path(index_dir, spec.index_type, VECTOR))
        index = self._load_index(path, spec)
        if index is None:
            self._build_index(path, spec)
            index = self._load_index(path, spec)
        self.attach_index(index, VECTOR)

    def _load_index(self, path: Path, spec: Any) -> Any:
        """The index in a file; None if there is no file, or one of an earlier kind."""
        if not path.exists():
            return None
        try:
            index = index_class().load(str(path), spec.metric_type, self._dimension)
        except EarlierIndexError:
            return None
        index.distances = self._distances
        return index

    def _build_index(self, path: Path, spec: Any) -> None:
        """Build the index into a file, which is complete as soon as it has its name."""
        index, new = index_class().build(self.vectors, spec.metric_type, spec.build_params), Path(f"{path}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        index.save(str(new))
        new.replace(path)
        self.forget()

    def _read_rows(self) -> Any:
        """Every column but the vectors, each in one chunk."""
        names = [name for name in self._metadata.schema.to_arrow_schema().names if name != VECTOR]
        return pyarrow.table([self._read(name) for name in names], names=names)

    def _read_vectors(self) -> Iterator[Vectors]:
        """The vectors, in parts of some thousand."""
        for batch in self._reader().iter_batches(columns=[VECTOR]):
            yield batch.column(0).flatten().to_numpy().reshape(len(batch), -1)

    def _read(self, name: str) -> Any:
        return self._reader().read(columns=[name]).column(0).combine_chunks()

    def _reader(self) -> Any:
        """A reader of the file for one use: it keeps the bytes of all columns that it has read."""
        return pyarrow.parquet.ParquetFile(self._file, metadata=self._metadata)


def _cosine_distances(unit: Vectors, units: Vectors) -> Vectors:
    """Cosine distances of vectors of length 1, in their order, to one."""
    similarities, order = faiss.knn(unit, units, len(units), metric=faiss.METRIC_INNER_PRODUCT)
    distances = np.empty(len(units), np.float32)
    distances[order[0]] = 1.0 - similarities[0].astype(np.float64)
    return distances


def _load_whole(collection: Any) -> None:
    """`Collection.load`, which also opens the rows, so that damage is detected at once."""
    lookup(COLLECTION, "load")(collection)
    for segment in collection._read_snapshot()[0]:
        _ = segment.rows


def collection_methods() -> dict[str, Any]:
    """Methods of a collection whose segments are lazy."""
    refresh = rebound(lookup(COLLECTION, "_refresh_segment_cache"), Segment=LazySegment)
    return {"_refresh_segment_cache": refresh, "load": _load_whole}
