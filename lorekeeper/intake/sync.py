"""Syncs a library with an Open5e server: list by list, page by page; goes on where it was interrupted."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import MAX_KEY_LENGTH, Entity, parse_uri
from lorekeeper.errors import ImportFileError, SourceError, SourceUnavailableError
from lorekeeper.intake.audiences import as_secret_as
from lorekeeper.intake.book_tables import TableChanges, keep_tables_of
from lorekeeper.intake.changes import Hashes, is_unchanged
from lorekeeper.intake.open5e import PAGE_SIZE, Open5eClient, list_query
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.superseded import DOCUMENTS, is_packaged, remove_superseded, with_printed
from lorekeeper.intake.sync_state import (
    ALL,
    LOCK_SECONDS,
    BusyError,
    Read,
    Refresh,
    SyncState,
    load_state,
    problem_line,
    save,
    sync_lock,
)
from lorekeeper.normalize import UnknownShapeError, normalize_open5e
from lorekeeper.normalize.creatures import is_stub
from lorekeeper.normalize.open5e import ENDPOINTS, Endpoint, key_of
from lorekeeper.normalize.taken import texts_of
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.system import in_thread

T = TypeVar("T")

Step = Callable[[str, int, int], None]
"""Called, for an entity type, with how many more entries are to be read and how many more have been read."""

SOURCE = "open5e"
"""Prefix of `Entity.source_api` of what came from Open5e, and suffix of slugs that differ from those of other entries."""

MOST_UNAVAILABLE = 3
"""After so many lists in a row that were not to be had, the server is left alone until the next attempt."""

MAX_REASON = 500
"""Characters of the reason why an entry could not be read."""


def endpoints(types: Sequence[str]) -> list[Endpoint]:
    """The lists of entities of these types, the documents first."""
    lists = [e for e in ENDPOINTS.values() if e.type in types and e.version]
    return sorted(lists, key=lambda e: e.type != "documents")


class Syncer:
    """Brings lists of a server up to date, one after another: what a page has is stored before the next one is asked for.

    What is true of any list: after each page the library has what it says, the state knows where to go on, and what is on no
    list any more is removed once a list was read to its end. Children work when there is time (`refresh`).

    Args:
        cache: the library's.
        client: connects to the server.
        path: file of the library's `SyncState`.
        report: is updated.
        step: called with the progress.

    Attributes:
        hashes: content hashes of the library's entities, by type.
    """

    made_at_once = stored_at_once = PAGE_SIZE
    """Objects that are normalised at a time, and entities that are written at a time."""

    def __init__(
        self,
        cache: SearchCache,
        client: Open5eClient,
        path: Path,
        report: ImportReport,
        step: Step | None = None,
    ) -> None:
        self._cache, self._client, self._path, self.report = cache, client, path, report
        self.hashes: dict[str, dict[Identity, str]] = {}
        self._step: Step = step or (lambda *_: None)
        self._locked = False

    async def run(self, types: Sequence[str], documents: Sequence[str] | None) -> None:
        """Store what is new or changed; remove what came from the server and is no longer there.

        No other process syncs the library meanwhile. A list that cannot be read is reported, and the others are read all the
        same. What was stored before a sync was interrupted is not requested again by the same sync within a day.

        Raises:
            SourceUnavailableError: the server cannot be reached at all.
            CacheError: the library cannot be written, or another process is syncing it.
            EmbeddingError: the embedding model is not available.
        """
        synced = list(dict.fromkeys(["documents", *types]))
        async with in_thread(sync_lock(self._path, LOCK_SECONDS)):
            self._locked = True
            await self.read_hashes(synced)
            async with self.writing() as state:
                self._reset_if_entries_are_lost(synced, state)
                run = state.resume(synced, documents)
            await self.read_lists([(e, run.documents) for e in endpoints(synced) if not state.has_read(e.name, run)])
            async with self.writing() as state:
                unread = {e.type for e in endpoints(synced) if not state.has_read(e.name, run)}
                if not unread:
                    state.run = None
            books = [key for key in DOCUMENTS if documents is None or key in documents]
            for entity_type in synced:
                if entity_type not in unread:
                    await self._supersede(entity_type, books)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[SyncState]:
        """The state as it is now; saved after the body, with the library locked meanwhile."""
        async with nullcontext() if self._locked else in_thread(sync_lock(self._path, LOCK_SECONDS)):
            state = await asyncio.to_thread(load_state, self._path, self._client.base_url)
            yield state
            await asyncio.to_thread(save, self._path, state)

    async def wait(self) -> None:
        """Wait until the next request may be sent."""

    def portion(self) -> AbstractAsyncContextManager[None]:
        """A portion of work is done in the body."""
        return nullcontext()

    async def to_store(self, entities: Sequence[Entity]) -> Sequence[Entity]:
        """Those that have to be stored; ready to be."""
        return entities

    async def look_up(self, entity_type: str) -> None:
        """A type was written to."""

    async def read_hashes(self, types: Iterable[str]) -> None:
        """Read the content hashes of these types."""
        for each in types:
            self.hashes[each] = await self._cache.content_hashes(each)

    async def read_lists(self, due: Iterable[tuple[Endpoint, list[str] | None]]) -> None:
        """Read lists, each of some documents or of all; record how that went, and report what cannot be read.

        Raises:
            SourceUnavailableError: the server cannot be reached at all.
            BusyError: another process is syncing the library, which is no failure.
        """
        problem: Exception | None = None
        try:
            unavailable = 0
            for endpoint, documents in due:
                try:
                    if unavailable == MOST_UNAVAILABLE:
                        raise SourceUnavailableError("the lists before it were not available; try again later")
                    await self._read(endpoint, documents)
                    unavailable = 0
                except SourceError as error:
                    problem = error
                    self.report.failed.append(ImportFileError(list_path(endpoint), str(error)))
                    unavailable += isinstance(error, SourceUnavailableError) and unavailable < MOST_UNAVAILABLE
                    if not self._client.reached:
                        raise
        except BusyError:
            raise
        except Exception as error:  # whatever it is: without a pause the same page would be requested every minute
            await self._conclude(error)
            raise
        await self._conclude(problem)

    async def _conclude(self, problem: Exception | None) -> None:
        async with self.writing() as state:
            failures = state.refresh.failures + 1
            state.refresh = Refresh(failures, time.time(), problem_line(problem)) if problem else Refresh()

    async def _read(self, endpoint: Endpoint, documents: list[str] | None) -> None:
        """Read a list to its end, from where it was left within the last day.

        Raises:
            SourceUnavailableError: it cannot be read now, and is continued next time.
            SourceError: it changed meanwhile, or is none; next time it is read from its start.
        """
        await self.read_hashes([endpoint.type or ""])
        async with self.writing() as state:
            listed = state.of(endpoint.name)
            if listed.reading is None or not listed.reading.continues(documents):
                filtered = documents if endpoint.type != "documents" else None
                listed.reading = Read(documents, list_query(filtered, endpoint.version, shared=endpoint.shared))
            reading = listed.reading
        try:
            await self._pages(endpoint, reading)
        except SourceUnavailableError:
            raise
        except SourceError:
            async with self.writing() as state:
                state.of(endpoint.name).reading = None
            raise

    async def _pages(self, endpoint: Endpoint, reading: Read) -> None:
        count, objects = 0, reading.objects
        async with aclosing(self._client.pages(list_path(endpoint), reading.following, objects, self.wait)) as pages:
            async for page in pages:
                if not reading.objects:
                    self._step(endpoint.type or "", page.count, 0)
                reading.found |= await self._take(page.objects, endpoint, reading)
                self._step(endpoint.type or "", 0, len(page.objects))
                count, objects = page.count, objects + len(page.objects)
                if page.following is not None:
                    reading.following, reading.objects, reading.last = page.following, objects, time.time()
                    async with self.portion(), self.writing() as state:
                        state.of(endpoint.name).reading = reading
        require_all(objects, count)
        async with self.portion(), self.writing() as state:
            await self._complete(endpoint, reading, count, state)

    async def _take(self, objects: Sequence[Any], endpoint: Endpoint, reading: Read) -> set[str]:
        """Store what a page has that the library does not; the uris of all its entities."""
        entities, found = list[Entity](), set[str]()
        for part in _parts(objects, self.made_at_once):
            async with self.portion():
                made = await self._whole(self._entities(part, endpoint, reading), endpoint)
            new = await self.to_store(made)
            entities += new
            found |= {e.uri for e in made} - {e.uri for e in new}
        for stored in _parts(entities, self.stored_at_once):
            async with self.portion():
                async with self.writing() as state:
                    found |= await self._store(endpoint, stored, state)
                await self.look_up(endpoint.type or "")
        return found

    def _entities(self, objects: Sequence[Any], endpoint: Endpoint, reading: Read) -> list[Entity]:
        """The entities of objects, of the reading's documents only: servers ignore filters that they do not support."""
        entities: list[Entity] = []
        for obj in objects:
            try:
                made = entities_of(obj, endpoint)
                self.report.compare(list_path(endpoint), texts_of(obj, SOURCE), made)
                entities += made
            except UnknownShapeError as error:
                key = key_of(obj) if isinstance(obj, dict) else obj
                where, why = f"{list_path(endpoint)} {one_line(str(key), MAX_SHOWN)}", one_line(str(error), MAX_REASON)
                self.report.failed.append(ImportFileError(where, why))
                reading.failed += 1
        return [e for e in entities if reading.documents is None or e.document in reading.documents]

    async def _whole(self, entities: Sequence[Entity], endpoint: Endpoint) -> list[Entity]:
        """Entities with what only the printed pages have of them, and the library has kept."""
        assert endpoint.type is not None
        own = [each.identity for each in entities if each.document in DOCUMENTS]
        stored = await self._cache.load(endpoint.type, own) if own else []
        printed = {each.identity: each.data for each in stored if _is_from_source(each)}
        whole = ((each, with_printed(each.data, printed.get(each.identity, {}))) for each in entities)
        made = [each for old, data in whole for each in ([old] if data is old.data else entities_of(data, endpoint))]
        return [*{each.identity: each for each in made}.values()]

    async def _store(self, endpoint: Endpoint, entities: Sequence[Entity], state: SyncState) -> set[str]:
        """Store what is new or changed; returns the uris of all entities, as they are in the library."""
        assert endpoint.type is not None
        hashes = self.hashes[endpoint.type]
        outcome = await store_from_source(self._cache, endpoint.type, entities, hashes)
        hashes.update({e.identity: e.content_hash for e in outcome.stored})
        for uri in outcome.removed:
            hashes.pop(_identity(uri), None)
        state.of(endpoint.name).seen.difference_update(outcome.removed)
        for uri, renamed in outcome.clashes:
            reason = f"the library has its own entry {uri}, which stays; this one is stored as {renamed}"
            self.report.warnings.append(ImportFileError(list_path(endpoint), reason))
        outcome.tables.add_to(self.report)
        stored, unchanged = len(outcome.stored), len(outcome.unchanged)
        self._count(endpoint.type, stored=stored, unchanged=unchanged, removed=len(outcome.removed))
        return {e.uri for e in (*outcome.stored, *outcome.unchanged)}

    async def _complete(self, endpoint: Endpoint, reading: Read, count: int, state: SyncState) -> None:
        """Remove what is no longer in a list of ``count`` objects that was read to its end; record that it was read."""
        listed = state.of(endpoint.name)
        if not reading.failed:
            await self._remove(endpoint, reading, count, state)
        listed.seen |= reading.found
        listed.whole.update(dict.fromkeys([ALL] if reading.documents is None else reading.documents, time.time()))
        listed.reading = None

    async def _remove(self, endpoint: Endpoint, reading: Read, count: int, state: SyncState) -> None:
        """Remove what came from this list and is no longer in it or in any other."""
        assert endpoint.type is not None
        elsewhere = {u for name, listed in state.lists.items() if name != endpoint.name for u in listed.seen}
        before = state.of(endpoint.name).seen
        within = {u for u in before if reading.documents is None or parse_uri(u)[1] in reading.documents}
        obsolete = [_identity(u) for u in sorted(within - reading.found - elsewhere)]
        if obsolete and not count:
            reason = f"it is empty now; the {len(obsolete)} entries that came from it earlier stay"
            self.report.failed.append(ImportFileError(list_path(endpoint), reason))
            return
        removable = [e.identity for e in await self._cache.load(endpoint.type, obsolete) if _is_from_source(e)]
        self._count(endpoint.type, removed=await self._cache.delete_entities(endpoint.type, removable))
        (await keep_tables_of(self._cache, (), {(endpoint.type, i) for i in removable})).add_to(self.report)
        state.of(endpoint.name).seen = before - within

    def _count(self, entity_type: str, **numbers: int) -> None:
        for name, number in numbers.items():
            self.report.by_type.setdefault(entity_type, Counter())[name] += number
            setattr(self.report, name, getattr(self.report, name) + number)

    async def _supersede(self, entity_type: str, documents: Sequence[str]) -> None:
        """Remove the packages' entries of a type that was read whole; those that the source lacks stay, and are named."""
        covered, kept = await remove_superseded(self._cache, entity_type, documents)
        self._count(entity_type, removed=len(covered))
        (await keep_tables_of(self._cache, (), {(entity_type, each) for each in covered})).add_to(self.report)
        for document in documents:
            names = [each.name for each in kept if each.document == document]
            if names:
                reason = f"{len(names):,} entries stay that the server lacks: {', '.join(names)}"
                self.report.warnings.append(ImportFileError(f"{document} {entity_type}", reason))

    def _reset_if_entries_are_lost(self, types: Sequence[str], state: SyncState) -> None:
        """Start over if the library lacks entries of the state: it was deleted, or is another one."""
        seen = [(e.type or "", uri) for e in endpoints(types) for uri in state.of(e.name).seen]
        if any(_identity(uri) not in self.hashes[entity_type] for entity_type, uri in seen):
            state.lists, state.run = {}, None


