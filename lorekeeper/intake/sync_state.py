"""What a library has from Open5e: one small file beside it, which can be deleted at any time without harm.

It records which lists were read completely and when, which entries came from them (so that only these are ever removed), and
how far an interrupted sync got. A file that is damaged, of another format or about another server is ignored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from lorekeeper.errors import CacheError
from lorekeeper.printable import one_line
from lorekeeper.regular_files import read_regular
from lorekeeper.system import PRIVATE_FILE, private_file, private_folder

logger = logging.getLogger(__name__)

FORMAT = 1

ALL = "*"
"""Stands for all documents of a list."""

RESUME_SECONDS = 24 * 3600.0
"""A sync that was interrupted longer ago than this starts over: what it has read is out of date."""

SKEW_SECONDS = 60.0
"""How far the clocks of machines that share a folder may differ."""

MAX_PROBLEM = 300
"""Most characters of the reason for a failure."""

LOCK_SECONDS = 1.0
"""How long to wait for another writer: one that works in the background has done with a page by then."""


@dataclass(frozen=True)
class Source:
    """An Open5e server that a library is filled from.

    Attributes:
        base_url: its address.
        state_path: file of the library's `SyncState`.
        days: age in days at which what the library has counts as stale.
        background: whether a server brings what is stale up to date by itself.
    """

    base_url: str
    state_path: Path
    days: float
    background: bool = False

    @property
    def was_synced(self) -> bool:
        """Whether anything was synced from it, so that entries may be old; takes microseconds."""
        return self.state_path.exists()

    def known(self) -> SyncState:
        """What is known about the library and this server. Blocking."""
        return load_state(self.state_path, self.base_url)


@dataclass
class Read:
    """How far the reading of one list has got.

    Attributes:
        documents: keys of the documents to which it is restricted, None for all.
        following: query of the next page.
        objects: objects on the pages before it.
        failed: how many of them could not be read.
        found: uris of the entries on them.
        last: when the last of these pages was read, in seconds since 1970.
    """

    documents: list[str] | None
    following: str
    objects: int = 0
    failed: int = 0
    found: set[str] = field(default_factory=set)
    last: float = field(default_factory=time.time)

    def continues(self, documents: list[str] | None) -> bool:
        """Whether a reading of a list for these documents goes on where this one was left."""
        return self.documents == documents and time.time() - self.last < RESUME_SECONDS


@dataclass
class Listed:
    """What is known about one list.

    Attributes:
        whole: when it was last read completely, by document key or `ALL`, in seconds since 1970.
        seen: uris of the entries that came from it.
        reading: the reading of it that is not finished.
    """

    whole: dict[str, float] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    reading: Read | None = None

    def is_whole(self, documents: Sequence[str] | None, since: float) -> bool:
        """Whether it was read completely at that time or later: all of it, or its entries of these documents."""
        newest = self.whole.get(ALL, 0.0)
        return all(
            max(self.whole.get(key, 0.0), newest) >= since for key in ([ALL] if documents is None else documents)
        )


@dataclass
class Run:
    """A sync that is not finished.

    Attributes:
        types: the entity types it syncs.
        documents: keys of the documents to which it is restricted, None for all.
        began: when it began, in seconds since 1970.
    """

    types: list[str]
    documents: list[str] | None
    began: float


@dataclass
class Refresh:
    """What bringing stale lists up to date in the background has come to.

    Attributes:
        failures: attempts in a row that left something stale.
        tried: when the last one of them ended, in seconds since 1970.
        problem: why it failed.
    """

    failures: int = 0
    tried: float = 0.0
    problem: str = ""


@dataclass
class SyncState:
    """What is known about a library and one server. Lists are named by their endpoints.

    Attributes:
        source: address of the server.
        lists: what is known about each list, by endpoint.
        run: the sync that is not finished.
        refresh: what was done in the background; files of earlier versions lack it.
    """

    source: str
    lists: dict[str, Listed] = field(default_factory=dict)
    run: Run | None = None
    refresh: Refresh = field(default_factory=Refresh)
    format: int = FORMAT

    def resume(self, types: Iterable[str], documents: Sequence[str] | None) -> Run:
        """The interrupted sync, if it is the same one; else a new one."""
        new, last = Run(sorted(types), None if documents is None else sorted(documents), time.time()), self.run
        same = last is not None and (last.types, last.documents) == (new.types, new.documents)
        if last is None or not same or new.began - last.began > RESUME_SECONDS:
            self.run = last = new
        return last

    def forget_future(self, now: float) -> None:
        """Take times that have not come for long ago: a clock was wrong then, or is now, and nothing would be read until then."""
        for times in (listed.whole for listed in self.lists.values()):
            times.update({key: 0.0 for key, when in times.items() if when > now})

    def of(self, name: str) -> Listed:
        """What is known about a list."""
        return self.lists.setdefault(name, Listed())

    def has_read(self, name: str, run: Run) -> bool:
        """Whether a sync has read a list completely."""
        return self.of(name).is_whole(run.documents, run.began)


def load_state(path: Path, source: str) -> SyncState:
    """The state in a file; an empty one if there is none that can be used. Blocking."""
    try:
        state = _ADAPTER.validate_json(read_regular(path))
    except FileNotFoundError:
        return SyncState(source)
    except (OSError, ValueError) as error:
        logger.warning("%s cannot be used (%s): syncing from the start", path, error)
        return SyncState(source)
    if (state.format, state.source) != (FORMAT, source):
        return SyncState(source)
    state.forget_future(time.time() + SKEW_SECONDS)
    return state


def save(path: Path, state: SyncState) -> None:
    """Write a state to its file, completely or not at all. Blocking; CacheError if it cannot be written."""
    try:
        target = private_folder(path.parent) / f"{path.name}.new"
        private_file(target).write_bytes(_ADAPTER.dump_json(state))
        target.replace(path)
    except OSError as error:
        raise CacheError(f"{path} cannot be written: {error}; free space, or choose another folder") from error


def problem_line(problem: Exception) -> str:
    """The reason for a failure as it is kept and shown: one line of at most `MAX_PROBLEM` characters."""
    return one_line(str(problem) or type(problem).__name__, MAX_PROBLEM)


class BusyError(CacheError):
    """Another process has the lock."""


def sync_lock(path: Path, seconds: float = 0.0) -> AbstractContextManager[None]:
    """One writer at a time of what comes from Open5e to the library with this state file, over all processes. Blocking.

    Raises:
        BusyError: another process is syncing it, and still is after this number of seconds.
        CacheError: the lock file cannot be written.
    """
    return _locked(f"{path}.lock", seconds)


def refresh_lock(path: Path) -> AbstractContextManager[None]:
    """One process at a time brings the library with this state file up to date in the background; errors as of `sync_lock`.

    It may be held for long. The library is written under `sync_lock`, a page at a time, so that others need not wait.
    """
    return _locked(f"{path}.refresh.lock", 0.0)


def is_refreshing(path: Path) -> bool:
    """Whether a process is bringing the library with this state file up to date in the background. Blocking."""
    if not Path(f"{path}.refresh.lock").exists():
        return False
    try:
        with refresh_lock(path):
            return False
    except BusyError:
        return True
    except CacheError:
        return False


@contextmanager
def _locked(file: str, seconds: float) -> Iterator[None]:
    lock = FileLock(file, timeout=seconds, mode=PRIVATE_FILE, thread_local=False)
    try:
        private_folder(Path(file).parent)
        lock.acquire()
    except Timeout as error:
        raise BusyError("another process is syncing this library; wait for it to finish, or end it") from error
    except OSError as error:
        raise CacheError(f"{file} cannot be written: {error}; free space, or choose another folder") from error
    try:
        yield
    finally:
        lock.release()


_ADAPTER = TypeAdapter(SyncState)
