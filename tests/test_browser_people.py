"""Signing in and out in a real browser, and the page as players see it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import axe
from tests.support.browser import to
from tests.support.commands import run_lorekeeper
from tests.support.libraries import table_folder
from tests.support.serving import http_server
from tests.support.vaults import write

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ODA = """---
visibility: players
---
# Oda Quickwater

She ferries people over the Sallow Fen.

## GM only

She drowned once, and the marsh gave her back.
"""

TOWN = "# Grimstead\n\nA market town.\n\n## Secrets\n\nAn impostor rules the town.\n"

MAUDLIN = "notes/drowned-bells/NPCs%2FMaudlin%20Fetch.md"
ODA_PAGE = "/entries/notes/drowned-bells/NPCs%2FOda%20Quickwater.md"

SECRETS = ("Maudlin", "drowned once", "the marsh gave")
"""Words that no player meets: a name that only notes have which no mark shares, and what the game master alone reads of one."""


@dataclass(frozen=True)
class Table:
    """A server with a table around it: its address, the tokens of who is there, and its folder."""

    origin: str
    master: str
    player: str
    folder: Path


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Iterator[Table]:
    folder = table_folder(tmp_path_factory)
    write(folder / "drowned-bells", {"NPCs/Oda Quickwater.md": ODA})
    synced = run_lorekeeper(folder, "vault", "sync")
    assert synced.returncode == 0, synced.stderr
    added = run_lorekeeper(folder, "people", "add", "Ana", "--role", "player", "--json")
    with http_server(folder, HTTP_TOKEN="the master's own word") as address:
        yield Table(address.removesuffix("/mcp"), "the master's own word", json.loads(added.stdout)["token"], folder)


@pytest.fixture(scope="module")
def origin(table) -> str:
    return str(table.origin)


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def reads(page: Page, path: str) -> str:
    """All that a page says, in its text and in its source."""
    page.goto(path)
    return page.content() + page.locator("body").inner_text()


@pytest.mark.parametrize(("path", "shown"), [("/?q=bugbear", "Bugbear"), (ODA_PAGE, "Oda Quickwater")])
def test_who_is_not_signed_in_is_asked_to_and_comes_back_to_the_page(window, table, path, shown):
    page = window().page
    page.goto(path)
    assert page.url.startswith(f"{table.origin}/sign-in")
    sign_in(page, table.player)
    page.get_by_text(shown, exact=True).first.wait_for()
    assert page.get_by_text("Ana", exact=True).is_visible()


def test_the_key_of_a_session_is_out_of_reach_of_scripts(window, table):
    page = window().page
    page.goto("/sign-in")
    sign_in(page, table.player)
    page.wait_for_url(f"{table.origin}/")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert table.player not in cookie["value"]
    assert page.evaluate("document.cookie") == ""


def test_players_read_what_is_theirs_and_no_secret_on_any_page(window, table):
    page = window().page
    page.goto("/sign-in")
    sign_in(page, table.player)
    page.wait_for_url(f"{table.origin}/")
    note = "notes/drowned-bells/NPCs%2FOda%20Quickwater.md"
    paths = [
        "/",
        "/?q=oda+quickwater",
        "/?q=drowned",
        "/?q=reed+witch",
        f"/entries/{note}",
        f"/?q=oda&open=lore://{note}",
        "/books",
    ]
    said = {path: reads(page, path) for path in paths}
    assert {path: [word for word in SECRETS if word in text] for path, text in said.items()} == {
        path: [] for path in paths
    }
    assert "ferries people" in said[f"/entries/{note}"]
    assert "Oda Quickwater" in said["/?q=oda+quickwater"]


def test_what_the_game_master_pinned_and_read_is_not_on_pages_as_players_see_them(window, table):
    page = window().page
    page.goto("/sign-in")
    sign_in(page, table.master)
    page.wait_for_url(f"{table.origin}/")
    page.goto(f"/entries/{MAUDLIN}")
    page.locator("main > article h1").click()
    page.keyboard.press("p")
    tray = page.get_by_role("navigation", name="Pinned")
    tray.get_by_role("link").first.wait_for()
    page.goto("/")
    page.locator("#recent").get_by_role("link").wait_for()
    page.get_by_label("See as").select_option("Ana")
    page.get_by_text("This is what Ana sees").wait_for()
    assert not tray.is_visible()
    assert not page.locator("#recent").is_visible()
    assert "Maudlin" not in page.content()
    page.get_by_label("See as").select_option("game master")
    page.locator("#recent").get_by_role("link").wait_for()
    assert tray.is_visible()


def test_players_meet_whoever_hides_in_a_fight_when_one_key_reveals_him(window, table):
    page, other = window().page, window().page
    for each, token in (page, table.master), (other, table.player):
        each.goto("/sign-in")
        sign_in(each, token)
        each.wait_for_url(f"{table.origin}/")
    page.goto("/fight?monsters=2+wolves")
    page.locator("#combatants .who").nth(1).wait_for()
    page.get_by_label("Monsters").fill("goblin")
    page.get_by_label("hidden", exact=True).check()
    page.keyboard.press("Enter")
    chip = page.get_by_role("button", name="Reveal Goblin to players")
    chip.wait_for()
    page.get_by_role("button", name="Show players").click()
    page.get_by_label("Monsters").fill("wolf")
    page.get_by_label("hidden", exact=True).uncheck()
    page.keyboard.press("Enter")
    page.locator("#log").get_by_text("Wolf joined").wait_for()
    other.goto("/fight")
    other.get_by_text("Wolf 3").first.wait_for()
    assert "Goblin" not in other.content()
    page.locator("#round").click()
    page.keyboard.press("h")
    chip.wait_for(state="detached")
    other.get_by_text("Goblin appears").wait_for()
    other.goto("/")
    other.locator("#table").get_by_text("Goblin", exact=True).wait_for()


def test_a_note_is_shared_by_keys_alone(window, table):
    page, other, path = window().page, window().page, f"/entries/{MAUDLIN}"
    for each, token in (page, table.master), (other, table.player):
        each.goto("/sign-in")
        each.locator("#token:focus").wait_for()
        each.keyboard.type(token)
        each.keyboard.press("Enter")
        each.wait_for_url(f"{table.origin}/")
    page.goto(path)
    to(page, "Share")
    page.keyboard.press("Enter")
    page.wait_for_url("**/share?**")
    to(page, "With")
    page.keyboard.type("Ana")
    to(page, "Show what they will see")
    page.keyboard.press("Enter")
    page.locator("#with").get_by_text("Ana").and_(page.locator("option:checked")).wait_for(state="attached")
    to(page, "Share")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{path}")
    assert "Maudlin" in reads(other, path)
    page.goto(f"/share?uri=lore://{MAUDLIN}")
    to(page, "Game master only")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{path}")


def test_one_command_and_one_scan_show_the_town_to_a_phone_and_not_its_secret(window, table):
    write(table.folder / "drowned-bells", {"Town.md": TOWN})
    shared = run_lorekeeper(
        table.folder,
        "share",
        "Town.md",
        "--vault",
        "drowned-bells",
        "--yes",
        "--invite",
        "Bo",
        "--url",
        table.origin,
        "--json",
    )
    assert shared.returncode == 0, shared.stderr
    page = window(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True).page
    page.goto(json.loads(shared.stdout)["invited"][0]["link"])
    page.get_by_role("button", name="Sign in as Bo").click()
    page.get_by_role("link", name="Grimstead").first.click()
    page.get_by_text("market town").wait_for()
    assert "impostor" not in page.content()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "rules the town" not in reads(page, "/?q=impostor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_anybody_can_sign_in(window, scheme):
    opened = window(color_scheme=scheme)
    opened.expect("401 (Unauthorized)")
    opened.page.goto("/sign-in")
    findings = axe.findings(opened.page)
    sign_in(opened.page, "wrong")
    opened.page.get_by_role("alert").wait_for()
    findings += axe.findings(opened.page)
    assert not findings, "\n".join(findings)
