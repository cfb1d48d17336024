"""How a process serves its library to others: to whom, and what becomes of sockets and files that others left behind."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lorekeeper.cache.milvus import failover, sharing
from lorekeeper.cache.milvus.backend import OPERATIONS
from lorekeeper.cache.milvus.failover import EmbeddedBackend
from lorekeeper.cache.milvus.rows import Layout
from lorekeeper.cache.milvus.sharing import HANDSHAKE_BYTES, PROTOCOL, Connection
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError
from tests.support.programs import command_of, hold_library
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "milvus.db"


@pytest.fixture
def server(library: Path) -> Iterator[EmbeddedBackend]:
    connection = EmbeddedBackend(library)
    connection.open()
    yield connection
    connection.close()


@pytest.fixture
def client(server: EmbeddedBackend, library: Path) -> Iterator[EmbeddedBackend]:
    connection = EmbeddedBackend(library)
    connection.open()
    yield connection
    connection.close()


def announced(library: Path) -> tuple[Path, dict[str, object]]:
    """The file that says who serves a library, and what it says."""
    for file in Path(os.environ["XDG_RUNTIME_DIR"]).rglob("*.json"):
        said = json.loads(file.read_text())
        if said.get("path") == str(library):
            return file, said
    raise AssertionError("no process says that it serves the library")


def claim(library: Path, **changes: object) -> None:
    """Let the file say something else."""
    file, said = announced(library)
    file.write_text(json.dumps(said | changes))


def connected(address: object) -> Connection:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    connection.connect(str(address))
    return Connection(connection)


def fill(backend: EmbeddedBackend) -> Vectors:
    """Store one row with the key "k"; returns its vector."""
    backend.create_collection("rules", Layout().columns(COLLECTIONS["rules"], 4), "said")
    vector = np.array([0.6, 0.8, 0, 0], dtype=np.float32)
    texts = ("name", "name_folded", "kind", "kind_name", "document", "slug", "source_api", "hash")
    row = dict.fromkeys((*texts, "section", "passage"), 'a "quoted"\nline é') | {"pk": "k", "part": 0, "vector": vector}
    backend.upsert("rules", [row])
    backend.flush("rules")
    return vector


def test_a_client_is_answered_as_the_server_is(server: EmbeddedBackend, client: EmbeddedBackend) -> None:
    assert (server.role, client.role) == ("server", "client")
    vector = fill(client)
    for backend in (server, client):
        assert backend.description("rules") == "said"
        assert backend.get("rules", ["k", "none"], ["name"]) == [{"pk": "k", "name": 'a "quoted"\nline é'}]
        (found,) = backend.search("rules", vector, "part == 0", 3, ["part"])
        assert (found["pk"], found["part"]) == ("k", 0)
        assert found["distance"] == pytest.approx(1)


def test_a_refusal_reaches_the_client(client: EmbeddedBackend) -> None:
    with pytest.raises(CacheError, match="refused"):
        client.get("nothing of that name", ["k"], ["name"])
    assert client.list_collections() == []


def test_many_threads_of_one_client_are_answered_at_once(client: EmbeddedBackend) -> None:
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(client.list_collections())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[]] * 20


@pytest.mark.parametrize("greeting", [{}, {"token": "guessed"}, [], "hello", {"call": ["list_collections"]}])
def test_a_stranger_is_not_let_in(server: EmbeddedBackend, library: Path, greeting: object) -> None:
    _, said = announced(library)
    stranger = connected(said["address"])
    stranger.send(greeting)
    with pytest.raises((EOFError, OSError)):
        stranger.receive()


def test_a_client_may_call_operations_and_nothing_else(server: EmbeddedBackend, library: Path) -> None:
    assert not OPERATIONS.keys() & {"close", "open"}
    _, said = announced(library)
    known = connected(said["address"])
    known.send({"token": said["token"], "protocol": PROTOCOL})
    known.receive()
    known.send({"call": ["close"]})
    assert "unknown call" in str(known.receive()["error"])
    assert server.list_collections() == []


def test_the_socket_of_another_program_is_not_taken_for_the_servers(server: EmbeddedBackend, library: Path) -> None:
    server.close()
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(library.parent / "foreign"))
        foreign.listen()

        def answer() -> None:
            connection, _ = foreign.accept()
            connection.sendall(b"220 mail.example ready\n")

        threading.Thread(target=answer, daemon=True).start()
        claim(library, address=str(library.parent / "foreign"))
        again = EmbeddedBackend(library)
        assert again.list_collections() == []
        assert again.role == "server"
        again.close()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"protocol": PROTOCOL + 1, "version": "9.9.9"},
            r"LoreKeeper 9\.9\.9 .*restart this program.*LOREKEEPER_MILVUS_DB_PATH",
        ),
        (
            {"protocol": PROTOCOL - 1, "version": "0.0.9", "pid": 12},
            r"process 12 .*LoreKeeper 0\.0\.9 .*restart process 12.*LOREKEEPER_MILVUS_DB_PATH",
        ),
        ({"token": "of another opening"}, "does not answer"),
        ({"address": "/nowhere/at/all"}, "does not answer"),
    ],
)
def test_a_server_that_cannot_share_with_this_version_is_named(
    server: EmbeddedBackend, library: Path, changes: dict[str, object], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "SILENT_SECONDS", 0.2)
    claim(library, **changes)
    with pytest.raises(MilvusConnectionError, match=reason):
        EmbeddedBackend(library).open()


@pytest.mark.parametrize("cut", [0, 0.5])
def test_damage_is_reported_to_the_server_and_to_clients(library: Path, cut: float) -> None:
    first = EmbeddedBackend(library)
    fill(first)
    first.close()
    for file in library.rglob("*.parquet"):
        os.truncate(file, int(file.stat().st_size * cut))
    server, client = EmbeddedBackend(library), EmbeddedBackend(library)
    for backend, role in ((server, "server"), (client, "client")):
        with pytest.raises(MilvusSchemaError, match="lorekeeper repair"):
            backend.load_collection("rules")
        with pytest.raises(CacheError):
            backend.query("rules", "", ["name"])
        assert backend.role == role
    client.close()
    server.close()


def test_a_library_that_another_opens_is_waited_for_however_long_that_takes(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, waited, hours = threading.Event(), threading.Semaphore(0), itertools.count(0, 3600)

    class Held(sharing.Server):
        def __init__(self, *arguments: Any) -> None:
            go_on.wait()
            super().__init__(*arguments)

    def sleep(seconds: float) -> None:
        waited.release()
        time.sleep(seconds)

    monkeypatch.setattr(failover, "Server", Held)
    monkeypatch.setattr(failover, "time", SimpleNamespace(monotonic=lambda: float(next(hours)), sleep=sleep))
    backends = [EmbeddedBackend(library) for _ in range(3)]
    refused: list[Exception] = []

    def open_it(backend: EmbeddedBackend) -> None:
        try:
            backend.open()
        except MilvusConnectionError as error:
            refused.append(error)

    threads = [threading.Thread(target=open_it, args=[backend]) for backend in backends]
    for thread in threads:
        thread.start()
    for _ in range(6):
        waited.acquire(timeout=20)
    go_on.set()
    for thread in threads:
        thread.join()
    assert refused == []
    assert sorted(backend.role for backend in backends) == ["client", "client", "server"]
    for backend in backends:
        backend.close()


@pytest.mark.parametrize("when", ["opening", "serving"])
def test_the_claim_of_a_killed_process_ends_with_it(library: Path, when: str) -> None:
    killed = subprocess.Popen(command_of(hold_library, library, when), stdout=subprocess.PIPE)
    assert killed.stdout
    assert killed.stdout.readline() == b"open\n"
    killed.kill()
    killed.communicate()
    again = EmbeddedBackend(library)
    again.open()
    assert again.role == "server"
    again.close()


def test_a_client_takes_over_when_the_server_closes(server: EmbeddedBackend, client: EmbeddedBackend) -> None:
    server.close()
    assert client.list_collections() == []
    assert client.role == "server"
    assert server.list_collections() == []
    assert server.role == "client"


# --- what is refused, and outlived ---------------------------------------------------------------------------------


@contextmanager
def no_descriptors() -> Iterator[None]:
    """As in a process that has as many files open as it may."""
    resource = pytest.importorskip("resource")
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 64, allowed[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(taken[0]))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, allowed)


def greet(known: Connection, said: dict[str, object]) -> object:
    known.send({"token": said["token"], "protocol": PROTOCOL})
    return known.receive()["protocol"]


def test_b3_the_listener_survives_a_lack_of_descriptors(server: EmbeddedBackend, library: Path, caplog) -> None:
    _, said = announced(library)
    waiting = socket.socket(socket.AF_UNIX)
    with no_descriptors():
        waiting.connect(str(said["address"]))
        until(lambda: caplog.records)
    known = Connection(waiting)
    assert greet(known, said) == PROTOCOL
    known.close()
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    another = EmbeddedBackend(library)
    assert another.list_collections() == []
    assert another.role == "client"
    another.close()


def test_b3_the_server_limits_its_connections_and_drops_idle_ones(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "MAX_CONNECTIONS", 5)
    server, client = EmbeddedBackend(library), EmbeddedBackend(library)
    assert (server.list_collections(), client.list_collections()) == ([], [])
    _, said = announced(library)
    opened = [connected(said["address"]) for _ in range(20)]
    for one in opened:
        with contextlib.suppress(OSError, EOFError):
            greet(one, said)
    assert server._server is not None
    assert len(server._server._connections) <= 5
    opening = client.open()
    assert client.list_collections() == []
    assert client.open() == opening, "a client that lost an idle connection takes the server for dead"
    for one in opened:
        one.close()
    client.close()
    server.close()


def test_b18_a_stranger_may_say_little(server: EmbeddedBackend, library: Path) -> None:
    _, said = announced(library)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(20)
        stranger.connect(str(said["address"]))
        sent, part = 0, b"x" * HANDSHAKE_BYTES
        with contextlib.suppress(OSError):
            while sent < 64 * 2**20:
                sent += stranger.send(part)
    assert sent < 4 * 2**20


@pytest.mark.parametrize("text", ["[" * 4000, '{"token":' * 400, "nothing", '{"token": 1e999999}', '"\\ud800"', "5"])
def test_b18_no_message_of_a_stranger_ends_with_a_traceback(
    server: EmbeddedBackend, library: Path, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    _, said = announced(library)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(10)
        stranger.connect(str(said["address"]))
        stranger.sendall(text.encode() + b"\n")
        assert stranger.recv(100) == b""
    assert capfd.readouterr().err == ""


def test_b18_a_client_is_not_hurt_by_what_a_server_says(
    server: EmbeddedBackend, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "SILENT_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(library.parent / "foreign"))
        foreign.listen()
        claim(library, address=str(library.parent / "foreign"))

        def answer() -> None:
            with contextlib.suppress(OSError):
                for said in itertools.cycle((b"[" * 4000 + b"\n", b"x" * 5000, b"[]\n")):
                    foreign.accept()[0].sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(MilvusConnectionError, match="does not answer"):
            EmbeddedBackend(library).open()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for the name of a socket."""
    with tempfile.TemporaryDirectory(prefix="lk") as folder:
        yield Path(folder)


