"""Hits of a search in another order than that of their relevance, and the seeds of random orders."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.filters import COMPARISONS, named_field, parse_filters
from lorekeeper.folding import fold
from lorekeeper.order import BY_NAME, RANDOM, SHORT, Order, arranged, number_of, text_of
from lorekeeper.search.fusion import FUSED_BY_SCORE, FusedHit
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key, ResultPage

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


def order_hint(query: Query, page: ResultPage) -> str | None:
    """How to sort a long list by the number that a filter bounds: who asks for a high one may want the highest first."""
    if query.order or page.mode != "structured" or page.next_offset is None or len(query.types) != 1:
        return None
    conditions = parse_filters(query.types[0], query.filters)
    bounded = {condition.field for condition in conditions if condition.op in COMPARISONS}
    for name in SHORT:
        field = named_field(COLLECTIONS[query.types[0]], name)
        if field in bounded:
            return f"Sorted by name; order={name} sorts by {field.name.replace('_', ' ')}."
    return None


def drawn_seed(order: str | None) -> int | None:
    """A new seed, if the order is a random one."""
    return secrets.randbelow(SEEDS) if (order or "").strip().casefold() == RANDOM else None
