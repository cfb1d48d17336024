"""A client of MCP Apps as a web page: the application in a sandboxed frame, a real server behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from lorekeeper.server.apps import APP_TYPE, EXTENSION
from tests.support.service import message
from tests.support.serving import INITIALIZE

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Page

HOST = "http://chat.example"

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'; frame-src 'self'"
)
"""What the extension asks clients to allow an application at most, if it declares no addresses."""

PAGE = Path(__file__).with_name("app_host.html")


class AppHost:
    """A chat that shows an application in a frame.

    Args:
        page: shows the chat; no request leaves it, and its frame speaks with the server through the test.
        server: of the MCP server, with the authorization that its callers need.
    """

    def __init__(self, page: Page, server: httpx.Client) -> None:
        self.page, self._server = page, server
        self._number = 1
        capabilities = {"extensions": {EXTENSION: {"mimeTypes": [APP_TYPE]}}}
        hello = message("initialize", **{**INITIALIZE, "capabilities": capabilities})
        server.headers["mcp-session-id"] = server.post("/mcp", json=hello).headers["mcp-session-id"]
        page.expose_function("ask", self._ask)
        page.route(
            f"{HOST}/",
            lambda route: route.fulfill(
                body=PAGE.read_text("utf-8"),
                content_type="text/html; charset=utf-8",
                headers={"content-security-policy": POLICY},
            ),
        )
        page.goto(f"{HOST}/")

    def show(self, uri: str, theme: str = "light") -> FrameLocator:
        """The frame, in which an entry is shown by and by."""
        self.page.evaluate("([uri, theme]) => show(uri, theme)", [uri, theme])
        return self.page.frame_locator("iframe")

    def heard(self, method: str) -> list[Any]:
        """Parameters of what the frame has sent so far by a method."""
        heard = self.page.evaluate("() => window.heard")
        return [each.get("params") for each in heard if each.get("method") == method]

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        response = self._server.post("/mcp", json=message(method, self._number, **params))
        (line,) = [each for each in response.text.splitlines() if each.startswith("data: {")] or [response.text]
        return json.loads(line.removeprefix("data: "))["result"]
