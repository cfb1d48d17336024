"""Another program at a library: reads one JSON command a line, answers each with one JSON line. Run by `test_milvus`."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any

from lorekeeper.cache.protocol import CacheProtocol
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import open_cache
from lorekeeper.settings import load_settings
from tests.conftest import everything, make


def batch(prefix: str, start: int, count: int) -> list[Any]:
    return [make(f"{prefix}{i}", f"Text {prefix} {i}. " * (1 + i % 3 * 20)) for i in range(start, start + count)]


async def answer(cache: CacheProtocol, command: str, *args: Any) -> object:
    match command:
        case "store":
            return await cache.store_entities(batch(*args), "spells")
        case "store-forever":
            prefix, size = args
            for start in range(0, 1_000_000, size):
                await cache.store_entities(batch(prefix, start, size), "spells")
                say(start + size)
        case "slugs":
            return sorted(e.slug for e in await everything(cache))
        case "nearest":
            return [h.entity.slug for h in await cache.semantic_search("spells", *args)]
        case "role":
            await cache.count_entities("spells")
            return (await cache.statistics()).details["role"]
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


async def main(path: str) -> None:
    settings, _ = load_settings({"LOREKEEPER_MILVUS_DB_PATH": path}, Path("no.env"))
    async with open_cache(settings, EmbeddingService(lambda: HashingProvider(512))) as cache:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                say(await answer(cache, *json.loads(line)))
            except LoreKeeperError as error:
                say({"error": type(error).__name__, "message": str(error)})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
