"""Every tool, method and route for everybody who may ask or may not; and what one may not see beside what is not there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from lorekeeper.composition import people_of
from lorekeeper.server.rest.operations import OPERATIONS
from lorekeeper.server.tools import all_tools
from tests.support.commands import run_lorekeeper
from tests.support.libraries import settings, shelf_folder
from tests.support.programs import forked, serve_without_pauses
from tests.support.samples import ATLAS
from tests.support.serving import INITIALIZE, SECONDS, http_server
from tests.support.tables import each_row
from tests.support.wires import ACCEPTED

pytestmark = pytest.mark.slow

KEPT, NEVER = "Vexmorrow", "Quilbaxen"
"""The name of a note, of a tag, of a folder and of a vault that players do not see, and one that nothing has."""

NOTES: Mapping[str, str] = {
    "saga/Mill.md": "---\nvisibility: players\ntags: [fens]\n---\nThe mill of Harrow grinds barley.\n\n## GM Notes\nZeb owns it.",
    f"saga/{KEPT}.md": "---\ntags: [Vexmorrow]\n---\nThe miller is a spy.\n",
    f"saga/{KEPT}/Lair.md": "# Lair\n\nSee [[Mill]].\n",
    f"{KEPT}/Plan.md": "---\nvisibility: dm\n---\nThe plan of the spies.\n",
}

INVALID = ("none", "wrong", "expired", "removed", "rotated")
VALID = ("player", "new", "game master", "setting")
MASTERS = ("game master", "setting")
SETTING = "of the setting"


@dataclass
class Table:
    """A server over a library with secrets, and tokens by what they are.

    Attributes:
        client: sends the requests.
        address: of the server.
        tokens: to send; None for none.
        sessions: of MCP, by the token that opened it.
    """

    client: httpx.Client
    address: str
    tokens: dict[str, str | None]
    sessions: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, kind: str, **options: Any) -> httpx.Response:
        """The response to a request with a token of that kind."""
        token = self.tokens[kind]
        headers = {**options.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        return self.client.request(method, self.address + path, headers=headers, **options)

    def message(self, kind: str, method: str, session: str | None = None, **params: Any) -> httpx.Response:
        """The response to a message of MCP."""
        headers = ACCEPTED | ({"Mcp-Session-Id": session} if session else {})
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.send("POST", "/mcp", kind, json=body, headers=headers)

    def session(self, kind: str) -> str:
        """A session of MCP that a token has opened."""
        if kind not in self.sessions:
            self.sessions[kind] = self.message(kind, "initialize", **INITIALIZE).headers["mcp-session-id"]
        return self.sessions[kind]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder = shelf_folder(tmp_path_factory)
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    for vault in ("saga", KEPT):
        added = run_lorekeeper(folder, "vault", "add", str(folder / vault))
        assert added.returncode == 0, added.stderr
    serving = http_server(folder, forked(serve_without_pauses), HTTP_TOKEN=SETTING, RATE_LIMIT="0")
    with serving as url, httpx.Client(timeout=SECONDS) as client:
        yield Table(client, url.removesuffix("/mcp"), tokens_of(folder))


def tokens_of(folder: Path) -> dict[str, str | None]:
    people = people_of(settings(milvus_db_path=folder / "milvus.db"))
    tokens: dict[str, str | None] = {
        "none": None,
        "wrong": "lk_" + "x" * 43,
        "setting": SETTING,
        "player": people.add("Ana", "player")[1],
        "game master": people.add("Geoff", "dm")[1],
        "expired": people.add("Late", "player", expires=int(time.time()) - 1)[1],
        "removed": people.add("Gone", "player")[1],
        "rotated": people.add("Ben", "player")[1],
    }
    people.remove("Gone")
    return tokens | {"new": people.rotate("Ben")[1]}


# --- what can be asked -----------------------------------------------------------------------------------------------

PATHS: Mapping[str, str] = {
    "/search_lore": "/search_lore?query=barley",
    "/get_entity": "/get_entity?uri=lore://notes/saga/Mill.md",
    "/entities/{uri}": "/entities/notes/saga/Mill.md",
    "/gather_topic": "/gather_topic?topic=mill",
    "/compare_entries": f"/compare_entries?uris=lore://spells/{ATLAS}/soft-landing&uris=lore://spells/ember-almanac/soft-landing",
    "/plan_encounter": "/plan_encounter?party=4x3",
    "/roll": "/roll?what=2d6",
}
"""How a path is asked that needs something."""

ROUTES: Sequence[tuple[str, str]] = [
    *(("GET", f"/api/v1{PATHS.get(path, path)}") for path in OPERATIONS),
    ("POST", "/api/v1/search_lore"),
    ("GET", "/api/v1/openapi.json"),
]

ELSEWHERE: Sequence[tuple[str, str]] = [
    ("GET", "/metrics"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("GET", "/"),
    ("GET", "/nothing"),
    ("OPTIONS", "/api/v1/search_lore"),
    ("PUT", "/api/v1/search_lore"),
    ("GET", "/api/v2/search"),
    ("GET", "/docs"),
]

ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "search_lore": {"query": "barley"},
    "gather_topic": {"topic": "mill"},
    "get_entity": {"uri": "lore://notes/saga/Mill.md"},
    "compare_entries": {"name": "soft landing"},
    "plan_encounter": {"party": "4x3"},
    "roll": {"what": "2d6"},
}
SLUG = {"type": "ref/resource", "uri": "lore://{type}/{document}/{slug}"}
NAME = {"type": "ref/prompt", "name": "last_time"}

MESSAGES: Sequence[tuple[str, Mapping[str, Any]]] = [
    *(("tools/call", {"name": tool.name, "arguments": ARGUMENTS.get(tool.name, {})}) for tool in all_tools()),
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "lore://notes/saga/Mill.md"}),
    ("resources/read", {"uri": "lore://notes"}),
    ("resources/subscribe", {"uri": "lore://notes/saga/Mill.md"}),
    ("resources/unsubscribe", {"uri": "lore://notes/saga/Mill.md"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "last_time"}),
    ("completion/complete", {"ref": NAME, "argument": {"name": "topic", "value": "mi"}}),
    ("completion/complete", {"ref": SLUG, "argument": {"name": "slug", "value": ""}}),
    ("ping", {}),
]

BODY = {"json": {"query": "barley"}}


@each_row("kind", INVALID)
def test_without_a_valid_token_everything_is_refused_in_the_same_words(table: Table, kind: str) -> None:
    refused = [table.send(method, path, kind, **(BODY if method == "POST" else {})) for method, path in ROUTES]
    assert len(refused) > 8
    assert {each.status_code for each in refused} == {401}
    assert len({each.headers["www-authenticate"] for each in refused}) == 1
    contents = [{**each.json(), "instance": ""} for each in refused]
    assert all(each == contents[0] for each in contents)
    session = table.session("player")
    others = [table.send(method, path, kind) for method, path in ELSEWHERE]
    others += [table.message(kind, method, session, **params) for method, params in MESSAGES]
    assert {each.status_code for each in others} == {401}
    assert len({each.content for each in others if "problem" not in each.headers["content-type"]}) == 1


@each_row("kind", VALID)
def test_with_a_valid_token_every_tool_method_and_route_answers(table: Table, kind: str) -> None:
    for method, path in ROUTES:
        answer = table.send(method, path, kind, **(BODY if method == "POST" else {}))
        assert answer.status_code == 200, (method, path, answer.text)
        assert KEPT not in answer.text or kind in MASTERS
    session = table.session(kind)
    for method, params in MESSAGES:
        answer = table.message(kind, method, session, **params)
        assert answer.status_code == 200, (method, params)
        assert '"result"' in answer.text, (method, params)
        assert '"isError":true' not in answer.text, (method, params)
        assert KEPT not in answer.text or kind in MASTERS
    metrics, nothing = (table.send("GET", path, kind) for path in ("/metrics", "/nothing"))
    if kind in MASTERS:
        assert (metrics.status_code, "lorekeeper_entries" in metrics.text) == (200, True)
    else:
        assert in_form(metrics, "") == in_form(nothing, "")


# --- forbidden and missing -------------------------------------------------------------------------------------------

GUESSES: Sequence[tuple[str, str]] = [
    ("GET", "/api/v1/entities/notes/saga/{}.md"),
    ("HEAD", "/api/v1/entities/notes/saga/{}.md"),
    ("PUT", "/api/v1/entities/notes/saga/{}.md"),
    ("GET", "/api/v1/entities/notes/saga/{}%2FLair.md"),
    ("GET", "/api/v1/entities/notes/{}/Plan.md"),
    ("GET", "/api/v1/entities/notes/{}%2FPlan.md"),
    ("GET", "/api/v1/gather_topic?topic=lore://notes/saga/{}.md"),
    ("GET", "/api/v1/gather_topic?topic=lore://notes/{}/Plan.md"),
    ("GET", "/api/v1/lookup_note?similar_to=lore://notes/saga/{}.md"),
    ("GET", "/api/v1/lookup_note?name={}"),
    ("GET", "/api/v1/lookup_note?links_to={}"),
    ("GET", "/api/v1/lookup_note?tags={}"),
    ("GET", "/api/v1/lookup_note?folder={}"),
    ("GET", "/api/v1/lookup_note?documents={}"),
    ("GET", "/api/v1/search_lore?query=spy&documents={}"),
    ("GET", "/api/v1/lookup_note?edition={}"),
    ("GET", "/api/v1/lookup_note?where=tags%3D{}"),
    ("GET", "/api/v1/lookup_note?where=folder%3D{}"),
]

ASKED_BY_NAME: Sequence[tuple[str, Mapping[str, Any]]] = [
    ("tools/call", {"name": "get_entity", "arguments": {"uri": "lore://notes/saga/{}.md"}}),
    ("tools/call", {"name": "get_entity", "arguments": {"uri": "lore://notes/saga/{}%2FLair.md"}}),
    ("tools/call", {"name": "get_entity", "arguments": {"uri": "lore://notes/{}/Plan.md"}}),
    ("tools/call", {"name": "gather_topic", "arguments": {"topic": "lore://notes/saga/{}.md"}}),
    ("tools/call", {"name": "lookup_note", "arguments": {"name": "{}"}}),
    ("tools/call", {"name": "lookup_note", "arguments": {"links_to": "{}"}}),
    ("tools/call", {"name": "lookup_note", "arguments": {"folder": "{}"}}),
    ("tools/call", {"name": "lookup_note", "arguments": {"tags": ["{}"]}}),
    ("tools/call", {"name": "lookup_note", "arguments": {"similar_to": "lore://notes/saga/{}.md"}}),
    ("tools/call", {"name": "search_lore", "arguments": {"query": "spy", "documents": ["{}"]}}),
    ("resources/read", {"uri": "lore://notes/saga/{}.md"}),
    ("resources/read", {"uri": "lore://notes/{}"}),
    ("resources/read", {"uri": "lore://documents/{}/{}"}),
    ("resources/subscribe", {"uri": "lore://notes/saga/{}.md"}),
    ("completion/complete", {"ref": NAME, "argument": {"name": "topic", "value": "{}"}}),
    ("completion/complete", {"ref": NAME, "argument": {"name": "document", "value": "{}"}}),
    ("completion/complete", {"ref": SLUG, "argument": {"name": "document", "value": "{}"}}),
    ("prompts/get", {"name": "last_time", "arguments": {"document": "{}"}}),
]

KEPT_APART = ("date", "etag")
"""Headers that differ between two answers that say the same of different names."""


def in_form(answer: httpx.Response, name: str) -> tuple[int, list[tuple[str, str]], str]:
    """Status, headers and body of an answer, without the name that was asked for."""
    headers = [(key, value) for key, value in answer.headers.items() if key not in KEPT_APART]
    text = re.sub(re.escape(name), "{}", answer.text, flags=re.IGNORECASE) if name else answer.text
    return answer.status_code, headers, text


def named(value: Any, name: str) -> Any:
    """Parameters of a message, with a name in them."""
    if isinstance(value, dict):
        return {key: named(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [named(each, name) for each in value]
    return value.replace("{}", name) if isinstance(value, str) else value


@each_row(("method", "path"), GUESSES)
def test_what_a_player_may_not_see_is_answered_as_if_it_were_missing(table: Table, method: str, path: str) -> None:
    kept, never = (table.send(method, path.replace("{}", name), "player") for name in (KEPT, NEVER))
    assert in_form(kept, KEPT) == in_form(never, NEVER)


@each_row(("method", "params"), ASKED_BY_NAME)
def test_messages_about_it_are_answered_alike(table: Table, method: str, params: Mapping[str, Any]) -> None:
    session = table.session("player")
    kept, never = (table.message("player", method, session, **named(params, name)) for name in (KEPT, NEVER))
    assert in_form(kept, KEPT) == in_form(never, NEVER)
