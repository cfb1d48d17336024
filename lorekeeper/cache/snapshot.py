"""What one question reads: one state of each file, in one thread.

A question to a tool asks the cache dozens of times. All of it runs in one thread: each file is read in one transaction, and what
was found to be current counts as such until the end. What is not for that thread, such as the model, is awaited in the event loop
that the question came from.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from lorekeeper.system import all_of

if TYPE_CHECKING:
    from lorekeeper.cache.protocol import SearchCache

T = TypeVar("T")

THREADS = 8
"""Searches that run at once; more of them wait."""

_here = threading.local()

_threads: ThreadPoolExecutor


def _new_threads() -> None:
    """Threads for searches, which are not those of the event loop, since a search may have to wait for them."""
    global _threads
    _threads = ThreadPoolExecutor(THREADS, thread_name_prefix="lorekeeper-search")


_new_threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_threads)


class Snapshot:
    """One state of what a search reads, in the thread of that search.

    Args:
        loop: the event loop that the search came from.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.known: dict[Hashable, Any] = {}
        self.ends = ExitStack()
        """Ends the transactions."""
        self.waits: set[Future[Any]] = set()
        """What is awaited outside."""
        self.is_cancelled = False
        """Whether nothing more is to be awaited there."""

    def renew(self) -> None:
        """Take a new state from now on; call it after a change of a file that this thread has made."""
        self.known.clear()
        self.ends.close()


def current() -> Snapshot | None:
    """The snapshot of the search that runs in this thread; None if none does."""
    return getattr(_here, "snapshot", None)


def renew() -> None:
    """`Snapshot.renew` of the search that runs in this thread, if one does."""
    if snapshot := current():
        snapshot.renew()


def once(key: Hashable, make: Callable[[], T]) -> T:
    """What a function returns, which is called once in a search, and each time elsewhere."""
    snapshot = current()
    if snapshot is None:
        return make()
    if key not in snapshot.known:
        snapshot.known[key] = make()
    value: T = snapshot.known[key]
    return value


async def outside(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine function returns, which runs in the event loop that the search came from, outside its snapshot."""
    snapshot = current()
    if snapshot is None:
        return await make()
    waiting = asyncio.run_coroutine_threadsafe(make(), snapshot.loop)
    snapshot.waits.add(waiting)
    if snapshot.is_cancelled:
        waiting.cancel()
    waiting.add_done_callback(snapshot.waits.discard)
    return await asyncio.wrap_future(waiting)


async def apart(function: Callable[..., T], *arguments: Any) -> T:
    """What a function returns that takes a while: called in a thread, which is this one in a search."""
    return await asyncio.to_thread(function, *arguments) if current() is None else function(*arguments)


async def in_turn(calls: Iterable[Awaitable[T]]) -> list[T]:
    """What all return: in turn in a search, whose thread does one thing at a time, else concurrently."""
    return [await call for call in calls] if current() else await all_of(calls)


async def in_snapshot(
    cache: SearchCache, make: Callable[[], Coroutine[Any, Any, T]], known: Mapping[Hashable, Any] | None = None
) -> T:
    """What a coroutine function returns that reads one snapshot of a cache, in a thread with an event loop of its own.

    ``known`` is what `once` gives there, by its keys.

    A cache without snapshots is read as it is. A caller that is cancelled waits for the thread, which ends as soon as it waits
    for anything outside: nothing goes on that reads what may be closed.
    """
    if current() or not cache.has_snapshots:
        return await make()
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    snapshot = Snapshot(loop)
    snapshot.known.update(known or {})

    def run() -> T:
        _here.snapshot = snapshot
        try:
            with snapshot.ends, asyncio.Runner() as runner:
                return runner.run(make(), context=context)
        finally:
            _here.snapshot = None

    running = loop.run_in_executor(_threads, run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        snapshot.is_cancelled = True
        for waiting in list(snapshot.waits):
            waiting.cancel()
        await asyncio.wait([running])
        raise
