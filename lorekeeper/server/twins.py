"""Entries of the same name in other books, and titles of books; for entries whose own book has no text, that another has one."""

from __future__ import annotations

from typing import Any

from lorekeeper.entities import WHOLE_NAME, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.render.pages import NO_TEXT, lacks_text
from lorekeeper.views.view import View

MOST = 12
"""Most entries of one name that are looked at."""


async def without_text(view: View, entity: Entity) -> str:
    """That an entry has no text, and which entry of its name has one; "" for one that has, or needs none."""
    if not lacks_text(entity):
        return ""
    twin = next((each for each in await namesakes(view, entity) if not lacks_text(each)), None)
    return f"{NO_TEXT} {one_line(await title_of(view, twin))} has one: {twin.uri}" if twin else NO_TEXT


async def namesakes(view: View, entity: Entity) -> list[Entity]:
    """The entries of the same type and name, the entry itself among them, the preferred ones first."""
    documents = view.searcher.documents
    scope = (await documents.scopes([entity.type], None))[entity.type]
    asked: dict[str, Any] = {WHOLE_NAME.name: [fold(entity.name)]}
    return await view.cache.get_entities(entity.type, scope, limit=MOST, prefer=await documents.order(), **asked)


async def title_of(view: View, entity: Entity) -> str:
    """The title of the document of an entry."""
    titles = await view.searcher.documents.titles()
    return titles.get(entity.document) or entity.document_name or entity.document
