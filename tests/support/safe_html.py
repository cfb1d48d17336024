"""What HTML made of foreign text may have, and what is wrong with a piece of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

TAGS = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd blockquote pre code em strong s a br hr table thead tbody tr th td section div".split()
)

VOID = frozenset({"br", "hr"})

ATTRIBUTES = {
    "dir": r"auto",
    "class": r"[a-z-]+",
    "href": r"/(entries|notes)/[\w.%~/-]*",
    "scope": r"col",
    "start": r"\d{1,9}",
    "role": r"group",
    "tabindex": r"0",
    "aria-label": r"Table: .*",
}
"""Every attribute that an element may have, and the form of its value."""

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200e\u200f\U000e0000-\U000e007f]")


class Checker(HTMLParser):
    """Notes what must not be, and keeps the text, the classes and the links.

    Attributes:
        problems: what is wrong, in order.
        classes: of all elements.
        links: where they lead, and their texts.
        headings: level and text of each heading.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.classes: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self._texts: list[str] = []
        self._open: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in TAGS:
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES or not re.fullmatch(ATTRIBUTES[name], value or "", re.DOTALL):
                self.problems.append(f'<{tag} {name}="{(value or "")[:80]}">')
            if name == "class":
                self.classes.add(value or "")
            if name == "href":
                self.links.append((value or "", ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes another element")

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
        if self._open and self._open[-1] == "a":
            self.links[-1] = self.links[-1][0], self.links[-1][1] + data
        if HIDDEN.search(data):
            self.problems.append(f"hidden characters in {data[:80]!r}")

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"a comment: {data[:80]}")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"a declaration: {decl[:80]}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"an instruction: {data[:80]}")

    def close(self) -> None:
        super().close()
        self.problems += [f"<{tag}> is not closed" for tag in self._open]


def checked(html: str) -> Checker:
    """A piece of HTML, read."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    return checker
