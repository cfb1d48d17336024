"""Rolls on the tables of an entry."""

from __future__ import annotations

import asyncio
from random import SystemRandom

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.rolling.tables import chosen
from lorekeeper.server.page.entries import MAX_TABLES, found
from lorekeeper.server.page.site import Page, Site

_random = SystemRandom()


async def _roll(site: Site, request: Request) -> Response:
    """A roll on one table of an entry, or on each: the line alone where a part of a page is asked for, else a page."""
    asked = request.query_params
    entity = await found(site.view(request), asked.get("uri", ""))
    tables = await asyncio.to_thread(chosen, entity, asked.get("table") or None)
    rolls = [table.roll(_random) for table in tables[:MAX_TABLES]]
    response = site.page(request, "roll.html", entity=entity, rolls=rolls, table=asked.get("table"))
    response.headers["cache-control"] = "no-store"
    del response.headers["etag"]
    return response


PAGES = (Page("/roll", _roll),)
