"""The one door to milvus-lite: an embedded store that this process owns, asked without a protocol in between.

Milvus Lite lets one process into a library. It is opened through its own Python interface: its gRPC server and the driver
for it would cost half a second, 60 MB, and two milliseconds a question.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lorekeeper.cache.milvus.schema import INDEX, PROPERTY, SEARCH_PARAMS, Column, ColumnType, Row
from lorekeeper.cache.milvus.sealed import SealedRows
from lorekeeper.errors import MilvusConnectionError, MilvusSchemaError

SETTLE_SECONDS = 0.3
"""How long after loading or writing memory is given back."""


LARGE_BLOCK_BYTES = 128 << 10
"""Blocks from this size on are mapped by themselves; glibc's own default before it raises it."""

M_MMAP_THRESHOLD = -3
"""Of glibc's malloc.h."""


class StoreTakenError(MilvusConnectionError):
    """Another process has the store open."""


class Engine:
    """A store in a folder, opened by this process and by no other. `milvus_connection.Backend` says what its methods do.

    Raises:
        StoreTakenError: another process has it open.
        MilvusConnectionError: it may not be written.
        MilvusSchemaError: it is damaged, or something else.
    """

    def __init__(self, path: Path) -> None:
        self._settling: threading.Timer | None = None
        self._collections: dict[str, SealedRows] = {}
        _quiet()
        _return_freed_memory()
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own pools keep what reading files took
        with _hidden("pandas"):  # pyarrow imports it where it finds it: 0.12 s and 30 MB that nothing here needs
            import pyarrow.dataset  # noqa: F401
        from milvus_lite import DataDirLockedError, MilvusLite
        from milvus_lite.engine import collection
        from milvus_lite.storage import data_file

        from lorekeeper.cache.milvus.segment import REMOVABLE, LeanCompaction, LeanParquet, LeanSegment

        collection.Segment, collection.CompactionManager = LeanSegment, LeanCompaction
        data_file.pq = LeanParquet
        _tune_faiss(mapped=REMOVABLE)
        try:
            self._database = MilvusLite(str(path))
        except DataDirLockedError as error:
            raise StoreTakenError(f"another process has the library {path} open") from error
        except PermissionError as error:
            raise MilvusConnectionError(f"no permission to write the library {path}") from error
        except Exception as error:
            raise MilvusSchemaError(
                f"the library {path} is damaged or no Milvus Lite library ({error}). If it was one, run 'lorekeeper repair': it "
                "puts the library aside and keeps all that can still be read"
            ) from error

    def list_collections(self) -> list[str]:
        return list(self._database.list_collections())

    def has_collection(self, name: str) -> bool:
        return bool(self._database.has_collection(name))

    def description(self, name: str) -> str | None:
        said = self._database.get_collection(name).schema.properties.get(PROPERTY)
        return None if said is None else str(said)

    def create_collection(self, name: str, columns: Sequence[Sequence[Any]], description: str) -> None:
        from milvus_lite import CollectionSchema

        fields = [_field(Column(*column)) for column in columns]
        made = self._database.create_collection(name, CollectionSchema(fields), properties={PROPERTY: description})
        made.create_index(*INDEX)
        made.load()

    def load_collection(self, name: str) -> None:
        collection = self._database.get_collection(name)
        collection.load()
        for segment in collection._segments_snapshot():
            _ = segment.table  # what is damaged is seen now
        self._settle()

    def release_collection(self, name: str) -> None:
        self._database.get_collection(name).release()

    def drop_collection(self, name: str) -> None:
        self._database.drop_collection(name)
        self._collections.pop(name, None)

    def rename_collection(self, name: str, new_name: str) -> None:
        self._database.rename_collection(name, new_name)

    def flush(self, name: str) -> None:
        self._database.get_collection(name).flush()
        self._settle()

    def search(self, name: str, vector: Any, test: str, limit: int, fields: Sequence[str]) -> list[Row]:
        sealed = self._sealed(name)
        rows = sealed.search(vector, test, limit, fields)
        if rows is not None:
            return rows
        found = sealed.collection.search(
            [vector],
            top_k=limit,
            metric_type=SEARCH_PARAMS["metric_type"],
            expr=test or None,
            output_fields=list(fields),
            search_params=SEARCH_PARAMS["params"],
        )
        return [{**row["entity"], "pk": row["id"], "distance": row["distance"]} for row in found[0]]

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        sealed = self._sealed(name)
        rows = sealed.get(keys, fields)
        return rows if rows is not None else list(sealed.collection.get(list(keys), output_fields=list(fields)))

    def query(self, name: str, test: str, fields: Sequence[str]) -> list[Row]:
        sealed = self._sealed(name)
        rows = sealed.query(test, fields)
        return rows if rows is not None else list(sealed.collection.query(test or None, output_fields=list(fields)))

    def count(self, name: str, test: str = "") -> int:
        return len(self.query(name, test, ["pk"])) if test else int(self._database.get_collection(name).num_entities)

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        self._collections.pop(name, None)  # what it knows holds segments that a compaction is about to replace
        self._database.get_collection(name).upsert([{**row, "vector": row["vector"].tolist()} for row in rows])

    def delete(self, name: str, keys: Sequence[str]) -> None:
        self._collections.pop(name, None)
        self._database.get_collection(name).delete(list(keys))

    def close(self) -> None:
        if self._settling:
            self._settling.cancel()
        self._database.close()

    def _settle(self) -> None:
        """Give back to the system what loading took and nobody holds any more, once things have calmed down."""
        import pyarrow

        if self._settling:
            self._settling.cancel()
        self._settling = threading.Timer(SETTLE_SECONDS, pyarrow.default_memory_pool().release_unused)
        self._settling.daemon = True
        self._settling.start()

    def _sealed(self, name: str) -> SealedRows:
        """What is known of a collection's sealed rows, which ends with the collection."""
        collection = self._database.get_collection(name)
        known = self._collections.get(name)
        if known is None or known.collection is not collection:
            known = self._collections[name] = SealedRows(collection)
        return known


