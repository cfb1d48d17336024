"""Search quality on graded queries, beside the single sides, and what fusing them costs.

    python benchmarks/quality.py QUERIES.jsonl [--corpus PATH] [--json]

QUERIES: one object a line: {"id", "query", "type", "filters", "kind", "relevant": {name: grade}}; type "any" searches all.
The library is the configured one; with --corpus that path is imported into it first. Every query is asked through the
search pipeline in three modes in the same run: fused, meaning only, keywords only. Printed are nDCG@10 (gain 2^grade - 1;
Jarvelin and Kekalainen 2002) by kind for each mode and for the two halves of the queries (even and odd ids), Recall@10, and
the median time of a query beside that of meaning alone.
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
from pathlib import Path
from typing import Any, Literal

from lorekeeper.folding import fold
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.server.tools import SEARCHED
from lorekeeper.settings import load_settings

MODES: tuple[Literal["auto", "semantic", "keyword"], ...] = ("auto", "semantic", "keyword")
RENAMED = {"creature_type": "type", "class": "classes"}
CUT = 10


def ndcg(relevant: dict[str, int], names: list[str]) -> tuple[float, float]:
    """(nDCG@10, Recall@10) of a ranking of names; only the first place of a name counts."""
    grades = {fold(name): grade for name, grade in relevant.items()}
    found = [grades.get(name, 0) for name in list(dict.fromkeys(map(fold, names)))[:CUT]]
    gain = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(found))
    best = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(sorted(grades.values(), reverse=True)[:CUT]))
    wanted = sum(g > 0 for g in grades.values())
    return gain / best if best else 0.0, sum(g > 0 for g in found) / min(CUT, wanted)


async def ask(
    library: Library, query: dict[str, Any], mode: Literal["auto", "semantic", "keyword"]
) -> tuple[list[str], float]:
    """Names found, best first, and the seconds it took."""
    filters = {RENAMED.get(k, k): v for k, v in (query.get("filters") or {}).items()}
    document = filters.pop("document", None)
    types = SEARCHED if query["type"] == "any" else [query["type"]]
    asked = Query(types, query["query"], filters, [document] if document else None, CUT, mode=mode)
    began = time.perf_counter()
    page = await library.searcher.search(asked)
    return [r.entity.name for r in page.results], time.perf_counter() - began


async def measure(queries: list[dict[str, Any]], corpus: Path | None) -> dict[str, Any]:
    """The whole table: {mode: {"ndcg": {group: value}, "recall": value, "p50_ms": value}}."""
    settings, _ = load_settings()
    table: dict[str, Any] = {}
    async with Library.from_settings(settings) as library:
        if corpus:
            await library.import_paths([corpus])
        await ask(library, queries[0], "auto")
        for mode in MODES:
            groups: dict[str, list[float]] = defaultdict(list)
            recalls, times = [], []
            for number, query in enumerate(queries):
                names, seconds = await ask(library, query, mode)
                value, recall = ndcg(query["relevant"], names)
                for group in ("all", query["kind"], f"half {number % 2 + 1}"):
                    groups[group].append(value)
                recalls.append(recall)
                times.append(seconds)
            table[mode] = {
                "ndcg": {group: round(statistics.fmean(values), 3) for group, values in sorted(groups.items())},
                "recall": round(statistics.fmean(recalls), 3),
                "p50_ms": round(statistics.median(times) * 1e3, 1),
            }
    return table


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    queries = [json.loads(line) for line in arguments.queries.read_text("utf-8").splitlines() if line.strip()]
    table = asyncio.run(measure(queries, arguments.corpus))
    if arguments.json:
        print(json.dumps(table))
        return 0
    print(f"{'nDCG@10':24}" + "".join(f"{name:>12}" for name in ("fused", "meaning", "keywords")))
    for group in table["auto"]["ndcg"]:
        print(f"{group:24}" + "".join(f"{table[mode]['ndcg'][group]:12.3f}" for mode in MODES))
    print(f"{'Recall@10':24}" + "".join(f"{table[mode]['recall']:12.3f}" for mode in MODES))
    print(f"{'p50 ms':24}" + "".join(f"{table[mode]['p50_ms']:12.1f}" for mode in MODES))
    print(
        f"a fused query takes {table['auto']['p50_ms'] / table['semantic']['p50_ms']:.2f} x one by meaning alone (p50)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
