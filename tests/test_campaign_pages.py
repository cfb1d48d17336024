"""Pages of a campaign: what is beside a note, the time line of sessions, dossiers, and the newest notes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from lorekeeper.audience import GAME_MASTER
from lorekeeper.library import Library
from tests.support.gateway import gateway
from tests.support.pages import addresses, elements
from tests.support.vaults import vault_library, write

pytestmark = pytest.mark.asyncio(loop_scope="module")


def session(number: int, date: str, text: str, more: str = "") -> str:
    return f"---\ntype: session\nsession: {number}\ndate: {date}\n{more}---\n{text}\n"


ODA = """---
type: npc
tags: [npc/ally]
aliases: [The Reed Witch]
---
# Oda
**Home**: [[Tallow Bridge]]

She brews.
"""

NOTES = {
    "NPCs/Oda.md": ODA,
    "NPCs/Bors.md": "---\ntype: npc\n---\nA ferryman.\n",
    "World/Tallow Bridge.md": "# Tallow Bridge\nBlack timber.\n\n## Toll\n- [[Oda|The witch]] pays in candles.\n",
    "Sessions/Session 1.md": session(1, "2026-01-10", "**Place**: the marsh\n\nThe party met [[Oda]] in the reeds."),
    "Sessions/Session 2.md": session(
        2, "2026-01-17", "They crossed the bridge with Bors at night.", "world date: 3rd of Frost\n"
    ),
    "Sessions/Session 10.md": session(10, "2026-03-17", "Everything burned down.\n\n- [ ] ask [[Oda|her]] **why**"),
    "Lone.md": "# Lone\nIt speaks of Oda and of the Tallow Bridge, and of nothing else.\n",
}


def page_of(path: str) -> str:
    return f"/entries/notes/saga/{quote(path, safe='')}"


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("campaign")
    async with vault_library(folder, [write(folder / "saga", NOTES)], backend="sqlite") as opened:
        await opened.vaults.sync()
        yield opened


@pytest.fixture(scope="module")
async def client(library: Library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library, GAME_MASTER) as connected:
        yield connected


async def text(client: httpx.AsyncClient, path: str) -> str:
    """A page that is there, in which all is properly nested."""
    response = await client.get(path)
    assert response.status_code == 200
    elements(response.text.partition("<main")[2].partition("</main>")[0].partition(">")[2])
    return response.text


async def test_every_page_of_a_campaign_leads_to_pages_that_are_there(client):
    found, waiting = set[str](), ["/recent", "/sessions", "/topics?q=Oda"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            searches, pages = list[str](), list[str]()
            for each in addresses(await text(client, path)):
                (searches if each.startswith("/?") else pages).append(each)
            waiting += [*pages, *searches[: 1 if len(found) < 5 else 0]]
    assert found >= {page_of(path) for path in NOTES}
    assert len(found) > len(NOTES) + 5


async def test_the_desk_has_what_is_still_to_do_as_it_is_read(client):
    assert "ask her why" in await text(client, "/")


async def test_beside_a_note_stands_what_links_to_it_with_the_line_that_does(client):
    page = await text(client, page_of("NPCs/Oda.md"))
    aside = page.partition('<aside class="note-aside"')[2].partition("</aside>")[0]
    assert f'href="{page_of("World/Tallow Bridge.md")}"' in aside
    assert "<b>Toll</b> The witch pays in candles." in aside
    assert "The party met Oda in the reeds." in aside
    assert 'href="/?q=type%3Anote+tag%3Anpc%2Fally"' in page
    assert 'href="/?q=type%3Anote+folder%3ANPCs"' in page
    assert "Also called The Reed Witch" in page
    assert f'<dd dir="auto">the <a href="{page_of("World/Tallow Bridge.md")}"' not in page
    assert f'<dd dir="auto"><a href="{page_of("World/Tallow Bridge.md")}">Tallow Bridge</a></dd>' in page


async def test_sessions_lead_to_those_before_and_after_them(client):
    page = await text(client, page_of("Sessions/Session 2.md"))
    assert re.search(rf'rel="prev" href="{re.escape(page_of("Sessions/Session 1.md"))}"', page)
    assert re.search(rf'rel="next" href="{re.escape(page_of("Sessions/Session 10.md"))}"', page)
    assert "Session 2, 2026-01-17" in page
    assert 'rel="next"' not in await text(client, page_of("Sessions/Session 10.md"))
    assert 'aria-label="Sessions"' not in await text(client, page_of("Lone.md"))


async def test_the_time_line_has_the_sessions_in_order_and_who_appears(client):
    page = await text(client, "/sessions")
    names = re.findall(r'<h2><a href="[^"]*" dir="auto">([^<]*)', page)
    assert names == ["Session 10", "Session 2", "Session 1"]
    assert re.findall(r"<h2><a[^>]*>([^<]*)", await text(client, "/sessions?order=oldest")) == names[::-1]
    assert [each["name"] for each in (await client.get("/sessions.json")).json()["results"]] == names
    second = page.partition("Session 2<")[2].partition("</li>")[0]
    assert "They crossed the bridge with Bors at night." in second
    assert f'href="{page_of("NPCs/Bors.md")}"' in second
    assert "The party met Oda in the reeds." in page
    assert "3rd of Frost" in page
    assert "the marsh" not in page
    assert 'datetime="2026-03-17"' in page


# --- real vaults -----------------------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize(("vault", "links"), [("age-of-umbra", 400), ("the-rot-beneath", 0)])
async def test_every_note_of_a_real_vault_is_a_page_with_the_links_that_were_counted(
    corpus: Path, tmp_path: Path, vault: str, links: int
) -> None:
    async with vault_library(tmp_path, [corpus / "vaults" / vault], backend="sqlite") as library:
        report = await library.vaults.sync()
        notes = await library.cache.get_entities("notes", vault, limit=200)
        assert len(notes) == report.notes > 20
        led = set[tuple[str, str]]()
        async with gateway(library, GAME_MASTER) as client:
            for note in notes:
                page = await text(client, f"/entries/{note.uri.removeprefix('lore://')}")
                body = page.partition('<div class="note-body">')[2].partition('<aside class="note-aside"')[0]
                assert not re.search(
                    r'<div (?:dir="auto"|class="secret" dir="auto")>\s*</div>|<h\d[^>]*>\s*</h\d>', body
                )
                assert not re.search(r"\[\[|\[!\w", re.sub(r"<(code|pre)>.*?</\1>", "", body, flags=re.DOTALL)), (
                    note.slug
                )
                led |= {(note.slug, path) for path in re.findall(r'href="/entries/([^"#]*)', body)}
                said = " ".join(re.findall(r"\w+", unescape(re.sub(r"<[^>]*>", " ", body))))
                assert len(said) > 20, note.slug
    resolved = {
        (note.slug, f"notes/{vault}/{quote(link['to'], safe='')}")
        for note in notes
        for link in note.data["links"]
        if link["to"]
    }
    assert report.counts["links_resolved"] >= len(resolved) >= links // 2
    people = {f"notes/{vault}/{quote(note.slug, safe='')}" for note in notes if note.kind in ("npc", "character")}
    assert {path for _, path in led - resolved} <= people  # whom a text names without a link
    assert len(resolved - led) <= len(resolved) // 50
