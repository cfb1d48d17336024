"""The page to search on, in a real browser: typing, the keyboard, the history, narrow and dark screens, and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support.browser import PHONE, Watched, focused, to, watched
from tests.support.libraries import table_folder
from tests.support.serving import SERVE, http_server

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OGRE = "lore://creatures/srd-2014/ogre"


@pytest.fixture
def page(window: Callable[..., Watched]) -> Page:
    return window().page


def names(page: Page) -> list[str]:
    return page.locator(".hits .name").all_inner_texts()


def found(page: Page, name: str) -> None:
    """Wait until a result has that name."""
    page.locator(".hits .name").get_by_text(name, exact=True).first.wait_for()


def opened(page: Page, name: str) -> None:
    """Wait until the entry beside the list has that name."""
    page.locator("#reading article").get_by_text(name).first.wait_for()


def chosen(page: Page, name: str) -> None:
    """Wait until the entry of that name is open because somebody opened it, not because it is the first result."""
    page.locator("#reading > article h1").get_by_text(name, exact=True).wait_for()


def closed(page: Page) -> None:
    """Wait until no entry is beside the list."""
    page.locator("#reading > article").wait_for(state="detached")
    page.wait_for_load_state()


def query(page: Page) -> str:
    return str(page.evaluate("new URL(location.href).searchParams.get('q') ?? ''"))


def settled(page: Page) -> None:
    """Wait until the results are those of what is in the box, with what meaning adds to them."""
    page.wait_for_function(
        """() => document.querySelector("#q").value === (new URL(location.href).searchParams.get("q") ?? "")
          && document.querySelector("#results").getAttribute("aria-busy") === "false"
          && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling")"""
    )


def test_results_follow_every_key_and_the_address_has_the_search(page):
    page.goto("/")
    assert names(page) == []
    box = page.get_by_role("searchbox")
    seen = []
    for word in ("fireb", "all", " lightning"):
        box.press_sequentially(word)
        settled(page)
        assert query(page) == box.input_value()
        seen.append(names(page))
    assert "Fireball" in seen[0]  # before the word is whole
    assert seen[1][0] == "Fireball"
    assert seen[2] != seen[1]
    assert page.locator(".hits mark").count()
    page.reload()
    assert box.input_value() == "fireball lightning"
    assert names(page) == seen[2]


def test_a_facet_narrows_the_search_by_what_it_writes_into_the_box(page):
    page.goto("/?q=fire")
    everything = page.locator("#results .count").inner_text()
    facet(page, "Type", "spells").click()
    page.wait_for_url("**spell*")
    settled(page)
    assert "fire" in page.get_by_role("searchbox").input_value()
    assert "spell" in page.get_by_role("searchbox").input_value()
    assert page.locator("#results .count").inner_text() != everything
    uris = page.locator(".hits a[data-uri]").evaluate_all("links => links.map((it) => it.dataset.uri)")
    assert uris
    assert all(uri.startswith("lore://spells/") for uri in uris)
    facet(page, "Level", "3").click()
    page.wait_for_url("**level*")
    settled(page)
    page.locator("#facets .choices:popover-open").wait_for()  # for another one
    page.keyboard.press("Escape")
    for test in ("level:3", "spell"):
        page.get_by_title("Remove").filter(has_text=test).first.click()
        page.wait_for_function("test => !document.querySelector('#q').value.includes(test)", arg=test)
        settled(page)
    assert page.locator("#results .count").inner_text() == everything


def facet(page: Page, chip: str, label: str) -> Locator:
    """The value of a facet by its label, once its chip has shown it."""
    page.locator("#facets").get_by_role("button", name=chip, exact=True).click()
    return page.locator("#facets .choices:popover-open a").filter(has=page.get_by_text(label, exact=True)).first


