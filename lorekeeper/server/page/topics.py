"""Dossiers: what the library has on a topic, on one page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.printable import one_line
from lorekeeper.search.dossier.lines import Part, Quote
from lorekeeper.search.dossier.spans import blocks
from lorekeeper.server.page.site import Page, Visit, address, twin
from lorekeeper.server.tools import GATHER_TOPIC
from lorekeeper.server.topics import described
from lorekeeper.views.view import View

LIMIT = 20
"""Most lines of a part."""

RELATIONS = {"link": "links to", "backlink": "linked from", "mention": "mentioned"}
"""What a related note has to do with the topic."""


SUGGESTED = (
    ("People", "npc"),
    ("Characters", "character"),
    ("Places", "location"),
    ("Groups", "faction"),
    ("Quests", "quest"),
)
"""Kinds of notes that a page without a topic proposes, with their headings."""

MAX_SUGGESTED = 12
"""Most notes of a kind that it does."""

_NAMED = re.compile(r"([^,:;()]+) \((lore://[^\s()]+)\)")
"""An entry in a note for the reader: its name, and its uri in brackets."""


@dataclass(frozen=True)
class Card:
    """What a part of a dossier has of one entry."""

    entity: Entity
    about: str
    relation: str
    quotes: Sequence[Quote]


async def _topics(visit: Visit) -> Response:
    topic = visit.query_params.get("q", "").strip()
    values: dict[str, object] = {"topic": topic, "dossier": None, "parts": [], "problem": "", "blocks": blocks}
    if topic:
        try:
            dossier = await visit.view.topic(topic, limit=LIMIT)
            values |= {
                "dossier": dossier,
                "title": one_line(dossier.main.name if dossier.main else dossier.topic),
                "parts": [(p, cards(p)) for p in dossier.parts],
            }
            values["note"] = linked(dossier.note or "")
        except (FilterError, NotFoundError) as error:
            values["problem"] = str(error)
    if not values["parts"]:
        values["suggested"] = await _suggested(visit.view)
    return visit.page("topics.html", **values)


async def _suggested(view: View) -> list[tuple[str, list[Entity]]]:
    """Notes that may be topics, by their kinds."""
    await view.refresh()
    found = [
        (title, await view.cache.get_entities("notes", limit=MAX_SUGGESTED, kind=kind)) for title, kind in SUGGESTED
    ]
    return [(title, notes) for title, notes in found if notes]


def linked(note: str) -> Markup:
    """A note for the reader, with the entries that it names as links to their dossiers."""
    parts, end = [Markup()], 0
    for match in _NAMED.finditer(note):
        name = match[1].strip()
        link = Markup('<a href="{}">{}</a>').format(address("/topics", q=match[2]), name)
        parts += [escape(note[end : match.start()]), Markup(" "), link]
        end = match.end()
    return Markup("").join([*parts, escape(note[end:])])


def cards(part: Part) -> list[Card]:
    """The lines of a part, those of one entry together."""
    found: list[Card] = []
    for line in part.lines:
        quotes = [line.quote] if line.quote.sentences else []
        if found and found[-1].entity.uri == line.entity.uri:
            found[-1] = Card(found[-1].entity, found[-1].about, found[-1].relation, [*found[-1].quotes, *quotes])
        else:
            found.append(Card(line.entity, described(line), RELATIONS.get(line.relation, ""), quotes))
    return found


PAGES = (
    Page(
        "/topics",
        _topics,
        twin(lambda visit: (GATHER_TOPIC, {"topic": visit.query_params.get("q", ""), "limit": LIMIT})),
    ),
)