@pytest.mark.parametrize("squatted", ["file", "dangling link", "link", "no parent"])
def test_b19_a_squatted_runtime_folder_makes_way_for_another(
    tmp_path: Path, short_path: Path, squatted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, home = short_path / "runtime", short_path / "home"
    taken = runtime / f"lorekeeper-{os.getuid()}"
    runtime.mkdir()
    match squatted:
        case "file":
            taken.write_text("mine")
        case "dangling link":
            taken.symlink_to(tmp_path / "nowhere")
        case "link":
            taken.symlink_to(tmp_path)
        case "no parent":
            runtime.rmdir()
            runtime.write_text("mine")
    home.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("HOME", str(home))
    server, client = EmbeddedBackend(tmp_path / "milvus.db"), EmbeddedBackend(tmp_path / "milvus.db")
    assert (server.list_collections(), client.list_collections()) == ([], [])
    assert (server.role, client.role) == ("server", "client")
    assert (home / ".lorekeeper" / "run").stat().st_mode & 0o777 == 0o700
    client.close()
    server.close()


def test_b19_no_folder_at_all_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).write_text("a file")
    with pytest.raises(MilvusConnectionError, match="set XDG_RUNTIME_DIR to a folder of your own"):
        EmbeddedBackend(tmp_path / "milvus.db").open()


def test_b20_only_this_user_can_read_who_serves_a_library(server: EmbeddedBackend, library: Path) -> None:
    file, said = announced(library)
    for path in (file, Path(str(said["address"])).parent):
        assert path.stat().st_mode & 0o077 == 0
