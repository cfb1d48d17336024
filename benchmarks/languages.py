"""Questions in six languages: how often the entry that answers comes first, and among the first five.

    python benchmarks/languages.py [--json]

Asks the configured library, whose books are in English, the twenty questions of `languages.jsonl` in each language, in one wording.
Run it before and after ``lorekeeper model multilingual``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
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
            found = [is_answer(result.entity.name, question["names"]) for result in page.results]
            own = counts[question["lang"]]
            own["questions"] += 1
            own["first"] += any(found[:1])
            own["five"] += any(found)
    return counts


def is_answer(name: str, wanted: Collection[str]) -> bool:
    """Whether an entry answers, whatever stands in brackets behind its name."""
    return fold(name.partition(" (")[0]) in map(fold, wanted)


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    counts = asyncio.run(measure())
    if as_json:
        print(json.dumps(counts))
        return 0
    for language, own in counts.items():
        print(f"{language}: first {own['first']}, among five {own['five']} of {own['questions']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
