"""A server process of a small library, with a token, as a service runs it."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import stamina

from tests.support.commands import environment, run_lorekeeper
from tests.support.samples import write_lines
from tests.support.serving import INITIALIZE, SECONDS, SERVE

HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer master"}


class Serving:
    """A server process on a free port of loopback, with a token."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.scheme = "https" if arguments else "http"
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.log = folder / f"{self.port}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*SERVE, "--transport", "http", "--port", str(self.port), *arguments],
                env=environment(folder, HTTP_TOKEN="master", **settings),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        for attempt in stamina.retry_context(on=OSError, attempts=None, timeout=SECONDS, wait_max=0.1):
            with attempt:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()

    def client(self, verify: ssl.SSLContext | bool = True) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=HEADERS, timeout=SECONDS, verify=verify)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(timeout=SECONDS)


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, **settings: str) -> Iterator[Serving]:
    running = Serving(folder, *arguments, **settings)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()


def message(method: str, number: int = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def begin(client: httpx.Client) -> None:
    """Begin a session, for all that follows."""
    client.headers["mcp-session-id"] = client.post("/mcp", json=message("initialize", **INITIALIZE)).headers[
        "mcp-session-id"
    ]


def ask(client: httpx.Client, name: str = "tide lance") -> httpx.Response:
    return client.post("/mcp", json=message("tools/call", 2, name="lookup_spell", arguments={"name": name}))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("serving")
    done = run_lorekeeper(folder, "import", str(write_lines(folder / "shelf.jsonl")), "--json")
    assert json.loads(done.stdout)["stored"] > 0, done.stderr
    return folder
