"""A model hub on loopback: one that has a repository, one that accepts connections and says nothing, one that refuses them."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.support.loopback import QuietServer, running

COMMIT = "0123456789abcdef0123456789abcdef01234567"

FOREIGN = ("HF_HUB_CACHE", "HF_TOKEN", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE")
"""Variables of the tests' own environment that must not decide."""


@contextmanager
def serving(repositories: Path) -> Iterator[str]:
    """The address of a hub that has the repositories in a folder, ``owner/name`` each."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, _ = self.path.partition("?")
            if path.startswith("/api/models/"):
                self._describe(path.removeprefix("/api/models/"))
            else:
                self._send(*path[1:].split(f"/resolve/{COMMIT}/", 1))

        def do_HEAD(self) -> None:
            self.do_GET()

        def _describe(self, path: str) -> None:
            owner, name, *rest = path.split("/")
            folder = repositories / owner / name
            files = sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())
            if rest[:1] == ["tree"]:
                found: object = [
                    {"type": "file", "path": f, "size": (folder / f).stat().st_size, "oid": "0"} for f in files
                ]
            else:
                found = {"id": f"{owner}/{name}", "sha": COMMIT, "siblings": [{"rfilename": f} for f in files]}
            self._answer(json.dumps(found).encode(), "application/json")

        def _send(self, repository: str, file: str) -> None:
            self._answer((repositories / repository / file).read_bytes(), "application/octet-stream")

        def _answer(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with running(QuietServer(("127.0.0.1", 0), Handler)) as address:
        yield address


@contextmanager
def silent() -> Iterator[str]:
    """The address of a hub that accepts every connection and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)  # the system accepts; nobody reads
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def refusing() -> Iterator[str]:
    """An address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
