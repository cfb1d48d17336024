"""Who may ask over HTTP: every way to say who one is, every way in which it is not valid, on every path."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.composition import people_of
from lorekeeper.errors import ConfigError
from lorekeeper.people.registry import People
from lorekeeper.server import failures, identity
from lorekeeper.server.callers import Callers
from lorekeeper.server.failures import Failures
from lorekeeper.server.identity import PROXIED, Identity, IdentityError, viewer_of, viewer_of_context
from lorekeeper.server.mcp import serve_http
from lorekeeper.settings import Settings
from tests.support.libraries import open_library, settings
from tests.support.programs import forked, serve_viewers
from tests.support.serving import INITIALIZE, http_server
from tests.support.tables import each_row
from tests.support.token_issuer import AUDIENCE, TokenIssuer, signing_key
from tests.support.waiting import eventually

SECONDS = 30
KEY = signing_key("one")
TOKEN = "the game master's"
PROXY = "127.0.0.2"
"""An address of this machine from which the server believes what headers say; 127.0.0.1 is not."""

ACCEPTED = {"Accept": "application/json, text/event-stream"}

ANA = {"role": "player", "person": "ana@example.com", "names": ["ana example com", "kaelen"]}
MASTER = {"role": "dm", "person": "", "names": []}


@functools.cache
def client_at(address: str) -> httpx.Client:
    """A client at an address of this machine; each takes long to make."""
    return httpx.Client(transport=httpx.HTTPTransport(verify=False, local_address=address), timeout=SECONDS)


@dataclass
class Table:
    """A server process with an issuer, the people at its table, and how to ask it.

    Attributes:
        url: of MCP.
        folder: of its library.
        issuer: of its access tokens.
        people: the registry that it reads.
        tokens: the bearer tokens to try, by what they are.
    """

    url: str
    folder: Path
    issuer: TokenIssuer
    people: People
    tokens: dict[str, str] = field(default_factory=dict)

    def post(
        self,
        method: str,
        params: dict[str, Any],
        token: str | None = None,
        session: str | None = None,
        address: str = "127.0.0.1",
        **headers: str,
    ) -> httpx.Response:
        """Send a message; headers are written with underscores."""
        sent = ACCEPTED | {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {token}"} if token is not None else {}
        sent |= {"Mcp-Session-Id": session} if session else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return client_at(address).post(self.url, json=body, headers=sent)

    def open(self, token: str | None = None, **others: Any) -> httpx.Response:
        """Open a session."""
        return self.post("initialize", INITIALIZE, token, **others)

    def call(self, token: str | None, session: str, **others: Any) -> httpx.Response:
        """Call a tool in a session."""
        return self.post("tools/call", {"name": "search_lore", "arguments": {}}, token, session, **others)

    def who(self, token: str | None = None, **others: Any) -> Any:
        """Who the server takes one for, in a session of one's own; the status if it opens none."""
        opened = self.open(token, **others)
        if opened.status_code != 200:
            return opened.status_code
        called = self.call(token, opened.headers["mcp-session-id"], **others)
        return viewer_in(called)

    def log(self) -> str:
        return (self.folder / "http.log").read_text()


