"""Importing a book from a file: for the game master on the machine of the server, which has the file."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path

from starlette.responses import Response

from lorekeeper.errors import NotFoundError
from lorekeeper.server.page.site import Page, Visit, form, may_add, redirect

PATH, PROGRESS = "/import", "/import/progress"

FIELDS = ("path", "title", "edition", "players")
"""Those of the form."""

NO_FILE = "There is no such file on this machine. Give its whole path, for example {}."


async def _import(visit: Visit) -> Response:
    if not may_add(visit):
        raise NotFoundError("There is no such page.")
    if visit.method != "POST":
        return _page(visit)
    fields = await form(visit)
    sent = {name: fields.get(name, "").strip() for name in FIELDS}
    path = Path(sent["path"].strip("\"'"))
    if not await asyncio.to_thread(_is_there, path):
        example = Path.home() / "books" / "marches.pdf"
        return _page(visit, HTTPStatus.BAD_REQUEST, sent=sent, problem=NO_FILE.format(example))
    visit.library.begin_import(
        path,
        title=sent["title"] or None,
        edition=sent["edition"] or None,
        audience="players" if sent["players"] else None,
    )
    return redirect(PATH)


def _is_there(path: Path) -> bool:
    try:
        return path.is_absolute() and path.exists()
    except (OSError, ValueError):
        return False


async def _progress(visit: Visit) -> Response:
    if not may_add(visit):
        raise NotFoundError("There is no such page.")
    return visit.page("_importing.html", importing=visit.library.importing)


def _page(visit: Visit, status: int = HTTPStatus.OK, **values: object) -> Response:
    values = {"sent": dict.fromkeys(FIELDS, ""), "problem": "", **values}
    return visit.page("import.html", status, importing=visit.library.importing, **values)


PAGES = (Page(PATH, _import, methods=("GET", "POST")), Page(PROGRESS, _progress))
