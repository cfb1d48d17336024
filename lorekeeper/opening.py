"""The cache of settings, and what makes its vectors: all that a program needs that stores and searches its own entities.

Nothing of the server, the page, people and vaults is imported for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lorekeeper.cache import places
from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.configured import load_provider as load_provider
from lorekeeper.entities import COLLECTIONS
from lorekeeper.settings import BACKENDS, Settings

if TYPE_CHECKING:
    from lorekeeper.cache.completed import CompletedCache
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.vectors import VectorCache

LONG_SECONDS = 30.0
"""After how long a wait for the model is worth a warning in a library, which says itself what a search is waiting for."""

VECTORS = "vectors.db"
"""The file of the embedding cache, beside the library: libraries of one folder share it."""


def vector_cache(settings: Settings) -> VectorCache:
    """The vectors that were computed before; it opens at first use."""
    from lorekeeper.cache.vectors import VectorCache
    from lorekeeper.embedding.open_vectors import OpenVectors, packaged_file, shipped_file

    return VectorCache(settings.library_path.parent / VECTORS, OpenVectors(shipped_file), OpenVectors(packaged_file))


def embedding_of(settings: Settings) -> EmbeddingService:
    """The embedding of the settings; its provider is loaded at first use."""
    return EmbeddingService(lambda: load_provider(settings), vector_cache(settings), notice_seconds=LONG_SECONDS)


def open_store(settings: Settings, types: Sequence[str] | None = None) -> Store:
    """The store of the settings, with these types; it opens at first use."""
    return places.open_store(settings, types or tuple(COLLECTIONS))


def open_cache(
    settings: Settings, embedding: EmbeddingService, types: Sequence[str] | None = None
) -> ThreadedCache | CompletedCache:
    """The cache of the settings, with these types, by default `COLLECTIONS`; it opens at first use.

    Raises:
        ConfigError: it is of another package, which cannot be used.
    """
    if settings.cache_backend not in BACKENDS:
        from lorekeeper.cache.completed import open_installed

        return open_installed(settings, embedding, types or tuple(COLLECTIONS))
    return ThreadedCache(open_store(settings, types), embedding)
