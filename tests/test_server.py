"""The server as clients meet it: real processes, over stdio and over HTTP on loopback, with the real model."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from lorekeeper.server.resources import TEMPLATES
from lorekeeper.server.tools import all_tools
from tests.support.asking import asked
from tests.support.commands import environment, run_lorekeeper
from tests.support.libraries import shelf_folder
from tests.support.samples import ATLAS, TITLES
from tests.support.serving import INITIALIZE, SECONDS, SERVE, http_server, raw_server
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    return shelf_folder(tmp_path_factory)


@asynccontextmanager
async def connected(folder: Path, **settings: str) -> AsyncIterator[tuple[Client, Path]]:
    """A client of a stdio server of its own, and the file with the server's stderr.

    The client lives in one task from beginning to end, as its cancel scopes want it.
    """
    log = folder / f"stderr-{'-'.join(settings) or 'plain'}"
    parameters = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=environment(folder, **settings))
    ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def live() -> None:
        with log.open("w") as errors:
            async with Client(stdio_client(parameters, errlog=errors), read_timeout_seconds=SECONDS) as client:
                ready.set_result(client)
                await done.wait()

    task = asyncio.create_task(live())
    await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    yield await ready, log
    done.set()
    await task


@pytest.fixture(scope="module")
async def server(library) -> AsyncIterator[tuple[Client, Path]]:
    async with connected(library) as connection:
        yield connection


@pytest.fixture(scope="module")
def client(server) -> Client:
    return server[0]


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content = await asked(client, tool, **arguments)
    text = "".join(block.text for block in result.content)
    for found in content.get("results", [])[:1]:
        for essential in (found["name"], found["document"]):
            assert essential in text
    return content


async def failure(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    (block,) = result.content
    assert "Traceback" not in block.text
    assert 'File "' not in block.text
    return str(block.text)


# --- stdio -----------------------------------------------------------------------------------------------------------


async def test_lists_every_tool_as_read_only(client):
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in all_tools()]
    for tool in listed:
        assert tool.description
        assert tool.title
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.input_schema["type"] == "object"


@each_row(
    ("tool", "arguments", "advice"),
    [
        ("lookup_spell", {"levl": 3}, "did you mean 'level'"),
        ("lookup_creature", {"cr": "a lot"}, "cr must be a number, not 'a lot'"),
        ("plan_encounter", {"party": "4x3", "cr_max": "abc"}, "cr_max must be a number, not 'abc'"),
        ("search_lore", {}, "query is required"),
        ("get_entity", {"uri": "fireball"}, "no entry is called 'fireball'; a search finds entries by meaning"),
        ("lookup_spel", {}, "lookup_spell"),
    ],
)
async def test_errors_are_tool_errors_that_say_what_to_do(client, tool, arguments, advice):
    assert advice in await failure(client, tool, **arguments)


async def test_lists_documents_and_the_lists_of_their_entries_as_resources(client):
    listed = {str(r.uri): r for r in (await client.list_resources()).resources}
    documents = {uri: r.title for uri, r in listed.items() if uri.startswith("lore://documents/")}
    assert documents == {f"lore://documents/{k}/{k}": v for k, v in TITLES.items()}
    assert listed[f"lore://spells/{ATLAS}"].title == f"Spells of {TITLES[ATLAS]}"
    templates = (await client.list_resource_templates()).resource_templates
    assert [t.uri_template for t in templates] == list(TEMPLATES)
    for resource in listed:
        (content,) = (await client.read_resource(resource)).contents
        assert content.text.startswith("# ")


def send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def receive(process: subprocess.Popen[str], number: int) -> dict[str, Any]:
    """The answer of that number; every line until then must be a message of the protocol."""
    assert process.stdout is not None
    for line in process.stdout:
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if message.get("id") == number:
            return message
    raise AssertionError("the server ended without an answer")


async def test_a_second_server_answers_too_and_writes_nothing_but_protocol(library, client):
    """Byte for byte, until its input ends: while the first server has the library open, and with the older handshake."""

    def converse() -> tuple[dict[str, Any], dict[str, Any], str, str, int]:
        with raw_server(library) as process:
            send(process, {"id": 1, "method": "initialize", "params": INITIALIZE})
            greeting = receive(process, 1)
            send(process, {"method": "notifications/initialized"})
            question = {"name": "lookup_spell", "arguments": {"semantic_query": "plunging off a cliff"}}
            send(process, {"id": 2, "method": "tools/call", "params": question})
            answer = receive(process, 2)
            rest, errors = process.communicate(timeout=SECONDS)
            return greeting, answer, rest, errors, process.returncode

    conversation = asyncio.create_task(asyncio.to_thread(converse))
    meanwhile = await ask(client, "lookup_creature", semantic_query="a dead miner")
    greeting, answer, rest, errors, status = await conversation
    afterwards = await ask(client, "lookup_creature", semantic_query="a miner who died")
    assert greeting["result"]["serverInfo"]["name"] == "lorekeeper"
    assert answer["result"]["content"][0]["text"].startswith("- Soft Landing, ")
    assert meanwhile["results"][0]["name"] == afterwards["results"][0]["name"] == "Lamp Wight"
    assert (rest, errors, status) == ("", "", 0)


async def test_without_the_model_it_answers_by_keywords_and_says_why(library):
    async with connected(library, EMBEDDING_MODEL="no-such-model") as (client, _):
        content = await ask(client, "lookup_spell", semantic_query="feathers", level_max=1)
        structured = await ask(client, "lookup_spell", level=0)
    assert [r["name"] for r in content["results"]] == ["Soft Landing"]
    assert content["mode"] == "keyword"
    assert "no-such-model" in content["note"]
    assert "LOREKEEPER_EMBEDDING_MODEL" in content["note"]
    assert [r["name"] for r in structured["results"]] == ["Ember Whisper"]
    assert "note" not in structured


# --- http ------------------------------------------------------------------------------------------------------------


def post(url: str, **headers: str) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    accepted = {"Accept": "application/json, text/event-stream"}
    return httpx.post(url, json=body, headers=accepted | headers, timeout=SECONDS)


async def test_http_serves_a_client_on_loopback_and_refuses_foreign_pages(library):
    with http_server(library) as url:
        async with Client(url, read_timeout_seconds=SECONDS) as client:
            assert len((await client.list_tools()).tools) == len(all_tools())
            content = await ask(client, "lookup_spell", name="tide lance")
            assert "did you mean" in await failure(client, "lookup_spell", levl=3)
        assert [r["name"] for r in content["results"]] == ["Tide Lance"]
        assert post(url).status_code == 200
        assert post(url, Host="evil.example").status_code in (403, 421)
        assert post(url, Origin="http://evil.example").status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_http_on_an_address_that_others_can_reach_needs_a_token(tmp_path, host):
    done = run_lorekeeper(tmp_path, "serve", "--transport", "http", "--host", host, "--port", "1")
    assert done.returncode in (1, 2)
    assert "LOREKEEPER_HTTP_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr
    assert f"LoreKeeper on http://{host}" not in done.stderr, "it says that it serves, and does not"
