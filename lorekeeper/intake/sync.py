"""Bringing a library up to date with an Open5e server: list by list, page by page, and from where it was cut off."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lorekeeper.cache.protocol import CacheProtocol, Identity
from lorekeeper.entities import MAX_KEY_LENGTH, Entity, parse_uri
from lorekeeper.errors import CacheError, ImportFileError, LoreKeeperError, SourceError, SourceUnavailableError
from lorekeeper.intake.identities import correct_identities
from lorekeeper.intake.open5e import CONCURRENCY, Open5eClient, list_query
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.sync_state import ALL, Read, Run, SyncState, encode, load_state, save
from lorekeeper.normalize import UnknownShapeError, normalize_open5e
from lorekeeper.normalize.open5e import ENDPOINTS, Endpoint
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.system import PRIVATE_FILE, private_folder

Step = Callable[[str, int, int], None]
"""Told, of an entity type, how many more entries there are to do and how many more are done."""


SOURCE = "open5e"
"""How `Entity.source_api` begins for what Open5e has, and how the slugs end of what is kept apart from other entries."""

MAX_REASON = 500
"""Characters of the reason why an entry could not be read."""


def endpoints(types: Sequence[str]) -> list[Endpoint]:
    """The lists that hold entities of these types, that of the documents first."""
    found = [e for e in ENDPOINTS.values() if e.type in types and e.version is not None]
    return sorted(found, key=lambda e: e.type != "documents")


class Syncer:
    """One sync of one library.

    Args:
        cache: the library's.
        client: of the server.
        path: file in which the library's `SyncState` is kept.
        report: is filled in.
        step: told of the progress.
    """

    def __init__(
        self, cache: CacheProtocol, client: Open5eClient, path: Path, report: ImportReport, step: Step | None = None
    ) -> None:
        self._cache = cache
        self._client = client
        self._path = path
        self._report = report
        self._step = step or (lambda *_: None)
        self._saving = asyncio.Lock()
        self._known: dict[str, dict[Identity, str]] = {}
        self._state = SyncState(client.base_url)

    async def run(self, types: Sequence[str], documents: Sequence[str] | None) -> None:
        """Store what is new or changed, remove what the server has no more of what came from it.

        A list that cannot be read goes to the report, and the others are read all the same. What was stored before the
        sync ended, however it ended, is not asked for again by the same sync within a day.

        Raises:
            SourceUnavailableError: the server cannot be reached at all.
            CacheError: the library cannot be written, or another process is syncing it.
            EmbeddingError: there are no embeddings.
        """
        wanted = list(dict.fromkeys(["documents", *types]))
        with one_at_a_time(self._path):
            self._state = await asyncio.to_thread(load_state, self._path, self._client.base_url)
            await correct_identities(self._cache, wanted)
            self._known = {t: await self._cache.content_hashes(t) for t in wanted}
            self._forget_what_is_lost()
            run = self._state.resume(wanted, documents)
            waiting = deque(e for e in endpoints(wanted) if e.name not in run.done)
            await self._first(waiting, run)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(CONCURRENCY):
                        group.create_task(self._work(waiting, run))
            except BaseExceptionGroup as errors:
                raise _first(errors) from errors
            if all(e.name in run.done for e in endpoints(wanted)):
                self._state.run = None
            await self._save()

    async def _first(self, waiting: deque[Endpoint], run: Run) -> None:
        """Read one list alone, to see whether anybody answers."""
        if waiting:
            error = await self._try(waiting.popleft(), run)
            if isinstance(error, SourceUnavailableError) and not self._client.reached:
                raise error

    async def _work(self, waiting: deque[Endpoint], run: Run) -> None:
        while waiting:
            await self._try(waiting.popleft(), run)

    async def _try(self, endpoint: Endpoint, run: Run) -> SourceError | None:
        """Read one list; an error goes to the report, and a list that is not what it was is read anew next time."""
        try:
            await self._list(endpoint, run)
        except SourceError as error:
            self._report.failed.append(ImportFileError(list_path(endpoint), str(error)))
            if not isinstance(error, SourceUnavailableError):
                run.reading.pop(endpoint.name, None)
            await self._save()
            return error
        return None

    async def _list(self, endpoint: Endpoint, run: Run) -> None:
        assert endpoint.type is not None
        filtered = run.documents if endpoint.type != "documents" else None
        read = run.reading.setdefault(endpoint.name, Read(list_query(filtered, endpoint.version)))
        count, objects = 0, read.objects
        async with aclosing(self._client.pages(list_path(endpoint), read.following, read.objects)) as pages:
            async for page in pages:
                count, objects = page.count, objects + len(page.objects)
                if not read.objects:
                    self._step(endpoint.type, count, 0)
                entities = self._entities(page.objects, endpoint, run.documents, read)
                read.found.update(await self._store(endpoint, entities))
                self._step(endpoint.type, 0, len(page.objects))
                if page.following is not None:
                    read.following, read.objects = page.following, objects
                    await self._save()
        if objects != count:
            raise SourceError(f"it says it has {count} entries, and gave {objects}; run the same command again")
        if not read.failed:
            await self._remove(endpoint, run, read, count)
        self._finish(endpoint, run, read)
        await self._save()

    def _entities(
        self, objects: Sequence[Any], endpoint: Endpoint, documents: Sequence[str] | None, read: Read
    ) -> list[Entity]:
        """What a page's objects hold, of the wanted documents; servers pass over filters that they do not know."""
        found: list[Entity] = []
        for obj in objects:
            try:
                found += entities_of(obj, endpoint)
            except UnknownShapeError as error:
                key = obj.get("key") or obj.get("slug") if isinstance(obj, dict) else obj
                where, why = f"{list_path(endpoint)} {one_line(str(key), MAX_SHOWN)}", one_line(str(error), MAX_REASON)
                self._report.failed.append(ImportFileError(where, why))
                read.failed += 1
        return [e for e in found if documents is None or e.document in documents]

    async def _store(self, endpoint: Endpoint, entities: Sequence[Entity]) -> set[str]:
        """Store what is new or changed; uris of all of them, as they are in the library."""
        assert endpoint.type is not None
        known = self._known[endpoint.type]
        outcome = await store_from_source(self._cache, endpoint.type, entities, known)
        known.update({e.identity: e.content_hash for e in outcome.stored})
        for uri in outcome.removed:
            known.pop(_identity(uri), None)
            self._state.of(endpoint.name).seen.discard(uri)
        for own, apart in outcome.clashes:
            reason = f"the library has an entry of its own at {own}, which is kept; this one is {apart}"
            self._report.oddities.append(ImportFileError(list_path(endpoint), reason))
        stored, held = len(outcome.stored), len(outcome.unchanged)
        self._count(endpoint.type, stored=stored, unchanged=held, removed=len(outcome.removed))
        return {e.uri for e in (*outcome.stored, *outcome.unchanged)}

    async def _remove(self, endpoint: Endpoint, run: Run, read: Read, count: int) -> None:
        """Remove what came from this list and is there no more, nor in any other."""
        assert endpoint.type is not None
        others = {u for name, listed in self._state.lists.items() if name != endpoint.name for u in listed.seen}
        before = self._state.of(endpoint.name).seen
        within = {u for u in before if run.documents is None or parse_uri(u)[1] in run.documents}
        gone = [_identity(u) for u in sorted(within - read.found - others)]
        if gone and not count:
            reason = f"it is empty now; the {len(gone)} entries that came from it before are kept"
            self._report.failed.append(ImportFileError(list_path(endpoint), reason))
            return
        ours = [e.identity for e in await self._cache.load(endpoint.type, gone) if _is_from_source(e)]
        self._count(endpoint.type, removed=await self._cache.delete_entities(endpoint.type, ours))
        self._state.of(endpoint.name).seen = before - within

    def _finish(self, endpoint: Endpoint, run: Run, read: Read) -> None:
        listed = self._state.of(endpoint.name)
        listed.seen |= read.found
        now = time.time()
        listed.whole.update(dict.fromkeys([ALL] if run.documents is None else run.documents, now))
        run.done.add(endpoint.name)
        run.reading.pop(endpoint.name, None)

    def _forget_what_is_lost(self) -> None:
        """Start anew where the library lacks what the state says it has: it was deleted, or is another one."""
        for endpoint in endpoints(list(self._known)):
            known = self._known[endpoint.type or ""]
            if any(_identity(uri) not in known for uri in self._state.of(endpoint.name).seen):
                self._state = SyncState(self._state.source)
                return

    def _count(self, entity_type: str, **numbers: int) -> None:
        for name, number in numbers.items():
            self._report.by_type.setdefault(entity_type, Counter())[name] += number
            setattr(self._report, name, getattr(self._report, name) + number)

    async def _save(self) -> None:
        async with self._saving:
            await asyncio.to_thread(save, self._path, encode(self._state))


