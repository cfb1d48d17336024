"""Hits of a search in another order than that of their relevance, the seeds of random orders, and the newest notes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.dates import EXAMPLE, ago, span, written
from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.order import BY_NAME, MOMENTS, RANDOM, Order, arranged, number_of, parse_orders, text_of
from lorekeeper.printable import one_line, shown
from lorekeeper.search.fusion import FUSED_BY_SCORE, FusedHit
from lorekeeper.search.query import MAX_LIMIT, Query
from lorekeeper.search.results import Key, ResultPage
from lorekeeper.text.notes import session_of

SORTED = FUSED_BY_SCORE
"""How many entries of a search for a text are relevant enough to be sorted. The head is the same for all pages."""

SEEDS = 10_000
"""Number of seeds that are drawn from."""

REPEAT = "Random order. Pass seed={} to repeat it and to get its next pages."
"""Note of a page whose seed was drawn."""


def sorted_hits(
    hits: Sequence[FusedHit[Key]], entities: Mapping[Key, Entity], orders: Mapping[str, Order]
) -> list[FusedHit[Key]]:
    """Hits in an order, which is given for each type; those without an entity are left out."""
    existing = [hit for hit in hits if hit.key in entities]

    def number(hit: FusedHit[Key], name: str) -> float | None:
        return number_of(entities[hit.key], name) if orders[hit.key[0]].fields else None

    return arranged(
        sorted(existing, key=lambda hit: (fold(entities[hit.key].name), hit.key)),
        max(orders.values(), key=lambda order: (order != BY_NAME, len(order.texts)), default=BY_NAME),
        identity=lambda hit: hit.key[1],
        number=number,
        text=lambda hit, name: text_of(entities[hit.key], name) if name in orders[hit.key[0]].texts else "",
    )


def order_gap(query: Query, page: ResultPage) -> str | None:
    """Which results of a page have no value to be sorted by, and so stand behind the others."""
    orders = parse_orders(query.types, query.order) if query.order else None
    fields = {entity_type: order.field for entity_type, order in (orders or {}).items() if order.field}
    if not fields:
        return None
    without = [
        one_line(each.entity.name)
        for each in page.results
        if (field := fields.get(each.entity.type)) is None or number_of(each.entity, field.name) is None
    ]
    if not without:
        return None
    named = ", ".join(without[:GAPS_NAMED]) + (
        f" and {len(without) - GAPS_NAMED} more" if len(without) > GAPS_NAMED else ""
    )
    what = next(iter(fields.values())).name.replace("_", " ")
    return f"Last, by name, without a known {what}: {named}."


GAPS_NAMED = 5
"""Most names of results without a value to be sorted by."""


def drawn_seed(order: str | None) -> int | None:
    """A new seed, if the order is a random one."""
    return secrets.randbelow(SEEDS) if (order or "").strip().casefold() == RANDOM else None


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

    def content(self) -> dict[str, str | float | None]:
        """The note and its date as JSON."""
        return {
            "uri": self.note.uri,
            "name": one_line(self.note.name),
            "kind": one_line(self.note.kind),
            "document": self.note.document,
            "date": written(self.date),
            "session": session_of(self.note),
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
