"""The page to search on: results while somebody types, and the entry that is open beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.search.facets import Facet, FacetValue, facets
from lorekeeper.search.query import MAX_QUERY_CHARS, Query
from lorekeeper.search.recent import recent_notes
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.search.typed import Typed, typed, with_test, without_test
from lorekeeper.server.answers import page_content
from lorekeeper.server.page.entries import article
from lorekeeper.server.page.site import Page, Site, address, target
from lorekeeper.server.rest.problems import bad_request
from lorekeeper.server.rest.routes import json_response
from lorekeeper.server.tools import SEARCHED
from lorekeeper.views.view import View

LIMIT = 20
"""Results a page."""

MAX_OFFSET = 100_000
"""The furthest result."""

SHORTEST = 3
"""Letters from which on a word is highlighted in snippets, with whatever ending."""

BOX = "q"
"""Id of the element that somebody types into."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Sought:
    """What the address of the page says.

    Attributes:
        text: of the search box.
        offset: results to skip.
        opened: uri of the entry that is open, "" for none.
    """

    text: str
    offset: int
    opened: str

    @classmethod
    def of(cls, request: Request) -> Sought:
        """What a request asks for; RefusedError if it cannot be."""
        parameters = request.query_params
        text, offset = parameters.get("q", ""), parameters.get("offset", "0")
        if not (offset.isascii() and offset.isdecimal() and len(offset) <= 6 and int(offset) <= MAX_OFFSET):
            raise bad_request(f"offset is a number up to {MAX_OFFSET:,}")
        if len(text) > MAX_QUERY_CHARS:
            raise bad_request(f"a search has at most {MAX_QUERY_CHARS:,} characters; ask in a sentence or two")
        return cls(text, int(offset), parameters.get("open", ""))

    def address(self, *, offset: int = 0, opened: str = "") -> str:
        """The address of the same search, with other results or another entry."""
        return address("/", q=self.text, offset=offset, open=opened)


@dataclass(frozen=True)
class Shown:
    """A result as the list shows it."""

    result: Result
    address: str
    opened: bool
    snippet: Markup


async def _search(site: Site, request: Request) -> Response:
    """The whole page, or the part of it that an element is to be filled with: the list, the entry, or the facets."""
    sought, view, part = Sought.of(request), site.view(request), target(request)
    asked = await _typed(view, sought, ended=not is_key(request))
    values: dict[str, object] = {
        "sought": sought,
        "limit": LIMIT,
        "page": None,
        "notes": asked.notes,
        "shown": [],
        "entity": None,
        "key": is_key(request),
    }
    if sought.opened and part not in ("results", "facets"):
        values |= await _opened(view, sought)
    if part == "reading":
        return site.page(request, "_reading.html", **values)
    page = None
    if not asked.empty:
        page = await view.search(_query(request, sought, asked))
        values |= {
            "page": page,
            "shown": [_shown(result, sought, asked) for result in page.results],
        }
    if part == "results":
        return site.page(request, "_results.html", **values)
    values["facets"] = await _facets(view, sought, asked, page)
    if part == "facets":
        return site.page(request, "_facets.html", **values)
    if asked.empty:
        values |= await home(view)
    return site.page(request, "search.html", **values)


async def _typed(view: View, sought: Sought, *, ended: bool = True) -> Typed:
    return typed(sought.text, await view.searcher.documents.titled(), SEARCHED, ended=ended)


def is_key(request: Request) -> bool:
    """Whether a request is of a key in the box: its answer has to be there before the next key."""
    return request.headers.get("hx-trigger") == BOX


def is_typing(request: Request) -> bool:
    """Whether a request is of a key in the box, or for what follows once nobody has pressed another one."""
    return is_key(request) or "typing" in request.query_params


def _query(request: Request, sought: Sought, asked: Typed) -> Query:
    """The search of a request: by names and words alone at a key, since meaning takes longer and words are unfinished."""
    query = asked.query(limit=LIMIT, offset=sought.offset, typing=is_typing(request))
    return replace(query, mode="keyword") if is_key(request) else query


async def _opened(view: View, sought: Sought) -> dict[str, object]:
    try:
        return await article(view, sought.opened)
    except (NotFoundError, ValueError) as error:
        return {"missing": str(error)}


async def _twin(site: Site, request: Request) -> Response:
    """What the gateway answers to the search that the box says; it has phrases and several types besides."""
    sought, view = Sought.of(request), site.view(request)
    asked = await _typed(view, sought)
    with site.library.questions.one():
        page = await view.search(asked.query(limit=LIMIT, offset=sought.offset))
    return json_response(request, page_content(page))


# --- facets ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A value of a facet as the list shows it.

    Attributes:
        value: of the facet.
        address: of the search with it, or without it if it is chosen.
    """

    value: FacetValue
    address: str


async def _facets(
    view: View, sought: Sought, asked: Typed, page: ResultPage | None
) -> list[tuple[Facet, list[Choice]]]:
    """The facets of a search, each value with the search that it leads to."""
    titles = await view.searcher.documents.titled()
    found = await facets(view.searcher, asked, page)
    return [(facet, [_choice(sought.text, facet, value, titles) for value in facet.values]) for facet in found]


def _choice(text: str, facet: Facet, value: FacetValue, titles: Mapping[str, str]) -> Choice:
    change = without_test if value.chosen else with_test
    return Choice(value, address("/", q=change(text, facet.name, value.value, titles)))


# --- the beginning ---------------------------------------------------------------------------------------------------

EXAMPLES = (
    ("notes", "what did we promise"),
    ("notes", "type:npc order:newest"),
    ("spells", "we are falling off a cliff"),
    ("spells", "type:spell class:wizard ritual level:1"),
    ("creatures", "type:creature cr:5..8 type:undead"),
    ("equipment", "rarity:uncommon attunement:no"),
    ("rules", "type:condition"),
)
"""Searches to begin with, each for libraries that have entries of the type."""

MAX_EXAMPLES, MAX_NEWEST = 5, 6


async def home(view: View) -> dict[str, object]:
    """What the page shows before anything is searched for: searches to begin with, and the newest notes."""
    await view.refresh()
    counts = await view.cache.documents()
    present = {name for by_type in counts.values() for name, number in by_type.items() if number}
    examples = [text for name, text in EXAMPLES if name in present][:MAX_EXAMPLES]
    newest = await recent_notes(view.cache, None, MAX_NEWEST) if "notes" in present else []
    total = sum(number for by_type in counts.values() for name, number in by_type.items() if name != "documents")
    return {"examples": examples, "newest": newest, "total": total, "books": len(counts)}


# --- results ---------------------------------------------------------------------------------------------------------


def _shown(result: Result, sought: Sought, asked: Typed) -> Shown:
    uri = result.entity.uri
    snippet = highlighted(result.snippet, _WORD.findall(fold(" ".join([asked.words, *asked.phrases]))))
    return Shown(result, sought.address(offset=sought.offset, opened=uri), uri == sought.opened, snippet)


def highlighted(text: str, words: Iterable[str]) -> Markup:
    """A text as HTML, with those of its words marked that begin as one of the folded words does."""
    beginnings = tuple(word[: max(SHORTEST, len(word) - 2)] for word in words if len(word) >= SHORTEST)
    parts, end = [], 0
    for match in _WORD.finditer(text):
        if beginnings and fold(match[0]).startswith(beginnings):
            parts += [escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
            end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


PAGES = (Page("/", _search, _twin),)
