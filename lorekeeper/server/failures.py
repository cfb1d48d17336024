"""Wrong credentials over HTTP: each further one from an address is answered later.

Tokens of 256 bits are not found by trying; this keeps those who try from filling the log and the machine, and makes up for a
LOREKEEPER_HTTP_TOKEN that somebody chose. A right token never waits, whoever else sends wrong ones from its address.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

FIRST_SECONDS, MOST_SECONDS = 0.1, 5.0
"""How long the first wrong credentials wait for their answer, and the longest that any do; each wait is twice the one before."""

FORGOTTEN_SECONDS = 300.0
"""After how long without another failure an address starts anew."""

MAX_ADDRESSES = 1024
"""Most addresses that are remembered: those that failed last."""

MAX_WAITING = 32
"""Most answers that wait at a time: others are given at once, so that nobody fills the server with connections that wait."""

_LONGEST_ADDRESS = 60


class Failures:
    """Counts failures by address, and makes their answers wait."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._waiting = 0

    async def pause(self, address: str) -> None:
        """Wait as long as the next failure from an address has to."""
        seconds = self._next(_neighbourhood(address))
        if self._waiting >= MAX_WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting -= 1

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
