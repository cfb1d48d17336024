"""Small vaults: folders of notes, and libraries that have them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingProvider, EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.notes.marks import OwnMarks
from lorekeeper.settings import load_settings
from lorekeeper.vaults.marks import MarksFile
from lorekeeper.vaults.registry import Registry
from lorekeeper.vaults.shares import SharesFile
from lorekeeper.views.opening import look, look_at_marked, store, target_of
from tests.support.commands import variables
from tests.support.entities import everything

PUBLIC = OwnMarks({"public knowledge": "players", "players": "players"}, is_looking=True)
"""Marks of a user who has declared one that opens a section, where no heading waits."""


async def open_marked(library: Library) -> None:
    """Confirm what the authors of all vaults have marked for players."""
    await library.vaults.sync()
    for vault in library.vaults.registry.vaults():
        await store(library.vaults, library.vaults.shares.all(), look_at_marked(library.vaults, vault).after)


async def open_to(library: Library, what: str, people: Sequence[str] = (), opens: Sequence[str] = ()) -> None:
    """Share something of a vault as the command does, with all that stands there now."""
    await library.vaults.sync()
    found = look(library.vaults, target_of(library.vaults, what), people, opens)
    await store(library.vaults, library.vaults.shares.all(), found.after)


def write(vault: Path, notes: Mapping[str, str]) -> Path:
    """Write notes, by their paths."""
    for path, text in notes.items():
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return vault


@asynccontextmanager
async def vault_library(
    folder: Path,
    listed: Sequence[Path] = (),
    backend: str = "milvus",
    provider: Callable[[int], EmbeddingProvider] = HashingProvider,
    marks: Path | None = None,
) -> AsyncIterator[Library]:
    """A library in that folder, embedded by hashing, that remembers vectors and vaults."""
    embedding = EmbeddingService(lambda: provider(64), VectorCache(folder / "vectors.db"))
    settings, _ = load_settings(variables(folder, backend), folder / "no-env-file")
    registry = Registry(folder / "library.vaults", listed, settings.library_path)
    views, own = folder / "library.views", MarksFile(marks)
    cache, shares = open_cache(settings, embedding), SharesFile(folder / "library.shares")
    async with Library(
        cache, embedding, offline=True, vaults=registry, views=views, marks=own, shares=shares
    ) as library:
        yield library


async def notes_of(library: Library, entity_type: str = "notes") -> dict[str, Entity]:
    """The notes of a library, by path."""
    return {entity.slug: entity for entity in await everything(library.cache, entity_type)}


def digests(vault: Path) -> dict[str, str]:
    """Hashes of all files of a vault."""
    files = [path for path in sorted(vault.rglob("*")) if path.is_file()]
    return {path.relative_to(vault).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def save(note: Path, text: str) -> None:
    """Save a note as editors do: beside it, then in its place."""
    new = note.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.replace(note)
