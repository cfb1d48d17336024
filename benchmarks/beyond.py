"""What a library says of questions that it cannot answer, and of short, plain and long ones that it can.

    python -m benchmarks.beyond tests/data/beyond.jsonl [--json]

QUESTIONS: one object a line: {"id", "kind", "query"}; ``kind`` begins with "answerable", or says why no library of open books has
an answer: another game, real life, a closed monster that is described, nonsense. The library is the configured one; all types are
searched. Counted are, by kind, the questions with a confident first result (it is sure, and the note is empty), those with unsure
results, and those without any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

from lorekeeper.entities import SEARCHED
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from lorekeeper.settings import load_settings


def verdict(page: ResultPage) -> str:
    """What a reader takes a page for."""
    if not page.results:
        return "nothing"
    return "confident" if page.results[0].sure and not page.note else "unsure"


async def measure(questions: list[dict[str, str]]) -> dict[str, Counter[str]]:
    """The number of pages by kind of question and verdict."""
    settings, _ = load_settings()
    found: dict[str, Counter[str]] = {}
    async with Library.from_settings(settings) as library:
        for question in questions:
            page = await library.searcher.search(Query(SEARCHED, question["query"]))
            found.setdefault(question["kind"], Counter())[verdict(page)] += 1
    return found


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    lines = arguments.questions.read_text("utf-8").splitlines()
    found = asyncio.run(measure([json.loads(line) for line in lines if line.strip()]))
    if arguments.json:
        print(json.dumps(found))
        return 0
    for kind, verdicts in found.items():
        print(f"{kind:12}" + "  ".join(f"{name} {verdicts[name]}" for name in ("confident", "unsure", "nothing")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
