"""What the server declares of itself, read as raw JSON from a real server over stdio, in both eras of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.server.apps import APP_TYPE, EXTENSION
from tests.support.commands import run_lorekeeper
from tests.support.samples import write_lines
from tests.support.serving import INITIALIZE, SECONDS, raw_server

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {"mimeTypes": [APP_TYPE]}}},
}
FIVE_MINUTES = 300_000


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("capabilities")
    run_lorekeeper(folder, "import", str(write_lines(folder / "shelf.jsonl")))
    return folder


class _Era:
    """A server whose messages all belong to one era; ``greeting`` is the answer to the first of them."""

    def __init__(self, folder: Path, *, modern: bool) -> None:
        self.modern = modern
        self.process = raw_server(folder)
        self._number = 0
        self.greeting = self.ask("server/discover") if modern else self.ask("initialize", **INITIALIZE)
        if not modern:
            self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result, or the error, of a request."""
        self._number += 1
        params |= {"_meta": META} if self.modern else {}
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                content: dict[str, Any] = answer.get("result") or answer["error"]
                return content
        raise EOFError("the server has ended")

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.communicate(timeout=SECONDS)


@pytest.fixture(scope="module", params=["initialize", "server/discover"])
def era(request: pytest.FixtureRequest, library: Path) -> Iterator[_Era]:
    opened = _Era(library, modern=request.param == "server/discover")
    yield opened
    opened.close()


def test_mcp_apps_are_announced_in_the_capabilities_of_both_eras(era: _Era) -> None:
    assert era.greeting["capabilities"]["extensions"] == {EXTENSION: {}}


def test_deprecated_logging_is_neither_declared_nor_served(era: _Era) -> None:
    capabilities = era.greeting["capabilities"]
    assert {"tools", "prompts", "resources", "completions"} <= capabilities.keys()
    assert "logging" not in capabilities
    assert era.ask("logging/setLevel", level="debug")["code"] == -32601


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/templates/list"])
def test_lists_that_the_program_declares_may_be_cached_for_five_minutes(era: _Era, method: str) -> None:
    answer = era.ask(method)
    assert answer.get("ttlMs") == (FIVE_MINUTES if era.modern else None)
    assert answer.get("cacheScope") == ("private" if era.modern else None)


def test_what_the_library_holds_is_stale_at_once(era: _Era) -> None:
    listed = era.ask("resources/list")
    assert listed["resources"]
    assert listed.get("ttlMs") == (0 if era.modern else None)


def test_a_client_that_shows_apps_finds_the_app_of_an_entry(era: _Era) -> None:
    tools = {tool["name"]: tool for tool in era.ask("tools/list")["tools"]}
    assert ("_meta" in tools["get_entity"]) == era.modern  # only that client declares the extension
