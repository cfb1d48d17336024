"""The progress of calls that take long."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from mcp.server.session import ServerSession

FIRST_SECONDS, NEXT_SECONDS = 0.5, 1.0
"""After how long a call reports its progress for the first time, and how often from then on."""


@contextlib.asynccontextmanager
async def reported(context: Any, activity: Callable[[], str]) -> AsyncIterator[None]:
    """Report the progress of a call that takes long; nothing is sent if its client has not asked for it.

    Args:
        context: of the call.
        activity: says what it is waiting for.
    """
    task = asyncio.create_task(_report(context.session, activity))
    try:
        yield
    finally:
        task.cancel()


async def _report(session: ServerSession, activity: Callable[[], str]) -> None:
    """Seconds so far, and what is going on; how much is left is not known."""
    started = time.monotonic()
    await asyncio.sleep(FIRST_SECONDS)
    while True:
        await session.report_progress(round(time.monotonic() - started, 1), None, f"{activity()} ...")
        await asyncio.sleep(NEXT_SECONDS)
