"""Pages of entries: the entry, what it names, its versions, what is like it, and its JSON twin."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from html import unescape

import httpx
import pytest

from lorekeeper.audience import Viewer
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.normalize.notes import SOURCE
from lorekeeper.spell_lists import MOST_NAMED
from tests.support.campaign import campaign
from tests.support.entities import make
from tests.support.gateway import gateway
from tests.support.libraries import sample_library
from tests.support.samples import ATLAS
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOUND = "/entries/creatures/tidewatch-atlas/brine-hound"

TRAITS = [
    {"name": "Drown", "desc": "It casts Soft Landing. The target is becalmed, ragged, *salt warden* or *ash storm*."},
    {
        "name": "Spells",
        "desc": "- At will: tide lance, brine hound, soft landing\n- 1/day: ember whisper, unknown word",
    },
]

FURTHER = [
    make("siren", type="creatures", document=ATLAS, name="Siren", data={"name": "Siren", "traits": TRAITS}),
    make("drudge", type="creatures", document="homebrew", name="Drudge", desc="It is becalmed and ragged."),
    make("ragged", type="rules", kind="condition", document="other-game", name="Ragged", desc="Torn."),
    make(
        "tidecaller-2", type="character_options", kind="class", document="other-game", name="Tidecaller", desc="Else."
    ),
    make("storm-2", type="character_options", kind="subclass", document="other-game", name="Gale", parent="tidecaller"),
    make("a/b c?.md", document=ATLAS, name="Slashes <b>", desc="Nothing."),
]


@pytest.fixture(scope="module")
async def library(tmp_path_factory) -> AsyncIterator[Library]:
    async with sample_library(tmp_path_factory.mktemp("entries"), backend="sqlite") as opened:
        await opened.cache.store_entities(campaign(), "notes")
        for entity in FURTHER:
            await opened.cache.store_entities([entity], entity.type)
        kept = [make(name.lower(), type="creatures", document="fens", name=name, audience=("dm",)) for name in SECRET]
        await opened.cache.store_entities([replace(each, source_api=SOURCE) for each in kept], "creatures")
        record = make("other-game", type="documents", document="other-game", name="Another Game", game_system="a5e")
        await opened.cache.store_entities([record], "documents")
        yield opened


SECRET = ["Brine Hound", "Salt Warden"]
"""Names of creatures of the vault that players do not see; one is that of a creature of a book."""


@pytest.fixture(scope="module")
async def player(library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library, Viewer.player()) as connected:
        yield connected


@pytest.fixture(scope="module")
async def client(library) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway(library) as connected:
        yield connected


def article_of(page: str) -> str:
    """The entry itself, without what is around it."""
    return re.search(r"<article.*?</article>", page, re.DOTALL)[0]  # type: ignore[index]


async def test_an_entry_has_its_page_its_source_and_its_twin(client):
    page = (await client.get(HOUND)).text
    assert '<h1 dir="auto">Brine Hound</h1>' in page
    assert "Challenge" in page
    assert "The Tidewatch Atlas" in page
    assert "Gull and Anchor" in page
    assert "CC-BY-4.0" in page
    twin = (await client.get(f"{HOUND}.json")).json()
    assert (twin["name"], twin["uri"]) == ("Brine Hound", "lore://creatures/tidewatch-atlas/brine-hound")


@each_row("path", ["/entries/spells/none/none", "/entries/nothing/a/b", "/alike?uri=lore://spells/a/b"])
async def test_what_there_is_not_says_so(client, path):
    response = await client.get(path)
    assert response.status_code == 404
    assert 'role="alert"' in response.text


async def test_names_lead_to_the_entries_of_the_same_book_first_and_each_once(client):
    article = article_of((await client.get("/entries/creatures/tidewatch-atlas/siren")).text)
    links = re.findall(r'<a href="(/entries/[^"]+)">([^<]+)</a>', article)
    assert links == [
        ("/entries/spells/tidewatch-atlas/soft-landing", "Soft Landing"),
        ("/entries/rules/tidewatch-atlas/becalmed", "becalmed"),
        ("/entries/creatures/fens/salt%20warden", "salt warden"),
        ("/entries/spells/ember-almanac/ash-storm", "ash storm"),
        ("/entries/spells/tidewatch-atlas/tide-lance", "tide lance"),
        ("/entries/spells/ember-almanac/ember-whisper", "ember whisper"),
    ]
    for path, _ in links:
        assert (await client.get(path)).status_code == 200


async def test_two_versions_are_compared_with_their_differences_marked(client):
    other = "lore://spells/ember-almanac/soft-landing"
    page = (await client.get("/entries/spells/tidewatch-atlas/soft-landing", params={"beside": other})).text
    marks = re.findall(r"<mark>([^<]*)</mark>", page)
    assert marks[:2] == ["1", "2"]  # the levels
    assert not {"Casting", "Time"} & set(marks)
    assert page.count("Soft Landing") >= 1
    assert 'href="/entries/spells/ember-almanac/soft-landing"' in page


@each_row(
    ("other", "status"),
    [
        ("lore://creatures/tidewatch-atlas/brine-hound", 400),
        ("lore://spells/tidewatch-atlas/soft-landing", 400),
        ("lore://spells/none/none", 404),
        ("x", 404),
    ],
)
async def test_what_cannot_be_compared_is_refused(client, other, status):
    response = await client.get("/entries/spells/tidewatch-atlas/soft-landing", params={"beside": other})
    assert response.status_code == status


async def test_a_class_has_its_spells_and_the_subclasses_of_other_books(client):
    page = (await client.get("/entries/character_options/tidewatch-atlas/tidecaller")).text
    assert "Oath of the Storm" in article_of(page)
    assert "/entries/character_options/other-game/storm-2" in page
    assert "spells of this class" not in page


async def test_a_list_of_spells_has_those_of_which_little_is_known(library, client):
    await library.cache.store_entities([replace(make("Hum"), fields={"classes": ("warden",)})], "spells")
    page = await client.get("/spells/warden")
    assert page.status_code == 200
    assert "Hum" in page.text


async def test_a_list_of_a_subclass_names_spells_of_no_book_and_is_never_endless(library, client):
    names = "".join(f", hum {number}" for number in range(2 * MOST_NAMED))
    desc = f"| Wizard Level | Spells |\n|---|---|\n| 3rd | tide lance{names} |"
    hoard = make("hoard", type="character_options", kind="subclass", name="Hoard", parent="wizard", desc=desc)
    await library.cache.store_entities([hoard], "character_options")
    page = await client.get("/spells/hoard")
    assert page.status_code == 200
    assert "tide-lance" in page.text
    assert page.text.count("in no book of this library") == MOST_NAMED - 1


async def test_what_is_like_it_is_a_part_or_a_page(client):
    path = "/alike?uri=lore://creatures/tidewatch-atlas/brine-hound"
    whole = (await client.get(path)).text
    part = (await client.get(path, headers={"hx-request": "true"})).text
    assert "<html" in whole
    assert "<html" not in part
    assert "/entries/creatures/" in part
    assert "Brine Hound" not in part
    page = (await client.get(HOUND)).text
    assert f'hx-get="{path}"' in unescape(page).replace("%3A", ":").replace("%2F", "/")


async def test_a_note_has_its_links(client):
    page = (await client.get("/entries/notes/fens/World%2FFens%2FOda.md")).text
    assert "Oda Reedmother" in page
    assert re.search(r'href="/entries/notes/fens/World%2FTallow%20Bridge.md"', page)


async def test_a_sheet_has_cards_and_blocks_without_what_is_around_them(client):
    uris = ["lore://spells/tidewatch-atlas/tide-lance", "lore://creatures/tidewatch-atlas/siren"]
    page = (await client.get("/print", params={"uri": [*uris, uris[0]]})).text
    assert re.findall(r'<article class="entry ([^"]+)" data-uri="([^"]+)"', page) == [
        ("spells card", uris[0]),
        ("creatures block short", uris[1]),
    ]
    assert "hx-get" not in page
    assert page.count("Gull and Anchor") == 2


async def test_a_sheet_of_a_search_has_what_it_finds(client):
    page = (await client.get("/print", params={"q": "goblin"})).text
    twin = (await client.get("/search.json", params={"q": "goblin"})).json()
    printed = re.findall(r'data-uri="([^"]+)"', page)
    assert printed
    assert {result["uri"] for result in twin["results"][: len(printed)]} == set(printed)
    only = (await client.get("/print", params={"q": "type:spell level:1"})).text
    assert set(re.findall(r'<article class="entry (\w+)', only)) == {"spells"}


@each_row(("query", "status"), [("", 400), ("q=%20", 400), ("uri=x", 404), ("uri=x&" * 30, 400)])
async def test_a_sheet_of_nothing_or_too_much_is_refused(client, query, status):
    response = await client.get(f"/print?{query}")
    assert response.status_code == status
    assert 'role="alert"' in response.text


async def test_no_page_of_a_player_knows_of_what_is_kept_from_players(client, player):
    siren, alike = "/entries/creatures/tidewatch-atlas/siren", "/alike?uri=lore://creatures/tidewatch-atlas/siren"
    for path in (HOUND, siren, alike):
        assert "/entries/creatures/fens/" in (await client.get(path)).text
        seen = await player.get(path)
        assert seen.status_code == 200
        assert "/entries/creatures/fens/" not in seen.text
    secret = "lore://creatures/fens/salt%20warden"
    for path in ("/entries/creatures/fens/salt%20warden", f"/print?uri={secret}", f"{siren}?beside={secret}"):
        assert (await client.get(path)).status_code == 200
        refused = await player.get(path)
        assert refused.status_code == 404, refused.text


# --- the party -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def party(library) -> str:
    """The uri of a character of Ana's; another one is shared with all."""
    spells = [{"name": "Tide Lance", "level": 2, "prepared": True}, {"name": "Unwritten", "level": 1, "prepared": True}]
    hers = {"name": "Ilsabet <Varn>", "player": "Ana", "class_levels": [{"name": "Wizard", "level": 6}], "armor_class": 12,
            "hit_points": 32, "hit_points_now": 14, "darkvision": 60, "speed_walk": 30, "languages": ["Elvish"],
            "ability_scores": {"intelligence": 18, "wisdom": 10}, "conditions": ["poisoned"], "spells": spells}  # fmt: skip
    open_to_all = {
        "name": "Orsik",
        "class_levels": [{"name": "Fighter", "level": 2}],
        "audience": "players",
        "hit_points": 20,
    }
    outline = {"name": "[Name]", "class_levels": [{"name": "Rogue", "level": 1}]}
    all_three = (hers, open_to_all, outline)
    made = [normalize({"collection": "characters", "kind": "character", **each})[0] for each in all_three]
    await library.cache.store_entities(made, "characters")
    return made[0].uri


