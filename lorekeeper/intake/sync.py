"""Syncs a library with an Open5e server: list by list, page by page; resumes where it was interrupted."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import MAX_KEY_LENGTH, Entity, parse_uri
from lorekeeper.errors import ImportFileError, LoreKeeperError, SourceError, SourceUnavailableError
from lorekeeper.intake.audiences import as_secret_as
from lorekeeper.intake.book_tables import TableChanges, keep_tables_of
from lorekeeper.intake.changes import Hashes, is_unchanged
from lorekeeper.intake.identities import correct_identities
from lorekeeper.intake.open5e import CONCURRENCY, Open5eClient, list_query
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.superseded import DOCUMENTS, is_packaged, remove_superseded
from lorekeeper.intake.sync_state import (
    ALL,
    LOCK_SECONDS,
    Read,
    Refresh,
    Run,
    SyncState,
    encode,
    load_state,
    save,
    sync_lock,
)
from lorekeeper.normalize import UnknownShapeError, normalize_open5e
from lorekeeper.normalize.creatures import is_stub
from lorekeeper.normalize.open5e import ENDPOINTS, Endpoint, key_of
from lorekeeper.normalize.taken import texts_of
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.system import in_thread

Step = Callable[[str, int, int], None]
"""Called, for an entity type, with how many more entries are to be read and how many more have been read."""

SOURCE = "open5e"
"""Prefix of `Entity.source_api` of what came from Open5e, and suffix of slugs that differ from those of other entries."""

MAX_REASON = 500
"""Characters of the reason why an entry could not be read."""


def endpoints(types: Sequence[str]) -> list[Endpoint]:
    """The lists of entities of these types, the documents first."""
    lists = [e for e in ENDPOINTS.values() if e.type in types and e.version is not None]
    return sorted(lists, key=lambda e: e.type != "documents")


Documents = Sequence[str] | None
"""Keys of the documents to which the reading of a list is restricted, None for all."""


class ListSync:
    """Stores what lists of a server have, and removes what they have no more. Hold `sync_lock` meanwhile.

    Attributes:
        state: is updated, not saved.
        report: is updated.
        hashes: content hashes of the library's entities, by type; those of the types that are stored have to be there.
    """

    def __init__(self, cache: SearchCache, state: SyncState, report: ImportReport) -> None:
        self._cache = cache
        self.state = state
        self.report = report
        self.hashes: dict[str, dict[Identity, str]] = {}

    async def read_hashes(self, types: Iterable[str]) -> None:
        """Read the content hashes of these types."""
        self.hashes = {t: await self._cache.content_hashes(t) for t in types}

    def entities(
        self, objects: Sequence[Any], endpoint: Endpoint, documents: Documents, progress: Read
    ) -> list[Entity]:
        """The entities of a page's objects, of these documents only: servers ignore filters that they do not support."""
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
                progress.failed += 1
        return [e for e in entities if documents is None or e.document in documents]

    async def store(self, endpoint: Endpoint, entities: Sequence[Entity]) -> set[str]:
        """Store what is new or changed; returns the uris of all entities, as they are in the library."""
        assert endpoint.type is not None
        hashes = self.hashes[endpoint.type]
        outcome = await store_from_source(self._cache, endpoint.type, entities, hashes)
        hashes.update({e.identity: e.content_hash for e in outcome.stored})
        for uri in outcome.removed:
            hashes.pop(_identity(uri), None)
            self.state.of(endpoint.name).seen.discard(uri)
        for uri, renamed in outcome.clashes:
            reason = f"the library has its own entry {uri}, which stays; this one is stored as {renamed}"
            self.report.warnings.append(ImportFileError(list_path(endpoint), reason))
        outcome.tables.add_to(self.report)
        stored, unchanged = len(outcome.stored), len(outcome.unchanged)
        self._count(endpoint.type, stored=stored, unchanged=unchanged, removed=len(outcome.removed))
        return {e.uri for e in (*outcome.stored, *outcome.unchanged)}

    async def complete(self, endpoint: Endpoint, documents: Documents, progress: Read, count: int) -> None:
        """Remove what is no longer in a list of ``count`` objects that was read to its end; record that it was read."""
        if not progress.failed:
            await self._remove(endpoint, documents, progress, count)
        listed = self.state.of(endpoint.name)
        listed.seen |= progress.found
        listed.whole.update(dict.fromkeys([ALL] if documents is None else documents, time.time()))

    async def _remove(self, endpoint: Endpoint, documents: Documents, progress: Read, count: int) -> None:
        """Remove what came from this list and is no longer in it or in any other."""
        assert endpoint.type is not None
        elsewhere = {u for name, state in self.state.lists.items() if name != endpoint.name for u in state.seen}
        before = self.state.of(endpoint.name).seen
        within = {u for u in before if documents is None or parse_uri(u)[1] in documents}
        obsolete = [_identity(u) for u in sorted(within - progress.found - elsewhere)]
        if obsolete and not count:
            reason = f"it is empty now; the {len(obsolete)} entries that came from it earlier stay"
            self.report.failed.append(ImportFileError(list_path(endpoint), reason))
            return
        removable = [e.identity for e in await self._cache.load(endpoint.type, obsolete) if _is_from_source(e)]
        self._count(endpoint.type, removed=await self._cache.delete_entities(endpoint.type, removable))
        (await keep_tables_of(self._cache, (), {(endpoint.type, i) for i in removable})).add_to(self.report)
        self.state.of(endpoint.name).seen = before - within

    async def supersede(self, entity_type: str, documents: Sequence[str]) -> None:
        """Remove the packages' entries of a type that was read whole; those that the source lacks stay, and are named."""
        covered, kept = await remove_superseded(self._cache, entity_type, documents)
        self._count(entity_type, removed=len(covered))
        (await keep_tables_of(self._cache, (), {(entity_type, each) for each in covered})).add_to(self.report)
        for document in documents:
            names = [each.name for each in kept if each.document == document]
            if names:
                reason = f"{len(names):,} entries stay that the server lacks: {', '.join(names)}"
                self.report.warnings.append(ImportFileError(f"{document} {entity_type}", reason))

    def _count(self, entity_type: str, **numbers: int) -> None:
        for name, number in numbers.items():
            self.report.by_type.setdefault(entity_type, Counter())[name] += number
            setattr(self.report, name, getattr(self.report, name) + number)


