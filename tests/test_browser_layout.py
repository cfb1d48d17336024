"""Where things are on the pages, measured in a real browser at many sizes: nothing covered, cut or overlapping, no place lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

import pytest

from lorekeeper.composition import people_of
from tests.support.browser import watched
from tests.support.layout import LIBRARY, box, problems
from tests.support.libraries import settings, table_folder
from tests.support.serving import http_server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SRD = "srd-2014"

TOKEN = "t" * 32

WIDE, LAPTOP, TABLET, PHONE = (1440, 900), (1024, 768), (768, 1024), (390, 844)

SIZES = (WIDE, LAPTOP, TABLET, PHONE)

PANES = (WIDE, LAPTOP)
"""Sizes at which the list and the entry are beside each other."""

ZOOMED = ((720, 450), (512, 384), (384, 512))
"""What a zoom of 200 % leaves of three of them."""

NOTE = "notes/drowned-bells/NPCs%2FMaudlin%20Fetch.md"

PAGES = {
    "start": "/",
    "results": "/?q=dragon",
    "nothing found": "/?q=zzyzx+qqq",
    "a wrong test": "/?q=fire+levle<=3",
    "a listing": "/?q=type:creature+cr:5..8",
    "creature in a pane": f"/?q=dragon&open=lore://creatures/{SRD}/adult-red-dragon",
    "note in a pane": f"/?q=maudlin&open=lore://{NOTE}",
    "spell": f"/entries/spells/{SRD}/fireball",
    "creature": f"/entries/creatures/{SRD}/lich",
    "class": f"/entries/character_options/{SRD}/wizard",
    "note": f"/entries/{NOTE}",
    "topics": "/topics",
    "dossier": "/topics?q=maudlin",
    "recent": "/recent",
    "sessions": "/sessions",
    "shelf": "/books",
    "book": f"/books/{SRD}",
    "spells of a class": "/spells/wizard",
    "party": "/party",
    "comparison": f"/entries/creatures/{SRD}/lich?beside=lore://creatures/{SRD}/mummy-lord",
    "sheet": f"/print?uri=lore://spells/{SRD}/fireball&uri=lore://creatures/{SRD}/lich",
    "adding an entry": "/paste",
    "importing a book": "/import",
    "error": "/nothing-here",
}


PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Is fulfilled once the page is painted as it is now."""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = table_folder(tmp_path_factory)
    people_of(settings(milvus_db_path=folder / "milvus.db")).add("Ana", "player")
    with http_server(folder, HTTP_TOKEN=TOKEN) as address:
        yield address.removesuffix("/mcp")


@pytest.fixture
def at(chromium, origin) -> Iterator[Callable[..., Page]]:
    """Opens pages of the game master, who is signed in, in a window of a size."""
    with ExitStack() as stack:

        def opened(size: tuple[int, int], **options: object) -> Page:
            width, height = size
            options |= {"is_mobile": True, "has_touch": True} if size == PHONE else {}
            window = stack.enter_context(
                watched(chromium, origin, viewport={"width": width, "height": height}, **options)
            )
            window.expect("404 (Not Found)")
            page = window.page
            page.add_init_script(LIBRARY)
            page.goto("/sign-in")
            page.get_by_label("token").fill(TOKEN)
            page.keyboard.press("Enter")
            page.wait_for_url("**/")
            return page

        yield opened


def open_hit(page: Page, number: int) -> str:
    """Scroll to a hit, open it and wait until its entry is there; its name."""
    hit = page.locator(".hits a").nth(number)
    hit.scroll_into_view_if_needed()
    name = hit.locator(".name").inner_text()
    hit.click()
    page.locator("#reading h1").get_by_text(name).wait_for()
    return name


def place(page: Page) -> float:
    """How far the list is scrolled, in its pane or with the document."""
    return float(page.evaluate("document.querySelector('#results').scrollTop + scrollY"))


def returned(page: Page, before: float) -> None:
    """Wait until the list is shown without an entry, where it was."""
    page.locator("#reading > article").wait_for(state="detached")
    page.locator(".hits").wait_for()
    page.wait_for_function(
        "before => Math.abs(document.querySelector('#results').scrollTop + scrollY - before) < 2", arg=before
    )


# --- the frame -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_an_opened_title_is_whole_below_the_header(at, size):
    page = at(size)
    page.goto("/?q=dragon")
    for number in (15, 3):
        if not page.locator(".hits").is_visible():
            page.go_back()
            page.locator(".hits").wait_for()
        open_hit(page, number)
        title, header = box(page, "#reading h1"), box(page, "header.top")
        assert title.top >= header.bottom
        assert title.bottom <= size[1]
        assert header.top == 0


