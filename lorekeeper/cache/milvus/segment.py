"""Segments of Milvus Lite whose data stay in their files until they are asked for, and files that are written in less memory.

Milvus Lite reads all vectors of a collection into memory although its index has them already: most of what a library takes,
and most of the time to open one. Searches of sealed rows need the index only. Where Milvus Lite searches by itself, while rows
are not sealed yet, the vectors are read then, and dropped by `forget_vectors` when all is sealed again. An import asks nothing
of what it has sealed, so that it holds none of it.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from milvus_lite.engine.compaction import CompactionManager
from milvus_lite.index.factory import load_index_from_spec
from milvus_lite.storage.segment import Segment, _extract_vector_array

REMOVABLE = sys.platform != "win32"
"""Whether a file that is open or mapped can be removed, as a compaction does; where not, files are held in memory."""


ROW_GROUP = 2048
"""Rows that are encoded together for a data file: all that writing holds of them besides the rows themselves."""


class LeanSegment(Segment):  # type: ignore[misc]
    """A sealed segment that reads its columns when they are asked for. Safe in several threads."""

    __slots__ = ("_file", "_metadata", "_reading", "_table")

    def __init__(self, file: Any, metadata: Any, **values: Any) -> None:
        self._file, self._metadata, self._table = file, metadata, None
        self._reading = threading.Lock()
        keys = self._read([values["pk_field"], "_seq"])
        super().__init__(
            **values,
            pks=keys.column(values["pk_field"]).to_pylist(),
            seqs=keys.column("_seq").to_numpy().astype(np.uint64, copy=False),
            vectors=None,
            table=None,
        )
        self.forget_vectors()

    @classmethod
    def load(cls, file_path: str, partition: str, pk_field: str, vector_field: str) -> LeanSegment:
        """Open a data file, which stays open: a compaction may remove it while a search still goes on."""
        file = pyarrow.OSFile(file_path) if REMOVABLE else pyarrow.BufferReader(Path(file_path).read_bytes())
        metadata = pyarrow.parquet.read_metadata(file)
        return cls(
            file, metadata, file_path=file_path, partition=partition, pk_field=pk_field, vector_field=vector_field
        )

    @property
    def table(self) -> Any:
        """Every column but the vectors; it stays in memory once it was asked for."""
        with self._reading:
            if self._table is None:
                names = self._metadata.schema.to_arrow_schema().names
                self._table = self._read([name for name in names if name != self._vector_field])
            return self._table

    @table.setter
    def table(self, _: None) -> None:
        """It is in the file."""

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
                column = self._read([field_name]).column(field_name)
                known = self._vector_data_by_field[field_name] = _extract_vector_array(column)
            return known

    def _read(self, names: list[str]) -> Any:
        """Columns of the file, with a reader of their own: one keeps the bytes of all that it ever read."""
        return pyarrow.parquet.ParquetFile(self._file, metadata=self._metadata).read(columns=names)

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
            dimension = self._metadata.schema.to_arrow_schema().field(spec.field_name).type.list_size
            self.attach_index(load_index_from_spec(spec, path, dimension), spec.field_name)


class LeanCompaction(CompactionManager):  # type: ignore[misc]
    """Compaction that looks for rows which were written again before it copies all of them to leave those out."""

    def _dedup_max_seq(self, table: Any) -> Any:
        keys = table.column(self._pk_name)
        if pyarrow.compute.count_distinct(keys).as_py() == table.num_rows:
            return table
        return super()._dedup_max_seq(table)


class LeanParquet:
    """Reads and writes data files for Milvus Lite: in row groups, and without dictionaries, which cost more than they save
    where nearly every value is another."""

    read_table = staticmethod(pyarrow.parquet.read_table)
    write_table = staticmethod(partial(pyarrow.parquet.write_table, row_group_size=ROW_GROUP, use_dictionary=False))
