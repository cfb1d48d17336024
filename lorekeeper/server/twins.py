"""Entries of the same name in other books, for those whose own book has no text."""

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
    documents = view.searcher.documents
    scope = (await documents.scopes([entity.type], None))[entity.type]
    asked: dict[str, Any] = {WHOLE_NAME.name: [fold(entity.name)]}
    named = await view.cache.get_entities(entity.type, scope, limit=MOST, prefer=await documents.order(), **asked)
    twin = next((each for each in named if not lacks_text(each)), None)
    if twin is None:
        return NO_TEXT
    title = (await documents.titles()).get(twin.document) or twin.document
    return f"{NO_TEXT} {one_line(title)} has one: {twin.uri}"