@dataclass
class Outcome:
    """What became of entities that came from a source.

    Attributes:
        stored: those that were new or had changed, as stored.
        unchanged: those that the library already has, with the same content.
        removed: uris of copies that were removed because their entity is now stored under its own slug.
        clashes: uris of entries that are not from the source, each with the uri under which the source's entity is stored.
        tables: what became of the tables in their texts.
    """

    stored: list[Entity] = field(default_factory=list)
    unchanged: list[Entity] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    clashes: list[tuple[str, str]] = field(default_factory=list)
    tables: TableChanges = field(default_factory=TableChanges)


async def store_from_source(
    cache: SearchCache, entity_type: str, entities: Sequence[Entity], hashes: Hashes | None = None
) -> Outcome:
    """Store what came from a source, without replacing anything that did not come from it.

    If the library has an entry of its own under an entity's identity, the entity is stored beside it, under the first of its
    slugs with a suffix (`_with_suffix`) that is free or already its own. Once that entry is removed, the entity is stored under
    its own slug, and the copy with the suffix is removed. What was imported for the game master alone stays so.

    Args:
        cache: the library's.
        entity_type: type of all the entities.
        entities: from the source; if several have one identity, the last is stored.
        hashes: content hashes of the library's entities, as far as they are known; they save loading entities.
    """
    outcome, known = Outcome(), hashes or {}
    arriving = {e.identity: e for e in entities}.values()
    outcome.unchanged += (e for e in arriving if is_unchanged(e, known))
    differing = [e for e in arriving if not is_unchanged(e, known)]
    held = await _held(cache, [each for e in differing for each in (e, _with_suffix(e, 1))])
    for entity in differing:
        kept, number = entity, 1
        while (occupant := held.get(kept.identity)) is not None and not _is_from_source(occupant):
            kept, number = _with_suffix(entity, number), number + 1
            held |= await _held(cache, [kept, _with_suffix(entity, number)])
        if kept is not entity:
            outcome.clashes.append((entity.uri, kept.uri))
        kept = kept if occupant is None else as_secret_as(kept, occupant)
        is_held = occupant is not None and occupant.content_hash == kept.content_hash
        (outcome.unchanged if is_held else outcome.stored).append(kept)
        copy = held.get(_with_suffix(entity, number).identity)
        if copy is not None and copy.content_hash == kept.content_hash:
            outcome.removed.append(copy.uri)
    await cache.store_entities(outcome.stored, entity_type)
    if outcome.removed:
        await cache.delete_entities(entity_type, map(_identity, outcome.removed))
    gone = {(entity_type, _identity(uri)) for uri in outcome.removed}
    outcome.tables = await keep_tables_of(cache, (*outcome.stored, *outcome.unchanged), gone)
    return outcome


