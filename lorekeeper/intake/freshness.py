"""What a library has from Open5e: how fresh it is, what is read again, what failed and when it is tried again."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lorekeeper.intake.sync_state import ALL, Listed, Source, SyncState, is_refreshing, load_state
from lorekeeper.normalize.open5e import ENDPOINTS

DAY = 86400.0

RETRY_SECONDS = 300.0
LONGEST_RETRY_SECONDS = DAY
"""How long after a failure the next attempt begins: twice as long after each further one, up to a day."""

MAX_NAMES = 6
"""Most lists that are named in a sentence."""


@dataclass(frozen=True)
class Stale:
    """A list that was read completely, but too long ago.

    Attributes:
        name: its endpoint.
        documents: keys of the documents of which it was read, None for all.
        since: when the oldest part of it was read, in seconds since 1970.
    """

    name: str
    documents: list[str] | None
    since: float


def stale_lists(state: SyncState, days: float) -> list[Stale]:
    """The lists that were read completely, wholly or for some documents, more than ``days`` ago; the documents first.

    What was never read completely is not among them: the library has not asked for it.
    """
    limit = time.time() - days * DAY
    found = [_stale(name, listed, limit) for name, listed in state.lists.items() if name in ENDPOINTS]
    return sorted([each for each in found if each], key=lambda stale: (stale.name != "documents", stale.since))


def _stale(name: str, listed: Listed, limit: float) -> Stale | None:
    whole = listed.whole.get(ALL)
    if whole is not None:
        return Stale(name, None, whole) if whole < limit else None
    old = {key: since for key, since in listed.whole.items() if since < limit}
    return Stale(name, sorted(old), min(old.values())) if old else None


def next_attempt(state: SyncState) -> float:
    """When stale lists may be read again, in seconds since 1970; 0 if nothing has failed."""
    refresh = state.refresh
    if not refresh.failures:
        return 0.0
    pause = min(RETRY_SECONDS * 2.0 ** min(refresh.failures - 1, 30), LONGEST_RETRY_SECONDS)
    return min(refresh.tried, time.time()) + pause


@dataclass(frozen=True)
class Freshness:
    """How fresh a library is. Times are in seconds since 1970.

    Attributes:
        lists: how many lists of Open5e were read completely.
        stale: those that were read too long ago.
        days: what too long is.
        oldest: when the one was read that was read longest ago; None without any.
        reading: the list that is being read now, by whatever process; "" for none.
        read: how many of its entries have been read.
        failures: attempts in a row that left something stale.
        problem: why the last one failed.
        next_attempt: when the next one may begin, None if nothing has failed.
        obstacle: the setting that keeps stale lists from being read, "" for none.
    """

    lists: int
    stale: list[str]
    days: float
    oldest: float | None
    reading: str
    read: int
    failures: int
    problem: str
    next_attempt: float | None
    obstacle: str

    @property
    def failing(self) -> bool:
        """Whether something is stale because it could not be read."""
        return bool(self.stale and self.failures)

    def as_dict(self) -> dict[str, Any]:
        """The attributes by name."""
        return asdict(self)

    def sentence(self) -> str:
        """All of it in words."""
        if not self.lists:
            return "not synced yet; run 'lorekeeper sync open5e'"
        oldest = f"the oldest on {day(self.oldest or 0.0)}"
        if not self.stale:
            return f"{self.lists} lists, all read within {self.days:g} days, {oldest}"
        more = f" and {len(self.stale) - MAX_NAMES} more" if len(self.stale) > MAX_NAMES else ""
        names = ", ".join(self.stale[:MAX_NAMES]) + more
        old = f"{len(self.stale)} of {self.lists} lists were read more than {self.days:g} days ago ({names}; {oldest})"
        return f"{old}; {self._prospect()}"

    def _prospect(self) -> str:
        """When the stale lists will be read."""
        if self.reading:
            return f"{self.reading} are being read now, {self.read:,} so far"
        if self.obstacle:
            return f"{self.obstacle}, so only 'lorekeeper sync open5e' updates them"
        if self.next_attempt is not None:
            times = "once" if self.failures == 1 else f"{self.failures} times in a row"
            return f"reading them failed {times}: {self.problem}. 'lorekeeper serve' tries again {moment(self.next_attempt)}"
        return "'lorekeeper serve' refreshes them while it is idle"


def freshness(source: Source, *, offline: bool) -> Freshness:
    """How fresh the library of a source is. Blocking."""
    state = load_state(source.state_path, source.base_url)
    synced = [listed for name, listed in state.lists.items() if listed.whole and name in ENDPOINTS]
    begun = {name: listed.reading for name, listed in state.lists.items() if listed.reading}
    stale, reading = stale_lists(state, source.days), ""
    if begun and is_refreshing(source.state_path):
        reading = max(begun, key=lambda name: begun[name].last)
    return Freshness(
        lists=len(synced),
        stale=[each.name for each in stale],
        days=source.days,
        oldest=min((max(each.whole.values()) for each in synced), default=None),
        reading=reading,
        read=begun[reading].objects if reading else 0,
        failures=state.refresh.failures,
        problem=state.refresh.problem,
        next_attempt=next_attempt(state) or None,
        obstacle=_obstacle(source, offline=offline),
    )


def _obstacle(source: Source, *, offline: bool) -> str:
    if offline:
        return "LOREKEEPER_OFFLINE is set"
    return "" if source.background else "LOREKEEPER_BACKGROUND_SYNC is 0"


def failing_note(state: SyncState, types: Collection[str], days: float) -> str | None:
    """What an answer with entries of these types has to say: that they are old, and could not be read again."""
    if not state.refresh.failures:
        return None
    old = [each for each in stale_lists(state, days) if ENDPOINTS[each.name].type in types]
    if not old:
        return None
    names, since = _types(old), day(min(each.since for each in old))
    return f"Open5e's {names} are as of {since}: reading them again failed; next attempt {moment(next_attempt(state))}."


def _types(lists: Sequence[Stale]) -> str:
    """The types of lists, for a sentence."""
    names = dict.fromkeys((ENDPOINTS[each.name].type or "").replace("_", " ") for each in lists)
    return " and ".join(names)


def day(seconds: float) -> str:
    """A day of this place, as in "2026-11-22"."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def moment(seconds: float) -> str:
    """A time to come, as in "after 2026-11-22 18:30", or "soon"."""
    return time.strftime("after %Y-%m-%d %H:%M", time.localtime(seconds)) if seconds > time.time() else "soon"
