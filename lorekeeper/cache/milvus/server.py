"""Collections on a Milvus server: calls of its driver, within the size limits of messages and answers, and words that it ranks.

Every server has the analyzer "standard", but not every one has a stemmer. So words are folded and stemmed here, both for
storing and for searching: all clients stem alike.

Servers count rows, not entities, so that passages, which have no words, lower the average length of a text;
`rows.WORDS_INDEX` compensates for it. Milvus returns scores above 0, Milvus Lite's own server the same ones negated;
both return the best first, so the magnitude is the score. Milvus Lite's server has separate statistics for each of its files
instead of for the whole collection, and reads index parameters only within "params".
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from lorekeeper.addresses import is_local, shown_address, without_secrets
from lorekeeper.cache.milvus.backend import Capabilities, LazyBackend
from lorekeeper.cache.milvus.rows import (
    PROPERTY,
    SERVER_FORMAT,
    TEXT_BYTES,
    WORDS,
    WORDS_FORMAT,
    WORDS_INDEX,
    WORDS_RANKED,
    Column,
    ColumnType,
    Row,
    described,
    identity,
)
from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.sqlite.keywords import words_of
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, MilvusConnectionError
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.text.keywords import RELATED, KeywordQuery
from lorekeeper.text.porter import porter_stem

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
        except TooLargeError:
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
            except TooLargeError:
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
            client = connect(self._uri, self._token)
            version = one_line(str(client.get_server_version(retry_times=RETRY_TIMES)), MAX_SHOWN)
        except Exception as error:
            raise MilvusConnectionError(
                f"no Milvus answers at {self.location}: {reason(error, self._uri)}. Check LOREKEEPER_MILVUS_URI and "
                "LOREKEEPER_MILVUS_TOKEN, and that the server is running"
            ) from error
        return client, capabilities(version, self.location)

    def _call(self, method: Callable[..., T], *args: object, **options: object) -> T:
        """Call a method of the driver; retried for a while if the server is busy, with its errors translated to ours."""
        import stamina  # which a cache in files does without

        with self._errors(self._client):
            for attempt in stamina.retry_context(
                on=rate_limited, attempts=RATE_ATTEMPTS, timeout=None, wait_max=RATE_PAUSE_SECONDS
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
            raise translated(error, self.location, lost=closed) from error


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
    except TooLargeError:
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


# --- the driver ------------------------------------------------------------------------------------------------------

CONNECT_SECONDS = 10.0

RATE_ATTEMPTS = 12
"""Attempts at a call that a busy server refuses, 0.1 s to `RATE_PAUSE_SECONDS` apart: about half a minute."""

RATE_PAUSE_SECONDS = 5.0

MINIMUM = (2, 3, 5)
"""Oldest Milvus that passes the contract tests. Versions before 2.3.2 have no lists of texts; versions before 2.3.5 answer a
search without results in a way that the driver cannot read."""

INFIX_SINCE = (2, 4)
"""First Milvus whose LIKE matches inside a text."""

WORDS_SINCE = (2, 5)
"""First Milvus with BM25."""

LITE = "milvus_lite"
"""Prefix of the version of Milvus Lite's own server."""

_GRPC_OPTIONS = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": False}
"""The driver's own keep-alive, every 10 s, makes some servers disconnect a process that embeds for a while."""


class TooLargeError(CacheError):
    """A message, or its answer, is larger than the server or a proxy allows."""


def connect(uri: str, token: str | None) -> MilvusClient:
    """The driver's client, connected; the driver's error if no server answers."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # its handlers can stop all calls of a process that forks
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"  # the driver would load a .env of this or a parent folder
    from pymilvus import MilvusClient

    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # its own import has set it
    options = _GRPC_OPTIONS | ({"grpc.enable_http_proxy": 0} if is_local(uri) else {})
    return MilvusClient(uri, token=token or "", timeout=CONNECT_SECONDS, dedicated=True, grpc_options=options)


def capabilities(version: str, location: str) -> Capabilities:
    """What a server of that version supports; MilvusConnectionError if that is not enough."""
    if version.startswith(LITE):
        return Capabilities(SERVER_FORMAT, WORDS_FORMAT, flushed_by_client=True, remarks=version)
    numbers = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    release = tuple(int(number or 0) for number in numbers.groups()) if numbers else MINIMUM
    if release < MINIMUM:
        oldest = ".".join(map(str, MINIMUM))
        raise MilvusConnectionError(
            f"the Milvus server at {location} is version {version}; LoreKeeper needs {oldest} or newer. Update the server, or "
            "unset LOREKEEPER_MILVUS_URI to use the library on this machine"
        )
    words, infix = release >= WORDS_SINCE, release >= INFIX_SINCE
    remarks = [f"Milvus {version}"]
    if not words:
        remarks.append("has no BM25 (since 2.5): the keyword index on this machine ranks words")
    if not infix:
        remarks.append("LIKE finds only beginnings (until 2.4): names are compared on this machine")
    version_of_words = WORDS_FORMAT if words else None
    return Capabilities(SERVER_FORMAT, version_of_words, infix, remarks="; ".join(remarks))


def rate_limited(error: Exception) -> bool:
    """Whether a server refused a call because there are too many; servers before 2.3 use another number."""
    from pymilvus.exceptions import ErrorCode, MilvusException
    from pymilvus.grpc_gen import common_pb2

    if not isinstance(error, MilvusException):
        return False
    return bool(error.code == ErrorCode.RATE_LIMIT or error.compatible_code == common_pb2.RateLimit)


def _status(error: Exception) -> object:
    """The status of a gRPC call that failed, or the number of a server's error; None for other errors."""
    code = getattr(error, "code", None)
    return code() if callable(code) else code


