"""Collections on a Milvus server: calls of its driver, within the size limits of messages and answers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import stamina

from lorekeeper.addresses import shown_address
from lorekeeper.cache.milvus import driver
from lorekeeper.cache.milvus.backend import Capabilities, LazyBackend
from lorekeeper.cache.milvus.description import described
from lorekeeper.cache.milvus.layout_v3 import (
    PROPERTY,
    WORDS,
    WORDS_INDEX,
    WORDS_RANKED,
    Column,
    ColumnType,
    Row,
)
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import MilvusConnectionError
from lorekeeper.printable import MAX_SHOWN, one_line

if TYPE_CHECKING:
    from pymilvus import CollectionSchema, MilvusClient

Item = TypeVar("Item")
T = TypeVar("T")

RETRY_TIMES = 3
"""Attempts at one call (0.01, 0.03, 0.09 s apart)."""

MAX_ROWS = 16_384
"""Most rows that a server returns in one answer; more are read in pages."""

VECTOR = "vector"
"""The column of vectors."""

INDEXES: Mapping[str, Mapping[str, int]] = {
    "FLAT": {},
    "IVF_FLAT": {"nlist": 1024},
    "HNSW": {"M": 32, "efConstruction": 256},
}
"""Parameters of each index of vectors. Servers search rows that are not sealed yet with a temporary index that finds only some
of them, and hardly any under a filter, unless the index of the collection is FLAT, which is exact."""

PROBED, LEAST_EF = 128, 128
"""How many lists of an IVF index a search looks at, and how many candidates of a graph at least."""

WORDS_PARAMS = {"metric_type": WORDS_INDEX[1]["metric_type"]}
"""How to search words."""

STRONG = "Strong"
"""The consistency at which a read sees all writes of all machines."""

HALF_MADE_SECONDS, HALF_MADE_POLL_SECONDS = 2.0, 0.1
"""How long a collection may have no index because it is still being created, and the interval between two checks."""


class MilvusServer(LazyBackend):
    """A Milvus server at an address.

    Args:
        uri: the address; a proxy of the environment is not used for one on this machine.
        token: the server's token, or ``user:password``.
        index: the index of vectors of collections that are made, one of `INDEXES`.
    """

    def __init__(self, uri: str, token: str | None, index: str = "FLAT") -> None:
        self._uri, self._token = uri, token
        self._index = {"index_type": index, "metric_type": "COSINE", "params": dict(INDEXES[index])}
        self._lock = threading.Lock()
        self._connected: tuple[MilvusClient, Capabilities] | None = None
        self._openings = 0

    @property
    def location(self) -> str:
        return shown_address(self._uri)

    @property
    def capabilities(self) -> Capabilities:
        return self._open()[1]

    def open(self) -> int:
        """Connect now, unless it is connected; MilvusConnectionError if no server answers."""
        self._open()
        return self._openings

    def list_collections(self) -> list[str]:
        return list(self._call(self._client.list_collections))

    def has_collection(self, name: str) -> bool:
        """Whether the collection exists; one of ours whose creation was interrupted does not count, and can be created again."""
        return bool(self._call(self._client.has_collection, name)) and not self._half_made(name)

    def description(self, name: str) -> str | None:
        collection = self._call(self._client.describe_collection, name)
        description = collection.get("properties", {}).get(PROPERTY) or collection.get("description")
        return None if description is None else str(description)

    def create_collection(self, name: str, columns: Sequence[Column], description: str) -> None:
        from pymilvus import MilvusClient

        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
        for column in columns:
            _add(schema, column)
        params = MilvusClient.prepare_index_params()
        for indexed, how in ((VECTOR, self._index), WORDS_INDEX):
            if any(column.name == indexed for column in columns):  # parameters within "params" are read by every server
                params.add_index(indexed, **{**how, "params": {"params": how["params"]}})
        self._drop_half_made(name)
        properties = {PROPERTY: description}
        self._call(
            self._client.create_collection, name, schema=schema, properties=properties, consistency_level="Session"
        )
        self._call(self._client.create_index, name, params, sync=False)
        self.load_collection(name)

    def _half_made(self, name: str) -> bool:
        """Whether a collection is ours and has no index; one is created before anything is stored."""
        if not described(self.description(name)):
            return False
        return not self._call(self._client.list_indexes, name, field_name=VECTOR)

    def _drop_half_made(self, name: str) -> None:
        """Drop a collection whose creation was interrupted, unless another machine is creating it right now."""
        deadline = time.monotonic() + HALF_MADE_SECONDS
        while self._call(self._client.has_collection, name) and self._half_made(name):
            if time.monotonic() > deadline:
                self.drop_collection(name)
            time.sleep(HALF_MADE_POLL_SECONDS)

    def load_collection(self, name: str) -> None:
        self._call(self._client.load_collection, name)

    def release_collection(self, name: str) -> None:
        self._call(self._client.release_collection, name)

    def drop_collection(self, name: str) -> None:
        self._call(self._client.drop_collection, name)

    def rename_collection(self, name: str, new_name: str) -> None:
        self._call(self._client.rename_collection, name, new_name)

    def flush(self, name: str) -> None:
        """Flush if the server does not do so by itself, as Milvus Lite's. Others allow one flush in 10 s."""
        if self.capabilities.flushed_by_client:
            self._call(self._client.flush, name)

    def search(self, name: str, vector: Vectors, expression: str, limit: int, fields: Sequence[str]) -> list[Row]:
        how = {"metric_type": "COSINE", "params": {"nprobe": PROBED, "ef": max(limit, LEAST_EF)}}
        return self._search(name, _Search(vector, VECTOR, how, expression, limit), fields)

    def search_words(self, name: str, words: str, expression: str, limit: int, fields: Sequence[str]) -> list[Row]:
        """The rows that hold any of the words under an expression, best first, with "pk" and BM25 "distance"."""
        return self._search(name, _Search(words, WORDS_RANKED, WORDS_PARAMS, expression, min(limit, MAX_ROWS)), fields)

    def _search(self, name: str, search: _Search, fields: Sequence[str]) -> list[Row]:
        """The rows that a search returns; if they are too large for one answer, first their keys, then the rows in parts."""
        try:
            return self._searched(name, search, fields)
        except driver.TooLargeError:
            hits = self._searched(name, search, ["pk"])
        rows = {row["pk"]: row for row in self.get(name, [row["pk"] for row in hits], ["pk", *fields])}
        return [{**rows[hit["pk"]], **hit} for hit in hits if hit["pk"] in rows]

    def _searched(self, name: str, search: _Search, fields: Sequence[str]) -> list[Row]:
        (hits,) = self._call(
            self._client.search,
            name,
            data=[search.data],
            anns_field=search.column,
            search_params=search.params,
            filter=search.expression,
            limit=search.limit,
            output_fields=list(fields),
        )
        # servers before 2.5 do not say what the primary key is called
        return [{**hit["entity"], "pk": hit.get("pk", hit.get("id")), "distance": hit["distance"]} for hit in hits]

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        def get(part: Sequence[str]) -> list[Row]:
            return [dict(row) for row in self._call(self._client.get, name, ids=list(part), output_fields=list(fields))]

        return [row for rows in _in_parts(get, keys) for row in rows]

    def query(self, name: str, expression: str, fields: Sequence[str]) -> list[Row]:
        size = MAX_ROWS
        while True:
            try:
                return self._queried(name, expression, fields, size)
            except driver.TooLargeError:
                if size == 1:
                    raise
            size //= 2

    def _queried(self, name: str, expression: str, fields: Sequence[str], size: int) -> list[Row]:
        """All rows under an expression, in pages of a given size if there are more."""
        options = {"filter": expression, "output_fields": list(fields), "consistency_level": STRONG}
        rows = self._call(self._client.query, name, limit=size, **options)
        if len(rows) < size:
            return [dict(row) for row in rows]
        pages = self._call(self._client.query_iterator, name, batch_size=size, **options)
        try:
            with self._errors(self._client):
                return [dict(row) for page in iter(pages.next, []) for row in page]
        finally:
            pages.close()

    def count(self, name: str, expression: str = "") -> int:
        return self._count(name, filter=expression)

    def _count(self, name: str, **options: str) -> int:
        (row,) = self._call(self._client.query, name, output_fields=["count(*)"], **options)
        return int(row["count(*)"])

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        _in_parts(lambda part: self._call(self._client.upsert, name, list(part)), rows)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Delete rows; when it returns, the reads of this process see it. Servers do not return the time of a deletion, so
        reads at consistency Session may be of an earlier time; a read at Strong waits, and later reads see the same."""
        _in_parts(lambda part: self._call(self._client.delete, name, ids=list(part)), keys)
        if keys:
            self._count(name, filter="", consistency_level=STRONG)

    def close(self) -> None:
        with self._lock:
            if self._connected is not None:
                self._connected[0].close()
                self._connected = None

    @property
    def _client(self) -> MilvusClient:
        return self._open()[0]

    def _open(self) -> tuple[MilvusClient, Capabilities]:
        with self._lock:
            if self._connected is None:
                self._connected = self._connect()
                self._openings += 1
            return self._connected

    def _connect(self) -> tuple[MilvusClient, Capabilities]:
        try:
            client = driver.connect(self._uri, self._token)
            version = one_line(str(client.get_server_version(retry_times=RETRY_TIMES)), MAX_SHOWN)
        except Exception as error:
            raise MilvusConnectionError(
                f"no Milvus answers at {self.location}: {driver.reason(error, self._uri)}. Check LOREKEEPER_MILVUS_URI and "
                "LOREKEEPER_MILVUS_TOKEN, and that the server is running"
            ) from error
        return client, driver.capabilities(version, self.location)

    def _call(self, method: Callable[..., T], *args: object, **options: object) -> T:
        """Call a method of the driver; retried for a while if the server is busy, with its errors translated to ours."""
        with self._errors(self._client):
            for attempt in stamina.retry_context(
                on=driver.rate_limited, attempts=driver.RATE_ATTEMPTS, timeout=None, wait_max=driver.RATE_PAUSE_SECONDS
            ):
                with attempt:
                    return method(*args, retry_times=RETRY_TIMES, **options)
        raise AssertionError("stamina raises the last error")

    @contextlib.contextmanager
    def _errors(self, client: MilvusClient) -> Iterator[None]:
        """Translate the driver's errors to ours; those of a client that was closed meanwhile mean a lost connection."""
        try:
            yield
        except Exception as error:
            closed = self._connected is None or self._connected[0] is not client
            raise driver.translated(error, self.location, lost=closed) from error