class Syncer:
    """One sync of one library.

    Args:
        cache: the library's.
        client: connects to the server.
        path: file of the library's `SyncState`.
        report: is updated.
        step: called with the progress.
    """

    def __init__(
        self, cache: SearchCache, client: Open5eClient, path: Path, report: ImportReport, step: Step | None = None
    ) -> None:
        self._cache = cache
        self._client = client
        self._path = path
        self._lists = ListSync(cache, SyncState(client.base_url), report)
        self._step = step or (lambda *_: None)
        self._saving = asyncio.Lock()

    @property
    def _state(self) -> SyncState:
        """The state of the library; written to its file by `_save`."""
        return self._lists.state

    async def run(self, types: Sequence[str], documents: Sequence[str] | None) -> None:
        """Store what is new or changed; remove what came from the server and is no longer there.

        A list that cannot be read is reported, and the others are read all the same. What was stored before a sync was
        interrupted is not requested again by the same sync within a day.

        Raises:
            SourceUnavailableError: the server cannot be reached at all.
            CacheError: the library cannot be written, or another process is syncing it.
            EmbeddingError: the embedding model is not available.
        """
        synced = list(dict.fromkeys(["documents", *types]))
        async with in_thread(sync_lock(self._path, LOCK_SECONDS)):
            self._lists.state = await asyncio.to_thread(load_state, self._path, self._client.base_url)
            await correct_identities(self._cache, synced)
            await self._lists.read_hashes(synced)
            self._reset_if_entries_are_lost()
            run = self._state.resume(synced, documents)
            await self._read_lists(deque(e for e in endpoints(synced) if e.name not in run.done), run)
            books = [key for key in DOCUMENTS if documents is None or key in documents]
            for entity_type in synced:
                if all(e.name in run.done for e in endpoints([entity_type])):
                    await self._lists.supersede(entity_type, books)
            if all(e.name in run.done for e in endpoints(synced)):
                self._state.run = None
                self._state.refresh = Refresh()
            await self._save()

    async def _read_lists(self, waiting: deque[Endpoint], run: Run) -> None:
        await self._probe(waiting, run)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(CONCURRENCY):
                    group.create_task(self._work(waiting, run))
        except BaseExceptionGroup as errors:
            raise _first(errors) from errors

    async def _probe(self, waiting: deque[Endpoint], run: Run) -> None:
        """Read one list alone, to see whether the server can be reached."""
        if waiting:
            error = await self._try(waiting.popleft(), run)
            if isinstance(error, SourceUnavailableError) and not self._client.reached:
                raise error

    async def _work(self, waiting: deque[Endpoint], run: Run) -> None:
        while waiting:
            await self._try(waiting.popleft(), run)

    async def _try(self, endpoint: Endpoint, run: Run) -> SourceError | None:
        """Read one list; an error is reported. A list that changed meanwhile is read from its start next time."""
        try:
            await self._list(endpoint, run)
        except SourceError as error:
            self._lists.report.failed.append(ImportFileError(list_path(endpoint), str(error)))
            if not isinstance(error, SourceUnavailableError):
                run.reading.pop(endpoint.name, None)
            await self._save()
            return error
        return None

    async def _list(self, endpoint: Endpoint, run: Run) -> None:
        assert endpoint.type is not None
        filtered = run.documents if endpoint.type != "documents" else None
        progress = run.reading.setdefault(
            endpoint.name, Read(list_query(filtered, endpoint.version, shared=endpoint.shared))
        )
        count, objects = 0, progress.objects
        async with aclosing(self._client.pages(list_path(endpoint), progress.following, progress.objects)) as pages:
            async for page in pages:
                count, objects = page.count, objects + len(page.objects)
                if not progress.objects:
                    self._step(endpoint.type, count, 0)
                entities = self._lists.entities(page.objects, endpoint, run.documents, progress)
                progress.found.update(await self._lists.store(endpoint, entities))
                self._step(endpoint.type, 0, len(page.objects))
                if page.following is not None:
                    progress.following, progress.objects = page.following, objects
                    await self._save()
        require_all(objects, count)
        await self._lists.complete(endpoint, run.documents, progress, count)
        run.done.add(endpoint.name)
        run.reading.pop(endpoint.name, None)
        await self._save()

    def _reset_if_entries_are_lost(self) -> None:
        """Start over if the library lacks entries of the state: it was deleted, or is another one."""
        for endpoint in endpoints(list(self._lists.hashes)):
            hashes = self._lists.hashes[endpoint.type or ""]
            if any(_identity(uri) not in hashes for uri in self._state.of(endpoint.name).seen):
                self._lists.state = SyncState(self._state.source)
                return

    async def _save(self) -> None:
        async with self._saving:
            await asyncio.to_thread(save, self._path, encode(self._state))


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
    outcome = Outcome()
    waiting = [(e, e) for e in {e.identity: e for e in entities}.values()]
    number = 0
    while waiting:
        number += 1
        waiting = await _place(cache, entity_type, waiting, number, hashes or {}, outcome)
    await cache.store_entities(outcome.stored, entity_type)
    if outcome.removed:
        await cache.delete_entities(entity_type, map(_identity, outcome.removed))
    gone = {(entity_type, _identity(uri)) for uri in outcome.removed}
    outcome.tables = await keep_tables_of(cache, (*outcome.stored, *outcome.unchanged), gone)
    return outcome


