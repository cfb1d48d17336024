"""What a library has from Open5e: one small file beside it, which may be lost at any time without harm.

It says which lists were read whole and when, which entries came from them (so that only these are ever removed), and how
far a sync has come that was cut off. A file that is damaged, of another format or about another server counts as none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from lorekeeper.errors import CacheError
from lorekeeper.system import private_file, private_folder

logger = logging.getLogger(__name__)

FORMAT = 1

ALL = "*"
"""Stands for all documents of a list."""

RESUME_SECONDS = 24 * 3600.0
"""A sync that was cut off longer ago than this begins anew: what it has read is no longer fresh."""


@dataclass(frozen=True)
class Source:
    """An Open5e server that a library is filled from.

    Attributes:
        base_url: its address.
        state_path: file beside the library that says what it has from there.
        days: after how many days that counts as stale.
    """

    base_url: str
    state_path: Path
    days: float


@dataclass
class Read:
    """How far the reading of one list has come.

    Attributes:
        following: query of the page that comes next.
        objects: objects on the pages before it.
        failed: how many of them could not be read.
        found: uris of the entries on them.
    """

    following: str
    objects: int = 0
    failed: int = 0
    found: set[str] = field(default_factory=set)


@dataclass
class Run:
    """A sync that is not finished.

    Attributes:
        types: the entity types it brings.
        documents: keys of the documents it is restricted to, None for all.
        began: when, in seconds since 1970.
        done: lists that it has finished.
        reading: lists that it has begun.
    """

    types: list[str]
    documents: list[str] | None
    began: float
    done: set[str] = field(default_factory=set)
    reading: dict[str, Read] = field(default_factory=dict)


@dataclass
class Listed:
    """What is known of one list.

    Attributes:
        whole: when it was last read whole, by document key or `ALL`, in seconds since 1970.
        seen: uris of the entries that came from it.
    """

    whole: dict[str, float] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


@dataclass
class SyncState:
    """All of it. Lists are named by their endpoints.

    Attributes:
        source: address of the server it is about.
        lists: by endpoint.
        asked: when a lookup that found nothing was last answered from the source, by what it asked for.
        run: the sync that is not finished.
    """

    source: str
    lists: dict[str, Listed] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)
    run: Run | None = None
    format: int = FORMAT

    def resume(self, types: Iterable[str], documents: Sequence[str] | None) -> Run:
        """The same sync that was cut off, or a new one."""
        fresh = Run(sorted(types), None if documents is None else sorted(documents), time.time())
        last = self.run
        same = last is not None and (last.types, last.documents) == (fresh.types, fresh.documents)
        if last is None or not same or fresh.began - last.began > RESUME_SECONDS:
            self.run = last = fresh
        return last

    def of(self, name: str) -> Listed:
        """What is known of a list."""
        return self.lists.setdefault(name, Listed())

    def fresh(self, names: Iterable[str], documents: Sequence[str] | None, days: float) -> bool:
        """Whether lists were read whole within so many days: all of them, or their entries of these documents."""
        since = time.time() - days * 86400

        def holds(listed: Listed) -> bool:
            keys = [ALL] if documents is None else documents
            newest = listed.whole.get(ALL, 0.0)
            return all(max(listed.whole.get(key, 0.0), newest) > since for key in keys)

        return all(name in self.lists and holds(self.lists[name]) for name in names)


def load_state(path: Path, source: str) -> SyncState:
    """The state in a file; an empty one where there is none that can be used. Blocking."""
    try:
        state = _ADAPTER.validate_json(path.read_bytes())
    except FileNotFoundError:
        return SyncState(source)
    except (OSError, ValueError) as error:
        logger.warning("%s cannot be used (%s): syncing from the start", path, error)
        return SyncState(source)
    return state if (state.format, state.source) == (FORMAT, source) else SyncState(source)


def encode(state: SyncState) -> bytes:
    """A state as it stands in its file."""
    return _ADAPTER.dump_json(state)


def save(path: Path, content: bytes) -> None:
    """Put an encoded state into its file, whole or not at all. Blocking; CacheError where it cannot be written."""
    try:
        written = private_folder(path.parent) / f"{path.name}.new"
        private_file(written).write_bytes(content)
        written.replace(path)
    except OSError as error:
        raise CacheError(f"{path} cannot be written: {error}; free space, or choose another folder") from error


_ADAPTER = TypeAdapter(SyncState)
