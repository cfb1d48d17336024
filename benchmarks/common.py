"""What the benchmarks share: a library to ask, questions, servers over stdio, and tables."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks import SPIN
from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.shipped_books import shipped_books
from lorekeeper.library import Library
from lorekeeper.settings import PREFIX, Settings, load_settings
from lorekeeper.text.phrases import PHRASES

FOLDER = Path(".bench")
"""Where libraries are kept from one run to the next."""

ENTITIES = 9000
"""Size of the library that is asked, where no corpus gives it another."""

CORPUS = "LOREKEEPER_CORPUS"


@dataclass
class Result:
    """What a benchmark measured.

    Attributes:
        title: what was measured.
        columns: heads of the table.
        rows: its cells.
        claims: (what is claimed, what was measured, whether it holds).
        notes: what a reader should know.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    claims: list[tuple[str, str, bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The result as a section of RESULTS.md."""
        lines = [
            f"## {self.title}",
            "",
            _row(self.columns),
            _row(["---"] * len(self.columns)),
            *map(_row, self.rows),
            "",
        ]
        lines += [
            f"- {'Holds' if holds else '**Does not hold**'}: {claim}: {measured}."
            for claim, measured, holds in self.claims
        ]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes), ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def run(measure: Callable[[], Result], description: str) -> int:
    """Measure and print, or with --json the same as one JSON document; exit status 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    as_json = parser.parse_args().json
    return report(measure(), as_json=as_json)


def report(result: Result, *, as_json: bool) -> int:
    """Print a result; exit status 1 where a claim does not hold."""
    print(json.dumps(result.__dict__) if as_json else result.markdown())
    return 0 if all(holds for _, _, holds in result.claims) else 1


def missing(*packages: str) -> list[str]:
    """Notes on packages that are not installed."""
    absent = [p for p in packages if importlib.util.find_spec(p) is None]
    return [f"{p} is not installed and was left out" for p in absent]


def machine() -> str:
    """Processor, system and Python, in one line."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores of {model}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies."""
    ascending = sorted(values)
    return ascending[min(int(len(ascending) * share), len(ascending) - 1)]


def milliseconds(seconds: float) -> str:
    """As in "12.3 ms"."""
    return f"{seconds * 1e3:.1f} ms"


# --- what is asked ---------------------------------------------------------------------------------------------------


def questions(number: int, kind: str | None = None) -> list[str]:
    """Distinct phrases of people who look for something, from the phrases that ship."""
    found: dict[str, None] = {}
    for file in sorted(PHRASES.glob(f"{kind or '*'}.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            found |= dict.fromkeys(json.loads(line).get("asked_as", []))
    phrases = list(found)
    return [phrases[i % len(phrases)] + " again" * (i // len(phrases)) for i in range(number)]


def source_entities(number: int | None = None) -> list[Entity]:
    """The corpus at LOREKEEPER_CORPUS, or the first books, varied until there are enough."""
    corpus = os.environ.get(CORPUS)
    read = Reader([Path(corpus) / "entities"], None, ImportReport()).read() if corpus else ()
    entities = list({(*e.identity, e.type): e for e, _ in read}.values()) or shipped_books()
    wanted = number or (len(entities) if corpus else ENTITIES)
    return entities[:wanted] + [
        varied(entities[i % len(entities)], i // len(entities)) for i in range(len(entities), wanted)
    ]


def varied(entity: Entity, number: int) -> Entity:
    """A copy under another name, with another text."""
    name = f"{entity.name} {number}"
    text = entity.data.get("desc") or entity.data.get("description") or ""
    data = {**entity.data, "name": name, "desc": f"In the {number}. telling: {text}", "description": ""}
    return Entity(
        type=entity.type,
        slug=f"{entity.slug}-{number}",
        name=name,
        kind=entity.kind,
        document=entity.document,
        source_api=entity.source_api,
        data=data,
        fields=entity.fields,
        document_name=entity.document_name,
    )


def settings_of(folder: Path, **values: object) -> Settings:
    """Settings of a library in a folder."""
    chosen = {"milvus_db_path": folder / "milvus.db", **values}
    return load_settings({PREFIX + k.upper(): str(v) for k, v in chosen.items()}, Path("no.env"))[0]


def environment(folder: Path, **values: str) -> dict[str, str]:
    """The environment of a process with a library in a folder, without other settings of ours."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith((PREFIX, SPIN))}
    chosen = {"milvus_db_path": str(folder / "milvus.db"), **values}
    return kept | {PREFIX + k.upper(): v for k, v in chosen.items()}


def library() -> Path:
    """Folder of the library that is asked; filled once and kept in `.bench`."""
    given = os.environ.get("LOREKEEPER_BENCH_LIBRARY")
    if given:
        return Path(given)
    folder = FOLDER / ("corpus" if os.environ.get(CORPUS) else "books")
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        entities = source_entities()
        print(f"filling {folder} with {len(entities):,} entities, once; this takes some minutes ...", file=sys.stderr)
        asyncio.run(fill(folder, entities))
        (folder / "done").touch()
    return folder


async def fill(folder: Path, entities: Sequence[Entity]) -> None:
    """Store entities with the real model."""
    async with Library.from_settings(settings_of(folder)) as opened:
        for entity_type in dict.fromkeys(e.type for e in entities):
            await opened.cache.store_entities([e for e in entities if e.type == entity_type], entity_type)


# --- servers ---------------------------------------------------------------------------------------------------------


class Host:
    """A command that serves MCP over stdio, in a process of its own, asked one question at a time.

    Args:
        command: with its arguments.
        environment: of the process.
        folder: in which it is started; that of this process by default.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str], folder: Path | None = None) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder
        )
        self._number = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.initialized = time.perf_counter() - self.began
        """Seconds from spawning it until it was ready."""

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request; EOFError where the process has ended."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout
        while line := self.process.stdout.readline():
            said = json.loads(line)
            if said.get("id") == self._number:
                result: dict[str, Any] = said["result"]
                return result
        raise EOFError("the server has ended")

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a tool's answer, which ours has if asked for it; RuntimeError where it is an error."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result.get("structuredContent") or self.ask(tool, **arguments, detail="json")

    def timed(self, tool: str, **arguments: Any) -> float:
        """Seconds that one question took."""
        began = time.perf_counter()
        self.request("tools/call", {"name": tool, "arguments": arguments})
        return time.perf_counter() - began

    def megabytes(self) -> float:
        """Resident memory of the process."""
        if Path("/proc/self/status").exists():
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            return int(status.split("VmRSS:")[1].split()[0]) / 1024
        shown = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, text=True, check=True
        )
        return int(shown.stdout) / 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)


class Server(Host):
    """``lorekeeper serve`` of this checkout.

    Args:
        folder: of its library.
        values: further settings.
    """

    def __init__(self, folder: Path, **values: str) -> None:
        super().__init__([sys.executable, "-m", "lorekeeper", "serve"], environment(folder, **values))


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


@contextmanager
def stopwatch(into: list[float]) -> Iterator[None]:
    """Append the seconds that the body took."""
    began = time.perf_counter()
    yield
    into.append(time.perf_counter() - began)
