"""Adding a stat block, spell or item that was copied as text: it is shown as its page before it is stored.

Pages add nothing else. The form is for the game master on the machine of the server: nobody else at the table stores entries,
and over a network files are imported with the command line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.printable import one_line
from lorekeeper.server.page.entries import html_of
from lorekeeper.server.page.site import Page, Visit, form, may_add, trusted

PATH = "/paste"

BOOK = "homebrew"
"""Key of the document that everything goes into, whatever book the text names."""

MAX_CHARS = 20_000
"""Longest text. The longest stat blocks have a third of that; a request has at most 64 KiB."""

MAX_SHOWN = 20
"""Most entries, and most problems, that are shown."""

TOO_LONG = "The text is longer than {:,} characters. Paste fewer entries at a time, or save it as a file: lorekeeper import FILE"

DESCRIBES_BOOK = (
    "{}: describes a book, and what is pasted goes into homebrew. Save the text as a file: lorekeeper import FILE"
)


@dataclass(frozen=True)
class Sent:
    """What the form sends.

    Attributes:
        text: as it was pasted.
        secret: whether it is for the game master alone.
        stores: whether it is to be stored.
        shown: the key of what was shown last.
    """

    text: str = ""
    secret: bool = False
    stores: bool = False
    shown: str = ""

    @property
    def key(self) -> str:
        """Of the text and for whom it is: only what was shown is stored."""
        return hashlib.blake2b(f"{self.secret} {self.text}".encode("utf-8", "replace"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class ReadEntry:
    """An entry of the text.

    Attributes:
        name: of the entry.
        kind: of the entry.
        state: what storing it does: "new", "changed" for one that takes the place of an earlier one, "unchanged".
        path: of its page, once it is stored.
        html: its page.
    """

    name: str
    kind: str
    state: str
    path: str
    html: Markup


async def _paste(visit: Visit) -> Response:
    if not may_add(visit):
        raise NotFoundError("There is no such page.")
    if visit.method != "POST":
        return _page(visit, Sent())
    sent = _sent(await form(visit))
    if len(sent.text) > MAX_CHARS:
        shorter = replace(sent, text=sent.text[:MAX_CHARS])
        return _page(visit, shorter, [TOO_LONG.format(MAX_CHARS)], status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if not sent.text.strip():
        return _page(visit, sent, ["There is no text in the box."], status=HTTPStatus.BAD_REQUEST)
    stores = sent.stores and sent.shown == sent.key
    entries, problems = await _read(visit, sent, stores=stores)
    if not entries:
        return _page(visit, sent, problems, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    if stores:
        return _page(visit, Sent(), entries=entries, stored=True)
    return _page(visit, replace(sent, shown=sent.key), problems, entries)


def _sent(fields: QueryParams) -> Sent:
    text, secret, done, shown = (fields.get(name, "") for name in ("text", "secret", "do", "shown"))
    return Sent(text.replace("\r\n", "\n"), bool(secret), done == "store", shown)


async def _read(visit: Visit, sent: Sent, *, stores: bool) -> tuple[list[ReadEntry], list[str]]:
    """The entries of a text, which are stored if that is asked for, and what of it was not understood.

    Without entries there is a reason. A book's description would change what homebrew is called, so it is refused.
    """
    read, books = list[ReadEntry](), list[str]()

    async def take(entities: Sequence[Entity]) -> bool:
        books.extend(entity.name for entity in entities if entity.type == "documents")
        if not books:
            read.extend([await _entry(visit, entity) for entity in entities[:MAX_SHOWN]])
        return bool(read)

    report = await visit.library.import_paths(
        [sent.text.encode("utf-8", "replace")],
        document=BOOK,
        audience="dm" if sent.secret else None,
        dry_run=not stores,
        agree=take,
    )
    lines = report.left_out() + [DESCRIBES_BOOK.format(one_line(name)) for name in books]
    if not read:
        lines = lines or ["There is no entry in it."]
    return read, lines if len(lines) <= MAX_SHOWN else [*lines[:MAX_SHOWN], f"... and {len(lines) - MAX_SHOWN:,} more"]


async def _entry(visit: Visit, entity: Entity) -> ReadEntry:
    """An entry as its page will show it, and what the library has in its place."""
    stored = await visit.library.cache.load(entity.type, [entity.identity])
    state = "changed" if stored else "new"
    if stored and stored[0].content_hash == entity.content_hash:
        state = "unchanged"
    return ReadEntry(entity.name, entity.kind, state, entity.uri, trusted(await html_of(visit.library, entity)))


def _page(
    visit: Visit,
    sent: Sent,
    problems: Sequence[str] = (),
    entries: Sequence[ReadEntry] = (),
    *,
    stored: bool = False,
    status: int = HTTPStatus.OK,
) -> Response:
    values = {"sent": sent, "problems": problems, "entries": entries, "stored": stored, "most": MAX_CHARS}
    response = visit.page("paste.html", status, **values)
    response.headers["cache-control"] = "no-store"
    return response


PAGES = (Page(PATH, _paste, methods=("GET", "POST")),)
