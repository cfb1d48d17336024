"""Segments of Milvus Lite whose data stay in their files until they are needed."""

from __future__ import annotations

import contextlib
import threading
from functools import cache
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow
import pyarrow.parquet

from lorekeeper.cache.milvus._internals import row_files
from lorekeeper.cache.milvus._internals.names import COLLECTION, IVF_FLAT, SEGMENT, lookup, lookup_class, rebound
from lorekeeper.cache.milvus._internals.row_files import Rows
from lorekeeper.cache.milvus.schema import INDEX, Row

VECTOR, SEQUENCE = INDEX[0], "_seq"


class EarlierIndexError(Exception):
    """An index file has another kind of index than those that are built now."""


class _LeanFaiss:
    """FAISS, as the index of a segment uses it: silent, with vectors of 16 bits, and mapped into memory.

    FAISS warns on stderr, from C, about every index with fewer than 39 vectors a list; its own switch for that is the
    clustering parameter set here. 16 bits change a cosine similarity by less than 0.0001, and take half the memory.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(faiss, name)

    def IndexIVFFlat(self, quantizer: Any, dimension: int, lists: int, metric: int) -> Any:  # noqa: N802 - FAISS's name
        half, residuals = faiss.ScalarQuantizer.QT_fp16, False
        index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, half, metric, residuals)
        index.cp.min_points_per_centroid = 1
        return index

    def read_index(self, path: str) -> Any:
        index = faiss.read_index(path, faiss.IO_FLAG_MMAP_IFC if row_files.REMOVABLE else 0)
        if not isinstance(index, faiss.IndexIVFScalarQuantizer):
            raise EarlierIndexError(path)
        return index


@cache
def _index_class() -> Any:
    """Milvus Lite's IVF_FLAT index, built and read with `_LeanFaiss`."""
    base, lean = lookup_class(IVF_FLAT), _LeanFaiss()
    methods: dict[str, Any] = {
        name: classmethod(rebound(getattr(base, name), faiss=lean)) for name in ("build", "load")
    }
    return type("MappedIvfFlatIndex", (base,), methods)


class LazySegment(lookup_class(SEGMENT)):  # type: ignore[misc]
    """A data file and its index, which reads what is needed when it is needed. Safe in several threads.

    Searches of flushed rows need the index and the mapped rows only. While rows are in memory, Milvus Lite searches by itself;
    keys and vectors are read for that, and dropped by `forget` once all rows are flushed.
    """

    __slots__ = ("_file", "_key", "_keys", "_metadata", "_reading", "_rows", "_vectors", "_writes")

    def __init__(self, file: Any, metadata: Any, **values: Any) -> None:
        self._file, self._metadata, self._key = file, metadata, values["pk_field"]
        self._rows: Rows | None = None
        self._keys: list[str] | None = None
        self._vectors, self._writes = None, None
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
    def rows(self) -> Rows:
        """Every column but the vectors; mapped once the index is loaded, else in memory after the first use."""
        with self._reading:
            if self._rows is None:
                self._rows = Rows.of(self._read_rows(), self._key)
            return self._rows

    @property
    def table(self) -> Any:
        """The same as a table, for one read."""
        return self.rows.used()

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
            if self._vectors is None:
                column = self._read(VECTOR)
                self._vectors = column.flatten().to_numpy().reshape(len(column), -1)
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

    def find_row(self, pk_value: str) -> int | None:
        return self.rows.find(pk_value)

    def row_to_dict(self, row_idx: int) -> Row:
        return {**super().row_to_dict(row_idx), VECTOR: self.vectors[row_idx].tolist()}

    def build_or_load_index(self, spec: Any, index_dir: str) -> None:
        """Map the rows, and load the index, after building it from the vectors if there is no current file of it."""
        if VECTOR in self.indexes or not self.num_rows:
            return
        with self._reading:
            self._rows = row_files.mapped(Path(self.file_path), Path(index_dir), self._key, self._read_rows)
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
        dimension = self._metadata.schema.to_arrow_schema().field(VECTOR).type.list_size
        with contextlib.suppress(EarlierIndexError):
            return _index_class().load(str(path), spec.metric_type, dimension)

    def _build_index(self, path: Path, spec: Any) -> None:
        """Build the index into a file, which is complete as soon as it has its name."""
        index, new = _index_class().build(self.vectors, spec.metric_type, spec.build_params), Path(f"{path}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        index.save(str(new))
        new.replace(path)
        self.forget()

    def _read_rows(self) -> Any:
        """Every column but the vectors, each in one chunk."""
        names = [name for name in self._metadata.schema.to_arrow_schema().names if name != VECTOR]
        return pyarrow.table([self._read(name) for name in names], names=names)

    def _read(self, name: str) -> Any:
        """A column of the file, with a reader for each: a reader keeps the bytes of all columns that it has read."""
        read = pyarrow.parquet.ParquetFile(self._file, metadata=self._metadata).read(columns=[name])
        return read.column(0).combine_chunks()


def _load_whole(collection: Any) -> None:
    """`Collection.load`, which also opens the rows, so that damage is detected at once."""
    lookup(COLLECTION, "load")(collection)
    for segment in collection._read_snapshot()[0]:
        _ = segment.rows


def collection_methods() -> dict[str, Any]:
    """Methods of a collection whose segments are lazy."""
    refresh = rebound(lookup(COLLECTION, "_refresh_segment_cache"), Segment=LazySegment)
    return {"_refresh_segment_cache": refresh, "load": _load_whole}
