"""Warm lookups, opening and memory on libraries of 1,000, 10,000 and 100,000 entities, and an unchanged import.

    python -m benchmarks.growth [--json]

The entities are those of the library that is asked, varied. Their vectors are not computed: each is a known one with a
little noise, so that filling 100,000 takes minutes and not hours. Libraries are kept in `.bench`. `chart` draws the result.
"""

from __future__ import annotations

import asyncio
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet

from benchmarks import unchanged
from benchmarks.common import (
    FOLDER,
    Result,
    Server,
    library,
    median,
    milliseconds,
    percentile,
    questions,
    run,
    settings_of,
    stopwatch,
    varied,
)
from lorekeeper.cache.store import Chunked
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import load_provider, open_store
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.entities import COLLECTIONS
from lorekeeper.library import Library
from lorekeeper.settings import Settings
from lorekeeper.text.passages import CHUNKER, passages

SIZES = (1_000, 10_000, 100_000)
LOOKUPS = 40
BATCH = 2_000
NOISE = 0.03
SEMANTIC_FACTOR = 2.0
"""Semantic lookups among 100,000 entities, as a multiple of those among 10,000."""

NAME_FACTOR = 10.0
"""Lookups by name among 100,000 entities, as a multiple of those among 1,000."""

OPEN_FACTOR, OPEN_SECONDS = 0.5, 2.0
"""Opening 100,000 entities, as a multiple of the time to read all their texts from the data files; and in seconds."""

MEGABYTES = 700
"""Memory of a server with 100,000 entities."""

TYPES = ("spells", "creatures", "equipment", "character_options", "rules")


@dataclass(frozen=True)
class Shelf:
    """What was measured on one library: medians of lookups and best openings in seconds, memory in megabytes."""

    semantic: float
    named: float
    opened: float
    read: float
    megabytes: float


def measure() -> Result:
    """Fill what is not there yet, and ask each library the same questions."""
    rows: list[list[str]] = []
    shelves: dict[int, Shelf] = {}
    asked = questions(LOOKUPS * len(SIZES))
    for number, size in enumerate(SIZES):
        folder = FOLDER / f"growth-{size}"
        if not (folder / "done").exists():
            fill(folder, size)
        opened, read = _seconds_to_open(folder)
        mine = asked[number * LOOKUPS : (number + 1) * LOOKUPS]
        with Server(folder) as server:
            server.ask("search_lore", query="warm up")
            tools = [f"lookup_{t}" for t in ("spell", "creature", "equipment", "character_option", "rule")]
            semantic = [server.timed(tools[i % 5], semantic_query=query) for i, query in enumerate(mine)]
            named = [server.timed("lookup_creature", name=query.split()[-1]) for query in mine]
            memory = server.megabytes()
        shelves[size] = Shelf(median(semantic), median(named), opened, read, memory)
        rows.append([f"{size:,}", milliseconds(median(semantic)), milliseconds(percentile(semantic, 0.95)),
                     milliseconds(median(named)), milliseconds(opened), milliseconds(read), f"{memory:.0f} MB"])  # fmt: skip
    again = unchanged.measure()
    rows_again = ", ".join(f"{what.strip('*')} in {seconds}" for what, seconds, _ in again.rows)
    columns = ["entities", "semantic lookup p50", "p95", "lookup by name p50", "opening", "*reading*", "memory"]
    notes = [
        f"{LOOKUPS} distinct questions over five tools; vectors are known ones with noise of {NOISE} a dimension",
        "reading is that of all columns but the vectors with PyArrow, and of the keys as Python's texts",
        f"{again.columns[0]}: {rows_again}",
    ]
    return Result("Growth", columns, rows, [*_claims(shelves), *again.claims], notes)


def _claims(shelves: dict[int, Shelf]) -> list[tuple[str, str, bool]]:
    """What is claimed of 100,000 entities."""
    small, middle, large = (shelves[size] for size in SIZES)
    semantic, named, opening = large.semantic / middle.semantic, large.named / small.named, large.opened / large.read
    return [
        (f"100,000 entities: p50 at most {SEMANTIC_FACTOR:.0f} x that of 10,000", f"{semantic:.1f} x",
         semantic <= SEMANTIC_FACTOR),
        (f"100,000 entities: p50 by name at most {NAME_FACTOR:.0f} x that of 1,000", f"{named:.1f} x",
         named <= NAME_FACTOR),
        (f"opening 100,000 in at most {OPEN_SECONDS:.0f} s", f"{large.opened:.2f} s", large.opened <= OPEN_SECONDS),
        (f"opening 100,000 at most {OPEN_FACTOR} x reading their texts", f"{opening:.2f} x", opening <= OPEN_FACTOR),
        (f"100,000 entities in at most {MEGABYTES} MB", f"{large.megabytes:.0f} MB", large.megabytes <= MEGABYTES),
    ]  # fmt: skip


