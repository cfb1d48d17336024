"""A Milvus server with the limits that newer ones document: a proxy in front of Milvus Lite's own server, which enforces few.

Numbers from the documentation of Milvus 2.6 and its ``milvus.yaml``; messages are smaller than a server's own 64 MB, as some
proxies in front of servers allow.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
from pymilvus.grpc_gen import common_pb2, milvus_pb2, schema_pb2

VERSION = "v2.6.4"

FLUSH_SECONDS = 10.0
"""A collection may be flushed once in this time (``quotaAndLimits.flushRate.collection.max``: 0.1)."""

TEXT_BYTES = 65_535
JSON_BYTES = 65_536
ARRAY_ITEMS = 4_096
FIELDS = 64
ROWS = 16_384
"""Most that offset and limit of a question may add up to."""

MESSAGE_BYTES = 4 * 2**20

_RATE_LIMIT = 8
_INVALID = 1100
_SERVICE = "/milvus.proto.milvus.MilvusService/"


class LimitedServer:
    """The proxy.

    Args:
        target: host and port of the server behind it.
        version: what it says it is.

    Attributes:
        busy: calls by name, and how many more of each are refused for being too many.
        calls: calls by name.
        refused: those that it refused.
    """

    def __init__(self, target: str, version: str = VERSION) -> None:
        self.version = version
        self.busy: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._flushed: dict[str, float] = {}
        self._channel = grpc.insecure_channel(
            target, options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        )
        self._server = grpc.server(
            futures.ThreadPoolExecutor(16),
            options=[
                ("grpc.max_receive_message_length", MESSAGE_BYTES),
                ("grpc.max_send_message_length", MESSAGE_BYTES),
            ],
        )
        self._server.add_generic_rpc_handlers([_Calls(self)])
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()

    def close(self) -> None:
        """End, and hang up."""
        self._server.stop(0).wait()
        self._channel.close()

    def answer(self, name: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        """The answer to one call, by this proxy or by the server behind it."""
        self.calls[name] += 1
        refusal = self._refusal(name, request)
        if refusal:
            self.refused[name] += 1
            code, reason = refusal
            return refused_answer(name, code, reason)
        if name == "GetVersion":
            made = milvus_pb2.GetVersionResponse(status=common_pb2.Status(), version=self.version)
            return bytes(made.SerializeToString())
        call = self._channel.unary_unary(_SERVICE + name)
        try:
            given: bytes = call(request, metadata=context.invocation_metadata())
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())
            raise
        if len(given) > MESSAGE_BYTES:
            self.refused[name] += 1
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"grpc: trying to send message larger than max ({len(given)} vs. {MESSAGE_BYTES})",
            )
        return given

    def _refusal(self, name: str, request: bytes) -> tuple[int, str] | None:
        if self.busy[name] > 0:
            self.busy[name] -= 1
            return _RATE_LIMIT, "rate limit exceeded[rate=0.1]"
        match name:
            case "Flush":
                return self._flush_refusal(milvus_pb2.FlushRequest.FromString(request))
            case "Query" | "Search":
                asked = getattr(milvus_pb2, f"{name}Request").FromString(request)
                return _window_refusal(asked.query_params if name == "Query" else asked.search_params)
            case "Insert" | "Upsert":
                written = getattr(milvus_pb2, f"{name}Request").FromString(request)
                return next(filter(None, map(_column_refusal, written.fields_data)), None)
            case "CreateCollection":
                made = milvus_pb2.CreateCollectionRequest.FromString(request)
                return _schema_refusal(schema_pb2.CollectionSchema.FromString(made.schema))
        return None

    def _flush_refusal(self, request: Any) -> tuple[int, str] | None:
        now = time.monotonic()
        for collection in request.collection_names:
            if now - self._flushed.get(collection, -FLUSH_SECONDS) < FLUSH_SECONDS:
                return _RATE_LIMIT, "rate limit exceeded[rate=0.1]"
            self._flushed[collection] = now
        return None


class _Calls(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, server: LimitedServer) -> None:
        self._server = server

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        name = details.method.rsplit("/", 1)[1]
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._server.answer(name, request, context))


def refused_answer(name: str, code: int, reason: str) -> bytes:
    """The answer to a call that is refused."""
    kinds = {
        "Flush": milvus_pb2.FlushResponse,
        "Query": milvus_pb2.QueryResults,
        "Search": milvus_pb2.SearchResults,
        "Insert": milvus_pb2.MutationResult,
        "Upsert": milvus_pb2.MutationResult,
        "Delete": milvus_pb2.MutationResult,
        "DescribeCollection": milvus_pb2.DescribeCollectionResponse,
    }
    status = common_pb2.Status(code=code, reason=reason, error_code=common_pb2.UnexpectedError)
    made = kinds[name](status=status) if name in kinds else status
    return bytes(made.SerializeToString())


def _window_refusal(params: Any) -> tuple[int, str] | None:
    known = {pair.key: pair.value for pair in params}
    window = int(known.get("offset", 0)) + int(known.get("limit") or known.get("topk") or 0)
    if window > ROWS:
        return (
            65535,
            f"invalid max query result window, (offset+limit) should be in range [1, {ROWS}], but got {window}",
        )
    return None


def _column_refusal(column: Any) -> tuple[int, str] | None:
    scalars = column.scalars
    for kind, limit in (("string_data", TEXT_BYTES), ("json_data", JSON_BYTES)):
        for value in getattr(scalars, kind).data:
            length = len(value.encode("utf-8") if isinstance(value, str) else value)
            if length > limit:
                return _INVALID, f"the length ({length}) of {column.field_name} exceeds max length ({limit})"
    for items in scalars.array_data.data:
        if len(items.string_data.data) > ARRAY_ITEMS:
            return _INVALID, f"the length of the array {column.field_name} exceeds max capacity ({ARRAY_ITEMS})"
    return None


def _schema_refusal(schema: Any) -> tuple[int, str] | None:
    if len(schema.fields) > FIELDS:
        return _INVALID, f"maximum field's number should be limited to {FIELDS}"
    for field in schema.fields:
        params = {pair.key: int(pair.value) for pair in field.type_params if pair.value.isdigit()}
        if params.get("max_length", 0) > TEXT_BYTES or params.get("max_capacity", 0) > ARRAY_ITEMS:
            return _INVALID, f"the maximum length specified for the field {field.name} is too large"
    return None


@contextlib.contextmanager
def limited_server(target: str, version: str = VERSION) -> Iterator[LimitedServer]:
    """A proxy in front of the server at that host and port."""
    server = LimitedServer(target, version)
    server.start()
    try:
        yield server
    finally:
        server.close()
