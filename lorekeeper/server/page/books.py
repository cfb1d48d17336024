"""The shelf: books and vaults, what the library holds, and what it is doing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import NotFoundError
from lorekeeper.library import Library
from lorekeeper.printable import quantity
from lorekeeper.render.graph import IN_WHEEL, wheel_svg
from lorekeeper.server.answers import document_list
from lorekeeper.server.backlinks import links_among
from lorekeeper.server.models import JsonObject
from lorekeeper.server.page.notes import node_of
from lorekeeper.server.page.sessions import NOTES
from lorekeeper.server.page.site import Page, Visit, address, trusted, twin
from lorekeeper.server.rest.routes import json_response
from lorekeeper.server.tools import LIST_DOCUMENTS
from lorekeeper.views.view import View, apart


@dataclass(frozen=True)
class Book:
    """A document as the shelf shows it.

    Attributes:
        document: as the gateway describes it.
        edition: code of its edition, "" if that is unknown.
        vault: whether it is a folder of notes.
    """

    document: JsonObject
    edition: str
    vault: bool

    @property
    def entries(self) -> int:
        """Number of its entries."""
        return sum(self.document["counts"].values())

    @property
    def counted(self) -> str:
        """What it has: of a vault its notes, as its state counts them, and apart from these what was read out of them."""
        notes = self.document["counts"].get("notes", 0)
        counts = {"note": notes, "entry": self.entries - notes}
        return ", ".join(quantity(number, noun) for noun, number in counts.items() if number)


async def _books(visit: Visit) -> Response:
    view = visit.view
    books = [await _book(view, document) for document in await document_list(view)]
    books = sorted((book for book in books if book.entries), key=lambda book: (not book.vault, -book.entries))
    state = await library_state(visit.library) if view.viewer.sees_all else None
    totals = _totals(books)
    return visit.page("books.html", books=books, state=state, totals=totals)


async def _one_book(visit: Visit) -> Response:
    view = visit.view
    book = await _book(view, await _document(view, visit))
    values = await _vault(view, book.document["key"]) if book.vault else {"kinds": ()}
    return visit.page("book.html", book=book, totals=_totals([book]), **values)


async def _vault(view: View, key: str) -> dict[str, object]:
    """The kinds of the notes of a vault, each with where its notes are listed and the first of these, and how all are connected."""
    notes = await view.cache.get_entities(NOTES, key)
    kinds = Counter(note.kind for note in notes).most_common()
    return {
        "kinds": [
            (kind, address("/", q=f'in:notes kind:"{kind}" book:{key}'), [note for note in notes if note.kind == kind])
            for kind, _ in kinds
        ],
        "picture": trusted(await apart(lambda: wheel_svg([*map(node_of, notes)], links_among(notes)))),
        "most": IN_WHEEL,
    }


async def _document(view: View, request: Request) -> JsonObject:
    for each in await document_list(view):
        if each["key"] == request.path_params["key"]:
            return each
    raise NotFoundError("there is no such book in the library")


async def _book(view: View, document: JsonObject) -> Book:
    key, counts = document["key"], document["counts"]
    return Book(document, await view.searcher.documents.edition_of(key), "notes" in counts)


def _totals(books: Sequence[Book]) -> list[tuple[str, str, int]]:
    """Name, label and number of entries of each type that there are any of."""
    numbers = {name: sum(book.document["counts"].get(name, 0) for book in books) for name in COLLECTIONS}
    return [(name, COLLECTIONS[name].label, number) for name, number in numbers.items() if number]


# --- what the library is doing ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """What the library is doing, for its game master.

    Attributes:
        vaults: the folders of notes, as ``lorekeeper vault list`` shows them.
        source: the server that books are synced with, "" for none.
        synced: when something was last read from it completely, in seconds since 1970; 0 for never.
        behind: what kept it from being read, "" if nothing did.
        work: what is being done, with how much of it is done and how much there is; 0 where that is not known.
    """

    vaults: Sequence[Mapping[str, object]]
    source: str
    synced: float
    behind: str
    work: Sequence[tuple[str, int, int]]


async def library_state(library: Library) -> State:
    """What the library is doing now."""
    vaults = [status.as_dict() for status in await library.vaults.status()]
    steps = library.vaults.steps
    work = [("reading notes", steps.done, steps.total)] if steps.done < steps.total else []
    if not library.ready:
        work.append((library.activity, 0, 0))
    if (importing := library.importing) and not importing.is_over:
        work.append((f"importing {importing.name}: {importing.what}", importing.done, importing.total))
    source = library.source
    if source is None or library.offline:
        return State(vaults, "", 0, "", work)
    known = await asyncio.to_thread(source.known)
    read = [time for listed in known.lists.values() for time in listed.whole.values()]
    work += [
        (f"reading {name} again", listed.reading.objects, 0) for name, listed in known.lists.items() if listed.reading
    ]
    return State(vaults, source.base_url, max(read, default=0), known.refresh.problem, work)


async def _state(visit: Visit) -> Response:
    if not visit.view.viewer.sees_all:
        raise NotFoundError("there is no such page")
    return visit.page("_state.html", state=await library_state(visit.library))


async def _book_twin(visit: Visit) -> Response:
    view = visit.view
    await view.refresh()
    return json_response(visit, await _document(view, visit))


PAGES = (
    Page("/books", _books, twin(lambda _: (LIST_DOCUMENTS, {}))),
    Page("/state", _state),
    Page("/books/{key:rest}", _one_book, _book_twin),
)
