"""Clients of real servers that keep all they receive, byte for byte: MCP over stdio, MCP over HTTP, and REST."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import httpx

from tests.support.commands import environment
from tests.support.serving import INITIALIZE, SECONDS, SERVE

ACCEPTED = {"Accept": "application/json, text/event-stream"}


class Wire(Protocol):
    """A way to ask a library.

    Attributes:
        received: all that has come from the server, headers and errors included.
    """

    received: list[str]

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool; ``{}`` if it is an error."""

    def look_around(self, words: list[str]) -> None:
        """Ask for all there is besides: lists, and what these words complete to."""

    def read(self, uri: str) -> None:
        """Read an entry in every form that there is."""

    def close(self) -> None:
        """End it, and what it has started."""


class _Mcp:
    """What both transports of MCP have in common."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self._number = 0
        self.request("initialize", **INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The response to a request."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return next(each for each in self._send(message) if each.get("id") == self._number)

    def _send(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a message; what comes back."""
        raise NotImplementedError

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.request("tools/call", name=tool, arguments=arguments, _meta={"progressToken": tool})
        asked = {**arguments, "detail": "json"}
        answer = self.request("tools/call", name=tool, arguments=asked, _meta={"progressToken": tool})
        content: dict[str, Any] = answer.get("result", {}).get("structuredContent") or {}
        return content

    def read(self, uri: str) -> None:
        self.ask("get_entity", uri=uri)
        self.request("resources/read", uri=uri)
        self.request("resources/subscribe", uri=uri)

    def look_around(self, words: list[str]) -> None:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            self.request(method)
        for uri in ("lore://notes", "lore://documents", "lore://creatures", "lore://notes/the-rot-beneath"):
            self.request("resources/read", uri=uri)
        self.ask("list_documents")
        prompts = [("stat_block", "creature"), ("last_time", "topic"), ("last_time", "document")]
        for word in words:
            for prompt, argument in prompts:
                ref = {"type": "ref/prompt", "name": prompt}
                self.request("completion/complete", ref=ref, argument={"name": argument, "value": word})
            template = {"type": "ref/resource", "uri": "lore://{type}/{document}/{slug}"}
            known = {"arguments": {"type": "notes"}}
            self.request("completion/complete", ref=template, argument={"name": "slug", "value": word}, context=known)


class StdioWire(_Mcp):
    """A server process over stdio, on the library in a folder, with these settings."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._log = folder / "stdio.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                SERVE,
                env=environment(folder, **settings),
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        super().__init__()

    def _send(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return self._lines(message.get("id"))

    def _lines(self, awaited: object) -> Iterator[dict[str, Any]]:
        while awaited is not None:
            line = self._process.stdout.readline()  # type: ignore[union-attr]
            if not line:
                raise EOFError(self._log.read_text())
            self.received.append(line)
            yield json.loads(line)

    def close(self) -> None:
        out, _ = self._process.communicate(timeout=SECONDS)
        self.received += [out, self._log.read_text()]


class HttpWire(_Mcp):
    """A session over HTTP, with a token."""

    def __init__(self, address: str, token: str) -> None:
        self._client = httpx.Client(
            base_url=address, headers={**ACCEPTED, "Authorization": f"Bearer {token}"}, timeout=SECONDS
        )
        super().__init__()

    def _send(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        response = self._client.post("/mcp", json=message)
        self.received += [repr(response.headers.raw), response.text]
        if session := response.headers.get("mcp-session-id"):
            self._client.headers["mcp-session-id"] = session
        return iter([json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")])

    def close(self) -> None:
        self._client.close()


class RestWire:
    """The REST gateway, with a token."""

    def __init__(self, address: str, token: str) -> None:
        self.received: list[str] = []
        self._client = httpx.Client(
            base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS
        )

    def get(self, path: str) -> dict[str, Any]:
        """The answer at a path; ``{}`` if it is a problem."""
        response = self._client.get(path)
        self.received += [repr(response.headers.raw), response.text]
        content: dict[str, Any] = response.json() if response.is_success else {}
        return content

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        if tool == "get_entity":
            return self.get(f"entities/{arguments['uri'].removeprefix('lore://')}")
        return self.get(f"{tool}?{urlencode(arguments, doseq=True)}")

    def read(self, uri: str) -> None:
        self.ask("get_entity", uri=uri)
        self.ask("gather_topic", topic=uri)
        self.ask("search_lore", query=uri, limit=50)

    def look_around(self, words: list[str]) -> None:
        self.ask("list_documents")
        self.ask("list_documents", type="notes")
        self.ask("lookup_note", order="newest", limit=50, detail="full")
        for word in words:
            self.ask("lookup_note", name=word)
            self.ask("lookup_note", documents=word)

    def close(self) -> None:
        self._client.close()
