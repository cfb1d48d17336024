"""The pages: what all of them share, the search, the shelf, and the JSON twins."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import read_note
from lorekeeper.party import PartyFile
from lorekeeper.search.dossier.spans import blocks, spans
from lorekeeper.server.identity import PROXIED, VIEWER
from lorekeeper.server.page.fights import MOST, combatants
from lorekeeper.server.page.notes import encounter_in
from lorekeeper.server.page.scaling import by_slot
from lorekeeper.server.page.site import POLICY, may_add
from lorekeeper.server.page.topics import linked
from tests.support.campaign import campaign
from tests.support.entities import make
from tests.support.gateway import gateway
from tests.support.libraries import open_library, sample_library
from tests.support.pdf import BOLD, PICTURE, lines, write_pdf
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = "<img src=x onerror=alert(1)>\"'&"

WHOLE = ["/", "/?q=fire", "/books"]
"""Pages without an entry."""


@pytest.fixture(scope="module")
async def library(tmp_path_factory) -> AsyncIterator[Library]:
    async with sample_library(tmp_path_factory.mktemp("page"), backend="sqlite") as opened:
        await opened.cache.store_entities(campaign(), "notes")
        await opened.cache.store_entities([make("hostile", name=HOSTILE)], "spells")
        yield opened


@pytest.fixture(scope="module")
async def client(library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library) as connected:
        yield connected


@each_row("path", [*WHOLE, "/nothing-here"])
async def test_every_page_forbids_whatever_is_not_of_this_server(client, path):
    response = await client.get(path)
    assert response.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "private" in response.headers["cache-control"]
    assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=", response.text)
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', response.text)
    assert addresses
    assert all(address.startswith(("/", "#")) and not address.startswith("//") for address in addresses)


async def test_files_of_a_page_are_kept_for_good_and_change_their_address(client):
    page = (await client.get("/")).text
    files = set(re.findall(r'(?:src|href|data-htmx)="(/static/[^"]+\?[0-9a-f]{12})"', page))
    assert {file.partition("?")[0] for file in files} >= {"/static/page.css", "/static/page.js", "/static/htmx.min.js"}
    for file in files:
        response = await client.get(file)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]


@each_row("name", ["..%2fsite.py", "%2e%2e/site.py", "templates", "none.css", "page.css%00"])
async def test_no_other_file_is_served(client, name):
    assert (await client.get(f"/static/{name}")).status_code == 404


async def test_a_page_that_is_known_is_not_sent_again(client):
    first = await client.get("/?q=fire")
    again = await client.get("/?q=fire", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_what_there_is_not_is_a_page_that_says_so(client):
    response = await client.get("/nothing-here")
    assert response.status_code == 404
    assert "There is no such page" in response.text
    assert (await client.post("/books")).status_code == 405


async def test_a_search_lists_what_it_finds_with_the_words_marked(client, library):
    page = (await client.get("/", params={"q": "goblin"})).text
    hits = page.partition('<ol class="hits"')[2]
    names = [unescape(name) for name in re.findall(r'class="name"[^>]*>([^<]*)<', hits)]
    assert names
    twin = (await client.get("/search.json", params={"q": "goblin"})).json()
    assert names == [result["name"] for result in twin["results"]]


async def test_a_part_of_the_page_is_only_that_part(client):
    whole = (await client.get("/?q=fire")).text
    part = (await client.get("/?q=fire", headers={"hx-request": "true", "hx-target": "results"})).text
    listed, _, facets = part.strip().partition('<div id="facets" hx-swap-oob="innerHTML">')
    assert listed.strip() in whole
    assert facets.partition("</div>\n<div class")[0] in whole
    assert "<html" not in part
    back = await client.get(
        "/?q=fire", headers={"hx-request": "true", "hx-target": "results", "hx-history-restore-request": "true"}
    )
    assert "<html" in back.text


async def test_an_entry_is_open_beside_the_list(client):
    twin = (await client.get("/search.json", params={"q": "fire"})).json()
    uri = twin["results"][0]["uri"]
    page = (await client.get("/", params={"q": "fire", "open": uri})).text
    assert f'data-uri="{uri}"' in page
    assert 'aria-current="true"' in page
    missing = await client.get("/", params={"q": "fire", "open": "lore://spells/none/none"})
    assert "no entry at this address" in missing.text
    assert 'class="name"' in missing.text


@each_row("query", [{"offset": "-1"}, {"offset": "x"}, {"offset": "9" * 40}, {"q": "x" * 3000}])
async def test_what_cannot_be_asked_is_refused_with_a_reason(client, query):
    response = await client.get("/", params=query)
    assert response.status_code == 400
    assert 'role="alert"' in response.text


async def test_hostile_names_and_searches_stay_text(client):
    page = (await client.get("/", params={"q": HOSTILE})).text
    assert "<img src=x" not in page
    assert HOSTILE in unescape(page)


async def test_the_shelf_has_every_book_with_its_number(client, library):
    page = (await client.get("/books")).text
    documents = (await client.get("/books.json")).json()["documents"]
    full = [document for document in documents if document["counts"]]
    assert full
    assert page.count('class="about edition"') == len(full)
    for document in full:
        assert f"{sum(document['counts'].values()):,}" in page
        book = await client.get(f"/books/{document['key']}")
        assert unescape(book.text).count(document["name"]) >= 2
        assert (await client.get(f"/books/{document['key']}.json")).json() == document
    assert (await client.get("/books/none")).status_code == 404


async def test_the_shelf_counts_the_notes_of_a_vault_apart_from_what_was_read_out_of_them(client, library):
    await library.cache.store_entities([make("mire-hag", type="creatures", document="fens")], "creatures")
    page = re.sub(r"<[^>]+>|\s+", " ", (await client.get("/books")).text)
    assert f"{len(campaign())} notes, 1 entry" in page
    await library.cache.delete_entities("creatures", [("fens", "mire-hag")])


async def test_the_page_of_a_vault_lists_its_kinds_and_draws_what_links_to_what(client):
    page = unescape((await client.get("/books/fens")).text)
    kinds = Counter(note.kind for note in campaign())
    listed = re.findall(r'<a href="([^"]+)" dir="auto">([^<]+) <b>(\d+)</b></a>', page)
    assert {kind: int(number) for _, kind, number in listed} == kinds
    for address, _, number in listed:
        assert f"{number} " in (await client.get(address)).text.partition('class="count"')[2][:40]
    picture = page.partition('<svg class="graph"')[2].partition("</svg>")[0]
    titles = {title.rpartition(" (")[0] for title in re.findall("<title>([^<]+)", picture)}
    assert titles == {"The Broken Toll", "Tallow Bridge", "Oda Reedmother"}
    for address in re.findall(r'<a class="node[^>]* href="([^"]+)"', picture):
        assert (await client.get(address)).status_code == 200


async def test_nothing_found_leads_on(client):
    page = unescape((await client.get("/?q=type:creature+cr:29")).text)
    found = page.partition('class="nothing"')[2].partition("</div>")[0]
    assert "type:creature cr:29" in found
    assert 'class="chip"' in found
    assert "/print" not in page.partition('id="results"')[2].partition("</div>")[0]


async def test_files_are_packed_for_whoever_takes_it(client):
    address = re.findall(r'href="(/static/page\.css[^"]+)"', (await client.get("/")).text)[0]
    packed = await client.get(address, headers={"accept-encoding": "gzip"})
    plain = await client.get(address, headers={"accept-encoding": "identity"})
    assert (packed.headers["content-encoding"], "content-encoding" in plain.headers) == ("gzip", False)
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2


@pytest.mark.parametrize("text", ["level>=abc", "book:nope", "cr:x", "order:foo"])
@pytest.mark.parametrize("part", ["", "results"])
async def test_a_wrong_test_alone_in_the_box_is_said_and_stays_there(client, text, part):
    response = await client.get(
        "/", params={"q": text}, headers={"hx-request": "true", "hx-target": part} if part else {}
    )
    page = unescape(response.text)
    if not part:
        assert f'value="{text}"' in page
    notes = re.findall(r'<p class="note" dir="auto">(.*?)</p>', page)
    word = text.partition(":")[2] or text.partition("=")[2]
    assert any(word in note for note in notes)


# --- adding an entry ---------------------------------------------------------------------------------------------------

OWN = {"sec-fetch-site": "same-origin"}

SIREN = """Reed Siren
Medium fey, chaotic neutral
Armor Class 13
Hit Points 38 (7d8 + 7)
Speed 30 ft., swim 40 ft.
STR DEX CON INT WIS CHA
10 (+0) 16 (+3) 12 (+1) 11 (+0) 13 (+1) 18 (+4)
Challenge 2 (450 XP)
Actions
Claw. Melee Weapon Attack: +5 to hit, reach 5 ft., one target. Hit: 6 (1d6 + 3) slashing damage.
"""


@asynccontextmanager
async def adding(tmp_path: Path, viewer: Viewer | None = None) -> AsyncIterator[tuple[httpx.AsyncClient, Library]]:
    """A client of a library without entries."""
    async with open_library(tmp_path, backend="sqlite") as library, gateway(library, viewer) as client:
        yield client, library


async def paste(client: httpx.AsyncClient, text: str, **fields: str) -> httpx.Response:
    return await client.post("/paste", data={"text": text, **fields}, headers=OWN)


async def confirmed(client: httpx.AsyncClient, text: str, **fields: str) -> httpx.Response:
    """What comes of storing what was shown."""
    page = (await paste(client, text, **fields)).text
    key = re.findall(r'name="shown" value="(\w+)"', page)[0]
    return await paste(client, text, **fields, shown=key, do="store")


async def siren(library: Library) -> list[Entity]:
    return await library.cache.get_entities("creatures", name_folded="reed siren")


async def test_pasted_text_is_shown_before_it_is_stored(tmp_path):
    async with adding(tmp_path) as (client, library):
        text = f"Page 12\r\n{SIREN.replace(chr(10), chr(13) + chr(10))}"
        for fields in ({}, {"do": "store"}, {"do": "store", "shown": "0" * 32}):
            page = unescape((await paste(client, text, **fields)).text)
            assert '<dd dir="auto">38 (<a href="/roll?dice=7d8%2B7" class="dice">7d8 + 7</a>)</dd>' in page
            assert "not understood: Page 12" in page
            assert "Creature · new" in page
            assert await siren(library) == []
        stored = await confirmed(client, text)
        assert (stored.status_code, stored.headers["cache-control"]) == (200, "no-store")
        (found,) = await siren(library)
        assert (found.uri, found.fields["hit_points"]) == ("lore://creatures/homebrew/reed-siren", 38)
        assert 'href="/entries/creatures/homebrew/reed-siren"' in stored.text
        assert (await client.get("/entries/creatures/homebrew/reed-siren")).status_code == 200


async def test_what_is_pasted_goes_into_homebrew_whatever_book_it_names(tmp_path):
    spell = {"collection": "spells", "name": "Fireball", "level": 3, "description": "It burns."}
    async with adding(tmp_path) as (client, library):
        text = json.dumps([{**spell, "slug": "fireball", "document": "srd-2014"}, {**spell, "name": "Frost"}])
        assert "Spell · new" in (await paste(client, text)).text
        assert 'href="/entries/spells/homebrew/fireball"' in (await confirmed(client, text)).text
        assert list(await library.cache.documents()) == ["homebrew"]
        book = {"collection": "documents", "name": "Evil", "document": "srd-2014"}
        assert (await paste(client, json.dumps([book, spell]))).status_code == 422


async def test_only_what_was_shown_is_stored(tmp_path):
    async with adding(tmp_path) as (client, library):
        key = re.findall(r'name="shown" value="(\w+)"', (await paste(client, SIREN)).text)[0]
        for changed in ({"text": SIREN.replace("38", "99")}, {"text": SIREN, "secret": "1"}):
            page = await client.post("/paste", data={**changed, "shown": key, "do": "store"}, headers=OWN)
            assert "What was read" in page.text
            assert await siren(library) == []


async def test_pasting_again_renews_an_entry_and_keeps_it_secret(tmp_path):
    async with adding(tmp_path) as (client, library):
        await confirmed(client, SIREN, secret="1")
        assert "in homebrew already, unchanged" in (await paste(client, SIREN)).text
        again = SIREN.replace("38 (7d8 + 7)", "45 (7d8 + 14)")
        assert "takes the place of the entry of this name" in (await paste(client, again)).text
        assert "renewed" in (await confirmed(client, again)).text
        (found,) = await siren(library)
        assert (found.fields["hit_points"], found.fields["audience"]) == (45, ("dm",))


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", 400, "no text"),
        ("Dear all, we meet on Friday.", 422, "no creature, spell or magic item was found"),
        ("x" * 20_001, 413, "longer than 20,000 characters"),
        ("<compendium><spell><name>Fog</name></spell></compendium>", 422, "with nothing but a name"),
        (HOSTILE, 422, "no creature"),
        ("[]", 422, "no entry"),
        ('{"collection": "documents", "name": "Reeds", "document": "reeds"}', 422, "Reeds: describes a book"),
    ],
)
async def test_what_cannot_be_added_is_refused_with_a_reason(tmp_path, text, status, reason):
    async with adding(tmp_path) as (client, library):
        response = await paste(client, text, do="store")
        assert response.status_code == status
        assert reason in unescape(re.findall(r'role="alert".*?</div>', response.text, re.DOTALL)[0])
        assert "<img src=x" not in response.text
        assert await library.cache.documents() == {}


async def test_players_and_other_sites_add_nothing(tmp_path):
    async with adding(tmp_path, Viewer.player()) as (client, library):
        assert (await client.get("/paste")).status_code == 404
        assert (await paste(client, SIREN)).status_code == 404
        assert "/paste" not in (await client.get("/books")).text
    async with adding(tmp_path) as (client, library):
        assert "/paste" in (await client.get("/books")).text
        assert (await client.get("/paste")).status_code == 200
        as_player = await client.post("/paste", data={"text": SIREN}, headers={**OWN, "cookie": "lorekeeper_as=player"})
        assert as_player.status_code == 404
        for site in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://evil"}, {}):
            assert (await client.post("/paste", data={"text": SIREN}, headers=site)).status_code == 403
        assert await library.cache.documents() == {}


@pytest.mark.processes
async def test_a_book_is_imported_from_a_path_with_its_progress_and_what_was_understood(tmp_path):
    pytest.importorskip("pypdfium2")
    pages = [[(72, 80, 20, BOLD, "Roads"), *lines(["The roads of the marches are laid on reed."])]]
    book = write_pdf(tmp_path / "reed book.pdf", pages, streams=[PICTURE])
    async with adding(tmp_path / "library") as (client, library):
        begun = await client.post("/import", data={"path": f'"{book}"', "title": "The Marches"}, headers=OWN)
        assert (begun.status_code, begun.headers["location"]) == (303, "/import")
        assert 'hx-get="/import/progress"' in (await client.get("/import")).text
        importing = library.importing
        assert importing
        assert importing.task
        importing.step("reading pages", 400, 100)
        assert re.search(r"reading pages, \d+ of 40\d", (await client.get("/import/progress")).text)
        assert "Importing reed book.pdf" in (await client.get("/state")).text
        await importing.task
        told = unescape((await client.get("/import/progress")).text)
        assert "hx-get" not in told
        assert "reed book.pdf</span>: 2 stored" in told
        assert "The Marches: 1 page with text; 1 section" in told
        assert "page 2 of the file has no text that can be read" in told
        (roads,) = await library.cache.get_entities("rules", name_folded="roads")
        assert (roads.document, roads.fields["audience"]) == ("the-marches", ("dm",))
        (tmp_path / "reed book.pdf").write_bytes(b"%PDF-1.7 no more")
        await client.post("/import", data={"path": str(book), "players": "1"}, headers=OWN)
        importing = library.importing
        assert importing
        assert importing.task
        await importing.task
        assert "it is damaged, or is no PDF" in (await client.get("/import")).text


async def test_only_files_of_this_machine_are_imported_and_only_by_its_game_master(tmp_path):
    async with adding(tmp_path) as (client, library):
        for path in ("books/reed.pdf", str(tmp_path / "none.pdf"), "/etc/\0"):
            refused = await client.post("/import", data={"path": path}, headers=OWN)
            assert (refused.status_code, "There is no such file on this machine" in refused.text) == (400, True)
        assert (await client.post("/import", data={"path": str(tmp_path)})).status_code == 403
        assert library.importing is None
    async with adding(tmp_path / "other", Viewer.player()) as (client, _):
        for path in ("/import", "/import/progress"):
            assert (await client.get(path)).status_code == 404
        assert (await client.post("/import", data={"path": str(tmp_path)}, headers=OWN)).status_code == 404


@each_row(
    ("scope", "may"),
    [
        ({"client": ("127.0.0.1", 1)}, True),
        ({"client": ("::1", 1)}, True),
        ({"client": ("192.0.2.7", 1)}, False),
        ({"client": ("127.0.0.1", 1), PROXIED: True}, False),
        ({"client": None}, False),
        ({"client": ("127.0.0.1", 1), VIEWER: Viewer.player()}, False),
    ],
)
async def test_entries_are_added_on_the_machine_of_the_server_alone(scope, may):
    assert may_add(Request({"type": "http", VIEWER: GAME_MASTER, **scope})) is may


# --- the desk, fights, editions --------------------------------------------------------------------------------------


async def test_the_start_page_is_a_desk_in_words(client):
    page = unescape((await client.get("/")).text)
    desk = page.partition('class="home"')[2].partition("</main>")[0]
    for part in ("Last session", "Tonight", "Newest notes", "Shelf"):
        assert f"</svg>{part}" in desk
    for part in ("Party", "Still open"):  # there is none
        assert f"</svg>{part}" not in desk
    shown = re.sub(r"<[^>]+>", " ", desk)
    assert not re.search(r"\b(?:type|cr|level|order):", shown)


async def test_a_fight_has_each_creature_with_its_numbers(client, library):
    crab = make("ruin-crab", type="creatures", name="Ruin Crab", data={"dexterity": 14}, hit_points=9, armor_class=13)
    await library.cache.store_entities([crab], "creatures")
    page = unescape((await client.get("/fight", params={"monsters": "3 ruin crabs"})).text)
    rows = re.findall(
        r'<li data-name="([^"]+)" [^>]* data-initiative="2" data-hit-points="9" data-lost="0" data-armor-class="13"',
        page,
    )
    assert rows == ["Ruin Crab 1", "Ruin Crab 2", "Ruin Crab 3"]
    assert await library.cache.delete_document("own") >= 1
    missing = await client.get("/fight", params={"monsters": "xyzzy frobnicator"})
    assert missing.status_code == 200
    assert 'role="alert"' in missing.text


async def test_a_fight_is_kept_for_each_viewer_and_not_overwritten(tmp_path):
    async with adding(tmp_path) as (master, library):
        library.party = PartyFile(tmp_path / "party")
        first = await master.get("/fight/kept")
        assert first.json() is None
        own = {**OWN, "if-match": first.headers["etag"]}
        fight = {"round": 2, "fighting": [{"name": "Tilda"}]}
        stored = await master.put("/fight/kept", json=fight, headers=own)
        assert stored.json() == fight
        assert (await master.put("/fight/kept", json={}, headers=own)).status_code == 412
        again = await master.get("/fight/kept", headers={"if-none-match": stored.headers["etag"]})
        assert again.status_code == 304
        for refused, body in ({}, "{}"), (OWN, "[]"), (OWN, "x"):
            assert (await master.put("/fight/kept", content=body, headers=refused)).status_code in (400, 403)
        async with gateway(library, viewer=Viewer.player("Ana")) as player:
            assert (await player.get("/fight/kept")).json() is None
        assert (await master.get("/fight/kept")).json() == fight


async def test_the_encounter_of_a_note_is_read_from_its_block():
    block = "Before.\n\n```encounter\nname: Bridge\ncreatures:\n  - 3: Goblin\n  - Hobgoblin, 40\n```\nAfter.\n- 5: No"
    note = make("note", type="notes", data={"sections": [{"name": "", "desc": "", "written": block}]})
    assert encounter_in(note) == ["3 Goblin", "1 Hobgoblin"]


async def test_the_edition_is_remembered_and_nothing_else_is(client):
    form = {"edition": "2014", "next": "/?q=fire"}
    chosen = await client.post("/edition", data=form, headers=OWN)
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/?q=fire")
    assert "lorekeeper_edition=2014" in chosen.headers["set-cookie"]
    wrong = await client.post("/edition", data={**form, "edition": "<b>"}, headers=OWN)
    assert "Max-Age=0" in wrong.headers["set-cookie"]
    assert (await client.post("/edition", data=form)).status_code == 403
    page = (await client.get("/", headers={"cookie": "lorekeeper_edition=2014"})).text
    assert '<option value="2014" selected>' in page


async def test_a_range_becomes_a_test_in_the_box(client):
    asked = {"q": "fire level:3", "field": "level", "least": "1", "most": "4"}
    assert (await client.get("/narrow", params=asked)).headers["location"] == "/?q=fire+level%3A1..4"
    open_end = await client.get("/narrow", params={**asked, "most": ""})
    assert open_end.headers["location"] == "/?q=fire+level%3A1.."


async def test_a_type_is_a_click_away_and_narrowed_by_speed(tmp_path):
    async with adding(tmp_path) as (client, _):
        for text in (SIREN, SIREN.replace("Reed", "Silt").replace("swim 40", "swim 60")):
            await confirmed(client, text)
        assert 'href="/?q=in%3Acreatures"' in (await client.get("/")).text
        page = (await client.get("/", params={"q": "in:creatures"})).text
        assert 'name="field" value="speed_swim"' in page
        narrowed = (await client.get("/", params={"q": "in:creatures speed_swim:60.."})).text
        assert "Silt Siren" in narrowed
        assert "Reed Siren" not in narrowed


async def test_a_cell_says_once_what_another_of_its_values_says(tmp_path):
    async with adding(tmp_path) as (client, _):
        oar = {
            "collection": "equipment",
            "kind": "weapon",
            "name": "Oar",
            "category": ["weapon", "simple weapon", "melee weapon"],
        }
        await confirmed(client, json.dumps([oar, {**oar, "name": "Pole"}]))
        cells = re.findall(r'class="cell category" dir="auto">([^<]*)<', (await client.get("/?q=in:equipment")).text)
        assert cells == ["simple weapon, melee weapon"] * 2


async def test_the_columns_sort_and_turn_round(client):
    assert 'class="chips"' not in (await client.get("/")).text
    first = unescape((await client.get("/", params={"q": "type:spell"})).text)
    assert 'href="/?q=type%3Aspell+order%3Alevel"' in first
    second = unescape((await client.get("/", params={"q": "type:spell order:level"})).text)
    assert 'href="/?q=type%3Aspell+order%3A%22level+desc%22" aria-current="true"' in second


async def test_a_spell_has_its_dice_at_each_slot():
    text = "A target takes 8d6 fire damage. The damage increases by 1d6 for each slot level above 3rd."
    fireball = make("f", text, type="spells", name="Fire", level=3)
    assert [(each.level, str(each.dice)) for each in by_slot(fireball)][:2] == [(3, "8d6"), (4, "9d6")]
    assert len(by_slot(fireball)) == 7
    assert by_slot(make("g", "It takes 8d6 fire damage.", type="spells", level=3)) == ()
    for dice in ("0d6", "d0"):
        grows = f"It takes 8d6 fire damage, which increases by {dice} for each slot level above 3rd."
        assert by_slot(make("h", grows, type="spells", level=3)) == ()


async def test_a_fight_takes_no_more_than_it_shows_however_many_are_asked_for():
    crab = make("ruin-crab", type="creatures", name="Ruin Crab")
    names = [name for name, _ in combatants([(10**15, crab), (10**15, crab)])]
    assert names == [f"Ruin Crab {number}" for number in range(1, MOST + 1)]


async def test_a_dossier_keeps_the_shape_of_tables_and_lists():
    text = (
        "# Who\n\n## Kit\n\n| Name | Role |\n|---|---|\n| Ulder | Commander |\n\n- A rope. It is long.\n- Two torches\n\n"
        "He is away. He is old.\n\nHe left.\n"
    )
    note = note_entity(read_note("Who.md", text), "v", "V", 0, lambda _: None)
    (kit,) = (part for part in spans(note) if part.sentences)
    found = [(block.shape, block.rows) for block in blocks(kit.sentences)]
    assert found == [
        ("table", [["Name", "Role"], ["Ulder", "Commander"]]),
        ("list", [["-", "A rope. It is long."], ["-", "Two torches"]]),
        ("text", [["He is away."], ["He is old."]]),
        ("text", [["He left."]]),
    ]
    (facts, sentence) = blocks(("Armor Class: 18 (chain mail)", "character", "He came: late, and tired."))
    assert (facts.shape, facts.rows) == ("facts", [["Armor Class: 18 (chain mail)"], ["character"]])
    assert (sentence.shape, [list(row) for row in sentence.rows]) == ("text", [["He came: late, and tired."]])
    secret = note_entity(
        read_note("Who.md", "# Who\n\n## Plan\n\n> [!secret]\n> - One.\n> - Two.\n"),
        "v",
        "V",
        0,
        lambda _: None,
    )
    (plan,) = (part for part in spans(secret) if part.mark)
    assert [(block.shape, block.rows) for block in blocks(plan.sentences)] == [("list", [["-", "One."], ["-", "Two."]])]
    several = linked("2 more have the same name: Hart <b> (lore://notes/v/hart.md), Briar (lore://notes/v/b.md).")
    assert '<a href="/topics?q=lore%3A%2F%2Fnotes%2Fv%2Fhart.md">Hart &lt;b&gt;</a>' in several


async def test_a_list_of_one_type_is_a_table_and_any_other_has_what_was_found(client):
    cells = {
        "type:creature": r'<span class="cell armor_class figure" dir="auto"><i>AC </i>\d+',
        "type:spell": r'<span class="cell school" dir="auto">\w+',
    }
    for text, cell in cells.items():
        table = (await client.get("/", params={"q": text})).text
        assert 'class="list table' in table, text
        assert re.search(cell, table), text
        assert re.search(r'<span class="cell \w+"><a href="[^"]+order%3A', table), text
    for text in ("fire", "type:spell fire"):
        assert 'class="list lines' in (await client.get("/", params={"q": text})).text, text


async def test_the_filters_count_what_is_in_the_list(client):
    for text in ("fire", "fire type:spell", "dragon type:creature"):
        total = (await client.get("/search.json", params={"q": text})).json()["total"]
        chips = (await client.get("/", params={"q": text})).text.partition('class="chips"')[2]
        counts = re.findall(r"<small>(\d+)</small>", chips)
        assert counts, text
        assert max(map(int, counts)) <= total, text


async def test_a_mistyped_address_names_the_entries_that_may_be_meant(client, library):
    (known, *_) = await library.cache.get_entities("spells", limit=1)
    for path in (
        f"spells/{known.document}/{known.slug[:-1]}",
        f"spell/none/{known.slug}",
        f"spells/none/{known.slug}x",
    ):
        page = await client.get(f"/entries/{path}")
        assert page.status_code == 404
        assert f'{known.slug}">{known.name}</a>' in page.text, path
    assert "Nearest names" not in (await client.get("/entries/spells/none/qqqqqqqq")).text


async def test_an_empty_box_brings_the_start_page(client):
    headers = {"hx-request": "true", "hx-target": "results", "hx-trigger": "q"}
    page = await client.get("/?q=", headers=headers)
    assert (page.headers["hx-retarget"], page.headers["hx-reselect"]) == ("#main", "#main")
    assert page.headers["hx-replace-url"] == "/"
    assert 'class="home' in page.text


HEROINE: dict[str, Any] = {
    "name": "Tilda",
    "hero": True,
    "path": "",
    "initiative": 18,
    "now": 9,
    "most": "20",
    "states": [],
}
VANE: dict[str, Any] = {
    "name": "Vane",
    "path": "/entries/x",
    "hidden": True,
    "initiative": 15,
    "now": 30,
    "most": "30",
    "kind": "Assassin",
}
WOLF: dict[str, Any] = {
    "name": "Wolf",
    "path": "/entries/w",
    "initiative": 9,
    "now": 11,
    "states": [{"name": "prone"}],
    "uses": [],
}
AMBUSH: dict[str, Any] = {
    "shown": True,
    "round": 2,
    "fighting": [HEROINE, VANE, WOLF],
    "log": [
        {"text": "Round 2 · Vane's turn", "open": True},
        {"text": "Round 2 · Wolf takes 3", "open": True},
        {"text": "Round 1 · Wolf has 11", "open": False},
    ],
    "before": ['{"fighting": [{"name": "Vane"}]}'],
}
"""A fight in its second round, with somebody whom players do not see between two whom they do."""


async def test_players_see_the_fight_without_whom_it_hides_until_he_is_revealed(tmp_path):
    async with adding(tmp_path) as (master, library):
        library.party = PartyFile(tmp_path / "party")

        async def fought(**changed: object) -> None:
            tag = (await master.get("/fight/kept")).headers["etag"]
            answer = await master.put("/fight/kept", json={**AMBUSH, **changed}, headers={**OWN, "if-match": tag})
            assert answer.status_code == 200

        async def seen() -> tuple[str, Any]:
            paths = (
                "/",
                "/fight",
                "/fight/table",
                "/fight/table.json",
                "/fight/kept",
                "/fight?monsters=vane",
                "/party",
            )
            pages = [await player.get(path) for path in paths]
            assert {page.status_code for page in pages} == {200}
            return " ".join(page.text for page in pages if "monsters" not in str(page.url)), pages[3].json()

        async with gateway(library, viewer=Viewer.player("Ana")) as player:
            await fought(shown=False)
            assert (await seen())[1] is None
            assert "Tilda" not in (await seen())[0]
            # what players see is what they would see of a fight without him, whose turn it ever is
            others = [HEROINE, WOLF]
            for round_, turn, alone in (1, 0, (1, 0)), (1, 1, (1, 0)), (1, 2, (1, 1)), (2, 1, (2, 0)):
                await fought(turn=turn, round=round_)
                text, hidden = await seen()
                assert "Vane" not in text
                assert "Assassin" not in text
                assert "Wolf" in text
                await fought(fighting=others, turn=alone[1], round=alone[0], log=AMBUSH["log"][1:])
                assert (await seen())[1] == hidden
            await fought(fighting=[VANE, *others], turn=0)  # the wolf, who was the last to act, acts still
            assert [(each["name"], each["current"]) for each in (await seen())[1]["fighting"]][-1] == ("Wolf", True)
            assert (await seen())[1]["round"] == 1
            assert (await seen())[1]["log"] == ["Round 2 · Wolf takes 3"]
            assert all("30" not in str(each) for each in (await seen())[1]["fighting"])
            await fought(fighting=[HEROINE, {**VANE, "hidden": False}, WOLF])
            assert "Vane" in (await seen())[0]
            assert (await player.put("/fight/kept", json={}, headers=OWN)).status_code == 412
        assert (await master.get("/fight/kept")).json()["round"] == 2
