"""What several test modules share: a private run-time folder, the corpus, and the cache backends under contract."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lorekeeper.cache.milvus.connection import MilvusConnection
from lorekeeper.cache.protocol import CacheProtocol
from lorekeeper.embedding import EmbeddingProvider, EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.filters import clean_fields
from lorekeeper.library import open_cache
from lorekeeper.settings import Settings, load_settings
from tests import milvus_standalone
from tests.embedding_server import EmbeddingServer

CORPUS = "LOREKEEPER_CORPUS"
SERVER_SECONDS = 60

if TYPE_CHECKING:
    from tests.limited_milvus import LimitedServer

SEED = 13
"""Of the random tests, where no other is given."""


# --- the session ---------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lorekeeper", "how much the random tests do")
    group.addoption("--seed", type=int, default=SEED, help=f"seed of the fuzz and hostile tests (default: {SEED})")
    group.addoption("--fuzz-calls", type=int, default=200, help="tool calls for each backend (default: 200)")
    group.addoption("--hostile", type=int, default=30, help="hostile inputs (default: 30)")


def pytest_report_header(config: pytest.Config) -> str:
    options = "seed", "fuzz-calls", "hostile"
    return "random tests: " + " ".join(f"--{name}={config.getoption(name.replace('-', '_'))}" for name in options)


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of the fuzz and hostile tests."""
    return int(request.config.getoption("seed"))


@pytest.fixture(scope="session")
def fuzz_calls(request: pytest.FixtureRequest) -> int:
    """Tool calls for each backend."""
    return int(request.config.getoption("fuzz_calls"))


@pytest.fixture(scope="session")
def hostile(request: pytest.FixtureRequest) -> int:
    """Number of hostile inputs."""
    return int(request.config.getoption("hostile"))


