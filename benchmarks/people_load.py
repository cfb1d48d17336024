"""Many people at one server: answers to fifty clients beside those to one, throughput, memory, and the limit on requests.

    python -m benchmarks.people_load LIBRARY [--clients 50] [--seconds 60]

LIBRARY is the path of an embedded library, which is only read. Each client keeps its connection and asks once a second, searches
and reads by turns, over MCP and, where the server has it, REST. The figures of one client come from the same server, before that.
Loopback only. Exit status 1 if an answer is an error, or a ratio is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

START_SECONDS = 60.0
ALONE_SECONDS, BACK_TO_BACK_SECONDS = 20.0, 8.0
MOST_P95, MOST_MEMORY, LEAST_THROUGHPUT = 6.0, 1.2, 0.8
LIMIT = 100

QUERIES = (
    "we are falling off a cliff",
    "a spell that heals many at once",
    "undead that drain life",
    "sword that burns",
    "how do I hide in combat",
    "a dragon of the cold north",
    "poison that puts to sleep",
    "see through a magical disguise",
)
WHERE = ("", " at night", " in a tavern", " under water", " far from home")
"""What makes forty questions of these: at a table, too, many are asked more than once."""

CALLS: tuple[Callable[[str, str], tuple[str, dict[str, str]]], ...] = (
    lambda _, uri: ("get_entity", {"uri": uri}),
    lambda query, _: ("search_lore", {"query": query}),
    lambda _, uri: ("lookup_spell", {"name": uri.rpartition("/")[2]}),
    lambda query, _: ("lookup_creature", {"semantic_query": query}),
)
"""Searches and reads by turns."""

URIS = ("lore://spells/srd-2014/fireball", "lore://creatures/srd-2014/goblin", "lore://spells/srd-2014/wish")

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}


def question(number: int) -> str:
    """One of forty questions."""
    return QUERIES[number // 2 % len(QUERIES)] + WHERE[number // 16 % len(WHERE)]


@dataclass
class Answers:
    """The answers to some clients: how long each took, in seconds, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float:
        """Seconds within which 95 of 100 were answered."""
        return statistics.quantiles(self.seconds, n=20, method="inclusive")[-1]


class Asking:
    """One client with its own connection and session.

    Args:
        url: of the server.
        token: the client's.
        number: which questions it asks: no two clients ask in step.
        rest: whether the server answers over REST too.
    """

    def __init__(self, url: str, token: str, number: int, *, rest: bool) -> None:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=30.0)
        self._numbers = itertools.count(number)
        self._rest = rest

    async def begin(self) -> None:
        """Begin a session."""
        begun = await self._post("initialize", INITIALIZE)
        self._client.headers["mcp-session-id"] = begun.raise_for_status().headers["mcp-session-id"]

    async def ask(self, answers: Answers | None = None) -> int:
        """Ask the next question; the status of the response."""
        number, began = next(self._numbers), time.perf_counter()
        try:
            response = await (self._over_rest(number) if self._rest and number % 2 else self._over_mcp(number))
        except httpx.HTTPError as error:
            if answers:
                answers.errors.append(repr(error))
            return 0
        if answers:
            answers.seconds.append(time.perf_counter() - began)
            if response.status_code != 200 or '"isError":true' in response.text or '"error"' in response.text[:200]:
                answers.errors.append(f"{response.status_code} {response.text[:200]}")
        return response.status_code

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def _over_mcp(self, number: int) -> httpx.Response:
        name, arguments = CALLS[number % len(CALLS)](question(number), URIS[number % len(URIS)])
        return await self._post("tools/call", {"name": name, "arguments": arguments})

    async def _over_rest(self, number: int) -> httpx.Response:
        if number % 4 == 1:
            return await self._client.get(f"/api/v1/entities/{URIS[number % len(URIS)].removeprefix('lore://')}")
        return await self._client.get("/api/v1/search_lore", params={"query": question(number)})

    async def _post(self, method: str, params: Mapping[str, Any]) -> httpx.Response:
        return await self._client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@contextlib.contextmanager
def serving(library: Path, folder: Path, **settings: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server on the library: its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chosen = {"OFFLINE": "1", "ENV_FILE": os.devnull, "MILVUS_DB_PATH": str(library), "HTTP_TOKEN": "load", **settings}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOREKEEPER_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "lorekeeper", "serve", "--transport", "http", "--port", str(port)],
        env=inherited | {f"LOREKEEPER_{name}": value for name, value in chosen.items()},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        ready = time.monotonic() + START_SECONDS
        while time.monotonic() < ready and socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait(timeout=30)