def test_facets_follow_what_is_typed(page):
    page.goto("/")
    assert page.locator("#facets .chip").count() == 0
    page.get_by_role("searchbox").press_sequentially("type:creature dragon")
    settled(page)
    page.locator("#facets").get_by_role("button", name="CR").wait_for()
    page.locator("#facets").get_by_role("button", name="+ Filter").click()
    page.get_by_label("speed fly from").select_option("60")
    page.locator("#facet-others form", has=page.get_by_label("speed fly from")).get_by_role(
        "button", name="Set"
    ).click()
    page.wait_for_url(re.compile("speed_fly"))
    settled(page)


def test_a_list_grows_at_its_end_and_cuts_no_figure(window):
    for width, height in ((1440, 900), (1024, 768), (768, 1024), (390, 844)):
        page = window(viewport={"width": width, "height": height}).page
        page.goto("/?q=type:creature")
        cut = page.evaluate("""() => [...document.querySelectorAll(".hits .figure")]
            .filter((it) => it.checkVisibility() && it.scrollWidth > it.clientWidth + 1).map((it) => it.textContent)""")
        assert cut == [], width
        first = page.locator(".hits a").first.bounding_box()
        assert first is not None
        if width == 1440:
            assert first["y"] + 22 * first["height"] <= height  # as many are visible
    page.goto("/?q=type:spell,creature,equipment,rule")
    rows = page.locator(".hits a[data-uri]")
    before = rows.count()
    page.locator("#more").scroll_into_view_if_needed()
    page.wait_for_function("before => document.querySelectorAll('.hits a[data-uri]').length > before", arg=before)


def test_the_keyboard_is_enough(page):
    page.goto("/books")
    page.keyboard.press("/")
    page.wait_for_url("**/")
    page.wait_for_function("() => document.activeElement.id === 'q'")
    page.keyboard.type("ogre")
    settled(page)
    page.keyboard.press("ArrowDown")
    first, second = page.locator(".hits a").nth(0), page.locator(".hits a").nth(1)
    assert first.evaluate("it => it === document.activeElement")
    page.keyboard.press("ArrowDown")
    assert second.evaluate("it => it === document.activeElement")
    name = second.locator(".name").inner_text()
    page.keyboard.press("Enter")
    opened(page, name)
    assert second.get_attribute("aria-current") == "true"
    page.keyboard.press("Escape")
    assert second.evaluate("it => it === document.activeElement")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "q"
    assert query(page) == "ogre"
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelector('#q').value === ''")
    page.keyboard.press("ArrowUp")
    page.get_by_role("searchbox").blur()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"


def test_enter_in_the_box_opens_the_best_result(page):
    page.goto("/")
    page.locator("#q:focus").wait_for()
    page.keyboard.type("magic missile")
    settled(page)
    page.keyboard.press("Enter")
    opened(page, "Magic Missile")


def test_back_and_forward_go_through_what_was_open(page):
    page.goto("/?q=dragon")
    shown = names(page)
    texts = []
    for place in (0, 1):
        page.locator(".hits a").nth(place).click()
        chosen(page, shown[place])
        texts.append(page.locator("#reading article").inner_text())
    assert texts[0] != texts[1]
    page.go_back()
    chosen(page, shown[0])
    assert page.locator("#reading article").inner_text() == texts[0]
    assert page.locator(".hits a[aria-current] .name").all_inner_texts() == [shown[0]]
    page.go_back()
    closed(page)
    assert names(page) == shown
    page.go_forward()
    chosen(page, shown[0])
    page.go_forward()
    chosen(page, shown[1])


def test_of_several_clicks_the_last_is_one_step_of_the_history(page):
    page.goto("/?q=dragon")
    page.wait_for_function("() => window.htmx")
    late: list[Route] = []
    page.route("**/?q=dragon&open=*", lambda route: route.fallback() if late else late.append(route))
    page.route("**&ahead=1", lambda route: route.fulfill(status=204))
    first, second = page.locator(".hits a").nth(0), page.locator(".hits a").nth(1)
    first.click()
    second.dblclick()
    chosen(page, second.locator(".name").inner_text())
    with page.expect_event("requestfinished", lambda request: request.url == late[0].request.url):
        late[0].continue_()
    page.go_back()
    closed(page)
    assert query(page) == "dragon"


