"""What several test modules share: a private run-time folder, the corpus, and the cache backends under contract."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import certifi
import pytest

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.settings import Settings
from scripts.chromium import BROWSER
from tests.support import browser, examples, forking, milvus_standalone
from tests.support.backends import BACKEND_PARAMS, BACKENDS, Caches, drop_collections
from tests.support.embedding_server import EmbeddingServer
from tests.support.libraries import BOOKS, need_books, settings, ship, small_books, table_folder
from tests.support.serving import http_server

CORPUS = "LOREKEEPER_CORPUS"
WHEEL = "TESTED_WHEEL"
WITH_PROCESSES = "TESTS_WITH_PROCESSES"
SERVER_SECONDS = 60

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.limited_milvus import LimitedServer

MEMORY_FOLDER, MEMORY_BYTES = Path("/dev/shm"), 4 << 30
"""Where the tests' libraries are, if there is that much room: in memory they are made and removed in less time."""

SEED = 13
"""Of the random tests, where no other is given."""


# --- the session ---------------------------------------------------------------------------------------------------

AMOUNTS = {"fuzz-calls": 300, "hostile": 60, "kills": 3}
"""How much the random tests do, which are slow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lorekeeper", "how much the tests do")
    group.addoption(
        "--thorough", action="store_true", help="the slow tests too, and all cases, backends and examples, as in CI"
    )
    group.addoption(
        "--processes", action="store_true", help="the tests that start processes too, as if files are named"
    )
    group.addoption("--update-golden", action="store_true", help="write the expected files of tests/golden anew")
    group.addoption("--seed", type=int, default=SEED, help=f"seed of the random tests (default: {SEED})")
    group.addoption("--fuzz-calls", type=int, default=AMOUNTS["fuzz-calls"], help="tool calls for each backend")
    group.addoption("--hostile", type=int, default=AMOUNTS["hostile"], help="hostile inputs")
    group.addoption("--kills", type=int, default=AMOUNTS["kills"], help="programs killed by each durability suite")


def pytest_report_header(config: pytest.Config) -> str:
    options = "seed", *AMOUNTS
    return "random tests: " + " ".join(f"--{name}={config.getoption(name.replace('-', '_'))}" for name in options)


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of the random tests."""
    return int(request.config.getoption("seed"))


@pytest.fixture(scope="session")
def fuzz_calls(request: pytest.FixtureRequest) -> int:
    """Tool calls for each backend."""
    return int(request.config.getoption("fuzz_calls"))


@pytest.fixture(scope="session")
def kills(request: pytest.FixtureRequest) -> int:
    """Number of programs that each durability suite kills."""
    return int(request.config.getoption("kills"))


def pytest_configure(config: pytest.Config) -> None:
    """Settle how much is done; keep test libraries' sockets apart from the user's, and the user's settings out of the tests."""
    kept = (CORPUS, milvus_standalone.EXECUTABLE, BROWSER)
    for name in [n for n in os.environ if n.startswith("LOREKEEPER_") and n not in kept]:
        del os.environ[name]
    os.environ["LOREKEEPER_ENV_FILE"] = os.devnull
    os.environ.pop("COLUMNS", None)  # the width of the terminal that the tests are started in
    if not hasattr(
        config, "workerinput"
    ):  # a worker inherits it; it has the files of its controller as if they were named
        named = config.option.markexpr or config.args_source is pytest.Config.ArgsSource.ARGS
        os.environ[WITH_PROCESSES] = str(bool(config.option.processes or config.option.thorough or named))
    examples.load_profile(thorough=config.getoption("thorough"), fresh=config.getoption("hypothesis_seed") is not None)
    if MEMORY_FOLDER.is_dir() and shutil.disk_usage(MEMORY_FOLDER).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))
    sys.addaudithook(_watch)
    runtime = tempfile.mkdtemp(prefix="lk")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    if not config.getoption("thorough"):  # whose tests may install packages
        os.environ["SSL_CERT_FILE"] = str(_one_authority(Path(runtime)))
    config.add_cleanup(lambda: shutil.rmtree(runtime, ignore_errors=True))
    if config.getoption("numprocesses", None) and os.environ[WITH_PROCESSES] == "True" and hasattr(os, "fork"):
        os.environ[forking.SHARED] = forking.start()  # which the workers inherit
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on collect what tests leave behind, without going through thousands of collected tests each time."""
    gc.enable()
    gc.freeze()


def _one_authority(folder: Path) -> Path:
    """A file with one of the system's certificate authorities: each of hundreds of HTTP clients reads its whole file."""
    first, end, _ = Path(certifi.where()).read_text("utf-8").partition("-----END CERTIFICATE-----\n")
    file = folder / "authorities.pem"
    file.write_text(first + end, "utf-8")
    return file


