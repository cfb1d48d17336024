"""Projections: what a viewer may see of a type, as a library of its own beside the main one.

A projection holds all entries of a type, as a `Redactor` leaves them, in the SQLite backend: whatever ranks, counts or corrects
spelling there depends on nothing else. It is compared with the library before each use, by content hashes, and can be deleted at
any time: it is made again from the library, whose vectors are cached.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.formats import OlderLibraryError, fingerprint
from lorekeeper.cache.protocol import Identity, LibraryCache
from lorekeeper.cache.snapshot import outside, renew
from lorekeeper.cache.sqlite.file import DamagedFileError, SqliteFile, remove_database
from lorekeeper.cache.sqlite.store import LAYOUT, SqliteStore
from lorekeeper.cache.store import WRITE_WAIT_SECONDS, WriteLock
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import Entity
from lorekeeper.system import AsyncClosing, in_thread
from lorekeeper.version import VERSION

logger = logging.getLogger(__name__)

REVISION = 3
"""Raised whenever redactors leave something else of the same entries: projections are made again then."""

APPLICATION = 0x4C4B5052
"""SQLite's application_id of the file that says what a projection was made from."""

READ_AT_ONCE = 256

_TABLE = (
    "CREATE TABLE origins (type TEXT NOT NULL, document TEXT NOT NULL, slug TEXT NOT NULL, hash TEXT NOT NULL, "
    "visible INTEGER NOT NULL, names TEXT NOT NULL, PRIMARY KEY (type, document, slug)) WITHOUT ROWID",
    "CREATE TABLE made (with_what TEXT NOT NULL)",
)

Visible = Mapping[Identity, Sequence[str]]
"""The entries of a type that can be seen, with their other names as far as these can."""


class Redactor(Protocol):
    """Leaves of entries what a viewer may see of them.

    Attributes:
        by_content: whether the content of an entry alone decides whether anything of it may be seen.
    """

    by_content: bool

    def other_names(self, entity: Entity) -> Sequence[str] | None:
        """The other names under which a viewer may know an entry; None if nothing of it may be seen."""
        ...

    def redact(self, entities: Iterable[Entity], visible: Visible) -> list[Entity]:
        """What may be seen of entries of one type, of which something may be; ``visible`` are all of these."""
        ...


@dataclass(frozen=True)
class Origin:
    """What an entry of the library was when the projection was compared with it.

    Attributes:
        content_hash: of the entry in the library.
        names: its other names as far as they can be seen; None if nothing of it can.
    """

    content_hash: str
    names: Sequence[str] | None

    @property
    def row(self) -> tuple[str, bool, str]:
        """As it is stored."""
        return self.content_hash, self.names is not None, json.dumps(list(self.names or ()))


