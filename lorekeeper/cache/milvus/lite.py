"""Milvus Lite's public interface: an embedded store that this process owns, called without a protocol in between.

Milvus Lite lets one process into a library. It is opened through its own Python interface: its gRPC server and the driver
for it would cost half a second, 60 MB, and two milliseconds for each query.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lorekeeper.cache.milvus.schema import INDEX, PROPERTY, SEARCH_PARAMS, Column, ColumnType, Row
from lorekeeper.cache.repair import ADVICE
from lorekeeper.errors import MilvusConnectionError, MilvusSchemaError

if TYPE_CHECKING:
    from milvus_lite import Collection, FieldSchema, MilvusLite

    from lorekeeper.embedding.protocol import Vectors

SETTLE_SECONDS = 0.3
"""How long after loading or writing memory is returned to the system."""


_importing = threading.Lock()
"""Two threads that begin to import a circle of modules at once may each see the other's half-initialised ones."""


class StoreTakenError(MilvusConnectionError):
    """Another process has the store open."""


class Engine:
    """A store in a folder, opened by this process and by no other. `backend.Backend` documents the methods.

    Raises:
        StoreTakenError: another process has it open.
        MilvusConnectionError: it may not be written, or Milvus Lite cannot be used.
        MilvusSchemaError: it is damaged, or something else.
    """

    def __init__(self, path: Path) -> None:
        self._settling: threading.Timer | None = None
        self._opening = threading.RLock()
        """Held while collections are opened, created, dropped or renamed: two threads that do so at once would get two
        objects for one folder, and neither would see what is written through the other."""
        try:
            with _importing:
                from lorekeeper.cache.milvus import _internals  # first, since it says how PyArrow is loaded

                import_module("milvus_lite")
        except (ImportError, AttributeError) as error:
            raise _unusable(error) from error
        self._release_memory = _internals.release_memory
        with ExitStack() as opened:
            opened.enter_context(_internals.store_open())
            self._database = _open(path)
            opened.callback(self._database.close)
            self._opened = opened.pop_all()

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
            collection.create_index(*INDEX)
            collection.load()

    def columns(self, name: str) -> list[str]:
        """Names of a collection's columns."""
        return [field.name for field in self._collection(name).schema.fields]

    def vector_columns(self, name: str) -> list[str]:
        """Names of those that hold vectors."""
        from milvus_lite import DataType

        return [field.name for field in self._collection(name).schema.fields if field.dtype == DataType.FLOAT_VECTOR]

    def load_collection(self, name: str) -> None:
        self._collection(name).load()
        self._settle()

    def release_collection(self, name: str) -> None:
        self._collection(name).release()

    def drop_collection(self, name: str) -> None:
        with self._opening:
            self._database.drop_collection(name)

    def rename_collection(self, name: str, new_name: str) -> None:
        with self._opening:
            self._database.rename_collection(name, new_name)

    def flush(self, name: str) -> None:
        self._collection(name).flush()
        self._settle()

    def search(self, name: str, vector: Vectors, expression: str, limit: int, fields: Sequence[str]) -> list[Row]:
        (hits,) = self._collection(name).search(
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
        return list(self._collection(name).get(list(keys), output_fields=list(fields)))

    def query(self, name: str, expression: str, fields: Sequence[str]) -> list[Row]:
        return list(self._collection(name).query(expression or None, output_fields=list(fields)))

    def count(self, name: str, expression: str = "") -> int:
        if expression:
            return len(self.query(name, expression, ["pk"]))
        return int(self._collection(name).num_entities)

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        self._collection(name).upsert([{**row, "vector": row["vector"].tolist()} for row in rows])

    def delete(self, name: str, keys: Sequence[str]) -> None:
        self._collection(name).delete(list(keys))

    def close(self) -> None:
        if self._settling:
            self._settling.cancel()
        self._opened.close()

    def _collection(self, name: str) -> Collection:
        with self._opening:
            return self._database.get_collection(name)

    def _settle(self) -> None:
        """Return memory that loading or writing took and that is free again, after a moment without more of it."""
        if self._settling:
            self._settling.cancel()
        self._settling = threading.Timer(SETTLE_SECONDS, self._release_memory)
        self._settling.daemon = True
        self._settling.start()


def status() -> str:
    """Version of Milvus Lite, and whether it is accelerated: a phrase for people."""
    from lorekeeper.cache.milvus import _internals

    return _internals.status()


def _open(path: Path) -> MilvusLite:
    from lorekeeper.cache.milvus import _internals

    try:
        from milvus_lite import DataDirLockedError
    except ImportError as error:
        raise _unusable(error) from error
    try:
        return _internals.open_database(path)
    except DataDirLockedError as error:
        raise StoreTakenError(f"another process has the library {path} open") from error
    except PermissionError as error:
        raise MilvusConnectionError(
            f"no permission to write the library {path}; make the folder and its files writable for this user"
        ) from error
    except (ImportError, AttributeError, TypeError) as error:
        raise _unusable(error) from error
    except Exception as error:
        raise MilvusSchemaError(
            f"the library {path} is damaged, or is not a Milvus Lite library ({error}). {ADVICE}"
        ) from error


def _unusable(error: Exception) -> MilvusConnectionError:
    """The error if Milvus Lite is missing, or another version than this code was written for."""
    return MilvusConnectionError(
        f"the installed Milvus Lite cannot be used ({error}); install LoreKeeper again, which brings the version that it "
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
