"""Several servers at one library, as several MCP hosts start them, during an import; the one that has it open is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cache.milvus.sharing import read_server
from tests.support.commands import environment, run_lorekeeper
from tests.support.embedding_server import EmbeddingServer
from tests.support.raw_client import RawServer
from tests.support.waiting import until

SERVERS, LOOKUPS, IMPORTED = 3, 24, 40

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")


def lines(prefix: str, number: int, document: str = "test") -> str:
    entries = [
        {
            "collection": "spells",
            "name": f"{prefix} {i}",
            "document": document,
            "level": i % 9,
            "description": f"It burns {i} moths.",
        }
        for i in range(number)
    ]
    return "\n".join(json.dumps(entry) for entry in entries)


class Client(threading.Thread):
    """Asks its own server until it is told that it is enough; starts another one when that is killed, and goes on."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        super().__init__()
        self.folder, self.environ = folder, environ
        self.server = self._start()
        self.answered = 0
        self.enough = threading.Event()
        self.errors: list[str] = []

    def _start(self) -> RawServer:
        server = RawServer(self.environ, self.folder / f"{self.name}.log")
        server.greet()
        return server

    def run(self) -> None:
        while not (self.errors or (self.answered >= LOOKUPS and self.enough.is_set())):
            semantic: dict[str, Any] = {"semantic_query": f"burning {self.answered} moths"}
            arguments: dict[str, Any] = [semantic, {"name": "before"}, semantic | {"level_max": 3}][self.answered % 3]
            try:
                answer = self.server.ask("lookup_spell", **arguments, detail="json")
                if answer.is_error or answer.structured["total"] == 0:
                    self.errors.append(f"{arguments}: {answer.text}")
                self.answered += 1
            except EOFError:
                self.server = self._start()
            except Exception as error:
                self.errors.append(str(error))


def wait_until_it_serves(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a process serves the library to others."""

    def serves() -> bool:
        assert process.poll() is None, "it ended before anybody needed it"
        serving = read_server(path)
        return bool(serving and serving.pid == process.pid)

    until(serves)


@pytest.mark.slow
def test_servers_and_an_import_survive_the_process_that_serves_them(
    tmp_path: Path, embeddings: EmbeddingServer
) -> None:
    """Only a process that writes has the library open; it serves other writers, and servers that read beside it."""
    environ = environment(tmp_path, EMBEDDING_PROVIDER="http", EMBEDDING_URL=embeddings.url)

    def importing(name: str, text: str) -> subprocess.Popen[str]:
        (tmp_path / f"{name}.jsonl").write_text(text)
        command = [sys.executable, "-m", "lorekeeper", "import", str(tmp_path / f"{name}.jsonl"), "--json"]
        return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    (tmp_path / "before.jsonl").write_text(lines("Before", 20))
    run_lorekeeper(tmp_path, "import", str(tmp_path / "before.jsonl"), "--json", env=environ)
    victim = importing("killed", lines("Killed", 20_000, "killed"))
    wait_until_it_serves(tmp_path / "milvus.db", victim)
    clients = [Client(tmp_path, environ) for _ in range(SERVERS)]
    whole = importing("meanwhile", lines("Meanwhile", IMPORTED))
    for client in clients:
        client.start()
    until(lambda: all(client.answered for client in clients))
    os.kill(victim.pid, signal.SIGKILL)
    victim.communicate()
    said, complaint = whole.communicate(timeout=120)
    for client in clients:
        client.enough.set()
        client.join()
    assert [client.errors for client in clients] == [[]] * SERVERS
    found = clients[0].server.ask("lookup_spell", documents=["test"], limit=1, detail="json")
    assert found.structured["total"] == 20 + IMPORTED
    assert [client.server.end() for client in clients] == [(0, "")] * SERVERS
    assert complaint == ""
    assert json.loads(said)["stored"] == IMPORTED
