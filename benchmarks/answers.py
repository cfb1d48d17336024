"""Whether every way of searching by meaning gives the same answers: the companion's vectors, Milvus Lite, pymilvus, and SQLite.

    python -m benchmarks.answers LIBRARY_FOLDER QUESTIONS [--reference FILE] [--write FILE]

QUESTIONS is a JSON lines file with a "query" each. The folder has `milvus.db` and `cache.db` of the same entries; work on a copy.
pymilvus searches last, in a process that does not import LoreKeeper. ``--write`` keeps the rankings, and ``--reference`` compares
with those that another version has written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.cache.store import Store
from lorekeeper.composition import embedding_of, open_store
from lorekeeper.filters import Selection, parse_filters
from lorekeeper.settings import PREFIX, Settings, load_settings

LIMIT = 10

FILTERS: dict[str, list[dict[str, Any]]] = {
    "spells": [{}, {"level": 3}, {"level_max": 2, "school": "evocation"}],
    "creatures": [{}, {"challenge_rating_max": 2}, {"type": ["undead", "fiend"]}],
    "equipment": [{}, {"requires_attunement": True}],
    "rules": [{}],
    "character_options": [{}, {"kind": "class"}],
}
"""Filters by type, each of which every question is asked under."""

TOLERANCE = 1.5e-5
"""Largest difference of equal scores: they are rounded to five decimals."""

PLAIN = """
import json, sys
from pymilvus import MilvusClient
path, asked = sys.argv[1], json.load(sys.stdin)
client = MilvusClient(path)
found = []
for name, vector in asked:
    client.load_collection(name)
    (hits,) = client.search(name, data=[vector], limit=120, output_fields=["document", "slug"],
                            search_params={"metric_type": "COSINE", "params": {"nprobe": 128}})
    best = {}
    for hit in hits:
        best.setdefault("/".join((hit["entity"]["document"], hit["entity"]["slug"])), round(hit["distance"], 5))
    found.append(list(best.items())[:10])
print("RESULT" + json.dumps(found))
"""

Ranking = list[tuple[str, float]]


def rankings(store: Store, vectors: Any) -> dict[str, Ranking]:
    """The nearest entries under all filters, by question, type and filter."""
    found: dict[str, Ranking] = {}
    for entity_type, filters in FILTERS.items():
        embedding = store.embedding_of(entity_type) or ""
        for number, wanted in enumerate(filters):
            selection = Selection(entity_type, parse_filters(entity_type, wanted))
            for question, vector in enumerate(vectors):
                ranked = store.rank_semantic(selection, vector, LIMIT, embedding)
                found[f"{entity_type} {number} {question}"] = [("/".join(r.identity), r.score) for r in ranked]
    return found


def differing(one: dict[str, Ranking], other: dict[str, Ranking]) -> list[str]:
    """The questions whose rankings differ by more than the order of entries with equal scores."""
    return [key for key in one if key in other and not same(one[key], other[key])]


def same(one: Ranking, other: Ranking) -> bool:
    """Whether two rankings have the same scores, place by place, and the same entries but for the last score."""
    if len(one) != len(other):
        return False
    if any(abs(a - b) > TOLERANCE for (_, a), (_, b) in zip(one, other, strict=True)):
        return False
    last = one[-1][1] + 2 * TOLERANCE if one else 0.0
    return {key for key, score in one if score > last} <= {key for key, _ in other}


def by_pymilvus(path: Path, vectors: Any) -> dict[str, Ranking]:
    """Rankings without filters of a process that knows nothing of LoreKeeper."""
    keys = [(entity_type, question) for entity_type in FILTERS for question in range(len(vectors))]
    asked = json.dumps([(entity_type, vectors[question].tolist()) for entity_type, question in keys])
    command = [sys.executable, "-c", PLAIN, str(path)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.partition("RESULT")[2])
    return {f"{t} 0 {q}": [(key, score) for key, score in hits] for (t, q), hits in zip(keys, found, strict=True)}


async def embedded(settings: Settings, questions: list[str]) -> Any:
    """Their vectors, shape (questions, dimension)."""
    service = embedding_of(settings)
    try:
        return np.asarray(await service.embed_queries(questions))
    finally:
        service.close()


def settings_of(folder: Path, backend: str) -> Settings:
    """The settings of one of the libraries in a folder."""
    chosen = {"MILVUS_DB_PATH": folder / "milvus.db", "SQLITE_DB_PATH": folder / "cache.db", "CACHE_BACKEND": backend}
    return load_settings({PREFIX + name: str(value) for name, value in chosen.items()}, folder / "no.env")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    lines = given.questions.read_text("utf-8").splitlines()
    questions = [json.loads(line)["query"] for line in lines][: given.number]
    vectors = asyncio.run(embedded(settings_of(given.folder, "milvus"), questions))
    store = open_store(settings_of(given.folder, "milvus"))
    store.open(list(FILTERS))
    first = rankings(store, vectors)
    print(f"{len(questions)} questions, {len(first)} rankings of the nearest {LIMIT}, from the companion's vectors")
    if given.reference:
        _report("the reference", first, json.loads(given.reference.read_text("utf-8")))
    if given.write:
        given.write.write_text(json.dumps(first), "utf-8")
    sqlite = open_store(settings_of(given.folder, "sqlite"))
    _report("SQLite", first, rankings(sqlite, vectors))
    sqlite.close()
    if isinstance(store, EmbeddedStore):
        store.uses_vectors = False
        _report("Milvus Lite searches", first, rankings(store, vectors))
    store.close()
    _report("pymilvus alone", first, by_pymilvus(given.folder / "milvus.db", vectors))


def _report(name: str, first: dict[str, Ranking], other: dict[str, Ranking]) -> None:
    """One row on how many rankings of another way are different."""
    asked, wrong = len(first.keys() & other.keys()), differing(first, other)
    print(f"| {name} | {asked} | {len(wrong)} differ | {', '.join(wrong[:5])}", flush=True)


if __name__ == "__main__":
    main()
