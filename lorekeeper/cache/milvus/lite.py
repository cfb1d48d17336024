"""Milvus Lite's public interface: an embedded store that this process owns, called without a protocol in between.

Milvus Lite lets one process into a library. It is opened through its own Python interface: its gRPC server and the driver
for it would cost half a second, 60 MB, and two milliseconds for each query.

While a collection is open it has no index: LoreKeeper's own searches do not need it, and Milvus Lite compares whole vectors then,
which gives the same results. Its IVF_FLAT index is declared when the store is closed, and Milvus Lite builds it when another
program loads the collection: until then the library is smaller by a copy of all vectors. Index files are dropped when the
collection is opened here, so those that were cut off are never read.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import numpy as np

from lorekeeper.cache.milvus.backend import Backend, Operation, unwritable
from lorekeeper.cache.milvus.bundled_library import COLLECTIONS, LOGS
from lorekeeper.cache.milvus.rows import (
    HELD,
    INDEX,
    PROPERTY,
    REBUILT,
    SEARCH_PARAMS,
    Column,
    ColumnType,
    Row,
    type_of,
)
from lorekeeper.cache.repair import ADVICE
from lorekeeper.errors import MilvusConnectionError, MilvusSchemaError
from lorekeeper.system import is_own_process

if TYPE_CHECKING:
    from milvus_lite import Collection, FieldSchema, MilvusLite

    from lorekeeper.embedding.protocol import Vectors

logger = logging.getLogger(__name__)

T = TypeVar("T")

FLUSHED_ROWS = 1024
"""Rows after which what was written is flushed: Milvus Lite takes some 20 KB for each of them while it writes a file."""

PARTITIONS = [f"part_{number}" for number in range(1, 8)]
"""Those of a collection beside its default one, by the hash of a row's key: to merge files takes seven times the memory of a
partition."""

ROWS_PER_CALL = 128
"""Most rows that are rewritten at once when collections are recovered."""

LOGGERS = ("milvus_lite", "faiss")
"""What Milvus Lite and FAISS log is not shown: errors reach the caller as exceptions, and stderr is the user's."""

_importing = threading.Lock()
"""Two threads that begin to import a circle of modules at once may each see the other's half-initialised ones."""

_counting = threading.Lock()
_silence = ExitStack()
_open_stores = 0


class StoreTakenError(MilvusConnectionError):
    """Another process has the store open."""


