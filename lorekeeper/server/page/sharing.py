"""Sharing from the page: what players would see, and what waits, is shown before anything is opened. For the game master alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.render.note_html import note_body
from lorekeeper.server.page.entries import found
from lorekeeper.server.page.impersonation import Seen
from lorekeeper.server.page.site import SEEN, Page, Visit, address, entry_address, form, redirect, trusted
from lorekeeper.server.rest.problems import RefusedError, bad_request
from lorekeeper.views.explained import explained
from lorekeeper.views.opening import EVERYTHING, Look, Target, closed_for_all, look, store, target_of, who

PATH = "/share"

MAX_LISTED = 50
"""Most lines that are listed."""


async def _share(visit: Visit) -> Response:
    view = visit.view
    if not view.viewer.sees_all:
        raise NotFoundError("There is no such page.")
    if visit.method != "POST":
        return await _page(visit, visit.query_params.get("uri", ""), visit.query_params.get("with", ""))
    fields = await form(visit)
    uri, person, action = (fields.get(name, "") for name in ("uri", "with", "do"))
    if action == "look":
        return await _page(visit, uri, person)
    if action not in ("share", "all", "keep"):
        raise bad_request("the form does not say whether to share the note or to hide it")
    entity, target = await _target(visit, uri)
    vaults = visit.library.vaults
    before = await asyncio.to_thread(vaults.shares.all)
    if action == "keep":
        after = closed_for_all(target, before)
    else:
        opens = (EVERYTHING,) if action == "all" else fields.getlist("open")
        people = _people(visit, person)
        looked = await asyncio.to_thread(look, vaults, target, people)
        if fields.get("stood", "") != looked.stands:  # other notes or headings would open than the page has shown
            raise RefusedError(HTTPStatus.CONFLICT, "the notes have changed since this page was loaded; load it again")
        key = target.vault.key
        without = [await asyncio.to_thread(target_of, vaults, each, key) for each in fields.getlist("without")]
        after = (await asyncio.to_thread(look, vaults, target, people, opens, without=without)).after
    await store(vaults, before, after)
    return redirect(entry_address(entity.uri) if entity else address("/share", uri=uri))


async def _page(visit: Visit, uri: str, person: str) -> Response:
    entity, target = await _target(visit, uri)
    people = _people(visit, person)
    looked = await asyncio.to_thread(look, visit.library.vaults, target, people)
    common, headings = looked.headings()
    reasons: dict[str, int] = {}
    for note in (note for note in looked.closed if not note.plan):
        reasons[note.why] = reasons.get(note.why, 0) + 1
    shown = {
        "name": entity.name if entity else target.written,
        "uri": uri,
        "back": entry_address(entity.uri) if entity else "/",
        "who": _now(entity),
        "html": await asyncio.to_thread(_html, looked) if entity else trusted(""),
        "look": looked,
        "plans": [note.path for note in looked.closed if note.plan][:MAX_LISTED],
        "closed": sorted(reasons.items(), key=lambda pair: -pair[1]),
        "common": common[:MAX_LISTED],
        "headings": headings,
        "lines": [line for note in looked.open for line, _ in note.lines][:MAX_LISTED],
        "folders": _around(target),
        "people": _players(visit),
        "chosen": people[0] if people else "",
    }
    return visit.page("share.html", entity=entity, share=shown)


def _now(entity: Entity | None) -> str:
    if entity is None:
        return ""
    told = explained(entity)
    audience = told["audience"]
    if told.get("seen"):
        return f"Now {told['seen']}."
    return f"Seen now by {who(tuple(audience) if isinstance(audience, list) else audience)} ({told['why']})."


def _around(target: Target) -> list[tuple[str, str]]:
    """The folder of a target and its vault, each with its address here."""
    if target.kind == "tag" or not target.name:
        return []
    folder = target.name.rpartition("/")[0]
    named = [(f"the folder {folder}", f"{folder}/")] if folder else []
    return [
        (name, address(PATH, uri=f"lore://notes/{target.vault.key}/{path}"))
        for name, path in (*named, ("the whole vault", "."))
    ]


async def _target(visit: Visit, uri: str) -> tuple[Entity | None, Target]:
    """The note of a uri, None for a folder or a tag, and what is shared; NotFoundError if a vault has neither."""
    if not uri.startswith("lore://notes/") or not visit.library.vaults.exist:
        raise NotFoundError("there is no such note")
    path = uri.removeprefix("lore://notes/").partition("/")[2]
    if path == "." or path.endswith("/") or path.startswith("#"):
        key = uri.removeprefix("lore://notes/").partition("/")[0]
        return None, await asyncio.to_thread(target_of, visit.library.vaults, path, key)
    entity = await found(visit.view, uri)
    return entity, await asyncio.to_thread(target_of, visit.library.vaults, entity.uri)


def _html(looked: Look) -> Markup:
    shown = looked.open[0].shown if looked.open else None
    return trusted(note_body(shown, entry_address, {}).html) if shown else trusted("")


def _players(request: Request) -> Sequence[str]:
    seen = request.scope.get(SEEN)
    return seen.names if isinstance(seen, Seen) else ()


def _people(request: Request, person: str) -> list[str]:
    """With whom a note is to be shared, [] for everybody; only those at the table can be chosen."""
    if person and person not in _players(request):
        raise bad_request("there is no such player at the table")
    return [person] if person else []


PAGES = (Page(PATH, _share, methods=("GET", "POST")),)
