"""A library as Milvus Lite alone sees it, and what LoreKeeper left in its folders until commit c387532."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow.parquet
from milvus_lite import MilvusLite

from lorekeeper.cache.milvus import companion_path
from lorekeeper.entities import COLLECTIONS

wrappers: Any = faiss

Found = dict[str, float]
"""Scores by slug, best first."""


def nearest(path: Path, vector: Any, limit: int, entity_type: str = "spells", expression: str = "") -> Found:
    """The best passage of each of the nearest entities, as anybody's program searches them."""
    with MilvusLite(str(path)) as library:
        collection = library.get_collection(entity_type)
        collection.load()
        (hits,) = collection.search(
            [vector],
            top_k=10 * limit,
            metric_type="COSINE",
            expr=expression or None,
            output_fields=["slug"],
            search_params={"nprobe": 128},
        )
    scores: Found = {}
    for hit in hits:
        scores.setdefault(hit["entity"]["slug"], hit["distance"])
    return dict(list(scores.items())[:limit])


def has_index(path: Path, entity_type: str = "spells") -> bool:
    """Whether the collection of a type has its index."""
    with MilvusLite(str(path)) as library:
        return bool(library.get_collection(entity_type).has_index())


def index_files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.idx"))


def make_earlier(path: Path) -> None:
    """Change a closed library to what commit c387532 wrote: an index of its own under Milvus Lite's name, and two copies.

    That index has numbers of 8 bits that are whole multiples of a step: the products with a vector of length 1 are 0.
    """
    for data in path.rglob("*.parquet"):
        column = pyarrow.parquet.read_table(data, columns=["vector"]).column(0).combine_chunks()
        vectors = column.flatten().to_numpy().reshape(len(column), -1)
        (file,) = (data.parent.parent / "indexes").glob(f"{data.stem}.*.idx")
        _write_quantized(vectors, file)
        file.with_name(f"{data.stem}.rows").write_bytes(b"rows")
        file.with_name(f"{data.stem}.vectors").write_bytes(vectors.tobytes())
    with closing(sqlite3.connect(companion_path(path))) as c, c:
        for table in ("vectors", "sealed", *(f"{name}_passages" for name in COLLECTIONS)):
            c.execute(f"DROP TABLE {table}")
        c.execute("PRAGMA user_version = 7")


def _write_quantized(vectors: Any, file: Path) -> None:
    dimension, lists = vectors.shape[1], min(8, len(vectors))
    step = float(np.abs(vectors).max()) / 127
    quantizer = faiss.IndexFlatIP(dimension)
    bits, metric = faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    index = wrappers.IndexIVFScalarQuantizer(quantizer, dimension, lists, bits, metric, False)
    index.sq.rangestat_arg = step
    index.train(vectors / step)
    index.add(np.rint(vectors / step).astype(np.float32))
    faiss.write_index(index, str(file))
