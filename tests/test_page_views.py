"""The pages as players see them: for players, and for the game master who wants to see them so."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.library import Library
from lorekeeper.people.person import Person
from tests.support.gateway import gateway
from tests.support.pages import without_switch
from tests.support.tables import each_row
from tests.support.vaults import open_marked, vault_library, write

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANA = Person("Ana", "player", ("Ana", "Bo"), "x", 0)

COOKIE = "lorekeeper_as"

OWN = {"sec-fetch-site": "same-origin"}

FEW_PAGES, MANY_PAGES = 12, 80
"""Pages that are read beside those to start at, for a quick look and for a thorough one."""


@asynccontextmanager
async def campaign(folder: Path, vault: Path) -> AsyncIterator[Library]:
    """A library of one vault."""
    folder.mkdir()
    async with vault_library(folder, [vault], backend="sqlite") as library:
        await open_marked(library)
        yield library


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    tmp_path = tmp_path_factory.mktemp("views")
    note = tmp_path / "saga" / "Skara.md"
    note.parent.mkdir()
    note.write_text("---\nvisibility: players\n---\n# Skara\nShe is tall.\n\n> [!dm]\n> She is a lich.\n", "utf-8")
    async with campaign(tmp_path / "library", note.parent) as opened:
        yield opened


@pytest.fixture(scope="module")
async def master(library: Library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library, GAME_MASTER, lambda: [ANA]) as client:
        yield client


@pytest.fixture(scope="module")
async def player(library: Library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library, Viewer.player()) as client:
        yield client


PAGE = "/entries/notes/saga/Skara.md"

OWN = {"sec-fetch-site": "same-origin"}


async def test_the_choice_is_kept_in_a_cookie_that_no_script_reads(master: httpx.AsyncClient) -> None:
    page = (await master.get(PAGE)).text
    assert "lich" in page
    assert '<option value="Ana">' in page
    chosen = await master.post("/view", data={"as": "player", "next": f"{PAGE}?x=1"}, headers=OWN)
    assert (chosen.status_code, chosen.headers["location"]) == (303, f"{PAGE}?x=1")
    cookie = chosen.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
    page = (await master.get(PAGE)).text
    assert "She is tall." in page
    assert "lich" not in page
    assert "This is what players see." in page
    assert "lich" not in (await master.get(f"{PAGE}.json")).text
    assert "lich" in (await master.get("/api/v1/entities/notes/saga/Skara.md")).text
    await master.post("/view", data={"as": "", "next": PAGE}, headers=OWN)
    assert "lich" in (await master.get(PAGE)).text


@each_row(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
        {},
    ],
)
async def test_other_sites_choose_nothing(master: httpx.AsyncClient, headers: Mapping[str, str]) -> None:
    response = await master.post("/view", data={"as": "player"}, headers=dict(headers))
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


@each_row("address", ["//evil.example", "https://evil.example", "/\\evil.example", "", "x", "/a b"])
async def test_the_choice_leads_to_pages_of_this_server_only(master: httpx.AsyncClient, address: str) -> None:
    chosen = await master.post("/view", data={"as": "", "next": address}, headers=OWN)
    assert chosen.headers["location"] == "/"


@each_row("chosen", ["", "Ana", "Nobody", "dm", "%00", "x" * 5000])
async def test_the_choice_only_ever_narrows(master: httpx.AsyncClient, player: httpx.AsyncClient, chosen: str) -> None:
    before, cookie = (await player.get(PAGE)).text, {"cookie": f"{COOKIE}={chosen}"}
    assert (await player.get(PAGE, headers=cookie)).text == before
    assert "seen-banner" not in before
    shown = (await master.get(PAGE, headers=cookie)).text
    assert ("lich" in shown) == (chosen == "")
    assert chosen == "" or without_switch(shown) == before


async def test_the_game_master_shares_a_note_from_its_page_and_sees_first_what_players_will_see(tmp_path: Path) -> None:
    text = "# Skara\n\nA keep in the reeds.\n\n## GM Notes\n\nThe cellar is open.\n\n- **Final twist**: it floats\n"
    plain = "# Inn\n\nSecretly it is a trap.\n\nAle is cheap.\n"
    vault = write(tmp_path / "saga", {"Skara.md": text, "Inn.md": plain, "Mill.md": "# Mill\n\nIt grinds.\n"})
    page, uri = "/share?uri=lore://notes/saga/Inn.md", "lore://notes/saga/Inn.md"
    async with campaign(tmp_path / "library", vault) as library, AsyncExitStack() as stack:
        everyone = [ANA]
        master = await stack.enter_async_context(gateway(library, GAME_MASTER, players=lambda: everyone))
        player = await stack.enter_async_context(gateway(library, Viewer.player()))
        shown = (await master.get("/share?uri=lore://notes/saga/Skara.md")).text
        assert "A keep in the reeds" in shown
        assert "The cellar is open" not in shown
        shown = (await master.get(page)).text
        assert "Seen now by the game master alone" in shown
        assert "Secretly it is a trap" in shown.split("What they will see")[0]
        assert "trap" not in shown.split("What they will see")[1]
        (stood,) = re.findall('name="stood" value="([^"]*)"', shown)
        form = {"uri": uri, "stood": stood}
        note = "/entries/notes/saga/Inn.md"
        assert (await player.get(note)).status_code == 404
        for who in (player, master):
            sent = await who.post("/share", data={"uri": uri, "do": "share"}, headers={"sec-fetch-site": "cross-site"})
            assert sent.status_code in (403, 404)
        assert (await player.post("/share", data={"uri": uri, "do": "share"}, headers=OWN)).status_code == 404
        assert (await player.get(page)).status_code == 404
        assert (await player.get(note)).status_code == 404
        assert (await master.post("/share", data={"uri": uri, "do": "share"}, headers=OWN)).status_code == 409
        assert (await player.get(note)).status_code == 404, "what opens was not what the page had shown"
        assert (await master.post("/share", data={**form, "do": "share"}, headers=OWN)).status_code == 303
        seen = (await player.get(note)).text
        assert "Ale is cheap" in seen
        assert "trap" not in seen
        assert "/share" not in seen
        home = (await player.get("/")).text
        assert -1 < home.find("Shared with you") < home.find("Dice")
        assert "/share?uri=" in (await master.get(note)).text
        opened = {**form, "do": "share", "open": "Secretly it is"}
        assert (await master.post("/share", data=opened, headers=OWN)).status_code == 303
        assert "trap" in (await player.get(note)).text
        assert (await master.post("/share", data={"uri": uri, "do": "keep"}, headers=OWN)).status_code == 303
        assert (await player.get(note)).status_code == 404
        whole = (await master.get("/share?uri=lore://notes/saga/.")).text
        assert "Share the whole vault" in whole
        assert "GM Notes" in whole
        (stood,) = re.findall('name="stood" value="([^"]*)"', whole)
        form = {"uri": "lore://notes/saga/.", "stood": stood, "do": "share", "without": "Skara.md"}
        assert 'name="without" value="Skara.md"' in whole
        assert (await master.post("/share", data=form, headers=OWN)).status_code == 303
        assert [(await player.get(f"/entries/notes/saga/{each}.md")).status_code for each in ("Mill", "Skara")] == [
            200,
            404,
        ]
        stranger = await master.post("/share", data={"uri": uri, "do": "share", "with": "Eve"}, headers=OWN)
        assert stranger.status_code == 400


async def test_pages_count_who_sees_a_note_from_its_sections(tmp_path: Path) -> None:
    front = "---\nvisibility: players\n---\n"
    notes = {
        "Aldric.md": "# Aldric\n\nA spy.\n\n## Public Knowledge\n\nHe sells maps.\n\n## Debts\n\nTo the duke.\n",
        "Open.md": f"{front}# Open\n\nA keep.\n\n## GM Notes\n\nIt floats.\n",
    }
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(campaign(tmp_path / "library", write(tmp_path / "saga", notes)))
        await open_marked(library)
        master = await stack.enter_async_context(gateway(library, GAME_MASTER))
        share = "/share?uri=lore://notes/saga"
        assert "Now players see 1 of 3 sections: Public Knowledge." in (await master.get(f"{share}/Aldric.md")).text
        assert "Now players see 1 of 2 sections: the beginning." in (await master.get(f"{share}/Open.md")).text
        page = (await master.get("/entries/notes/saga/Aldric.md")).text
        assert "players see 1 of 3 sections: Public Knowledge" in page
        assert "no mark shares it" not in page


async def test_the_picture_of_a_hub_has_the_closest_notes_and_says_how_many_there_are(tmp_path: Path) -> None:
    notes = {f"Clerk {number}.md": "Works for [[Hub]].\n" for number in range(10, 55)}
    notes["Clerk 53.md"] = "Works for [[Hub]] with [[Clerk 54]].\n"
    async with AsyncExitStack() as stack:
        vault = write(tmp_path / "saga", notes | {"Hub.md": "The hall of [[Clerk 52]].\n"})
        library = await stack.enter_async_context(campaign(tmp_path / "library", vault))
        master = await stack.enter_async_context(gateway(library, GAME_MASTER))
        picture = (await master.get("/entries/notes/saga/Hub.md")).text.partition('class="connections"')[2]
        assert "Connected with: the closest 39 of 45" in picture
        assert [f"Clerk%20{number}.md" in picture for number in (52, 53)] == [True, True]
        few = (await master.get("/entries/notes/saga/Clerk%2053.md")).text
        assert "<figcaption>Connected with</figcaption>" in few


async def test_who_looks_as_a_player_is_told_that_a_note_is_hidden(tmp_path: Path) -> None:
    notes = {"Aldric.md": "# Aldric\n\nA spy.\n", "Open.md": "---\nvisibility: players\n---\n# Open\n\nA keep.\n"}
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(campaign(tmp_path / "library", write(tmp_path / "saga", notes)))
        master = await stack.enter_async_context(gateway(library, GAME_MASTER, lambda: [ANA]))
        player = await stack.enter_async_context(gateway(library, ANA.viewer))
        hidden, none = "/entries/notes/saga/Aldric.md", "/entries/notes/saga/None.md"
        master.cookies.set(COOKIE, "Ana")
        page = await master.get(hidden)
        assert (page.status_code, "Ana does not see this note: nothing in it is shared with Ana." in page.text) == (
            404,
            True,
        )
        assert 'value="/share?uri=lore' in page.text
        assert "does not see" not in (await master.get(none)).text
        master.cookies.set(COOKIE, "player")
        assert "Players do not see this note" in (await master.get(hidden)).text
        shown = await player.get(hidden)
        assert (shown.status_code, "does not see" in shown.text, "Aldric" in shown.text) == (404, False, False)
