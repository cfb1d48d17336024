"""The one door to pymilvus: collections on a Milvus server."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import stamina

from lorekeeper.addresses import is_local, shown_address, without_secrets
from lorekeeper.cache.milvus import plain as milvus_plain
from lorekeeper.cache.milvus.schema import (
    MESSAGE_BYTES,
    PROPERTY,
    WORDS,
    WORDS_FORMAT,
    WORDS_INDEX,
    WORDS_RANKED,
    Abilities,
    Column,
    ColumnType,
    Row,
    described,
    row_bytes,
)
from lorekeeper.errors import CacheError, MilvusConnectionError
from lorekeeper.printable import MAX_SHOWN, one_line

T = TypeVar("T")

CONNECT_SECONDS = 10.0

RETRY_TIMES = 3
"""Tries of one call (0.01, 0.03, 0.09 s apart)."""

RATE_ATTEMPTS = 12
"""Tries of a call that a server refuses because there are too many, 0.1 s to `RATE_PAUSE_SECONDS` apart: about half a minute."""

RATE_PAUSE_SECONDS = 5.0

MAX_ROWS = 16_384
"""Most rows a server gives in one answer; what may be more is read in pages."""

MINIMUM = (2, 3, 5)
"""Oldest Milvus that passes the contract tests. Those before 2.3.2 have no lists of texts; those before 2.3.5 answer a search
without results in a way that the driver cannot read."""

INFIX_SINCE = (2, 4)
"""Milvus whose LIKE finds a text in the middle of another."""

WORDS_SINCE = (2, 5)
"""Milvus with BM25."""

INDEX = ("vector", {"index_type": "FLAT", "metric_type": "COSINE", "params": {}})
"""Indexed column, and how. Rows that a server has not sealed yet it searches by an index of its own that sees only a part
of them, and under a filter next to none, unless the collection's is FLAT, which is exact."""

SEARCH_PARAMS: dict[str, Any] = {"metric_type": "COSINE", "params": {"nprobe": 128}}
"""How to search it; ``nprobe`` is for collections of format 1."""

HALF_MADE_SECONDS = 2.0
"""How long a collection without an index may still be in the making."""

LITE = "milvus_lite"
"""What the version of Milvus Lite's own server begins with."""