SLOW = ("browser", "corpus", "milvus_server", "wheel")
"""Marks of what is slow by its nature."""

QUICK = ("processes", "faces", "store", "pure")
"""The other tiers, of which all but the first are `make test`."""

PROCESSES = {
    f"tests.support.{name}"
    for name in "command_process library_process milvus_standalone programs raw_client service serving".split()
}
"""Modules of which whoever imports anything starts a process.

So does whoever imports `environment`, `run_lorekeeper` or `subprocess`."""

MODELS = {
    "tests.support.providers",
    *(f"lorekeeper.embedding.{name}" for name in ("auto", "model", "onnx", "sentence_transformers")),
}
"""Modules of which whoever imports anything loads a real model, as does whoever imports `starter_folder`."""

STARTING = re.compile(
    r"^(?:import subprocess$|from (?:"
    + "|".join(map(re.escape, sorted(PROCESSES | MODELS)))
    + r") import |from [\w.]+ import (?:[^\n(]*|\([^)]*)\b(?:environment|run_lorekeeper|starter_folder|subprocess)\b)",
    re.MULTILINE,
)
"""The import statements of such modules."""

QUICK_TESTS = re.compile(r"pytest\.mark\.(?:faces|store|pure)\b")
SLOW_FILE = re.compile(rf"^pytestmark = .*\b(?:slow|{'|'.join(SLOW)})\b", re.MULTILINE)

SERVED = {"chromium", "corpus", "embeddings", "milvus_server", "standalone_server"}
"""Fixtures with a process, a server, or files from elsewhere."""

