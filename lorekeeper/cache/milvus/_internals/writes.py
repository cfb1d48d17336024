"""Data files that Milvus Lite writes and compacts in less memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow.compute
import pyarrow.parquet

from lorekeeper.cache.milvus._internals.names import (
    COLLECTION,
    COMPACTION,
    DATA_FILE,
    FLUSH,
    lookup,
    lookup_class,
    rebound,
)

ROW_GROUP = 2048
"""Rows that are encoded together for a data file: writing takes memory for these only, besides the rows themselves."""


class _LeanParquet:
    """Writes data files in row groups, and without dictionaries, which cost more than they save if most values differ."""

    write_table = staticmethod(partial(pyarrow.parquet.write_table, row_group_size=ROW_GROUP, use_dictionary=False))


def data_file_writer() -> Any:
    """Milvus Lite's function that writes a data file, with `_LeanParquet`."""
    return rebound(lookup(DATA_FILE, "write_data_file"), pq=_LeanParquet)


class LeanCompaction(lookup_class(COMPACTION)):  # type: ignore[misc]
    """Compaction that finds rewritten rows first, instead of copying all rows to leave those out."""

    def _dedup_max_seq(self, table: Any) -> Any:
        keys = table.column(self._pk_name)
        if pyarrow.compute.count_distinct(keys).as_py() == table.num_rows:
            return table
        return super()._dedup_max_seq(table)

    def _compact_files(self, *arguments: Any) -> Any:
        compact = rebound(lookup(COMPACTION, "_compact_files"), write_data_file=data_file_writer())
        return compact(self, *arguments)


def collection_methods() -> dict[str, Any]:
    """Methods of a collection that writes in little memory."""
    flush = rebound(lookup(FLUSH, "execute_flush"), write_data_file=data_file_writer())
    return {
        "__init__": rebound(lookup(COLLECTION, "__init__"), CompactionManager=LeanCompaction),
        "_trigger_flush": rebound(lookup(COLLECTION, "_trigger_flush"), execute_flush=flush),
    }
