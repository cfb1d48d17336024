"""Lookups by meaning, opening and memory of SQLite libraries of 10,000 and 100,000 entries.

    python -m benchmarks.sqlite_growth [--json]

The entries are those of `benchmarks/growth.py`: known ones, varied, with noise on their vectors. Memory is measured beside what
the vectors take in the file, in numbers of 4 bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.common import (
    FOLDER,
    Result,
    Server,
    median,
    milliseconds,
    percentile,
    questions,
    run,
    settings_of,
    stopwatch,
)
from benchmarks.growth import fill
from lorekeeper.composition import open_store
from lorekeeper.entities import COLLECTIONS
from lorekeeper.settings import Settings

SIZES = (10_000, 100_000)
LOOKUPS = 40

MEGABYTES, FACTOR = 700, 2.0
"""Memory of a server with 100,000 entries, and their lookups as a multiple of those of 10,000."""

TOOLS = [f"lookup_{name}" for name in ("spell", "creature", "equipment", "character_option", "rule")]


def measure() -> Result:
    """Fill what is not there yet, and ask both libraries the same questions."""
    rows: list[list[str]] = []
    asked = questions(LOOKUPS)
    memory, medians = 0.0, list[float]()
    for size in SIZES:
        folder = FOLDER / f"sqlite-growth-{size}"
        settings = _settings(folder)
        if not (folder / "done").exists():
            fill(folder, size, settings)
        opened, stored = _opened(settings)
        with Server(folder, cache_backend="sqlite", sqlite_db_path=str(settings.sqlite_db_path)) as server:
            for tool in TOOLS:
                server.ask(tool, semantic_query="warm up")
            times = [server.timed(TOOLS[i % len(TOOLS)], semantic_query=query) for i, query in enumerate(asked)]
            memory = server.megabytes()
        medians.append(median(times))
        rows.append([f"{size:,}", milliseconds(medians[-1]), milliseconds(percentile(times, 0.95)), milliseconds(opened),
                     f"{stored:.0f} MB", f"{memory:.0f} MB"])  # fmt: skip
    claims = [
        (f"100,000 entries in at most {MEGABYTES} MB", f"{memory:.0f} MB", memory <= MEGABYTES),
        (f"100,000 entries: p50 at most {FACTOR} x that of 10,000", f"{medians[1] / medians[0]:.2f} x",
         medians[1] <= FACTOR * medians[0]),
    ]  # fmt: skip
    columns = ["entries", "lookup by meaning p50", "p95", "opening with vectors", "*vectors in the file*", "memory"]
    return Result("Growth of SQLite libraries", columns, rows, claims, [f"{LOOKUPS} questions over five tools"])


def _settings(folder: Path) -> Settings:
    return settings_of(folder, cache_backend="sqlite", sqlite_db_path=folder / "cache.db")


def _opened(settings: Settings) -> tuple[float, float]:
    """Seconds to open all types with their vectors, and megabytes that these take in the file."""
    seconds: list[float] = []
    store = open_store(settings)
    with stopwatch(seconds):
        store.open(COLLECTIONS)
    stored = sum(len(vector) for packed in store.packed_vectors() for _, vector in packed)
    store.close()
    return seconds[0], stored / 1e6


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
