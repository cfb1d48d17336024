"""Sharing a note from its page: what players would see is shown before anything is shared. For the game master alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.render.note_html import note_body
from lorekeeper.server.browsers import is_own
from lorekeeper.server.page.entries import found
from lorekeeper.server.page.impersonation import Seen
from lorekeeper.server.page.site import SEEN, Page, Site, entry_address, redirect, trusted
from lorekeeper.server.rest.problems import RefusedError, bad_request
from lorekeeper.views.explained import explained
from lorekeeper.views.sharing import Preview, Target, decided, preview_of, store, target_of, who

PATH = "/share"

MAX_BODY, MAX_LISTED = 8000, 50
"""Longest form in bytes, and most lines that are listed."""


@dataclass(frozen=True)
class Shown:
    """What the page shows.

    Attributes:
        who: sees what of the note now, and why, in one sentence.
        html: the note as players would see it, "" if they would see nothing.
        held: the mark that keeps it all the same, "" for none.
        secrets: places and texts that look like secrets.
        names: of notes that a mark keeps secret, which the note has.
        people: names of the players at the table.
        chosen: with whom it would be shared, "" for everybody.
    """

    who: str
    html: Markup
    held: str
    secrets: Sequence[tuple[str, str]]
    names: Sequence[str]
    people: Sequence[str]
    chosen: str


async def _share(site: Site, request: Request) -> Response:
    view = site.view(request)
    if not view.viewer.sees_all:
        raise NotFoundError("There is no such page.")
    if request.method != "POST":
        return await _page(site, request, request.query_params.get("uri", ""), request.query_params.get("with", ""))
    if not is_own(request.scope):
        raise RefusedError(HTTPStatus.FORBIDDEN, "this form was sent from a page of another site")
    fields = parse_qs((await request.body())[:MAX_BODY].decode("utf-8", "replace"))
    uri, person, action = (fields.get(name, [""])[0] for name in ("uri", "with", "do"))
    if action == "look":
        return await _page(site, request, uri, person)
    if action not in ("share", "fix", "keep"):
        raise bad_request("the form does not say whether to share the note or to hide it")
    entity, target = await _target(site, request, uri)
    vaults = site.library.vaults
    before = await asyncio.to_thread(vaults.shares.all)
    after = await asyncio.to_thread(decided, vaults, target, before, _people(request, person), action)
    await store(vaults, before, after)
    return redirect(entry_address(entity.uri))


async def _page(site: Site, request: Request, uri: str, person: str) -> Response:
    entity, target = await _target(site, request, uri)
    people = _people(request, person)
    vaults = site.library.vaults
    preview = await asyncio.to_thread(preview_of, vaults, target, people)
    told = explained(entity)
    audience = told["audience"]
    names = preview.names
    shown = Shown(
        f"Now {told['seen']}."
        if told.get("seen")
        else f"Seen now by {who(tuple(audience) if isinstance(audience, list) else audience)} ({told['why']}).",
        await asyncio.to_thread(_html, preview),
        next((mark for _, mark in preview.held), ""),
        [(each.place, each.text) for each in preview.secrets[:MAX_LISTED]],
        names[:MAX_LISTED],
        _players(request),
        people[0] if people else "",
    )
    return site.page(request, "share.html", entity=entity, share=shown)


async def _target(site: Site, request: Request, uri: str) -> tuple[Entity, Target]:
    """The note of a uri, and what is shared of the vault; NotFoundError if it is no note of a vault."""
    entity = await found(site.view(request), uri)
    if entity.type != "notes" or not site.library.vaults.exist:
        raise NotFoundError("there is no such note")
    return entity, await asyncio.to_thread(target_of, site.library.vaults, entity.uri)


def _html(preview: Preview) -> Markup:
    return trusted(note_body(preview.shown, entry_address, {}).html) if preview.shown else trusted("")


def _players(request: Request) -> Sequence[str]:
    seen = request.scope.get(SEEN)
    return seen.names if isinstance(seen, Seen) else ()


def _people(request: Request, person: str) -> list[str]:
    """With whom a note is to be shared, [] for everybody; only those at the table can be chosen."""
    if person and person not in _players(request):
        raise bad_request("there is no such player at the table")
    return [person] if person else []


PAGES = (Page(PATH, _share, methods=("GET", "POST")),)
