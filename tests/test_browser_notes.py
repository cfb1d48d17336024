"""Pages of a campaign in a real browser: links, callouts, the picture, narrow and dark screens, and seeing as players."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from lorekeeper.composition import people_of
from tests.support.browser import PHONE, Watched, watched
from tests.support.commands import environment, run_lorekeeper
from tests.support.libraries import settings
from tests.support.serving import http_server
from tests.support.vaults import write

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SKARA = """---
visibility: players
type: npc
---
Warden of the [[Keep]].

> [!tip]- What she carries
> A lantern of [[Bors|Bors']].

| a very long heading of a table | another one of these | and a third that is long |
|---|---|---|
| unbreakablewordsthatgoonandonandonandon | [[Keep]] | <script>alert(1)</script> |

## Deeds
She left.

## Secrets (GM only)
She is a lich.
"""

NOTES = {
    "Skara.md": SKARA,
    "Places/Keep.md": "---\nvisibility: players\ntype: location\n---\nA tower, once of [[Bors]].\n\n![[Skara]]\n",
    "Bors.md": "---\nvisibility: players\ntype: npc\n---\nA ferryman.\n",
    "Sessions/Session 1.md": "---\nvisibility: players\ntype: session\nsession: 1\n---\nWe met [[Skara]] today.\n",
}

PAGES = [
    "/entries/notes/saga/Skara.md",
    "/entries/notes/saga/Places%2FKeep.md",
    "/sessions",
    "/recent",
    "/topics?q=Skara",
]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("campaign")
    env = environment(folder, CACHE_BACKEND="sqlite")
    added = run_lorekeeper(folder, "vault", "add", str(write(folder / "saga", NOTES)), env=env)
    assert added.returncode == 0, added.stderr
    shared = run_lorekeeper(folder, "share", "--marked", "--yes", env=env)
    assert shared.returncode == 0, shared.stderr
    with http_server(folder, CACHE_BACKEND="sqlite", HTTP_TOKEN="t" * 32) as address:
        people_of(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db")).add("Ana", "player")
        yield address.removesuffix("/mcp")


@pytest.fixture
def window(chromium, origin) -> Iterator[Callable[..., Watched]]:
    """Opens watched pages of the game master, with the options of Playwright's `Browser.new_context`."""
    with ExitStack() as stack:

        def opened(**options: object) -> Watched:
            found = stack.enter_context(watched(chromium, origin, **options))
            found.page.goto("/sign-in")
            found.page.get_by_label("token").fill("t" * 32)
            found.page.keyboard.press("Enter")
            found.page.wait_for_url("**/")
            return found

        yield opened


def text_of(page: Page) -> str:
    return page.locator("main").inner_text()


def test_links_lead_from_note_to_note_and_back(window):
    page = window().page
    page.goto(PAGES[0])
    page.locator(".prose a", has_text="Keep").first.click()
    page.locator("h1", has_text="Keep").wait_for()
    assert "Warden of the Keep." in page.locator(".embed").inner_text()
    page.locator(".embed-title a").click()
    page.locator("h1", has_text="Skara").wait_for()
    page.locator(".backlinks a", has_text="Session 1").click()
    page.locator("h1", has_text="Session 1").wait_for()
    page.go_back()
    page.locator("h1", has_text="Skara").wait_for()


def test_callouts_open_headings_are_reached_and_the_picture_leads_to_notes(window):
    page = window().page
    page.goto(PAGES[0])
    assert not page.get_by_text("A lantern of").is_visible()
    page.locator("summary").click()
    assert page.get_by_text("A lantern of").is_visible()
    page.locator(".outline a", has_text="Deeds").click()
    assert page.evaluate("location.hash") == "#s-deeds"
    page.locator(".connections .graph:visible a", has_text="Bors").click()
    page.locator("h1", has_text="Bors").wait_for()


@pytest.mark.parametrize("options", [PHONE, {"color_scheme": "dark"}, {"java_script_enabled": False}])
def test_pages_of_a_campaign_fit_and_break_no_rule(window, options):
    page = window(**options).page
    for path in PAGES:
        response = page.goto(path)
        assert response is not None
        assert response.status == 200
        assert page.locator("main h1").count() == 1
        if options.get("java_script_enabled", True):
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_the_game_master_sees_the_pages_as_players_do_until_he_chooses_otherwise(window):
    page = window().page
    page.goto(PAGES[0])
    assert "She is a lich." in text_of(page)
    assert page.locator(".prose .secret").count() == 1
    for who, said in (("player", "what players see"), ("Ana", "what Ana sees")):
        page.get_by_label("See as").select_option(who)
        page.get_by_role("status").get_by_text(said).wait_for()
        assert page.url.endswith(PAGES[0])
        assert "lich" not in page.content()
        assert page.locator(".prose .secret").count() == 0
    page.goto("/?q=lich")
    assert page.locator(".hits .name").count() == 0 or "lich" not in page.locator(".hits").inner_text()
    page.get_by_label("See as").select_option("")
    page.get_by_role("status").wait_for(state="detached")
    page.goto(PAGES[0])
    assert "She is a lich." in text_of(page)
