"""What a note is linked with, from the library: titles of the notes it links to, and the notes that link to it."""

from __future__ import annotations

from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.render import MAX_LINKED, UNRELATED, Linked, Related, linked_paths
from lorekeeper.views.view import View

MAX_READ = 500
"""Most notes that are read to find those that link to one."""


async def related_of(view: View, entity: Entity) -> Related:
    """What an entry is linked with; nothing but for notes."""
    if entity.type != "notes":
        return UNRELATED
    wanted = [(entity.document, path) for path in linked_paths(entity)[:MAX_LINKED]]
    names = {each.slug: each.name for each in await view.cache.load("notes", wanted)} if wanted else {}
    asked: dict[str, Any] = {"links": entity.slug}
    found = await view.cache.get_entities("notes", entity.document, limit=MAX_READ, **asked)
    linking = [each for each in found if _links_to(each, entity)]
    count = len(linking)
    if len(found) == MAX_READ:
        count += await view.cache.count_entities("notes", entity.document, **asked) - MAX_READ
    shown = [Linked(each.name, each.uri) for each in linking[:MAX_LINKED]]
    return Related(names, shown, count - len(shown))


def _links_to(other: Entity, entity: Entity) -> bool:
    """Whether a note links to the very path of another: a filter also finds paths that end in it."""
    return other.identity != entity.identity and entity.slug in linked_paths(other)
