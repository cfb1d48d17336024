"""Keeps what was synced from Open5e fresh: while nobody asks, one process of several reads stale lists again.

This module decides when; `refresh` does the work, and is imported only when there is some.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lorekeeper.cache.formats import answering
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.errors import CacheError, EmbeddingError, SourceError
from lorekeeper.intake.sync_state import Source, load_state, refresh_lock
from lorekeeper.system import TURNS, in_thread

logger = logging.getLogger(__name__)

Embed = Callable[[Sequence[str]], Awaitable[Any]]
"""Embeds texts; their vectors are kept, and need not be computed when the entries are stored."""


@dataclass(frozen=True)
class Pace:
    """How fast stale lists are read again. All but ``rest`` in seconds.

    Attributes:
        start: for so long nobody has asked anything before the first look: a client's first questions come in quick
            succession, and none should meet a server that is busy with itself.
        look: between two looks whether there is something to do. Another process that ended is replaced within that time.
        quiet: for so long nobody has asked anything before each portion of work: a model asks several times in a row.
        request: between two requests. A hundred entries each: all of Open5e takes two minutes at least.
        rest: how many times as long as a portion of work took nothing is done afterwards. A question of another process
            that is not noticed here meets work in one of ten cases.
    """

    start: float = 30.0
    look: float = 60.0
    quiet: float = 2.0
    request: float = 1.0
    rest: float = 9.0


PACE = Pace()
"""The pace of `keep_fresh`."""


class Questions:
    """The questions that are being answered, and for how long there has been none."""

    def __init__(self) -> None:
        self._number = 0
        self._last = time.monotonic()

    @contextmanager
    def one(self) -> Iterator[None]:
        """A question is answered in the body."""
        self._number += 1
        try:
            with answering(), TURNS.question():
                yield
        finally:
            self._number -= 1
            self._last = time.monotonic()

    async def silence(self, seconds: float) -> None:
        """Wait until nobody has asked anything for so long."""
        left = self._left(seconds)
        while left > 0:
            await asyncio.sleep(left)
            left = self._left(seconds)

    def _left(self, seconds: float) -> float:
        """Seconds until there has been silence for so long, if nobody asks."""
        return seconds if self._number else self._last + seconds - time.monotonic()


class Leisure:
    """When there is time to work.

    Args:
        questions: go first.
        pace: how fast to work.
    """

    def __init__(self, questions: Questions, pace: Pace) -> None:
        self._questions = questions
        self._pace = pace
        self._requested = -pace.request

    @asynccontextmanager
    async def portion(self) -> AsyncIterator[None]:
        """Do a small portion of work in the body: once nobody waits, and with a rest after it."""
        await self._questions.silence(self._pace.quiet)
        began = time.monotonic()
        yield
        await asyncio.sleep(self._pace.rest * (time.monotonic() - began))

    async def request(self) -> None:
        """Wait until the next request may be sent."""
        await self._questions.silence(self._pace.quiet)
        await asyncio.sleep(self._requested + self._pace.request - time.monotonic())
        self._requested = time.monotonic()


async def keep_fresh(cache: SearchCache, source: Source, questions: Questions, embed: Embed) -> None:
    """Bring up to date whatever is stale, until cancelled. Several processes may do so: one of them works.

    Args:
        cache: the library's, which is open.
        source: what it was synced with.
        questions: those that go first.
        embed: embeds the texts of what has changed, a few at a time.
    """
    pace = PACE
    leisure = Leisure(questions, pace)
    await questions.silence(pace.start)
    while True:
        try:
            if await asyncio.to_thread(is_due, source):
                await _refresh(cache, source, leisure, embed)
        except (CacheError, EmbeddingError, SourceError) as error:
            logger.info("nothing is brought up to date now: %s", error)
        except Exception:
            logger.exception("bringing the library up to date failed")
        await asyncio.sleep(pace.look)


def is_due(source: Source) -> bool:
    """Whether something is stale, and may be read now. Blocking."""
    from lorekeeper.intake.freshness import (  # with the rules of sources: nobody waits for them here
        next_attempt,
        stale_lists,
    )

    state = load_state(source.state_path, source.base_url)
    return bool(stale_lists(state, source.days)) and next_attempt(state) <= time.time()


async def _refresh(cache: SearchCache, source: Source, leisure: Leisure, embed: Embed) -> None:
    """Make one attempt, unless another process is making one."""
    module = await asyncio.to_thread(import_module, "lorekeeper.intake.refresh")
    async with in_thread(refresh_lock(source.state_path)):
        if await asyncio.to_thread(is_due, source):
            await module.Refresher(cache, source, leisure, embed).refresh()
