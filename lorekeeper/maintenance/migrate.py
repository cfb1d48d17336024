"""``lorekeeper migrate``: entries of another library file, or of an earlier cache, copied to the library.

What the library already has is left alone, so that a migration can be stopped and run again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lorekeeper.cache.protocol import Identity, Progress
from lorekeeper.composition import foreign_database, open_file, same_library, vector_cache, vectors_at
from lorekeeper.entities import MAX_KEY_LENGTH, Entity, parse_json
from lorekeeper.errors import FilterError, ImportFileError
from lorekeeper.intake.book_tables import keep_tables_of
from lorekeeper.intake.changes import StoredHashes, is_unchanged, store_in_batches
from lorekeeper.intake.reports import Report
from lorekeeper.library import Library
from lorekeeper.maintenance.earlier import current_entity
from lorekeeper.maintenance.mapping import EXAMPLE, TableMapping
from lorekeeper.normalize import UnknownShapeError, legacy
from lorekeeper.normalize.plain import plain_entity
from lorekeeper.printable import MAX_REASON, one_line
from lorekeeper.settings import Settings

if TYPE_CHECKING:
    from lorekeeper.cache.milvus.source import ForeignDatabase
    from lorekeeper.cache.sqlite.foreign import SourceRow, SqliteSource

Key = tuple[str, Identity]
"""(type, identity) of an entity."""

_NONE_FOREIGN = (
    "it has no collections of another program; if it is a library of LoreKeeper's, open it once, "
    "for example with 'lorekeeper stats', which rebuilds its keyword index"
)

COUNTS = ("read", "stored", "unchanged", "merged", "skipped")


@dataclass
class Failure:
    """An entry that could not be migrated: its key, None if it has none, and why."""

    slug: str | None
    reason: str


@dataclass
class TableReport:
    """What became of a table's entries: ``read`` is the sum of all other numbers, but for a type that
    only another program declares, whose entries are one failure.

    Attributes:
        read: entries in the table.
        stored: written to the library (or, in a dry run, to be written).
        unchanged: in the library with the same content, or completely if the cache kept only a part.
        merged: another entry of the source has the same identity, and was updated later or came first.
        skipped: bookkeeping without lore.
        failed: could not be migrated.
    """

    read: int = 0
    stored: int = 0
    unchanged: int = 0
    merged: int = 0
    skipped: int = 0
    failed: list[Failure] = field(default_factory=list)


@dataclass
class MigrationReport(Report):
    """What a migration did."""

    KEYS = ("embedded", "seconds", "tables")

    source: str
    tables: dict[str, TableReport] = field(default_factory=dict)

    def total(self, name: str) -> int:
        """Sum of one of the `COUNTS` over all tables."""
        return sum(getattr(table, name) for table in self.tables.values())

    @property
    def failed(self) -> list[tuple[str, Failure]]:
        """(table, failure) of all that could not be migrated."""
        return [(name, failure) for name, table in self.tables.items() for failure in table.failed]

    def as_dict(self) -> dict[str, Any]:
        """``{"source", "read", "stored", ..., "failed", "embedded", "seconds", "tables": {name: {...}}}``."""
        totals = {name: self.total(name) for name in COUNTS}
        return {"source": self.source, **totals, "failed": len(self.failed), **super().as_dict()}


@dataclass
class _Entry:
    """One row of the source that can be migrated: its table, its entities (a class and its subclasses), and its age."""

    table: str
    entities: list[Entity]
    updated: float

    @property
    def key(self) -> Key:
        return self.entities[0].type, self.entities[0].identity


async def migrate(
    settings: Settings,
    source: Path,
    mappings: Sequence[TableMapping] = (),
    *,
    dry_run: bool = False,
    start: Progress | None = None,
    progress: Progress | None = None,
) -> MigrationReport:
    """Copy a whole SQLite file, or the folder of an embedded Milvus library, to the library of the settings.

    The source is opened read-only and never changed.

    Args:
        settings: say which library.
        source: the file or folder.
        mappings: what the tables or Milvus collections of another program hold; none for what LoreKeeper knows.
        dry_run: read and count only.
        start: called with the number of entities to store.
        progress: called with the number of further entities stored.

    Raises:
        ImportFileError: the source cannot be read, or is the library itself.
    """
    report = MigrationReport(str(source))
    async with Library.from_settings(settings) as library:
        with report.measured(library.embedding):
            entries = await asyncio.to_thread(_read, settings, source, report, mappings)
            changed = await _changed(library, entries, report)
            if start:
                start(sum(map(len, changed.values())))
            if changed and not dry_run:
                if not mappings:
                    await _adopt_vectors(settings, library, source, changed)
                await store_in_batches(library.cache, changed, progress)
                await keep_tables_of(library.cache, (entity for each in changed.values() for entity in each))
    return report


# --- reading the source ----------------------------------------------------------------------------------------------


def _read(settings: Settings, source: Path, report: MigrationReport, mappings: Sequence[TableMapping]) -> list[_Entry]:
    """All entries of a source; of several with one identity, the one updated last is kept, else the first."""
    if same_library(settings, source):
        raise ImportFileError(
            str(source),
            "is the current library itself; set LOREKEEPER_CACHE_BACKEND to the backend to migrate to, or LOREKEEPER_MILVUS_URI to "
            "the server",
        )
    chosen: dict[Key, _Entry] = {}
    database = foreign_database(source)
    if mappings or database:
        for mapping, rows in _foreign_rows(source, database, mappings):
            counts = report.tables.setdefault(mapping.table, TableReport())
            for entry in _mapped(mapping, rows, counts):
                _choose(entry, chosen, report)
        return list(chosen.values())
    with open_file(source) as file:
        titles = _titles(file)
        for table in file.tables:
            report.tables[table] = TableReport()
            for entry in _entries(file, table, report.tables[table], titles):
                _choose(entry, chosen, report)
        for name, number in file.undeclared().items():
            reason = f"{number:,} entries of this type stay behind: only the program that declares it can copy them"
            report.tables[name] = TableReport(number, failed=[Failure(None, reason)])
    return list(chosen.values())


def _foreign_rows(
    source: Path, database: ForeignDatabase | None, mappings: Sequence[TableMapping]
) -> Iterator[tuple[TableMapping, Iterable[Mapping[str, Any] | None]]]:
    """The rows of each table of another program that is mapped; ImportFileError, which names its tables, if none is."""
    if database is None:
        with open_file(source, [mapping.table for mapping in mappings]) as file:
            for mapping in mappings:
                mapping.require_columns(file.columns(mapping.table))
                yield mapping, file.objects(mapping.table)
        return
    present = database.collections()
    if not mappings or (missing := [m.table for m in mappings if m.table not in present]):
        wrong = f"has no collection {missing[0]}" if mappings else "was not made by LoreKeeper"
        held = f"its collections are {', '.join(present)}" if present else _NONE_FOREIGN
        raise ImportFileError(
            str(source),
            f"{wrong}; {held}. Say what each holds, for example --map 'monsters=creatures' or --map '{EXAMPLE}'",
        )
    for mapping in mappings:
        rows = database.rows(mapping.table)
        mapping.require_columns(dict.fromkeys([*present[mapping.table], *(key for row in rows for key in row)]))
        yield mapping, rows


def _mapped(mapping: TableMapping, rows: Iterable[Mapping[str, Any] | None], counts: TableReport) -> Iterator[_Entry]:
    """The entries of a mapped table's rows; each row is counted."""
    for row in rows:
        counts.read += 1
        try:
            if row is None:
                raise UnknownShapeError("its row is damaged, or too large")
            obj = mapping.object_of(row)
            yield _Entry(mapping.table, [plain_entity(obj, mapping.entity_type)], 0.0)
        except (FilterError, ValueError) as error:
            name = next((str(row[key]) for key in ("slug", "name", "id") if row and row.get(key)), None)
            counts.failed.append(Failure(name and name[:MAX_KEY_LENGTH], one_line(str(error), MAX_REASON)))


