"""The operating system and the process: private files, limits on connections, threads, and the garbage collector."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

NICENESS = 10
"""How much of the processor an import leaves to others: 19 is all that they want."""

QUIET_SECONDS, LONGEST_SECONDS = 0.2, 0.5
"""How long bulk work waits behind a question, and at most while it is answered."""

_DESCRIPTORS = 1024
"""Assumed if the system does not say how many a process may open."""

_own_process = False

_asks: contextvars.ContextVar[bool] = contextvars.ContextVar("asks", default=False)
"""Whether a question does it."""


def private_folder(path: Path) -> Path:
    """The folder, created if missing, with its parents; what is created can be entered by this user only.

    Raises:
        OSError: it cannot be created, or something else is in its place.
    """
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return path


def private_file(path: Path) -> Path:
    """The file, created empty if missing; from now on only this user can read and write it.

    Raises:
        OSError: it cannot be created.
    """
    if not path.exists():
        path.touch(mode=PRIVATE_FILE)
    return keep_private(path)


def keep_private(path: Path) -> Path:
    """Revoke the access of other users to a file or folder; one that is missing or belongs to another user is left alone."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode & 0o777
        if mode & ~PRIVATE_FOLDER:
            path.chmod(mode & PRIVATE_FOLDER)
    return path


def descriptor_share(most: int) -> int:
    """How many connections a listener may hold: an eighth of this process's file descriptors, at most ``most``."""
    try:
        import resource
    except ImportError:  # Windows
        return min(most, _DESCRIPTORS // 8)
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if allowed == resource.RLIM_INFINITY else min(most, max(8, allowed // 8))


def claim_process() -> None:
    """Declare that this process runs only LoreKeeper, so that process-wide settings may be changed.

    NumPy's products then take one thread: others would look for more work for 25 ms after each, whatever else needs the processor.
    And a thread that reads a book gives way to one that answers a question after 0.2 ms, and not after five.
    """
    global _own_process
    _own_process = True
    sys.setswitchinterval(0.0002)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported


def give_way() -> None:
    """Take what other processes leave of the processor: questions are answered before something is imported."""
    with contextlib.suppress(AttributeError, OSError):  # Windows has no such call
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)


class Turns:
    """Whose turn it is in this process: a question's, or that of what reads, embeds or stores in bulk."""

    def __init__(self) -> None:
        self._number, self._last = 0, 0.0

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """A question is answered in the body."""
        self._number += 1
        self.asked()
        asks = _asks.set(True)
        try:
            yield
        finally:
            _asks.reset(asks)
            self._number -= 1
            self.asked()

    def asked(self) -> None:
        """A question begins, or is answered."""
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds for which bulk work sleeps once before each small piece, so that it always ends; 0 for what a question needs."""
        young = self._last + (LONGEST_SECONDS if self._number else QUIET_SECONDS) - time.monotonic()
        return 0.0 if _asks.get() else min(max(young, 0.0), QUIET_SECONDS)


TURNS = Turns()
"""Those of this process."""


def is_own_process() -> bool:
    """Whether this process runs only LoreKeeper; not if a program uses LoreKeeper as a library."""
    return _own_process


def share_freed_memory() -> None:
    """Let threads share what they free, if this process runs only LoreKeeper: the C library has a heap for nearly each thread.

    Large blocks are mapped, and so are returned when they are freed: the C library would take them from the heap as soon as one
    of their size was freed, and keep them.
    """
    _call_library("mallopt", _MOST_HEAPS, 2)
    _call_library("mallopt", _MAPPED_FROM, 1 << 17)


def return_memory() -> None:
    """Give freed memory back to the operating system, if this process runs only LoreKeeper: the C library keeps it."""
    _call_library("malloc_trim", 0)


_MOST_HEAPS, _MAPPED_FROM = -8, -3
"""M_ARENA_MAX and M_MMAP_THRESHOLD of glibc."""


def _call_library(function: str, *arguments: int) -> None:
    """Call a function of glibc; nothing where the C library is another one, or the process not ours."""
    import ctypes

    if _own_process:
        with contextlib.suppress(AttributeError, OSError, TypeError):
            getattr(ctypes.CDLL(None), function)(*arguments)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Load many permanent objects without garbage collection, which would take a fifth of the start-up time.

    Afterwards the collector runs if it ran before, even after an error; `gc.unfreeze` lets it examine these objects again.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _own_process:
            gc.freeze()  # these objects are permanent: collections need not examine them
        if running:
            gc.enable()


async def in_own_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call a function that blocks, and may never return, in a thread of its own: the process ends without waiting for it.

    `asyncio.to_thread` is for what returns: an event loop, and the interpreter, wait at their end for its threads. What looks
    into a folder of the user's may wait for a network drive that does not answer.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():  # cancelled
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast(T, result))

    def run() -> None:
        result, error = None, None
        try:
            result = context.run(function, *arguments)
        except BaseException as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name=getattr(function, "__name__", "blocking")).start()
    return await future


async def ended(*tasks: asyncio.Future[Any]) -> None:
    """Wait until all tasks have ended, whatever comes of them. Who is cancelled meanwhile cancels them, and waits all the same.

    The cancellation that is raised is the one that came: anyio knows by its message which request it belongs to, and takes
    another one for the end of the whole connection. `asyncio.gather` raises another one if its last task ends well.
    """
    cancelled: asyncio.CancelledError | None = None
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:  # anyio repeats it at each turn of the event loop
            if cancelled is None:
                cancelled = error
                for task in tasks:
                    task.cancel()
    for task in tasks:
        if not task.cancelled():
            task.exception()  # else the event loop logs that nobody asked for it
    if cancelled is not None:
        raise cancelled


async def finished(*tasks: asyncio.Future[Any]) -> None:
    """Wait for all tasks, then raise the first error: no task may continue while its caller closes what it uses."""
    await ended(*tasks)
    for task in tasks:
        task.result()


async def all_of(calls: Iterable[Awaitable[T]]) -> list[T]:
    """What all return, concurrently."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    await finished(*tasks)
    return [task.result() for task in tasks]


@contextlib.asynccontextmanager
async def in_thread(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave a context manager that blocks (a lock, a file) in threads, and not on the event loop.

    If the task is cancelled while it waits to enter, the context is left as soon as it is entered.
    """
    entering = asyncio.create_task(asyncio.to_thread(context.__enter__))

    def leave(entered: asyncio.Task[T]) -> None:
        if not entered.cancelled() and entered.exception() is None:
            context.__exit__(None, None, None)

    try:
        value = await asyncio.shield(entering)
    except asyncio.CancelledError:
        entering.add_done_callback(leave)
        raise
    try:
        yield value
    finally:
        await asyncio.shield(asyncio.create_task(asyncio.to_thread(context.__exit__, None, None, None)))


class Closing:
    """Closes itself at the end of a ``with`` block."""

    def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClosing:
    """Closes itself at the end of an ``async with`` block."""

    async def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
