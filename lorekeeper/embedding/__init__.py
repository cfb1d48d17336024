"""Texts to vectors: `EmbeddingService` for the rest of LoreKeeper, and one file per provider, imported when it is used."""

from lorekeeper.embedding.protocol import EmbeddingProvider, HashingProvider
from lorekeeper.embedding.service import EmbeddingService

__all__ = ["EmbeddingProvider", "EmbeddingService", "HashingProvider"]