def pytest_configure(config: pytest.Config) -> None:
    """Keep sockets of test libraries apart from the user's, and the user's settings out of the tests."""
    kept = (CORPUS, milvus_standalone.EXECUTABLE)
    for name in [n for n in os.environ if n.startswith("LOREKEEPER_") and n not in kept]:
        del os.environ[name]
    os.environ["LOREKEEPER_ENV_FILE"] = os.devnull
    runtime = tempfile.mkdtemp(prefix="lk")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    config.add_cleanup(lambda: shutil.rmtree(runtime, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker have all tests that share something large, and begin with those."""
    large = {name: [item for item in items if item.get_closest_marker(name)] for name in ("milvus_server", "corpus")}
    for name, sharing in large.items():
        for item in sharing:
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=lambda item: not any(item in sharing for sharing in large.values()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("corpus") and not os.environ.get(CORPUS):
        pytest.skip(f"needs the Open5e corpus: set {CORPUS} to its folder")
    if item.get_closest_marker("milvus_server"):
        try:
            milvus_standalone.executable()
        except milvus_standalone.UnavailableError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder of the Open5e corpus, for tests marked ``corpus``."""
    return Path(os.environ[CORPUS])


# --- backends ------------------------------------------------------------------------------------------------------


def settings(**values: object) -> Settings:
    """Settings with these values, and defaults for the rest."""
    return load_settings({f"LOREKEEPER_{k.upper()}": str(v) for k, v in values.items()}, Path("no.env"))[0]


def _embedded(folder: Path, _request: pytest.FixtureRequest) -> Settings:
    return settings(milvus_db_path=folder / "milvus.db")


def _server(folder: Path, request: pytest.FixtureRequest) -> Settings:
    return settings(milvus_db_path=folder / "milvus.db", milvus_uri=request.getfixturevalue("empty_milvus_server"))


def _standalone(folder: Path, request: pytest.FixtureRequest) -> Settings:
    return settings(milvus_db_path=folder / "milvus.db", milvus_uri=request.getfixturevalue("empty_standalone_server"))


def _limited(folder: Path, request: pytest.FixtureRequest) -> Settings:
    server: LimitedServer = request.getfixturevalue("empty_limited_server")
    return settings(milvus_db_path=folder / "milvus.db", milvus_uri=server.uri)


def _sqlite(folder: Path, _request: pytest.FixtureRequest) -> Settings:
    return settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db")


def _guest(folder: Path, request: pytest.FixtureRequest) -> Settings:
    owner = MilvusConnection(folder / "milvus.db")
    owner.open()
    request.addfinalizer(owner.close)
    return _embedded(folder, request)


BACKENDS: dict[str, Callable[[Path, pytest.FixtureRequest], Settings]] = {
    "milvus": _embedded,
    "milvus-guest": _guest,
    "milvus-server": _server,
    "milvus-standalone": _standalone,
    "milvus-limited": _limited,
    "sqlite": _sqlite,
}
"""Every cache backend by name, and the settings that choose it; a guest's library is owned by somebody else.

The contract suite runs over all of them; over the standalone server where it is installed.
"""

MARKS = {"milvus-standalone": pytest.mark.milvus_server}


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real Milvus server process."""
    grpc: Any = pytest.importorskip("grpc")
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("milvus-lite")), "server", "--data-dir", str(folder / "data")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=SERVER_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=SERVER_SECONDS)


@pytest.fixture
def empty_milvus_server(milvus_server: str) -> Iterator[str]:
    """The server, with no collection on it before and after the test."""
    drop_collections(milvus_server)
    yield milvus_server
    drop_collections(milvus_server)


@pytest.fixture(scope="session")
def standalone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the real standalone server, for tests marked ``milvus_server``."""
    with milvus_standalone.standalone_server(tmp_path_factory.mktemp("standalone")) as uri:
        yield uri


@pytest.fixture
def empty_standalone_server(standalone_server: str) -> Iterator[str]:
    """The standalone server, with no collection on it before and after the test."""
    drop_collections(standalone_server)
    yield standalone_server
    drop_collections(standalone_server)


@pytest.fixture
def empty_limited_server(empty_milvus_server: str) -> Iterator[LimitedServer]:
    """A server that has no collection, and the limits of newer servers."""
    from tests.limited_milvus import limited_server

    with limited_server(empty_milvus_server.removeprefix("http://")) as server:
        yield server


def drop_collections(uri: str) -> None:
    """Make a Milvus server empty."""
    from pymilvus import MilvusClient

    client = MilvusClient(uri, dedicated=True)
    try:
        for name in client.list_collections():
            client.drop_collection(name)
    finally:
        client.close()


@pytest.fixture(scope="module")
def embeddings() -> Iterator[EmbeddingServer]:
    """An embedding server for the processes of a test module."""
    server = EmbeddingServer()
    with server.running():
        yield server


def library_in(folder: Path, backend: str, server: EmbeddingServer) -> Settings:
    """Settings of a library in a folder, whose texts that server embeds."""
    return settings(
        cache_backend=backend,
        milvus_db_path=folder / "milvus.db",
        sqlite_db_path=folder / "cache.db",
        embedding_provider="http",
        embedding_url=server.url,
    )


@dataclass
class Shelf:
    """Opens caches on one store, as several programs or runs would, and closes them all at the end of the test."""

    settings: Settings

    def __post_init__(self) -> None:
        self._opened: list[tuple[CacheProtocol, EmbeddingService]] = []

    def open(self, provider: EmbeddingProvider | None = None) -> CacheProtocol:
        """One more cache on the store; the hashing provider where no other is given."""
        chosen = provider or HashingProvider(512)
        service = EmbeddingService(lambda: chosen)
        cache = open_cache(self.settings, service)
        self._opened.append((cache, service))
        return cache

    async def close(self) -> None:
        for cache, service in self._opened:
            await cache.close()
            service.close()


BACKEND_PARAMS = [pytest.param(name, marks=MARKS.get(name, ())) for name in BACKENDS]


@pytest.fixture(params=BACKEND_PARAMS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of each backend in turn, on an empty store."""
    return BACKENDS[request.param](tmp_path, request)


@pytest.fixture
async def shelf(backend: Settings) -> AsyncIterator[Shelf]:
    """An empty store of each backend, to be opened by the test."""
    shelf = Shelf(backend)
    yield shelf
    await shelf.close()


@pytest.fixture
def cache(shelf: Shelf) -> CacheProtocol:
    """One cache on an empty store of each backend."""
    return shelf.open()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Shelf]:
    """An empty embedded Milvus library, to be opened by the test."""
    shelf = Shelf(settings(milvus_db_path=tmp_path / "milvus.db"))
    yield shelf
    await shelf.close()


# --- entities ------------------------------------------------------------------------------------------------------


def make(
    slug: str,
    desc: str = "",
    *,
    type: str = "spells",  # noqa: A002
    name: str | None = None,
    kind: str | None = None,
    document: str = "own",
    data: dict[str, Any] | None = None,
    **fields: Any,
) -> Entity:
    """A small entity; keyword arguments beside the base ones are its filter fields."""
    title = name if name is not None else slug
    kinds = {"spells": "spell", "creatures": "creature", "equipment": "gear", "character_options": "feat"}
    return Entity(
        type=type,
        slug=slug,
        name=title,
        kind=kind or kinds.get(type, type.removesuffix("s")),
        document=document,
        source_api="lorekeeper",
        data={"name": title, "desc": desc} if data is None else data,
        fields=clean_fields(type, fields),
    )


def change_abilities(cache: CacheProtocol, **values: Any) -> None:
    """Let a cache on a server take the server for one that can do other things, or make collections as an older version."""
    connection: MilvusConnection = cache._store.connection  # type: ignore[attr-defined]
    connection.open()
    backend: Any = connection._backend
    backend.abilities = replace(backend.abilities, **values)


async def everything(cache: CacheProtocol, entity_type: str = "spells") -> list[Entity]:
    """All entities of a type, by iteration."""
    return [entity async for batch in cache.iterate(entity_type) for entity in batch]
