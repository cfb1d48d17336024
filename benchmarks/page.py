"""The page in a real browser: from a key to new results on the screen, the first page, entries; and in a larger library.

    python -m benchmarks.page LIBRARY [LARGER] [--json]

Both are paths of embedded libraries, which are only read; that of a larger one is, for example, `.bench/growth-100000/milvus.db`,
which `benchmarks.growth` fills. A real server serves each on loopback, and Chromium (LOREKEEPER_BROWSER, else the one on PATH)
shows it without a window. A key counts until the frame after the one that draws the results. Exit status 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.common import Result, median, percentile, report
from benchmarks.people_load import QUERIES, serving
from scripts.chromium import chromium

TOKEN = "load"
"""Of the server that `serving` starts."""

OPENING_SECONDS = 600.0

TYPED = 14
"""Keys of each query that are pressed; its rest is not typed."""

WARM_UP = 2
"""Queries that are typed before it counts."""

REPEATED = 10
"""First visits."""

PAUSE_MS = 120
"""Between the results of one key and the next key: the pace of a quick typist, who gets facets meanwhile."""

ENTRIES = 20
"""Entries that are visited."""

TESTS = ("level<=3 class:wizard ritual", "type:creature cr:5..8 dragon", "fireball", "potion of healing")
"""What is typed beside the questions."""

LIMITS = {"key p50": 60.0, "key p95": 120.0, "first page": 150.0, "first page kB": 150.0, "entry": 80.0}
"""Milliseconds, and kilobytes of all responses to a first visit."""

BARE = "/static/htmx.LICENSE"
"""A page of plain text alone: what the first one of a browser that has just been started takes in any case."""

LARGER_FACTOR = 3.0
"""What the larger library may take, as a multiple."""

WATCH = """() => {
  window.shown = [];
  let pressed = 0;
  const drawn = (since) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => shown.push(performance.now() - since);
    channel.port2.postMessage(0);
  };
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (!pressed) return;
    const since = pressed;
    pressed = 0;
    requestAnimationFrame(() => drawn(since));
  }).observe(document.querySelector("#results"), { childList: true });
}"""
"""Notes in ``shown`` how long each key took, in ms."""

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
"""From the beginning of a visit until everything is there, in ms."""

BYTES = """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, each) => sum + each.transferSize, 0)"""
"""Of all responses, with their headers."""


OPENED = "links => links.map((it) => '/entries/' + new URL(it.href).searchParams.get('open').slice('lore://'.length))"
"""The pages of the entries that results lead to."""


@dataclass
class Visit:
    """What was measured in one library, in milliseconds; and the bytes of each first visit."""

    keys: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    entries: list[float] = field(default_factory=list)
    transferred: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """The figures that `LIMITS` limits."""
        return {
            "key p50": median(self.keys),
            "key p95": percentile(self.keys, 0.95),
            "first page": median(self.first),
            "first page kB": max(self.transferred) / 1000,
            "entry": median(self.entries),
        }


def visit(library: Path, browser: Browser) -> Visit:
    """Serve a library, and measure."""
    measured = Visit()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(library, Path(folder), RATE_LIMIT="100000/minute") as (url, _),
    ):
        open_all(url)
        context = signed_in(browser, url)
        page = context.new_page()
        addresses = typed(page, measured)
        measured.entries = [timed(page, address) for address in addresses[:ENTRIES]]
        context.close()
        for _ in range(REPEATED):
            context = signed_in(browser, url)
            page = context.new_page()
            measured.first.append(timed(page, "/"))
            measured.transferred.append(page.evaluate(BYTES))
            context.close()
            context = signed_in(browser, url)
            measured.bare.append(timed(context.new_page(), BARE))
            context.close()
    return measured


def open_all(url: str) -> None:
    """Wait until the server has opened its library, and brought one of an earlier release up to date."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    httpx.get(url, params={"q": "warm up"}, headers=headers, timeout=OPENING_SECONDS).raise_for_status()


def signed_in(browser: Browser, url: str) -> BrowserContext:
    """A profile with nothing kept from before, whose requests have the server's token."""
    return browser.new_context(base_url=url, extra_http_headers={"Authorization": f"Bearer {TOKEN}"})


def typed(page: Page, measured: Visit) -> list[str]:
    """Type all queries, key by key; the pages of entries that were found."""
    page.goto("/")
    page.evaluate(WATCH)
    box = page.get_by_role("searchbox")
    addresses: dict[str, None] = {}
    for number, query in enumerate([*QUERIES, *TESTS]):
        box.fill("")
        page.wait_for_timeout(3 * PAUSE_MS)
        page.evaluate("shown.length = 0")
        for count, key in enumerate(query[:TYPED], 1):
            box.press(key)
            page.wait_for_function("count => shown.length >= count", arg=count)
            page.wait_for_timeout(PAUSE_MS)
        measured.keys += page.evaluate("shown") if number >= WARM_UP else []
        addresses |= dict.fromkeys(page.locator(".hits a").evaluate_all(OPENED)[:3])
    return list(addresses)


def timed(page: Page, address: str) -> float:
    """Milliseconds until a page is loaded; what it asks for afterwards is waited for, and does not count."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return float(page.evaluate(LOADED))


def measure(paths: Sequence[Path]) -> Result:
    """The figures of each library, and the claims on them."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        visits = [visit(path, browser) for path in paths]
    figures = [each.figures() for each in visits]
    rows = [[name, f"{limit:.0f}", *(f"{each[name]:.1f}" for each in figures)] for name, limit in LIMITS.items()]
    claims = [
        (f"{name}: at most {limit:.0f}", f"{figures[0][name]:.1f}", figures[0][name] <= limit)
        for name, limit in LIMITS.items()
    ]
    for larger in figures[1:]:
        ratios = {name: larger[name] / figures[0][name] for name in LIMITS}
        claims += [
            (f"{name} in the larger library: at most {LARGER_FACTOR:.0f} x", f"{ratio:.2f} x", ratio <= LARGER_FACTOR)
            for name, ratio in ratios.items()
        ]
    notes = [
        f"{len(visits[0].keys)} keys, {REPEATED} first visits, {len(visits[0].entries)} entries",
        f"a first visit to a page of plain text alone: {median(visits[0].bare):.1f}",
        "times in ms; a key until the frame with the results is drawn, a page until all of it is loaded",
    ]
    return Result("The page", ["", "limit", *(path.parent.name for path in paths)], rows, claims, notes)


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("larger", type=Path, nargs="?")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    paths = [arguments.library, *([arguments.larger] if arguments.larger else [])]
    return report(measure(paths), as_json=arguments.json)


if __name__ == "__main__":
    sys.exit(main())
