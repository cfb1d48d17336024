"""Signing in on the page: tokens, one-time links, cookies and what they count for, and what other sites try."""

from __future__ import annotations

import itertools
import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from lorekeeper.composition import people_of
from lorekeeper.people.registry import People
from lorekeeper.people.sessions import Sessions
from lorekeeper.server.browsers import MAX_NEXT
from tests.support.certificates import write_certificate
from tests.support.commands import environment, run_inside
from tests.support.libraries import settings
from tests.support.samples import write_lines
from tests.support.service import Serving, message, serving
from tests.support.serving import INITIALIZE
from tests.support.tables import each_row

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Site": "none"}
OWN = {"Sec-Fetch-Site": "same-origin"}
ANSWERS = (200, 304)

NOT_VERIFIED = ssl._create_unverified_context()
"""The certificate of the tests is signed by nobody; each context takes long to make."""

FLAGS = {"httponly", "samesite=strict", "path=/"}


@dataclass
class House:
    """A server, and its library.

    Attributes:
        plain: over HTTP, with an audit log.
        people: the registry that it reads.
        sessions: the file that it reads.
        folder: of the library.
        addresses: the last numbers of the addresses of browsers.
    """

    plain: Serving
    people: People
    sessions: Sessions
    folder: Path
    addresses: Iterator[int] = field(default_factory=lambda: itertools.cycle(range(1, 255)))

    def browser(self, server: Serving | None = None) -> httpx.Client:
        """A browser that has not signed in, at an address of its own: what fails is slowed down by address."""
        server = server or self.plain
        transport = httpx.HTTPTransport(verify=NOT_VERIFIED, local_address=f"127.0.1.{next(self.addresses)}")
        return httpx.Client(base_url=server.url, headers=HTML, timeout=200, transport=transport)

    def signed_in(self, token: str = "master", server: Serving | None = None) -> httpx.Client:
        browser = self.browser(server)
        assert sign_in(browser, token).status_code == 303
        return browser

    def add(self, name: str) -> str:
        return self.people.add(name, "player")[1]

    def written(self) -> str:
        """All that the servers have written: logs, the audit log, and the files of sessions and people."""
        files = [file for file in self.folder.iterdir() if file.is_file() and file.suffix not in (".crt", ".key")]
        return "".join(file.read_text("utf-8", "replace") for file in files)

    def entries(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("door")
    people = people_of(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db"))
    done = run_inside(
        folder, "import", str(write_lines(folder / "shelf.jsonl")), env=environment(folder, CACHE_BACKEND="sqlite")
    )
    assert done.returncode == 0, done.stderr
    with serving(folder, AUDIT_LOG=str(folder / "audit.log"), RATE_LIMIT="0", CACHE_BACKEND="sqlite") as plain:
        yield House(plain, people, Sessions(people), folder)


@pytest.fixture(scope="module")
def secure(house: House) -> Iterator[Serving]:
    """Another server of the same library, behind TLS."""
    certificate, key = write_certificate(house.folder)
    with serving(
        house.folder, "--tls-cert", str(certificate), "--tls-key", str(key), CACHE_BACKEND="sqlite"
    ) as started:
        yield started


def sign_in(browser: httpx.Client, token: str, **fields: str) -> httpx.Response:
    return browser.post("/sign-in", data={"token": token, **fields}, headers=OWN)


def cookie_of(response: httpx.Response) -> tuple[str, str, set[str]]:
    """Name, value and attributes of the cookie that a response sets."""
    (header,) = response.headers.get_list("set-cookie")
    pair, *attributes = header.split("; ")
    name, _, value = pair.partition("=")
    return name, value, {each.lower() for each in attributes}


# --- with a token ------------------------------------------------------------------------------------------------------


def test_signing_in_and_out_with_a_token(house):
    browser, token = house.browser(), house.add("Ana")
    asked = browser.get("/?q=dragon")
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in?next=%2F%3Fq%3Ddragon")
    form = browser.get(asked.headers["location"])
    assert form.status_code == 200
    assert 'type="password"' in form.text
    assert 'autocomplete="current-password"' in form.text
    assert 'value="/?q=dragon"' in form.text
    done = sign_in(browser, token, next="/?q=dragon")
    assert (done.status_code, done.headers["location"]) == (303, "/?q=dragon")
    name, key, attributes = cookie_of(done)
    assert name == "lorekeeper"
    assert attributes >= FLAGS
    assert "secure" not in attributes
    page = browser.get("/?q=dragon")
    assert page.status_code == 200
    assert "Ana" in page.text
    assert "/sign-out" in page.text
    assert browser.get("/sign-in?next=/books").headers["location"] == "/books"
    out = browser.post("/sign-out", headers=OWN)
    assert out.headers["location"] == "/sign-in"
    assert out.headers["clear-site-data"] == '"cache", "storage"', "the browser would show what it has kept"
    assert "lorekeeper" not in browser.cookies
    kept = browser.get("/", headers={"Cookie": f"lorekeeper={key}"})
    assert kept.status_code == 303, "the session is over, and not the cookie only"


def test_a_wrong_token_is_told_and_slowed_down(house):
    browser = house.browser()
    for wrong in ("", "master ä", "x" * 5000):
        refused = sign_in(browser, wrong, next="/books")
        assert refused.status_code == 401
        assert 'role="alert"' in refused.text
        assert 'value="/books"' in refused.text
        assert "set-cookie" not in refused.headers
    assert refused.elapsed.total_seconds() > 0.35
    assert house.signed_in().get("/").status_code == 200


@pytest.mark.slow
def test_the_cookie_behind_tls_is_secure_and_of_this_host_only(house, secure):
    browser = house.browser(secure)
    done = sign_in(browser, "master")
    name, _, attributes = cookie_of(done)
    assert name == "__Host-lorekeeper"
    assert attributes >= FLAGS | {"secure"}
    assert not any(each.startswith("domain") for each in attributes)
    assert browser.get("/").status_code == 200
    assert "secure" in cookie_of(browser.post("/sign-out", headers=OWN))[2]
    assert browser.get("/").status_code == 303


# --- what a cookie counts for ------------------------------------------------------------------------------------------


def test_a_cookie_counts_for_pages_and_for_reading_from_the_gateway(house):
    browser = house.signed_in()
    for path in ("/", "/books", "/search.json?q=dragon", "/api/v1/list_documents", "/api/v1/openapi.json"):
        assert browser.get(path).status_code in ANSWERS, path
    for path in ("/metrics", "/mcp"):
        assert browser.get(path).status_code == 401, path
    assert browser.post("/mcp", json=message("initialize", **INITIALIZE), headers=OWN).status_code == 401
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert browser.request(method, "/api/v1/search_lore", json={"query": "x"}, headers=OWN).status_code == 401, (
            method
        )


@pytest.mark.slow
def test_a_session_holds_in_all_servers_until_one_ends_it(house, secure):
    browser = house.signed_in(server=secure)
    key = browser.cookies["__Host-lorekeeper"]
    assert house.browser().get("/", headers={"Cookie": f"lorekeeper={key}"}).status_code == 200
    assert house.browser().get("/", headers={"Cookie": f"__Host-lorekeeper={key}"}).status_code == 303
    browser.post("/sign-out", headers=OWN)
    assert house.browser().get("/", headers={"Cookie": f"lorekeeper={key}"}).status_code == 303


# --- links -------------------------------------------------------------------------------------------------------------


def test_a_players_link_is_redeemed_by_the_button_on_its_page_alone(house):
    house.add("Moe")
    (moe,) = (each for each in house.people.everyone() if each.name == "Moe")
    link = f"/sign-in?key={house.sessions.link(moe)}"
    preview = {"User-Agent": "WhatsApp/2", "Sec-Fetch-Site": ""}
    for elsewhere in (preview, {"Sec-Fetch-Site": "cross-site"}, HTML, HTML):
        page = house.browser().get(link, headers=elsewhere)
        assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
        assert "Sign in as Moe" in page.text
        assert "set-cookie" not in page.headers
    for ahead in ({"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"}, {"Sec-Fetch-Dest": "image"}):
        assert house.browser().get(link, headers=ahead).status_code == 403, ahead
    browser, key = house.signed_in(), re.findall(r'name="key" value="([^"]+)"', page.text)[0]
    assert "Game master is signed out" in browser.get(link).text
    for foreign in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": ""}):
        assert browser.post("/sign-in", data={"key": key}, headers=foreign).status_code == 403
    assert "Game master" in browser.get("/").text
    done = browser.post("/sign-in", data={"key": key}, headers=OWN)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert ">Moe<" in browser.get("/").text
    for again in (house.browser().get(link), house.browser().post("/sign-in", data={"key": key}, headers=OWN)):
        assert (again.status_code, "used already" in again.text) == (401, True)


def test_the_game_masters_link_is_not_used_up_by_what_loads_it_ahead_of_time(house):
    browser, link = house.browser(), f"/sign-in?key={house.sessions.link()}"
    for ahead in ({"Sec-Purpose": "prefetch;prerender"}, {"Sec-Fetch-Dest": "image"}):
        refused = browser.get(link, headers=ahead)
        assert (refused.status_code, "Open this link yourself" in refused.text) == (403, True)
    assert browser.get(link, headers={"Sec-Fetch-Dest": "document"}).status_code == 303


# --- the way to the form, and attacks on it ----------------------------------------------------------------------------


EVIL = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/\n/evil.example",
    "/a\r\nSet-Cookie: lorekeeper=x",
    " //evil.example",
    "evil.example",
    "/ä",
    "/" + "x" * MAX_NEXT,
]


def test_no_other_address_is_continued_at_after_signing_in(house):
    browser = house.browser()
    for evil in EVIL[:9]:
        done = sign_in(browser, "master", next=evil)
        assert (done.status_code, done.headers["location"]) == (303, "/"), evil
        assert browser.get("/sign-in", params={"next": evil}).headers["location"] == "/", evil
        assert "evil" not in house.browser().get("/sign-in", params={"next": evil}).text
    there = house.browser().get(httpx.URL(house.plain.url).copy_with(raw_path=b"//evil.example/%5c"))
    assert (there.status_code, there.headers["location"]) == (303, "/sign-in")


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "{own}"},
    {"Sec-Fetch-Site": "", "Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "", "Origin": "null"},
    {"Sec-Fetch-Site": ""},
]


