"""What a note is linked with, from the library: titles of the notes it links to, the notes that link to it, and those further."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.render import MAX_LINKED, UNRELATED, Linked, Related, linked_paths
from lorekeeper.render.embeds import MAX_DEPTH, MAX_EMBEDDED, embedded_in
from lorekeeper.search.dossier.relations import named_notes
from lorekeeper.views.view import View

MAX_READ = 500
"""Most notes that are read to find those that link to one."""

FEW = 3
"""A note that is linked with fewer others is also connected with those that its text names."""


async def related_of(view: View, entity: Entity) -> Related:
    """What an entry is linked with; nothing but for notes."""
    if entity.type != "notes":
        return UNRELATED
    names = {each.slug: each.name for each in await linked_notes(view, entity)}
    linking, count = await linking_notes(view, entity)
    shown = [Linked(each.name, each.uri) for each in linking[:MAX_LINKED]]
    return Related(names, shown, count - len(shown), await embedded_notes(view, entity))


async def embedded_notes(view: View, entity: Entity) -> dict[str, Entity]:
    """The notes that are embedded in a note, and those in these, as far as the viewer sees them."""
    found: dict[str, Entity] = {}
    wanted = embedded_in(entity)
    for _ in range(MAX_DEPTH):
        new = [path for path in dict.fromkeys(wanted) if path not in found][: MAX_EMBEDDED - len(found)]
        loaded = await view.cache.load("notes", [(entity.document, path) for path in new]) if new else []
        found |= {each.slug: each for each in loaded}
        wanted = [path for each in loaded for path in embedded_in(each)]
    return found


async def linked_notes(view: View, entity: Entity) -> list[Entity]:
    """The notes that a note links to, those that are linked first."""
    wanted = [(entity.document, path) for path in linked_paths(entity)[:MAX_LINKED]]
    return await view.cache.load("notes", wanted) if wanted else []


async def linking_notes(view: View, entity: Entity) -> tuple[list[Entity], int]:
    """The notes that link to a note, as far as they are read, and how many there are."""
    asked: dict[str, Any] = {"links": entity.slug}
    found = await view.cache.get_entities("notes", entity.document, limit=MAX_READ, **asked)
    # a filter also finds paths that end in this one
    linking = [each for each in found if each.identity != entity.identity and entity.slug in linked_paths(each)]
    count = len(linking)
    if len(found) == MAX_READ:
        count += await view.cache.count_entities("notes", entity.document, **asked) - MAX_READ
    return linking, count


@dataclass(frozen=True)
class Connections:
    """What a note is connected with, as far as its viewer sees it.

    Attributes:
        notes: the note itself, those beside it, and those one step further.
        edges: which of them are connected, by number.
        linked: the notes that it links to.
        linking: notes that link to it.
        more: how many others do.
        named: notes that its text names, where it is linked with few.
        closest: how many of those beside it are among the notes, "" for all of them.
    """

    notes: Sequence[Entity]
    edges: Sequence[tuple[int, int]]
    linked: Sequence[Entity]
    linking: Sequence[Entity]
    more: int
    named: Sequence[Entity]
    closest: str


async def connections_of(view: View, entity: Entity, most: int) -> Connections:
    """What a note is connected with, with at most so many notes in the picture."""
    linked = [each for each in await linked_notes(view, entity) if each.identity != entity.identity]
    linking, count = await linking_notes(view, entity)
    shown = linking[:MAX_LINKED]
    found = {each.slug: each for each in (*linked, *linking)}
    named = await named_notes(view.cache, entity) if len(found) < FEW else []
    named = [each for each in named if each.slug not in found]
    near = {entity.slug, *linked_paths(entity), *found}
    closest_first = sorted(found.values(), key=lambda each: -len(near.intersection(linked_paths(each))))
    beside = [*closest_first, *named][: most - 1]
    further = await _further(view, entity, beside, most - len(beside) - 1)
    notes = [entity, *beside, *further]
    number = len(found) + count - len(linking) + len(named)
    closest = f"the closest {len(beside)} of {number:,}" if len(beside) < number else ""
    edges = [*((0, number + 1) for number in range(len(beside))), *links_among(notes)]
    return Connections(notes, edges, linked, shown, count - len(shown), named, closest)


async def _further(view: View, entity: Entity, beside: Sequence[Entity], most: int) -> list[Entity]:
    """The notes that those beside a note link to, those first that most of them do."""
    known = {entity.slug, *(each.slug for each in beside)}
    counts = Counter(path for each in beside for path in linked_paths(each) if path not in known)
    ranked = sorted(counts, key=lambda path: (-counts[path], path))[: max(most, 0)]
    return await view.cache.load("notes", [(entity.document, path) for path in ranked]) if ranked else []


def links_among(notes: Sequence[Entity]) -> list[tuple[int, int]]:
    """Which of some notes of a vault links to which, by number."""
    numbers = {note.slug: number for number, note in enumerate(notes)}
    return [(i, numbers[path]) for i, note in enumerate(notes) for path in linked_paths(note) if path in numbers]
