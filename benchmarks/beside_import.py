"""Questions to a process that has the library open: alone, beside `lorekeeper import`, and while it imports itself.

python -m benchmarks.beside_import BOOK.pdf
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import (
    Result,
    environment,
    library,
    median,
    milliseconds,
    percentile,
    questions,
    report,
    settings_of,
    stopwatch,
)
from lorekeeper.library import Library
from lorekeeper.server.tools import all_tools
from lorekeeper.system import claim_process

AT_ONCE, FACTOR = 15, 1.25
PAUSE = 0.15
"""Seconds between two questions."""


async def measure(book: Path, folder: Path) -> Result:
    """Ask, before, beside and after."""
    times: dict[str, list[float]] = {"alone": [], "beside `lorekeeper import`": [], "beside its own import": []}
    alone, other, own = times.values()
    search = next(tool for tool in all_tools() if tool.name == "search_lore")
    phrases = iter(questions(10_000))
    async with Library.from_settings(settings_of(folder)) as opened:

        async def ask(into: list[float], number: int = 1) -> None:
            for _ in range(number):
                with stopwatch(into):
                    await search.run(opened, search.check({"query": next(phrases)}))
                await asyncio.sleep(PAUSE)

        await ask([])
        await ask(alone, AT_ONCE)
        command = [sys.executable, "-m", "lorekeeper", "import", str(book), "--title", "Beside", "--audience", "dm"]
        with subprocess.Popen(command, env=environment(folder), stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                await ask(other)
        await ask(alone, AT_ONCE)
        importing = opened.begin_import(book, title="Own", audience="dm")
        while not importing.is_over:
            await ask(own)
        await ask(alone, AT_ONCE)
    rows = [
        [name, f"{len(each)}", *map(milliseconds, (median(each), percentile(each, 0.9)))]
        for name, each in times.items()
    ]
    factor = median(other) / median(alone)
    claim = (f"beside `lorekeeper import` at most {FACTOR} x alone (p50)", f"{factor:.2f} x", factor <= FACTOR)
    return Result("Questions beside an import", ["", "questions", "p50", "p90"], rows, [claim])


if __name__ == "__main__":
    claim_process()
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as place:
        copied = Path(shutil.copytree(library(), Path(place) / "library"))
        sys.exit(report(asyncio.run(measure(Path(sys.argv[1]), copied)), as_json=False))