@dataclass(frozen=True)
class _Search:
    """What to search: a vector, or words, in the column that is indexed for it."""

    data: Vectors | str
    column: str
    params: Mapping[str, object]
    expression: str
    limit: int


def _in_parts(call: Callable[[Sequence[Item]], T], items: Sequence[Item]) -> list[T]:
    """Call with all items; if that makes the message too large, with each half of them, recursively."""
    try:
        return [call(items)] if items else []
    except driver.TooLargeError:
        if len(items) == 1:
            raise
    middle = len(items) // 2
    return _in_parts(call, items[:middle]) + _in_parts(call, items[middle:])


def _add(schema: CollectionSchema, column: Column) -> None:
    from pymilvus import DataType, Function, FunctionType

    text = {"datatype": DataType.VARCHAR, "max_length": column.size}
    options: dict[ColumnType, dict[str, object]] = {
        ColumnType.TEXT: text,
        ColumnType.INTEGER: {"datatype": DataType.INT64},
        ColumnType.FLAG: {"datatype": DataType.BOOL},
        ColumnType.TEXTS: {
            "datatype": DataType.ARRAY,
            "element_type": DataType.VARCHAR,
            "max_capacity": column.many,
            "max_length": column.size,
        },
        ColumnType.VECTOR: {"datatype": DataType.FLOAT_VECTOR, "dim": column.size},
        ColumnType.WORDS: text | {"enable_analyzer": True, "analyzer_params": {"type": "standard"}},
        ColumnType.RANKED: {"datatype": DataType.SPARSE_FLOAT_VECTOR},
    }
    role = {"is_primary": True} if column.primary else {"nullable": column.nullable}
    schema.add_field(column.name, **options[column.type], **role)
    if column.type is ColumnType.RANKED:
        schema.add_function(Function(column.name, FunctionType.BM25, [WORDS], [column.name]))
