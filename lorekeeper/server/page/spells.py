"""Spell lists of classes and subclasses, to read and to print."""

from __future__ import annotations

from starlette.responses import Response

from lorekeeper.server.page.site import Page, Visit
from lorekeeper.spell_lists import spell_list


async def _spells(visit: Visit) -> Response:
    view = visit.view
    await view.refresh()
    books = visit.query_params.getlist("book") or None
    order = await view.searcher.documents.order()
    listed = await spell_list(view.cache, order, visit.path_params["name"], books)
    titles = await view.searcher.documents.titles()
    found = {entity.document for _, group in listed.groups for spell in group for entity in spell.entities}
    shown = {key: titles.get(key, key) for key in order if key in found}
    return visit.page("spells.html", listed=listed, books=shown, chosen=books)


PAGES = (Page("/spells/{name:rest}", _spells),)
