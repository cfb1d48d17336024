"""Which entities differ from the library's: unchanged ones need neither be embedded nor written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lorekeeper.cache.protocol import BATCH, Identity, Progress, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.normalize.build import united
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.system import return_memory

if TYPE_CHECKING:  # a vault, which is stored in the same way, needs no reader of files
    from lorekeeper.intake.files import Batch
    from lorekeeper.intake.formats.text_file import Entry, Found
    from lorekeeper.intake.import_cache import Digest
    from lorekeeper.intake.reports import ImportReport

IMPORT_BATCH = 4 * BATCH
"""Entities of one type stored at a time; they are durable when that returns."""

IMPORT_CHARS = 8 << 20
"""Characters of entities, of all types, that an import collects before it stores them."""

Hashes = Mapping[Identity, str]
"""``Entity.content_hash`` of entities of one type."""


def is_unchanged(entity: Entity, stored: Hashes) -> bool:
    """Whether a library with these content hashes has an entity with the same content."""
    return stored.get(entity.identity) == entity.content_hash


@dataclass(frozen=True)
class Changes:
    """How the entities of a type that a library is to have differ from those that it has.

    Attributes:
        new: identities that the library does not have.
        changed: identities that it has with other content.
        unchanged: identities that it has with the same content.
        removed: identities that only the library has.
    """

    new: set[Identity]
    changed: set[Identity]
    unchanged: set[Identity]
    removed: set[Identity]

    @classmethod
    def between(cls, stored: Hashes, target: Hashes) -> Changes:
        """The changes from the stored content hashes to the target ones."""
        common = stored.keys() & target.keys()
        unchanged = {identity for identity in common if stored[identity] == target[identity]}
        return cls(target.keys() - common, common - unchanged, unchanged, stored.keys() - common)

    @property
    def replaces(self) -> bool:
        """Whether something in the library is changed or removed."""
        return bool(self.changed or self.removed)

    @property
    def to_store(self) -> set[Identity]:
        """The new and the changed identities."""
        return self.new | self.changed


class StoredHashes:
    """The content hashes of everything in a library, read once per type, at first use."""

    def __init__(self, cache: SearchCache) -> None:
        self._cache = cache
        self._by_type: dict[str, dict[Identity, str]] = {}

    async def of(self, entity_type: str) -> dict[Identity, str]:
        """Content hashes by identity, of one type."""
        if entity_type not in self._by_type:
            self._by_type[entity_type] = await self._cache.content_hashes(entity_type)
        return self._by_type[entity_type]


class PendingEntities:
    """The new and changed entities of an import, until they are stored.

    They wait until there are `IMPORT_BATCH` of their type, or until all together have `IMPORT_CHARS`. Of several
    entries with one identity the last is kept, with a warning if their content differs; those that differ in lists alone become
    one (see `united`). A row of a table never replaces the
    whole entry, see `is_table_row`, and is replaced by it without a warning.

    Args:
        cache: what is imported into; ``stored`` are its content hashes.
        report: its ``stored``, ``unchanged``, ``failed`` and ``warnings`` are updated.
        vaults: keys of vaults, which only their notes are entries of: the next look at these would remove others.
    """

    def __init__(self, cache: SearchCache, report: ImportReport, vaults: Collection[str] = ()) -> None:
        self.stored, self._cache, self._report, self._vaults = StoredHashes(cache), cache, report, vaults
        self._last: dict[tuple[str, Identity], tuple[str, str]] = {}
        """Content hash and place of the last entry of each type and identity so far."""
        self._rows: set[tuple[str, Identity]] = set()
        """Of these, the rows of tables."""
        self._pending: dict[str, dict[Identity, Entity]] = {}
        self._chars = 0

    async def add(self, batch: Batch) -> None:
        """Add the entities of a batch that differ from the library and from earlier entries of the import."""
        for found in batch.entries:
            digest = found.digest
            if digest.identity[0] in self._vaults:
                self._report.failed.append(ImportFileError(found.where, of_vault(digest.identity[0])))
                continue
            whole = await self._with_earlier(found, digest)
            self._add(
                whole or found, (whole or found).digest, await self.stored.of(digest.type), is_united=whole is not None
            )
        self._chars += batch.chars

    async def _with_earlier(self, found: Found, digest: Digest) -> Entry | None:
        """An entry with what an earlier one of its identity lists besides; None if they are alike, or differ in more."""
        earlier_hash, _ = self._last.get((digest.type, digest.identity), (None, ""))
        if earlier_hash in (None, digest.content_hash) or digest.table_row:
            return None
        waiting = self._pending.get(digest.type, {}).get(digest.identity)
        known = [waiting] if waiting else await self._cache.load(digest.type, [digest.identity])
        is_it = bool(known) and known[0].content_hash == earlier_hash
        whole = united(known[0], found.entity) if is_it else None
        from lorekeeper.intake.formats.text_file import Entry

        return None if whole is None else Entry(whole, found.where)

    def has(self, entity: Entity) -> bool:
        """Whether this very entity is to be stored."""
        return self._pending.get(entity.type, {}).get(entity.identity) is entity

    def due(self, *, everything: bool = False) -> Iterator[dict[str, list[Entity]]]:
        """The entities to store now, of a type at a time, which are not kept; each is returned once."""
        everything = everything or self._chars > IMPORT_CHARS
        for entity_type in list(self._pending):
            if everything or len(self._pending[entity_type]) >= IMPORT_BATCH:
                yield {entity_type: list(self._pending.pop(entity_type).values())}
        self._chars = 0 if everything else self._chars

    def _add(self, found: Found, digest: Digest, stored: Hashes, *, is_united: bool) -> None:
        key, stored_hash = (digest.type, digest.identity), stored.get(digest.identity)
        earlier_hash, earlier_place = self._last.get(key, (None, ""))
        known = (earlier_hash or stored_hash) not in (None, digest.content_hash)
        if digest.table_row and known:
            return
        if earlier_hash is not None:
            self._count(-1, unchanged=earlier_hash == stored_hash)
            self._report.repeated += 1
            if earlier_hash != digest.content_hash and key not in self._rows and not is_united:
                self._warn(found, earlier_place)
        self._count(1, unchanged=stored_hash == digest.content_hash)
        self._last[key] = digest.content_hash, found.where
        (self._rows.add if digest.table_row else self._rows.discard)(key)
        waiting = self._pending.setdefault(digest.type, {})
        if digest.content_hash == stored_hash and digest.identity in waiting:
            del waiting[digest.identity]
        elif digest.content_hash != (earlier_hash or stored_hash):
            waiting[digest.identity] = found.entity

    def _count(self, number: int, *, unchanged: bool) -> None:
        if unchanged:
            self._report.unchanged += number
        else:
            self._report.stored += number

    def _warn(self, found: Found, earlier_place: str) -> None:
        uri = one_line(found.entity.uri, MAX_SHOWN)
        reason = f"{uri} is also in {earlier_place}, with other content; the last one is stored"
        self._report.warnings.append(ImportFileError(found.where, reason))


def of_vault(key: str) -> str:
    """Why nothing is imported into a vault, and what to do."""
    return f"'{key}' is the key of a vault, which holds only its notes: store the entries in another document with --document KEY"


async def store_in_batches(
    cache: SearchCache, by_type: Mapping[str, Sequence[Entity]], progress: Progress | None = None
) -> int:
    """Store entities by type, `IMPORT_BATCH` at a time, and return the memory that each took; returns how many."""
    number = 0
    for entity_type, entities in by_type.items():
        for first in range(0, len(entities), IMPORT_BATCH):
            number += await cache.store_entities(entities[first : first + IMPORT_BATCH], entity_type, progress)
            await asyncio.to_thread(return_memory)
    return number
