"""Segments of Milvus Lite whose data stay in their files until they are needed."""

from __future__ import annotations

import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow
import pyarrow.parquet

from lorekeeper.cache.milvus._internals.names import COLLECTION, IVF_FLAT, SEGMENT, lookup, lookup_class, rebound
from lorekeeper.cache.milvus.schema import INDEX, Row

VECTOR = INDEX[0]

REMOVABLE = sys.platform != "win32"
"""Whether a file that is open or mapped can be removed, as a compaction does; otherwise files are held in memory."""


class _QuietFaiss:
    """FAISS, as the index of a segment uses it: silent, and mapped into memory instead of copied there.

    FAISS warns on stderr, from C, about every index with fewer than 39 vectors a list; its own switch for that is the
    clustering parameter set here.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(faiss, name)

    def IndexIVFFlat(self, *arguments: Any) -> Any:  # noqa: N802 - FAISS's name
        index = faiss.IndexIVFFlat(*arguments)
        index.cp.min_points_per_centroid = 1
        return index

    def read_index(self, path: str) -> Any:
        return faiss.read_index(path, faiss.IO_FLAG_MMAP_IFC if REMOVABLE else 0)


@cache
def _index_class() -> Any:
    """Milvus Lite's IVF_FLAT index, built and read with `_QuietFaiss`."""
    base, quiet = lookup_class(IVF_FLAT), _QuietFaiss()
    methods: dict[str, Any] = {
        name: classmethod(rebound(getattr(base, name), faiss=quiet)) for name in ("build", "load")
    }
    return type("MappedIvfFlatIndex", (base,), methods)


class LazySegment(lookup_class(SEGMENT)):  # type: ignore[misc]
    """A data file and its index, which reads its columns when they are needed. Safe in several threads.

    Searches of flushed rows need the index only. While rows are in memory, Milvus Lite searches by itself; the vectors are
    read for that, and dropped by `forget_vectors` once all rows are flushed.
    """

    __slots__ = ("_file", "_metadata", "_reading", "_table", "_vectors")

    def __init__(self, file: Any, metadata: Any, **values: Any) -> None:
        self._file, self._metadata = file, metadata
        self._table, self._vectors = None, None
        self._reading = threading.Lock()
        keys = self._read([values["pk_field"], "_seq"])
        super().__init__(
            **values,
            pks=keys.column(values["pk_field"]).to_pylist(),
            seqs=keys.column("_seq").to_numpy().astype(np.uint64, copy=False),
            vectors=None,
            table=None,
        )

    @classmethod
    def load(cls, file_path: str, partition: str, pk_field: str, vector_field: str) -> LazySegment:
        """Open a data file, which stays open: a compaction may remove it during a search."""
        file = pyarrow.OSFile(file_path) if REMOVABLE else pyarrow.BufferReader(Path(file_path).read_bytes())
        metadata = pyarrow.parquet.read_metadata(file)
        return cls(
            file, metadata, file_path=file_path, partition=partition, pk_field=pk_field, vector_field=vector_field
        )

    @property
    def table(self) -> Any:
        """Every column but the vectors, kept in memory after the first use."""
        with self._reading:
            if self._table is None:
                names = self._metadata.schema.to_arrow_schema().names
                self._table = self._read([name for name in names if name != VECTOR])
            return self._table

    @table.setter
    def table(self, _: None) -> None:
        """It is in the file."""

    @property
    def vectors(self) -> Any:
        """All vectors, shape (rows, dimension), float32."""
        with self._reading:
            if self._vectors is None:
                column = self._read([VECTOR]).column(VECTOR).combine_chunks()
                self._vectors = column.flatten().to_numpy().reshape(len(column), -1)
            return self._vectors

    @vectors.setter
    def vectors(self, _: None) -> None:
        """They are in the file."""

    def vector_data(self, field_name: str) -> tuple[Any, None]:
        """The vectors, and that none of them is null."""
        assert field_name == VECTOR
        return self.vectors, None

    def forget_vectors(self) -> None:
        """Drop vectors that were read."""
        with self._reading:
            self._vectors = None

    def row_to_dict(self, row_idx: int) -> Row:
        return {**super().row_to_dict(row_idx), VECTOR: self.vectors[row_idx].tolist()}

    def build_or_load_index(self, spec: Any, index_dir: str) -> None:
        """Load the index without reading the vectors, after building it from them if there is no file of it."""
        if VECTOR in self.indexes or not self.num_rows:
            return
        path = Path(self.index_file_path(index_dir, spec.index_type, VECTOR))
        if not path.exists():
            index = _index_class().build(self.vectors, spec.metric_type, spec.build_params)
            path.parent.mkdir(parents=True, exist_ok=True)
            index.save(str(path))
            self.forget_vectors()
        dimension = self._metadata.schema.to_arrow_schema().field(VECTOR).type.list_size
        self.attach_index(_index_class().load(str(path), spec.metric_type, dimension), VECTOR)

    def _read(self, names: list[str]) -> Any:
        """Columns of the file, with a reader for each call: a reader keeps the bytes of all columns that it has read."""
        return pyarrow.parquet.ParquetFile(self._file, metadata=self._metadata).read(columns=names)


def _load_whole(collection: Any) -> None:
    """`Collection.load`, which also reads the tables, so that damage is detected at once."""
    lookup(COLLECTION, "load")(collection)
    for segment in collection._read_snapshot()[0]:
        _ = segment.table


def collection_methods() -> dict[str, Any]:
    """Methods of a collection whose segments are lazy."""
    refresh = rebound(lookup(COLLECTION, "_refresh_segment_cache"), Segment=LazySegment)
    return {"_refresh_segment_cache": refresh, "load": _load_whole}