def _field(column: Column) -> Any:
    from milvus_lite import DataType, FieldSchema

    types = {
        ColumnType.TEXT: DataType.VARCHAR,
        ColumnType.INTEGER: DataType.INT64,
        ColumnType.FLAG: DataType.BOOL,
        ColumnType.JSON: DataType.JSON,
        ColumnType.TEXTS: DataType.ARRAY,
        ColumnType.VECTOR: DataType.FLOAT_VECTOR,
    }
    made = FieldSchema(column.name, types[ColumnType(column.type)], is_primary=column.primary, nullable=column.nullable)
    match ColumnType(column.type):
        case ColumnType.TEXT:
            made.max_length = column.size
        case ColumnType.TEXTS:
            made.element_type, made.max_capacity, made.max_length = DataType.VARCHAR, column.many, column.size
        case ColumnType.VECTOR:
            made.dim = column.size
    return made


@contextlib.contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Let this thread import nothing of a package that others may have."""
    thread = threading.get_ident()

    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            if name == package and threading.get_ident() == thread:
                raise ImportError(f"{package} is not needed")

    finder: Any = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _quiet() -> None:
    """Silence the engine's own logs: what goes wrong reaches the caller as an exception."""
    for name in ("milvus_lite", "faiss"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _return_freed_memory() -> None:
    """Let glibc return large blocks to the system as soon as they are freed.

    It starts so, but with every such block that is freed it raises the size, up to 32 MB; what compactions and index builds
    took then stays in the heap of each of their threads, where malloc_trim does not reach it: 160 MB more after an import of
    9,000 entities. Setting the size keeps it, for the whole process. Other C libraries have no such call.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def _tune_faiss(*, mapped: bool) -> None:
    """Let indexes be mapped into memory instead of copied there, so that only what is searched takes any; be silent.

    FAISS warns on stderr, from C, about every index with fewer than 39 vectors a list; its own switch for that is the
    clustering parameter set here.
    """
    faiss: Any = importlib.import_module("faiss")
    make, read = faiss.IndexIVFFlat, faiss.read_index
    if isinstance(make, type):

        def make_quietly(*args: Any) -> Any:
            index = make(*args)
            index.cp.min_points_per_centroid = 1
            return index

        faiss.IndexIVFFlat = make_quietly
        faiss.read_index = lambda path: read(path, faiss.IO_FLAG_MMAP_IFC if mapped else 0)
