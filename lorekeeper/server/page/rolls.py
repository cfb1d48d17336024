"""Rolls on the tables of an entry."""

from __future__ import annotations

import asyncio
from random import SystemRandom

from starlette.responses import Response

from lorekeeper.play.dice import parsed_formula
from lorekeeper.play.tables import chosen
from lorekeeper.server.page.entries import MAX_TABLES, found
from lorekeeper.server.page.site import Page, Visit

_random = SystemRandom()


async def _roll(visit: Visit) -> Response:
    """A roll of dice, or on one table of an entry, or on each: the line alone where a part of a page is asked for."""
    asked = visit.query_params
    if "dice" in asked:
        formula = parsed_formula(asked["dice"])
        number, fell = await asyncio.to_thread(formula.throw, _random)
        return _fresh(visit.page("dice.html", dice=str(formula), number=number, fell=fell))
    entity = await found(visit.view, asked.get("uri", ""))
    tables = await asyncio.to_thread(chosen, entity, asked.get("table") or None)
    rolls = [table.roll(_random) for table in tables[:MAX_TABLES]]
    return _fresh(visit.page("roll.html", entity=entity, rolls=rolls, table=asked.get("table")))


def _fresh(response: Response) -> Response:
    """A response that no browser keeps: the next one is another roll."""
    response.headers["cache-control"] = "no-store"
    del response.headers["etag"]
    return response


PAGES = (Page("/roll", _roll),)