class Engine(Backend):
    """A store in a folder, opened by this process and by no other. `Backend` documents the methods.

    Who asks it by `call`, for this process or for others, finds collections recovered and loaded, each at its first use. One that
    cannot be read is left alone: the call that needs it fails. Where nothing can be written, every call fails.

    Raises:
        StoreTakenError: another process has it open.
        MilvusConnectionError: it may not be written, or Milvus Lite cannot be used.
        MilvusSchemaError: it is damaged, or something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opening = threading.RLock()
        """Held while collections are opened, created, dropped or renamed: two threads that do so at once would get two
        objects for one folder, and neither would see what is written through the other."""
        self._using = defaultdict[str, Any](threading.RLock)
        """Of each collection, held while it is used: Milvus Lite begins to flush by emptying its memory, and until the rows
        are in a file, its readers miss them."""
        self._without_index = set[str]()
        self._unflushed = Counter[str]()
        self._synced = set[Path]()
        self._recovering = defaultdict[str, Any](threading.Lock)
        self._recovered = set[str]()
        self.is_closed = False
        with ExitStack() as opened:
            opened.enter_context(_store_open())
            self._database = _open(path)
            opened.callback(self._database.close)
            self._opened = opened.pop_all()

    def call(self, operation: Operation[T], *arguments: object) -> T:
        """Perform an operation, once the type of the collection that it is about is recovered."""
        if arguments:
            self._recover(type_of(str(arguments[0])))
        return super().call(operation, *arguments)

    def list_collections(self) -> list[str]:
        return list(self._database.list_collections())

    def has_collection(self, name: str) -> bool:
        with self._opening:
            return bool(self._database.has_collection(name))

    def description(self, name: str) -> str | None:
        description = self._collection(name).schema.properties.get(PROPERTY)
        return None if description is None else str(description)

    def create_collection(self, name: str, columns: Sequence[Sequence[Any]], description: str) -> None:
        from milvus_lite import CollectionSchema

        fields = [_field(Column(*column)) for column in columns]
        schema = CollectionSchema(fields)
        with self._opening:
            collection = self._database.create_collection(name, schema, properties={PROPERTY: description})
            for partition in PARTITIONS:
                collection.create_partition(partition)
            self._without_index.add(name)

    def has_log(self, name: str) -> bool:
        """Whether a collection has a log of rows that are in no other file: it was not closed after these were written."""
        try:
            return any((self.path / COLLECTIONS / name / LOGS).iterdir())
        except OSError:  # another version of Milvus Lite has it elsewhere
            return True

    def columns(self, name: str) -> list[str]:
        """Names of a collection's columns."""
        return [field.name for field in self._collection(name).schema.fields]

    def vector_columns(self, name: str) -> list[str]:
        """Names of those that hold vectors."""
        from milvus_lite import DataType

        return [field.name for field in self._collection(name).schema.fields if field.dtype == DataType.FLOAT_VECTOR]

    def load_collection(self, name: str) -> None:
        self._collection(name)

    def release_collection(self, name: str) -> None:
        self._collection(name).release()

    def drop_collection(self, name: str) -> None:
        with self._opening:
            self._database.drop_collection(name)
            self._without_index.discard(name)

    def rename_collection(self, name: str, new_name: str) -> None:
        with self._opening:
            self._database.rename_collection(name, new_name)
            if name in self._without_index:
                self._without_index.remove(name)
                self._without_index.add(new_name)

    def flush(self, name: str) -> None:
        with self._used(name) as collection:
            collection.flush()
            self._unflushed[name] = 0
            self._sync(name)

    def search(self, name: str, vector: Vectors, expression: str, limit: int, fields: Sequence[str]) -> list[Row]:
        with self._used(name) as collection:
            (hits,) = collection.search(
                [vector],
                top_k=limit,
                metric_type=SEARCH_PARAMS["metric_type"],
                expr=expression or None,
                output_fields=list(fields),
                search_params=SEARCH_PARAMS["params"],
            )
        for hit in hits:
            row = hit["entity"]
            row["pk"], row["distance"] = hit["id"], hit["distance"]
        return [hit["entity"] for hit in hits]

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        with self._used(name) as collection:
            return list(collection.get(list(keys), output_fields=list(fields)))

    def query(self, name: str, expression: str, fields: Sequence[str]) -> list[Row]:
        with self._used(name) as collection:
            return list(collection.query(expression or None, output_fields=list(fields)))

    def count(self, name: str, expression: str = "") -> int:
        if expression:
            return len(self.query(name, expression, ["pk"]))
        with self._used(name) as collection:
            return int(collection.num_entities)

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        with self._used(name) as collection:
            partitions = sorted(collection.list_partitions())
            own = defaultdict[str, list[Row]](list)
            for row in rows:
                partition = partitions[crc32(row["pk"].encode()) % len(partitions)]
                own[partition].append({**row, "vector": row["vector"].tolist()})
            for partition, its_rows in own.items():
                collection.upsert(its_rows, partition)
            self._unflushed[name] += len(rows)
            if self._unflushed[name] >= FLUSHED_ROWS:
                self.flush(name)
            self._sync(name)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        with self._used(name) as collection:
            collection.delete(list(keys))
            self._sync(name)

    def close(self) -> None:
        """Declare the indexes of the collections that were opened, and close the store."""
        with self._opening:
            self.is_closed = True
            opened = sorted(self._without_index)
            for name in opened:
                try:
                    _declare_index(self._database.get_collection(name))
                except Exception as error:  # other programs search without an index then
                    logger.info("%s have no index: %s", name, error)
            self._without_index.clear()
            self._opened.close()
            for name in opened:
                self._sync(name)  # what a compaction has just made of its files

    @contextmanager
    def _used(self, name: str) -> Iterator[Collection]:
        with self._using[name]:
            yield self._collection(name)

    def _sync(self, name: str) -> None:
        """Have the rows of a collection on the disk, which Milvus Lite leaves to the system: the power may fail.

        The companion, which is told of a write after it, would else know of rows that are gone. Files with rows that are not logs
        never change.
        """
        folder = self.path / COLLECTIONS / name
        written = {file for file in folder.rglob("*.parquet") if file not in self._synced}
        for file in (*written, *(folder / LOGS).glob("*")):
            with suppress(FileNotFoundError), file.open("r+b") as content:  # a compaction may have removed it
                os.fsync(content.fileno())
        self._synced |= written

    def _collection(self, name: str) -> Collection:
        """An open collection, whose index is dropped when it is opened."""
        with self._opening:
            collection = self._database.get_collection(name)
            if name not in self._without_index:
                if collection.has_index():
                    collection.release()
                    collection.drop_index()
                self._without_index.add(name)
            return collection

    # --- recovery ---------------------------------------------------------------------------------------------------

    def _recover(self, entity_type: str) -> None:
        if entity_type in self._recovered:
            return
        with self._recovering[entity_type]:
            if entity_type not in self._recovered:
                try:
                    self._finish_swap(entity_type)
                    if self.has_collection(entity_type):
                        self._load(entity_type)
                except Exception as error:  # the engine's errors have no common base
                    if self.is_closed:
                        return
                    if unwritable(self.path, error):
                        raise
                    logger.info("%s cannot be opened: %s", entity_type, error)
                self._recovered.add(entity_type)

    def _finish_swap(self, entity_type: str) -> None:
        """Finish or undo an interrupted rebuild."""
        replacement = entity_type + REBUILT
        if self.has_collection(replacement):
            if self.has_collection(entity_type):
                self.drop_collection(replacement)
            else:
                self.rename_collection(replacement, entity_type)

    def _load(self, entity_type: str) -> None:
        """Load a collection; if the last process did not close it, flush what that has left.

        Rows that are stored twice are looked for before that: if this process is killed, the log is still there.
        """
        has_log = self.has_log(entity_type)
        self.load_collection(entity_type)
        if has_log:
            self._remove_duplicates(entity_type)
            self.flush(entity_type)

    def _remove_duplicates(self, entity_type: str) -> None:
        """Rewrite rows that are stored twice, which replaces both.

        Milvus Lite reads its log again if the last process was killed between the end of a flush and the end of its log. It
        recognizes rows that it has already by their number, but not if a compaction has moved them to another file meanwhile.
        """
        keys = Counter(row["pk"] for row in self.query(entity_type, "", ["pk"]))
        duplicates = [key for key, number in keys.items() if number > 1]
        fields = self.columns(entity_type)
        for start in range(0, len(duplicates), ROWS_PER_CALL):
            rows = self.get(entity_type, duplicates[start : start + ROWS_PER_CALL], fields)
            latest = {row["pk"]: {**row, "vector": np.asarray(row["vector"], dtype=np.float32)} for row in rows}
            self.upsert(entity_type, list(latest.values()))
        if duplicates:
            logger.info("%d rows of %s were stored twice", len(duplicates), entity_type)


