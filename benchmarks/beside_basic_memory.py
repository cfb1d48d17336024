"""Answers from vaults of notes, beside those of basic-memory with the same model.

    python -m benchmarks.beside_basic_memory QUESTIONS.jsonl VAULTS PYTHON [--json]

QUESTIONS and VAULTS are those of `notes_quality`. PYTHON is one in which basic-memory is installed, with the package of the default
model; also with pysqlite3-binary if its own SQLite loads no extensions. Both programs get a copy of each vault and serve it over
stdio, and each question goes to both: to LoreKeeper's `lookup_note`, and to basic-memory's `search_notes`, hybrid, by meaning and
by full text. Its least similarity is set to 0: the default, 0.55, is made for another model, and rejects all that this one finds.
Ten results each. Counted are the questions whose answering note is first, among five and among ten, and the characters of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.common import Host, Result, Server, environment, milliseconds, report
from benchmarks.notes_quality import CUT, Question, answered, questions_in
from lorekeeper.entities import parse_uri

OTHER = Path(__file__).with_name("other_with_minilm.py")
MEASURES = ("first", "in five", "in ten")

Answer = dict[str, Any]
Ask = Callable[[Question], tuple[Answer, list[str]]]
"""The answer to a question, and the paths of the notes in it."""


def measure(questions: Sequence[Question], vaults: Path, python: str) -> Result:
    """Index the vaults with both programs, and ask them everything."""
    keys = sorted({question["vault"] for question in questions})
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="lorekeeper-bench-")))
        for program in ("ours", "other"):
            shutil.copytree(vaults, folder / program, ignore=lambda at, names: _others(vaults, at, names, keys))
        asked = _lorekeeper(running, folder, keys) | _basic_memory(running, folder, keys, python)
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for question in questions:
            for label, ask in asked.items():
                began = time.perf_counter()
                answer, paths = ask(question)
                found[label]["seconds"].append(time.perf_counter() - began)
                found[label]["characters"].append(len(json.dumps(answer, ensure_ascii=False)))
                place = answered(question, paths)
                for name, places in zip(MEASURES, (1, 5, CUT), strict=True):
                    found[label][name].append(place < places)
    rows = [[label, *_cells(values)] for label, values in found.items()]
    ours, *others = found.values()
    claims = [
        (
            f"answering note {name} more often than basic-memory's better search",
            f"{int(sum(ours[name]))} and {int(max(sum(other[name]) for other in others))} of {len(questions)}",
            sum(ours[name]) > max(sum(other[name]) for other in others),
        )
        for name in MEASURES
    ]
    notes = [f"{len(questions)} questions over {' and '.join(keys)}; all with all-MiniLM-L6-v2"]
    return Result("Beside basic-memory", ["", *MEASURES, "JSON, mean", "p50"], rows, claims, notes)


def _others(vaults: Path, at: str, names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The vaults that no question is about."""
    return [name for name in names if Path(at) == vaults and name not in keys]


def _cells(values: dict[str, list[float]]) -> list[str]:
    counts = [f"{int(sum(values[name]))}" for name in MEASURES]
    characters = f"{statistics.fmean(values['characters']):,.0f} characters"
    return [*counts, characters, milliseconds(statistics.median(values["seconds"]))]


def _lorekeeper(running: ExitStack, folder: Path, keys: Sequence[str]) -> dict[str, Ask]:
    """`lookup_note` over a library of its own."""
    library = folder / "library"
    library.mkdir()
    for key in keys:
        command = [sys.executable, "-m", "lorekeeper", "vault", "add", str(folder / "ours" / key), "--key", key]
        subprocess.run(command, check=True, env=environment(library), stdout=sys.stderr)
    server = running.enter_context(Server(library))

    def ask(question: Question) -> tuple[Answer, list[str]]:
        asked = {"semantic_query": question["query"], "documents": [question["vault"]], "limit": CUT}
        answer = server.ask("lookup_note", **asked)
        return answer, [parse_uri(result["uri"])[2] for result in answer["results"]]

    return {"LoreKeeper": ask}


def _basic_memory(running: ExitStack, folder: Path, keys: Sequence[str], python: str) -> dict[str, Ask]:
    """`search_notes` over a home of its own, hybrid, by meaning and by full text."""
    home = folder / "home"
    home.mkdir()
    own = os.environ | {"HOME": str(home), "BASIC_MEMORY_HOME": str(home), "BASIC_MEMORY_CONFIG_DIR": str(home)}
    for key in keys:
        for arguments in (["project", "add", key, str(folder / "other" / key)], ["reindex", "--full", "-p", key]):
            subprocess.run([python, str(OTHER), *arguments], check=True, env=own, stdout=sys.stderr)
    server = running.enter_context(Host([python, str(OTHER), "mcp"], own))

    def search(kind: str) -> Ask:
        def ask(question: Question) -> tuple[Answer, list[str]]:
            asked = {"query": question["query"], "project": question["vault"], "page_size": CUT, "search_type": kind}
            asked |= {} if kind == "text" else {"min_similarity": 0.0}
            answer = server.ask("search_notes", **asked, output_format="json")
            results = answer.get("result", answer)["results"]
            return answer, [result["file_path"] for result in results]

        return ask

    kinds = {"hybrid": "hybrid", "meaning": "vector", "full text": "text"}
    return {f"*basic-memory, {name}*": search(kind) for name, kind in kinds.items()}


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("vaults", type=Path)
    parser.add_argument("python")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    return report(
        measure(questions_in(arguments.questions), arguments.vaults, arguments.python), as_json=arguments.json
    )


if __name__ == "__main__":
    sys.exit(main())
