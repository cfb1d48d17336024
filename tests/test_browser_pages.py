"""Every kind of page, in a real browser: nothing that some people cannot use, nothing wider than a phone, printed, as JSON."""

from __future__ import annotations

import io

import httpx
import pytest

from tests.support import axe
from tests.support.browser import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SRD = "srd-2014"

ENTRIES = {
    "spell": f"spells/{SRD}/fireball",
    "creature": f"creatures/{SRD}/adult-red-dragon",
    "item": f"equipment/{SRD}/flame-tongue",
    "class": f"character_options/{SRD}/wizard",
    "rule": f"rules/{SRD}/grappled",
    "note": "notes/drowned-bells/NPCs%2FMaudlin%20Fetch.md",
    "session": "notes/drowned-bells/Sessions%2FSession%201%20-%20The%20Empty%20Ferry.md",
}

PAGES = {
    "start": "/",
    "results": "/?q=fire",
    "nothing found": "/?q=zzyzx+qqq",
    **{f"{kind} beside the list": f"/?q=fire&open=lore://{path}" for kind, path in ENTRIES.items()},
    **{kind: f"/entries/{path}" for kind, path in ENTRIES.items()},
    "filtered": "/?q=type:creature+cr:5..8",
    "help with a filter": "/?q=fire+levle<=3",
    "shelf": "/books",
    "book": f"/books/{SRD}",
    "vault": "/books/drowned-bells",
    "sessions": "/sessions",
    "recent": "/recent",
    "adding an entry": "/paste",
    "importing a book": "/import",
    "topics": "/topics",
    "dossier": "/topics?q=maudlin",
    "spells of a class": "/spells/wizard",
    "party": "/party",
    "alike": f"/alike?uri=lore://{ENTRIES['spell']}",
    "side by side": f"/entries/{ENTRIES['spell']}?beside=lore://spells/{SRD}/fire-storm",
    "cards to print": f"/print?uri=lore://{ENTRIES['spell']}&uri=lore://{ENTRIES['creature']}",
}

TWINS = {
    "/?q=fire": "/search.json?q=fire",
    "/books": "/books.json",
    f"/books/{SRD}": f"/books/{SRD}.json",
    "/sessions": "/sessions.json",
    "/recent": "/recent.json",
    "/topics?q=maudlin": "/topics.json?q=maudlin",
    **{f"/entries/{path}": f"/entries/{path}.json" for path in ENTRIES.values()},
}
"""Pages, and the same as JSON."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_nothing_that_some_people_cannot_use(window, scheme):
    of_colours = ("color-contrast", "link-in-text-block")
    rules = of_colours if scheme == "dark" else ()  # other rules find the same in both schemes
    opened = window(color_scheme=scheme)
    opened.expect("404 (Not Found)")
    findings = []
    for name, path in {**PAGES, "nothing": "/nothing-here"}.items():
        opened.page.goto(path)
        findings += [f"{name}: {each}" for each in axe.findings(opened.page, *rules)]
    opened.page.goto("/")
    opened.page.locator("#q:focus").wait_for()
    opened.page.keyboard.press("?")
    opened.page.get_by_role("dialog").wait_for()
    findings += [f"help: {each}" for each in axe.findings(opened.page, *rules)]
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_entry_is_printed_without_what_is_around_it(window, kind):
    pypdf = pytest.importorskip("pypdf")
    page = window().page
    page.goto(PAGES[f"{kind} beside the list"])
    name = page.locator("#reading article h1").inner_text()
    page.locator("#reading .alike .name").first.wait_for()
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4")))
    text = " ".join(sheet.extract_text() for sheet in printed.pages)
    assert name.split()[0].casefold() in text.casefold()
    assert "Shelf" not in text
    assert "more like this" not in text.casefold()


def test_what_is_printed_is_chosen_and_no_action_is_cut(window):
    page = window().page
    page.goto(f"/print?uri=lore://creatures/{SRD}/lich&uri=lore://creatures/{SRD}/goblin&uri=lore://spells/{SRD}/light")
    page.get_by_label("Goblin").uncheck()
    page.get_by_role("button", name="Only these").click()
    page.wait_for_url(lambda url: "goblin" not in url)
    assert page.locator("article h1").all_inner_texts() == ["Light", "Lich"]
    page.emulate_media(media="print")
    parts = page.locator("article.creatures .feature + :is(ul, dl)")
    cut = parts.evaluate_all(
        """its => its.filter((it) => new Set([it.previousElementSibling, it].flatMap((part) =>
        [...part.getClientRects()].map((box) => Math.round(box.left / 100)))).size > 1).length"""
    )
    assert parts.count() > 0
    assert cut == 0


PASTED = """Fen Lantern
Tiny undead, neutral
Armor Class 14
Hit Points 9 (2d4 + 4)
Speed 0 ft., fly 30 ft. (hover)
STR DEX CON INT WIS CHA
1 (-5) 18 (+4) 14 (+2) 6 (-2) 12 (+1) 11 (+0)
Challenge 1/2 (100 XP)
Glow. The lantern sheds light.
Actions
Flare. One creature takes 4 (1d4 + 2) fire damage.
"""


def test_an_entry_is_added_without_scripts_and_fights_as_those_of_books(window):
    opened = window(**PHONE, java_script_enabled=False)
    page = opened.page
    page.goto("/books")
    page.get_by_role("link", name="Add an entry").click()
    page.get_by_label("Text").fill(PASTED)
    page.get_by_role("button", name="Show what is read").click()
    assert "9 (2d4 + 4)" in page.get_by_label("What was read").inner_text()
    page.get_by_role("button", name="Store it").click()
    page.get_by_role("link", name="Fen Lantern").click()
    assert page.url.endswith("/entries/creatures/homebrew/fen-lantern")
    page = window().page
    lasts = {f"{SRD}/lich": "Turn Resistance", "srd-2024/lich": "Spirit Jar", "homebrew/fen-lantern": "Glow"}
    page.goto("/fight?" + "&".join(f"uri=lore://creatures/{path}" for path in lasts))
    for path, last in lasts.items():
        block = page.locator(f"#turn article[data-uri$='{path}']")
        block.get_by_text("Traits", exact=True).wait_for()
        assert block.get_by_text("DC 20", exact=True).count() == path.endswith("lich")
        order = [block.inner_text().find(each) for each in ("Armor Class", "\nActions\n", "\nTraits\n", last)]
        assert order == sorted(order)
        page.keyboard.press("n")


def test_pages_have_a_twin_in_json(origin):
    with httpx.Client(base_url=origin) as client:
        for page, twin in TWINS.items():
            assert client.get(page).headers["content-type"].startswith("text/html")
            answer = client.get(twin)
            assert answer.headers["content-type"].startswith("application/json"), twin
            assert answer.status_code == 200, twin
            assert answer.json()
