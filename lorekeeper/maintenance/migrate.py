"""From another file to the library in force: our own SQLite libraries, companions of Milvus libraries, earlier caches.

What the library already holds as it is, is left alone, so that a migration can be stopped and run again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lorekeeper.cache.protocol import Progress
from lorekeeper.entities import MAX_KEY_LENGTH, Entity, parse_json
from lorekeeper.errors import FilterError, ImportFileError
from lorekeeper.library import Library, store_in_batches, vector_cache
from lorekeeper.maintenance.earlier import current_entity
from lorekeeper.normalize import UnknownShapeError, legacy
from lorekeeper.printable import MAX_REASON, one_line
from lorekeeper.settings import Settings

if TYPE_CHECKING:
    from lorekeeper.cache.sqlite.foreign import SqliteSource
    from lorekeeper.cache.vectors import VectorCache

Row = tuple[str, tuple[str, str]]
"""(type, identity)."""


@dataclass
class Failure:
    """An entry that could not be taken over: its key, None where it has none, and why."""

    slug: str | None
    reason: str


@dataclass
class TableReport:
    """What became of a table's entries: ``read`` is the sum of all that follow.

    Attributes:
        read: entries found.
        stored: written to the library (or, in a dry run, to be written).
        unchanged: already there as they are, or as their source gives them whole where the cache kept a part.
        merged: another entry of the source has the same identity, and was updated later or came first.
        skipped: bookkeeping that holds no lore.
        failed: could not be taken over.
    """

    read: int = 0
    stored: int = 0
    unchanged: int = 0
    merged: int = 0
    skipped: int = 0
    failed: list[Failure] = field(default_factory=list)


@dataclass
class MigrationReport:
    """What a migration did. `as_dict` is its public shape."""

    source: str
    tables: dict[str, TableReport] = field(default_factory=dict)
    embedded: int = 0
    seconds: float = 0.0

    def total(self, name: str) -> int:
        """Sum of a number over all tables."""
        return sum(getattr(table, name) for table in self.tables.values())

    @property
    def failed(self) -> list[tuple[str, Failure]]:
        """(table, failure) of all that could not be taken over."""
        return [(name, failure) for name, table in self.tables.items() for failure in table.failed]

    def as_dict(self) -> dict[str, Any]:
        """``{"source", "stored", "unchanged", "merged", "failed", "embedded", "seconds", "tables": {name: {...}}}``."""
        return {
            "source": self.source,
            **{name: self.total(name) for name in ("read", "stored", "unchanged", "merged", "skipped")},
            "failed": len(self.failed),
            "embedded": self.embedded,
            "seconds": round(self.seconds, 2),
            "tables": {name: asdict(table) for name, table in self.tables.items()},
        }


@dataclass
class _Entry:
    """One row of the source that can be taken over: its entities (a class brings its subclasses), where, how new."""

    table: str
    entities: list[Entity]
    updated: float


async def migrate(
    settings: Settings,
    source: Path,
    *,
    dry_run: bool = False,
    start: Progress | None = None,
    progress: Progress | None = None,
) -> MigrationReport:
    """Take over a whole SQLite file, or the folder of an embedded Milvus library, into the library of the settings.

    The source is opened read-only and never changed.

    Args:
        settings: say which library.
        source: the file or folder.
        dry_run: read and count only.
        start: told the number of entities to store.
        progress: told of each batch that was stored.

    Raises:
        ImportFileError: the source cannot be read, or is the library itself.
    """
    began = time.monotonic()
    _refuse_itself(source, settings)
    report = MigrationReport(str(source))
    entries = await asyncio.to_thread(_read, source, report)
    async with Library.from_settings(settings) as library:
        before = library.embedding.computed
        fresh = await _fresh(library, entries, report)
        if start:
            start(sum(map(len, fresh.values())))
        if fresh and not dry_run:
            await _take_own_vectors(settings, library, source, fresh)
            await store_in_batches(library.cache, fresh, progress)
        report.embedded = library.embedding.computed - before
    report.seconds = time.monotonic() - began
    return report


def _refuse_itself(source: Path, settings: Settings) -> None:
    target = settings.library_path
    places = [target, target.with_name(f"{target.name}.keywords")]
    if any(place.exists() and source.exists() and source.samefile(place) for place in places):
        raise ImportFileError(
            str(source), "is the library in force itself; set LOREKEEPER_CACHE_BACKEND to the one to migrate to"
        )


def _read(source: Path, report: MigrationReport) -> list[_Entry]:
    """All entries of a source, those of equal identity merged: the one updated last is kept, else the first."""
    from lorekeeper.cache.sqlite.foreign import SqliteSource

    chosen: dict[Row, _Entry] = {}
    with SqliteSource(source) as opened:
        known = _titles(opened)
        for table in opened.tables:
            said = report.tables[table] = TableReport()
            for entry in _entries(opened, table, said, known):
                own = entry.entities[0]
                key = own.type, own.identity
                other = chosen.get(key)
                if other is None:
                    chosen[key] = entry
                elif entry.updated > other.updated:
                    report.tables[other.table].merged += 1
                    chosen[key] = entry
                else:
                    said.merged += 1
    return list(chosen.values())


def _titles(opened: SqliteSource) -> legacy.Titles:
    """The documents that the source describes, by title; what cannot be read is reported when its turn comes."""
    table = "documents"
    said = TableReport()
    entries = _entries(opened, table, said, {}) if table in opened.tables else ()
    return legacy.titles(entity for entry in entries for entity in entry.entities)


def _entries(opened: SqliteSource, table: str, said: TableReport, known: legacy.Titles) -> Iterator[_Entry]:
    for row in opened.rows(table):
        said.read += 1
        try:
            if row.problem:
                raise UnknownShapeError(row.problem)
            found = (
                [current_entity(table, parse_json(row.content or ""), opened.fields.get(table, ""))]
                if opened.ours
                else legacy.entities(
                    table,
                    row.content or "",
                    slug=row.slug or "",
                    name=row.name,
                    document=row.document,
                    source_api=row.source_api,
                )
            )
        except (FilterError, ValueError) as error:
            said.failed.append(Failure(row.slug and row.slug[:MAX_KEY_LENGTH], one_line(str(error), MAX_REASON)))
            continue
        if found:
            yield _Entry(table, [legacy.corrected(e, known) or e for e in found], row.updated)
        else:
            said.skipped += 1


def take_vectors(
    source: Path, known: VectorCache, keys: Collection[bytes] | None = None, dimension: int | None = None
) -> None:
    """Hand a SQLite library's vectors to a cache of known ones, so that none is computed again. Blocking.

    Args:
        source: the file.
        known: the cache.
        keys: `vector_key` of the only texts whose vectors are taken: those of the entries that come with them. None for all,
            of the user's own library.
        dimension: of the vectors that are taken; None for any.
    """
    from lorekeeper.cache.sqlite.foreign import SqliteSource

    with SqliteSource(source) as opened:
        for rows in opened.vectors():
            known.add([row for row in rows if keys is None or row[0] in keys], dimension)


async def _take_own_vectors(
    settings: Settings, library: Library, source: Path, fresh: Mapping[str, Sequence[Entity]]
) -> None:
    """Take over those vectors of a source that are of the texts of its own entries, and of the current model."""
    from lorekeeper.cache.vectors import passage_keys

    provider, known = await library.embedding.provider(), vector_cache(settings)
    entities = [entity for found in fresh.values() for entity in found]
    keys = await asyncio.to_thread(lambda: set(passage_keys(provider.fingerprint, entities)))
    await asyncio.to_thread(take_vectors, source, known, keys, provider.dimension)
    known.close()


async def _fresh(library: Library, entries: list[_Entry], report: MigrationReport) -> dict[str, list[Entity]]:
    """The entities that the library does not hold as they are, by type; each row is counted."""
    hashes: dict[str, dict[tuple[str, str], str]] = {}
    by_type: dict[str, dict[tuple[str, str], Entity]] = {}
    heads = {(e.entities[0].type, e.entities[0].identity) for e in entries}
    for entry in entries:
        changed = False
        for number, entity in enumerate(entry.entities):
            if number and (entity.type, entity.identity) in heads:
                continue  # it has a row of its own
            if entity.type not in hashes:
                hashes[entity.type] = await library.cache.content_hashes(entity.type)
            held = hashes[entity.type].get(entity.identity)
            if held != entity.content_hash and not (held and await _is_held_whole(library, entity)):
                by_type.setdefault(entity.type, {})[entity.identity] = entity
                changed = True
        if changed:
            report.tables[entry.table].stored += 1
        else:
            report.tables[entry.table].unchanged += 1
    return {entity_type: list(found.values()) for entity_type, found in by_type.items()}


async def _is_held_whole(library: Library, entity: Entity) -> bool:
    """Whether the library has an entry from Open5e itself, of which an earlier cache kept only some of the values."""
    if entity.source_api != "open5e-v2" or "key" in entity.data:
        return False
    held = await library.cache.get_entity(entity.type, *entity.identity)
    return held is not None and held.source_api == "open5e-v2" and "key" in held.data
