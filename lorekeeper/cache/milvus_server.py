"""The one door to pymilvus: collections on a Milvus server."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from lorekeeper.addresses import is_local, shown_address, without_secrets
from lorekeeper.cache.milvus_schema import (
    INDEX,
    PROPERTY,
    SEARCH_PARAMS,
    WORDS,
    WORDS_INDEX,
    WORDS_RANKED,
    Column,
    ColumnType,
    Row,
)
from lorekeeper.errors import CacheError, MilvusConnectionError

CONNECT_SECONDS = 10.0

RETRY_TIMES = 3
"""Tries of one call (0.01, 0.03, 0.09 s apart)."""

MAX_ROWS = 16_384
"""Most rows a server gives in one answer; what may be more is read in pages."""

_GRPC_OPTIONS = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": False}
"""The driver's own keep-alive, every 10 s, makes some servers hang up on a process that embeds for a while."""


class MilvusServer:
    """Collections at an address. `milvus_connection.Backend` says what its methods do; its errors are the driver's.

    Args:
        uri: the address; a proxy of the environment is not used for one on this machine.
        token: the server's token, or ``user:password``.

    Raises:
        MilvusConnectionError: nobody answers there.
    """

    def __init__(self, uri: str, token: str | None) -> None:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        os.environ.setdefault(
            "GRPC_ENABLE_FORK_SUPPORT", "0"
        )  # its handlers can stop all calls of a process that forks
        os.environ["PYTHON_DOTENV_DISABLED"] = "1"  # the driver would load a .env of this or a parent folder
        try:
            from pymilvus import MilvusClient

            logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # its own import has set it
            options = _GRPC_OPTIONS | ({"grpc.enable_http_proxy": 0} if is_local(uri) else {})
            self._client = MilvusClient(
                uri, token=token or "", timeout=CONNECT_SECONDS, dedicated=True, grpc_options=options
            )
        except Exception as error:
            raise MilvusConnectionError(
                f"no Milvus answers at {shown_address(uri)}: {reason(error, uri)}. Check LOREKEEPER_MILVUS_URI and "
                "LOREKEEPER_MILVUS_TOKEN, and that the server is running"
            ) from error

    def list_collections(self) -> list[str]:
        return list(self._call("list_collections"))

    def has_collection(self, name: str) -> bool:
        return bool(self._call("has_collection", name))

    def description(self, name: str) -> str | None:
        described = self._call("describe_collection", name)
        said = described.get("properties", {}).get(PROPERTY) or described.get("description")
        return None if said is None else str(said)

    def create_collection(self, name: str, columns: Sequence[Sequence[Any]], description: str) -> None:
        from pymilvus import MilvusClient

        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
        for column in columns:
            _add(schema, Column(*column))
        params = MilvusClient.prepare_index_params()
        for indexed, how in (INDEX, WORDS_INDEX):
            if any(column[0] == indexed for column in columns):  # parameters within "params" are read by every server
                params.add_index(indexed, **{**how, "params": {"params": how["params"]}})
        self._call(
            "create_collection",
            name,
            schema=schema,
            properties={PROPERTY: description},
            consistency_level="Session",
        )
        self._call("create_index", name, params, sync=False)
        self._call("load_collection", name)

    def load_collection(self, name: str) -> None:
        self._call("load_collection", name)

    def release_collection(self, name: str) -> None:
        self._call("release_collection", name)

    def drop_collection(self, name: str) -> None:
        self._call("drop_collection", name)

    def rename_collection(self, name: str, new_name: str) -> None:
        self._call("rename_collection", name, new_name)

    def flush(self, name: str) -> None:
        self._call("flush", name)

    def search(self, name: str, vector: Any, test: str, limit: int, fields: Sequence[str]) -> list[Row]:
        return self._search(name, vector, test, limit, fields, INDEX[0], SEARCH_PARAMS)

    def search_words(self, name: str, words: str, test: str, limit: int, fields: Sequence[str]) -> list[Row]:
        """The rows that hold any of the words and pass a test, best first, with "pk" and BM25 "distance"."""
        params = {"metric_type": WORDS_INDEX[1]["metric_type"]}
        return self._search(name, words, test, min(limit, MAX_ROWS), fields, WORDS_RANKED, params)

    def _search(
        self, name: str, wanted: Any, test: str, limit: int, fields: Sequence[str], column: str, params: dict[str, Any]
    ) -> list[Row]:
        (found,) = self._call(
            "search",
            name,
            data=[wanted],
            anns_field=column,
            filter=test,
            limit=limit,
            output_fields=list(fields),
            search_params=params,
        )
        return [{**row["entity"], "pk": row["pk"], "distance": row["distance"]} for row in found]

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        return [dict(row) for row in self._call("get", name, ids=list(keys), output_fields=list(fields))]

    def query(self, name: str, test: str, fields: Sequence[str]) -> list[Row]:
        wanted: dict[str, Any] = {"filter": test, "output_fields": list(fields), "consistency_level": "Strong"}
        rows = self._call("query", name, limit=MAX_ROWS, **wanted)
        if len(rows) < MAX_ROWS:
            return [dict(row) for row in rows]
        pages = self._call("query_iterator", name, batch_size=MAX_ROWS, **wanted)
        try:
            return [dict(row) for batch in iter(pages.next, []) for row in batch]
        finally:
            pages.close()

    def count(self, name: str, test: str = "") -> int:
        return int(self._call("query", name, filter=test, output_fields=["count(*)"])[0]["count(*)"])

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        self._call("upsert", name, list(rows))

    def delete(self, name: str, keys: Sequence[str]) -> None:
        self._call("delete", name, ids=list(keys))

    def close(self) -> None:
        self._client.close()

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._client, method)(*args, retry_times=RETRY_TIMES, **kwargs)


