"""Wrong credentials over HTTP: each further one from an address is answered later.

Tokens of 256 bits are not found by trying; this keeps those who try from filling the log and the machine, and makes up for a
LOREKEEPER_HTTP_TOKEN that somebody chose. A right token never waits. It is refused only while many wrong ones are sent over
parallel connections from the same address: what these bring is not looked at, so that they find nothing either.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from lorekeeper.errors import LoreKeeperError

FIRST_SECONDS, MOST_SECONDS = 0.1, 5.0
"""How long the first wrong credentials wait for their answer, and the longest that any do; each wait is twice the one before."""

FORGOTTEN_SECONDS = 300.0
"""After how long without another failure an address starts anew."""

MAX_ADDRESSES = 1024
"""Most addresses that are remembered: those that failed last."""

MAX_WAITING = 8
"""Most answers to wrong credentials of one address that wait at a time; while so many do, no others of it are looked at."""

RETRY_SECONDS = 5
"""When to try again then."""

_LONGEST_ADDRESS = 60


class GuessingError(LoreKeeperError):
    """Credentials were not looked at, since too many wrong ones of their address wait for their answers."""


class Failures:
    """Counts failures by address, and makes their answers wait."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def looking(self, address: str) -> AsyncIterator[None]:
        """Look at credentials from an address in the block: one at a time, if the address has sent wrong ones.

        Who catches an error of the block calls `pause` before awaiting anything else.

        Raises:
            GuessingError: they are not to be looked at.
        """
        key = _neighbourhood(address)
        if key not in self._counts:
            yield
            return
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            if self._waiting[key] >= MAX_WAITING:
                raise GuessingError(f"{MAX_WAITING} wrong credentials of this address wait for their answers")
            yield

    async def pause(self, address: str) -> None:
        """Wait as long as the next failure from an address has to."""
        key = _neighbourhood(address)
        seconds = self._next(key)
        self._waiting[key] += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]

    def _next(self, address: str) -> float:
        """Count a failure; for how many seconds it is to wait."""
        now = time.monotonic()
        count, last = self._counts.pop(address, (0, now))
        count = count if now - last < FORGOTTEN_SECONDS else 0
        self._counts[address] = count + 1, now
        if len(self._counts) > MAX_ADDRESSES:
            self._counts.popitem(last=False)
        return min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(count, 20))


def _neighbourhood(address: str) -> str:
    """What counts as one address: an address of version 4, a network of 64 bits of version 6, as one machine may have."""
    import ipaddress

    try:
        return (
            str(ipaddress.ip_network(f"{address}/64", strict=False)) if ":" in address else address[:_LONGEST_ADDRESS]
        )
    except ValueError:
        return address[:_LONGEST_ADDRESS]
