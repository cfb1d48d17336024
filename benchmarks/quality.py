"""Search quality on graded queries, beside the single sides, and what fusing them costs.

    python benchmarks/quality.py QUERIES.jsonl ... [--wordings FILE] [--all-types] [--corpus PATH [--without-phrases]] [--json]

QUERIES: one object a line: {"id", "query", "type", "filters", "kind", "relevant": {name: grade}}; without "type" all are searched.
--wordings: {"id", "wordings": [text, ...]}: the same queries as an assistant would put them, in several wordings; a query may have
them itself. ``tests/data/fresh.jsonl`` and ``fresh2.jsonl`` were written and graded before any version was asked.
With --all-types each query without filters is asked of the whole library, campaign notes and all, as `search_lore` asks it.
The library is the configured one; with --corpus that path is imported into it first, with --without-phrases as if no phrases
were shipped, so that books are found like homebrew. Every query is asked through the search pipeline in the same run: fused,
meaning only, keywords only, and in its wordings: the first one alone, and all of them together. Printed are nDCG@10 (gain
2^grade - 1; Jarvelin and Kekalainen 2002) by kind for each and for the two halves of the queries (even and odd ids),
Recall@10, the shares of queries with one of the best answers first, among five, and among all that an assistant is shown, and the
median time of a query beside that of meaning alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from lorekeeper.embedding import phrase_vectors
from lorekeeper.entities import SEARCHED
from lorekeeper.folding import fold
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.settings import load_settings
from lorekeeper.text import phrases

Mode = Literal["auto", "semantic", "keyword"]

COLUMNS = {"auto": "fused", "semantic": "meaning", "keyword": "keywords", "one": "one wording", "all": "wordings"}
"""What is measured, and its heading."""

RENAMED = {"creature_type": "type", "class": "classes"}
CUT, SHOWN = 10, 20
"""Results that are graded, and the most that an assistant is shown."""

PLACES = {"first": 1, "among five": 5, "shown": SHOWN}
"""How many results are looked at for a best answer."""


def ndcg(relevant: dict[str, int], names: list[str]) -> tuple[float, float]:
    """(nDCG@10, Recall@10) of a ranking of names; only the first place of a name counts."""
    grades = {fold(name): grade for name, grade in relevant.items()}
    found = [grades.get(name, 0) for name in list(dict.fromkeys(map(fold, names)))[:CUT]]
    gain = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(found))
    best = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(sorted(grades.values(), reverse=True)[:CUT]))
    wanted = sum(g > 0 for g in grades.values())
    return gain / best if best else 0.0, sum(g > 0 for g in found) / min(CUT, wanted or 1)


def answered(relevant: dict[str, int], names: list[str]) -> dict[str, float]:
    """Whether one of the best answers is among the first names, by the places of `PLACES`."""
    best = {fold(name) for name, grade in relevant.items() if grade == max(relevant.values())}
    found = list(dict.fromkeys(map(fold, names)))
    return {label: float(not best.isdisjoint(found[:places])) for label, places in PLACES.items()}


def query_of(query: dict[str, Any], texts: Sequence[str], mode: Mode = "auto", limit: int = CUT) -> Query:
    """A graded query as a search, in one or several wordings."""
    filters = {RENAMED.get(k, k): v for k, v in (query.get("filters") or {}).items()}
    document = filters.pop("document", None)
    types = SEARCHED if query.get("type", "any") == "any" else [query["type"]]
    return Query(
        types, texts[0], filters, [document] if document else None, limit, mode=mode, also=texts[1:], unsure_limit=SHOWN
    )


async def ask(library: Library, query: Query) -> tuple[list[str], float]:
    """Names found, best first, and the seconds it took."""
    began = time.perf_counter()
    page = await library.searcher.search(query)
    return [r.entity.name for r in page.results], time.perf_counter() - began


def columns(query: dict[str, Any], wordings: Sequence[str]) -> dict[str, tuple[Sequence[str], Mode]]:
    """How a query is asked, by column: its texts and the mode."""
    modes: tuple[Mode, ...] = ("auto", "semantic", "keyword")
    table: dict[str, tuple[Sequence[str], Mode]] = {mode: ([query["query"]], mode) for mode in modes}
    return table | ({"one": (wordings[:1], "auto"), "all": (wordings, "auto")} if wordings else {})


async def measure(queries: list[dict[str, Any]], wordings: dict[str, list[str]], corpus: Path | None) -> dict[str, Any]:
    """The whole table: {column: {"ndcg": {group: value}, "recall": value, "answers": {places: share}, "p50_ms": value}}."""
    settings, _ = load_settings()
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    async with Library.from_settings(settings) as library:
        if corpus:
            await library.import_paths([corpus])
        await ask(library, query_of(queries[0], [queries[0]["query"]]))
        for number, query in enumerate(queries):
            for column, (texts, mode) in columns(query, wordings.get(query["id"], [])).items():
                names, seconds = await ask(library, query_of(query, texts, mode))
                value, recall = ndcg(query["relevant"], names)
                for group in ("all", query["kind"], f"half {number % 2 + 1}"):
                    values[column][group].append(value)
                values[column][RECALL].append(recall)
                for label, found in answered(query["relevant"], names).items():
                    values[column][label].append(found)
                values[column][SECONDS].append(seconds)
    return {column: _summary(groups) for column, groups in values.items()}


RECALL, SECONDS = "Recall@10", "seconds"
"""Groups of other values than nDCG."""


def _summary(groups: dict[str, list[float]]) -> dict[str, Any]:
    recalls, times = groups.pop(RECALL), groups.pop(SECONDS)
    answers = {label: round(statistics.fmean(groups.pop(label)), 3) for label in PLACES}
    return {
        "ndcg": {group: round(statistics.fmean(found), 3) for group, found in sorted(groups.items())},
        "recall": round(statistics.fmean(recalls), 3),
        "answers": answers,
        "p50_ms": round(statistics.median(times) * 1e3, 1),
    }


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", type=Path, nargs="+")
    parser.add_argument("--wordings", type=Path)
    parser.add_argument("--all-types", action="store_true")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--without-phrases", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.without_phrases:
        phrases._shipped = dict  # type: ignore[assignment]  # as if the package had none
        phrase_vectors.shipped = cache(lambda: phrase_vectors.PhraseVectors(Path("none")))
    further = {row["id"]: row["wordings"] for row in rows(arguments.wordings)} if arguments.wordings else {}
    for path in arguments.queries:
        queries = rows(path)
        wordings = further | {query["id"]: query["wordings"] for query in queries if "wordings" in query}
        if arguments.all_types:
            queries = [{**query, "type": "any"} for query in queries if not query.get("filters")]
        table = asyncio.run(measure(queries, wordings, arguments.corpus))
        if arguments.json:
            print(json.dumps(table))
            continue
        print(path)
        _print(table)
    return 0


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _print(table: dict[str, Any]) -> None:
    print(f"{'nDCG@10':24}" + "".join(f"{COLUMNS[column]:>13}" for column in table))
    for group in table["auto"]["ndcg"]:
        print(f"{group:24}" + "".join(f"{found['ndcg'].get(group, math.nan):13.3f}" for found in table.values()))
    print(f"{'Recall@10':24}" + "".join(f"{found['recall']:13.3f}" for found in table.values()))
    for label in PLACES:
        print(f"{label:24}" + "".join(f"{found['answers'][label]:13.3f}" for found in table.values()))
    print(f"{'p50 ms':24}" + "".join(f"{found['p50_ms']:13.1f}" for found in table.values()))
    times = {column: found["p50_ms"] for column, found in table.items()}
    print(f"a fused query takes {times['auto'] / times['semantic']:.2f} x one by meaning alone (p50)")
    if "all" in times:
        print(f"a query in several wordings takes {times['all'] / times['one']:.2f} x one in one wording (p50)")


if __name__ == "__main__":
    sys.exit(main())
