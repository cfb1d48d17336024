"""Every cache backend by name, and caches on one store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lorekeeper.cache.milvus.failover import EmbeddedBackend
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingProvider, EmbeddingService, HashingProvider
from lorekeeper.settings import Settings
from tests.support.libraries import settings

if TYPE_CHECKING:
    from lorekeeper.cache.milvus.server import MilvusServer
    from tests.support.limited_milvus import LimitedServer


def _embedded(folder: Path, _request: pytest.FixtureRequest) -> Settings:
    return settings(milvus_db_path=folder / "milvus.db")


def _itself(folder: Path, _request: pytest.FixtureRequest) -> Settings:
    """An embedded library whose vectors Milvus Lite searches."""
    return settings(milvus_db_path=folder / "milvus.db", milvus_search="milvus")


def _server(folder: Path, request: pytest.FixtureRequest) -> Settings:
    return settings(milvus_db_path=folder / "milvus.db", milvus_uri=request.getfixturevalue("empty_milvus_server"))


def _standalone(folder: Path, request: pytest.FixtureRequest) -> Settings:
    return settings(milvus_db_path=folder / "milvus.db", milvus_uri=request.getfixturevalue("empty_standalone_server"))


def _limited(folder: Path, request: pytest.FixtureRequest) -> Settings:
    server: LimitedServer = request.getfixturevalue("empty_limited_server")
    return settings(milvus_db_path=folder / "milvus.db", milvus_uri=server.uri)


def _sqlite(folder: Path, _request: pytest.FixtureRequest) -> Settings:
    return settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db")


def _client(folder: Path, request: pytest.FixtureRequest) -> Settings:
    server = EmbeddedBackend(folder / "milvus.db")
    server.open()
    request.addfinalizer(server.close)
    return _embedded(folder, request)


BACKENDS: dict[str, Callable[[Path, pytest.FixtureRequest], Settings]] = {
    "milvus": _embedded,
    "milvus-itself": _itself,
    "milvus-client": _client,
    "milvus-server": _server,
    "milvus-standalone": _standalone,
    "milvus-limited": _limited,
    "sqlite": _sqlite,
}
"""Every cache backend by name, and the settings that choose it; another process serves a client's library.

The contract suite runs over all of them but the plain server, which is what stands behind the limited one; over the standalone
server if it is installed.
"""

MARKS = {
    "milvus-standalone": [pytest.mark.milvus_server],
    "milvus-limited": [pytest.mark.slow],
    "milvus-itself": [pytest.mark.slow],
    "milvus-client": [pytest.mark.slow],
    "milvus-server": [pytest.mark.slow],
}

BACKEND_PARAMS = [pytest.param(name, marks=MARKS.get(name, [])) for name in BACKENDS if name != "milvus-server"]


@dataclass
class Caches:
    """Opens caches on one store, as several programs or runs would, and closes them all at the end of the test."""

    settings: Settings

    def __post_init__(self) -> None:
        self._opened: list[tuple[SearchCache, EmbeddingService]] = []

    def open(self, provider: EmbeddingProvider | None = None) -> SearchCache:
        """One more cache on the store; the hashing provider if no other is given."""
        chosen = provider or HashingProvider(512)
        service = EmbeddingService(lambda: chosen)
        cache = open_cache(self.settings, service)
        self._opened.append((cache, service))
        return cache

    async def close(self) -> None:
        for cache, service in self._opened:
            await cache.close()
            service.close()


def drop_collections(uri: str) -> None:
    """Make a Milvus server empty."""
    from pymilvus import MilvusClient

    client = MilvusClient(uri, dedicated=True)
    try:
        for name in client.list_collections():
            client.drop_collection(name)
    finally:
        client.close()


def change_capabilities(cache: SearchCache, **values: Any) -> None:
    """Let a cache take its Milvus server for one that can do other things, or make collections as an older version."""
    server: MilvusServer = cache._store.server  # type: ignore[attr-defined]
    client, capabilities = server._open()
    server._connected = client, replace(capabilities, **values)
