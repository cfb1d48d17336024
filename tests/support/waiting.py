"""Waits for something to happen. The deadline ends a test that hangs; it says nothing about speed."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable

HANG_SECONDS = 200.0
"""Longer than anything that a test waits for takes, on a machine that has ten times as much to do as it can."""

POLL_SECONDS = 0.005


def until(holds: Callable[[], object], seconds: float = HANG_SECONDS) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("what the test waits for does not happen")
        time.sleep(POLL_SECONDS)


async def eventually(holds: Callable[[], object], seconds: float = HANG_SECONDS) -> None:
    """The same in an event loop; ``holds`` may be a coroutine function."""
    async with asyncio.timeout(seconds):
        while True:
            held = holds()
            if await held if inspect.isawaitable(held) else held:
                return
            await asyncio.sleep(POLL_SECONDS)
