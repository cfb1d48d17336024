"""The cache of other programs beside plain pymilvus, sqlite-vec, Chroma and LanceDB: the same vectors, one process each, CPU time.

    python -m benchmarks.plugin [--json] [--sizes 10000 100000]

Each stores rows with a number to filter by and answers questions by vectors, ten nearest, once filled and opened again.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import Result, milliseconds, report
from lorekeeper import Collection, Field, FieldType, HashingProvider, MilvusCache, SqliteCache
from lorekeeper.embedding.protocol import Vectors

SIZES, ASKED, NEAREST, DIMENSION, GROUPS = (10_000, 20_000, 100_000), 21, 10, 384, 5
"""Rows, questions, answers to each, length of a vector, and values of the field that filters."""

THINGS = Collection("things", fields=[Field("team", FieldType.INTEGER)], text=["body"])

Ask = Callable[[Vectors, bool], list[str]]
"""The keys nearest to a vector, among all or among those of team 3."""


def made(size: int) -> tuple[Vectors, Vectors]:
    """Vectors in clusters, and questions near some of them."""
    chance = np.random.default_rng(size)
    centres = chance.normal(size=(size // 50, DIMENSION))
    rows = centres[chance.integers(len(centres), size=size)] + 0.7 * chance.normal(size=(size, DIMENSION))
    asked = rows[chance.integers(size, size=ASKED)] + 0.5 * chance.normal(size=(ASKED, DIMENSION))

    def unit(vectors: NDArray[np.float64]) -> Vectors:
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    return unit(rows), unit(asked)


class Asked(HashingProvider):
    """Gives questions the vectors that they name by number."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__(DIMENSION)
        self._vectors = vectors

    def embed_queries(self, texts: Any) -> Vectors:
        return np.asarray(self._vectors[[int(text) for text in texts]])


def ours(kind: Callable[..., MilvusCache | SqliteCache]) -> Callable[[Path, Vectors, Vectors, bool], Ask]:
    """One of our caches."""

    def opened(folder: Path, rows: Vectors, asked: Vectors, fill: bool) -> Ask:
        loop = asyncio.new_event_loop()
        cache = kind(folder / "ours", embedding=Asked(asked), collections=[THINGS])
        if fill:
            things = [{"key": f"k{i}", "name": f"Thing {i}", "team": i % GROUPS} for i in range(len(rows))]
            loop.run_until_complete(cache.store_entities(things, "things", vectors=rows))
            loop.run_until_complete(cache.close())

        def ask(vector: Vectors, filtered: bool) -> list[str]:
            number = str(int(np.flatnonzero((asked == vector).all(axis=1))[0]))
            team = 3 if filtered else None
            return [
                e["key"] for e in loop.run_until_complete(cache.semantic_search("things", number, NEAREST, team=team))
            ]

        return ask

    return opened


def pymilvus(folder: Path, rows: Vectors, _: Vectors, fill: bool, probes: int = 128) -> Ask:
    """Plain pymilvus on Milvus Lite, which compares the vectors of so many of the 128 lists of its index."""
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder / "plain.db"))
    if fill:
        schema = MilvusClient.create_schema()
        schema.add_field("pk", DataType.VARCHAR, max_length=64, is_primary=True)
        schema.add_field("team", DataType.INT64)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSION)
        index = MilvusClient.prepare_index_params()
        index.add_index("vector", index_type="IVF_FLAT", metric_type="COSINE", params={"nlist": 128})
        client.create_collection("things", schema=schema, index_params=index)
        for start in range(0, len(rows), 2_000):
            client.insert("things", [
                {"pk": f"k{i}", "team": i % GROUPS, "vector": rows[i]} for i in range(start, min(start + 2_000, len(rows)))
            ])  # fmt: skip
        client.flush("things")  # else questions are answered from memory, row by row
        client.close()
        client = MilvusClient(str(folder / "plain.db"))
    client.load_collection("things")

    def ask(vector: Vectors, filtered: bool) -> list[str]:
        found = client.search("things", data=[vector], limit=NEAREST, filter="team == 3" if filtered else "",
                              search_params={"metric_type": "COSINE", "params": {"nprobe": probes}})  # fmt: skip
        return [hit["pk"] for hit in found[0]]

    return ask


def sqlite_vec(folder: Path, rows: Vectors, _: Vectors, fill: bool) -> Ask:
    """sqlite-vec in a table of its own."""
    import apsw
    import sqlite_vec as extension

    connection = apsw.Connection(str(folder / "vec.db"))
    connection.enable_load_extension(True)
    connection.load_extension(extension.loadable_path())
    if fill:
        connection.execute(f"CREATE VIRTUAL TABLE things USING vec0(team integer, vector float[{DIMENSION}] "
                           "distance_metric=cosine)")  # fmt: skip
        with connection:
            connection.executemany(
                "INSERT INTO things(rowid, team, vector) VALUES (?, ?, ?)",
                ((i, i % GROUPS, row.tobytes()) for i, row in enumerate(rows)),
            )

    def ask(vector: Vectors, filtered: bool) -> list[str]:
        where = " AND team = 3" if filtered else ""
        asked = connection.execute(f"SELECT rowid FROM things WHERE vector MATCH ? AND k = ?{where}",
                                   (vector.tobytes(), NEAREST))  # fmt: skip
        return [f"k{row}" for (row,) in asked]

    return ask


