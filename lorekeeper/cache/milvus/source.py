"""A Milvus Lite folder to migrate from: it is copied, and the copy is opened, so that the folder itself stays as it is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lorekeeper.cache.milvus.bundled_library import COLLECTIONS
from lorekeeper.cache.milvus.collections import Collections
from lorekeeper.cache.milvus.failover import EmbeddedBackend
from lorekeeper.cache.milvus.lite import Engine
from lorekeeper.cache.milvus.rows import Row, described
from lorekeeper.cache.milvus.sharing import serving_process
from lorekeeper.cache.vectors import pack_vector, passage_keys
from lorekeeper.entities import declared_type
from lorekeeper.errors import CacheError, ImportFileError
from lorekeeper.text.passages import CHUNKER


def is_database(path: Path) -> bool:
    """Whether there is a Milvus Lite database in a folder."""
    return (path / COLLECTIONS).is_dir()


def library_vectors(path: Path) -> Iterator[list[tuple[bytes, bytes]]]:
    """The vectors of a library in a folder, by `vector_key` and packed, in batches. Those of another chunker are left out.

    Raises:
        CacheError: the library cannot be read.
        OSError: there is no room for a copy of it.
    """
    with _readable(path) as place:
        backend = EmbeddedBackend(place)
        try:
            collections = Collections(backend)
            for name in backend.list_collections():
                yield from type_vectors(collections, name)
        finally:
            backend.close()


def type_vectors(collections: Collections, name: str) -> Iterator[list[tuple[bytes, bytes]]]:
    """The same of one type, from open collections."""
    try:
        declared_type(name)
        info = collections.info(name)
    except (KeyError, CacheError):  # of another program, or of another type: nothing of it is migrated
        return
    if info is None or not info.embedding.endswith(f" {CHUNKER}"):
        return
    model = info.embedding.removesuffix(f" {CHUNKER}")
    for batch in collections.passages(name, collections.identities(name)):
        found: list[tuple[bytes, bytes]] = []
        for entity in collections.load(name, list(batch)):
            keys = list(passage_keys(model, [entity]))
            _, vectors = batch[entity.identity]
            if len(keys) == len(vectors):
                found += [(key, pack_vector(key, vector)) for key, vector in zip(keys, vectors, strict=True)]
        yield found


class ForeignDatabase:
    """A Milvus Lite database of another program.

    Args:
        path: its folder.

    Raises:
        ImportFileError: there is none, or Milvus Lite cannot read it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def collections(self) -> dict[str, list[str]]:
        """The columns of its collections by name, without those that are LoreKeeper's own."""
        with self._opened() as engine:
            names = [name for name in engine.list_collections() if not described(engine.description(name))]
            return {name: engine.columns(name) for name in names}

    def rows(self, collection: str) -> list[Row]:
        """All rows of a collection, dynamic fields included, without its vectors."""
        with self._opened() as engine:
            vectors = engine.vector_columns(collection)
            engine.load_collection(collection)
            rows = engine.query(collection, "", ["*"])
            return [{key: value for key, value in row.items() if key not in vectors} for row in rows]

    @contextmanager
    def _opened(self) -> Iterator[Engine]:
        try:
            with _copied(self.path) as copy:
                engine = Engine(copy)
                try:
                    yield engine
                finally:
                    engine.close()
        except ImportFileError:
            raise
        except Exception as error:  # the engine's errors have no common base
            raise ImportFileError(str(self.path), f"cannot be read as a Milvus Lite database: {error}") from error


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """The folder of a library that this process may open: itself if a process serves it, else a copy."""
    if serving_process(path) is not None:
        yield path
    else:
        with _copied(path) as copy:
            yield copy


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lorekeeper-") as folder:
        yield Path(shutil.copytree(path, Path(folder) / "milvus.db", ignore=shutil.ignore_patterns("LOCK")))
