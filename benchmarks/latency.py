"""How long warm questions take over stdio, by tool, beside what they are made of: query embedding and raw Milvus search.

    python -m benchmarks.latency [--json]

The references are measured in the same run, on the same library: pymilvus with the same filter and limit, and with as many
rows as a hybrid search looks at. `benchmarks.plugin` measures other stores.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import (
    Result,
    Server,
    library,
    median,
    milliseconds,
    percentile,
    questions,
    run,
    settings_of,
)
from lorekeeper.cache.milvus.rows import SEARCH_PARAMS
from lorekeeper.composition import load_provider
from lorekeeper.embedding import EmbeddingProvider

NUMBER, IN_A_ROW = 100, 10
LIMIT, ROWS = 10, 90
FACTOR, P95_FACTOR, DEEP_FACTOR, WORDINGS_FACTOR = 1.5, 3.0, 1.5, 1.5
FILTER = "level <= 3"

LOOKUP, FILTERED, EMBEDDING = "lookup_spell, semantic", "lookup_spell, semantic, filtered", "*query embedding*"
REWORDED = "lookup_spell, three wordings"

Ask = Callable[[int, str], float]
"""Seconds that the question of this number took."""


def measure() -> Result:
    """Ask the server and the references the same questions, ten in a row and in turn, so that all meet the same machine."""
    folder = library()
    phrases = questions(2 * NUMBER, "spells")
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as place, Server(folder) as server:
        shutil.copytree(folder / "milvus.db", Path(place) / "milvus.db")
        provider = load_provider(settings_of(folder))
        uris = [r["uri"] for r in server.ask("search_lore", query="warm up", limit=50)["results"]]
        asked = _tools(server, uris) | _references(Path(place), provider, phrases)
        for ask in asked.values():
            ask(0, phrases[0])
        for start in range(0, NUMBER, IN_A_ROW):
            for label, ask in asked.items():
                for number in range(start, start + IN_A_ROW):
                    query = phrases[number + (NUMBER if label == FILTERED else 0)]
                    times.setdefault(label, []).append(ask(number, query))
    rows = [[label, milliseconds(median(v)), milliseconds(percentile(v, 0.95))] for label, v in times.items()]
    parts = _parts(times, LIMIT)
    factor, tail = median(_multiples(times, LIMIT)), percentile(times[LOOKUP], 0.95) / median(parts)
    deep = median(_multiples(times, ROWS))
    basis = f"embedding and raw search of {LIMIT} rows"
    claims = [
        (f"semantic lookup p50 at most {FACTOR} x {basis}", f"{factor:.2f} x", factor <= FACTOR),
        (f"p95 at most {P95_FACTOR} x their p50", f"{tail:.2f} x", tail <= P95_FACTOR),
        (f"p50 at most {DEEP_FACTOR} x those of {ROWS} rows", f"{deep:.2f} x", deep <= DEEP_FACTOR),
    ]
    factor = p50_ratio(times, REWORDED, LOOKUP)
    claims.append(
        (f"three wordings at most {WORDINGS_FACTOR} x one (p50)", f"{factor:.2f} x", factor <= WORDINGS_FACTOR)
    )
    notes = [
        f"{NUMBER} distinct questions each, on spells, {IN_A_ROW} in a row and in turn; references in italics",
        f"a hybrid search ranks 60 entries and looks at {ROWS} rows for it",
    ]
    return Result("Warm latency", ["tool or reference", "p50", "p95"], rows, claims, notes)


def _parts(times: Mapping[str, Sequence[float]], rows: int) -> list[float]:
    """Seconds to embed each question and to search for that number of rows."""
    return [sum(own) for own in zip(times[EMBEDDING], times[f"*pymilvus, {rows} rows*"], strict=True)]


def _multiples(times: Mapping[str, Sequence[float]], rows: int) -> list[float]:
    """The time of each lookup as a multiple of its parts."""
    return [whole / own for whole, own in zip(times[LOOKUP], _parts(times, rows), strict=True)]


def p50_ratio(times: dict[str, list[float]], one: str, other: str) -> float:
    """The median of one kind of question as a multiple of another's."""
    return median(times[one]) / median(times[other])


def wordings(query: str) -> list[str]:
    """A question, its first half and its second half, with another end so that none of them was embedded before."""
    words = query.split()
    return [
        f"{query} then",
        " ".join(words[: len(words) // 2 + 1]) + " maybe",
        " ".join(words[len(words) // 2 :]) + " perhaps",
    ]


def _tools(server: Server, uris: Sequence[str]) -> dict[str, Ask]:
    """Calls of the server's tools, by label."""
    return {
        LOOKUP: lambda _, query: server.timed("lookup_spell", semantic_query=query),
        FILTERED: lambda _, query: server.timed("lookup_spell", semantic_query=query, level_max=3),
        REWORDED: lambda _, query: server.timed("lookup_spell", semantic_query=wordings(query)),
        "search_lore": lambda _, query: server.timed("search_lore", query=f"{query} indeed"),
        "lookup_spell, by filters": lambda number, _: server.timed("lookup_spell", level=number % 10),
        "get_entity": lambda number, _: server.timed("get_entity", uri=uris[number % len(uris)]),
    }


def _references(place: Path, provider: EmbeddingProvider, phrases: Sequence[str]) -> dict[str, Ask]:
    """Embedding, and searches of the same spells for the same vectors in other ways, by label."""
    vectors = dict(zip(phrases, provider.embed(phrases), strict=True))

    def timed(function: Callable[[Any], Any], argument: Any) -> float:
        began = time.perf_counter()
        function(argument)
        return time.perf_counter() - began

    def search(function: Callable[[Any], Any]) -> Ask:
        return lambda _, query: timed(function, vectors[query])

    asked: dict[str, Ask] = {EMBEDDING: lambda _, query: timed(provider.embed, [f"{query} now"])}
    return asked | {f"*{label}*": search(function) for label, function in _searches(place).items()}


def _searches(place: Path) -> dict[str, Callable[[Any], Any]]:
    """Searches of the same spells in other ways."""
    from pymilvus import MilvusClient

    client = MilvusClient(str(place / "milvus.db"))
    client.load_collection("spells")
    fields = ["name", "document", "slug", "passage"]

    def milvus(limit: int, test: str = "") -> Callable[[Any], Any]:
        return lambda vector: client.search(
            "spells", data=[vector], filter=test, limit=limit, output_fields=fields, search_params=SEARCH_PARAMS
        )

    return {
        f"pymilvus, {LIMIT} rows": milvus(LIMIT),
        f"pymilvus, {LIMIT} rows, filtered": milvus(LIMIT, FILTER),
        f"pymilvus, {ROWS} rows": milvus(ROWS),
    }


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