def _choose(entry: _Entry, chosen: dict[Key, _Entry], report: MigrationReport) -> None:
    """Keep an entry, unless another one of its identity is newer or, if they are equally old, came first."""
    other = chosen.get(entry.key)
    if other is None:
        chosen[entry.key] = entry
    elif entry.updated > other.updated:
        report.tables[other.table].merged += 1
        chosen[entry.key] = entry
    else:
        report.tables[entry.table].merged += 1


def _titles(file: SqliteSource) -> legacy.Titles:
    """The documents that the source describes, by title; unreadable ones are reported when the table itself is read."""
    table = "documents"
    entries = _entries(file, table, TableReport(), {}) if table in file.tables else ()
    return legacy.titles(entity for entry in entries for entity in entry.entities)


def _entries(file: SqliteSource, table: str, counts: TableReport, titles: legacy.Titles) -> Iterator[_Entry]:
    for row in file.rows(table):
        counts.read += 1
        try:
            entities = _entities(file, table, row)
        except (FilterError, ValueError) as error:
            reason = one_line(str(error), MAX_REASON)
            counts.failed.append(Failure(row.slug and row.slug[:MAX_KEY_LENGTH], reason))
            continue
        if entities:
            yield _Entry(table, [legacy.corrected(entity, titles) or entity for entity in entities], row.updated)
        else:
            counts.skipped += 1