def test_what_the_pointer_rests_on_is_there_at_the_click_unless_it_has_changed(page):
    page.goto("/?q=dragon")
    page.wait_for_function("() => window.htmx")
    late: list[Route] = []
    for place, now in ((2, "Wyrm"), (3, "")):
        row = page.locator(".hits a").nth(place)
        name = row.locator(".name").inner_text()
        with page.expect_response("**&ahead=1"):
            row.hover()
        page.route("**/?q=dragon&open=*", lambda route: late.append(route))
        kept = page.evaluate("Object.values(localStorage).join()")
        row.click()
        chosen(page, name)
        read = page.evaluate("Object.values(localStorage).join()")
        assert (name in kept, name in read) == (False, True)
        answer = late[-1].fetch()
        tag = "changed" if now else answer.headers["etag"]
        late[-1].fulfill(body=answer.text().replace(name, now or name), headers=answer.headers | {"etag": tag})
        chosen(page, now or name)
        page.unroute("**/?q=dragon&open=*")
    page.go_back()
    page.go_back()
    closed(page)


def test_on_a_phone_the_entry_covers_the_list(window):
    page = window(**PHONE).page
    page.goto("/?q=ogre")
    page.locator(".hits a").first.tap()
    opened(page, "Ogre")
    assert page.locator(".hits").is_hidden()
    page.get_by_role("link", name=re.compile("Results")).tap()
    page.locator(".hits").wait_for()
    assert page.locator("#reading > article").count() == 0


@pytest.mark.parametrize(("scheme", "is_dark"), [("dark", True), ("light", False)])
def test_dark_and_light_follow_the_system_until_one_is_chosen(window, scheme, is_dark):
    page = window(color_scheme=scheme).page
    page.goto("/?q=ogre")
    assert dark(page) is is_dark
    page.get_by_role("button", name="Dark or light").click()
    assert dark(page) is not is_dark
    page.goto("/books")
    assert dark(page) is not is_dark


def dark(page: Page) -> bool:
    """Whether the text of the page is brighter than its ground."""
    text, ground = page.evaluate(
        "() => { const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]; }"
    )
    return brightness(text) > brightness(ground)


def brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


def test_without_scripts_everything_can_still_be_searched_and_read(window):
    page = window(java_script_enabled=False).page
    page.goto("/")
    page.get_by_role("searchbox").fill("fireball")
    page.get_by_role("searchbox").press("Enter")
    found(page, "Fireball")
    page.locator(".hits a").first.click()
    opened(page, "Fireball")
    assert page.get_by_role("button", name="Dark or light").count() == 0
    page.get_by_role("link", name="Shelf").click()
    page.get_by_role("heading", name="Shelf").wait_for()


# --- reading ---------------------------------------------------------------------------------------------------------


def test_what_is_pinned_survives_a_reload_and_is_taken_into_a_fight(page):
    page.goto("/?q=type:creature")
    page.locator("#q:focus").wait_for()
    page.keyboard.press("ArrowDown")
    tray, shown = page.get_by_role("navigation", name="Pinned"), names(page)
    for key in "JJKK":  # the last one takes the second back
        page.keyboard.press(key)
    assert tray.get_by_role("link").all_inner_texts()[:2] == [shown[0], shown[2]]
    for key in ("p", "ArrowDown", "ArrowDown", "p"):
        page.keyboard.press(key)
    assert not tray.is_visible()
    page.goto("/?q=ogre")
    opened(page, "Ogre")
    page.get_by_role("searchbox").blur()
    page.keyboard.press("p")
    page.reload()
    assert tray.get_by_role("link").all_inner_texts() == ["Ogre", "Fight", "Print"]
    tray.get_by_role("link", name="Fight").click()
    page.wait_for_url("**/fight?uri=*")
    page.locator("#turn h1").get_by_text("Ogre").wait_for()
    before = int(combatants(page)["Ogre"])
    page.get_by_label("Damage or healing of Ogre").fill("5")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Next turn").click()
    page.reload()
    page.locator("#round").get_by_text("Round 2").wait_for()
    assert int(combatants(page)["Ogre"]) == before - 5
    page.get_by_role("button", name="Unpin Ogre").click()
    assert not tray.is_visible()


