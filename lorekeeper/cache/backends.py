"""What the package of a cache backend offers. `settings.BACKENDS` lists the packages; `library` calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lorekeeper.cache.repair import RepairBackend
    from lorekeeper.cache.status import LibraryStatus
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.vectors import VectorCache
    from lorekeeper.settings import Settings

DimensionOf = Callable[[str], int | None]
"""Gives the dimension of a model's vectors by its fingerprint, None if it is not known."""


class BackendPackage(Protocol):
    """The functions of a backend's package; each imports what it needs, so that no other backend is loaded."""

    def open_store(self, settings: Settings, types: Sequence[str], /) -> Store:
        """The library of the settings; it opens at first use.

        Args:
            settings: say which library.
            types: the types of entity that it holds.

        Raises:
            ConfigError: the settings forbid to connect to its server.
        """
        ...

    def repair_backend(self, store: Store, vectors: VectorCache, dimension_of: DimensionOf, /) -> RepairBackend:
        """How a library is examined and rebuilt.

        Args:
            store: a library that this package opened.
            vectors: where vectors go that can still be read, so that none is computed again.
            dimension_of: says how long the library's vectors should be.
        """
        ...

    def library_status(self, settings: Settings, /) -> LibraryStatus:
        """What can be seen of the library of the settings without opening it."""
        ...

    def library_paths(self, settings: Settings) -> list[Path]:
        """The files and folders that hold the library of the settings."""
        ...

    def path_beside(self, settings: Settings, suffix: str) -> Path:
        """A file that belongs to the library of the settings."""
        ...

    def file_at(self, path: Path) -> Path | None:
        """The SQLite file that holds a library's entries, if there may be a library of this backend at a path."""
        ...

    def stored_vectors(self, path: Path) -> Iterator[list[tuple[bytes, bytes]]]:
        """Vectors of the library at a path that are not in its `file_at`: rows of `VectorCache.add`, in batches.

        Raises:
            CacheError: they cannot be read.
            OSError: there is no room to read them.
        """
        ...

    def file_layouts(self) -> dict[int, int]:
        """The layout (user_version) of this backend's SQLite files, by kind (application_id)."""
        ...