def _entities(file: SqliteSource, table: str, row: SourceRow) -> list[Entity]:
    """The entities of a row; ValueError or FilterError if it cannot be read."""
    if row.problem:
        raise UnknownShapeError(row.problem)
    content = row.content or ""
    if file.ours:
        return [current_entity(table, parse_json(content), file.fields.get(table, ""))]
    return legacy.entities(
        table, content, slug=row.slug or "", name=row.name, document=row.document, source_api=row.source_api
    )


async def _adopt_vectors(
    settings: Settings, library: Library, source: Path, by_type: Mapping[str, Sequence[Entity]]
) -> None:
    """Add a source's vectors to the embedding cache: those of its own entries' texts, by the current model."""
    provider = await library.embedding.provider()
    entities = [entity for entities in by_type.values() for entity in entities]

    def adopt() -> None:
        with closing(vector_cache(settings)) as vectors, open_file(source) as file:
            found = itertools.chain(file.vectors(), vectors_at(source))
            vectors.adopt(found, provider.fingerprint, entities, provider.dimension)

    await asyncio.to_thread(adopt)


# --- comparing with the library --------------------------------------------------------------------------------------


async def _changed(library: Library, entries: list[_Entry], report: MigrationReport) -> dict[str, list[Entity]]:
    """The entities that are new or differ from the library's, by type; each row is counted."""
    stored_hashes, keys = StoredHashes(library.cache), {entry.key for entry in entries}
    changed: dict[Key, Entity] = {}
    for entry in entries:
        first, *children = entry.entities
        entities = [first, *(entity for entity in children if (entity.type, entity.identity) not in keys)]
        changes = [entity for entity in entities if await _is_change(library, stored_hashes, entity)]
        changed |= {(entity.type, entity.identity): entity for entity in changes}
        if changes:
            report.tables[entry.table].stored += 1
        else:
            report.tables[entry.table].unchanged += 1
    types = dict.fromkeys(entity.type for entity in changed.values())
    return {name: [entity for entity in changed.values() if entity.type == name] for name in types}


async def _is_change(library: Library, stored_hashes: StoredHashes, entity: Entity) -> bool:
    hashes = await stored_hashes.of(entity.type)
    if is_unchanged(entity, hashes):
        return False
    return entity.identity not in hashes or not await _is_complete(library, entity)


async def _is_complete(library: Library, entity: Entity) -> bool:
    """Whether the library has the complete entry from Open5e, of which an earlier cache kept only some values."""
    if entity.source_api != "open5e-v2" or "key" in entity.data:
        return False
    complete = await library.cache.get_entity(entity.type, *entity.identity)
    return complete is not None and complete.source_api == "open5e-v2" and "key" in complete.data
