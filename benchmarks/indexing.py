"""How many texts a second are embedded, beside sentence-transformers on the same texts, and entities stored.

python -m benchmarks.indexing [--json]
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.common import Result, fill, median, missing, run, settings_of, source_entities
from lorekeeper.composition import load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.text.passages import passages

SAMPLE = 300
"""Entities whose texts are embedded, and stored."""

CHUNK = 64
FACTOR = 0.95
"""Of the rate of sentence-transformers, on any processor: both multiply matrices. Measured where PyTorch has good kernels for that:
1.04 x (Intel) and 1.3 x (AMD with AVX-512); on another AMD machine 2.0 x."""


def measure() -> Result:
    """Embed the same texts with both providers, chunk by chunk in turn, so that both meet the same machine."""
    entities = random.Random(7).sample([e for e in source_entities() if e.type != "documents"], SAMPLE)
    texts = [p.embedded for e in entities for p in passages(e)]
    absent = missing("sentence_transformers")
    providers = ["onnx"] if absent else ["onnx", "sentence-transformers"]
    seconds = asyncio.run(_embed(providers, texts))
    rates = {p: CHUNK / median(seconds[p]) for p in providers}
    rows = [[p, f"{rates[p]:.0f} texts/s", f"{CHUNK / min(seconds[p]):.0f} texts/s"] for p in providers]
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as folder:
        began = time.perf_counter()
        asyncio.run(fill(Path(folder), entities))
        stored = time.perf_counter() - began
    rows.append(
        ["onnx, embedded and stored", f"{len(texts) / stored:.0f} texts/s", f"{SAMPLE / stored:.0f} entities/s"]
    )
    claims = []
    if not absent:
        pairs = zip(seconds["onnx"], seconds["sentence-transformers"], strict=True)
        factor = median([reference / ours for ours, reference in pairs])
        claims.append((f"at least {FACTOR} x sentence-transformers", f"{factor:.2f} x", factor >= FACTOR))
    notes = [f"{len(texts):,} passages of {SAMPLE} entities; the factor is the median over pairs of chunks", *absent]
    return Result("Indexing", ["provider", "median", "best"], rows, claims, notes)


async def _embed(providers: list[str], texts: list[str]) -> dict[str, list[float]]:
    """Seconds of each chunk, by provider."""
    nowhere = Path("nowhere")
    settings = {p: settings_of(nowhere, embedding_provider=p) for p in providers}
    services = {p: EmbeddingService(partial(load_provider, settings[p])) for p in providers}
    seconds: dict[str, list[float]] = {p: [] for p in providers}
    for service in services.values():
        await service.embed(texts[:8])
    for start in range(0, len(texts) - CHUNK + 1, CHUNK):
        for provider, service in services.items():
            began = time.perf_counter()
            await service.embed(texts[start : start + CHUNK])
            seconds[provider].append(time.perf_counter() - began)
    for service in services.values():
        service.close()
    return seconds


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
