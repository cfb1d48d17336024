"""What an index that does not compare a query with every vector would find, as a collection grows: IVF_FLAT and HNSW.

    python -m benchmarks.probes [--json]

The embedded library's index has 128 lists and probes them all; a server's is FLAT. This simulates the alternatives on the
real vectors of the library that is asked, with FAISS and real questions: how many lists have to be probed, how many vectors
compared, to find 99 % of the nearest passages, and what a filter leaves of that.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import faiss
import numpy as np

from benchmarks.common import Result, library, questions, run, settings_of
from benchmarks.growth import chunked_entities
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import load_provider
from lorekeeper.embedding.protocol import Vectors

FRACTIONS = (1 / 64, 1 / 16, 1 / 4, 1)
"""Of the vectors, in the sizes that are measured."""

ASKED, WANTED, RECALL = 200, 10, 0.99
SHARE = 0.01
"""Of the rows, chosen at random, match the filter: its best case, since real ones match rows that lie together."""

NEIGHBOURS, BUILD_BREADTH = 16, 200
"""Of the HNSW graph: links of a vector, and candidates while it is built."""

LATER = (1_000_000, 30_000_000)
"""Passages for which the numbers are extrapolated."""

COLUMNS = [
    "passages",
    "lists",
    f"probed for a recall of {RECALL}",
    "vectors compared",
    f"recall then, filter matches {SHARE:.0%}",
    f"HNSW: breadth for {RECALL}",
    "vectors compared by it",
]

Needed = list[tuple[int, float]]
"""Numbers of passages, and what a search needs there."""


def measure() -> Result:
    """Find the least that a search has to compare at each size."""
    vectors, queries = _real_vectors()
    chance = np.random.default_rng(7)
    order = chance.permutation(len(vectors))
    rows: list[list[str]] = []
    probed: Needed = []
    compared: Needed = []
    for fraction in FRACTIONS:
        part = vectors[order[: round(len(order) * fraction)]]
        exact = _exact(part, queries)
        index, lists = _lists(part)
        probes = _least(partial(_probe, index, queries), exact, 1, lists)
        graph = _graph(part)
        breadth = _least(partial(_walk, graph, queries), exact, WANTED, len(part))
        share, steps = _compared(index, queries, probes) / len(part), _steps(graph, queries, breadth)
        probed.append((len(part), probes))
        compared.append((len(part), steps))
        filtered = _filtered_recall(index, part, queries, probes, chance)
        rows.append([f"{len(part):,}", str(lists), str(probes), f"{share:.0%}", filtered, str(breadth),
                     f"{steps:,.0f} ({steps / len(part):.1%})"])  # fmt: skip
    rows += [_later(probed, compared, size) for size in LATER]
    notes = [
        f"{len(queries)} real questions, the {WANTED} nearest passages; lists: 4 x the square root of the passages",
        _hindsight("lists to probe", probed),
        _hindsight("vectors compared by HNSW", compared),
        "~ extrapolated by a power law through all sizes; for lists, up to the share that the largest size needs",
    ]
    return Result("Indexes that do not compare everything", COLUMNS, rows, [], notes)


def _real_vectors() -> tuple[Vectors, Vectors]:
    """The vectors of all passages of the library, each once, and those of the questions."""
    settings = settings_of(library())
    provider = load_provider(settings)
    known = VectorCache(settings.milvus_db_path.parent / "vectors.db")
    entities = asyncio.run(chunked_entities(settings))
    texts = list({p.embedded: None for chunked in entities.values() for _, found in chunked for p in found})
    by_text = known.get(provider.fingerprint, texts)
    vectors = np.stack([by_text[text] for text in texts if text in by_text])
    known.close()
    return vectors, provider.embed(questions(ASKED))


# --- indexes ---------------------------------------------------------------------------------------------------------


def _lists(vectors: Vectors) -> tuple[Any, int]:
    """An IVF_FLAT index of vectors by inner product, which is their cosine, and how many lists it has."""
    lists = round(4 * math.sqrt(len(vectors)))
    quantizer = faiss.IndexFlatIP(vectors.shape[1])
    index = faiss.IndexIVFFlat(quantizer, vectors.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1
    index.train(vectors)
    index.add(vectors)
    return index, lists


def _graph(vectors: Vectors) -> Any:
    """An HNSW index of the same vectors."""
    index = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BUILD_BREADTH
    index.add(vectors)
    return index


def _probe(index: Any, queries: Vectors, probes: int, selector: Any = None) -> Any:
    """Numbers of the vectors that are found in so many lists."""
    params = faiss.SearchParametersIVF(nprobe=probes, sel=selector)  # type: ignore[call-arg]  # FAISS's stubs lack these
    return index.search(queries, WANTED, params=params)[1]


def _compared(index: Any, queries: Vectors, probes: int) -> float:
    """Mean number of vectors in the lists that a query probes."""
    _, lists = index.quantizer.search(queries, probes)
    sizes = np.array([index.invlists.list_size(number) for number in range(index.nlist)])
    return float(sizes[lists].sum(axis=1).mean())


def _walk(graph: Any, queries: Vectors, breadth: int) -> Any:
    """Numbers of the vectors that a walk through the graph finds, with so many candidates at a time."""
    graph.hnsw.efSearch = breadth
    return graph.search(queries, WANTED)[1]


def _steps(graph: Any, queries: Vectors, breadth: int) -> float:
    """Mean number of vectors that such a walk compares with a query."""
    counted: Any = faiss.cvar
    counted.hnsw_stats.reset()
    _walk(graph, queries, breadth)
    return float(counted.hnsw_stats.ndis) / len(queries)


# --- recall ----------------------------------------------------------------------------------------------------------


def _exact(vectors: Vectors, queries: Vectors) -> Any:
    """Numbers of the nearest vectors of each query, shape (queries, WANTED)."""
    return np.argpartition(-(queries @ vectors.T), WANTED - 1, axis=1)[:, :WANTED]


def _recall(found: Any, exact: Any) -> float:
    """The share of the nearest that was found."""
    return float(np.mean([len(set(f) & set(e)) / WANTED for f, e in zip(found.tolist(), exact.tolist(), strict=True)]))


def _least(search: Callable[[int], Any], exact: Any, first: int, most: int) -> int:
    """The least effort, in steps of an eighth, whose search finds enough of the nearest; the most if none does."""
    effort = first
    while effort < most and _recall(search(effort), exact) < RECALL:
        effort = max(effort + 1, effort * 9 // 8)
    return min(effort, most)


def _filtered_recall(index: Any, vectors: Vectors, queries: Vectors, probes: int, chance: np.random.Generator) -> str:
    """What a search finds of the nearest among the rows that match a filter, if it probes no more lists."""
    matching = np.sort(chance.choice(len(vectors), round(len(vectors) * SHARE), replace=False))
    if len(matching) < 2 * WANTED:
        return ""
    exact = matching[_exact(vectors[matching], queries)]
    return f"{_recall(_probe(index, queries, probes, faiss.IDSelectorBatch(matching)), exact):.2f}"


# --- what it leads to ------------------------------------------------------------------------------------------------


def _law(needed: Sequence[tuple[int, float]], size: int) -> float:
    """What a search needs at another size, by a power law through those that were measured."""
    sizes, values = np.log(np.array(needed, float)).T
    slope, offset = np.polyfit(sizes, values, 1)
    return float(np.exp(offset + slope * math.log(size)))


def _hindsight(what: str, needed: Needed) -> str:
    predicted, measured = _law(needed[:-1], needed[-1][0]), needed[-1][1]
    return f"{what} at the largest size: {measured:,.0f}; predicted from the smaller ones: {predicted:,.0f}"


def _later(probed: Needed, compared: Needed, size: int) -> list[str]:
    """The row of a size that was not measured."""
    lists, steps = round(4 * math.sqrt(size)), _law(compared, size)
    largest, probes = probed[-1]
    low, high = sorted((_law(probed, size), lists * probes / (4 * math.sqrt(largest))))
    share = f"~ {low / lists:.0%} to {high / lists:.0%}"
    return [
        f"~ {size:,}",
        f"{lists:,}",
        f"~ {low:,.0f} to {high:,.0f}",
        share,
        "",
        "",
        f"~ {steps:,.0f} ({steps / size:.2%})",
    ]


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
