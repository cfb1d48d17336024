"""What else there is of an entry: versions of it in other books, and what belongs to it there."""

from __future__ import annotations

from dataclasses import dataclass

from lorekeeper.editions import edition_label
from lorekeeper.entities import Entity
from lorekeeper.printable import one_line
from lorekeeper.server.twins import namesakes, title_of
from lorekeeper.text.printed_on import page_of, with_page
from lorekeeper.views.view import View

MAX_BELOW = 60
"""Most subclasses or subraces that are listed."""

BELOW = {"class": "subclass", "race": "subrace"}
"""What kinds of entries belong to those of a kind."""


@dataclass(frozen=True)
class Version:
    """Another entry of the same name, or the entry itself.

    Attributes:
        entity: the version.
        document: title of its document.
        edition: as texts name it, "" if the title says it or it is unknown.
        own: whether it is the entry of the page.
    """

    entity: Entity
    document: str
    edition: str
    own: bool = False

    @property
    def label(self) -> str:
        """Document and edition."""
        return f"{self.document} ({self.edition})" if self.edition else self.document


async def versions_of(view: View, entity: Entity) -> list[Version]:
    """The entries of the same type and name, the entry itself among them, the preferred ones first."""
    named = await namesakes(view, entity)
    return [await version_of(view, each, own=each.identity == entity.identity) for each in named]


async def version_of(view: View, entity: Entity, *, own: bool = False) -> Version:
    """An entry with where it is from."""
    title = await title_of(view, entity)
    edition = edition_label(await view.searcher.documents.edition_of(entity.document))
    return Version(
        entity, one_line(with_page(title, page_of(entity))), "" if edition in title else one_line(edition), own
    )


async def below(view: View, entity: Entity) -> list[Version]:
    """The subclasses of a class and the subraces of a race that its own page does not list."""
    kind = BELOW.get(entity.kind)
    if kind is None:
        return []
    found = await view.cache.get_entities(entity.type, limit=MAX_BELOW, kind=kind, parent=entity.name)
    listed = {entity.document} if entity.kind == "class" or "subraces" in entity.data else set[str]()
    return [await version_of(view, each) for each in found if each.document not in listed]
