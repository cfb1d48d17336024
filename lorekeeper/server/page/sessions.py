"""What was played: the sessions of a vault as a time line, and the notes that have changed last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.order import NEWEST
from lorekeeper.printable import one_line
from lorekeeper.render import linked_paths
from lorekeeper.search.dossier.about import SESSION, all_names
from lorekeeper.search.dossier.lines import date_of
from lorekeeper.search.dossier.names import Lexicon, is_telling
from lorekeeper.search.dossier.relations import newest_first
from lorekeeper.search.dossier.spans import Span, spans
from lorekeeper.search.query import MAX_LIMIT
from lorekeeper.search.sorting import recent_notes
from lorekeeper.server.page.hits import day
from lorekeeper.server.page.site import Asked, Page, Visit, address, offset_of, twin
from lorekeeper.server.rest.routes import json_response
from lorekeeper.server.tools import tools_by_name
from lorekeeper.text.cleaning import clean
from lorekeeper.text.notes import note_facts, session_of, tale
from lorekeeper.views.view import View, apart

NOTES = "notes"

MOST = 1000
"""Most sessions of a vault that are read."""

LIMIT = 50
"""Sessions a page."""

PEOPLE = ("npc", "character")
"""Kinds of notes on somebody who can appear."""

MOST_PEOPLE = 12
"""Most people that are listed of a session."""

READ_CHARS = 20_000
"""Characters of a session in which names are looked for."""

FIRST_CHARS = 260
"""Longest beginning of a session."""

WORLD_DATES = frozenset(
    ("world date", "in world date", "game date", "in game date", "ingame date", "fantasy date", "date in world", "day")
)
"""Folded keys of facts that say when a session is in the world."""


@dataclass(frozen=True)
class Session:
    """A session on the time line.

    Attributes:
        note: its note.
        number: None for none.
        date: when it was played, as 2026-11-20; "" if that is not known.
        world: when it is in the world, as written; "" if that is not known.
        beginning: of what it tells.
        people: who appears.
    """

    note: Entity
    number: float | None
    date: str
    world: str
    beginning: str
    people: Sequence[Entity]


async def session_notes(view: View, document: str) -> list[Entity]:
    """The notes on the sessions of a vault, the latest first."""
    return newest_first(await view.cache.get_entities(NOTES, document, limit=MOST, kind=SESSION))


async def _sessions(visit: Visit) -> Response:
    view, oldest = visit.view, visit.query_params.get("order") == "oldest"
    await view.refresh()
    vaults = await _vaults(view)
    chosen = visit.query_params.get("vault") or next((key for key, _, number in vaults if number), "")
    notes = await session_notes(view, chosen) if any(key == chosen for key, _, _ in vaults) else []
    notes, offset = (notes[::-1] if oldest else notes), offset_of(visit)
    shown = await shown_sessions(view, notes[offset : offset + LIMIT])
    further = {"vault": chosen, "order": "oldest" if oldest else None}
    return visit.page(
        "sessions.html",
        sessions=shown,
        vaults=[(name, address("/sessions", vault=key), key == chosen) for key, name, number in vaults if number],
        total=len(notes),
        oldest=oldest,
        turned=address("/sessions", vault=chosen, order=None if oldest else "oldest"),
        previous=address("/sessions", **further, offset=max(offset - LIMIT, 0)) if offset else "",
        following=address("/sessions", **further, offset=offset + LIMIT) if offset + LIMIT < len(notes) else "",
    )


async def shown_sessions(view: View, notes: Sequence[Entity]) -> list[Session]:
    """Sessions of one vault as the time line shows them."""
    document = notes[0].document if notes else None
    people = await view.cache.get_entities(NOTES, document, limit=MOST, kind=list(PEOPLE)) if notes else []
    return await apart(_shown, notes, people)


async def _vaults(view: View) -> list[tuple[str, str, int]]:
    """Key and title of each document that has notes, and how many sessions it has."""
    keys = await view.cache.documents([NOTES])
    titles = {each.slug: each.name for each in await view.cache.load("documents", [(key, key) for key in keys])}
    counted = [(key, await view.cache.count_entities(NOTES, key, kind=SESSION)) for key in keys]
    return [(key, titles.get(key, key), number) for key, number in sorted(counted, key=lambda each: -each[1])]


def _shown(notes: Sequence[Entity], people: Sequence[Entity]) -> list[Session]:
    by_path = {each.slug: each for each in people}
    by_name = {name: each for each in people for name in all_names(each)}
    lexicon = Lexicon(by_name)
    return [_session(note, by_path, by_name, lexicon) for note in notes]


def _session(note: Entity, by_path: Mapping[str, Entity], by_name: Mapping[str, Entity], lexicon: Lexicon) -> Session:
    parts = spans(note)
    linked = [by_path[path] for path in linked_paths(note) if path in by_path]
    people = {each.slug: each for each in (*linked, *_named(parts, by_name, lexicon))}
    facts = note_facts(note).items()
    world = next((value for key, value in facts if fold(key) in WORLD_DATES), "")
    return Session(
        note,
        session_of(note),
        date_of(note) or "",
        one_line(world, 60),
        _beginning(note),
        list(people.values())[:MOST_PEOPLE],
    )


def _beginning(note: Entity) -> str:
    """How its part begins that tells what happened, and is no secret."""
    told = next((clean(each.text) for each in tale(note) if not each.mark), "")
    return one_line(told, FIRST_CHARS)


def _named(parts: Sequence[Span], by_name: Mapping[str, Entity], lexicon: Lexicon) -> list[Entity]:
    """The people whose names are in a text, in the order in which they are met."""
    text = "\n".join(part.text for part in parts if not part.mark)[:READ_CHARS]
    found = {by_name[m.name].slug: by_name[m.name] for m in lexicon.mentions(text) if is_telling(m)}
    return list(found.values())


# --- the newest notes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Day:
    """The notes of one day."""

    date: str
    notes: list[Entity]


async def _recent(visit: Visit) -> Response:
    view = visit.view
    await view.refresh()
    days: list[Day] = []
    for each in await recent_notes(view.cache, visit.query_params.get("since"), MAX_LIMIT):
        date = day(each.date)
        if not days or days[-1].date != date:
            days.append(Day(date, []))
        days[-1].notes.append(each.note)
    return visit.page("recent.html", days=days)


async def _recent_twin(visit: Visit) -> Response:
    view = visit.view
    await view.refresh()
    notes = await recent_notes(view.cache, visit.query_params.get("since"), MAX_LIMIT)
    return json_response(visit, {"results": [each.content() for each in notes]})


def _sessions_twin(request: Request) -> Asked:
    vault, offset = request.query_params.get("vault"), offset_of(request)
    arguments = {"kind": SESSION, "order": NEWEST, "limit": LIMIT, "offset": offset}
    return tools_by_name()["lookup_note"], arguments | ({"documents": [vault]} if vault else {})


PAGES = (Page("/sessions", _sessions, twin(_sessions_twin)), Page("/recent", _recent, _recent_twin))
