"""Suites that kill programs at random moments of their work, open the library and count what is lost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.library import Library
from lorekeeper.maintenance.repair import repair
from lorekeeper.settings import Settings, load_settings
from tests.support.commands import variables
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import everything, versioned
from tests.support.legacy_cache import SPELLS, write_cache
from tests.support.library_process import Program
from tests.support.open5e_server import Open5eServer, lists, serving, spell

MIGRATED = 400
"""Entries of the cache that is migrated again and again."""

EARLY = 0.25
"""Share of programs that are killed soon after they have begun."""

SECONDS = 0.25
"""How long after their first acknowledgement the others are, on the average: mostly at once, sometimes much later."""

SYNCED = 400
"""Entries of the server that is synced with again and again."""


@dataclass
class Outcome:
    """What was counted over all rounds.

    Attributes:
        rounds: programs killed.
        acknowledged: entities whose storing or deleting had been acknowledged before.
        lost: of these, how many were not as acknowledged after the next opening.
        doubled: entities that some side had twice.
        apart: rounds after which store, list, keywords and vectors did not hold the same.
    """

    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    apart: int = 0


async def look(cache: SearchCache, outcome: Outcome) -> dict[str, Any]:
    """What is stored, by slug, with all sides compared."""
    stored = await everything(cache)
    listed = [e.slug for e in await cache.get_entities("spells")]
    words = [r.identity[1] for r in await cache.rank_keyword("spells", "text", 10_000)]
    near = [r.identity[1] for r in await cache.rank_semantic("spells", "text", 10_000)]
    sides = [[e.slug for e in stored], listed, words, near]
    outcome.doubled += sum(len(side) - len(set(side)) for side in sides)
    outcome.apart += len({frozenset(side) for side in sides}) > 1
    return {e.slug: e for e in stored}


def hashing(environ: Mapping[str, str]) -> SearchCache:
    """The library, embedded by hashing."""
    settings, _ = load_settings(environ, Path("no.env"))
    return open_cache(settings, EmbeddingService(lambda: HashingProvider(512)))


async def imports(folder: Path, backend: str, rounds: int, outcome: Outcome, chance: random.Random) -> None:
    """Kill a program that stores, replaces and deletes."""
    environ = variables(folder, backend)
    known: dict[str, int | None] = {}
    for number in range(rounds):
        said = await _killed(environ, chance, "churn", number)
        under_way: dict[str, int | None] = {}
        for item in said:
            if "begin" in item:
                under_way = item["begin"]
            else:
                outcome.acknowledged += item["done"]
                known, under_way = known | under_way, {}
        async with hashing(environ) as cache:
            held = {slug: e.data["version"] for slug, e in (await look(cache, outcome)).items()}
        for slug in known.keys() | held.keys() | under_way.keys():
            allowed = {known.get(slug), under_way.get(slug, known.get(slug))}
            outcome.lost += held.get(slug) not in allowed
        known = dict(held)
        outcome.rounds += 1


async def reindexes(folder: Path, backend: str, rounds: int, outcome: Outcome, chance: random.Random) -> None:
    """Kill a program that embeds everything again."""
    environ = variables(folder, backend)
    stored = {f"s{n}": versioned(f"s{n}", n) for n in range(300)}
    async with hashing(environ) as cache:
        await cache.store_entities(list(stored.values()), "spells")
    for _ in range(rounds):
        await _killed(environ, chance, "reindex")
        async with hashing(environ) as cache:
            held = await look(cache, outcome)
        outcome.acknowledged += len(stored)
        outcome.lost += sum(held.get(slug) != entity for slug, entity in stored.items()) + len(held.keys() - stored)
        outcome.rounds += 1


async def migrations(folder: Path, backend: str, rounds: int, outcome: Outcome, chance: random.Random) -> None:
    """Kill a program that migrates an earlier cache; once all of it is there, begin with an empty library."""
    objects = {
        f"m{n}": {**SPELLS[0], "slug": f"m{n}", "name": f"M{n}", "desc": f"Text {n}. " * 40} for n in range(MIGRATED)
    }
    folder.mkdir(parents=True, exist_ok=True)
    source = write_cache(folder / "earlier.db", {"spells": objects.values()})
    server, number = EmbeddingServer(), 0
    with server.running():
        while outcome.rounds < rounds:
            number += 1
            environ = variables(folder / str(number), backend)
            environ |= {"LOREKEEPER_EMBEDDING_PROVIDER": "http", "LOREKEEPER_EMBEDDING_URL": server.url}
            settings, _ = load_settings(environ, Path("no.env"))
            held: dict[str, Any] = {}
            while len(held) < MIGRATED and outcome.rounds < rounds:
                before = len(held)
                said = await _killed(environ, chance, "migrate", str(source))
                acknowledged = sum(item.get("step", 0) for item in said if isinstance(item, dict))
                held = await _migrated(settings, outcome)
                outcome.acknowledged += acknowledged
                outcome.lost += max(before + acknowledged - len(held), 0)
                outcome.lost += sum(dict(entity.data) != objects[slug] for slug, entity in held.items())
                outcome.rounds += 1
            shutil.rmtree(folder / str(number))


async def syncs(folder: Path, backend: str, rounds: int, outcome: Outcome, chance: random.Random) -> None:
    """Kill a program that syncs with an Open5e server; once all of it is there, begin with an empty library."""
    spells = [spell(f"Tide {n}", desc=f"Text {n}. " * 20) for n in range(SYNCED)]
    number = 0
    with serving(Open5eServer({**lists(), "v2/spells": spells}, page_size=20)) as address:
        while outcome.rounds < rounds:
            number += 1
            environ = variables(folder / str(number), backend) | {"LOREKEEPER_OPEN5E_BASE_URL": address}
            held: dict[str, Any] = {}
            while len(held) < SYNCED and outcome.rounds < rounds:
                before = held
                said = await _killed(environ, chance, "sync")
                acknowledged = sum(item.get("step", 0) for item in said if isinstance(item, dict)) - len(
                    lists()["v2/documents"]
                )
                async with hashing(environ) as cache:
                    held = await look(cache, outcome)
                outcome.acknowledged += max(acknowledged, 0)
                outcome.lost += max(acknowledged - len(held), 0) + len(before.keys() - held.keys())
                outcome.rounds += 1
            shutil.rmtree(folder / str(number), ignore_errors=True)


async def repairs(folder: Path, backend: str, rounds: int, outcome: Outcome, chance: random.Random) -> None:
    """Kill a program that repairs a damaged library; it is repaired to the end then, and damaged again."""
    server, stored = EmbeddingServer(), {f"s{n}": versioned(f"s{n}", n) for n in range(300)}
    with server.running():
        environ = variables(folder, backend)
        environ |= {"LOREKEEPER_EMBEDDING_PROVIDER": "http", "LOREKEEPER_EMBEDDING_URL": server.url}
        settings, _ = load_settings(environ, Path("no.env"))
        async with Library.from_settings(settings) as library:
            await library.cache.store_entities(list(stored.values()), "spells")
        for _ in range(rounds):
            await asyncio.to_thread(_damage, settings.library_path)
            await _killed(environ, chance, "repair")
            await repair(settings)
            held = await _migrated(settings, outcome)
            outcome.acknowledged += len(stored)
            outcome.lost += sum(held.get(slug) != entity for slug, entity in stored.items()) + len(held.keys() - stored)
            outcome.rounds += 1


def _damage(library: Path) -> None:
    """Cut off the largest file of a library in Milvus, or spoil the words of one in SQLite."""
    if library.is_dir():
        largest = max((library / "collections" / "spells").rglob("*.parquet"), key=lambda file: file.stat().st_size)
        os.truncate(largest, largest.stat().st_size // 2)
    else:
        with closing(sqlite3.connect(library)) as c, c:
            c.execute("DELETE FROM spells_fts")


async def _migrated(settings: Settings, outcome: Outcome) -> dict[str, Any]:
    async with Library.from_settings(settings) as library:
        return await look(library.cache, outcome)


SUITES: dict[str, Callable[[Path, str, int, Outcome, random.Random], Any]] = {
    "import": imports,
    "reindex": reindexes,
    "sync": syncs,
    "migrate": migrations,
    "repair": repairs,
}


async def _killed(environ: Mapping[str, str], chance: random.Random, *command: Any) -> list[Any]:
    """Start a program, tell it what to do, and kill it at any moment: early, or some time after its first acknowledgement."""
    program = await asyncio.to_thread(Program, environ)
    program.tell(*command)
    said = [await asyncio.to_thread(program.hear)]
    if chance.random() < EARLY:
        await asyncio.sleep(chance.uniform(0.0, 0.5))
    else:
        while isinstance(said[-1], dict) and "begin" in said[-1]:
            said.append(await asyncio.to_thread(program.hear))
        await asyncio.sleep(chance.expovariate(1 / SECONDS))
    return said + await asyncio.to_thread(program.kill)
