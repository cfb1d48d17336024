"""How long warm questions take over stdio, by tool, beside what they are made of: query embedding and raw Milvus search.

    python -m benchmarks.latency [--json]

The references are measured in the same run, on the same library: pymilvus with the same filter and limit, and with as many
rows as a hybrid search looks at; and other stores with the same vectors: NumPy by brute force, sqlite-vec, Chroma.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    Result,
    Server,
    library,
    median,
    milliseconds,
    missing,
    percentile,
    questions,
    run,
    settings_of,
)
from lorekeeper.cache.milvus_schema import SEARCH_PARAMS
from lorekeeper.embedding import EmbeddingProvider
from lorekeeper.library import load_provider

NUMBER = 100
LIMIT, ROWS = 10, 90
P50, P95, FACTOR = 0.012, 0.025, 1.5
FILTER = "level <= 3"

LOOKUP, EMBEDDING = "lookup_spell, semantic", "*query embedding*"

Search = Callable[[Any], Any]


def measure() -> Result:
    """Ask the server and the references the same questions in turn, so that all meet the same machine."""
    folder = library()
    phrases = questions(2 * NUMBER, "spells")
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as place, Server(folder) as server:
        shutil.copytree(folder / "milvus.db", Path(place) / "milvus.db")
        provider = load_provider(settings_of(folder))
        searches = _searches(Path(place))
        uris = [r["uri"] for r in server.ask("search_lore", query="warm up", limit=50)["results"]]
        _ask(server, provider, searches, "warm up", "and warm", uris[0], 0)
        for i, (query, other) in enumerate(zip(phrases[:NUMBER], phrases[NUMBER:], strict=True)):
            for label, seconds in _ask(server, provider, searches, query, other, uris[i % len(uris)], i).items():
                times.setdefault(label, []).append(seconds)
    rows = [[label, milliseconds(median(v)), milliseconds(percentile(v, 0.95))] for label, v in times.items()]
    p50, p95 = median(times[LOOKUP]), percentile(times[LOOKUP], 0.95)
    claims = [
        (f"semantic lookup p50 at most {milliseconds(P50)}", milliseconds(p50), p50 <= P50),
        (f"p95 at most {milliseconds(P95)}", milliseconds(p95), p95 <= P95),
    ]
    for number in (ROWS, LIMIT):
        parts = zip(times[EMBEDDING], times[f"*pymilvus, {number} rows*"], strict=True)
        factor = median([whole / sum(own) for whole, own in zip(times[LOOKUP], parts, strict=True)])
        claims.append(
            (f"at most {FACTOR} x embedding and raw search of {number} rows", f"{factor:.2f} x", factor <= FACTOR)
        )
    notes = [
        f"{NUMBER} distinct questions each, on spells, all in turn; references in italics",
        f"a hybrid search ranks 60 entries and looks at {ROWS} rows for it",
    ]
    return Result("Warm latency", ["tool or reference", "p50", "p95"], rows, claims, [*notes, *_left_out()])


def _ask(
    server: Server,
    provider: EmbeddingProvider,
    searches: dict[str, Search],
    query: str,
    other: str,
    uri: str,
    number: int,
) -> dict[str, float]:
    """Seconds of one question each, by label."""
    seconds = {
        LOOKUP: server.timed("lookup_spell", semantic_query=query),
        "lookup_spell, semantic, filtered": server.timed("lookup_spell", semantic_query=other, level_max=3),
        "search_lore": server.timed("search_lore", query=f"{query} indeed"),
        "lookup_spell, by filters": server.timed("lookup_spell", level=number % 10),
        "get_entity": server.timed("get_entity", uri=uri),
    }
    began = time.perf_counter()
    vector = provider.embed([f"{query} now"])[0]
    seconds[EMBEDDING] = time.perf_counter() - began
    for label, search in searches.items():
        began = time.perf_counter()
        search(vector)
        seconds[f"*{label}*"] = time.perf_counter() - began
    return seconds


def _searches(place: Path) -> dict[str, Search]:
    """Searches of the same spells in other ways."""
    from pymilvus import MilvusClient

    client = MilvusClient(str(place / "milvus.db"))
    client.load_collection("spells")
    fields = ["name", "document", "slug", "passage"]

    def milvus(limit: int, test: str = "") -> Search:
        return lambda vector: client.search(
            "spells", data=[vector], filter=test, limit=limit, output_fields=fields, search_params=SEARCH_PARAMS
        )

    stored = client.query("spells", filter="part >= 0", output_fields=["pk", "vector"], limit=16_384)
    matrix = np.array([row["vector"] for row in stored], dtype=np.float32)
    searches: dict[str, Search] = {
        f"pymilvus, {LIMIT} rows": milvus(LIMIT),
        f"pymilvus, {LIMIT} rows, filtered": milvus(LIMIT, FILTER),
        f"pymilvus, {ROWS} rows": milvus(ROWS),
        "NumPy, brute force": lambda vector: np.argpartition(-(matrix @ vector), LIMIT)[:LIMIT],
    }
    if not missing("sqlite_vec") and hasattr(sqlite3.Connection, "enable_load_extension"):
        searches["sqlite-vec"] = _sqlite_vec(matrix)
    if not missing("chromadb"):
        searches["Chroma"] = _chroma(place, matrix, [row["pk"] for row in stored])
    return searches


def _left_out() -> list[str]:
    can = hasattr(sqlite3.Connection, "enable_load_extension")
    unloadable = [] if can else ["this Python's sqlite3 loads no extensions: sqlite-vec was left out"]
    return missing("sqlite_vec", "chromadb") + unloadable


def _sqlite_vec(matrix: Any) -> Search:
    import sqlite_vec

    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.execute(f"CREATE VIRTUAL TABLE v USING vec0(vector float[{matrix.shape[1]}] distance_metric=cosine)")
    connection.executemany(
        "INSERT INTO v (rowid, vector) VALUES (?, ?)", ((i, v.tobytes()) for i, v in enumerate(matrix))
    )
    sql = f"SELECT rowid, distance FROM v WHERE vector MATCH ? ORDER BY distance LIMIT {LIMIT}"
    return lambda vector: connection.execute(sql, (vector.tobytes(),)).fetchall()


def _chroma(place: Path, matrix: Any, keys: list[str]) -> Search:
    import chromadb.config

    client = chromadb.PersistentClient(
        str(place / "chroma"), settings=chromadb.config.Settings(anonymized_telemetry=False)
    )
    made = client.create_collection("spells", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    for start in range(0, len(keys), 5000):
        made.add(ids=keys[start : start + 5000], embeddings=matrix[start : start + 5000])
    return lambda vector: made.query(query_embeddings=[vector], n_results=LIMIT)


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