def test_a_click_rolls_and_lights_the_row(page):
    page.goto(f"/entries/{OGRE.removeprefix('lore://')}")
    page.locator("article a.dice").first.click()
    rolled = page.locator("#rolled b")
    rolled.wait_for()
    assert re.fullmatch(r"-?\d+", rolled.inner_text())
    assert page.url.endswith("/ogre")


def test_a_server_that_has_ended_is_told_at_once_and_asked_again(chromium, tmp_path_factory):
    folder = table_folder(tmp_path_factory)
    with ExitStack() as stack:
        with http_server(folder) as address:
            port = urlsplit(address).port
            seen = stack.enter_context(watched(chromium, address.removesuffix("/mcp")))
            seen.expect("ERR_CONNECTION_REFUSED")
            seen.expect("console: htmx:")
            page = seen.page
            page.goto("/?q=ogre")
            opened(page, "Ogre")
            colour = "getComputedStyle(document.querySelector('#results')).color"
            lit = page.evaluate(colour)
        page.get_by_role("searchbox").fill("ogre mage")
        lost = page.get_by_role("alert").filter(has_text="LoreKeeper does not answer")
        lost.wait_for()
        assert page.evaluate(colour) != lit
        assert page.locator("#results").get_attribute("aria-busy") == "false"
        assert port
        stack.enter_context(http_server(folder, SERVE, port))
        lost.get_by_role("button", name="Retry").click()
        lost.wait_for(state="hidden")
        settled(page)
        assert query(page) == "ogre mage"


def combatants(page: Page) -> dict[str, str]:
    """Who is in the fight, and with how many hit points."""
    page.locator("#combatants[data-loaded]").wait_for()
    rows = page.locator("#combatants > li")
    rows.first.wait_for()
    return {row.locator(".who > :is(a, strong)").inner_text(): row.locator(".now").inner_text() for row in rows.all()}


def begin(page: Page, monsters: str) -> None:
    """A fight of these alone, whatever was fought before."""
    page.goto(f"/fight?monsters={monsters}")
    page.locator("#combatants[data-loaded]").wait_for()
    anew = page.get_by_role("button", name="Begin a new fight")
    if anew.is_visible():
        anew.click()
    combatants(page)


def test_a_fight_is_one_on_every_device_until_it_ends(window):
    page, other = window().page, window().page
    page.on("dialog", lambda dialog: dialog.accept())
    begin(page, "2+ogres")
    page.get_by_label("Character").fill("Tilda")
    page.locator("#add-hero").get_by_role("button").click()
    field = page.get_by_label("Damage or healing of Ogre 1")
    field.fill("12")
    page.keyboard.press("Enter")
    page.get_by_label("Monsters").fill("1 ogre, 1 lich")
    page.locator("#add-monsters").get_by_role("button", name="Add", exact=True).click()
    page.locator("#combatants").get_by_text("Ogre 3", exact=True).wait_for()
    field.fill("3")
    page.keyboard.press("Shift+Enter")
    page.get_by_role("button", name="Undo").click()
    now = combatants(page)
    assert int(now["Ogre 2"]) - int(now["Ogre 1"]) == 12
    assert now.keys() == {"Ogre 1", "Ogre 2", "Ogre 3", "Lich", "Tilda"}
    page.get_by_label("Monsters").fill("3 xqzzv")
    page.locator("#add-monsters").get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("alert").get_by_text("xqzzv").wait_for()
    other.goto("/fight?monsters=1+lich")
    assert combatants(other) == now
    asks = other.get_by_role("alert").filter(has_text="A fight is running already")
    asks.get_by_role("button", name="Begin a new fight").click()
    page.locator("#combatants").get_by_text("Ogre 3", exact=True).wait_for(state="detached")
    assert combatants(page).keys() == {"Lich"}
    page.get_by_role("button", name="End", exact=True).click()
    page.get_by_text("No one is fighting yet").wait_for()


