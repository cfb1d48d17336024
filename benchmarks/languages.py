"""Questions in six languages: how often the entry that answers comes first, and among the first five.

    python benchmarks/languages.py

Asks the configured library, whose books are in English, the twenty questions of `languages.jsonl` in each language, in one wording.
Run it before and after ``lorekeeper model multilingual``.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from lorekeeper.entities import SEARCHED
from lorekeeper.folding import fold
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.settings import load_settings

QUESTIONS = Path(__file__).with_suffix(".jsonl")
"""{"lang": code, "query": text, "names": names of the entries that answer}."""

NEAR = 5


async def measure() -> Mapping[str, Mapping[str, int]]:
    """By language: the number of questions, and how many have the answer first and among the first `NEAR`."""
    settings, _ = load_settings()
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"questions": 0, "first": 0, "five": 0})
    async with Library.from_settings(settings) as library:
        for line in QUESTIONS.read_text("utf-8").splitlines():
            question = json.loads(line)
            page = await library.searcher.search(Query(types=SEARCHED, text=question["query"], limit=NEAR))
            answers = set(map(fold, question["names"]))  # whatever stands in brackets behind a name
            found = [fold(result.entity.name.partition(" (")[0]) in answers for result in page.results]
            own = counts[question["lang"]]
            own["questions"] += 1
            own["first"] += any(found[:1])
            own["five"] += any(found)
    return counts


def main() -> None:
    """Ask, and print the table."""
    for language, own in asyncio.run(measure()).items():
        print(f"{language}: first {own['first']}, among five {own['five']} of {own['questions']}")


if __name__ == "__main__":
    main()