async def test_the_party_is_a_table_of_the_characters_that_one_sees(client, player, party):
    page = (await client.get("/party")).text
    rows = [
        re.sub(r"<[^>]+>|\s+", " ", row).split()
        for row in re.findall(r"<tr>\s*<th scope=\"row\".*?</tr>", page, re.DOTALL)
    ]
    texts = [" ".join(row) for row in rows]
    assert texts == [
        "Ilsabet &lt;Varn&gt; wizard 6 · Ana 30 ft. · darkvision 60 ft. · Elvish poisoned 12 14 /32 +7 +3",
        "Orsik fighter 2 20 /20",
    ]
    seen = (await player.get("/party")).text
    assert "Orsik" in seen
    assert "Ilsabet" not in seen


async def test_a_fight_begins_with_the_party_of_the_campaign_that_was_played_last(client, library, party):
    async def fighting() -> list[str]:
        return re.findall(r'data-name="([^"]+)"', (await client.get("/fight", params={"party": 1})).text)

    assert await fighting() == ["Ilsabet &lt;Varn&gt;", "Orsik"]
    classes = [{"name": "Bard", "level": 1}]
    hero = {"name": "Quill", "class_levels": classes, "hit_points": 9}
    made = replace(normalize({"collection": "characters", "kind": "character", **hero})[0], document="marsh")
    played = make("first", "They met.", type="notes", kind="session", document=made.document, session_date=4e9)
    await library.cache.store_entities([made], "characters")
    await library.cache.store_entities([played], "notes")
    try:
        assert await fighting() == ["Quill"]
        assert "Of the players only Ana" in (await client.get(f"/entries/{party.removeprefix('lore://')}")).text
    finally:
        await library.cache.delete_entities("characters", [(made.document, made.slug)])
        await library.cache.delete_entities("notes", [(played.document, played.slug)])


async def test_the_spells_of_a_character_are_cards(client, player, party):
    page = (await client.get("/print", params={"spells": party})).text
    assert re.findall(r'data-uri="([^"]+)"', page) == ["lore://spells/tidewatch-atlas/tide-lance"]
    assert (await player.get("/print", params={"spells": party})).status_code == 404
    none = await client.get("/print", params={"spells": "lore://characters/homebrew/orsik"})
    assert none.status_code == 404
    assert "no spell of this character" in none.text


async def test_the_sheet_of_a_character_links_what_it_names(client, party):
    page = (await client.get(f"/entries/{party.removeprefix('lore://')}")).text
    assert '<a href="/entries/spells/tidewatch-atlas/tide-lance"' in page
    assert "SLUG" not in page
    assert 'href="/party"' in page
    assert "Spell cards" in page
