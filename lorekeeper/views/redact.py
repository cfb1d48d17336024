"""What a viewer may see of an entry: the one place that applies audiences.

What is kept secret is left out as if it had never been written. So a player's note has no trace of where something was cut out,
and its links lead where they would without the notes that this player does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from lorekeeper.audience import DM, GM_PART, PLAYERS, Audience, Viewer, parsed, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold
from lorekeeper.normalize.notes import (
    OPEN_ALIASES,
    OPEN_TAGS,
    Resolve,
    aliased,
    linked,
    rejoined,
    second_of,
    stated,
    tagged,
)
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.notes.kinds import kind_of, stated_date
from lorekeeper.notes.links import Written, relinked, wikilink
from lorekeeper.notes.note import PATH_SEPARATOR
from lorekeeper.notes.properties import Properties
from lorekeeper.records.notes import WRITTEN
from lorekeeper.text.notes import aliases
from lorekeeper.vaults.links import Links
from lorekeeper.vaults.vaults import EVERY_VAULT
from lorekeeper.views.redacted_views import Visible

V = TypeVar("V")

JsonObject = Mapping[str, Any]

MARKS = frozenset(
    {
        "mark",
        AUDIENCE,
        "opened_by",
        "opened",
        "note_mark",
        "note_audience",
        "note_opened_by",
        "continues",
        OPEN_TAGS,
        OPEN_ALIASES,
    }
)
"""Keys of data that say what is secret, and to whom: they are for the game master."""

NOTE_LEVEL = frozenset({"heading", "facts_in_text", "keys"})
"""Keys of a note's data, beside its aliases and facts, that only who sees the note as a whole may see."""

OWN = frozenset({"folder", "modified"})
"""Filter fields of a note that its path and file have, whatever it says."""


def is_visible(entity: Entity, viewer: Viewer) -> bool:
    """Whether a viewer may see anything of an entry."""
    if viewer.sees_all:
        return True
    if entity.source_api != VAULT:
        audiences = entity.fields.get(AUDIENCE)
        return not isinstance(audiences, tuple) or any(viewer.sees(_known(who)) for who in audiences)
    if entity.type == "notes":
        return _sees_whole(entity, viewer) or any(_visible_sections(entity, viewer))
    return viewer.sees(within(parsed(entity.data.get(AUDIENCE)), parsed(entity.data.get("note_audience")), DM))


def redact(entity: Entity, viewer: Viewer, resolve: Resolve) -> Entity:
    """What a viewer may see of an entry of which `is_visible` is true.

    Args:
        entity: as the library has it.
        viewer: who asks.
        resolve: finds the note that a link of this entry means, among those that this viewer sees.
    """
    if viewer.sees_all:
        return entity
    if entity.type == "notes" and entity.source_api == VAULT:
        return _note(entity, viewer, resolve)
    data = _part(entity, viewer) if entity.source_api == VAULT else _without(entity.data, {GM_PART})
    return replace(entity, data=data, fields=_without(entity.fields, {AUDIENCE}))


def _part(entity: Entity, viewer: Viewer) -> JsonObject:
    """The data of a creature or a table of a note; without the headings above it, if the note is not shared as a whole."""
    data = _without(entity.data, MARKS)
    if viewer.sees(within(None, parsed(entity.data.get("note_audience")), DM)):
        return data
    if entity.type == "characters":  # its player may see it, not the note that it is from
        return _without(data, {"note", "note_name", "note_section", "file"})
    opened = str(entity.data.get("opened") or "")
    return {**_without(data, {"note_section"}), **({"note_section": opened} if opened else {})}


# --- notes -----------------------------------------------------------------------------------------------------------


def _note(entity: Entity, viewer: Viewer, resolve: Resolve) -> Entity:
    """A note without its secrets; of one that is not shared as a whole, its name and the sections that are."""
    data = _without(entity.data, MARKS)
    data["sections"] = _joined(entity, viewer, resolve)
    data["links"] = _links(entity, viewer, resolve)
    links = linked(data["links"])
    if not _sees_whole(entity, viewer):
        data = {**_without(data, NOTE_LEVEL), "aliases": [], "facts": {}, "title_from": "file"}
        fields = {name: value for name, value in entity.fields.items() if name in OWN}
        nothing = Properties({})
        kind, dated = kind_of(nothing, nothing, (), entity.slug, ""), stated_date(nothing, entity.slug, "")
        return replace(
            entity,
            kind=kind,
            data=data,
            fields={
                **fields,
                **clean_fields("notes", {"links": links, "dated": second_of(dated), **stated(data, entity.slug)}),
            },
        )
    tags = entity.data.get(OPEN_TAGS)
    changed = {"links": links, **stated(data, entity.slug), **({} if tags is None else {"tags": tagged(tags)})}
    if isinstance(named := entity.data.get(OPEN_ALIASES), list):
        data["aliases"], changed["aliases"] = named, aliased(map(str, named))
    fields = _without(entity.fields, {AUDIENCE, *changed})
    return replace(entity, data=data, fields={**fields, **clean_fields("notes", changed)})


def _sees_whole(entity: Entity, viewer: Viewer) -> bool:
    """Whether a viewer may see what has no mark of its own in a note."""
    return viewer.sees(within(None, parsed(entity.data.get(AUDIENCE)), DM))


def _audience(entity: Entity, part: JsonObject) -> Audience:
    return within(parsed(part.get(AUDIENCE)), parsed(entity.data.get(AUDIENCE)), DM)