def chromadb(folder: Path, rows: Vectors, _: Vectors, fill: bool) -> Ask:
    """Chroma, persistent, by cosine."""
    import chromadb as chroma
    from chromadb.config import Settings

    client = chroma.PersistentClient(str(folder / "chroma"), Settings(anonymized_telemetry=False))
    things = client.get_or_create_collection("things", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    if fill:
        for start in range(0, len(rows), 2_000):
            numbers = range(start, min(start + 2_000, len(rows)))
            things.add(
                [f"k{i}" for i in numbers], list(rows[start : numbers.stop]), [{"team": i % GROUPS} for i in numbers]
            )

    def ask(vector: Vectors, filtered: bool) -> list[str]:
        found = things.query([vector], n_results=NEAREST, where={"team": 3} if filtered else None, include=[])
        return list(found["ids"][0])

    return ask


def lancedb(folder: Path, rows: Vectors, _: Vectors, fill: bool) -> Ask:
    """LanceDB without an index, as it is by default."""
    import lancedb as lance

    database = lance.connect(str(folder / "lance"))
    if fill:
        database.create_table(
            "things", [{"key": f"k{i}", "team": i % GROUPS, "vector": row} for i, row in enumerate(rows)]
        )
    table = database.open_table("things")

    def ask(vector: Vectors, filtered: bool) -> list[str]:
        asked = table.search(vector).metric("cosine").limit(NEAREST).select(["key", "_distance"])
        return [row["key"] for row in (asked.where("team = 3", prefilter=True) if filtered else asked).to_list()]

    return ask


STORES: dict[str, tuple[str, Callable[[Path, Vectors, Vectors, bool], Ask]]] = {
    "MilvusCache": ("lorekeeper", ours(MilvusCache)),
    "MilvusCache, search=milvus": ("lorekeeper", ours(partial(MilvusCache, search="milvus"))),
    "SqliteCache": ("lorekeeper", ours(SqliteCache)),
    "pymilvus, Milvus Lite": ("pymilvus", pymilvus),
    "pymilvus, nprobe 16": ("pymilvus", partial(pymilvus, probes=16)),
    "sqlite-vec": ("sqlite_vec", sqlite_vec),
    "Chroma": ("chromadb", chromadb),
    "LanceDB": ("lancedb", lancedb),
}


def one(store: str, size: int) -> dict[str, float]:
    """What one store needs, in this process: CPU seconds, megabytes, recall."""
    rows, asked = made(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as folder:
        began = time.process_time()
        STORES[store][1](Path(folder), rows, asked, True)
        filled = time.process_time() - began
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        disk = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
        ask = STORES[store][1](Path(folder), rows, asked, False)
        measured = {"filled": filled, "peak": peak, "disk": disk}
        for name, filtered in (("plain", False), ("filtered", True)):
            ask(asked[0], filtered)
            began = time.process_time()
            found = [ask(vector, filtered) for vector in asked[1:]]
            measured[name] = (time.process_time() - began) / (ASKED - 1)
            measured[f"{name} recall"] = _recall(rows, asked[1:], found, filtered)
    return measured


def _recall(rows: Vectors, asked: Vectors, found: list[list[str]], filtered: bool) -> float:
    """The share of the nearest rows that were found."""
    allowed = np.arange(len(rows)) % GROUPS == 3 if filtered else np.full(len(rows), True)
    nearest = np.argsort(np.where(allowed, asked @ rows.T, -2), axis=1)[:, -NEAREST:]
    return float(
        np.mean([len({f"k{i}" for i in best} & set(keys)) / NEAREST for best, keys in zip(nearest, found, strict=True)])
    )


def measure(sizes: tuple[int, ...]) -> Result:
    """All stores at all sizes."""
    measured = {(size, name): _apart(name, size) for size in sizes for name, (package, _) in STORES.items()
                if importlib.util.find_spec(package)}  # fmt: skip
    rows = [
        [f"{size:,}", name, f"{m['filled']:.1f} s", f"{m['peak']:.0f} MB", f"{m['disk']:.0f} MB",
         f"{milliseconds(m['plain'])} ({m['plain recall']:.2f})", f"{milliseconds(m['filtered'])} ({m['filtered recall']:.2f})"]
        for (size, name), m in measured.items()
    ]  # fmt: skip
    claims = []
    for size in sizes:
        by_name = {name: m for (each, name), m in measured.items() if each == size}
        own, plain = by_name["MilvusCache"], by_name["pymilvus, Milvus Lite"]
        others = [m["filtered"] for name, m in by_name.items() if "Cache" not in name]
        best = own["filtered"] / min(others)
        claims.append((f"{size:,} rows, filtered: less CPU than any other store", f"{best:.2f} x", best < 1))
        filling = own["filled"] / plain["filled"]
        claims.append((f"{size:,} rows: filling at most 2.5 x plain pymilvus", f"{filling:.1f} x", filling <= 2.5))
        if "Chroma" in by_name:
            beside = own["plain"] / by_name["Chroma"]["plain"]
            claims.append((f"{size:,} rows, no filter: at most 1.5 x Chroma", f"{beside:.1f} x", beside <= 1.5))
    left_out = [name for name, (package, _) in STORES.items() if not importlib.util.find_spec(package)]
    notes = [f"not installed: {', '.join(left_out)}"] * bool(left_out)
    notes.append(
        f"CPU of all threads; {ASKED - 1} questions; in brackets the share of the {NEAREST} nearest that were found"
    )
    columns = [
        "rows",
        "store",
        "filling",
        "memory beside the vectors",
        "disk",
        "question",
        f"1 of {GROUPS} rows allowed",
    ]
    return Result("The cache of other programs beside other stores", columns, rows, claims, notes)


def _apart(store: str, size: int) -> dict[str, float]:
    """`one` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.plugin", "--one", store, "--sizes", str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, help="numbers of rows")
    parser.add_argument("--one", choices=STORES, help="measure one store in this process")
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(one(chosen.one, chosen.sizes[0])))
    else:
        sys.exit(report(measure(tuple(chosen.sizes)), as_json=chosen.json))