@each_row("headers", FOREIGN)
def test_other_sites_change_nothing(house, headers):
    browser = house.signed_in()
    sent = {name: value.format(own=house.plain.url) for name, value in headers.items()}
    for path in ("/sign-out", "/sign-in", "/view"):
        refused = browser.post(path, data={"token": "master"}, headers=sent)
        assert refused.status_code == 403, path
        assert "set-cookie" not in refused.headers
    assert browser.get("/").status_code == 200
    assert browser.head("/sign-out").status_code == 405
    assert browser.post("/sign-out", headers={"Sec-Fetch-Site": "", "Origin": house.plain.url}).status_code == 303


def test_every_response_says_what_a_browser_may_do_with_it(house):
    browser, signed_in = house.browser(), house.signed_in()
    paths = (
        "/",
        "/sign-in",
        "/sign-in?again",
        "/sign-in/proof?challenge=x",
        "/static/none",
        "/healthz",
        "/api/v1/list_documents",
    )
    asked = [each.get(path) for each in (browser, signed_in) for path in (*paths, "/mcp", "/search.json?q=x", "/none")]
    asked += [browser.get("/sign-in", headers={"Sec-Fetch-Site": "cross-site"}), browser.post("/sign-in")]
    asked += [signed_in.post("/view", content=b"x" * 2_000_000, headers=OWN), signed_in.get("/", headers={"Host": "x"})]
    assert {200, 303, 401, 403, 404, 413, 421} <= {each.status_code for each in asked}
    for response in asked:
        assert "default-src 'self'" in response.headers["content-security-policy"], response.url
        assert response.headers["x-content-type-options"] == "nosniff", response.url
        assert response.headers["referrer-policy"] == "same-origin", response.url


# --- what is written ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_token_and_no_key_is_written_anywhere(house):
    token, link = house.add("Flo"), house.sessions.link()
    player, master = house.signed_in(token), house.browser()
    master.get(f"/sign-in?key={link}")
    house.browser().get(f"/sign-in?key={link}")
    sign_in(house.browser(), f"{token}x")
    house.people.remove("Flo")
    player.get("/")
    secrets = [token, link, player.cookies.get("lorekeeper"), master.cookies["lorekeeper"]]
    written = house.written()
    assert "Flo" in written
    assert "GET /sign-in" in written
    assert [secret for secret in secrets if secret and secret.removeprefix("lk_") in written] == []
