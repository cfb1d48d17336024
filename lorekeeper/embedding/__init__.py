"""Texts to vectors: one service, one file per provider. `EmbeddingService` is what the rest of LoreKeeper uses."""

from lorekeeper.embedding.protocol import EmbeddingProvider, HashingProvider
from lorekeeper.embedding.service import EmbeddingService

__all__ = ["EmbeddingProvider", "EmbeddingService", "HashingProvider"]