async def _held(cache: SearchCache, entities: Sequence[Entity]) -> dict[Identity, Entity]:
    """What the library has under the identities of entities of one type."""
    identities = [each.identity for each in entities]
    return {e.identity: e for e in await cache.load(entities[0].type, identities)} if entities else {}


def _is_from_source(entity: Entity) -> bool:
    """Whether the source may replace an entry: it is its own, or that of a package with the same documents."""
    return entity.source_api.startswith(SOURCE) or is_packaged(entity)


def _with_suffix(entity: Entity, number: int) -> Entity:
    """An entity under another slug, as in ``fireball-open5e`` and ``fireball-open5e-2``; a document under another key."""
    suffix = f"-{SOURCE}" if number == 1 else f"-{SOURCE}-{number}"
    slug = entity.slug + suffix
    if len(slug) > MAX_KEY_LENGTH:
        digest = hashlib.blake2b(entity.slug.encode(), digest_size=8).hexdigest()
        slug = f"{entity.slug[: MAX_KEY_LENGTH - len(suffix) - len(digest)]}{digest}{suffix}"
    return replace(entity, slug=slug, document=slug if entity.type == "documents" else entity.document)


def _parts(items: Sequence[T], number: int) -> Iterator[Sequence[T]]:
    """Items in order, so many at a time."""
    return (items[start : start + number] for start in range(0, len(items), number))


def entities_of(obj: Any, endpoint: Endpoint) -> list[Entity]:
    """The entities of one object of a list; UnknownShapeError if it is not of that list's type. The list has stubs whole, too."""
    entities = [entity for entity in normalize_open5e(obj, hint=endpoint.name) if not is_stub(entity)]
    for entity in entities:
        if entity.type != endpoint.type:
            raise UnknownShapeError(f"its keys are those of another type, {entity.type}")
    return entities


def require_all(objects: int, count: int) -> None:
    """SourceError if a list that was read to its end had not as many objects as it announced."""
    if objects != count:
        raise SourceError(f"it announced {count} entries but returned {objects}; run the same command again")


def list_path(endpoint: Endpoint) -> str:
    """Path of a list on the server."""
    return f"v{endpoint.version}/{endpoint.name}"


def _identity(uri: str) -> Identity:
    _, document, slug = parse_uri(uri)
    return document, slug