def viewer_in(response: httpx.Response) -> Any:
    """Who asks, as the tool of `serve_viewers` says."""
    data = next(line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {"))
    return json.loads(json.loads(data)["result"]["content"][0]["text"])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder, issuer = tmp_path_factory.mktemp("table"), TokenIssuer(KEY)
    people = people_of(settings(milvus_db_path=folder / "milvus.db"))
    options = {"OAUTH_ISSUER": issuer.url, "OAUTH_AUDIENCE": AUDIENCE, "HTTP_TOKEN": TOKEN, "TRUSTED_PROXIES": PROXY}
    options["PUBLIC_HOSTS"] = "lore.home.arpa"
    with issuer.running(), http_server(folder, forked(serve_viewers), **options) as url:
        table = Table(url, folder, issuer, people)
        table.tokens = {
            "player": people.add("ana@example.com", "player", ["Kaelen"])[1],
            "game master": people.add("Geoff", "dm")[1],
            "setting": TOKEN,
            "wrong": "lk_" + "x" * 43,
            "expired": people.add("Late", "player", expires=int(time.time()) - 1)[1],
            "removed": people.add("Gone", "player")[1],
            "rotated": people.add("Ben", "player")[1],
        }
        people.remove("Gone")
        table.tokens["new"] = people.rotate("Ben")[1]
        yield table
    for address in ("127.0.0.1", PROXY, "127.0.0.3"):
        client_at(address).close()
    client_at.cache_clear()


# --- tokens on every path ----------------------------------------------------------------------------------------------

WHO = {
    "player": ANA,
    "game master": {"role": "dm", "person": "Geoff", "names": []},
    "setting": MASTER,
    "new": {"role": "player", "person": "Ben", "names": ["ben"]},
}


@each_row("kind", ["player", "game master", "setting", "new", "wrong", "expired", "removed", "rotated"])
def test_a_tool_knows_who_calls_it(table, kind):
    assert table.who(table.tokens[kind]) == WHO.get(kind, 401)


def test_refusals_are_in_the_log_and_tokens_are_not(table):
    table.who("lk_" + "y" * 43)
    table.who(table.tokens["expired"])
    log = table.log()
    assert "refused 127.0.0.1, /mcp: an unknown token" in log
    assert "yyyy" not in log
    assert not [kind for kind, token in table.tokens.items() if token and token in log]


# --- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_belongs_to_the_person_who_opened_it(table):
    mine = table.open(table.tokens["player"]).headers["mcp-session-id"]
    unknown = table.call(table.tokens["new"], "0" * 32)
    for kind in ("game master", "setting", "new"):
        theirs = table.call(table.tokens[kind], mine)
        assert (theirs.status_code, theirs.content) == (404, unknown.content)
    assert table.call(None, mine).status_code == 401
    ended = httpx.delete(table.url, headers={"Authorization": f"Bearer {TOKEN}", "Mcp-Session-Id": mine})
    assert ended.status_code == 404
    assert viewer_in(table.call(table.tokens["player"], mine)) == ANA


# --- an issuer ---------------------------------------------------------------------------------------------------------


def test_a_login_at_the_issuer_names_the_person(table):
    assert table.who(table.issuer.token()) == ANA
    assert table.who(table.issuer.token(email="ANA@example.com")) == ANA
    assert table.who(table.issuer.token(email=None, sub="Geoff"))["role"] == "dm"
    mine = table.open(table.issuer.token()).headers["mcp-session-id"]
    assert viewer_in(table.call(table.issuer.token(), mine)) == ANA, "a new access token of the same person"
    assert table.call(table.issuer.token(email=None, sub="Geoff"), mine).status_code == 404


def test_logins_that_are_not_valid_are_refused(table):
    tokens = {
        "expired": table.issuer.token(exp=int(time.time()) - 60),
        "audience": table.issuer.token(aud="https://other.example.com"),
        "issuer": table.issuer.token(iss="https://other.example.com"),
        "key": table.issuer.token(signing_key("one")),
        "damaged": table.issuer.token()[:-6] + "AAAAAA",
    }
    assert {kind: table.who(token) for kind, token in tokens.items()} == dict.fromkeys(tokens, 401)
    assert not [kind for kind, token in tokens.items() if token[-20:] in table.log()]


@each_row("email", ["eve@example.com", "late", "Late"])
def test_somebody_who_is_not_at_the_table_is_forbidden_and_need_not_log_in_again(table, email):
    answer = table.open(table.issuer.token(email=email))
    assert answer.status_code == 403
    assert "www-authenticate" not in answer.headers
    assert "ask the game master" in answer.text
    assert email not in answer.text


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_a_client_learns_where_to_log_in(table, path):
    root = table.url.removesuffix("/mcp")
    content = httpx.get(f"{root}/.well-known/oauth-protected-resource{path}").json()
    assert content["resource"] == AUDIENCE
    assert content["authorization_servers"] == [table.issuer.url]
    challenge = table.open().headers["www-authenticate"]
    assert challenge == 'Bearer resource_metadata="https://lore.example.com/.well-known/oauth-protected-resource/mcp"'


# --- proxies -----------------------------------------------------------------------------------------------------------


def test_a_proxy_that_names_nobody_or_a_stranger_or_several_lets_nobody_in(table):
    assert table.who(address=PROXY) == 401
    assert table.who(address=PROXY, x_forwarded_email="") == 401
    assert table.who(address=PROXY, x_forwarded_email="eve@example.com") == 403
    assert table.who(address=PROXY, x_forwarded_email="late") == 403
    assert table.who(address=PROXY, x_forwarded_email="ana@example.com", remote_user="Geoff") == 401
    assert table.who(address=PROXY, x_forwarded_email="ana@example.com", x_forwarded_user="Geoff") == ANA
    assert table.who(table.tokens["wrong"], address=PROXY, x_forwarded_email="ana@example.com") == 401


def test_a_signed_assertion_of_a_proxy_is_verified_and_nothing_beside_it_counts(table):
    valid, other = table.issuer.token(), table.issuer.token(aud="https://other.example.com")
    assert table.who(address=PROXY, x_pomerium_jwt_assertion=valid) == ANA
    assert table.who(x_pomerium_jwt_assertion=valid) == 401
    assert table.who(address=PROXY, x_pomerium_jwt_assertion=other, x_forwarded_email="ana@example.com") == 401
    assert table.who(address=PROXY, x_pomerium_jwt_assertion=valid, x_forwarded_email="Geoff") == ANA


# --- starting ----------------------------------------------------------------------------------------------------------


NETWORK = {"oauth_issuer": "https://login.example.com", "oauth_audience": "lore"}


@pytest.mark.parametrize(
    ("chosen", "host", "says"),
    [
        ({"offline": "1", **NETWORK}, "127.0.0.1", "LOREKEEPER_OAUTH_ISSUER is https://login.example.com"),
        ({}, "0.0.0.0", "lorekeeper people add"),
        ({"trusted_proxies": "127.0.0.1"}, "::", "LOREKEEPER_HTTP_TOKEN"),
    ],
)
async def test_a_server_does_not_start_if_anybody_could_come_in_or_the_issuer_cannot_be_asked(
    tmp_path, chosen, host, says
):
    database = tmp_path / "milvus.db"
    people = people_of(settings(milvus_db_path=database))
    async with open_library(tmp_path) as library:
        with pytest.raises(ConfigError, match=says):
            await serve_http(library, settings(milvus_db_path=database, **chosen), people, host, 1)


# --- the middleware alone ----------------------------------------------------------------------------------------------


STREAM: dict[str, Any] = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET", "path": "/stream"}


async def forever() -> Any:
    """What a client says that only listens."""
    await asyncio.Event().wait()


class Reached:
    """An application that answers who asks, or streams without end."""

    seconds_a_tick = 0.01

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        viewer = viewer_of(scope)
        streaming = scope["path"] == "/stream"
        answer = StreamingResponse(self.ticking()) if streaming else JSONResponse([viewer.role, viewer.person])
        await answer(scope, receive, send)

    async def ticking(self) -> Any:
        while True:
            yield b"tick\n"
            await asyncio.sleep(self.seconds_a_tick)


def guarded(people: People, chosen: Settings | None = None, *, closed: bool = False, proxied: bool = False) -> ASGIApp:
    app = Identity(Reached(), Callers(people, chosen or settings(), closed=closed))

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        scope[PROXIED] = proxied
        await app(scope, receive, send)

    return noted


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "people")


async def get(app: ASGIApp, path: str = "/", token: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), verify=False, base_url="http://127.0.0.1"
    ) as client:
        return await client.get(path, headers=headers)


