"""How long storing entities holds up the event loop.

Stores generated entities in a fresh library in a temporary folder, with the embedding model that is configured, while a
task sleeps for a millisecond again and again. What a sleep takes beyond that is a gap in which no other task could have
run. The same is measured while the same loop does nothing, for as long: what else the machine does shows there too.

    python benchmarks/event_loop_stall.py [--entities 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.settings import load_settings

SLEEP_SECONDS = 0.001

SEED = 20261121

SUBJECTS = (
    "The lamplighter; A drowned bell; Every mason of the guild; The salt wind; A ferryman; The oldest oak; Her brass key; "
    "A choir of moths; The miller's twin; An unlit candle; The ashen courier; A river of glass; Nobody awake"
).split("; ")
VERBS = (
    "remembers; carries; mends; refuses; swallows; answers; weighs; follows; paints over; outlives; borrows; hides; counts"
).split("; ")
OBJECTS = (
    "the names of the missing; three heavy doors; a debt of silver; the shape of smoke; what the tide brought; "
    "a map drawn in frost; the second moon; a wound that will not close; the laughter of stones; an oath in two halves; "
    "the road to the quarry; a cup of warm shadow; every word spoken before dawn"
).split("; ")
PLACES = (
    "under the bridge; at the turn of the year; for one hour; while it rains; beyond the last fence; in plain sight; "
    "with both hands; until somebody asks; on the third attempt; without a sound; in the cellar of the inn"
).split("; ")


def generated_entities(number: int) -> list[Entity]:
    """Spells, creatures, items and rules with texts of one to thirty sentences; the same ones in every run."""
    chance = random.Random(SEED)
    makers = (_spell, _creature, _item, _rule)
    objects = [makers[i % len(makers)](chance) | {"name": f"{_title(chance)} {i}"} for i in range(number)]
    return [entity for obj in objects for entity in normalize(obj, document="benchmark")]


def _spell(chance: random.Random) -> dict[str, object]:
    return {
        "collection": "spells",
        "level": chance.randint(0, 9),
        "school": chance.choice(["abjuration", "evocation", "illusion"]),
        "classes": chance.sample(["bard", "cleric", "druid", "wizard"], 2),
        "concentration": chance.random() < 0.5,
        "description": _prose(chance, 1, 12),
    }


def _creature(chance: random.Random) -> dict[str, object]:
    return {
        "collection": "creatures",
        "challenge_rating": chance.choice([0.125, 0.25, 1, 4, 17]),
        "type": chance.choice(["fey", "ooze", "giant"]),
        "hit_points": chance.randint(1, 300),
        "description": _prose(chance, 1, 6),
        "actions": [{"name": _title(chance), "desc": _prose(chance, 1, 4)} for _ in range(chance.randint(1, 6))],
    }


def _item(chance: random.Random) -> dict[str, object]:
    return {
        "collection": "equipment",
        "kind": "magic-item",
        "rarity": chance.choice(["common", "rare", "legendary"]),
        "cost": chance.randint(1, 5000),
        "description": _prose(chance, 1, 8),
    }


def _rule(chance: random.Random) -> dict[str, object]:
    return {"collection": "rules", "kind": "rule", "description": _prose(chance, 2, 30)}


def _prose(chance: random.Random, fewest: int, most: int) -> str:
    count = chance.randint(fewest, most)
    return " ".join(" ".join(map(chance.choice, (SUBJECTS, VERBS, OBJECTS, PLACES))) + "." for _ in range(count))


def _title(chance: random.Random) -> str:
    return f"{chance.choice(SUBJECTS)} {chance.choice(PLACES)}".title()


@asynccontextmanager
async def measured_gaps() -> AsyncIterator[list[float]]:
    """The loop's gaps in seconds, collected while the body runs."""
    gaps: list[float] = []

    async def sleep_and_measure() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(SLEEP_SECONDS)
            gaps.append(time.perf_counter() - began - SLEEP_SECONDS)

    task = asyncio.create_task(sleep_and_measure())
    try:
        yield gaps
    finally:
        await asyncio.sleep(2 * SLEEP_SECONDS)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def measure(number: int) -> None:
    """Measure and print."""
    settings, _ = load_settings()
    entities = generated_entities(number)
    by_type: dict[str, list[Entity]] = {}
    for entity in entities:
        by_type.setdefault(entity.type, []).append(entity)
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as folder:
        fresh = settings.model_copy(update={"milvus_db_path": Path(folder) / "milvus.db", "milvus_uri": None})
        async with Library.from_settings(fresh) as library:
            provider = await library.embedding.provider()
            print(f"Model, loaded before the measurement: {provider.fingerprint}, by {provider.name}")

            async with measured_gaps() as opening:
                await library.open()
                await library.statistics()
            gc.freeze()  # as the server does once its library is open
            print_gaps("opening the empty library", opening)

            began = time.perf_counter()
            async with measured_gaps() as storing:
                for entity_type, batch in by_type.items():
                    await library.cache.store_entities(batch, entity_type)
            seconds = time.perf_counter() - began
            passages = sum((await library.statistics()).passages.values())
            print_gaps(f"storing {len(entities):,} entities", storing)

        async with measured_gaps() as idle:
            await asyncio.sleep(seconds)
        print_gaps("idle loop, for as long", idle)
    print(f"{len(entities):,} entities in {passages:,} passages, stored in {seconds:.1f} s")


def print_gaps(label: str, gaps: list[float]) -> None:
    """One line: the longest gap, the 99th percentile, and of how many."""
    ascending = sorted(gaps)
    percentile = ascending[min(len(ascending) * 99 // 100, len(ascending) - 1)]
    print(
        f"{label:<28} longest gap {ascending[-1] * 1e3:6.1f} ms, 99th percentile {percentile * 1e3:5.1f} ms "
        f"({len(gaps):,} sleeps of {SLEEP_SECONDS * 1e3:.0f} ms)"
    )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--entities", type=int, default=1000, help="how many to store (default: 1000)")
    asyncio.run(measure(parser.parse_args().entities))


if __name__ == "__main__":
    main()
