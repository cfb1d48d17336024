"""The files of Milvus Lite for one type as a whole: whether any of them has changed, whatever they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

COLLECTIONS = "collections"
"""Folder that has one of each collection. Where another version of Milvus Lite has another one, no state is known."""

INDEXES = "indexes"
"""Folders of what Milvus Lite builds of the other files when a program loads a collection: LoreKeeper never reads them."""


def files_state(library: Path, name: str) -> str | None:
    """A text that changes with the name, size or time of any file of a collection, or of one that is to replace it.

    Built indexes do not count. None if it cannot be told.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        for file in _files(library / COLLECTIONS, name):
            state = file.stat()
            line = f"{file.relative_to(library)}|{state.st_size}|{state.st_mtime_ns}\n"
            digest.update(line.encode(errors="surrogateescape"))
    except OSError:  # there is no such folder, or a file was removed meanwhile
        return None
    return digest.hexdigest()


def _files(folder: Path, name: str) -> Iterator[Path]:
    """The files of a collection, and of those that are to replace it, in order."""
    for collection in sorted(folder.iterdir()):
        if collection.name.partition("__")[0] == name:
            yield from (f for f in sorted(collection.rglob("*")) if f.is_file() and f.parent.name != INDEXES)
