"""Links and forms of other sites, and the file that leads a browser to a link, in a real browser: what it sends along then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lorekeeper.cli.browser import HANDOVER
from lorekeeper.composition import people_of
from lorekeeper.people.sessions import Sessions
from tests.support.libraries import settings
from tests.support.loopback import QuietServer, running
from tests.support.service import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECONDS = 600_000
"""Longest wait, in milliseconds."""


class Elsewhere(SimpleHTTPRequestHandler):
    """Another site: a link, and a form that signs out."""

    link = form = ""

    def do_GET(self) -> None:
        page = f'<a href="{self.link}">go</a><form method="post" action="{self.form}"><button>send</button></form>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Sites:
    """A server, other sites, and the sessions of the server.

    Attributes:
        origin: of the server.
        foreign: of another site, and of the server's own site at another port.
        sessions: of the server.
    """

    origin: str
    foreign: tuple[str, str]
    sessions: Sessions


@pytest.fixture(scope="module")
def sites(tmp_path_factory) -> Iterator[Sites]:
    folder = tmp_path_factory.mktemp("sites")
    people = people_of(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db"))
    with serving(folder, CACHE_BACKEND="sqlite") as server, running(QuietServer(("127.0.0.1", 0), Elsewhere)) as near:
        Elsewhere.form = f"{server.url}/sign-out"
        far = near.replace("127.0.0.1", "localhost")
        yield Sites(server.url, (far, near), Sessions(people))


@pytest.fixture
def page(chromium, sites) -> Iterator[Page]:
    """A page of somebody who has signed in with a link."""
    context = chromium.new_context(base_url=sites.origin)
    context.set_default_timeout(SECONDS)
    opened = context.new_page()
    opened.goto(f"/sign-in?key={sites.sessions.link()}")
    assert opened.url == f"{sites.origin}/"
    yield opened
    context.close()


def test_a_link_on_another_site_leads_to_the_page_of_who_has_signed_in(page, sites):
    assert sites.foreign
    for site in sites.foreign:
        Elsewhere.link = f"{sites.origin}/books?x=1&y=2"
        page.goto(site)
        page.get_by_text("go").click()
        page.wait_for_url(f"{sites.origin}/books?x=1&y=2")
        assert page.get_by_role("button", name="Sign out").is_visible()


def test_a_form_of_another_site_signs_nobody_out(page, sites):
    for site in sites.foreign:
        page.goto(site)
        with page.expect_response(Elsewhere.form) as sent:
            page.get_by_role("button", name="send").click()
        assert sent.value.status == 403
    page.goto("/books")
    assert page.url == f"{sites.origin}/books"


def test_a_link_that_signs_in_works_from_another_site_and_from_the_file_that_leads_there(page, sites, tmp_path: Path):
    for site in sites.foreign:
        page.context.clear_cookies()
        Elsewhere.link = f"{sites.origin}/sign-in?key={sites.sessions.link()}"
        page.goto(site)
        page.get_by_text("go").click()
        page.wait_for_url(f"{sites.origin}/")
        page.get_by_role("searchbox").wait_for()
    page.context.clear_cookies()
    file = tmp_path / "open.html"
    file.write_text(HANDOVER.format(link=f"{sites.origin}/sign-in?key={sites.sessions.link()}"), "utf-8")
    page.goto(file.as_uri())
    page.wait_for_url(f"{sites.origin}/")
    page.get_by_role("searchbox").wait_for()
