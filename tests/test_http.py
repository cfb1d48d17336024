"""What a crowd of idle, slow and abandoned HTTP clients does to the others: nothing that they notice."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
import stamina

from tests.support.commands import environment, run_lorekeeper
from tests.support.libraries import shelf_folder
from tests.support.programs import command_of, crowd_server, forked, serve_http
from tests.support.serving import INITIALIZE
from tests.support.tables import each_row

resource = pytest.importorskip("resource")

SECONDS = 60
"""How long to wait for what does not happen."""

DESCRIPTORS, IDLE, HALF = 1024, 2000, 50

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class HttpServer:
    """A server process that may have few files open, and its log; with other limits where a test cannot wait for ours."""

    def __init__(self, folder: Path, *limits: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.log = folder / f"{self.port}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                forked(serve_http, self.port, DESCRIPTORS, *limits),
                env=environment(folder),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        for attempt in stamina.retry_context(on=OSError, attempts=None, timeout=SECONDS, wait_max=0.2):
            with attempt:
                self.connect().close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=SECONDS)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shelf_folder(tmp_path_factory)


@pytest.fixture(scope="module")
def server(library: Path) -> Iterator[HttpServer]:
    running = HttpServer(library)
    yield running
    running.end()


def post(url: str, method: str, number: int = 1, session: str | None = None, **params: Any) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    headers = HEADERS | ({"mcp-session-id": session} if session else {})
    return httpx.post(url, json=body, headers=headers, timeout=SECONDS)


def begin(url: str) -> str:
    """The id of a new session."""
    return post(url, "initialize", **INITIALIZE).headers["mcp-session-id"]


def ask(url: str, session: str) -> httpx.Response:
    """An answer, at the second try where a crowd took the place before the request came."""
    with contextlib.suppress(httpx.RemoteProtocolError):
        return post(url, "tools/call", 2, session, name="lookup_spell", arguments={"name": "tide lance"})
    return post(url, "tools/call", 2, session, name="lookup_spell", arguments={"name": "tide lance"})


@contextlib.contextmanager
def attack(server: HttpServer) -> Iterator[IO[str]]:
    """The attack, from when all its connections have been opened once; what it says."""
    with subprocess.Popen(
        command_of(crowd_server, server.port, IDLE, HALF), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()


@pytest.mark.slow
def test_b4_a_crowd_that_says_nothing_keeps_nobody_waiting(server: HttpServer, library: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < IDLE + HALF + 100:
        pytest.skip(f"the attack needs {IDLE + HALF + 100} descriptors, and may have {hard}")
    session, answers = begin(server.url), 0
    assert "Tide Lance" in ask(server.url, session).text
    with attack(server) as said:
        rounds = iter(said.readline, "")
        sharing = threading.Thread(target=lambda: meanwhile.append(run_lorekeeper(library, "stats", "--json")))
        meanwhile: list[subprocess.CompletedProcess[str]] = []
        sharing.start()
        while sharing.is_alive() or answers < 20:
            assert "Tide Lance" in ask(server.url, session).text
            answers += 1
        opened = int(next(rounds))
    afterwards = run_lorekeeper(library, "stats", "--json")
    size = server.log.stat().st_size
    print(f"{opened} connections, {answers} answers, {size} bytes of log")
    assert opened >= IDLE + HALF
    assert [(done.returncode, done.stderr) for done in (*meanwhile, afterwards)] == [(0, "")] * 2
    assert "Tide Lance" in ask(server.url, session).text
    assert size < 2**20


def is_cut(connection: socket.socket, drip: bytes = b"") -> bool:
    """Whether the server hangs up on a connection over which a byte comes now and then."""
    connection.settimeout(0.05)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            if not connection.recv(1000):
                return True
        except TimeoutError:
            with contextlib.suppress(OSError):
                connection.send(drip)
        except OSError:
            return True
    return False


@pytest.fixture(scope="module")
def hasty(library: Path) -> Iterator[HttpServer]:
    """A server that waits for a request for half a second, and has ten connections and five sessions."""
    running = HttpServer(library, "REQUEST_SECONDS=0.5", "MAX_CONNECTIONS=10", "MAX_SESSIONS=5")
    yield running
    running.end()


HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: application/json\r\n"


@pytest.mark.alike(1)
@pytest.mark.parametrize(
    ("begun", "drip"),
    [(b"", b""), (HEAD, b"x"), (HEAD + b"Content-Length: 100000\r\n\r\n", b"x"), (b"GET /mcp HTTP/1.1\r\nX: ", b"x")],
    ids=["nothing", "head", "body", "header"],
)
def test_b4_a_request_that_does_not_end_is_cut(hasty: HttpServer, begun: bytes, drip: bytes) -> None:
    with hasty.connect() as slow:
        slow.sendall(begun)
        assert is_cut(slow, drip)


def test_b4_a_head_without_end_is_refused(hasty: HttpServer) -> None:
    with hasty.connect() as endless:
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 2**24:
                sent += endless.send(b"X-Long: " + b"x" * 10_000 + b"\r\n" if sent else HEAD)
    assert sent < 2**23


ASKED = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
"""What is answered, and leaves the connection open, unless the rest of the head is refused."""


@each_row(
    ("head", "status"),
    [
        (ASKED + b"Connection: close\r\n\r\n", 200),
        (ASKED + b"Content-Length : 4\r\n\r\nabcd", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
    ],
)
def test_a_head_that_is_none_is_refused_and_ends_the_connection(hasty: HttpServer, head: bytes, status: int) -> None:
    with hasty.connect() as connection, connection.makefile("rb") as received:
        connection.sendall(head)
        answer = received.read()
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1") == 1, "nothing after it is taken for another request"


def test_b4_a_stream_outlives_those_who_only_wait(hasty: HttpServer) -> None:
    session = begin(hasty.url)
    headers = HEADERS | {"mcp-session-id": session}
    with httpx.stream("GET", hasty.url, headers=headers, timeout=SECONDS) as stream:
        assert stream.status_code == 200
        crowd = [hasty.connect() for _ in range(40)]
        assert [idle for idle in crowd if not is_cut(idle)] == []
        assert httpx.get(hasty.url, headers=headers, timeout=SECONDS).status_code == 409, "the stream is gone"
        assert "Tide Lance" in ask(hasty.url, session).text


def test_b14_too_many_sessions_end_the_one_that_was_idle_for_longest(hasty: HttpServer) -> None:
    first, second = begin(hasty.url), begin(hasty.url)
    assert ask(hasty.url, first).status_code == 200
    later = [begin(hasty.url) for _ in range(4)]
    assert [ask(hasty.url, session).status_code for session in (first, second, *later)] == [200, 404, *[200] * 4]


@pytest.mark.slow
def test_b20_a_server_without_a_token_says_who_can_ask_it(hasty: HttpServer) -> None:
    assert "every user of this machine" in hasty.log.read_text()
