"""Segments of Milvus Lite whose vectors stay in their files until somebody asks for them.

Milvus Lite reads all vectors of a collection into memory although its index has them already: most of what a library takes,
and most of the time to open one. Searches of sealed rows need the index only. Where Milvus Lite searches by itself, while rows
are not sealed yet, the vectors are read then, and dropped by `forget_vectors` when all is sealed again.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from milvus_lite.index.factory import load_index_from_spec
from milvus_lite.storage.segment import Segment, _extract_vector_array

REMOVABLE = sys.platform != "win32"
"""Whether a file that is open or mapped can be removed, as a compaction does; where not, files are held in memory."""


class LeanSegment(Segment):  # type: ignore[misc]
    """A sealed segment whose ``table`` has every column but the vectors. Safe in several threads."""

    __slots__ = ("_file", "_reading")

    def __init__(self, file: Any, **values: Any) -> None:
        self._file = file
        self._reading = threading.Lock()
        super().__init__(**values)
        self.forget_vectors()

    @classmethod
    def load(cls, file_path: str, partition: str, pk_field: str, vector_field: str) -> LeanSegment:
        """Read a data file, which stays open: a compaction may remove it while a search still goes on."""
        opened = pyarrow.OSFile(file_path) if REMOVABLE else pyarrow.BufferReader(Path(file_path).read_bytes())
        file = pyarrow.parquet.ParquetFile(opened)
        table = file.read(columns=[name for name in file.schema_arrow.names if name != vector_field])
        return cls(
            file,
            file_path=file_path,
            partition=partition,
            pk_field=pk_field,
            vector_field=vector_field,
            pks=table.column(pk_field).to_pylist(),
            seqs=table.column("_seq").to_numpy().astype(np.uint64, copy=False),
            vectors=None,
            table=table,
        )

    @property
    def vectors(self) -> Any:
        """All vectors, shape (rows, dimension), float32."""
        return self.vector_data(self._vector_field)[0]

    @vectors.setter
    def vectors(self, _: None) -> None:
        """They are in the file."""

    def vector_data(self, field_name: str) -> Any:
        with self._reading:
            known = self._vector_data_by_field.get(field_name)
            if known is None:
                column = self._file.read(columns=[field_name]).column(field_name)
                known = self._vector_data_by_field[field_name] = _extract_vector_array(column)
            return known

    def forget_vectors(self) -> None:
        """Drop vectors that were read."""
        self._vector_data_by_field.clear()

    def row_to_dict(self, row_idx: int) -> dict[str, Any]:
        return {**super().row_to_dict(row_idx), self._vector_field: self.vectors[row_idx].tolist()}

    def build_or_load_index(self, spec: Any, index_dir: str) -> None:
        """Load the index without a look at the vectors, after making it of them where there is none yet."""
        if spec.field_name in self.indexes:
            return
        path = self.index_file_path(index_dir, spec.index_type, spec.field_name)
        if not Path(path).exists():
            super().build_or_load_index(spec, index_dir)
            self.forget_vectors()
        if Path(path).exists():  # what was just made is in memory whole, what is loaded is mapped
            dimension = self._file.schema_arrow.field(spec.field_name).type.list_size
            self.attach_index(load_index_from_spec(spec, path, dimension), spec.field_name)
