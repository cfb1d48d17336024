"""The application in a chat, in a real browser: its sandboxed frame, a client of the protocol around it, a real server behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.app_host import HOST, AppHost
from tests.support.browser import watched
from tests.support.libraries import shelf_folder
from tests.support.samples import ATLAS
from tests.support.service import Serving, serving

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Locator

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOUND = f"lore://creatures/{ATLAS}/brine-hound"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Serving]:
    with serving(shelf_folder(tmp_path_factory)) as running:
        yield running


@pytest.fixture
def chat(chromium, server) -> Iterator[AppHost]:
    with watched(chromium, HOST) as window, server.client() as client:
        yield AppHost(window.page, client)


def test_shows_the_article_in_a_frame_as_high_as_it_is(chat):
    frame = chat.show(HOUND)
    shown(frame, "Brine Hound").wait_for()
    chat.page.wait_for_function("document.querySelector('iframe').clientHeight > 100")
    (hello,) = chat.heard("ui/initialize")
    assert hello["appInfo"]["name"] == "lorekeeper-entry"
    assert hello["protocolVersion"] == "2026-01-26"
    root = frame.locator("html")
    assert root.evaluate("root => root.scrollHeight <= root.clientHeight")
    assert root.evaluate("root => root.scrollWidth <= root.clientWidth")


def test_links_to_entries_are_asked_for_and_others_are_opened_by_the_chat(chat):
    frame = chat.show(HOUND)
    shown(frame, "Brine Hound").wait_for()
    links = [f"/entries/spells/{ATLAS}/tide-lance", "https://books.example/tide", "/?q=tide", "javascript:alert(1)"]
    give(chat, "<article>" + "".join(f'<a href="{href}">to {href}</a> ' for href in links) + "</article>")
    frame.get_by_text(f"to {links[1]}").click()
    chat.page.wait_for_function("heard.some((each) => each.method === 'ui/open-link')")
    assert chat.heard("ui/open-link") == [{"url": links[1]}]
    assert [frame.get_by_text(f"to {href}").get_attribute("href") for href in links[2:]] == [None, None]
    frame.get_by_text(f"to {links[0]}").click()
    shown(frame, "Tide Lance").wait_for()
    assert chat.heard("tools/call") == [
        {"name": "get_entity", "arguments": {"uri": f"lore://spells/{ATLAS}/tide-lance"}}
    ]
    frame.get_by_role("button", name="Back").click()
    frame.get_by_text(f"to {links[1]}").wait_for()
    assert frame.get_by_role("button", name="Back").is_hidden()


def test_says_what_failed_and_shows_the_text_of_what_has_no_article(chat):
    frame = chat.show(HOUND)
    shown(frame, "Brine Hound").wait_for()
    give(chat, f'<article><a href="/entries/spells/{ATLAS}/gone">gone</a></article>')
    frame.get_by_text("gone").click()
    frame.get_by_text("there is no spells").wait_for()
    chat.page.evaluate(
        "tell('ui/notifications/tool-result', { content: [{ type: 'text', text: 'Only <b>text</b>' }] })"
    )
    frame.get_by_text("Only <b>text</b>").wait_for()


def test_nothing_runs_even_if_an_article_had_it(chromium, server):
    """Articles are sanitised by the server; here is one that is not."""
    with watched(chromium, HOST) as window, server.client() as client:
        chat = AppHost(window.page, client)
        frame = chat.show(HOUND)
        shown(frame, "Brine Hound").wait_for()
        window.expect("Content Security Policy")
        window.expect(" forbids ")
        hostile = (
            "<script>parent.postMessage('ran', '*')</script><img src=x onerror=\"parent.postMessage('ran', '*')\">"
        )
        give(chat, f"<article>{hostile}<p>end</p></article>")
        frame.get_by_text("end").wait_for()
        assert "ran" not in chat.page.evaluate("() => heard")
        assert window.problems


def shown(frame: FrameLocator, name: str) -> Locator:
    """Where an article says a name first."""
    return frame.locator("article").get_by_text(name).first


def give(chat: AppHost, article: str) -> None:
    """Give the frame an article, as if the server had made it."""
    result = {"content": [], "_meta": {"lorekeeper/article": article}}
    chat.page.evaluate("result => tell('ui/notifications/tool-result', result)", result)