class Origins:
    """The file that says what a projection was made from. Blocking."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path, "the record of a view", APPLICATION, 1, _TABLE, durable=False)

    def made_with(self) -> str | None:
        """What the projection was made with, None if it is new."""
        row = self._file.read(lambda c: c.execute("SELECT with_what FROM made").fetchone())
        return None if row is None else str(row[0])

    def begin(self, made_with: str) -> None:
        """Record what the projection is made with."""
        self._file.write(lambda c: c.execute("INSERT INTO made VALUES (?)", (made_with,)))

    def of(self, entity_type: str) -> dict[Identity, Origin]:
        """The origins of a type."""
        sql = "SELECT document, slug, hash, visible, names FROM origins WHERE type = ?"
        rows = self._file.read(lambda c: c.execute(sql, (entity_type,)).fetchall())
        return {(d, s): Origin(h, json.loads(names) if visible else None) for d, s, h, visible, names in rows}

    def update(self, entity_type: str, origins: Mapping[Identity, Origin], gone: Collection[Identity]) -> None:
        """Record the origins of entries, and forget those that are gone."""

        def write(c: sqlite3.Connection) -> None:
            rows = [(entity_type, *identity, *origin.row) for identity, origin in origins.items()]
            c.executemany("INSERT OR REPLACE INTO origins VALUES (?, ?, ?, ?, ?, ?)", rows)
            keys = [(entity_type, *identity) for identity in gone]
            c.executemany("DELETE FROM origins WHERE type = ? AND document = ? AND slug = ?", keys)

        self._file.write(write)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Projection(AsyncClosing):
    """What one group of viewers may see of the types that hold secrets.

    Args:
        main: the library.
        embedding: the library's.
        path: file of the projection; what it was made from is in another one beside it.
    """

    def __init__(self, main: LibraryCache, embedding: EmbeddingService, path: Path) -> None:
        self._main, self._path = main, path
        self.cache = ThreadedCache(SqliteStore(path), embedding)
        self._origins = Origins(path.with_suffix(".origins"))
        self._lock = WriteLock(path.with_suffix(".lock"), str(path))
        self._turn = asyncio.Lock()
        self._versions: dict[str, object] = {}
        """What each type of the library was when the projection was last compared with it."""

    async def refresh(self, entity_type: str, version: object, redactor: Redactor) -> bool:
        """Bring a type up to date with the library; whether anything has changed.

        Args:
            entity_type: the type.
            version: changes whenever the type does, or the redactor; read before this call.
            redactor: leaves what these viewers may see.

        Raises:
            CacheError: the library or the projection cannot be read or written.
            EmbeddingError: a passage has no vector yet, and the model is not available.
        """
        if self._versions.get(entity_type) == version:
            return False
        changed = await outside(lambda: self._brought_to(entity_type, version, redactor))
        renew()
        return changed

    async def _brought_to(self, entity_type: str, version: object, redactor: Redactor) -> bool:
        async with self._turn, in_thread(self._lock.hold(WRITE_WAIT_SECONDS)):
            if self._versions.get(entity_type) == version:
                return False
            try:
                changed = await self._sync(entity_type, redactor)
            except (DamagedFileError, OlderLibraryError) as error:
                logger.warning("%s: making the view again", error)
                await self._begin_again()
                changed = await self._sync(entity_type, redactor)
            self._versions[entity_type] = version
            return changed

    async def close(self) -> None:
        """Close the files."""
        await self.cache.close()
        await asyncio.to_thread(self._origins.close)

    async def _sync(self, entity_type: str, redactor: Redactor) -> bool:
        await self._require_current()
        hashes = await self._main.content_hashes(entity_type)
        origins = await asyncio.to_thread(self._origins.of, entity_type)
        known = {identity: origin.content_hash for identity, origin in origins.items()} if redactor.by_content else {}
        changed = [identity for identity, content_hash in hashes.items() if known.get(identity) != content_hash]
        gone = origins.keys() - hashes.keys()
        if not changed and not gone:
            return False
        examined = await self._examined(entity_type, changed, redactor)
        current = {i: origin for i, origin in origins.items() if i in hashes} | examined
        before, visible = _visible(origins), _visible(current)
        await self.cache.delete_entities(entity_type, before.keys() - visible.keys())
        again = _affected(examined, before, visible)
        stored = await self._store(entity_type, again, redactor, visible)
        await asyncio.to_thread(self._origins.update, entity_type, examined, gone)
        return stored or before.keys() != visible.keys()

    async def _examined(
        self, entity_type: str, identities: Sequence[Identity], redactor: Redactor
    ) -> dict[Identity, Origin]:
        """What entries of the library are now; those that are gone by now are left out."""
        found: dict[Identity, Origin] = {}
        async for entities in self._batches(entity_type, identities):
            found |= {e.identity: Origin(e.content_hash, redactor.other_names(e)) for e in entities}
        return found

    async def _store(
        self, entity_type: str, identities: Sequence[Identity], redactor: Redactor, visible: Visible
    ) -> bool:
        """Store what may be seen of some entries, as far as it differs; whether any does."""
        stored = await self.cache.content_hashes(entity_type)
        changed = False
        async for entities in self._batches(entity_type, identities):
            left = await asyncio.to_thread(redactor.redact, entities, visible)
            new = [entity for entity in left if stored.get(entity.identity) != entity.content_hash]
            await self.cache.store_entities(new, entity_type)
            changed |= bool(new)
        return changed

    async def _batches(self, entity_type: str, identities: Sequence[Identity]) -> AsyncIterator[list[Entity]]:
        for start in range(0, len(identities), READ_AT_ONCE):
            yield await self._main.load(entity_type, identities[start : start + READ_AT_ONCE])

    # --- what it is made with ----------------------------------------------------------------------------------------

    async def _require_current(self) -> None:
        """Make the projection again if it was made otherwise than it would be now."""
        wanted = f"{VERSION} {REVISION} {fingerprint(LAYOUT)} {await self.cache.fingerprint()}"
        made_with = await asyncio.to_thread(self._origins.made_with)
        if made_with not in (None, wanted):
            await self._begin_again()
            made_with = None
        if made_with is None:
            await asyncio.to_thread(self._origins.begin, wanted)

    async def _begin_again(self) -> None:
        self._versions.clear()
        await self.close()
        for path in (self._path, self._path.with_suffix(".origins")):
            await asyncio.to_thread(remove_database, path)


def _visible(origins: Mapping[Identity, Origin]) -> dict[Identity, Sequence[str]]:
    return {identity: origin.names for identity, origin in origins.items() if origin.names is not None}


def _affected(changed: Collection[Identity], before: Visible, visible: Visible) -> list[Identity]:
    """The visible entries to redact again: those that have changed, and all of documents whose links may lead elsewhere now."""
    documents = {
        identity[0] for identity in before.keys() | visible.keys() if before.get(identity) != visible.get(identity)
    }
    return [identity for identity in visible if identity in changed or identity[0] in documents]


def file_of(folder: Path, names: Collection[str], without: Collection[str] = ()) -> Path:
    """The file of the projection for viewers with whom something is shared under these folded names.

    Args:
        folder: where it is.
        names: the names.
        without: keys of documents of which nothing is in it.
    """
    content = [sorted(names), sorted(without)] if without else sorted(names)
    digest = hashlib.blake2b(json.dumps(content).encode("utf-8"), digest_size=8).hexdigest()
    return folder / f"{digest if names or without else 'players'}.db"