FACES = (
    *(f"lorekeeper.{name}" for name in ("server", "cli", "library")),
    *(f"tests.support.{name}" for name in ("pages", "samples", "tools")),
)
STORES = ("lorekeeper.cache", "lorekeeper.intake", "lorekeeper.plugin", "lorekeeper.vaults", "lorekeeper.views")
OPENED = {"backend", "cache", "caches", "embedded"}
"""Modules of which whoever imports anything asks through a face, or opens a store, and fixtures that open one."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the modules of which no test would run: half of them, in each worker."""
    if config.option.thorough or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    if SLOW_FILE.search(text):
        return True
    other = os.environ[WITH_PROCESSES] != "True" and _starts_processes(collection_path)
    return True if other and not QUICK_TESTS.search(text) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its tier, and leave the slow ones out without ``--thorough``.

    Of a test with many like cases, marked ``alike(N)``, all but N are slow; the N are spread evenly over all. Of a test on both
    kinds of store the case on Milvus is slow, but in the contract, which says that both are alike.
    """
    names = {item.nodeid for item in items}
    for item in items:
        if (
            "milvus" in item.nodeid
            and "contract" not in item.nodeid
            and item.nodeid.replace("milvus", "sqlite") in names
        ):
            item.add_marker("slow")
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("alike"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for like in cases.values():
        (number,) = like[0].get_closest_marker("alike").args  # type: ignore[union-attr]
        kept = {round(i * (len(like) - 1) / max(number - 1, 1)) for i in range(number)}
        for position in set(range(len(like))) - kept:
            like[position].add_marker("slow")
    taken: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    with_processes = os.environ[WITH_PROCESSES] == "True"
    items.sort(key=lambda item: _turn(item.nodeid))
    for item in items:
        tier = _tier(item)
        if not item.get_closest_marker(tier):
            item.add_marker(tier)
        left = (tier == "slow" and not config.option.thorough) or (tier == "processes" and not with_processes)
        spared = _is_spared(item) or left
        (left_out if spared else taken).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = taken


LONG = (
    *"corpus secrets wheel views cache_contract killed_server sync_corpus golden normalize notes_reading browser_layout".split(),
    *"browser_search conformance differences starter browser_entries fetching durability rest_contract browser_pages".split(),
    *"hostile_inputs fuzz_tools corpus_pages render migration page_views repair formats browser_people milvus html".split(),
    *"own_errors linear_patterns power_loss cancelling shares secret_marks screens".split(),
)
"""Modules that take longest, which begin first, so that no worker is left with one of them alone at the end."""

STANDALONE = "standalone server"


def _unit(nodeid: str) -> str:
    """With which other tests a test is run by one worker, since they share what is made for them.

    All tests on the standalone server, which takes as long to start as a hundred tests; of other modules those on each backend.
    """
    module, _, case = nodeid.partition("::")
    if "standalone" in case:
        return STANDALONE
    backend = re.search(r"[\[-]milvus-(\w+)[\]-]", case)
    return f"{module} {backend[1]}" if backend and "cache_contract" in module else module


def _turn(nodeid: str) -> int:
    """When a test is run: the lower, the earlier."""
    return -1 if _unit(nodeid) == STANDALONE else _turn_of(nodeid.partition("::")[0])


@functools.cache
def _turn_of(module: str) -> int:
    name = Path(module).stem.removeprefix("test_")
    return LONG.index(name) if name in LONG else len(LONG)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole units, in the order of the collection."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class UnitScheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _unit(nodeid)

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return UnitScheduling(config, log)


def _is_spared(item: pytest.Item) -> bool:
    """Whether a test on a backend is none of its laws, and runs on others, as ``plain_on`` says."""
    plain, case = item.get_closest_marker("plain_on"), getattr(item, "callspec", None)
    backend = case.params.get("backend") if case else None
    return bool(plain and backend and backend not in plain.args and not item.get_closest_marker("every_backend"))


_TIER = pytest.StashKey[str]()


def _tier(item: pytest.Item) -> str:
    """``slow``, as a test is marked; ``processes`` if it starts one; ``faces`` or ``store`` by what it asks; else ``pure``."""
    if _TIER not in item.stash:
        item.stash[_TIER] = _tier_of(item)
    return item.stash[_TIER]


def _tier_of(item: pytest.Item) -> str:
    if any(item.get_closest_marker(name) for name in ("slow", *SLOW)):
        return "slow"
    module, fixtures = item.getparent(pytest.Module), set(getattr(item, "fixturenames", ()))
    assert module is not None
    if marked := next((name for name in QUICK if item.get_closest_marker(name)), ""):
        return marked
    if _starts_processes(module.path) or fixtures & SERVED:
        return "processes"
    if _imports(module.obj, FACES):
        return "faces"
    return "store" if fixtures & OPENED or _imports(module.obj, STORES) else "pure"


@functools.cache
def _imports(module: ModuleType, rooms: tuple[str, ...]) -> bool:
    """Whether a test module has names out of certain modules."""
    return any(
        (each.__name__ if isinstance(each, ModuleType) else getattr(each, "__module__", None) or "").startswith(rooms)
        for each in vars(module).values()
    )


@functools.cache
def _starts_processes(file: Path) -> bool:
    """Whether what a test module imports starts processes, or loads models; its text says so before anything is imported."""
    return bool(STARTING.search(file.read_text("utf-8")))


_running: list[str] = []
"""The tier of the test that is running in this process."""


def _watch(event: str, _: object) -> None:
    if not _running:
        return
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn") and _running[0] in ("pure", "store", "faces"):
        raise RuntimeError("a test that starts a process: mark it pytest.mark.processes")
    if event == "sqlite3.connect" and _running[0] == "pure":
        raise RuntimeError("a test that opens a store: mark it pytest.mark.store")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Know the tier of what runs."""
    _running[:] = [_tier(item)]
    try:
        return (yield)
    finally:
        _running.clear()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Run once more what fails in a browser, whose clock is not ours; the last line counts it."""
    if item.get_closest_marker("browser"):
        item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("corpus") and not os.environ.get(CORPUS):
        pytest.skip(f"needs the Open5e corpus: set {CORPUS} to its folder")
    if item.get_closest_marker("wheel") and not os.environ.get(WHEEL):
        pytest.skip(f"needs the wheel that 'make wheel' builds: set {WHEEL} to it")
    if item.get_closest_marker("milvus_server"):
        try:
            milvus_standalone.executable()
        except milvus_standalone.UnavailableError as error:
            pytest.skip(str(error))
    if item.get_closest_marker("browser"):
        try:
            browser.executable()
        except browser.UnavailableError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser, for tests marked ``browser``; not for the session, since its loop would stand in the way of other tests."""
    with browser.browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of the first books and the notes of the demo; modules with another library have their own."""
    with http_server(table_folder(tmp_path_factory)) as address:
        yield address.removesuffix("/mcp")


@pytest.fixture
def window(chromium: Browser, origin: str) -> Iterator[Callable[..., browser.Watched]]:
    """Opens watched pages of the server of ``origin``, each in a profile of its own.

    Called with options of Playwright's `Browser.new_context`.
    """
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(browser.watched(chromium, origin, **options))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder of the Open5e corpus, for tests marked ``corpus``."""
    return Path(os.environ[CORPUS])


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A slow machine changes no answer: what the product does not wait for longer than some seconds has a minute here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lorekeeper.vaults.vaults.WAIT_SECONDS", 60.0)
        yield