async def _place(
    cache: SearchCache,
    entity_type: str,
    waiting: Sequence[tuple[Entity, Entity]],
    number: int,
    hashes: Hashes,
    outcome: Outcome,
) -> list[tuple[Entity, Entity]]:
    """Add entities, each paired with its copy under the slug to try, to an outcome.

    Returns those whose slug is in use, with the next slug to try. The hashes may be out of date, so everything that would be
    stored is compared with the current content of the library.
    """
    attempts = [(entity, placed, _with_suffix(entity, number)) for entity, placed in waiting]
    unlike = [(placed, after) for _, placed, after in attempts if not is_unchanged(placed, hashes)]
    occupants = {e.identity: e for e in await _load(cache, entity_type, [e.identity for pair in unlike for e in pair])}
    current = {p.identity: hashes[p.identity] for _, p, _ in attempts if p.identity in hashes}
    current |= {identity: e.content_hash for identity, e in occupants.items()}
    remaining: list[tuple[Entity, Entity]] = []
    for entity, placed, after in attempts:
        occupant, copy = occupants.get(placed.identity), occupants.get(after.identity)
        if occupant is not None and not _is_from_source(occupant):
            remaining.append((entity, after))
            continue
        kept = placed if occupant is None else as_secret_as(placed, occupant)
        (outcome.unchanged if is_unchanged(kept, current) else outcome.stored).append(kept)
        if placed is not entity:
            outcome.clashes.append((entity.uri, placed.uri))
        if copy is not None and copy.content_hash == kept.content_hash:
            outcome.removed.append(after.uri)
    return remaining


async def _load(cache: SearchCache, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
    return await cache.load(entity_type, identities) if identities else []


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


def entities_of(obj: Any, endpoint: Endpoint) -> list[Entity]:
    """The entities of one object of a list; UnknownShapeError if it is not of that list's type. The list has stubs whole, too."""
    entities = [entity for entity in normalize_open5e(obj, hint=endpoint.name) if not is_stub(entity)]
    for entity in entities:
        if entity.type != endpoint.type:
            raise UnknownShapeError(f"its keys are those of another type, {entity.type}")
    return entities


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended a group of tasks: preferably one of LoreKeeper's own."""
    leaves = list(_leaves(errors))
    return next((e for e in leaves if isinstance(e, LoreKeeperError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


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
