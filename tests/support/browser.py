"""A real browser: the system's Chromium, driven by Playwright, and pages in it whose every misbehaviour is noted."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scripts.chromium import BROWSER, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

SECONDS = 600
"""How long a page may take to show what a test waits for."""

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}

LOCAL = ("data", "blob", "about")
"""Schemes of addresses that no request leaves the browser for."""

MOST_STOPS = 200
"""More stops of the focus than any page has."""

WATCH_POLICY = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`${event.violatedDirective} forbids ${event.blockedURI || "inline"} ${event.sample}`));
"""
"""Runs in every document before its own scripts."""


class UnavailableError(Exception):
    """There is no browser to test with; the message says what is missing."""


def executable() -> str:
    """The program of the browser.

    Raises:
        UnavailableError: Playwright or Chromium is not installed.
    """
    if importlib.util.find_spec("playwright") is None:
        raise UnavailableError("needs the package playwright: 'make venv' installs it")
    found = chromium()
    if found is None:
        raise UnavailableError(f"needs Chromium: install it, or set {BROWSER} to its program")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # no sandbox, as CI often runs as root; all that is opened here is this machine's own
        launched = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        try:
            yield launched
        finally:
            launched.close()


class Watched:
    """A page, and what went wrong on it.

    Attributes:
        page: Playwright's.
        origin: the only server that it may ask.
        problems: errors of scripts and on the console, violations of the policy, and requests to others, in their order.
    """

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.problems: list[str] = []
        self.expected: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._request)

    def expect(self, problem: str) -> None:
        """Let a problem pass that has these words in it: a test that asks for what is refused causes it."""
        self.expected.append(problem)

    def check(self) -> None:
        """Fail if anything went wrong so far that was not expected."""
        unexpected = [each for each in self.problems if not any(words in each for words in self.expected)]
        assert not unexpected, "\n".join(unexpected)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text} ({message.location.get('url')})")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in LOCAL and f"{address.scheme}://{address.netloc}" != self.origin:
            self.problems.append(f"request to another origin: {request.url}")


@contextmanager
def watched(browser: Browser, origin: str, **options: Any) -> Iterator[Watched]:
    """A page in a profile of its own; at the end nothing may have gone wrong on it.

    Args:
        browser: opens it.
        origin: of the only server that may be asked, as ``http://127.0.0.1:8000``.
        options: of Playwright's `Browser.new_context`.
    """
    context = browser.new_context(base_url=origin, **options)
    context.set_default_timeout(SECONDS * 1000)
    context.add_init_script(WATCH_POLICY)
    try:
        page = Watched(context.new_page(), origin)
        yield page
        page.check()
    finally:
        context.close()


NAME = "() => { const it = document.activeElement; return (it.ariaLabel ?? it.labels?.[0]?.textContent ?? it.textContent).trim(); }"
"""What is called so has the focus."""


def focused(page: Page) -> str:
    """The name of what has the focus."""
    return str(page.evaluate(NAME))


def to(page: Page, name: str, key: str = "Tab") -> None:
    """Move the focus by a key until it is on what has that name."""
    passed: list[str] = []
    while (now := focused(page)) != name:
        passed.append(now)
        assert len(passed) < MOST_STOPS, f"{key} does not lead to {name!r}, only to {sorted(set(passed))}"
        page.keyboard.press(key)