# --- backends ------------------------------------------------------------------------------------------------------


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


_standalone = ExitStack()
_standalone_uris: list[str] = []


@pytest.fixture
def standalone_server(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the real standalone server, for tests marked ``milvus_server``; it ends after the last of them in a row."""
    if not _standalone_uris:
        folder = tmp_path_factory.mktemp("standalone")
        _standalone_uris.append(_standalone.enter_context(milvus_standalone.standalone_server(folder)))
        _standalone.callback(_standalone_uris.clear)
    return _standalone_uris[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the standalone server, which works even if nobody asks it, once the next test does not need it."""
    if _standalone_uris and not (nextitem and nextitem.get_closest_marker("milvus_server")):
        _standalone.close()


@pytest.fixture
def empty_standalone_server(standalone_server: str) -> Iterator[str]:
    """The standalone server, with no collection on it before and after the test."""
    drop_collections(standalone_server)
    yield standalone_server
    drop_collections(standalone_server)


@pytest.fixture
def empty_limited_server(empty_milvus_server: str) -> Iterator[LimitedServer]:
    """A server that has no collection, and the limits of newer servers."""
    from tests.support.limited_milvus import limited_server

    with limited_server(empty_milvus_server.removeprefix("http://")) as server:
        yield server


@pytest.fixture(scope="module")
def embeddings() -> Iterator[EmbeddingServer]:
    """An embedding server for the processes of a test module."""
    server = EmbeddingServer()
    with server.running():
        yield server


@pytest.fixture(scope="session", autouse=True)
def small_starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Files with few entries of the first books, which libraries of this process begin with: all of them take ten seconds."""
    tier = _running.copy()
    _running.clear()  # the first test of a process may not open what they are made from, but this may
    books = small_books(tmp_path_factory.mktemp("books"))
    _running[:] = tier
    with pytest.MonkeyPatch.context() as patch:
        ship(books, patch)
        yield books


@pytest.fixture(scope="module")
def whole_starter(small_starter: list[Path]) -> Iterator[None]:
    """Libraries of this process are given all that ships."""
    with pytest.MonkeyPatch.context() as patch:
        need_books()
        ship(BOOKS, patch)
        yield


@pytest.fixture(params=BACKEND_PARAMS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of each backend in turn, on an empty store."""
    return BACKENDS[request.param](tmp_path, request)


@pytest.fixture
async def caches(backend: Settings) -> AsyncIterator[Caches]:
    """An empty store of each backend, to be opened by the test."""
    caches = Caches(backend)
    yield caches
    await caches.close()


@pytest.fixture
def cache(caches: Caches) -> SearchCache:
    """One cache on an empty store of each backend."""
    return caches.open()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Caches]:
    """An empty embedded Milvus library, to be opened by the test."""
    caches = Caches(settings(milvus_db_path=tmp_path / "milvus.db"))
    yield caches
    await caches.close()
