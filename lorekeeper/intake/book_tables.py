"""Keeps the tables of books in step with the entries that they are from: files and servers alike.

The entries of an import or a sync are the truth. Whatever they are, new, changed or unchanged, the library then has exactly the
tables that `normalize.book_tables` makes of them: what an earlier version did not make is made now, and nothing else is embedded.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lorekeeper.cache.protocol import BATCH, SearchCache
from lorekeeper.entities import MAX_KEY_LENGTH, Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.book_tables import KIND, TYPE, Key, book_tables, entry_of
from lorekeeper.normalize.build import DIGEST_LENGTH

if TYPE_CHECKING:
    from lorekeeper.intake.files import Batch
    from lorekeeper.intake.formats.text_file import Found

MOST_WAITING = 4 * BATCH
"""Most tables of an import that wait until they are stored; those of one batch come on top."""


@dataclass
class Made:
    """What entries have given.

    Attributes:
        tables: by entry; an entry without any has none here, which matters if it had some before.
        problems: what could not be made, and where.
    """

    tables: dict[Key, Sequence[Entity]] = field(default_factory=dict)
    problems: list[ImportFileError] = field(default_factory=list)

    def add(self, entity: Entity, where: str) -> None:
        """Add what an entry gives, instead of what an earlier one of its identity gave."""
        made = book_tables(entity)
        self.tables[entity.type, entity.identity] = made.entities
        self.problems += [ImportFileError(where, problem) for problem in made.problems]

    @classmethod
    def of(cls, entities: Iterable[Entity]) -> Made:
        """What entries give that are in the library. Blocking, for some milliseconds an entry with tables."""
        made = cls()
        for entity in entities:
            made.add(entity, entity.uri)
        return made


@dataclass
class TableChanges:
    """What became of the tables of entries.

    Attributes:
        counts: how many were "stored", "unchanged" and "removed".
        problems: as in `Made`.
    """

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[ImportFileError] = field(default_factory=list)

    def add_to(self, report: ImportReport) -> None:
        """Add it to the report of an import or a sync."""
        report.tables += self.counts
        report.warnings += self.problems


class ImportedTables:
    """The tables of the entries of an import.

    Args:
        cache: what is imported into.
        report: its ``tables`` and ``warnings`` are updated.
        dry_run: count only.
    """

    def __init__(self, cache: SearchCache, report: ImportReport, *, dry_run: bool) -> None:
        self._cache, self._report, self._dry_run = cache, report, dry_run
        self._made = Made()

    async def add(self, batch: Batch) -> None:
        """Add those of a batch, and store what there is, if that is much."""
        await asyncio.to_thread(self._make, batch.entries)
        if sum(map(len, self._made.tables.values())) >= MOST_WAITING:
            await self.store()

    async def store(self) -> None:
        """Bring the library in step with what was added."""
        made, self._made = self._made, Made()
        (await keep_tables(self._cache, made, dry_run=self._dry_run)).add_to(self._report)

    def _make(self, entries: Sequence[Found]) -> None:
        for found in entries:
            digest = found.digest
            if digest.tables:
                self._made.add(found.entity, found.where)
            elif not digest.table_row:
                self._made.tables[digest.type, digest.identity] = ()


async def keep_tables_of(cache: SearchCache, entities: Iterable[Entity], gone: Collection[Key] = ()) -> TableChanges:
    """Bring the tables of entries of the library in step with these, and remove those of entries that are gone."""
    made = await asyncio.to_thread(Made.of, entities)
    made.tables |= dict.fromkeys(gone, ())
    return await keep_tables(cache, made)


async def keep_tables(cache: SearchCache, made: Made, *, dry_run: bool = False) -> TableChanges:
    """Store the tables of entries that the library lacks or has otherwise, and remove those that they have no more."""
    wanted = {table.identity: table for tables in made.tables.values() for table in tables}
    present = {table.identity: table.content_hash for table in await _stored(cache, made.tables.keys())}
    due = [table for table in wanted.values() if present.get(table.identity) != table.content_hash]
    obsolete = present.keys() - wanted.keys()
    if not dry_run:
        for first in range(0, len(due), BATCH):
            await cache.store_entities(due[first : first + BATCH], TYPE)
        if obsolete:
            await cache.delete_entities(TYPE, sorted(obsolete))
    counts = Counter(stored=len(due), unchanged=len(wanted) - len(due), removed=len(obsolete))
    return TableChanges(counts, made.problems)


async def count_entries(cache: SearchCache, entity_type: str, sources: Sequence[str]) -> int:
    """How many entries of a type come from these sources, not counting tables that were made of others."""
    tables = await cache.count_entities(entity_type, kind=KIND, source_api=list(sources))
    return await cache.count_entities(entity_type, source_api=list(sources)) - tables


async def _stored(cache: SearchCache, entries: Collection[Key]) -> list[Entity]:
    """The tables of entries that the library has: an indexed query, and those whose slug begins as one of theirs."""
    documents = sorted({document for _, (document, _) in entries})
    beginnings = {(document, _beginning(slug)) for _, (document, slug) in entries}
    found = await cache.identities(TYPE, documents, kind=KIND) if documents else []
    theirs = [(document, slug) for document, slug in found if _begins_as_one(document, slug, beginnings)]
    loaded = await cache.load(TYPE, theirs) if theirs else []
    return [table for table in loaded if entry_of(table) in entries]


def _beginning(slug: str) -> str:
    """How the slugs of the tables of an entry begin: as its own, which may be cut."""
    return slug[: MAX_KEY_LENGTH - DIGEST_LENGTH - 1]


def _begins_as_one(document: str, slug: str, beginnings: Collection[tuple[str, str]]) -> bool:
    """Whether a slug begins as one of these, up to one of its hyphens."""
    ends = (end for end, character in enumerate(slug) if character == "-")
    return any((document, slug[:end]) in beginnings for end in ends)
