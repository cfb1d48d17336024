"""The Milvus backend: the embedded library (Milvus Lite and its SQLite companion), and Milvus servers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lorekeeper.cache.backends import DimensionOf
    from lorekeeper.cache.milvus.store import MilvusStore
    from lorekeeper.cache.repair import RepairBackend
    from lorekeeper.cache.status import LibraryStatus
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.vectors import VectorCache
    from lorekeeper.settings import Settings

COMPANION = ".keywords"
"""Suffix of the SQLite file that belongs to a library in Milvus, and stands beside it."""


def open_store(settings: Settings, types: Sequence[str]) -> MilvusStore:
    """The library of the settings, with these types; it opens at first use.

    Raises:
        ConfigError: the settings forbid to connect to its server.
    """
    if settings.milvus_uri:
        from lorekeeper.cache.milvus.remote import RemoteStore

        settings.require_local("milvus_uri")
        companion = path_beside(settings, COMPANION)
        return RemoteStore(settings.milvus_uri, settings.milvus_token, companion, types, settings.milvus_index)
    from lorekeeper.cache.milvus.embedded import EmbeddedStore

    companion, itself = path_beside(settings, COMPANION), settings.milvus_search == "milvus"
    return EmbeddedStore(
        settings.milvus_db_path, companion, types, shared=settings.milvus_share, searches_itself=itself
    )


def repair_backend(store: Store, vectors: VectorCache, _dimension_of: DimensionOf) -> RepairBackend:
    """How a library of `open_store` is examined and rebuilt."""
    from lorekeeper.cache.milvus.embedded import EmbeddedStore
    from lorekeeper.cache.milvus.remote import RemoteStore
    from lorekeeper.cache.milvus.repair import EmbeddedRepair, RemoteRepair

    match store:
        case EmbeddedStore():
            return EmbeddedRepair(store, vectors)
        case RemoteStore():
            return RemoteRepair(store)
    raise TypeError(f"{type(store).__name__} is not a library in Milvus")


def library_status(settings: Settings) -> LibraryStatus:
    """What can be seen of the library of the settings without opening it: its companion, and the process that serves it."""
    from lorekeeper.addresses import shown_address
    from lorekeeper.cache.milvus.sharing.discovery import serving_process
    from lorekeeper.cache.status import status_at

    file, path = path_beside(settings, COMPANION), settings.milvus_db_path
    if settings.milvus_uri:
        return status_at(file, shown_address(settings.milvus_uri))
    seen = status_at(file, str(path), serving_process(path))
    if path.is_file():
        return replace(seen, problem=f"{path} is a file, not the folder of a library")
    if seen.documents and not path.is_dir():
        return replace(seen, problem=f"the folder {path} is missing; {file} still has its entries")
    return replace(seen, found=True) if path.is_dir() else seen


def library_paths(settings: Settings) -> list[Path]:
    """The files and folders that hold the library of the settings; of one on a server that is its companion alone."""
    companion = path_beside(settings, COMPANION)
    return [companion] if settings.milvus_uri else [settings.milvus_db_path, companion]


def path_beside(settings: Settings, suffix: str) -> Path:
    """A file that belongs to the library of the settings; each server has its own."""
    name = settings.milvus_db_path.name
    if settings.milvus_uri:
        name = f"server-{hashlib.blake2b(settings.milvus_uri.encode(), digest_size=6).hexdigest()}"
    return settings.milvus_db_path.with_name(name + suffix)


def companion_path(path: Path) -> Path:
    """The companion of the embedded library at a path."""
    return path.with_name(path.name + COMPANION)


def file_at(path: Path) -> Path | None:
    """The SQLite file that holds a library's entries, if there may be a library of this backend at a path."""
    return companion_path(path) if path.is_dir() else None


def stored_vectors(path: Path) -> Iterator[list[tuple[bytes, bytes]]]:
    """Vectors of the library at a path, from its collections: rows of `VectorCache.add`, in batches."""
    from lorekeeper.cache.milvus.source import is_database, library_vectors

    if is_database(path):
        yield from library_vectors(path)


def file_layouts() -> dict[int, int]:
    """The layout (user_version) of this backend's SQLite files, by kind (application_id)."""
    from lorekeeper.cache.milvus.companion import APPLICATION, LAYOUT

    return {APPLICATION: LAYOUT}
