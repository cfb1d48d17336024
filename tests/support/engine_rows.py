"""A collection of Milvus Lite, as `lite.Engine` takes it, and random rows of it."""

from __future__ import annotations

import random

import numpy as np

from lorekeeper.cache.milvus.schema import Column, ColumnType, Row

NAME, DIMENSION = "things", 16
COLUMNS = [
    Column("pk", ColumnType.TEXT, 64, primary=True),
    Column("title", ColumnType.TEXT, 64),
    Column("level", ColumnType.INTEGER, nullable=True),
    Column("tags", ColumnType.TEXTS, 64, nullable=True, many=8),
    Column("vector", ColumnType.VECTOR, DIMENSION),
]
FIELDS = ["title", "level", "tags"]


def row(chance: random.Random, key: int) -> Row:
    """A row with that key."""
    vector = np.array([chance.gauss(0, 1) for _ in range(DIMENSION)], dtype=np.float32)
    level = chance.choice([None, *range(10)])
    return {"pk": f"k{key}", "title": f"t{key % 7}", "level": level, "tags": chance.choice([["a", "b"], ["c"], None]),
            "vector": vector / np.linalg.norm(vector)}  # fmt: skip
