"""What else there is of an entry: versions of it in other books, and what belongs to it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lorekeeper.editions import edition_label
from lorekeeper.entities import WHOLE_NAME, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.text.printed_on import page_of, with_page
from lorekeeper.views.view import View

MAX_VERSIONS = 12
"""Most versions of an entry that are listed."""

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
    documents = view.searcher.documents
    scope = (await documents.scopes([entity.type], None))[entity.type]
    asked: dict[str, Any] = {WHOLE_NAME.name: [fold(entity.name)]}
    named = await view.cache.get_entities(
        entity.type, scope, limit=MAX_VERSIONS, prefer=await documents.order(), **asked
    )
    return [await version_of(view, each, own=each.identity == entity.identity) for each in named]


async def version_of(view: View, entity: Entity, *, own: bool = False) -> Version:
    """An entry with where it is from."""
    documents = view.searcher.documents
    title = (await documents.titles()).get(entity.document) or entity.document_name or entity.document
    edition = edition_label(await documents.edition_of(entity.document))
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