def memory(process: subprocess.Popen[bytes]) -> float:
    """Resident memory of a process in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


@contextlib.asynccontextmanager
async def clients(url: str, number: int, *, rest: bool, token: str = "load") -> AsyncIterator[list[Asking]]:
    """So many clients with sessions."""
    asking = [Asking(url, token, 7 * each, rest=rest) for each in range(number)]
    try:
        for each in asking:
            await each.begin()
        yield asking
    finally:
        for each in asking:
            await each.close()


async def once_a_second(asking: list[Asking], seconds: float) -> Answers:
    """Each client asks once a second, none at the same time as another."""
    answers = Answers()

    async def one(client: Asking, delay: float) -> None:
        began = time.perf_counter() + delay
        for turn in range(int(seconds)):
            await asyncio.sleep(max(began + turn - time.perf_counter(), 0))
            await client.ask(answers)

    await asyncio.gather(*(one(client, place / len(asking)) for place, client in enumerate(asking)))
    return answers


async def back_to_back(asking: list[Asking], seconds: float) -> tuple[Answers, float]:
    """Each client asks as soon as it has its answer; and the answers per second of all."""
    answers, began = Answers(), time.perf_counter()

    async def one(client: Asking) -> None:
        while time.perf_counter() - began < seconds:
            await client.ask(answers)

    await asyncio.gather(*map(one, asking))
    return answers, len(answers.seconds) / (time.perf_counter() - began)


async def load(library: Path, folder: Path, number: int, seconds: float) -> dict[str, float]:
    """The figures of one client and of many, by name."""
    with serving(library, folder, RATE_LIMIT="1000000/minute") as (url, process):
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": "Bearer load"}) as probe:
            rest = (await probe.get("/api/v1/list_documents")).status_code == 200
        async with clients(url, 1, rest=rest) as alone:
            await back_to_back(alone, BACK_TO_BACK_SECONDS / 2)  # opens the library, and fills what is cached
            one = await once_a_second(alone, ALONE_SECONDS)
            single, rate = await back_to_back(alone, BACK_TO_BACK_SECONDS)
            before = memory(process)
        async with clients(url, number, rest=rest) as crowd:
            many = await once_a_second(crowd, seconds)
            rush, rush_rate = await back_to_back(crowd, BACK_TO_BACK_SECONDS)
            after = memory(process)
    errors = [error for answers in (one, single, many, rush) for error in answers.errors]
    for error in errors[:5]:
        print(error, file=sys.stderr)
    return {
        "REST": float(rest),
        "answers": float(sum(len(answers.seconds) for answers in (one, single, many, rush))),
        "errors": float(len(errors)),
        "p95 of one, ms": 1000 * one.p95,
        "p95 of many, ms": 1000 * many.p95,
        "p95, ratio": many.p95 / one.p95,
        "memory with one, MB": before,
        "memory with many, MB": after,
        "memory, ratio": after / before,
        "answers per second to one": rate,
        "answers per second to many": rush_rate,
        "throughput, ratio": rush_rate / rate,
    }


def person(library: Path, name: str) -> str:
    """The token of a new person at the table."""
    environment = os.environ | {"LOREKEEPER_MILVUS_DB_PATH": str(library), "LOREKEEPER_ENV_FILE": os.devnull}
    command = [sys.executable, "-m", "lorekeeper", "people"]
    subprocess.run([*command, "remove", name], env=environment, capture_output=True, check=False)
    done = subprocess.run(
        [*command, "add", name, "--role", "player", "--json"], env=environment, capture_output=True, check=True
    )
    token: str = json.loads(done.stdout)["token"]
    return token


async def limited(library: Path, folder: Path) -> dict[str, float]:
    """What comes of the requests of one person beyond the limit of a minute, and of another's meanwhile."""
    first, second = person(library, "load-one"), person(library, "load-two")
    with serving(library, folder, RATE_LIMIT=f"{LIMIT}/minute", RATE_BURST="0") as (url, _):
        async with (
            clients(url, 1, rest=False, token=first) as (one,),
            clients(url, 1, rest=False, token=second) as (two,),
        ):
            statuses = [await one.ask() for _ in range(LIMIT + 4)]
            others = [await two.ask() for _ in range(5)]
    passed = statuses.index(429) if 429 in statuses else len(statuses)
    return {
        "requests of one person until 429": passed + 1.0,  # the session began with one
        "429 after that": float(set(statuses[passed:]) == {429}),
        "another person's answers of 5": float(others.count(200)),
    }


def missed(figures: Mapping[str, float]) -> list[str]:
    """Names of the figures that are not as they should be."""
    tests = {
        "errors": figures["errors"] == 0,
        "p95, ratio": figures["p95, ratio"] <= MOST_P95,
        "memory, ratio": figures["memory, ratio"] <= MOST_MEMORY,
        "throughput, ratio": figures["throughput, ratio"] >= LEAST_THROUGHPUT,
        "requests of one person until 429": figures.get("requests of one person until 429", LIMIT) == LIMIT,
        "429 after that": figures.get("429 after that", 1.0) == 1.0,
        "another person's answers of 5": figures.get("another person's answers of 5", 5.0) == 5.0,
    }
    return [name for name, met in tests.items() if not met]


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(load(arguments.library, Path(folder), arguments.clients, arguments.seconds))
        figures |= asyncio.run(limited(arguments.library, Path(folder)))
    for name, value in figures.items():
        print(f"{name:35} {value:10.2f}")
    for name in missed(figures):
        print(f"missed: {name}")
    return 1 if missed(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
