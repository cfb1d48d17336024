"""Several servers on one library while somebody imports, and two of them are killed: errors, and what is lost.

    python -m benchmarks.clients [--json]

Each server has a client that asks it mixed questions. Servers are killed with SIGKILL, first the one that has Milvus Lite open, if
that is not the import; the client of a killed server starts another one and goes on. An error is any answer that is one, of any
client or of the import.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import (
    FOLDER,
    Result,
    Server,
    environment,
    library,
    median,
    milliseconds,
    percentile,
    questions,
    run,
    settings_of,
    varied,
)
from lorekeeper.cache.milvus.sharing import read_server
from lorekeeper.entities import Entity
from lorekeeper.library import Library

CLIENTS, LOOKUPS, IMPORTED, KILLS = 5, 200, 500, 2
TAKE_OVER_SECONDS = 2.0


class Client(threading.Thread):
    """Asks its own server mixed questions, and starts another one when that is killed."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__()
        self.folder, self.number = folder, number
        self.seconds: list[float] = []
        self.errors: list[str] = []
        self.server = Server(folder)

    def run(self) -> None:
        """Ask them all."""
        asked = questions(CLIENTS * LOOKUPS)[self.number :: CLIENTS]
        for i, query in enumerate(asked[:LOOKUPS]):
            choices: list[tuple[str, dict[str, Any]]] = [
                ("lookup_spell", {"semantic_query": query}),
                ("lookup_creature", {"semantic_query": query, "cr_max": 5}),
                ("lookup_equipment", {"name": query.split()[0]}),
                ("search_lore", {"query": query}),
            ]
            tool, arguments = choices[i % len(choices)]
            self._ask(tool, arguments)

    def _ask(self, tool: str, arguments: dict[str, Any]) -> None:
        try:
            self.seconds.append(self.server.timed(tool, **arguments))
        except (EOFError, BrokenPipeError):
            self.server = Server(self.folder)
            self._ask(tool, arguments)
        except Exception as error:
            self.errors.append(f"{tool}: {error}")


def measure() -> Result:
    """On a copy of the library."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="clients-", dir=FOLDER) as place:
        folder = Path(place)
        shutil.copytree(library(), folder, dirs_exist_ok=True)
        before = asyncio.run(_uris(folder))
        source = asyncio.run(_import_file(folder / "import.jsonl", folder))
        clients = [Client(folder, number) for number in range(CLIENTS)]
        importing = _importing(folder)
        for client in clients:
            client.start()
        kills = _kill_servers(folder / "milvus.db", clients)
        for client in clients:
            client.join()
        said, complaint = importing.communicate()
        errors = [e for client in clients for e in client.errors]
        if importing.returncode:
            errors.append(f"import: {complaint.strip()[-300:]}")
        for client in clients:
            with client.server:
                pass
        taken_over = _take_over(folder)
        lost = len((before | source) - asyncio.run(_uris(folder)))
    times = [s for client in clients for s in client.seconds]
    rows = [
        ["lookups answered", str(len(times))],
        ["servers killed while they were asked", str(kills)],
        ["entities imported meanwhile", str(json.loads(said)["stored"]) if not importing.returncode else "?"],
        ["p50", milliseconds(median(times))],
        ["p95", milliseconds(percentile(times, 0.95))],
        ["longest", milliseconds(max(times))],
        ["next call after the owner was killed", milliseconds(taken_over)],
    ]
    claims = [
        ("0 errors", "; ".join([str(len(errors)), *errors[:3]]), not errors),
        ("0 entities lost", str(lost), not lost),
        (f"taken over within {TAKE_OVER_SECONDS:.0f} s", milliseconds(taken_over), taken_over <= TAKE_OVER_SECONDS),
        (f"{KILLS} servers killed", str(kills), kills == KILLS),
    ]
    notes = [f"{CLIENTS} servers, {LOOKUPS} lookups each, on {os.cpu_count()} cores, all at once"]
    return Result("Several clients", ["", "measured"], rows, claims, notes)


def _importing(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "lorekeeper", "import", str(folder / "import.jsonl"), "--json"]
    return subprocess.Popen(command, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _kill_servers(path: Path, clients: Sequence[Client]) -> int:
    """Kill servers that are asked, each once, and never the import; first the one that owns the library, if a server does."""
    remaining = list(clients)
    while len(clients) - len(remaining) < KILLS:
        time.sleep(3)
        owner, working = read_server(path), [client for client in remaining if client.is_alive()]
        if not working:
            break
        chosen = next((each for each in working if owner and each.server.process.pid == owner.pid), working[0])
        chosen.server.process.kill()
        remaining.remove(chosen)
    return len(clients) - len(remaining)


def _take_over(folder: Path) -> float:
    """Seconds of the call with which another server takes a killed one's place."""
    owner = Server(folder)
    owner.ask("lookup_spell", semantic_query="who is the first")
    with Server(folder) as other:
        other.ask("lookup_spell", semantic_query="who is the second")
        owner.process.kill()
        owner.process.wait()
        return other.timed("lookup_spell", semantic_query="and who is it now")


async def _uris(folder: Path) -> set[str]:
    async with Library.from_settings(settings_of(folder)) as opened:
        return {
            e.uri
            for t in ("spells", "creatures", "equipment")
            async for batch in opened.cache.iterate(t)
            for e in batch
        }


async def _import_file(file: Path, folder: Path) -> set[str]:
    """Write what is to be imported, in our own shape; its uris."""
    async with Library.from_settings(settings_of(folder)) as opened:
        entities: list[Entity] = [e async for batch in opened.cache.iterate("spells") for e in batch]
    chosen = [varied(e, 77) for e in itertools.islice(entities, IMPORTED)]
    lines = [
        {"collection": "spells", "slug": e.slug, "name": e.name, "document": "benchmark", "description": e.data["desc"]}
        for e in chosen
    ]
    unique = {line["slug"]: line for line in lines}
    file.write_text("\n".join(json.dumps(line) for line in unique.values()), "utf-8")
    return {f"lore://spells/benchmark/{slug}" for slug in unique}


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
