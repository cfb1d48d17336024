"""Where the library of some settings is, and which store it has. Nothing of a store is imported before it is used."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.entities import COLLECTIONS
from lorekeeper.text.phrases import SHIPPED_DOCUMENTS

if TYPE_CHECKING:
    from lorekeeper.cache.repair import RepairBackend
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.vectors import VectorCache
    from lorekeeper.settings import Settings

COMPANION = ".keywords"
"""Suffix of the SQLite file that belongs to a library in Milvus, and stands beside it."""

DimensionOf = Callable[[str], int | None]
"""Gives the dimension of a model's vectors by its fingerprint, None if it is not known."""


def open_store(settings: Settings, types: Sequence[str]) -> Store:
    """The library of the settings, with these types; it opens at first use.

    Raises:
        ConfigError: the settings forbid to connect to its server.
    """
    if settings.cache_backend == "sqlite":
        from lorekeeper.cache.sqlite.store import SqliteStore

        return SqliteStore(settings.sqlite_db_path, types)
    companion = path_beside(settings, COMPANION)
    if settings.milvus_uri:
        from lorekeeper.cache.milvus.remote import RemoteStore

        settings.require_local("milvus_uri")
        return RemoteStore(settings.milvus_uri, settings.milvus_token, companion, types, settings.milvus_index)
    from lorekeeper.cache.milvus.embedded import EmbeddedStore

    itself = settings.milvus_search == "milvus"
    return EmbeddedStore(
        settings.milvus_db_path, companion, types, shared=settings.milvus_share, searches_itself=itself
    )


def repair_backend(store: Store, vectors: VectorCache, dimension_of: DimensionOf) -> RepairBackend:
    """How a library is examined and rebuilt.

    Args:
        store: what `open_store` has opened.
        vectors: where vectors go that can still be read, so that none is computed again.
        dimension_of: says how long the library's vectors should be.
    """
    from lorekeeper.cache.milvus.embedded import EmbeddedStore
    from lorekeeper.cache.milvus.remote import RemoteStore
    from lorekeeper.cache.milvus.repair import EmbeddedRepair, RemoteRepair
    from lorekeeper.cache.sqlite.repair import SqliteRepair
    from lorekeeper.cache.sqlite.store import SqliteStore

    match store:
        case SqliteStore():
            return SqliteRepair(store, vectors, dimension_of)
        case EmbeddedStore():
            return EmbeddedRepair(store, vectors)
        case RemoteStore():
            return RemoteRepair(store)
    raise TypeError(f"{type(store).__name__} is not a library of ours")


def library_paths(settings: Settings) -> list[Path]:
    """The files and folders that hold the library of the settings, the SQLite file last; of one elsewhere that is all."""
    if settings.cache_backend == "sqlite":
        return [settings.sqlite_db_path]
    embedded = settings.cache_backend == "milvus" and not settings.milvus_uri
    return [*([settings.milvus_db_path] if embedded else []), path_beside(settings, COMPANION)]


def path_beside(settings: Settings, suffix: str) -> Path:
    """A file that belongs to the library of the settings; each server has its own."""
    uri, path = _server_of(settings), settings.library_path
    name = f"server-{hashlib.blake2b(uri.encode(), digest_size=6).hexdigest()}" if uri else path.name
    return path.with_name(name + suffix)


def _server_of(settings: Settings) -> str | None:
    """The address of the Milvus server that the library of the settings is on; None if it is on none."""
    return settings.milvus_uri if settings.cache_backend == "milvus" else None


def companion_path(path: Path) -> Path:
    """The companion of the embedded library at a path."""
    return path.with_name(path.name + COMPANION)


def stored_vectors(path: Path) -> Iterator[list[tuple[bytes, bytes]]]:
    """Vectors of the library at a path that are not in an SQLite file: rows of `VectorCache.add`, in batches.

    Raises:
        CacheError: they cannot be read.
        OSError: there is no room to read them.
    """
    if path.is_dir():
        from lorekeeper.cache.milvus.source import is_database, library_vectors

        if is_database(path):
            yield from library_vectors(path)


def file_layouts() -> dict[int, int]:
    """The layout (user_version) of our SQLite files with entries, by kind (application_id)."""
    from lorekeeper.cache.milvus import store as companion
    from lorekeeper.cache.sqlite import store

    return {each.APPLICATION: each.LAYOUT for each in (companion, store)}


# --- what can be seen of a library -----------------------------------------------------------------------------------

BUSY_SECONDS = 1.0


@dataclass(frozen=True)
class LibraryStatus:
    """What can be seen of a library.

    Attributes:
        location: its path, or the address of its server.
        found: whether there is one; with a server, whether it was used from this machine.
        documents: entries by key of their document, without the documents themselves.
        problem: what keeps it from being used, in words; None if nothing is seen.
        process: id of the process that has it open and serves it to the others; None if there is none.
    """

    location: str
    found: bool
    documents: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    process: int | None = None

    @property
    def books(self) -> int:
        """How many documents there are beside those that ship."""
        return len(self.documents.keys() - SHIPPED_DOCUMENTS)


def library_status(settings: Settings) -> LibraryStatus:
    """What can be seen of the library of the settings without opening it: its SQLite file, and the process that serves it."""
    from lorekeeper.addresses import shown_address

    *folder, file = library_paths(settings)
    if not folder:
        place = str(file) if settings.cache_backend == "sqlite" else settings.cache_backend
        return _status_at(file, shown_address(uri) if (uri := _server_of(settings)) else place)
    from lorekeeper.cache.milvus.sharing import serving_process

    (path,) = folder
    seen = _status_at(file, str(path), serving_process(path))
    if path.is_file():
        return replace(seen, problem=f"{path} is a file, not the folder of a library")
    if seen.documents and not path.is_dir():
        return replace(seen, problem=f"the folder {path} is missing; {file} still has its entries")
    return replace(seen, found=True) if path.is_dir() else seen


def _status_at(file: Path, location: str, process: int | None = None) -> LibraryStatus:
    """A library as its SQLite file shows it. Blocking."""
    from lorekeeper.cache.sqlite.file import SQLITE_ERRORS

    if not file.exists():
        return LibraryStatus(location, found=False, process=process)
    try:
        return LibraryStatus(location, found=True, documents=_documents(file), process=process)
    except (*SQLITE_ERRORS, OSError) as error:
        return LibraryStatus(location, found=True, problem=f"{file} cannot be read: {error}", process=process)


def _documents(file: Path) -> dict[str, int]:
    """Entries by document."""
    from lorekeeper.cache.sqlite.file import columns, connect_read_only

    counts = Counter[str]()
    with closing(connect_read_only(file, BUSY_SECONDS)) as c:
        for entity_type in COLLECTIONS.keys() - {"documents"}:
            if columns(c, entity_type):  # a file of an earlier version may lack a type
                counts.update(dict(c.execute(f"SELECT document, count(*) FROM {entity_type} GROUP BY document")))
    return dict(counts)