def test_a_fight_is_run_by_keys_alone(page):
    keys = page.keyboard
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto("/fight?monsters=2+ogres")
    page.locator("#combatants[data-loaded]").wait_for(state="attached")
    if page.get_by_role("button", name="Begin a new fight").is_visible():
        to(page, "Begin a new fight")
        keys.press("Enter")
    page.locator("#combatants").get_by_text("Ogre 2", exact=True).wait_for()
    keys.type("1 ogre")
    keys.press("Enter")
    page.locator("#combatants").get_by_text("Ogre 3", exact=True).wait_for()
    to(page, "Add the party")
    keys.press("i")
    keys.press("n")
    to(page, "Damage or healing of Ogre 2")
    for text, ends in ("12", "Enter"), ("3", "Shift+Enter"):
        keys.type(text)
        keys.press(ends)
    page.locator("#log").get_by_text("Ogre 2 regains 3").wait_for()
    to(page, "More of Ogre 2")
    keys.press("Enter")
    to(page, "Condition")
    keys.type("prone")
    to(page, "Set")
    keys.press("Enter")
    page.get_by_role("button", name="Ogre 2 is no longer prone").wait_for()
    assert focused(page) == "More of Ogre 2"
    now = combatants(page)
    assert int(now["Ogre 1"]) - int(now["Ogre 2"]) == 9
    to(page, "Undo the last change")
    keys.press("Enter")
    keys.press("Enter")
    page.get_by_role("button", name="Ogre 2 is no longer prone").wait_for(state="detached")
    now = combatants(page)
    assert int(now["Ogre 1"]) - int(now["Ogre 2"]) == 12
    to(page, "End")
    keys.press("Enter")
    page.get_by_text("No one is fighting yet").wait_for()


def test_a_large_fight_is_kept_with_what_undoes_its_last_changes(page):
    begin(page, "59+liches")
    for key in "iniin":
        page.keyboard.press(key)
    page.keyboard.type("2 wolves")
    page.keyboard.press("Enter")
    page.get_by_text("Wolf 2", exact=True).wait_for()
    page.get_by_label("Damage or healing of Lich 7", exact=True).fill("30")
    page.keyboard.press("Enter")
    page.locator("#log").get_by_text("Lich 7 takes 30").wait_for()
    with page.expect_response(lambda answer: answer.request.method == "PUT") as kept:
        page.get_by_role("button", name="Undo").click()
    assert kept.value.ok
    page.reload()
    now = combatants(page)
    assert len(now) == 61
    assert now["Lich 7"] == now["Lich 59"]
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Wolf 2", exact=True).wait_for(state="detached")
    assert len(combatants(page)) == 59


def test_the_stat_block_is_of_whose_turn_it_is_however_late_it_comes(page):
    page.route("**/entries/**/lich", lambda _: None)
    begin(page, "1+lich&monsters=1+ogre")
    page.keyboard.press("n")
    block = page.locator("#turn h1")
    block.get_by_text("Ogre").wait_for(timeout=60_000)
    page.keyboard.press("n")
    assert not block.count()


def test_a_turn_brings_what_the_record_says(page):
    begin(page, "1+lich")
    box = page.locator("#counters").get_by_role("button", name="Legendary actions 3 of 3")
    box.click()
    assert box.get_attribute("aria-pressed") == "false"
    page.get_by_label("More of Lich").click()
    page.get_by_label("Condition").select_option("concentrating")
    page.get_by_label("Rounds").fill("1")
    page.locator("#add-state").get_by_role("button").click()
    page.get_by_label("Damage or healing of Lich").fill("30")
    page.keyboard.press("Enter")
    page.locator("#log").get_by_text("concentration DC 15").wait_for()
    page.locator("#round").click()
    page.keyboard.press("n")
    page.locator("#log").get_by_text("no longer concentrating").wait_for()
    assert box.get_attribute("aria-pressed") == "true"
    page.set_viewport_size(PHONE["viewport"])
    current = page.locator(".combatants [aria-current]")
    assert "Multiattack" in current.inner_text()
    current.get_by_role("link", name="Whole block").click()
    assert page.locator("#turn .facts").first.is_visible()