def _declare_index(collection: Collection) -> None:
    """Declare the index of the vectors, which is built when the collection is loaded.

    Milvus Lite builds an index at once unless the collection is released, and releases only collections with an index. One of
    whole numbers takes it some milliseconds, and is dropped again.
    """
    column, index = HELD
    collection.create_index(column, index)
    collection.release()
    collection.create_index(*INDEX)
    collection.drop_index(column)


def _open(path: Path) -> MilvusLite:
    """Milvus Lite's database in a folder.

    In processes that run LoreKeeper alone, Arrow allocates with malloc: its own memory pools keep what reading files took. It does
    without pandas, which it would load with its first value: 40 MB, and a quarter of a second. And Milvus Lite does without FAISS,
    13 MB, which only its indexes need.
    """
    if is_own_process():
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        with _importing, _silenced(), _hidden("faiss", "pandas"):  # FAISS logs which of its variants it loads
            from milvus_lite import DataDirLockedError, MilvusLite

            if is_own_process():
                import pyarrow

                pyarrow.scalar(0)
    except (ImportError, AttributeError) as error:
        raise _unusable(error) from error
    try:
        return MilvusLite(str(path))
    except DataDirLockedError as error:
        raise StoreTakenError(f"another process has the library {path} open") from error
    except (ImportError, AttributeError, TypeError) as error:
        raise _unusable(error) from error
    except Exception as error:
        raise MilvusSchemaError(
            f"the library {path} is damaged, or is not a Milvus Lite library ({error}). {ADVICE}"
        ) from error


@contextmanager
def _hidden(*packages: str) -> Iterator[None]:
    """In a process that runs LoreKeeper alone, have packages not found, as if they were not installed."""

    class Finder(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name in packages and is_own_process():
                raise ModuleNotFoundError(name=name)

    sys.meta_path.insert(0, finder := Finder())
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _unusable(error: Exception) -> MilvusConnectionError:
    """The error if Milvus Lite is missing, or another version than this code was written for."""
    return MilvusConnectionError(
        f"the installed Milvus Lite cannot be used ({error}); install LoreKeeper again, which installs the version that it "
        "needs, or set LOREKEEPER_CACHE_BACKEND=sqlite"
    )


def _field(column: Column) -> FieldSchema:
    """The schema of a column."""
    from milvus_lite import DataType, FieldSchema

    types = {
        ColumnType.TEXT: DataType.VARCHAR,
        ColumnType.INTEGER: DataType.INT64,
        ColumnType.FLAG: DataType.BOOL,
        ColumnType.TEXTS: DataType.ARRAY,
        ColumnType.VECTOR: DataType.FLOAT_VECTOR,
    }
    field = FieldSchema(
        column.name, types[ColumnType(column.type)], is_primary=column.primary, nullable=column.nullable
    )
    match ColumnType(column.type):
        case ColumnType.TEXT:
            field.max_length = column.size
        case ColumnType.TEXTS:
            field.element_type, field.max_capacity, field.max_length = DataType.VARCHAR, column.many, column.size
        case ColumnType.VECTOR:
            field.dim = column.size
    return field


@contextmanager
def _silenced() -> Iterator[None]:
    """Silence the loggers of the engine."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _store_open() -> Iterator[None]:
    """Silence them while a store is open; the last one to close restores them."""
    global _open_stores
    with _counting:
        if not _open_stores:
            _silence.enter_context(_silenced())
        _open_stores += 1
    try:
        yield
    finally:
        with _counting:
            _open_stores -= 1
            if not _open_stores:
                _silence.close()
