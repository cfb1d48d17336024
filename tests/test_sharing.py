"""How an owner's store is shared: with whom, and what is made of sockets and files that others left."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.milvus import connection as milvus_connection
from lorekeeper.cache.milvus import sharing as milvus_sharing
from lorekeeper.cache.milvus.connection import MilvusConnection
from lorekeeper.cache.milvus.schema import columns
from lorekeeper.cache.milvus.sharing import GREETING_BYTES, IDLE_LINES, METHODS, PROTOCOL, Line, read_owner
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import CacheError, MilvusConnectionError

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "milvus.db"


@pytest.fixture
def owner(library: Path) -> Iterator[MilvusConnection]:
    connection = MilvusConnection(library)
    connection.open()
    yield connection
    connection.close()


@pytest.fixture
def guest(owner: MilvusConnection, library: Path) -> Iterator[MilvusConnection]:
    connection = MilvusConnection(library)
    connection.open()
    yield connection
    connection.close()


def announced(library: Path) -> tuple[Path, dict[str, object]]:
    """The file that says who owns a library, and what it says."""
    for file in Path(os.environ["XDG_RUNTIME_DIR"]).rglob("*.json"):
        said = json.loads(file.read_text())
        if said["path"] == str(library):
            return file, said
    raise AssertionError("nobody said that the library is theirs")


def claim(library: Path, **changes: object) -> None:
    """Let the file say something else."""
    file, said = announced(library)
    file.write_text(json.dumps(said | changes))


def line(address: object) -> Line:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    connection.connect(str(address))
    return Line(connection)


def test_the_owner_is_named_with_its_version(owner: MilvusConnection, library: Path) -> None:
    said = read_owner(library)
    assert said
    assert (said["pid"], said["protocol"], said["path"]) == (os.getpid(), PROTOCOL, str(library))


def test_a_guest_is_answered_as_the_owner_is(owner: MilvusConnection, guest: MilvusConnection) -> None:
    assert (owner.role, guest.role) == ("owner", "guest")
    guest.call("create_collection", "rules", columns(COLLECTIONS["rules"], 4), "said")
    vector = np.array([0.6, 0.8, 0, 0], dtype=np.float32)
    texts = ("name", "name_folded", "kind", "kind_name", "document", "slug", "source_api", "source_api_name", "hash")
    row = dict.fromkeys((*texts, "section", "passage"), 'a "quoted"\nline é') | {"pk": "k", "part": 0, "vector": vector}
    guest.call("upsert", "rules", [row])
    for connection in (owner, guest):
        assert connection.call("description", "rules") == "said"
        assert connection.call("get", "rules", ["k", "none"], ["name"]) == [{"pk": "k", "name": 'a "quoted"\nline é'}]
        (found,) = connection.call("search", "rules", vector, "part == 0", 3, ["part"])
        assert (found["pk"], found["part"]) == ("k", 0)
        assert found["distance"] == pytest.approx(1)


def test_the_owners_refusal_reaches_the_guest(guest: MilvusConnection) -> None:
    with pytest.raises(CacheError, match="refused"):
        guest.call("get", "nothing of that name", ["k"], ["name"])
    assert guest.call("list_collections") == []


def test_many_threads_of_one_guest_are_answered_at_once(guest: MilvusConnection) -> None:
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(guest.call("list_collections"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[]] * 20


@pytest.mark.parametrize("greeting", [{}, {"token": "guessed"}, [], "hello", {"call": ["list_collections"]}])
def test_a_stranger_is_not_let_in(owner: MilvusConnection, library: Path, greeting: object) -> None:
    _, said = announced(library)
    stranger = line(said["address"])
    stranger.send(greeting)
    with pytest.raises((EOFError, OSError)):
        stranger.receive()


def test_a_guest_may_ask_for_rows_and_nothing_else(owner: MilvusConnection, library: Path) -> None:
    assert not {name for name in METHODS if name.startswith("_")} | METHODS & {"close"}
    _, said = announced(library)
    known = line(said["address"])
    known.send({"token": said["token"], "protocol": PROTOCOL})
    known.receive()
    known.send({"call": ["close"]})
    assert "no call" in known.receive()["error"]
    assert owner.call("list_collections") == []


def test_a_socket_that_an_owner_left_behind_is_passed_over(owner: MilvusConnection, library: Path) -> None:
    file, said = announced(library)
    owner.close()
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(said["address"]))
    left.close()
    assert Path(str(said["address"])).is_socket()
    again = MilvusConnection(library)
    assert again.call("list_collections") == []
    assert again.role == "owner"
    assert not Path(str(said["address"])).exists()
    assert json.loads(file.read_text())["address"] != said["address"]
    again.close()


def test_somebody_elses_socket_is_not_taken_for_the_owners(owner: MilvusConnection, library: Path) -> None:
    owner.close()
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(library.parent / "foreign"))
        foreign.listen()

        def answer() -> None:
            connection, _ = foreign.accept()
            connection.sendall(b"220 mail.example ready\n")

        threading.Thread(target=answer, daemon=True).start()
        claim(library, address=str(library.parent / "foreign"))
        again = MilvusConnection(library)
        assert again.call("list_collections") == []
        assert again.role == "owner"
        again.close()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol": PROTOCOL + 1, "version": "9.9.9"}, r"LoreKeeper 9\.9\.9 .*LOREKEEPER_MILVUS_DB_PATH"),
        ({"token": "of another opening"}, "does not answer"),
        ({"address": "/nowhere/at/all"}, "does not answer"),
    ],
)
def test_an_owner_that_does_not_share_with_this_version_is_named(
    owner: MilvusConnection, library: Path, changes: dict[str, object], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_connection, "OPEN_SECONDS", 0.2)
    claim(library, **changes)
    with pytest.raises(MilvusConnectionError, match=reason):
        MilvusConnection(library).open()


def test_an_owner_that_says_nothing_is_named(
    owner: MilvusConnection, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_connection, "OPEN_SECONDS", 0.2)
    announced(library)[0].unlink()
    with pytest.raises(MilvusConnectionError, match="another program has the library"):
        MilvusConnection(library).open()


def test_a_guest_takes_over_when_the_owner_closes(owner: MilvusConnection, guest: MilvusConnection) -> None:
    owner.close()
    assert guest.call("list_collections") == []
    assert guest.role == "owner"
    assert owner.call("list_collections") == []
    assert owner.role == "guest"


# --- what is refused, and outlived ---------------------------------------------------------------------------------


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds; fails after ten seconds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


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


def greet(known: Line, said: dict[str, object]) -> object:
    known.send({"token": said["token"], "protocol": PROTOCOL})
    return known.receive()["protocol"]


def test_b3_the_door_outlives_a_lack_of_descriptors(owner: MilvusConnection, library: Path, caplog) -> None:
    _, said = announced(library)
    waiting = socket.socket(socket.AF_UNIX)
    with no_descriptors():
        waiting.connect(str(said["address"]))
        until(lambda: caplog.records)
    known = Line(waiting)
    assert greet(known, said) == PROTOCOL
    known.close()
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    another = MilvusConnection(library)
    assert another.call("list_collections") == []
    assert another.role == "guest"
    another.close()


def test_b3_the_door_outlives_a_lack_of_threads(
    owner: MilvusConnection, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, said = announced(library)
    start, refused = threading.Thread.start, list[threading.Thread]()

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("lorekeeper-guest") and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises((EOFError, OSError)):
        greet(line(said["address"]), said)
    assert len(refused) == 1
    assert greet(line(said["address"]), said) == PROTOCOL


def test_b3_the_owner_keeps_so_many_lines_and_hangs_up_on_the_idle_ones(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_sharing, "MAX_LINES", 5)
    owner, guest = MilvusConnection(library), MilvusConnection(library)
    assert (owner.call("list_collections"), guest.call("list_collections")) == ([], [])
    _, said = announced(library)
    opened = [line(said["address"]) for _ in range(20)]
    for one in opened:
        with contextlib.suppress(OSError, EOFError):
            greet(one, said)
    door = owner._door
    assert door is not None
    assert len(door._lines) <= 5
    generation = guest.generation
    assert guest.call("list_collections") == []
    assert guest.generation == generation, "a guest that lost an idle line takes the owner for dead"
    for one in opened:
        one.close()
    guest.close()
    owner.close()


def test_b3_a_guest_keeps_few_lines_between_its_calls(owner: MilvusConnection, guest: MilvusConnection) -> None:
    threads = [threading.Thread(target=guest.call, args=("list_collections",)) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(guest._backend._idle) <= IDLE_LINES  # type: ignore[union-attr]


def test_b18_a_stranger_may_say_little(owner: MilvusConnection, library: Path) -> None:
    _, said = announced(library)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(20)
        stranger.connect(str(said["address"]))
        sent, part = 0, b"x" * GREETING_BYTES
        with contextlib.suppress(OSError):
            while sent < 64 * 2**20:
                sent += stranger.send(part)
    assert sent < 4 * 2**20


def test_b18_a_stranger_may_not_take_long(
    owner: MilvusConnection, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_sharing, "GREET_SECONDS", 0.2)
    _, said = announced(library)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(0.02)
        stranger.connect(str(said["address"]))
        deadline, answer = time.monotonic() + 5, None
        while answer is None:
            assert time.monotonic() < deadline
            try:
                stranger.send(b"x")
                answer = stranger.recv(1)
            except TimeoutError:
                continue
            except OSError:
                answer = b""
    assert answer == b""


@pytest.mark.parametrize("text", ["[" * 4000, '{"token":' * 400, "nothing", '{"token": 1e999999}', '"\\ud800"', "5"])
def test_b18_no_line_of_a_stranger_ends_with_a_traceback(
    owner: MilvusConnection, library: Path, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    _, said = announced(library)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(10)
        stranger.connect(str(said["address"]))
        stranger.sendall(text.encode() + b"\n")
        assert stranger.recv(100) == b""
    assert capfd.readouterr().err == ""


def test_b18_a_guest_is_not_hurt_by_what_an_owner_says(
    owner: MilvusConnection, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_connection, "OPEN_SECONDS", 0.1)
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
            MilvusConnection(library).open()


def test_b18_what_is_too_long_for_a_line_is_refused_with_a_reason(
    owner: MilvusConnection, guest: MilvusConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_sharing, "LINE_BYTES", 1000)
    with pytest.raises(CacheError, match="too many for one call"):
        guest.call("get", "rules", ["k" * 2000], ["name"])
    guest.call("create_collection", "rules", columns(COLLECTIONS["rules"], 4), "said")
    assert guest.call("description", "rules") == "said"
    assert guest.role == "guest"


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
    owner, guest = MilvusConnection(tmp_path / "milvus.db"), MilvusConnection(tmp_path / "milvus.db")
    assert (owner.call("list_collections"), guest.call("list_collections")) == ([], [])
    assert (owner.role, guest.role) == ("owner", "guest")
    assert (home / ".lorekeeper" / "run").stat().st_mode & 0o777 == 0o700
    guest.close()
    owner.close()


def test_b19_no_folder_at_all_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).write_text("a file")
    with pytest.raises(MilvusConnectionError, match="set XDG_RUNTIME_DIR to a folder of your own"):
        MilvusConnection(tmp_path / "milvus.db").open()


def test_b20_who_owns_a_library_is_said_to_this_user_alone(owner: MilvusConnection, library: Path) -> None:
    file, said = announced(library)
    for path in (file, Path(str(said["address"])).parent):
        assert path.stat().st_mode & 0o077 == 0
