"""Pages of entries: the entry as its book prints it, and beside it where it is from, its other versions, and what is like it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus

from markupsafe import Markup
from starlette.responses import Response

from lorekeeper.attribution import Attribution, attribution
from lorekeeper.audience import GAME_MASTER
from lorekeeper.entities import COLLECTIONS, Entity, parse_uri
from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.play.tables import Table, tables_of
from lorekeeper.render import markdown
from lorekeeper.render.html import Article
from lorekeeper.render.mentions import Mention
from lorekeeper.search.query import Query
from lorekeeper.search.results import Result
from lorekeeper.server.answers import subclasses
from lorekeeper.server.backlinks import related_of
from lorekeeper.server.exchange import SCHEME
from lorekeeper.server.page.autolink import condition_words, entries_named
from lorekeeper.server.page.comparison import beside
from lorekeeper.server.page.impersonation import Seen
from lorekeeper.server.page.notes import note_values
from lorekeeper.server.page.scaling import AtSlot, by_slot
from lorekeeper.server.page.site import (
    SEEN,
    Page,
    Visit,
    entry_address,
    entry_uri,
    is_partial,
    reading,
    target,
    trusted,
    twin,
)
from lorekeeper.server.page.versions import Version, below, version_of, versions_of
from lorekeeper.server.rest.operations import ENTITY, IN_PATH
from lorekeeper.server.sheets import rules_of
from lorekeeper.server.twins import MOST
from lorekeeper.text.names import closest
from lorekeeper.text.secrecy import is_secret, secrecy
from lorekeeper.views.view import View, apart

MAX_ALIKE = 6
"""Most entries that are like it."""

MAX_NEAREST = 3
"""Most names that are proposed where there is no entry."""

_WORDS = re.compile(r"[\W_]+")

MAX_TABLES = 40
"""Most tables to roll on that are listed, and rolled on at once."""

ALONE = ("card-body", "turn")
"""Ids of the elements that an entry is shown in by itself: over what is read, and in a fight."""


@dataclass(frozen=True)
class Shown:
    """An entry as a page shows it; its fields are what ``_entry.html`` reads.

    Attributes:
        entity: the entry.
        html: its page, made safe by `render.html`.
        version: where it is from.
        source: its credits.
        secret: what keeps it from players, "" for nothing.
        versions: all versions of it, itself included, in order of preference; none if it is the only one.
        below: subclasses of a class and subraces of a race that are of other documents.
        spells: how many spells a class has.
        tables: those to roll on.
        slots: what a spell rolls by the level of its slot.
    """

    entity: Entity
    html: Markup
    version: Version
    source: Attribution
    secret: str
    versions: Sequence[Version]
    below: Sequence[Version]
    spells: int
    tables: Sequence[Table]
    slots: Sequence[AtSlot] = ()


async def article(view: View, uri: str) -> dict[str, object]:
    """The values of ``_entry.html`` for an entry.

    Raises:
        NotFoundError: the viewer sees no entry of that uri.
    """
    entity = await found(view, uri)
    note = await note_values(view, entity) if entity.type == "notes" else {}
    return {"entity": entity, "entry": await shown(view, entity), **note}


async def found(view: View, uri: str) -> Entity:
    """The entry of a uri; NotFoundError if the viewer sees none."""
    try:
        entities = await view.entities_at(*parse_uri(uri))
    except ValueError as error:
        raise NotFoundError(str(error)) from error
    if not entities:
        raise NotFoundError("There is no entry at this address.")
    return entities[0]


async def shown(view: View, entity: Entity) -> Shown:
    """An entry with all that its page has."""
    record = await view.cache.get_entity("documents", entity.document, entity.document)
    versions = await versions_of(view, entity)
    return Shown(
        entity,
        trusted("" if entity.type == "notes" else await html_of(view, entity)),  # notes have templates of their own
        next((each for each in versions if each.own), None) or await version_of(view, entity, own=True),
        attribution(record, entity),
        secrecy(entity) if is_secret(entity) else "",
        versions if len(versions) > 1 else (),
        await below(view, entity),
        await view.cache.count_entities("spells", classes=entity.name) if entity.kind == "class" else 0,
        (await apart(tables_of, entity))[:MAX_TABLES],
        await apart(by_slot, entity),
    )


async def html_of(view: View, entity: Entity) -> str:
    """The page of an entry as HTML, with links to what it names."""
    parts, related = await subclasses(view, entity), await related_of(view, entity)
    rules, words = replace(await rules_of(view, entity), linked=True), await condition_words(view)

    def read() -> tuple[Article, list[Mention]]:
        page = Article(markdown(entity, subclasses=parts, related=related, rules=rules))
        return page, page.mentions(words)

    page, mentions = await apart(read)
    named = await entries_named(view, entity, mentions)
    paths = {mention: entry_address(other.uri) for mention, other in named.items()}
    return await apart(lambda: page.html(path_of, paths, dice=entity.type))


def path_of(uri: str) -> str | None:
    """The page of an entry that text links to; None for any other address."""
    return entry_address(uri) if uri.startswith(SCHEME) else None


# --- pages -----------------------------------------------------------------------------------------------------------


async def _entry(visit: Visit) -> Response:
    try:
        return await _shown(visit)
    except NotFoundError as error:
        if is_partial(visit):
            raise
        return await _missing(visit, str(error))


async def _missing(visit: Visit, detail: str) -> Response:
    """That there is no such entry, with the nearest names that the viewer sees; who looks as a player is told if it is hidden."""
    uri, seen = entry_uri(visit), visit.scope.get(SEEN)
    hidden = ""
    if isinstance(seen, Seen) and seen.chosen:
        with suppress(NotFoundError):
            hidden = (await found(visit.library.view(GAME_MASTER), uri)).uri
    asked = visit.path_params
    name = asked["slug"].rpartition("/")[2].removesuffix(".md")
    near = await nearest(visit.view, name, asked["type"], asked["document"])
    return visit.refusal(HTTPStatus.NOT_FOUND, detail, near=near, hidden=hidden)


async def nearest(view: View, name: str, entity_type: str = "", document: str = "") -> list[Entity]:
    """The entries with the nearest names, one of each name: of that type if there are any, of that document first."""
    name = fold(_WORDS.sub(" ", name))
    others = [each for each in COLLECTIONS if each not in (entity_type, "documents")]
    for types in ([entity_type] if entity_type in COLLECTIONS else [], others):
        near = [
            (similarity, each, folded)
            for each in types
            for folded, similarity in closest(name, await view.cache.names(each), MAX_NEAREST)
        ]
        best = sorted(near, key=lambda each: -each[0])[:MAX_NEAREST]
        called = [await view.cache.get_entities(each, name_folded=folded) for _, each, folded in best]
        if any(called):
            return [min(each, key=lambda one: one.document != document) for each in called if each]
    return []


async def _shown(visit: Visit) -> Response:
    view, uri = visit.view, entry_uri(visit)
    other = visit.query_params.get("beside")
    if other:
        compared = await beside(view, await found(view, uri), await found(view, other))
        return visit.page("beside.html", compared=compared)
    template = "_entry.html" if target(visit) in ALONE else "entry.html"
    return visit.page(template, **await article(view, uri))


async def _alike(visit: Visit) -> Response:
    """What is like an entry: the list alone where a part of a page is asked for, else a page of its own."""
    view = visit.view
    entity = await found(view, visit.query_params.get("uri", ""))
    return visit.page("alike.html", entity=entity, alike=await _similar(view, entity))


async def _similar(view: View, entity: Entity) -> list[Result]:
    """The entries of the same type that are nearest in meaning, without its own versions."""
    page = await view.search(Query([entity.type], similar_to=entity.uri, limit=MAX_ALIKE + MOST))
    others = [result for result in page.results if fold(result.entity.name) != fold(entity.name)]
    return others[:MAX_ALIKE]


PAGES = (
    Page(
        "/entries/{type}/{document}/{slug:rest}",
        reading(_entry),
        twin(lambda visit: (ENTITY, {IN_PATH: entry_uri(visit).removeprefix(SCHEME)})),
    ),
    Page("/alike", _alike),
)
