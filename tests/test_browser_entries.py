"""Entries in a real browser: nothing of a hostile one runs, none is wider than a phone, and sheets are printed."""

from __future__ import annotations

import io
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lorekeeper.entities import Entity
from tests.support.browser import PHONE
from tests.support.gateway import gateway
from tests.support.hostile_pages import hostile_pages, large_page
from tests.support.libraries import open_library, ship, small_books
from tests.support.loops import in_thread

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SRD = "srd-2014"

RAN = "window.lorekeeperRan = () => { window.hasRun = true; };"
"""What the attacks call."""

CLOBBERED = """[...document.querySelectorAll("article [id]")].map(each => each.id).filter(
    id => document.querySelectorAll("#" + CSS.escape(id)).length > 1
).concat([...document.querySelectorAll("article :is(img, script, style, iframe, form, input)")].map(each => each.outerHTML))"""
"""Ids that the frame of the page has as well, and elements that load, run or send."""

SPELLS = ("fireball", "shield", "light", "wish", "bless", "fly", "sleep", "web", "haste")

SHOWN = (*SPELLS, "lich", "mummy-lord", "sorcerer", "wizard")
"""Entries of the starter compendium that are opened."""


PAGES = 72
"""Hostile entries that are opened: each attack in two places."""

WIDE = (0, 4, 9)
"""Large texts without a place to break a line, with many columns, and with many headings."""


def hostile(seed: int) -> list[Entity]:
    """Entries of all attacks, with slugs of their own."""
    made = [*hostile_pages(random.Random(seed), PAGES), *map(large_page, WIDE)]
    return [
        Entity(e.type, f"hostile-{n}", e.name[:200].replace("\n", " "), e.kind, "hostile", e.source_api, e.data)
        for n, e in enumerate(made)
    ]


@pytest.fixture(scope="module")
def entities(seed) -> list[Entity]:
    return hostile(seed)


@asynccontextmanager
async def serving(folder: Path, entities: list[Entity]) -> AsyncIterator[str]:
    """The address of a server of the starter compendium and these entries."""
    async with open_library(folder, backend="sqlite") as library:
        await library.load_starter()
        for entity_type in sorted({entity.type for entity in entities}):
            await library.cache.store_entities([e for e in entities if e.type == entity_type], entity_type)
        async with gateway(library) as client:
            yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def origin(tmp_path_factory, entities) -> Iterator[str]:
    books = small_books(tmp_path_factory.mktemp("books"), SHOWN)
    with pytest.MonkeyPatch.context() as patch:
        ship(books, patch)
        with in_thread(serving(tmp_path_factory.mktemp("pages"), entities)) as address:
            yield address


def path_of(entity: Entity) -> str:
    return f"/entries/{entity.uri.removeprefix('lore://')}"


def test_nothing_of_a_hostile_entry_runs_and_the_layout_holds(window, entities):
    page = window(**PHONE).page
    page.add_init_script(RAN)
    page.route("**/alike*", lambda route: route.fulfill(body=""))
    dialogs: list[Any] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog))
    for entity in entities:
        response = page.goto(path_of(entity), wait_until="domcontentloaded")
        assert response.status == 200, entity.uri
        assert page.evaluate("[window.hasRun ?? false, document.documentElement.scrollWidth]") == [False, 390], entity
        assert page.locator("main article.entry h1").count() >= 1
        assert page.evaluate(CLOBBERED) == [], entity.uri
    assert dialogs == []


@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_what_is_like_an_entry_follows_it_and_versions_are_compared(window, options):
    page = window(**options).page
    page.goto(f"/entries/creatures/{SRD}/lich")
    page.locator(".alike .name").first.wait_for()
    assert page.locator("article .abilities td").count() == 6
    page.goto(f"/entries/creatures/{SRD}/lich?beside=lore://creatures/{SRD}/mummy-lord")
    assert page.locator(".compared mark").count() > 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_a_linked_entry_opens_over_what_is_read_and_a_second_click_leads_there(window, options):
    page = window(**options).page
    page.goto(f"/entries/spells/{SRD}/fireball")
    page.wait_for_function("() => window.htmx")
    link = page.locator("article dd a").first
    link.click()
    name = page.locator("#card h1")
    name.wait_for()
    assert name.inner_text() in ("Sorcerer", "Wizard")
    assert page.url.endswith("/fireball")
    page.keyboard.press("Escape")
    name.wait_for(state="hidden")
    link.click()
    page.locator("#card-open").click()
    page.wait_for_url("**/entries/character_options/**")
    assert page.locator("article h1").inner_text() in ("Sorcerer", "Wizard")


def printed(page: Page) -> list[str]:
    """The texts of the sheets of paper."""
    pypdf = pytest.importorskip("pypdf")
    return [sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages]


def test_nine_spells_are_cards_on_few_sheets(window):
    page = window().page
    query = "&".join(f"uri=lore://spells/{SRD}/{name}" for name in SPELLS)
    page.goto(f"/print?{query}")
    assert page.locator("article.card").count() == len(SPELLS)
    sheets = printed(page)
    assert len(sheets) <= 3
    for name in SPELLS:
        (sheet,) = [sheet for sheet in sheets if f"{name.capitalize()}\n" in sheet]
        assert "Casting Time" in sheet
    assert not any("Search" in sheet for sheet in sheets)
