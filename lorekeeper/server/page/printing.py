"""Sheets to print: entries as cards and stat blocks, several to a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import SEARCHED, Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.search.query import MAX_QUERY_CHARS
from lorekeeper.search.query_syntax import parse_query
from lorekeeper.server.page.entries import Shown, found, html_of, shown
from lorekeeper.server.page.site import Page, Visit, trusted
from lorekeeper.server.rest.problems import bad_request
from lorekeeper.server.sheets import rules_of
from lorekeeper.system import all_of
from lorekeeper.views.view import View

MOST = 24
"""Most entries of a sheet."""

MOST_SPELLS = 60
"""Most spell cards of a character: those of a wizard of level 20 fit."""

CARDS = frozenset({"spells", "equipment"})
"""Types whose entries are cards; others take the whole width of the paper."""

WIDTHS = ((950, "card"), (2_100, "card double"), (3_600, "card triple"))
"""Most characters on a card of each width, one to three columns of 63 mm; what is longer takes the whole width."""


SHORT = (2_500, "block short")
"""Most characters of an entry that stays on one page."""


@dataclass(frozen=True)
class Printed:
    """An entry on a sheet.

    Attributes:
        entry: what there is of it.
        place: classes of the place that it takes.
    """

    entry: Shown
    place: str


async def _print(visit: Visit) -> Response:
    view = visit.view
    entities = await _asked(view, visit)
    printed = [_placed(await _whole(view, entity)) for entity in entities]
    cards = [each for each in printed if not each.place.startswith("block")]
    blocks = [each for each in printed if each.place.startswith("block")]
    return visit.page("print.html", cards=cards, blocks=blocks, entities=entities)


async def _asked(view: View, request: Request) -> Sequence[Entity]:
    """The spells of a character, the entries whose uris are given, or the first that a search finds."""
    uris, text = request.query_params.getlist("uri"), request.query_params.get("q", "")
    if owner := request.query_params.get("spells"):
        return await _spells_of(view, owner)
    if len(uris) > MOST:
        raise bad_request(f"a sheet has at most {MOST} entries; print the others on another one")
    if len(text) > MAX_QUERY_CHARS:
        raise bad_request(f"a search has at most {MAX_QUERY_CHARS:,} characters")
    if uris:
        return await all_of(found(view, uri) for uri in dict.fromkeys(uris))
    if not text.strip():
        raise bad_request("say what to print: uri=lore://... for each entry, or q= for what a search finds")
    asked = parse_query(text, await view.searcher.documents.titled(), SEARCHED)
    page = await view.search(asked.query(limit=MOST))
    return [result.entity for result in page.results]


async def _spells_of(view: View, uri: str) -> Sequence[Entity]:
    """The spells that a character can cast now, all that it has if nobody knows which; those of the library, by level."""
    owner = await found(view, uri)
    ready = owner.fields.get("prepared", owner.fields.get("known"))
    names = {fold(name) for name in ready} if isinstance(ready, tuple) else set[str]()
    spells = [
        each
        for each in (await rules_of(view, owner)).found
        if each.entity_type == "spells" and fold(each.name) in names
    ]
    if not spells:
        raise NotFoundError("the library has no spell of this character")
    spells.sort(key=lambda each: (each.level or 0, fold(each.name)))
    return await all_of(found(view, uri) for uri in dict.fromkeys(each.uri for each in spells[:MOST_SPELLS]))


async def _whole(view: View, entity: Entity) -> Shown:
    """An entry with its text, also of a note, whose own page has another template."""
    entry = await shown(view, entity)
    return entry if entry.html else replace(entry, html=trusted(await html_of(view, entity)))


def _placed(entry: Shown) -> Printed:
    places = (*(WIDTHS if entry.entity.type in CARDS else ()), SHORT)
    size = len(entry.html.striptags())
    return Printed(entry, next((place for most, place in places if size <= most), "block"))


PAGES = (Page("/print", _print),)