@dataclass
class Outcome:
    """What became of entities that came from a source.

    Attributes:
        stored: those that were new or had changed, as they were stored.
        unchanged: those that the library holds as they are.
        removed: uris of entries that were removed because their entity has its own slug now.
        clashes: uris of entries that are not from the source, each with the uri of the entity that is kept apart from it.
    """

    stored: list[Entity] = field(default_factory=list)
    unchanged: list[Entity] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    clashes: list[tuple[str, str]] = field(default_factory=list)


async def store_from_source(
    cache: CacheProtocol, entity_type: str, entities: Sequence[Entity], known: Mapping[Identity, str] | None = None
) -> Outcome:
    """Store what came from a source: the one place where it meets what the library holds.

    A source only ever replaces what came from it. Where an entry that did not has the identity of an entity, the entity is
    stored beside it, under the first of its `_apart` slugs that is free or holds it already. When that entry is gone, the
    entity is stored under its own slug, and the copy that was kept apart is removed.

    Args:
        cache: the library's.
        entity_type: of all the entities; of several with one identity the last is stored.
        entities: what came.
        known: content hashes of what is held, as far as it is known, so that less has to be loaded.
    """
    outcome = Outcome()
    waiting = [(e, e) for e in {e.identity: e for e in entities}.values()]
    number = 0
    while waiting:
        number += 1
        waiting = await _place(cache, entity_type, waiting, number, known or {}, outcome)
    await cache.store_entities(outcome.stored, entity_type)
    if outcome.removed:
        await cache.delete_entities(entity_type, map(_identity, outcome.removed))
    return outcome