def translated(error: Exception, location: str, *, lost: bool = False) -> CacheError:
    """The driver's error, translated to one of ours.

    Args:
        error: of the driver.
        location: the server's address as people may see it.
        lost: whether the connection is known to be closed.
    """
    import grpc
    from pymilvus.client.types import Status
    from pymilvus.exceptions import MilvusException

    status, explanation = _status(error), reason(error)
    if lost or status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, Status.CONNECT_FAILED):
        return MilvusConnectionError(f"Milvus at {location} no longer answers: {explanation}; try again")
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return TooLargeError(f"Milvus at {location} failed: {explanation}")
    if rate_limited(error):
        return CacheError(
            f"Milvus at {location} is busy: it refused a call {RATE_ATTEMPTS} times because of too many calls "
            f"({explanation}). What was stored before is safe; try again later, or raise quotaAndLimits on the server"
        )
    verb = "refused an operation" if isinstance(error, MilvusException) else "failed"
    return CacheError(f"Milvus at {location} {verb}: {explanation}")


def reason(error: Exception, uri: str = "") -> str:
    """An error in one line of at most 300 characters; the driver's own text may repeat the address."""
    text = str(getattr(error, "message", "") or error or type(error).__name__)
    return without_secrets(" ".join(text.split()), uri)[:300]


# --- words -----------------------------------------------------------------------------------------------------------

REPEATS = (4, 1, 1, 1)
"""How often a word is stored for each time it occurs in the name, the text, the phrases, the description of the hint."""

RELATED_ROWS = 4
"""How many times as many rows as are asked for are read of a query some of whose words count less: scores are added up here."""

SHORT = 3
"""Shorter words are not stemmed, in letters."""


def stored_words(entity: Entity) -> str:
    """The stems of an entry's words, repeated by its weight, at most `TEXT_BYTES` of UTF-8.

    BM25 ignores order: every stem is stored once before any is stored twice, so that what is omitted of an overlong entry counts
    least.
    """
    counts: Counter[str] = Counter()
    for text, times in zip(words_of(entity), REPEATS, strict=True):
        for word in fold(text).split():
            counts[_stem(word)] += times
    return " ".join(_fitting(counts, TEXT_BYTES))


def query_stems(words: Sequence[str]) -> list[str]:
    """The stems of the words of a query, each once; words without letters and digits have none."""
    return list(dict.fromkeys(_stem(word) for word in words if word.isalnum()))


def rank_words(
    server: MilvusServer, entity_type: str, expression: str, query: KeywordQuery, limit: int
) -> list[Ranked]:
    """The entities that have any word of a query, or a related one, best first; the server's BM25 scores, above 0.

    ``expression`` is one for the entity records that are searched.
    """
    sides = [*((words, weight) for weight, words in query.by_weight.items()), (query.related, RELATED)]
    number = RELATED_ROWS * limit if query.related or query.shares else limit
    fields = ["document", "slug", "name", WORDS]
    required = [set(query_stems(words)) for words in query.complete]
    ranking: dict[Identity, Ranked] = {}
    for words, weight in sides:
        stems = query_stems(words)
        for row in server.search_words(entity_type, " ".join(stems), expression, number, fields) if stems else []:
            key, held = identity(row), frozenset(row[WORDS].split())
            score = weight * abs(float(row["distance"])) + (ranking[key].score if key in ranking else 0.0)
            complete = any(words and words <= held for words in required)
            ranking[key] = Ranked(key, row["name"], score, complete=complete)
    return sorted(ranking.values(), key=lambda ranked: (-ranked.score, ranked.identity))[:limit]


def _fitting(counts: Counter[str], size: int) -> Iterator[str]:
    """Words repeated by their counts, round by round, up to a number of bytes with the spaces between them."""
    done = 0
    while counts:
        for word in counts:
            size -= len(word.encode("utf-8")) + 1
            if size < -1:
                return
            yield word
        done += 1
        counts = Counter({word: number for word, number in counts.items() if number > done})


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """The stem of a folded word. Short words are not changed, as in every Porter stemmer except this library's."""
    return word if len(word) < SHORT else porter_stem(word)
