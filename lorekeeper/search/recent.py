"""The newest notes: by the dates that they state, else by when their files were changed."""

from __future__ import annotations

from dataclasses import dataclass

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.dates import EXAMPLE, ago, span, written
from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.order import MOMENTS, Order
from lorekeeper.printable import one_line, shown
from lorekeeper.search.query import MAX_LIMIT

NOTES = "notes"


@dataclass(frozen=True)
class Recent:
    """A note with its own date.

    Attributes:
        note: the entry.
        date: in seconds since 1970 in UTC: of its session, else the one that it states, else when its file was changed.
        session: whether it is the date of its session.
    """

    note: Entity
    date: float
    session: bool

    def content(self) -> dict[str, str | int | None]:
        """The note and its date as JSON."""
        number = self.note.fields.get("session")
        return {
            "uri": self.note.uri,
            "name": one_line(self.note.name),
            "kind": one_line(self.note.kind),
            "document": self.note.document,
            "date": written(self.date),
            "session": number if isinstance(number, int) else None,
        }


async def recent_notes(cache: SearchCache, since: str | None = None, limit: int = 10) -> list[Recent]:
    """The newest notes, the newest first; entries without a date are left out.

    Args:
        cache: the entries.
        since: a date, or a stretch of time before now such as "7d"; None for all.
        limit: most notes, 1 to 50.

    Raises:
        FilterError: the date cannot be read, or the limit is out of range.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise FilterError(f"limit must be 1 to {MAX_LIMIT}, not {limit}")
    first = None if since is None else _second(since)
    notes = await cache.get_entities(NOTES, limit=limit, order=Order(newest=True))
    found = [Recent(note, *own) for note in notes if (own := _own_date(note))]
    return [each for each in found if first is None or each.date >= first]


def _second(since: str) -> int:
    """The second with which a stretch of time begins; FilterError if it cannot be read."""
    try:
        return back if (back := ago(since)) is not None else span(since)[0]
    except ValueError as error:
        raise FilterError(f"since is a date, such as {EXAMPLE}, not {shown(since)}") from error


def _own_date(note: Entity) -> tuple[float, bool] | None:
    """The date of a note, and whether it is that of its session; None if it has none."""
    for field in MOMENTS:
        value = note.fields.get(field)
        if isinstance(value, (int, float)):
            return float(value), field == MOMENTS[0]
    return None
