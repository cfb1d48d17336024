"""How long questions take while the same process imports a book, beside the same process at rest.

    python -m benchmarks.beside_import BOOK.pdf

The book is imported in parts, and each part is preceded by questions at rest, so that both meet the same machine.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pypdfium2

from benchmarks.common import (
    Result,
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

PARTS, AT_REST, PAUSE = 5, 12, 0.5
FACTOR = 1.5
REST = "at rest"


def measure(book: Path) -> Result:
    """Ask, and import part by part while asking."""
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as place:
        folder = shutil.copytree(library(), Path(place) / "library")
        times = asyncio.run(_asked(folder, list(_parts(book, Path(place)))))
    beside = [seconds for what, own in times.items() if what != REST for seconds in own]
    rows = [
        [what, str(len(own)), milliseconds(median(own)), milliseconds(percentile(own, 0.95))]
        for what, own in [*times.items(), ("*all beside the import*", beside)]
    ]
    factor = median(beside) / median(times[REST])
    claim = (f"a question beside an import at most {FACTOR} x one at rest (p50)", f"{factor:.2f} x", factor <= FACTOR)
    return Result("Questions beside an import", ["while", "questions", "p50", "p95"], rows, [claim])


def _parts(book: Path, folder: Path) -> Iterator[Path]:
    """The book as several files."""
    whole = pypdfium2.PdfDocument(book)
    for number in range(PARTS):
        part = pypdfium2.PdfDocument.new()
        part.import_pages(whole, list(range(len(whole) * number // PARTS, len(whole) * (number + 1) // PARTS)))
        path = folder / f"part-{number}.pdf"
        part.save(path)
        yield path


async def _asked(folder: Path, parts: list[Path]) -> dict[str, list[float]]:
    """Seconds of each question, by what the import was doing meanwhile."""
    times = defaultdict[str, list[float]](list)
    search = next(tool for tool in all_tools() if tool.name == "search_lore")
    phrases = iter(questions(10_000))
    async with Library.from_settings(settings_of(folder)) as opened:

        async def ask(what: str) -> None:
            with stopwatch(times[what]):
                await search.run(opened, search.check({"query": next(phrases)}))
            await asyncio.sleep(PAUSE)

        await ask("warm up")
        del times["warm up"]
        for number, part in enumerate(parts):
            for _ in range(AT_REST):
                await ask(REST)
            importing = opened.begin_import(part, title=f"Part {number}", audience="dm")
            while not importing.is_over:
                await ask(importing.what)
    return dict(times)


if __name__ == "__main__":
    claim_process()
    sys.exit(report(measure(Path(sys.argv[1])), as_json=False))
