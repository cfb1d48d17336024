"""The page to search on: results while somebody types, and the entry that is open beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import SEARCHED
from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.search.by_name import begun
from lorekeeper.search.facets import Facet, FacetValue, facets
from lorekeeper.search.query import MAX_QUERY_CHARS, Query
from lorekeeper.search.query_syntax import (
    IN,
    Kind,
    ParsedQuery,
    cleaned,
    parse_query,
    parts,
    with_test,
    without_test,
    written,
)
from lorekeeper.search.results import ResultPage
from lorekeeper.server.found import page_content
from lorekeeper.server.page.desk import desk, examples
from lorekeeper.server.page.editions import edition_of
from lorekeeper.server.page.entries import article, nearest
from lorekeeper.server.page.hits import Hit, Shown, columns, hits_of, merged, shown_of
from lorekeeper.server.page.site import HEADERS, Page, Visit, address, offset_of, reading, redirect, target
from lorekeeper.server.rest.problems import bad_request
from lorekeeper.server.rest.routes import json_response
from lorekeeper.views.view import View

LIMIT = 50
"""Results a page."""

FIRST = 24
"""Names at a key: as many as a screen shows. The full answer follows."""

SHORTEST_NAME = 4
"""Letters from which on names are proposed: fewer begin too many, and the first of them changes at each key."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Sought:
    """What the address of the page says.

    Attributes:
        text: of the search box.
        offset: results to skip.
        opened: uri of the entry that is open, "" for none.
        proposed: whether nobody has opened it: it is the first hit, shown where there is room beside the list.
    """

    text: str
    offset: int
    opened: str
    proposed: bool = False

    @classmethod
    def of(cls, request: Request) -> Sought:
        """What a request asks for; RefusedError if it cannot be."""
        parameters = request.query_params
        text = parameters.get("q", "")
        if len(text) > MAX_QUERY_CHARS:
            raise bad_request(f"a search has at most {MAX_QUERY_CHARS:,} characters; ask in a sentence or two")
        return cls(text, offset_of(request), parameters.get("open", ""), "proposed" in parameters)

    def address(self, offset: int = 0, opened: str = "") -> str:
        """The address of the same search, with other results or another entry."""
        return address("/", q=self.text, offset=offset, open=opened)


async def _search(visit: Visit) -> Response:
    """The whole page, or the part of it that an element is to be filled with: the list with its facets, or the entry."""
    sought, view, part = Sought.of(visit), visit.view, target(visit)
    if part == "reading":
        return visit.page("_reading.html", sought=sought, **await _opened(view, sought.opened))
    asked = await _typed(view, sought, ended=not is_key(visit))
    values: dict[str, object] = {
        "sought": sought,
        "page": None,
        "marks": marked(sought.text, asked.wrong),
        "shown": [],
        "tests": tests_of(sought.text, asked.wrong),
        "asked": asked,
        "facets": [],
    }
    if part == "results" and not sought.text.strip():
        # the start page, in the place of all that a search has left: its entry and its filters too
        response = visit.page("search.html", **values | {"desk": await desk(view)})
        response.headers.update({"hx-retarget": "#main", "hx-reselect": "#main", "hx-reswap": "outerHTML show:none"})
        return _replacing(response, sought)
    if is_key(visit) and asked.words and not asked.phrases:
        return await _at_a_key(visit, sought, asked, values)
    if not asked.empty:
        sought, found = await _listed(view, visit, sought, asked)
        values |= found
    if part == "more":
        return visit.page("_rows.html", **values)
    if isinstance(page := values["page"], ResultPage):
        values["facets"] = await _facets(view, sought, asked, page)
    if part == "results":
        return _replacing(visit.page("_results.html", **values), sought)
    if asked.empty and not sought.opened:
        values["desk"] = await desk(view)
    return visit.page("search.html", **values | await _opened(view, sought.opened))


async def _listed(view: View, request: Request, sought: Sought, asked: ParsedQuery) -> tuple[Sought, dict[str, object]]:
    """What a search finds, as rows, with the first of them open; of nothing the nearest names."""
    page = await view.search(_query(request, sought, asked))
    hits = merged(page.results)
    if hits and not sought.opened:
        sought = replace(sought, opened=hits[0].result.entity.uri, proposed=True)
    return sought, {
        "sought": sought,
        "page": page,
        "near": [] if hits else await nearest(view, asked.words),
        "tries": []
        if hits
        else examples({name for counts in (await view.cache.documents()).values() for name in counts}),
        "shown": await _rows(view, sought, asked, hits),
        "columns": columns([hit.result.entity for hit in hits], sought.text, asked.order),
    }


async def _at_a_key(visit: Visit, sought: Sought, asked: ParsedQuery, values: dict[str, object]) -> Response:
    """The entries whose names begin as the text does; if there are none, the list stays as it is."""
    view, query = visit.view, asked.query(limit=FIRST, typing=True)
    query, first = replace(query, edition=edition_of(visit)), visit.headers.get("first-hit", "")
    is_name = len(asked.words) >= SHORTEST_NAME
    found = await begun(view.cache, view.searcher.documents, query, first) if is_name else []
    if not found and not asked.notes:
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=HEADERS)
    shown = await _rows(view, sought, asked, await hits_of(view, found[:FIRST]))
    return _replacing(visit.page("_results.html", **values | {"shown": shown}), sought)


def _replacing(response: Response, sought: Sought) -> Response:
    """A part of a page that changes the address in the browser to that of the search."""
    response.headers["hx-replace-url"] = sought.address(offset=sought.offset)
    return response


