"""Pages as a browser reads them: their elements, and where their links lead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

SWITCH = re.compile(
    r'<form class="seen".*?</form>\n?|<p class="seen-banner".*?</p>\n?|(?<= data-viewer=")as [^"]*', re.DOTALL
)
"""What only the game master's pages have: the switch to what others see, what says that it is on, and whose pins the page shows."""


@dataclass
class Elements(HTMLParser):
    """The elements of a page.

    Attributes:
        tags: each with its attributes, in order.
        words: its text.
        open: the elements that were not closed at the end.
    """

    tags: list[tuple[str, Mapping[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "hr", "meta", "link", "input", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> does not close the last element"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def elements(html: str) -> Elements:
    """The elements of a page, which are properly nested."""
    found = Elements()
    found.feed(html)
    found.close()
    assert found.open == []
    return found


def addresses(html: str) -> list[str]:
    """The paths of this server's pages that a page leads to, each once."""
    found = re.findall(r'(?:href|hx-get)="(/[^"#]*)', html)
    return [path for path in dict.fromkeys(map(unescape, found)) if not path.startswith("/static/")]


def without_switch(html: str) -> str:
    """A page of the game master without the switch to what others see."""
    return SWITCH.sub("", html)
