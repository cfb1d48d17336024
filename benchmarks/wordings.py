"""Ways to join several wordings of one query, on graded queries: nDCG@10 by kind.

    python -m benchmarks.wordings QUERIES.jsonl WORDINGS.jsonl

The files are those of `benchmarks.quality`; the library is the configured one. Each wording is searched for by itself, and the
rankings are joined by reciprocal rank (Cormack, Clarke and Buettcher 2009), by the sum of their scores or by the best of them
(CombSUM and CombMAX; Fox and Shaw 1994); beside them stands what the library does when it is given all wordings at once.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality import ndcg, query_of, rows
from lorekeeper.library import Library
from lorekeeper.search.query import MAX_LIMIT
from lorekeeper.settings import load_settings

Ranking = list[tuple[str, float]]
"""Names with their scores, best first."""


def reciprocal_rank(k: int) -> Callable[[list[Ranking]], dict[str, float]]:
    """The sum of 1 / (k + rank)."""

    def joined(rankings: list[Ranking]) -> dict[str, float]:
        scores: dict[str, float] = defaultdict(float)
        for ranking in rankings:
            for rank, (name, _) in enumerate(ranking, 1):
                scores[name] += 1 / (k + rank)
        return scores

    return joined


def total(rankings: list[Ranking]) -> dict[str, float]:
    """The sum of the scores."""
    scores: dict[str, float] = defaultdict(float)
    for name, score in (hit for ranking in rankings for hit in ranking):
        scores[name] += score
    return scores


def best(rankings: list[Ranking]) -> dict[str, float]:
    """The best score of any wording."""
    scores: dict[str, float] = defaultdict(float)
    for name, score in (hit for ranking in rankings for hit in ranking):
        scores[name] = max(scores[name], score)
    return scores


WAYS = {
    "reciprocal rank, k = 60": reciprocal_rank(60),
    "reciprocal rank, k = 5": reciprocal_rank(5),
    "sum of scores": total,
    "best score": best,
}

TOGETHER = "together, as the library does it"


async def ranking(library: Library, query: dict[str, Any], wordings: Sequence[str]) -> Ranking:
    """The first names that a query in these wordings finds; a name counts once."""
    page = await library.searcher.search(query_of(query, wordings, limit=MAX_LIMIT))
    scores: dict[str, float] = {}
    for result in page.results:
        scores.setdefault(result.entity.name, result.score or 0.0)
    return list(scores.items())


async def measure(queries: list[dict[str, Any]], wordings: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    """nDCG@10 by way and kind."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    async with Library.from_settings(load_settings()[0]) as library:
        for query in queries:
            alone = [await ranking(library, query, [wording]) for wording in wordings[query["id"]]]
            joined = {way: join(alone) for way, join in WAYS.items()}
            joined[TOGETHER] = dict(await ranking(library, query, wordings[query["id"]]))
            for way, scores in joined.items():
                names = sorted(scores, key=lambda name: -scores[name])
                for kind in ("all", query["kind"]):
                    values[way][kind].append(ndcg(query["relevant"], names)[0])
    return {way: {kind: statistics.fmean(found) for kind, found in kinds.items()} for way, kinds in values.items()}


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", type=Path)
    parser.add_argument("wordings", type=Path)
    arguments = parser.parse_args()
    wordings = {row["id"]: row["wordings"] for row in rows(arguments.wordings)}
    table = asyncio.run(measure(rows(arguments.queries), wordings))
    kinds = list(table[TOGETHER])
    print(f"{'nDCG@10':34}" + "".join(f"{kind:>16}" for kind in kinds))
    for way, found in table.items():
        print(f"{way:34}" + "".join(f"{found[kind]:16.3f}" for kind in kinds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
