"""The SQLite backend: one file holds entities, full-text index and vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lorekeeper.cache.backends import DimensionOf
    from lorekeeper.cache.repair import RepairBackend
    from lorekeeper.cache.sqlite.store import SqliteStore
    from lorekeeper.cache.status import LibraryStatus
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.vectors import VectorCache
    from lorekeeper.settings import Settings


def open_store(settings: Settings, types: Sequence[str]) -> SqliteStore:
    """The library of the settings, with these types; it opens at first use."""
    from lorekeeper.cache.sqlite.store import SqliteStore

    return SqliteStore(settings.sqlite_db_path, types)


def repair_backend(store: Store, vectors: VectorCache, dimension_of: DimensionOf) -> RepairBackend:
    """How a library of `open_store` is examined and rebuilt."""
    from lorekeeper.cache.sqlite.repair import SqliteRepair
    from lorekeeper.cache.sqlite.store import SqliteStore

    if not isinstance(store, SqliteStore):
        raise TypeError(f"{type(store).__name__} is not a library in SQLite")
    return SqliteRepair(store, vectors, dimension_of)


def library_status(settings: Settings) -> LibraryStatus:
    """What can be seen of the library of the settings without opening it."""
    from lorekeeper.cache.status import status_at

    return status_at(settings.sqlite_db_path, str(settings.sqlite_db_path))


def library_paths(settings: Settings) -> list[Path]:
    """The files and folders that hold the library of the settings."""
    return [settings.sqlite_db_path]


def path_beside(settings: Settings, suffix: str) -> Path:
    """A file that belongs to the library of the settings."""
    return settings.sqlite_db_path.with_name(settings.sqlite_db_path.name + suffix)


def file_at(path: Path) -> Path | None:
    """The SQLite file that holds a library's entries, if there may be a library of this backend at a path."""
    return None if path.is_dir() else path


def stored_vectors(_path: Path) -> Iterator[list[tuple[bytes, bytes]]]:
    """None: they are in the file itself."""
    return iter(())


def file_layouts() -> dict[int, int]:
    """The layout (user_version) of this backend's SQLite files, by kind (application_id)."""
    from lorekeeper.cache.sqlite.store import APPLICATION, LAYOUT

    return {APPLICATION: LAYOUT}