def _parts(entity: Entity, key: str) -> Iterator[JsonObject]:
    listed = entity.data.get(key)
    return (part for part in (listed if isinstance(listed, list) else ()) if isinstance(part, Mapping))


def _visible_sections(entity: Entity, viewer: Viewer) -> Iterator[JsonObject]:
    return (section for section in _parts(entity, "sections") if viewer.sees(_audience(entity, section)))


def _visible_links(entity: Entity, viewer: Viewer) -> Iterator[JsonObject]:
    return (link for link in _parts(entity, "links") if viewer.sees(_audience(entity, link)))


def _joined(entity: Entity, viewer: Viewer, resolve: Resolve) -> list[dict[str, Any]]:
    """The visible sections; one that was divided by something secret is whole again."""
    sections: list[dict[str, Any]] = []
    shared = _sees_whole(entity, viewer)
    visible = list(_visible_sections(entity, viewer))
    names = [str(section.get("name" if shared else "opened") or "") for section in visible]
    headings = {fold(part) for name in names for part in name.split(PATH_SEPARATOR)}
    for section in visible:
        shown = _without(section, MARKS)
        if isinstance(written := shown.get(WRITTEN), str):
            shown[WRITTEN] = relinked(written, partial(_written_link, resolve=resolve, headings=headings))
        if not shared:
            shown = {**_without(shown, {"tells"}), "name": str(section.get("opened") or "")}
        if section.get("continues") and sections and sections[-1].get("name") == shown.get("name"):
            sections[-1] |= _both(sections[-1], shown)
        else:
            sections.append(shown)
    return sections


def _both(before: JsonObject, after: JsonObject) -> dict[str, str]:
    """The texts of a section that goes on with another one: as searched, and as written if either is kept."""
    parts = (before, after)
    told = {"desc": rejoined(*(str(part.get("desc", "")) for part in parts))}
    if any(WRITTEN in part for part in parts):
        told[WRITTEN] = rejoined(*(str(part.get(WRITTEN) or part.get("desc", "")) for part in parts))
    return told


def _links(entity: Entity, viewer: Viewer, resolve: Resolve) -> list[dict[str, Any]]:
    """The visible links, each with the note that it means for this viewer.

    One to a note that this viewer does not see, or that is nowhere, is a link to what is shown of it: its target may be a secret.
    """
    shared = _sees_whole(entity, viewer)
    found = []
    for link in _visible_links(entity, viewer):
        heading = link.get("heading") if shared else link.get("opened")
        target, resolved = _target(str(link.get("target") or ""), str(link.get("text") or ""), resolve)
        if target:
            found.append({**_without(link, MARKS), "target": target, "heading": str(heading or ""), "to": resolved})
    return found


def _target(target: str, shown: str, resolve: Resolve) -> tuple[str, str | None]:
    """The target of a link for a viewer, "" for none, and the note that it means."""
    if (resolved := resolve(target)) is not None:
        # "../secret/../Inn" names a folder that the path of the note does not
        return (resolved if ".." in target else target), resolved
    return shown, resolve(shown) if shown else None


def _written_link(link: Written, resolve: Resolve, headings: Collection[str]) -> str:
    """A link of a note's text as its author wrote it, for a viewer."""
    if not link.target:
        return link.written if fold(link.heading) in headings else link.shown
    target, resolved = _target(link.target, link.shown, resolve)
    if resolved is not None and target == link.target:
        hides = bool(link.heading) and fold(link.heading) not in fold(link.shown)
        return wikilink(target, link.shown, embedded=link.embedded) if hides else link.written
    return wikilink(target, link.shown, embedded=resolved is not None and link.embedded and target != link.shown)


def _without(values: Mapping[str, V], names: Collection[str]) -> dict[str, V]:
    return {name: value for name, value in values.items() if name not in names}


def _known(who: str) -> Audience:
    return who if who in (DM, PLAYERS) else (who,)


# --- for views of a library ---------------------------------------------------------------------------------------------


class EntryRedactor:
    """Leaves of entries what their audiences let a viewer see.

    Args:
        viewer: who asks.
        unreadable_vaults: keys of vaults of which nothing is left, or `EVERY_VAULT`.
    """

    by_content = True

    def __init__(self, viewer: Viewer, unreadable_vaults: frozenset[str] = frozenset()) -> None:
        self._viewer, self._unreadable_vaults = viewer, unreadable_vaults

    def other_names(self, entity: Entity) -> Sequence[str] | None:
        """The aliases of a note that the viewer may know, None if nothing of it may be seen."""
        if not self._shows(entity):
            return None
        return aliases(redact(entity, self._viewer, _nowhere)) if entity.type == "notes" else ()

    def redact(self, entities: Iterable[Entity], visible: Visible) -> list[Entity]:
        """What may be seen of entries; links mean the visible notes."""
        links = _Links(visible)
        return [redact(entity, self._viewer, links.from_note(entity)) for entity in entities if self._shows(entity)]

    def _shows(self, entity: Entity) -> bool:
        is_unreadable = entity.source_api == VAULT and not self._unreadable_vaults.isdisjoint(
            (entity.document, EVERY_VAULT)
        )
        return not is_unreadable and is_visible(entity, self._viewer)


class DocumentRedactor:
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

    def redact(self, entities: Iterable[Entity], visible: Visible) -> list[Entity]:  # noqa: ARG002
        """The documents that may be seen, as they are."""
        return [redact(entity, self._viewer, _nowhere) for entity in entities if self._shows(entity)]

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