@pytest.mark.parametrize("size", PANES)
def test_panes_scroll_and_the_document_does_not(at, size):
    page = at(size)
    page.goto(PAGES["creature in a pane"])
    page.locator(".alike .name").first.wait_for()
    heights = page.evaluate("[document.documentElement.scrollHeight, document.body.scrollHeight, innerHeight]")
    assert heights == [size[1]] * 3
    for pane in ("#results", "#reading"):
        inside, outside = page.locator(pane).evaluate("it => [it.scrollHeight, it.clientHeight]")
        assert inside > outside > size[1] / 2
        page.locator(pane).hover()
        page.mouse.wheel(0, 400)
        page.wait_for_function("pane => document.querySelector(pane).scrollTop > 20", arg=pane)
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("size", PANES)
def test_opening_a_hit_moves_neither_the_list_nor_the_search_box(at, size):
    page = at(size)
    page.goto("/?q=dragon")
    hit = page.locator(".hits a").nth(15)
    hit.scroll_into_view_if_needed()
    before, searching = place(page), box(page, "#q")
    assert before > 0
    assert box(page, "header.top").bottom <= searching.top < searching.bottom <= size[1] / 2
    open_hit(page, 15)
    assert (place(page), box(page, "#q")) == (before, searching)
    opened = box(page, ".hits a[aria-current]")
    assert 0 < opened.top < opened.bottom <= size[1]
    page.locator("#reading").evaluate("it => it.scrollTo(0, it.scrollHeight)")
    assert box(page, "#q") == searching


@pytest.mark.parametrize("size", SIZES)
def test_back_leads_to_the_place_in_the_list(at, size):
    page = at(size)
    page.goto("/?q=dragon")
    page.locator(".hits a").nth(24).scroll_into_view_if_needed()
    before = place(page)
    assert before > 0
    open_hit(page, 24)
    page.go_back()
    returned(page, before)
    open_hit(page, 24)
    page.goto("/books")
    page.go_back()
    page.locator("#reading h1").wait_for()
    page.go_back()
    returned(page, before)


# --- every page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(WIDE, LAPTOP), (PHONE,), ZOOMED], ids=["screens", "phone", "zoomed"])
def test_nothing_overlaps_and_no_text_is_cut_on_any_page(at, sizes):
    """Each page is loaded at one of the sizes, in turns, and the window then made of the others."""
    page = at(sizes[0], device_scale_factor=2 if sizes == ZOOMED else 1)
    found: list[str] = []

    def measure(name: str, *themes: Literal["light", "dark"]) -> None:
        for width, height in sizes:
            page.set_viewport_size({"width": width, "height": height})
            for theme in themes:
                page.emulate_media(color_scheme=theme)
                page.evaluate(PAINTED)
                found.extend(f"{name}, {width}, {theme}: {each}" for each in problems(page))
                assert name == "sign-in" or box(page, "main").top >= box(page, "header.top").bottom

    for number, (name, path) in enumerate(PAGES.items()):
        width, height = sizes[number % len(sizes)]
        page.set_viewport_size({"width": width, "height": height})
        page.goto(path)
        measure(name, "light", "dark")
    page.context.clear_cookies()
    page.goto("/sign-in")
    measure("sign-in", "light")
    assert not found, "\n".join(found)


KINDS = """spell weapon armor magic-item gear class subclass race subrace feat background condition rule table skill
creature""".split()
"""Kinds of entries, each with a page of its own."""

BEYOND = """() => [...document.querySelectorAll("main *")].filter((it) => {
  const box = it.getBoundingClientRect();
  for (let at = it; at && at !== document.body; at = at.parentElement) if (getComputedStyle(at).overflowX !== "visible") return 0;
  return box.width && it.checkVisibility() && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
}).map((it) => `${it.localName}.${it.className}`)"""
"""What of a page is beyond the edges of the window, and in nothing that scrolls."""


def test_an_entry_of_each_kind_fits_a_phone(at):
    page = at(PHONE)
    found: list[str] = []
    asked = {kind: page.request.get(f"/search.json?q=kind:{kind}").json()["results"][0]["uri"] for kind in KINDS}
    for kind, uri in {**asked, "note": NOTE}.items():
        page.goto(f"/entries/{uri.removeprefix('lore://')}")
        page.evaluate(PAINTED)
        found += [f"{kind}: {each}" for each in (*problems(page), *page.evaluate(BEYOND))]
    assert not found, "\n".join(found)
    page.evaluate("document.querySelector('h1').style.cssText = 'width: 500px'")
    assert page.evaluate(BEYOND)[0].startswith("h1")


@pytest.mark.parametrize("size", PANES)
def test_figures_of_a_list_are_whole(at, size):
    page = at(size)
    for query in ("type:creature order:cr", "type:spell level:3", "type:item", "type:feat"):
        page.goto(f"/?q={query}")
        cells = page.locator(".table :is(.figure, .name, .book, .headings .cell)")
        cut = "its => its.filter((it) => it.checkVisibility() && it.scrollWidth > it.clientWidth + 1).map((it) => it.textContent)"
        assert cells.count() > 20
        assert cells.evaluate_all(cut) == []


def test_measuring_finds_what_overlaps_and_what_is_cut(at):
    page = at(WIDE)
    page.goto("/books")
    page.evaluate(
        """document.querySelector("main").innerHTML = `<h1 id="a">One</h1><p id="b">Two</p><p id="c">Some words</p>
        <select id="d"><option>a long name of a person</select><div id="e"><p id="f">more</p></div>`"""
    )
    assert problems(page) == []
    page.evaluate("b.style.marginTop = '-3rem'")
    page.evaluate("c.style.cssText = 'width: 4rem; white-space: nowrap; overflow: hidden'")
    page.evaluate("d.style.width = '5rem'")
    page.evaluate("e.style.width = '3000px'")
    found = problems(page)
    expected = ["overlap: <h1#a>", "cut: <p#c>", "cut: <select#d>", "cut: the document is"]
    assert [each.startswith(words) for each, words in zip(found, expected, strict=True)] == [True] * 4, found