_RATE_LIMITED = 8

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
            version = one_line(str(self._call("get_server_version")), MAX_SHOWN)
        except Exception as error:
            raise MilvusConnectionError(
                f"no Milvus answers at {shown_address(uri)}: {reason(error, uri)}. Check LOREKEEPER_MILVUS_URI and "
                "LOREKEEPER_MILVUS_TOKEN, and that the server is running"
            ) from error
        self.abilities = abilities(version, shown_address(uri))
        self._flushes = not version.startswith(LITE)

    def list_collections(self) -> list[str]:
        return list(self._call("list_collections"))

    def has_collection(self, name: str) -> bool:
        """Whether there is one; one of ours that was never finished does not count, and can be made again."""
        return bool(self._call("has_collection", name)) and not self._half_made(name)

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
        self._drop_half_made(name)
        self._call(
            "create_collection",
            name,
            schema=schema,
            properties={PROPERTY: description},
            consistency_level="Session",
        )
        self._call("create_index", name, params, sync=False)
        self._call("load_collection", name)

    def _half_made(self, name: str) -> bool:
        """Whether a collection is ours and has no index, which is given to it before anything is stored in it."""
        return bool(described(self.description(name))) and not self._call("list_indexes", name, field_name=INDEX[0])

    def _drop_half_made(self, name: str) -> None:
        """Make room for a collection where the making of one was cut off, unless another machine is at it right now."""
        deadline = time.monotonic() + HALF_MADE_SECONDS
        while self._call("has_collection", name) and self._half_made(name):
            if time.monotonic() > deadline:
                self._call("drop_collection", name)
            time.sleep(0.1)

    def load_collection(self, name: str) -> None:
        self._call("load_collection", name)

    def release_collection(self, name: str) -> None:
        self._call("release_collection", name)

    def drop_collection(self, name: str) -> None:
        self._call("drop_collection", name)

    def rename_collection(self, name: str, new_name: str) -> None:
        self._call("rename_collection", name, new_name)

    def flush(self, name: str) -> None:
        """Flush where the server does not do so by itself, as Milvus Lite's. Others allow one flush in 10 s."""
        if not self._flushes:
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
        def search(shown: list[str]) -> list[Row]:
            (found,) = self._call(
                "search",
                name,
                data=[wanted],
                anns_field=column,
                filter=test,
                limit=limit,
                output_fields=shown,
                search_params=params,
            )
            # servers before 2.5 do not say what the primary key is called
            return [{**row["entity"], "pk": row.get("pk", row.get("id")), "distance": row["distance"]} for row in found]

        try:
            return search(list(fields))
        except Exception as error:
            if not _too_large(error):
                raise
        found = search(["pk"])
        read = {row["pk"]: row for row in self.get(name, [row["pk"] for row in found], ["pk", *fields])}
        return [{**read[row["pk"]], **row} for row in found if row["pk"] in read]

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        def get(some: Sequence[str]) -> list[Row]:
            return [dict(row) for row in self._call("get", name, ids=list(some), output_fields=list(fields))]

        return [row for part in _in_parts(get, keys) for row in part]

    def query(self, name: str, test: str, fields: Sequence[str]) -> list[Row]:
        wanted: dict[str, Any] = {"filter": test, "output_fields": list(fields), "consistency_level": "Strong"}
        size = MAX_ROWS
        while True:
            try:
                rows = self._call("query", name, limit=size, **wanted)
                return [dict(row) for row in rows] if len(rows) < size else self._pages(name, size, wanted)
            except Exception as error:
                if not _too_large(error) or size == 1:
                    raise
            size //= 2

    def _pages(self, name: str, size: int, wanted: dict[str, Any]) -> list[Row]:
        pages = self._call("query_iterator", name, batch_size=size, **wanted)
        try:
            return [dict(row) for batch in iter(pages.next, []) for row in batch]
        finally:
            pages.close()

    def count(self, name: str, test: str = "") -> int:
        return int(self._call("query", name, filter=test, output_fields=["count(*)"])[0]["count(*)"])

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        for message in _messages(rows):
            _in_parts(lambda some: self._call("upsert", name, list(some)), message)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Delete rows; when it returns, the reads of this process see it. Servers do not say at what time they deleted, so
        that reads at consistency Session may be of a time before; those at Strong wait, and those that follow see the same."""
        _in_parts(lambda some: self._call("delete", name, ids=list(some)), keys)
        if keys:
            self._call("query", name, filter="", output_fields=["count(*)"], consistency_level="Strong")

    def close(self) -> None:
        self._client.close()

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """One call, made again for a while where the server has too many."""
        for attempt in stamina.retry_context(
            on=_rate_limited, attempts=RATE_ATTEMPTS, timeout=None, wait_max=RATE_PAUSE_SECONDS
        ):
            with attempt:
                return getattr(self._client, method)(*args, retry_times=RETRY_TIMES, **kwargs)
        raise AssertionError("stamina raises the last error")


def abilities(version: str, location: str) -> Abilities:
    """What a server of that version can do; MilvusConnectionError where that is not enough."""
    if version.startswith(LITE):
        return Abilities(milvus_plain.FORMAT, WORDS_FORMAT, remarks=version)
    numbers = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    known = tuple(int(number or 0) for number in numbers.groups()) if numbers else MINIMUM
    if known < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise MilvusConnectionError(
            f"the Milvus server at {location} is version {version}; LoreKeeper needs {wanted} or newer. Update the server, or "
            "unset LOREKEEPER_MILVUS_URI to use the library on this machine"
        )
    words, infix = known >= WORDS_SINCE, known >= INFIX_SINCE
    remarks = [f"Milvus {version}"]
    if not words:
        remarks.append("has no BM25 (since 2.5): the keyword index on this machine ranks words")
    if not infix:
        remarks.append("LIKE finds only beginnings (until 2.4): names are compared on this machine")
    return Abilities(milvus_plain.FORMAT, WORDS_FORMAT if words else None, infix, "; ".join(remarks))


def _messages(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows in messages of at most `MESSAGE_BYTES`, or of one row."""
    messages: list[list[Row]] = [[]]
    size = 0
    for row in rows:
        own = row_bytes(row)
        if messages[-1] and size + own > MESSAGE_BYTES:
            messages.append([])
            size = 0
        messages[-1].append(row)
        size += own
    return messages if rows else []


def _in_parts(call: Callable[[Sequence[Any]], T], items: Sequence[Any]) -> list[T]:
    """Call with all items, or where that makes a message that is too large with each half of them, and so on."""
    try:
        return [call(items)] if items else []
    except Exception as error:
        if not _too_large(error) or len(items) == 1:
            raise
    middle = len(items) // 2
    return _in_parts(call, items[:middle]) + _in_parts(call, items[middle:])


def _too_large(error: Exception) -> bool:
    import grpc

    return _code(error) is grpc.StatusCode.RESOURCE_EXHAUSTED


def _rate_limited(error: Exception) -> bool:
    return _code(error) == _RATE_LIMITED or "rate limit exceeded" in str(error)


def _code(error: Exception) -> Any:
    code: Any = getattr(error, "code", None)
    return code() if callable(code) else code


def translated(error: Exception, location: str) -> CacheError:
    """The driver's error as one of ours; the location is the server's address as people may see it."""
    import grpc
    from pymilvus.exceptions import MilvusException

    code = _code(error)
    lost = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED) or "closed channel" in str(error)
    if lost or "Fail connecting to server" in str(error):
        return MilvusConnectionError(f"Milvus at {location} does not answer any more: {reason(error)}; try again")
    if _rate_limited(error):
        return CacheError(
            f"Milvus at {location} is busy: it has refused a call {RATE_ATTEMPTS} times, because there are too many "
            f"({reason(error)}). What was stored until then is safe; try again later, or raise quotaAndLimits on the server"
        )
    verb = "refused" if isinstance(error, MilvusException) else "failed"
    return CacheError(f"Milvus at {location} {verb}: {reason(error)}")


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
