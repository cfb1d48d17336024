"""Event loops beside the one of a test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def in_thread(manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """An asynchronous context manager whose loop runs in a thread of its own, for tests that have none."""
    entered: Future[T] = Future()
    loop = asyncio.new_event_loop()
    leave = asyncio.Event()

    async def run() -> None:
        try:
            async with manager as value:
                entered.set_result(value)
                await leave.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        yield entered.result()
    finally:
        loop.call_soon_threadsafe(leave.set)
        thread.join()
        loop.close()
