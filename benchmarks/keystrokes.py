"""Searching while somebody types: what each keystroke costs, the results and the facets beside them.

    python -m benchmarks.keystrokes [LIBRARY] [--sqlite] [--player] [--json]

LIBRARY is the path of a library, by default the one that is asked; it is only read. Texts are typed letter by letter, so that
no keystroke asks what another one did. Every keystroke is a search of its own, as of a page that shows results while somebody
types; then come the facets of what it found. A player reads a projection of each type that holds secrets.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Result, library, median, milliseconds, percentile, report
from lorekeeper.audience import Viewer
from lorekeeper.entities import COLLECTIONS
from lorekeeper.library import Library
from lorekeeper.search.facets import facets
from lorekeeper.search.query_syntax import parse_query
from lorekeeper.settings import PREFIX, Settings, load_settings
from lorekeeper.views.view import View

TEXTS = {
    "names": ["fireball", "ancient red dragon", "healing potion", "goblin boss", "cloak of elvenkind", "magic missile"],
    "questions": ["undead that drain life", "how do I hide in combat", "a sword that burns"],
    "words and tests": ["dragon cr:5..8 -type:undead", "fire in:spells level<=3 class:wizard", "rarity:rare sword"],
    "tests alone": ["cr:1/4 type:beast environment:forest", "level:3 school:evocation concentration", "kind:feat"],
    "phrases": ['"wall of" in:spells', 'poison "saving throw"', '"hit points" level:1'],
}
"""What is typed, by what it shows."""

LIMIT = 20

SEARCHED = [name for name in COLLECTIONS if name != "documents"]

FACETS_SECONDS, KEYSTROKE_SECONDS, RATIO = 0.025, 0.060, 1.5
"""What is claimed: facets at the 95th percentile, a keystroke at the median, and both as a multiple of the search alone."""


@dataclass(frozen=True)
class Keystroke:
    """What one keystroke took, in seconds."""

    search: float
    facets: float

    @property
    def both(self) -> float:
        return self.search + self.facets


async def typed_in(view: View, text: str) -> list[Keystroke]:
    """Every keystroke of a text."""
    strokes = []
    titles = await view.searcher.documents.titled()
    for end in range(1, len(text) + 1):
        began = time.perf_counter()
        sought = parse_query(text[:end], titles, SEARCHED)
        page = await view.searcher.search(sought.query(limit=LIMIT, typing=True))
        found = time.perf_counter()
        await facets(view.searcher, sought, page)
        strokes.append(Keystroke(found - began, time.perf_counter() - found))
    return strokes


async def measure(settings: Settings, viewer: Viewer | None) -> Result:
    """Type all texts into a library, after some others."""
    async with Library.from_settings(settings) as opened:
        await opened.open()
        view = opened.view(viewer)
        total = sum([await view.cache.count_entities(entity_type) for entity_type in SEARCHED])
        for text in ("warm", "cr:1 level:1", '"a b"', "type:x", ""):
            await typed_in(view, text or "x")
        strokes = {name: [s for text in texts for s in await typed_in(view, text)] for name, texts in TEXTS.items()}
    return _result(strokes, total)


def _result(strokes: dict[str, list[Keystroke]], total: int) -> Result:
    every = [stroke for of_kind in strokes.values() for stroke in of_kind]
    rows = [_row(name, of_kind) for name, of_kind in {**strokes, "all": every}.items()]
    columns = ["typed", "keystrokes", "search p50", "p95", "facets p50", "p95", "both p50", "p95", "both / search"]
    late, middle = percentile([s.facets for s in every], 0.95), median([s.both for s in every])
    share = middle / median([s.search for s in every])
    claims = [
        (f"facets take at most {milliseconds(FACETS_SECONDS)} (p95)", milliseconds(late), late <= FACETS_SECONDS),
        (
            f"a keystroke at most {milliseconds(KEYSTROKE_SECONDS)} (p50)",
            milliseconds(middle),
            middle <= KEYSTROKE_SECONDS,
        ),
        (f"at most {RATIO} x the search alone", f"{share:.2f} x", share <= RATIO),
    ]
    return Result(f"Keystrokes in a library of {total:,} entries", columns, rows, claims)


def _row(name: str, strokes: list[Keystroke]) -> list[str]:
    parts = [[s.search for s in strokes], [s.facets for s in strokes], [s.both for s in strokes]]
    figures = [milliseconds(figure) for part in parts for figure in (median(part), percentile(part, 0.95))]
    return [name, str(len(strokes)), *figures, f"{median(parts[2]) / median(parts[0]):.2f} x"]


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("library", nargs="?", type=Path, help="path of the library")
    parser.add_argument("--sqlite", action="store_true", help="it is one in SQLite")
    parser.add_argument("--player", action="store_true", help="look as a player does")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args()
    backend = "sqlite" if given.sqlite else "milvus"
    path = given.library or library() / "milvus.db"
    values = {"cache_backend": backend, f"{backend}_db_path": path, "offline": 1}
    settings, _ = load_settings({PREFIX + name.upper(): str(value) for name, value in values.items()}, Path("no.env"))
    viewer = Viewer.player() if given.player else None
    return report(asyncio.run(measure(settings, viewer)), as_json=given.json)


if __name__ == "__main__":
    raise SystemExit(main())
