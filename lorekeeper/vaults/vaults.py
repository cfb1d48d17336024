"""The vaults of a library: what was saved before a question is in the library when it is answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from lorekeeper.cache.protocol import Progress, SearchCache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, ConfigError, ImportFileError, LoreKeeperError
from lorekeeper.measures import ProgressCounter, counted
from lorekeeper.system import PRIVATE_FILE, AsyncClosing, ended, in_own_thread, in_thread, private_folder
from lorekeeper.vaults.marks import MarksFile
from lorekeeper.vaults.registry import Registry, Vault
from lorekeeper.vaults.reports import VaultReport
from lorekeeper.vaults.shares import SharesFile, left
from lorekeeper.vaults.status import FOREIGN, FORMER, MISSING, Status, state_of

if TYPE_CHECKING:
    from lorekeeper.notes.marks import OwnMarks
    from lorekeeper.vaults.lint import Finding
    from lorekeeper.vaults.state import Row, State
    from lorekeeper.vaults.watch import Watcher

logger = logging.getLogger(__name__)

WAIT_SECONDS = 2.0
"""How long a question waits for changes that are being read."""

IDLE_SECONDS = 0.5
"""How often a server looks for changes while nobody asks."""

SCAN_SECONDS = 60.0
"""How often it scans all the same, in case that something went unnoticed."""

TURN_SECONDS = 0.02
"""How often a process looks whether it is its turn to sync."""

BEHIND = "Notes of a vault are still being read, so this answer may lack the last changes; ask again."

EVERY_VAULT = "*"
"""Stands for the keys of all vaults, none of which it can be."""


class Vaults(AsyncClosing):
    """Keeps a library in step with its vaults.

    Args:
        registry: says which vaults there are; what was read of them is in a file beside its own. None for a library that has
            none, and cannot have any.
        cache: the library's.
        embedding: the library's.
        changed: called when entries have been stored or removed.
        marks: the file with the user's own marks; None for none.
        shares: the file with what the game master has shared; None for none.
    """

    def __init__(
        self,
        registry: Registry | None,
        cache: SearchCache,
        embedding: EmbeddingService,
        changed: Callable[[], None] = lambda: None,
        marks: MarksFile | None = None,
        shares: SharesFile | None = None,
    ) -> None:
        self._registry = registry
        self.marks, self.shares = marks or MarksFile(), shares or SharesFile()
        self._cache, self._embedding, self._changed = cache, embedding, changed
        self._verified: set[str] = set()
        """Keys of the vaults whose notes were compared with the library in this process."""
        self._noticed = self._done = 0
        """Numbers of the last change that was noticed, and of the last one that is in the library."""
        self._began = 0.0
        """When the sync under way began, on the monotonic clock."""
        self._failure = ""
        self._task: asyncio.Task[None] | None = None
        self._stopped = threading.Event()
        self.steps = ProgressCounter()
        """How far the reading of what was noticed has got."""
        self._progressed = asyncio.Condition()
        self._behind: frozenset[str] = frozenset()
        """Keys of the vaults that the last note of `fresh` is about."""
        self.waiting: Callable[[ProgressCounter], AbstractAsyncContextManager[None]] | None = None
        """What surrounds the wait of a question until everything is read, where the process ends with its answer; gets how far
        the reading is. None: a question does not wait, and its answer comes with a note."""

    @property
    def exist(self) -> bool:
        """Whether there may be vaults; takes microseconds."""
        return self._registry is not None and not self._registry.is_empty

    @property
    def registry(self) -> Registry:
        """Which vaults there are; ConfigError if this library can have none."""
        if self._registry is None:
            raise ConfigError("this library has no place to remember vaults; open it with Library.from_settings")
        return self._registry

    def keys(self) -> frozenset[str]:
        """Keys of all vaults, also of former ones whose notes are still in the library. Blocking."""
        return (
            frozenset(v.key for v in (*self.registry.vaults(), *self.registry.former())) if self.exist else frozenset()
        )

    async def fresh(self) -> str:
        """Bring the library in step with what was saved before this call; what is not in it after `WAIT_SECONDS`, as a note.

        With `waiting` it is brought in step whatever time it takes.
        Without changes it takes half a millisecond, and without vaults nothing. Reading goes on if it takes longer: a question
        that comes when it has taken so long already does not wait for it. If no file differs from what was read of it, as where a
        vault is only compared with the library, there is nothing to say.
        """
        if not self.exist:
            return ""
        await self._notice()
        is_long = self._done < self._noticed and self._began < time.monotonic() - WAIT_SECONDS
        note = await self._wait(0.0 if is_long else WAIT_SECONDS)
        if self._done < self._noticed and self._behind and self.waiting:
            async with self.waiting(self.steps):
                return await self._wait(None)
        return note

    @property
    def behind(self) -> frozenset[str]:
        """Keys of the vaults of which the library may lack something, as the last note of `fresh` says."""
        return self._behind

    def concern(self, types: Collection[str], documents: Collection[str] | None) -> bool:
        """Whether a search of these types and documents, None for all, may lack what the last note of `fresh` is about."""
        if not self._behind:
            return False
        from lorekeeper.vaults.sync import TYPES

        searched = documents is None or not self._behind.isdisjoint(documents)
        return searched and not set(types).isdisjoint(TYPES)

    async def unread(self) -> frozenset[str]:
        """Uris of the entries whose files differ from what was read of them, as they were saved since or cannot be read."""
        return await in_own_thread(self._unread) if self.exist else frozenset()

    def _unread(self) -> frozenset[str]:
        from lorekeeper.vaults.sync import changed_entities

        return frozenset(uri for vault in self.registry.vaults() for uri in changed_entities(vault, self._state))

    async def unreadable(self) -> frozenset[str]:
        """Keys of the vaults of which players may see nothing now, as they were not read with the marks that hold now.

        `EVERY_VAULT` is among them if it cannot be known which marks hold.
        """
        return await asyncio.to_thread(self._unreadable)

    def _unreadable(self) -> frozenset[str]:
        try:
            return frozenset(vault.key for vault in self._marked_otherwise())
        except LoreKeeperError as error:
            logger.info("players see nothing of the vaults: %s", error)
            return frozenset({EVERY_VAULT})

    def _marked_otherwise(self) -> list[Vault]:
        """The vaults that were not read with the marks that hold now; ConfigError if it cannot be known which these are."""
        own = self.marks.current()
        return [
            vault for vault in (self.registry.vaults() if self.exist else []) if self._is_marked_otherwise(vault, own)
        ]

    def _is_marked_otherwise(self, vault: Vault, own: OwnMarks) -> bool:
        summary, own = self._state.summary(vault.key), self.shares.marks(vault.key, own)
        return (summary.marks, summary.shares) != (own.rules, own.shares.digest)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Look for changes again and again as long as the context lasts, so that questions need not wait for them."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await ended(task)

    async def sync(
        self, keys: Sequence[str] = (), start: Progress | None = None, progress: Progress | None = None
    ) -> VaultReport:
        """Bring the library in step with vaults, all by default, and compare all it has of them with their files.

        Raises:
            NotFoundError: there is no vault of a key.
            CacheError: the library cannot be read or written.
            EmbeddingError: the embedding model is not available.
        """
        chosen = [await asyncio.to_thread(self.registry.vault, key) for key in keys]
        self._verified -= {vault.key for vault in chosen} if chosen else set(self._verified)
        return await self._sync({vault.key for vault in chosen} or None, start, progress)

    async def add(
        self, path: Path, key: str | None = None, name: str | None = None, exclude: Sequence[str] = ()
    ) -> Vault:
        """Add a vault, see `Registry.add`; the folder of one that was moved is still that vault."""
        moved = await in_own_thread(self._take_over, path) if key is None else None
        exclude = exclude or (moved.exclude if moved else ())
        return await asyncio.to_thread(self.registry.add, path, await self._books(), key, name, exclude)

    def _take_over(self, path: Path) -> Vault | None:
        """Let the vault whose folder is gone, and half of whose notes are in this one, have it; None if there is none. Blocking.

        What was looked at of a note stays open if it is the same to the byte; what else is there waits.
        """
        from lorekeeper.vaults.reading import digests

        path, known = Path(os.path.abspath(path.expanduser())), [*self.registry.vaults(), *self.registry.former()]
        if any(vault.path == path for vault in known):
            return None
        for vault in (vault for vault in known if not vault.path.is_dir()):
            was = {note: row.digest for note, row in self.rows(vault.key).items()}
            now = digests(path, vault.exclude)
            present = set(now.values()).intersection(was.values())
            if was and sum(digest in present for digest in was.values()) >= len(was) / 2:
                self.shares.edit(partial(left, vault=vault.key, was=was, now=now))
                self.registry.move(vault.key, path)
                return vault
        return None

    async def remove(self, key: str) -> int:
        """Take a vault out of the library; its folder is left alone. Returns how many entries were removed.

        Raises:
            NotFoundError: there is no vault of that key.
            ImportFileError: the setting lists it, so that it would be added again.
        """
        statuses = {status.vault.key: status for status in await self.status()}
        if key not in statuses or statuses[key].state != FOREIGN:
            vault = await asyncio.to_thread(self.registry.vault, key)
            if vault.path in self.registry.listed:
                raise ImportFileError(str(vault.path), "LOREKEEPER_VAULTS names it; remove it there first")
        async with self._turn():
            number = await self._cache.delete_document(key)
            await asyncio.to_thread(self._state.forget, key)
            await asyncio.to_thread(self.shares.forget, key)
            await asyncio.to_thread(self.registry.remove, key)
        self._changed()
        return number

    async def check(self, key: str | None = None) -> list[Finding]:
        """Sync a vault, or all, and say what is wrong with it, by kind and path; NotFoundError if there is none of that key."""
        from lorekeeper.vaults.lint import KINDS, Finding, wrong_with
        from lorekeeper.vaults.scan import scan

        if not self.exist:
            return []
        report = await self.sync([key] if key else [])
        places = ((failure.where.partition("/"), failure.reason) for failure in report.failed)
        found = [Finding("unreadable", vault, path, what=reason) for (vault, _, path), reason in places]
        for vault in await asyncio.to_thread(self.registry.vaults):
            if key in (None, vault.key):
                rows = await asyncio.to_thread(self.rows, vault.key)
                scanned = await in_own_thread(scan, vault.path, vault.exclude)
                found += await in_own_thread(lambda *of: list(wrong_with(*of)), vault, rows, scanned)
        order = list(KINDS)
        return sorted(found, key=lambda finding: (order.index(finding.kind), finding.path))

    def rows(self, key: str) -> dict[str, Row]:
        """What is known of the files of a vault, by path. Blocking."""
        return self._state.rows(key)

    async def status(self) -> list[Status]:
        """All vaults, those first that are kept in step."""
        if self.exist:
            await self._take_in_listed()
        kept = await in_own_thread(self._statuses)
        return kept + await self._foreign({status.vault.key for status in kept})

    async def _foreign(self, known: Collection[str]) -> list[Status]:
        """The vaults of which the library has the notes only, whose keys are not among the known ones."""
        from lorekeeper.vaults.state import Summary

        found = []
        for document in await self._documents():
            if document.document not in known:
                notes = await self._cache.count_entities("notes", document.document)
                vault = Vault(document.document, document.name, Path())
                found.append(Status(vault, Summary(notes=notes), FOREIGN))
        return found

    @property
    def scanned(self) -> str:
        """Why vaults are scanned at each question instead of being watched, "" if they are watched."""
        return self._watcher.problem

    async def close(self) -> None:
        """Stop; what is being read is read again by the next process."""
        self._stopped.set()
        if self._task:
            self._task.cancel()
            await ended(self._task)
            self._task = None
        if self.exist:
            await asyncio.to_thread(self._watcher.close)
            await asyncio.to_thread(self._state.close)
        self._stopped = threading.Event()

    @cached_property
    def _state(self) -> State:
        from lorekeeper.vaults.state import State

        return State(self.registry.file.with_name(f"{self.registry.file.name}.db"))

    @cached_property
    def _watcher(self) -> Watcher:
        from lorekeeper.vaults.watch import Watcher

        return Watcher()

    # --- noticing ----------------------------------------------------------------------------------------------------

    async def _notice(self, *, scan: bool = False) -> None:
        """Begin a sync if there may be changes."""
        try:
            changed = await in_own_thread(self._has_changed)
        except LoreKeeperError as error:
            self._failure, changed = str(error), False
        if changed or scan or self._failure:
            self._noticed += 1
        if self._done < self._noticed and (self._task is None or self._task.done()):
            self._began = time.monotonic()
            self._task = asyncio.create_task(self._keep_up())

    def _has_changed(self) -> bool:
        folders = [vault.path for vault in self.registry.vaults()]
        is_marked_otherwise = any(vault.path.is_dir() for vault in self._marked_otherwise())
        return self._watcher.changed(folders) or bool(self.registry.new()) or is_marked_otherwise

    async def _watch(self) -> None:
        scanned = time.monotonic()
        while True:
            await asyncio.sleep(IDLE_SECONDS)
            due = time.monotonic() - scanned > SCAN_SECONDS
            if self.exist and (due or not self._watcher.problem):
                scanned = time.monotonic() if due else scanned
                await self._notice(scan=due)

    async def _wait(self, seconds: float | None) -> str:
        wanted = self._noticed
        try:
            async with asyncio.timeout(seconds), self._progressed:
                await self._progressed.wait_for(lambda: self._done >= wanted)
        except TimeoutError:
            self._behind = await asyncio.to_thread(self._changed_vaults)
            return BEHIND if self._behind else ""
        self._behind = frozenset(vault.key for vault in self.registry.vaults()) if self._failure else frozenset()
        return f"The notes of the vaults may be out of date: {self._failure}" if self._failure else ""

    def _changed_vaults(self) -> frozenset[str]:
        """Keys of the vaults of which the library may lack something: those with changed files, or to be read by other marks."""
        from lorekeeper.vaults.sync import has_changed

        try:
            marked = {vault.key for vault in self._marked_otherwise()}
            changed = {vault.key for vault in self.registry.vaults() if has_changed(vault, self._state)}
        except LoreKeeperError as error:
            logger.info("what has changed in the vaults is not known: %s", error)
            return frozenset(vault.key for vault in self.registry.vaults())
        return frozenset(marked | changed | {path.name for path in self.registry.new()})

    async def _keep_up(self) -> None:
        """Sync until all is in the library that was noticed."""
        while self._done < self._noticed:
            noticed, self._began = self._noticed, time.monotonic()
            self.steps = ProgressCounter()
            try:
                await self._sync(None, self.steps.start, self.steps.advance)
                self._failure = ""
            except LoreKeeperError as error:
                logger.warning("the vaults cannot be read: %s", error)
                self._failure = str(error)
            except Exception as error:
                logger.exception("reading the vaults failed")
                self._failure = str(error)
            self.steps = ProgressCounter()
            async with self._progressed:
                self._done = noticed
                self._progressed.notify_all()

    # --- syncing -----------------------------------------------------------------------------------------------------

    async def _sync(
        self, keys: set[str] | None, start: Progress | None = None, progress: Progress | None = None
    ) -> VaultReport:
        """Sync the vaults of these keys, or all, when it is this process's turn."""
        from lorekeeper.vaults.sync import VaultSync

        report = VaultReport()
        with report.measured(self._embedding):
            async with self._turn():
                report.failed += await self._take_in_listed()
                own = await asyncio.to_thread(self.marks.current)
                for vault in await asyncio.to_thread(self.registry.vaults):
                    if keys is None or vault.key in keys:
                        await VaultSync(
                            vault,
                            self._state,
                            self._cache,
                            self._embedding,
                            report,
                            self._stopped,
                            self.shares.marks(vault.key, own),
                            start,
                            progress,
                            self.shares.edit if self.shares.file else None,
                        ).run(verify=vault.key not in self._verified)
                        self._verified.add(vault.key)
        counted("vault_sync")
        counted("vault_note_stored", report.stored)
        counted("vault_note_removed", report.removed)
        if report.stored or report.removed:
            self._changed()
        return report

    async def _take_in_listed(self) -> list[ImportFileError]:
        """Give keys to new folders of the setting; what is wrong with others."""
        paths = await asyncio.to_thread(self.registry.new)
        if not paths:
            return []
        for path in paths:
            await in_own_thread(self._take_over, path)
        return await asyncio.to_thread(self.registry.take_in_listed, await self._books())

    async def _books(self) -> set[str]:
        """Keys of the documents that are no vaults."""
        return set(await self._cache.documents()) - {document.document for document in await self._documents()}

    async def _documents(self) -> list[Entity]:
        """The documents of vaults."""
        from lorekeeper.normalize.notes import SOURCE

        return await self._cache.get_entities("documents", source_api=SOURCE)

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One process at a time; the others wait."""
        while True:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    await stack.enter_async_context(in_thread(_locked(self._state.path)))
                except Timeout:
                    pass
                else:
                    yield
                    return
            await asyncio.sleep(TURN_SECONDS)

    def _statuses(self) -> list[Status]:
        if not self.exist:
            return []
        from lorekeeper.vaults.state import Summary

        kept = [Status(v, s := self._state.summary(v.key), state_of(v, s)) for v in self.registry.vaults()]
        former = [Status(v, self._state.summary(v.key), FORMER) for v in self.registry.former()]
        absent = [Vault(path.name, path.name, path, listed=True) for path in self.registry.absent()]
        return [*kept, *former, *(Status(vault, Summary(), MISSING) for vault in absent)]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of the vaults of a library; filelock.Timeout if another process does."""
    lock = FileLock(f"{path}.lock", timeout=0, mode=PRIVATE_FILE, thread_local=False)
    try:
        private_folder(path.parent)
        lock.acquire()
    except Timeout:
        raise
    except OSError as error:
        raise CacheError(
            f"{lock.lock_file} cannot be written: {error}; free space, or choose another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()
