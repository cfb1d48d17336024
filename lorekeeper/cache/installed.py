"""Backends of other packages, which offer them by entry points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from lorekeeper.cache.completed import CompletedCache
from lorekeeper.cache.milvus import COMPANION
from lorekeeper.cache.protocol import CacheProtocol
from lorekeeper.cache.status import LibraryStatus, status_at
from lorekeeper.embedding import EmbeddingService
from lorekeeper.errors import ConfigError
from lorekeeper.settings import Settings, installed_backends

Factory = Callable[[Settings, EmbeddingService], CacheProtocol]
"""What an entry point names."""


def open_installed(settings: Settings, embedding: EmbeddingService, types: Sequence[str]) -> CompletedCache:
    """The cache of another package that the settings name; ConfigError if it cannot be made."""
    name = settings.cache_backend
    try:
        factory: Factory = installed_backends()[name].load()
        cache = factory(settings, embedding)
    except Exception as error:  # whatever the other package raises
        raise ConfigError(
            f"the cache backend {name} of another package cannot be used: {type(error).__name__}: {error}. Update or remove that "
            "package, or set LOREKEEPER_CACHE_BACKEND to milvus"
        ) from error
    return CompletedCache(cache, embedding, path_beside(settings, COMPANION), types)


def library_status(settings: Settings) -> LibraryStatus:
    """What can be seen of the library without opening it: the index on this machine."""
    return status_at(path_beside(settings, COMPANION), settings.cache_backend)


def library_paths(settings: Settings) -> list[Path]:
    """The files that hold the library: those that this machine has of it."""
    return [path_beside(settings, COMPANION)]


def path_beside(settings: Settings, suffix: str) -> Path:
    """A file that belongs to the library of the settings."""
    return settings.library_path.with_name(settings.library_path.name + suffix)


def repair_backend(*_: object) -> NoReturn:
    """Not for other packages' backends: ConfigError."""
    raise ConfigError("the cache backend of another package is examined and repaired by that package")