def translated(error: Exception, uri: str) -> CacheError:
    """The driver's error as one of ours."""
    import grpc
    from pymilvus.exceptions import MilvusException

    code: Any = getattr(error, "code", None)
    code = code() if callable(code) else code
    lost = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED) or "closed channel" in str(error)
    if lost or "Fail connecting to server" in str(error):
        return MilvusConnectionError(f"Milvus at {uri} does not answer any more: {reason(error)}; try again")
    verb = "refused" if isinstance(error, MilvusException) else "failed"
    return CacheError(f"Milvus at {uri} {verb}: {reason(error)}")


def reason(error: Exception, uri: str = "") -> str:
    """An error in one line of at most 300 characters; the driver's own text may repeat the address."""
    text = str(getattr(error, "message", "") or error or type(error).__name__)
    return without_secrets(" ".join(text.split()), uri)[:300]


def _add(schema: Any, column: Column) -> None:
    from pymilvus import DataType, Function, FunctionType

    options: dict[str, Any] = {"is_primary": True} if column.primary else {"nullable": column.nullable}
    match ColumnType(column.type):
        case ColumnType.TEXT:
            schema.add_field(column.name, DataType.VARCHAR, max_length=column.size, **options)
        case ColumnType.INTEGER:
            schema.add_field(column.name, DataType.INT64, **options)
        case ColumnType.FLAG:
            schema.add_field(column.name, DataType.BOOL, **options)
        case ColumnType.JSON:
            schema.add_field(column.name, DataType.JSON, **options)
        case ColumnType.TEXTS:
            options |= {"element_type": DataType.VARCHAR, "max_capacity": column.many, "max_length": column.size}
            schema.add_field(column.name, DataType.ARRAY, **options)
        case ColumnType.VECTOR:
            schema.add_field(column.name, DataType.FLOAT_VECTOR, dim=column.size)
        case ColumnType.WORDS:
            options |= {"enable_analyzer": True, "analyzer_params": {"type": "standard"}}
            schema.add_field(column.name, DataType.VARCHAR, max_length=column.size, **options)
        case ColumnType.RANKED:
            schema.add_field(column.name, DataType.SPARSE_FLOAT_VECTOR)
            schema.add_function(Function(column.name, FunctionType.BM25, [WORDS], [column.name]))