async def _place(
    cache: CacheProtocol,
    entity_type: str,
    waiting: Sequence[tuple[Entity, Entity]],
    number: int,
    known: Mapping[Identity, str],
    outcome: Outcome,
) -> list[tuple[Entity, Entity]]:
    """Sort entities, each with itself under the slug to try, into an outcome; those whose slug is taken, with the next one.

    What is known may be out of date, so everything that would be stored is compared with what is held now.
    """
    trying = [(entity, placed, _apart(entity, number)) for entity, placed in waiting]
    unlike = [(placed, after) for _, placed, after in trying if known.get(placed.identity) != placed.content_hash]
    looked = [e.identity for pair in unlike for e in pair]
    held = {e.identity: e for e in await cache.load(entity_type, looked)} if looked else {}
    taken: list[tuple[Entity, Entity]] = []
    for entity, placed, after in trying:
        there, copy = held.get(placed.identity), held.get(after.identity)
        if there is not None and not _is_from_source(there):
            taken.append((entity, after))
            continue
        digest = there.content_hash if there else known.get(placed.identity)
        (outcome.unchanged if digest == placed.content_hash else outcome.stored).append(placed)
        if placed is not entity:
            outcome.clashes.append((entity.uri, placed.uri))
        if copy is not None and copy.content_hash == placed.content_hash:
            outcome.removed.append(after.uri)
    return taken


def _is_from_source(entity: Entity) -> bool:
    return entity.source_api.startswith(SOURCE)


def _apart(entity: Entity, number: int) -> Entity:
    """An entity under another slug, as in ``fireball-open5e`` and ``fireball-open5e-2``; a document under another key."""
    ending = f"-{SOURCE}" if number == 1 else f"-{SOURCE}-{number}"
    slug = entity.slug + ending
    if len(slug) > MAX_KEY_LENGTH:
        digest = hashlib.blake2b(entity.slug.encode(), digest_size=8).hexdigest()
        slug = f"{entity.slug[: MAX_KEY_LENGTH - len(ending) - len(digest)]}{digest}{ending}"
    return replace(entity, slug=slug, document=slug if entity.type == "documents" else entity.document)


def entities_of(obj: Any, endpoint: Endpoint) -> list[Entity]:
    """The entities that one object of a list holds; UnknownShapeError where it is none of that list's type."""
    found = normalize_open5e(obj, hint=endpoint.name)
    for entity in found:
        if entity.type != endpoint.type:
            raise UnknownShapeError(f"its keys are those of another type of entry, {entity.type}")
    return found


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended a group of tasks: one of ours where there is any."""
    leaves = list(_leaves(errors))
    return next((e for e in leaves if isinstance(e, LoreKeeperError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """One sync of a library at a time, over all processes; CacheError where another one is under way."""
    lock = FileLock(f"{path}.lock", timeout=0, mode=PRIVATE_FILE, thread_local=False)
    try:
        private_folder(path.parent)
        lock.acquire()
    except Timeout as error:
        raise CacheError("another process is syncing this library; wait for it to finish, or end it") from error
    except OSError as error:
        raise CacheError(
            f"{lock.lock_file} cannot be written: {error}; free space, or choose another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()


def list_path(endpoint: Endpoint) -> str:
    """Where a list is on the server."""
    return f"v{endpoint.version}/{endpoint.name}"


def _identity(uri: str) -> Identity:
    _, document, slug = parse_uri(uri)
    return document, slug
