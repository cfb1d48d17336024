"""Dossiers: what the library has on a topic, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.printable import one_line
from lorekeeper.search.dossier.lines import Dossier, Part, Quote
from lorekeeper.server.page.site import Asked, Page, Site, gateway
from lorekeeper.server.rest.operations import TOPICS
from lorekeeper.server.topics import described

LIMIT = 20
"""Most lines of a part."""

RELATIONS = {"link": "links to", "backlink": "linked from", "mention": "mentioned"}
"""What a related note has to do with the topic."""


@dataclass(frozen=True)
class Card:
    """What a part of a dossier has of one entry."""

    entity: Entity
    about: str
    relation: str
    quotes: Sequence[Quote]


async def _topics(site: Site, request: Request) -> Response:
    topic = request.query_params.get("q", "").strip()
    values: dict[str, object] = {"topic": topic, "dossier": None, "parts": [], "problem": ""}
    if topic:
        try:
            dossier = await site.view(request).topic(topic, limit=LIMIT)
            values |= {"dossier": dossier, "title": _title(dossier), "parts": [(p, cards(p)) for p in dossier.parts]}
        except (FilterError, NotFoundError) as error:
            values["problem"] = str(error)
    return site.page(request, "topics.html", **values)


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
