"""A client that cancels its calls, at any moment of each: only they end, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from lorekeeper.server.tool import Tool
from lorekeeper.server.tools import all_tools
from tests.support.commands import environment, run_lorekeeper
from tests.support.embedding_server import EmbeddingServer
from tests.support.samples import write_lines
from tests.support.serving import SERVE, http_server

pytestmark = pytest.mark.filterwarnings(
    "ignore:ping is removed"
)  # from later versions of the protocol than these clients speak

SECONDS = 120
"""How long to wait for what does not happen."""

MOMENTS, FEW = 20, 2
"""At how many moments of each tool's call it is cancelled, and how many of them are tried without ``--thorough``."""

HULK, BOW = "lore://creatures/tidewatch-atlas/mire-hulk", "lore://equipment/tidewatch-atlas/gullfeather-bow"

CALLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "search_lore": lambda word: {"query": f"{word} in the swamp"},
    "get_entity": lambda word: {"uri": HULK},
    "list_documents": lambda word: {},
    "gather_topic": lambda word: {"topic": f"harbour {word}"},
    "compare_entries": lambda word: {"uris": [HULK, BOW]},
    "plan_encounter": lambda word: {"party": [3, 3, 4], "semantic_query": f"{word} beasts"},
    "roll": lambda word: {"what": "2d6+3"},
}
"""Arguments of a call with a word that none before it had; the lookups describe what they look for."""


@pytest.fixture(scope="module")
def settings(embeddings: EmbeddingServer) -> dict[str, str]:
    return {"EMBEDDING_PROVIDER": "http", "EMBEDDING_URL": embeddings.url, "RATE_LIMIT": "0"}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]) -> Path:
    folder: Path = tmp_path_factory.mktemp("cancelling")
    imported = run_lorekeeper(
        folder, "import", str(write_lines(folder / "shelf.jsonl")), env=environment(folder, **settings)
    )
    assert imported.returncode == 0, imported.stderr
    return folder


@asynccontextmanager
async def over_stdio(folder: Path, settings: dict[str, str]) -> AsyncIterator[Client]:
    env = environment(folder, **settings)
    parameters = StdioServerParameters(command=SERVE[0], args=list(SERVE[1:]), env=env, cwd=folder)
    async with Client(stdio_client(parameters), mode="legacy", read_timeout_seconds=SECONDS) as client:
        yield client


@asynccontextmanager
async def over_http(folder: Path, settings: dict[str, str]) -> AsyncIterator[Client]:
    with http_server(folder, **settings) as url:
        async with Client(streamable_http_client(url), mode="legacy", read_timeout_seconds=SECONDS) as client:
            yield client


Connect = Callable[[Path, dict[str, str]], AbstractAsyncContextManager[Client]]

both = pytest.mark.parametrize("connect", [over_stdio, over_http])


def arguments_of(tool: Tool, word: str) -> dict[str, Any]:
    of = CALLS.get(tool.name)
    return of(word) if of else {"semantic_query": f"{word} of the coast"}


@both
async def test_a_call_that_is_cancelled_while_it_waits_for_the_model_ends_alone(
    shelf: Path, settings: dict[str, str], embeddings: EmbeddingServer, connect: Connect
) -> None:
    described = [tool for tool in all_tools() if tool.entity_type or tool.name == "search_lore"]
    assert len(described) > 1
    async with connect(shelf, settings) as client:
        await client.call_tool("search_lore", {"query": "fog"})
        for tool in described:
            embeddings.hold()
            call = asyncio.create_task(client.call_tool(tool.name, arguments_of(tool, f"salt {tool.name}")))
            assert await asyncio.to_thread(embeddings.holding.wait, SECONDS), tool.name
            await client.send_ping()  # what else a search asks for has come meanwhile
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled()
            embeddings.go_on()
            await client.send_ping()
            answer = await client.call_tool(tool.name, arguments_of(tool, f"salt {tool.name}"))
            assert not answer.is_error, answer


@both
@pytest.mark.timeout(900)
async def test_a_call_that_is_cancelled_at_any_moment_ends_alone(
    shelf: Path, settings: dict[str, str], connect: Connect, request: pytest.FixtureRequest, seed: int
) -> None:
    moments = MOMENTS if request.config.getoption("thorough") else FEW
    chance = random.Random(seed)
    cancelled = 0
    async with connect(shelf, settings) as client:
        for tool in all_tools():
            started = time.perf_counter()
            answer = await client.call_tool(tool.name, arguments_of(tool, "nothing"))
            assert not answer.is_error, answer
            whole = time.perf_counter() - started
            for number in range(moments):
                with anyio.move_on_after(whole * (number + chance.random()) / moments) as scope:
                    await client.call_tool(tool.name, arguments_of(tool, f"{tool.name}{number}"))
                cancelled += scope.cancelled_caught
                await client.send_ping()
            answer = await client.call_tool(tool.name, arguments_of(tool, "fog"))
            assert not answer.is_error, answer
    assert cancelled, "each call was answered before it was cancelled"
