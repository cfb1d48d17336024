"""The providers that settings name, and one per model for all of a process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from lorekeeper.settings import PROVIDERS, Settings, load_settings

if TYPE_CHECKING:
    from lorekeeper.embedding.protocol import EmbeddingProvider, Vectors

logger = logging.getLogger(__name__)

_SHARED: dict[tuple[object, ...], SharedProvider] = {}
_LOADING = threading.Lock()


def load_provider(settings: Settings) -> EmbeddingProvider:
    """The provider of the settings. Blocking; EmbeddingError if it cannot be loaded."""
    provider: EmbeddingProvider = import_module(PROVIDERS[settings.embedding_provider]).load(settings)
    return provider


def shared_provider(model: str | None = None) -> EmbeddingProvider:
    """The provider of the environment's settings, with another model if one is given; loaded once for each model. Blocking.

    Raises:
        ConfigError: the settings are wrong.
        EmbeddingError: it cannot be loaded.
    """
    settings = load_settings()[0]
    if model is not None:
        settings = settings.model_copy(update={"embedding_model": model})
    key = (
        settings.embedding_provider,
        settings.embedding_model,
        settings.embedding_url,
        settings.query_prefix,
        settings.passage_prefix,
    )
    with _LOADING:
        if key not in _SHARED:
            _SHARED[key] = SharedProvider(load_provider(settings))
        return _SHARED[key]


class SharedProvider:
    """A provider that several services use: one call at a time, as `EmbeddingProvider` says."""

    def __init__(self, provider: EmbeddingProvider) -> None:
        from lorekeeper.embedding.protocol import at_once, prefixes_of

        self._provider, self._turn = provider, threading.Lock()
        self.name, self.fingerprint = provider.name, provider.fingerprint
        self.dimension, self.prefixes, self.at_once = provider.dimension, prefixes_of(provider), at_once(provider)

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            return self._provider.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            return self._provider.embed_queries(texts)
