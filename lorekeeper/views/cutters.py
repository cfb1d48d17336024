"""Which entries of a type a viewer sees, and what of them, for projections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from lorekeeper.audience import Viewer
from lorekeeper.entities import Entity
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.text.notes import aliases
from lorekeeper.vaults.links import Links
from lorekeeper.vaults.vaults import EVERY_VAULT
from lorekeeper.views.cut import cut, is_visible
from lorekeeper.views.projections import Visible


class EntryCutter:
    """Leaves of entries what their audiences let a viewer see.

    Args:
        viewer: who asks.
        sealed: keys of vaults of which nothing is left, or `EVERY_VAULT`.
    """

    by_content = True

    def __init__(self, viewer: Viewer, sealed: frozenset[str] = frozenset()) -> None:
        self._viewer, self._sealed = viewer, sealed

    def other_names(self, entity: Entity) -> Sequence[str] | None:
        """The aliases of a note that the viewer may know, None if nothing of it may be seen."""
        if not self._shows(entity):
            return None
        return aliases(cut(entity, self._viewer, _nowhere)) if entity.type == "notes" else ()

    def cut(self, entities: Iterable[Entity], visible: Visible) -> list[Entity]:
        """What may be seen of entries; links mean the visible notes."""
        links = _Links(visible)
        return [cut(entity, self._viewer, links.from_note(entity)) for entity in entities if self._shows(entity)]

    def _shows(self, entity: Entity) -> bool:
        is_sealed = entity.source_api == VAULT and not self._sealed.isdisjoint((entity.document, EVERY_VAULT))
        return not is_sealed and is_visible(entity, self._viewer)


class DocumentCutter:
    """Leaves the documents that a viewer sees something of, and those without entries that are no vaults and not secret.

    Args:
        viewer: who asks.
        present: keys of the documents of which the viewer sees entries.
        hidden: keys of those of which all entries are kept from the viewer.
    """

    by_content = False

    def __init__(self, viewer: Viewer, present: Collection[str], hidden: Collection[str]) -> None:
        self._viewer, self._present, self._hidden = viewer, present, hidden

    def other_names(self, entity: Entity) -> Sequence[str] | None:
        """(), None if nothing of the document may be seen."""
        return () if self._shows(entity) else None

    def cut(self, entities: Iterable[Entity], visible: Visible) -> list[Entity]:  # noqa: ARG002
        """The documents that may be seen, as they are."""
        return [cut(entity, self._viewer, _nowhere) for entity in entities if self._shows(entity)]

    def _shows(self, entity: Entity) -> bool:
        if entity.source_api == VAULT:
            return entity.document in self._present
        return entity.document not in self._hidden and is_visible(entity, self._viewer)


class _Links:
    """Finds the notes that links mean among the visible ones, by vault."""

    def __init__(self, visible: Visible) -> None:
        self._visible = visible
        self._by_document: dict[str, Links] = {}

    def from_note(self, entity: Entity) -> Callable[[str], str | None]:
        """Finds what the links of a note mean."""
        if entity.type != "notes":
            return _nowhere
        if entity.document not in self._by_document:
            self._by_document[entity.document] = Links(_notes_of(self._visible, entity.document))
        return partial(self._by_document[entity.document].resolve, source=entity.slug)


def _notes_of(visible: Visible, document: str) -> Mapping[str, Sequence[str]]:
    return {slug: names for (key, slug), names in visible.items() if key == document}


def _nowhere(_: str) -> None:
    """No note is meant."""
