"""How an owner's store is shared: with whom, and what is made of sockets and files that others left."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache import milvus_connection
from lorekeeper.cache.milvus_connection import MilvusConnection
from lorekeeper.cache.milvus_schema import columns
from lorekeeper.cache.milvus_sharing import METHODS, PROTOCOL, Line, read_owner
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