async def test_a_table_without_people_is_open_until_the_first_is_there_and_never_again(people):
    app = guarded(people)
    assert (await get(app)).json() == ["dm", ""]
    assert (await get(app, token="anything")).json() == ["dm", ""]
    _, token = people.add("Ana", "player")
    assert (await get(app)).status_code == 401
    assert (await get(app, token=token)).json() == ["player", "Ana"]
    people.remove("Ana")
    assert (await get(app)).status_code == 401, "removing the last player opened the library"
    people.file.unlink()
    assert (await get(app)).status_code == 401


@pytest.mark.parametrize(
    "chosen",
    [
        {"http_token": "secret"},
        {"oauth_issuer": "http://127.0.0.1:9", "oauth_audience": "lore"},
        {"trusted_proxies": "127.0.0.1"},
        {},
    ],
)
async def test_a_table_is_closed_as_soon_as_anything_says_who_is_who(people, chosen):
    assert (await get(guarded(people, settings(**chosen), closed=not chosen))).status_code == 401


async def test_a_registry_that_cannot_be_read_lets_nobody_in(people, caplog):
    _, token = people.add("Ana", "player")
    people.file.write_text("{")
    answer = await get(guarded(people), "/api/v1/search", token)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert str(people.file) not in answer.text
    assert "cannot be read" in caplog.text


