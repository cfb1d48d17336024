"""How long questions take while a server brings its library up to date in the background, beside one that does nothing else.

    python -m benchmarks.background_sync LIBRARY REPLAY [--types creatures] [--altered 40] [--json]

LIBRARY is a folder with a library of all of Open5e, `milvus.db` unless --name says otherwise; it is copied twice. REPLAY is a
program that serves Open5e's answers on loopback, with the faults of `FAULTS`. Some entries of the copies are altered, so that
they have to be embedded and stored again, and what was synced is made 40 days old. Then both servers are asked the same
questions in turn, a few at a time with pauses in which one of them works, until everything is fresh; half-way that one is killed
and started again.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.common import Result, Server, median, milliseconds, percentile, questions, report, settings_of
from lorekeeper.composition import open5e_of
from lorekeeper.intake.freshness import Freshness, freshness
from lorekeeper.intake.sync_state import encode, load_state, save
from lorekeeper.library import Library
from lorekeeper.settings import Settings

FAULTS = ("--fail-every", "7", "--cut-every", "31", "--latency-ms", "50")

MOST_RATIO = 1.2

ASKED_AT_ONCE = 3
PAUSE_SECONDS = 6.0
"""How many questions follow each other, and how long nobody asks then: two seconds of it pass before work goes on."""

WARM_UP = 20

AGE_DAYS = 40

MOST_SECONDS = 540.0


@dataclass
class Times:
    """Seconds of the questions to one server; the first ones are those after a pause."""

    first: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)

    def ask(self, server: Server, texts: Sequence[str]) -> None:
        """Ask some questions in a row."""
        taken = [server.timed("search_lore", query=text) for text in texts]
        self.first.append(taken[0])
        self.all += taken


@dataclass
class Outcome:
    """What was measured, of the server that works and of the idle one."""

    busy: Times = field(default_factory=Times)
    idle: Times = field(default_factory=Times)
    began: float = field(default_factory=time.monotonic)
    killed: bool = False


@contextmanager
def replaying(program: Path, *faults: str) -> Iterator[str]:
    """Address of a server that answers as Open5e did."""
    server = subprocess.Popen([sys.executable, str(program), *faults], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def statistics_of(address: str) -> tuple[int, int]:
    """How many requests a replaying server has had, and how many of these it failed."""
    with urllib.request.urlopen(f"{address}/__stats") as response:
        content = json.load(response)
    return content["requests"], content["failed"]


async def prepare(settings: Settings, address: str, types: list[str], altered: int) -> list[str]:
    """Sync a library, alter some entries, and make it old; the uris of what was altered."""
    async with Library.from_settings(settings.model_copy(update={"open5e_base_url": address})) as library:
        await library.sync(types)
        entities = await library.cache.get_entities(types[0], limit=altered)
        outdated = [replace(e, data={**e.data, "outdated": True}) for e in entities]
        await library.cache.store_entities(outdated, types[0])
    source = open5e_of(settings)
    state = replace(load_state(source.state_path, address), source=settings.open5e_base_url)
    for listed in state.lists.values():
        listed.whole = {key: since - AGE_DAYS * 86400 for key, since in listed.whole.items()}
    save(source.state_path, encode(state))
    return [e.uri for e in outdated]


async def still_outdated(settings: Settings, entity_type: str, uris: Sequence[str]) -> int:
    """How many of the altered entries are not as the server has them."""
    async with Library.from_settings(settings) as library:
        found = await library.cache.get_entities(entity_type)
    return sum(e.uri in set(uris) and "outdated" in e.data for e in found)


def status(settings: Settings) -> Freshness:
    """How fresh a library is now."""
    return freshness(open5e_of(settings), offline=False)


def measure(folders: dict[str, Path], settings: Settings, address: str) -> Outcome:
    """Ask both servers until the library is fresh."""
    outcome, texts = Outcome(), itertools.cycle(questions(300))
    values = {"open5e_base_url": address, "log_level": "ERROR"}
    idle = Server(folders["idle"], **values, background_sync="0")
    busy = Server(folders["busy"], **values)
    try:
        for text in itertools.islice(texts, WARM_UP):
            idle.ask("search_lore", query=text)
            busy.ask("search_lore", query=text)
        wait_for_work(settings)
        lists = len(status(settings).stale)
        while (now := status(settings)).stale and time.monotonic() - outcome.began < MOST_SECONDS:
            if not outcome.killed and (len(now.stale) < lists or now.read >= 1000):
                busy.process.send_signal(signal.SIGKILL)
                busy.process.wait()
                busy, outcome.killed = Server(folders["busy"], **values), True
                for text in itertools.islice(texts, WARM_UP):
                    busy.ask("search_lore", query=text)
                wait_for_work(settings)
            asked = list(itertools.islice(texts, ASKED_AT_ONCE))
            outcome.idle.ask(idle, asked)
            outcome.busy.ask(busy, asked)
            time.sleep(PAUSE_SECONDS)
    finally:
        for server in (idle, busy):
            with server:
                pass
    return outcome


def wait_for_work(settings: Settings) -> None:
    """Wait until a process reads something again."""
    until = time.monotonic() + MOST_SECONDS
    while not status(settings).reading and time.monotonic() < until:
        time.sleep(0.5)


def shown(outcome: Outcome, fresh: bool, outdated: int, requests: tuple[int, int], took: float) -> Result:
    """The result, with its claims."""
    groups = {"all": (outcome.busy.all, outcome.idle.all), "after a pause": (outcome.busy.first, outcome.idle.first)}
    rows, claims = [], []
    for name, (busy, idle) in groups.items():
        ratios = [median(busy) / median(idle), percentile(busy, 0.95) / percentile(idle, 0.95)]
        cells = [milliseconds(value) for times in (idle, busy) for value in (median(times), percentile(times, 0.95))]
        rows.append([name, str(len(busy)), *cells, f"{ratios[0]:.2f}", f"{ratios[1]:.2f}"])
        measured = f"{ratios[0]:.2f} and {ratios[1]:.2f}"
        claims.append(
            (f"p50 and p95 of questions, {name}, at most {MOST_RATIO} times", measured, max(ratios) <= MOST_RATIO)
        )
    made, failed = requests
    claims.append(("killed once and continued until all is fresh", f"{took:.0f} s", fresh and outcome.killed))
    claims.append(("what had changed is as the server has it", f"{outdated} are not", outdated == 0))
    columns = ["questions", "number", "idle p50", "idle p95", "busy p50", "busy p95", "p50 ratio", "p95 ratio"]
    return Result(
        "Background refresh", columns, rows, claims, [f"{made} requests, of which the server failed {failed}"]
    )


def main() -> int:
    """Prepare, measure and print; exit status 1 if a claim does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("library", type=Path, help="folder of a library of Open5e")
    parser.add_argument("replay", type=Path, help="program that serves Open5e's answers")
    parser.add_argument("--name", default="milvus.db", help="the library's name in its folder")
    parser.add_argument("--types", nargs="+", default=["creatures"], help="what was synced")
    parser.add_argument("--altered", type=int, default=40, help="entries that have changed")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, replaying(arguments.replay, *FAULTS) as address:
        folders = {name: Path(folder) / name for name in ("idle", "busy")}
        for copy in folders.values():
            copy.mkdir()
            shutil.copytree(arguments.library / arguments.name, copy / "milvus.db")
            shutil.copy(arguments.library / f"{arguments.name}.keywords", copy / "milvus.db.keywords")
        settings = settings_of(folders["busy"], open5e_base_url=address)
        with replaying(arguments.replay) as faultless:
            uris = asyncio.run(prepare(settings, faultless, arguments.types, arguments.altered))
        outcome = measure(folders, settings, address)
        outdated = asyncio.run(still_outdated(settings, arguments.types[0], uris))
        took = time.monotonic() - outcome.began
        result = shown(outcome, not status(settings).stale, outdated, statistics_of(address), took)
    return report(result, as_json=arguments.json)


if __name__ == "__main__":
    sys.exit(main())
