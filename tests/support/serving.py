"""Servers of the protocol as processes of their own."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import stamina

from tests.support import forking
from tests.support.commands import environment

SECONDS = 60
"""How long to wait for what does not happen."""

SERVE = forking.command("lorekeeper", "serve")
"""A server, in an environment that `environment` makes."""

INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}
"""With what a client begins."""


def raw_server(folder: Path) -> subprocess.Popen[str]:
    """A server over stdio, to talk to line by line."""
    return subprocess.Popen(
        SERVE,
        env=environment(folder),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def http_server(folder: Path, program: Sequence[str] = SERVE, port: int = 0, /, **settings: str) -> Iterator[str]:
    """URL of a server process on a loopback port, a free one if it is 0; another program than ``lorekeeper serve`` gets its
    arguments."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = port or free.getsockname()[1]
    with (folder / "http.log").open("w") as log:
        process = subprocess.Popen(
            [*program, "--transport", "http", "--port", str(port)],
            env=environment(folder, **settings),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        for attempt in stamina.retry_context(on=OSError, attempts=None, timeout=SECONDS, wait_max=0.2):
            with attempt:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)