async def test_an_issuer_that_is_down_is_not_a_wrong_token(people):
    people.add("ana@example.com", "player")
    chosen = settings(oauth_issuer="http://127.0.0.1:9", oauth_audience=AUDIENCE)
    issuer = TokenIssuer(KEY)
    assert (await get(guarded(people, chosen), token=issuer.token())).status_code == 503


async def test_a_stream_ends_once_its_token_is_revoked(people, monkeypatch):
    monkeypatch.setattr(identity, "RECHECK_SECONDS", 0.0)
    _, token = people.add("Ana", "player")
    sent, ended = list[bytes](), asyncio.Event()

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if message.get("more_body") is False:
            ended.set()

    scope = STREAM | {"headers": [(b"authorization", f"Bearer {token}".encode())]}
    request = asyncio.ensure_future(guarded(people)(scope, forever, send))
    await eventually(lambda: len(sent) >= 5)
    people.remove("Ana")
    await asyncio.wait_for(ended.wait(), SECONDS)
    number = len(sent)
    await asyncio.wait_for(request, SECONDS)  # after which nothing sends any more
    assert (len(sent), sent[-1]) == (number, b"")


async def test_each_further_failure_waits_longer_and_a_right_token_never_does(people, monkeypatch):
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    _, token = people.add("Ana", "player")
    app = guarded(people)
    for _ in range(9):
        assert (await get(app, token="wrong")).status_code == 401
    assert slept == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    assert (await get(app, token=token)).status_code == 200
    assert (await get(app)).status_code == 401, "who shows nothing tries nothing"
    assert len(slept) == 9


async def test_while_an_address_is_refused_a_right_token_counts_from_another_one_only(people, monkeypatch):
    monkeypatch.setattr(failures, "FIRST_SECONDS", 0.0)
    _, token = people.add("Ana", "player")
    app, counted = guarded(people), Failures()
    await counted.pause("192.0.2.1")
    monkeypatch.setattr(failures, "FIRST_SECONDS", 60.0)
    monkeypatch.setattr(failures, "MOST_SECONDS", 60.0)
    waiting = [asyncio.create_task(counted.pause("192.0.2.1")) for _ in range(failures.MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(failures.GuessingError):
        async with counted.looking("192.0.2.1"):
            pytest.fail("it was looked at")
    async with counted.looking("192.0.2.2"):
        pass
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    async with counted.looking("192.0.2.1"):  # they do not wait any more
        pass
    assert not counted._waiting
    assert (await get(app, token=token)).status_code == 200


def test_what_has_no_viewer_fails():
    class Context:
        request: Request | None = None

    with pytest.raises(IdentityError):
        viewer_of({"type": "http", "path": "/mcp"})
    with pytest.raises(IdentityError):
        viewer_of({"type": "http", "path": "/mcp", identity.VIEWER: "dm"})
    with pytest.raises(IdentityError):
        viewer_of_context(Context())
    assert viewer_of_context(Context(), GAME_MASTER) == GAME_MASTER
    context = Context()
    context.request = Request({"type": "http", "path": "/mcp", "headers": []})
    with pytest.raises(IdentityError):
        viewer_of_context(context, GAME_MASTER)
    context.request = Request({"type": "http", "path": "/mcp", "headers": [], identity.VIEWER: Viewer.player("Ana")})
    assert viewer_of_context(context) == Viewer.player("Ana")
