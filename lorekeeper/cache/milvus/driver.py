"""The driver of Milvus servers: its client, its errors translated to ours, and what each server version supports."""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING

from lorekeeper.addresses import is_local, without_secrets
from lorekeeper.cache.milvus import layout_v2
from lorekeeper.cache.milvus.backend import Capabilities
from lorekeeper.cache.milvus.layout_v3 import WORDS_FORMAT
from lorekeeper.errors import CacheError, MilvusConnectionError

if TYPE_CHECKING:
    from pymilvus import MilvusClient

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
        return Capabilities(layout_v2.FORMAT, WORDS_FORMAT, flushed_by_client=True, remarks=version)
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
    return Capabilities(layout_v2.FORMAT, version_of_words, infix, remarks="; ".join(remarks))


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
