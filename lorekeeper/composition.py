"""The composition root: from settings to the parts of a library."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.cache import places
from lorekeeper.cache.places import companion_path
from lorekeeper.cache.places import library_status as library_status
from lorekeeper.cache.places import path_beside as path_beside
from lorekeeper.cache.places import repair_backend as repair_backend
from lorekeeper.embedding.families import family_of
from lorekeeper.errors import CacheError, ImportFileError
from lorekeeper.intake.starter_record import StarterRecord
from lorekeeper.intake.sync_state import Source
from lorekeeper.opening import VECTORS as VECTORS
from lorekeeper.opening import embedding_of as embedding_of
from lorekeeper.opening import load_provider as load_provider
from lorekeeper.opening import open_cache as open_cache
from lorekeeper.opening import open_store as open_store
from lorekeeper.opening import vector_cache as vector_cache
from lorekeeper.party import PartyFile
from lorekeeper.people.registry import People
from lorekeeper.search.retrieved import MINILM, Traits
from lorekeeper.settings import Settings
from lorekeeper.vaults.marks import MarksFile
from lorekeeper.vaults.registry import Registry

if TYPE_CHECKING:
    from lorekeeper.cache.milvus.source import ForeignDatabase
    from lorekeeper.cache.sqlite.foreign import SqliteSource
    from lorekeeper.search.rerank import Reranker
    from lorekeeper.vaults.shares import SharesFile

logger = logging.getLogger(__name__)


def open_file(path: Path, tables: Sequence[str] = ()) -> SqliteSource:
    """A file to migrate from: of a library of any backend, or an earlier cache; or some tables of another program. Blocking.

    Raises:
        ImportFileError: it cannot be read, or holds nothing that LoreKeeper knows, or lacks one of these tables.
    """
    from lorekeeper.cache.sqlite.foreign import SqliteSource

    file = companion_path(path) if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise ImportFileError(str(path), "is a folder without a library")
    return SqliteSource(file, places.file_layouts(), tables)


def foreign_database(path: Path) -> ForeignDatabase | None:
    """A Milvus Lite database of another program to migrate from; None if there is none at a path. Blocking."""
    from lorekeeper.cache.milvus.source import ForeignDatabase, is_database

    return ForeignDatabase(path) if is_database(path) and not companion_path(path).exists() else None


def vectors_at(path: Path) -> Iterator[list[tuple[bytes, bytes]]]:
    """The vectors of a library at a path, of any backend: rows of `VectorCache.add`, in batches. Blocking.

    First those of the embedding cache beside it, which are soonest read; those of an SQLite library are in its `open_file`.
    """
    from lorekeeper.cache.vectors import VectorCache

    yield from VectorCache(path.parent / VECTORS).rows()
    try:
        yield from places.stored_vectors(path)
    except (CacheError, OSError) as error:
        logger.warning("the vectors of %s cannot be read, so its texts are embedded again: %s", path, error)


def same_library(settings: Settings, path: Path) -> bool:
    """Whether a path, by any of its names, is that of the library of the settings. Blocking."""
    library = places.library_paths(settings)
    return path.exists() and any(part.exists() and path.samefile(part) for part in library)


def starter_record_of(settings: Settings) -> StarterRecord:
    """What records whether the first books were ever loaded into the library of the settings."""
    on_server = settings.cache_backend == "milvus" and settings.milvus_uri
    return StarterRecord(path_beside(settings, ".starter"), None if on_server else settings.library_path)


def open5e_of(settings: Settings) -> Source:
    """The Open5e server of the settings, and the file that says what the library has from it."""
    state_path = path_beside(settings, ".sync")
    return Source(settings.open5e_base_url, state_path, settings.cache_ttl_days, settings.background_sync)


def reranker_of(settings: Settings) -> Reranker | None:
    """The reranker of the settings, None if there is none; it is asked first by a search.

    Raises:
        ConfigError: the settings forbid to connect to it.
    """
    settings.require_local("rerank_url")
    if settings.rerank_url is None:
        return None
    from lorekeeper.search.rerank import Reranker

    return Reranker(settings.rerank_url, settings.rerank_model, settings.rerank_api_key)


def traits_of(settings: Settings) -> Traits:
    """The traits of the model of the settings, by its family; those of the default model if that is not known."""
    family = family_of(settings.embedding_model)
    return Traits(family.multilingual, family.unrelated) if family else MINILM


def registry_of(settings: Settings) -> Registry:
    """Which vaults the library of the settings has."""
    file = path_beside(settings, ".vaults")
    return Registry(file, settings.vaults, settings.library_path)


def people_of(settings: Settings) -> People:
    """Who is at the table of the library of the settings."""
    return People(path_beside(settings, ".people"))


def shares_of(settings: Settings) -> SharesFile:
    """What the game master has shared of the vaults of the library of the settings."""
    from lorekeeper.vaults.shares import SharesFile

    return SharesFile(path_beside(settings, ".shares"))


def party_of(settings: Settings) -> PartyFile:
    """The levels of the party of the library of the settings, if they are remembered."""
    return PartyFile(path_beside(settings, ".party"))


def marks_of(settings: Settings) -> MarksFile:
    """The user's own marks; ConfigError if their file cannot be used. Blocking, for a millisecond or two."""
    file = MarksFile(settings.marks)
    if settings.marks is not None:
        file.current()
    return file
