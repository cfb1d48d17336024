"""Search quality on graded questions over vaults of notes, alone and beside the books of the library.

    python -m benchmarks.notes_quality QUESTIONS.jsonl VAULTS [--json] [--worst N]

QUESTIONS: one object a line: {"id", "vault", "query", "kind", "relevant": [{"path", "heading", "grade"}]}; grades of 2 and
more answer, 1 helps. VAULTS: a folder with the folder of each vault, under its key. Missing vaults are added to the configured
library first. Each question is asked twice: of the notes of its vault, and of everything. Printed are nDCG@10 by note (gain
2^grade - 1, a note's best grade; Jarvelin and Kekalainen 2002), the shares of questions with an answering note first, among
five and among ten, and with an answering section among five: its last heading, or one above it, is graded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality import CUT, ndcg, rows
from lorekeeper.entities import SEARCHED
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import Result
from lorekeeper.settings import load_settings

Question = dict[str, Any]


def folded(text: str) -> str:
    """A heading or path for comparison."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def note_of(path: str) -> str:
    """The path of a note for comparison."""
    return re.sub(r"\.md$", "", path).casefold()


def measured(question: Question, results: Sequence[Result]) -> dict[str, float]:
    """The measures of one question, by name."""
    grades: dict[str, int] = {}
    headings: dict[str, set[str]] = defaultdict(set)
    for relevant in question["relevant"]:
        path = note_of(relevant["path"])
        grades[path] = max(grades.get(path, 0), relevant["grade"])
        if relevant["grade"] >= 2:
            headings[path].add(folded(relevant.get("heading") or ""))
    ranked = list(dict.fromkeys(note_of(result.entity.slug) for result in results))[:CUT]
    first = next((place for place, path in enumerate(ranked) if grades.get(path, 0) >= 2), CUT)

    def answers(result: Result) -> bool:
        wanted = headings.get(note_of(result.entity.slug), set())
        return "" in wanted or bool(wanted & {folded(part) for part in result.section.split(" > ")})

    return {
        "ndcg": ndcg(grades, ranked)[0],
        "first": float(first == 0),
        "in five": float(first < 5),
        "in ten": float(first < CUT),
        "section in five": float(any(answers(result) for result in results[:5])),
    }


def add_vaults(folder: Path, keys: Sequence[str]) -> None:
    """Add the vaults to the configured library, by the command that users have."""
    command = [sys.executable, "-m", "lorekeeper", "vault"]
    known = subprocess.run([*command, "list", "--json"], check=True, capture_output=True, text=True).stdout
    for key in keys:
        if f'"{key}"' not in known:
            subprocess.run([*command, "add", str(folder / key), "--key", key], check=True, stdout=sys.stderr)


async def measure(questions: list[Question], worst: int) -> dict[str, dict[str, dict[str, float]]]:
    """{"notes" or "everything": {kind or "all": {measure: mean}}}."""
    settings, _ = load_settings()
    found: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    async with Library.from_settings(settings) as library:
        for question in questions:
            asked = {
                "notes": Query(["notes"], question["query"], documents=[question["vault"]], limit=CUT),
                "everything": Query(SEARCHED, question["query"], limit=CUT),
            }
            for scope, query in asked.items():
                results = (await library.search(query)).results
                values = measured(question, results)
                for group in ("all", question.get("kind", "")):
                    found[scope][group].append(values)
                if worst and (values["ndcg"] < 0.5 or not values["section in five"]):
                    print_worst(scope, question, values, results[:worst])
    return {
        scope: {
            group: {name: round(statistics.fmean(each[name] for each in every), 3) for name in every[0]}
            for group, every in sorted(groups.items())
        }
        for scope, groups in found.items()
    }


def print_worst(scope: str, question: Question, values: dict[str, float], results: Sequence[Result]) -> None:
    """A question that went wrong, what was wanted, and what was found."""
    print(f"\n{scope} {question['id']} {question['query']!r} ndcg {values['ndcg']:.2f}", file=sys.stderr)
    for relevant in question["relevant"]:
        print(f"   wanted {relevant['grade']} {relevant['path']} {relevant.get('heading')}", file=sys.stderr)
    for result in results:
        print(f"   found {result.score} {result.match} {result.entity.slug} [{result.section}]", file=sys.stderr)


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("vaults", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="show N results of questions that went wrong")
    arguments = parser.parse_args()
    questions = [row for row in rows(arguments.questions) if "query" in row]
    add_vaults(arguments.vaults, sorted({question["vault"] for question in questions}))
    table = asyncio.run(measure(questions, arguments.worst))
    if arguments.json:
        print(json.dumps(table))
        return 0
    for scope, groups in table.items():
        for group, values in groups.items():
            print(f"{scope:12}{group:12}" + "  ".join(f"{name} {value:.3f}" for name, value in values.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
