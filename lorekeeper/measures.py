"""What is measured where it happens: how long phases of a search take, and how often something happened.

Nothing is measured unless somebody listens: then whoever does gets each measurement as it is made, in any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

Phase = Literal["embedding", "semantic", "keyword", "names", "load"]
"""A part of a search. "semantic" contains the "embedding" of the query, unless its vector is cached; "load" reads the entries of
a page."""

Event = Literal[
    "query_cached", "query_embedded", "vault_note_stored", "vault_note_removed", "vault_sync", "source_sync"
]
"""What is counted: queries by whether their vectors were cached, notes that a vault's sync stored and removed, and syncs."""

PHASES: tuple[Phase, ...] = get_args(Phase)

EVENTS: tuple[Event, ...] = get_args(Event)


@dataclass
class ProgressCounter:
    """How far some work has got, for whoever looks.

    Attributes:
        done: steps that are done.
        total: steps that there are, as far as is known.
    """

    done: int = 0
    total: int = 0

    def start(self, number: int) -> None:
        """There are so many further steps."""
        self.total += number

    def advance(self, number: int) -> None:
        """So many further ones are done."""
        self.done = min(self.done + number, self.total)


class Listener(Protocol):
    """Gets measurements. Must return at once, and must not raise."""

    def took(self, phase: Phase, seconds: float) -> None:
        """A phase took so long."""
        ...

    def happened(self, event: Event, number: int) -> None:
        """Something happened so often."""
        ...


_listeners: tuple[Listener, ...] = ()
_changing = threading.Lock()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """The listener gets what is measured in this process during the block."""
    global _listeners
    with _changing:
        _listeners = (*_listeners, listener)
    try:
        yield
    finally:
        with _changing:
            _listeners = tuple(each for each in _listeners if each is not listener)


@contextmanager
def timed(phase: Phase) -> Iterator[None]:
    """The block is a phase; one that fails or is cancelled counts too."""
    if not _listeners:
        yield
        return
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - began
        for listener in _listeners:
            listener.took(phase, seconds)


def counted(event: Event, number: int = 1) -> None:
    """Something happened so often."""
    for listener in _listeners if number else ():
        listener.happened(event, number)
