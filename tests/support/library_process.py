"""Another program at a library: reads one JSON command a line, answers each with one JSON line.

python -m tests.support.library_process '{"LOREKEEPER_MILVUS_DB_PATH": "..."}'
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.composition import open5e_of, open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.maintenance.repair import repair
from lorekeeper.settings import load_settings
from lorekeeper.system import claim_process
from tests.support import forking
from tests.support.commands import ROOT
from tests.support.entities import batch, everything, versioned

SLUGS = 600
"""How many different entities `churn` knows."""


class Program:
    """Another program that has a library open: this module in a process of its own."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            forking.command("tests.support.library_process", json.dumps(environ)),
            cwd=ROOT,
            env={**os.environ, **forking.variables()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, *command: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, *command: Any) -> Any:
        self.tell(*command)
        return self.hear()

    def kill(self) -> list[Any]:
        """SIGKILL; what it had said and nobody had heard yet."""
        self.process.send_signal(signal.SIGKILL)
        assert self.process.stdout
        said = self.process.stdout.read()  # communicate() would pass over what a buffer holds
        self.process.communicate()
        return [json.loads(line) for line in said.splitlines() if line.endswith(("}", "]")) or line.isdigit()]

    def end(self) -> tuple[str, str]:
        """A regular end; what else it printed."""
        return self.process.communicate(timeout=200)


async def churn(cache: SearchCache, seed: int) -> None:
    """Store, replace and delete at random for ever: says what it is about to do, and then that it is done."""
    chance = random.Random(seed)
    for version in range(seed * 10_000, (seed + 1) * 10_000):
        chosen = [f"s{n}" for n in chance.sample(range(SLUGS), chance.choice([1, 7, 40, 150]))]
        if chance.random() < 0.2:
            say({"begin": dict.fromkeys(chosen)})
            await cache.delete_entities("spells", [("own", slug) for slug in chosen])
        else:
            say({"begin": dict.fromkeys(chosen, version)})
            await cache.store_entities([versioned(slug, version) for slug in chosen], "spells")
        say({"done": len(chosen)})


def crowd(environ: Mapping[str, str], prefix: str, number: int) -> None:
    """Threads with loops and caches of their own that write and read at once."""

    async def write_and_read(name: str) -> None:
        settings, _ = load_settings(environ, Path("no.env"))
        async with open_cache(settings, EmbeddingService(lambda: HashingProvider(512))) as cache:
            for start in (0, 10):
                await cache.store_entities(batch(name, start, 10), "spells")
                assert len(await cache.semantic_search("spells", "text", 5)) == 5
                assert len(await cache.get_entities("spells", name=name)) >= 10

    threads = [threading.Thread(target=asyncio.run, args=(write_and_read(f"{prefix}{i}-"),)) for i in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def work(environ: Mapping[str, str], cache: SearchCache, command: str, *args: Any) -> object:
    """What takes long, and may be killed: says that it has begun, and each step."""
    if command != "crowd":
        say({"begin": {}})
    match command:
        case "churn":
            await churn(cache, *args)
        case "crowd":
            await asyncio.to_thread(crowd, environ, *args)
        case "reindex":
            return await cache.reindex(lambda done: say({"step": done}))
        case "migrate":
            settings, _ = load_settings(environ, Path("no.env"))
            report = await migrate(settings, Path(args[0]), progress=lambda done: say({"step": done}))
            return report.total("stored")
        case "repair":
            settings, _ = load_settings(environ, Path("no.env"))
            return (await repair(settings, progress=lambda done: say({"step": done}))).as_dict()
        case "sync":
            settings, _ = load_settings(environ, Path("no.env"))
            service = EmbeddingService(lambda: HashingProvider(512))
            async with Library(open_cache(settings, service), service, source=open5e_of(settings)) as library:
                synced = await library.sync(["spells"], step=lambda _type, _more, done: say({"step": done}))
            return synced.stored
    return None


async def answer(cache: SearchCache, command: str, *args: Any) -> object:
    match command:
        case "store":
            return await cache.store_entities(batch(*args), "spells")
        case "slugs":
            return sorted(e.slug for e in await everything(cache))
        case "nearest":
            return [h.entity.slug for h in await cache.semantic_search("spells", *args)]
        case "role":
            await cache.count_entities("spells")
            return (await cache.statistics()).details["role"]
        case "open":  # the collections, without which questions are answered
            await cache.reindex(lambda _: None)
        case "close":
            await cache.close()
        case "fork":
            child = os.fork()
            if child == 0:
                atexit._run_exitfuncs()
                os._exit(0)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


async def main(environ: Mapping[str, str]) -> None:
    settings, _ = load_settings(environ, Path("no.env"))
    async with open_cache(settings, EmbeddingService(lambda: HashingProvider(512))) as cache:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                command = json.loads(line)
                lasting = command[0] in ("churn", "crowd", "reindex", "migrate", "repair", "sync")
                say(await (work(environ, cache, *command) if lasting else answer(cache, *command)))
            except LoreKeeperError as error:
                say({"error": type(error).__name__, "message": str(error)})


if __name__ == "__main__":
    claim_process()
    asyncio.run(main(json.loads(sys.argv[1])))
