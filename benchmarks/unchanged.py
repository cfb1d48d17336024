"""Importing what the library has already, beside reading and normalising it.

python -m benchmarks.unchanged [--json]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import CORPUS, ENTITIES, Result, median, run, settings_of, stopwatch
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.text.phrases import RULES_2024

FACTOR = 0.5
REPEATS = 3
DIMENSION = 64


def measure() -> Result:
    """Import the corpus, or as many varied rules that ship, and then import it again."""
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as folder:
        paths = _files(Path(folder))
        imports, readings, entities = asyncio.run(_imported(Path(folder), paths))
    ours, reference = median(imports), median(readings)
    rows = [
        ["imported, unchanged", f"{ours:.2f} s", f"{min(imports):.2f} s"],
        ["*read and normalised*", f"{reference:.2f} s", f"{min(readings):.2f} s"],
    ]
    claim = f"{entities:,} unchanged entries imported in at most {FACTOR} x the time of reading and normalising them"
    factor = median([one / other for one, other in zip(imports, readings, strict=True)])
    notes = [f"{REPEATS} times in turn; embedded by hashing, which an unchanged entry does not need"]
    columns = [f"{entities:,} entries", "median", "best"]
    return Result("Unchanged import", columns, rows, [(claim, f"{factor:.2f} x", factor <= FACTOR)], notes)


def _files(folder: Path) -> list[Path]:
    corpus = os.environ.get(CORPUS)
    if corpus:
        return [Path(corpus) / "entities"]
    objects = [
        json.loads(line) for file in sorted(RULES_2024.glob("*.jsonl")) for line in file.read_text().splitlines()
    ]
    path = folder / "varied.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(ENTITIES):
            copy, original = divmod(number, len(objects))
            changed = {"name": f"{objects[original]['name']} {copy}", "slug": f"{objects[original]['slug']}-{copy}"}
            file.write(json.dumps({**objects[original], **changed}) + "\n")
    return [path]


async def _imported(folder: Path, paths: list[Path]) -> tuple[list[float], list[float], int]:
    """Seconds of unchanged imports, of readings, and the number of entries."""
    service = EmbeddingService(lambda: HashingProvider(DIMENSION))
    cache = open_cache(settings_of(folder), service)
    imports: list[float] = []
    readings: list[float] = []
    async with Library(cache, service, offline=True, imports=folder / "imports") as library:
        began = time.perf_counter()
        await library.import_paths(paths)
        print(f"imported once, in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        for _ in range(REPEATS):
            with stopwatch(imports):
                report = await library.import_paths(paths)
            with stopwatch(readings):
                for entity, _ in Reader(paths, None, ImportReport()).read():
                    _ = entity.content_hash
    return imports, readings, report.unchanged


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
