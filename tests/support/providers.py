"""Providers of embeddings: what each promises, and how settings choose one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lorekeeper.embedding import EmbeddingProvider
from lorekeeper.embedding.configured import load_provider
from lorekeeper.settings import load_settings


def load_model(model: Path | str, provider: str = "auto", **values: str) -> EmbeddingProvider:
    """The provider for a model, offline, with these settings."""
    chosen = {"embedding_model": str(model), "embedding_provider": provider, "offline": "1", **values}
    return load_provider(load_settings({f"LOREKEEPER_{k.upper()}": v for k, v in chosen.items()}, Path("no.env"))[0])


def check_contract(provider: EmbeddingProvider) -> None:
    """What `EmbeddingProvider` promises."""
    texts = ["A ball of fire.", "", "Ein Feuerball 龍 🐉", "A ball of fire.", "\n", "x" * 3000, "word " * 2000]
    vectors = provider.embed(texts)
    assert provider.name
    assert provider.fingerprint
    assert vectors.shape == (len(texts), provider.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[0], vectors[3], atol=1e-5)
    alone = np.concatenate([provider.embed([t]) for t in texts])
    assert np.allclose(alone, vectors, atol=1e-5)
    assert provider.embed([]).shape == provider.embed_queries([]).shape == (0, provider.dimension)
    assert provider.embed_queries(texts).shape == vectors.shape
