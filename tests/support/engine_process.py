"""What an embedded engine answers, beside what it should: in this process, or in one with another Milvus Lite.

python -m tests.support.engine_process FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from lorekeeper.cache.milvus.lite import Engine, status
from lorekeeper.cache.milvus.schema import Column, ColumnType, Row

NAME, DIMENSION = "things", 16
VERSIONS = 5
COLUMNS = [
    Column("pk", ColumnType.TEXT, 64, primary=True),
    Column("level", ColumnType.INTEGER, nullable=True),
    Column("vector", ColumnType.VECTOR, DIMENSION),
]
SEED = 5
FILTERS: dict[str, Callable[[Row], bool]] = {
    "": lambda _: True,
    "level >= 3": lambda row: row["level"] is not None and row["level"] >= 3,
}


def rows_of(version: int, keys: range) -> list[Row]:
    """Rows whose vectors and levels are others in each version."""
    random = np.random.default_rng([SEED, version])
    vectors = random.normal(size=(len(keys), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    levels = [None if key % 5 == 0 else (key + version) % 7 for key in keys]
    return [
        {"pk": f"k{key:02}", "level": level, "vector": vector}
        for key, level, vector in zip(keys, levels, vectors, strict=True)
    ]


def answers(engine: Engine, query: Any) -> list[Any]:
    """What an engine says of its rows."""
    found: list[Any] = []
    for test in FILTERS:
        hits = engine.search(NAME, query, test, 10, ["level"])
        found.append([[hit["pk"], hit["level"], round(hit["distance"], 3)] for hit in hits])
        found.append(sorted([row["pk"], row["level"]] for row in engine.query(NAME, test, ["level"])))
        found.append(engine.count(NAME, test))
    (row,) = engine.get(NAME, ["k07", "none"], ["level", "vector"])
    return [*found, [row["pk"], row["level"], [round(float(value), 3) for value in row["vector"]]]]


def truth(stored: dict[str, Row], query: Any) -> list[Any]:
    """The same, by looking at every row."""
    found: list[Any] = []
    for passes in FILTERS.values():
        rows = [row for row in stored.values() if passes(row)]
        nearest = sorted(rows, key=lambda row: -float(row["vector"] @ query))[:10]
        found.append([[row["pk"], row["level"], round(float(row["vector"] @ query), 3)] for row in nearest])
        found.append(sorted([row["pk"], row["level"]] for row in rows))
        found.append(len(rows))
    row = stored["k07"]
    return [*found, [row["pk"], row["level"], [round(float(value), 3) for value in row["vector"]]]]


def run(folder: Path) -> list[tuple[list[Any], list[Any]]]:
    """Answers and truth after rows were written, flushed, written again, deleted, compacted, and opened again."""
    pairs: list[tuple[list[Any], list[Any]]] = []
    stored: dict[str, Row] = {}
    query = rows_of(99, range(1))[0]["vector"]
    with closing(Engine(folder / "milvus.db")) as engine:
        engine.create_collection(NAME, COLUMNS, "{}")
        for version in range(VERSIONS):  # so many files that they are compacted
            rows = rows_of(version, range(9 * version, 9 * version + 18))
            stored |= {row["pk"]: row for row in rows}
            engine.upsert(NAME, rows)
            if version == 3:
                pairs.append((answers(engine, query), truth(stored, query)))
            engine.flush(NAME)
        deleted = [f"k{key:02}" for key in range(20, 30)]
        engine.delete(NAME, deleted)
        stored = {key: row for key, row in stored.items() if key not in deleted}
        engine.flush(NAME)
        pairs.append((answers(engine, query), truth(stored, query)))
    with closing(Engine(folder / "milvus.db")) as engine:
        engine.load_collection(NAME)
        pairs.append((answers(engine, query), truth(stored, query)))
    return pairs


if __name__ == "__main__":
    print(json.dumps({"pairs": run(Path(sys.argv[1])), "status": status()}))
