"""A note as a page: its text, its outline, and what is beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records.notes import WRITTEN, sections_of
from lorekeeper.render import linked_paths
from lorekeeper.render.graph import MAX_NODES, Node, graph_svg
from lorekeeper.render.note_html import (
    fact_rows,
    linking_lines,
    note_body,
)
from lorekeeper.server.backlinks import connections_of, embedded_notes
from lorekeeper.server.page.hits import day
from lorekeeper.server.page.sessions import MOST, NOTES, PEOPLE, session_notes
from lorekeeper.server.page.site import address, entry_address, trusted
from lorekeeper.text.notes import aliases, session_of
from lorekeeper.text.secrecy import said_of_note
from lorekeeper.text.spelling import as_spelt
from lorekeeper.views.view import View, apart
from lorekeeper.words import listed_words

_BLOCK = re.compile(r"^```+ *encounter\b.*?\n(.*?)^```", re.MULTILINE | re.DOTALL | re.IGNORECASE)
"""The block of a note that lists an encounter, as plugins of Obsidian write it."""

_CREATURE = re.compile(r"^\s*-\s*(?:(?P<count>\d{1,3})\s*[:x×]\s*)?(?P<name>[^,:#\n]+)", re.MULTILINE)


_NO_PROSE = r"^(?:```|~~~).*?^(?:```|~~~)|`[^`\n]+`|!?\[\[[^\]\n]*\]\]|!?\[[^\]\n]*\]\([^)\n]*\)|https?://\S+|<[^>\n]*>"
"""Code, links, addresses and HTML, in which no name is looked for."""


async def note_values(view: View, entity: Entity) -> dict[str, object]:
    """The values of ``_note.html`` for a note, all of it as its viewer sees it.

    Of these `secrecy` says what keeps it from players, `before` and `after` are the sessions beside it, `graph` is the picture of
    its connections with what is one step further, and `near` the picture without that, for narrow screens.
    """
    connections = await connections_of(view, entity, MAX_NODES)
    before, after = await _sessions_beside(view, entity)
    others = await embedded_notes(view, entity)
    people = await view.cache.get_entities(NOTES, entity.document, limit=MOST, kind=list(PEOPLE))
    body = await apart(note_body, with_people(entity, people), entry_address, others)
    nodes = [*map(node_of, connections.notes)]
    page = {
        "aliases": aliases(entity),
        "facts": [(key, trusted(value)) for key, value in fact_rows(entity, entry_address)],
        "html": trusted(body.html),
        "outline": body.outline,
        "secrecy": said_of_note(entity),
        "folders": _folders(entity),
        "tags": _tags(entity),
        "changed": _day(entity, "modified"),
        "session": _session(entity),
        "before": before,
        "after": after,
        "connections": connections,
        "backlinks": [(each, linking_lines(each, entity.slug)) for each in connections.linking],
        "graph": trusted(graph_svg(nodes, connections.edges)),
        "near": trusted(graph_svg(nodes, connections.edges, steps=1)),
        "has_encounter": bool(encounter_in(entity)),
    }
    return {"note": page}


def node_of(note: Entity) -> Node:
    """A note as a picture has it."""
    return Node(note.name, note.kind, entry_address(note.uri))


def with_people(note: Entity, people: Sequence[Entity]) -> Entity:
    """A note in which the first mention of each person leads to their note, unless a link does; names of several people stay."""
    names = [(name, each) for each in people for name in {each.name, *aliases(each)}]
    number, known = Counter(name for name, _ in names), {note.slug, *linked_paths(note)}
    left = {
        name: each.uri
        for name, each in names
        if number[name] == 1
        and each.slug not in known
        and name[:1].isupper()
        and fold(name) not in listed_words("name everyday")
    }
    if not left:
        return note
    said = "|".join(map(re.escape, sorted(left, key=len, reverse=True)))
    pattern = re.compile(rf"(?P<other>{_NO_PROSE})|(?<![\w'’-])(?:{said})(?![\w-])", re.MULTILINE | re.DOTALL)
    gone = set[str]()

    def lead(match: re.Match[str]) -> str:
        uri = "" if match["other"] else left[match[0]]
        if not uri or uri in gone:
            return match[0]
        gone.add(uri)
        return f"[{match[0]}]({uri})"

    sections = [
        {**each, WRITTEN: pattern.sub(lead, str(each.get(WRITTEN) or each.get("desc") or ""))}
        for each in note.data["sections"]
    ]
    return replace(note, data={**note.data, "sections": sections})


async def _sessions_beside(view: View, entity: Entity) -> tuple[Entity | None, Entity | None]:
    """The sessions before and after one."""
    if entity.kind != "session":
        return None, None
    notes = await session_notes(view, entity.document)
    places = [place for place, note in enumerate(notes) if note.identity == entity.identity]
    if not places:
        return None, None
    place = places[0]
    before = notes[place + 1] if place + 1 < len(notes) else None
    return before, notes[place - 1] if place else None


def _folders(entity: Entity) -> list[tuple[str, str]]:
    """The folders of a note, outermost first."""
    names = entity.slug.split("/")[:-1]
    return [(name, notes_with("folder", "/".join(names[: depth + 1]))) for depth, name in enumerate(names)]


def _tags(entity: Entity) -> list[tuple[str, str]]:
    """The tags of a note, without those that contain others."""
    listed, spelt = (each.fields.get("tags") for each in (entity, as_spelt(entity)))
    found = dict(zip(listed, spelt, strict=True)) if isinstance(listed, tuple) and isinstance(spelt, tuple) else {}
    inner = {tag: own for tag, own in found.items() if not any(other.startswith(f"{tag}/") for other in found)}
    return [(own.replace(" ", "-"), notes_with("tag", tag)) for tag, own in inner.items()]


def notes_with(field: str, value: str) -> str:
    """The address of the search for notes of which a field has a value."""
    plain = value.replace('"', " ")
    quoted = plain if plain.replace("/", "").replace("-", "").isalnum() else f'"{plain}"'
    return address("/", q=f"type:note {field}:{quoted}")


def _session(entity: Entity) -> str:
    number = session_of(entity)
    parts = [f"Session {number}"] if number is not None else []
    return ", ".join([*parts, *filter(None, [_day(entity, "session_date")])])


def _day(entity: Entity, field: str) -> str:
    value = entity.fields.get(field)
    return day(value) if isinstance(value, int) else ""


def encounter_in(note: Entity) -> list[str]:
    """The monsters of the encounter block of a note, as "3 Goblin"; none without one."""
    written = "\n\n".join(section.source for section in sections_of(note.data))
    return [
        f"{match['count'] or 1} {match['name'].strip()}"
        for block in _BLOCK.finditer(written)
        for match in _CREATURE.finditer(block[1])
    ]
