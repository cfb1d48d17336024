"""What every provider of embeddings promises."""

from __future__ import annotations

import numpy as np

from lorekeeper.embedding import EmbeddingProvider


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
    assert provider.embed([]).shape == (0, provider.dimension)