async def _rows(view: View, sought: Sought, asked: ParsedQuery, hits: Sequence[Hit]) -> list[Shown]:
    words = _WORD.findall(fold(" ".join([asked.words, *asked.phrases])))
    return [await shown_of(view, hit, sought.address(sought.offset, hit.result.entity.uri), words) for hit in hits]


async def _typed(view: View, sought: Sought, *, ended: bool = True) -> ParsedQuery:
    return parse_query(sought.text, await view.searcher.documents.titled(), SEARCHED, ended=ended)


def is_key(request: Request) -> bool:
    """Whether a request is of a key in the box: its answer has to be there before the next key."""
    return request.headers.get("hx-trigger") == "q"


def _query(request: Request, sought: Sought, asked: ParsedQuery) -> Query:
    """The search of a request: without meaning at a key, which takes longer."""
    is_typing = is_key(request) or "typing" in request.query_params  # also what follows once nobody presses another key
    query = asked.query(limit=LIMIT, offset=sought.offset, typing=is_typing)
    order = query.order or (None if query.text else "name")  # the headings say that of a list without words
    query = replace(query, edition=edition_of(request), order=order)
    return replace(query, mode="keyword") if is_key(request) else query


async def _opened(view: View, uri: str) -> dict[str, object]:
    if not uri:
        return {}
    try:
        return await article(view, uri)
    except (NotFoundError, ValueError) as error:
        return {"missing": str(error)}


async def _twin(visit: Visit) -> Response:
    """What the gateway answers to the search that the box says; it has phrases and several types besides."""
    sought, view = Sought.of(visit), visit.view
    asked = await _typed(view, sought)
    with visit.library.questions.one():
        page = await view.search(asked.query(limit=LIMIT, offset=sought.offset))
    return json_response(visit, page_content(page))


# --- facets ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A value of a facet as the list shows it.

    Attributes:
        value: of the facet.
        count: how many entries of the list have it; None for a value that the list cannot have, and that others could.
        address: of the search with it, or without it if it is chosen.
        without: of the search for everything else; "" if it is chosen.
    """

    value: FacetValue
    count: int | None
    address: str
    without: str


@dataclass(frozen=True)
class Test:
    """A test of the search.

    Attributes:
        text: as it was typed.
        address: of the search without it.
        wrong: whether it is left out.
    """

    text: str
    address: str
    wrong: bool


def marked(text: str, wrong: Sequence[str]) -> Markup:
    """A text as HTML with what is wrong in it marked, as page.js does while somebody types."""
    found = re.compile("|".join(map(re.escape, sorted(wrong, key=len, reverse=True))) or r"(?!)")
    pieces, end = [], 0
    for match in found.finditer(text):
        pieces += [escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        end = match.end()
    return Markup("").join([*pieces, escape(text[end:])]) if pieces else Markup("")


def tests_of(text: str, wrong: Sequence[str]) -> list[Test]:
    """The tests of a text, to take away one by one."""
    read = parts(cleaned(text))
    return [
        Test(
            part.written,
            address("/", q=" ".join(each.written for each in read if each is not part)),
            part.text in wrong,
        )
        for part in read
        if part.kind is Kind.TEST
    ]


async def _facets(
    view: View, sought: Sought, asked: ParsedQuery, page: ResultPage | None
) -> list[tuple[Facet, list[Choice]]]:
    """The facets of a search, each value with the search that it leads to.

    A facet with a chosen value has those of the search without the choice too, so that there are others to choose besides. With
    words more is found among fewer entries, so these have no numbers: the numbers are those of the list alone.
    """
    titles = await view.searcher.documents.titled()
    shown = []
    for facet in await facets(view.searcher, asked, page):
        if facet.name == IN and IN in asked.chosen:
            continue  # its test says it, and is taken away by a click
        counts = {value.value: value.count for value in facet.values}
        if any(value.chosen for value in facet.values):
            facet = await _with_others(view, asked, facet, titles)
            if not asked.words and not asked.phrases:
                counts = {value.value: value.count for value in facet.values} | {
                    value.value: counts[value.value] for value in facet.values if value.chosen and value.value in counts
                }
        choices = [_choice(sought.text, facet, value, counts.get(value.value), titles) for value in facet.values]
        shown.append((facet, choices))
    return shown


async def _with_others(view: View, asked: ParsedQuery, facet: Facet, titles: Mapping[str, str]) -> Facet:
    chosen = {value.value for value in facet.values if value.chosen}
    wider = parse_query(without_test(asked.text, facet.name, None, titles), titles, SEARCHED, ended=True)
    others = next((each for each in await facets(view.searcher, wider) if each.name == facet.name), facet)
    values = [replace(value, chosen=value.value in chosen) for value in others.values]
    missing = [value for value in facet.values if value.chosen and value.value not in {each.value for each in values}]
    return replace(others, entity_type=facet.entity_type, values=[*missing, *values])


def _choice(text: str, facet: Facet, value: FacetValue, count: int | None, titles: Mapping[str, str]) -> Choice:
    change = without_test if value.chosen else with_test
    without = (
        "" if value.chosen else address("/", q=f"{text} {written(facet.name, [value.value], negated=True)}".strip())
    )
    return Choice(value, count, address("/", q=change(text, facet.name, value.value, titles)), without)


async def _narrow(visit: Visit) -> Response:
    """The search with a range of a number: what the form of a facet asks for, for browsers with and without scripts."""
    given = visit.query_params
    name, least, most = given.get("field", ""), given.get("least", ""), given.get("most", "")
    text = without_test(given.get("q", ""), name)
    test = f"{name}:{least}..{most}" if least or most else ""
    return redirect(address("/", q=f"{text} {test}".strip()))


PAGES = (Page("/", reading(_search), _twin), Page("/narrow", _narrow))
