"""Dossiers: what the library has on a topic, on one page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.printable import one_line
from lorekeeper.search.dossier.lines import Dossier, Part, Quote
from lorekeeper.search.dossier.stretches import Piece, stretches
from lorekeeper.server.page.site import Asked, Page, Site, address, gateway
from lorekeeper.server.rest.operations import TOPICS
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

ENDS = tuple('.!?:;…"”’)')
"""What a sentence ends with; what ends otherwise was an item of a list."""

_NAMED = re.compile(r"([^,:;()]+) \((lore://[^\s()]+)\)")
"""An entry in a note for the reader: its name, and its uri in brackets."""

_FACT = re.compile(r"[^:.!?]{1,40}: [^.!?]{1,80}\Z")

Shape = Literal["table", "list", "text"]


@dataclass(frozen=True)
class Block:
    """Sentences of a quote in the shape that they had: rows of cells, items, or a text in one line."""

    shape: Shape
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Card:
    """What a part of a dossier has of one entry."""

    entity: Entity
    about: str
    relation: str
    quotes: Sequence[Quote]


async def _topics(site: Site, request: Request) -> Response:
    topic = request.query_params.get("q", "").strip()
    values: dict[str, object] = {"topic": topic, "dossier": None, "parts": [], "problem": "", "blocks": blocks}
    if topic:
        try:
            dossier = await site.view(request).topic(topic, limit=LIMIT)
            values |= {"dossier": dossier, "title": _title(dossier), "parts": [(p, cards(p)) for p in dossier.parts]}
            values["note"] = linked(dossier.note or "")
        except (FilterError, NotFoundError) as error:
            values["problem"] = str(error)
    else:
        values["suggested"] = await _suggested(site.view(request))
    return site.page(request, "topics.html", **values)


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


def blocks(entity: Entity, quote: Quote) -> Iterator[Block]:
    """The sentences of a quote of an entry, in the shape that they have in its text: rows as tables, items as lists."""
    own = [part for part in stretches(entity) if (part.section, part.mark) == (quote.section, quote.mark)]
    known = {piece.text: piece for part in own for piece in part.pieces}
    if quote.mark:  # one piece, with all of the section
        pieces = [piece for part in own if list(part.sentences) == list(quote.sentences) for piece in part.pieces]
    else:
        pieces = [known.get(each) or _unread(each, -place) for place, each in enumerate(quote.sentences, 1)]
    for shape, group in groupby(pieces or [Piece(each, 0) for each in quote.sentences], _shape):
        each = list(group)
        if shape == "table":
            yield Block(shape, [piece.cells for piece in each])
        else:
            texts = [" ".join(it.text for it in block) for _, block in groupby(each, lambda it: it.block)]
            yield from [Block(shape, [texts])] if shape == "list" else (Block(shape, [[text]]) for text in texts)


def _unread(text: str, number: int) -> Piece:
    """A sentence that is in no section: one of the facts, "Armor Class: 18 (chain mail)", or whatever else was said."""
    is_sentence = text.endswith(ENDS) and not _FACT.match(text)
    return Piece(text, number, is_item=not is_sentence)


def _shape(piece: Piece) -> Shape:
    if piece.cells:
        return "table"
    return "list" if piece.is_item else "text"


def _title(dossier: Dossier) -> str:
    return one_line(dossier.main.name if dossier.main else dossier.topic)


def cards(part: Part) -> list[Card]:
    """The lines of a part, those of one entry together."""
    found: list[Card] = []
    for line in part.lines:
        quotes = [line.quote] if line.quote.sentences else []
        if found and found[-1].entity.uri == line.entity.uri:
            found[-1] = Card(found[-1].entity, found[-1].about, found[-1].relation, [*found[-1].quotes, *quotes])
        else:
            found.append(Card(line.entity, described(line.entity), RELATIONS.get(line.relation, ""), quotes))
    return found


def _twin(request: Request) -> Asked:
    return TOPICS, {"q": request.query_params.get("q", ""), "limit": LIMIT}


PAGES = (Page("/topics", _topics, gateway(_twin)),)