def _seconds_to_open(folder: Path) -> tuple[float, float]:
    """Best of three openings of the store in this process, everything that is imported for it in memory; and of readings."""
    opened: list[float] = []
    read: list[float] = []
    for _ in range(4):
        store = open_store(settings_of(folder))
        with stopwatch(opened):
            store.open(COLLECTIONS)
        store.close()
        with stopwatch(read):
            _read_texts(folder)
    return min(opened[1:]), min(read[1:])


def _read_texts(folder: Path) -> None:
    """Read the data files as a store does that holds all rows in memory."""
    for path in sorted(folder.rglob("*.parquet")):
        file = pyarrow.parquet.ParquetFile(path)
        table = file.read(columns=[name for name in file.schema_arrow.names if name != "vector"])
        keys = table.column("pk").to_pylist()
        _ = {key: number for number, key in enumerate(keys)}


def fill(folder: Path, size: int) -> None:
    """Write varied entities with varied vectors, type by type, straight into a store in that folder."""
    print(f"filling {folder} with {size:,} entities, once ...", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(settings_of(folder))
    settings = settings_of(library())
    embedding = load_provider(settings).fingerprint
    known = VectorCache(settings.milvus_db_path.parent / "vectors.db")
    cuts = asyncio.run(_chunked(settings))
    total = sum(map(len, cuts.values()))
    chance = np.random.default_rng(size)
    for entity_type, cut in cuts.items():
        vectors = known.get(embedding, [p.embedded for _, found in cut for p in found])
        whole = [(e, found) for e, found in cut if all(p.embedded in vectors for p in found)]
        wanted = size * len(cut) // total
        copies: Chunked = [
            (varied(e, n) if n else e, found) for n in range(wanted // len(whole) + 1) for e, found in whole
        ]
        for start in range(0, wanted, BATCH):
            part = copies[start : min(start + BATCH, wanted)]
            exact = np.stack([vectors[p.embedded] for _, found in part for p in found])
            store.write(entity_type, part, _noisy(exact, chance), f"{embedding} {CHUNKER}")
        store.flush(entity_type)
    known.close()
    store.close()
    (folder / "done").touch()


async def _chunked(settings: Settings) -> dict[str, Chunked]:
    """The entities of a library with their passages, by type."""
    async with Library.from_settings(settings) as source:
        return {t: [(e, passages(e)) async for batch in source.cache.iterate(t) for e in batch] for t in TYPES}


def _noisy(vectors: Vectors, chance: np.random.Generator) -> Vectors:
    noise: Vectors = chance.normal(scale=NOISE, size=vectors.shape).astype(np.float32)
    return normalized(vectors + noise)


def chart(result: Result, path: Path) -> None:
    """Draw p50 and opening over the number of entities, both axes logarithmic, as SVG."""
    sizes = [float(row[0].replace(",", "")) for row in result.rows]
    series = {"semantic lookup p50": 1, "lookup by name p50": 3, "opening": 4}
    width, height, margin = 640, 360, 60
    low, high = 0.1, 10_000.0

    def x(size: float) -> float:
        return margin + (math.log10(size) - 3) / 2 * (width - 2 * margin)

    def y(ms: float) -> float:
        return height - margin - math.log10(max(ms, low) / low) / math.log10(high / low) * (height - 2 * margin)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']  # fmt: skip
    for ms in (0.1, 1, 10, 100, 1000, 10000):
        parts.append(f'<path d="M{margin} {y(ms):.0f}H{width - margin}" stroke="#ddd"/>')
        parts.append(f'<text x="{margin - 6}" y="{y(ms) + 4:.0f}" text-anchor="end">{ms:g} ms</text>')
    parts += [f'<text x="{x(s):.0f}" y="{height - margin + 20}" text-anchor="middle">{s:,.0f}</text>' for s in sizes]
    for (label, column), colour in zip(series.items(), ("#c33", "#38c", "#393"), strict=True):
        values = [float(row[column].split()[0]) for row in result.rows]
        points = " ".join(f"{x(s):.0f},{y(v):.0f}" for s, v in zip(sizes, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{x(sizes[-1]) - 4:.0f}" y="{y(values[-1]) - 8:.0f}" text-anchor="end" fill="{colour}">{label}</text>'
        )
    parts.append(f'<text x="{width / 2}" y="{height - 12}" text-anchor="middle">entities</text></svg>')
    path.write_text("\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
